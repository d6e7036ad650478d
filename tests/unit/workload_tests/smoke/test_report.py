"""One table for a person, JSON and JUnit for a machine, all of the same findings."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke.model import Answer
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke.plan import plan
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke.report import (
    Report,
    as_dict,
    as_json,
    as_junit,
    summary,
    table,
    verdicts,
)

from tests.unit.workload_tests.smoke.test_plan import FACTS

GOOD = {
    "banner": "<H1>Windows Container Web Server</H1>",
    "echo": "winkube",
    "http": "200",
    "reply": "Reply from 10.244.2.2: bytes=32 time<1ms TTL=128",
    "address": "10.0.0.1",
    "dns": "10.96.0.10",
    "user": "user manager\\containeruser",
}


def report(*failing: str) -> Report:
    """All answers are good but those of the checks whose id starts so."""
    answers = {}
    for check in plan(FACTS):
        bad = check.id.startswith(failing) if failing else False
        code = 1 if bad or check.expect == "denied" else 0
        answers[check.id] = Answer(
            code, "" if code else GOOD.get(check.expect, ""), "Access is denied." if code else ""
        )
    return Report("smoke", verdicts(plan(FACTS), answers))


def test_a_report_without_a_fault() -> None:
    found = report()
    assert found.failures == ()
    assert "BROKEN" not in table(found)
    assert "Broken:" not in summary(found)


def test_the_table_names_checks_flows_commands_and_remedies() -> None:
    lines = table(report("outbound/")).splitlines()
    assert "  g  outbound connectivity   BROKEN" in lines
    assert "  a  the pods run            ok" in lines
    assert any(line.split() == ["Pod", "->", "external", "(IP)", "BROKEN", "BROKEN"] for line in lines)
    assert any(line.startswith("  kubectl exec -n smoke web-a -- curl.exe") for line in lines)
    assert any("Try with curl, not with ping." in line for line in lines)
    assert not [line for line in lines if re.search(r"\b[A-Z]{1,2}-\d\d\b", line)], "no id of a requirement"
    assert lines[-1].endswith("Broken: outbound connectivity.")


def test_json_and_junit_say_the_same() -> None:
    found = report("service/tcp")
    document = json.loads(as_json(found))
    assert document == as_dict(found)
    broken = [item for item in document["findings"] if item["verdict"] == "broken"]
    suite = ET.fromstring(as_junit(found))
    assert suite.attrib["failures"] == str(len(suite.findall("./testcase/failure"))) == str(len(broken))
    assert suite.attrib["tests"] == str(len(document["findings"]))
    assert suite.attrib["skipped"] == str(len(suite.findall("./testcase/skipped")))
    for item, case in zip(document["findings"], suite, strict=True):
        assert case.attrib["name"].startswith("[sig-windows] ")
        assert item["id"] in case.attrib["name"]
    failure = suite.find("./testcase/failure")
    assert failure is not None
    assert "kubectl exec" in (failure.text or "")
