"""containerd.exe's configuration, judged by transcripts.

How a containerd of a given version reads its config.toml.

Sources: containerd cmd/containerd/server/config/config.go (main, and at 1.6 / 1.7 services/server/config/config.go),
cmd/containerd/command/main.go, defaults/defaults_windows.go.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.lab.machine.errors import WinError

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

DEFAULT_PATH = "C:\\Program Files\\containerd\\config.toml"
DEFAULT_ADDRESS = "\\\\.\\pipe\\containerd-containerd"
DEFAULT_ROOT = "C:\\ProgramData\\containerd\\root"
DEFAULT_STATE = "C:\\ProgramData\\containerd\\state"
CRI = "io.containerd.grpc.v1.cri"
CRI_RUNTIME = "io.containerd.cri.v1.runtime"
CRI_IMAGES = "io.containerd.cri.v1.images"
GRPC = "io.containerd.server.v1.grpc"
GRPC_TCP = "io.containerd.server.v1.grpc-tcp"


class ConfigError(Exception):
    """What containerd prints after `containerd: ` before it exits with 1."""


@dataclass(frozen=True)
class Loaded:
    """What matters of a configuration. version: of the root file; tables: the plugin tables as containerd then has
    them.
    """

    version: int
    root: str
    state: str
    address: str
    tcp_address: str
    cri_tcp: bool
    disabled: tuple[str, ...]
    tables: dict[str, Any]
    tls: dict[str, str]
    """The certificates of the TCP address, by the names of version 4: tls_ca and so on."""


def config_version(version: str) -> int:
    """The newest config version that a containerd knows. Source: version/version.go at the tags (2.0: 3, 2.3: 4)."""
    major, minor = (int(part) for part in version.split(".")[:2])
    if major < 2:
        return 2
    return 3 if (major, minor) < (2, 3) else 4


def load(node: SimulatedNode, version: str, path: str | None) -> Loaded:
    """Reads the file, and what it imports. `path` None: the default path, which need not exist. ConfigError."""
    if path is None and not node.drive.is_file(DEFAULT_PATH):
        return _effective(version, {}, config_version(version))
    document = _read(node, path or DEFAULT_PATH, version)
    own = int(document.get("version") or 0)
    highest = config_version(version)
    if version.startswith("1."):
        _check_names(document, path or DEFAULT_PATH)
    elif own > highest:
        raise ConfigError(
            f"failed to load TOML from {path or DEFAULT_PATH}: expected containerd config version equal to or less "
            f"than `{highest}`, got `{own}`"
        )
    for name in _imports(node, path or DEFAULT_PATH, document):
        part = _read(node, name, version)
        if not version.startswith("1.") and int(part.get("version") or 0) > own:
            raise ConfigError(f"drop-in config version {part.get('version')} higher than root config version {own}")
        document = _merged(document, part, deep=not version.startswith("1."))
    return _effective(version, document, own)


def _read(node: SimulatedNode, path: str, version: str) -> dict[str, Any]:
    try:
        data = node.drive.read(path)
    except WinError as error:
        raise ConfigError(f"open {path}: {error.text}") from error
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"failed to load TOML: {path}: {error}"
            if version.startswith("1.")
            else f"failed to unmarshal TOML: {error}"
        ) from error
    for name, kind in (
        ("version", int),
        ("root", str),
        ("state", str),
        ("plugins", dict),
        ("grpc", dict),
        ("imports", list),
    ):
        if name in document and not isinstance(document[name], kind):
            raise ConfigError(f"failed to unmarshal TOML: {name}: cannot store {document[name]!r} in a {kind.__name__}")
    for name in ("address", "tcp_address"):
        if not isinstance(document.get("grpc", {}).get(name, ""), str):
            raise ConfigError(f"failed to unmarshal TOML: grpc.{name} is no string")
    return document


def _check_names(document: dict[str, Any], path: str) -> None:
    """1.x, file version 2 and higher: names of plugins have at least four parts; the version itself has no upper
    bound.
    """
    if int(document.get("version") or 1) < 2:
        return
    for key, what in (
        ("disabled_plugins", "disabled plugin"),
        ("required_plugins", "required plugin"),
        ("plugins", "plugin key"),
    ):
        for name in document.get(key) or []:
            if len(str(name).split(".")) < 4:
                raise ConfigError(
                    f'failed to load TOML from {path}: invalid {what} URI "{name}" expect io.containerd.x.vx'
                )


def _imports(node: SimulatedNode, parent: str, document: dict[str, Any]) -> list[str]:
    folder = node.drive.parent(parent)
    result: list[str] = []
    for item in document.get("imports") or []:
        path = str(item).replace("/", "\\")
        path = path if path[1:2] == ":" else f"{folder}\\{path}"
        if "*" not in path:
            result.append(path)
            continue
        where, _, pattern = path.rpartition("\\")
        if node.drive.is_dir(where):
            wanted = _pattern(pattern)
            result += [f"{where}\\{name}" for name in sorted(node.drive.listdir(where)) if wanted.fullmatch(name)]
    return result


def _pattern(given: str) -> re.Pattern[str]:
    """Go's filepath.Match on Windows, where nothing escapes: `*`, `?`, `[^a-z]`; case is the file's own.

    Source: Go path/filepath/match.go; Glob on Windows compares names as they are spelled.
    """
    parts = re.findall(r"\*|\?|\[\^?[^\]]+\]|.", given)
    found = {"*": r"[^\\]*", "?": r"[^\\]"}
    words = (found.get(part) or (part if part[0] == "[" and len(part) > 1 else re.escape(part)) for part in parts)
    return re.compile("".join(words))


def _merged(base: dict[str, Any], part: dict[str, Any], deep: bool) -> dict[str, Any]:
    """1.x replaces a plugin's whole table, 2.x merges it; empty strings and zeros never replace anything."""
    result = dict(base)
    for key, value in part.items():
        old = result.get(key)
        if key == "plugins" and isinstance(old, dict):
            result[key] = {**old, **{name: _deep(old.get(name), new) if deep else new for name, new in value.items()}}
        elif isinstance(old, dict) and isinstance(value, dict):
            result[key] = _deep(old, value)
        elif value not in ("", 0) and key not in {"version", "imports"}:
            result[key] = value
    return result


