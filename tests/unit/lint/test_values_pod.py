"""A pod's own rules: each name in their lists, each boundary, and a valid value next to it."""

from __future__ import annotations

from typing import Any

import pytest

from . import several
from .test_rules import findings, places


def one_container(**fields: Any) -> dict[str, Any]:
    return {"spec": {"containers": [fields]}}


def ids(*findings_: Any) -> list[str]:
    return sorted(f"{each.severity.name[0]} {each.rule}" for each in findings_)


# -- resources ---------------------------------------------------------------------------------------------------------


@pytest.mark.row("LM-22")
@pytest.mark.parametrize("part", ["limits", "requests"])
def test_huge_pages_of_any_size_in_limits_and_requests(part: str) -> None:
    patch = one_container(resources={part: {"hugepages-1Gi": "1Gi", "hugepages-2Mi": "2Mi", "ephemeral-storage": 1}})
    assert places("huge-pages", patch) == [
        f"E spec.containers[0].resources.{part}.hugepages-1Gi",
        f"E spec.containers[0].resources.{part}.hugepages-2Mi",
    ]


@pytest.mark.row("LM-22")
@pytest.mark.parametrize(
    ("medium", "flagged"), [("HugePages", True), ("HugePages-2Mi", True), ("", False), ("Memory", False)]
)
def test_huge_pages_as_a_medium(medium: str, flagged: bool) -> None:
    patch = {"spec": {"volumes": [{"name": "v", "emptyDir": {"medium": medium}}]}}
    found = [each for each in findings(patch, {}) if each.rule == "huge-pages"]
    assert [f"{each.severity.name[0]} {each.path}" for each in found] == (
        ["E spec.volumes[0].emptyDir.medium"] if flagged else []
    )
    assert all(each.message.startswith(f"emptyDir.medium {medium}: huge pages are not impl") for each in found)


@pytest.mark.row("RS-13")
@pytest.mark.parametrize("profile", ["1.22", "1.27", "1.37"])
def test_limits_are_never_flagged_and_only_their_absence_is(profile: str) -> None:
    limits = {"cpu": "500m", "memory": "256Mi", "ephemeral-storage": "1Gi"}
    init = {"name": "i", "image": "registry.example.com/i:1", "resources": {"limits": limits}}
    patch = {"spec": {"os": None, "initContainers": [init], "containers": [{"resources": {"limits": limits}}]}}
    assert [each for each in findings(patch, {"profile": profile}) if each.rule != "missing-os-name"] == []
    without = {"spec": {"os": None, "containers": [{"resources": None}]}}
    assert ids(*(each for each in findings(without, {"profile": profile}) if each.rule != "missing-os-name")) == [
        "I missing-cpu-request",
        "I missing-memory-limit",
    ]


RESOURCES = [
    # memory request, memory limit, cpu request, cpu limit: what is said
    ("1Gi", "1Gi", "1", "1", []),
    ("1024Mi", "1Gi", "1", "1", []),
    ("1073741824", "1Gi", "1", "1", []),
    (None, "1Gi", "1", None, []),
    (None, "1Gi", None, "1", []),
    ("1Gi", "2Gi", "1", "1", ["I unequal-memory-request resources.requests.memory"]),
    ("2Gi", "1Gi", "1", "1", ["E request-above-limit resources.requests"]),
    ("1000Mi", "1Gi", "1", "1", ["I unequal-memory-request resources.requests.memory"]),
    ("1G", "1Gi", "1", "1", ["I unequal-memory-request resources.requests.memory"]),
    ("1Gi", None, "1", "1", ["I missing-memory-limit resources.limits"]),
    (None, None, "1", "1", ["I missing-memory-limit resources.limits"]),
    ("1Gi", "1Gi", None, None, ["I missing-cpu-request resources.requests"]),
    (None, None, None, None, ["I missing-cpu-request resources.requests", "I missing-memory-limit resources.limits"]),
]


