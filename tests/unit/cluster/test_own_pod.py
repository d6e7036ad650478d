"""The pod in which a run is, by the variable of its manifest."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.own_pod import OwnPod, find_own_pod

UID = "5f0c8e1e-27a4-4d7c-9a35-0d3d2f0c9a11"


def test_the_variable_names_the_pod() -> None:
    found = find_own_pod({"WINKUBE_POD": f"winkube-node/keep-29114.x-7kq2z/{UID}"})
    assert found == OwnPod("winkube-node", "keep-29114.x-7kq2z", UID)
    assert find_own_pod({"WINKUBE_POD": str(found)}) == found


@pytest.mark.parametrize("environment", [{}, {"WINKUBE_POD": ""}])
def test_without_it_the_run_is_in_no_pod(environment: dict[str, str]) -> None:
    assert find_own_pod(environment) is None


@pytest.mark.parametrize("value", ["$(NS)/$(NAME)/$(UID)", f"keep/{UID}", f"a/b/{UID}/c", f"a/b/{UID}\n", "a//u"])
def test_a_value_of_another_form_is_refused(value: str) -> None:
    """A run that took itself for one outside would let others take over what it holds."""
    with pytest.raises(ClusterError, match=r"WINKUBE_POD is .* not <namespace>/<name>/<uid>"):
        find_own_pod({"WINKUBE_POD": value})
