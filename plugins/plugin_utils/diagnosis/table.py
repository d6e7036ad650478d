# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All checks of a node, the selections from them, and what a person has to know of it: causes before consequences.

    scene = scene_of(reading, Node.of(options, layout), cluster)
    report = diagnose(scene, selection=HNS_CHECK)
    for cause in report.causes:           # roots first; cause.consequences follow from it
        print(cause.finding.sentence, cause.finding.remedy.ours("win1"))
    print(report.fine)

`verify`, `hns_check` and `diagnose` are selections of the one table: a fault has the same id and the same remedy in
each. What a scene does not have (a file that was not read, a cluster that was not asked) is not checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from ..engine.resource import Refused
from ..foreign.spelling import nearest
from ..network.model import Hns
from ..words import causes_network, causes_pods, causes_programs, causes_volumes
from ..words.cause import ERROR, NOTE, SEVERITIES, Area, Cause
from ..words.causes import as_tried
from ..words.finding import Finding, Seen
from ..words.mended import CRASH, describe_fixes, find_fixes
from ..words.remedies import advice
from ..words.remedy import Remedy
from . import (
    checks_balancers,
    checks_block,
    checks_calico,
    checks_certificates,
    checks_cni,
    checks_disk,
    checks_endpoints,
    checks_files,
    checks_gmsa,
    checks_host,
    checks_kubelet,
    checks_network,
    checks_node,
    checks_programs,
    checks_services,
    checks_setup,
    checks_switches,
    checks_traffic,
    checks_workloads,
)
from .check import Check, Needs
from .checks_logs import from_log, with_logs
from .checks_programs import components_seen
from .scene import Scene

STUMBLED = Cause(
    "diagnosis.stumbled",
    NOTE,
    "A check could not make sense of what it read",
    "",
    advice("Please report this with the JSON report."),
    area=Area.WORKLOADS,
)

_TABLE: tuple[Check | Cause, ...] = (
    *checks_block.CHECKS,
    *causes_programs.CAUSES,
    *checks_certificates.CHECKS,
    *checks_programs.CHECKS,
    *checks_kubelet.CHECKS,
    *checks_host.CHECKS,
    *checks_disk.CHECKS,
    *checks_switches.CHECKS,
    *causes_network.CAUSES,
    *checks_calico.CHECKS,
    *checks_network.CHECKS,
    *checks_cni.CHECKS,
    *checks_files.CHECKS,
    *checks_endpoints.CHECKS,
    *checks_balancers.CHECKS,
    *causes_volumes.CAUSES,
    *checks_gmsa.CHECKS,
    *causes_pods.CAUSES,
    *checks_node.CHECKS,
    *checks_setup.CHECKS,
    *checks_services.CHECKS,
    *checks_workloads.CHECKS,
    *checks_traffic.CHECKS,
    STUMBLED,
)
"""In the order in which one thing rests on the other. What stands here as a mere cause only logs tell."""

CHECKS: Mapping[str, Check] = {
    each.id: replace(each, cause=as_tried(each.cause)) for each in _TABLE if isinstance(each, Check)
}
"""What looks, by the id of its cause."""

KNOWN: Mapping[str, Cause] = {each.id: as_tried(each.cause if isinstance(each, Check) else each) for each in _TABLE}
"""All causes."""


def remedy_of(identity: str) -> Remedy:
    """What mends the findings of a cause. Refused for what has no automatic fix, and for an unknown id."""
    cause = KNOWN.get(identity)
    if cause is None:
        raise Refused(f"finding: there is no finding '{identity}'{_suggest(identity)}")
    if not cause.remedy.automatic:
        raise Refused(f"{identity} ({cause.title}) has no automatic fix: {cause.remedy.plain}")
    return cause.remedy


@dataclass(frozen=True, slots=True)
class Mendable:
    """What mends the finding that was asked for; None where the node does not have it: `why` says so, `others` are the
    ids of the errors that it has."""

    remedy: Remedy | None
    why: str = ""
    others: tuple[str, ...] = ()


