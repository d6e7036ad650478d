"""What hns_check returns beside its findings."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.container_programs import check_ids
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.expectations import Expectations
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.network_report import show_conf, summarize
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import Report, report_of
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused

from tests.unit.components.nodes import LAYOUT, bare


def test_a_node_without_a_finding_is_said_to_have_none() -> None:
    assert summarize("win1", report_of(())) == "win1: no finding."
    assert summarize("win1", Report((), "Everything was looked at.")) == "win1: no finding."


def test_the_configuration_of_another_cni_is_not_shown() -> None:
    assert show_conf(bare(()), Expectations(LAYOUT, flannel=False), diff=True) == {"cni_conf": None}


def test_a_node_without_a_configuration_has_none_to_show() -> None:
    assert show_conf(bare(()), Expectations(LAYOUT), diff=True) == {"cni_conf": None}


def test_an_id_that_is_none_is_refused() -> None:
    assert check_ids(["a" * 64]) == ["a" * 64]
    with pytest.raises(Refused, match="containers: 'a; rm' is not a container id"):
        check_ids(["a; rm"])
