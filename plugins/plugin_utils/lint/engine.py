# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules x objects -> findings."""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from ..facts.rule_steps import REFUSED
from .catalog import Catalog, ObjectCase, PodCase, build_catalog
from .manifest import Document, KubeObject, Tagged, UnreadableError, objects_of, pause_garbage_collection
from .model import Finding, Hit, Path, Severity, as_list, as_map, mask, names_secret, show_path
from .profile import Profile
from .rule import Case, Rule, keys_of
from .rulebook import HYGIENE, POD_RULES, RULES, UNCHECKED, UNREADABLE, rule_id
from .rules_scheduling import may_land_on_windows
from .silence import Ignore, read_ignored

_REJECTED = "The API server rejects the pod."
_IGNORED = "It is accepted and has no effect on Windows."


@dataclass(frozen=True, slots=True)
class Found:
    """A finding with the rule and object behind it, which a fix needs."""

    finding: Finding
    rule: Rule
    document: Document
    path: Path
    pod: PodCase | None


@dataclass(frozen=True, slots=True)
class Report:
    """`pods` counts windows, linux, unknown. `found` includes silenced findings, in the order of the input."""

    found: tuple[Found, ...]
    pods: Mapping[str, int]
    objects: int
    unused: tuple[Ignore, ...] = ()
    # Files that could not be read, as findings of UNREADABLE.
    unreadable: tuple[Finding, ...] = ()
    # What was asked for and not checked, as findings of UNCHECKED: chart, kustomization, template, file -> number.
    unchecked: Mapping[str, int] = field(default_factory=dict)
    # Kinds that name images but have no pod -> number of objects.
    not_looked_into: Mapping[str, int] = field(default_factory=dict)
    # Pods that select no system, of which nobody knows whether a taint keeps them off Windows nodes.
    undirected: int = 0

    @property
    def findings(self) -> list[Finding]:
        return [*self.unreadable, *(each.finding for each in self.found if not each.finding.silenced)]

    def list_shown(self, strict: bool = False) -> list[Finding]:
        """The findings for people, without hygiene; `count_hygiene` counts those."""
        return [each for each in self.findings if strict or each.rule not in HYGIENE]

    @property
    def hygiene_counts(self) -> Counter[str]:
        """The number of findings per hygiene rule."""
        return Counter(each.rule for each in self.findings if each.rule in HYGIENE)

    @property
    def silenced_findings(self) -> list[Finding]:
        return [each.finding for each in self.found if each.finding.silenced]

    def count(self, severity: Severity) -> int:
        return sum(finding.severity is severity for finding in self.findings)

    def at_least(self, severity: Severity) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity >= severity]


def add_unreadable(report: Report, faults: Sequence[UnreadableError]) -> Report:
    """The report with a finding for each fault: an error for a broken file, information for what was not rendered."""
    unchecked = Counter(what for what, _file in {(each.unchecked, each.file) for each in faults if each.unchecked})
    return replace(report, unreadable=tuple(map(_fault, faults)), unchecked=unchecked)


def _fault(fault: UnreadableError) -> Finding:
    place = f"{fault.file}:{fault.line}:{fault.column}: "
    return Finding(
        rule=UNCHECKED if fault.unchecked else UNREADABLE,
        severity=Severity.INFO if fault.unchecked else Severity.ERROR,
        file=fault.file,
        line=fault.line,
        column=fault.column,
        path="",
        object="",
        container="",
        message=mask(str(fault).removeprefix(place).removeprefix(f"{fault.file}: ")),
        remedy=fault.remedy or _REMEDIES[fault.unchecked],
        source="YAML 1.1 as kubectl reads it",
    )


_REMEDIES = {
    "": "Fix the file, or exclude it.",
    "file": "Fix the file, or exclude it.",
    "template": "Render it and lint what comes out, or exclude it.",
    "chart": "Have helm on the path and give it values (ci/*-values.yaml, charts in .workload-lint.yml, --values) and"
    " dependencies (--build-dependencies), or exclude it.",
    "kustomization": "Have kustomize or kubectl on the path, and render what needs options (--load-restrictor,"
    " --enable-helm) yourself: kustomize build ... | workload-lint -. Or exclude it.",
}


def lint(documents: Iterable[Document], profile: Profile, ignore: Sequence[Ignore] = ()) -> Report:
    """Check every object of these documents. Raises SilenceError for an annotation without a known rule or a reason."""
    with pause_garbage_collection():
        return _lint(documents, profile, ignore)


