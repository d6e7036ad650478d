# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: `python -m ansible_collections.winkube.node.plugins.plugin_utils.lint [options] PATH...`

Exit status: 0 nothing at or above the level, 1 findings at or above it (with --fail-on-unchecked also what could not be
rendered), 2 wrong use, a name that does not exist, a folder without a manifest.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from ..facts.evidence import list_evidence
from .baseline import BaselineError, apply_baseline, read_baseline
from .baseline import as_text as as_baseline
from .config import DEFAULT_FILE, Config, ConfigError, find_config, read_config, repository_of
from .engine import Report, add_unreadable, lint
from .fix import apply_fixes, fix
from .manifest import Document, UnreadableError
from .model import Severity
from .policies import NAMESPACE_LABEL, build_policies
from .profile import FAMILIES, MODES, RUNTIMES, SETTINGS, UNKNOWN_PODS, Profile, SettingError
from .report import FORMATS, VERSION, place, render, rule_page, summary
from .rule import Complete, Remove, Rule, fill_gaps
from .rulebook import HYGIENE, RULES, UnknownRuleError, rule_id
from .silence import SilenceError
from .sources import Excluded, read_inputs, write_text

OK, FINDINGS, UNUSABLE = 0, 1, 2
LEVELS = {"error": Severity.ERROR, "warning": Severity.WARNING, "info": Severity.INFO}