def mendable(identity: str, scene: Scene, host: str = "HOST") -> Mendable:
    """What mends a finding in a scene. Refused where only the cluster could say whether it is there, and where what is
    has no automatic fix. `identity` is one that remedy_of knows."""
    cause = KNOWN[identity]
    anyway = f"To do it all the same: {cause.remedy.command(host)}"
    if not _can_look(identity, scene):
        raise Refused(
            f"Whether the node has {identity} only the cluster can say: set winkube_cluster.kubeconfig. {anyway}"
        )
    findings = findings_in(scene, VERIFY)
    own = [each for each in findings if each.id == identity]
    mended = next((each.remedy for each in own if each.remedy.automatic), None)
    if own and mended is None:
        raise Refused(f"{identity} has no automatic fix here: {own[0].sentence}")
    errors = tuple(dict.fromkeys(each.id for each in findings if each.severity == ERROR))
    has = f"It has {', '.join(errors)}." if errors else "It has no error."
    return Mendable(
        mended,
        "" if own else f"The node does not have {identity} ({cause.title}): nothing is done. {has} {anyway}",
        errors,
    )


def check_ids(patterns: Iterable[str]) -> None:
    """Refused for an id, or a pattern of ids, that no check has."""
    for each in patterns:
        if not any(fnmatchcase(identity, each) for identity in KNOWN):
            raise Refused(f"checks: there is no check '{each}'{_suggest(each)}")


def _suggest(given: str) -> str:
    """How a sentence about an unknown id ends."""
    near = nearest(given, KNOWN, 3)
    return f"; did you mean {' or '.join(near)}?" if near else ". docs/diagnose.md lists them."


Selection = frozenset[Area]

VERIFY: Selection = frozenset({Area.PROGRAMS, Area.NETWORK, Area.NODE})
HNS_CHECK: Selection = frozenset({Area.NETWORK})
DIAGNOSE: Selection = frozenset(Area)

FINE = {
    Area.PROGRAMS: "services and programs",
    Area.NETWORK: "the network",
    Area.NODE: "the Node object",
    Area.WORKLOADS: "pods and their traffic",
}


