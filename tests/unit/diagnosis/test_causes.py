"""A definite cause needs a reason: states, and what only wraps a reason, are told as places.

The property is asked of every literal of upstream that wraps another error, with a reason that nobody knows, and of the
words that Kubernetes has for states.
"""

from __future__ import annotations

import re

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.node import Node
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import checks_logs
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.scene import Scene
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import KNOWN
from ansible_collections.winkube.node.plugins.plugin_utils.facts import literals, message_places
from ansible_collections.winkube.node.plugins.plugin_utils.facts.message import Message, Rule
from ansible_collections.winkube.node.plugins.plugin_utils.network.model import Hns
from ansible_collections.winkube.node.plugins.plugin_utils.words.line import parse
from ansible_collections.winkube.node.plugins.plugin_utils.words.meanings import meanings
from ansible_collections.winkube.node.plugins.plugin_utils.words.messages import PLACES, about, explain_text, search
from ansible_collections.winkube.node.plugins.plugin_utils.words.places import NO_CAUSE, place_sentence

from tests.unit.components.nodes import LAYOUT

REASON = "odd"
"""What no table knows."""

STATES = (
    *("NotReady", "NodeNotReady", "KubeletNotReady", "NodeStatusUnknown", "SchedulingDisabled", "Pending", "Waiting"),
    *("ContainerCreating", "PodInitializing", "CrashLoopBackOff", "Error", "Terminated", "Completed", "Unknown"),
    *("RunContainerError", "CreateContainerError", "CreateContainerConfigError", "ContainerStatusUnknown", "BackOff"),
    *("FailedCreatePodSandBox", "FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedKillPod", "Unhealthy"),
    *("FailedScheduling", "FailedSync", "FailedValidation", "FailedPostStartHook", "ImagePullBackOff", "ErrImagePull"),
    *("ProvisioningFailed", "VolumeResizeFailed", "NetworkNotReady", "Evicted", "NodeLost", "Init:Error", "Failed"),
    *("Terminating", "SandboxChanged", "FileSystemResizeFailed", "ContainerGCFailed", "ImageGCFailed"),
    *("DiskPressure", "InvalidDiskCapacity", "FailedDetachVolume"),
)
"""Phases, conditions, reasons of events. Sources: kubernetes pkg/kubelet/events/event.go, pkg/kubelet/container
sync_result.go, pkg/kubelet/images/types.go, staging/src/k8s.io/api/core/v1/types.go."""

FORMS = (
    "{}",
    "win1   {}   <none>   3d   v1.31.0",
    "web-7d4b9-x2x5k   0/1   {}   7 (3m ago)   3d",
    "    State:          Waiting\n      Reason:       {}",
    "Warning  {}  3m (x12 over 9m)  kubelet  it did not work",
    "Node win1 status is now: {}",
)

GENERIC = (
    "Warning  FailedMount  2m  kubelet  Unable to attach or mount volumes: unmounted volumes=[data], unattached "
    "volumes=[data]: timed out waiting for the condition",
    'Warning  FailedMount  2m  kubelet  MountVolume.SetUp failed for volume "data" : odd',
    'Warning  FailedAttachVolume  9s  attachdetach-controller  AttachVolume.Attach failed for volume "data" : odd',
    "Warning  FailedCreatePodSandBox  9s  kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc = odd",
    "Warning  BackOff  9s  kubelet  Back-off restarting failed container web in pod web_default(1)",
    "Warning  Failed  9s  kubelet  Error: failed to create containerd task: odd",
    'Warning  Failed  9s  kubelet  Failed to pull image "a.example/b": rpc error: code = Unknown desc = odd',
    "Warning  Unhealthy  9s  kubelet  Readiness probe failed: odd",
    "The kubelet service terminated unexpectedly. It has done this 3 time(s).",
    "[kubelet-check] It seems like the kubelet isn't running or healthy.",
    "hcsshim::PrepareLayer failed in Win32: odd",
    "hnsCall failed in Win32: odd",
)
"""Lines that say that something failed, of every step of a pod."""

HOLDS = {
    "start.": "what a program reads at its start and cannot is its fault, whatever is wrong with it",
    "cni.unreadable": "so is a CNI configuration",
    "cni.version": "the versions are named",
    "cni.absent": "no file is there",
    "cni.calico-not-ready": "what is not ready is named",
    "cni.calico-node-address": "no address of the node was found",
    "flannel.no-net-conf": "a configuration that cannot be read",
    "flannel.no-subnet-env": "a file that cannot be read",
    "hns.no-management-address": "it was waited for in vain",
    "hns.adapter-slow": "it was waited for in vain",
    "hns.no-network": "no network is there",
    "hns.endpoint-gone": "no endpoint is there",
    "image.damaged": "what it wraps is the sentinel of the same error",
    "image.form": "the form is named",
    "image.name": "the name is not valid",
    "image.platform": "what it wraps is the sentinel of the same error",
    "image.credentials": "the program is named",
    "image.registry-denied": "the registry refused, whatever it says besides",
    "image.pause": "the image is named",
    "container.slow": "the name is held by the attempt before",
    "container.runtime-class": "the handler is not there",
    "container.host-process-account": "a logon failed",
    "container.command": "the command line is named",
    "container.csi-proxy": "what is not reached is named",
    "volume.disk-not-found": "no disk is there",
    "volume.host-path": "the path is named",
    "cluster.certificate-time": "the time is named",
    "cluster.extension-api": "the API that does not answer is named",
    "kubelet.certificate-late": "it was waited for in vain",
    "volume.of-image": "the folder of the image is named",
    "cluster.overloaded": "kubelet's own limit is named",
    "cluster.unreachable": "the API server was waited for in vain",
    "cni.azure-ipam": "the object is not there",
    "node.pressure": "what is low is named",
}
"""Findings that words which wrap an error mean whatever it is, with the reason."""


