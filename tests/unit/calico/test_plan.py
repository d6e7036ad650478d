"""From a cluster that has only the operator to Calico on Windows, in the lab's API server with the CRDs' own types."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.calico.judge import problems
from ansible_collections.winkube.node.plugins.plugin_utils.calico.plan import Options, plan
from ansible_collections.winkube.node.plugins.plugin_utils.calico.view import Wanted, look
from ansible_collections.winkube.node.plugins.plugin_utils.calico.windows_pods import kube_proxy, proxy_config
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.task.cluster_action import as_diff

from tests.lab.cluster.cluster import Cluster as Lab
from tests.lab.cluster.custom import OPERATOR, OWN, STORED, kind_of
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.seed import Settings

from .objects import POOL, SPEC, WANTED, api_server, custom, endpoint, installation, operator, whole


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path / "cluster", Settings(version="1.35.2"))
    yield made
    made.stop()


def opened(lab: Lab) -> Cluster:
    found = Cluster.open({"kubeconfig": str(lab.kubeconfig)})
    assert found is not None
    return found


def applied(lab: Lab, options: Options | None = None, wanted: Wanted = WANTED) -> list[str]:
    cluster = opened(lab)
    changes = plan(look(cluster), wanted, options or Options())
    for change in changes:
        change.do(cluster)
    return [change.text for change in changes]


def found(lab: Lab) -> list[str]:
    return [each.id for each in problems(look(opened(lab)), WANTED)]


def spec_of(lab: Lab) -> dict[str, Any]:
    return dict(lab.store.get(kind_of(OPERATOR, "Installation"), "", "default")["spec"])


def test_from_the_operator_alone_to_all_that_windows_needs(lab: Lab) -> None:
    operator(lab, served=False)
    assert applied(lab) == [
        "create the ConfigMap tigera-operator/kubernetes-services-endpoint (192.168.122.10:6443)",
        "create the Installation default",
        "create the IPAMConfig default with strictAffinity",
        "create the APIServer default",
    ]
    assert spec_of(lab) == {
        "cni": {"type": "Calico", "ipam": {"type": "Calico"}},
        "serviceCIDRs": ["10.96.0.0/12"],
        "calicoNetwork": {
            "bgp": "Disabled",
            "windowsDataplane": "HNS",
            "ipPools": [
                {
                    "cidr": "10.244.0.0/16",
                    "encapsulation": "VXLAN",
                    "natOutgoing": "Enabled",
                    "nodeSelector": "all()",
                    # The definition's own default, which the lab does not fill in.
                }
            ],
        },
    }
    assert applied(lab) == [], "a second run finds nothing to do"
    assert found(lab) == ["calico.no-api"], "until the operator has brought its API server up"
    api_server(lab)
    custom(lab, "IPAMConfiguration", {"strictAffinity": True, "autoAllocateBlocks": True})
    assert found(lab) == []


def test_a_calico_for_linux_gets_its_windows_part(lab: Lab) -> None:
    """As the quickstart leaves it: cross-subnet and BGP, as in tigera/docs#1547."""
    spec = {
        "calicoNetwork": {"ipPools": [{**POOL, "encapsulation": "VXLANCrossSubnet"}], "mtu": 1450},
        "kubernetesProvider": "",
    }
    whole(lab, spec)
    lab.store.replace(
        kind_of(OWN, "IPAMConfiguration"),
        "",
        "default",
        {"spec": {"strictAffinity": False, "autoAllocateBlocks": True}},
    )
    with pytest.raises(Refused, match=r"BGP and the encapsulation of its pools .* winkube_calico_adopt: true"):
        applied(lab)
    assert spec_of(lab) == spec, "nothing was touched"
    assert applied(lab, Options(adopt=True)) == [
        "change calicoNetwork.windowsDataplane, calicoNetwork.bgp, calicoNetwork.ipPools, serviceCIDRs of the "
        "Installation default",
        "set strictAffinity of the IPAMConfiguration default",
    ]
    now = spec_of(lab)
    assert now["calicoNetwork"] == {"bgp": "Disabled", "windowsDataplane": "HNS", "mtu": 1450, "ipPools": [POOL]}
    assert found(lab) == [] and applied(lab) == []


def test_what_is_asked_in_check_mode_is_shown_and_not_written(lab: Lab) -> None:
    operator(lab)
    changes = plan(look(opened(lab)), WANTED, Options())
    shown = as_diff(changes)
    assert [each["before_header"] for each in shown] == [change.text for change in changes]
    assert "windowsDataplane: HNS" in shown[1]["after"] and shown[1]["before"] == ""
    assert lab.store.list(kind_of(OPERATOR, "Installation")) == []


def test_the_installation_of_a_node_with_folders_of_its_own(lab: Lab) -> None:
    whole(lab)
    own = Wanted(bin_dir=r"D:\cni\bin", conf_dir=r"C:\etc\cni\net.d", services=WANTED.services)
    assert applied(lab, wanted=own) == ["change windowsNodes.cniBinDir of the Installation default"]
    assert spec_of(lab)["windowsNodes"] == {"cniBinDir": "D:/cni/bin"}
    assert applied(lab, wanted=own) == []


