# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""config.toml: the variables of its template, and the mistakes in the rendered text.

containerd silently skips a misspelt key, a table of another config version, or `bin_dir` in place of `bin_dirs`. The
node would then use other folders or another pipe than its other parts. So every rendered text, from our template or a
user's, is checked against what is wanted before it is sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...engine import windows_path
from ...engine.resource import Refused
from ...engine.secret import Secret
from ...facts import containerd as facts
from ...facts.version import Version
from ..kubernetes_fit import release
from ..layout import Layout
from .containerd_toml import Document, NotTomlError, with_keys
from .options import ContainerdOptions

__all__ = ["Containerd", "check", "environment", "extend", "problems", "template_variables"]

GROUP = 0
"""The group that owns the pipe, which means nothing on Windows."""
DEFAULT_RUNTIME = "runhcs-wcow-process"

_PIPE = re.compile(r"\\\\\.\\pipe\\[^\\]+")


@dataclass(frozen=True, slots=True)
class Containerd:
    """containerd as it is wanted on one node. `sandbox_image` is the pause image with registry and tag. Of its data
    nothing but a test has another place."""

    options: ContainerdOptions
    layout: Layout
    sandbox_image: str
    root: str = facts.DEFAULT_ROOT
    state: str = facts.DEFAULT_STATE

    @property
    def version(self) -> Version:
        """The release. Refused if it is none."""
        return release(self.options.version, "winkube_containerd_version")

    @property
    def pipe(self) -> str:
        r"""The named pipe of its API, `\\.\pipe\NAME`."""
        return rf"\\.\pipe\{self.layout.containerd_pipe}"

    @property
    def hosts_dir(self) -> str:
        """The folder of hosts.toml files; empty for none."""
        return self.layout.certs_dir if self.options.registries else ""

    @property
    def drop_ins(self) -> str:
        """The pattern of drop-in files in conf.d, beside config.toml."""
        return windows_path.join(windows_path.parent(self.layout.containerd_config), "conf.d", "*.toml")


def problems(wanted: Containerd) -> list[str]:
    """What cannot be wanted, one sentence each. The other functions require that there is nothing."""
    version = wanted.version
    try:
        line = facts.release_line(version)
    except facts.UnsupportedVersionError as error:
        return [str(error)]
    found = [
        f"containerd {name} '{path}' {problem}."
        for name, path in _paths(wanted).items()
        if (problem := windows_path.problem(path) or _unquotable(path))
    ]
    if not _PIPE.fullmatch(wanted.pipe):
        found.append(f"containerd address '{wanted.pipe}' is not a named pipe; write it as {facts.DEFAULT_ADDRESS}.")
    if wanted.options.log_level not in facts.LOG_LEVELS:
        found.append(f"containerd log level '{wanted.options.log_level}' is not one of {', '.join(facts.LOG_LEVELS)}.")
    if not re.fullmatch(r"\S+[:@]\S+", wanted.sandbox_image) or _unquotable(wanted.sandbox_image):
        found.append(f"containerd sandbox image '{wanted.sandbox_image}' is not an image name with a tag or digest.")
    if wanted.hosts_dir and line.places[line.config_version].registry_config_path is None:
        found.append(
            f"containerd {version} has no folder for registry hosts (registry_config_path is "
            f"'{wanted.hosts_dir}'); it came with containerd 1.5."
        )
    if wanted.options.tracing_endpoint and (line.tracing_since is None or version < line.tracing_since):
        needed = f"{line.tracing_since} or later" if line.tracing_since else "1.7 or later"
        found.append(
            f"containerd {version} does not read the address for traces from its environment (tracing_endpoint is "
            f"'{wanted.options.tracing_endpoint}'); take containerd {needed}."
        )
    return found


