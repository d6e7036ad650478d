"""The mutation run's own parts: which changes there are, and which of them is of a row's value."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from tests.mutate.__main__ import drawn, limit_s, subjects, usual
from tests.mutate.choice import Crowd, Traced, ranked
from tests.mutate.mutants import mutants_of, phrases_in
from tests.mutate.tracer import FOLDERS, ROOT, may_have_values, project_path
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


def test_of_a_version_there_is_a_next_one() -> None:
    assert changed('A = "0.12.0"\n')['"0.12.0"'] == "A = '0.12.1'\n"


def test_a_sentence_is_changed_where_its_parts_are_looked_for() -> None:
    assert changed('A = "it is not there"\n')['"it is not there"'] == "A = 'it is nxot there'\n"


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
    assert [(mutant.line, mutant.old) for _, mutant in best] == [(3, "8")], "the id itself is not a value"


GUARDED = """def check(system, files, wanted):
    if not system["elevated"]:
        raise Refused("The user is not an administrator on this host.")
    if 0 in files or sum(files) >= wanted:
        return ""
    return "The page files are too small for it."
"""


@pytest.mark.parametrize(
    ("looked_for", "condition"),
    [
        ("is not an administrator on this host", 'not system["elevated"]'),
        ("page files are too small", "0 in files or sum(files) >= wanted"),
    ],
)
def test_where_a_test_looks_for_a_sentence_the_value_is_what_decides_on_it(looked_for: str, condition: str) -> None:
    traced = Traced(frozenset(("plugins/x.py", line) for line in range(1, 7)), {looked_for: 1.0})
    best = ranked(mutants_of("plugins/x.py", GUARDED), traced, Crowd.of([traced], [traced.words]))[0][1]
    assert (best.old, best.new) == (condition, f"(not ({condition}))")


def test_the_file_that_the_tests_are_called_after_comes_first() -> None:
    paths = ("plugins/kubelet_check.py", "plugins/kube_proxy_args.py")
    lines = frozenset((path, 2) for path in paths)
    traced = Traced(
        lines, {"hostname-override": 1.0}, subjects=subjects(["tests/unit/test_kube_proxy_args.py::test_x"])
    )
    text = 'def f(line):\n    return line.last("hostname-override")\n'
    candidates = [mutant for path in paths for mutant in mutants_of(path, text)]
    best = ranked(candidates, traced, Crowd.of([traced], [traced.words]))
    assert [mutant.path for _, mutant in best] == ["plugins/kube_proxy_args.py", "plugins/kubelet_check.py"]


def test_what_rules_say_to_people_is_no_value() -> None:
    assert list(changed('R = Rule(id="x", title="Memory", remedy="Remove it.")\n')) == ['"x"']


def test_a_page_is_changed_where_it_says_what_the_test_looks_for() -> None:
    page = "# Page\n\nThe CPU count of a running\ncontainer is fixed. It is so.\nIt is so.\n"
    found = list(
        phrases_in("docs/x.md", page, ["count of a running container", "It is so.", "fixed", "of mice and men"])
    )
    assert [(mutant.line, mutant.old) for mutant in found] == [(3, "count of a running\ncontainer")]
    assert "count of a running" not in found[0].apply(page)


def test_a_function_that_the_rows_entry_names_is_the_rows() -> None:
    text = 'def find(case):\n    return case == "Memory"\n\n\nRULES = (rule("LM-36", find=find, level=always(3)),)\n'
    assert lines_naming(text, "LM-36") == {1, 2, 5}


def test_words_out_of_sentences_and_of_arguments(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(
        'ROWS = [pytest.param("--proxy-mode=userspace", "which overlay networks of HNS-1 do not support", '
        'marks=pytest.mark.row("KP-06"))]\n\n\ndef test_one() -> None:\n    pass\n',
        encoding="utf-8",
    )
    words = words_of(tmp_path, "KP-06", ["test_x.py::test_one"])
    assert {word: words[word] for word in ("proxy-mode", "userspace", "HNS-1", "networks")} == {
        "proxy-mode": 1.0,
        "userspace": 1.0,
        "HNS-1": 1.0,
        "networks": 0.3,
    }


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
    named = {"--register-node": 1.0, "register-node": 1.0, 77: 1.0, "kubelet": 0.5}
    assert words_of(tmp_path, "KU-01", ["test_x.py::test_one"]) == named


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
    many = [f"tests/integration/test_{file}.py::test_{number}" for file in "cd" for number in range(5)]
    assert [test[-12:] for test in usual(many)] == ["c.py::test_0", "d.py::test_0", "c.py::test_1"]
    assert limit_s([unit, unit]) * 3 == limit_s(many[:3])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (f"{ROOT}/plugins/modules/hns_check.py", "plugins/modules/hns_check.py"),
        ("/x/ansible_collections/winkube/node/roles/host/tasks/main.yml", "roles/host/tasks/main.yml"),
        ("/x/ansible_collections/winkube/node/plugins/__synthetic__", None),
        (f"{ROOT}/tests/unit/test_mutate.py", None),
        ("/usr/lib/python3/json.py", None),
    ],
)
def test_only_files_of_the_collection_are_traced(name: str, expected: str | None) -> None:
    assert project_path(name, FOLDERS) == expected


def test_a_packed_table_is_not_changed() -> None:
    assert not may_have_values("plugins/plugin_utils/facts/codes.txt.gz")
    assert may_have_values("plugins/plugin_utils/facts/looked_up.txt")
