"""flanneld.exe, judged by flannel v0.28.4 main.go.

With the kube subnet manager and the backends host-gw and vxlan.

Sources: flannel main.go, pkg/subnet/kube/kube.go, pkg/subnet/{config,subnet}.go, pkg/backend/hostgw/hostgw_windows.go,
pkg/backend/vxlan/{vxlan,device}_windows.go. It is a console program: it knows nothing of the service manager.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Generator
from typing import TYPE_CHECKING

from tests.lab.cluster.client import NodeClient, RefusedError, UnreachableError, load, windows
from tests.lab.cluster.kubeconfig import BadKubeconfigError
from tests.lab.machine.adapters import Adapter
from tests.lab.machine.errors import WinError
from tests.lab.machine.hns_errors import HnsError
from tests.lab.machine.program import Caller, Run, text
from tests.lab.programs.daemon import Daemon, ExitError, Steps, run, unanswering, version_of
from tests.lab.programs.flags import FlagError, Flags
from tests.lab.programs.flannel_networks import Backend, SetupError, make, read_backend

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.services import ServiceHost

# Source: flannel v0.26.1 main.go. Go's own flag package: one dash or two, `-x=value`, a boolean takes only `=value`.
_BOOLEANS = {
    "ip-masq",
    "kube-subnet-mgr",
    "version",
    "help",
    "h",
    "set-node-network-unavailable",
    "iptables-forward-rules",
}
_BOOLEANS |= {"logtostderr", "alsologtostderr", "skip_headers", "one_output", "add_dir_header", "ip-blackhole-route"}
_VALUES = {
    "etcd-endpoints", "etcd-prefix", "etcd-keyfile", "etcd-certfile", "etcd-cafile", "etcd-username", "etcd-password",
    "subnet-file", "public-ip", "public-ipv6", "subnet-lease-renew-margin", "healthz-ip", "healthz-port",
    "iptables-resync", "iface", "iface-regex", "iface-can-reach", "kube-api-url", "kube-annotation-prefix",
    "kubeconfig-file", "net-config-path", "v", "vmodule", "log_dir", "log_file", "stderrthreshold",
}  # fmt: skip
PREFIX = "flannel.alpha.coreos.com"
VXLAN_OVERHEAD = 50


def _flags(arguments: list[str]) -> Flags:
    values: dict[str, str] = {}
    left = list(arguments)
    while left and left[0].startswith("-") and left[0] != "-":
        item = left.pop(0)
        name, equals, value = item.lstrip("-").partition("=")
        if name in _BOOLEANS:
            if equals and value.lower() not in {"true", "false", "1", "0", "t", "f"}:
                raise FlagError(f'invalid boolean value "{value}" for -{name}: parse error')
            values[name] = value if equals else "true"
        elif name in _VALUES:
            if not equals and not left:
                raise FlagError(f"flag needs an argument: -{name}")
            values[name] = value if equals else left.pop(0)
        else:
            raise FlagError(f"flag provided but not defined: -{name}")
    return Flags(values, tuple(left))


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.2
    version = version_of(node, argv[0])
    try:
        flags = _flags(argv[1:])
    except FlagError as error:
        return text(2, "", f"{error}\nUsage: {argv[0]} [OPTION]...\n")
    if flags.on("version"):
        return text(0, "", f"v{version}\n")
    if flags.on("help") or flags.on("h"):
        return text(0, "", f"Usage: {argv[0]} [OPTION]... (simulated)\n")
    return (yield from run(Daemon(node, "flanneld", argv, flags, caller, None), body))


def serve(
    node: SimulatedNode, argv: list[str], host: ServiceHost, caller: Caller
) -> Generator[float | None, None, int]:
    return (yield from unanswering())


def body(daemon: Daemon) -> Steps:
    daemon.log(f"CLI flags config: {daemon.flags.values} (simulated)")
    yield 0.3
    adapter, address = _interface(daemon)
    daemon.log(f"Using interface with name {adapter.name} and address {address}")
    if not daemon.flags.on("kube-subnet-mgr"):
        raise ExitError("Failed to create SubnetManager: the lab simulates flanneld with --kube-subnet-mgr only")
    try:
        api, name, backend = _manager(daemon)
    except SetupError as error:
        daemon.log(f"Failed to create SubnetManager: {error}", "E")
        raise ExitError(f"Failed to create SubnetManager: {error}") from error
    yield from _sync(daemon, api)
    if daemon.flags.given("healthz-port") and daemon.flags.text("healthz-port") != "0":
        pid = daemon.caller.process.pid
        daemon.node.network.listen(
            int(daemon.flags.text("healthz-port")), pid, lambda path: (200, b"flanneld is running")
        )
    daemon.log(f"Found network config - Backend type: {backend.kind}")
    try:
        subnet = yield from _register(daemon, api, name, backend, (adapter.name, address))
    except (SetupError, HnsError, UnreachableError, RefusedError) as error:
        daemon.log(f"Error registering network: {error}", "E")
        raise ExitError(f"Error registering network: {error}") from error
    mtu = daemon.node.adapters.mtu(adapter) - (VXLAN_OVERHEAD if backend.kind == "vxlan" else 0)
    _write_subnet_file(daemon, backend, subnet, mtu)
    daemon.log("Running backend.")
    while not daemon.stopping():
        yield from daemon.sleep(60.0)


def _interface(daemon: Daemon) -> tuple[Adapter, str]:
    node, wanted = daemon.node, daemon.flags.text("iface")
    found: Adapter | None = None
    for adapter in node.adapters.all():
        now = node.adapters.current(adapter)
        addresses = [item.address for item in now.addresses if not item.link_local]
        if wanted and (adapter.name == wanted or wanted in addresses):
            return adapter, (wanted if wanted in addresses else addresses[0] if addresses else "")
        if not wanted and addresses and now.gateways and found is None:
            return adapter, addresses[0]
    if wanted:
        daemon.log(f"Could not find valid interface matching {wanted}: error looking up interface {wanted}", "E")
    raise ExitError("Failed to find interface to use that matches the interfaces and/or regexes provided")


def _manager(daemon: Daemon) -> tuple[NodeClient, str, Backend]:
    flags, environment = daemon.flags, daemon.caller.environment
    if not flags.text("kubeconfig-file"):
        raise SetupError(
            "fail to create kubernetes config: unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
            "KUBERNETES_SERVICE_PORT must be defined"
        )
    try:
        api = NodeClient(daemon.node, load(daemon.node, windows(flags.text("kubeconfig-file"), "C:\\")))
    except BadKubeconfigError as error:
        raise SetupError(f"fail to create kubernetes config: {error}") from error
    name = environment.get("NODE_NAME", "")
    if not name:
        raise SetupError("env variables POD_NAME and POD_NAMESPACE must be set")
    path = windows(flags.text("net-config-path", "/etc/kube-flannel/net-conf.json"), "C:\\")
    try:
        data = daemon.node.drive.read(path)
    except WinError as error:
        raise SetupError(f"failed to read net conf: open {path}: {error.text}") from error
    return api, name, read_backend(data)


def _sync(daemon: Daemon, api: NodeClient) -> Steps:
    """The node controller has synced once the nodes can be listed; ten minutes at most."""
    daemon.log("Waiting 10m0s for node controller to sync")
    end = daemon.node.clock.now() + 600
    while True:
        try:
            api.get("/api/v1/nodes")
        except (UnreachableError, RefusedError) as error:
            daemon.log(f"Failed to watch *v1.Node: failed to list *v1.Node: {error}", "E")
        else:
            break
        if daemon.node.clock.now() >= end:
            said = "Failed to create SubnetManager: error waiting for nodeController to sync state: timed out waiting"
            raise ExitError(f"{said} for the condition")
        yield 1.0
    daemon.log("Node controller sync successful")


def _lease(api: NodeClient, name: str, backend: Backend, address: str, data: str) -> ipaddress.IPv4Network:
    """The node's range, and the annotations that say so. SetupError, RefusedError, UnreachableError."""
    node = api.find(f"/api/v1/nodes/{name}")
    if node is None:
        raise SetupError(f'failed to acquire lease: node "{name}" not found')
    cidr = str(node["spec"].get("podCIDR") or "")
    if not cidr:
        raise SetupError(f'failed to acquire lease: node "{name}" pod cidr not assigned')
    annotations = {
        f"{PREFIX}/backend-data": data,
        f"{PREFIX}/backend-type": backend.kind,
        f"{PREFIX}/public-ip": address,
        f"{PREFIX}/kube-subnet-manager": "true",
    }
    held = node["metadata"].get("annotations") or {}
    if any(held.get(key) != value for key, value in annotations.items()):
        patch = {"metadata": {"annotations": annotations}}
        api.send("PATCH", f"/api/v1/nodes/{name}/status", patch, "application/strategic-merge-patch+json")
    subnet = ipaddress.IPv4Network(cidr)
    if not subnet.subnet_of(backend.network):
        raise SetupError(
            f'failed to acquire lease: subnet "{backend.network}" specified in the flannel net config doesn\'t contain '
            f'"{cidr}" PodCIDR of the "{name}" node'
        )
    return subnet