_EPILOG = """\
Examples:
  workload-lint                               paths: of .workload-lint.yml, else the repository
  workload-lint deploy/                       .yaml, .yml and .json files below it; charts and overlays rendered
  workload-lint --values prod.yaml charts/web a chart with these values
  workload-lint --profile 1.33 --builds 2022 'apps/*/pod.yml'
  workload-lint --fix deploy/                 show what can be changed safely; --write changes it
  workload-lint --explain privilege-escalation               what a rule is about

Exit status: 0 nothing at or above the level, 1 findings, 2 wrong use.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="workload-lint",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Says what in Kubernetes manifests will not work on Windows nodes, where, why, and what to do.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="files, folders, patterns; - is standard input; else paths of the configuration, else the repository",
    )
    parser.add_argument("--config", metavar="FILE", help=f"configuration, else {DEFAULT_FILE} here or above")
    parser.add_argument("--format", choices=FORMATS, default="text", help="form of the report")
    parser.add_argument(
        "--output",
        metavar="[FORMAT=]FILE",
        action="append",
        default=[],
        help="write the report there, not to standard output; several times for several formats",
    )
    parser.add_argument("--strict", action="store_true", help="show hygiene (limits, os.name) as well, not as one line")
    parser.add_argument(
        "--level", choices=(*LEVELS, "never"), default="error", help="findings from here on make it fail"
    )
    parser.add_argument(
        "--fix", action="store_true", help="show what can be changed safely, as a diff; changes nothing"
    )
    parser.add_argument("--write", action="store_true", help="with --fix: change the files")
    parser.add_argument(
        "--fail-on-unchecked",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="fail as well if a chart, a kustomization or a template could not be rendered, so was not checked",
    )
    parser.add_argument("--baseline", metavar="FILE", help="accept the findings of this file")
    parser.add_argument("--write-baseline", metavar="FILE", help="write the findings to this file and end with 0")
    parser.add_argument("--exclude", metavar="PATTERN", action="append", default=[], help="leave these files out")
    parser.add_argument("--disable", metavar="RULE,RULE", help="switch rules off")
    parser.add_argument("--severity", metavar="RULE=LEVEL,..", help="give rules another severity: error, warning, info")
    parser.add_argument("--list-rules", action="store_true", help="print the rules and end")
    parser.add_argument("--explain", metavar="RULE", help="say what a rule looks at and what to do, and end")
    parser.add_argument(
        "--policies",
        metavar="KEY=VALUE",
        nargs="?",
        const=NAMESPACE_LABEL,
        help="print two ValidatingAdmissionPolicies, which warn in the cluster of a missing os.name and, in namespaces"
        f" with this label ({NAMESPACE_LABEL}), of pods that select no system, and end",
    )
    parser.add_argument("--version", action="version", version=VERSION)
    charts = parser.add_argument_group(
        "charts", "they stand before the configuration file's, and before ci/*-values.yaml"
    )
    charts.add_argument("--values", metavar="FILE", action="append", default=[], help="render charts with these values")
    charts.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="render charts with this value")
    charts.add_argument(
        "--build-dependencies",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="fetch what charts depend on, as Chart.lock has it, into copies of them",
    )
    cluster = parser.add_argument_group("cluster", "each stands before the same setting of the configuration file")
    cluster.add_argument("--profile", metavar="1.NN", help="Kubernetes version; the newest known is the default")
    cluster.add_argument("--runtime", choices=RUNTIMES, help="container runtime; docker up to 1.23")
    cluster.add_argument("--mode", choices=MODES, help="network mode")
    cluster.add_argument("--dsr", action=argparse.BooleanOptionalAction, default=None, help="kube-proxy runs with DSR")
    cluster.add_argument("--builds", metavar="B,B", help="Windows builds of the nodes: 20348, ltsc2022, 2022")
    cluster.add_argument("--taint", metavar="K=V:E", help="taint of the Windows nodes, none if there is none")
    cluster.add_argument("--ip-families", metavar="F,F", help=f"of the cluster: {', '.join(FAMILIES)}")
    cluster.add_argument(
        "--host-network-gate",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="the feature gate WindowsHostNetwork is on (1.26 to 1.32)",
    )
    cluster.add_argument(
        "--substitute",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="${NAME} and <name> are filled in before the manifests are applied, so nothing is said of such values",
    )
    cluster.add_argument("--unknown-pods", choices=UNKNOWN_PODS, help="pods that do not say for which system they are")
    return parser


def main(arguments: Sequence[str], out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Run the command. For wrong usage argparse itself ends the process with status 2."""
    out, err = out or sys.stdout, err or sys.stderr
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.list_rules and options.format not in _FORMS_OF_RULES:
        parser.error(f"--list-rules goes with --format {' or '.join(_FORMS_OF_RULES)}, not {options.format}")
    if options.paths and (options.list_rules or options.policies is not None):
        parser.error(f"--{'list-rules' if options.list_rules else 'policies'} takes no PATH: {options.paths[0]}")
    if options.list_rules:
        out.write(list_rules(options.format))
        return OK
    if options.write and not options.fix:
        parser.error("--write goes with --fix")
    try:
        if options.explain:
            out.write(explain(options.explain))
            return OK
        config = _config(options.config)
        profile = config.profile(_settings(options))
        if options.policies is not None:
            out.write(build_policies(options.policies, profile.minor))
            return OK
        names = options.paths or config.paths or _repository()
        if not names:
            parser.error("give at least one PATH: a file, a folder, a pattern, or - for standard input")
        exclude = Excluded((*config.exclude, *options.exclude), config.folder)
        rendering = config.rendering(
            profile.minor, build_dependencies=options.build_dependencies, values=options.values, sets=options.set
        )
        inputs = read_inputs(names, exclude, rendering)
        if options.paths or config.paths:
            inputs.refuse_empty()
        documents = inputs.documents
        name = "" if options.write_baseline else options.baseline or config.baseline
        accepted = read_baseline(Path(name)) if name else None  # before a file is changed
        report = add_unreadable(lint(documents, profile, config.ignore), inputs.unreadable)
        if options.fix:
            # A report for programs gets standard output for itself.
            shown = out if options.format == "text" or options.output else err
            left = _fix(documents, report, profile, config, options.write, shown, err)
            report = add_unreadable(left, inputs.unreadable)
        if options.write_baseline:
            Path(options.write_baseline).write_text(as_baseline(report), encoding="utf-8")
            out.write(f"The findings are written to {options.write_baseline}; {summary(report)}\n")
            return OK
        if accepted is not None:
            report, gone = apply_baseline(report, accepted, name)
            if gone:
                # A run of some files has not all of them, and must not write the baseline of all.
                err.write(f"{name}: {gone} of its findings are not in this run; --write-baseline, over all files, ")
                err.write("writes it again.\n")
        _print(report, profile, options, out)
    except BrokenPipeError:
        raise
    except (
        SettingError,
        ConfigError,
        BaselineError,
        UnreadableError,
        SilenceError,
        UnknownRuleError,
    ) as error:
        err.write(f"workload-lint: {error}\n")
        return UNUSABLE
    except OSError as error:
        said = f"{error.filename}: {error.strerror}." if error.filename else str(error)
        err.write(f"workload-lint: {said}\n")
        return UNUSABLE
    for entry in report.unused:
        err.write(f"{entry.where}: this ignore entry matched nothing.\n")
    err.writelines(f"{sentence}\n" for sentence in rendering.list_mistakes())
    fails = options.level != "never" and report.at_least(LEVELS[options.level])
    strict = config.fail_on_unchecked if options.fail_on_unchecked is None else options.fail_on_unchecked
    return FINDINGS if fails or (strict and report.unchecked) else OK


