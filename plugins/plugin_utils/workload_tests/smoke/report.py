# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts from answers; a failure that follows from another one is separated from what is broken itself. And the
report: a table for people, JSON and JUnit for programs."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .commands import WORD, as_typed
from .model import Answer, Check, Finding
from .plan import FLOWS, GROUPS, SEVEN

BANNER = "<H1>Windows Container Web Server</H1>"
"""The text of the guide's web server."""
REMEDIES = {
    "nodes": "Look at the Node's conditions, then run playbooks/verify.yml and playbooks/diagnose.yml.",
    "pods": "kubectl describe pod tells the reason. For pods that stay in ContainerCreating or cannot be pulled: the "
    "pause image and the image have to be of the node's build, and the node has to reach the registry.",
    "node-to-pod": "Look whether flanneld runs on the Linux node too and has a route or an FDB entry for the Windows "
    "node's range; on virtual machines whether MAC spoofing is allowed.",
    "pod-to-pod": "Look at the HNS network and at cni.conf on both nodes, whether the adapters of virtual machines may "
    "use other MAC addresses, and UDP 4789 or the routes between the nodes.",
    "service": "Look whether kube-proxy runs on the node, with the right source VIP and network name, and whether HNS "
    "has policy lists (playbooks/verify.yml).",
    "discovery": "Look whether CoreDNS runs, whether the pod has its address as DNS server, and whether the Service's "
    "addresses are among the exceptions of the outbound NAT.",
    "inbound": "Look whether a firewall between the hosts lets the NodePort through. From the Windows node itself it "
    "does not work.",
    "outbound": "Compare the exceptions of cni.conf with the ranges of cluster, Services and nodes: the external "
    "address must not be in them. Try with curl, not with ping.",
    "pod-to-node": "Look at the firewall of the other node, and whether the nodes' own range is among the exceptions "
    "of cni.conf: with l2bridge it has to be, with overlay it must not.",
    "image": "Look at the pod's events and at the registries of the node (docs/registries.md).",
    "dns-config": "Look at clusterDNS of the kubelet and at dns in cni.conf: on Windows the CNI plugin passes it on.",
    "user": "Look at runAsUserName of the pod; a mutating webhook may have changed it.",
    "reserved": "Look at systemReserved, kubeReserved and evictionHard of the kubelet.",
}
"""Remedies for broken checks, by group."""
_ADDRESS = re.compile(r"^\d+\.\d+\.\d+\.\d+\s*$", re.MULTILINE)
_STATUS = re.compile(r"[1-5]\d\d")
_LONG = 200


def verdicts(checks: Sequence[Check], answers: Mapping[str, Answer]) -> tuple[Finding, ...]:
    """A finding for each check. `answers`: by id, for the checks that ran."""
    first = {check.id: _judge_alone(check, check.answer or answers.get(check.id)) for check in checks}
    failed = {check.group for check in checks if first[check.id][0] == "failed"}
    return tuple(_finding(check, *first[check.id], failed) for check in checks)


def _finding(check: Check, state: str, seen: str, failed: set[str]) -> Finding:
    if state == "ok":
        return Finding(check, "ok", seen)
    if state == "skipped":
        return Finding(check, "skipped", seen)
    if state == "limitation" or check.limitation:
        return Finding(check, "limitation", f"{seen} {check.limitation}".strip())
    causes = [GROUPS[name] for name in check.needs if name in failed]
    if causes:
        return Finding(check, "follows", f"{seen} It follows from what is broken there: {', '.join(causes)}.")
    return Finding(check, "broken", seen, REMEDIES[check.group])


def _judge_alone(check: Check, answer: Answer | None) -> tuple[str, str]:
    """`ok`, `failed`, `skipped` or `limitation`, and what was seen, for this check alone."""
    if check.exclusion:
        return "skipped", check.exclusion
    if check.where == "none":
        return "limitation", ""
    if answer is None:
        return "skipped", "Its command was not run."
    if answer.error:
        return "failed", _sentence(answer.error)
    said = _short(answer.stderr or answer.stdout)
    if check.expect == "denied":
        if answer.code != 0 and "denied" in f"{answer.stdout}{answer.stderr}".lower():
            return "ok", "Access is denied, as it has to be."
        return "failed", _sentence(f"the file was written, or the answer is another one: {said or answer.code}")
    if answer.code != 0:
        return "failed", _sentence(said) if said else f"It ended with {answer.code} and said nothing."
    return _content(check, answer.stdout)


def _content(check: Check, text: str) -> tuple[str, str]:
    shown = _short(text)
    if check.expect == "banner":
        right, wrong = BANNER in text, "the answer is not the web server's page"
    elif check.expect == "echo":
        right, wrong = text.strip() == WORD, f"'{WORD}' was sent, and something else came back"
    elif check.expect == "http":
        right, wrong = _STATUS.fullmatch(text.strip()) is not None, "there is no HTTP status"
    elif check.expect == "reply":
        right, wrong = "TTL=" in text, "no reply"
    elif check.expect == "address":
        right, wrong = _ADDRESS.search(text) is not None, "the name has no address"
    elif check.expect == "dns":
        right, wrong = check.wanted in text.split(), f"{check.wanted} is not among the pod's DNS servers"
    elif check.expect == "user":
        right = text.strip().lower().rpartition("\\")[2] == check.wanted
        wrong = f"the user is not {check.wanted}"
    else:
        right, wrong = True, ""
    if right:
        return "ok", _ok(check, shown)
    return "failed", _sentence(f"{wrong}: {shown or 'nothing was printed'}")


