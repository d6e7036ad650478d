"""What texts say without a node: each is recognised and given to its checker; the command, and its exit status."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.filter.k8s_windows_explain import k8s_windows_explain
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import explain_cli
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.explain import NOTHING, adapters, explain, kind_of

from tests.judge.case import load

NODES = (
    "NAME   STATUS     ROLES    AGE   VERSION\nwin1   NotReady   <none>   1d    v1\nlin1   Ready    <none>   1d   v1\n"
)
IPCONFIG = """Windows IP Configuration

Ethernet adapter vEthernet (Ethernet):

   Connection-specific DNS Suffix  . : example.com
   IPv4 Address. . . . . . . . . . . : 10.0.0.7(Preferred)
   Subnet Mask . . . . . . . . . . . : 255.255.240.0
   Default Gateway . . . . . . . . . : 10.0.0.1
"""
NET_ADAPTER = """
Name        InterfaceDescription        ifIndex Status   MacAddress
----        --------------------        ------- ------   ----------
Ethernet 2  Intel(R) 82574L Gigabit           7 Up       00-0D-3A-11-22-33
"""
HNSDIAG = "Networks\nID : 1\nName : nat\nType : nat\n"
BROKEN = "hcnCreateEndpoint failed in Win32: odd (0x803b000d)"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('[{"ID": "1", "Name": "nat", "Subnets": []}]', "listing of HNS"),
        (HNSDIAG, "listing of HNS"),
        ('{"cniVersion": "0.3.0", "name": "a", "type": "win-overlay"}', "cni.conf"),
        ('version = 2\n[plugins."io.containerd.grpc.v1.cri"]\n', "config.toml"),
        ("kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n", "kubelet configuration"),
        (IPCONFIG, "adapters"),
        (NET_ADAPTER, "adapters"),
        (json.dumps({"Name": "Ethernet", "InterfaceDescription": "x", "ifIndex": 3}), "adapters"),
        (NODES, "nodes"),
        (BROKEN, "messages"),
        ('{"level":"error","msg":"x","error":"y"}', "messages"),
    ],
)
def test_a_text_is_recognised_by_its_form(text: str, kind: str) -> None:
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"cniVersion": "0.3.0", "name": "a", "type": "win-overlay"}', "Set apiVersion to 2"),
        ('version = 2\ndisabled_plugins = ["cri"]\n[plugins]\n', "line 2: disabled_plugins turns cri off"),
        ("version = 2\n[plugins\n", "not TOML"),
        ("kind: KubeletConfiguration\nenforceNodeAllocatable: [pods]\n", "enforceNodeAllocatable"),
        ("kind: KubeletConfiguration\ncgroupsPerQOS: true\n", "cgroupsPerQOS: True is for Linux"),
        (NODES, "win1 is NotReady"),
        (BROKEN, "HNS refuses a policy"),
    ],
)
def test_its_checker_says_what_is_wrong(text: str, said: str) -> None:
    lines = explain({"it": text}).lines
    assert any(said in line for line in lines[:-1])
    assert lines[-1].startswith("Looked at: it (")


def test_listings_of_hns_are_given_to_its_checks_and_stand_before_messages() -> None:
    (case,) = [each for each in load("cases") if each.name == "kubernetes-101680"]
    lines = explain({"log": BROKEN, "networks": case.data["networks"], "endpoints": case.data["endpoints"]}).lines
    assert len(lines) > 2
    assert next(number for number, line in enumerate(lines) if line.startswith("log: ")) > 0


@pytest.mark.parametrize(
    "case", [each for each in load("healthy") if "networks" in each.data], ids=lambda each: each.name
)
def test_a_healthy_listing_is_no_alarm(case: object) -> None:
    data = getattr(case, "data")  # noqa: B009
    texts = {kind: data[kind] for kind in ("networks", "endpoints") if isinstance(data.get(kind), str)}
    assert all(line.startswith(NOTHING) for line in explain(texts).lines) or not texts


_PANIC = """\
panic: runtime error: index out of range [0] with length 0

goroutine 1 [running]:
k8s.io/kubernetes/pkg/proxy/winkernel.hns.getAllLoadBalancers({{0x20d1c40, 0xc0003c4a80}})
	k8s.io/kubernetes/pkg/proxy/winkernel/hns.go:345 +0x7d
