"""Programs from an archive or alone: when they count as the wanted ones, how they are installed, and the undo."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.programs import (
    Programs,
    Source,
    pusher,
    read_pushed_build,
    read_version,
    receipt_of,
    staging,
)

from tests.unit.engine.nodes import file, node, said, undone

STATE = r"C:\state"
ONE = Programs("x", Source("http://h/x.exe", "aa", "1.2"), (("", r"C:\k\x.exe"),), STATE, "b1")
BOTH = Programs(
    "x",
    Source("http://h/x.tar.gz", "aa", "1.2", proxy="http://p:1"),
    (("bin/x.exe", r"C:\k\x.exe"), ("bin/y.exe", r"C:\k\y.exe")),
    STATE,
    "b1",
    resource_version="1.2",
)
STAGING = r"C:\state\staging\x-b1"


def there(programs: Programs, hashes: dict[str, str], receipt: str | None = None, **entries: Any) -> Reading:
    """A node with these programs, by path; `receipt` is the text of the receipt."""
    parts: dict[str, Any] = {}
    for path in programs.paths:
        parts |= file(path, sha256=hashes[path]) if path in hashes else file(path)
    parts |= file(r"C:\k", kind="directory", entries=entries.get("entries", []))
    parts |= file(programs.receipt, receipt) | file(programs.push_receipt, entries.get("pushed"))
    return node(**parts)


def receipt(source: dict[str, Any], **hashes: str) -> str:
    files = [{"path": rf"C:\k\{name}.exe", "sha256": sha256} for name, sha256 in hashes.items()]
    return json.dumps({"schema": 1, "source": source, "files": files})


ARCHIVE = BOTH.source.identity()
INSTALLED = {
    "one: the sum is its own": (ONE, {r"C:\k\x.exe": "aa"}, None, True),
    "one: another sum": (ONE, {r"C:\k\x.exe": "bb"}, None, False),
    "one: not there": (ONE, {}, None, False),
    "archive: noted": (BOTH, {r"C:\k\x.exe": "1", r"C:\k\y.exe": "2"}, receipt(ARCHIVE, x="1", y="2"), True),
    "archive: noted, and changed since": (
        BOTH,
        {r"C:\k\x.exe": "1", r"C:\k\y.exe": "3"},
        receipt(ARCHIVE, x="1", y="2"),
        False,
    ),
    "archive: the same from a mirror": (
        BOTH,
        {r"C:\k\x.exe": "1", r"C:\k\y.exe": "2"},
        receipt({**ARCHIVE, "url": "http://mirror/x.tgz"}, x="1", y="2"),
        True,
    ),
    "archive: not noted": (BOTH, {r"C:\k\x.exe": "1", r"C:\k\y.exe": "2"}, None, False),
    "archive: a damaged note": (BOTH, {r"C:\k\x.exe": "1", r"C:\k\y.exe": "2"}, '{"files": 3}', False),
    "without a sum: by address and version": (
        replace(BOTH, source=replace(BOTH.source, sha256=None)),
        {r"C:\k\x.exe": "1", r"C:\k\y.exe": "2"},
        receipt({**ARCHIVE, "sha256": None}, x="1", y="2"),
        True,
    ),
    "without a sum: another version": (
        replace(BOTH, source=replace(BOTH.source, sha256=None, version="1.3")),
        {r"C:\k\x.exe": "1", r"C:\k\y.exe": "2"},
        receipt({**ARCHIVE, "sha256": None}, x="1", y="2"),
        False,
    ),
}


@pytest.mark.parametrize(("programs", "hashes", "noted", "same"), INSTALLED.values(), ids=INSTALLED)
def test_whether_they_are_the_wanted_ones(
    programs: Programs, hashes: dict[str, str], noted: str | None, same: bool
) -> None:
    reading = there(programs, hashes, noted)
    assert programs.is_installed(reading) is same
    assert (programs.change(reading) is None) is same
    damaged = noted is None or "source" not in noted
    assert programs.is_unproven(reading) == (programs.is_archive and damaged and len(hashes) == len(programs.paths))


def test_an_archive_is_fetched_and_unpacked_beside_and_renamed_in() -> None:
    change = BOTH.change(there(BOTH, {r"C:\k\x.exe": "old"}))
    assert change is not None
    assert said(change.prepare) == [
        rf"mkdir {STAGING}",
        rf"fetch {STAGING}\archive",
        rf"unpack {STAGING}\archive",
        rf"wait file {STAGING}\x.exe",
        rf"wait file {STAGING}\y.exe",
    ]
    fetch = change.prepare[1].args
    assert (fetch["sha256"], fetch["proxy"], fetch["magic"]) == ("aa", "http://p:1", ["1f8b", "504b0304"])
    assert said(change.commit) == [r"move C:\k\x.exe", rf"move {STAGING}\x.exe", rf"move {STAGING}\y.exe"]
    assert change.commit[0].args["to"] == r"C:\k\x.exe.b1.winkube-old"
    assert [undone(op) for op in change.commit] == [
        [r"move C:\k\x.exe.b1.winkube-old"],
        [r"move C:\k\x.exe"],
        [r"move C:\k\y.exe"],
    ]
    assert said(change.finish) == [rf"record {BOTH.receipt}", rf"remove {STAGING}"]
    assert undone(change.finish[0]) == [rf"remove {BOTH.receipt}"]
    assert change.touches == {file_key(r"C:\k\x.exe"), file_key(r"C:\k\y.exe")}
    assert change.text == "install x 1.2 from http://h/x.tar.gz"


def test_a_program_by_itself_is_one_by_its_first_bytes_and_nothing_is_unpacked() -> None:
    change = ONE.change(there(ONE, {}))
    assert change is not None
    assert said(change.prepare) == [rf"mkdir {STAGING}", rf"fetch {STAGING}\x.exe"]
    assert change.prepare[1].args["magic"] == ["4d5a"]
    assert "proxy" not in change.prepare[1].args
    unverified = replace(ONE, source=replace(ONE.source, sha256=None)).change(there(ONE, {}))
    assert unverified is not None
    assert unverified.text == "install x 1.2 from http://h/x.exe, not verified"


def test_files_that_are_the_same_stay_where_they_are() -> None:
    reading = there(BOTH, {r"C:\k\x.exe": "1", r"C:\k\y.exe": "2"})
    staged = reading.merge({query.key: {"exists": True, "sha256": "1"} for query in BOTH.list_staged_queries()})
    change = BOTH.change(staged)
    assert change is not None
    assert change.prepare == (), "they are staged already"
    assert said(change.commit) == [r"move C:\k\y.exe", rf"move {STAGING}\y.exe"]
    same = staged.merge({file_key(r"C:\k\y.exe"): {"exists": True, "kind": "file", "sha256": "1"}})
    recorded = BOTH.change(same)
    assert recorded is not None
    assert recorded.commit == ()
    assert recorded.text == "record where x 1.2 came from (the files on the node are the same)"


def test_what_earlier_batches_have_left_is_swept() -> None:
    left = ["x.exe.b0.winkube-old", "z.exe.b0.winkube-old", "x.exe.winkube-previous"]
    change = ONE.change(there(ONE, {}, entries=left))
    assert change is not None
    assert said(change.prepare)[0] == r"remove C:\k\x.exe.b0.winkube-old"
    assert not any("z.exe" in word or "previous" in word for word in said(change.prepare))


PUSHED = json.dumps(
    {
        "source": {"url": "~/x.exe", "by": "ann@laptop", "at": "2026-11-23T14:03:05Z"},
        "files": [{"path": r"C:\k\x.exe", "sha256": "p"}],
    }
)


def test_a_build_that_somebody_has_pushed_is_kept_or_put_by() -> None:
    reading = there(ONE, {r"C:\k\x.exe": "p"}, pushed=PUSHED, entries=["x.exe.winkube-previous"])
    assert replace(ONE, source=replace(ONE.source, keep_pushed=True)).change(reading) is None
    change = ONE.change(reading)
    assert change is not None
    assert change.text.endswith("in place of the build that ann@laptop pushed on 2026-11-23 14:03 UTC from ~/x.exe")
    assert [(op.args["from"], op.args["to"]) for op in change.commit[:2]] == [
        (r"C:\k\x.exe.winkube-previous", r"C:\k\x.exe.b1.winkube-old"),
        (r"C:\k\x.exe", r"C:\k\x.exe.winkube-previous"),
    ]
    assert undone(change.commit[0]) == [r"restore C:\k\x.exe.winkube-previous"]


def test_a_pushed_build_that_is_not_there_any_more_is_none() -> None:
    reading = there(ONE, {r"C:\k\x.exe": "aa"}, pushed=PUSHED)
    assert read_pushed_build(reading, ONE.push_receipt) is None
    assert read_pushed_build(node(), ONE.push_receipt) is None
    assert pusher({}) == "somebody pushed"


VERSIONS = {
    "of these files": ({r"C:\k\x.exe": "1"}, receipt({"version": "1.2"}, x="1"), "1.2"),
    "of others": ({r"C:\k\x.exe": "2"}, receipt({"version": "1.2"}, x="1"), ""),
    "not noted": ({r"C:\k\x.exe": "1"}, None, ""),
}


@pytest.mark.parametrize(("hashes", "noted", "version"), VERSIONS.values(), ids=VERSIONS)
def test_the_version_that_is_noted(hashes: dict[str, str], noted: str | None, version: str) -> None:
    assert read_version(there(ONE, hashes, noted), ONE.receipt) == version


def test_a_folder_in_the_place_of_a_program_is_refused() -> None:
    reading = there(ONE, {}).merge({file_key(r"C:\k\x.exe"): {"exists": True, "kind": "directory"}})
    with pytest.raises(Refused, match=r"C:\\k\\x.exe should be a program, but is a directory"):
        ONE.change(reading)


def test_new_files_wait_on_the_drive_that_they_are_for() -> None:
    assert staging(STATE, r"c:\k\x.exe", "n") == r"C:\state\staging\n"
    assert staging(STATE, r"D:\k\x.exe", "n") == r"D:\k\.winkube-staging\n"
    other = replace(ONE, files=(("", r"D:\k\x.exe"),))
    ops = other.stage()
    assert said(ops)[:2] == [r"mkdir D:\k\.winkube-staging", r"mkdir D:\k\.winkube-staging\x-b1"]
    assert "sddl" in ops[0].args
    assert receipt_of(STATE, "x") == r"C:\state\receipts\x.json"