def _deep(old: Any, new: Any) -> Any:
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    return {**old, **{key: _deep(old.get(key), value) for key, value in new.items()}}


def _effective(version: str, document: dict[str, Any], own: int) -> Loaded:
    plugins: dict[str, Any] = dict(document.get("plugins") or {})
    if version.startswith("1.") and own < 2:
        plugins = {CRI: plugins["cri"]} if isinstance(plugins.get("cri"), dict) else {}
    grpc: dict[str, Any] = document.get("grpc") or {}
    address, tcp = str(grpc.get("address") or ""), str(grpc.get("tcp_address") or "")
    if config_version(version) >= 4:
        if own >= 4:
            address = tcp = ""
        address = str(plugins[GRPC].get("address") or "") if isinstance(plugins.get(GRPC), dict) else address
        tcp = str(plugins[GRPC_TCP].get("address") or "") if isinstance(plugins.get(GRPC_TCP), dict) else tcp
    root, state = str(document.get("root") or DEFAULT_ROOT), str(document.get("state") or DEFAULT_STATE)
    if root == state:
        raise ConfigError("root and state must be different paths: invalid argument")
    cri = plugins.get(CRI)
    no_tcp = cri.get("disable_tcp_service", True) if isinstance(cri, dict) else True
    disabled = tuple(str(item) for item in document.get("disabled_plugins") or [])
    tls = _tls(version, grpc if own < 4 else {}, plugins.get(GRPC_TCP))
    return Loaded(own, root, state, address or DEFAULT_ADDRESS, tcp, not no_tcp, disabled, plugins, tls)


def _tls(version: str, grpc: dict[str, Any], table: Any) -> dict[str, str]:
    """Of [grpc], which 2.3 and later migrate unless the table of version 4 is there: then of that."""
    if config_version(version) >= 4 and isinstance(table, dict):
        return {name: str(value) for name, value in table.items() if name.startswith("tls_")}
    keys = ("tcp_tls_ca", "tcp_tls_cert", "tcp_tls_key", "tcp_tls_common_name")
    known = keys if config_version(version) >= 4 else _tls_keys(version)
    return {name.removeprefix("tcp_"): str(grpc[name]) for name in known if name in grpc}


