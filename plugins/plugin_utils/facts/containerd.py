# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""containerd per release line: support, release archive, and where each setting stands in config.toml.

Sources are files of github.com/containerd/containerd at a tag; tests/real shows them to real binaries, 1.6 to 2.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from .version import Line, Version

Place = tuple[str, ...]
"""A key in config.toml with the tables it stands in: `("grpc", "address")`."""

CONFIG_PATH = r"c:\Program Files\containerd\config.toml"
"""Where containerd.exe looks without --config. Source: v2.3.7 defaults/defaults_windows.go, DefaultConfigDir."""

DEFAULT_ROOT = r"C:\ProgramData\containerd\root"
DEFAULT_STATE = r"C:\ProgramData\containerd\state"
"""Used where config.toml names none. Source: v2.3.7 defaults/defaults_windows.go (same in v1.5.8, v1.6.36, v1.7.35)."""

CONTAINERS = (r"io.containerd.grpc.v1.cri\sandboxes", r"io.containerd.grpc.v1.cri\containers")
"""Below the root, a folder for each pod sandbox and each container, running or not, until it is removed.

Source: containerd v1.6.30, v1.7.20 pkg/cri/server/helpers.go, v2.3.4 internal/cri/server/helpers.go (sandboxesDir,
containersDir) and plugins/cri/runtime/plugin.go (rootDir).
"""

TASKS = (r"io.containerd.runtime.v2.task\k8s.io", r"io.containerd.runtime.v2.task\default")
"""Below the state, a folder for each container that runs, also of ctr.exe and nerdctl.exe, by namespace.

Source: containerd v2.3.4 core/runtime/v2/bundle.go (NewBundle) and task_manager.go; v1.7.20 runtime/v2/manager.go.
"""

SNAPSHOTS = r"io.containerd.snapshotter.v1.windows\snapshots"
"""Below the root, a folder for each layer and each scratch disk.

Source: containerd v1.7.35 snapshots/windows/windows.go, v2.4.2 plugins/snapshots/windows/common.go (getSnapshotDir).
"""

DEFAULT_ADDRESS = r"\\.\pipe\containerd-containerd"
"""Source: v2.3.7 defaults/defaults_windows.go, DefaultAddress (same in v1.4.13 to v2.4.2)."""

SNAPSHOTTER = "windows"
"""Source: v2.3.7 defaults/defaults_windows.go, DefaultSnapshotter."""

LOG_LEVELS = ("trace", "debug", "info", "warn", "error", "fatal", "panic")
"""Source: v2.4.2 cmd/containerd/command/main.go, flag log-level."""

MINIMUM = Version.parse("1.4.0")
"""The first containerd for Windows nodes. Source: kubernetes.io, Windows containers in Kubernetes, v1.22 and v1.27."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where a config.toml of one version holds each setting; None: that version has no such setting.

    `cni_bin_list`: the folders of CNI programs as a list (`bin_dirs`); `cni_bin`: the one folder (`bin_dir`).
    """

    grpc_address: Place
    grpc_gid: Place
    tcp_address: Place
    disable_tcp_service: Place
    sandbox_image: Place
    snapshotter: Place
    default_runtime: Place
    runtimes: Place
    cni_bin: Place | None
    cni_bin_list: Place | None
    cni_conf_dir: Place
    cni_max_conf_num: Place
    registry: Place
    registry_config_path: Place | None
    log_level: Place = ("debug", "level")
    root: Place = ("root",)
    state: Place = ("state",)
    imports: Place = ("imports",)
    tracing_endpoint: Place = ("plugins", "io.containerd.tracing.processor.v1.otlp", "endpoint")

    def items(self) -> dict[str, Place]:
        """Each setting that this version has, by name."""
        return {field.name: place for field in fields(self) if (place := getattr(self, field.name)) is not None}


