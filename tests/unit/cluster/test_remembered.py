"""A cluster's answers, shared by the workers of a task: asked once, kept secret, for a short time."""

from __future__ import annotations

import multiprocessing
import resource
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster import remembered
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.connection import Connection
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.remembered import FRESH_S, Remembered
from cryptography.fernet import Fernet

from tests.unit.cluster.fake import Fake

WORKERS = 4
FORK = multiprocessing.get_context("fork")
FORKS = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
"""As Ansible forks its workers."""
NODES = [
    {
        "metadata": {"name": f"win{number}", "managedFields": [{}]},
        "status": {"images": [{}], "addresses": [], "nodeInfo": {}},
    }
    for number in range(3)
]


class Asked:
    """What is asked by all processes is a line of a file."""

    def __init__(self, folder: Path, answer: Any, pause_s: float = 0.0) -> None:
        self._log, self._answer, self._pause_s = folder / "asked.txt", answer, pause_s

    def __call__(self) -> Any:
        self._note("asked")
        time.sleep(self._pause_s)
        self._note("told")
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def _note(self, what: str) -> None:
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"{what}\n")

    @property
    def notes(self) -> list[str]:
        """In the order in which it happened, in all processes."""
        return self._log.read_text(encoding="utf-8").splitlines() if self._log.exists() else []

    @property
    def times(self) -> int:
        return self.notes.count("asked")