@pytest.mark.row("RS-04", "RS-05", "RS-10", "LM-63")
@pytest.mark.parametrize(("asked", "limit", "cpu", "cpu_limit", "said"), RESOURCES)
@pytest.mark.parametrize("listed", ["containers", "initContainers"])
def test_requests_and_limits(
    listed: str, asked: str | None, limit: str | None, cpu: str | None, cpu_limit: str | None, said: list[str]
) -> None:
    """Request equal to the limit, or only the limit, which the API server copies to the request."""
    resources = {"requests": {"memory": asked, "cpu": cpu}, "limits": {"memory": limit, "cpu": cpu_limit}}
    told = {part: {key: value for key, value in each.items() if value} for part, each in resources.items()}
    container = {"name": "c", "image": "registry.example.com/c:1", "resources": told}
    patch = {"containers": [{}, container]} if listed == "containers" else {"initContainers": [container]}
    found = findings({"spec": patch}, {})
    assert sorted(f"{each.severity.name[0]} {each.rule} {each.path.partition('].')[2]}" for each in found) == said
    assert all(each.container == "c" and each.path.startswith(f"spec.{listed}[") for each in found)


@pytest.mark.row("RS-04", "LM-63")
def test_ephemeral_containers_cannot_have_resources() -> None:
    patch = {"spec": {"ephemeralContainers": [{"name": "e", "image": "registry.example.com/e:1"}]}}
    assert findings(patch, {}) == []


# -- network, names, messages ------------------------------------------------------------------------------------------


@pytest.mark.row("LM-26")
def test_only_the_default_termination_message_path() -> None:
    for path in ("/dev/termination-log2", "/dev/other", "C:\\end"):
        assert places("termination-message-path", one_container(terminationMessagePath=path)) == [
            "W spec.containers[0].terminationMessagePath"
        ]
    assert findings(one_container(terminationMessagePath="/dev/termination-log"), {}) == []


@pytest.mark.row("LM-27")
@pytest.mark.parametrize(
    ("profile", "gate", "said"),
    [
        ("1.22", False, "W"),
        ("1.25", False, "W"),
        ("1.25", True, "W"),
        ("1.26", False, "W"),
        ("1.26", True, ""),
        ("1.32", False, "W"),
        ("1.32", True, ""),
        ("1.33", False, "W"),
        ("1.33", True, "W"),
    ],
)
def test_host_network_by_version_and_gate(profile: str, gate: bool, said: str) -> None:
    patch = {"spec": {"os": None, "hostNetwork": True}}
    found = places("host-network", patch, profile=profile, host_network_gate=gate)
    assert found == ([f"{said} spec.hostNetwork"] if said else [])
    assert places("host-network", {"spec": {"hostNetwork": False}}, profile=profile) == []


@pytest.mark.row("LM-28", "LM-29")
@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("ClusterFirstWithHostNet", ["W dns-policy-host-net"]),
        ("None", ["E dns-without-server", "I dns-policy"]),
        ("Default", ["I dns-policy"]),
        ("ClusterFirst", []),
    ],
)
def test_dns_policies(policy: str, said: list[str]) -> None:
    found = findings({"spec": {"dnsPolicy": policy}}, {})
    assert ids(*found) == said and all(each.path == "spec.dnsPolicy" for each in found)