def _repository() -> list[str]:
    """The repository of the working folder, as seen from there; nothing if there is none."""
    root = repository_of(Path.cwd())
    return [os.path.relpath(root)] if root is not None else []


def _config(name: str | None) -> Config:
    if name is not None:
        return read_config(Path(name))
    found = find_config(Path.cwd())
    return read_config(found) if found is not None else Config()


def _settings(options: argparse.Namespace) -> dict[str, object]:
    given = {name: getattr(options, name) for name in SETTINGS}
    return {name: value for name, value in given.items() if value is not None}


def _fix(
    documents: list[Document], report: Report, profile: Profile, config: Config, write: bool, out: TextIO, err: TextIO
) -> Report:
    """Show the changes; with `write` apply them and report the remaining findings."""
    fixed = fix(documents, report, profile, config.ignore)
    for each in fixed:
        out.write(each.diff)
        err.writelines(f"{sentence}\n" for sentence in each.refused)
    files = [each for each in fixed if each.after != each.before and each.file != "-"]
    if not write or not files:
        return report
    for each in files:
        write_text(Path(each.file), each.after)
    return lint(apply_fixes(documents, files), profile, config.ignore)


def _print(report: Report, profile: Profile, options: argparse.Namespace, out: TextIO) -> None:
    for output in options.output:
        form, _equals, name = output.partition("=") if output.partition("=")[0] in FORMATS else ("", "", output)
        with Path(name).open("w", encoding="utf-8") as file:
            file.writelines(render(report, profile, form or options.format, options.strict))
        worst = report.findings[0] if report.findings else None
        out.write(f"{len(report.findings)} findings written to {name}")
        out.write(f"; the first: {place(worst)}: {worst.rule}\n" if worst else "\n")
    if not options.output:
        out.writelines(render(report, profile, options.format, options.strict))


# The rules in words, from the tables: for --list-rules, --explain and the pages in docs/rules.

_FORMS_OF_RULES = ("text", "json")
_FIXES = {Remove: "takes the field away where it has no effect", Complete: "adds what is missing"}


def list_rules(form: str = "text") -> str:
    """One line for each rule and each of its parts; with `json` all that is known of them."""
    if form == "json":
        return json.dumps({"schema": 1, "rules": list(map(_as_dict, RULES))}, indent=2, ensure_ascii=False) + "\n"
    return "".join(f"{rule.id:<34} {rule.level.describe()}: {rule.title}\n" for rule in RULES)


def _as_dict(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.id,
        "title": rule.title,
        "severity": rule.level.describe(),
        "hygiene": rule.id in HYGIENE,
        "kinds": list(rule.kinds),
        "fields": list(rule.paths),
        "message": fill_gaps(rule.message),
        "remedy": fill_gaps(rule.remedy),
        "source": rule.source,
        "fix": fix_of(rule),
        "page": rule_page(rule.id),
    }


def explain(name: str) -> str:
    """What a rule looks at, and the remedy. Raises UnknownRuleError."""
    wanted = rule_id(name)
    return "\n".join("".join(f"{line}\n" for line in _explain(rule)) for rule in RULES if rule.id == wanted)


def _explain(rule: Rule) -> Iterator[str]:
    yield f"{rule.id}: {rule.title}"
    yield f"  severity:      {rule.level.describe()}"
    yield f"  looks at:      {', '.join(rule.paths)}{describe_kinds(rule)}"
    yield f"  says:          {fill_gaps(rule.message)}"
    yield f"  remedy:        {fill_gaps(rule.remedy)}"
    if rule.fix is not None:
        yield f"  --fix:         {fix_of(rule)}"
    yield f"  known from:    {rule.source}"
    for each in list_evidence(rule.id):
        yield f"  {each.outcome + ':':<14} {each}"
    yield f'  accepted by:   the annotation lint.winkube.node/{rule.id}: "the reason", or ignore in .workload-lint.yml'


def describe_kinds(rule: Rule) -> str:
    """The kinds of objects that it looks at, as the end of a sentence; empty for pods."""
    return "" if "pod" in rule.kinds else f" of {', '.join(rule.kinds)}"


def fix_of(rule: Rule) -> str:
    return _FIXES[type(rule.fix)] if rule.fix is not None else ""
