"""The fields that a Windows pod must not have, each by name: which versions, which containers, what is said."""

from __future__ import annotations

from typing import Any

import pytest

from .test_rules import findings, places

AT_POD: dict[str, tuple[str, Any]] = {
    "LM-01": ("hostPID", True),
    "LM-02": ("hostIPC", True),
    "LM-03": ("securityContext.seLinuxOptions", {"level": "s0"}),
    "LM-04": ("securityContext.seccompProfile", {"type": "RuntimeDefault"}),
    "LM-05": ("securityContext.fsGroup", 0),
    "LM-06": ("securityContext.fsGroupChangePolicy", "Always"),
    "LM-07": ("securityContext.sysctls", [{"name": "a", "value": "1"}]),
    "LM-08": ("shareProcessNamespace", False),
    "LM-09": ("securityContext.runAsUser", 0),
    "LM-10": ("securityContext.runAsGroup", 0),
    "LM-11": ("securityContext.supplementalGroups", []),
}
AT_CONTAINER: dict[str, tuple[str, Any]] = {
    "LM-12": ("seLinuxOptions", {}),
    "LM-13": ("seccompProfile", {"type": "Unconfined"}),
    "LM-14": ("capabilities", {"add": ["NET_ADMIN"]}),
    "LM-15": ("readOnlyRootFilesystem", False),
    "LM-16": ("privileged", False),
    "LM-17": ("allowPrivilegeEscalation", False),
    "LM-18": ("procMount", "Unmasked"),
    "LM-19": ("runAsUser", 0),
    "LM-20": ("runAsGroup", 0),
}
ROWS = [pytest.param(row, marks=pytest.mark.row(row)) for row in (*AT_POD, *AT_CONTAINER)]
REJECTED = "The API server rejects the pod."
NO_EFFECT = "It is accepted and has no effect on Windows."


def patch(row: str) -> tuple[dict[str, Any], str]:
    """The change of the base pod, and the path that a finding has to name."""
    if row in AT_POD:
        field, value = AT_POD[row]
        spec: Any = value
        for part in reversed(field.split(".")):
            spec = {part: spec}
        return {"spec": spec}, f"spec.{field}"
    field, value = AT_CONTAINER[row]
    spec = {"containers": [{"securityContext": {field: value}}]}
    return {"spec": spec}, f"spec.containers[0].securityContext.{field}"


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize(
    ("profile", "severity"), [("1.22", "W"), ("1.23", "W"), ("1.24", "E"), ("1.27", "E"), ("1.37", "E")]
)
def test_rejected_from_1_24_on_and_said_so(row: str, profile: str, severity: str) -> None:
    change, path = patch(row)
    (found,) = [each for each in findings(change, {"profile": profile}) if each.rule == row]
    assert f"{found.severity.letter} {found.path}" == f"{severity} {path}"
    assert found.message.endswith(REJECTED if severity == "E" else NO_EFFECT)
    assert found.message.startswith(f"{path.rpartition('.')[2]} is set")


@pytest.mark.parametrize("row", ROWS)
def test_a_pod_that_does_not_say_os_name_is_warned_of(row: str) -> None:
    change, path = patch(row)
    change["spec"]["os"] = None
    (found,) = [each for each in findings(change, {}) if each.rule == row]
    assert (f"{found.severity.letter} {found.path}", found.message.endswith(NO_EFFECT)) == (f"W {path}", True)


