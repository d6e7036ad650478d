"""kubeadm.exe, judged by kubernetes v1.37.1 cmd/kubeadm/app/cmd/join.go.

`version`, `join` of a worker, `reset -f`.

Sources: kubernetes cmd/kubeadm/app/cmd/{version,join,reset}.go, app/cmd/phases/join/{preflight,kubelet}.go,
app/preflight/checks.go, app/discovery/token/token.go, app/phases/kubelet/{flags,config}.go,
app/util/initsystem/initsystem_windows.go.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import yaml

from tests.lab.cluster import kubeconfig
from tests.lab.cluster.client import MERGE, NodeClient, RefusedError, UnreachableError, load
from tests.lab.cluster.controllers import jws, ready
from tests.lab.cluster.kubeconfig import Access, BadKubeconfigError
from tests.lab.cluster.pki import BadCertificateError, key_hash
from tests.lab.cluster.store import merged
from tests.lab.machine.errors import WinError
from tests.lab.machine.network import NetworkError
from tests.lab.machine.program import Caller, Completed, Run, text
from tests.lab.programs import kubeadm_preflight
from tests.lab.programs.daemon import version_of
from tests.lab.programs.flags import FlagError, minor_of, parse
from tests.lab.programs.kubeadm_config import Join, JoinError, read
from tests.lab.programs.kubelet_config import REFUSED_ON_WINDOWS

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

ETC, KUBELET = "C:\\etc\\kubernetes", "C:\\var\\lib\\kubelet"
KUBECONFIG, BOOTSTRAP = f"{ETC}\\kubelet.conf", f"{ETC}\\bootstrap-kubelet.conf"
SERVICE = "kubelet"
DISCOVERY_S, HEALTH_S, TLS_S, SERVICE_S = 300.0, 240.0, 300.0, 10.0
CRI_ANNOTATION = "kubeadm.alpha.kubernetes.io/cri-socket"
# Source: kubernetes cmd/kubeadm/app/constants/constants.go, PauseVersion at each minor.
_PAUSE = {22: "3.5", 23: "3.6", 24: "3.7", 25: "3.8", 26: "3.9", 27: "3.9", 28: "3.9", 29: "3.9", 30: "3.9"}
_JOINED = """
This node has joined the cluster:
* Certificate signing request was sent to apiserver and a response was received.
* The Kubelet was informed of the new secure connection details.

Run 'kubectl get nodes' on the control-plane to see this node join the cluster.

