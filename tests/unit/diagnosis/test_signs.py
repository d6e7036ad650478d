"""What ends pods, connections, a membership or a machine is not asked for on one sign."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.node import Node
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import checks_logs, table
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.explain import explain
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.scene import Scene
from ansible_collections.winkube.node.plugins.plugin_utils.network.model import Hns
from ansible_collections.winkube.node.plugins.plugin_utils.words.causes import CAUSES
from ansible_collections.winkube.node.plugins.plugin_utils.words.meanings import meanings
from ansible_collections.winkube.node.plugins.plugin_utils.words.remedy import Action
from ansible_collections.winkube.node.plugins.plugin_utils.words.signs import sign_of, speak_twice

from tests.judge.signs import DRASTIC, find_drastic, variants
from tests.unit.components.nodes import LAYOUT

EXISTS = (
    "failed to setup network for sandbox {}: hcnCreateNetwork failed in Win32: A network with this name already "
    "exists. (0x803b0010)"
)
CA = "x509: certificate signed by unknown authority"
ENDED = "hcs::CreateComputeSystem a1: The virtual machine or container exited unexpectedly."
STARTING = f"{ENDED.rstrip('.')} while starting."
CONTAINERD = 'time="2026-03-01T10:00:0{}Z" level=error msg="RunPodSandbox for {} failed" error="{}"'
KUBELET = (
    'E0301 10:00:0{}.1 7 pod_workers.go:1301] "Error syncing pod" err="rpc error: code = Unknown desc = {}" pod="{}"'
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "E0301 10:00:00.1 7 a.go:1] x: hnsCall failed: (0x803b0010)",
            "E0301 10:05:00.1 7 a.go:1] x: hnsCall failed: (0x803b0010)",
        ),
        (CONTAINERD.format(1, "a", EXISTS.format("a" * 64)), CONTAINERD.format(2, "a", EXISTS.format("b" * 64))),
        (CONTAINERD.format(1, "a", EXISTS.format("a" * 64)), KUBELET.format(1, EXISTS.format("a" * 64), "shop/a")),
        (f"dial tcp 10.0.0.1:6443: {CA}", CA),
        (f"{ENDED} (0xc0370106)", f"{ENDED}: unknown"),
        (f"{STARTING} (0xc0370100)", f"{STARTING}: unknown"),
        ("x: it did not come within 45s", "x: it did not come within 1m0.5s"),
        ('pod "shop/web-1": Element not found. (0x490)', 'for pod "web-1": Element not found. (0x490)'),
    ],
)
def test_the_same_reason_is_one_sign_whoever_says_it(one: str, other: str) -> None:
    assert not speak_twice([sign_of(one), sign_of(other)])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('pod="shop/web-1" Element not found. (0x490)', 'pod="shop/web-2" Element not found. (0x490)'),
        ("hnsCall failed: (0x803b0010)", "hnsCall failed: (0x803b0001)"),
        ("Get https://a/api: x509: certificate has expired", "Get https://b/api: x509: certificate has expired"),
    ],
)
def test_another_reason_or_another_object_is_a_second_sign(one: str, other: str) -> None:
    assert speak_twice([sign_of(one), sign_of(other)])


def test_in_logs_of_two_programs_the_same_is_one_sign() -> None:
    one = CONTAINERD.format(1, "a", EXISTS.format("a" * 64))
    again = "\n".join([one, KUBELET.format(2, EXISTS.format("b" * 64), "shop/a")])
    scene = Scene(Node.unknown(LAYOUT), Hns(), logs={"containerd": one, "kubelet": again})
    found = checks_logs.with_logs((), scene, table.KNOWN)
    named = [each for each in found if each.id == "hns.name-exists"]
    assert named and not any(DRASTIC.search(each.sentence) for each in named)


def test_a_remedy_that_is_not_asked_for_says_what_it_would_end() -> None:
    (said,) = meanings(EXISTS.format("a" * 64), "win1")
    assert said["ours"] == "" and "ends connections and the machine" in said["remedy"]
    assert not DRASTIC.search(" ".join(explain({"stdin": EXISTS.format("a" * 64)}).lines))


@pytest.mark.parametrize("cause", [*table.KNOWN.values(), *CAUSES.values()], ids=lambda cause: str(cause.id))
def test_what_ends_something_is_a_field_of_the_remedy(cause: object) -> None:
    remedy = cause.remedy  # type: ignore[attr-defined]
    if (
        DRASTIC.search(remedy.plain)
        or remedy.action in {Action.REJOIN, Action.SWITCH}
        or "no network" in remedy.cuts_off
    ):
        assert remedy.ends, remedy


def test_no_judged_message_asks_for_what_is_drastic_on_one_sign() -> None:
    """Each record of each message, twice, tried again, and quoted by the kubelet."""
    found = list(find_drastic())
    assert found == []


def test_what_is_counted_would_be_seen() -> None:
    (record,) = variants("hcnCreateNetwork failed in Win32: A network with this name already exists. (0x803b0010)")[:1]
    assert len(variants(record)) == 4
    assert DRASTIC.search("Let it go: hnsdiag delete loadbalancers ID") and DRASTIC.search("drain the node")