def template_variables(wanted: Containerd) -> dict[str, Any]:
    """The variables of config.toml.j2: what is wanted, and what depends on containerd's version.

    `config_version` (2, 3 or 4), `cri_plugins` (1: one CRI plugin, 2: one for images and one for the runtime),
    `grpc_table` (table of the pipe), `ttrpc_table` (table of the shims' pipe, empty where it follows the first),
    `cni_bin_key` (`bin_dir` or `bin_dirs`), `imports` (drop-ins to read; empty for 1.x, where a drop-in replaces a
    plugin's whole table).
    """
    line = facts.release_line(wanted.version)
    places = line.places[line.config_version]
    server = places.grpc_address[0] == "plugins"
    return {
        "containerd_version": str(wanted.version),
        "config_version": line.config_version,
        "cri_plugins": 1 if places.sandbox_image[1] == facts.CRI else 2,
        "grpc_table": _header(places.grpc_address[:-1]),
        "ttrpc_table": _header(("plugins", facts.SERVER_TTRPC)) if server else "",
        "cni_bin_key": (places.cni_bin_list or places.cni_bin or ("",))[-1],
        "imports": [wanted.drop_ins] if line.drop_ins_merge else [],
        "root": wanted.root,
        "state": wanted.state,
        "grpc_address": wanted.pipe,
        "grpc_gid": GROUP,
        "sandbox_image": wanted.sandbox_image,
        "cni_bin_dir": wanted.layout.cni_bin_dir,
        "cni_conf_dir": wanted.layout.cni_conf_dir,
        "registry_config_path": wanted.hosts_dir,
        "log_level": wanted.options.log_level,
        "snapshotter": facts.SNAPSHOTTER,
        "default_runtime": DEFAULT_RUNTIME,
    }


def extend(text: str, extra: Mapping[str, Any]) -> str:
    """The rendered text with the user's keys merged in. A text that is not TOML is returned unchanged: `check`
    reports it. Refused for a value that TOML cannot hold."""
    try:
        return with_keys(text, extra)
    except NotTomlError:
        return text
    except ValueError as error:
        raise Refused(f"winkube_containerd_config_extra: {error}; give text, numbers, true, false or lists.") from None


def environment(wanted: Containerd) -> dict[str, Secret[str]]:
    """Environment variables that this needs: where traces go.

    Source: containerd v1.7.18 to v2.4.2 tracing/plugin/otlp.go: without this variable the plugin is skipped, and
    `endpoint` in config.toml is not read.
    """
    return (
        {"OTEL_EXPORTER_OTLP_ENDPOINT": Secret(wanted.options.tracing_endpoint)}
        if wanted.options.tracing_endpoint
        else {}
    )


def check(text: str, wanted: Containerd) -> list[str]:
    """Mistakes in `text` as config.toml of this containerd: sentences, most with `line N:` in front.

    What is wanted must have no `problems`. An empty list means that containerd reads the file and it says what is
    wanted.
    """
    try:
        document = Document.parse(text)
    except NotTomlError as error:
        return [_describe_syntax_error(error)]
    version = wanted.version
    line = facts.release_line(version)
    wrong_version = _check_version(document, version, line)
    if wrong_version:
        return wrong_version
    places = line.places[document.data["version"]]
    return [
        *_check_plugin_names(document, version),
        *_check_places(document, version, line, places),
        *_check_values(document, wanted, places),
        *_check_cni(document, wanted, version, places),
        *_check_registry(document, version, places),
        *_check_runtime(document, line, places),
        *_check_rest(document, version, line, places),
    ]


def _paths(wanted: Containerd) -> dict[str, str]:
    paths = {
        "config path": wanted.layout.containerd_config,
        "root": wanted.root,
        "state": wanted.state,
        "CNI program folder": wanted.layout.cni_bin_dir,
        "CNI configuration folder": wanted.layout.cni_conf_dir,
    }
    return {
        **paths,
        **({"registry_config_path": wanted.hosts_dir} if wanted.hosts_dir else {}),
    }


def _unquotable(text: str) -> str | None:
    return "holds a single quote, which a TOML literal string cannot" if "'" in text else None


def _header(place: facts.Place) -> str:
    """A table's name as in containerd's documentation: plugins."io.containerd.grpc.v1.cri".cni."""
    return ".".join(part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else f'"{part}"' for part in place)


def _join_place(place: facts.Place) -> str:
    return f"[{_header(place[:-1])}] {place[-1]}" if len(place) > 1 else place[0]


def _describe_syntax_error(error: NotTomlError) -> str:
    message = str(error)
    where = re.search(r"at line (\d+), column (\d+)", message)
    prefix = f"line {where[1]}, column {where[2]}: " if where else ""
    reason = re.sub(r" \(at .*\)$", "", message)
    hint = ""
    if "'\\'" in reason or "escape" in reason.lower() or "hex" in reason.lower():
        hint = " In double quotes TOML wants each backslash doubled; write Windows paths and pipes in single quotes."
    return f"{prefix}this is not TOML: {reason}.{hint}"


