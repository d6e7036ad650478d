"""Templates of the collection are compiled once: for all workers of a run, and for later runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.winkube.node.plugins.plugin_utils.task import node_plan, template_cache
from ansible_collections.winkube.node.plugins.plugin_utils.task.template_cache import OF_FILES, cache_templates
from jinja2 import Environment

from tests.unit.task.test_rendering import ROLES, known, trusted

TEXT = "{{ winkube_root | upper }} and {{ winkube_pause_image is defined }}"
FILE = "  {% if true %}\n  [a]\n  {% endif %}\nroot = '{{ winkube_root }}\\k'\n"
Fresh = Callable[[], None]


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What Jinja makes Python of."""
    made: list[Any] = []
    real = Environment._generate

    def counted(*given: Any, **named: Any) -> Any:
        made.append(given)
        return real(*given, **named)

    monkeypatch.setattr(Environment, "_generate", counted)
    return made


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fresh]:
    """Forgets what this process knows, as the next run does."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = dict(template_cache._COMPILED)
    template_cache._COMPILED.clear()
    yield template_cache._COMPILED.clear
    template_cache._COMPILED.clear()
    template_cache._COMPILED.update(before)


def rendered(text: str, *, as_file: bool = False) -> Any:
    templar = Templar(DataLoader(), known({"winkube_root": "C:\\k"}))
    return templar.template(trusted(text), **(OF_FILES if as_file else {}))


def test_templates_of_the_roles_are_compiled_before_workers_are_forked(generated: list[Any]) -> None:
    """Each worker compiled them again; a user's own are left to Ansible."""
    node_plan.compile_templates()
    generated.clear()
    templar = Templar(loader=DataLoader(), variables=known({}))
    for _time in range(2):
        for text in ROLES.values():
            if isinstance(text, str) and "winkube_" in text:
                with suppress(AnsibleError):  # those that have no value yet
                    templar.template(trusted(text))
    assert generated == []
    for _time in range(2):
        assert templar.template(trusted("{{ inventory_hostname }} of a user")) == "WIN1 of a user"
    assert len(generated) == 2


def test_the_next_run_compiles_nothing(tmp_path: Path, fresh: Fresh, generated: list[Any]) -> None:
    kept = tmp_path / "folder" / "kept.pyc"
    seen = []
    for _run in range(2):
        cache_templates([TEXT], [FILE], kept)
        seen.append((rendered(TEXT), rendered(FILE, as_file=True), len(generated)))
        fresh()
    assert seen[0] == ("C:\\K and True", "  [a]\nroot = 'C:\\k\\k'\n", 2)
    assert seen[1] == seen[0]
    assert kept.stat().st_mode & 0o777 == Path(template_cache.__file__).stat().st_mode & 0o666
    assert [each.name for each in kept.parent.iterdir()] == ["kept.pyc"]


@pytest.mark.parametrize("cut", [0, 20, 32, 100])
def test_what_is_not_whole_or_not_for_these_texts_is_made_again(
    tmp_path: Path, fresh: Fresh, generated: list[Any], cut: int
) -> None:
    kept = tmp_path / "kept.pyc"
    cache_templates([TEXT], (), kept)
    whole = kept.read_bytes()
    kept.write_bytes(whole[:cut])
    fresh()
    cache_templates([TEXT], (), kept)
    assert (len(generated), rendered(TEXT)) == (2, "C:\\K and True")
    assert kept.read_bytes() == whole
    fresh()
    cache_templates([TEXT, "{{ 1 + 1 }}"], (), kept)
    assert (len(generated), rendered("{{ 1 + 1 }}")) == (4, 2)


def test_another_ansible_compiles_for_itself(
    tmp_path: Path, fresh: Fresh, generated: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept.pyc"
    cache_templates([TEXT], (), kept)
    fresh()
    monkeypatch.setattr(template_cache, "__version__", "2.99.0")
    cache_templates([TEXT], (), kept)
    assert len(generated) == 2


def test_a_text_and_a_file_that_are_equal_are_rendered_differently(tmp_path: Path, fresh: Fresh) -> None:
    expected = rendered(FILE), rendered(FILE, as_file=True)
    cache_templates([FILE], [FILE], tmp_path / "kept.pyc")
    assert (rendered(FILE), rendered(FILE, as_file=True)) == expected
    assert expected[0] != expected[1]


def test_who_wants_no_compiled_files_gets_none(tmp_path: Path, fresh: Fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    cache_templates([TEXT], (), tmp_path / "kept.pyc")
    assert not list(tmp_path.iterdir())


def test_a_collection_that_cannot_be_written_to_stops_nothing(tmp_path: Path, fresh: Fresh) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    cache_templates([TEXT], (), tmp_path / "file" / "kept.pyc")
    assert rendered(TEXT) == "C:\\K and True"


def test_python_keeps_what_it_has_compiled_of_the_collection() -> None:
    spec = template_cache.__spec__
    assert spec is not None
    assert Path(str(spec.cached)).parent == template_cache.KEPT.parent
