# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How bad a finding is, by Kubernetes version, container runtime, and whether the pod says `os.name: windows`."""

from __future__ import annotations

from dataclasses import dataclass

from .model import Severity
from .profile import NEWEST_MINOR, OLDEST_MINOR, Profile

# (first minor it holds for, severity); None: nothing to say there.
Steps = tuple[tuple[int, Severity | None], ...]


@dataclass(frozen=True, slots=True)
class Level:
    """`declared` stands in for `steps` where the pod says os.name windows, `docker` where the runtime is docker.

    `admission`: with os.name the API server rejects the pod from this minor on, which the message then says.
    """

    steps: Steps
    declared: Steps = ()
    docker: Severity | None = None
    admission: int | None = None

    def of(self, profile: Profile, declared: bool) -> Severity | None:
        if self.docker is not None and profile.runtime == "docker":
            return self.docker
        severity: Severity | None = None
        for first, value in self.declared if declared and self.declared else self.steps:
            if profile.minor >= first:
                severity = value
        return severity

    def describe(self) -> str:
        """In words, for the documentation: made by asking, so that it cannot differ from the answers."""
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
    return Level(((OLDEST_MINOR, severity),))


def by_minor(*steps: tuple[int, Severity | None]) -> Level:
    return Level(steps)


def rejected(since: int = 24, otherwise: Severity | None = Severity.WARNING, exists: int = OLDEST_MINOR) -> Level:
    """A field that the API server rejects in pods that say os.name windows from 1.<since> on.

    Before, and in pods that do not say so, it is accepted and has no effect. `exists`: the first minor that knows
    the field. Source: k8s.io/kubernetes pkg/apis/core/validation validateWindows of 1.23 to 1.37; 1.23 has it behind
    the alpha gate IdentifyPodOS, which is off by default.
    """
    before: Steps = ((exists, otherwise),)
    return Level(before, declared=(*before, (since, Severity.ERROR)), admission=since)


def on_docker(docker: Severity, otherwise: Severity | None) -> Level:
    return Level(((OLDEST_MINOR, otherwise),), docker=docker)
