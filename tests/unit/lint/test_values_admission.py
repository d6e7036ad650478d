"""The fields that a Windows pod must not have, each by name: which versions, which containers, what is said."""

from __future__ import annotations

from typing import Any

import pytest

from .test_rules import findings, merged, places

# Field below spec -> (row, rule, a value).
AT_POD: dict[str, tuple[str, str, Any]] = {
    "hostPID": ("LM-01", "host-pid", True),
    "hostIPC": ("LM-02", "host-ipc", True),
    "securityContext.seLinuxOptions": ("LM-03", "selinux-options", {"level": "s0"}),
    "securityContext.seccompProfile": ("LM-04", "seccomp-profile", {"type": "RuntimeDefault"}),
    "securityContext.fsGroup": ("LM-05", "fs-group", 0),
    "securityContext.fsGroupChangePolicy": ("LM-06", "fs-group-change-policy", "Always"),
    "securityContext.sysctls": ("LM-07", "sysctls", [{"name": "a", "value": "1"}]),
    "shareProcessNamespace": ("LM-08", "share-process-namespace", False),
    "securityContext.runAsUser": ("LM-09", "run-as-user", 0),
    "securityContext.runAsGroup": ("LM-10", "run-as-group", 0),
    "securityContext.supplementalGroups": ("LM-11", "supplemental-groups", []),
}
# The same for fields of a container's securityContext.
AT_CONTAINER: dict[str, tuple[str, str, Any]] = {
    "seLinuxOptions": ("LM-12", "selinux-options", {}),
    "seccompProfile": ("LM-13", "seccomp-profile", {"type": "Unconfined"}),
    "capabilities": ("LM-14", "capabilities", {"add": ["NET_ADMIN"]}),
    "readOnlyRootFilesystem": ("LM-15", "read-only-root-fs", False),
    "privileged": ("LM-16", "privileged", False),
    "allowPrivilegeEscalation": ("LM-17", "privilege-escalation", False),
    "procMount": ("LM-18", "proc-mount", "Unmasked"),
    "runAsUser": ("LM-19", "run-as-user", 0),
    "runAsGroup": ("LM-20", "run-as-group", 0),
}
CONTAINER = "spec.containers[0].securityContext."
FIELDS = [
    *(pytest.param(rule, f"spec.{field}", marks=pytest.mark.row(row)) for field, (row, rule, _) in AT_POD.items()),
    *(
        pytest.param(rule, CONTAINER + field, marks=pytest.mark.row(row))
        for field, (row, rule, _) in AT_CONTAINER.items()
    ),
]
REJECTED = "The API server rejects the pod."
NO_EFFECT = "It is accepted and has no effect on Windows."


def setting(path: str) -> dict[str, Any]:
    """The change of the base pod that sets the field."""
    if path.startswith(CONTAINER):
        field = path.removeprefix(CONTAINER)
        return {"spec": {"containers": [{"securityContext": {field: AT_CONTAINER[field][2]}}]}}
    spec: Any = AT_POD[path.removeprefix("spec.")][2]
    for part in reversed(path.removeprefix("spec.").split(".")):
        spec = {part: spec}
    return {"spec": spec}


@pytest.mark.parametrize(("rule", "path"), FIELDS)
@pytest.mark.parametrize(
    ("profile", "severity"), [("1.22", "W"), ("1.23", "W"), ("1.24", "E"), ("1.27", "E"), ("1.37", "E")]
)
def test_rejected_from_1_24_on_and_said_so(rule: str, path: str, profile: str, severity: str) -> None:
    # Without a token that the kubelet would give to a Linux user.
    patch = merged(setting(path), {"spec": {"automountServiceAccountToken": False}})
    (found,) = [each for each in findings(patch, {"profile": profile}) if each.rule == rule]
    assert f"{found.severity.name[0]} {found.path}" == f"{severity} {path}"
    assert found.message.endswith(REJECTED if severity == "E" else NO_EFFECT)
    assert found.message.startswith(f"{path.rpartition('.')[2]} is set")


