# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is needed before anybody else is asked: logs, and the facts of a bug report. Rows services.logs and help.

A file of its own: each section of the troubleshooting pages has its file, whatever its length.
"""

from __future__ import annotations

from ..components.host import node_fit
from ..diagnosis import programs as verify
from ..engine.reading import file_key
from .evidence import Evidence
from .model import Answer, broken, cannot_tell, ok
from .services import programs

SLACK = "#sig-windows on the Kubernetes Slack (https://slack.k8s.io)"
TAG = "/sig windows"
"""The comment that brings an issue to SIG Windows."""


def logs(evidence: Evidence) -> Answer:
    """The logs that anybody who helps asks for first are there."""
    seen, gone = [], []
    for program in programs(evidence):
        if evidence.service(program.service) is None:
            continue
        log = verify.log_of(program, evidence.second)
        found = evidence.second.parts.get(file_key(log.file), {}) if log.file else {}
        if log.file and not found.get("exists"):
            gone.append(log.file)
        size = f"{found.get('size')} bytes, written {found.get('written')}" if found.get("exists") else "not read"
        seen.append(f"{program.service}: {log.file or log.folder or 'event log'}{f' ({size})' if log.file else ''}")
    if gone:
        return broken(
            f"There is no {' and no '.join(gone)}.",
            "Run site.yml: it says where each log goes; then start the service again.",
            seen,
        )
    return ok(
        "The logs are there. Begin with https://kubernetes.io/docs/tasks/debug/, then the pages for Windows; "
        "playbooks/collect_logs.yml gathers the logs.",
        seen,
    )


def bug_report(evidence: Evidence) -> Answer:
    """What a report of a bug has to say, as far as it is known."""
    info = (((evidence.cluster.node if evidence.cluster else None) or {}).get("status") or {}).get("nodeInfo") or {}
    machine = node_fit.Machine.of(evidence.first.parts.get("system") or {})
    facts = {
        "Kubernetes": str(info.get("kubeletVersion") or evidence.wanted.version or ""),
        "Windows": machine.name if machine.build else "",
        "container runtime": str(info.get("containerRuntimeVersion") or ""),
        "network": f"{evidence.expected.network_mode}, managed by the {evidence.expected.cni_managed_by}",
    }
    seen = [f"{name}: {value or 'not known'}" for name, value in facts.items()]
    unknown = [name for name, value in facts.items() if not value]
    where = f"Ask in {SLACK}, or open an issue at https://github.com/kubernetes/kubernetes/issues and comment {TAG}."
    if unknown:
        return cannot_tell(
            f"Not known, and everybody will ask for it: {', '.join(unknown)}.",
            where,
            f"kubectl get node {evidence.expected.node_name} -o wide",
            seen,
        )
    return ok(f"This is what a report has to say, besides the steps to reproduce and the logs. {where}", seen)
