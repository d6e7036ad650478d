"""Where a pod goes: os.name, selectors, taints, RuntimeClasses and builds, each value by its name."""

from __future__ import annotations

from typing import Any

import pytest

from . import several
from .test_rules import findings, places

OS = "kubernetes.io/os"
BUILD = "node.kubernetes.io/windows-build"
TAINT = {"key": "os", "value": "windows", "effect": "NoSchedule"}
BARE: dict[str, Any] = {"os": None, "nodeSelector": None, "tolerations": None}
"""A change of the base pod that takes away all that says or selects a system."""
OF_WINDOWS = {"containers": [{"image": "mcr.microsoft.com/windows/nanoserver:ltsc2022"}]}


def ids(text: Any, **settings: Any) -> list[str]:
    return sorted(f"{each.severity.name[0]} {each.rule} {each.path}" for each in findings(text, settings))


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    node = {"nodeSelectorTerms": [{"matchExpressions": [term]} for term in terms]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": node}}}


# -- os.name -----------------------------------------------------------------------------------------------------------


@pytest.mark.row("SC-01", "SC-04", "LM-62")
@pytest.mark.parametrize(
    ("profile", "with_name", "without"),
    [
        ("1.22", ["W os-name-too-early spec.os.name", "W unknown-field spec.os"], []),
        ("1.23", ["W os-name-too-early spec.os.name"], []),
        ("1.24", [], ["I missing-os-name spec"]),
        ("1.27", [], ["I missing-os-name spec"]),
        ("1.37", [], ["I missing-os-name spec"]),
    ],
)
def test_os_name_by_version(profile: str, with_name: list[str], without: list[str]) -> None:
    assert ids({}, profile=profile) == with_name
    assert ids({"spec": {"os": None}}, profile=profile) == without


@pytest.mark.row("SC-01", "LM-62")
@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"nodeSelector": {OS: "windows"}}, "spec.nodeSelector selects windows"),
        ({"nodeSelector": {"beta.kubernetes.io/os": "windows"}}, "spec.nodeSelector selects windows"),
        ({"nodeSelector": {BUILD: "10.0.20348"}}, "spec.nodeSelector selects windows"),
        (
            required({"key": OS, "operator": "In", "values": ["windows"]}),
            "spec.affinity.nodeAffinity requires windows",
        ),
        (
            required({"key": OS, "operator": "NotIn", "values": ["linux"]}),
            "spec.affinity.nodeAffinity requires windows",
        ),
        (required({"key": BUILD, "operator": "Exists"}), "spec.affinity.nodeAffinity requires windows"),
        (
            required({"key": BUILD, "operator": "In", "values": ["10.0.20348"]}),
            "spec.affinity.nodeAffinity requires windows",
        ),
        ({"runtimeClassName": "mine"}, "RuntimeClass mine selects windows"),
        ({"securityContext": {"windowsOptions": {"runAsUserName": "a"}}}, "spec.securityContext.windowsOptions is set"),
        (
            {"containers": [{"securityContext": {"windowsOptions": {"runAsUserName": "a"}}}]},
            "container web sets securityContext.windowsOptions",
        ),
        (OF_WINDOWS, "container web has the Windows image mcr.microsoft.com/windows/nanoserver:ltsc2022"),
        *(
            ({"tolerations": [{"key": key, "value": value}]}, "spec.tolerations names the taint of Windows nodes")
            for key in ("os", OS, "node.kubernetes.io/os")
            for value in ("windows", "Windows")
        ),
    ],
)
def test_a_windows_pod_without_os_name_is_known_and_told_by_what(spec: dict[str, Any], why: str) -> None:
    text = several.of(several.runtime_class("runhcs-wcow-process"), pod={"spec": {**BARE, **spec}})
    (found,) = [each for each in findings(text, {}) if each.rule == "missing-os-name"]
    assert (found.severity.name[0], found.path) == ("I", "spec")
    assert found.message.startswith(f"this is a Windows pod ({why}), but spec.os.name does not say so")
    assert found.remedy == "Set spec.os.name: windows."


@pytest.mark.row("SC-01")
@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"nodeSelector": {OS: "linux"}},
        {"nodeSelector": {OS: None, "disk": "ssd"}},
        {"os": {"name": "linux"}},
        {"tolerations": [{"operator": "Exists"}]},
        {"tolerations": [{"key": "team", "value": "windows"}]},
        {"tolerations": [{"key": "os", "value": "linux"}]},
        required({"key": OS, "operator": "NotIn", "values": ["windows"]}),
        required({"key": OS, "operator": "In", "values": ["windows", "linux"]}),
        required({"key": BUILD, "operator": "DoesNotExist"}),
        {"runtimeClassName": "gvisor"},
    ],
)
def test_pods_that_are_not_known_to_be_for_windows_are_left_alone(spec: dict[str, Any]) -> None:
    assert findings({"spec": {**BARE, "hostPID": True, **spec}}, {}) == []


