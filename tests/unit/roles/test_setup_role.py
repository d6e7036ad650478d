"""The role setup as it is written: two things and no more, all under one tag, and no part of site.yml."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
ROLE = ROOT / "roles" / "setup"
REMOTE_DESKTOP = {"ansible.windows.win_regedit", "community.windows.win_firewall_rule", "ansible.windows.win_service"}
PACKAGES = {
    "ansible.windows.win_environment",
    "ansible.windows.win_stat",
    "chocolatey.chocolatey.win_chocolatey",
}


def tasks(path: Path) -> list[dict[str, Any]]:
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(found, list)
    return found


def modules(entries: list[dict[str, Any]]) -> Iterator[str]:
    """The modules of other collections that these tasks call."""
    for entry in entries:
        yield from modules(entry.get("block", []))
        yield from (key for key in entry if key.count(".") == 2 and not key.startswith("ansible.builtin."))


@pytest.mark.row("IS-06")
def test_it_does_remote_desktop_and_chocolatey_and_nothing_else() -> None:
    assert {path.name for path in (ROLE / "tasks").glob("*.yml")} == {"main.yml", "rdp.yml", "packages.yml"}
    assert set(modules(tasks(ROLE / "tasks" / "main.yml"))) == set()
    included = [task.get("ansible.builtin.include_tasks") for task in tasks(ROLE / "tasks" / "main.yml")]
    assert [one["file"] for one in included if one] == ["rdp.yml", "packages.yml"]
    assert set(modules(tasks(ROLE / "tasks" / "rdp.yml"))) == REMOTE_DESKTOP
    assert set(modules(tasks(ROLE / "tasks" / "packages.yml"))) == PACKAGES
    page = (ROOT / "docs" / "setup.md").read_text(encoding="utf-8")
    assert "turns Remote Desktop on and installs Chocolatey with a list of packages" in page
    assert "is the business of the\nrole [host](../roles/host/README.md)" in page


@pytest.mark.row("IS-05")
def test_all_of_it_has_the_tag_and_the_defaults_want_nothing() -> None:
    for task in tasks(ROLE / "tasks" / "main.yml"):
        assert task["tags"] == "setup"
        included = task.get("ansible.builtin.include_tasks")
        assert included is None or included["apply"] == {"tags": "setup"}
    defaults = yaml.safe_load((ROLE / "defaults" / "main.yml").read_text(encoding="utf-8"))
    assert defaults["winkube_setup_choco_packages"] == []
    assert defaults["winkube_setup_disable_rdp"] is False
    assert "winkube_setup_enable_rdp" not in defaults
    assert "winkube.node.setup" not in (ROOT / "playbooks" / "site.yml").read_text(encoding="utf-8")


@pytest.mark.row("IS-07")
def test_the_proxy_is_written_before_the_first_task_that_downloads() -> None:
    order = list(modules(tasks(ROLE / "tasks" / "packages.yml")))
    assert order[0] == "ansible.windows.win_environment"
    assert order.index("ansible.windows.win_environment") < order.index("chocolatey.chocolatey.win_chocolatey")


@pytest.mark.row("SE-16")
def test_connections_are_accepted_last() -> None:
    entries = tasks(ROLE / "tasks" / "rdp.yml")
    wanted = [entry for entry in entries if entry.get("when") != "winkube_setup__off"]
    last = wanted[-1]["ansible.windows.win_regedit"]
    assert (last["name"], last["data"]) == ("fDenyTSConnections", 0)
    assert not any(entry.get("ansible.windows.win_regedit", {}).get("data") == 0 for entry in wanted[:-1])
