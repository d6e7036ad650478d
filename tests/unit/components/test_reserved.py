"""A node's reservations; a share of CPU refers to the processors that the node reports."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import kubelet
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.kubelet_args import (
    PROCESSORS,
    resolve_reserved,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused

from .nodes import LAYOUT
from .test_given_options import kubelet as told


def node(processors: str | None) -> Reading:
    answer = {"exists": False} if processors is None else {"exists": True, "type": "string", "value": processors}
    return Reading().merge({PROCESSORS.key: answer})


@pytest.mark.row("RS-07")
def test_a_kubelets_reading_has_the_number_of_processors() -> None:
    (query,) = [query for query in kubelet.reads(LAYOUT) if query.key == "registry:processors"]
    assert query.wire() == {
        "key": "registry:processors",
        "op": "registry",
        "path": r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment",
        "name": "NUMBER_OF_PROCESSORS",
    }


@pytest.mark.row("RS-07")
@pytest.mark.parametrize(("processors", "cpu"), [("2", "200m"), ("3", "300m"), ("64", "6400m")])
def test_a_share_is_of_this_nodes_processors(processors: str, cpu: str) -> None:
    given = {"cpu": "10%", "memory": "2Gi"}
    assert resolve_reserved("system_reserved", given, node(processors)) == {"cpu": cpu, "memory": "2Gi"}


@pytest.mark.row("RS-07")
def test_a_quantity_stays_as_it_is_whatever_the_node_says() -> None:
    assert resolve_reserved("kube_reserved", {"cpu": 1, "memory": "1Gi"}, node(None)) == {"cpu": "1", "memory": "1Gi"}


@pytest.mark.row("RS-07")
@pytest.mark.parametrize("processors", [None, "", "%x%"])
def test_a_share_of_nobody_knows_how_many_is_refused(processors: str | None) -> None:
    with pytest.raises(Refused, match=r"^kube_reserved: cpu: 5%: the node does not say .* write cores \(0\.5\)"):
        resolve_reserved("kube_reserved", {"cpu": "5%"}, node(processors))


@pytest.mark.row("RS-07")
def test_all_of_the_cpu_cannot_be_kept_back() -> None:
    with pytest.raises(Refused, match=r"^system_reserved: cpu: '100%' of the CPU leaves nothing for pods"):
        resolve_reserved("system_reserved", {"cpu": "100%"}, node("4"))


@pytest.mark.row("RS-07")
@pytest.mark.parametrize("option", ["system_reserved", "kube_reserved"])
def test_the_module_takes_a_share_for_both(option: str) -> None:
    with pytest.raises(Refused, match=rf"^{option}: cpu: 5%: the node does not say"):
        told(**{option: {"cpu": "5%"}})