"""


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.2
    version = version_of(node, argv[0])
    command = argv[1] if len(argv) > 1 else ""
    if command == "version":
        if {"-o=short", "--output=short"} & set(argv) or argv[2:4] == ["-o", "short"]:
            return text(0, f"v{version}\n")
        major, minor = version.split(".")[:2]
        return text(
            0,
            f'kubeadm version: &version.Info{{Major:"{major}", Minor:"{minor}", GitVersion:"v{version}", '
            'GoVersion:"simulated", Compiler:"gc", Platform:"windows/amd64"}\n',
        )
    if command == "join":
        return (yield from _Joining(node, version, caller, drive=argv[0][:2]).run(argv[2:]))
    if command == "reset":
        return (yield from _reset(node, argv[2:], caller))
    return text(1, "", f'error: unknown command "{command}" for "kubeadm"\n')


class _Joining:
    def __init__(self, node: SimulatedNode, version: str, caller: Caller, *, drive: str) -> None:
        self.node, self.version, self.caller = node, version, caller
        self.minor = minor_of(version)
        self.drive = drive
        self.cluster: dict[str, Any] = {}
        self.out: list[str] = []
        self.warnings: list[str] = []

    def run(self, arguments: list[str]) -> Generator[float | None, None, Completed]:
        try:
            flags = parse("kubeadm", self.version, arguments)
        except FlagError as error:
            return text(1, "", f"error: {error}\nTo see the stack trace of this error execute with --v=5 or higher\n")
        phase = ""
        try:
            join = read(self.node, self.minor, flags)
            phase = "error execution phase preflight: "
            self.out.append("[preflight] Running pre-flight checks (simulated)")
            self.warnings += kubeadm_preflight.check(self.node, self.minor, join, self.caller, KUBECONFIG, BOOTSTRAP)
            access, config = yield from self._discover(join)
            phase = "error execution phase kubelet-start: "
            yield from self._kubelet_start(join, access, config)
        except JoinError as error:
            said = "".join(f"{line}\n" for line in self.warnings)
            said += f"{phase}{error}\nTo see the stack trace of this error execute with --v=5 or higher\n"
            return text(1, self._printed(), said)
        return text(0, self._printed() + _JOINED, "".join(f"{line}\n" for line in self.warnings))

    def _printed(self) -> str:
        return "".join(f"{line}\n" for line in self.out)

    def _until(self, seconds: float, what: Callable[[], Any]) -> Generator[float | None, None, Any]:
        """What `what` returns; while it raises JoinError it is tried again, and the last error counts."""
        end = self.node.clock.now() + seconds
        while True:
            try:
                return what()
            except JoinError:
                if self.node.clock.now() >= end:
                    raise
            yield 5.0

    # -- discovery -----------------------------------------------------------------------------------------------

    def _discover(self, join: Join) -> Generator[float | None, None, tuple[Access, dict[str, Any]]]:
        """The server as cluster-info says it, or a file, with the token; and the cluster's KubeletConfiguration."""
        if join.file:
            access = yield from self._discover_by_file(join)
            self.out.append("[preflight] Reading configuration from the cluster...")
            return access, self._read_cluster(access)
        text_of = yield from self._until(DISCOVERY_S, lambda: self._cluster_info(join))
        found = kubeconfig.read(text_of, lambda path: b"")
        try:
            pinned = key_hash(found.ca)
        except BadCertificateError as error:
            raise JoinError(f"cluster CA found in cluster-info ConfigMap is invalid: {error}") from error
        if not join.unsafe and pinned not in join.ca_hashes:
            raise JoinError(
                "couldn't validate the identity of the API Server: cluster CA found in cluster-info ConfigMap is "
                f'invalid: none of the public keys "{pinned}" are pinned'
            )
        # Asked once more, now over TLS with that CA. Source: app/discovery/token/token.go, step 4.
        verified = Access(join.server, found.ca)
        try:
            NodeClient(self.node, verified).get("/api/v1/namespaces/kube-public/configmaps/cluster-info")
        except (UnreachableError, RefusedError) as error:
            raise JoinError(f"couldn't validate the identity of the API Server: {error}") from error
        access = Access(found.server or join.server, found.ca, join.tls_token)
        self.out.append("[preflight] Reading configuration from the cluster...")
        return access, self._read_cluster(access)

    def _discover_by_file(self, join: Join) -> Generator[float | None, None, Access]:
        """A 403 of cluster-info is enough to know the server; everything else is asked again until the time is up.

        Source: kubernetes v1.37.2 cmd/kubeadm/app/discovery/{discovery,file/file}.go.
        """
        try:
            found = load(self.node, join.file)
        except BadKubeconfigError as error:
            raise JoinError(f"couldn't validate the identity of the API Server: {error}") from error
        yield from self._until(DISCOVERY_S, lambda: self._ask_cluster_info(found))
        access = Access(found.server, found.ca, join.tls_token) if join.tls_token else found
        if not access.token and access.pair is None:
            raise JoinError(
                "could not find authentication credentials for the TLS bootstrap process. Please use Token discovery, "
                "a discovery file with embedded authentication credentials or a discovery file without authentication "
                "credentials but with the TLSBootstrapToken flag"
            )
        return access

    def _ask_cluster_info(self, access: Access) -> None:
        try:
            NodeClient(self.node, access).get("/api/v1/namespaces/kube-public/configmaps/cluster-info")
        except RefusedError as error:
            if error.status != 403:
                said = f"Abort reading the cluster-info ConfigMap after timeout of 5m0s: {error}"
                raise JoinError(f"couldn't validate the identity of the API Server: {said}") from error
        except UnreachableError as error:
            said = f"Abort reading the cluster-info ConfigMap after timeout of 5m0s: {error}"
            raise JoinError(f"couldn't validate the identity of the API Server: {said}") from error

    def _cluster_info(self, join: Join) -> str:
        api = NodeClient(self.node, Access(join.server), insecure=True)
        identity = "couldn't validate the identity of the API Server: "
        try:
            data = api.get("/api/v1/namespaces/kube-public/configmaps/cluster-info")["data"]
        except (UnreachableError, RefusedError) as error:
            raise JoinError(f"{identity}failed to request the cluster-info ConfigMap: {error}") from error
        token_id, secret = join.token.split(".")
        signature = data.get(f"jws-kubeconfig-{token_id}")
        if not signature:
            said = "could not find a JWS signature in the cluster-info ConfigMap for token ID"
            raise JoinError(f'{identity}{said} "{token_id}"')
        if signature != jws(data["kubeconfig"], token_id, secret):
            said = "failed to verify JWS signature of received cluster info object, can't trust this API Server"
            raise JoinError(f"{identity}{said}")
        return str(data["kubeconfig"])

    def _read_cluster(self, access: Access) -> dict[str, Any]:
        api = NodeClient(self.node, access)
        namespace = "/api/v1/namespaces/kube-system/configmaps"
        try:
            cluster = yaml.safe_load(api.get(f"{namespace}/kubeadm-config")["data"]["ClusterConfiguration"])
            minor = minor_of(str(cluster["kubernetesVersion"]))
            self.cluster = cluster
            if minor < self.minor - 1:
                raise JoinError(
                    "unable to fetch the kubeadm-config ConfigMap: this version of kubeadm only supports deploying "
                    f"clusters with the control plane version >= 1.{self.minor - 1}.0. Current version: "
                    f"{cluster['kubernetesVersion']}"
                )
            name = "kubelet-config" if self.minor >= 24 else f"kubelet-config-1.{minor}"
            found: dict[str, Any] = yaml.safe_load(api.get(f"{namespace}/{name}")["data"]["kubelet"])
        except (UnreachableError, RefusedError) as error:
            said = "unable to fetch the kubeadm-config ConfigMap: failed to get config map"
            raise JoinError(f"{said}: {error}") from error
        return found

    # -- the kubelet ---------------------------------------------------------------------------------------------

    def _kubelet_start(self, join: Join, access: Access, config: dict[str, Any]) -> Generator[float | None]:
        bootstrap = kubeconfig.write(access.server, access.ca, user="tls-bootstrap-token-user", token=access.token)
        self._write(BOOTSTRAP, bootstrap)
        try:
            self._write(join.ca_path, access.ca.decode())
            self._refuse_ready_node(NodeClient(self.node, access), join.name)
            yield from self._stop()
            self.out.append(f'[kubelet-start] Writing kubelet configuration to file "{KUBELET}\\config.yaml"')
            written = self._patched(join, adapted(self.minor, config, self.cluster, self.drive))
            if self.minor >= INSTANCE_FROM:
                self._write(f"{KUBELET}\\instance-config.yaml", f'containerRuntimeEndpoint: "{join.socket}"\n')
                written = merged(written, {"containerRuntimeEndpoint": join.socket})
            self._write(f"{KUBELET}\\config.yaml", yaml.safe_dump(written))
            env = f"{KUBELET}\\kubeadm-flags.env"
            self.out.append(f'[kubelet-start] Writing kubelet environment file with flags to file "{env}"')
            self._write(env, env_file(self.minor, join))
            self.out.append("[kubelet-start] Starting the kubelet")
            yield from self._start()
            yield from self._wait_health(config)
            self.out.append("[kubelet-start] Waiting for the kubelet to perform the TLS Bootstrap")
            api = yield from self._until(TLS_S, self._client)
        finally:
            # Go's `defer`: also when it fails; not when the process is killed, as its generator is then put aside.
            if self.node.drive.is_file(BOOTSTRAP):
                self.node.drive.delete(BOOTSTRAP)
        yield from self._until(120.0, lambda: self._annotate(api, join))

    def _patched(self, join: Join, config: dict[str, Any]) -> dict[str, Any]:
        """With the patches of kubeletconfiguration, from 1.25 on (unverified for 1.25 and 1.26, there at v1.27.16).

        Source: cmd/kubeadm/app/util/patches/patches.go, phases/kubelet/config.go (applyKubeletConfigPatches).
        """
        if not join.patches or self.minor < 25:
            return config
        if not self.node.drive.is_dir(join.patches):
            raise JoinError(f"could not apply patches to the KubeletConfiguration: lstat {join.patches}: not found")
        for name in sorted(self.node.drive.listdir(join.patches)):
            match = re.fullmatch(r"kubeletconfiguration[^.+]*\+merge\.(json|yaml)", name)
            if match:
                patch = yaml.safe_load(self.node.drive.read(f"{join.patches}\\{name}").decode())
                config = merged(config, patch)
                self.out.append(
                    '[patches] Applied patch of type "application/merge-patch+json" to target "kubeletconfiguration"'
                )
        return config

    def _write(self, path: str, content: str) -> None:
        owner = self.caller.user
        try:
            self.node.drive.mkdir(self.node.drive.parent(path), owner)
            self.node.drive.write(path, content.encode(), owner=owner)
        except WinError as error:
            raise JoinError(f"couldn't save {self.node.drive.name(path)} to disk: {error}") from error

    def _refuse_ready_node(self, api: NodeClient, name: str) -> None:
        try:
            found = api.find(f"/api/v1/nodes/{name}")
        except (UnreachableError, RefusedError) as error:
            raise JoinError(f'cannot get Node "{name}": {error}') from error
        if found is not None and ready(found) == "True":
            raise JoinError(
                f'a Node with name "{name}" and status "Ready" already exists in the cluster. You must delete the '
                "existing Node or change the name of this new joining Node"
            )

    def _stop(self) -> Generator[float | None]:
        """Ten seconds at most; what goes wrong is a warning."""
        services = self.node.services
        if not services.exists(SERVICE) or services.state(SERVICE) == "stopped":
            return
        try:
            services.stop(SERVICE)
        except WinError as error:
            self.warnings.append(
                f"[kubelet-start] WARNING: unable to stop the kubelet service momentarily: {error.text}"
            )
            return
        end = self.node.clock.now() + SERVICE_S
        while services.state(SERVICE) != "stopped" and self.node.clock.now() < end:
            yield 0.3
        if services.state(SERVICE) != "stopped":
            self.warnings.append("[kubelet-start] WARNING: unable to stop the kubelet service: timeout waiting")

    def _start(self) -> Generator[float | None]:
        """Only a service that is stopped, or stopping, is started: one that is PAUSED counts as started."""
        services = self.node.services
        warning = "[kubelet-start] WARNING: unable to start the kubelet service: "
        if not services.exists(SERVICE):
            self.warnings.append(f"{warning}[could not access service kubelet]")
            self.warnings.append("[kubelet-start] Please ensure kubelet is reloaded and running manually.")
            return
        if services.state(SERVICE) not in {"stopped", "stop_pending"}:
            return
        try:
            yield from services.start(SERVICE)
        except WinError as error:
            self.warnings.append(f"{warning}[could not start service kubelet: {error.text}]")

    def _wait_health(self, config: dict[str, Any]) -> Generator[float | None]:
        url = f"http://{config.get('healthzBindAddress', '127.0.0.1')}:{config.get('healthzPort', 10248)}/healthz"
        self.out.append(f"[kubelet-check] Waiting for a healthy kubelet at {url}. This can take up to 4m0s")
        started = self.node.clock.now()

        def healthy() -> float:
            try:
                if self.node.network.get(url, timeout=1).status == 200:
                    return self.node.clock.now() - started
                said = "unexpected status"
            except NetworkError as error:
                said = str(error)
            raise JoinError(f"The HTTP call equal to 'curl -sSL {url}' returned error: Get \"{url}\": {said}")

        try:
            seconds = yield from self._until(HEALTH_S, healthy)
        except JoinError:
            self.out.append("[kubelet-check] The kubelet is not healthy after 4m0s")
            self.out.append("\nUnfortunately, an error has occurred, likely since the kubelet is not running.")
            raise
        self.out.append(f"[kubelet-check] The kubelet is healthy after {seconds:.1f}s")

    def _client(self) -> NodeClient:
        try:
            return NodeClient(self.node, load(self.node, KUBECONFIG))
        except BadKubeconfigError as error:
            raise JoinError(f"timed out waiting for the condition: {error}") from error

    def _annotate(self, api: NodeClient, join: Join) -> None:
        try:
            patch = {"metadata": {"annotations": {CRI_ANNOTATION: join.socket}}}
            api.send("PATCH", f"/api/v1/nodes/{join.name}", patch, MERGE)
        except (UnreachableError, RefusedError) as error:
            raise JoinError(f"error writing CRISocket for this node: {error}") from error


