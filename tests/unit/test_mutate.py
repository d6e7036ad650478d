"""The mutation run's own parts: which changes there are, and which of them is of a row's value."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from tests.mutate.__main__ import drawn, usual
from tests.mutate.choice import Crowd, Traced, ranked
from tests.mutate.mutants import mutants_of
from tests.mutate.words import constants, lines_naming, words_of

# Older ones do not say where in a formatted text its parts stand.
FORMATTED = ["--v="] if sys.version_info >= (3, 12) else []
CODE = '''"""A module."""
LIMIT = 4096
FLAGS = ("--windows-service", f"--v={LIMIT}")


def problem(value: str = "no") -> bool:
    """A docstring."""
    return value != "ABOVE_NORMAL" and True
'''


def changed(text: str, path: str = "plugins/x.py") -> dict[str, str]:
    """What stands there -> the whole text with the change."""
    return {mutant.old: mutant.apply(text) for mutant in mutants_of(path, text)}


def test_every_value_of_a_python_file_once_and_no_prose() -> None:
    found = changed(CODE)
    assert set(found) == {
        "4096",
        '"--windows-service"',
        *FORMATTED,
        '"no"',
        'value != "ABOVE_NORMAL"',
        '"ABOVE_NORMAL"',
        "True",
    }
    assert "LIMIT = 4097\n" in found["4096"]
    assert "('--windows-servicex', f" in found['"--windows-service"']
    assert all('f"--v=x{LIMIT}"' in found[part] for part in FORMATTED)
    assert 'value != "ABOVE_NORMAL" and False' in found["True"]
    assert "return (value == 'ABOVE_NORMAL') and" in found['value != "ABOVE_NORMAL"']
    for text in found.values():
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(CODE))


def test_bytes_before_a_value_do_not_shift_it() -> None:
    assert changed('A = "ü"; B = 7\n')["7"] == 'A = "ü"; B = 8\n'


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("roles/x/defaults/main.yml", "port: 4096  # of 7\n", {"port": "portx: 4096", "4096": "port: 4097"}),
        ("roles/x/defaults/main.yml", "on: true\n", {"true": "on: false"}),
        ("roles/x/meta/argument_specs.yml", "  description: of 4096 bytes\n", {}),
        ("plugins/x.ps1", "$a = $true  # 12\n", {"$true": "$a = $false"}),
        ("roles/x/templates/x.j2", "image: 3.10  {# 12 #}\n", {"image": "imagex: 3.10", "3.10": "3.11"}),
    ],
)
def test_values_of_other_files(path: str, text: str, expected: dict[str, str]) -> None:
    found = changed(text, path)
    assert set(expected) <= set(found) if expected else not found
    assert all(part in found[old] for old, part in expected.items())
    assert "12" not in found


def test_the_value_that_the_test_names_and_few_others_come_by() -> None:
    lines = frozenset({("plugins/x.py", 2), ("plugins/x.py", 8)})
    one = Traced(lines, {"ABOVE_NORMAL": 1.0})
    other = Traced(frozenset({("plugins/x.py", 2)}), {4096: 1.0})
    crowd = Crowd.of([one, other], [one.words, other.words])
    candidates = list(mutants_of("plugins/x.py", CODE))
    assert ranked(candidates, one, crowd)[0][1].value == "ABOVE_NORMAL"
    assert ranked(candidates, other, crowd)[0][1].value == 4096
    assert ranked(candidates, Traced(frozenset(), {4096: 1.0}), crowd) == [], "no line of it is executed"
    nothing = Traced(frozenset({("plugins/x.py", 2)}), {"hello": 1.0})
    assert ranked(candidates, nothing, crowd) == [], "nothing of it is named"


def test_code_that_names_the_row_is_the_rows() -> None:
    text = 'RULES = [\n    rule("LM-01", level=7),\n    rule("LM-02", level=8),\n]\n'
    assert lines_naming(text, "LM-02") == {3}
    lines = frozenset({("plugins/x.py", 2), ("plugins/x.py", 3)})
    traced = Traced(lines, {}, frozenset({("plugins/x.py", 3)}))
    best = ranked(mutants_of("plugins/x.py", text), traced, Crowd.of([traced], [()]))
    assert [(mutant.line, mutant.old) for _, mutant in best] == [(3, "8")], "the id itself is no value"


def test_words_of_a_row_are_those_beside_its_id_or_of_its_test(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(
        'NAMES = ["kubelet"]\nCASES = [("VC-09", "1.36.1"), ("VC-10", "pause")]\n\n\n'
        'def test_one() -> None:\n    """Of mice."""\n    assert NAMES == ["--register-node", 77]\n',
        encoding="utf-8",
    )
    beside = words_of(tmp_path, "VC-09", ["test_x.py::test_one[VC-09]"])
    assert beside["1.36.1"] == 1.0
    assert beside["--register-node"] == 0.5
    assert "pause" not in beside
    assert words_of(tmp_path, "KU-01", ["test_x.py::test_one"]) == {"--register-node": 1.0, 77: 1.0, "kubelet": 0.5}


def test_a_docstring_says_nothing_of_the_value() -> None:
    function = ast.parse('def f():\n    """Mice and men."""\n    return "cheese"\n').body[0]
    assert set(constants(function)) == {"cheese"}


def test_rows_are_drawn_by_the_seed() -> None:
    claims = {f"AB-{number:02}": ["tests/unit/test_x.py::test_y"] for number in range(40)}
    assert drawn(claims, 1, 30) == drawn(dict(reversed(claims.items())), 1, 30)
    assert drawn(claims, 1, 30) != drawn(claims, 2, 30)
    assert len(set(drawn(claims, 1, 30))) == 30
    assert len(drawn(claims, 1, 99)) == 40


def test_quick_tests_come_first_and_real_programs_never() -> None:
    unit, lab, real = "tests/unit/test_a.py::a", "tests/integration/test_b.py::b", "tests/real/test_c.py::c"
    assert usual([lab, unit, real]) == [unit]
    assert usual([lab, real]) == [lab]
    assert usual([real]) == []