def default_text(version: str) -> str:
    """What `containerd config default` prints on Windows, shortened to what matters here."""
    highest = config_version(version)
    cni = {"bin_dir": "C:\\Program Files\\containerd\\cni\\bin", "conf_dir": "C:\\Program Files\\containerd\\cni\\conf"}
    runtime = {"runtime_type": "io.containerd.runhcs.v1"}
    containers = {"default_runtime_name": "runhcs-wcow-process", "runtimes": {"runhcs-wcow-process": runtime}}
    document: dict[str, Any] = {"version": highest, "root": DEFAULT_ROOT, "state": DEFAULT_STATE, "imports": []}
    document |= {"disabled_plugins": [], "required_plugins": [], "debug": {"level": "", "format": ""}}
    plugins: dict[str, Any] = {
        CRI: {"disable_tcp_service": True, "stream_server_address": "127.0.0.1", "stream_server_port": "0"}
    }
    if highest == 2:
        image = "registry.k8s.io/pause:3.6" if version.startswith("1.6") else "registry.k8s.io/pause:3.8"
        plugins[CRI] |= {"sandbox_image": image, "stats_collect_period": 10, "containerd": containers, "cni": cni}
    else:
        # Where these stand was seen in `config default` of 2.0.14 to 2.4.2 (lane real).
        pinned = {"sandbox": "registry.k8s.io/pause:3.10"}
        plugins[CRI_IMAGES] = {"snapshotter": "windows", "stats_collect_period": 10, "pinned_images": pinned}
        plugins[CRI_RUNTIME] = {"containerd": containers, "cni": _cni_default(version, cni)}
        if highest == 4:
            plugins[CRI_RUNTIME]["stats_collect_period"] = ""
    if highest < 4:
        document["grpc"] = {"address": DEFAULT_ADDRESS, "tcp_address": "", **dict.fromkeys(_tls_keys(version), "")}
        document["grpc"] |= {"uid": 0, "gid": 0}
    else:
        plugins[GRPC] = {"address": DEFAULT_ADDRESS, "uid": 0, "gid": 0}
        plugins[GRPC_TCP] = {"address": "", "tls_ca": "", "tls_cert": "", "tls_key": "", "tls_common_name": ""}
    return toml_text({**document, "plugins": plugins})


def _cni_default(version: str, cni: dict[str, Any]) -> dict[str, Any]:
    """The folder of plugins: `bin_dir` to 2.0, an empty one beside `bin_dirs` to 2.3, `bin_dirs` alone from 2.4 on."""
    minor = tuple(int(part) for part in version.split(".")[:2])
    if minor < (2, 1):
        return cni
    more = {"bin_dir": ""} if minor < (2, 4) else {}
    return more | {"bin_dirs": [cni["bin_dir"]], "conf_dir": cni["conf_dir"]}


def _tls_keys(version: str) -> tuple[str, ...]:
    """The keys of [grpc] for certificates, below 2.3."""
    common_name = tuple(int(part) for part in version.split(".")[:2]) >= (2, 2)
    return ("tcp_tls_ca", "tcp_tls_cert", "tcp_tls_key", *(("tcp_tls_common_name",) if common_name else ()))


def toml_text(document: dict[str, Any], prefix: str = "") -> str:
    """A document of tables, strings, numbers, booleans and lists as TOML."""
    lines = [f"{_key(name)} = {_value(value)}" for name, value in document.items() if not isinstance(value, dict)]
    text = "".join(f"{line}\n" for line in lines)
    for name, value in document.items():
        if isinstance(value, dict):
            full = f"{prefix}{_key(name)}"
            text += f"\n[{full}]\n" + toml_text(value, f"{full}.")
    return text


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return json.dumps(value)


def dump_text(node: SimulatedNode, version: str, path: str | None) -> str:
    """What `containerd config dump` prints: the defaults with the file's settings over them."""
    loaded = load(node, version, path)
    document = _deep(tomllib.loads(default_text(version)), {"plugins": loaded.tables})
    document |= {"root": loaded.root, "state": loaded.state, "disabled_plugins": list(loaded.disabled)}
    if config_version(version) < 4:
        document["grpc"] |= {"address": loaded.address, "tcp_address": loaded.tcp_address}
        document["grpc"] |= {f"tcp_{name}": value for name, value in loaded.tls.items()}
    else:
        document["plugins"][GRPC]["address"] = loaded.address
        document["plugins"][GRPC_TCP] |= {"address": loaded.tcp_address, **loaded.tls}
    return toml_text(document)
