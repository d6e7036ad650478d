"""Each remedy that the table names a command for: a node is broken, the command of the finding runs as it is printed,
and the finding is gone."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import PROGRAM_SERVICES
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import KNOWN

from tests.integration.lab import ROOT, Bench
from tests.integration.whole import BRIDGE, OVERLAY, Looked, Whole
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.machine.builds import build, tar_gz
from tests.lab.machine.node import SimulatedNode

SC = r"C:\Windows\System32\sc.exe"
NSSM = r"C:\k\nssm.exe"
CNI_CONF, SUBNET_ENV = r"C:\k\cni\config\cni.conf", r"C:\run\flannel\subnet.env"
NET_CONF = r"C:\etc\kube-flannel\net-conf.json"
BLOCK = '{"Name": "EndpointPolicy", "Value": {"Type": "ACL", "Action": "Block", "Direction": "In", "Priority": 200}}'
ARCHIVE = tar_gz({"bin/csi-proxy.exe": build("csi-proxy", "1.2.1")})
EXPORTER = build("windows_exporter", "0.31.8")
OPTIONAL: dict[str, Any] = {
    "winkube_optional_components": ["csi_proxy", "windows_exporter"],
    "winkube_windows_exporter_url": "http://xyz/windows_exporter.exe",
    "winkube_windows_exporter_checksum": f"sha256:{hashlib.sha256(EXPORTER).hexdigest()}",
    "winkube_csi_proxy_url": "http://xyz/csi-proxy-v1.2.1.tar.gz",
    "winkube_csi_proxy_checksum": f"sha256:{hashlib.sha256(ARCHIVE).hexdigest()}",
}
PLAY = """
- hosts: windows
  gather_facts: false
  roles: [winkube.node.winkube]
  tasks:
    - winkube.node.hns_check:
        node: "{{ winkube_node }}"
        node_name: "{{ winkube_node_name }}"
        network_name: "{{ 'vxlan0' if winkube_network_mode == 'overlay' else 'cbr0' }}"
        network_mode: "{{ winkube_network_mode }}"
        interface_name: "{{ winkube_interface_name }}"
        cluster_cidr: "{{ winkube_network.cluster_cidr }}"
        service_cidr: "{{ winkube_network.service_cidr }}"
        cluster_domain: cluster.local
        cluster: "{{ winkube_cluster }}"
      register: hns
      ignore_errors: true
    - winkube.node.win_k8s_diagnose:
        depth: quick
        node: "{{ winkube_node }}"
        node_name: "{{ winkube_node_name }}"
        kubernetes_version: "{{ winkube_kubernetes_version }}"
        versions:
          containerd: "{{ winkube_containerd_version }}"
          cni: "{{ winkube_cni_plugins_version }}"
          flannel: 0.28.10
          csi_proxy: 1.2.1
          windows_exporter: 0.31.8
        optional_components: "{{ winkube_optional_components }}"
        network_mode: "{{ winkube_network_mode }}"
        cluster_cidr: "{{ winkube_network.cluster_cidr }}"
        service_cidr: "{{ winkube_network.service_cidr }}"
        cluster: "{{ winkube_cluster }}"
        watch: 1
      register: node
      ignore_errors: true
    - ansible.builtin.debug:
        msg: "told={{ {'hns': hns.findings, 'node': node.findings} | to_json | b64encode }}"
