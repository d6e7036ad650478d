"""The harness can fail: a wrong expectation is found, for each kind of case and each thing that is looked at."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.case import Case, CaseError, Tree, all_cases, load_cases, ops_of
from tests.contract.check import differences, failures, tree_differences
from tests.contract.implementations import Found, Place
from tests.contract.place_script import script, script_block
from tests.contract.powershell import last_json, payload
from tests.contract.resident import PowerShellError
from tests.contract.simulated import Simulated
from tests.contract.web import serve


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with serve() as address:
        yield address


def _cases(folder: Path, *entries: Mapping[str, Any]) -> tuple[Case, ...]:
    (folder / "x.yml").write_text(yaml.safe_dump({"about": "x", "cases": list(entries)}))
    return load_cases(folder)


GOOD: dict[str, Any] = {
    "name": "writes",
    "op": "write",
    "args": {"path": "{root}\\a", "content": "{base64:x}"},
    "after": {"files": {"a": "x"}},
    "result": {"changed": True},
    "again": {"result": {"changed": False}},
    "undo": [{"op": "remove", "args": {"path": "{root}\\a"}}],
}


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({}, ""),
        ({"after": {"files": {"a": "y"}}}, "a holds"),
        ({"after": {"files": {}}}, "a should not be there"),
        ({"after": {"files": {"a": "x", "b": "y"}}}, "b is missing"),
        ({"after": {"files": {"a": "x"}, "registry": {"k": {}}}}, "the registry holds"),
        ({"result": {"changed": False}}, "result.changed"),
        ({"again": {"result": {"changed": True}}}, "result, run again.changed"),
        ({"undo": []}, "after the undo: a should not be there"),
        ({"undone": {"files": {"a": "x"}}}, "after the undo: a is missing"),
        ({"hidden": ["changed"]}, "'changed' can be seen"),
    ],
)
def test_a_wrong_expectation_is_found(tmp_path: Path, web: str, change: Mapping[str, Any], finding: str) -> None:
    (case,) = _cases(tmp_path, {**GOOD, **change})
    wrong = failures(case, Simulated(web))
    assert bool(wrong) is bool(finding)
    assert finding in "\n".join(wrong)


def test_an_op_that_works_although_it_should_fail_is_found(tmp_path: Path, web: str) -> None:
    entry = {key: GOOD[key] for key in ("name", "op", "args")}
    (case,) = _cases(tmp_path, {**entry, "fails": "disk"})
    assert "wanted undone" in "\n".join(failures(case, Simulated(web)))


def test_a_wrong_answer_of_a_query_or_conversation_is_found(tmp_path: Path, web: str) -> None:
    query, talk = _cases(
        tmp_path,
        {"name": "q", "query": {"op": "file", "path": "{root}\\a"}, "value": {"exists": True}},
        {"name": "t", "steps": [{"send": {"id": "a", "ops": []}, "answer": {"outcome": "undone"}}]},
    )
    assert failures(query, Simulated(web)) == ["value.exists: wanted True, found False"]
    assert failures(talk, Simulated(web)) == ["step 1, answer.outcome: wanted 'undone', found 'done'"]


@pytest.mark.parametrize(
    ("wanted", "found", "same"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": "$absent"}, {"a": 1}, False),
        ([1], [1, 2], False),
        ("~^a", "Abc", True),
        ("~^a", 1, False),
        ("$int", True, False),
        ("$time", "2026-11-21T09:00:00.0000000Z", True),
        ("$time", "21.11.2026", False),
        ("$filled", [], False),
        ({"$has": [{"a": 1}]}, [{"a": 2}, {"a": 1, "b": 1}], True),
        ({"$has": [{"a": 1}]}, [{"a": 2}], False),
        ({"$hasnot": [{"a": 2}]}, [{"a": 2}], False),
    ],
)
def test_values_are_compared(wanted: Any, found: Any, same: bool) -> None:
    assert (differences(wanted, found) == []) is same


def test_trees_are_compared_whole() -> None:
    place = Place("C:\\r", "C:\\s")
    found = Found({"d/": None, "d/f": b"x"}, {})
    assert tree_differences(Tree({"d/f": "x"}), found, place) == []
    assert tree_differences(Tree({"d/": None}), found, place) == ["d/f should not be there"]


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"name": "x", "op": "mkdir"}, "needs op and args"),
        ({"name": "x", "op": "mkdir", "args": {}, "befor": {}}, "no key befor"),
        ({"name": "x", "op": "mkdir", "args": {}, "needs": ["luck"]}, "nothing provides luck"),
        ({"name": "x", "op": "mkdir", "args": {}, "fails": "a", "result": {}}, "both fails and result"),
        ({"name": "x", "steps": [{"sned": {}}]}, "no key sned"),
        ({"name": "x", "op": "mkdir", "args": {}, "after": {"file": {}}}, "files and registry"),
    ],
)
def test_a_case_that_is_wrong_is_refused_by_name(tmp_path: Path, entry: Mapping[str, Any], sentence: str) -> None:
    with pytest.raises(CaseError, match=sentence):
        _cases(tmp_path, entry)


def test_paths_take_the_separators_of_the_node() -> None:
    linux = Place("/srv/r", "/srv/s", {"shell": "/bin/sh"})
    assert linux.fill("{root}\\a\\b") == "/srv/r/a/b"
    assert linux.fill("HKLM\\SOFTWARE") == "HKLM\\SOFTWARE"
    assert linux.fill({"x": ["{shell}", "{file_root}/a"]}) == {"x": ["/bin/sh", "file:///srv/r/a"]}
    assert Place("C:\\r", "C:\\s").fill("{root}\\a") == "C:\\r\\a"


def test_modules_are_packed_as_ansible_packs_them() -> None:
    script, stdin = payload("node_apply", {"batch": "x"}, check_mode=True)
    assert "Ansible requires PowerShell" in script
    assert b"node_apply.ps1" in stdin
    assert b'"CSharpModules": []' in stdin, "C# is compiled in each call"
    assert b'"_ansible_check_mode": true' in stdin


def test_what_is_placed_fits_into_one_argument_and_is_no_template() -> None:
    from ansible_collections.winkube.node.plugins.plugin_utils.node.runner_text import runner_text

    data = base64.b64encode(runner_text().encode()).decode()
    request = {"verb": "put", "files": [{"path": "runner.ps1", "kind": "file", "data": data}]}
    text = script(request, registry=True)
    # Linux: MAX_ARG_STRLEN, 32 pages; the script travels as JSON in `ansible -a`.
    assert len(json.dumps({"script": text})) < 96 * 1024
    assert not any(mark in text for mark in ("{{", "{%", "{#"))
    packed = text.split("FromBase64String('")[1].split("'")[0]
    sent = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert sent == {"verb": "put", "files": [{"path": "runner.ps1", "kind": "file", "text": runner_text()}]}


def test_a_link_to_nothing_gets_its_target_for_a_moment() -> None:
    """Windows PowerShell's New-Item refuses a link to what is not there: the cases failed before they began."""
    made = [line.strip() for line in script_block().splitlines() if "New-Item" in line]
    assert made == ["$null = New-Item -ItemType $Kind -Path $Path -Target $Target"]
    before, after = script_block().split(made[0])
    assert "WriteAllText($Target, '')" in before and "CreateDirectory($Target)" in before
    assert "[IO.File]::Delete($Target)" in after and "[IO.Directory]::Delete($Target)" in after


def test_what_a_module_prints_is_read() -> None:
    assert last_json('WARNING: x\n{"changed": false}\r\nbye') == {"changed": False}
    with pytest.raises(PowerShellError, match="no JSON"):
        last_json("Access is denied")


def test_no_case_gives_cmd_a_quotation_mark() -> None:
    r"""It would get `\"`, which ends a quotation for cmd.exe and is a character for the program that it starts."""
    told = [
        (case.id, words)
        for case in all_cases()
        if "linux" not in case.needs and "shell" in case.needs
        for op in ops_of(case)
        if (words := op["args"].get("args") or []) and words[0] == "{shell_flag}"
    ]
    assert len(told) > 10
    assert [case for case, words in told if any('"' in word for word in words)] == []
