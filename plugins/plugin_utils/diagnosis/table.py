# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All checks of a node, the selections from them, and what a person has to know of it: causes before consequences.

    scene = scene_of(reading, Expectations(layout, network_name="vxlan0"), cluster)
    report = diagnose(scene, selection=HNS_CHECK)
    for cause in report.causes:           # roots first; cause.consequences follow from it
        print(cause.finding.sentence, cause.finding.remedy.command("win1"))
    print(report.fine)

`verify`, `hns_check` and `diagnose` are selections of the one table: a fault has the same id and the same remedy in
each. What a scene does not have (a file that was not read, a cluster that was not asked) is not checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from ..engine.reading import Reading
from ..engine.resource import Refused
from ..messages.line import parse
from ..messages.records import Record, records
from ..network.model import Hns
from . import (
    causes_network,
    causes_pods,
    causes_programs,
    causes_volumes,
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
    checks_network,
    checks_node,
    checks_programs,
    checks_services,
    checks_setup,
    checks_traffic,
    checks_workloads,
)
from .check import Area, Check, Needs, Seen
from .checks_logs import from_log, with_logs
from .checks_programs import components_seen
from .cluster_view import ClusterView
from .expectations import Expectations
from .finding import ERROR, NOTE, SEVERITIES, Action, Finding, Remedy
from .messages import PLACES, Told, explain_text
from .places import is_drastic, look_first, look_next, place_sentence
from .remedies import advice
from .scene import Scene, scene_of

PROVEN = frozenset(
    {
        *("*.stopped", "*.disabled", "*.not-installed", "*.other-version"),
        *("hns.vmcompute-stopped", "hns.no-network", "hns.network-pod-cidr", "node.absent"),
        *("flannel.net-conf-name", "flannel.net-conf-backend", "flannel.net-conf-network", "flannel.mtu"),
        *("flannel.bridge-endpoint", "kube-proxy.cluster-cidr"),
        *("kube-proxy.rule-twice", "node.address"),
        *("kube-proxy.rule-missing", "kube-proxy.rule-stale", "cni.version", "hns.restarted"),
        *("kube-proxy.source-vip", "kube-proxy.rule-source-vip", "cni.provider-address", "hns.network-type"),
        *("flannel.no-subnet-env", "flannel.subnet-env-stale", "flannel.subnet-env-invalid", "flannel.iface"),
        *("cni.absent", "cni.unreadable", "cni.exceptions", "cni.network-name", "cni.plugin-type"),
        *("cni.dockershim-form", "cni.old-form", "cni.policy-without-settings", "cni.policy-case", "cni.policies-key"),
        *("cni.plugin-missing", "kube-proxy.hostname-override", "kube-proxy.network-name", "kube-proxy.no-rules"),
    }
)
"""The findings whose remedy's command tests/integration/test_remedies.py runs on a node that was broken so. The remedy
of any other is advice: what it says may mend it, and no one has tried."""


def _as_tried(check: Check) -> Check:
    proven = any(fnmatchcase(check.id, pattern) for pattern in PROVEN)
    return check if proven else replace(check, remedy=check.remedy.as_advice())


STUMBLED = Check(
    "diagnosis.stumbled",
    NOTE,
    "A check could not make sense of what it read",
    "",
    advice("Please report this with the JSON report."),
    lambda scene: iter(()),
    needs=Needs.TRIED,
    area=Area.WORKLOADS,
)

_ALL: tuple[Check, ...] = (
    *checks_block.CHECKS,
    *causes_programs.CHECKS,
    *checks_certificates.CHECKS,
    *checks_programs.CHECKS,
    *checks_host.CHECKS,
    *checks_disk.CHECKS,
    *causes_network.CHECKS,
    *checks_calico.CHECKS,
    *checks_network.CHECKS,
    *checks_cni.CHECKS,
    *checks_files.CHECKS,
    *checks_endpoints.CHECKS,
    *checks_balancers.CHECKS,
    *causes_volumes.CHECKS,
    *checks_gmsa.CHECKS,
    *causes_pods.CHECKS,
    *checks_node.CHECKS,
    *checks_setup.CHECKS,
    *checks_services.CHECKS,
    *checks_workloads.CHECKS,
    *checks_traffic.CHECKS,
    STUMBLED,
)
CHECKS: tuple[Check, ...] = tuple(_as_tried(each) for each in _ALL)
"""In the order in which one thing rests on the other."""