"""


Break = Callable[[Whole], None]


@dataclass(frozen=True)
class Case:
    """What is broken so that the finding comes; `also`: of another program that is broken with it, for one lab run."""

    id: str
    break_it: Break
    also: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        return (self.id, *self.also)


def on_node(work: Callable[[SimulatedNode], object]) -> Break:
    """On the machine itself."""

    def break_it(whole: Whole) -> None:
        whole.host.in_turn(lambda: work(whole.host.node))

    return break_it


def stop(service: str) -> Break:
    return on_node(lambda node: node.run(SC, ["stop", service]))


def disable(service: str) -> Break:
    def work(node: SimulatedNode) -> None:
        node.run(SC, ["config", service, "start=", "disabled"])
        node.run(SC, ["stop", service])

    return on_node(work)


def delete(service: str) -> Break:
    def work(node: SimulatedNode) -> None:
        node.run(SC, ["stop", service])
        node.clock.advance(5)
        node.run(SC, ["delete", service])

    return on_node(work)


def both(how: Callable[[str], Break]) -> Break:
    """Both programs that a node has only where somebody wants them."""

    def break_them(whole: Whole) -> None:
        for service in ("csiproxy", "windows_exporter"):
            how(service)(whole)

    return break_them


DEPEND = ("kubelet", "flanneld", "kube-proxy")
"""What has to be stopped before containerd."""


def older(component: str, path: str, version: str, service: str = "") -> Break:
    """An earlier release is on the node, as an earlier run has installed it."""

    def work(node: SimulatedNode) -> None:
        stopped = (*reversed(DEPEND), service) if service == "containerd" else (service,) if service else ()
        for each in stopped:
            node.run(SC, ["stop", each])
            node.clock.advance(30)
        content = build(path.rpartition("\\")[2].removesuffix(".exe"), version)
        node.drive.write(path, content)
        receipt = rf"C:\ProgramData\winkube\receipts\{component}.json"
        found = json.loads(node.drive.read(receipt))
        found["source"] |= {"version": version, "sha256": "0" * 64}
        for file in found["files"]:
            if file["path"].casefold() == path.casefold():
                file["sha256"] = hashlib.sha256(content).hexdigest()
        node.drive.write(receipt, json.dumps(found).encode())
        node.clock.advance(60)  # a scanner holds a new program for some seconds
        for each in reversed(stopped):
            node.run(SC, ["start", each])
            node.clock.advance(5)

    return on_node(work)


def both_older(whole: Whole) -> None:
    older("csi-proxy", r"C:\k\csi-proxy.exe", "1.1.3", "csiproxy")(whole)
    older("windows_exporter", r"C:\k\windows_exporter.exe", "0.30.1", "windows_exporter")(whole)


def edit(path: str, old: str, new: str) -> Break:
    def work(node: SimulatedNode) -> None:
        text = node.drive.read(path).decode()
        assert old in text, text
        node.drive.write(path, text.replace(old, new).encode())

    return on_node(work)


def remove(path: str) -> Break:
    return on_node(lambda node: node.drive.delete(path))


def argue(service: str, old: str, new: str) -> Break:
    """Somebody edits a service's arguments and restarts it."""

    def work(node: SimulatedNode) -> None:
        key = rf"HKLM\SYSTEM\CurrentControlSet\Services\{service}\Parameters"
        line = str(node.registry.get(key, "AppParameters"))
        assert old in line, line
        node.run(NSSM, ["set", service, "AppParameters", line.replace(old, new)])
        node.run(SC, ["stop", service])
        node.clock.advance(5)
        node.run(SC, ["start", service])

    return on_node(work)


def lose_network(node: SimulatedNode) -> None:
    network = node.hns.network("cbr0")
    assert network is not None
    node.hns.delete_network(network["ID"])


def lose_rules(node: SimulatedNode) -> None:
    for each in list(node.hns.policy_lists):
        node.hns.delete_policy_list(each["ID"])


def lose_host_endpoint(node: SimulatedNode) -> None:
    node.hns.delete_endpoint(next(each["ID"] for each in node.hns.endpoints if each["Name"] == "cbr0_ep"))


def rule_twice(node: SimulatedNode) -> None:
    first = node.hns.policy_lists[0]
    node.hns.create_policy_list({key: first[key] for key in ("References", "Policies")})


def another_range(whole: Whole) -> None:
    """The Node was deleted, and came back with another range."""
    node = whole.cluster.nodes["win1"]
    cidr = "10.244.77.0/24"
    spec = {**node["spec"], "podCIDR": cidr, "podCIDRs": [cidr]}
    whole.cluster.store.delete(BY_NAME["Node"], "", "win1")
    whole.cluster.store.create(BY_NAME["Node"], "", {**node, "spec": spec})


def delete_node(whole: Whole) -> None:
    whole.cluster.store.delete(BY_NAME["Node"], "", "win1")
    whole.cluster.advance(5)


def rule_lost(node: SimulatedNode) -> None:
    node.hns.delete_policy_list(node.hns.policy_lists[0]["ID"])


def rule_of_nothing(node: SimulatedNode) -> None:
    first = node.hns.policy_lists[0]
    policies = [{**each, "VIPs": ["10.96.77.77"]} for each in first["Policies"]]
    node.hns.create_policy_list({"References": first["References"], "Policies": policies})


def of_overlay(service: str, pattern: str, new: str) -> Break:
    """Somebody edits the command line of a service that no wrapper runs."""

    def work(node: SimulatedNode) -> None:
        line = str(node.registry.get(rf"HKLM\SYSTEM\CurrentControlSet\Services\{service}", "ImagePath"))
        assert re.search(pattern, line), line
        node.run(SC, ["stop", service])
        node.clock.advance(5)
        node.run(SC, ["config", service, "binPath=", re.sub(pattern, new, line)])
        node.run(SC, ["start", service])

    return on_node(work)


