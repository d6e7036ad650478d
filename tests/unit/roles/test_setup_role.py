"""The role setup as it is written: two things and no more, all under one tag, and no part of site.yml."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2 import Environment

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


def arguments(file: str, module: str) -> list[dict[str, Any]]:
    """What these tasks give the module, with the conditions that they run under."""
    entries = tasks(ROLE / "tasks" / file)
    entries += [inner for entry in entries for inner in entry.get("block", [])]
    return [{**entry[module], "when": entry.get("when")} for entry in entries if module in entry]


def variables() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for folder in ("defaults", "vars"):
        found |= yaml.safe_load((ROLE / folder / "main.yml").read_text(encoding="utf-8"))
    return found


@pytest.mark.row("IS-01", "IS-02", "SE-16")
def test_remote_desktop_is_three_settings_that_are_touched_only_where_it_is_said() -> None:
    assert variables()["winkube_setup__terminal_server"].casefold() == (
        r"hklm:\system\currentcontrolset\control\terminal server"
    )
    where = "{{ winkube_setup__terminal_server }}"
    values = [
        (task["path"], task["name"], task["data"], task["type"], task["when"])
        for task in arguments("rdp.yml", "ansible.windows.win_regedit")
    ]
    assert values == [
        (where, "fDenyTSConnections", 1, "dword", "winkube_setup__off"),
        (rf"{where}\WinStations\RDP-Tcp", "UserAuthentication", 1, "dword", "winkube_setup__on"),
        (where, "fDenyTSConnections", 0, "dword", "winkube_setup__on"),
    ]
    (rules,) = arguments("rdp.yml", "community.windows.win_firewall_rule")
    assert (rules["group"], rules["enabled"]) == ("{{ winkube_setup_rdp_firewall_group }}", "{{ winkube_setup__on }}")
    assert rules["when"] == "winkube_setup__off or winkube_setup__on"
    # The group "Remote Desktop", as the rules themselves name it in every language of Windows.
    assert variables()["winkube_setup_rdp_firewall_group"] == "@FirewallAPI.dll,-28752"
    (service,) = arguments("rdp.yml", "ansible.windows.win_service")
    assert service == {"name": "TermService", "start_mode": "auto", "state": "started", "when": "winkube_setup__on"}


@pytest.mark.row("IS-02")
def test_false_is_left_alone_and_said_and_off_is_a_switch_of_its_own() -> None:
    assert variables()["winkube_setup__on"] == "{{ winkube_setup_enable_rdp | default(false) | bool }}"
    assert variables()["winkube_setup__off"] == "{{ winkube_setup_disable_rdp | bool }}"
    assert variables()["winkube_setup_disable_rdp"] is False and "winkube_setup_enable_rdp" not in variables()
    (said,) = arguments("rdp.yml", "ansible.builtin.debug")
    assert said["when"] == "not (winkube_setup__off or winkube_setup__on)"
    assert "is left as it is" in said["msg"] and "set winkube_setup_disable_rdp: true" in said["msg"]
    (included,) = [task for task in tasks(ROLE / "tasks" / "main.yml") if "Remote Desktop" in task["name"]]
    assert included["when"] == "winkube_setup_enable_rdp is defined or winkube_setup__off"


@pytest.mark.row("IS-03", "IS-04")
def test_chocolatey_is_installed_where_it_is_not_and_then_each_package() -> None:
    assert variables()["winkube_setup__choco"] == r"C:\ProgramData\chocolatey\bin\choco.exe"
    (looked,) = arguments("packages.yml", "ansible.windows.win_stat")
    assert looked["path"] == "{{ winkube_setup__choco }}"
    chocolatey, package = arguments("packages.yml", "chocolatey.chocolatey.win_chocolatey")
    assert (chocolatey["name"], chocolatey["when"]) == ("chocolatey", "not winkube_setup__found.stat.exists")
    assert package["name"] == "{{ item.name | default(item) }}"
    assert package["version"] == "{{ item.version | default(omit) }}"
    assert package["choco_args"] == ["--accept-license"]
    (block,) = [task for task in tasks(ROLE / "tasks" / "packages.yml") if "block" in task]
    defaults = block["module_defaults"]["chocolatey.chocolatey.win_chocolatey"]
    assert defaults["bootstrap_script"] == "{{ winkube_setup_choco_bootstrap or omit }}"
    assert defaults["source"] == "{{ winkube_setup_choco_source or omit }}"
    assert [task["loop"] for task in block["block"] if "loop" in task] == ["{{ winkube_setup_choco_packages }}"]


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
    assert "role [host](../roles/host/README.md) does what Kubernetes needs" in page


@pytest.mark.row("IS-05")
def test_all_of_it_has_the_tag_and_the_defaults_want_nothing() -> None:
    for task in tasks(ROLE / "tasks" / "main.yml"):
        assert task["tags"] == "setup"
        included = task.get("ansible.builtin.include_tasks")
        assert included is None or included["apply"] == {"tags": "setup"}
    (packages,) = [task for task in tasks(ROLE / "tasks" / "main.yml") if task["name"] == "Install packages"]
    assert packages["when"] == "winkube_setup_choco_packages | length > 0"
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
    (written,) = arguments("packages.yml", "ansible.windows.win_environment")
    assert (written["level"], written["variables"]) == ("machine", "{{ winkube_setup__machine_proxy }}")
    proxy = variables()["winkube_setup__machine_proxy"]
    assert "'HTTP_PROXY': winkube_node_http_proxy" in proxy and "'HTTPS_PROXY': winkube_node_https_proxy" in proxy


@pytest.mark.row("SE-16")
@pytest.mark.parametrize(
    ("off", "sources", "scope"),
    [
        (False, [], "as it is"),
        (False, ["10.0.0.0/8"], "10.0.0.0/8"),
        (False, ["10.0.0.5", "10.1.0.0/16"], "10.0.0.5,10.1.0.0/16"),
        (False, ["10.0.0.5", "any"], "any"),
        (True, ["10.0.0.5"], "as it is"),
    ],
)
def test_the_firewall_lets_in_who_is_named(off: bool, sources: list[str], scope: str) -> None:
    assert variables()["winkube_setup_rdp_sources"] == []
    (rules,) = arguments("rdp.yml", "community.windows.win_firewall_rule")
    given = {"winkube_setup__off": off, "winkube_setup_rdp_sources": sources, "omit": "as it is"}
    assert Environment().from_string(rules["remoteip"]).render(given) == scope


@pytest.mark.row("SE-16")
def test_connections_are_accepted_last() -> None:
    entries = tasks(ROLE / "tasks" / "rdp.yml")
    wanted = [entry for entry in entries if entry.get("when") != "winkube_setup__off"]
    last = wanted[-1]["ansible.windows.win_regedit"]
    assert (last["name"], last["data"]) == ("fDenyTSConnections", 0)
    assert not any(entry.get("ansible.windows.win_regedit", {}).get("data") == 0 for entry in wanted[:-1])
