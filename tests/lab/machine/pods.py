"""What a node runs of a cluster's pods: for each one a sandbox, an HNS endpoint with an address, and nothing in it.

No container runs. A pod is what its manifest says: which ports it listens on is read from its command line (flows.py).
Sources: kubernetes pkg/kubelet/kubelet_pods.go (status), images (pkg/kubelet/images/types.go: reasons).
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.lab.machine import hcn
from tests.lab.machine.hns_errors import NOT_FOUND, HnsError
from tests.lab.machine.hns_subnets import free_address

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

Object = dict[str, Any]
OS_MISMATCH = "The container operating system does not match the host operating system."
# Tags of images that are for one build of Windows. Source: learn.microsoft.com, container base images.
BUILDS = {"ltsc2019": 17763, "1809": 17763, "20h2": 19042, "ltsc2022": 20348, "ltsc2025": 26100}
NO_SHIM = (
    'failed to create containerd task: failed to start shim: failed to resolve runtime path: runtime "'
    'io.containerd.runhcs.v1" binary not installed "containerd-shim-runhcs-v1.exe": file does not exist'
)
"""Source: containerd core/runtime/v2/shim_manager.go, resolveRuntimePath."""
_LONG_TERM = (20348, 26100)
"""Windows Server 2022 and 2025, whose containers later hosts start."""


def sandbox_id(uid: str) -> str:
    """containerd's id of a pod's sandbox."""
    return hashlib.sha256(uid.encode()).hexdigest()


SANDBOXES = "C:\\ProgramData\\containerd\\root\\io.containerd.grpc.v1.cri\\sandboxes"
"""A folder for each sandbox, until it is removed. Source: containerd v2.3.4 internal/cri/server/helpers.go
(sandboxesDir), plugins/cri/runtime/plugin.go (rootDir)."""
SYSTEM = "S-1-5-18"


@dataclass(frozen=True)
class Sandbox:
    """One pod on the node. endpoint, hns_namespace: their IDs in HNS; created: the node's clock."""

    uid: str
    name: str
    namespace: str
    image: str
    address: str
    endpoint: str
    hns_namespace: str
    created: str

    @property
    def identity(self) -> str:
        """The id that crictl shows."""
        return sandbox_id(self.uid)