def rules_of_another_vip(node: SimulatedNode) -> None:
    first = node.hns.policy_lists[0]
    node.hns.delete_policy_list(first["ID"])
    policies = [{**each, "SourceVIP": "10.244.250.250"} for each in first["Policies"]]
    node.hns.create_policy_list({"References": first["References"], "Policies": policies})


def hns_anew(node: SimulatedNode) -> None:
    node.run(SC, ["stop", "hns"])
    node.clock.advance(5)
    node.run(SC, ["start", "hns"])


CASES = (
    Case("kubelet.stopped", stop("kubelet")),
    Case("flannel.stopped", stop("flanneld")),
    Case("kube-proxy.stopped", stop("kube-proxy")),
    Case("containerd.stopped", stop("containerd")),
    Case("kubelet.disabled", disable("kubelet")),
    Case("flannel.disabled", disable("flanneld")),
    Case("kube-proxy.disabled", disable("kube-proxy")),
    Case("containerd.disabled", disable("containerd")),
    Case("kubelet.not-installed", delete("kubelet")),
    Case("flannel.not-installed", delete("flanneld")),
    Case("kube-proxy.not-installed", delete("kube-proxy")),
    Case("containerd.not-installed", delete("containerd")),
    Case("csi-proxy.stopped", both(stop), ("windows-exporter.stopped",)),
    Case("csi-proxy.disabled", both(disable), ("windows-exporter.disabled",)),
    Case("csi-proxy.not-installed", both(delete), ("windows-exporter.not-installed",)),
    Case("kubelet.other-version", older("kubelet", r"C:\k\kubelet.exe", "1.27.3", "kubelet")),
    Case("kube-proxy.other-version", older("kube-proxy", r"C:\k\kube-proxy.exe", "1.27.3", "kube-proxy")),
    Case(
        "containerd.other-version",
        older("containerd", r"C:\Program Files\containerd\bin\containerd.exe", "1.7.12", "containerd"),
    ),
    Case("flannel.other-version", older("flanneld", r"C:\flannel\flanneld.exe", "0.27.0", "flanneld")),
    Case("cni.other-version", older("cni-plugins", r"C:\k\cni\win-bridge.exe", "1.8.0")),
    Case("csi-proxy.other-version", both_older, ("windows-exporter.other-version",)),
    Case("hns.stopped", stop("hns")),
    Case("hns.vmcompute-stopped", disable("vmcompute")),
    Case("hns.no-network", on_node(lose_network)),
    Case("flannel.no-subnet-env", remove(SUBNET_ENV)),
    Case("flannel.subnet-env-stale", edit(SUBNET_ENV, "FLANNEL_SUBNET=10.244.", "FLANNEL_SUBNET=10.244.9")),
    Case("flannel.subnet-env-invalid", edit(SUBNET_ENV, "FLANNEL_NETWORK=10.244", "FLANNEL_NETWORK=10.245")),
    Case("cni.absent", remove(CNI_CONF)),
    Case("cni.unreadable", edit(CNI_CONF, "{", "// cbr0\n{")),
    Case("cni.exceptions", edit(CNI_CONF, '"10.96.0.0/12"', '"10.97.0.0/16"')),
    Case("cni.network-name", edit(CNI_CONF, '"cbr0"', '"cbr1"')),
    Case("cni.plugin-type", edit(CNI_CONF, '"win-bridge"', '"win-overlay"')),
    Case("cni.dockershim-form", edit(CNI_CONF, '"apiVersion": 2', '"apiVersion": 1')),
    Case("cni.old-form", edit(CNI_CONF, '"OutBoundNAT",', '"OutBoundNAT", "ExceptionList": ["10.9.0.0/16"],')),
    Case("cni.policy-without-settings", edit(CNI_CONF, '"policies": [', f'"policies": [{BLOCK},')),
    Case("cni.policies-key", edit(CNI_CONF, '"policies"', '"AdditionalArgs"')),
    Case("cni.policy-case", edit(CNI_CONF, '"OutBoundNAT"', '"OUTBOUNDNAT"')),
    Case("cni.plugin-missing", remove(r"C:\k\cni\win-bridge.exe")),
    Case("kube-proxy.hostname-override", argue("kube-proxy", "--hostname-override=win1", "--hostname-override=win9")),
    Case("kube-proxy.network-name", argue("kube-proxy", "--hostname", "--network-name=vxlan0 --hostname")),
    Case("kube-proxy.no-rules", on_node(lose_rules)),
    Case("flannel.iface", argue("flanneld", "--iface=192.168.122.231", "--iface=192.168.122.99")),
    Case("kube-proxy.cluster-cidr", argue("kube-proxy", "--cluster-cidr=10.244", "--cluster-cidr=10.9")),
    Case("flannel.bridge-endpoint", on_node(lose_host_endpoint)),
    Case("flannel.net-conf-name", edit(NET_CONF, '"Type"', '"Name": "cbr1", "Type"')),
    Case("flannel.net-conf-backend", edit(NET_CONF, '"host-gw"', '"vxlan"')),
    Case("flannel.net-conf-network", edit(NET_CONF, "10.244.0.0/16", "10.5.0.0/16")),
    Case("flannel.mtu", edit(SUBNET_ENV, "FLANNEL_MTU=1", "FLANNEL_MTU=8")),
    Case("kube-proxy.rule-twice", on_node(rule_twice)),
    Case("node.address", argue("kubelet", "--node-ip=192.168.122.231", "--node-ip=192.168.122.77")),
    Case("hns.network-pod-cidr", another_range),
    Case("node.absent", delete_node),
    Case("kube-proxy.rule-missing", on_node(rule_lost)),
    Case("kube-proxy.rule-stale", on_node(rule_of_nothing)),
    Case("cni.version", edit(CNI_CONF, '"cniVersion": "', '"cniVersion": "7')),
    Case("hns.restarted", on_node(hns_anew)),
)

