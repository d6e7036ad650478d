"""kubelet.exe, judged by kubernetes v1.37.1 cmd/kubelet/app/server.go.

What it does to be a Node, and the pods that the scheduler gives to it (machine/pods.py).

Sources: kubernetes cmd/kubelet/app/server.go, pkg/windows/service/service.go.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from tests.lab.cluster.client import MERGE, NodeClient, RefusedError, UnreachableError, windows
from tests.lab.cluster.workloads import scheduled
from tests.lab.machine.pods import waiting
from tests.lab.machine.program import Caller, Run, text
from tests.lab.programs import (
    calico_node,
    containers,
    kubelet_config,
    kubelet_credentials,
    kubelet_node,
    kubelet_shutdown,
)
from tests.lab.programs.cri import Runtime, connect, delegate, network_problem
from tests.lab.programs.daemon import NO_CONTROLLER, Daemon, ExitError, Steps, unanswering, version_of
from tests.lab.programs.daemon import run as run_daemon
from tests.lab.programs.daemon import serve as serve_daemon
from tests.lab.programs.flags import FlagError, Flags, known, minor_of, parse
from tests.lab.programs.host_process_images import Images
from tests.lab.programs.kubelet_bootstrap import ServingCertificate, client
from tests.lab.programs.lookup import NotFoundError, look_up

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.services import ServiceHost

STATUS_S = 10.0
LOOK_S = 2.0


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.2
    version = version_of(node, argv[0])
    try:
        flags = _flags(version, argv)
    except FlagError as error:
        return text(1, "", f"Error: {error}\n")
    if flags.given("version"):
        return text(0, f"Kubernetes v{version}\n")
    if flags.given("help"):
        names = "\n".join(f"      --{name}" for name in sorted(known("kubelet", minor_of(version))))
        return text(0, f"kubelet {version} (simulated)\n\nFlags:\n{names}\n")
    if flags.on("windows-service"):
        return text(1, "", f"Error: failed to initialize the service: {NO_CONTROLLER}\n")
    return (yield from run_daemon(Daemon(node, "kubelet", argv, flags, caller, None), body))


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
    host.accepts_preshutdown = minor_of(version_of(node, argv[0])) >= kubelet_shutdown.SINCE
    return (yield from serve_daemon(Daemon(node, "kubelet", argv, flags, caller, host), body))


def _flags(version: str, argv: list[str]) -> Flags:
    try:
        flags = parse("kubelet", version, argv[1:])
    except FlagError as error:
        raise FlagError(f"failed to parse kubelet flag: {error}") from error
    if flags.rest:
        raise FlagError(f"unknown command {flags.rest[0]}")
    return flags


def body(daemon: Daemon) -> Steps:
    node, flags = daemon.node, daemon.flags
    yield 0.3
    config = kubelet_config.load(node, daemon.version, flags, daemon.caller.environment)
    if daemon.minor < 24 and flags.text("container-runtime", "docker") != "remote":
        raise ExitError("failed to run Kubelet: failed to get docker version: Cannot connect to the Docker daemon")
    try:
        kubelet_node.told(flags, daemon.minor)
    except ValueError as error:
        raise ExitError(f"failed to run Kubelet: {error}") from error
    daemon.log(f'"Kubelet version" kubeletVersion="v{daemon.version}" (simulated)')
    name = kubelet_node.name_of(node, flags)
    api = yield from client(daemon, name, config.cert_dir)
    if daemon.stopping():
        return
    yield 0.5
    found = connect(node, config.endpoint, daemon.minor)
    if isinstance(found, str):
        yield from daemon.sleep(2.0)
        raise ExitError(f"failed to run Kubelet: {found}")
    kubelet_credentials.register(node, daemon.minor, flags)
    if 10250 in node.network.listeners:
        raise ExitError("listen tcp 0.0.0.0:10250: bind: Only one usage of each socket address is normally permitted.")
    node.network.listen(10250, daemon.caller.process.pid, lambda path: config.unauthenticated())
    if config.read_only_port:
        node.network.listen(config.read_only_port, daemon.caller.process.pid, lambda path: (200, b"{}"))
    yield from daemon.sleep(2.0)
    if config.healthz_port:
        node.network.listen(config.healthz_port, daemon.caller.process.pid, lambda path: (200, b"ok"))
    daemon.log('"Started kubelet"')
    serving = ServingCertificate(daemon, config.cert_dir) if config.serving else None
    yield from _Loop(daemon, config, api, name, found, serving).run()


class _Loop:
    """Registers the Node, then reports every 10 s, and at once when Ready changes."""

    def __init__(
        self,
        daemon: Daemon,
        config: kubelet_config.KubeletConfig,
        api: NodeClient | None,
        name: str,
        runtime: Runtime,
        serving: ServingCertificate | None,
    ) -> None:
        self.daemon, self.config, self.api, self.name = daemon, config, api, name
        self.runtime, self.serving = runtime, serving
        self.registered = not config.register
        self.reported_at = -STATUS_S
        self.problem: str | None = None
        self.has_runtime = False
        self.images = Images(daemon)
        self.handler = kubelet_shutdown.handler(daemon, config.document)

    def run(self) -> Steps:
        while not self.daemon.stopping():
            if self.api is not None:
                self._step(self.api)
                self._pods(self.api)
            yield from self.daemon.sleep(LOOK_S)
        host = self.daemon.host
        if host is not None and host.preshutdown_requested and self.handler and self.api and self.registered:
            self._report(self.api, "node is shutting down")
            yield from self.handler.process(self.api, self.name)

    def _step(self, api: NodeClient) -> None:
        node = self.daemon.node
        problem = self._problem()
        if problem == self.problem and node.clock.now() - self.reported_at < STATUS_S:
            return
        self.reported_at = node.clock.now()
        try:
            if not self.registered:
                kubelet_node.register(api, node, self.daemon.flags, self.name, self.config.taints)
                self.registered = True
                self.daemon.log(f'"Successfully registered node" node="{self.name}"')
            self._report(api, problem)
            self.problem = problem
        except (UnreachableError, RefusedError) as error:
            what = (
                "Error updating node status, will retry"
                if self.registered
                else "Unable to register node with API server"
            )
            self.daemon.log(f'"{what}" err="{error}" node="{self.name}"', "E")

    def _report(self, api: NodeClient, problem: str) -> None:
        node, flags = self.daemon.node, self.daemon.flags
        found = api.find(f"/api/v1/nodes/{self.name}")
        if found is None:  # deleted under a running kubelet: it does not register again by itself
            raise RefusedError(404, f'nodes "{self.name}" not found')
        for address in kubelet_node.told(flags, self.daemon.minor):
            if why := kubelet_node.invalid(node, address):
                self.daemon.log(f'"Failed to set some node status fields" err="failed to validate nodeIP: {why}"', "E")
        new = kubelet_node.status(
            node,
            flags,
            self.name,
            self.daemon.version,
            self.runtime.version,
            problem,
            found.get("status") or {},
            self.config.document,
        )
        api.show_config(self.name, self.config.document, *self._shown())
        kubelet_node.report(api, self.name, new)
        kubelet_node.renew_lease(api, self.name, node.clock.iso())
        if self.serving is not None:
            addresses = [item["address"] for item in new["addresses"] if item["type"] == "InternalIP"]
            self.serving.step(api, self.name, addresses)

    def _shown(self) -> tuple[bytes, bytes]:
        """The CA of its callers, and its serving certificate if the cluster has issued one."""
        drive, config = self.daemon.node.drive, self.config
        callers = windows(config.client_ca, "C:\\") if config.client_ca else ""
        served = f"{config.cert_dir}\\kubelet-server-current.pem"
        return (
            drive.read(callers) if callers and drive.is_file(callers) else b"",
            drive.read(served) if drive.is_file(served) else b"",
        )

    def _pods(self, api: NodeClient) -> None:
        """Makes and removes sandboxes while the runtime and its network are there, and reports the pods' status."""
        node = self.daemon.node
        try:
            pods = [pod for pod in api.pods_of(self.name) if scheduled(pod) and not _going(pod)]
            if self.problem:
                # A network that is not ready keeps only those pods off that need it.
                # Source: kubernetes pkg/kubelet/kubelet.go, SyncPod, networkErrors.
                pods = [pod for pod in pods if pod["spec"].get("hostNetwork") and self.has_runtime]
                if not pods:
                    return
            elif not (pods or node.pods.sandboxes):
                return
            spec = api.get(f"/api/v1/nodes/{self.name}").get("spec") or {}
            subnet = calico_node.range_of(node) or str(spec.get("podCIDR") or "")
            conf = delegate(node, self.runtime, subnet)
            found = node.pods.sync(
                pods, subnet, self.runtime.version, conf, shim=self.runtime.shim, keep=bool(self.problem), spec=spec
            )
            self._show_in_containerd()
            hosted = [pod for pod in pods if pod["spec"].get("hostNetwork")]
            found |= self.images.sync(api, [pod for pod in hosted if _runs(found[str(pod["metadata"]["uid"])])])
            for pod in pods:
                metadata = pod["metadata"]
                status = self._without_powershell(pod) or found[str(metadata["uid"])]
                if status != {key: (pod.get("status") or {}).get(key) for key in status}:
                    path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/status"
                    api.send("PATCH", path, {"status": status}, MERGE)
        except (UnreachableError, RefusedError) as error:
            self.daemon.log(f'"Failed to update status for pod" err="{error}"', "E")

    def _without_powershell(self, pod: dict[str, Any]) -> dict[str, Any] | None:
        """The status of a pod with a subPath, which the kubelet has PowerShell look at; None where that is found.

        Sources: kubernetes pkg/volume/util/subpath/subpath_windows.go, evalSymlink; pkg/kubelet/kubelet_pods.go,
        makeMounts, which hides the reason from the pod.
        """
        for container in pod["spec"]["containers"]:
            for mount in container.get("volumeMounts") or ():
                if mount.get("subPath"):
                    try:
                        look_up(self.daemon.node.drive, self.daemon.caller, "powershell")
                    except NotFoundError as error:
                        self.daemon.log(f'"Failed to create subPath directory for volumeMount" err="{error}"', "E")
                        of = f'for volumeMount "{mount["name"]}" of container "{container["name"]}"'
                        return waiting(pod, "CreateContainerConfigError", f"failed to create subPath directory {of}")
        return None

    def _show_in_containerd(self) -> None:
        """crictl lists the sandboxes that there are; what else containerd was given stays."""
        node = self.daemon.node
        owner = node.pipes.owner(self.config.endpoint)
        server = node.processes.get(owner) if owner is not None else None
        if server is None:
            return
        pods = [
            containers.Container(one.identity, server.pid, one.namespace, one.name)
            for one in node.pods.sandboxes.values()
        ]
        others = [one for one in containers.of(server) if one.id not in node.pods.shown]
        node.pods.shown = {one.id for one in pods}
        containers.put(server, [*others, *pods])

    def _problem(self) -> str:
        """Why the node is not ready; `` when it is."""
        found = connect(self.daemon.node, self.config.endpoint, self.daemon.minor)
        self.has_runtime = not isinstance(found, str)
        if isinstance(found, str):
            return f"container runtime is down: {found}"
        self.runtime = found
        return network_problem(self.daemon.node, found)


def _runs(status: dict[str, Any]) -> bool:
    return status.get("phase") == "Running"


def _going(pod: dict[str, Any]) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))
