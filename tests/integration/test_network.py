"""hns_check against both example nodes: no finding on a healthy one, what is broken by its id; cni.conf mended."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.lab import ROOT, Bench
from tests.integration.whole import BRIDGE, KINDS, Looked, Whole
from tests.lab.cluster import tenants
from tests.lab.cluster.flows import SilenceError

CNI_CONF = r"C:\k\cni\config\cni.conf"
PLAY = """
- hosts: windows
  gather_facts: false
  roles: [winkube.node.winkube]
  vars:
    network: "{{ 'vxlan0' if winkube_network_mode == 'overlay' else 'cbr0' }}"
  tasks:
    - winkube.node.hns_check:
        node: "{{ winkube_node }}"
        node_name: "{{ winkube_node_name }}"
        network_name: "{{ network }}"
        network_mode: "{{ winkube_network_mode }}"
        interface_name: "{{ winkube_interface_name }}"
        cluster_cidr: "{{ winkube_network.cluster_cidr }}"
        service_cidr: "{{ winkube_network.service_cidr }}"
        cluster_domain: cluster.local
        cluster: "{{ asked | ternary(winkube_cluster, {}) }}"
      register: hns
      ignore_errors: true
    - winkube.node.win_k8s_repair: &mend
        action: cni_conf
        node: "{{ winkube_node }}"
        network_mode: "{{ winkube_network_mode }}"
        cluster_cidr: "{{ winkube_network.cluster_cidr }}"
        service_cidr: "{{ winkube_network.service_cidr }}"
      check_mode: true
      register: would
    - winkube.node.win_k8s_repair: *mend
      register: mended
    - winkube.node.win_k8s_repair: *mend
      register: again
    - ansible.builtin.debug:
        msg: >-
          told={{ {'hns': hns, 'would': would, 'changed': [would, mended, again] | map(attribute='changed') | list}
          | to_json | b64encode }}