OF_OVERLAY = (
    Case("kube-proxy.source-vip", of_overlay("kube-proxy", r" --source-vip=\S+", "")),
    Case("kube-proxy.rule-source-vip", on_node(rules_of_another_vip)),
    Case("cni.provider-address", edit(CNI_CONF, '"192.168.122.231"', '"192.168.122.77"')),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """One node for all cases: each leaves it as it found it."""
    bench = Bench(tmp_path_factory.mktemp("remedies"))
    try:
        made = Looked(bench, BRIDGE, containers=True)
        bench.lab.sources.publish("/csi-proxy-v1.2.1.tar.gz", ARCHIVE)
        bench.lab.sources.publish("/windows_exporter.exe", EXPORTER)
        made.converge(**OPTIONAL)
        made.cluster.advance(30)
        yield made
    finally:
        bench.close()


@pytest.fixture(scope="module")
def overlay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """The same of the other mode."""
    bench = Bench(tmp_path_factory.mktemp("overlay"))
    try:
        made = Looked(bench, OVERLAY, containers=True)
        made.converge()
        made.cluster.advance(30)
        yield made
    finally:
        bench.close()


def look(whole: Whole, **more: Any) -> dict[str, dict[str, Any]]:
    """The findings by id, of both selections: the same id has the same remedy in each."""
    run = whole.site(playbook=whole.bench.play(PLAY, "look.yml"), **more)
    assert run.rc == 0, str(run)
    said: dict[str, list[dict[str, Any]]] = run.told
    found: dict[str, dict[str, Any]] = {}
    for one in (*said["node"], *said["hns"]):
        assert found.setdefault(one["id"], one)["remedy"] == one["remedy"]
    return found


@pytest.mark.exhaustive(
    keep=(
        "cni.absent",
        "cni.plugin-missing",
        "containerd.disabled",
        "csi-proxy.other-version",
        "hns.stopped",
    )
)
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.id))
def test_the_command_that_a_finding_names_mends_it(whole: Whole, case: Case) -> None:
    mends(whole, case, **OPTIONAL)


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", OF_OVERLAY, ids=lambda case: str(case.id))
def test_the_command_mends_it_on_an_overlay(overlay: Whole, case: Case) -> None:
    mends(overlay, case)


def test_a_node_whose_mode_was_changed_is_switched(overlay: Whole) -> None:
    """Nothing is broken: the inventory names the other mode. That the wanted network is missing follows from it."""
    mode = {"winkube_network_mode": "l2bridge"}
    of_cluster = ("kube-flannel", "kube-flannel-cfg")
    given = overlay.cluster.store.get(BY_NAME["ConfigMap"], *of_cluster)
    net_conf = given["data"]["net-conf.json"].replace("vxlan", "host-gw")
    overlay.cluster.store.replace(BY_NAME["ConfigMap"], *of_cluster, {**given, "data": {"net-conf.json": net_conf}})
    first = next(iter(look(overlay, **mode)))
    assert first == "hns.network-type"
    mends(overlay, Case("hns.network-type", on_node(lambda node: None)), **mode)


