"""What the modules get for `drain` from the variables that a person sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

try:
    from ansible.template import trust_as_template
except ImportError:  # ansible-core before 2.19 trusts every text

    def trust_as_template(value: str) -> str:
        return value


ROLES = Path(__file__).resolve().parents[3] / "roles"
USERS = ("containerd", "flannel", "host", "kube_proxy", "kubelet")


def drain(**given: Any) -> dict[str, Any]:
    """`winkube_node_drain` with these variables set."""
    defaults = yaml.safe_load((ROLES / "winkube" / "defaults" / "main.yml").read_text(encoding="utf-8"))
    names = ("winkube_drain", "winkube_drain_options")
    known = {"winkube_node_name": "win1", "winkube_cluster": {}, "winkube_node_budget": {"max_unavailable": "1"}}
    variables = {name: defaults[name] for name in names} | known | given
    templar = Templar(DataLoader(), variables=variables)
    made: dict[str, Any] = templar.template(trust_as_template(defaults["winkube_node_drain"]))
    return made


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, {"enabled": False}),
        ({"winkube_drain": True}, {"enabled": True}),
        ({"winkube_drain": True, "winkube_drain_options": {"force": True}}, {"enabled": True, "force": True}),
        ({"winkube_drain_options": {"timeout": 60}}, {"enabled": False, "timeout": 60}),
    ],
)
def test_an_option_of_its_own_leaves_the_others_as_they_are(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    always = {"node_name": "win1", "cluster": {}, "host_process_namespace": "winkube-node"}
    assert drain(**given) == {**always, "budget": {"max_unavailable": "1"}, **wanted}


@pytest.mark.parametrize("role", USERS)
def test_every_role_that_interrupts_pods_passes_it(role: str) -> None:
    task = yaml.safe_load((ROLES / role / "tasks" / "main.yml").read_text(encoding="utf-8"))[0]
    (module,) = (value for key, value in task.items() if key.startswith("winkube.node."))
    assert module["drain"] == "{{ winkube_node_drain }}"