@pytest.mark.parametrize(
    ("profile", "more", "severity"),
    [
        ("1.28", {}, "E"),
        ("1.29", {}, "W"),
        ("1.28", {"automountServiceAccountToken": False}, "W"),
        ("1.28", {"initContainers": [{"name": "i", "securityContext": {"runAsUser": 5}}]}, "W"),
    ],
)
def test_the_kubelet_gives_the_token_to_the_user_of_all_containers(
    profile: str, more: dict[str, Any], severity: str
) -> None:
    """From DataDog/helm-charts#590 and others: MountVolume.SetUp failed, chown: not supported by windows."""
    patch = {"spec": {"os": None, "securityContext": {"runAsUser": 0}, **more}}
    said = [each for each in findings(patch, {"profile": profile}) if each.path == "spec.securityContext.runAsUser"]
    assert [each.severity.name[0] for each in said] == [severity]


@pytest.mark.parametrize(("rule", "path"), FIELDS)
def test_a_pod_that_does_not_say_os_name_is_warned_of(rule: str, path: str) -> None:
    change = setting(path)
    change["spec"]["os"] = None
    (found,) = [each for each in findings(change, {}) if each.rule == rule]
    assert (f"{found.severity.name[0]} {found.path}", found.message.endswith(NO_EFFECT)) == (f"W {path}", True)


@pytest.mark.parametrize(
    "field", [pytest.param(field, marks=pytest.mark.row(row)) for field, (row, _, _) in AT_CONTAINER.items()]
)
def test_in_each_container_of_all_three_lists(field: str) -> None:
    _, rule, value = AT_CONTAINER[field]
    container = {"name": "x", "image": "registry.example.com/x:1", "securityContext": {field: value}}
    lists = {"initContainers": [container], "containers": [{}, container], "ephemeralContainers": [container]}
    assert places(rule, {"spec": lists}) == [
        f"E spec.containers[1].securityContext.{field}",
        f"E spec.ephemeralContainers[0].securityContext.{field}",
        f"E spec.initContainers[0].securityContext.{field}",
    ]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        pytest.param(path, words, marks=pytest.mark.row(*rows))
        for path, words, rows in [
            ("spec.hostPID", "hostProcess: true and hostNetwork: true", ("LM-01",)),
            ("spec.hostIPC", "hostProcess: true and hostNetwork: true", ("LM-02",)),
            ("spec.shareProcessNamespace", "localhost or a shared volume", ("LM-08", "LM-69")),
            (
                "spec.securityContext.runAsUser",
                "securityContext.windowsOptions.runAsUserName",
                ("LM-09", "SE-04", "SE-17"),
            ),
            (
                f"{CONTAINER}readOnlyRootFilesystem",
                "mount what must not change with readOnly: true",
                ("LM-15", "LM-41", "ST-03"),
            ),
            (
                f"{CONTAINER}privileged",
                "windowsOptions.hostProcess: true and hostNetwork: true",
                ("LM-16", "LM-23", "SE-08"),
            ),
            (f"{CONTAINER}runAsUser", "securityContext.windowsOptions.runAsUserName", ("LM-19", "SE-04")),
        ]
    ],
)
def test_what_to_do_instead(path: str, words: str) -> None:
    (found,) = [each for each in findings(setting(path), {}) if each.path == path]
    assert words in found.remedy


@pytest.mark.row("SE-10", "LM-25")
@pytest.mark.parametrize(
    ("rule", "spec"),
    [
        ("selinux-options", {"securityContext": {"seLinuxOptions": {}}}),
        ("seccomp-profile", {"securityContext": {"seccompProfile": {}}}),
        ("selinux-options", {"containers": [{"securityContext": {"seLinuxOptions": {}}}]}),
        ("seccomp-profile", {"containers": [{"securityContext": {"seccompProfile": {}}}]}),
        ("capabilities", {"containers": [{"securityContext": {"capabilities": {"drop": ["ALL"]}}}]}),
        ("apparmor-profile", {"securityContext": {"appArmorProfile": {}}}),
        ("apparmor-profile", {"containers": [{"securityContext": {"appArmorProfile": {}}}]}),
    ],
)
def test_selinux_seccomp_apparmor_and_capabilities(rule: str, spec: dict[str, Any]) -> None:
    (found,) = findings({"spec": spec}, {})
    assert (found.rule, found.severity.name[0]) == (rule, "E")
    assert any(word in found.message for word in ("SELinux", "Seccomp", "AppArmor", "POSIX capabilities"))


