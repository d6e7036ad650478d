"""What calico.yml writes beside a Calico that manifests have installed, in the lab's kubespray cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.calico.judge import problems, rule_of
from ansible_collections.winkube.node.plugins.plugin_utils.calico.plan import Options, plan
from ansible_collections.winkube.node.plugins.plugin_utils.calico.view import look
from ansible_collections.winkube.node.plugins.plugin_utils.calico.windows_pods import calico_node, find_difference
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line

from tests.lab.cluster import kubespray, makers
from tests.lab.cluster.cluster import Cluster as Lab
from tests.lab.cluster.custom import STORED, kind_of
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.seed import Settings

from .objects import WANTED
from .test_plan import applied, opened
from .test_public import manifests

BESIDE = replace(WANTED, pods="10.233.64.0/18", services=("10.233.0.0/18",), dns="10.233.0.3")
IMAGE = Options(kube_proxy_image="sigwindowstools/kube-proxy:v1.35.2-calico-hostprocess")


def started(folder: Path, **calico: Any) -> Lab:
    return Lab(folder, Settings(version="1.35.2", **kubespray.SETTINGS, calico=calico))


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = started(tmp_path / "cluster")
    yield made
    made.stop()


def set_of(lab: Lab, name: str = "calico-node-windows") -> dict[str, Any]:
    return dict(lab.store.get(BY_NAME["DaemonSet"], "kube-system", name)["spec"]["template"]["spec"])


def variables(container: dict[str, Any]) -> dict[str, Any]:
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container["env"]}


def test_one_daemon_set_beside_the_linux_nodes_and_strict_affinity(lab: Lab) -> None:
    assert applied(lab, wanted=BESIDE) == [
        "set strictAffinity of the IPAMConfig default",
        "create the DaemonSet kube-system/calico-node-windows",
    ]
    assert applied(lab, wanted=BESIDE) == []
    pod = set_of(lab)
    (install,) = pod["initContainers"]
    assert install["image"] == "quay.io/calico/cni-windows:v3.31.7"
    assert {each["image"] for each in pod["containers"]} == {"quay.io/calico/node-windows:v3.31.7"}
    for container in (install, *pod["containers"]):
        found = variables(container)
        assert (found["KUBERNETES_SERVICE_HOST"], found["KUBERNETES_SERVICE_PORT"]) == ("192.168.122.10", "6443"), (
            "never localhost, where kubespray's nginx is on Linux nodes"
        )
        assert found["VXLAN_VNI"] == "4096"
    assert variables(install)["KUBERNETES_DNS_SERVERS"] == "10.233.0.3"
    assert variables(install)["KUBERNETES_SERVICE_CIDRS"] == "10.233.0.0/18"
    assert pod["securityContext"]["windowsOptions"]["hostProcess"] is True


def test_what_the_api_server_fills_in_is_no_difference_and_a_persons_edit_is(lab: Lab) -> None:
    applied(lab, wanted=BESIDE)
    kind = BY_NAME["DaemonSet"]
    found = lab.store.get(kind, "kube-system", "calico-node-windows")
    pod = found["spec"]["template"]["spec"]
    pod |= {"dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler"}
    pod["containers"][0]["terminationMessagePath"] = "/dev/termination-log"
    lab.store.replace(kind, "kube-system", "calico-node-windows", found)
    assert applied(lab, wanted=BESIDE) == []
    found = lab.store.get(kind, "kube-system", "calico-node-windows")
    pod = found["spec"]["template"]["spec"]
    pod["containers"][1]["env"][0]["value"] = "another"
    lab.store.replace(kind, "kube-system", "calico-node-windows", found)
    name = pod["containers"][1]["env"][0]["name"]
    assert applied(lab, wanted=BESIDE) == [
        f"change containers.node.env.{name}.value of the DaemonSet kube-system/calico-node-windows"
    ]


def test_after_an_upgrade_of_the_linux_nodes_windows_follows(lab: Lab) -> None:
    applied(lab, wanted=BESIDE)
    kind = BY_NAME["DaemonSet"]
    linux = lab.store.get(kind, "kube-system", "calico-node")
    linux["spec"]["template"]["spec"]["containers"][0]["image"] = "mirror.example.com/calico/node:v3.32.1"
    lab.store.replace(kind, "kube-system", "calico-node", linux)
    (said,) = applied(lab, wanted=BESIDE)
    assert "containers.felix.image" in said and "initContainers.install-cni.image" in said
    assert {each["image"] for each in set_of(lab)["containers"]} == {"mirror.example.com/calico/node-windows:v3.32.1"}


def test_kube_proxy_is_told_the_api_server_and_not_what_linux_nodes_use(lab: Lab) -> None:
    applied(lab, IMAGE, BESIDE)
    (volume,) = set_of(lab, "kube-proxy-windows")["volumes"]
    found = lab.store.get(BY_NAME["ConfigMap"], "kube-system", volume["configMap"]["name"])["data"]["kubeconfig.conf"]
    assert yaml.safe_load(found)["clusters"][0]["cluster"]["server"] == "https://192.168.122.10:6443"
    moved = replace(BESIDE, host="192.168.122.11")
    said = applied(lab, IMAGE, moved)
    assert "change the ConfigMap kube-system/kube-proxy-windows" in said
    assert any("annotations" in each and "kube-proxy-windows" in each for each in said), "else no pod would take it"


def test_a_pool_with_ipip_is_changed_with_adopt_alone(tmp_path: Path) -> None:
    lab = started(tmp_path / "cluster", ipip="Always", vxlan="Never")
    try:
        with pytest.raises(Refused, match=r"default-pool has ipipMode Always.*winkube_calico_adopt: true"):
            applied(lab, wanted=BESIDE)
        assert (
            applied(lab, Options(adopt=True), BESIDE)[0] == "change ipipMode and vxlanMode of the IPPool default-pool"
        )
        spec = lab.store.get(kind_of(STORED, "IPPool"), "", "default-pool")["spec"]
        assert (spec["ipipMode"], spec["vxlanMode"]) == ("Never", "Always")
    finally:
        lab.stop()


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (replace(BESIDE, host=""), "winkube_api_server: it is empty"),
        (replace(BESIDE, dns=""), "winkube_dns_service_ip, winkube_service_cidr"),
    ],
)
def test_what_the_pods_must_be_told_is_asked_for(lab: Lab, wanted: Any, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        plan(look(opened(lab)), wanted, Options())


def test_an_image_by_digest_has_no_release(tmp_path: Path) -> None:
    lab = started(tmp_path / "cluster", image="quay.io/calico/node@sha256:" + "0" * 64)
    try:
        with pytest.raises(Refused, match="whose tag is no release of Calico"):
            plan(look(opened(lab)), BESIDE, Options())
    finally:
        lab.stop()


@pytest.mark.parametrize(("release", "program"), [(Line(3, 27), "install.exe"), (Line(3, 33), "calico.exe")])
def test_each_release_is_started_by_its_own_programs(release: Line, program: str) -> None:
    pod = calico_node(manifests(), BESIDE, release)["spec"]["template"]["spec"]
    assert pod["initContainers"][0]["command"][0].endswith(f"/{program}")
    felix = pod["containers"][0]
    assert "live" in felix["livenessProbe"]["exec"]["command"][-1]
    assert "ready" in felix["readinessProbe"]["exec"]["command"][-1]


def test_a_list_of_another_length_differs_as_a_whole() -> None:
    assert list(find_difference({"a": [1, 2], "b": 1}, {"a": [1]})) == ["a"]
    assert list(find_difference({}, {"a": {"b": 1}})) == ["a"]


def test_k0s_brings_what_windows_nodes_need_after_the_first_of_them(tmp_path: Path) -> None:
    wanted = replace(WANTED, pods="10.244.0.0/16")
    lab = Lab(tmp_path / "cluster", Settings(version="1.37.1", maker="k0s", **makers.ALL["k0s"].settings))
    try:
        view = look(opened(lab))
        assert not [each for each in problems(view, wanted) if rule_of(each).before and each.severity == "error"]
        assert applied(lab, wanted=wanted) == [], "k0s takes back what others change in its objects"
        with pytest.raises(Refused, match="k0s brings kube-proxy to Windows nodes itself"):
            plan(view, wanted, IMAGE)
    finally:
        lab.stop()