def _lint(documents: Iterable[Document], profile: Profile, ignore: Sequence[Ignore]) -> Report:
    said = {rule_id(name): severity for name, severity in profile.severities.items()}
    objects = [thing for document in documents for thing in objects_of(document)]
    catalog = build_catalog(objects, profile)
    pods: defaultdict[int, list[PodCase]] = defaultdict(list)
    for case in catalog.pods:
        pods[id(case.pod.object)].append(case)
    used: set[int] = set()
    substitutes = profile.substitute or any(map(_substitutes, catalog.objects))
    found: list[Found] = []
    for thing in catalog.objects:
        own = pods.get(id(thing), [])
        accepted = {id(pod): read_ignored(thing, pod.pod) for pod in own}
        # Of the object itself what one of its pods says counts, too.
        accepted[id(None)] = (
            {key: why for said in accepted.values() for key, why in said.items()}
            if own
            else (read_ignored(thing, None))
        )
        for rule, hit, path, subject in _without_what_cannot_be_read(list(_hits(thing, own, catalog))):
            severity = rule.level.of(profile, subject.declares_windows)
            if severity is not None and rule.id in said:
                severity = said[rule.id]
            unfilled = _unfilled(thing.document.value, path)
            if unfilled == "substituted" and not substitutes:
                # What nobody fills in is what the node gets; who fills it in is not in the input.
                severity = Severity.INFO if severity is not None else None
                unfilled = ""
            if severity is not None and not unfilled:
                pod = subject if isinstance(subject, PodCase) else None
                reasons = accepted.get(id(pod), {})
                found.append(_make_finding(rule, severity, hit, path, thing, pod, profile, reasons, ignore, used))
    found = _once(found)
    found.sort(key=lambda each: (each.finding.file, each.finding.line, each.finding.column))
    unused = tuple(entry for number, entry in enumerate(ignore) if number not in used)
    systems = Counter(case.target.os for case in catalog.pods)
    undirected = 0 if catalog.taints_known else sum(map(may_land_on_windows, catalog.pods))
    return Report(
        found=tuple(found),
        pods=systems,
        objects=len(catalog.objects),
        unused=unused,
        not_looked_into=catalog.not_looked_into,
        undirected=undirected,
    )


_AHit = tuple[Rule, Hit, Path, Case]


def _without_what_cannot_be_read(hits: list[_AHit]) -> list[_AHit]:
    """Of a value that the API server cannot read nothing else is true."""
    broken = {path for rule, _hit, path, _subject in hits if rule.id == _UNDECODABLE}
    if not broken:
        return hits
    return [
        each
        for each in hits
        if each[0].id == _UNDECODABLE or not any(each[2][:number] in broken for number in range(len(each[2]) + 1))
    ]


_UNDECODABLE = "undecodable-value"


def _once(found: list[Found]) -> list[Found]:
    """What is rendered in several ways, from one base or template, says the same of each."""
    rendered: set[Finding] = set()
    left = []
    for each in found:
        if each.finding not in rendered:
            left.append(each)
        if each.document.rendered:
            rendered.add(each.finding)
    return left


def _unfilled(value: Any, path: Path) -> str:
    """`template` for a value that a program has to render or resolve first ("{{ .Values.image }}", `!Ref Image`),
    `substituted` for a placeholder that may be one ("${IMAGE}", "<your name>"); else empty."""
    for part in path:
        try:
            value = value[part]
        except (LookupError, TypeError):
            return ""
    if isinstance(value, Tagged) or (isinstance(value, str) and "{{" in value):
        return "template"
    return "substituted" if isinstance(value, str) and _SUBSTITUTED.search(value) else ""


# envsubst and Flux; placeholders in documentation.
_SUBSTITUTED = re.compile(r"\$\{\w+\}|<[ ]?[A-Za-z][\w -]*>")


def _substitutes(thing: KubeObject) -> bool:
    """Whether it is a Kustomization of Flux that fills in variables."""
    return thing.kind == "Kustomization" and thing.group.endswith("fluxcd.io") and "postBuild" in thing.spec


def _hits(thing: KubeObject, pods: Sequence[PodCase], catalog: Catalog) -> Iterator[tuple[Rule, Hit, Path, Case]]:
    for pod in pods:
        there = keys_of(pod)
        for rule, keys in _RULES_OF_WINDOWS if pod.target.windows else _RULES_OF_ALL:
            if not keys or not keys.isdisjoint(there):
                for hit in rule.find(pod):
                    yield rule, hit, pod.pod.locate(hit.path), pod
    rules = _RULES_BY_KIND.get(thing.sort)
    if rules:
        case = ObjectCase(thing, catalog.profile, catalog, tuple(_users(thing, catalog)))
        for rule in rules:
            if case.pods or rule.all_pods or thing.kind not in _USED_BY_PODS:
                for hit in rule.find(case):
                    yield rule, hit, (*thing.prefix, *hit.path), case


_RULES_OF_WINDOWS = tuple((rule, rule.keys) for rule in POD_RULES)
_RULES_OF_ALL = tuple((rule, keys) for rule, keys in _RULES_OF_WINDOWS if rule.all_pods)
_RULES_BY_KIND: Mapping[str, tuple[Rule, ...]] = {
    kind: tuple(rule for rule in RULES if kind in rule.kinds)
    for kind in {kind for rule in RULES for kind in rule.kinds} - {"pod"}
}
# Objects that serve Linux pods too: limits of Windows matter only if Windows pods use them.
_USED_BY_PODS = ("Service", "ConfigMap", "Secret", "PersistentVolumeClaim", "PersistentVolume", "StorageClass")


