# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options, the input of planning, and the checks: plain data that two tasks also exchange as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Where = Literal["api", "pod", "linux", "outside", "none"]
"""Where a check's command runs: nowhere, since API objects decide (`api`), in a pod, on a Linux node, outside of the
cluster; none: it is not run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmokeOptions:
    """The test's options, which k8s_windows_conformance documents. Times are seconds."""

    state: Literal["tested", "started", "judged", "absent"]
    namespace: str
    image_repo: str
    image_tags: Mapping[str, str]
    pull_secret: str
    timeout: int
    network_mode: str
    dns_domain: str
    linux_host: str
    outside_host: str
    external_address: str
    external_name: str
    external_dns: str
    session: Mapping[str, Any]
    answers: tuple[Mapping[str, Any], ...]
    report: str
    fail: bool
    keep: bool
    gone_timeout: int


@dataclass(frozen=True, slots=True)
class NodeFact:
    """A Node. `build`: 0 on Linux; `usable`: Ready and not cordoned; `problem`: why it is not Ready.

    `capacity`, `allocatable`: the API's quantities; `reserved`: what its kubelet reserves of each, None if the kubelet
    could not be asked (`unasked` says why).
    """

    name: str
    address: str
    windows: bool
    build: int
    usable: bool
    problem: str = ""
    capacity: Mapping[str, str] = field(default_factory=dict)
    allocatable: Mapping[str, str] = field(default_factory=dict)
    reserved: Mapping[str, str] | None = None
    unasked: str = ""


@dataclass(frozen=True, slots=True)
class PodFact:
    """A pod of the smoke test. `problem`: why it is not Ready, empty if it is; `image_id`: its container's;
    `second`: its address of the other family, empty if it has one family."""

    name: str
    address: str
    node: str
    problem: str = ""
    image: str = ""
    image_id: str = ""
    second: str = ""

    @property
    def is_ready(self) -> bool:
        """Whether checks can use it."""
        return not self.problem


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that a plan depends on. `linux`, `outside`: hosts that can run commands, empty for none.
    `pod_names`: whether the cluster's DNS serves names of pods, None if unknown; `policies`: NetworkPolicies that
    somebody has put into the namespace; `web_second`: the web server's Service in the other family, empty in a
    single-family cluster."""

    namespace: str
    nodes: tuple[NodeFact, ...]
    web: tuple[PodFact, ...]
    peer: PodFact | None
    web_address: str = ""
    web_node_port: int = 0
    peer_address: str = ""
    mode: str = "l2bridge"
    dns_domain: str = "cluster.local"
    dns_address: str = ""
    linux: str = ""
    outside: str = ""
    external_address: str = ""
    external_name: str = ""
    external_dns: str = ""
    repository: str = ""
    pod_names: bool | None = None
    policies: tuple[str, ...] = ()
    web_second: str = ""

    def as_dict(self) -> dict[str, Any]:
        """As a task's result."""
        return asdict(self)


def facts_from(document: Mapping[str, Any]) -> Facts:
    """The facts from `as_dict`. KeyError, TypeError for anything else."""
    peer = document.get("peer")
    return Facts(
        **{
            **document,
            "nodes": tuple(NodeFact(**item) for item in document["nodes"]),
            "web": tuple(PodFact(**item) for item in document["web"]),
            "peer": PodFact(**peer) if peer else None,
            "policies": tuple(document.get("policies") or ()),
        }
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """A command's answer; `error`: why there is none."""

    code: int = 0
    stdout: str = ""
    stderr: str = ""
    error: str = ""


def make_known(problem: str) -> Answer:
    """The answer to a check that API objects decide: no problem, or this one."""
    return Answer(0) if not problem else Answer(1, stderr=problem)


Expect = Literal["nothing", "banner", "echo", "http", "reply", "address", "dns", "user", "denied"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check. `group`: one of plan.GROUPS; `flow`, `protocol`: from plan.FLOWS, empty for none.

    `argv`: the command; `pod`: the pod that runs it (`where` = pod); `expect`, `wanted`: the right answer; `needs`:
    groups without which it cannot succeed; `answer`: an answer known already; `exclusion`: why it is not run;
    `limitation`: the known limitation that it is, or that explains its failure; `suite`: its name in the e2e tests, if
    any.
    """

    id: str
    group: str
    title: str
    where: Where
    flow: str = ""
    protocol: str = ""
    pod: str = ""
    source: str = ""
    target: str = ""
    argv: tuple[str, ...] = ()
    expect: Expect = "nothing"
    wanted: str = ""
    needs: tuple[str, ...] = ()
    answer: Answer | None = None
    exclusion: str = ""
    limitation: str = ""
    suite: str = ""


def build_pod_check(pod: PodFact, group: str, name: str, title: str) -> Check:
    """A check whose command runs in this pod."""
    return Check(f"{group}/{name}/{pod.name}", group, title, "pod", pod=pod.name, source=pod.name)


Verdict = Literal["ok", "broken", "follows", "limitation", "skipped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A check's verdict. `seen`: the answer as a sentence; `remedy`: what to do, empty unless broken."""

    check: Check
    verdict: Verdict
    seen: str
    remedy: str = ""