CRI = "io.containerd.grpc.v1.cri"
IMAGES = "io.containerd.cri.v1.images"
RUNTIME = "io.containerd.cri.v1.runtime"
SERVER = "io.containerd.server.v1.grpc"
SERVER_TCP = "io.containerd.server.v1.grpc-tcp"
SERVER_TTRPC = "io.containerd.server.v1.ttrpc"


def _split(grpc: Place, tcp_address: Place, cni_bin: str | None, cni_bin_list: str | None) -> Places:
    """The places since 2.0: two plugins are CRI, and what is left of the old one serves TCP and streaming."""
    cni = ("plugins", RUNTIME, "cni")
    return Places(
        grpc_address=(*grpc, "address"),
        grpc_gid=(*grpc, "gid"),
        tcp_address=tcp_address,
        disable_tcp_service=("plugins", CRI, "disable_tcp_service"),
        sandbox_image=("plugins", IMAGES, "pinned_images", "sandbox"),
        snapshotter=("plugins", IMAGES, "snapshotter"),
        default_runtime=("plugins", RUNTIME, "containerd", "default_runtime_name"),
        runtimes=("plugins", RUNTIME, "containerd", "runtimes"),
        cni_bin=(*cni, cni_bin) if cni_bin else None,
        cni_bin_list=(*cni, cni_bin_list) if cni_bin_list else None,
        cni_conf_dir=(*cni, "conf_dir"),
        cni_max_conf_num=(*cni, "max_conf_num"),
        registry=("plugins", IMAGES, "registry"),
        registry_config_path=("plugins", IMAGES, "registry", "config_path"),
    )


def _whole(*, config_path: bool) -> Places:
    """The places of config version 2, where one plugin is all of CRI."""
    cni = ("plugins", CRI, "cni")
    return Places(
        grpc_address=("grpc", "address"),
        grpc_gid=("grpc", "gid"),
        tcp_address=("grpc", "tcp_address"),
        disable_tcp_service=("plugins", CRI, "disable_tcp_service"),
        sandbox_image=("plugins", CRI, "sandbox_image"),
        snapshotter=("plugins", CRI, "containerd", "snapshotter"),
        default_runtime=("plugins", CRI, "containerd", "default_runtime_name"),
        runtimes=("plugins", CRI, "containerd", "runtimes"),
        cni_bin=(*cni, "bin_dir"),
        cni_bin_list=None,
        cni_conf_dir=(*cni, "conf_dir"),
        cni_max_conf_num=(*cni, "max_conf_num"),
        registry=("plugins", CRI, "registry"),
        registry_config_path=("plugins", CRI, "registry", "config_path") if config_path else None,
    )


V2_FIRST = _whole(config_path=False)
"""containerd 1.4. Source: containerd/cri 03fcd183 pkg/config/config.go (1.4 takes its CRI plugin from there)."""

V2 = _whole(config_path=True)
"""containerd 1.5 to 1.7. Source: v1.5.8, v1.6.36, v1.7.35 pkg/cri/config, services/server/config."""

V3_FIRST = _split(("grpc",), ("grpc", "tcp_address"), "bin_dir", None)
"""containerd 2.0. Source: v2.0.14 internal/cri/config/config.go; cmd/containerd/server/config/config.go."""

V3 = _split(("grpc",), ("grpc", "tcp_address"), "bin_dir", "bin_dirs")
"""containerd 2.1 and 2.2; `bin_dir` is deprecated. Source: v2.1.9 and v2.2.9 internal/cri/config/config.go."""

V3_LAST = _split(("grpc",), ("grpc", "tcp_address"), None, "bin_dirs")
"""A version 3 file under containerd 2.4, which knows no `bin_dir`. Source: v2.4.2 internal/cri/config/config.go."""

V4_FIRST = _split(("plugins", SERVER), ("plugins", SERVER_TCP, "address"), "bin_dir", "bin_dirs")
"""containerd 2.3.

Source: v2.3.7 internal/cri/config/config.go; plugins/server/grpc; cmd/containerd/server/config, serviceMigrate.
"""

