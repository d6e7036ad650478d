"""The table of rows is whole, and a row counts as done only when a test that claims it has passed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.rows import __main__ as report
from tests.rows.from_requirements import owners_in, render, rows_in
from tests.rows.judges import LABS_OWN, count_judges, judge_of, judges
from tests.rows.record import objection
from tests.rows.table import PIECES, Row, load_rows, row_from

pytestmark = pytest.mark.quick

_DOCUMENT = """
# Part A. Rows
| NY-01 | a |
| NY-02 | b |
| CT-01 | c |
| CT-02 | d |
| CT-03 | e |

# Part B. Blocks
| CT-09 | not a row |

# Part D. Owners
| piece | rows | which |
|---|---|---|
| one node | 4 | NY all; CT 1,3 |
| cri | 1 | CT 2 |

# Part E.
"""


def test_every_row_has_its_owner_in_the_agreed_numbers() -> None:
    rows = load_rows()
    assert Counter(row.piece for row in rows.values()) == PIECES
    assert len(rows) == sum(PIECES.values()) == 487
    groups = Counter(row[:2] for row in rows)
    announced = (
        "NY 26, IS 7, PV 21, CT 51, HP 13, NW 36, FL 16, KU 33, KP 17, JR 9, SV 22, "
        "SM 20, SC 19, ST 13, RS 14, SE 17, VC 24, LM 74, OB 8, TS 22, LG 7, KE 18"
    )
    assert ", ".join(f"{group} {count}" for group, count in groups.items()) == announced


@pytest.mark.parametrize(
    ("row", "piece"),
    [
        ("NY-13", "one node"),
        ("CT-20", "one node"),
        ("CT-21", "cri"),
        ("CT-49", "cluster"),
        ("CT-50", "linter"),
        ("PV-16", "provisioner"),
        ("HP-09", "cluster"),
        ("NW-36", "whole node"),
        ("SE-16", "hardening"),
        ("KE-18", "documents"),
    ],
)
def test_owner_of_a_row(row: str, piece: str) -> None:
    assert load_rows()[row].piece == piece


def test_rows_are_read_from_the_requirements() -> None:
    ids = rows_in(_DOCUMENT)
    assert ids == ["NY-01", "NY-02", "CT-01", "CT-02", "CT-03"]
    owners = owners_in(_DOCUMENT, ids)
    assert owners == {
        "NY-01": "one node",
        "NY-02": "one node",
        "CT-01": "one node",
        "CT-03": "one node",
        "CT-02": "cri",
    }
    kept = {"CT-02": Row("CT-02", "cri", 'it is "not" wanted any more')}
    text = render(ids, owners, kept)
    assert 'CT-02: {piece: cri, declined: "it is \\"not\\" wanted any more"}\n' in text


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("| one node | 4 |", "| one node | 5 |", "piece 'one node': the table announces 5 rows and names 4"),
        ("CT 1,3", "CT 1-2", "CT-02 is owned by 'one node' and by 'cri'"),
        ("CT 1,3", "CT 1,7", "piece 'one node' names CT-07, which part A does not have"),
        ("| cri | 1 | CT 2 |", "", "rows that no piece owns: CT-02"),
    ],
)
def test_requirements_that_do_not_agree(old: str, new: str, sentence: str) -> None:
    document = _DOCUMENT.replace(old, new)
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        owners_in(document, rows_in(document))


@pytest.mark.parametrize(
    ("row_id", "entry", "sentence"),
    [
        ("NY-1", {"piece": "cri"}, "is not a row id"),
        ("NY-01", {"piece": "nobody"}, "names the piece 'nobody'"),
        ("NY-01", {"piece": "cri", "declined": ""}, "without a reason"),
        ("NY-01", {"piece": "cri", "declined": None}, "without a reason"),
        ("NY-01", {"piece": "cri", "done": True}, "wanted is"),
        ("NY-01", "cri", "wanted is"),
    ],
)
def test_wrong_entries(row_id: str, entry: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        row_from(row_id, entry)


def test_claims_that_are_refused() -> None:
    rows = {"NY-01": Row("NY-01", "one node"), "NY-02": Row("NY-02", "one node", "nobody needs it now")}
    assert objection("t", ("NY-01",), rows) is None
    assert objection("t", ("NY-01", "NY-99"), rows) == "t: there is no row 'NY-99' in tests/rows.yml"
    assert "is declined" in str(objection("t", ("NY-02",), rows))


@pytest.mark.parametrize(
    ("outcomes", "with_results", "state"),
    [
        (["passed"], True, "done"),
        (["passed", "skipped"], True, "done"),
        (["passed", "failed"], True, "not yet"),
        (["skipped"], True, "not yet"),
        ([None], True, "not yet"),
        ([], True, "not yet"),
        ([None], False, "claimed"),
        ([], False, "not yet"),
    ],
)
def test_state_of_a_row(outcomes: list[str | None], with_results: bool, state: str) -> None:
    tests = {f"t{number}": {"rows": ["NY-01"], "outcome": outcome} for number, outcome in enumerate(outcomes)}
    claims = report.claims_in(tests).get("NY-01", [])
    assert report.state_of(Row("NY-01", "one node"), claims, with_results=with_results) == state


def test_declined_is_declined() -> None:
    assert report.state_of(Row("NY-01", "one node", "nobody needs it"), [], with_results=True) == "declined"


def test_report_counts_every_row_once() -> None:
    rows = load_rows()
    claims = report.claims_in({"t": {"rows": ["NY-01", "PV-16"], "outcome": "passed"}})
    lines = report.report(rows, claims, with_results=True)
    assert lines[0].split() == ["piece", "rows", "done", "declined", "not", "yet"]
    declined_here = sum(row.declined is not None for row in rows.values() if row.piece == "one node")
    assert lines[1].split() == ["one", "node", "58", "1", str(declined_here), str(57 - declined_here)]
    declined = sum(row.declined is not None for row in rows.values())
    assert lines[-1].split() == ["all", "487", "2", str(declined), str(485 - declined)]


def test_unverified_marks_are_counted(tmp_path: Path) -> None:
    (tmp_path / "flags.py").write_text(
        "unverified: bool = False\nA = 1  # unverified\nB = 2\nC = 3  # unverified: from memory\n", encoding="utf-8"
    )
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "os.yml").write_text("a: {unverified: true}\nverified: 1\n", encoding="utf-8")
    assert report.unverified_marks(tmp_path) == {"flags.py": 2, "sub/os.yml": 1}


def test_each_program_of_the_lab_names_what_judged_it() -> None:
    assert [name for name, judge in judges(report.ROOT / report.PROGRAMS).items() if judge is None] == []
    assert all((report.ROOT / report.PROGRAMS / f"{name}.py").is_file() for name in LABS_OWN)


@pytest.mark.parametrize(
    ("line", "judge"),
    [
        ("x.exe, judged by memory.", "memory"),
        ("x.exe, judged by Wine.", "Wine"),
        ("x.exe, judged by transcripts.", "transcripts"),
        ("x.exe, judged by kubernetes v1.37.1 cmd/x/main.go.", "source"),
        ("x.exe, judged by owner/name 10bd8800 main.go.", "source"),
        ("x.exe, judged by kubernetes cmd/x/main.go.", None),
        ("x.exe, judged by kubernetes v1.37.1.", None),
        ("x.exe: what it does.", None),
    ],
)
def test_a_judge_is_of_a_kind_and_a_source_has_tag_and_path(line: str, judge: str | None) -> None:
    assert judge_of(f'"""{line}\n\nMore.\n"""\n') == judge


def test_programs_are_counted_by_their_judge(tmp_path: Path) -> None:
    for name, text in (("a", "a.exe, judged by memory."), ("b", "b.exe."), ("worker", "The lab's own.")):
        (tmp_path / f"{name}.py").write_text(f'"""{text}"""\n', encoding="utf-8")
    assert count_judges(tmp_path) == {"memory": 1, "nothing": 1}