def in_workers(folder: Path, ask: Asked) -> None:
    """Each worker asks at the same moment, and gives back what it was told by its exit status."""

    def work() -> None:
        found = Remembered(folder, "task")("/version", ask)
        raise SystemExit(0 if found == {"gitVersion": "v1.37.1"} else 1)

    workers = [FORK.Process(target=work) for _number in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * WORKERS


@FORKS
def test_one_worker_asks_and_the_others_wait_for_its_answer(tmp_path: Path) -> None:
    ask = Asked(tmp_path, {"gitVersion": "v1.37.1"}, pause_s=0.3)
    in_workers(tmp_path, ask)
    assert ask.times == 1


def test_that_something_is_absent_is_an_answer(tmp_path: Path) -> None:
    ask = Asked(tmp_path, None)
    assert [Remembered(tmp_path, "task")("/x", ask) for _worker in range(2)] == [None, None]
    assert ask.times == 1


def test_another_task_and_another_kubeconfig_ask_for_themselves(tmp_path: Path) -> None:
    ask = Asked(tmp_path, {})
    for scope in ("task 1", "task 2", "task 1"):
        Remembered(tmp_path, scope)("/version", ask)
    assert ask.times == 2


def test_an_old_answer_is_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = Asked(tmp_path, {})
    Remembered(tmp_path, "task")("/version", ask)
    later = time.time() + FRESH_S + 1
    monkeypatch.setattr(time, "time", lambda: later)
    Remembered(tmp_path, "task")("/version", ask)
    assert ask.times == 2


def test_a_failure_is_nobodys_answer_but_its_own(tmp_path: Path) -> None:
    for expected in (1, 2):
        ask = Asked(tmp_path, ClusterError("It is away."))
        with pytest.raises(ClusterError):
            Remembered(tmp_path, "task")("/version", ask)
        assert ask.times == expected
    well = Asked(tmp_path, {"gitVersion": "v1.37.1"})
    assert Remembered(tmp_path, "task")("/version", well) == {"gitVersion": "v1.37.1"}
    assert Remembered(tmp_path, "task")("/version", well) == {"gitVersion": "v1.37.1"}
    assert well.times == 3, "asked once more after the two failures"


@FORKS
def test_after_a_failure_workers_do_not_wait_for_each_other(tmp_path: Path) -> None:
    with pytest.raises(ClusterError):
        Remembered(tmp_path, "task")("/version", Asked(tmp_path, ClusterError("It is away.")))
    ask = Asked(tmp_path, {"gitVersion": "v1.37.1"}, pause_s=1.0)
    in_workers(tmp_path, ask)
    told = ask.notes.index("told", 2)
    assert ask.notes[2:told].count("asked") > 1, "another one asks before the first is told"


def test_the_files_tell_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = {"data": {"token": "geheim"}}
    Remembered(tmp_path, "task")("/secret", Asked(tmp_path, token))
    (kept,) = tmp_path.glob("asked-*")
    assert b"geheim" not in kept.read_bytes()
    monkeypatch.setattr(remembered, "_CIPHER", Fernet(Fernet.generate_key()))
    ask = Asked(tmp_path, {"data": {"token": "of another run"}})
    assert Remembered(tmp_path, "task")("/secret", ask) == {"data": {"token": "of another run"}}


def test_a_folder_that_cannot_be_used_stops_no_plan(tmp_path: Path) -> None:
    assert Remembered(tmp_path / "absent", "task")("/version", Asked(tmp_path, {"a": 1})) == {"a": 1}


def test_a_file_system_without_locks_stops_no_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    assert Remembered(tmp_path, "task")("/version", Asked(tmp_path, {"a": 1})) == {"a": 1}


def test_nodes_are_read_from_one_list(tmp_path: Path) -> None:
    api = Fake()
    sent: list[str] = []

    def send(method: str, path: str, body: Any, content_type: str) -> tuple[int, bytes]:
        sent.append(path)
        return api.send(method, path, body, content_type)

    api.objects["/api/v1/nodes"] = {"items": NODES}
    for name in ("win0", "win1", "absent"):
        cluster = Cluster(lambda: Connection("https://api", b"", send), Remembered(tmp_path, "task"))
        found = cluster.node(name)
        assert (found or {}).get("metadata") == ({"name": name} if name != "absent" else None)
        assert "images" not in ((found or {}).get("status") or {})
    assert sent == ["/api/v1/nodes?limit=500"]


def test_one_node_is_found_without_reading_the_others(tmp_path: Path) -> None:
    ask = Asked(tmp_path, {"kind": "NodeList", "items": NODES})
    assert Remembered(tmp_path, "task").find_item("/nodes", "win1", ask) == NODES[1]
    (kept,) = tmp_path.glob("asked-*")
    head, *lines = kept.read_bytes().split(b"\n")
    kept.write_bytes(b"\n".join([head, *(line if number == 1 else line[:70] for number, line in enumerate(lines))]))
    assert Remembered(tmp_path, "task").find_item("/nodes", "win1", ask), "the others' lines are broken now"
    assert ask.times == 1


def test_the_whole_list_is_as_it_was_asked(tmp_path: Path) -> None:
    ask = Asked(tmp_path, {"kind": "NodeList", "items": [{"metadata": {"name": name}} for name in ("b", "a")]})
    for _worker in range(2):
        found = Remembered(tmp_path, "task")("/nodes", ask)
        assert found == {"kind": "NodeList", "items": [{"metadata": {"name": "b"}}, {"metadata": {"name": "a"}}]}
    assert Remembered(tmp_path, "task").find_item("/nodes", "c", ask) is None
    assert ask.times == 1


def test_a_list_that_a_full_disk_has_cut_off_is_asked_for_again(tmp_path: Path) -> None:
    ask = Asked(tmp_path, {"kind": "NodeList", "items": NODES})
    Remembered(tmp_path, "task")("/nodes", ask)
    (kept,) = tmp_path.glob("asked-*")
    whole = kept.read_bytes()
    ends = [place for place in range(len(whole)) if whole.startswith(b"\n", place)]
    for times, end in enumerate((*ends, 0, len(whole) - 1), 2):
        kept.write_bytes(whole[:end])
        assert Remembered(tmp_path, "task").find_item("/nodes", "win2", ask) == NODES[2], "it is no absent Node"
        assert ask.times == times
        whole = kept.read_bytes()


@FORKS
def test_a_full_disk_stops_no_plan(tmp_path: Path) -> None:
    """A file may have as many bytes as a disk that is almost full has."""
    answer = {"items": [{"metadata": {"name": f"win{number}"}} for number in range(20)]}

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
        found = [Remembered(tmp_path, "task")("/nodes", lambda: answer) for _worker in range(2)]
        raise SystemExit(0 if found == [answer, answer] else 1)

    worker = FORK.Process(target=work)
    worker.start()
    worker.join()
    assert worker.exitcode == 0


def test_who_may_not_list_nodes_reads_the_one(tmp_path: Path) -> None:
    api = Fake()
    api.objects["/api/v1/nodes/win1"] = NODES[1]
    api.refused["GET", "/api/v1/nodes"] = 403
    cluster = Cluster(lambda: Connection("https://api", b"", api.send), Remembered(tmp_path, "task"))
    assert (cluster.node("win1") or {})["metadata"]["name"] == "win1"