def _register(
    daemon: Daemon, api: NodeClient, name: str, backend: Backend, interface: tuple[str, str]
) -> Generator[float | None, None, ipaddress.IPv4Network]:
    adapter, address = interface
    plain = "null" if backend.kind == "host-gw" else f'{{"VNI":{backend.vni},"VtepMAC":""}}'
    subnet = _lease(api, name, backend, address, plain)
    mac = yield from make(daemon, backend, subnet, adapter)
    if backend.kind == "vxlan":
        for attempt in range(60):  # the API is out of reach while the adapter settles
            try:
                data = f'{{"VNI":{backend.vni},"VtepMAC":"{mac.lower().replace("-", ":")}"}}'
                return _lease(api, name, backend, address, data)
            except UnreachableError:
                if attempt == 59:
                    raise
                yield 1.0
    return subnet


def _write_subnet_file(daemon: Daemon, backend: Backend, subnet: ipaddress.IPv4Network, mtu: int) -> None:
    path = windows(daemon.flags.text("subnet-file", "/run/flannel/subnet.env"), "C:\\")
    first = f"{subnet.network_address + 1}/{subnet.prefixlen}"
    masquerade = "true" if daemon.flags.on("ip-masq") else "false"
    lines = (f"NETWORK={backend.network}", f"SUBNET={first}", f"MTU={mtu}", f"IPMASQ={masquerade}")
    try:
        daemon.node.drive.mkdir(daemon.node.drive.parent(path), "S-1-5-18")
        text_of = "".join(f"FLANNEL_{line}\n" for line in lines)
        daemon.node.drive.write(path, text_of.encode(), owner="S-1-5-18")
    except WinError as error:
        daemon.log(f"Failed to write subnet file: {error.text}", "W")
        return
    daemon.log(f"Wrote subnet file to {path}")
