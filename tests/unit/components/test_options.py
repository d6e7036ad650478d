"""One table says what a module's options, a role's variables, and the way from these to those are."""

from __future__ import annotations

from dataclasses import fields

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components import options as tables
from ansible_collections.winkube.node.plugins.plugin_utils.components.declaration import Component
from ansible_collections.winkube.node.plugins.plugin_utils.components.layout import Layout
from ansible_collections.winkube.node.plugins.plugin_utils.components.options import Interface, Option, Variable
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import COMPONENTS, PLACES
from ansible_collections.winkube.node.plugins.plugin_utils.task import argument_spec

TABLE = Interface(
    "win_agent",
    "Runs an agent",
    "Install the agent",
    (
        Option("port", "int", "Its port.", default=80, variable=Variable("winkube_agent_port")),
        Option("join", "str", "How.", variable="winkube_join | default('')"),
        Option(
            "source",
            "dict",
            "Where it comes from.",
            options=(
                Option("url", "str", "For O(port).", default="", variable=Variable("winkube_agent_url", "{{ x }}/a")),
                Option("header", "str", ("Secret. With O(source.url).", "Not with O(join=kubeadm)."), default=""),
            ),
        ),
        Option(
            "service",
            "dict",
            "How it runs.",
            options=tables.service_seconds("Seconds.", 60, 30),
            variable=Variable("winkube_agent_service"),
        ),
    ),
    shared=("inbound",),
)


def test_arguments_are_templates_of_the_variables() -> None:
    assert tables.arguments(TABLE) == {
        "port": "{{ winkube_agent_port }}",
        "join": "{{ winkube_join | default('') }}",
        "source": {"url": "{{ winkube_agent_url }}"},
        "service": "{{ winkube_agent_service }}",
        "firewall": {"enabled": "{{ winkube_firewall }}", "sources": "{{ winkube_firewall_sources }}"},
    }


def test_a_role_tells_of_its_own_variables_and_calls_others_by_their_names() -> None:
    found = {each.variable.name: (each.default, each.text) for each in tables.role_variables(TABLE.options)}
    assert found == {
        "winkube_agent_port": (80, "Its port."),
        "winkube_agent_url": ("{{ x }}/a", "For C(winkube_agent_port)."),
        "winkube_agent_service": ({"start_timeout": 60, "stop_timeout": 30}, "How it runs."),
    }
    told = tables.role_variables((Option("all", "dict", "See O(b.c) and O(d=e).", variable=Variable("winkube_all")),))
    assert told[0].text == "See C(b.c) and C(d=e)."


def test_a_secret_stays_one_in_the_modules_own_options() -> None:
    spec = argument_spec.options_spec(tables.document(TABLE.options))
    assert spec["source"]["options"]["header"]["no_log"] is True
    assert spec["port"] == {"type": "int", "default": 80, "no_log": False}


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda each: each.role)
def test_module_and_table_agree(component: Component) -> None:
    interface = component.interface
    documentation = argument_spec.read_documentation(interface.module)
    fragments = {each.removeprefix("winkube.node.") for each in documentation["extends_documentation_fragment"]}
    assert documentation["short_description"] == interface.summary
    assert fragments == {*interface.shared, f"components.{component.role}", "attributes"}
    assert "options" not in documentation, "they stand in the table"
    assert set(tables.arguments(interface)) <= set(argument_spec.load_spec(interface.module))
    required = {option.name for option in interface.options if option.required}
    assert required <= set(tables.arguments(interface)), "the role gives every option that has to be given"


def test_every_place_of_the_layout_is_declared_by_what_lies_there() -> None:
    assert sorted(place.name for place in PLACES) == sorted(field.name for field in fields(Layout))
    assert set(argument_spec.load_spec("win_containerd")["node"]["options"]) == {place.name for place in PLACES}
    where = Layout.of({place.name: place.default for place in PLACES})
    assert (where.kubelet_binary, where.registry_hosts) == (r"C:\k\kubelet.exe", ())