@pytest.mark.row("SC-02")
@pytest.mark.parametrize("os", ["windows", "linux"])
@pytest.mark.parametrize("profile", ["1.22", "1.27", "1.37"])
def test_the_slip_in_the_note_is_an_error_for_every_system(os: str, profile: str) -> None:
    patch = {"spec": {**BARE, "nodeSelector": {OS: os}, "pod": {"os": os}}}
    assert places("misplaced-os-field", patch, profile=profile) == ["E spec.pod.os"]
    (found,) = [each for each in findings(patch, {}) if each.rule == "misplaced-os-field"]
    assert found.remedy == "Write spec.os.name."


# -- selectors ---------------------------------------------------------------------------------------------------------

SELECTING = [
    {"nodeSelector": {OS: "windows"}},
    {"nodeSelector": {"beta.kubernetes.io/os": "windows"}},
    {"nodeSelector": {BUILD: "10.0.20348"}},
    required({"key": OS, "operator": "In", "values": ["windows"]}),
    {"runtimeClassName": "mine"},
    {"nodeName": "win1"},
]
NOT_SELECTING: list[dict[str, Any]] = [
    {},
    {"nodeSelector": {OS: None, "disk": "ssd"}},
    {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}},
    required({"key": OS, "operator": "In", "values": ["windows"]}, {"key": OS, "operator": "In", "values": ["linux"]}),
]
TOLERATING = {"tolerations": [{**TAINT, "operator": "Equal"}]}


@pytest.mark.row("SC-03", "SC-06", "LM-62")
@pytest.mark.parametrize(
    ("spec", "flagged"), [*((each, False) for each in SELECTING), *((each, True) for each in NOT_SELECTING)]
)
def test_os_name_and_image_do_not_bring_a_pod_to_its_node(spec: dict[str, Any], flagged: bool) -> None:
    """os-name-without-selector if it says os.name, missing-os-selector if it is only known to be for Windows."""
    of_class = several.runtime_class(nodeSelector={OS: "windows"})
    told = several.of(of_class, pod={"spec": {**BARE, **TOLERATING, **spec, "os": {"name": "windows"}}})
    untold = several.of(of_class, pod={"spec": {**BARE, **TOLERATING, **OF_WINDOWS, **spec}})
    assert places("os-name-without-selector", told) == (["I spec"] if flagged else [])
    assert places("missing-os-selector", untold) == (["W spec"] if flagged else [])
    assert places("missing-os-selector", told) == places("os-name-without-selector", untold) == []
    for each in (*findings(told, {}), *findings(untold, {})):
        assert (
            each.rule in ("ends-at-once", "missing-os-name")
            or "kubernetes.io/os: windows, or a RuntimeClass" in each.remedy
        )


@pytest.mark.row("SC-06", "LM-62")
@pytest.mark.parametrize(
    ("spec", "taint", "flagged"),
    [
        ({}, "none", True),
        ({"os": {"name": "linux"}}, "none", True),
        ({"nodeSelector": {OS: None, "disk": "ssd"}}, "none", True),
        ({"nodeSelector": {OS: "linux"}}, "none", False),
        (required({"key": OS, "operator": "NotIn", "values": ["windows"]}), "none", False),
        (required({"key": "disk", "operator": "In", "values": ["ssd"]}), "none", False),  # may lead to Linux nodes only
        ({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}}, "none", True),
        ({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]}}}, "none", True),
        ({"nodeName": "linux1"}, "none", False),
        ({}, "os=windows:NoSchedule", False),
    ],
)
def test_a_linux_pod_where_windows_nodes_carry_no_taint(spec: dict[str, Any], taint: str, flagged: bool) -> None:
    assert places("missing-os-selector", {"spec": {**BARE, **spec}}, taint=taint) == (["W spec"] if flagged else [])


