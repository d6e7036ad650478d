"""The messages during a long batch: by the answer alone, and when."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch, Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Query, file_key, file_query
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret
from ansible_collections.winkube.node.plugins.plugin_utils.node import progress
from ansible_collections.winkube.node.plugins.plugin_utils.node.link import loses_connection
from ansible_collections.winkube.node.plugins.plugin_utils.transfer.progress import is_watched

from tests.unit.answers import answered
from tests.unit.node.test_link import DONE, ID, Node

PART = r"C:\s\a.tar.gz.part"
FETCH = Op("fetch", {"url": "https://ann:hunter2@xyz/a.tar.gz?sig=abc", "path": r"C:\s\a.tar.gz"})
DISM = Op("run", {"program": r"C:\Windows\System32\dism.exe", "args": ["/Online", "/Enable-Feature"]})
TOLD = Op("run", {"program": r"C:\k\x.exe", "args": ["--token", Secret("s3cret")]})
PIPE = Op("wait", {"for": "pipe", "name": "containerd-containerd", "timeout_s": 120})
BATCH = Batch("containerd", (FETCH, DISM, TOLD), gate=(PIPE,))


def running(done: int, size: int | None = None) -> dict[str, Any]:
    state = (
        {}
        if size is None
        else {file_key(PART): {"exists": True, "kind": "file", "written": "2026-11-29T12:00:00Z", "size": size}}
    )
    return {
        **DONE,
        "outcome": "running",
        "results": [{"n": n, "op": "x", "ok": True} for n in range(done)],
        "state": state,
    }


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (running(0, 12_345_678), "is downloading https://***@xyz/a.tar.gz?sig=***: 12.3 MB, 40 s so far"),
        (running(0), "is downloading https://***@xyz/a.tar.gz?sig=***: 0.0 MB, 40 s so far"),
        (running(1), "is running dism.exe /Online /Enable-Feature, 40 s so far"),
        (running(2), "is running x.exe, 40 s so far"),
        (running(3), "is waiting for the pipe containerd-containerd, 40 s so far"),
        ({"outcome": "running"}, "is downloading https://***@xyz/a.tar.gz?sig=***: 0.0 MB, 40 s so far"),
    ],
)
def test_the_step_under_way_is_named_without_secrets(answer: dict[str, Any], said: str) -> None:
    assert progress.sentence(BATCH, answered(answer), 40.2) == f"containerd: {said}"


@pytest.mark.parametrize(
    ("op", "said"),
    [
        (Op("halt", {"name": "kubelet"}), "is stopping the service kubelet"),
        (Op("unpack", {"archive": r"C:\s\a.zip"}), r"is unpacking C:\s\a.zip"),
        (Op("hns_network", {"name": "flannel.4096"}), "is making the HNS network flannel.4096"),
        (Op("ip_restore", {"adapters": ["a", "b"]}), "is restoring the IP settings of a, b"),
        (Op("wait", {"for": "service", "name": "x", "state": "running"}), "is waiting for the service x to be running"),
        (Op("wait", {"for": "moon"}), "is waiting for moon"),
        (Op("registry_set", {"path": "HKLM"}), "is at the step registry_set"),
    ],
)
def test_every_step_has_words(op: Op, said: str) -> None:
    assert progress.sentence(Batch("c", (op,)), answered({}), 8) == f"c: {said}, 8 s so far"


def test_each_interval_is_one_call_and_one_line_and_what_only_progress_asked_for_is_left_out() -> None:
    mine = Query("mine", "pipe", (("name", "x"),))
    state = {file_key(PART): {"exists": False}, "mine": {"exists": True}, "not asked for": 1}
    node = Node(running(0, 5_000_000), running(1), {**DONE, "state": state})
    said: list[str] = []
    answer = node.link(said=said.append, progress_s=8.0).apply(replace(BATCH, state=(mine,)), ID)
    assert [envelope["follow_s"] for envelope in node.sent] == [8.0, 8.0, 8.0]
    assert said == [
        "containerd: is downloading https://***@xyz/a.tar.gz?sig=***: 5.0 MB, 8 s so far",
        "containerd: is running dism.exe /Online /Enable-Feature, 9 s so far",
    ]
    assert answer.state == {"mine": {"exists": True}}
    assert file_query(PART).wire() in node.sent[0]["state"]


NETWORK = Op("hns_network", {"name": "cbr0"})
SHUTDOWN = Op("run", {"program": r"C:\Windows\System32\shutdown.exe", "args": ["/r"]})
HALT = Op("halt", {"name": "Kubelet"})


@pytest.mark.parametrize(("op", "lost"), [(NETWORK, True), (SHUTDOWN, True), (DISM, False), (HALT, False)])
def test_which_changes_take_the_connection_down(op: Op, lost: bool) -> None:
    assert loses_connection(Batch("c", (op,))) is lost
    assert loses_connection(Batch("c", (HALT,)), {"kubelet"}), "a pod of that kubelet"


def test_a_loss_that_a_change_makes_is_no_warning() -> None:
    for op, said_as in ((NETWORK, "said"), (DISM, "warned")):
        told: dict[str, list[str]] = {"said": [], "warned": []}
        node = Node(ConnectionResetError("gone"), DONE)
        node.link(said=told["said"].append, notice=told["warned"].append).apply(Batch("flannel", (op,)), ID)
        assert [name for name, lines in told.items() if lines] == [said_as]
    assert node.kinds() == ["submit", "follow"]


def test_a_terminal_is_watched_but_not_in_ci() -> None:
    assert is_watched({}, True)
    assert is_watched({"CI": "false"}, True)
    assert not is_watched({"CI": "true"}, True)
    assert not is_watched({}, False)
