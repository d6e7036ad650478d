# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rule; the severity of its findings by Kubernetes version, container runtime and `os.name: windows`; and ways to
find places. The rules themselves are tables: see rules_*."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..facts.rule_steps import REFUSED, Step, refused_since, step_of
from ..facts.rule_steps import says_yes as answers_yes
from .catalog import PodCase
from .model import Hit, Path, Severity, as_list, as_map, as_text
from .profile import NEWEST_MINOR, OLDEST_MINOR, Profile
from .workload import Container

# What facts/rule_steps.txt calls severities.
_SEVERITIES = {"info": Severity.INFO, "warning": Severity.WARNING, "error": Severity.ERROR, REFUSED: Severity.ERROR}


@dataclass(frozen=True, slots=True)
class Level:
    """The severity of a rule: always the same, or by `steps`, a name of facts/rule_steps.txt; never above `most`."""

    always: Severity | None = None
    steps: str = ""
    most: Severity = Severity.ERROR

    def step(self, profile: Profile, declared: bool) -> Step | None:
        return step_of(self.steps, profile.minor, profile.runtime, declared) if self.steps else None

    def of(self, profile: Profile, declared: bool) -> Severity | None:
        step = self.step(profile, declared)
        severity = _SEVERITIES.get(step.answer) if step is not None else self.always
        return severity and min(severity, self.most)

    @property
    def admission(self) -> int | None:
        """From this minor on the API server rejects a pod with os.name."""
        return refused_since(self.steps) if self.steps else None

    @property
    def docker(self) -> Severity | None:
        """The severity where the runtime is docker, if that makes a difference."""
        there, elsewhere = (self.of(Profile(OLDEST_MINOR, runtime), False) for runtime in ("docker", "containerd"))
        return None if there is elsewhere else there

    def describe(self) -> str:
        """The severity in words, for the documentation; derived from the answers, so that both agree."""
        plain = self._spans(declared=False)
        told = self._spans(declared=True)
        parts = [plain] if plain == told else [f"{told} with `os.name: windows`", f"{plain} without"]
        if self.docker is not None:
            parts.append(f"{self.docker.name.lower()} where the runtime is docker")
        return "; ".join(parts)

    def _spans(self, declared: bool) -> str:
        spans: list[tuple[int, Severity | None]] = []
        for minor in range(OLDEST_MINOR, NEWEST_MINOR + 1):
            severity = self.of(Profile(minor=minor), declared)
            if not spans or spans[-1][1] is not severity:
                spans.append((minor, severity))
        words = []
        for number, (first, severity) in enumerate(spans):
            name = severity.name.lower() if severity else "nothing"
            last = spans[number + 1][0] - 1 if number + 1 < len(spans) else None
            until = " on" if last is None else "" if last == first else f" to 1.{last}"
            words.append(name if len(spans) == 1 else f"{name} {'in' if last == first else 'from'} 1.{first}{until}")
        return ", ".join(words)


def always(severity: Severity) -> Level:
    return Level(severity)


def by_steps(name: str) -> Level:
    return Level(steps=name)


def says_yes(question: str, case: PodCase) -> bool:
    """What facts/rule_steps.txt answers for the pod's cluster."""
    return answers_yes(question, case.profile.minor, case.profile.runtime, case.declares_windows)


Case = Any  # PodCase or ObjectCase, according to the rule's kinds
Find = Callable[[Case], Iterable[Hit]]
Test = Callable[[Any], bool]
ALL_CONTAINERS = "spec.containers[*]"
PODS = ("pod",)

# The source of many rules: pages whose content varied between releases.
DOC = "Kubernetes documentation, Windows containers"
GUIDE = "Kubernetes documentation, Guide for running Windows containers"
KEP = "kubernetes/enhancements KEP-116, Windows node support"


@dataclass(frozen=True, slots=True)
class Remove:
    """A fix: remove the field if `when` holds for its value. For fields without effect on Windows."""

    when: Test = lambda _value: True


