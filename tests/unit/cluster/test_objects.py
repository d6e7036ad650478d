"""API objects at the gate: a field that is not of its kind is refused by name, and a refusal's own words are cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster import connection
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.answer import Answer, check_answer
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError

NODE = {
    "kind": "Node",
    "metadata": {
        "name": "win1",
        "labels": {"kubernetes.io/os": "windows"},
        "creationTimestamp": "2026-11-29T12:00:00Z",
    },
    "spec": {"podCIDR": "10.244.3.0/24", "taints": [{"key": "os", "value": "windows", "effect": "NoSchedule"}]},
    "status": {"allocatable": {"memory": "16Gi", "cpu": "3500m"}, "conditions": [{"type": "Ready", "status": "True"}]},
}


def ask(path: str, body: Any, status: int = 200, **more: Any) -> Any:
    answer = Answer(status, body if isinstance(body, bytes) else json.dumps(body).encode(), **more)
    return check_answer("GET", f"https://k{path}", path, answer)


def test_an_honest_answer_passes_as_it_is() -> None:
    assert ask("/api/v1/nodes/win1", NODE) == NODE
    listed = {"kind": "NodeList", "items": [NODE]}
    assert ask("/api/v1/nodes", listed) == listed


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("metadata.labels", ["a"], "metadata.labels is a list of 1, expected an object"),
        ("metadata.labels.a", 7, "metadata.labels.a is 7, expected a text of one line"),
        ("metadata.creationTimestamp", "soon", "metadata.creationTimestamp is 'soon', expected a time as"),
        ("spec.podCIDR", ["10.0.0.0/8"], "spec.podCIDR is a list of 1, expected a text of one line"),
        ("spec.taints", "os=windows", "spec.taints is 'os=windows', expected a list"),
        ("spec.taints", [{"key": "a"}], "spec.taints[0].effect is missing, expected a text of one line"),
        ("spec.unschedulable", "false", "spec.unschedulable is 'false', expected true or false"),
        ("status.allocatable.memory", "16 GB", "status.allocatable.memory is '16 GB', expected a quantity as"),
        ("status.conditions", {}, "status.conditions is an empty object, expected a list"),
    ],
)
def test_a_field_that_is_not_of_its_kind_is_refused_by_name(field: str, value: Any, said: str) -> None:
    node = json.loads(json.dumps(NODE))
    *way, last = field.split(".")
    place = node
    for name in way:
        place = place[name]
    place[last] = value
    with pytest.raises(ClusterError) as raised:
        ask("/api/v1/nodes/win1", node)
    assert said in str(raised.value)
    assert not raised.value.passing, "asking again would change nothing"
    with pytest.raises(ClusterError, match=r"items\[0\] \(win1\)\."):
        ask("/api/v1/nodes", {"kind": "NodeList", "items": [node]})


@pytest.mark.parametrize("name", ["../../secrets", "a/b", "..", "", "a%2fb", "a b", "a\x1b[31m", 7, None, "x" * 300])
def test_a_name_that_may_not_stand_in_a_path_is_refused(name: Any) -> None:
    pods = {"kind": "PodList", "items": [{"metadata": {"name": name}}]}
    with pytest.raises(ClusterError, match=r"items\[0\]\.metadata\.name is ") as raised:
        ask("/api/v1/pods", pods)
    assert str(raised.value).isprintable()


def test_the_value_of_a_secret_is_not_told() -> None:
    secret = {"kind": "Secret", "metadata": {"name": "a"}, "data": {"token": "open sesame"}}
    with pytest.raises(ClusterError, match=r"data\.token is not bytes as base64") as raised:
        ask("/api/v1/namespaces/d/secrets/a", secret)
    assert "sesame" not in str(raised.value)


def test_of_a_refusal_only_so_much_is_shown() -> None:
    with pytest.raises(ClusterError) as raised:
        ask("/api/v1/nodes/win1", {"kind": "Status", "message": "no\x1b]0;x\x07" + "x" * 5_000_000}, status=403)
    assert r"answered with 403: no\x1b]0;x\x07xxx" in str(raised.value)
    assert len(str(raised.value)) < 2500


@pytest.mark.parametrize("location", ["http://[x", "", "//", "http://\x1b/"])
def test_a_redirect_to_nowhere_is_a_sentence(location: str) -> None:
    with pytest.raises(ClusterError, match="a redirect to ") as raised:
        ask("/api/v1/nodes/win1", b"", status=302, location=location)
    assert str(raised.value).isprintable()


@pytest.mark.parametrize(("said", "seconds"), [("7", 7), ("\u00b2", 0), ("", 0), ("-1", 0), ("9" * 400, 0), ("1.5", 0)])
def test_retry_after_is_a_number_or_nothing(said: str, seconds: float) -> None:
    assert connection._retry_after({"Retry-After": said}) == seconds


def test_what_is_nested_too_deeply_is_told_by_its_field() -> None:
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]
    with pytest.raises(
        ClusterError, match=r"not with JSON of at most 100 levels \(spec\.taints\.0\.0.* is nested deeper\)"
    ):
        ask("/api/v1/nodes/win1", {**NODE, "spec": {"taints": deep}})


class Body:
    """An answer that never ends."""

    def __init__(self) -> None:
        self.given = 0
        self.state = ""

    def stream(self, size: int, decode_content: bool) -> Any:
        while True:
            self.given += size
            yield b"x" * size

    def close(self) -> None:
        self.state += "closed "

    def release_conn(self) -> None:
        self.state += "released"


def test_an_answer_without_an_end_is_not_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LARGEST", 4 * connection.MEGA)
    body = Body()
    with pytest.raises(ClusterError, match="GET https://k/x was answered with more than 4 MB, which is not read"):
        connection._read(body, "GET https://k/x")
    assert body.state == "closed released"
    assert body.given < 5 * connection.MEGA
