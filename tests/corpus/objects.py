"""What a real kube-apiserver says of objects of every kind, beside what the linter says that it rejects.

verdicts/objects/<minor>.json is written by `python -m tests.real.objects` (lane real), which sends each object as a dry
run. The records above it have what the validation of Pods says, called without a server. Asked about are the fixtures'
own texts, the planted mistakes, and the pods of these in each kind that makes pods.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import Document
from ansible_collections.winkube.node.plugins.plugin_utils.lint.model import Finding
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile, apply_settings

from .planted import mistakes
from .upstream import is_asked, place, whole_or_field

RECORDS = Path(__file__).resolve().parent / "verdicts" / "objects"
_SELECTOR = {"matchLabels": {"app": "web"}}
_MAKERS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "DaemonSet": ("apps/v1", {"selector": _SELECTOR}),
    "StatefulSet": ("apps/v1", {"selector": _SELECTOR, "serviceName": "web"}),
    "ReplicaSet": ("apps/v1", {"selector": _SELECTOR}),
    "ReplicationController": ("v1", {"selector": {"app": "web"}}),
    "Job": ("batch/v1", {}),
    "CronJob": ("batch/v1", {"schedule": "0 3 * * *"}),
}
_TEMPLATE = re.compile(r"^spec\.(?:jobTemplate\.spec\.)?template\.(?=spec\.|spec$)")
# A rule's own word that the API server does not take the object, or that admission does not take a pod of it: for what
# makes pods it does so later, and names no field.
_REJECTS = re.compile(
    r"(?P<admission>Pod Security level \w+, which refuses|the RuntimeClass says .*: the API server rejects)"
    r"|API server rejects"
)
_BY_ADMISSION = re.compile(r"violates PodSecurity|conflict: runtimeClass\.scheduling")
# That of the API server which was asked.
_CLUSTER = {"ip_families": ["IPv4"]}


@dataclass(frozen=True, slots=True)
class Scene:
    """Objects that are in the API server together, in a namespace of their own; `settings` of the linter."""

    name: str
    objects: tuple[dict[str, Any], ...]
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`fields`: what the API server names, with the type of each error; admission names none. `says`: its sentence."""

    name: str
    digest: str
    status: int
    fields: tuple[tuple[str, str], ...] = ()
    says: str = ""


@cache
def scenes() -> tuple[Scene, ...]:
    return (*_of_fixtures(), *_of_planted())


def _of_fixtures() -> Iterator[Scene]:
    from tests.unit.lint.test_rules import CASES

    for rule, fixture in CASES:
        for number, case in enumerate((fixture, *fixture.get("more", ()))):
            for way in ("flagged", "clean"):
                if isinstance(case.get(way), str) and (objects := _objects(case[way])):
                    yield Scene(f"{rule}-{number}-{way}", objects, case.get("settings", {}))


def _objects(text: str) -> tuple[dict[str, Any], ...]:
    """Nothing for a text that is no YAML, or whose objects are not plain ones: it has nothing to be sent."""
    try:
        found = [each for each in yaml.safe_load_all(text) if each is not None]
    except yaml.YAMLError:
        return ()
    plain = all(isinstance(each, dict) and isinstance(each.get("metadata"), dict) for each in found)
    return tuple(found) if plain else ()


def _of_planted() -> Iterator[Scene]:
    makers = sorted(_MAKERS)
    for number, planted in enumerate(mistakes(), 1):
        objects = tuple(each for each in planted.objects if isinstance(each, dict) and "metadata" in each)
        yield Scene(f"planted-{number}", objects, planted.settings)
        if objects and objects[0]["kind"] == "Deployment":
            kind = makers[number % len(makers)]
            first = maker(kind, objects[0]["spec"]["template"])
            yield Scene(f"planted-{number}-{kind}", (first, *objects[1:]), planted.settings)