@dataclass(frozen=True, slots=True)
class Complete:
    """A fix: add what a Windows pod should say (`os`, `selector`, `toleration`)."""

    what: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, or a part of one.

    `id` names the problem, as users write it in annotations; several with one id are parts of one rule. `kinds`: `pod`
    or kinds of objects. `all_pods`: it also applies to pods that are not known to be Windows pods. `message` may use
    {value}, {what} and other values of the hit, and {consequence} for fields that the API server rejects. `paths` is
    for the documentation.
    """

    id: str
    title: str
    level: Level
    find: Find
    message: str
    remedy: str
    source: str
    kinds: tuple[str, ...] = PODS
    paths: tuple[str, ...] = ()
    fix: Remove | Complete | None = None
    all_pods: bool = False

    @property
    def keys(self) -> frozenset[str]:
        """Without one of these keys, at any depth, a pod has no finding; empty: the rule must look at every pod."""
        return getattr(self.find, "keys", frozenset())


def needing(*keys: str) -> Callable[[Find], Find]:
    """Decorates a finder with the keys of which a pod must have one."""

    def mark(find: Find) -> Find:
        find.keys = frozenset(keys)  # type: ignore[attr-defined]
        return find

    return mark


@lru_cache(maxsize=1)
def keys_of(case: PodCase) -> frozenset[str]:
    """All keys of a pod, at any depth."""
    found: set[str] = set()
    waiting: list[Any] = [case.pod.root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            found.update(value)
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return frozenset(found)


def is_set(value: Any) -> bool:
    """Whether a field is present, whatever its value, as for pointer types. To the API server null is absence."""
    return value is not None


def is_true(value: Any) -> bool:
    return value is True


def _make_hit(path: Path, value: Any, container: str = "") -> Hit:
    scalar = not isinstance(value, dict | list)
    values = {"value": short(value), "set": f"set to {short(value)}" if scalar else "set"}
    return Hit(path, values, container)


def short(value: Any, width: int = 60) -> str:
    """A shortened value for a sentence."""
    text = value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 3] + "..."


def fields(*names: str, test: Test = is_set, unless: Callable[[PodCase], bool] | None = None) -> Find:
    """A finder of fields by their dotted paths in the pod, for which `test` holds.

    `spec.containers[*]` means the containers of all three lists. `unless` exempts whole pods.
    """
    of_pod = [tuple(name.split(".")) for name in names if not name.startswith(ALL_CONTAINERS)]
    of_container = [
        tuple(name.removeprefix(ALL_CONTAINERS + ".").split(".")) for name in names if name.startswith(ALL_CONTAINERS)
    ]

    @needing(*(path[-1] for path in (*of_pod, *of_container)))
    def find(case: PodCase) -> Iterator[Hit]:
        if unless is not None and unless(case):
            return
        for path in of_pod:
            value = dig(case.pod.root, path)
            if value is not None and test(value):
                yield _make_hit(path, value)
        for path in of_container:
            for container in case.pod.containers:
                value = dig(container.value, path)
                if value is not None and test(value):
                    yield _make_hit((*container.path, *path), value, container.name)

    return find


def dig(value: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value


def is_pipe(path: str) -> bool:
    """Whether the path is a named pipe of Windows."""
    return path.replace("/", "\\").lower().startswith("\\\\.\\pipe\\")


# Many rules ask the same about one pod: the cache holds the answer for the current pod.
@lru_cache(maxsize=1)
def volumes(case: PodCase) -> tuple[tuple[Path, dict[str, Any]], ...]:
    return tuple(
        (("spec", "volumes", number), volume)
        for number, volume in enumerate(as_list(case.pod.spec.get("volumes")))
        if isinstance(volume, dict)
    )


@lru_cache(maxsize=1)
def mounts(case: PodCase) -> tuple[tuple[Path, dict[str, Any], str], ...]:
    """(path, mount, container name) of every volume mount."""
    return tuple(
        ((*container.path, "volumeMounts", number), mount, container.name)
        for container in case.pod.containers
        for number, mount in enumerate(as_list(container.value.get("volumeMounts")))
        if isinstance(mount, dict)
    )


def list_projected(path: Path, volume: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """(path, file name) of every item that a volume projects, from all its sources."""
    parts = [((*path, kind), as_map(volume.get(kind))) for kind in ("configMap", "secret", "downwardAPI")]
    for number, source in enumerate(as_list(as_map(volume.get("projected")).get("sources"))):
        here = (*path, "projected", "sources", number)
        parts += [((*here, str(kind)), as_map(each)) for kind, each in as_map(source).items()]
    for root, source in parts:
        for number, item in enumerate(as_list(source.get("items"))):
            if name := as_text(as_map(item).get("path")):
                yield (*root, "items", number, "path"), name


# Their Windows images contain Unix tools. Source: kubernetes/kubernetes test/images busybox, agnhost.
BRINGS_TOOLS = re.compile(r"(^|/)(busybox|agnhost)([:@]|$)")


_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("command",),
    ("args",),
    *((probe, "exec", "command") for probe in ("livenessProbe", "readinessProbe", "startupProbe")),
    *(("lifecycle", hook, "exec", "command") for hook in ("postStart", "preStop")),
)


@lru_cache(maxsize=1)
def word_lists(case: PodCase) -> tuple[tuple[Path, list[str], Container], ...]:
    """(path, words, container) of everything a container runs: command, args, probes and lifecycle hooks."""
    return tuple(
        ((*container.path, *place), list(map(str, words)), container)
        for container in case.pod.containers
        for place in _COMMANDS
        if isinstance(words := dig(container.value, place), list) and words
    )


@lru_cache(maxsize=1)
def commands(case: PodCase) -> tuple[tuple[Path, str, str], ...]:
    """(path, text, container name) of the same commands."""
    return tuple((path, " ".join(words), container.name) for path, words, container in word_lists(case))


@lru_cache(maxsize=1)
def environment(case: PodCase) -> tuple[tuple[Path, str, str, str], ...]:
    """(path, name, value, container name) of every literal environment variable."""
    return tuple(
        ((*container.path, "env", number, "value"), str(entry.get("name")), entry["value"], container.name)
        for container in case.pod.containers
        for number, entry in enumerate(map(as_map, as_list(container.value.get("env"))))
        if isinstance(entry.get("value"), str)
    )


_VALUE = re.compile(r"\{([a-z]+)\}")


def fill_gaps(sentence: str, gap: str = r"<\1>") -> str:
    """A message with placeholders for unknown values; the severity tells what happens to a field."""
    general = sentence.replace("{consequence}", "").replace("{field} is {set}", "the field is set").strip()
    return _VALUE.sub(gap, general)