@pytest.mark.row("SC-06", "SC-09")
def test_taints_are_read_off_the_nodes_where_these_are_among_the_input() -> None:
    """Taints of all Windows nodes, without those that Kubernetes sets itself; a preference keeps no pod off."""
    bare = {"spec": BARE}
    other = {"key": "team", "value": "a", "effect": "NoExecute"}
    of_kubernetes = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
    for taints, untainted, missing in [
        ([[TAINT], [TAINT]], [], []),
        ([[TAINT], []], ["W spec"], []),
        ([[{**TAINT, "effect": "PreferNoSchedule"}]], ["W spec"], []),
        ([[of_kubernetes]], ["W spec"], []),
        ([[TAINT, other]], [], ["E spec.tolerations"]),
        ([[TAINT, of_kubernetes]], [], []),
    ]:
        nodes = [several.node(f"win{number}", taints=each) for number, each in enumerate(taints)]
        assert places("missing-os-selector", several.of(*nodes, pod=bare)) == untainted, taints
        assert places("taint-not-tolerated", several.of(*nodes)) == missing, taints


# -- the taint ---------------------------------------------------------------------------------------------------------

COMMON = "os=windows:NoSchedule"
NO_EFFECT = {"key": "os", "value": "windows"}


@pytest.mark.row("SC-09", "LM-62")
@pytest.mark.parametrize(
    ("tolerations", "enough"),
    [
        ([], False),
        ([{"key": "os", "operator": "Equal", "value": "windows", "effect": "NoSchedule"}], True),
        ([NO_EFFECT], True),
        ([{"key": "os", "operator": "Exists"}], True),
        ([{"operator": "Exists"}], True),
        ([{"operator": "Exists", "effect": "NoSchedule"}], True),
        ([{"operator": "Exists", "effect": "NoExecute"}], False),
        ([{"key": "os", "operator": "Equal", "value": "linux"}], False),
        ([{"key": "node.kubernetes.io/os", "operator": "Equal", "value": "windows"}], False),
        ([{**NO_EFFECT, "effect": "NoExecute"}], False),
        ([{"value": "windows"}], False),
    ],
)
def test_a_windows_pod_needs_selector_and_toleration(tolerations: list[dict[str, str]], enough: bool) -> None:
    said = [] if enough else ["E spec.tolerations"]
    assert places("taint-not-tolerated", {"spec": {"tolerations": tolerations}}, taint=COMMON) == said
    assert places("taint-not-tolerated", {"spec": {"tolerations": tolerations}}) == [], (
        "nobody has said that there is a taint"
    )
    assert places("taint-not-tolerated", {"spec": {"tolerations": tolerations}}, taint="none") == []
    of_class = several.runtime_class(nodeSelector={OS: "windows"}, tolerations=tolerations)
    named = {"spec": {**BARE, "runtimeClassName": "mine"}}
    assert places("taint-not-tolerated", several.of(of_class, pod=named), taint=COMMON) == said, (
        "or its RuntimeClass has it"
    )
    assert all(
        "os=windows:NoSchedule: it stays Pending" in each.message
        for each in findings({"spec": {"tolerations": tolerations}}, {})
    )


@pytest.mark.row("SC-09")
def test_of_pods_that_select_nothing_that_can_be_known_no_toleration_is_asked() -> None:
    for spec in ({"nodeSelector": None}, {"runtimeClassName": "absent"}, {"nodeName": "win1"}):
        assert places("taint-not-tolerated", {"spec": {"tolerations": None, **spec}}) == []


@pytest.mark.row("SC-10")
@pytest.mark.parametrize(("value", "flagged"), [("10.0.20348", False), (10.0, True), (1, True), (True, True)])
def test_the_value_of_a_selector_is_a_string(value: Any, flagged: bool) -> None:
    found = [
        each for each in findings({"spec": {"nodeSelector": {BUILD: value}}}, {}) if each.rule == "undecodable-value"
    ]
    assert [f"{each.severity.name[0]} {each.path}" for each in found] == (
        [f'E spec.nodeSelector["{BUILD}"]'] if flagged else []
    )


# -- RuntimeClasses ----------------------------------------------------------------------------------------------------


@pytest.mark.row("SC-16", "LM-62")
def test_a_class_that_is_not_there() -> None:
    """Only where the input has some: a chart need not bring the cluster's."""
    pod = {"spec": {"runtimeClassName": "windows-2019"}}
    text = several.of(several.runtime_class(), pod=pod)
    (found,) = [each for each in findings(text, {}) if each.rule == "runtime-class"]
    assert f"{found.severity.name[0]} {found.path}" == "W spec.runtimeClassName"
    assert found.message == "runtimeClassName windows-2019 is not among the RuntimeClasses of the input (mine)."
    assert places("runtime-class", pod) == []
    assert places("runtime-class", several.of(several.runtime_class())) == []
    assert (
        places("runtime-class", several.of(several.runtime_class(), pod={"spec": {"runtimeClassName": "mine"}})) == []
    )