def _filled(text: str) -> str:
    return re.sub(
        r"%(?:%|[-+# 0-9.*\[\]]*[a-zA-Z])",
        lambda verb: "%" if verb[0] == "%%" else "7" if verb[0][-1] in "dxX" else REASON,
        text,
    )


def _definite(text: str) -> list[str]:
    return [each["id"] for each in meanings(text, "win1") if not each["cause"].startswith(NO_CAUSE)]


@pytest.mark.parametrize("state", STATES)
def test_a_state_is_a_consequence_and_no_cause(state: str) -> None:
    assert {form: _definite(form.format(state)) for form in FORMS} == {form: [] for form in FORMS}


@pytest.mark.parametrize("line", GENERIC)
def test_that_something_failed_is_a_place_with_what_to_look_at_next(line: str) -> None:
    said = meanings(line, "win1")
    assert said
    assert _definite(line) == []
    assert all(each["title"] == line[:400] and each["remedy"] and not each["command"] for each in said)


@pytest.mark.slow
@pytest.mark.parametrize("every", [20, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_what_wraps_a_reason_that_nobody_knows_has_no_cause(every: int) -> None:
    texts = {
        each.text for each in literals.literals() if each.wraps and literals.tells(literals.list_constants(each.text))
    }
    assert len(texts) > 5000
    wrong = {}
    for text in sorted(texts)[::every]:
        found = [each.finding for each in explain_text(_filled(text)) if each.message not in PLACES]
        if found and not found[0].startswith(tuple(HOLDS)):
            wrong[text] = found[0]
    assert wrong == {}


def test_a_reason_in_the_same_text_stands_instead_of_a_state() -> None:
    text = f"{GENERIC[3]}\nwin1   NotReady\nhcnCreateEndpoint failed in Win32: odd (0x803b000d)"
    assert about(text) == ("hns.policy-refused",)


def test_a_log_that_tells_a_state_names_the_place_as_well() -> None:
    line = 'E0101 01:00:00.1 1 operation_generator.go:9] AttachVolume.Attach failed for volume "data" : odd'
    assert [each.place for each in search({"kubelet": line})] == [True]
    scene = Scene(Node.unknown(LAYOUT), Hns(), logs={"kubelet": line})
    (found,) = checks_logs.with_logs((), scene, KNOWN)
    assert found.id == "volume.attach"
    assert found.why == place_sentence(parse(line))
    assert found.remedy.text


def test_only_functions_that_read_or_check_something_mean_a_cause() -> None:
    doing = {operation for rows in literals.places().values() for _where, operation, _thing, cause in rows if cause}
    first = {" ".join(each.split()[:1]) for each in doing}
    assert first <= {
        "reading",
        "checking",
        "choosing",
        "comparing",
        "looking",
        "loading",
        "reserving",
        "assigning",
        "finding",
    }


OF_THE_API = Rule("cluster.wrong-ca", ("x509: ",), "a source", doing=message_places.CLUSTER)


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("x509: certificate signed by unknown authority", False),
        ("Failed to do a thing: x509: certificate signed by unknown authority", False),
        ("evicting pods: eviction manager: x509: certificate signed by unknown authority", False),
        ("E0101 01:00:00.1 1 kubelet.go:9] x509: certificate signed by unknown authority", True),
        ("failed to list *v1.Node: Get https://10.0.0.1:6443/api: x509: certificate signed by unknown authority", True),
        ("kubeadm: x509: certificate signed by unknown authority", True),
    ],
)
def test_what_libraries_say_is_of_the_api_server_only_where_it_was_asked(line: str, known: bool) -> None:
    """By the operation, or by a program of the node that says nothing else."""
    assert OF_THE_API.fits(parse(line).operations) == known
    assert ("cluster.wrong-ca" in about(line)) == known


def test_a_message_needs_no_place_and_a_rule_may_be_kept_from_one() -> None:
    assert Message("a.b", "x", "a source").anywhere
    assert not Rule("a.b", (5,), "a source", never=(message_places.SHARE,)).fits({message_places.SHARE})
