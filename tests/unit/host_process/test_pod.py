"""The pod through which a node is reached: what is in it, and what its status says."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.own_pod import OwnPod
from ansible_collections.winkube.node.plugins.plugin_utils.host_process import pod
from ansible_collections.winkube.node.plugins.plugin_utils.host_process.access import LINE_LIMIT, script, script_argv
from ansible_collections.winkube.node.plugins.plugin_utils.host_process.pod import State, Wanted

WANTED = Wanted("AKS_win.1", "ops", "registry/any:1", "0123456789abcdef", "ann@ci (pid 7)", 600, "pull")
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def test_it_runs_on_the_host_whatever_the_node_says_and_carries_nothing_secret() -> None:
    body = pod.body(WANTED, NOW)
    spec = body["spec"]
    assert spec["securityContext"]["windowsOptions"] == {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\SYSTEM"}
    assert spec["hostNetwork"] is True and spec["nodeName"] == "AKS_win.1"
    assert spec["tolerations"] == [{"operator": "Exists"}], "a cordon or NoExecute keeps it off no node"
    assert spec["automountServiceAccountToken"] is False
    assert spec["activeDeadlineSeconds"] == 600
    assert spec["imagePullSecrets"] == [{"name": "pull"}]
    assert body["metadata"]["annotations"]["winkube.node/until"] == "2026-11-22T12:10:00Z"
    assert spec["containers"][0]["command"][0].startswith("C:\\Windows\\"), "the base image has no PATH"


def test_it_does_not_start_again_and_waits_for_signs_of_life() -> None:
    spec = pod.body(WANTED, NOW)["spec"]
    assert spec["restartPolicy"] == "Never"
    said = spec["containers"][0]["command"][-1]
    assert f"TotalSeconds -lt {pod.SILENCE_S})" in said
    assert "$env:CONTAINER_SANDBOX" not in said, "hcsshim would replace it"
    assert not set('"%<>') & set(said), "it passes through cmd /c"


@pytest.mark.parametrize(
    ("own", "owned"),
    [(None, False), (OwnPod("kube-system", "keep-1", "u1"), False), (OwnPod("ops", "keep-1", "u1"), True)],
)
def test_it_belongs_to_the_runs_pod_only_in_its_namespace(own: OwnPod | None, owned: bool) -> None:
    """The collector takes an owner in another namespace for a missing one."""
    metadata = pod.body(replace(WANTED, own_pod=own), NOW)["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "keep-1", "uid": "u1", "controller": True}
    assert metadata.get("ownerReferences") == ([owner] if owned else None)


def test_a_name_is_of_one_run_and_one_node() -> None:
    names = {WANTED.name, Wanted("b", *_rest()).name, Wanted("AKS_win.1", "ops", "i", "f" * 16, "o", 1).name}
    assert len(names) == 3
    assert all(len(name) <= 63 and name.startswith("winkube-") and name == name.lower() for name in names)
    assert WANTED.name.startswith("winkube-aks-win-1-")


def _rest() -> tuple[str, str, str, str, int]:
    return "ops", "i", WANTED.run, "o", 1


def status(**state: Any) -> dict[str, Any]:
    return {"status": {"phase": "Pending", "containerStatuses": [{"name": "host", "state": state}]}}


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (status(running={"startedAt": "x"}), State(ready=True)),
        ({"metadata": {"deletionTimestamp": "x"}, **status(running={})}, State(over=True, waits="it is being deleted")),
        (
            {"status": {"phase": "Failed", "reason": "DeadlineExceeded", "message": "Pod was active too long."}},
            State(over=True, waits="the kubelet ended it (DeadlineExceeded: Pod was active too long)"),
        ),
        ({"status": {"phase": "Failed"}}, State(over=True, waits="the kubelet ended it (Failed)")),
        (status(waiting={"reason": "ContainerCreating"}), State(waits="ContainerCreating")),
        (
            {"status": {"phase": "Pending", "conditions": [{"type": "X", "status": "False", "message": "no room."}]}},
            State(waits="X: no room"),
        ),
        ({"status": {"phase": "Pending"}}, State(waits="its kubelet has not taken it up")),
    ],
)
def test_what_a_status_says(found: dict[str, Any], wanted: State) -> None:
    assert pod.state(found) == wanted


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("ErrImagePull", "winkube_host_process_image"),
        ("ImagePullBackOff", "winkube_host_process_image"),
        ("CreateContainerError", "containerd 1.6"),
        ("CrashLoopBackOff", "containerd 1.6"),
    ],
)
def test_a_container_that_does_not_start_says_what_to_do(reason: str, advice: str) -> None:
    said = pod.state(status(waiting={"reason": reason, "message": "because."})).waits
    assert said.startswith(f"{reason}: because. ") and advice in said


@pytest.mark.parametrize(
    ("changed", "over"),
    [
        ({}, False),
        ({"annotations": {"winkube.node/until": "2026-11-22T11:59:59Z"}}, True),
        ({"annotations": {}}, True),
        ({"annotations": {"winkube.node/until": "2026-11-22T11:59:59Z"}, "deletionTimestamp": "x"}, False),
    ],
)
def test_which_pods_are_leftovers(changed: dict[str, Any], over: bool) -> None:
    body = pod.body(WANTED, NOW)
    assert pod.is_over({**body, "metadata": {**body["metadata"], **changed}}, NOW) is over
    assert pod.is_over({**body, "status": {"phase": "Failed"}}, NOW) is True


def test_a_pod_of_ours_is_told_by_label_namespace_and_rights() -> None:
    made = pod.body(WANTED, NOW)
    assert pod.is_ours(made, "ops") and pod.is_ours(pod.body(replace(WANTED, run="f" * 16), NOW), "ops")
    metadata, spec = made["metadata"], made["spec"]
    assert not pod.is_ours(made, "winkube-node"), "a namespace that the connection does not use"
    assert not pod.is_ours({**made, "metadata": {**metadata, "labels": {}}}, "ops"), "somebody's pod in it"
    ordinary = {"windowsOptions": {"hostProcess": False}}
    for context in (None, {}, {"windowsOptions": None}, ordinary):
        labelled = {**made, "spec": {**spec, "securityContext": context}}
        assert not pod.is_ours(labelled, "ops"), "somebody's pod with our label"
    assert not pod.is_ours({}, "ops")


def test_a_refusal_keeps_the_clusters_words() -> None:
    for text, advice in (
        ('pods "x" is forbidden: violates PodSecurity "restricted:latest".', "label namespace ops"),
        ("admission webhook denied the request: hostProcess is not allowed.", "label namespace ops"),
        ("exceeded quota: small.", "100Mi"),
        ("cannot create resource.", "docs/host_process.md"),
    ):
        said = pod.refusal(ClusterError(text, 403), WANTED)
        assert said.startswith(text) and advice in said
    assert pod.refusal(ClusterError("no answer."), WANTED) == "no answer."


def test_the_script_fits_into_a_command_line() -> None:
    argv = script_argv(len(script()))
    assert argv[argv.index("-InputFormat") + 1] == "None", "else PowerShell reads all of standard input itself"
    assert len("cmd /c " + " ".join(argv)) < LINE_LIMIT < 8191, "hcsshim starts it by cmd, which takes no more"
    assert script().endswith(b"Exit($code)\n") and b"#" not in script().split(b"\n")[0]
    assert "secret" not in json.dumps(argv).lower()