def maker(kind: str, template: Mapping[str, Any]) -> dict[str, Any]:
    """An object of this kind with the pod template of a Deployment."""
    version, more = _MAKERS[kind]
    pod = {"template": copy.deepcopy(dict(template))}
    if kind in ("Job", "CronJob"):
        pod["template"]["spec"].setdefault("restartPolicy", "Never")
    spec = {**more, "jobTemplate": {"spec": pod}} if kind == "CronJob" else {**more, **pod}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "web"}, "spec": spec}


def name_of(scene: Scene, number: int) -> str:
    return f"{scene.name}/{number}"


def digest(scene: Scene) -> str:
    """Of what was asked: an answer is of no scene that was changed since."""
    return hashlib.sha256(json.dumps(scene.objects, sort_keys=True, default=str).encode()).hexdigest()[:12]


@cache
def verdicts(minor: str) -> dict[str, Verdict]:
    """By name."""
    said = json.loads((RECORDS / f"{minor}.json").read_text(encoding="utf-8"))["verdicts"]
    found = (Verdict(**{**each, "fields": tuple(map(tuple, each.get("fields", ())))}) for each in said)
    return {each.name: each for each in found}


def findings(scene: Scene, minor: int) -> dict[int, list[Finding]]:
    """What the linter says that the API server rejects of the object itself, by its number."""
    documents = [Document(str(number), "", value) for number, value in enumerate(scene.objects)]
    told = {name: value for name, value in scene.settings.items() if name not in ("profile", "runtime")} | _CLUSTER
    found: dict[int, list[Finding]] = {}
    for each in lint(documents, apply_settings(Profile(minor=minor), told)).findings:
        said, number = _REJECTS.search(each.message), int(each.file)
        if said and not (said["admission"] and scene.objects[number]["kind"] != "Pod"):
            found.setdefault(number, []).append(each)
    return found


def ours(finding: Finding) -> str:
    """The field, as the API server names it in a pod's own terms."""
    said = _REJECTS.search(finding.message)
    path = _TEMPLATE.sub("", finding.path)
    return "spec" if said and said["admission"] else _bare(whole_or_field(finding, path))


def theirs(verdict: Verdict) -> set[str]:
    if _BY_ADMISSION.search(verdict.says):
        return {"spec"}
    return {_bare(_TEMPLATE.sub("", field)) for _kind, field in verdict.fields}


def of_pods(verdict: Verdict, kind: str) -> set[str]:
    """What the API server names in a pod or a pod template: the rest of an object is no matter of Windows."""
    fields = [(type_, field) for type_, field in verdict.fields if kind == "Pod" or _TEMPLATE.search(field)]
    return {_bare(_TEMPLATE.sub("", field)) for type_, field in fields if is_asked(type_, _TEMPLATE.sub("", field))}


def _bare(field: str) -> str:
    """An entry of a list of words is its list."""
    return re.sub(r"(?<=[a-z])\[\d+\]$", "", place(field)) if field.startswith("spec.ip") else place(field)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`asked`: objects. A difference is a rejection that the API server does not know, or a field of a pod that it
    rejects and the linter does not. `unasked` were changed since the record. `rules`: whose rejection it shares."""

    asked: int
    agree: int
    unasked: int
    differences: tuple[str, ...]
    rules: frozenset[str]


@cache
def compare(minor: str) -> Comparison:
    known = verdicts(minor)
    asked = unasked = 0
    differences: list[str] = []
    rules: set[str] = set()
    for scene in scenes():
        found = findings(scene, int(minor.split(".")[1]))
        for number, value in enumerate(scene.objects):
            verdict = known.get(name_of(scene, number))
            if verdict is None or verdict.digest != digest(scene):
                unasked += verdict is not None
                continue
            asked += 1
            own = {ours(each) for each in found.get(number, ())}
            rules |= {each.rule for each in found.get(number, ()) if ours(each) in theirs(verdict)}
            more, missing = own - theirs(verdict), of_pods(verdict, value["kind"]) - own
            if more or missing:
                differences.append(f"{verdict.name}: only the linter {sorted(more)}, only upstream {sorted(missing)}")
    return Comparison(asked, asked - len(differences), unasked, tuple(differences), frozenset(rules))
