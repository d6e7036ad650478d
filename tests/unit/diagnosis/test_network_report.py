"""What hns_check returns beside its findings."""

from __future__ import annotations

import json

from ansible_collections.winkube.node.plugins.plugin_utils.components.node import Node
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.network_report import (
    list_objects,
    show_conf,
    summarize,
)
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import Report, report_of
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading

from tests.unit.components.nodes import LAYOUT, bare

from .nodes import CNI_CONF, healthy

EXPECT = Node.unknown(LAYOUT, network_name="cbr0", cluster_cidr="10.244.0.0/16", service_cidr="10.96.0.0/12")


def test_a_node_without_a_finding_is_said_to_have_none() -> None:
    assert summarize("win1", report_of(())) == "win1: no finding."
    assert summarize("win1", Report((), "Everything was looked at.")) == "win1: no finding."


def test_findings_are_counted_and_each_cause_is_a_sentence_with_its_command() -> None:
    node = healthy()
    node.hns("policylists", lambda _lists: [])
    node.file(CNI_CONF, None)
    report = report_of(node.looked()[1])
    head, *lines = summarize("win1", report).splitlines()
    assert head == f"win1: {len(report.findings)} findings." and len(report.findings) > 1
    assert lines == list(report.lines("win1"))
    assert summarize("win1", report_of(report.findings[:1])).startswith("win1: 1 finding.\n")


def test_the_objects_of_hns_are_told_as_they_were_understood() -> None:
    node = healthy()
    found = list_objects(node.scene(), ())
    assert found["cni"]["name"] == "flannel"
    assert [each["name"] for each in found["networks"]] == ["cbr0"]
    assert len(found["endpoints"]) == found["counts"]["endpoints"] > 0
    assert len(found["policy_lists"]) == found["counts"]["policy_lists"] > 0
    node.hns("policylists", lambda lists: lists[1:])
    fewer, told = node.looked()
    less = list_objects(fewer, told)["counts"]
    assert less["policy_lists"] == found["counts"]["policy_lists"] - 1
    assert (less["errors"] > 0, found["counts"]["errors"]) == (True, 0)
    json.dumps(found)  # plain values: it is a task's result


def test_the_configuration_of_another_cni_is_not_shown() -> None:
    reading = Reading(parts=healthy().parts)
    assert show_conf(reading, EXPECT, diff=True)["cni_conf"] is not None
    other = Node.unknown(LAYOUT, cni_managed_by="cluster")
    assert show_conf(reading, other, diff=True) == {"cni_conf": None}


def test_a_node_without_a_configuration_has_none_to_show() -> None:
    assert show_conf(bare(()), EXPECT, diff=True) == {"cni_conf": None}


def test_the_configuration_is_shown_as_it_would_be_mended_and_with_diff_the_difference() -> None:
    node = healthy()
    value = {"Type": "OutBoundNAT", "ExceptionList": ["10.244.0.0/16", "10.96.0.0/12", "192.168.122.0/24"]}
    policy = {"Name": "EndpointPolicy", "Value": value}
    delegate = {"type": "win-bridge", "apiVersion": 2, "policies": [policy]}
    written = json.dumps({"name": "cbr0", "type": "flannel", "delegate": delegate})
    node.file(CNI_CONF, written)
    reading = Reading(parts=node.parts)

    found = show_conf(reading, EXPECT, diff=True)
    assert found["cni_conf"]["path"] == CNI_CONF
    mended = json.loads(found["cni_conf"]["mended"])["delegate"]["policies"][0]["Value"]
    assert mended == {"Type": "OutBoundNAT", "Settings": {"Exceptions": value["ExceptionList"]}}
    (diff,) = found["diff"]
    assert (diff["before"], diff["after"]) == (written, found["cni_conf"]["mended"])
    assert diff["before_header"].startswith(CNI_CONF) and "action=cni_conf" in diff["after_header"]
    assert "diff" not in show_conf(reading, EXPECT, diff=False)

    node.file(CNI_CONF, found["cni_conf"]["mended"])
    settled = show_conf(Reading(parts=node.parts), EXPECT, diff=True)
    assert settled["cni_conf"]["patch"] == "" and "diff" not in settled
