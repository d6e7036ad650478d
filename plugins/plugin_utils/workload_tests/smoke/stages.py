# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The smoke test in three stages, since other hosts are asked between the first two; or all at once."""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from ...cluster import run_namespace
from ...engine.local_path import expand_home
from ...engine.resource import Refused
from .. import interrupted
from ..outcome import Context, Outcome
from . import manifests, report, workload
from .model import Answer, SmokeOptions, facts_from
from .plan import plan
from .report import verdicts

_REPORTS = {"smoke.txt": report.table, "smoke.json": report.as_json, "smoke.xml": report.as_junit}
_LAST_WORDS = re.compile(r"^(Shared c|C)onnection to \S+ closed\.\s*$", re.MULTILINE)


def run(context: Context, how: SmokeOptions) -> Outcome:
    """Run one stage, or with state `tested` all of them. Refused, ClusterError, OSError."""
    stages = {"tested": _run_all, "started": _start, "judged": _judge, "absent": _remove}
    return stages[how.state](context, how)


def _run_all(context: Context, how: SmokeOptions) -> Outcome:
    started = _start(context, how)
    if context.check_mode:
        return started
    how = replace(how, session=started.result["session"])
    removed = Outcome(False)
    try:
        judged = _judge(context, how)
    finally:
        if not how.keep:
            removed = _remove(context, how)
    return Outcome(True, (*started.steps, *removed.steps), judged.result, judged.said, judged.failed)


def _start(context: Context, how: SmokeOptions) -> Outcome:
    cluster = context.cluster()
    now = cluster.now()
    how = replace(how, namespace=how.namespace or f"winkube-smoke-{secrets.token_hex(3)}")
    if context.check_mode:
        return Outcome(True, (f"run the checks in the namespace {how.namespace} of their own",), {"commands": []})
    swept = context.sweep(cluster, manifests.LABEL, now)
    load = workload.Workload(cluster, how, context.taints, context.clock, cluster.now)
    if not how.keep:
        noted = {"test": "smoke", "label": manifests.LABEL, "name": how.namespace, "run": load.run_id}
        interrupted.note(context.folder, noted, context.access)
    try:
        made = load.deploy()
        load.wait()
        facts = load.facts()
        checks = plan(facts)
        answers = load.run(checks)
    except Exception:
        if not how.keep:
            run_namespace.delete_own(cluster, manifests.LABEL, how.namespace, load.run_id)
            interrupted.forget(context.folder, how.namespace)
        raise
    hosts = {"linux": facts.linux, "outside": facts.outside}
    result = {
        "session": {
            "namespace": how.namespace,
            "facts": facts.as_dict(),
            "answers": {name: asdict(answer) for name, answer in answers.items()},
        },
        "commands": [
            {"id": check.id, "host": hosts[check.where], "line": shlex.join(check.argv)}
            for check in checks
            if check.where in hosts
        ],
    }
    return Outcome(True, (*swept, *made), result)


def _judge(context: Context, how: SmokeOptions) -> Outcome:
    if not how.session:
        raise Refused("session is what a task with state=started returned; it is missing.")
    facts = facts_from(how.session["facts"])
    answers = {name: Answer(**answer) for name, answer in how.session["answers"].items()}
    answers |= {str(given["item"]["id"]): _answer(given) for given in how.answers if "item" in given}
    found = report.Report(facts.namespace, verdicts(plan(facts), answers))
    if how.report and not context.check_mode:
        folder = expand_home(how.report)
        folder.mkdir(parents=True, exist_ok=True)
        for name, render in _REPORTS.items():
            (folder / name).write_text(render(found), encoding="utf-8")
    failed = bool(found.failures) and how.fail
    result = {"table": report.table(found), "report": report.as_dict(found)}
    return Outcome(False, (), result, report.table(found) if failed else report.summary(found), failed)


def _remove(context: Context, how: SmokeOptions) -> Outcome:
    namespace = how.namespace or how.session.get("namespace", "")
    if not namespace:
        raise Refused("namespace or session must say what to delete.")
    cluster = context.cluster()
    if context.check_mode:
        there = cluster.get(f"{run_namespace.PATH}/{namespace}") is not None
    else:
        there = run_namespace.delete_own(cluster, manifests.LABEL, namespace)
        interrupted.forget(context.folder, namespace)
        run_namespace.wait_until_gone(cluster, namespace, context.clock, how.gone_timeout)
    return Outcome(there, (f"delete the namespace {namespace} with all in it",) if there else ())


def _answer(given: Mapping[str, Any]) -> Answer:
    """The answer in what a task of ansible.builtin.raw registered for one command."""
    if given.get("unreachable") or "rc" not in given:
        return Answer(error=str(given.get("msg") or "the host was not reached"))
    # Over SSH with a terminal both streams are one, and the other has OpenSSH's own last words.
    stderr = _LAST_WORDS.sub("", str(given.get("stderr") or ""))
    return Answer(int(given["rc"]), str(given.get("stdout") or ""), stderr.strip())
