# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks manifests on the controller; documented in modules/workload_lint.py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..plugin_utils.cluster.workloads import read_workloads
from ..plugin_utils.components.options import read
from ..plugin_utils.components.shared_options import Access
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.lint.baseline import BaselineError, apply_baseline, read_baseline
from ..plugin_utils.lint.config import Config, ConfigError, find_config, read_config
from ..plugin_utils.lint.engine import Report, add_unreadable, lint
from ..plugin_utils.lint.fix import FixedFile, apply_fixes, fix
from ..plugin_utils.lint.manifest import UnreadableError, live_documents, read_documents
from ..plugin_utils.lint.model import Severity
from ..plugin_utils.lint.profile import SETTINGS, SettingError
from ..plugin_utils.lint.rendering import ChartValues, Rendering
from ..plugin_utils.lint.report import as_dict, fold, headline, render, summary
from ..plugin_utils.lint.rulebook import UnknownRuleError, rule_id
from ..plugin_utils.lint.silence import Ignore, SilenceError
from ..plugin_utils.lint.sources import Excluded, Inputs, read_inputs, write_text
from ..plugin_utils.task.cluster_action import ClusterAction

# The sentences of one severity that a failed task prints itself; all of them are in its result.
_SHOWN = 10
INPUTS = ("paths", "content", "objects")


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoreOptions:
    rule: tuple[str, ...]
    reason: str
    files: tuple[str, ...]
    objects: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartOptions:
    path: str
    values: tuple[str, ...]
    set: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LintOptions:
    """The module's options, but for the settings, which a file may have as well (`lint/profile.py`)."""

    cluster: Access
    paths: tuple[str, ...] | None
    content: str | None
    objects: tuple[Mapping[str, Any], ...] | None
    from_cluster: bool
    namespace: str
    config: str | None
    exclude: tuple[str, ...]
    charts: tuple[ChartOptions, ...] | None
    build_dependencies: bool | None
    fail_on_unchecked: bool | None
    baseline: str | None
    ignore: tuple[IgnoreOptions, ...] | None
    level: Literal["error", "warning", "info", "never"]
    strict: bool
    fix: bool
    report: str | None
    report_format: str


class ActionModule(ClusterAction):
    """workload_lint."""

    module = "workload_lint"
    refusals = (BaselineError, ConfigError, SettingError, SilenceError, UnknownRuleError, UnreadableError, OSError)

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """The report as a result; the task fails on findings of the level, and on input that cannot be read."""
        how = read(LintOptions, options)
        if how.paths is None and how.content is None and how.objects is None and not how.from_cluster:
            raise Refused(f"one of the following is required: {', '.join((*INPUTS, 'from_cluster'))}")
        config = self._config(how.config)
        given = {name: options[name] for name in SETTINGS if options[name] is not None}
        profile = config.profile(given)
        ignore = (*config.ignore, *(_ignore(entry) for entry in how.ignore or ()))
        charts = tuple(self._chart(each) for each in how.charts or ())
        rendering = config.rendering(profile.minor, charts, how.build_dependencies)
        inputs = self._inputs(how, config, rendering)
        documents = inputs.documents
        baseline = self._resolve(how.baseline) if how.baseline else config.baseline
        accepted = read_baseline(Path(baseline)) if baseline else None  # before a file is changed
        report = add_unreadable(lint(documents, profile, ignore), inputs.unreadable)
        result: dict[str, Any] = {"changed": False}
        if how.fix:
            # What came as text or from a cluster has no file to change.
            fixed = [each for each in fix(documents, report, profile, ignore) if Path(each.file).is_absolute()]
            result |= self._write(fixed)
            # What is left is reported, in check mode too.
            report = add_unreadable(lint(apply_fixes(documents, fixed), profile, ignore), inputs.unreadable)
        if accepted is not None:
            report, _gone = apply_baseline(report, accepted, baseline)
        if how.report and not self._task.check_mode:
            with Path(how.report).open("w", encoding="utf-8") as file:
                file.writelines(render(report, profile, how.report_format, how.strict))
        result |= as_dict(report, profile)
        result["steps"] = [{"text": sentence, "state": "found"} for sentence in _sentences(report, how.strict)]
        unchecked = config.fail_on_unchecked if how.fail_on_unchecked is None else how.fail_on_unchecked
        unused = [f"{entry.where}: this ignore entry matched nothing." for entry in report.unused]
        warnings = [*result.get("warnings", ()), *unused, *rendering.list_mistakes()]
        result |= {"warnings": warnings} if warnings else {}
        return result | _verdict(report, how.level, how.strict, unchecked)

    def _config(self, name: str | None) -> Config:
        """The named file, else the one that the command would read where the play was started."""
        if name:
            return read_config(Path(self._resolve(name)))
        found = find_config(Path.cwd())
        return read_config(found) if found is not None else Config()

    def _inputs(self, how: LintOptions, config: Config, rendering: Rendering) -> Inputs:
        exclude = Excluded((*config.exclude, *how.exclude), config.folder)
        inputs = read_inputs([self._resolve(path) for path in how.paths or ()], exclude, rendering)
        inputs.refuse_empty()
        if how.content:
            inputs.documents += read_documents("content", how.content)
        inputs.documents += live_documents(how.objects or ())
        if how.from_cluster:
            inputs.documents += live_documents(read_workloads(self.open_cluster(how.cluster), how.namespace))
        return inputs

    def _chart(self, how: ChartOptions) -> ChartValues:
        return ChartValues(self._resolve(how.path), tuple(map(self._resolve, how.values)), how.set, "option charts")

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


def _ignore(entry: IgnoreOptions) -> Ignore:
    rules = frozenset(map(rule_id, entry.rule))
    if not entry.reason.strip():
        raise SilenceError("ignore: reason is empty: say why the finding is accepted.")
    return Ignore(rules, entry.reason, entry.files, entry.objects, "option ignore")


def _sentences(report: Report, strict: bool) -> list[str]:
    return [headline(found) for found in report.list_shown(strict)] + _hygiene(report, strict)


def _hygiene(report: Report, strict: bool) -> list[str]:
    return [line for line in (fold(report, "strict: true"),) if line and not strict]


def _verdict(report: Report, level: str, strict: bool, fail_on_unchecked: bool = False) -> dict[str, Any]:
    unchecked = fail_on_unchecked and bool(report.unchecked)
    if not unchecked and (level == "never" or not report.at_least(Severity[level.upper()])):
        return {"failed": False, "msg": summary(report)}
    least = Severity.INFO if unchecked else min(Severity[level.upper()], Severity.WARNING)
    told = _tell_by_severity(report, least, strict)
    return {"failed": True, "msg": "\n".join([summary(report), *told, *_hygiene(report, strict)])}


def _tell_by_severity(report: Report, least: Severity, strict: bool) -> Iterator[str]:
    """The findings from `least` on, errors first, and how many of a severity are left out."""
    for severity in (each for each in sorted(Severity, reverse=True) if each >= least):
        found = [each for each in report.list_shown(strict) if each.severity is severity]
        yield from (f"{headline(each)} {each.remedy}" for each in found[:_SHOWN])
        if len(found) > _SHOWN:
            yield f"And {len(found) - _SHOWN} more of severity {severity.name.lower()}, in the result's findings."