def _ok(check: Check, shown: str) -> str:
    if check.expect == "banner":
        return "The web server answers."
    if check.expect == "echo":
        return "What was sent came back."
    if check.expect == "reply":
        return "It replies."
    return _sentence(shown) if shown else "It is so."


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONG else f"{line[:_LONG]}..."


def _sentence(text: str) -> str:
    stripped = text.strip()
    return stripped if stripped.endswith((".", "!", "?")) else f"{stripped}."


MARKS = {"ok": "ok", "broken": "BROKEN", "follows": "follows", "limitation": "known limit", "skipped": "not run"}
_ORDER = ("broken", "follows", "ok", "limitation", "skipped")


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of one run, in the namespace that its commands name."""

    namespace: str
    findings: tuple[Finding, ...]

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that fail the run."""
        return tuple(found for found in self.findings if found.verdict == "broken")

    def of_group(self, group: str) -> str:
        """The verdict of a group: the worst of its checks; skipped only if none ran."""
        verdicts = {found.verdict for found in self.findings if found.check.group == group}
        return next((verdict for verdict in _ORDER if verdict in verdicts), "skipped")


def summary(report: Report) -> str:
    """One sentence."""
    counts = {verdict: sum(1 for found in report.findings if found.verdict == verdict) for verdict in MARKS}
    said = ", ".join(f"{count} {MARKS[verdict]}" for verdict, count in counts.items() if count)
    broken = [GROUPS[group] for group in GROUPS if report.of_group(group) == "broken"]
    which = f" Broken: {', '.join(broken)}." if broken else ""
    return f"Smoke test, {len(report.findings)} checks: {said}.{which}"


def table(report: Report) -> str:
    """For people: the seven checks, the flows, each check, and remedies for the broken ones."""
    lines = ["The seven checks of Kubernetes' guide for Windows"]
    for letter, group in zip("abcdefg", SEVEN, strict=True):
        lines.append(f"  {letter}  {GROUPS[group]:<24}{MARKS[report.of_group(group)]}")
    lines += ["", f"{'Supported flows':<34}{'TCP':<14}UDP"]
    for flow in FLOWS:
        lines.append(f"  {flow:<32}{_judge_flow(report, flow, 'TCP'):<14}{_judge_flow(report, flow, 'UDP')}".rstrip())
    rows = [("verdict", "check", "protocol", "from", "to", "seen")]
    rows += [
        (
            MARKS[found.verdict],
            found.check.title,
            found.check.protocol,
            found.check.source,
            found.check.target,
            found.seen,
        )
        for found in report.findings
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines.append("")
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*cells, row[5]]).rstrip())
    for found in report.failures:
        lines += ["", f"{found.check.id}: {found.seen}"]
        lines += [f"  {command(report, found)}", f"  {found.remedy}"]
    return "\n".join([*lines, "", summary(report), ""])


def _judge_flow(report: Report, flow: str, protocol: str) -> str:
    verdicts = {
        found.verdict for found in report.findings if (found.check.flow, found.check.protocol) == (flow, protocol)
    }
    return next((MARKS[verdict] for verdict in _ORDER if verdict in verdicts), "")


def command(report: Report, found: Finding) -> str:
    """The command of a check as a person types it; empty for none."""
    check = found.check
    return as_typed(report.namespace, check.pod, check.argv) if check.argv else ""


def as_dict(report: Report) -> dict[str, Any]:
    """For a machine, and for the task's result."""
    return {
        "summary": summary(report),
        "namespace": report.namespace,
        "checks": {group: report.of_group(group) for group in SEVEN},
        "groups": {group: report.of_group(group) for group in GROUPS},
        "flows": {
            flow: {protocol: _judge_flow(report, flow, protocol) for protocol in ("TCP", "UDP")} for flow in FLOWS
        },
        "findings": [
            {
                "id": found.check.id,
                "group": found.check.group,
                "title": found.check.title,
                "verdict": found.verdict,
                "seen": found.seen,
                "remedy": found.remedy,
                "flow": found.check.flow,
                "protocol": found.check.protocol,
                "where": found.check.where,
                "source": found.check.source,
                "target": found.check.target,
                "command": command(report, found),
                "suite": found.check.suite,
            }
            for found in report.findings
        ],
    }


def as_json(report: Report) -> str:
    """as_dict as JSON."""
    return json.dumps(as_dict(report), indent=2) + "\n"


def as_junit(report: Report) -> str:
    """One test suite with a test case for each check; a consequence of another failure counts as skipped."""
    counted = {name: _count(report.findings, *verdicts) for name, verdicts in _JUNIT.items()}
    suite = ET.Element("testsuite", {"name": "winkube.node smoke", "tests": str(len(report.findings)), **counted})
    for found in report.findings:
        check = found.check
        name = f"[sig-windows] {check.suite or check.title} ({check.id})"
        case = ET.SubElement(suite, "testcase", classname=f"smoke.{check.group}", name=name)
        text = "\n".join(part for part in (found.seen, command(report, found), found.remedy) if part)
        if found.verdict == "broken":
            ET.SubElement(case, "failure", message=found.seen).text = text
        elif found.verdict != "ok":
            ET.SubElement(case, "skipped", message=found.seen)
        else:
            ET.SubElement(case, "system-out").text = text
    ET.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suite, encoding="unicode")}\n'


_JUNIT = {"failures": ("broken",), "skipped": ("follows", "limitation", "skipped")}


def _count(findings: Sequence[Finding], *verdicts: str) -> str:
    return str(sum(1 for found in findings if found.verdict in verdicts))
