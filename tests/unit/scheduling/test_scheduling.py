"""RuntimeClasses, taints and labels in the lab's API server, over HTTPS as a cluster is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.winkube.node.plugins.filter.k8s_windows_iis import k8s_windows_iis
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.facts.windows import IMAGE_NAMES, class_name
from ansible_collections.winkube.node.plugins.plugin_utils.lint.images import image_build
from ansible_collections.winkube.node.plugins.plugin_utils.scheduling import converge, report, runtime_class
from ansible_collections.winkube.node.plugins.plugin_utils.scheduling.nodes import windows_nodes
from ansible_collections.winkube.node.plugins.plugin_utils.scheduling.report import Machine
from ansible_collections.winkube.node.plugins.plugin_utils.scheduling.runtime_class import COLLECTION
from ansible_collections.winkube.node.plugins.plugin_utils.task.argument_spec import load_spec

from tests.conftest import ROOT
from tests.lab.cluster.cluster import Cluster as Lab
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.seed import Settings
from tests.unit.scheduling.objects import TAINT, ten, windows

TAINTS = ("os=windows:NoSchedule",)
OPTIONS = converge.Options("runhcs-wcow-process", TAINTS, {})
CONFIG = "version = 3\n"
BUILT = {17763: "ltsc2019", 20348: "ltsc2022", 26100: "ltsc2025"}


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path / "cluster", Settings(version="1.36.1"))
    for node in ten():
        made.store.create(BY_NAME["Node"], "", node)
    yield made
    made.stop()


def opened(lab: Lab) -> Cluster:
    cluster = Cluster.open({"kubeconfig": str(lab.kubeconfig)})
    assert cluster is not None
    return cluster


def converged(cluster: Cluster, options: converge.Options = OPTIONS, /, **machines: Machine) -> list[str]:
    changes = converge.plan(options, windows_nodes(cluster.nodes()), cluster.items(COLLECTION), machines)
    for change in changes:
        change.do(cluster)
    return [change.text for change in changes]


def with_config(config: str, *names: str) -> dict[str, Machine]:
    return {name: Machine(config=config) for name in names or [f"win{n}" for n in range(1, 11)]}


@pytest.mark.row("SC-14", "SC-15", "SC-13")
def test_ten_nodes_of_three_builds_get_three_runtime_classes_once(lab: Lab) -> None:
    cluster = opened(lab)
    assert converged(cluster, **with_config(CONFIG)) == [
        "create the RuntimeClass windows-2019",
        "create the RuntimeClass windows-2022",
        "create the RuntimeClass windows-2025",
        "taint the Node win10 with os=windows:NoSchedule",
        "taint the Node win9 with os=windows:NoSchedule",
    ]
    classes = {item["metadata"]["name"]: item for item in cluster.items(COLLECTION)}
    assert {name: found["scheduling"]["nodeSelector"] for name, found in classes.items()} == {
        f"windows-{name}": {
            "kubernetes.io/os": "windows",
            "kubernetes.io/arch": "amd64",
            "node.kubernetes.io/windows-build": f"10.0.{build}",
        }
        for name, build in (("2019", 17763), ("2022", 20348), ("2025", 26100))
    }
    assert {found["handler"] for found in classes.values()} == {"runhcs-wcow-process"}
    assert converged(cluster, **with_config(CONFIG)) == [], "a second run changes nothing"


@pytest.mark.row("SC-12", "SC-13")
def test_each_of_ten_nodes_gets_the_image_of_its_build(lab: Lab) -> None:
    nodes = windows_nodes(opened(lab).nodes())
    rows = report.rows(nodes)
    assert len(rows) == 10
    for row in rows:
        build = int(row["build_label"].removeprefix("10.0."))
        assert row["image"] == f"mcr.microsoft.com/windows/servercore:{BUILT[build]}"
        assert image_build(row["image"]) == build, "the linter reads the same build out of the name"
        assert row["runtime_class"] == class_name(build)
        assert row["os_version"].startswith(f"10.0.{build}.")
    assert [(each["build"], len(each["nodes"])) for each in report.builds(nodes)] == [
        (17763, 3),
        (20348, 4),
        (26100, 3),
    ]


def pods_on(cluster: Cluster, images: dict[str, str]) -> dict[str, str]:
    """One pod a node, with what its RuntimeClass's admission adds; the reason why it does not run, or `Running`."""
    classes = {item["metadata"]["name"]: item["scheduling"] for item in cluster.items(COLLECTION)}
    for node, image in images.items():
        row = next(each for each in report.rows(windows_nodes(cluster.nodes())) if each["name"] == node)
        scheduling = classes[row["runtime_class"]]
        spec = {
            "containers": [{"name": "a", "image": image}],
            "nodeSelector": {**scheduling["nodeSelector"], "kubernetes.io/hostname": node},
            "tolerations": scheduling["tolerations"],
        }
        metadata = {"name": node, "namespace": "default"}
        cluster.create("/api/v1/namespaces/default/pods", {"kind": "Pod", "metadata": metadata, "spec": spec})
    found: dict[str, str] = {}
    for _look in range(20):
        for pod in cluster.items("/api/v1/namespaces/default/pods"):
            status = pod.get("status") or {}
            states = [each["state"] for each in status.get("containerStatuses") or ()]
            waiting = [state["waiting"]["reason"] for state in states if "waiting" in state]
            found[pod["metadata"]["name"]] = waiting[0] if waiting else str(status.get("phase"))
        if "Pending" not in found.values():
            break
    return found


