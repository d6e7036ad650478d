# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""issue_report.md: an issue about a Windows node, with everything known filled in; pure.

The headings are those that Kubernetes' page on Windows asks for: version, environment (cloud provider, operating
system, networking, container runtime), steps to reproduce, logs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..components import healthz, networks
from ..components.host.node_fit import Machine
from ..components.layout import Layout
from ..components.node import Node
from ..diagnosis import programs as verify
from ..engine.reading import Reading
from ..engine.resource import Refused
from .store import Store

FOOTER = "/sig windows"
TODO = "<!-- please fill in -->"
SEARCH = "https://github.com/kubernetes/kubernetes/issues?q=is%3Aissue+label%3Asig%2Fwindows"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known; an empty text is unknown. `server` is the API server's version, `info` the Node's
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

    @classmethod
    def of(
        cls,
        name: str,
        expected: Node,
        layout: Layout,
        reading: Reading,
        *,
        store: Store,
        outputs: Mapping[str, str],
        cloud: str,
        server: str,
        node: Mapping[str, Any] | None,
    ) -> Facts:
        """From a reading, the bundle in `store`, the programs' `outputs` by file, and the `node` object. An empty
        `cloud` becomes the Node's providerID."""
        logs = ("files/", "events/")
        return cls(
            node=name,
            kubernetes=expected.kubelet.version,
            server=server,
            info=((node or {}).get("status") or {}).get("nodeInfo"),
            windows=Machine.of(reading).name,
            cloud=cloud or str(((node or {}).get("spec") or {}).get("providerID") or ""),
            network=_network(expected, reading),
            runtime=runtime_of(outputs.get("containers/crictl-version.txt", "")),
            verbosity=tuple(_verbosity(layout, expected, reading)),
            logs=sorted(each for each in store.files if each.startswith(logs)),
            left_out={each: why for each, why in store.left_out.items() if each.startswith(logs)},
        )


def report(facts: Facts) -> str:
    """The text, Markdown. Every heading is there, so that missing parts are visible."""
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


def runtime_of(said: str) -> str:
    """`containerd://1.7.28` from the output of `crictl version`; empty for other output."""
    found = dict(re.findall(r"(?m)^(Runtime(?:Name|Version)):\s+(\S+)", said))
    name, version = found.get("RuntimeName", ""), found.get("RuntimeVersion", "")
    return f"{name}://{version.removeprefix('v')}" if name and version else ""


def _network(expected: Node, reading: Reading) -> tuple[str, ...]:
    who = {"service": "a service of the host", "cluster": "the cluster"}
    found = [
        f"{expected.network_mode}; flanneld or another network is run by {who.get(expected.cni_managed_by, '?')}, "
        f"kube-proxy by {who.get(expected.kube_proxy_managed_by, '?')}",
        f"pods {expected.cluster_cidr or 'not known'}, services {expected.service_cidr or 'not known'}",
    ]
    with suppress(Refused):
        found += [
            f"HNS network {one.name}: {one.type}, {', '.join(one.prefixes) or 'no subnet'}"
            for one in networks.hns_networks(reading) or ()
        ]
    return tuple(found)


def _verbosity(layout: Layout, expected: Node, reading: Reading) -> Iterator[str]:
    """`kubelet: --v=6` for each Kubernetes program with that argument."""
    for program in verify.programs(layout, expected):
        service = reading.service(program.service)
        for word in (healthz.find_arguments(service, program.binary) or ()) if service else ():
            if re.fullmatch(r"--?v(?:=\d+)?", word) and "=" in word:
                yield f"{program.service}: {word}"
