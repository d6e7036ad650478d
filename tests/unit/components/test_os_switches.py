"""Switches of Windows in its registry, as makers of node images set them."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.host import os_switches
from ansible_collections.winkube.node.plugins.plugin_utils.components.host.options import HostOptions, OsSwitchOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.host.os_switches import OsSwitches, list_wanted
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import Plan, make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.facts.os_switches import list_switches

STATE = r"HKLM\SYSTEM\CurrentControlSet\Services\hns\State"
OVERRIDES = r"HKLM\SYSTEM\CurrentControlSet\Policies\Microsoft\FeatureManagement\Overrides"


def machine(**values: dict[str, Any]) -> Reading:
    """Without any switch but these, of HNS."""
    reads = {query.key: {"exists": False} for query in OsSwitches(()).reads()}
    state = {"exists": True, "values": values, "keys": []}
    return Reading().merge({**reads, os_switches.query(STATE).key: state})


def plan(options: HostOptions, reading: Reading, build: int = 20348) -> Plan:
    return make_plan("host", (OsSwitches(list_wanted(options, build)),), reading)


@pytest.mark.row("SE-07")
def test_only_what_all_makers_set_on_every_build_is_on_by_default() -> None:
    made = plan(HostOptions(), machine())
    assert made.batch is not None
    (op,) = made.batch.ops
    assert op.args == {"path": STATE, "name": "EnableCompartmentNamespace", "type": "dword", "value": 1}
    assert [(each.op, each.args) for each in op.undo] == [
        ("registry_remove", {"path": STATE, "name": "EnableCompartmentNamespace"})
    ]
    assert made.reboot == (), "it counts for pods that are made afterwards"
    assert plan(HostOptions(), made.predicted).batch is None


def test_a_value_of_another_type_or_number_is_put_right_and_comes_back_when_undone() -> None:
    made = plan(HostOptions(), machine(enablecompartmentnamespace={"type": "string", "value": "1"}))
    assert made.batch is not None
    (undo,) = made.batch.ops[0].undo
    assert undo.args == {"path": STATE, "name": "EnableCompartmentNamespace", "type": "string", "value": "1"}


@pytest.mark.parametrize(
    ("maker", "build", "value"), [("image-builder", 20348, 0), ("aks", 20348, 1), ("image-builder", 26100, None)]
)
def test_a_makers_switches_go_by_the_build(maker: Any, build: int, value: int | None) -> None:
    wanted = {each.name: each.value for each in list_wanted(HostOptions(os_switches=maker), build)}
    assert wanted.get("1114842764") == value, "image-builder and AKS contradict each other on it"
    assert wanted["EnableCompartmentNamespace"] == 1


def test_a_makers_set_needs_one_restart() -> None:
    made = plan(HostOptions(os_switches="aks"), machine())
    assert made.batch is not None
    assert len(made.batch.ops) == len(list_switches("aks", 20348)) == 71
    assert made.reboot == ("switches of Windows come into force",)
    assert plan(HostOptions(os_switches="aks"), made.predicted).batch is None


def test_a_users_own_row_wins() -> None:
    own = OsSwitchOptions(key=STATE.replace("HKLM", "HKLM:"), name="enablecompartmentnamespace", value=0, restart=False)
    made = plan(HostOptions(os_switch_values=(own,)), machine())
    assert made.batch is not None
    assert [op.args["value"] for op in made.batch.ops] == [0]


@pytest.mark.parametrize(("key", "value"), [(r"HKCU\Software", 1), (STATE, 2**32), (STATE, -1)])
def test_what_is_no_dword_of_the_machine_is_refused(key: str, value: int) -> None:
    own = OsSwitchOptions(key=key, name="x", value=value)
    with pytest.raises(Refused, match="winkube_os_switch_values"):
        list_wanted(HostOptions(os_switch_values=(own,)), 20348)