def _is_number(value: Any) -> bool:
    """Whether it is a TOML number: Python's bool is an int."""
    return isinstance(value, int) and not isinstance(value, bool)


def _check_version(document: Document, version: Version, line: facts.ReleaseLine) -> list[str]:
    said = document.data.get("version")
    if said is None:
        return [
            f"There is no `version` line; containerd takes such a file for version 1, and 1.x then ignores the table "
            f"of the CRI plugin. Write `version = {line.config_version}` first."
        ]
    at = document.at(("version",))
    if not _is_number(said):
        return [f"{at}version is {said!r}, not a number; write `version = {line.config_version}`."]
    if said > line.config_version:
        return [
            f"{at}version = {said}, but containerd {version} reads at most version {line.config_version}: "
            f"write `version = {line.config_version}`."
        ]
    if said not in line.places:
        return [
            f"{at}version = {said} is the form of containerd before 1.3, whose plugin names this check does not know; "
            f"write `version = {line.config_version}` (`containerd config migrate` shows the new form)."
        ]
    return []


def _check_plugin_names(document: Document, version: Version) -> list[str]:
    plugins = document.data.get("plugins", {})
    names = [name for name in plugins if "." not in name] if isinstance(plugins, Mapping) else []
    effect = "containerd would not start" if version.major < 2 else "containerd ignores the table"
    found = [
        f"{document.at(('plugins', name))}[plugins.{name}] is a plugin's name of version 1; under version "
        f'{document.data["version"]} {effect}. Write the full name, for example [plugins."{facts.CRI}"].'
        for name in names
    ]
    for key in ("disabled_plugins", "required_plugins"):
        for name in document.strings((key,)):
            if "." not in name:
                found.append(
                    f"{document.at((key,))}{key} names '{name}', not a full plugin name such as '{facts.CRI}'; "
                    "containerd would not start."
                )
            elif key == "disabled_plugins" and name in (facts.CRI, facts.IMAGES, facts.RUNTIME):
                found.append(
                    f"{document.at((key,))}disabled_plugins turns {name} off: the kubelet would have no runtime."
                )
    return found


def _check_places(document: Document, version: Version, line: facts.ReleaseLine, places: facts.Places) -> list[str]:
    """Settings in the place of another config version; containerd skips them silently."""
    said = document.data["version"]
    right = places.items()
    found: dict[facts.Place, str] = {}
    for other in (facts.V2, facts.V3, facts.V4):
        for name, place in other.items().items():
            if place in right.values() or place in found or not document.has(place) or name in ("registry", "runtimes"):
                continue
            better = right.get(name) or _cni_folders(places)
            found[place] = (
                f"{document.at(place)}containerd {version} does not read {_join_place(place)} in a file of version "
                f"{said}; it belongs to {_join_place(better)}."
            )
    return list(found.values())


def _check_values(document: Document, wanted: Containerd, places: facts.Places) -> list[str]:
    """Values that other parts of the node rely on. A missing key means containerd's default."""
    rows: tuple[tuple[str, facts.Place, str, str, bool], ...] = (
        ("root", places.root, wanted.root, facts.DEFAULT_ROOT, True),
        ("state", places.state, wanted.state, facts.DEFAULT_STATE, True),
        ("the pipe", places.grpc_address, wanted.pipe, facts.DEFAULT_ADDRESS, False),
    )
    found = []
    for name, place, ours, default, is_path in rows:
        said = document.get(place, default)
        same = isinstance(said, str) and (
            windows_path.is_same(said, ours) if is_path else said.casefold() == ours.casefold()
        )
        if not same:
            found.append(
                f"{document.at(place)}{name} is {_show(said)}{_describe_default(document, place)}, but this node uses "
                f"'{ours}': write `{place[-1]} = '{ours}'` in {_table(place)}."
            )
    gid = document.get(places.grpc_gid, 0)
    if gid != GROUP or not _is_number(gid):
        found.append(f"{document.at(places.grpc_gid)}gid is {_show(gid)}; wanted is `gid = {GROUP}`.")
    image = document.get(places.sandbox_image, "")
    if not isinstance(image, str) or not image.strip():
        found.append(
            f"{document.at(places.sandbox_image)}there is no pause image: write "
            f"`{places.sandbox_image[-1]} = '{wanted.sandbox_image}'` in {_table(places.sandbox_image)}."
        )
    level = document.get(places.log_level, "info")
    if level not in ("", *facts.LOG_LEVELS):
        found.append(
            f"{document.at(places.log_level)}log level {_show(level)} is not one of {', '.join(facts.LOG_LEVELS)}."
        )
    return found


