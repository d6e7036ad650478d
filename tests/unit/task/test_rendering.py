"""Rendering gives what Ansible's own templating gives, and renders each variable once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleError, AnsibleUndefinedVariable
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from ansible_collections.winkube.node.plugins.plugin_utils.task import node_plan
from ansible_collections.winkube.node.plugins.plugin_utils.task.argument_spec import plain
from ansible_collections.winkube.node.plugins.plugin_utils.task.rendering import Rendering

ROLES: dict[str, Any] = {}
for _defaults in (Path(__file__).parents[3] / "roles").glob("*/defaults/main.yml"):
    ROLES |= yaml.safe_load(_defaults.read_text(encoding="utf-8"))
SETS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "whole node": {
        "winkube_kubernetes_version": "1.37.1",
        "winkube_cluster": {"kubeconfig": "{{ home }}/admin.conf"},
        "winkube_node_taints": ["os=windows:{{ effect }}"],
        "winkube_registries": [{"host": "registry.k8s.io", "mirrors": ["https://{{ winkube_node_name }}.example"]}],
        "winkube_download_base": "https://mirror.example",
        "winkube_proxy": "{{ proxies[winkube_node_name] | default('') }}",
    },
    "DaemonSets": {
        "winkube_kubernetes_version": "1.36.4",
        "winkube_cni_managed_by": "cluster",
        "winkube_root": "D:\\k",
    },
    "texts": {"winkube_root": "{{ '{' }}{{ '{ no template }' }}}", "winkube_log_dir": "{% raw %}{{ x }}{% endraw %}"},
    "nobody needs it": {"winkube_token": "{{ nowhere }}", "winkube_pause_image": "{{ nowhere.either | default('x') }}"},
}
COMMON = {
    "inventory_hostname": "WIN1",
    "home": "/srv/ann",
    "effect": "NoSchedule",
    "proxies": {"win1": "http://p:3128"},
}


def trusted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: trusted(each) for name, each in value.items()}
    if isinstance(value, list):
        return [trusted(each) for each in value]
    return trust_as_template(value) if isinstance(value, str) else value


def known(given: dict[str, Any]) -> dict[str, Any]:
    """A play's variables: the roles' defaults, and what its inventory says."""
    found: dict[str, Any] = trusted({**ROLES, **COMMON, **given})
    return found


def own(values: dict[str, Any], template: Any) -> Any:
    """What Ansible says, or the type of its error."""
    try:
        return plain(Templar(DataLoader(), values).template(template))
    except AnsibleError as error:
        return type(error)


def both(given: dict[str, Any]) -> tuple[dict[str, Any], Rendering, Counter[str]]:
    """The variables, untouched; a Rendering over its own copy; how often each text was given to Ansible."""
    values, asked = known(given), Counter[str]()
    templar = Templar(DataLoader(), values)

    def render(value: Any) -> Any:
        asked[str(value)] += 1
        return plain(templar.template(value))

    return known(given), Rendering(values, render), asked


def leaves(templates: Any) -> list[Any]:
    return (
        [leaf for each in templates.values() for leaf in leaves(each)] if isinstance(templates, dict) else [templates]
    )


@pytest.mark.parametrize("name", SETS)
def test_every_argument_of_every_component_is_what_ansible_renders(name: str) -> None:
    values, rendering, asked = both(SETS[name])
    templates = [leaf for part in node_plan.list_parts() for leaf in leaves(part.arguments)]
    assert len(templates) > 100
    for template in templates:
        expected = own(values, template)
        if isinstance(expected, type):
            with pytest.raises(expected):
                rendering.render(template)
        else:
            assert rendering.render(template) == expected, template
    of_variables = Counter(str(value) for value in [*values.values(), *templates] if isinstance(value, str))
    failing = {text for text in asked if isinstance(own(values, trust_as_template(text)), type)}
    assert {text for text, count in of_variables.items() if asked[text] > count} <= failing
    assert sum(asked.values()) < len(templates)


@pytest.mark.parametrize(
    "value",
    [
        "{{ winkube_a }}",
        "{{ winkube_a }}-{{ winkube_a }}",
        "{{ winkube_b }}",
        "{{ winkube_c.x }}",
        "{{ winkube_c }}",
        3,
        None,
    ],
)
def test_values_of_all_types(value: Any) -> None:
    given: dict[str, Any] = {
        "winkube_a": "{{ [1, winkube_n] }}",
        "winkube_n": None,
        "winkube_b": "{{ winkube_a[0] == 1 }}",
    }
    given |= {"winkube_c": {"x": "{{ winkube_b }}", "y": ["{{ home }}"]}}
    values, rendering, _asked = both(given)
    template = trust_as_template(value) if isinstance(value, str) else value
    assert rendering.render(template) == own(values, template)


def test_a_text_that_stands_twice_is_rendered_once() -> None:
    _values, rendering, asked = both({"winkube_x": "C:"})
    text = trust_as_template("{{ winkube_x }}\\k")
    assert rendering.render({"a": text, "b": text}) == {"a": "C:\\k", "b": "C:\\k"}
    assert asked[str(text)] == 1
    lists = [rendering.render(trust_as_template("{{ [winkube_x] }}")) for _time in range(2)]
    lists[0].append("changed by its owner")
    assert lists[1] == ["C:"]


def test_what_has_no_value_fails_only_where_it_is_wanted() -> None:
    given = {
        "winkube_x": "{{ nowhere }}",
        "winkube_y": "{{ winkube_x if false else 'y' }}",
        "winkube_z": "{{ winkube_z }}",
    }
    _values, rendering, _asked = both({**given, "winkube_o": "{{ omit }}"})
    assert rendering.render(trust_as_template("{{ winkube_y }}")) == "y"
    assert rendering.render(trust_as_template("{{ winkube_x | default('none') }}")) == "none"
    assert rendering.render(trust_as_template("{{ winkube_o }}-{{ winkube_y }}")) == "-y", "omit is nothing"
    with pytest.raises(AnsibleUndefinedVariable):
        rendering.render(trust_as_template("{{ winkube_x }}"))
    with pytest.raises(AnsibleError):
        rendering.render(trust_as_template("{{ winkube_z }}"))


def test_a_text_that_nobody_trusts_stays_as_it_is() -> None:
    """What a node has said is not a template, whatever is in it."""
    _values, rendering, _asked = both({})
    assert rendering.render("{{ winkube_root }}") == "{{ winkube_root }}"
    fact = known({}) | {"winkube_state_dir": "{{ lookup('env', 'HOME') }}"}
    assert (
        Rendering(fact, lambda value: value).render(trust_as_template("{{ winkube_state_dir }}"))
        == fact["winkube_state_dir"]
    )
