"""Images of HostProcess DaemonSets, judged by projectcalico/calico v3.32.1 cni-plugin/pkg/install/install_windows.go.

What Calico's and SIG Windows' kube-proxy do on a machine.

Each container's files lie below a folder of its own. Sources: calico v3.32.1 cni-plugin/pkg/install/install.go,
install_windows.go; kubernetes-sigs/sig-windows-tools 401ee6fc hostprocess/calico/kube-proxy/start.ps1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any

from tests.lab.cluster import kubeconfig
from tests.lab.cluster.client import NodeClient, RefusedError, UnreachableError, windows
from tests.lab.machine.builds import build
from tests.lab.machine.pods import SYSTEM, sandbox_id, waiting
from tests.lab.machine.program import Caller, Run
from tests.lab.programs import calico_node, kube_proxy
from tests.lab.programs.daemon import Daemon

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

Object = dict[str, Any]
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


class Images:
    """The programs of one node's HostProcess pods. They outlive the kubelet, as its containers do."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon, self._node = daemon, daemon.node

    def sync(self, api: NodeClient, pods: Iterable[Object]) -> dict[str, Object]:
        """Starts and ends programs; by uid the status of a pod that does not run for a reason of its image's."""
        found: dict[str, Object] = {}
        started = self._node.pods.programs
        known = {str(pod["metadata"]["uid"]): pod for pod in pods}
        for uid in [uid for uid in started if uid not in known]:
            self._node.processes.kill_tree(started.pop(uid))
        for uid, pod in known.items():
            image = str(pod["spec"]["containers"][0]["image"])
            start = self._calico if "node-windows:" in image else self._proxy if "kube-proxy:" in image else None
            if start is None:
                continue
            pid = started.get(uid)
            if pid is None or self._node.processes.get(pid) is None:
                try:
                    started[uid] = start(api, pod)
                except _NotRunError as error:
                    found[uid] = waiting(pod, error.reason, str(error))
        return found

    def _calico(self, api: NodeClient, pod: Object) -> int:
        before = pod["spec"].get("initContainers") or ()
        install: Object = next((each for each in before if each["name"] == "install-cni"), {})
        env = _environment(pod, install)
        host, port = env.get("KUBERNETES_SERVICE_HOST", ""), env.get("KUBERNETES_SERVICE_PORT", "")
        folders = _host_paths(pod, install)
        if not host or not {"/host/opt/cni/bin", "/host/etc/cni/net.d"} <= folders.keys():
            raise _NotRunError("CrashLoopBackOff", "install-cni: the API server or a folder of CNI is not named")
        server = f"https://{host}:{port}"
        token = self._token(api, pod)
        access = kubeconfig.Access(server, api.ca, token)
        try:
            NodeClient(self._node, access).get(f"/api/v1/nodes/{env['KUBERNETES_NODE_NAME']}")
        except (UnreachableError, RefusedError) as error:
            raise _NotRunError("CrashLoopBackOff", f"install-cni: {error}") from error
        bins, confs = folders["/host/opt/cni/bin"], folders["/host/etc/cni/net.d"]
        for name in ("calico", "calico-ipam"):
            self._place(f"{bins}\\{name}.exe", build(name, _tag(install)))
        written = kubeconfig.write(server, access.ca, user="calico", token=token).encode()
        self._place(f"{confs}\\calico-kubeconfig", written)
        self._place(f"{confs}\\{env['CNI_CONF_NAME']}", _conflist(env, confs))
        container = next(item for item in pod["spec"]["containers"] if item["name"] == "node")
        path = f"{_mount(pod)}\\CalicoWindows\\calico-node.exe"
        self._place(path, build("calico-node", _tag(container)))
        environment = {**_environment(pod, container), "KUBECONFIG": f"{confs}\\calico-kubeconfig"}
        return self._spawn(path, environment, lambda caller: calico_node.main(self._node, [path], b"", caller))

    def _proxy(self, api: NodeClient, pod: Object) -> int:
        (container,) = pod["spec"]["containers"]
        volume = next(item for item in pod["spec"]["volumes"] if item["name"] == container["volumeMounts"][0]["name"])
        name = str(volume["configMap"]["name"])
        content = api.find(f"/api/v1/namespaces/{pod['metadata']['namespace']}/configmaps/{name}")
        if content is None:
            raise _NotRunError("ContainerCreating", f'MountVolume.SetUp failed: configmap "{name}" not found')
        mount = _mount(pod)
        self._place(f"{mount}{windows(ACCOUNT, '')[2:]}\\token", self._token(api, pod).encode())
        self._place(f"{mount}{windows(ACCOUNT, '')[2:]}\\ca.crt", api.ca)
        inside = mount.replace("\\", "/")
        text = str((content.get("data") or {}).get("kubeconfig.conf") or "").replace("/var", f"{inside}/var")
        config = f"{mount}\\var\\lib\\kube-proxy\\kubeconfig-win.conf"
        self._place(config, text.encode())
        path = f"{mount}\\kube-proxy\\kube-proxy.exe"
        self._place(path, build("kube-proxy", _tag(container).split("-")[0]))
        environment = {"KUBE_NETWORK": calico_node.NETWORK}
        return self._spawn(path, environment, lambda caller: _start_proxy(self._node, path, config, pod, caller))

    def _spawn(self, path: str, environment: dict[str, str], run: Callable[[Caller], Run]) -> int:
        """A process as SYSTEM. Not by `start_program`, since an antivirus program looks at a new file for a while."""
        callers: list[Caller] = []

        def body() -> Generator[float | None, None, int]:
            completed = yield from run(callers[0])
            return completed.exit_code

        process = self._node.processes.spawn(path, body(), environment=environment)
        callers.append(Caller(process, process.user, True, environment=environment))
        return process.pid

    def _place(self, path: str, content: bytes) -> None:
        self._node.drive.mkdir(self._node.drive.parent(path), SYSTEM)
        self._node.drive.write(path, content, owner=SYSTEM)

    def _token(self, api: NodeClient, pod: Object) -> str:
        """The projected token of the pod's account. Source: kubernetes plugin/pkg/admission/serviceaccount."""
        metadata, account = pod["metadata"], str(pod["spec"].get("serviceAccountName") or "default")
        path = f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}/token"
        try:
            return str(api.send("POST", path, {"spec": {}})["status"]["token"])
        except RefusedError as error:
            raise _NotRunError("ContainerCreating", f"MountVolume.SetUp failed: {error}") from error