def _users(thing: KubeObject, catalog: Catalog) -> Iterable[PodCase]:
    """The Windows pods that use the object."""
    if thing.kind == "Service":
        selector = thing.spec.get("selector")
        selected = catalog.select_pods(selector, thing.namespace) if isinstance(selector, dict) else []
        return [case for case in selected if case.target.windows]
    if thing.kind == "PersistentVolumeClaim":
        return catalog.claim_users.get((thing.namespace, thing.name), [])
    if thing.kind == "PersistentVolume":
        return catalog.volume_users.get(thing.name, [])
    if thing.kind == "StorageClass":
        return catalog.class_users.get(thing.name, [])
    if thing.kind == "ConfigMap":
        return catalog.config_users.get((thing.namespace, thing.name), [])
    if thing.kind == "Secret":
        return catalog.secret_users.get((thing.namespace, thing.name), [])
    return []


def _make_finding(
    rule: Rule,
    severity: Severity,
    hit: Hit,
    path: Path,
    thing: KubeObject,
    pod: PodCase | None,
    profile: Profile,
    reasons: Mapping[str, str],
    ignore: Sequence[Ignore],
    used: set[int],
) -> Found:
    document = thing.document
    source, place = _source(document, path)
    line, column = source.position(place)
    silenced = reasons.get(rule.id, "")
    at_object = bool(silenced)
    for number, entry in enumerate(ignore):
        if entry.covers(rule.id, document.file, thing.label):
            used.add(number)
            silenced = silenced or entry.reason
    declared = pod is not None and pod.declares_windows
    step = rule.level.step(profile, declared)
    consequence = _REJECTED if step is not None and step.answer == REFUSED else _IGNORED
    values = {"field": str(path[-1]), "consequence": consequence, "what": step.sentence if step else "", **hit.values}
    finding = Finding(
        rule=rule.id,
        severity=severity,
        file=source.file,
        line=0 if source.rendered else line,
        column=0 if source.rendered else column,
        path=sys.intern(show_path(place)),
        object=sys.intern(thing.label),
        container=hit.container,
        message=_sentence(rule.message, tuple(values.items())),
        remedy=_sentence(rule.remedy, tuple(values.items())),
        source=rule.source,
        excerpt=_excerpt(source, line, place),
        fixable=rule.fix is not None and document.editable and (pod is None or pod.pod.whole),
        silenced=silenced,
        external=bool(silenced) and not at_object,
    )
    return Found(finding, rule, document, path, pod)


def _source(document: Document, path: Path) -> tuple[Document, Path]:
    """The base of a rendered document and the path in it, if it has the same value there; for a missing field, if it
    has the parent. Else the document itself."""
    origin = document.origin
    if origin is None:
        return document, path
    made: Any = document.value
    base: Any = origin.value
    there: list[str | int] = []
    for number, part in enumerate(path):
        made = _part(made, part)
        there.append(_number_of(made, base, part))
        base = _part(base, there[-1])
        if made is _NOTHING or base is _NOTHING:
            same = number > 1 and made is base
            return (origin, (*there, *path[number + 1 :])) if same else (document, path)
    return (origin, tuple(there)) if made == base else (document, path)


def _number_of(item: Any, base: Any, part: str | int) -> str | int:
    """Where the base has the item of this name: patched items come first in what kustomize renders."""
    name = as_map(item).get("name")
    if not isinstance(part, int) or name is None:
        return part
    items = as_list(base)
    alike = [number for number, each in enumerate(items) if as_map(each).get("name") == name]
    # Of several mounts of one volume it is the one at the same place; of none it is nothing.
    return part if part in alike else (*alike, len(items))[0]


_NOTHING = object()


def _part(value: Any, part: str | int) -> Any:
    try:
        return value[part]
    except (LookupError, TypeError):
        return _NOTHING


def _excerpt(document: Document, line: int, path: Path) -> str:
    """The line of the text without credentials; empty for a variable whose name says that it is secret."""
    holder: Any = document.value
    for part in path[:-1]:
        try:
            holder = holder[part]
        except (LookupError, TypeError):
            break
    if path[-1:] == ("value",) and isinstance(holder, dict) and names_secret(str(holder.get("name", ""))):
        return "value: ***"
    text = document.line(line).strip()
    return mask(text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}...")


_EXCERPT = 400
"""Characters of a line that are shown."""


@lru_cache(maxsize=4096)
def _sentence(text: str, values: tuple[tuple[str, str], ...]) -> str:
    """The template with its values, without credentials. str.format does not work here: values and remedies contain
    braces."""
    for name, value in values if "{" in text else ():
        text = text.replace("{" + name + "}", value)
    return mask(text)
