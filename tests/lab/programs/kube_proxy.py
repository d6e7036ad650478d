"""kube-proxy.exe, judged by kubernetes v1.37.1 cmd/kube-proxy/app/server_windows.go.

Mode kernelspace: when it starts, and the policy lists that it makes in HNS.

Sources: kubernetes cmd/kube-proxy/app/{options,server,server_windows}.go, pkg/proxy/winkernel/proxier.go.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from tests.lab.cluster.client import NodeClient, RefusedError, UnreachableError, load, windows
from tests.lab.cluster.kubeconfig import BadKubeconfigError
from tests.lab.machine.errors import WinError
from tests.lab.machine.hns_errors import HnsError
from tests.lab.machine.program import Caller, Run, text
from tests.lab.programs.daemon import NO_CONTROLLER, Daemon, ExitError, Steps, unanswering, version_of
from tests.lab.programs.daemon import run as run_daemon
from tests.lab.programs.daemon import serve as serve_daemon
from tests.lab.programs.flags import FlagError, Flags, check_gates, pairs, parse
from tests.lab.programs.kube_proxy_policies import Policies

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.services import ServiceHost

SYNC_S = 10.0
MISSING = "The system cannot find the file specified."


@dataclass(frozen=True)
class Settings:
    kubeconfig: str
    network: str
    source_vip: str
    dsr: bool
    gates: dict[str, str]
    health: str

    def gate(self, name: str, minor: int) -> bool:
        """Whether it is on. Defaults: WinOverlay on, WinDSR from 1.33. Source: kubernetes kube_features.go."""
        default = True if name == "WinOverlay" else minor >= 33
        return self.gates.get(name, str(default)).lower() == "true"


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.2
    version = version_of(node, argv[0])
    try:
        flags = _flags(version, argv)
    except FlagError as error:
        return text(1, "", f"Error: {error}\n")
    if flags.given("version"):
        return text(0, f"Kubernetes v{version}\n")
    if flags.on("windows-service"):
        return text(1, "", f"Error: failed os init: {NO_CONTROLLER}\n")
    return (yield from run_daemon(Daemon(node, "kube-proxy", argv, flags, caller, None), body))


def serve(
    node: SimulatedNode, argv: list[str], host: ServiceHost, caller: Caller
) -> Generator[float | None, None, int]:
    yield 0.2
    try:
        flags = _flags(version_of(node, argv[0]), argv)
    except FlagError:
        return 1
    if not flags.on("windows-service"):
        return (yield from unanswering())
    return (yield from serve_daemon(Daemon(node, "kube-proxy", argv, flags, caller, host), body))


def _flags(version: str, argv: list[str]) -> Flags:
    flags = parse("kube-proxy", version, argv[1:])
    if flags.rest:
        raise FlagError(f'unknown command "{flags.rest[0]}" for "kube-proxy"')
    return flags


def _settings(daemon: Daemon) -> Settings:
    flags, document = daemon.flags, _document(daemon)
    kernel = document.get("winkernel") or {}
    gates = {name: str(value) for name, value in (document.get("featureGates") or {}).items()}
    gates |= pairs(flags.text("feature-gates"))
    try:
        check_gates("kube-proxy", daemon.version, gates)
    except FlagError as error:
        raise ExitError(f"failed complete: {error}") from error
    mode = str(document.get("mode") or flags.text("proxy-mode"))
    if mode not in {"", "kernelspace"} and not (mode == "userspace" and daemon.minor < 26):
        raise ExitError(
            f'failed validate: KubeProxyConfiguration.Mode: Invalid value: "{mode}": must be kernelspace or blank '
            "(blank means the most-available proxy [currently 'kernelspace'])"
        )
    _check_ranges(str(document.get("clusterCIDR") or flags.text("cluster-cidr")))
    network = str(kernel.get("networkName") or flags.text("network-name"))
    return Settings(
        str((document.get("clientConnection") or {}).get("kubeconfig") or flags.text("kubeconfig")),
        network or daemon.caller.environment.get("KUBE_NETWORK", ""),
        str(kernel.get("sourceVip") or flags.text("source-vip")),
        bool(kernel.get("enableDSR", flags.on("enable-dsr"))),
        gates,
        _health(flags, document),
    )


def _check_ranges(text: str) -> None:
    """Source: kubernetes pkg/proxy/apis/config/validation/validation.go, validateDualStackCIDRStrings."""
    parts = text.split(",") if text else []
    field = "failed validate: KubeProxyConfiguration.ClusterCIDR: Invalid value"
    versions = []
    for part in parts:
        try:
            versions.append(ipaddress.ip_network(part, strict=False).version)
        except ValueError as error:
            raise ExitError(f'{field}: "{text}": must be a valid CIDR block') from error
    if len(parts) > 2 or (len(parts) == 2 and len(set(versions)) == 1):
        raise ExitError(
            f'{field}: "{text}": only one CIDR allowed or a valid DualStack CIDR '
            "(e.g. 10.100.0.0/16,fde4:8dba:82e1::/48)"
        )


def _health(flags: Flags, document: dict[str, Any]) -> str:
    """Source: cmd/kube-proxy/app/options.go, addressFromDeprecatedFlags; pkg/proxy/util, AppendPortIfNeeded."""
    if flags.text("config"):
        return str(document.get("healthzBindAddress") or "0.0.0.0:10256")
    address, port = flags.text("healthz-bind-address", "0.0.0.0:10256"), flags.text("healthz-port", "10256")
    if not address or port == "0":
        return ""
    return address if ":" in address else f"{address}:{port}"


def _document(daemon: Daemon) -> dict[str, Any]:
    given = daemon.flags.text("config")
    if not given:
        return {}
    try:
        found = yaml.safe_load(daemon.node.drive.read(windows(given, "C:\\")))
    except WinError as error:
        raise ExitError(f"failed complete: open {given}: {error.text}") from error
    except yaml.YAMLError as error:
        raise ExitError(f"failed complete: {' '.join(str(error).split())}") from error
    if not isinstance(found, dict) or found.get("kind") != "KubeProxyConfiguration":
        raise ExitError("failed complete: Object 'Kind' is missing")
    return found


def _api(daemon: Daemon, settings: Settings) -> NodeClient:
    if not settings.kubeconfig:
        raise ExitError(
            "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be "
            "defined"
        )
    path = windows(settings.kubeconfig, "C:\\")
    if not daemon.node.drive.is_file(path):
        raise ExitError(f"CreateFile {settings.kubeconfig}: {MISSING}")
    try:
        return NodeClient(daemon.node, load(daemon.node, path))
    except BadKubeconfigError as error:
        raise ExitError(str(error)) from error


def body(daemon: Daemon) -> Steps:
    node = daemon.node
    yield 0.3
    settings = _settings(daemon)
    api = _api(daemon, settings)
    daemon.log(f"Using Kernelspace Proxier, version v{daemon.version} (simulated)")
    if not node.hns.available or not node.hns.running:
        raise ExitError("can't use the winkernel proxier: Windows kernel is not compatible for Kernel mode")
    if not settings.network:
        raise ExitError("unable to create proxier: environment variable KUBE_NETWORK and network-flag not initialized")
    for old in node.hns.policy_lists:
        node.hns.delete_policy_list(old["ID"])
    network = yield from _network(daemon, settings.network)
    if network is None:
        return
    if settings.dsr and not settings.gate("WinDSR", daemon.minor):
        raise ExitError("unable to create proxier: WinDSR feature gate not enabled")
    if network["Type"] == "Overlay":
        if not settings.gate("WinOverlay", daemon.minor):
            raise ExitError("unable to create proxier: WinOverlay feature gate not enabled")
        if not settings.source_vip:
            raise ExitError("unable to create proxier: source-vip flag not set")
    port = settings.health.rpartition(":")[2]
    if port.isdigit() and port != "0":
        node.network.listen(int(port), daemon.caller.process.pid, lambda path: (200, b'{"lastUpdated": "simulated"}'))
    policies = Policies(daemon, settings.source_vip, settings.dsr)
    while not daemon.stopping():
        try:
            policies.sync(api, settings.network)
            serve_health_checks(daemon, policies.health_checks(api))
        except (UnreachableError, RefusedError) as error:
            daemon.log(f'"Failed to watch" err="{error}"', "E")
        except HnsError as error:
            daemon.log(f'"Policy creation failed" err="hcnCreateLoadBalancer failed in Win32: {error}"', "E")
        yield from daemon.sleep(SYNC_S)


def serve_health_checks(daemon: Daemon, wanted: dict[int, bool]) -> None:
    """At each Service's healthCheckNodePort, 200 or 503: whether it has an endpoint here. Source:
    pkg/proxy/healthcheck/service_health.go."""
    network, pid = daemon.node.network, daemon.caller.process.pid
    for port, here in wanted.items():
        network.listen(port, pid, lambda path, here=here: (200 if here else 503, b"{}"))  # type: ignore[misc]


def _network(daemon: Daemon, name: str) -> Generator[float | None, None, dict[str, Any] | None]:
    """Waits for the network; an overlay is looked at once more after ten seconds."""
    while not daemon.stopping():
        found = daemon.node.hns.network(name)
        if found is None:
            daemon.log(
                '"Unable to find HNS Network specified, please check network name and CNI deployment" '
                f'hnsNetworkName="{name}"',
                "E",
            )
            yield from daemon.sleep(1.0)
            continue
        if found["Type"] == "Overlay":
            yield from daemon.sleep(10.0)
            found = daemon.node.hns.network(name)
            if found is None:
                raise ExitError(f"unable to create proxier: could not find HNS network {name}")
        return found
    return None