KNOWN: Mapping[str, Check] = {check.id: check for check in CHECKS}


def remedy_of(identity: str) -> Remedy:
    """What mends the findings of a check. Refused for what has no automatic fix, and for an unknown id."""
    check = KNOWN.get(identity)
    if check is None:
        raise Refused(f"finding: there is no finding '{identity}'{_suggest(identity)}")
    if check.remedy.action == Action.ADVICE:
        raise Refused(f"{identity} ({check.title}) has no automatic fix: {check.remedy.text}")
    return check.remedy


@dataclass(frozen=True, slots=True)
class Mendable:
    """What mends the finding that was asked for; None where the node does not have it: `why` says so, `others` are the
    ids of the errors that it has."""

    remedy: Remedy | None
    why: str = ""
    others: tuple[str, ...] = ()


def mendable(identity: str, scene: Scene, host: str = "<host>") -> Mendable:
    """What mends a finding in a scene. Refused where only the cluster could say whether it is there, and where what is
    has no automatic fix. `identity` is one that remedy_of knows."""
    check = KNOWN[identity]
    anyway = f"To do it all the same: {check.remedy.command(host)}"
    if not check.can(scene):
        raise Refused(
            f"Whether the node has {identity} only the cluster can say: set winkube_cluster.kubeconfig. {anyway}"
        )
    findings = findings_in(scene, VERIFY)
    own = [each for each in findings if each.id == identity]
    mended = next((each.remedy for each in own if each.remedy.action != Action.ADVICE), None)
    if own and mended is None:
        raise Refused(f"{identity} has no automatic fix here: {own[0].sentence}")
    errors = tuple(dict.fromkeys(each.id for each in findings if each.severity == ERROR))
    has = f"It has {', '.join(errors)}." if errors else "It has no error."
    return Mendable(
        mended,
        "" if own else f"The node does not have {identity} ({check.title}): nothing is done. {has} {anyway}",
        errors,
    )


def check_ids(patterns: Iterable[str]) -> None:
    """Refused for an id, or a pattern of ids, that no check has."""
    for each in patterns:
        if not any(fnmatchcase(identity, each) for identity in KNOWN):
            raise Refused(f"checks: there is no check '{each}'{_suggest(each)}")


def _suggest(given: str) -> str:
    """How a sentence about an unknown id ends."""
    near = get_close_matches(given, KNOWN, 3)
    return f"; did you mean {' or '.join(near)}?" if near else ". docs/diagnose.md lists them."


def meanings(message: str, host: str) -> list[dict[str, str]]:
    """What a pasted message is known for, the most particular first, with the command for a host of the inventory. Of a
    line of which only place or code is known it says that; none for one that is not known, or none at all."""
    by_finding: dict[str, list[Told]] = {}
    for each in explain_text(message):
        by_finding.setdefault(each.finding, []).append(each)
    known = [
        _place_only(told[0].record.text, identity)
        if all(each.message in PLACES for each in told)
        else _cause_of(KNOWN[identity], len({each.record.text for each in told}), host)
        for identity, told in by_finding.items()
    ]
    return known or [_place_only(each.text, NOT_KNOWN) for each in _find_places(message)]


def _cause_of(check: Check, lines: int, host: str) -> dict[str, str]:
    """What so many lines are known for: on one alone nothing drastic is done without a look."""
    careful = lines == 1 and is_drastic(check.remedy)
    return {
        "id": check.id,
        "title": check.title,
        "cause": check.cause,
        "remedy": look_first(check.id, check.remedy) if careful else check.remedy.text,
        "command": "" if careful else check.remedy.command(host),
    }


def message_lines(message: str, host: str = "<host>") -> list[str]:
    """The same for a terminal; nothing without a message."""
    if not message.strip():
        return []
    found = meanings(message, host)
    return [
        "Your message: " + " ".join(each[key] for key in ("title", "cause", "remedy", "command") if each[key]).strip()
        for each in found
    ] or ["Your message is not known, neither its place nor a code in it."]