@pytest.mark.parametrize("row", [pytest.param(row, marks=pytest.mark.row(row)) for row in AT_CONTAINER])
def test_in_each_container_of_all_three_lists(row: str) -> None:
    field, value = AT_CONTAINER[row]
    container = {"name": "x", "image": "registry.example.com/x:1", "securityContext": {field: value}}
    lists = {"initContainers": [container], "containers": [{}, container], "ephemeralContainers": [container]}
    assert places(row, {"spec": lists}) == [
        f"E spec.containers[1].securityContext.{field}",
        f"E spec.ephemeralContainers[0].securityContext.{field}",
        f"E spec.initContainers[0].securityContext.{field}",
    ]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        pytest.param(row, words, marks=pytest.mark.row(row, *others))
        for row, words, others in [
            ("LM-01", "hostProcess: true and hostNetwork: true", ()),
            ("LM-02", "hostProcess: true and hostNetwork: true", ()),
            ("LM-08", "localhost or a shared volume", ("LM-69",)),
            ("LM-09", "securityContext.windowsOptions.runAsUserName", ("SE-04", "SE-17")),
            ("LM-15", "mount what must not change with readOnly: true", ("LM-41", "ST-03")),
            ("LM-16", "windowsOptions.hostProcess: true and hostNetwork: true", ("LM-23", "SE-08")),
            ("LM-19", "securityContext.windowsOptions.runAsUserName", ("SE-04",)),
        ]
    ],
)
def test_what_to_do_instead(row: str, words: str) -> None:
    (found,) = [each for each in findings(patch(row)[0], {}) if each.rule == row]
    assert words in found.remedy


@pytest.mark.row("SE-10", "LM-25")
@pytest.mark.parametrize(
    ("rule", "spec"),
    [
        ("LM-03", {"securityContext": {"seLinuxOptions": {}}}),
        ("LM-04", {"securityContext": {"seccompProfile": {}}}),
        ("LM-12", {"containers": [{"securityContext": {"seLinuxOptions": {}}}]}),
        ("LM-13", {"containers": [{"securityContext": {"seccompProfile": {}}}]}),
        ("LM-14", {"containers": [{"securityContext": {"capabilities": {"drop": ["ALL"]}}}]}),
        ("LM-25", {"securityContext": {"appArmorProfile": {}}}),
        ("LM-25", {"containers": [{"securityContext": {"appArmorProfile": {}}}]}),
    ],
)
def test_selinux_seccomp_apparmor_and_capabilities(rule: str, spec: dict[str, Any]) -> None:
    (found,) = findings({"spec": spec}, {})
    assert (found.rule, found.severity.letter) == (rule, "E")
    assert any(word in found.message for word in ("SELinux", "Seccomp", "AppArmor", "POSIX capabilities"))