@dataclass(frozen=True, slots=True)
class Root:
    """A finding that no other explains, and those that follow from it, in the order of the table."""

    finding: Finding
    consequences: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """`causes` are the roots, errors first; `fine` is one sentence about what was looked at without a finding; `notes`
    say what Windows cannot do, and what no one could look at."""

    causes: tuple[Root, ...]
    fine: str
    notes: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All of them, errors first, causes before what follows from them."""
        found = [each for cause in self.causes for each in (cause.finding, *cause.consequences)]
        return tuple(sorted(found, key=lambda each: SEVERITIES.index(each.severity)))

    @property
    def counts(self) -> dict[str, int]:
        """How many findings of each severity, and how many notes."""
        found = Counter(each.severity for each in self.findings)
        return {f"{severity}s": found[severity] for severity in SEVERITIES} | {"notes": len(self.notes)}

    def only(self, patterns: Iterable[str]) -> Report:
        """With the findings of these ids, or patterns of ids; all of them without any."""
        wanted = tuple(patterns)
        found = (*self.findings, *self.notes)
        kept = [each for each in found if any(fnmatchcase(each.id, pattern) for pattern in wanted)]
        return report_of(kept) if wanted else self

    def lines(self, host: str) -> tuple[str, ...]:
        """For a terminal: a sentence for each cause and the command that mends it; no ids."""
        said: list[str] = []
        for cause in self.causes:
            one = cause.finding
            said.append(f"{one.title}. {one.text} {one.why}")
            said.append(f"    To do: {one.remedy.plain}")
            if ours := one.remedy.ours(host):
                said.append(f"    Here: {ours}")
                said += [f"    Meanwhile: {one.remedy.cuts_off}"] if one.remedy.cuts_off else []
            if cause.consequences:
                titles = dict.fromkeys(each.title for each in cause.consequences)
                said.append(f"    It explains: {'; '.join(titles)}.")
        return (*said, *((self.fine,) if self.fine else ()))

    def as_data(self, host: str) -> list[dict[str, Any]]:
        """The causes as modules return them, each with what follows from it."""
        return [
            cause.finding.as_data(host) | {"consequences": [each.as_data(host) for each in cause.consequences]}
            for cause in self.causes
        ]


def diagnose(scene: Scene, selection: Selection = DIAGNOSE) -> Report:
    """What is wrong with the node, by the checks of the selection."""
    looked = _narrow(scene, selection)
    return report_of(findings_in(scene, looked), looked)


def describe(scene: Scene, selection: Selection) -> str:
    """What a look consists of, one sentence for a person: components with their releases, the number of checks."""
    components, area = components_seen(scene), _narrow(scene, selection)
    about = [each for each in KNOWN.values() if each.area in area and _is_there(each, components)]
    made = sum(_can_look(each.id, scene) for each in about)
    left = 0 if scene.asked else sum(_needs(each.id) == Needs.NODE for each in about)
    what = [*components.values(), *(FINE[each] for each in FINE if each in area and each != Area.PROGRAMS)]
    if Area.NODE in area and not scene.asked:
        what.remove(FINE[Area.NODE])
    rest = f"; {left} more need the Node object (winkube_cluster.kubeconfig)" if left else ""
    return f"Looked at {', '.join(what)}: {made} checks{rest}."


def _is_there(cause: Cause, components: Mapping[str, str]) -> bool:
    """Whether it is about a component that was seen, or about none."""
    check = CHECKS.get(cause.id)
    return check is None or not check.role or check.role in components


def _needs(identity: str) -> Needs:
    check = CHECKS.get(identity)
    return check.needs if check is not None else Needs.NOTHING


def _can_look(identity: str, scene: Scene) -> bool:
    """Whether what the check needs of the cluster was asked; logs are there without it."""
    check = CHECKS.get(identity)
    return check is None or check.can(scene)


def _narrow(scene: Scene, selection: Selection) -> Selection:
    """Less what a node without Kubernetes does not have."""
    alone = scene.whole and not scene.expected.kubernetes
    return selection & {Area.PROGRAMS} if alone else selection


def report_of(findings: Iterable[Finding], selection: Selection = DIAGNOSE) -> Report:
    """The same of findings that are known already."""
    given = tuple(findings)
    found = tuple(each for each in given if each.severity != NOTE)
    under: dict[int, list[Finding]] = {}
    roots = [_root(each, found) for each in found]
    own = {id(each) for each, root in zip(found, roots, strict=True) if root is each}
    causes = []
    for each, root in zip(found, roots, strict=True):
        if id(root) in own and root is not each:
            under.setdefault(id(root), []).append(each)
        else:  # nothing explains it, or only what it explains itself
            causes.append(each)
    bad = {KNOWN[each.id].area for each in found if each.id in KNOWN}
    fine = [text for area, text in FINE.items() if area in selection and area not in bad]
    return Report(
        tuple(Root(each, tuple(under.get(id(each), ()))) for each in causes),
        f"Without a finding: {', '.join(fine)}." if fine else "",
        tuple(each for each in given if each.severity == NOTE),
    )


def _root(finding: Finding, found: tuple[Finding, ...]) -> Finding:
    """The finding that everything up to this one follows from; itself if no other explains it. Who explains stands as
    severe or more: an error does not follow from a warning."""
    seen = {finding.id}
    current = finding
    while True:
        above = next((each for each in found if each.id not in seen and _stands_above(each, current, found)), None)
        if above is None:
            return current
        seen.add(above.id)
        current = above


def _stands_above(one: Finding, other: Finding, found: tuple[Finding, ...]) -> bool:
    """Of two that explain each other the first in the table's order stands above, so that one of them is left."""
    if not _explains(cause=one, other=other):
        return False
    mutual = _explains(cause=other, other=one)
    return not mutual or found.index(one) < found.index(other)