def mends(whole: Whole, case: Case, **more: Any) -> None:
    case.break_it(whole)
    whole.cluster.advance(15)
    found = look(whole, **more)
    assert set(case.ids) <= set(found), (case.ids, sorted(found))
    for each in case.ids:
        command, *words = found[each]["remedy"]["command"].split()
        assert command == "ansible-playbook"
        playbooks = [each for each in words if each.startswith("winkube.node.")]
        rest = words[len(playbooks) :]
        for playbook in playbooks:
            run = whole.site(*rest, playbook=playbook, **more)
            assert run.rc == 0, run.output[-3000:]
    whole.cluster.advance(60)
    left = look(whole, **more)
    assert not left, (case.id, {one["id"]: one["seen"] for one in left.values()}, run.stdout[-3000:])


CONTRADICTIONS = (
    (SUBNET_ENV, "FLANNEL_SUBNET=10.244.", "FLANNEL_SUBNET=10.244.9"),
    (SUBNET_ENV, "FLANNEL_MTU=1", "FLANNEL_MTU=8"),
    (CNI_CONF, '"cbr0"', '"cbr1"'),
    (NET_CONF, '"host-gw"', '"vxlan"'),
    (NET_CONF, "10.244.0.0/16", "10.5.0.0/16"),
)
"""One file of the node against another, or against what HNS has."""


@pytest.mark.exhaustive
def test_converging_never_says_ok_while_files_and_network_contradict_each_other(whole: Whole) -> None:
    # A mended cni.conf of somebody's own is not what the template gives: that difference goes first.
    assert whole.site(**OPTIONAL).rc == 0
    said_ok = []
    for path, old, new in CONTRADICTIONS:
        edit(path, old, new)(whole)
        run = whole.site("--check", **OPTIONAL)
        if run.rc == 0 and not run.recap["win1"].changed and "WARNING" not in run.output:
            said_ok.append(new)
        edit(path, new, old)(whole)
    assert said_ok == []
    assert whole.site("--check", **OPTIONAL).recap["win1"].changed == 0, "without one it does"


REPAIR = ROOT / "playbooks" / "repair.yml"


def test_repair_by_a_finding_says_first_what_it_would_do_and_refuses_with_the_reason(whole: Whole) -> None:
    whole.host.in_turn(lambda: whole.host.node.run(SC, ["stop", "kube-proxy"]))
    planned = whole.site("--check", playbook=REPAIR, winkube_repair="kube-proxy.stopped")
    assert planned.rc == 0, planned
    assert "start kube-proxy" in planned.output, planned
    other = whole.site(playbook=REPAIR, winkube_repair="flannel.mtu")
    assert other.rc == 0 and other.recap["win1"].changed == 0, "what the node does not have is not mended"
    said = " ".join(other.output.split())
    assert (
        "The node does not have flannel.mtu (Packets of pods do not fit through the adapter): nothing is done" in said
    )
    assert "It has kube-proxy.stopped" in said, other
    assert "winkube.node.repair --limit win1 -e winkube_repair=restart -e winkube_repair_services=flannel" in said, (
        other
    )
    assert whole.site(playbook=REPAIR, winkube_repair="kube-proxy.stopped").recap["win1"].changed == 1
    assert whole.site(playbook=REPAIR, winkube_repair="kube-proxy.stopped").recap["win1"].changed == 0
    alone = whole.site(playbook=REPAIR, winkube_repair="node.absent", winkube_cluster={})
    assert alone.rc != 0 and "only the cluster can say" in " ".join(alone.output.split()), alone
    advice = whole.site(playbook=REPAIR, winkube_repair="start.client-ca")
    assert advice.rc != 0
    said = " ".join(advice.output.split())
    assert "start.client-ca (kubelet does not find the cluster's CA file) has no automatic fix: Put ca.crt" in said
    misspelt = whole.site(playbook=REPAIR, winkube_repair="kube-proxy.stoped")
    assert "there is no finding 'kube-proxy.stoped'; did you mean kube-proxy.stopped" in misspelt.output, misspelt


def test_what_has_no_such_case_is_advice() -> None:
    """No repair carries out by itself what was not tried. Those of optional components come from one
    declaration: csi-proxy and windows_exporter stand for all."""
    tried = {each for case in (*CASES, *OF_OVERLAY) for each in case.ids} | {"hns.network-type"}
    of_the_two = {each.removeprefix("csi-proxy.") for each in tried if each.startswith("csi-proxy.")}
    tried |= {f"{each.component.name.replace('_', '-')}.{what}" for each in PROGRAM_SERVICES for what in of_the_two}
    assert {cause.id for cause in KNOWN.values() if cause.remedy.automatic} == tried
