"""A component declares itself once: everything that lists components asks the registry."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.components import registry
from ansible_collections.winkube.node.plugins.plugin_utils.components.declaration import (
    Component,
    Daemon,
    NoHealth,
    ServiceKind,
)
from ansible_collections.winkube.node.plugins.plugin_utils.components.options import Interface
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import programs as verify
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_query
from ansible_collections.winkube.node.plugins.plugin_utils.provision.provision_items import parse_items
from ansible_collections.winkube.node.plugins.plugin_utils.repair import hns, owned, stopping
from ansible_collections.winkube.node.plugins.plugin_utils.repair.options import ResetOptions
from ansible_collections.winkube.node.plugins.plugin_utils.task import argument_spec

from tests.conftest import ROOT
from tests.unit.told import told

from .nodes import LAYOUT, wanted_node


@dataclass(frozen=True)
class NoOptions:
    """Of an agent that has none."""


NEW = Component(
    name="probe-agent",
    role="probe_agent",
    reads=lambda _layout: (file_query(r"C:\k\probe-agent.exe"),),
    expected=lambda expected: "probe_agent" in expected.optional_components,
    interface=Interface("win_probe_agent", "Runs an agent", "Install the agent", NoOptions),
    stages=(),
    daemon=Daemon(
        service=lambda _layout: "probe-agent",
        program=lambda _layout: r"C:\k\probe-agent.exe",
        kind=ServiceKind(("sc",), "", "It makes no service.", "its own page"),
        health=NoHealth("It says so nowhere."),
        log=lambda _layout: r"C:\k\probe-agent.log",
    ),
    settings=lambda _layout: (r"C:\k\probe-agent.yml",),
    folders=lambda _layout: (r"C:\agent",),
    rules=("winkube-probe-agent",),
    optional=True,
)


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more component, unknown to everything else."""
    assert NEW.daemon is not None
    monkeypatch.setattr(registry, "COMPONENTS", (*registry.COMPONENTS, NEW))
    monkeypatch.setitem(registry.DAEMONS, NEW.name, NEW.daemon)


@pytest.mark.usefixtures("declared")
def test_everything_knows_a_component_that_is_declared() -> None:
    assert file_query(r"C:\k\probe-agent.exe").key in {query.key for query in registry.read_plan(LAYOUT)}
    plain = wanted_node()
    there = replace(plain, optional_components=("probe_agent",))
    assert "probe-agent" not in {each.service for each in verify.programs(LAYOUT, plain)}
    assert verify.programs(LAYOUT, there)[-1].log == r"C:\k\probe-agent.log"
    assert registry.stop_order(LAYOUT)[-2:] == ("flanneld", "containerd")
    assert "probe-agent" in registry.stop_order(LAYOUT)
    assert "probe-agent" not in stopping.names(LAYOUT), "it does not talk to the API server"
    how = told(ResetOptions, "win_k8s_reset", node_name="win1")
    ours = owned.candidates(owned.Scope(LAYOUT, how, hns.Ours((), "10.244.0.0/16")), Reading())
    assert {r"C:\k\probe-agent.exe", r"C:\k\probe-agent.yml"} <= set(ours)
    assert "winkube-probe-agent" in registry.rules()
    (item,) = parse_items({"name": "probe-agent", "sourceURL": "http://10.0.0.1/x.exe"}, LAYOUT)
    assert (item.service, item.destination, item.asks) == ("probe-agent", r"C:\k\probe-agent.exe", ("--version",))


def test_the_order_is_that_of_site_yml() -> None:
    tasks = yaml.safe_load((ROOT / "playbooks" / "tasks" / "node.yml").read_text(encoding="utf-8"))
    roles = [task["ansible.builtin.import_role"]["name"] for task in tasks]
    assert [f"winkube.node.{each.role}" for each in registry.COMPONENTS] == roles


def test_each_optional_component_is_one_that_site_yml_asks_for_by_name() -> None:
    tasks = yaml.safe_load((ROOT / "playbooks" / "tasks" / "node.yml").read_text(encoding="utf-8"))
    asked = {task["tags"] for task in tasks if "winkube_optional_components" in str(task.get("when"))}
    assert asked == {each.role for each in registry.COMPONENTS if each.optional}
    option = argument_spec.load_spec("win_k8s_node_info")["optional_components"]
    assert set(option["choices"]) == asked, "a name that is none is refused by the first task"


def test_services_stop_in_the_reverse_of_their_start() -> None:
    order = [daemon.service(LAYOUT) for daemon in registry.start_order()]
    assert sorted(order) == sorted(daemon.service(LAYOUT) for daemon in registry.DAEMONS.values())
    assert (order[0], order[-2:]) == ("containerd", ["kubelet", "kube-proxy"])
    assert registry.stop_order(LAYOUT) == tuple(reversed(order))
    assert stopping.names(LAYOUT) == ("kube-proxy", "kubelet", "flanneld")


def test_the_registry_alone_imports_a_component_whole() -> None:
    """What others need of a component lies in its other modules, so that a declaration may import all of them."""
    importers = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "plugins").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        if (node.module or "").endswith(".component") or any(name.name == "component" for name in node.names)
    }
    assert importers == {"plugins/plugin_utils/components/registry.py"}
