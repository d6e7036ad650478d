"""Which nodes a lab has: what `--nodes` may say, and the defaults.

A node is given as `name=address:port` (the address it claims: what inventories and documents call it), or by a YAML
file: Node documents (`kind: Node`, the same files that the inventory reads), or the lab's own list:

    nodes:
      - {name: win1, address: "192.168.122.220:22", username: Administrator, password: geheim, latency_s: 0.5}
      - {name: win2, address: 192.168.122.221, access: refused, release: "2025"}
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, cast, get_args

from tests.lab.machine.image import Nic
from tests.lab.machine.language import Language

Access = Literal["open", "refused", "silent"]
DEFAULT_PORT = 22
DEFAULT_USER = "Administrator"
WINRM_HTTP, WINRM_HTTPS = 5985, 5986
WINRM_PASSWORD = "simulated"
# The address of the documents' own sample: an untouched Node YAML reaches the lab.
DEFAULT_NODES = ("win1=192.168.122.220:22",)
_ARGUMENT = re.compile(r"^(?P<name>[A-Za-z0-9][A-Za-z0-9.-]*)=(?P<address>[^\s/]+)$")


class NodesError(Exception):
    """A sentence: what is wrong with the nodes that were asked for."""


@dataclass(frozen=True)
class Kind:
    """Where a machine is kinder than Windows, and the reason why a test may have it so, one sentence.

    antivirus: no scanner holds programs that have just been written. clock: it is in step with the cluster's and the
    controller's. connections: they are closed when an adapter is rebound or the power goes, so that clients notice.
    """

    reason: str
    antivirus: bool = False
    clock: bool = False
    connections: bool = False

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise NodesError("a kind machine needs a reason")


@dataclass(frozen=True)
class NodeSpec:
    """One node: its name, the address and port it claims, who may log in, how the way to it behaves.

    password None: over SSH only the lab's key is accepted, over WinRM, which knows no keys, the password `simulated`
    (NTLM takes none with a colon).
    winrm_unencrypted: whether Basic and plain messages are taken over HTTP, as Windows does only when it is told to
    (AllowUnencrypted). latency_s: seconds that each remote call takes longer.
    access: `refused` closes each connection at once; `silent` swallows whatever comes, of open connections too.
    containers: whether the Containers feature is on. adapter, prefix, gateway (None: the network's first address), dns,
    dhcp: its NIC, which has `address` if that is an IPv4 address. encryption: BitLocker's state of C:.
    realm, keytab: the domain that it is in, and the keys of its account there: its users may log in by Kerberos.
    lost_static_address: the external vSwitch loses a static address. clock_offset_s: how wrong its clock is (None:
    some seconds, by the seed). language: of Windows' own programs. kind: see Kind.
    """

    name: str
    address: str
    port: int = DEFAULT_PORT
    username: str = DEFAULT_USER
    password: str | None = None
    latency_s: float = 0.0
    access: Access = "open"
    release: str | None = None
    seed: int = 0
    containers: bool = True
    adapter: str = "Ethernet"
    prefix: int = 24
    gateway: str | None = None
    dns: tuple[str, ...] = ("10.7.0.2",)
    dhcp: bool = False
    encryption: str = "unknown"
    lost_static_address: bool = False
    clock_offset_s: float | None = None
    language: Language = "en"
    kind: Kind | None = None
    winrm_unencrypted: bool = True
    realm: str = ""
    keytab: str = ""

    @property
    def winrm_password(self) -> str:
        return WINRM_PASSWORD if self.password is None else self.password

    @property
    def nic(self) -> Nic:
        """The NIC that the machine has; with an address of its own where `address` is a name or IPv6."""
        try:
            address = str(ipaddress.IPv4Address(self.address))
        except ValueError:
            address = Nic().address
        return Nic(self.adapter, address, self.prefix, self.gateway, self.dns, self.dhcp)


def parse_nodes(items: Iterable[str]) -> tuple[NodeSpec, ...]:
    """Read the values of `--nodes`. Raises `NodesError` with a sentence."""
    specs: list[NodeSpec] = []
    for item in items:
        match = _ARGUMENT.match(item)
        if match:
            host, port = split_address(match["address"], f"--nodes {item}")
            specs.append(NodeSpec(match["name"], host, port))
        elif Path(item).is_file():
            specs.extend(_read_file(Path(item)))
        else:
            raise NodesError(f"--nodes {item}: neither a file nor name=address:port, e.g. {DEFAULT_NODES[0]}")
    for what, keys in (("name", [spec.name for spec in specs]), ("address", [f"{s.address}:{s.port}" for s in specs])):
        twice = sorted({key for key in keys if keys.count(key) > 1})
        if twice:
            raise NodesError(f"--nodes: the {what} {twice[0]} is given to more than one node")
    return tuple(specs)


def split_address(text: str, where: str) -> tuple[str, int]:
    """`host:port`, `host`, `[v6]:port` or a bare IPv6 address -> (host, port)."""
    bracketed = re.fullmatch(r"\[([^\]]+)\](?::(\d+))?", text)
    if bracketed:
        host, port = bracketed[1], bracketed[2]
    elif text.count(":") > 1:
        host, port = text, None
    else:
        host, _, tail = text.partition(":")
        port = tail or None
    number = int(port) if port and port.isdigit() else (DEFAULT_PORT if port is None else 0)
    if not host or not 0 < number < 65536:
        raise NodesError(f"{where}: {text!r} is no address:port (the port is a number from 1 to 65535)")
    return host, number


def _read_file(path: Path) -> list[NodeSpec]:
    import yaml  # only here: the lab starts without it

    try:
        documents = [document for document in yaml.safe_load_all(path.read_text(encoding="utf-8")) if document]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise NodesError(f"{path}: this is no YAML: {' '.join(str(error).split())}") from error
    specs = []
    for document in documents:
        if isinstance(document, dict) and document.get("kind") == "Node":
            specs.append(_from_document(document, path))
        elif isinstance(document, dict) and isinstance(document.get("nodes"), list):
            specs.extend(_from_entry(entry, path) for entry in document["nodes"])
        else:
            raise NodesError(f"{path}: neither a document of kind Node nor a list 'nodes'")
    return specs


def _from_document(document: dict[str, Any], path: Path) -> NodeSpec:
    try:
        name = str(document["metadata"]["name"])
        credentials = document["spec"]["credentials"]
        host, port = split_address(str(credentials["hostname"]), f"{path}: spec.credentials.hostname")
    except (KeyError, TypeError) as error:
        raise NodesError(
            f"{path}: a Node needs metadata.name and spec.credentials.hostname; missing: {error}"
        ) from error
    password = credentials.get("password")
    return NodeSpec(
        name, host, port, str(credentials.get("username") or DEFAULT_USER), None if password is None else str(password)
    )


def _from_entry(entry: Any, path: Path) -> NodeSpec:
    known = {field.name for field in fields(NodeSpec)} - {"port", "kind"}
    if not isinstance(entry, dict) or not {"name", "address"} <= set(entry) or set(entry) - known:
        raise NodesError(
            f"{path}: an entry of 'nodes' has name, address and of {', '.join(sorted(known))}; found: {entry!r}"
        )
    host, port = split_address(str(entry["address"]), f"{path}: {entry['name']}")
    access = entry.get("access", "open")
    if access not in get_args(Access):
        raise NodesError(f"{path}: {entry['name']}: access is one of {', '.join(get_args(Access))}, not {access!r}")
    rest = {key: value for key, value in entry.items() if key not in ("name", "address", "access")}
    if "dns" in rest:
        rest["dns"] = tuple(str(server) for server in rest["dns"])
    return NodeSpec(str(entry["name"]), host, port, access=cast(Access, access), **rest)
