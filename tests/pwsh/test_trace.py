"""The figures of the lane, of what it executes and of what it notices, from reports and traces of our own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from tests import yaml_text
from tests.contract import case
from tests.mutate.tree import Tree, Verdict
from tests.pwsh import mutate, statements, trace
from tests.pwsh.program import Platform, PowerShell
from tests.pwsh.report import not_run, summary
from tests.pwsh.statements import Change, Statement
from tests.unit.powershell import source
from tests.unit.powershell.source import FILES

TEXT = "function Get-X {\n    if ($a -lt 3) {\n        throw 'x'\n    }\n}\n"
OUTER = Statement(0, "powershell/x.ps1", "Get-X", 2, TEXT.index("if"), TEXT.index("    }") + 5, "IfStatementAst")
INNER = Statement(1, "powershell/x.ps1", "Get-X", 3, TEXT.index("throw"), TEXT.index("'x'") + 3, "ThrowStatementAst")
SIGN = TEXT.index("-lt")
CHANGE = Change("turned", "powershell/x.ps1", "Get-X", 2, SIGN, SIGN + 3, "-ge", 0)
CASE = "tests/contract/test_contract.py::test_real_powershell[a]"


def test_a_script_says_what_it_executes() -> None:
    assert statements.traced(TEXT, [OUTER, INNER]) == (
        "function Get-X {\n    Add-NodeTrace 0; if ($a -lt 3) {\n        Add-NodeTrace 1; throw 'x'\n    }\n}\n"
    )
    assert statements.changed(TEXT, CHANGE) == TEXT.replace("-lt", "-ge")


def test_what_is_executed_nowhere_is_listed_by_function_with_its_reason() -> None:
    executed: Mapping[Platform, Mapping[str, Sequence[int]]] = {"linux": {"a": [0]}, "windows": {"b": [0]}}
    assert trace.figures([OUTER, INNER], executed) == {"statements": 2, "linux": 1, "wine": 1, "nowhere": 1}
    missed = trace.nowhere([OUTER, INNER], executed)
    (line,) = trace.lines(missed, {"Get-X": "it needs luck"})
    assert line == "nowhere  powershell/x.ps1:Get-X  1 of 2 (lines 3): it needs luck"
    assert "NO REASON IS GIVEN" in trace.lines(missed, {})[0]
    assert trace.listed(missed).splitlines()[1:] == ["powershell/x.ps1:Get-X  1 of 2"]
    assert trace.nowhere([OUTER], executed) == []


def test_a_case_is_traced_where_it_ran_with_the_scripts_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That it ran with the scripts for people as they are says nothing of a changed script of the nodes."""
    monkeypatch.setenv("WINKUBE_CACHE", str(tmp_path / "cache"))
    both = [
        replace(OUTER, file=str(FILES[0].relative_to(source.ROOT))),
        replace(INNER, file=min(statements.FOR_PEOPLE)),
    ]
    everything = trace.untraced(both)
    nodes, people = trace.parts("linux", both)
    ran = f"{trace.CASE}{everything[0]}]"
    people.write({ran: []})
    assert trace.untraced(both) == everything
    nodes.write({ran: [0]})
    assert trace.untraced(both) == everything[1:]


def test_each_function_on_the_list_has_a_reason_and_each_reason_a_function() -> None:
    """The list is of the last run of `make pwsh-trace`."""
    names = [line.partition("  ")[0] for line in trace.LIST.read_text().splitlines()[1:]]
    missed = {name.rpartition(":")[2] for name in names}
    assert missed == set(trace.reasons())
    assert not [name for name in names if name.startswith("playbooks/")], "each branch of these has a case"


def test_each_function_with_a_reason_is_there_once() -> None:
    named = [function for functions in yaml_text.load_file(trace.REASONS).values() for function in functions]
    assert sorted(named) == sorted(trace.reasons())
    assert set(named) <= {trace.OUTSIDE} | {
        function.name for path in (*FILES, *statements.PEOPLE) for function in source.read(path).functions
    }


def test_what_each_test_executed_is_kept_as_long_as_the_scripts_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINKUBE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tests.pwsh.program.ROOT", tmp_path)
    script = tmp_path / "powershell" / "x.ps1"
    script.parent.mkdir()
    script.write_text(TEXT)
    traces = tmp_path / "traces"
    traces.mkdir()
    for name, noted in (("a", "t[a]\n1\n0\n1\n"), ("b", "t[b]\n")):
        (traces / name).write_text(noted)
    trace.keep(trace.parts("linux", [OUTER, INNER]), traces)
    assert trace.kept("linux", [OUTER, INNER]) == {"t[a]": [0, 1], "t[b]": []}
    assert trace.kept("windows", [OUTER, INNER]) == {}
    script.write_text(TEXT + "\n")
    assert trace.kept("linux", [OUTER, INNER]) == {}