@pytest.mark.row("SC-16", "LM-62")
@pytest.mark.parametrize(
    ("selector", "conflict"),
    [
        ({BUILD: "10.0.17763"}, [f'E spec.nodeSelector["{BUILD}"]']),
        ({OS: "linux", BUILD: "10.0.17763"}, [f'E spec.nodeSelector["{OS}"]', f'E spec.nodeSelector["{BUILD}"]']),
        ({OS: "windows", BUILD: "10.0.20348"}, []),
        ({"disk": "ssd"}, []),
        (None, []),
    ],
)
def test_a_class_that_selects_something_else(selector: dict[str, str] | None, conflict: list[str]) -> None:
    of_class = several.runtime_class(nodeSelector={OS: "windows", BUILD: "10.0.20348"})
    pod = {"spec": {"runtimeClassName": "mine", "nodeSelector": None}}
    text = several.of(of_class, pod=pod)
    if selector:
        text = several.of(of_class, pod={"spec": {"runtimeClassName": "mine", "nodeSelector": {OS: None, **selector}}})
    found = [each for each in findings(text, {}) if each.rule == "runtime-class"]
    assert sorted(f"{each.severity.name[0]} {each.path}" for each in found) == conflict
    assert all("the API server rejects the pod" in each.message for each in found)
    unnamed = several.of(of_class, pod={"spec": {"nodeSelector": {BUILD: "10.0.17763"}}})
    assert places("runtime-class", unnamed) == [], "of a class that the pod does not name"


# -- builds ------------------------------------------------------------------------------------------------------------

TAGS = {
    "ltsc2019": 17763,
    "1809": 17763,
    "1803": 17134,
    "1709": 16299,
    "1903": 18362,
    "1909": 18363,
    "2004": 19041,
    "20H2": 19042,
    "ltsc2022": 20348,
    "ltsc2025": 26100,
    "10.0.20348.2655": 20348,
    "10.0.26100.1": 26100,
}
TITLES = {
    16299: "Windows Server 1709",
    17134: "Windows Server 1803",
    17763: "Windows Server 2019",
    18362: "Windows Server 1903",
    18363: "Windows Server 1909",
    19041: "Windows Server 2004",
    19042: "Windows Server 20H2",
    20348: "Windows Server 2022",
    26100: "Windows Server 2025",
}


@pytest.mark.row("LM-61", "SC-11", "SC-13")
@pytest.mark.parametrize(("tag", "build"), TAGS.items())
def test_the_build_of_an_image_and_of_the_node(tag: str, build: int) -> None:
    """An error if the pod selects another build, a warning if the cluster has others, nothing if both fit."""
    image = {"containers": [{"image": f"mcr.microsoft.com/windows/servercore:{tag}"}]}
    path = "spec.containers[0].image"
    other = 17134 if build == 17763 else 17763
    selecting = {"spec": {**image, "nodeSelector": {BUILD: f"10.0.{build}"}}}
    assert (
        places("windows-build-mismatch", selecting)
        == places("windows-build-not-selected", selecting, builds=[build, other])
        == []
    )
    selecting_other = {"spec": {**image, "nodeSelector": {BUILD: f"10.0.{other}"}}}
    (found,) = [each for each in findings(selecting_other, {}) if each.rule == "windows-build-mismatch"]
    assert f"{found.severity.name[0]} {found.path}" == f"E {path}"
    made_for = f"{TITLES[build]} (build {build}), the pod selects {TITLES[other]} (build {other})"
    assert f"is made for {made_for}" in found.message
    assert places("windows-build-not-selected", {"spec": image}, builds=[build, other]) == [f"W {path}"]
    assert (
        places("windows-build-not-selected", {"spec": image}, builds=[build])
        == places("windows-build-not-selected", {"spec": image})
        == []
    )
    assert places("windows-build-not-selected", selecting_other, builds=[build, other]) == []
    (warned,) = [
        each
        for each in findings({"spec": image}, {"builds": [build, other]})
        if each.rule == "windows-build-not-selected"
    ]
    assert f"the cluster also has {TITLES[other]} (build {other})" in warned.message


@pytest.mark.row("LM-61", "SC-11")
@pytest.mark.parametrize(
    ("tag", "node", "runs"),
    [
        ("ltsc2022", 26100, True),
        ("ltsc2022", 25398, True),
        ("ltsc2019", 26100, False),
        ("ltsc2019", 20348, False),
        ("ltsc2025", 20348, False),
        ("ltsc2025", 25398, False),
    ],
)
def test_from_windows_server_2022_on_a_node_runs_the_ltsc_before_it(tag: str, node: int, runs: bool) -> None:
    """Equal builds were wanted everywhere: ltsc2022 on 23H2 and 2025 was an error."""
    image = {"containers": [{"image": f"mcr.microsoft.com/windows/servercore:{tag}"}]}
    path = "spec.containers[0].image"
    selecting = {"spec": {**image, "nodeSelector": {BUILD: f"10.0.{node}"}}}
    assert places("windows-build-mismatch", selecting) == ([] if runs else [f"E {path}"])
    assert places("windows-build-not-selected", {"spec": image}, builds=[node]) == ([] if runs else [f"W {path}"])