def _explains(cause: Finding, other: Finding) -> bool:
    if cause.id == other.id or (other.severity == ERROR and cause.severity != ERROR):
        return False
    if cause.id in other.explains and other.id not in cause.explains:
        return False  # the other names this one, which names it by a pattern at most
    return any(fnmatchcase(other.id, pattern) for pattern in cause.explains)


def findings_in(scene: Scene, selection: Selection = DIAGNOSE) -> tuple[Finding, ...]:
    """What the checks of a selection find in a scene, errors first, notes last."""
    chosen = {identity: cause for identity, cause in KNOWN.items() if cause.area in selection}
    looking = [check for check in CHECKS.values() if check.id in chosen]
    found = [finding for check in looking for finding in _ask(check, scene)]
    order = {identity: number for number, identity in enumerate(chosen)}
    ruled_out = {check.id for check in looking if scene.whole and check.can(scene)} - {each.id for each in found}
    everything = [_with_fixes(each, scene) for each in with_logs(found, scene, chosen, CHECKS, ruled_out)]
    ranks = (*SEVERITIES, NOTE)
    seen = any(each.id.startswith("hns.") and each.severity == ERROR and not from_log(each) for each in everything)
    # What HNS shows now stands before what a program said of it, and of the way to the cluster that broke with it.
    return tuple(
        sorted(everything, key=lambda each: (ranks.index(each.severity), seen and from_log(each), order[each.id]))
    )


def _with_fixes(finding: Finding, scene: Scene) -> Finding:
    """With the releases of Kubernetes that have mended it, if the node's own may lack that."""
    text = "\n".join(scene.logs.values()) if finding.id == CRASH else ""
    fixes = find_fixes(finding.id, text, scene.release, scene.network_mode)
    if not fixes:
        return finding
    return replace(finding, what=replace(finding.what, why=f"{finding.why} {describe_fixes(fixes)}".strip()))


def _ask(check: Check, scene: Scene) -> list[Finding]:
    """What a check finds. One of those that look at the cluster's objects, of whatever shape, may stumble over them: it
    says so, and the others go on."""
    if check.needs != Needs.TRIED:
        return list(check.findings(scene))
    try:
        return list(check.findings(scene))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return [Finding(STUMBLED, Seen(check.id, f"{check.cause.title}: {type(error).__name__}: {error}"))]


def list_left_out(scene: Scene, selection: Selection = DIAGNOSE) -> tuple[str, ...]:
    """The ids of checks that could not be made, since the cluster was not asked."""
    asked = (each for each in CHECKS.values() if each.cause.area in selection and each.needs != Needs.TRIED)
    return tuple(check.id for check in asked if not check.can(scene))


def counts_of(hns: Hns, findings: Iterable[Finding] = ()) -> dict[str, int]:
    """How many there are of what HNS manages, and how many findings of each severity."""
    local = [each for each in hns.endpoints if not each.remote]
    kinds = Counter(kind for each in hns.policy_lists for kind in each.types)
    severities = Counter(each.severity for each in findings)
    return {
        "networks": len(hns.networks),
        **{f"networks_{kind}": count for kind, count in sorted(Counter(each.type for each in hns.networks).items())},
        "endpoints": len(hns.endpoints),
        "endpoints_local": len(local),
        "endpoints_remote": len(hns.endpoints) - len(local),
        "namespaces": len(hns.namespaces),
        "policy_lists": len(hns.policy_lists),
        **{f"policies_{kind.casefold()}": count for kind, count in sorted(kinds.items())},
        **{f"{severity}s": severities[severity] for severity in SEVERITIES},
    }