"""
_FAILED = 'E1105 10:12:33.1 4711 proxier.go:1553] "Policy creation failed" err="hcnCreateLoadBalancer failed in Win32: '


@pytest.mark.parametrize(
    ("text", "releases"),
    [
        (_PANIC, "1.36.5 and 1.37.1"),
        (f'{_FAILED}Cannot create a file when that file already exists. (0xb7)"', "1.37.0"),
        (f'{_FAILED}The parameter is incorrect. (0x57)"', "1.34.4, 1.35.1 and 1.36.0"),
        ("aks-5653", "1.34.8, 1.35.5, 1.36.1 and 1.37.0"),
        ("aks-5653", "1.34.2 and 1.35.0"),
    ],
)
def test_the_releases_of_kubernetes_that_mended_it_are_named(text: str, releases: str) -> None:
    """A panic in a function of its own, rules made twice, rules not rechecked, an address of two endpoints (which a
    network of l2bridge or several Services of a Deployment leave)."""
    case = next((each for each in load("cases") if each.name == text), None)
    texts = {"it": text} if case is None else {kind: case.data[kind] for kind in ("networks", "endpoints")}
    assert f"Kubernetes has mended this in {releases} (kubernetes/kubernetes#" in " ".join(explain(texts).lines)


def test_a_panic_of_another_function_names_none() -> None:
    assert "has mended" not in " ".join(explain({"it": _PANIC.replace("getAllLoadBalancers", "getAllEndpoints")}).lines)


def test_adapters_have_their_addresses() -> None:
    (one,) = adapters(IPCONFIG)
    assert (one["name"], one["ipv4"], one["gateways"]) == (
        "vEthernet (Ethernet)",
        [{"address": "10.0.0.7", "prefix": 20}],
        ["10.0.0.1"],
    )
    assert [each["name"] for each in adapters(NET_ADAPTER)] == ["Ethernet 2"]


def test_the_command_reads_files_folders_and_bundles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "kubelet.log"
    log.write_bytes(BROKEN.encode("utf-16"))
    with zipfile.ZipFile(tmp_path / "bundle.zip", "w") as archive:
        archive.writestr("node/containerd.log", BROKEN)
        archive.writestr("node/picture.png", "x")
    assert explain_cli.main([str(log), str(tmp_path / "bundle.zip")]) == 0
    said = capsys.readouterr().out
    assert said.count("HNS refuses a policy") == 2
    assert "picture" not in said
    assert explain_cli.main([str(tmp_path / "absent.log")]) == 2
    assert explain_cli.main(["~nobody-here/kubelet.log"]) == 2
    assert "absent.log" in capsys.readouterr().err
    log.write_text("the dog ate my kubeconfig")
    assert explain_cli.main([str(log)]) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: KubeletConfiguration\ncgroupRoot: &a [*a]\n", "an alias stands inside"),
        (
            "kind: KubeletConfiguration\na: &a [x,x,x,x,x,x,x,x,x]\n"
            + "".join(f"{new}: &{new} [{f'*{old},' * 9}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True))
            + "enforceNodeAllocatable: *i\n",
            "its aliases make more than",
        ),
        ("kind: KubeletConfiguration\ncgroupRoot: [" + "x, " * 5000 + "]\n", "... is for Linux"),
        ("version = 2\n[plugins]\na = " + "[" * 5000, "not TOML"),
        ("version = 2\n[plugins]\na" + ".a" * 500 + " = 1", "nested more than 128 deep"),
        ("version = [2]\n[plugins]\n", "version is [2]"),
        ('[{"Name": "a", "InterfaceDescription": "x", "ifIndex": 3}, 5]', NOTHING),
        ('{"Name": "a", "InterfaceDescription": "x"}\n{"Name": "b", "InterfaceDescription": "y"}', NOTHING),
        (IPCONFIG.replace("255.255.240.0", "xxx.xxx.xxx.0"), NOTHING),
        ('{"a": ' * 100_000, NOTHING),
        ("[" * 100_000, NOTHING),
        ("ID : 1\n" + '{"a": ' * 900 + "1" + "}" * 900, NOTHING),
        ('{"level": "error", "msg": ' + "[" * 5000, "Looked at: it (messages)"),
    ],
)
def test_what_would_never_end_or_cannot_be_read_is_a_sentence(text: str, said: str) -> None:
    lines = explain({"it": text}).lines
    assert any(said in line for line in lines)
    assert max(map(len, lines)) < 1000


def test_what_cannot_be_read_is_told_and_the_rest_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "kubelet.log"
    log.write_text(BROKEN)
    bundle = tmp_path / "bundle.zip"
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.writestr("node/bad.log", BROKEN)
        archive.writestr("node/good.log", BROKEN)
    data = bytearray(bundle.read_bytes())
    data[data.index(b"hcn")] ^= 1
    bundle.write_bytes(data)
    (tmp_path / "empty").mkdir()
    assert explain_cli.main([str(log), str(bundle), str(tmp_path / "empty"), "/dev/zero"]) == 0
    out, err = capsys.readouterr()
    assert out.count("HNS refuses a policy") == 2
    assert [line.split(": ")[1] for line in err.splitlines()] == [
        "bundle.zip/node/bad.log",
        str(tmp_path / "empty"),
        "/dev/zero",
    ]
    assert explain_cli.main(["/dev/zero"]) == 2
    assert "more than the 16 MB" in capsys.readouterr().err


def test_of_a_long_log_the_end_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain_cli, "MOST", 1 << 20)
    log = tmp_path / "kubelet.log"
    log.write_bytes(b"x\n" * (explain_cli.MOST // 2) + BROKEN.encode())
    assert explain_cli.read_all([str(log)]).texts[f"{log}, its last 1 MB"].endswith(BROKEN)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("large.log", b"\0" * (2 << 20))
    given = explain_cli.read_all([str(tmp_path / "bomb.zip")])
    assert [len(text) for text in given.texts.values()] == [1 << 20]


def test_what_is_quoted_of_a_file_has_no_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """People paste what explain prints."""
    key, token = "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo=", "sekret-token-0123456789"
    file = tmp_path / "config.yaml"
    file.write_text(
        "apiVersion: v1\nkind: Config\nusers:\n- name: u\n  user:\n"
        f"    client-key-data: {key}\n    token: {token}\n    error: the server is gone, dial tcp: i/o timeout\n",
        encoding="utf-8",
    )
    explain_cli.main([str(file)])
    printed = capsys.readouterr().out
    assert "<removed>" in printed, "the test sees what is quoted"
    assert key not in printed and token not in printed
    message = k8s_windows_explain([], f"E1129 kubelet.go:1] failed to ask with Authorization: Bearer {token}: EOF")
    assert token not in " ".join(message)
    stamp = "2026-11-20T10:00:00.1Z stderr"
    cut = k8s_windows_explain([], f"{stamp} P E1129 kubelet.go:1] failed with pass\n{stamp} F word={token} ok")
    assert token not in " ".join(cut) and "failed with password=<removed>" in " ".join(cut)


PLACE = "E1120 10:00:00.100000 1 kubelet.go:9] Failed to create pod sandbox: rpc error: code = Unknown desc = odd"
LISTED = "E1120 10:00:00.1 1 proxier.go:9] hcnCreateLoadBalancer failed in Win32: The port exists. (0x803b0013)"


@pytest.mark.parametrize(
    ("text", "status", "named"),
    [
        (BROKEN, 0, "[hns.policy-refused]"),
        (LISTED, 0, "(kube-proxy.rule-port-taken)"),
        (PLACE, 3, "Not known"),
        (f"{PLACE}\n{BROKEN}", 0, "[hns.policy-refused]"),
        ("Thank you, it works now.", 1, "Nothing"),
        ("[WARNING] plugin/kubernetes: API connection failure: dial tcp 10.96.0.1:443: i/o timeout", 3, "i/o timeout"),
        (NODES, 3, "win1 is NotReady"),
        (NODES.replace("NotReady", "Ready,SchedulingDisabled"), 0, "win1 is cordoned"),
    ],
)
def test_the_status_tells_a_cause_from_a_place(
    text: str, status: int, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "kubelet.log"
    log.write_text(text, encoding="utf-8")
    assert explain_cli.main([str(log)]) == status
    assert named in capsys.readouterr().out


def test_of_a_pasted_configuration_no_ending_is_judged() -> None:
    listed = {"cniVersion": "1.0.0", "name": "cbr0", "plugins": [{"type": "flannel", "delegate": {"apiVersion": 2}}]}
    said = " ".join(explain({"standard input": json.dumps(listed)}).lines)
    assert "ending" not in said and "standard input: standard input" not in said
    assert "the ending .conflist" in " ".join(explain({"10-flannel.conf": json.dumps(listed)}).lines)


def test_a_fault_of_its_own_is_no_answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(_arguments: list[str]) -> int:
        raise ValueError("odd")

    monkeypatch.setattr(explain_cli, "main", fail)
    assert explain_cli.run() == 2
    assert "ValueError: odd" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "We drain each node before kubelet pulls the images from mcr.microsoft.com and mounts its volumes.",
        "I1120 10:00:00.100000 1 reconciler.go:9] MountVolume.SetUp succeeded for volume data in C:\\k\\pods",
        '{"level":"Information","msg":"PullImage mcr.microsoft.com/a:1"}',
        '2026-11-20T10:00:00.1Z\tinfo\treceiver/x.go:9\tconnecting to https://10.0.0.1:6443/api\t{"kind": "receiver"}',
    ],
)
def test_prose_and_what_only_informs_is_not_told(text: str) -> None:
    assert explain({"it": text}).lines == ("Nothing is wrong, or known, in it (messages).",)


def test_an_option_that_does_not_exist_is_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain_cli.main(["--version"]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "winkube-explain: there is no option --version; --help says what it takes.\n")
