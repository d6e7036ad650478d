"""Which scenarios are enough: the cheapest that together execute everything, the marker in their files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.cover import tracer
from tests.cover.choice import Scenario, choose
from tests.cover.marks import is_spare, lost_rows, marked
from tests.cover.record import tasks

ROOT = Path(__file__).resolve().parents[2]


def of(name: str, cost_s: float, covers: str, *, bound: bool = False) -> Scenario:
    return Scenario(name, cost_s, frozenset(covers), bound)


ALL = of("all", 9, "abcde")
CHEAP = of("cheap", 1, "abc")
LAST = of("last", 2, "de")
ALONE = of("alone", 5, "f")
CHOICES: dict[str, tuple[list[Scenario], str, float, set[str]]] = {
    "two that cost less than one": ([ALL, CHEAP, LAST], "", 0, {"cheap", "last"}),
    "one that costs less than two": ([of("all", 2, "abcde"), CHEAP, LAST], "", 0, {"all"}),
    "what is executed by one only": ([ALL, CHEAP, LAST, ALONE], "", 0, {"cheap", "last", "alone"}),
    "what others execute is not a reason": ([ALL, CHEAP, LAST, ALONE], "f", 0, {"cheap", "last"}),
    "one that stays spares others": ([of("all", 9, "abcde", bound=True), CHEAP, LAST], "", 0, {"all"}),
    "what a budget leaves is spent": ([ALL, CHEAP, LAST, of("twin", 1, "abc")], "", 4, {"cheap", "last", "twin"}),
    "and no more": ([ALL, CHEAP, LAST], "", 11, {"cheap", "last"}),
    "one that later ones have made needless": (
        [of("first", 2, "abcd"), of("left", 1.5, "abe"), of("right", 1.5, "cdf")],
        "",
        0,
        {"left", "right"},
    ),
}


@pytest.mark.parametrize(("tests", "covered", "budget_s", "kept"), CHOICES.values(), ids=CHOICES)
def test_the_cheapest_that_execute_everything(
    tests: list[Scenario], covered: str, budget_s: float, kept: set[str]
) -> None:
    choice = choose(tests, frozenset(covered), budget_s)
    assert {each.name for each in choice.kept} == kept
    assert {each.name for each in choice.spare} == {each.name for each in tests} - kept


FILE = """import pytest


@pytest.mark.row("XX-01")
@pytest.mark.parametrize("way", ["a", "b"])
def test_one(way: str) -> None:
    assert way


def test_two() -> None:
    assert helper()
"""


def test_the_marker_is_set_and_taken_off() -> None:
    both = marked(FILE, {"test_one": ["b"], "test_two": []})
    assert '@pytest.mark.spare("b")\n@pytest.mark.row("XX-01")\n' in both
    assert "@pytest.mark.spare\ndef test_two" in both
    assert marked(both, {"test_one": ["b"], "test_two": []}) == both
    bare = "from __future__ import annotations\n\ndef test_one() -> None: ...\n"
    assert "annotations\nimport pytest\n" in marked(bare, {"test_one": []})
    assert marked(bare, {}) == bare
    assert '@pytest.mark.spare("C:\\\\k")' in marked(FILE, {"test_one": ["C:\\k"]})
    assert marked(both.replace('("b")', '(\n    "b",\n)'), {}) == FILE
    few = marked(FILE, {"test_one": ["b", "c", "d"], "test_two": []}, {"test_one": ["a"]})
    assert '@pytest.mark.spare(keep=("a",))' in few, "the shorter list is told"
    assert "@pytest.mark.spare\n@pytest.mark.row" in marked(FILE, {"test_one": ["a", "b"]}, {}), "none is kept"


def item(row: str, case: str, *markers: pytest.MarkDecorator) -> pytest.Item:
    every = [pytest.mark.row(row).mark, *(marker.mark for marker in markers)]
    found: Any = SimpleNamespace(
        callspec=SimpleNamespace(id=case),
        iter_markers=lambda name: (marker for marker in every if marker.name == name),
        get_closest_marker=lambda name: next((marker for marker in every if marker.name == name), None),
    )
    return cast(pytest.Item, found)


def test_a_marker_is_for_its_cases_or_for_all() -> None:
    assert is_spare(item("XX-01", "b", pytest.mark.spare))
    assert is_spare(item("XX-01", "b", pytest.mark.spare("a", "b")))
    assert not is_spare(item("XX-01", "c", pytest.mark.spare("a", "b")))
    assert not is_spare(item("XX-01", "c"))


def test_a_row_that_spare_tests_alone_claim_is_found() -> None:
    spare = item("XX-01", "a", pytest.mark.spare)
    assert lost_rows([spare, item("XX-02", "a")]) == ["XX-01"]
    assert lost_rows([spare, item("XX-01", "b")]) == []
    assert lost_rows([spare, item("XX-01", "b", pytest.mark.exhaustive)]) == ["XX-01"]
    assert lost_rows([item("XX-01", "b", pytest.mark.exhaustive)]) == [], "that was not this choice's doing"


def test_how_tasks_have_ended() -> None:
    output = (
        "TASK [read] ****\nok: [win1]\nchanged: [win2]\n\nRUNNING HANDLER [again] ***\nfatal: [win1]: FAILED! => {}\n"
    )
    assert tasks(output) == {"task:read:ok", "task:read:changed", "task:again:fatal"}


def test_lines_and_ways_are_traced_once_until_they_are_asked_for_again(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    if sys.version_info < (3, 12):
        with pytest.raises(SystemExit, match=r"from Python 3\.12 on"):
            tracer.start(str(trace))
        return
    program = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.cover import tracer
import importlib.util
spec = importlib.util.spec_from_file_location("x", {str(ROOT / "plugins/plugin_utils/engine/windows_path.py")!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
tracer.start({str(trace)!r})
for path in ("C:\\\\k", "C:\\\\k", "k"):
    module.problem(path)
tracer.restart()
module.is_same("a", "A")
module.is_same("a", "b")
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    seen = trace.read_text().splitlines()
    assert {line.partition(":")[0] for line in seen} == {"plugins/plugin_utils/engine/windows_path.py"}
    ways = [line for line in seen if "@" in line]
    assert len(ways) == len(set(ways))
    starts = [way.partition(">")[0] for way in ways]
    assert any(starts.count(start) == 2 for start in starts), "both ways of the question whether a drive is named"