class Pods:
    """The sandboxes of one node. unpullable: registries (`mcr.microsoft.com`) that the node does not reach; closed:
    those that answer who sends this Authorization."""

    def __init__(self, node: SimulatedNode) -> None:
        self._node = node
        self.sandboxes: dict[str, Sandbox] = {}
        self.unpullable: set[str] = set()
        self.closed: dict[str, str] = {}
        self.alive: dict[str, float] = {}
        """A HostProcess pod's uid -> when its own volume was last written to, or it was started: the node's clock."""
        self.programs: dict[str, int] = {}
        """A HostProcess pod's uid -> the process of its image."""
        self._conf: Object | None = None
        self._spec: Object = {}
        self._shim: str | None = None
        self.shown: set[str] = set()
        """The ids that containerd was given."""

    def sync(
        self,
        wanted: Iterable[Object],
        subnet: str,
        runtime: str = "",
        conf: Object | None = None,
        *,
        shim: str | None = None,
        keep: bool = False,
        spec: Object | None = None,
    ) -> dict[str, Object]:
        """Makes and removes sandboxes; the new status of each wanted pod by its uid.

        `runtime`: containerd's release; `conf`: what win-bridge or win-overlay is given, None for another plugin;
        `shim`: the program that runs them, empty if containerd finds none, None where that does not matter; `keep`:
        sandboxes of other pods stay; `spec`: the Node's.
        """
        self._conf, self._shim, self._spec = conf, shim, spec or {}
        pods = {str(pod["metadata"]["uid"]): pod for pod in wanted}
        for uid in [uid for uid in self.sandboxes if uid not in pods and not keep]:
            self._remove(self.sandboxes.pop(uid))
        return {uid: self._status(pod, subnet, runtime) for uid, pod in pods.items()}

    def lost(self) -> None:
        """The machine was restarted, or HNS was: what hung on it is gone."""
        for sandbox in self.sandboxes.values():
            self._forget(sandbox)
        self.sandboxes.clear()
        self.alive.clear()
        self.programs.clear()

    def _status(self, pod: Object, subnet: str, runtime: str) -> Object:
        node, uid = self._node, str(pod["metadata"]["uid"])
        if (pod.get("spec") or {}).get("hostNetwork"):
            return self._on_the_host(pod, runtime)
        found = self.sandboxes.get(uid)
        if found is not None and not _has(node.hns.endpoints, found.endpoint):
            self._forget(self.sandboxes.pop(uid))
            found = None
        if found is None:
            problem = image_problem(pod, node.release.build, self.unpullable, runtime)
            if problem is not None:
                return waiting(pod, *problem)
            if self._shim == "":
                return waiting(pod, "ContainerCreating", NO_SHIM)
            try:
                found = self._make(pod, subnet)
            except HnsError as error:
                return waiting(pod, "ContainerCreating", f"failed to setup network for sandbox: {error}")
            if found is None:
                return waiting(pod, "ContainerCreating", "failed to setup network for sandbox: no network")
            self.sandboxes[uid] = found
        # flannel's delegates give one address; what another plugin leaves of a second in HNS is not simulated.
        second = second_address(found.address, self._spec) if self._conf is None else ""
        return running(pod, found.address, _stamp(node), second)

    def _on_the_host(self, pod: Object, runtime: str) -> Object:
        """A HostProcess pod has no sandbox in HNS, and its image no build that counts: it needs containerd 1.6."""
        problem = image_problem(pod, None, self.unpullable, runtime)
        if problem is None and runtime and tuple(int(part) for part in runtime.split("-")[0].split(".")) < (1, 6):
            problem = ("CreateContainerError", "failed to create containerd container: hostProcess is not supported")
        if problem is None and self._shim == "":
            problem = ("ContainerCreating", NO_SHIM)
        if problem is not None:
            return waiting(pod, *problem)
        return self._waits(pod)

    def _waits(self, pod: Object) -> Object:
        """A pod that ends when nothing is written to its volume; none starts again with restartPolicy Never."""
        status, uid, never = pod.get("status") or {}, str(pod["metadata"]["uid"]), _is_never(pod)
        if never and status.get("phase") in {"Succeeded", "Failed"}:
            return dict(status)
        if never and status.get("phase") == "Running" and uid not in self.alive:
            return ended(pod, 255, "Unknown")
        now = self._node.clock.now()
        last = self.alive.setdefault(uid, now)
        limit = silence_s(pod)
        if limit is not None and now - last >= limit:
            if never:
                return ended(pod, 0, "Completed")
            self.alive[uid] = now
        return running(pod, self._node.nic.address, _stamp(self._node))

    def _make(self, pod: Object, subnet: str) -> Sandbox | None:
        """What a CNI plugin leaves in HNS: an endpoint of a network, in a namespace. None where there is no network."""
        hns = self._node.hns
        metadata = pod["metadata"]
        network = self._network(subnet)
        if network is None:
            return None
        uid, space = str(metadata["uid"]), hns.create_namespace()
        try:
            endpoint = self._endpoint(network, uid, str(space["ID"]))
        except HnsError:
            hns.delete_namespace(space["ID"])
            raise
        hns.attach_endpoint(endpoint["ID"], space["ID"])
        self._node.services.start_later("vmcompute")  # the shim asks it for a container; it is started on demand
        self._node.drive.mkdir(f"{SANDBOXES}\\{sandbox_id(uid)}", SYSTEM)
        return Sandbox(
            uid,
            str(metadata["name"]),
            str(metadata["namespace"]),
            str(pod["spec"]["containers"][0]["image"]),
            str(endpoint["IPAddress"]),
            str(endpoint["ID"]),
            str(space["ID"]),
            _stamp(self._node),
        )

    def _network(self, subnet: str) -> Object | None:
        """The one that the configuration names, of any other plugin the one with the node's pod range."""
        for network in self._node.hns.networks:
            ranges = [item["AddressPrefix"] for item in network["Subnets"]]
            named = self._conf is None or network["Name"] == self._conf["name"]
            if named and subnet and any(_within(subnet, one) for one in ranges):
                return network
        return None

    def _endpoint(self, network: Object, uid: str, space: str) -> Object:
        """As win-bridge and win-overlay make it; of another plugin its name and address alone."""
        hns, sandbox = self._node.hns, sandbox_id(uid)
        if self._conf is None:
            return hns.create_endpoint({"VirtualNetwork": network["ID"], "Name": f"{sandbox}_{network['Name']}"})
        # host-local gives it; that it does not look into HNS is not simulated.
        taken = {str(one.get("IPAddress")) for one in hns.endpoints_of(network["ID"])}
        address = free_address(network, taken)
        request = hcn.pod_endpoint(self._conf, network, address, sandbox, space)
        if self._conf.get("apiVersion") != 2:
            # For a namespace the plugins' first API takes only an endpoint that is there: hns.AddHnsEndpoint.
            raise HnsError(NOT_FOUND)
        return hcn.create_endpoint(hns, request)

    def _remove(self, sandbox: Sandbox) -> None:
        hns = self._node.hns
        if _has(hns.endpoints, sandbox.endpoint):
            hns.delete_endpoint(sandbox.endpoint)
        if _has(hns.namespaces, sandbox.hns_namespace):
            hns.delete_namespace(sandbox.hns_namespace)
        self._forget(sandbox)

    def _forget(self, sandbox: Sandbox) -> None:
        folder = f"{SANDBOXES}\\{sandbox.identity}"
        if self._node.drive.is_dir(folder):
            self._node.drive.delete_tree(folder)


def _stamp(node: SimulatedNode) -> str:
    return node.clock.utc().strftime("%Y-%m-%dT%H:%M:%SZ")


def _has(objects: list[Object], identity: str) -> bool:
    return any(item["ID"] == identity for item in objects)


def _within(subnet: str, prefix: str) -> bool:
    mine, whole = ipaddress.ip_network(subnet), ipaddress.ip_network(prefix)
    return (
        isinstance(mine, ipaddress.IPv4Network)
        and isinstance(whole, ipaddress.IPv4Network)
        and (mine.subnet_of(whole) or whole.subnet_of(mine))
    )


