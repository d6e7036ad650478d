"""What the lab asks its HNS for a pod is what the real plugins ask (tests/recorded/cni, from Wine)."""

from __future__ import annotations

import pytest

from tests.lab.machine import hcn
from tests.lab.machine.node import SimulatedNode
from tests.windows.hns import plugins
from tests.windows.hns.plugins import Story

STORIES = plugins.recorded()


def test_both_modes_are_recorded() -> None:
    assert sorted(STORIES) == sorted(plugins.MODES)


def asked(story: Story) -> dict[str, object]:
    """The one request that makes the endpoint."""
    (found,) = [document for call, document in story.asked if call == "HcnCreateEndpoint"]
    return found


@pytest.mark.parametrize("mode", STORIES)
def test_the_labs_request_is_the_plugins(mode: str) -> None:
    """The lab's endpoints had no ProviderAddress, no SDNRoute, no DNS and no address of their own."""
    story = STORIES[mode]
    address = str(story.result["ips"][0]["address"]).partition("/")[0]
    found = hcn.pod_endpoint(story.conf, story.network, address, plugins.SANDBOX, story.namespace)
    assert found == asked(story)


@pytest.mark.parametrize("mode", STORIES)
def test_the_lab_makes_the_endpoint_that_is_asked_for(mode: str) -> None:
    node: SimulatedNode = plugins.machine(mode)
    network = node.hns.networks[0]
    request = {**asked(STORIES[mode]), "HostComputeNetwork": network["ID"]}
    made = hcn.create_endpoint(node.hns, request)
    assert hcn.endpoint(made, request)["Policies"] == request["Policies"]
    shown = {policy["Type"]: policy for policy in made["Policies"]}
    assert shown["OutBoundNAT"]["ExceptionList"][:2] == ["10.244.0.0/16", "10.96.0.0/12"]
    assert shown["ROUTE"]["NeedEncap"] is True
    assert ("PA" in shown) == (mode == "overlay")