V4 = _split(("plugins", SERVER), ("plugins", SERVER_TCP, "address"), None, "bin_dirs")
"""containerd 2.4. Source: v2.4.2, the same files."""


@dataclass(frozen=True, slots=True)
class ReleaseLine:
    """One release line of containerd.

    `places` holds the versions of config.toml that we accept from a template; containerd migrates the older ones at
    each start. `cri`: versions of the CRI API it serves. `ends`: the last day of support, or its month. `runtimes`: the
    runtime handlers that a Windows build knows without configuration. `drop_ins_merge`: a file of conf.d changes single
    keys (in 1.x it replaces the whole table of a plugin). `tracing_since`: the first release that takes the address for
    traces from the environment and ignores config.toml's (before it is the other way round); None: no tracing.
    """

    line: Line
    places: Mapping[int, Places]
    cri: tuple[str, ...]
    long_term: bool
    ends: str
    runtimes: tuple[str, ...]
    drop_ins_merge: bool
    tracing_since: Version | None
    source: str
    unverified: bool = False

    @property
    def config_version(self) -> int:
        """The newest version of config.toml that it reads, the one we write."""
        return max(self.places)


_PROCESS = ("runhcs-wcow-process",)
_BOTH = ("runhcs-wcow-process", "runhcs-wcow-hypervisor")
_RELEASES = "v2.4.2 RELEASES.md, Current State and Kubernetes Support"


RELEASE_LINES: tuple[ReleaseLine, ...] = (
    ReleaseLine(
        Line.parse("1.4"),
        {2: V2_FIRST},
        cri=("v1alpha2",),
        long_term=False,
        ends="2022-03-03",
        runtimes=_PROCESS,
        drop_ins_merge=False,
        tracing_since=None,
        source=f"{_RELEASES}; containerd/cri 03fcd183 pkg/config, which is not the commit that 1.4.13 vendors",
        unverified=True,
    ),
    ReleaseLine(
        Line.parse("1.5"),
        {2: V2},
        cri=("v1alpha2",),
        long_term=False,
        ends="2023-02-28",
        runtimes=_PROCESS,
        drop_ins_merge=False,
        tracing_since=None,
        source=f"{_RELEASES}; v1.5.8 pkg/cri (v1alpha2 alone), pkg/cri/config/config_windows.go",
    ),
    ReleaseLine(
        Line.parse("1.6"),
        {2: V2},
        cri=("v1alpha2", "v1"),
        long_term=True,
        ends="2025-08-23",
        runtimes=_PROCESS,
        drop_ins_merge=False,
        tracing_since=Version.parse("1.6.29"),
        source=f"{_RELEASES}, Deprecated config properties; v1.6.36 pkg/cri/config, tracing/plugin/otlp.go",
    ),
    ReleaseLine(
        Line.parse("1.7"),
        {2: V2},
        cri=("v1alpha2", "v1"),
        long_term=True,
        ends="2026-09",
        runtimes=_BOTH,
        drop_ins_merge=False,
        tracing_since=Version.parse("1.7.18"),
        source=f"{_RELEASES}; v1.7.35 pkg/cri/config/config_windows.go; tracing/plugin/otlp.go of v1.7.15 and v1.7.18",
    ),
    ReleaseLine(
        Line.parse("2.0"),
        {2: V2, 3: V3_FIRST},
        cri=("v1",),
        long_term=True,
        ends="2027-03",
        runtimes=_BOTH,
        drop_ins_merge=True,
        tracing_since=Version.parse("2.0.0"),
        source=f"{_RELEASES}; v2.0.14 version/version.go, internal/cri/config, pkg/tracing/plugin/otlp.go",
    ),
    ReleaseLine(
        Line.parse("2.1"),
        {2: V2, 3: V3},
        cri=("v1",),
        long_term=False,
        ends="2026-07-03",
        runtimes=_BOTH,
        drop_ins_merge=True,
        tracing_since=Version.parse("2.1.0"),
        source=f"{_RELEASES}; v2.1.9 version/version.go, internal/cri/config",
    ),
    ReleaseLine(
        Line.parse("2.2"),
        {2: V2, 3: V3},
        cri=("v1",),
        long_term=False,
        ends="2026-11-06",
        runtimes=_BOTH,
        drop_ins_merge=True,
        tracing_since=Version.parse("2.2.0"),
        source=f"{_RELEASES}; v2.2.9 version/version.go, internal/cri/config",
    ),
    ReleaseLine(
        Line.parse("2.3"),
        {2: V2, 3: V3, 4: V4_FIRST},
        cri=("v1",),
        long_term=True,
        ends="2028-04-30",
        runtimes=_BOTH,
        drop_ins_merge=True,
        tracing_since=Version.parse("2.3.0"),
        source=f"{_RELEASES}; v2.3.7 version/version.go, internal/cri/config, cmd/containerd/server/config/config.go",
    ),
    ReleaseLine(
        Line.parse("2.4"),
        {2: V2, 3: V3_LAST, 4: V4},
        cri=("v1",),
        long_term=False,
        ends="2027-05-16",
        runtimes=_BOTH,
        drop_ins_merge=True,
        tracing_since=Version.parse("2.4.0"),
        source=f"{_RELEASES}; v2.4.2 version/version.go, internal/cri/config, cmd/containerd/server/config/config.go",
    ),
)