class _NotRunError(Exception):
    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


def _start_proxy(node: SimulatedNode, path: str, config: str, pod: Object, caller: Caller) -> Run:
    """start.ps1: it waits for Calico's network and endpoint, and runs kube-proxy with the endpoint's address."""
    yield 1.0
    while node.hns.network(calico_node.NETWORK) is None or node.hns.endpoint(calico_node.ENDPOINT) is None:
        yield 1.0
    address = str((node.hns.endpoint(calico_node.ENDPOINT) or {})["IPAddress"])
    argv = [
        path,
        f"--hostname-override={pod['spec']['nodeName']}",
        "--proxy-mode=kernelspace",
        f"--kubeconfig={config}",
        "--enable-dsr=true",
        f"--source-vip={address}",
        "--feature-gates=WinDSR=true,WinOverlay=true",
    ]
    return (yield from kube_proxy.main(node, argv, b"", caller))


def _mount(pod: Object) -> str:
    return f"C:\\C\\{sandbox_id(str(pod['metadata']['uid']))[:12]}"


def _tag(container: Object) -> str:
    return str(container["image"]).rpartition(":")[2].removeprefix("v")


def _environment(pod: Object, container: Object) -> dict[str, str]:
    fields = {"spec.nodeName": pod["spec"]["nodeName"], "metadata.namespace": pod["metadata"]["namespace"]}
    given = {}
    for item in container.get("env") or ():
        path = ((item.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath")
        given[str(item["name"])] = str(fields.get(path, "") if path else item.get("value") or "")
    return given


def _host_paths(pod: Object, container: Object) -> dict[str, str]:
    """Mount path -> folder of the machine."""
    volumes = {item["name"]: (item.get("hostPath") or {}).get("path") for item in pod["spec"].get("volumes") or ()}
    return {
        str(mount["mountPath"]): windows(str(volumes[mount["name"]]), "C:")
        for mount in container.get("volumeMounts") or ()
        if volumes.get(mount["name"])
    }


def _conflist(env: dict[str, str], folder: str) -> bytes:
    """The image's own template. Source: calico v3.32.1 cni-plugin/pkg/install/install_windows.go, defaultNetConf."""
    services = env.get("KUBERNETES_SERVICE_CIDRS") or "10.96.0.10"
    ranges = [one.strip() for one in services.split(",")]
    policies = [{"Name": "EndpointPolicy", "Value": {"Type": "OutBoundNAT", "ExceptionList": ranges}}]
    policies += [
        {"Name": "EndpointPolicy", "Value": {"Type": "SDNROUTE", "DestinationPrefix": one, "NeedEncap": True}}
        for one in ranges
    ]
    servers = [one.strip() for one in (env.get("KUBERNETES_DNS_SERVERS") or "10.96.0.10").split(",")]
    plugin = {
        "type": "calico",
        "name": "Calico",
        "windows_use_single_network": True,
        "mode": env.get("CALICO_NETWORKING_BACKEND") or "vxlan",
        "vxlan_vni": int(env.get("VXLAN_VNI") or 4096),
        "capabilities": {"dns": True},
        "DNS": {"Nameservers": servers, "Search": ["svc.cluster.local"]},
        "datastore_type": env.get("DATASTORE_TYPE") or "kubernetes",
        "kubernetes": {"kubeconfig": f"{folder}\\calico-kubeconfig".replace("\\", "/")},
        "ipam": {"type": "calico-ipam", "subnet": "usePodCidr"},
        "policies": policies,
    }
    return json.dumps({"name": "Calico", "cniVersion": "0.3.1", "plugins": [plugin]}, indent=2).encode()
