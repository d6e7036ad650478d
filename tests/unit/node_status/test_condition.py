"""A Node gets a condition and an Event where something changes, and no request where nothing does."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.records import NODE, NodeObject
from ansible_collections.winkube.node.plugins.plugin_utils.node_status.condition import (
    LONGEST,
    Condition,
    describe_steps,
    healthy,
    make_reason,
    not_known,
    write_event,
    write_report,
)
from ansible_collections.winkube.node.plugins.plugin_utils.node_status.look import Wanted, look_at, look_condition

NOW = "2026-11-29T06:00:00Z"
AS_WANTED = describe_steps({})


class Api:
    """Takes what is written to one Node, as a strategic merge patch does."""

    def __init__(self) -> None:
        self.node: dict[str, Any] = {"metadata": {"name": "win1", "uid": "u1", "annotations": {}}, "status": {}}
        self.patches: list[str] = []
        self.events: list[Mapping[str, Any]] = []
        self.refuses = False

    def patch(self, path: str, body: Mapping[str, Any], kind: str = "merge") -> dict[str, Any]:
        assert kind == "strategic" and "spec" not in body
        self.patches.append(path)
        known = {each["type"]: each for each in self.node["status"].get("conditions", ())}
        known |= {each["type"]: each for each in (body.get("status") or {}).get("conditions", ())}
        self.node["status"]["conditions"] = list(known.values())
        self.node["metadata"]["annotations"] |= (body.get("metadata") or {}).get("annotations") or {}
        return self.node

    def create(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        if self.refuses:
            raise ClusterError("forbidden", 403)
        assert path == "/api/v1/namespaces/default/events"
        self.events.append(body)
        return dict(body)

    def say(self, *conditions: Condition, now: str = NOW, applied: str = "") -> tuple[str, ...]:
        return write_report(self, NODE(self.node, ""), conditions, now, applied=applied)


def test_what_the_node_already_says_is_no_request() -> None:
    api = Api()
    assert api.say(AS_WANTED, healthy(), applied="abc") == (
        "set winkube.node/UpToDate of win1 to True (AsWanted)",
        "set winkube.node/Healthy of win1 to True (NothingInVain)",
        "annotate win1 with winkube.node/applied",
    )
    assert api.patches == ["/api/v1/nodes/win1/status"], "one request for all of it"
    assert [each["reason"] for each in api.events] == ["AsWanted", "NothingInVain"]
    assert api.say(AS_WANTED, healthy(), now="2026-11-30T06:00:00Z", applied="abc") == ()
    assert (len(api.patches), len(api.events)) == (1, 2), "no heartbeat"


def test_the_time_of_a_transition_is_that_of_the_status() -> None:
    api = Api()
    api.say(describe_steps({"kubelet": ["replace kubelet.exe"]}))
    api.say(describe_steps({"kubelet": ["restart kubelet"]}), now="2026-11-29T07:00:00Z")
    (found,) = api.node["status"]["conditions"]
    assert (found["lastTransitionTime"], found["message"]) == (NOW, "A run would: kubelet: restart kubelet.")
    api.say(AS_WANTED, now="2026-11-29T08:00:00Z")
    assert api.node["status"]["conditions"][0]["lastTransitionTime"] == "2026-11-29T08:00:00Z"
    assert [each["type"] for each in api.events] == ["Warning", "Warning", "Normal"]
    assert {each["involvedObject"]["uid"] for each in api.events} == {"u1"}


def test_an_event_that_is_refused_is_no_error() -> None:
    api = Api()
    api.refuses = True
    assert api.say(not_known("it did not answer")) and api.node["status"]["conditions"][0]["status"] == "Unknown"
    assert write_event(api, "win1", "u1", "Busy", "why", NOW) is False


@pytest.mark.parametrize(
    ("cause", "reason"),
    [("flannel.subnet-env-stale", "FlannelSubnetEnvStale"), ("network", "Network"), ("..", "NotMended")],
)
def test_a_cause_is_a_reason_as_conditions_have_it(cause: str, reason: str) -> None:
    assert make_reason(cause) == reason
    assert healthy(cause, "flanneld is stuck").status == "False"


def test_a_message_is_one_line_and_not_too_long() -> None:
    said = describe_steps({"kubelet": ["write a\x1b[31m\nfile" * 200]}).message
    assert len(said) == LONGEST and "\n" not in said and "\x1b" not in said


def node(**more: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "True"}, *more.get("conditions", ())]
    info = {"kubeletVersion": "v1.37.1", "containerRuntimeVersion": "containerd://2.3.7"}
    metadata = {"name": "win1", "annotations": {"winkube.node/applied": "abc"}}
    return {"metadata": metadata, "spec": {}, "status": {"conditions": conditions, "nodeInfo": info}}


def test_a_look_compares_releases_and_the_fingerprint() -> None:
    assert look_at(NODE(node(), ""), Wanted("win1", "1.37.1", "2.3.7"), "abc").findings == ()
    assert look_at(NODE(node(), ""), Wanted("win1")).findings == ()
    found = look_at(NODE(node(), ""), Wanted("win1", "1.38.0", "2.4.0"), "def").findings
    assert [each.message for each in found] == [
        "kubelet 1.37.1 runs, and 1.38.0 is wanted.",
        "containerd 2.3.7 runs, and 2.4.0 is wanted.",
        "The variables are not those of the last run that made it right.",
    ]
    assert look_at(None, Wanted("win1")).findings[0].reason == "NotJoined"


def test_a_look_takes_back_only_what_a_look_has_said() -> None:
    other = partial(look_condition, wanted=Wanted("win1"), fingerprint="def")
    same = partial(look_condition, wanted=Wanted("win1"), fingerprint="abc")
    api = Api()
    api.node = node()

    def seen() -> NodeObject:
        return NODE(api.node, "")

    told = other(seen())
    assert told is not None and (told.status, told.reason) == ("False", "NotApplied")
    api.say(told)
    back = same(seen())
    assert back is not None and back.status == "True"

    api.say(describe_steps({"kubelet": ["restart kubelet"]}))
    assert same(seen()) is None and other(seen()) is None, "a run saw the machine"
    assert [each.reason for each in look_at(seen(), Wanted("win1"), "abc").findings] == ["Differs"]
    api.say(not_known("it did not answer"))
    assert same(seen()) is None