"""


@pytest.fixture(params=KINDS)
def whole(request: pytest.FixtureRequest, bench: Bench) -> Whole:
    """Each of the two example nodes, Ready."""
    made = Looked(bench, KINDS[request.param], containers=True)
    made.converge()
    made.cluster.advance(30)
    return made


def look(whole: Whole, *, asked: bool) -> dict[str, Any]:
    """What hns_check returns for the node, and what mending its cni.conf does."""
    run = whole.site("--diff", playbook=whole.bench.play(PLAY, "look.yml"), asked=asked)
    assert run.rc == 0, run
    found: dict[str, Any] = run.told
    return found


def break_it(whole: Whole) -> None:
    """The rules are lost, an endpoint is left behind, and somebody wrote cni.conf as for dockershim."""
    node = whole.host.node
    network = node.hns.network("vxlan0" if whole.kind.mode == "overlay" else "cbr0")
    assert network is not None
    for each in node.hns.policy_lists:
        node.hns.delete_policy_list(each["ID"])
    prefix = network["Subnets"][0]["AddressPrefix"].rpartition(".")[0]
    left = {"Name": f"{'7d' * 32}_{network['Name']}", "VirtualNetwork": network["ID"], "IPAddress": f"{prefix}.77"}
    node.hns.create_endpoint(left)
    conf = json.loads(node.drive.read(CNI_CONF))
    value = conf["delegate"]["policies"][0]["Value"]
    value["ExceptionList"] = value.pop("Settings")["Exceptions"]
    node.drive.write(CNI_CONF, json.dumps(conf).encode())


@pytest.mark.exhaustive(keep=("overlay, sc, 1.37",))
@pytest.mark.row("TS-22", "NW-05")
def test_a_healthy_node_and_one_broken_in_three_places(whole: Whole) -> None:
    healthy = look(whole, asked=True)
    assert healthy["hns"]["findings"] == [], healthy["hns"]["msg"]
    assert healthy["hns"]["cni_conf"]["patch"] == ""
    assert healthy["hns"]["winkube"]["calls"] == 1, "one remote call"
    assert healthy["changed"] == [False, False, False]
    assert healthy["hns"]["cni"]["name"] == "flannel"
    assert healthy["hns"]["counts"]["policies_elb"] >= 1

    whole.host.in_turn(lambda: break_it(whole))
    broken = look(whole, asked=False)
    assert broken["hns"]["failed"]
    found = {each["id"] for each in broken["hns"]["findings"]}
    wanted = {"kube-proxy.no-rules", "cni.old-form", "cni.exceptions", "hns.endpoint-without-namespace"}
    assert found == wanted, broken["hns"]["msg"]
    assert {"kube-proxy.rule-missing", "hns.endpoint-without-pod"} <= set(broken["hns"]["left_out"])
    remedy = next(each["remedy"] for each in broken["hns"]["findings"] if each["id"] == "cni.old-form")
    assert remedy["command"] == "ansible-playbook winkube.node.repair --limit win1 -e winkube_repair=cni_conf"
    conf = broken["hns"]["cni_conf"]
    assert broken["hns"]["diff"][0]["after"] == conf["mended"]
    assert any(line.startswith("-") and "ExceptionList" in line for line in conf["patch"].splitlines())
    assert broken["changed"] == [True, True, False]
    assert broken["would"]["diff"][0]["after"] == conf["mended"], "check mode shows what it would write"
    assert whole.host.in_turn(lambda: whole.host.node.drive.read(CNI_CONF)).decode() == conf["mended"]


def test_a_service_of_70_endpoints_is_told_without_dsr_and_served_with_it(bench: Bench) -> None:
    whole = Whole(bench, BRIDGE)
    whole.converge()
    address, addresses = "10.96.7.7", [f"10.244.0.{number}" for number in range(10, 80)]
    ports = [{"port": 80, "protocol": "TCP"}]
    labels = {"kubernetes.io/service-name": "big"}
    body: dict[str, Any] = {"metadata": {"name": "big"}, "spec": {"clusterIP": address, "ports": ports}}
    whole.cluster.request("POST", "/api/v1/namespaces/default/services", body)
    ends = [{"addresses": [each], "conditions": {"ready": True}} for each in addresses]
    body = {"metadata": {"name": "big-1", "labels": labels}, "addressType": "IPv4", "endpoints": ends, "ports": ports}
    whole.cluster.request("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", body)

    def served() -> list[tuple[int, bool]]:
        """Of the rules for the Service: how many endpoints each leads to, and whether by DSR."""
        whole.cluster.advance(60)
        rules = whole.host.in_turn(lambda: whole.host.node.hns.policy_lists)
        return [
            (len(rule["References"]), policy["IsDSR"])
            for rule in rules
            for policy in rule["Policies"]
            if address in policy.get("VIPs", [])
        ]

    assert served() == []
    diagnose = ROOT / "playbooks" / "diagnose.yml"
    for told in (whole.site(playbook=diagnose), whole.site(playbook=whole.VERIFY), whole.converge("--check")):
        said = " ".join(told.output.split())
        assert "Service default/big: it has 70 endpoints" in said or "default/big (70)" in said, told
        assert "Set winkube_kube_proxy_dsr and winkube_drain, then ansible-playbook winkube.node.site" in said, told

    dsr = {"winkube_kube_proxy_dsr": True}
    whole.converge(**dsr)
    assert served() == [(70, True)]
    for quiet in (whole.site(playbook=diagnose, **dsr), whole.site(playbook=whole.VERIFY, **dsr)):
        assert "default/big" not in quiet.output, quiet
    before = len(whole.cluster.calls)
    again = whole.converge(**dsr)
    assert again.recap["win1"].changed == 0
    assert "default/big" not in again.output
    asked = [call.path for call in whole.cluster.calls[before:] if call.outside]
    assert not [path for path in asked if path.startswith("/apis/discovery.k8s.io/v1/endpointslices")], asked


def test_dsr_begins_only_where_no_pod_was_made_without_it(bench: Bench) -> None:
    whole = Whole(bench, BRIDGE)
    whole.converge()
    ports = [{"port": 80, "targetPort": 80, "protocol": "TCP"}]
    service = {"metadata": {"name": "agent"}, "spec": {"selector": {"app": "agent"}, "ports": ports}}
    whole.cluster.request("POST", "/api/v1/namespaces/default/services", service)
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "u"}
    whole.pod("agent", owners=[owner])
    whole.pod("web", owners=[{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "v"}])
    dsr: dict[str, Any] = {"winkube_kube_proxy_dsr": True}

    def reaches_itself() -> bool:
        flows = whole.cluster.flows
        try:
            return flows.ask(flows.place_of("default", "agent"), "agent", 80).status == 200
        except SilenceError:
            return False

    assert reaches_itself()
    drive, before = whole.host.node.drive, whole.pid("kube-proxy")
    refused = whole.site(**dsr)
    assert refused.rc != 0 and "winkube_kube_proxy_dsr: pods run on win1 (default/web)" in refused.output, refused
    assert "winkube_drain: true" in refused.output
    assert whole.pid("kube-proxy") == before
    assert b"loopbackDSR" not in whole.host.in_turn(lambda: drive.read(CNI_CONF))

    drained = whole.converge(**dsr, winkube_drain=True, winkube_drain_options=tenants.OPTIONS)
    said = "a drain leaves the pods of DaemonSets (default/agent): they do not reach themselves by their Service"
    assert said in " ".join(drained.output.split()), drained
    whole.cluster.advance(60)
    assert not reaches_itself(), "a drain leaves a DaemonSet's pods"
    told = whole.site(playbook=whole.VERIFY, **dsr)
    assert "it has no loopback policy: it was made before kube-proxy used DSR" in " ".join(told.output.split()), told
    assert "Delete the pod; its successor gets an endpoint with the policy" in " ".join(told.output.split()), told

    whole.cluster.request("DELETE", "/api/v1/namespaces/default/pods/agent")
    whole.cluster.advance(60)
    whole.pod("agent", owners=[owner])
    whole.cluster.advance(60)
    assert reaches_itself()
    assert "loopback policy" not in whole.site(playbook=whole.VERIFY, **dsr).output