def image_problem(
    pod: Object, build: int | None, unpullable: Iterable[str] = (), runtime: str = ""
) -> tuple[str, str] | None:
    """Why a container of this pod does not start on this build of Windows (None: on Linux): reason and message."""
    for container in pod["spec"].get("containers") or []:
        image = str(container.get("image") or "")
        if any(image.startswith(f"{registry}/") for registry in unpullable):
            return "ImagePullBackOff", f'Back-off pulling image "{image}": dial tcp: i/o timeout'
        tag = image.rpartition(":")[2].lower()
        wanted = next((number for name, number in BUILDS.items() if tag.endswith(name)), None)
        if build is not None and wanted is not None and not starts(build, wanted, runtime):
            return "CreateContainerError", OS_MISMATCH
    return None


def starts(host: int, image: int, runtime: str = "") -> bool:
    """Whether a host starts process-isolated containers of an image of this build. `runtime`: containerd's release,
    empty for one that is new.

    Up to Windows Server 2019 the builds are equal; from 2022 on a host takes all from the long-term release before it
    (from its own, if it is 2022) to itself. containerd went by the equal build up to 1.6.22 and 1.7.5.
    Sources: microsoft/hcsshim osversion/platform_compat_windows.go; containerd platforms/defaults_windows.go at
    v1.6.22, v1.6.23, v1.7.5, v1.7.6.
    """
    release = tuple(int(part) for part in runtime.partition("-")[0].split(".")) if runtime else (99,)
    old = release < (1, 6, 23) or (1, 7) <= release < (1, 7, 6)
    if old or host < _LONG_TERM[0]:
        return host == image
    earlier = [build for build in _LONG_TERM if build < host]
    return (earlier[-1] if earlier else _LONG_TERM[0]) <= image <= host


_SILENCE = re.compile(
    r"'CONTAINER_SANDBOX_MOUNT_POINT'.*GetLastWriteTimeUtc.*\.Elapsed\.TotalSeconds -lt (?P<seconds>[0-9]+)\)",
    re.DOTALL,
)


def silence_s(pod: Object) -> float | None:
    """After how many seconds the program of a HostProcess pod ends if nobody writes to its volume; None: never."""
    found = _SILENCE.search(" ".join(pod["spec"]["containers"][0].get("command") or ()))
    return float(found["seconds"]) if found else None


def _is_never(pod: Object) -> bool:
    return (pod.get("spec") or {}).get("restartPolicy") == "Never"


def ended(pod: Object, code: int, reason: str) -> Object:
    """The status of a pod whose containers have ended and do not start again."""
    containers = [
        {
            "name": item["name"],
            "image": item["image"],
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": {"exitCode": code, "reason": reason}},
        }
        for item in pod["spec"]["containers"]
    ]
    conditions = [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "False"}]
    phase = "Failed" if code else "Succeeded"
    return {"phase": phase, "conditions": conditions, "containerStatuses": containers}


def waiting(pod: Object, reason: str, message: str) -> Object:
    """The status of a pod whose containers do not run."""
    containers = [
        {
            "name": item["name"],
            "image": item["image"],
            "ready": False,
            "restartCount": 0,
            "state": {"waiting": {"reason": reason, "message": message}},
        }
        for item in pod["spec"]["containers"]
    ]
    conditions = [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "False"}]
    return {"phase": "Pending", "conditions": conditions, "containerStatuses": containers}


def second_address(address: str, spec: Object) -> str:
    """A pod's address in the second of its Node's ranges, the same number as in the first; empty where it has one."""
    ranges = [*(spec.get("podCIDRs") or ()), "", ""]
    if not ranges[1]:
        return ""
    number = int(ipaddress.ip_address(address)) - int(ipaddress.ip_network(ranges[0]).network_address)
    return str(ipaddress.ip_network(ranges[1])[number])


def running(pod: Object, address: str, stamp: str, second: str = "") -> Object:
    """The status of a pod that runs; times are kept."""
    old = {item["name"]: item for item in (pod.get("status") or {}).get("containerStatuses") or []}
    containers = []
    for item in pod["spec"]["containers"]:
        state = (old.get(item["name"]) or {}).get("state") or {}
        started = (state.get("running") or {}).get("startedAt", stamp)
        digest = hashlib.sha256(str(item["image"]).encode()).hexdigest()
        containers.append(
            {
                "name": item["name"],
                "image": item["image"],
                "imageID": f"{str(item['image']).rpartition(':')[0]}@sha256:{digest}",
                "containerID": f"containerd://{hashlib.sha256(str(pod['metadata']['uid']).encode()).hexdigest()}",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": started}},
            }
        )
    conditions = [{"type": kind, "status": "True"} for kind in ("PodScheduled", "ContainersReady", "Ready")]
    return {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": one} for one in (address, second) if one],
        "startTime": containers[0]["state"]["running"]["startedAt"] if containers else stamp,
        "conditions": conditions,
        "containerStatuses": containers,
    }