@pytest.mark.row("SC-14", "SC-12")
def test_ten_pods_with_these_images_and_classes_run_and_with_those_of_other_builds_do_not(lab: Lab) -> None:
    cluster = opened(lab)
    converged(cluster)
    images = {row["name"]: row["image"] for row in report.rows(windows_nodes(cluster.nodes()))}
    assert set(pods_on(cluster, images).values()) == {"Running"} and len(images) == 10
    for name in images:
        cluster.delete(f"/api/v1/namespaces/default/pods/{name}")
    while cluster.items("/api/v1/namespaces/default/pods"):
        pass
    wrong = {name: images["win1"] if image != images["win1"] else images["win10"] for name, image in images.items()}
    assert set(pods_on(cluster, wrong).values()) == {"CreateContainerError"}


@pytest.mark.row("SC-14", "SC-17")
def test_the_runtime_class_is_the_documents_with_a_handler_that_exists() -> None:
    """Golden: examples/workloads/runtimeClasses.yml is the documentation's file except for the handler, a
    placeholder there."""
    golden = yaml.safe_load((ROOT / "examples" / "workloads" / "runtimeClasses.yml").read_text(encoding="utf-8"))
    made = runtime_class.runtime_class(17763, "runhcs-wcow-process", TAINTS)
    assert made["metadata"].pop("labels") == {"app.kubernetes.io/managed-by": "winkube.node"}
    assert made == golden
    assert golden["apiVersion"] == "node.k8s.io/v1"
    documents = runtime_class.runtime_class(17763, "example-container-runtime-handler", TAINTS)
    assert {**golden, "handler": documents["handler"]}.keys() == documents.keys()


@pytest.mark.row("SC-14")
def test_the_default_is_containerds_own_runtime_for_process_isolation() -> None:
    assert load_spec("k8s_windows_scheduling")["handler"]["default"] == "runhcs-wcow-process"
    playbook = (ROOT / "playbooks" / "scheduling.yml").read_text(encoding="utf-8")
    assert 'handler: "{{ winkube_runtime_handler | default(omit) }}"' in playbook


@pytest.mark.row("SC-14")
@pytest.mark.parametrize(
    ("containerd", "config", "handler", "fits"),
    [
        ("2.3.2", "version = 3\n", "runhcs-wcow-process", True),
        ("2.3.2", "version = 3\n", "runhcs-wcow-hypervisor", True),
        ("1.6.20", "version = 2\n", "example-container-runtime-handler", False),
        (
            "2.3.2",
            "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.mine]\n"
            "runtime_type = 'io.containerd.runhcs.v1'\n",
            "mine",
            True,
        ),
        (
            "1.7.20",
            "version = 2\n[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.mine]\n",
            "mine",
            True,
        ),
    ],
)
def test_a_handler_has_to_be_in_config_toml(containerd: str, config: str, handler: str, fits: bool) -> None:
    said = runtime_class.handler_problem("win1", config, containerd, handler)
    assert (said is None) is fits
    if said is not None:
        assert said.startswith(f"win1: the handler {handler} is unknown to containerd; config.toml has runhcs-wc")