NOT_KNOWN = "not-known"
"""The id of an answer that names the place or the code, and no cause."""
_MOST = 5


def _find_places(message: str) -> tuple[Record, ...]:
    """The records of which place or code is known, each place once, but for what is said without a fault."""
    found: dict[str, Record] = {}
    for each in records(message):
        line = parse(each.text)
        if line.known and line.level != "info":
            found.setdefault(place_sentence(line), each)
    return tuple(found.values())[:_MOST]


def _place_only(raw: str, identity: str) -> dict[str, str]:
    return {
        "id": identity,
        "title": raw[:400],
        "cause": place_sentence(parse(raw)),
        "remedy": look_next(identity, raw),
        "command": "",
    }


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
class Cause:
    """A finding that no other explains, and those that follow from it, in the order of the table."""

    finding: Finding
    consequences: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """`causes` are the roots, errors first; `fine` is one sentence about what was looked at without a finding; `notes`
    say what Windows cannot do, and what no one could look at."""

    causes: tuple[Cause, ...]
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
            said.append(f"{one.title}. {one.text} {one.cause}")
            if command := one.remedy.command(host):
                said += [f"    {one.remedy.text}", f"    {command}"]
                said += [f"    Meanwhile: {one.remedy.cuts_off}"] if one.remedy.cuts_off else []
            else:
                said.append(f"    To do: {one.remedy.describe(host)}")
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
    about = [each for each in CHECKS if each.area in area and (not each.role or each.role in components)]
    made = sum(each.can(scene) for each in about)
    left = 0 if scene.asked else sum(each.needs == Needs.NODE for each in about)
    what = [*components.values(), *(FINE[each] for each in FINE if each in area and each != Area.PROGRAMS)]
    if Area.NODE in area and not scene.asked:
        what.remove(FINE[Area.NODE])
    rest = f"; {left} more need the Node object (winkube_cluster.kubeconfig)" if left else ""
    return f"Looked at {', '.join(what)}: {made} checks{rest}."


def _narrow(scene: Scene, selection: Selection) -> Selection:
    """Less what a node without Kubernetes does not have."""
    alone = scene.expected is not None and not scene.expected.kubernetes
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
        tuple(Cause(each, tuple(under.get(id(each), ()))) for each in causes),
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


def findings_of(reading: Reading, cluster_view: ClusterView | None, expectations: Expectations) -> tuple[Finding, ...]:
    """What is wrong with the network, errors first, else in the order of CHECKS.

    `reading` has the answers to `reads(expectations)`; what is missing in it, and without `cluster_view` what needs the
    cluster, is not checked.
    """
    return findings_in(scene_of(reading, expectations, cluster_view), HNS_CHECK)


def findings_in(scene: Scene, selection: Selection = DIAGNOSE) -> tuple[Finding, ...]:
    """What the checks of a selection find in a scene, errors first, notes last."""
    chosen = {check.id: check for check in CHECKS if check.area in selection}
    found = [finding for check in CHECKS if check.area in selection for finding in _ask(check, scene)]
    order = {identity: number for number, identity in enumerate(chosen)}
    everything = with_logs(found, scene, chosen)
    ranks = (*SEVERITIES, NOTE)
    seen = any(each.id.startswith("hns.") and each.severity == ERROR and not from_log(each) for each in everything)
    # What HNS shows now stands before what a program said of it, and of the way to the cluster that broke with it.
    return tuple(
        sorted(everything, key=lambda each: (ranks.index(each.severity), seen and from_log(each), order[each.id]))
    )


def _ask(check: Check, scene: Scene) -> list[Finding]:
    """What a check finds. One of those that look at the cluster's objects, of whatever shape, may stumble over them: it
    says so, and the others go on."""
    if check.needs != Needs.TRIED:
        return list(check.findings(scene))
    try:
        return list(check.findings(scene))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return [STUMBLED.finding(Seen(check.id, f"{check.title}: {type(error).__name__}: {error}"))]


def list_left_out(scene: Scene, selection: Selection = DIAGNOSE) -> tuple[str, ...]:
    """The ids of checks that could not be made, since the cluster was not asked."""
    asked = (check for check in CHECKS if check.area in selection and check.needs != Needs.TRIED)
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
