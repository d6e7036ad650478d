"""A question about several nodes of a task is asked once."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster import client
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.connection import Connection
from ansible_collections.winkube.node.plugins.plugin_utils.components.asks import Asks
from ansible_collections.winkube.node.plugins.plugin_utils.components.shared_options import Access

from tests.unit.cluster.fake import SERVER, as_api
from tests.unit.components.nodes import Controller

SUMS = "https://example.com/SHA256SUMS"


class Reader(Controller):
    """Returns what it is given, or raises it if it is an error."""

    def __init__(self, *texts: str | OSError) -> None:
        super().__init__()
        self.texts = list(texts)

    def read_url(self, address: str) -> str:
        found = self.texts.pop(0)
        if isinstance(found, OSError):
            raise found
        return found


def test_the_nodes_of_a_task_read_a_sum_file_once(tmp_path: Path) -> None:
    reader = Reader("first", "second")
    nodes = [Asks(reader, name, shared=tmp_path, task="1") for name in ("win1", "win2")]
    assert [node.read_url(SUMS) for node in nodes for _time in range(2)] == ["first"] * 4
    assert Asks(reader, "win1", shared=tmp_path, task="2").read_url(SUMS) == "second"


def test_without_a_folder_each_node_reads_for_itself() -> None:
    reader = Reader("first", "second")
    assert [Asks(reader, "win1").read_url(SUMS), Asks(reader, "win2").read_url(SUMS)] == ["first", "second"]


def test_an_address_that_could_not_be_read_is_read_again(tmp_path: Path) -> None:
    reader = Reader(OSError("It is away."), "text")
    with pytest.raises(OSError, match="It is away"):
        Asks(reader, "win1", shared=tmp_path, task="1").read_url(SUMS)
    assert Asks(reader, "win2", shared=tmp_path, task="1").read_url(SUMS) == "text"


def test_what_two_components_warn_of_is_said_once_with_the_nodes_name_or_without() -> None:
    hearer = Controller()
    node = Asks(hearer, "win1")
    for sentence in ("win1: 1.38 is newer.", "1.38 is newer.", "win1: 1.38 is newer.", "The disk is full."):
        node.warn(sentence)
    assert hearer.said == node.warned == ["win1: 1.38 is newer.", "The disk is full."]


@pytest.mark.parametrize(
    ("plans", "shared", "asked"), [(True, False, 1), (True, True, 1), (False, True, 1), (False, False, 2)]
)
def test_only_what_is_the_same_for_all_nodes_is_shared_by_a_task_that_changes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plans: bool, shared: bool, asked: int
) -> None:
    calls: list[str] = []

    def send(method: str, path: str, body: object, content_type: str) -> tuple[int, bytes]:
        calls.append(path)
        return 200, as_api(method, path, 200, {"items": [{"metadata": {"name": "cp1"}}]})

    monkeypatch.setattr(client, "connection", lambda *_of: Connection(SERVER, b"", send))
    access = Access(kubeconfig=str(tmp_path / "kubeconfig"))
    (tmp_path / "kubeconfig").touch()
    for name in ("win1", "win2"):
        node = Asks(Controller(), name, shared=tmp_path, task="1", plans=plans)
        cluster = node.cluster(access, shared=shared)
        assert cluster is not None and [each["metadata"]["name"] for each in cluster.nodes()] == ["cp1"]
    assert calls == ["/api/v1/nodes?limit=500"] * asked