@pytest.mark.row("LM-25", "SE-10")
def test_apparmor_is_rejected_since_1_30_and_its_annotation_never() -> None:
    field = {"spec": {"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}}
    said = {profile: places("apparmor-profile", field, profile=profile) for profile in ("1.22", "1.29", "1.30")}
    path = "spec.securityContext.appArmorProfile"
    assert said == {"1.22": [f"W {path}"], "1.29": [f"W {path}"], "1.30": [f"E {path}"]}
    key = "container.apparmor.security.beta.kubernetes.io/web"
    for profile in ("1.22", "1.29", "1.30", "1.37"):
        patch = {"metadata": {"annotations": {key: "runtime/default", "kubernetes.io/apparmor": "x"}}}
        assert places("apparmor-profile", patch, profile=profile) == [f'W metadata.annotations["{key}"]']


@pytest.mark.row("LM-21")
@pytest.mark.parametrize(
    ("profile", "named"), [("1.22", ["runAsNonRoot"]), ("1.23", ["runAsNonRoot"]), ("1.24", []), ("1.27", [])]
)
def test_of_a_pods_security_context_only_two_fields_work(profile: str, named: list[str]) -> None:
    """A field with a row of its own (fsGroup) is not reported twice; other fields never work."""
    security = {"runAsNonRoot": True, "windowsOptions": {}, "fsGroup": 1, "other": 1, "absent": None}
    found = places("other-security-context", {"spec": {"securityContext": security}}, profile=profile)
    assert found == sorted(f"W spec.securityContext.{each}" for each in [*named, "other"])
    (message,) = {each.message.partition(":")[2] for each in findings({"spec": {"securityContext": {"other": 1}}}, {})}
    assert message == " of a pod's securityContext only runAsNonRoot (since 1.24) and windowsOptions work."


@pytest.mark.row("LM-24", "SE-12")
def test_run_as_non_root_is_told_once() -> None:
    """As information, and as an error if it contradicts the user; for pods and containers."""

    def said(user: str, non_root: bool) -> list[str]:
        security = {"runAsNonRoot": non_root, "windowsOptions": {"runAsUserName": user}}
        of_pod, of_container = (
            sorted(f"{each.severity.name[0]} {each.rule}" for each in findings({"spec": spec}, {}))
            for spec in ({"securityContext": security}, {"containers": [{"securityContext": security}]})
        )
        assert of_pod == of_container
        return of_pod

    assert said("ContainerUser", True) == ["I run-as-non-root"]
    assert said("ContainerAdministrator", True) == ["E administrator-as-non-root"]
    assert said("containeradministrator", True) == ["E administrator-as-non-root"]
    assert said("user manager\\ContainerAdministrator", True) == ["E administrator-as-non-root"]
    assert said("ContainerAdministrator", False) == []


@pytest.mark.row("SE-12")
def test_the_container_says_more_than_its_pod_about_its_user() -> None:
    def said(pod: dict[str, Any], container: dict[str, Any]) -> list[str]:
        return places(
            "administrator-as-non-root",
            {"spec": {"securityContext": pod, "containers": [{"securityContext": container}]}},
        )

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
    """As in validateWindowsSecurityContextOptions: 255 and 104 characters, and Windows' reserved characters."""
    patch = {"spec": {"containers": [{"securityContext": {"windowsOptions": {"runAsUserName": name}}}]}}
    found = [each for each in findings(patch, {}) if each.rule == "invalid-user-name"]
    if not fault:
        assert found == []
        return
    (one,) = found
    assert f"is not a Windows user: {fault}." in one.message
    assert (one.severity.name[0], one.path) == (
        "E",
        "spec.containers[0].securityContext.windowsOptions.runAsUserName",
    )


@pytest.mark.row("SE-08", "LM-16", "LM-27")
def test_a_host_process_pod_with_the_host_s_network_is_all_right() -> None:
    options = {"windowsOptions": {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\SYSTEM"}}
    assert findings({"spec": {"hostNetwork": True, "securityContext": options}}, {}) == []
    assert findings({"spec": {"hostNetwork": True, "containers": [{"securityContext": options}]}}, {}) == []
    without = {"spec": {"hostNetwork": True, "securityContext": {"windowsOptions": {"hostProcess": False}}}}
    assert places("host-network", without) == ["W spec.hostNetwork"]