@pytest.mark.row("SC-14")
def test_a_handler_that_a_node_lacks_is_refused_before_anything_is_written(lab: Lab) -> None:
    cluster = opened(lab)
    options = replace(OPTIONS, handler="mine")
    machines = {**with_config(CONFIG, "win1", "win2")}
    with pytest.raises(Refused, match=r"win1: the handler mine is unknown(.|\n)*win2: the handler mine"):
        converged(cluster, options, **machines)
    assert cluster.items(COLLECTION) == []
    assert converge.find_unknown(windows_nodes(cluster.nodes()), machines) == tuple(
        sorted(f"win{n}" for n in range(3, 11))
    )
    with pytest.raises(Refused, match=r"cannot be told: config\.toml: "):
        converged(cluster, **with_config("version = [", "win1"))


@pytest.mark.row("SC-17")
def test_the_version_of_the_api_needs_kubernetes_1_20() -> None:
    converge.check_server("1.20.0")
    with pytest.raises(Refused, match=r"is Kubernetes 1\.19, and .*\(node\.k8s\.io/v1\) need 1\.20"):
        converge.check_server("1.19.16")


@pytest.mark.row("SC-15")
def test_what_another_run_made_meanwhile_is_no_error(lab: Lab) -> None:
    cluster = opened(lab)
    changes = converge.plan(OPTIONS, windows_nodes(cluster.nodes()), (), {})
    assert len(converged(cluster)) == len(changes)
    for change in changes:
        change.do(cluster)
    assert len(cluster.items(COLLECTION)) == 3


def test_a_class_that_differs_is_changed_if_it_is_ours(lab: Lab) -> None:
    cluster = opened(lab)
    converged(cluster)
    more = replace(OPTIONS, taints=(*TAINTS, "team=a:NoExecute"))
    assert converged(cluster, more)[:3] == [
        f"change tolerations of the RuntimeClass windows-{name}" for name in ("2019", "2022", "2025")
    ]
    found = cluster.get(f"{COLLECTION}/windows-2022")
    assert found is not None
    assert {each["key"] for each in found["scheduling"]["tolerations"]} == {"os", "team"}
    with pytest.raises(Refused, match=r"windows-2019 has the handler runhcs-wcow-process, not other.* cannot be chang"):
        converged(cluster, replace(more, handler="other"))


def test_a_class_of_somebody_else_is_left_alone_unless_adopted(lab: Lab) -> None:
    cluster = opened(lab)
    theirs = runtime_class.runtime_class(20348, "runhcs-wcow-process", ())
    del theirs["metadata"]["labels"]
    cluster.create(COLLECTION, theirs)
    with pytest.raises(Refused, match="windows-2022 is not ours and has another tolerations"):
        converged(cluster)
    converged(cluster, replace(OPTIONS, adopt=True))
    found = cluster.get(f"{COLLECTION}/windows-2022")
    assert found is not None and len(found["scheduling"]["tolerations"]) == 1


@pytest.mark.row("SC-08", "SC-15")
def test_taints_are_added_beside_others_and_nothing_is_taken_away(lab: Lab) -> None:
    cluster = opened(lab)
    other = {"key": "team", "value": "a", "effect": "NoExecute"}
    cluster.patch("/api/v1/nodes/win9", {"spec": {"taints": [other]}})
    converged(cluster)
    node = cluster.node("win9")
    assert node is not None and node["spec"]["taints"] == [other, TAINT]
    control_plane = cluster.node("control-plane")
    assert control_plane is not None and TAINT not in control_plane["spec"]["taints"]


@pytest.mark.row("SC-08")
def test_the_taint_is_the_documents_wherever_it_is_a_default() -> None:
    wanted = ["os=windows:NoSchedule"]
    for module in ("k8s_windows_scheduling", "k8s_windows_conformance"):
        assert load_spec(module)["taints"]["default"] == wanted
    shared = yaml.safe_load((ROOT / "roles" / "winkube" / "defaults" / "main.yml").read_text(encoding="utf-8"))
    assert shared["winkube_node_taints"] == wanted