def test_pools_of_the_users_own_are_patched_themselves(lab: Lab) -> None:
    spec = deepcopy(SPEC)
    del spec["calicoNetwork"]["ipPools"]
    whole(lab, spec)
    custom(lab, "IPPool", {"cidr": "10.244.0.0/16", "ipipMode": "Always"}, called="mine")
    assert found(lab) == ["calico.encapsulation"]
    with pytest.raises(Refused, match="The IPPool mine has ipipMode Always, vxlanMode Never"):
        applied(lab)
    assert applied(lab, Options(adopt=True)) == ["change ipipMode and vxlanMode of the IPPool mine"]
    assert found(lab) == []


def test_an_api_server_behind_a_service_is_no_address_for_nodes(lab: Lab) -> None:
    whole(lab)
    lab.store.replace(
        BY_NAME["ConfigMap"],
        "tigera-operator",
        "kubernetes-services-endpoint",
        {"data": {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}},
    )
    assert found(lab) == ["calico.endpoint-address"]
    with pytest.raises(Refused, match="winkube_api_server: it is empty"):
        applied(lab, wanted=Wanted(services=WANTED.services))
    with pytest.raises(Refused, match=r"10.96.0.1; wanted an address that nodes reach"):
        applied(lab, wanted=Wanted(services=WANTED.services, host="10.96.0.1", port="443"))
    assert applied(lab) == ["change the ConfigMap tigera-operator/kubernetes-services-endpoint (192.168.122.10:6443)"]
    assert found(lab) == []


def test_no_operator_is_refused(lab: Lab) -> None:
    with pytest.raises(Refused, match=r"no Deployment tigera-operator.*tigera-operator.yaml or the Helm chart"):
        applied(lab)


def test_kube_proxy_is_brought_where_its_image_is_named(lab: Lab) -> None:
    whole(lab)
    image = "sigwindowstools/kube-proxy:v1.35.2-calico-hostprocess"
    assert applied(lab, Options(kube_proxy_image=image)) == [
        "create the ConfigMap kube-system/kube-proxy-windows",
        "create the DaemonSet kube-system/kube-proxy-windows",
    ]
    assert applied(lab, Options(kube_proxy_image=image)) == []
    newer = image.replace("1.35.2", "1.35.3")
    assert applied(lab, Options(kube_proxy_image=newer)) == [
        "change containers.kube-proxy.image of the DaemonSet kube-system/kube-proxy-windows"
    ]
    made = lab.store.get(BY_NAME["DaemonSet"], "kube-system", "kube-proxy-windows")["spec"]["template"]["spec"]
    (container,) = made["containers"]
    wanted = kube_proxy(newer, proxy_config(WANTED))["spec"]["template"]["spec"]["containers"][0]
    assert container == wanted, "only the image has changed"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"calicoNetwork": {"bgp": "Off"}}, "spec.calicoNetwork.bgp: Unsupported value"),
        ({"serviceCIDRs": "10.96.0.0/12"}, "must be of type array"),
        ({"calicoNetwork": {"ipPools": [{}]}}, r"ipPools\[0\].cidr: Required value"),
        ({"windowsNodes": {"vxlanMACPrefix": "0E2A"}}, "should match"),
    ],
)
def test_the_lab_refuses_what_the_definition_refuses(lab: Lab, spec: dict[str, Any], why: str) -> None:
    operator(lab)
    body = {
        "apiVersion": "operator.tigera.io/v1",
        "kind": "Installation",
        "metadata": {"name": "default"},
        "spec": spec,
    }
    with pytest.raises(ClusterError, match=why):
        opened(lab).create("/apis/operator.tigera.io/v1/installations", body)


def test_the_lab_drops_what_no_definition_knows(lab: Lab) -> None:
    operator(lab)
    body = installation({"windowsDataplane": "HNS", "calicoNetwork": {"windowsIPAM": "Calico", "bgp": "Disabled"}})
    made = opened(lab).create("/apis/operator.tigera.io/v1/installations", {**body, "kind": "Installation"})
    assert made["spec"] == {"calicoNetwork": {"bgp": "Disabled"}}


def test_the_map_is_beside_the_operator_wherever_that_runs(lab: Lab) -> None:
    operator(lab, "calico")
    assert applied(lab)[0] == "create the ConfigMap calico/kubernetes-services-endpoint (192.168.122.10:6443)"
    lab.store.create(BY_NAME["Namespace"], "", {"metadata": {"name": "tigera-operator"}})
    endpoint(lab)
    assert "calico.no-endpoint" not in found(lab), "one elsewhere is not minded"


def test_a_crd_that_is_not_there_yet_is_waited_for(lab: Lab) -> None:
    operator(lab, served=False)
    lab.api.served.remove(STORED)
    cluster = opened(lab)
    changes = plan(look(cluster), WANTED, Options())
    (late,) = (change for change in changes if "IPAMConfig" in change.text)
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            lab.api.served.add(STORED)

    cluster.clock = type(cluster.clock)(now=lambda: float(len(waits)), sleep=sleep)
    late.do(cluster)
    assert len(waits) == 3 and lab.store.list(kind_of(STORED, "IPAMConfig"))
