# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks manifests on the controller; documented in modules/workload_lint.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..plugin_utils.cluster.workloads import read_workloads
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.lint.config import DEFAULT_FILE, Config, ConfigError, read_config
from ..plugin_utils.lint.engine import Report, add_unreadable, lint
from ..plugin_utils.lint.fix import FixedFile, apply_fixes, fix
from ..plugin_utils.lint.manifest import UnreadableError, live_documents, read_documents
from ..plugin_utils.lint.model import Severity
from ..plugin_utils.lint.profile import SETTINGS, Profile, SettingError, apply_settings
from ..plugin_utils.lint.report import as_dict, fold, headline, render, summary
from ..plugin_utils.lint.rulebook import UnknownRuleError, rule_id
from ..plugin_utils.lint.silence import Ignore, SilenceError
from ..plugin_utils.lint.sources import Inputs, read_inputs, write_text
from ..plugin_utils.task.cluster_action import ClusterAction

# The sentences of one severity that a failed task prints itself; all of them are in its result.
_SHOWN = 10
INPUTS = ("paths", "content", "objects")


class ActionModule(ClusterAction):
    """workload_lint."""

    module = "workload_lint"
    refusals = (ConfigError, SettingError, SilenceError, UnknownRuleError, UnreadableError, OSError)

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """The report as a result; the task fails on findings of the level, and on input that cannot be read."""
        if all(options[name] is None for name in INPUTS) and not options["from_cluster"]:
            raise Refused(f"one of the following is required: {', '.join((*INPUTS, 'from_cluster'))}")
        config = self._config(options["config"])
        given = {name: options[name] for name in SETTINGS if options[name] is not None}
        profile = apply_settings(apply_settings(Profile(), config.settings), given)
        ignore = (*config.ignore, *(_ignore(entry) for entry in options["ignore"] or ()))
        inputs = self._inputs(options, config)
        documents = inputs.documents
        report = add_unreadable(lint(documents, profile, ignore), inputs.unreadable)
        result: dict[str, Any] = {"changed": False}
        if options["fix"]:
            # What came as text or from a cluster has no file to change.
            fixed = [each for each in fix(documents, report, profile, ignore) if Path(each.file).is_absolute()]
            result |= self._write(fixed)
            # What is left is reported, in check mode too.
            report = add_unreadable(lint(apply_fixes(documents, fixed), profile, ignore), inputs.unreadable)
        if options["report"] and not self._task.check_mode:
            with Path(options["report"]).open("w", encoding="utf-8") as file:
                file.writelines(render(report, profile, options["report_format"], options["strict"]))
        result |= as_dict(report, profile)
        result["steps"] = [{"text": sentence, "state": "found"} for sentence in _sentences(report, options["strict"])]
        return result | _verdict(report, options["level"], options["strict"])

    def _config(self, name: str | None) -> Config:
        """The named file, else the one that the command would read: of the folder where the play was started."""
        if name:
            return read_config(Path(self._resolve(name)))
        usual = Path.cwd() / DEFAULT_FILE
        return read_config(usual) if usual.is_file() else Config()

    def _inputs(self, options: dict[str, Any], config: Config) -> Inputs:
        exclude = (*config.exclude, *options["exclude"])
        inputs = read_inputs([self._resolve(path) for path in options["paths"] or ()], exclude)
        if options["content"]:
            inputs.documents += read_documents("content", options["content"])
        inputs.documents += live_documents(options["objects"] or ())
        if options["from_cluster"]:
            inputs.documents += live_documents(read_workloads(self.open_cluster(options), options["namespace"]))
        return inputs

    def _resolve(self, path: str) -> str:
        """Relative names count from the folder of the playbook, as those of other actions do."""
        base = Path(self._loader.get_basedir())
        return path if Path(path).is_absolute() else str(base / path)

    def _write(self, fixed: list[FixedFile]) -> dict[str, Any]:
        changed = [each for each in fixed if each.after != each.before]
        for each in changed:
            if not self._task.check_mode:
                write_text(Path(each.file), each.after)
        headers = [(each, f"{each.file} (before)", f"{each.file} (after)") for each in changed]
        return {
            "changed": bool(changed),
            "fixed": [each.file for each in changed],
            "warnings": [sentence for each in fixed for sentence in each.refused],
            "diff": [
                {"before": each.before, "after": each.after, "before_header": before, "after_header": after}
                for each, before, after in headers
            ],
        }


def _ignore(entry: dict[str, Any]) -> Ignore:
    rules = frozenset(map(rule_id, entry["rule"]))
    if not entry["reason"].strip():
        raise SilenceError("ignore: reason is empty: say why the finding is accepted.")
    return Ignore(rules, entry["reason"], tuple(entry["files"]), tuple(entry["objects"]), "option ignore")


def _sentences(report: Report, strict: bool) -> list[str]:
    return [headline(found) for found in report.list_shown(strict)] + _hygiene(report, strict)


def _hygiene(report: Report, strict: bool) -> list[str]:
    return [line for line in (fold(report, "strict: true"),) if line and not strict]


def _verdict(report: Report, level: str, strict: bool) -> dict[str, Any]:
    unused = [f"{entry.where}: this ignore entry matched nothing." for entry in report.unused]
    warnings = {"warnings": unused} if unused else {}
    if level == "never" or not report.at_least(Severity[level.upper()]):
        return {"failed": False, "msg": summary(report)} | warnings
    told = _tell_by_severity(report, min(Severity[level.upper()], Severity.WARNING), strict)
    return {"failed": True, "msg": "\n".join([summary(report), *told, *_hygiene(report, strict)])} | warnings


def _tell_by_severity(report: Report, least: Severity, strict: bool) -> Iterator[str]:
    """The findings from `least` on, errors first, and how many of a severity are left out."""
    for severity in (each for each in sorted(Severity, reverse=True) if each >= least):
        found = [each for each in report.list_shown(strict) if each.severity is severity]
        yield from (f"{headline(each)} {each.remedy}" for each in found[:_SHOWN])
        if len(found) > _SHOWN:
            yield f"And {len(found) - _SHOWN} more of severity {severity.name.lower()}, in the result's findings."