def test_what_was_executed_of_the_scripts_for_people_is_known_when_the_others_have_more_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINKUBE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tests.pwsh.program.ROOT", tmp_path)
    people = min(statements.FOR_PEOPLE)
    for file in (OUTER.file, people):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text(TEXT)
    theirs = replace(INNER, number=1, file=people)
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "a").write_text("t[a]\n0\n1\n")
    trace.keep(trace.parts("linux", [OUTER, theirs]), tmp_path / "traces")
    assert trace.kept("linux", [OUTER, theirs]) == {"t[a]": [0, 1]}
    (tmp_path / OUTER.file).write_text(TEXT + "\n")
    assert trace.kept("linux", [OUTER, INNER, replace(theirs, number=2)]) == {"t[a]": [2]}


class Copy:
    """Stands for a copy of the tree: its cases fail if the script has -ge."""

    def __init__(self) -> None:
        self.text = TEXT

    def read(self, _path: str) -> str:
        return self.text

    @contextmanager
    def changed(self, _path: str, text: str) -> Iterator[None]:
        before, self.text = self.text, text
        yield
        self.text = before

    def run(self, tests: Sequence[str], _limit_s: float, *_arguments: str) -> Verdict:
        if not tests:
            return Verdict("nothing", "", "no tests ran")
        return Verdict("failed", tests[0], "") if "-ge" in self.text else Verdict("passed", "", "")


def test_a_change_is_noticed_survives_or_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "write_programs", lambda _tree: None)
    copy = cast(Tree, Copy())
    bound = replace(CHANGE, what="bound", new="-le")
    noticed = mutate.judge_one(CHANGE, [CASE], copy, {})
    assert (noticed.state, noticed.test) == ("noticed", CASE)
    survivor = mutate.judge_one(bound, [CASE], copy, {})
    assert (survivor.state, survivor.name) == ("survived", "Get-X: bound: if ($a [-lt -> -le] 3) {")
    assert mutate.judge_one(bound, [CASE], copy, {survivor.name: "three is never given"}).state == "equivalent"
    assert mutate.judge_one(CHANGE, [], copy, {}).state == "not run"


def test_a_run_goes_on_where_the_one_before_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINKUBE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tests.pwsh.program.ROOT", tmp_path)
    (tmp_path / "powershell").mkdir()
    (tmp_path / "powershell" / "x.ps1").write_text(TEXT)
    kept = mutate.Noticed.of([OUTER])
    kept.file.parent.mkdir(parents=True)
    assert [each.state for each in mutate.judge([CHANGE], {}, kept, {}, 1, 0)] == ["not run"]
    kept.add(mutate.Result(CHANGE, "x", "noticed", CASE))
    (again,) = mutate.judge([CHANGE], {}, mutate.Noticed.of([OUTER]), {}, 1, 0)
    assert (again.state, again.test) == ("noticed", CASE)
    known = "Get-X: turned: if ($a [-lt -> -ge] 3) {"
    assert mutate.stale([known, "Get-X: bound: -lt -> -le"], [CHANGE]) == ["Get-X: bound: -lt -> -le"]


def test_changes_are_drawn_from_what_cases_execute_and_the_narrowest_cases_run() -> None:
    wide = CASE.replace("[a]", "[wide]")
    by_test = {wide: [0, 1, 2], CASE: [0], "tests/contract/test_logs.py::x": [9]}
    outside = replace(CHANGE, within=9)
    assert mutate.drawn([CHANGE, outside], by_test, 1, 5) == [CHANGE]
    assert mutate.tests_for(CHANGE, by_test) == [CASE, wide]


def test_the_lanes_line_of_figures() -> None:
    cases = [
        case.Case("x", name, "op", frozenset(needs), case.Tree(), {})
        for name, needs in (("a", ()), ("b", ("hns", "task")))
    ]
    ran: list[Mapping[str, Any]] = [
        {"test": "x-a", "kind": "case", "outcome": "passed", "starts": [1.0, 2.0, 4.0], "seconds": 8.0},
        {"test": "y", "kind": "people", "outcome": "failed", "starts": [], "seconds": 1.0},
    ]
    left = list(not_run(cases, frozenset(), {"x-a"}))
    assert left == [{"test": "x-b", "kind": "case", "outcome": "not provided", "lacks": ["hns", "task"]}]
    said = summary([*ran, *left], PowerShell("linux", Path("/pwsh"), "7.6.9", "PATH"), 9.4)
    assert (said["cases"], said["provided"], said["passed"], said["failed"]) == (2, 1, 1, 0)
    assert (said["not_provided"], said["people"], said["others_failed"]) == ({"hns": 1, "task": 1}, 0, 1)
    assert (said["starts"], said["median_start"], said["seconds"]) == (3, 2.0, 9)
    assert list(not_run(cases[:1], frozenset(), ())) == [{"test": "x-a", "kind": "case", "outcome": "not run"}]