@pytest.mark.row("SC-12")
def test_own_labels_are_set_and_those_of_the_kubelet_refused(lab: Lab) -> None:
    cluster = opened(lab)
    assert "label the Node win1 with team=a" in converged(cluster, replace(OPTIONS, labels={"team": "a"}))
    assert converged(cluster, replace(OPTIONS, labels={"team": "a"})) == []
    for label in (
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "node.kubernetes.io/windows-build",
    ):
        with pytest.raises(Refused, match=rf"labels: {re.escape(label)} is set by the kubelet, which would reset it"):
            converged(cluster, replace(OPTIONS, labels={label: "10.0.1"}))


# -- the report --------------------------------------------------------------------------------------------------------


def found_in(*nodes: dict[str, Any], server: str = "1.36.1", **machines: Machine) -> list[tuple[str, str]]:
    return [(each.id, each.text) for each in report.findings(windows_nodes(nodes), server, TAINTS, machines)]


def test_a_node_as_it_should_be_gives_no_finding() -> None:
    assert found_in(windows("win1", 20348), windows("win2", 26100)) == []


@pytest.mark.row("SC-12")
def test_the_build_label_is_compared_with_the_machine_then_with_the_kubelet() -> None:
    node = windows("win1", 20348)
    ((kind, said),) = found_in(node, win1=Machine(build=26100))
    assert kind == "label"
    assert "the label node.kubernetes.io/windows-build is 10.0.20348, not 10.0.26100, as the machine says" in said
    node["metadata"]["labels"]["node.kubernetes.io/windows-build"] = "10.0.17763"
    ((kind, said),) = found_in(node)
    assert (kind, "10.0.17763, not 10.0.20348, as its kubelet says" in said) == ("label", True)
    del node["metadata"]["labels"]["node.kubernetes.io/windows-build"]
    assert "is missing, not 10.0.20348" in found_in(node)[0][1]


@pytest.mark.row("SC-08")
def test_a_missing_taint_is_said() -> None:
    ((kind, said),) = found_in(windows("win1", 20348, taints=False))
    assert (kind, "the taint os=windows:NoSchedule is missing" in said) == ("taint-missing", True)


@pytest.mark.parametrize(
    ("changes", "server", "said"),
    [
        ({"kubelet": "1.31.0"}, "1.36.1", "kubelet 1.31 is too old for the cluster's API server 1.36"),
        ({"kubelet": "1.36.1"}, "1.35.0", "kubelet 1.36 is newer than the cluster's API server 1.35"),
        ({"containerd": "1.7.20"}, "1.36.1", "containerd"),
    ],
)
def test_versions_that_do_not_go_together_are_said(changes: dict[str, str], server: str, said: str) -> None:
    assert any(said in text for _kind, text in found_in(windows("win1", 20348, **changes), server=server))  # type: ignore[arg-type]


def test_a_windows_that_this_kubernetes_does_not_support_is_said() -> None:
    assert any(
        "Kubernetes 1.36 does not support its Windows (Windows Server 2019, 10.0.17763.6532)" in text
        for _kind, text in found_in(windows("win1", 17763))
    )


# -- the sample --------------------------------------------------------------------------------------------------------


@pytest.mark.row("SM-16")
def test_the_iis_sample_is_the_documents() -> None:
    golden = list(yaml.safe_load_all((ROOT / "examples" / "workloads" / "iis-2019.yml").read_text(encoding="utf-8")))
    assert k8s_windows_iis("2019") == golden
    deployment, service = golden
    assert deployment["spec"]["selector"]["matchLabels"] == deployment["spec"]["template"]["metadata"]["labels"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == {
        "limits": {"cpu": 1, "memory": "800Mi"},
        "requests": {"cpu": 0.1, "memory": "300Mi"},
    }
    assert (service["spec"]["type"], service["spec"]["selector"]) == ("LoadBalancer", {"app": "iis-2019"})


@pytest.mark.row("SM-16")
def test_the_sample_for_other_builds_names_their_class_and_image() -> None:
    for names in IMAGE_NAMES:
        if names.iis is None:
            with pytest.raises(AnsibleFilterError, match=f"no image of IIS is known for the build {names.build}"):
                k8s_windows_iis(names.build)
            continue
        spec = k8s_windows_iis(names.build)[0]["spec"]["template"]["spec"]
        assert spec["runtimeClassName"] == class_name(names.build)
        assert image_build(spec["containers"][0]["image"]) == names.build
