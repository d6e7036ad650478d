# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""config.toml: the variables of its template, and the mistakes in the rendered text.

containerd silently skips a misspelt key, a table of another config version, or `bin_dir` in place of `bin_dirs`. The
node would then use other folders or another pipe than its other parts. So every rendered text, from our template or a
user's, is checked against the settings before it is sent.
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
from .containerd_toml import Document, NotTomlError, with_keys

__all__ = ["ContainerdSettings", "check", "environment", "extend", "problems", "template_variables"]

_PIPE = re.compile(r"\\\\\.\\pipe\\[^\\]+")


@dataclass(frozen=True, slots=True)
class ContainerdSettings:
    r"""What config.toml must say. Paths are absolute Windows paths.

    `version` is containerd's. `grpc_address` is a named pipe, `\\.\pipe\NAME`. `sandbox_image` is the pause image with
    registry and tag. `registry_config_path` is the folder of hosts.toml files, empty for none. `tracing_endpoint` is
    the address of an OTLP collector, empty for none; it goes into the service's environment, see `environment`.
    """

    version: Version
    sandbox_image: str
    cni_bin_dir: str
    cni_conf_dir: str
    config_path: str = facts.CONFIG_PATH
    root: str = facts.DEFAULT_ROOT
    state: str = facts.DEFAULT_STATE
    grpc_address: str = facts.DEFAULT_ADDRESS
    grpc_gid: int = 0
    registry_config_path: str = ""
    log_level: str = "info"
    snapshotter: str = facts.SNAPSHOTTER
    default_runtime: str = "runhcs-wcow-process"
    tracing_endpoint: str = ""

    @property
    def drop_ins(self) -> str:
        """The pattern of drop-in files in conf.d, beside config.toml."""
        return windows_path.join(windows_path.parent(self.config_path), "conf.d", "*.toml")


def problems(settings: ContainerdSettings) -> list[str]:
    """Mistakes in the settings, one sentence each. The other functions require that there are none."""
    version = settings.version
    try:
        line = facts.release_line(version)
    except facts.UnsupportedVersionError as error:
        return [str(error)]
    found = [
        f"containerd {name} '{path}' {problem}."
        for name, path in _paths(settings).items()
        if (problem := windows_path.problem(path) or _unquotable(path))
    ]
    if not _PIPE.fullmatch(settings.grpc_address):
        found.append(
            f"containerd address '{settings.grpc_address}' is not a named pipe; write it as {facts.DEFAULT_ADDRESS}."
        )
    if settings.log_level not in facts.LOG_LEVELS:
        found.append(f"containerd log level '{settings.log_level}' is not one of {', '.join(facts.LOG_LEVELS)}.")
    if not re.fullmatch(r"\S+[:@]\S+", settings.sandbox_image) or _unquotable(settings.sandbox_image):
        found.append(f"containerd sandbox image '{settings.sandbox_image}' is not an image name with a tag or digest.")
    if settings.registry_config_path and line.places[line.config_version].registry_config_path is None:
        found.append(
            f"containerd {version} has no folder for registry hosts (registry_config_path is "
            f"'{settings.registry_config_path}'); it came with containerd 1.5."
        )
    if settings.tracing_endpoint and (line.tracing_since is None or version < line.tracing_since):
        wanted = f"{line.tracing_since} or later" if line.tracing_since else "1.7 or later"
        found.append(
            f"containerd {version} does not read the address for traces from its environment (tracing_endpoint is "
            f"'{settings.tracing_endpoint}'); take containerd {wanted}."
        )
    return found