@pytest.mark.row("LM-28")
def test_a_host_process_pod_has_the_host_s_network_for_its_names() -> None:
    options = {"windowsOptions": {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\SYSTEM"}}
    spec = {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet", "securityContext": options}
    assert findings({"spec": spec}, {}) == []


@pytest.mark.row("LM-30")
@pytest.mark.parametrize(("searches", "said"), [([], 0), (["a.b"], 0), (["a.b", "c.d"], 1), (["a", "b", "c"], 1)])
def test_one_dns_suffix_and_not_two(searches: list[str], said: int) -> None:
    assert (
        places("dns-searches", {"spec": {"dnsConfig": {"searches": searches}}}) == ["W spec.dnsConfig.searches"] * said
    )


@pytest.mark.row("LM-34")
@pytest.mark.parametrize(("seconds", "said"), [(0, False), (29, True), (30, False), (31, True)])
@pytest.mark.parametrize(("runtime", "letter"), [("containerd", "I"), ("docker", "W")])
def test_grace_period_other_than_the_default(seconds: int, said: bool, runtime: str, letter: str) -> None:
    patch = {"spec": {"terminationGracePeriodSeconds": seconds}}
    found = places("termination-grace-period", patch, profile="1.23", runtime=runtime)
    assert found == ([f"{letter} spec.terminationGracePeriodSeconds"] if said else [])
    for each in findings(patch, {}):
        assert "CTRL_SHUTDOWN_EVENT" in each.message and "after 5 seconds" in each.message


@pytest.mark.row("LM-66")
@pytest.mark.parametrize(("profile", "letter"), [("1.22", "W"), ("1.23", "W"), ("1.24", "I"), ("1.27", "I")])
def test_node_problem_detector_by_version(profile: str, letter: str) -> None:
    image = "registry.k8s.io/node-problem-detector/node-problem-detector:v0.8.20"
    assert places("node-problem-detector", one_container(image=image), profile=profile) == [
        f"{letter} spec.containers[0].image"
    ]


# -- gMSA and Hyper-V --------------------------------------------------------------------------------------------------


@pytest.mark.row("LM-70", "SE-06")
@pytest.mark.parametrize(
    ("spec", "path"),
    [
        (
            {"securityContext": {"windowsOptions": {"gmsaCredentialSpecName": "shop"}}},
            "spec.securityContext.windowsOptions.gmsaCredentialSpecName",
        ),
        (
            {"containers": [{"securityContext": {"windowsOptions": {"gmsaCredentialSpecName": "shop"}}}]},
            "spec.containers[0].securityContext.windowsOptions.gmsaCredentialSpecName",
        ),
    ],
)
def test_gmsa_of_pod_and_container(spec: dict[str, Any], path: str) -> None:
    known = {"apiVersion": "windows.k8s.io/v1", "kind": "GMSACredentialSpec", "metadata": {"name": "web"}}
    assert ids(*findings({"spec": spec}, {})) == ["I gmsa-network-share"]
    found = findings(several.of(known, pod={"spec": spec}), {})
    assert sorted((each.severity.name[0], each.rule, each.path) for each in found) == [
        ("I", "gmsa-network-share", path),
        ("I", "unknown-gmsa-spec", path),
    ]
    more = several.of(known, {**known, "metadata": {"name": "db"}}, pod={"spec": spec})
    (error,) = [each for each in findings(more, {}) if each.rule == "unknown-gmsa-spec"]
    said = "gmsaCredentialSpecName shop is not among the GMSACredentialSpecs of the input (db, web): the webhook"
    assert error.message == f"{said} refuses the pod."
    there = {**known, "metadata": {"name": "shop"}}
    assert ids(*findings(several.of(known, there, pod={"spec": spec}), {})) == ["I gmsa-network-share"]
    assert places("gmsa-network-share", {"spec": {"os": None, **spec}}, profile="1.23", runtime="docker") == []
    (said,) = findings({"spec": spec}, {})
    assert "containerd: access to Windows network shares" in said.message


ISOLATION = "experimental.windows.kubernetes.io/isolation-type"


@pytest.mark.row("LM-60", "SE-09")
def test_hyper_v_by_annotation_class_and_handler() -> None:
    at = f'W metadata.annotations["{ISOLATION}"]'
    for value, said in (("hyperv", [at]), ("HyperV", [at]), ("process", [])):
        assert places("hyperv-isolation", {"metadata": {"annotations": {ISOLATION: value}}}) == said
    named = {"spec": {"runtimeClassName": "mine"}}
    of_handler = {
        handler: places("hyperv-isolation", several.of(several.runtime_class(handler), pod=named))
        for handler in ("runhcs-wcow-hypervisor", "runhcs-wcow-hypervisor-17763", "runhcs-wcow-process")
    }
    both = ["W handler", "W spec.runtimeClassName"]
    assert of_handler == {
        "runhcs-wcow-hypervisor": both,
        "runhcs-wcow-hypervisor-17763": both,
        "runhcs-wcow-process": [],
    }
    unknown_class = {"spec": {"runtimeClassName": "windows-hypervisor"}}
    (found,) = [each for each in findings(unknown_class, {}) if each.rule == "hyperv-isolation"]
    assert f"{found.severity.name[0]} {found.path}" == "W spec.runtimeClassName"
    assert found.message.startswith("RuntimeClass windows-hypervisor asks for Hyper-V isolation")
    text = several.of(several.runtime_class("runhcs-wcow-hypervisor"), pod=named)
    assert sorted(
        each.message.partition(" asks")[0] for each in findings(text, {}) if each.rule == "hyperv-isolation"
    ) == [
        "RuntimeClass mine (handler runhcs-wcow-hypervisor)",
        "handler runhcs-wcow-hypervisor",
    ]


# -- images ------------------------------------------------------------------------------------------------------------

LINUX_ALONE = [
    "alpine",
    "busybox",
    "centos",
    "debian",
    "fedora",
    "ubuntu",
    "nginx",
    "httpd",
    "redis",
    "postgres",
    "mysql",
    "mariadb",
    "haproxy",
    "rabbitmq",
    "istio/proxyv2",
    "gcr.io/distroless/static",
    "gcr.io/distroless/base",
    "registry.k8s.io/ingress-nginx/controller",
]
DISTRIBUTIONS = [
    "alpine",
    "bookworm",
    "bullseye",
    "buster",
    "trixie",
    "jammy",
    "noble",
    "focal",
    "slim",
    "ubi8",
    "ubi9",
    "linux",
]
FOR_WINDOWS = [
    "mcr.microsoft.com/windows/nanoserver:x",
    "mcr.microsoft.com/dotnet/framework/aspnet:4.8",
    "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image:v1.0.0",
    "golang:1.23-windowsservercore",
    "golang:1.23-nanoserver",
    "registry.example.com/web:1-ltsc2022",
    "registry.example.com/web:1.0-windows",
    "registry.k8s.io/pause:3.10",
    "python:3.12",
    "registry.example.com/nginx:1",
]


@pytest.mark.row("LM-49", "SC-18")
@pytest.mark.parametrize(
    "image",
    [
        *(f"{name}:1" for name in LINUX_ALONE),
        *(f"docker.io/library/{name}" for name in LINUX_ALONE if "/" not in name),
        "docker.io/istio/proxyv2:1.20",
        "library/nginx@sha256:0123",
    ],
)
def test_images_that_are_for_linux_alone(image: str) -> None:
    assert places("linux-image", one_container(image=image)) == ["E spec.containers[0].image"]


@pytest.mark.row("LM-49", "SC-18")
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_tags_that_name_a_distribution(name: str) -> None:
    """An error for a publisher's own image, a warning for a mirror, which may have a Windows image under the tag."""
    for tag in (name, f"1.2-{name}", f"{name}-1.2", f"{name}3.20"):
        assert places("linux-image", one_container(image=f"own:{tag}")) == ["E spec.containers[0].image"]
        assert places("linux-image", one_container(image=f"mirror.example.com/e2e/own:{tag}")) == [
            "W spec.containers[0].image"
        ]
    assert places("linux-image", one_container(image=f"own:un{name}ed")) == []


@pytest.mark.row("LM-49", "SC-18", "LM-71")
@pytest.mark.parametrize("image", FOR_WINDOWS)
def test_images_that_may_be_for_windows_are_left_alone(image: str) -> None:
    assert places("linux-image", one_container(image=image)) == []


@pytest.mark.row("LM-49", "SC-18")
def test_the_pod_is_named_with_the_reason_why_it_is_for_windows() -> None:
    (found,) = [each for each in findings(one_container(image="nginx:1.27"), {}) if each.rule == "linux-image"]
    assert found.message.startswith(
        "nginx:1.27 is an image for Linux, but the pod is for Windows (spec.os.name is windows)."
    )
