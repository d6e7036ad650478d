# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""issue_report.md: an issue about a Windows node, with what can be known filled in; pure.

The headings are those that Kubernetes' page on Windows asks for: version, environment (cloud provider, operating
system, networking, container runtime), steps to reproduce, logs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FOOTER = "/sig windows"
TODO = "<!-- please fill in -->"
SEARCH = "https://github.com/kubernetes/kubernetes/issues?q=is%3Aissue+label%3Asig%2Fwindows"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known; an empty text is what nobody knows. `server` is the version of the API server, `info` the Node's
    `status.nodeInfo`, `network` and `settings` are lines, `logs` names in the bundle, `findings` sentences."""

    node: str
    kubernetes: str = ""
    server: str = ""
    info: Mapping[str, Any] | None = None
    windows: str = ""
    cloud: str = ""
    network: tuple[str, ...] = ()
    runtime: str = ""
    verbosity: tuple[str, ...] = ()
    logs: Sequence[str] = ()
    left_out: Mapping[str, str] | None = None


def report(facts: Facts) -> str:
    """The text, Markdown. Every heading is there, so that what is missing is seen to be missing."""
    info = facts.info or {}
    runtime = facts.runtime or str(info.get("containerRuntimeVersion") or "")
    kind, _slashes, version = runtime.partition("://")
    name = {"containerd": "containerd", "docker": "Docker"}.get(kind, kind)
    kernel = str(info.get("kernelVersion") or "")
    system = facts.windows if kernel in facts.windows else f"{facts.windows} {kernel}".strip()
    rows = [
        f"<!-- Search first whether somebody has reported it already: {SEARCH} -->",
        "",
        "## What happened",
        "",
        TODO,
        "",
        "## What did you expect to happen",
        "",
        TODO,
        "",
        "## How can we reproduce it (as minimally and precisely as possible)",
        "",
        TODO,
        "",
        "## Kubernetes version",
        "",
        "```console",
        "$ kubectl version",
        f"Server Version: {facts.server or TODO}",
        "```",
        "",
        f"kubelet on {facts.node}: {info.get('kubeletVersion') or _v(facts.kubernetes) or TODO}",
        "",
        "## Environment",
        "",
        f"- Cloud provider: {facts.cloud or TODO}",
        f"- OS distro: {system or TODO}",
        "- Networking choice and configuration:",
        *(f"  - {line}" for line in facts.network or (TODO,)),
        f"- Container runtime (containerd or Docker) and version: {f'{name} {version}'.strip() or TODO}",
        "",
        "## Relevant logs",
        "",
        *(f"- verbosity of {line}" for line in facts.verbosity),
        *(f"- {name}" for name in facts.logs),
        *(f"- not collected: {name}: {why}" for name, why in sorted((facts.left_out or {}).items())),
        "",
        "Secrets were removed from these files before they were written; look through them yourself before you attach"
        " them to a public issue.",
        "",
        FOOTER,
    ]
    return "\n".join(rows) + "\n"


def _v(version: str) -> str:
    return f"v{version.removeprefix('v')}" if version else ""