def template_variables(settings: ContainerdSettings) -> dict[str, Any]:
    """The variables of config.toml.j2: the settings, and what depends on containerd's version.

    `config_version` (2, 3 or 4), `cri_plugins` (1: one CRI plugin, 2: one for images and one for the runtime),
    `grpc_table` (table of the pipe), `ttrpc_table` (table of the shims' pipe, empty where it follows the first),
    `cni_bin_key` (`bin_dir` or `bin_dirs`), `imports` (drop-ins to read; empty for 1.x, where a drop-in replaces a
    plugin's whole table).
    """
    line = facts.release_line(settings.version)
    places = line.places[line.config_version]
    server = places.grpc_address[0] == "plugins"
    return {
        "containerd_version": str(settings.version),
        "config_version": line.config_version,
        "cri_plugins": 1 if places.sandbox_image[1] == facts.CRI else 2,
        "grpc_table": _header(places.grpc_address[:-1]),
        "ttrpc_table": _header(("plugins", facts.SERVER_TTRPC)) if server else "",
        "cni_bin_key": (places.cni_bin_list or places.cni_bin or ("",))[-1],
        "imports": [settings.drop_ins] if line.drop_ins_merge else [],
        "root": settings.root,
        "state": settings.state,
        "grpc_address": settings.grpc_address,
        "grpc_gid": settings.grpc_gid,
        "sandbox_image": settings.sandbox_image,
        "cni_bin_dir": settings.cni_bin_dir,
        "cni_conf_dir": settings.cni_conf_dir,
        "registry_config_path": settings.registry_config_path,
        "log_level": settings.log_level,
        "snapshotter": settings.snapshotter,
        "default_runtime": settings.default_runtime,
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


def environment(settings: ContainerdSettings) -> dict[str, Secret[str]]:
    """Environment variables that these settings need: where traces go.

    Source: containerd v1.7.18 to v2.4.2 tracing/plugin/otlp.go: without this variable the plugin is skipped, and
    `endpoint` in config.toml is not read.
    """
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": Secret(settings.tracing_endpoint)} if settings.tracing_endpoint else {}


def check(text: str, settings: ContainerdSettings) -> list[str]:
    """Mistakes in `text` as config.toml for these settings: sentences, most with `line N:` in front.

    The settings must have no `problems`. An empty list means that containerd reads the file and it says what the
    settings say.
    """
    try:
        document = Document.parse(text)
    except NotTomlError as error:
        return [_describe_syntax_error(error)]
    version = settings.version
    line = facts.release_line(version)
    wrong_version = _check_version(document, version, line)
    if wrong_version:
        return wrong_version
    places = line.places[document.data["version"]]
    return [
        *_check_plugin_names(document, version),
        *_check_places(document, version, line, places),
        *_check_values(document, settings, places),
        *_check_cni(document, settings, version, places),
        *_check_registry(document, version, places),
        *_check_runtime(document, line, places),
        *_check_rest(document, version, line, places),
    ]


def _paths(settings: ContainerdSettings) -> dict[str, str]:
    paths = {
        "config path": settings.config_path,
        "root": settings.root,
        "state": settings.state,
        "CNI program folder": settings.cni_bin_dir,
        "CNI configuration folder": settings.cni_conf_dir,
    }
    return {
        **paths,
        **({"registry_config_path": settings.registry_config_path} if settings.registry_config_path else {}),
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


def _check_values(document: Document, settings: ContainerdSettings, places: facts.Places) -> list[str]:
    """Values that other parts of the node rely on. A missing key means containerd's default."""
    rows: tuple[tuple[str, facts.Place, str, str, bool], ...] = (
        ("root", places.root, settings.root, facts.DEFAULT_ROOT, True),
        ("state", places.state, settings.state, facts.DEFAULT_STATE, True),
        ("the pipe", places.grpc_address, settings.grpc_address, facts.DEFAULT_ADDRESS, False),
    )
    found = []
    for name, place, wanted, default, is_path in rows:
        said = document.get(place, default)
        same = isinstance(said, str) and (
            windows_path.is_same(said, wanted) if is_path else said.casefold() == wanted.casefold()
        )
        if not same:
            found.append(
                f"{document.at(place)}{name} is {_show(said)}{_describe_default(document, place)}, but this node uses "
                f"'{wanted}': write `{place[-1]} = '{wanted}'` in {_table(place)}."
            )
    gid = document.get(places.grpc_gid, 0)
    if gid != settings.grpc_gid or not _is_number(gid):
        found.append(f"{document.at(places.grpc_gid)}gid is {_show(gid)}; wanted is `gid = {settings.grpc_gid}`.")
    image = document.get(places.sandbox_image, "")
    if not isinstance(image, str) or not image.strip():
        found.append(
            f"{document.at(places.sandbox_image)}there is no pause image: write "
            f"`{places.sandbox_image[-1]} = '{settings.sandbox_image}'` in {_table(places.sandbox_image)}."
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


def _check_cni(document: Document, settings: ContainerdSettings, version: Version, places: facts.Places) -> list[str]:
    """The folders must be those that the role cni fills; otherwise pods wait for a network forever."""
    one, many = places.cni_bin, places.cni_bin_list
    if one and many and document.has(one) and document.has(many):
        return [
            f"{document.at(one)}bin_dir and bin_dirs are both set, and containerd {version} does not start then; "
            f"keep `bin_dirs = ['{settings.cni_bin_dir}']`."
        ]
    found = []
    preferred = _cni_folders(places)
    place = one if one and document.has(one) else preferred
    folders = document.strings(place)
    if not any(windows_path.is_same(folder, settings.cni_bin_dir) for folder in folders):
        value = f"['{settings.cni_bin_dir}']" if preferred == many else f"'{settings.cni_bin_dir}'"
        said = ", ".join(f"'{folder}'" for folder in folders) or "the default folder"
        found.append(
            f"{document.at(place)}CNI programs are looked for in {said}, but they lie in '{settings.cni_bin_dir}': "
            f"write `{preferred[-1]} = {value}` in {_table(preferred)}."
        )
    conf = document.get(places.cni_conf_dir)
    if not isinstance(conf, str) or not windows_path.is_same(conf, settings.cni_conf_dir):
        said = "the default folder" if conf is None else _show(conf)
        found.append(
            f"{document.at(places.cni_conf_dir)}the CNI configuration is looked for in {said}, but it lies in "
            f"'{settings.cni_conf_dir}': write `conf_dir = '{settings.cni_conf_dir}'` in {_table(places.cni_conf_dir)}."
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
