"""Playbooks and roles read as Ansible's do: what every task repeats is said once a play, titles are of no one host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import COMPONENTS

ROOT = Path(__file__).parents[3]
GROUP = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))["action_groups"]["node"]
REPEATED = {
    name: f"{{{{ winkube_{name} }}}}"
    for name in ("node", "reading_max_age", "runner", "reconnect_timeout", "answer_timeout")
}
"""What the roles' tasks pass as well, which are imported by plays that set no defaults."""
PLAYBOOKS = sorted((ROOT / "playbooks").glob("*.yml"))
TASKS = [*PLAYBOOKS, *sorted((ROOT / "playbooks" / "tasks").glob("*.yml")), *sorted(ROOT.glob("roles/*/tasks/*.yml"))]


def tasks_of(items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The tasks of a playbook or a file of tasks, those in blocks too."""
    for item in items:
        nested = [
            item[name] for name in ("pre_tasks", "tasks", "block", "rescue", "always", "post_tasks") if name in item
        ]
        if not nested:
            yield item
        for each in nested:
            yield from tasks_of(each)


def options_of(task: dict[str, Any]) -> dict[str, Any] | None:
    """What a task passes to a module of the group; None for another task."""
    for name in GROUP:
        if f"winkube.node.{name}" in task:
            return task[f"winkube.node.{name}"] or {}
    return None


def file_of(task: dict[str, Any]) -> str:
    """The file of tasks that this one brings in."""
    return str(task.get("ansible.builtin.import_tasks", task.get("ansible.builtin.include_tasks", "")))


def read(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def test_the_group_is_every_module_that_speaks_with_a_node() -> None:
    modules = {
        path.stem
        for path in (ROOT / "plugins" / "modules").glob("*.py")
        if "\n  - winkube.node.node\n" in path.read_text(encoding="utf-8")
    }
    assert set(GROUP) == modules


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_a_play_says_once_what_its_tasks_repeat(path: Path) -> None:
    for play in read(path):
        asks = any(options_of(task) is not None for task in tasks_of([play])) or any(
            file_of(task).endswith(name)
            for task in tasks_of([play])
            for name in ("verify.yml", "push_round.yml", "node.yml", "tasks/patch.yml")
        )
        assert play.get("module_defaults", {}).get("group/winkube.node.node") == (REPEATED if asks else None), play[
            "name"
        ]


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_whether_it_makes_nodes_or_an_image_is_said_by_the_play(path: Path) -> None:
    """An inventory that says `winkube_golden_image: true` would make site.yml end well without a join."""
    for play in read(path):
        brings = any(file_of(task) == "tasks/node.yml" for task in tasks_of([play]))
        said = play.get("vars", {}).get("winkube_golden_image")
        assert said is ((path.stem == "image") if brings else None), play["name"]


@pytest.mark.parametrize("path", [path for path in TASKS if "playbooks" in path.parts], ids=lambda path: path.stem)
def test_no_task_of_a_playbook_repeats_it(path: Path) -> None:
    for task in tasks_of(read(path)):
        assert not (options_of(task) or {}).keys() & REPEATED.keys(), task["name"]


def test_the_roles_pass_it_themselves() -> None:
    """A role is imported by plays that set no defaults."""
    given = [
        options for path in ROOT.glob("roles/*/tasks/*.yml") for task in read(path) if (options := options_of(task))
    ]
    assert len(given) == len(COMPONENTS)
    assert all(options.items() >= REPEATED.items() for options in given)


@pytest.mark.parametrize("path", TASKS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_titles_are_of_no_one_host(path: Path) -> None:
    """Ansible renders a title with the first host's variables and prints it for all; what is built is one."""
    for task in tasks_of(read(path)):
        assert "{{" not in task["name"].replace("{{ winkube_build_name }}", ""), task["name"]


@pytest.mark.parametrize("path", sorted(ROOT.glob("roles/*")), ids=lambda path: path.name)
def test_a_role_has_no_handlers_of_its_own(path: Path) -> None:
    assert not (path / "handlers").exists(), "winkube_notify names the user's"
