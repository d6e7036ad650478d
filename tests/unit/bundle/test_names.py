"""Names that the controller cannot hold, results that were not asked for, and no more than max_total."""

from __future__ import annotations

import base64
import errno
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.bundle import collect
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.store import Store
from ansible_collections.winkube.node.plugins.plugin_utils.engine.answer import Answer, Result
from ansible_collections.winkube.node.plugins.plugin_utils.engine.local_path import needing_room
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Query, Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.redaction.redact import name_in_bundle

from .test_programs import COMMANDS
from .test_programs import Node as Programs
from .test_programs import there as programs_there

FOLDER = "C:\\k"
NAMES = {
    "a.log": "a.log",
    "\u4f60" * 60 + ".log": "\u4f60" * 60 + ".log",
    "\u4f60" * 90 + ".log": ".log-",
    "x" * 245 + ".log": "x" * 40 + "-",
    "nul\x00l.log": "null.log-",
    "../../etc/passwd": "....etcpasswd-",
    "esc\x1b[31m.log": "esc31m.log-",
    "half\ud800.log": "half.log-",
    "right\u202eleft.log": "rightleft.log-",
}


class Files:
    """A node that has these files."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.asked: list[str] = []

    def probe(self, queries: Sequence[Query]) -> dict[str, Any]:
        found = {}
        for query in queries:
            path = str(dict(query.args)["path"])
            self.asked.append(path)
            content = base64.b64encode(b"x" * self.sizes[path]).decode()
            found[query.key] = {"exists": True, "kind": "file", "size": self.sizes[path], "content": content}
        return found

    def reading(self) -> Reading:
        return Reading().merge(
            {
                file_key(path): {"exists": True, "kind": "file", "size": size, "written": "2026-11-29T12:00:00Z"}
                for path, size in self.sizes.items()
            }
        )

    def put(self, store: Store) -> None:
        node = collect.Machine(self.probe, lambda _ops: Answer("refused"), str)
        collect.put_files(node, store, self.sizes, self.reading())


def test_each_file_is_kept_under_a_name_that_the_controller_can_hold(tmp_path: Path) -> None:
    files = Files({f"{FOLDER}\\{name}": 10 for name in NAMES})
    store = Store.open(tmp_path / "win1", 10**6)
    files.put(store)
    store.pack()
    assert len(store.files) == len(NAMES)
    for name, kept in NAMES.items():
        where = name_in_bundle(f"{FOLDER}\\{name}")
        digits = hashlib.sha256(name.encode("utf-8", errors="surrogatepass")).hexdigest()[:12]
        assert where == f"c/k/{kept}{digits if kept != name else ''}"
        assert (tmp_path / "win1" / "files" / where).read_text() == "x" * 10
    manifest = json.loads((tmp_path / "win1" / "manifest.json").read_text(encoding="utf-8"))
    sources = [str(entry["source"]) for entry in manifest["files"].values()]
    assert all(source.isprintable() for source in sources)
    assert rf"{FOLDER}\nul\x00l.log" in sources and rf"{FOLDER}\half\ud800.log" in sources


@pytest.mark.parametrize("path", ["C:\\" + "\\".join(["long" * 40] * 30), "C:\\" + "a\\" * 2000, "/etc/passwd", "\x00"])
def test_a_long_or_strange_path_becomes_one_name(path: str, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "win1", 10**6)
    assert store.put(f"files/{name_in_bundle(path)}", "x", source=path)
    store.pack()


def test_what_would_be_more_than_the_limit_is_not_fetched(tmp_path: Path) -> None:
    files = Files({f"{FOLDER}\\{n}.log": 400 for n in range(5)})
    store = Store.open(tmp_path / "win1", 1000)
    files.put(store)
    assert files.asked == [rf"{FOLDER}\0.log", rf"{FOLDER}\1.log"]
    assert sorted(store.left_out) == [f"files/c/k/{n}.log" for n in (2, 3, 4)]
    fetched: list[Path] = []
    assert not store.take("trace.etl", "C:\\trace.etl", 5000, fetched.append)
    assert fetched == []


def test_a_result_that_was_not_asked_for_is_told_and_the_others_are_kept(tmp_path: Path) -> None:
    class Lying(Programs):
        def apply(self, ops: Sequence[Any]) -> Answer:
            answer = super().apply(ops)
            return replace(answer, results=(Result(700, "run", True, stdout="x"), *answer.results))

    store = Store.open(tmp_path / "win1", 10**6)
    assert len(Lying().collect(store, programs_there())) == len(COMMANDS)
    assert store.left_out == {"result 700": "it was not asked for"}


def test_a_full_disk_is_a_sentence_with_path_bytes_and_remedy(tmp_path: Path) -> None:
    with pytest.raises(Refused) as refused, needing_room(tmp_path / "x.zip", 1234567):
        raise OSError(errno.ENOSPC, "No space left on device")
    said = str(refused.value)
    assert said.startswith(f"{tmp_path}/x.zip: the controller's disk is full. 1,234,567 bytes have to be written there")
    assert said.endswith("are free: make room, and run again.")
    with pytest.raises(PermissionError), needing_room(tmp_path, 1):
        raise PermissionError


def test_a_bundle_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store.open(tmp_path / "win1", 10**6)

    def full(*_args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fdopen", full)
    with pytest.raises(Refused, match=r"files/c/a: the controller's disk is full\. 5 bytes have"):
        store.put("files/c/a", "12345", source="C:\\a")