MUTATES_FROM = 23
"""From this minor on kubeadm adapts paths to Windows: cmd/kubeadm/app/componentconfigs/kubelet_windows.go is not in
1.22.17, and is in 1.24.17; 1.23 is unverified."""


INSTANCE_FROM = 34
"""From this minor on a join writes instance-config.yaml with the runtime's socket, and puts that into config.yaml too.

Source: v1.34.9 cmd/kubeadm/app/features/features.go (NodeLocalCRISocket is on), cmd/phases/join/kubelet.go,
phases/kubelet/config.go (WriteConfigToDisk); v1.33.13 has it off.
"""


def adapted(minor: int, config: dict[str, Any], cluster: dict[str, Any], drive: str) -> dict[str, Any]:
    """The cluster's KubeletConfiguration for Windows: before a path that begins with `/` the drive that kubeadm.exe
    lies on, and no resolv.conf. The rest, cgroupDriver and cgroupsPerQOS too, stays. What the cluster does not say is
    kubeadm's default; a clientCAFile is made of certificatesDir, by Windows' rules, and keeps no drive. A field that
    this release does not have is lost, since kubeadm writes what it has read into its own type.

    Sources: cmd/kubeadm/app/componentconfigs/kubelet.go (Default), kubelet_windows.go (mutatePaths).
    """
    config = _defaulted(config, cluster)
    x509 = dict(config["authentication"]["x509"])
    known = {key: value for key, value in config.items() if minor >= REFUSED_ON_WINDOWS.get(key, 0)}
    result = {**known, "authentication": {**config["authentication"], "x509": x509}}
    if minor < MUTATES_FROM:
        return result
    result["resolvConf"] = ""
    for found, key in ((result, "staticPodPath"), (x509, "clientCAFile")):
        if str(found.get(key, "")).startswith("/"):
            found[key] = drive + str(found[key]).replace("/", "\\")
    return result


