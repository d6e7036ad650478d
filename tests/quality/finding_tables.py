"""The tables of findings and messages in the pages of docs, from those in the code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import groupby

from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.check import Check, Needs
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import CHECKS, KNOWN
from ansible_collections.winkube.node.plugins.plugin_utils.facts import calico, windows
from ansible_collections.winkube.node.plugins.plugin_utils.facts.windows_revisions import (
    BAD_REVISIONS,
    BadRevision,
    find_update,
)
from ansible_collections.winkube.node.plugins.plugin_utils.network.cni_guess import MARKS
from ansible_collections.winkube.node.plugins.plugin_utils.words.cause import Area
from ansible_collections.winkube.node.plugins.plugin_utils.words.causes_cni import RULES

from tests.quality.page_text import as_cell

ISSUE = re.compile(r"\b([\w.-]+/[\w.-]+)#(\d+)")
LINK = r"[\1#\2](https://github.com/\1/issues/\2)"
_MARKED = {
    "network": "networks called `{}`",
    "endpoint": "endpoints called `{}`",
    "type": "networks of type `{}`",
    "plugin": "in cni.conf the plugin `{}`",
}


def mended() -> list[str]:
    """The rows of what a command mends."""
    return [
        f"| `{each.id}` | {as_cell(each.title)} | {as_cell(each.remedy.plain)} | {as_cell(each.remedy.cuts_off)} |"
        for each in KNOWN.values()
        if each.remedy.automatic
    ]


def advice() -> list[str]:
    """The rows of what is for a person."""
    return [
        f"| `{each.id}` | {as_cell(each.title)} | {as_cell(each.remedy.plain)} | {as_cell(each.remedy.ours('HOST'))} |"
        for each in KNOWN.values()
        if not each.remedy.automatic
    ]


def found_as(page: str) -> list[str]:
    """The rows of a question in docs/troubleshooting: the findings that its table names, as the diagnosis has them."""
    table = page.partition("<!-- generated: found -->")[2].partition("<!-- end of found -->")[0]
    findings = [KNOWN[each] for each in re.findall(r"^\| `([^`]+)`", table, re.MULTILINE)]
    return [f"| `{each.id}` | {each.severity} | {as_cell(each.title)} |" for each in findings]


def questions(index: str, titles: Mapping[str, str]) -> list[str]:
    """The rows of docs/troubleshooting/README.md: its pages, in its own order, and what each one asks."""
    pages = re.findall(r"^\| \[([^\]]+)\]\(\1\.md\) \|", index, re.MULTILINE)
    return [f"| [{each}]({each}.md) | {titles[each]} |" for each in pages]


def overlay() -> list[str]:
    """Since when Windows has overlay networks."""
    return [
        f"| {windows.find_release(each.build).name} ({each.build}) | "  # type: ignore[union-attr]
        + (f"never: {each.why}" if each.revision is None else f"from 10.0.{each.build}.{each.revision} ({each.update})")
        + " |"
        for each in windows.OVERLAY_FLOORS
    ] + ["| newer | yes |"]


def features() -> list[str]:
    """Since when Windows has other features."""
    return [
        f"| {each.feature} | {each.windows} (build {each.build}) | {each.line} |" for each in windows.FEATURE_FLOORS
    ]


def maturity() -> list[str]:
    """How far Kubernetes' documentation said each feature was."""
    return [f"| {each.feature} | {each.stage} | {each.line} |" for each in windows.MATURITY]


def builds() -> list[str]:
    """What stands for each build of Windows in a pod."""
    found = [(each, windows.find_release(each.build)) for each in windows.IMAGE_NAMES]
    return [
        f"| {release.name} | `10.0.{names.build}` | `{windows.class_name(names.build)}` | "
        f"`mcr.microsoft.com/windows/servercore:{names.servercore}` |"
        for names, release in found
        if release is not None
    ]


def calico_releases() -> list[str]:
    """What Calico tests."""
    return [
        f"| {each.calico} | {each.operator} | "
        + (f"{each.kubernetes[0]} to {each.kubernetes[-1]}" if each.kubernetes else "not known here")
        + " |"
        for each in calico.RELEASES
    ]


def revisions() -> list[str]:
    """The ledger of bad revisions of Windows."""
    return [
        f"| {each.build} | {_update(each.build, each.since)} | {_update(each.build, each.mended)} | {_said(each)} |"
        for each in BAD_REVISIONS
    ]


def _said(each: BadRevision) -> str:
    return f"{as_cell(each.summary.removesuffix(each.source))}[source]({each.source})"


def _update(build: int, revision: int) -> str:
    if not revision:
        return ""
    kb = find_update(build, revision).kb
    return f"{revision}, {kb}" if kb else str(revision)


def network_checks() -> list[Check]:
    """What hns_check looks for, causes first: neither what only logs tell, nor what has to be tried, nor cni.conf."""
    return [
        check
        for check in CHECKS.values()
        if check.cause.area == Area.NETWORK and check.needs != Needs.TRIED and check.id not in RULES
    ]


def network() -> list[str]:
    """The rows of what hns_check looks for."""
    return [
        f"| `{each.id}` | {each.cause.severity} | {as_cell(each.cause.title)} | {'needed' if each.needs else ''} "
        f"| {ISSUE.sub(LINK, each.cause.issue)} |"
        for each in network_checks()
    ]


def guesses() -> list[str]:
    """The rows of the CNIs, and by which names each is guessed."""
    return [
        f"| `{cni}` | " + "; ".join(_MARKED[mark.what].format(as_cell(mark.pattern)) for mark in marks) + " |"
        for cni, marks in groupby(MARKS, key=lambda mark: mark.cni)
    ]


def gmsa_floors() -> list[str]:
    """The rows of the updates since which a container with a gMSA reaches network shares."""
    return [f"| {each.build} | {each.update} | 10.0.{each.build}.{each.revision} |" for each in windows.GMSA_FLOORS]


def rules() -> list[str]:
    """The rows of the rules of cni.conf."""
    return [
        f"| `{name}` | {each.cause.severity} | {'refuses' if each.is_refused else 'warns'} | {as_cell(each.cause.why)} "
        f"| {'yes' if each.mended else ''} | {ISSUE.sub(LINK, each.cause.issue)} |"
        for name, each in RULES.items()
    ]
