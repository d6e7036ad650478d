"""A definite cause needs a reason: states, and what only wraps a reason, are told as places.

The property is asked of the words of every operation, with a reason that nobody knows, and of the words that Kubernetes
has for states.
"""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.node import Node
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import checks_logs
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.scene import Scene
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import KNOWN
from ansible_collections.winkube.node.plugins.plugin_utils.facts import message_places
from ansible_collections.winkube.node.plugins.plugin_utils.facts.message import Message, Rule
from ansible_collections.winkube.node.plugins.plugin_utils.network.model import Hns
from ansible_collections.winkube.node.plugins.plugin_utils.words.line import parse
from ansible_collections.winkube.node.plugins.plugin_utils.words.meanings import meanings
from ansible_collections.winkube.node.plugins.plugin_utils.words.messages import (
    MESSAGES,
    about,
    explain_text,
    search,
)
from ansible_collections.winkube.node.plugins.plugin_utils.words.places import NO_CAUSE, place_sentence
from ansible_collections.winkube.node.plugins.plugin_utils.words.precedence import PLACES

from tests.unit.components.nodes import LAYOUT
from tests.unit.diagnosis.samples import samples

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
    "image.damaged": "a size or digest that is another is the fault itself",
    "image.missing": "the registry says that there is none",
    "image.registry-": "the registry is named, and that it was not reached or refused",
    "volume.server-unreachable": "net.exe's words for one code, as the next",
    "volume.share-": "so are these",
    "cluster.serving-certificate": "the kubelet's port has no certificate",
    "cluster.node-name": "the Node has no address",
    "node.device": "the device is named",
}
"""Findings that the words of an operation mean by themselves, with the reason."""


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
    assert all(each["title"] == line[:400] and each["remedy"] and not each["ours"] for each in said)


def test_what_was_being_done_with_a_reason_that_nobody_knows_has_no_cause() -> None:
    wrong = {}
    for pattern, _who, doing in (*message_places.OPERATIONS, *message_places.OTHERWISE):
        for text in samples(pattern.pattern):
            found = [each.finding for each in explain_text(f"{text}: {REASON}") if each.message not in PLACES]
            if found and not found[0].startswith(tuple(HOLDS)):
                wrong[doing, text] = found[0]
    assert wrong == {}


def test_each_operation_that_a_rule_asks_for_is_one_that_a_line_can_have() -> None:
    done = {doing for _pattern, _who, doing in (*message_places.OPERATIONS, *message_places.OTHERWISE)}
    known = {*done, *(name for name, _words in message_places.GROUPS), message_places.SPOKEN}
    rules = [each for each in MESSAGES if isinstance(each, Rule)]
    assert {doing for each in rules for doing in (*each.doing, *each.never)} <= known


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
    assert found.remedy.plain


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
