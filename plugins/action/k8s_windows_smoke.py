# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The smoke test; documented in modules/k8s_windows_smoke.py."""

from __future__ import annotations

import atexit
import os
import re
import secrets
import shlex
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible import constants as C  # noqa: N812 - as all of Ansible names it
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ..plugin_utils.argument_spec import of_module
from ..plugin_utils.cluster import run_namespace
from ..plugin_utils.cluster.client import Clock, Cluster, ClusterError
from ..plugin_utils.plain import plain
from ..plugin_utils.smoke import interrupted, manifests, report, workload
from ..plugin_utils.smoke.manifests import NoImageError
from ..plugin_utils.smoke.model import Answer, facts_from
from ..plugin_utils.smoke.plan import plan
from ..plugin_utils.smoke.verdicts import verdicts

_REPORTS = {"smoke.txt": report.table, "smoke.json": report.as_json, "smoke.xml": report.as_junit}
_LAST_WORDS = re.compile(r"^(Shared c|C)onnection to \S+ closed\.\s*$", re.MULTILINE)
# The plugin is imported before Ansible forks its workers; only the process that forks them cleans up at its end.
_MAIN = os.getpid()


def _at_exit() -> None:
    if os.getpid() == _MAIN:
        interrupted.delete_noted(Path(C.DEFAULT_LOCAL_TMP), Display().warning)


atexit.register(_at_exit)


class ActionModule(ActionBase):
    """k8s_windows_smoke."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """One of the three parts of a smoke test."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        options = plain(self.validate_argument_spec(argument_spec=of_module("k8s_windows_smoke"))[1])
        part = {"started": self._start, "judged": self._judge, "absent": self._remove}[options["state"]]
        try:
            return result | part(options)
        except (ClusterError, NoImageError, OSError) as error:
            raise AnsibleActionFail(f"smoke: {error}") from error

    def _cluster(self, options: dict[str, Any]) -> Cluster:
        cluster = Cluster.open(options["cluster"])
        if cluster is None:
            raise ClusterError("cluster.kubeconfig is empty; winkube_cluster.kubeconfig names a kubeconfig.")
        return cluster

    # -- started -------------------------------------------------------------------------------------------------

    def _start(self, options: dict[str, Any]) -> dict[str, Any]:
        cluster = self._cluster(options)
        namespace = options["namespace"] or f"winkube-smoke-{secrets.token_hex(3)}"
        if self._task.check_mode:
            text = f"make the namespace {namespace}, run the checks, delete it"
            return {"changed": True, "steps": [{"text": text, "state": "planned"}], "commands": []}
        folder = Path(C.DEFAULT_LOCAL_TMP)
        swept = run_namespace.sweep(cluster, manifests.LABEL, datetime.now(UTC))
        load = workload.Workload(cluster, _settings(options, namespace), Clock(), lambda: datetime.now(UTC))
        if not options["keep"]:
            interrupted.note(folder, namespace, options["cluster"])
        try:
            made = load.deploy()
            load.wait()
            facts = load.facts()
            checks = plan(facts)
            answers = load.run(checks)
        except Exception:
            workload.clean_up(cluster, namespace)
            interrupted.forget(folder, namespace)
            raise
        hosts = {"linux": facts.linux, "outside": facts.outside}
        sentences = (*(f"delete the namespace {name}, which an earlier run left" for name in swept), *made)
        return {
            "changed": True,
            "steps": [{"text": text, "state": "done"} for text in sentences],
            "session": {
                "namespace": namespace,
                "facts": facts.as_dict(),
                "answers": {name: asdict(answer) for name, answer in answers.items()},
            },
            "commands": [
                {"id": check.id, "host": hosts[check.where], "line": shlex.join(check.argv)}
                for check in checks
                if check.where in hosts
            ],
        }

    # -- judged --------------------------------------------------------------------------------------------------

    def _judge(self, options: dict[str, Any]) -> dict[str, Any]:
        session = options["session"]
        if not session:
            raise ClusterError("session is what a task with state=started returned; it is missing.")
        facts = facts_from(session["facts"])
        answers = {name: Answer(**answer) for name, answer in session["answers"].items()}
        answers |= {str(given["item"]["id"]): _answer(given) for given in options["answers"] if "item" in given}
        found = report.Report(facts.namespace, verdicts(plan(facts), answers))
        if options["report"] and not self._task.check_mode:
            folder = Path(options["report"]).expanduser()
            folder.mkdir(parents=True, exist_ok=True)
            for name, render in _REPORTS.items():
                (folder / name).write_text(render(found), encoding="utf-8")
        result = {"changed": False, "table": report.table(found), "report": report.as_dict(found)}
        if found.broken and options["fail"]:
            return result | {"failed": True, "msg": report.table(found)}
        return result | {"msg": report.summary(found)}

    # -- absent --------------------------------------------------------------------------------------------------

    def _remove(self, options: dict[str, Any]) -> dict[str, Any]:
        namespace = options["namespace"] or options["session"].get("namespace", "")
        if not namespace:
            raise ClusterError("namespace or session has to say what is to be deleted.")
        cluster = self._cluster(options)
        text = f"delete the namespace {namespace} with all in it"
        if self._task.check_mode:
            there = cluster.get(f"/api/v1/namespaces/{namespace}") is not None
            return {"changed": there, "steps": [{"text": text, "state": "planned"}] if there else []}
        there = workload.clean_up(cluster, namespace)
        interrupted.forget(Path(C.DEFAULT_LOCAL_TMP), namespace)
        run_namespace.wait_until_gone(cluster, namespace, Clock(), options["gone_timeout"])
        return {"changed": there, "steps": [{"text": text, "state": "done"}] if there else []}


def _settings(options: dict[str, Any], namespace: str) -> workload.Settings:
    names = ("taints", "pull_secret", "timeout", "dns_domain", "external_address", "external_name", "external_dns")
    return workload.Settings(
        namespace=namespace,
        repository=options["image_repo"],
        tags=options["image_tags"],
        mode=options["network_mode"],
        linux=options["linux_host"],
        outside=options["outside_host"],
        **{name: options[name] for name in names},
    )


def _answer(given: dict[str, Any]) -> Answer:
    """What a task of ansible.builtin.raw registered for one command."""
    if given.get("unreachable") or "rc" not in given:
        return Answer(error=str(given.get("msg") or "the host was not reached"))
    # Over SSH with a terminal both streams come as one, and OpenSSH's own last words as the other.
    stderr = _LAST_WORDS.sub("", str(given.get("stderr") or ""))
    return Answer(int(given["rc"]), str(given.get("stdout") or ""), stderr.strip())