@pytest.mark.row("LM-61", "SC-11")
def test_a_host_process_runs_on_the_host_s_own_system() -> None:
    options = {"windowsOptions": {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\SYSTEM"}}
    image = [{"image": "mcr.microsoft.com/windows/nanoserver:ltsc2022", "command": ["agent.exe"]}]
    spec = {"hostNetwork": True, "securityContext": options, "containers": image}
    for selector in ({BUILD: "10.0.17763"}, {}):
        assert findings({"spec": {**spec, "nodeSelector": selector}}, {"builds": [17763]}) == []


@pytest.mark.row("LM-61", "SC-11")
def test_builds_are_read_off_the_class_and_off_the_nodes() -> None:
    image = {"containers": [{"image": "mcr.microsoft.com/windows/nanoserver:ltsc2019"}]}
    of_class = several.runtime_class(nodeSelector={OS: "windows", BUILD: "10.0.20348"})
    text = several.of(of_class, pod={"spec": {**image, "runtimeClassName": "mine"}})
    assert places("windows-build-mismatch", text) == ["E spec.containers[0].image"]
    nodes = several.of(several.node(taints=[TAINT]), pod={"spec": image})
    assert places("windows-build-not-selected", nodes, builds=["ltsc2019"]) == ["W spec.containers[0].image"], (
        "the nodes know better"
    )


# -- nodes -------------------------------------------------------------------------------------------------------------


@pytest.mark.row("SC-05")
@pytest.mark.parametrize("label", [OS, "kubernetes.io/arch"])
def test_the_default_labels_of_a_node(label: str) -> None:
    node = several.node()
    assert [each.rule for each in findings(several.of(node), {}) if each.rule == "missing-node-label"] == []
    for value in (None, ""):
        node["metadata"] = {"name": "win1", "labels": {**several.node()["metadata"]["labels"], label: value}}
        assert "missing-node-label" not in [each.rule for each in findings(several.of(node), {})], "its kubelet sets it"
        node["metadata"]["uid"] = "1"
        (found,) = [each for each in findings(several.of(node), {}) if each.rule == "missing-node-label"]
        assert f"{found.severity.name[0]} {found.path}" == "I metadata.labels"
        assert found.message.startswith(f"the Node has no label {label}: ")


def running(name: str, memory: str | None, **spec: Any) -> dict[str, Any]:
    limits = {"resources": {"limits": {"cpu": "1", "memory": memory}}} if memory else {}
    containers = [{"name": "c", "image": "registry.example.com/c:1", **limits}]
    spec = {"nodeName": "win1", "os": {"name": "windows"}, "containers": containers, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


@pytest.mark.row("RS-03")
@pytest.mark.parametrize(
    ("memory", "limits", "flagged"),
    [
        ("8Gi", ["4Gi", "4Gi"], False),
        ("8Gi", ["4Gi", "4097Mi"], True),
        ("8Gi", ["8589934592"], False),
        ("8Gi", ["8589934593"], True),
        ("8Gi", [None, "8Gi"], False),
        ("", ["9Gi"], False),
    ],
)
def test_limits_against_what_the_node_has_to_give(memory: str, limits: list[str | None], flagged: bool) -> None:
    pods = [running(f"p{number}", each) for number, each in enumerate(limits)]
    text = several.of(several.node(memory=memory, taints=[TAINT]), *pods)
    assert places("node-memory-exceeded", text) == (["W metadata.name"] if flagged else [])


@pytest.mark.row("RS-03")
def test_only_pods_of_this_windows_node_and_their_running_containers_count() -> None:
    init = {"initContainers": [{"name": "i", "resources": {"limits": {"memory": "9Gi"}}}]}
    here, other = running("a", "8Gi", **init), running("b", "8Gi", nodeName="win2")
    assert places("node-memory-exceeded", several.of(several.node(), here, other)) == []
    linux = several.node(kubernetes_io__os="linux")
    assert places("node-memory-exceeded", several.of(linux, here, running("c", "8Gi"))) == []
    (found,) = [
        each
        for each in findings(several.of(several.node(), here, running("c", "1Gi")), {})
        if each.rule == "node-memory-exceeded"
    ]
    assert "add up to 9216Mi, the node has 8192Mi to give" in found.message
