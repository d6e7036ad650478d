"""kubelet.exe: flags, what it needs to start, TLS bootstrap, the Node that it registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lab.cluster.pki import identity_of_certificate, identity_of_request
from tests.unit.lab import kube_machine
from tests.unit.lab.kube_machine import BOOTSTRAP, CONFIG, KUBECONFIG, KUBELET_CONFIG, SC, K, Kube

pytestmark = pytest.mark.slow

Make = Callable[..., Kube]
PKI = "C:\\var\\lib\\kubelet\\pki"
NORMAL = (f"--config={CONFIG}", f"--kubeconfig={KUBECONFIG}", "--hostname-override=win1")
JOINING = (*NORMAL, f"--bootstrap-kubeconfig={BOOTSTRAP}")


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Kube] = []

    def one(version: str = "1.30.4", **settings: Any) -> Kube:
        made.append(kube_machine.make(tmp_path / str(len(made)), version, **settings))
        return made[-1]

    yield one
    for kube in made:
        kube.cluster.stop()


def with_kubeconfig(kube: Kube, user: str = "system:node:win1") -> Kube:
    kube.write(KUBECONFIG, kube.cluster.kubeconfig_for(user, "system:nodes"))
    return kube


def test_it_says_its_version(make: Make) -> None:
    assert make("1.27.4").run("kubelet", "--version").stdout == b"Kubernetes v1.27.4\n"


@pytest.mark.parametrize(
    ("version", "argument", "said"),
    [
        ("1.27.4", "--container-runtime=remote", "unknown flag: --container-runtime"),
        ("1.35.0", "--pod-infra-container-image=x", "unknown flag: --pod-infra-container-image"),
        ("1.24.17", "--network-plugin=cni", "unknown flag: --network-plugin"),
        ("1.26.15", "--log-dir=C:\\x", "unknown flag: --log-dir"),
        ("1.30.4", "--housekeeping-interval=10s", "unknown flag: --housekeeping-interval"),
        ("1.30.4", "--cgroups-per-qos=nein", 'strconv.ParseBool: parsing "nein": invalid syntax'),
        ("1.30.4", "--v=viel", 'strconv.ParseInt: parsing "viel": invalid syntax'),
        ("1.30.4", "--config", "flag needs an argument: --config"),
    ],
)
def test_a_flag_that_the_release_does_not_take_ends_it(make: Make, version: str, argument: str, said: str) -> None:
    found = make(version).run("kubelet", argument)
    assert found.exit_code == 1
    assert found.stderr.decode().startswith("Error: failed to parse kubelet flag: ")
    assert said in found.stderr.decode()


@pytest.mark.parametrize(
    ("version", "argument"),
    [
        ("1.26.15", "--container-runtime=remote"),
        ("1.34.4", "--pod-infra-container-image=x"),
        ("1.25.16", "--log-dir=C:\\x"),
        ("1.37.1", "--windows-priorityclass=HIGH_PRIORITY_CLASS"),
        ("1.38.0", "--enable-debugging-handlers"),
        ("1.30.4", "-v=6"),
    ],
)
def test_a_flag_that_the_release_takes_is_not_what_ends_it(make: Make, version: str, argument: str) -> None:
    found = make(version).run("kubelet", argument, "--config=C:\\none.yaml")
    assert "failed to load kubelet config file, path: C:\\none.yaml" in found.stderr.decode()


def test_it_ends_within_seconds_without_what_it_needs(make: Make) -> None:
    kube = make()
    found = kube.run("kubelet", *NORMAL)
    assert (found.exit_code, found.seconds < 5) == (1, True)
    assert f"invalid kubeconfig: stat {KUBECONFIG}" in found.stderr.decode()
    assert "unable to load bootstrap kubeconfig" in kube.run("kubelet", *JOINING).stderr.decode()
    with_kubeconfig(kube)
    kube.sc("stop", "containerd")
    kube.wait(20)
    found = kube.run("kubelet", *NORMAL)
    assert (found.exit_code, found.seconds < 10) == (1, True)
    assert "open //./pipe/containerd-containerd: The system cannot find the file" in found.stderr.decode()
    assert "win1" not in kube.cluster.nodes


@pytest.mark.parametrize(
    ("config", "arguments", "said"),
    [
        ("enforceNodeAllocatable: []", (), "CgroupsPerQOS (--cgroups-per-qos) true is not supported on Windows"),
        ("cgroupsPerQOS: false\nenforceNodeAllocatable: [none]", (), "[none] is not supported on Windows"),
        ("cgroupsPerQOS: false", (), "(--enforce-node-allocatable) [pods] is not supported on Windows"),
        ("featureGates: {Nonsense: true}", (), "unrecognized feature gate: Nonsense"),
        ("", ("--feature-gates=IdentifyPodOS=true",), "unrecognized feature gate: IdentifyPodOS"),
        ("", ("--node-labels=kubernetes.io/role=worker",), "unknown 'kubernetes.io' or 'k8s.io' labels"),
        ("", ("--config-dir=C:\\none",), "failed to walk through kubelet dropin directory"),
        ("{", (), "error converting YAML to JSON"),
    ],
)
def test_a_configuration_that_is_refused(make: Make, config: str, arguments: tuple[str, ...], said: str) -> None:
    kube = with_kubeconfig(make())
    kube.write(CONFIG, f"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n{config}\n")
    found = kube.run("kubelet", *NORMAL, *arguments)
    assert (found.exit_code, said in found.stderr.decode()) == (1, True), found.stderr


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("{}", ""),
        ("cgroupsPerQOS: false\nenforceNodeAllocatable: [none]", ""),
        ("cgroupsPerQOS: false", '(--cgroups-per-qos) must be set to true when "pods" contained'),
        ("enforceNodeAllocatable: [none, pods]", "may not contain additional enforcements"),
        ("enforceNodeAllocatable: [kube-reserved]", "kubeReservedCgroup (--kube-reserved-cgroup) must be specified"),
        ("enforceNodeAllocatable: [all]", 'option "all" specified'),
    ],
)
def test_from_1_31_on_cgroups_are_passed_over_on_windows(make: Make, config: str, said: str) -> None:
    """The lab refused all of it in every release; up to 1.30 it took no notice of `none`."""
    kube = with_kubeconfig(make("1.31.14"))
    header = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    kube.write(CONFIG, header + ("" if config == "{}" else config) + "\n")
    if said:
        found = kube.run("kubelet", *NORMAL)
        assert (found.exit_code, said in found.stderr.decode()) == (1, True), found.stderr
    else:
        kube.start("kubelet", *NORMAL)
        kube.wait_for(lambda: "win1" in kube.cluster.nodes)


def test_the_same_settings_come_from_flags_or_a_drop_in(make: Make) -> None:
    kube = with_kubeconfig(make())
    bare = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    kube.write(CONFIG, bare)
    kube.write("C:\\var\\lib\\kubelet\\config.d\\50-ours.conf", KUBELET_CONFIG)
    kube.start("kubelet", *NORMAL, "--config-dir=C:\\var\\lib\\kubelet\\config.d")
    kube.wait_for(lambda: "win1" in kube.cluster.nodes)
    other = with_kubeconfig(make())
    other.write(CONFIG, bare)
    other.start("kubelet", *NORMAL, "--cgroups-per-qos=false", "--enforce-node-allocatable=")
    other.wait_for(lambda: "win1" in other.cluster.nodes)


HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
FOLDER = "C:\\var\\lib\\kubelet\\config.d"
FOR_WINDOWS = "cgroupsPerQOS: false\nenforceNodeAllocatable: []\n"


@pytest.mark.parametrize(
    ("version", "config", "drop_in", "said"),
    [
        ("1.31.14", "singleProcessOOMKill: true", "", ""),
        ("1.32.13", "singleProcessOOMKill: false", "", "singleProcessOOMKill is not supported on Windows"),
        ("1.36.3", "userNamespaces: {}", "", "userNamespaces is not supported on Windows"),
        ("1.36.3", "defaultPodSysctls: {a: b}", "", ""),
        ("1.37.1", "defaultPodSysctls: {a: b}", "", "defaultPodSysctls is not supported on Windows"),
        ("1.37.1", "defaultPodSysctls: {a: b}", "defaultPodSysctls: null", ""),
        ("1.37.1", "userNamespaces: {idsPerPod: 1}", "userNamespaces: null", ""),
        ("1.31.14", "featureGates: {Nonsense: true}", "featureGates: {Nonsense: null}", "unrecognized feature gate"),
        ("1.37.1", "featureGates: {Nonsense: true}", "featureGates: {Nonsense: null}", "panic: failed to merge global"),
        ("1.36.3", "featureGates: {DefaultPodSysctls: true}", "", "unrecognized feature gate: DefaultPodSysctls"),
        ("1.37.1", "featureGates: {DefaultPodSysctls: true}", "", ""),
        ("1.37.1", "featureGates: {WinDSR: false}", "", "feature is locked to true"),
        ("1.37.1", "featureGates: {AnonymousAuthConfigurableEndpoints: true}", "", "unrecognized feature gate"),
        ("1.37.1", 'maxPods: "5"', "", "cannot unmarshal string into Go struct field KubeletConfiguration.maxPods"),
        (
            "1.37.1",
            "",
            "maxParallelImagePulls: 4",
            "unless SerializeImagePulls (--serialize-image-pulls) is",
        ),
        ("1.34.2", "crashLoopBackOff: {maxContainerRestartPeriod: 1m}", "", "KubeletCrashLoopBackOffMax not enabled"),
        ("1.35.4", "", "enableSystemLogQuery: true", "NodeLogQuery feature gate is required for enableSystemLogQuery"),
        ("1.37.1", FOR_WINDOWS, "clusterDomain: a", 'must be set to true when "pods" contained'),
    ],
)
def test_what_windows_refuses_by_release(make: Make, version: str, config: str, drop_in: str, said: str) -> None:
    kube = with_kubeconfig(make(version))
    kube.write(CONFIG, f"{HEADER}{config}\n")
    kube.write(f"{FOLDER}\\50-ours.conf", f"{HEADER}{drop_in or FOR_WINDOWS}\n")
    arguments = (*NORMAL, f"--config-dir={FOLDER}")
    if said:
        found = kube.run("kubelet", *arguments)
        assert (found.exit_code, said in found.stderr.decode()) == (1, True), found.stderr
    else:
        kube.start("kubelet", *arguments)
        kube.wait_for(lambda: "win1" in kube.cluster.nodes)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("90.conf", "maxPods: 5\n", "Object 'Kind' is missing in"),
        ("90.conf", "kind: KubeletConfiguration\n", "Object 'apiVersion' is missing in"),
        ("90.yaml", "nonsense: [", ""),
    ],
)
def test_a_drop_in_without_its_kind_ends_it(make: Make, name: str, content: str, said: str) -> None:
    kube = with_kubeconfig(make("1.37.1"))
    kube.write(CONFIG, HEADER)
    kube.write(f"{FOLDER}\\{name}", content)
    if said:
        found = kube.run("kubelet", *NORMAL, f"--config-dir={FOLDER}")
        assert (found.exit_code, said in found.stderr.decode()) == (1, True), found.stderr
        assert "failed to load kubelet dropin file" not in found.stdout.decode()
    else:
        kube.start("kubelet", *NORMAL, f"--config-dir={FOLDER}")
        kube.wait_for(lambda: "win1" in kube.cluster.nodes)


def test_drop_ins_of_subfolders_count_in_their_order(make: Make) -> None:
    kube = with_kubeconfig(make("1.37.1"))
    kube.write(CONFIG, f"{HEADER}maxPods: 10\n")
    kube.write(f"{FOLDER}\\50\\a.conf", f"{HEADER}maxPods: 20\n")
    kube.write(f"{FOLDER}\\40.conf", f"{HEADER}maxPods: 30\n")
    kube.start("kubelet", *NORMAL, f"--config-dir={FOLDER}")
    kube.wait_for(lambda: "win1" in kube.cluster.nodes and "status" in kube.cluster.nodes["win1"])
    assert kube.cluster.nodes["win1"]["status"]["capacity"]["pods"] == "20"


def test_an_external_cloud_provider_taints_a_node_that_is_made(make: Make) -> None:
    kube = with_kubeconfig(make("1.37.1"))
    kube.start("kubelet", *NORMAL, "--cloud-provider=external")
    kube.wait_for(lambda: "win1" in kube.cluster.nodes)
    taint = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}
    assert taint in kube.cluster.nodes["win1"]["spec"]["taints"]


def test_before_1_30_the_drop_in_folder_needs_a_variable(make: Make) -> None:
    kube = with_kubeconfig(make("1.28.15"))
    kube.write("C:\\d\\1.conf", KUBELET_CONFIG)
    assert b"KUBELET_CONFIG_DROPIN_DIR_ALPHA" in kube.run("kubelet", *NORMAL, "--config-dir=C:\\d").stderr
    kube.start("kubelet", *NORMAL, "--config-dir=C:\\d", KUBELET_CONFIG_DROPIN_DIR_ALPHA="true")
    kube.wait_for(lambda: "win1" in kube.cluster.nodes)


def test_the_node_it_registers(make: Make) -> None:
    kube = with_kubeconfig(make())
    kube.start("kubelet", *NORMAL, "--register-with-taints=os=windows:NoSchedule", "--node-labels=a=b,c=d")
    kube.wait_for(lambda: "win1" in kube.cluster.nodes)
    node = kube.cluster.nodes["win1"]
    labels = node["metadata"]["labels"]
    assert (labels["kubernetes.io/os"], labels["kubernetes.io/arch"], labels["kubernetes.io/hostname"]) == (
        "windows",
        "amd64",
        "win1",
    )
    assert (labels["node.kubernetes.io/windows-build"], labels["a"], labels["c"]) == ("10.0.20348", "b", "d")
    assert {"key": "os", "value": "windows", "effect": "NoSchedule"} in node["spec"]["taints"]
    kube.wait_for(lambda: kube.cluster.nodes["win1"].get("status"))
    status = kube.cluster.nodes["win1"]["status"]
    assert {"type": "InternalIP", "address": kube.node.nic.address} in status["addresses"]
    info = status["nodeInfo"]
    assert (info["kubeletVersion"], info["containerRuntimeVersion"]) == ("v1.30.4", "containerd://2.0.1")
    assert (info["operatingSystem"], info["bootID"]) == ("windows", kube.node.boot_id)
    kube.wait(10)
    assert kube.cluster.nodes["win1"]["spec"]["podCIDR"] == "10.244.1.0/24"


def test_taints_and_labels_count_for_a_new_node_only(make: Make) -> None:
    kube = with_kubeconfig(make())
    process, _ = kube.start("kubelet", *NORMAL)
    kube.wait_for(lambda: "win1" in kube.cluster.nodes)
    kube.node.processes.kill(process.pid)
    kube.start("kubelet", *NORMAL, "--register-with-taints=os=windows:NoSchedule", "--node-labels=a=b")
    kube.wait(30)
    node = kube.cluster.nodes["win1"]
    assert "os" not in {taint["key"] for taint in node["spec"]["taints"]}
    assert "a" not in node["metadata"]["labels"]


def test_ready_follows_the_network(make: Make) -> None:
    kube = with_kubeconfig(make())
    kube.start("kubelet", *NORMAL)
    kube.wait_for(lambda: kube.ready() == "False")
    ready = kube.cluster.nodes["win1"]["status"]["conditions"][-1]
    assert ready["reason"] == "KubeletNotReady"
    assert "cni plugin not initialized" in ready["message"]
    kube.wait(2)
    assert "node.kubernetes.io/not-ready" in {item["key"] for item in kube.cluster.nodes["win1"]["spec"]["taints"]}
    kube.add_cni()
    kube.wait_for(lambda: kube.ready() == "True", 15)
    kube.wait(20)
    assert kube.cluster.nodes["win1"]["spec"].get("taints") == []
    kube.node.drive.delete(f"{kube_machine.CNI_BIN}\\win-bridge.exe")
    kube.wait_for(lambda: kube.ready() == "False", 15)


def test_health_comes_some_seconds_after_the_start(make: Make) -> None:
    kube = with_kubeconfig(make())
    process, _ = kube.start("kubelet", *NORMAL)
    kube.wait(1)
    assert (process.alive, 10248 in kube.node.network.listeners) == (True, False)
    kube.wait(10)
    assert kube.node.network.get("http://127.0.0.1:10248/healthz").body == b"ok"
    kube.node.processes.kill(process.pid)
    assert 10248 not in kube.node.network.listeners


def test_without_an_override_the_name_is_the_computers_in_lower_case(make: Make) -> None:
    kube = make()
    kube.write(KUBECONFIG, kube.cluster.kubeconfig_for("system:node:win1", "system:nodes"))
    kube.start("kubelet", f"--config={CONFIG}", f"--kubeconfig={KUBECONFIG}")
    kube.wait_for(lambda: "win1" in kube.cluster.nodes)


FLAGS = (f"--kubeconfig={KUBECONFIG}", "--hostname-override=win1", "--cgroups-per-qos=false")
OPEN = (*FLAGS, "--enforce-node-allocatable=")


@pytest.mark.parametrize(
    ("arguments", "status", "read_only"),
    [
        (NORMAL, 401, False),
        (OPEN, 200, True),
        ((*OPEN, "--authorization-mode=Webhook", "--read-only-port=0"), 403, False),
        ((*OPEN, "--anonymous-auth=false"), 401, True),
        ((*NORMAL, "--anonymous-auth=true", "--authorization-mode=AlwaysAllow"), 200, False),
    ],
)
def test_without_a_configuration_file_everybody_gets_in(
    make: Make, arguments: tuple[str, ...], status: int, read_only: bool
) -> None:
    kube = with_kubeconfig(make())
    kube.start("kubelet", *arguments)
    kube.wait(10)
    assert kube.node.network.listeners[10250][1]("/pods")[0] == status
    assert (10255 in kube.node.network.listeners) is read_only


def test_tls_bootstrap(make: Make) -> None:
    kube = make()
    kube.write(BOOTSTRAP, kube.cluster.kubeconfig_for("kubelet-bootstrap", token=kube.cluster.make_token()))
    kube.start("kubelet", *JOINING)
    kube.wait_for(lambda: "win1" in kube.cluster.nodes)
    pem = kube.node.drive.read(f"{PKI}\\kubelet-client-current.pem")
    assert identity_of_certificate(pem).name == "system:node:win1"
    assert identity_of_certificate(pem).groups == ("system:nodes",)
    assert b"PRIVATE KEY" in pem
    user = yaml.safe_load(kube.read(KUBECONFIG))["users"][0]["user"]
    assert user["client-certificate"] == f"{PKI}\\kubelet-client-current.pem"
    assert kube.node.drive.is_file(BOOTSTRAP), "it is kubeadm that removes it"
    assert {call.user for call in kube.cluster.calls} >= {"system:node:win1"}


@pytest.mark.parametrize("token", ["expired", "wrong", "other-group"])
def test_a_token_that_does_not_allow_it(make: Make, token: str) -> None:
    kube = make()
    cluster = kube.cluster
    text = {
        "expired": cluster.make_token(minutes=-1),
        "wrong": "abcdef.0123456789abcdef",
        "other-group": cluster.make_token(groups="system:bootstrappers:others"),
    }[token]
    kube.write(BOOTSTRAP, cluster.kubeconfig_for("x", token=text))
    found = kube.run("kubelet", *JOINING)
    assert found.exit_code == 1
    said = "is forbidden" if token == "other-group" else "Unauthorized"
    assert said in found.stderr.decode()
    assert not kube.node.drive.exists(KUBECONFIG)


def test_a_serving_certificate_waits_for_somebody(make: Make) -> None:
    kube = with_kubeconfig(make())
    kube.write(CONFIG, KUBELET_CONFIG + "serverTLSBootstrap: true\n")
    kube.start("kubelet", *NORMAL)
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    kube.wait_for(lambda: kube.cluster.request("GET", path)["items"])
    kube.wait(60)
    csr = kube.cluster.request("GET", path)["items"][0]
    assert "certificate" not in csr["status"]
    assert (csr["spec"]["signerName"], csr["spec"]["username"]) == ("kubernetes.io/kubelet-serving", "system:node:win1")
    import base64

    asked = identity_of_request(base64.b64decode(csr["spec"]["request"]))
    assert (asked.name, asked.names, asked.addresses) == ("system:node:win1", ("win1",), (kube.node.nic.address,))
    csr["status"]["conditions"] = [{"type": "Approved", "status": "True", "reason": "x", "message": "y"}]
    kube.cluster.request("PUT", f"{path}/{csr['metadata']['name']}/approval", csr)
    kube.wait_for(lambda: kube.node.drive.exists(f"{PKI}\\kubelet-server-current.pem"))


def test_a_wrong_authority_and_an_unknown_server_are_told(make: Make) -> None:
    kube, other = make(), make()
    kube.write(
        KUBECONFIG,
        other.cluster.kubeconfig_for("system:node:win1", "system:nodes").replace(
            other.cluster.server, kube.cluster.server
        ),
    )
    kube.start("kubelet", *NORMAL)
    kube.wait(20)
    assert any("certificate signed by unknown authority" in line for line in kube.log)
    text = kube.cluster.kubeconfig_for("system:node:win1", "system:nodes")
    kube.write(KUBECONFIG, text.replace(kube.cluster.server, "https://nowhere:6443"))
    kube.start("kubelet", *NORMAL)
    assert "win1" not in kube.cluster.nodes


def test_as_a_service_it_is_running_before_anything_works(make: Make) -> None:
    kube = make()
    line = f"{K}\\kubelet.exe --windows-service {' '.join(NORMAL)}"
    kube.sc("create", "kubelet", "binPath=", line)
    assert kube.sc("start", "kubelet").exit_code == 0
    kube.wait(5)
    assert kube.node.services.state("kubelet") == "stopped"
    with_kubeconfig(kube)
    assert kube.sc("start", "kubelet").exit_code == 0
    kube.wait_for(lambda: "win1" in kube.cluster.nodes)
    assert kube.node.services.state("kubelet") == "running"
    kube.sc("stop", "kubelet")
    kube.wait(5)
    assert kube.node.services.state("kubelet") == "stopped"


def test_windows_service_is_for_the_service_manager_only(make: Make) -> None:
    kube = make()
    assert kube.run("kubelet", "--windows-service").exit_code == 1
    kube.sc("create", "bare", "binPath=", f"{K}\\kubelet.exe {' '.join(NORMAL)}")
    with_kubeconfig(kube)
    assert kube.node.run(SC, ["start", "bare"]).exit_code == 1053