class UnsupportedVersionError(ValueError):
    """A containerd that is refused; str() is the sentence for the user."""


def release_line(version: Version) -> ReleaseLine:
    """The line of a containerd release. UnsupportedVersionError before 1.4.0 and for lines not in the table."""
    if version < MINIMUM:
        raise UnsupportedVersionError(
            f"containerd {version} is older than {MINIMUM}, the first that runs Windows nodes "
            f"(stable since Kubernetes 1.20); take a release of {RELEASE_LINES[0].line} to {RELEASE_LINES[-1].line}."
        )
    for known in RELEASE_LINES:
        if known.line == version.line:
            return known
    raise UnsupportedVersionError(
        f"containerd {version} belongs to the release line {version.line}, which this collection does not know; "
        f"it knows {RELEASE_LINES[0].line} to {RELEASE_LINES[-1].line}."
    )


_EARLIER_LTSC = (Version.parse("1.6.23"), Version.parse("1.7.6"))
"""The first release of the last lines that went by the equal build.

Source: platforms/defaults_windows.go, windowsmatcher.Match, at v1.6.22, v1.6.23, v1.7.5, v1.7.6; newer lines have
containerd/platforms, whose first release has the rule.
"""


def takes_earlier_ltsc(version: Version) -> bool:
    """Whether this containerd pulls and runs images of an earlier LTSC release where Windows can (windows.runs_image);
    older ones want the host's own build."""
    first = next((first for first in _EARLIER_LTSC if first.line == version.line), _EARLIER_LTSC[-1])
    return version >= first


# --- release archive -----------------------------------------------------------------------------------------------

SHIM = "containerd-shim-runhcs-v1.exe"
"""Source: v2.3.7 pkg/shim/util_windows.go, shimBinaryFormat with the runtime io.containerd.runhcs.v1."""

PROGRAMS = ("containerd.exe", "ctr.exe", SHIM, "containerd-stress.exe")
"""All that a release archive holds, by file name."""

ARCHIVE_MEMBERS = ("bin/containerd.exe", "bin/ctr.exe", "bin/containerd-shim-runhcs-v1.exe")
"""What a node needs of the archive; it holds `bin/containerd-stress.exe` besides from 1.6 on.

Source: v1.4.13 and v1.5.8 .github/workflows/release.yml (shim built in, stress removed); v1.6.36 to v2.4.2 Makefile
COMMANDS and Makefile.windows WINDOWS_SHIM.
"""