def _defaulted(config: dict[str, Any], cluster: dict[str, Any]) -> dict[str, Any]:
    """Empty is absent, as Go's own type has it; rotateCertificates is true whatever the cluster says."""
    networking = cluster.get("networking") or {}
    certificates = str(cluster.get("certificatesDir") or f"{ETC}\\pki")
    given = config.get("authentication") or {}
    authentication = {part: dict(given.get(part) or {}) for part in ("anonymous", "webhook", "x509")}
    authentication["anonymous"].setdefault("enabled", False)
    authentication["webhook"].setdefault("enabled", True)
    if not authentication["x509"].get("clientCAFile"):
        authentication["x509"]["clientCAFile"] = f"{certificates}/ca.crt".replace("/", "\\")
    authorization = dict(config.get("authorization") or {})
    authorization["mode"] = authorization.get("mode") or "Webhook"
    tenth = ipaddress.ip_network(str(networking.get("serviceSubnet") or "10.96.0.0/12").split(",")[0])[10]
    made = {**config, "authentication": authentication, "authorization": authorization, "rotateCertificates": True}
    for key, value in (
        ("staticPodPath", "/etc/kubernetes/manifests"),
        ("clusterDomain", networking.get("dnsDomain") or "cluster.local"),
        ("healthzBindAddress", "127.0.0.1"),
        ("cgroupDriver", "systemd"),
    ):
        made[key] = made.get(key) or value
    made.setdefault("clusterDNS", [str(tenth)])
    made.setdefault("healthzPort", 10248)
    return made