@pytest.mark.row("LM-25", "SE-10")
def test_apparmor_is_rejected_since_1_30_and_its_annotation_never() -> None:
    field = {"spec": {"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}}
    said = {profile: places("LM-25", field, profile=profile) for profile in ("1.22", "1.29", "1.30")}
    path = "spec.securityContext.appArmorProfile"
    assert said == {"1.22": [f"W {path}"], "1.29": [f"W {path}"], "1.30": [f"E {path}"]}
    key = "container.apparmor.security.beta.kubernetes.io/web"
    for profile in ("1.22", "1.29", "1.30", "1.37"):
        patch = {"metadata": {"annotations": {key: "runtime/default", "kubernetes.io/apparmor": "x"}}}
        assert places("LM-25", patch, profile=profile) == [f'W metadata.annotations["{key}"]']


@pytest.mark.row("LM-21")
@pytest.mark.parametrize(
    ("profile", "named"), [("1.22", ["runAsNonRoot"]), ("1.23", ["runAsNonRoot"]), ("1.24", []), ("1.27", [])]
)
def test_of_a_pods_security_context_only_two_fields_work(profile: str, named: list[str]) -> None:
    """What has a row of its own (fsGroup) is not said twice; other fields never work."""
    security = {"runAsNonRoot": True, "windowsOptions": {}, "fsGroup": 1, "other": 1, "absent": None}
    found = places("LM-21", {"spec": {"securityContext": security}}, profile=profile)
    assert found == sorted(f"W spec.securityContext.{each}" for each in [*named, "other"])
    (message,) = {each.message.partition(":")[2] for each in findings({"spec": {"securityContext": {"other": 1}}}, {})}
    assert message == " of a pod's securityContext only runAsNonRoot (since 1.24) and windowsOptions work."


@pytest.mark.row("LM-24", "SE-12")
def test_run_as_non_root_is_told_once() -> None:
    """As an information, and as an error where it contradicts the user; of pods and of containers."""

    def said(user: str, non_root: bool) -> list[str]:
        security = {"runAsNonRoot": non_root, "windowsOptions": {"runAsUserName": user}}
        of_pod, of_container = (
            sorted(f"{each.severity.letter} {each.rule}" for each in findings({"spec": spec}, {}))
            for spec in ({"securityContext": security}, {"containers": [{"securityContext": security}]})
        )
        assert of_pod == of_container
        return of_pod

    assert said("ContainerUser", True) == ["I LM-24"]
    assert said("ContainerAdministrator", True) == ["E SE-12"]
    assert said("containeradministrator", True) == ["E SE-12"]
    assert said("user manager\\ContainerAdministrator", True) == ["E SE-12"]
    assert said("ContainerAdministrator", False) == []


@pytest.mark.row("SE-12")
def test_the_container_says_more_than_its_pod_about_its_user() -> None:
    def said(pod: dict[str, Any], container: dict[str, Any]) -> list[str]:
        return places("SE-12", {"spec": {"securityContext": pod, "containers": [{"securityContext": container}]}})

    administrator = {"windowsOptions": {"runAsUserName": "ContainerAdministrator"}}
    at_pod = ["E spec.securityContext.windowsOptions.runAsUserName"]
    assert said(administrator, {"runAsNonRoot": True}) == at_pod
    assert said({"runAsNonRoot": True, **administrator}, {"runAsNonRoot": False}) == []
    assert said({"runAsNonRoot": True, **administrator}, {"windowsOptions": {"runAsUserName": "ContainerUser"}}) == []
    assert said({"runAsNonRoot": True}, administrator) == [
        "E spec.containers[0].securityContext.windowsOptions.runAsUserName"
    ]


@pytest.mark.row("SE-05")
@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "it is empty"),
        ("a\x1fb", "it holds control characters"),
        ("a\x7fb", "it holds control characters"),
        ("A\\B\\C", "it has more than one backslash"),
        (f"{'d' * 256}\\u", "its domain is longer than 255 characters"),
        ("a..b" * 5 + "\\u", "its domain is neither a NetBIOS nor a DNS name"),
        (".domain\\u", "its domain is neither a NetBIOS nor a DNS name"),
        ("a" * 15 + "_\\u", "its domain is neither a NetBIOS nor a DNS name"),
        ("a" * 64 + "\\u", "its domain is neither a NetBIOS nor a DNS name"),
        ("domain\\", "its user is empty"),
        ("u" * 105, "its user is longer than 104 characters"),
        ("...", "its user consists of periods and blanks"),
        (". .", "its user consists of periods and blanks"),
        *((f"a{sign}b", 'its user holds one of " / \\ : ; | = , + * ? < > @ [ ]') for sign in '"/:;|=,+*?<>@[]'),
        ("u" * 104, ""),
        ("a" * 14 + "_\\u", ""),
        ("a" * 63 + "\\u", ""),
        (".".join(["d" * 63] * 3) + "\\u", ""),
        ("ContainerUser", ""),
        ("NT AUTHORITY\\NETWORK SERVICE", ""),
        ("user manager\\ContainerAdministrator", ""),
        ("CONTOSO.example\\svc-web$", ""),
    ],
)
def test_form_of_a_user_name(name: str, fault: str) -> None:
    """As validateWindowsSecurityContextOptions has it: 255 and 104 characters, the signs that Windows reserves."""
    patch = {"spec": {"containers": [{"securityContext": {"windowsOptions": {"runAsUserName": name}}}]}}
    found = [each for each in findings(patch, {}) if each.rule == "SE-05"]
    if not fault:
        assert found == []
        return
    (one,) = found
    assert f"is no Windows user: {fault}." in one.message
    assert (one.severity.letter, one.path) == (
        "E",
        "spec.containers[0].securityContext.windowsOptions.runAsUserName",
    )


@pytest.mark.row("SE-08", "LM-16", "LM-27")
def test_a_host_process_pod_with_the_host_s_network_is_all_right() -> None:
    options = {"windowsOptions": {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\SYSTEM"}}
    assert findings({"spec": {"hostNetwork": True, "securityContext": options}}, {}) == []
    assert findings({"spec": {"hostNetwork": True, "containers": [{"securityContext": options}]}}, {}) == []
    without = {"spec": {"hostNetwork": True, "securityContext": {"windowsOptions": {"hostProcess": False}}}}
    assert places("LM-27", without) == ["E spec.hostNetwork"]
