"""Variables of the collection that are misspelled or of another type: told by name, before a node is asked anything."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.task import variables


def wrong(**given: Any) -> list[str]:
    return list(variables.find_wrong(given, given.__getitem__).values())


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("winkube_kublet_verbosity", "winkube_kubelet_verbosity"),
        ("winkube_kubernetes_verison", "winkube_kubernetes_version"),
        ("winkube_clustercidr", "winkube_cluster_cidr"),
        ("winkube_optional_component", "winkube_optional_components"),
    ],
)
def test_a_misspelled_variable_is_told_with_what_was_meant(name: str, meant: str) -> None:
    (sentence,) = variables.find_unknown({name: 2, "winkube_root": "C:\\k"}).values()
    assert sentence.startswith(f"{name}: there is no variable of that name")
    assert sentence.endswith(f"Did you mean {meant}?")


def test_a_variable_of_the_users_own_is_named_in_a_list() -> None:
    given = {"winkube_rack_of_the_machine": "b7"}
    (sentence,) = variables.find_unknown(given).values()
    assert "winkube_own_variables" in sentence
    assert variables.find_unknown(given | {"winkube_own_variables": ["winkube_rack_of_the_machine"]}) == {}
    assert variables.find_unknown({"ansible_user": "x", "rack": 1}) == {}, "other prefixes are nobody's business"


def test_variables_that_speak_of_the_word_are_named_before_one_that_is_spelt_alike() -> None:
    (sentence,) = variables.find_unknown({"winkube_adapter": "Ethernet 2"}).values()
    assert "Did you mean winkube_interface_name, " in sentence


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("winkube_kubelet_verbosity", "high", "winkube_kubelet_verbosity: it is 'high', and wanted is a whole number."),
        ("winkube_network_mode", "vxlan", "winkube_network_mode: it must be one of: l2bridge"),
        ("winkube_drain", "maybe", "winkube_drain: it is 'maybe', and wanted is true or false."),
        (
            "winkube_cluster",
            "~/.kube/config",
            "winkube_cluster: it is a text, and wanted is a dictionary with kubeconfig,",
        ),
        ("winkube_node_labels", "windows", "winkube_node_labels: it is a text, and wanted is a dictionary. With -e"),
        ("winkube_max_failed", "50%", "winkube_max_failed: it is '50%', and wanted is a whole number."),
        ("winkube_cluster", 3, "winkube_cluster: it is of type int and we were unable to convert to dict"),
    ],
)
def test_a_wrong_type_names_the_variable(name: str, value: Any, said: str) -> None:
    (sentence,) = wrong(**{name: value})
    assert sentence.startswith(said), sentence


def test_what_ansible_converts_and_what_has_no_value_yet_is_not_judged() -> None:
    assert wrong(winkube_kubelet_verbosity="4", winkube_drain="yes", winkube_node_taints="a=b:NoSchedule") == []
    given = {"winkube_kubelet_verbosity": "{{ later }}"}
    assert variables.find_wrong(given, lambda _name: None) == {}


def test_a_default_is_not_looked_at_again() -> None:
    asked: list[str] = []
    variables.find_wrong(dict(variables.read_defaults()), asked.append)
    assert asked == []