def _cni_folders(places: facts.Places) -> facts.Place:
    """The place of the CNI folders; the list form if this version has one. Every version has one of the two."""
    place = places.cni_bin_list or places.cni_bin
    if place is None:
        raise ValueError("a table of places has neither cni_bin nor cni_bin_list")
    return place


def _check_cni(document: Document, wanted: Containerd, version: Version, places: facts.Places) -> list[str]:
    """The folders must be those that the role cni fills; otherwise pods wait for a network forever."""
    programs_dir, conf_dir = wanted.layout.cni_bin_dir, wanted.layout.cni_conf_dir
    one, many = places.cni_bin, places.cni_bin_list
    if one and many and document.has(one) and document.has(many):
        return [
            f"{document.at(one)}bin_dir and bin_dirs are both set, and containerd {version} does not start then; "
            f"keep `bin_dirs = ['{programs_dir}']`."
        ]
    found = []
    preferred = _cni_folders(places)
    place = one if one and document.has(one) else preferred
    folders = document.strings(place)
    if not any(windows_path.is_same(folder, programs_dir) for folder in folders):
        value = f"['{programs_dir}']" if preferred == many else f"'{programs_dir}'"
        said = ", ".join(f"'{folder}'" for folder in folders) or "the default folder"
        found.append(
            f"{document.at(place)}CNI programs are looked for in {said}, but they lie in '{programs_dir}': "
            f"write `{preferred[-1]} = {value}` in {_table(preferred)}."
        )
    conf = document.get(places.cni_conf_dir)
    if not isinstance(conf, str) or not windows_path.is_same(conf, conf_dir):
        said = "the default folder" if conf is None else _show(conf)
        found.append(
            f"{document.at(places.cni_conf_dir)}the CNI configuration is looked for in {said}, but it lies in "
            f"'{conf_dir}': write `conf_dir = '{conf_dir}'` in {_table(places.cni_conf_dir)}."
        )
    return found


def _check_registry(document: Document, version: Version, places: facts.Places) -> list[str]:
    if places.registry_config_path is None or not document.get(places.registry_config_path, ""):
        return []
    mirrors = (*places.registry, "mirrors")
    if document.get(mirrors):
        return [
            f"{document.at(mirrors)}registry mirrors and config_path exclude each other, and the CRI plugin of "
            f"containerd {version} does not start with both: move the mirrors into hosts.toml files under config_path."
        ]
    return []


def _check_runtime(document: Document, line: facts.ReleaseLine, places: facts.Places) -> list[str]:
    name = document.get(places.default_runtime, line.runtimes[0])
    own = document.get(places.runtimes, {})
    known = (*line.runtimes, *(own if isinstance(own, Mapping) else ()))
    if name in known:
        return []
    return [
        f"{document.at(places.default_runtime)}default_runtime_name is {_show(name)}, but no such runtime is "
        f"configured; known are {', '.join(known)}."
    ]


def _check_rest(document: Document, version: Version, line: facts.ReleaseLine, places: facts.Places) -> list[str]:
    found = []
    if document.get(places.tcp_address, "") and document.get(places.disable_tcp_service, True) is not False:
        found.append(
            f"{document.at(places.tcp_address)}a TCP address is set but disable_tcp_service is not false: the port "
            "would open and answer every CRI call with UNIMPLEMENTED."
        )
    if document.get(places.tracing_endpoint, "") and line.tracing_since and version >= line.tracing_since:
        found.append(
            f"{document.at(places.tracing_endpoint)}containerd {version} does not read the endpoint for traces from "
            "here; set tracing_endpoint, which puts it into the service's environment."
        )
    return found


def _table(place: facts.Place) -> str:
    return f"[{_header(place[:-1])}]" if len(place) > 1 else "the first lines, before any table"


def _describe_default(document: Document, place: facts.Place) -> str:
    return "" if document.has(place) else " (containerd's default, the file says nothing)"


def _show(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else repr(value)