def env_file(minor: int, join: Join) -> str:
    """kubeadm-flags.env. What each release writes: container-runtime up to 1.23 and the pause image up to 1.34
    (kubeadm#3281); 1.24 as the limit of the former is unverified.
    """
    values = {"container-runtime-endpoint": join.socket}
    if minor < 24:
        values["container-runtime"] = "remote"
    if minor < 35:
        values["pod-infra-container-image"] = f"registry.k8s.io/pause:{_PAUSE.get(minor, '3.10')}"
    if join.taints:
        shown = [f"{item['key']}={item.get('value', '')}:{item['effect']}" for item in join.taints]
        values["register-with-taints"] = ",".join(shown)
    if join.name != join.hostname:
        values["hostname-override"] = join.name
    values |= join.extra
    return 'KUBELET_KUBEADM_ARGS="' + " ".join(f"--{name}={value}" for name, value in sorted(values.items())) + '"\n'


def _reset(node: SimulatedNode, arguments: list[str], caller: Caller) -> Generator[float | None, None, Completed]:
    """Stops the kubelet and removes what a join wrote; of the kubelet's folder its content."""
    if not {"-f", "--force", "--force=true"} & set(arguments):
        return text(
            1,
            "[reset] WARNING: Changes made to this host by 'kubeadm init' or 'kubeadm join' will be reverted.\n",
            "error execution phase preflight: aborted reset operation\n",
        )
    if not caller.elevated:
        return text(
            1,
            "",
            "error execution phase preflight: [preflight] Some fatal errors occurred:\n"
            "\t[ERROR IsPrivilegedUser]: user is not running as administrator\n",
        )
    out = ["[preflight] Running pre-flight checks (simulated)", "[reset] Stopping the kubelet service"]
    if node.services.exists(SERVICE) and node.services.state(SERVICE) in {"running", "paused"}:
        node.services.stop(SERVICE)
        yield SERVICE_S
    for path in (f"{ETC}\\admin.conf", KUBECONFIG, BOOTSTRAP):
        if node.drive.is_file(path):
            out.append(f"[reset] Deleting files: [{path}]")
            node.drive.delete(path)
    for folder in (f"{ETC}\\manifests", f"{ETC}\\pki", KUBELET):
        for name in node.drive.listdir(folder) if node.drive.is_dir(folder) else []:
            node.drive.delete_tree(f"{folder}\\{name}")
    folders = f"{ETC}\\manifests {KUBELET} {ETC}\\pki"
    out.append(f"[reset] Deleting contents of directories: [{folders}]")
    return text(0, "".join(f"{line}\n" for line in out))
