"""kubeadm.exe: preflight, discovery, what a join writes, and the service that it starts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lab.cluster import kubeconfig, kubespray, makers
from tests.lab.cluster.pki import key_hash
from tests.lab.machine import image
from tests.lab.machine.builds import build
from tests.lab.machine.program import Completed
from tests.unit.lab import kube_machine
from tests.unit.lab.kube_machine import BOOTSTRAP, CONFIG, KUBECONFIG, SC, K, Kube

pytestmark = pytest.mark.slow

Make = Callable[..., Kube]
FILE = "C:\\k\\join.yaml"
CA = "C:\\etc\\kubernetes\\pki\\ca.crt"
ENV = "C:\\var\\lib\\kubelet\\kubeadm-flags.env"
ARGUMENTS = (
    f"--windows-service --config={CONFIG} --kubeconfig={KUBECONFIG} --bootstrap-kubeconfig={BOOTSTRAP} "
    "--cgroups-per-qos=false --enforce-node-allocatable="
)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Kube] = []

    def one(version: str = "1.30.4", *, service: bool = True, **settings: Any) -> Kube:
        kube = kube_machine.make(tmp_path / str(len(made)), version, **settings)
        made.append(kube)
        kube.node.drive.delete(CONFIG)
        if service:
            kube.sc("create", "kubelet", "start=", "auto", "binPath=", f"{K}\\kubelet.exe {ARGUMENTS}")
        return kube

    yield one
    for kube in made:
        kube.cluster.stop()


def configure(kube: Kube, token: str = "", ca_hash: str = "", version: str = "v1beta3", **registration: Any) -> None:
    document = {
        "apiVersion": f"kubeadm.k8s.io/{version}",
        "kind": "JoinConfiguration",
        "discovery": {
            "bootstrapToken": {
                "token": token or kube.cluster.make_token(),
                "apiServerEndpoint": kube.cluster.address,
                "caCertHashes": [ca_hash or kube.cluster.ca_hash],
            }
        },
        "nodeRegistration": {"criSocket": "npipe:////./pipe/containerd-containerd", **registration},
    }
    kube.write(FILE, json.dumps(document))


def join(kube: Kube, user: str = "Administrator") -> Completed:
    """In the folder of the programs, where kubeadm finds kubelet.exe."""
    sid = image.user_sid(kube.node, user)
    process, result = kube.node.start_program(f"{K}\\kubeadm.exe", ["join", "--config", FILE], cwd=K, user=sid)
    kube.wait_for(lambda: not process.alive, 900)
    return result[0]


def test_version(make: Make) -> None:
    kube = make("1.27.4")
    assert kube.run("kubeadm", "version", "-o", "short").stdout == b"v1.27.4\n"
    assert b'GitVersion:"v1.27.4"' in kube.run("kubeadm", "version").stdout


@pytest.mark.parametrize(
    ("version", "ignored", "code"), [("1.30.4", [], 1), ("1.30.4", ["IsPrivilegedUser"], 0), ("1.31.2", [], 0)]
)
def test_local_system_has_no_groups_for_a_kubeadm_before_1_31(
    make: Make, version: str, ignored: list[str], code: int
) -> None:
    kube = make(version)
    configure(kube, version="v1beta4" if version == "1.31.2" else "v1beta3", ignorePreflightErrors=ignored)
    found = join(kube, "SYSTEM")
    assert found.exit_code == code, found.stderr.decode()
    said = found.stderr.decode()
    assert ("[ERROR IsPrivilegedUser]: cannot get group IDs for current user" in said) == bool(code)
    assert ("[WARNING IsPrivilegedUser]" in said) == bool(ignored)


@pytest.mark.parametrize(
    ("version", "settings", "written"),
    [
        ("1.30.4", kubespray.SETTINGS, "C:\\etc\\kubernetes\\ssl\\ca.crt"),
        ("1.30.4", {"client_ca": "pki/ca.crt"}, "pki/ca.crt"),
        ("1.22.17", {"containerd": "1.6.8", "cluster": "1.22.17"}, "/etc/kubernetes/pki/ca.crt"),
    ],
)
def test_the_kubelet_reads_the_ca_where_the_cluster_says_it_lies(
    make: Make, version: str, settings: dict[str, Any], written: str
) -> None:
    """kubeadm writes it to its own place all the same; an argument counts more than the file."""
    kube = make(version, **settings)
    configure(kube)
    found = join(kube)
    assert found.exit_code == 1
    assert b"127.0.0.1:10248" in found.stderr
    assert kube.read(CA).encode() == kube.cluster.ca.pem
    config = yaml.safe_load(kube.read(CONFIG))
    assert config["authentication"]["x509"]["clientCAFile"] == written

    remote = " --container-runtime=remote --container-runtime-endpoint=npipe:////./pipe/containerd-containerd"
    remote = remote if version == "1.22.17" else ""
    named = make(version, **settings)
    named.sc("config", "kubelet", "binPath=", f"{K}\\kubelet.exe {ARGUMENTS} --client-ca-file={CA}{remote}")
    configure(named)
    assert join(named).exit_code == 0


@pytest.mark.parametrize(("path", "said"), [("C:/a/ca.pem", 1), ("pki/ca.crt", 1), ("C:/a/ca.crt", 0)])
def test_the_path_of_the_ca_is_absolute_and_ends_in_crt(make: Make, path: str, said: int) -> None:
    kube = make()
    configure(kube)
    document = json.loads(kube.read(FILE))
    kube.write(FILE, json.dumps({**document, "caCertPath": path}))
    assert (b"the ca certificate path must be an absolute path" in join(kube).stderr) == bool(said)


def test_a_join(make: Make) -> None:
    kube = make()
    configure(kube, taints=[{"key": "os", "value": "windows", "effect": "NoSchedule"}])
    found = join(kube)
    assert found.exit_code == 0, found.stderr.decode()
    assert "This node has joined the cluster" in found.stdout.decode()
    assert "simulated" in found.stdout.decode()
    assert kube.node.drive.is_file(KUBECONFIG)
    assert not kube.node.drive.exists(BOOTSTRAP)
    assert kube.read(CA).encode() == kube.cluster.ca.pem
    config = yaml.safe_load(kube.read(CONFIG))
    assert (config["resolvConf"], config["authentication"]["x509"]["clientCAFile"]) == ("", CA)
    assert kube.read(ENV) == (
        'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=npipe:////./pipe/containerd-containerd '
        '--pod-infra-container-image=registry.k8s.io/pause:3.9 --register-with-taints=os=windows:NoSchedule"\n'
    )
    node = kube.cluster.nodes["win1"]
    annotation = node["metadata"]["annotations"]["kubeadm.alpha.kubernetes.io/cri-socket"]
    assert annotation == "npipe:////./pipe/containerd-containerd"
    assert kube.node.services.state("kubelet") == "running"


@pytest.mark.parametrize(
    ("version", "there", "absent"),
    [
        ("1.23.17", {"--container-runtime=remote", "--pod-infra-container-image=registry.k8s.io/pause:3.6"}, set()),
        ("1.34.4", {"--pod-infra-container-image=registry.k8s.io/pause:3.10"}, {"--container-runtime=remote"}),
        ("1.35.4", set(), {"--pod-infra-container-image=registry.k8s.io/pause:3.10"}),
    ],
)
def test_the_arguments_that_each_release_writes(make: Make, version: str, there: set[str], absent: set[str]) -> None:
    kube = make(version, cluster=version, containerd="1.6.27" if version < "1.24" else "2.0.1")
    configure(kube, name="node-7")
    join(kube)
    arguments = set(kube.read(ENV).split('"')[1].split(" "))
    assert "--hostname-override=node-7" in arguments
    assert there <= arguments
    assert not absent & arguments


def test_v1beta4_is_read_from_1_31_on(make: Make) -> None:
    kube = make("1.30.4")
    configure(kube, version="v1beta4")
    found = join(kube)
    assert b'no kind "JoinConfiguration" is registered for version "kubeadm.k8s.io/v1beta4"' in found.stderr
    kube = make("1.31.14", cluster="1.31.14")
    configure(kube, version="v1beta4", kubeletExtraArgs=[{"name": "v", "value": "4"}])
    assert join(kube).exit_code == 0
    assert "--v=4" in kube.read(ENV)


SYSTEM32 = "C:\\Windows\\System32"
POWERSHELL = f"{SYSTEM32}\\WindowsPowerShell\\v1.0"


@pytest.mark.parametrize(
    ("version", "path", "error"),
    [
        ("1.30.4", f"{K};{SYSTEM32}", '[ERROR SystemVerification]: failed to get kernel release: exec: "powershell": '),
        ("1.33.13", f"{K};{POWERSHELL}", "[ERROR FileExisting-xcopy]: xcopy not found in system path"),
        ("1.30.4", f"{K};{POWERSHELL}", ""),
        ("1.33.13", f"{SYSTEM32};{POWERSHELL}", "[ERROR KubeletVersion]: couldn't get kubelet version: "),
        ("1.33.13", f"{K};{SYSTEM32};{POWERSHELL}", ""),
    ],
)
def test_programs_are_looked_up_in_the_path_that_kubeadm_is_given(
    make: Make, version: str, path: str, error: str
) -> None:
    kube = make(version)
    configure(kube, version="v1beta4" if version == "1.33.13" else "v1beta3")
    process, result = kube.node.start_program(
        f"{K}\\kubeadm.exe", ["join", "--config", FILE], cwd="C:\\", environment={"Path": path}, user="S-1-5-21-1-500"
    )
    kube.wait_for(lambda: not process.alive, 900)
    said = result[0].stderr.decode()
    assert error in said
    assert (result[0].exit_code == 0) == (not error), said
    assert said.count("[ERROR ") == bool(error)


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (lambda kube: kube.write(KUBECONFIG, ""), "[ERROR FileAvailable-\\etc\\kubernetes\\kubelet.conf]"),
        (lambda kube: kube.write(CA, ""), "\\etc\\kubernetes\\pki\\ca.crt already exists"),
        (lambda kube: kube.node.network.listen(10250, 4, lambda path: (200, b"")), "[ERROR Port-10250]: Port 10250"),
        (lambda kube: configure(kube, criSocket="npipe:////./pipe/other"), "[ERROR CRI]: container runtime is not"),
        (lambda kube: kube.node.drive.rename(f"{K}\\kubelet.exe", f"{K}\\x.exe"), "[ERROR KubeletVersion]: couldn't"),
    ],
    ids=["kubelet.conf", "ca.crt", "port", "pipe", "kubelet.exe"],
)
def test_preflight(make: Make, prepare: Callable[[Kube], None], said: str) -> None:
    kube = make()
    configure(kube)
    prepare(kube)
    found = join(kube)
    assert found.exit_code == 1
    assert "error execution phase preflight: [preflight] Some fatal errors occurred" in found.stderr.decode()
    assert said in found.stderr.decode()
    assert not kube.node.drive.exists(ENV)


def test_it_wants_an_administrator(make: Make) -> None:
    kube = make()
    configure(kube)
    session = kube.node.open_session(elevated=False)
    found = kube.node.run(f"{K}\\kubeadm.exe", ["join", "--config", FILE], session=session)
    assert b"[ERROR IsPrivilegedUser]: user is not running as administrator" in found.stderr


@pytest.mark.parametrize(
    ("token", "ca_hash", "said"),
    [
        ("", "sha256:" + "0" * 64, "none of the public keys"),
        ("abcdef.0123456789abcdef", "", "could not find a JWS signature in the cluster-info ConfigMap for token ID"),
        ("short", "", "the bootstrap token is invalid"),
    ],
)
def test_discovery(make: Make, token: str, ca_hash: str, said: str) -> None:
    kube = make()
    configure(kube, token, ca_hash)
    found = join(kube)
    assert (found.exit_code, said in found.stderr.decode()) == (1, True), found.stderr
    assert kube.cluster.ca_hash in found.stderr.decode() or not ca_hash


def test_a_token_that_expires_is_told(make: Make) -> None:
    kube = make()
    configure(kube, kube.cluster.make_token(minutes=-1))
    assert b"could not find a JWS signature" in join(kube).stderr


def test_a_right_id_with_a_wrong_secret_cannot_be_trusted(make: Make) -> None:
    kube = make()
    configure(kube, kube.cluster.make_token()[:7] + "0" * 16)
    assert b"failed to verify JWS signature" in join(kube).stderr


def test_a_ready_node_of_that_name_is_not_replaced(make: Make) -> None:
    kube = make()
    configure(kube, name="control-plane")
    found = join(kube)
    assert b'a Node with name "control-plane" and status "Ready" already exists' in found.stderr
    assert not kube.node.drive.exists(BOOTSTRAP)


def test_a_missing_service_is_only_a_warning_until_health_is_waited_for(make: Make) -> None:
    kube = make(service=False)
    configure(kube)
    found = join(kube)
    assert found.exit_code == 1
    said = found.stderr.decode()
    assert "[WARNING Service-Kubelet]: kubelet service does not exist" in said
    assert "The HTTP call equal to 'curl -sSL http://127.0.0.1:10248/healthz' returned error" in said
    assert found.seconds >= 240
    assert not kube.node.drive.exists(BOOTSTRAP)


def test_a_paused_service_counts_as_started(make: Make) -> None:
    kube = make(service=False)
    kube.write(f"{K}\\nssm.exe", build("nssm", "2.24"))
    arguments = ARGUMENTS.replace("--windows-service ", "").split(" ")
    kube.node.run(f"{K}\\nssm.exe", ["install", "kubelet", f"{K}\\kubelet.exe", *arguments])
    kube.node.run(f"{K}\\nssm.exe", ["start", "kubelet"])
    kube.wait_for(lambda: kube.node.services.state("kubelet") == "paused")
    configure(kube)
    found = join(kube)
    assert found.exit_code == 0, found.stderr
    assert "win1" in kube.cluster.nodes


def test_reset(make: Make) -> None:
    kube = make()
    configure(kube)
    join(kube)
    assert kube.run("kubeadm", "reset").exit_code == 1
    found = kube.run("kubeadm", "reset", "-f")
    assert found.exit_code == 0
    assert not kube.node.drive.exists(KUBECONFIG)
    assert kube.node.drive.listdir("C:\\var\\lib\\kubelet") == []
    assert kube.node.run(SC, ["query", "kubelet"]).exit_code == 0
    assert kube.node.services.state("kubelet") == "stopped"


def test_unknown_flags_and_commands(make: Make) -> None:
    kube = make()
    assert b"unknown flag: --nonsense" in kube.run("kubeadm", "join", "--nonsense").stderr
    assert kube.run("kubeadm", "init").exit_code == 1


DISCOVERY = "C:\\k\\discovery.conf"


def by_file(kube: Kube, token: str, *, patches: str = "", path: str = DISCOVERY[2:].replace("\\", "/")) -> None:
    """A JoinConfiguration with file discovery, whose file has the token as its credential; empty: none."""
    access = kube.cluster.kubeconfig_for("tls-bootstrap-token-user", token=token) if token else ""
    kube.write(DISCOVERY, access or kubeconfig.write(kube.cluster.server, kube.cluster.server_ca.pem))
    document = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "JoinConfiguration",
        "discovery": {"file": {"kubeConfigPath": path}},
        "nodeRegistration": {"name": "win1"},
        **({"patches": {"directory": patches}} if patches else {}),
    }
    kube.write(FILE, json.dumps(document))


@pytest.mark.parametrize("anonymous", ["cluster-info", "unbound", "off"])
def test_file_discovery_with_a_token_joins_however_anonymous_requests_are_answered(make: Make, anonymous: str) -> None:
    kube = make("1.37.1", anonymous=anonymous)
    by_file(kube, kube.cluster.make_token())
    found = join(kube)
    assert found.exit_code == 0, found.stderr.decode()
    assert "win1" in kube.cluster.nodes


@pytest.mark.parametrize(
    ("anonymous", "said"),
    [
        ("unbound", "could not find authentication credentials for the TLS bootstrap process"),
        ("off", "Abort reading the cluster-info ConfigMap after timeout of 5m0s: Unauthorized"),
    ],
)
def test_file_discovery_without_credentials(make: Make, anonymous: str, said: str) -> None:
    kube = make("1.37.1", anonymous=anonymous)
    by_file(kube, "")
    found = join(kube)
    assert found.exit_code == 1
    assert said in found.stderr.decode()


@pytest.mark.parametrize(("anonymous", "said"), [("unbound", "cannot get resource"), ("off", "Unauthorized")])
def test_token_discovery_needs_anonymous_access(make: Make, anonymous: str, said: str) -> None:
    kube = make("1.37.1", anonymous=anonymous)
    configure(kube, version="v1beta4")
    found = join(kube)
    assert found.exit_code == 1
    assert said in found.stderr.decode()


def test_patches_change_the_configuration_that_is_written(make: Make) -> None:
    kube = make("1.37.1", kubelet={"featureGates": {"NoSuchGate": True}, "maxPods": 50})
    by_file(kube, kube.cluster.make_token(), patches="C:\\k\\patches")
    patch = {"featureGates": {"NoSuchGate": None}}
    kube.write("C:\\k\\patches\\kubeletconfiguration0+merge.json", json.dumps(patch))
    found = join(kube)
    assert found.exit_code == 0, found.stderr.decode()
    written = yaml.safe_load(kube.read(CONFIG))
    assert (written["featureGates"], written["maxPods"]) == ({}, 50)


def test_a_gate_that_the_release_does_not_know_fails_the_join(make: Make) -> None:
    kube = make("1.37.1", kubelet={"featureGates": {"NoSuchGate": True}})
    by_file(kube, kube.cluster.make_token())
    assert join(kube).exit_code == 1


@pytest.mark.parametrize("maker", ["rke2", "k3s", "k0s"])
def test_a_cluster_of_another_maker_has_nothing_that_kubeadm_looks_for(make: Make, maker: str) -> None:
    kube = make("1.37.1", maker=maker, **makers.ALL[maker].settings)
    by_file(kube, kube.cluster.make_token())
    found = join(kube)
    assert found.exit_code == 1
    assert kube.cluster.request("GET", "/api/v1/namespaces/kube-system/configmaps/kubeadm-config")["code"] == 404
    assert (kube.cluster.ca_hash == key_hash(kube.cluster.ca.pem)) == (maker == "k0s")


@pytest.mark.parametrize(
    ("path", "said"),
    [(DISCOVERY, "if a URL is used, the scheme must be https"), ("/k/none.conf", "not a valid HTTPS URL or a file")],
)
def test_the_path_of_a_discovery_file_is_read_as_a_url(make: Make, path: str, said: str) -> None:
    kube = make("1.37.1")
    by_file(kube, kube.cluster.make_token(), path=path)
    found = join(kube)
    assert found.exit_code == 1
    assert said in found.stderr.decode()
