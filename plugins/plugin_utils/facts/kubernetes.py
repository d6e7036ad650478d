# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes per release line: CRI, pause image, the containerd releases it is tested with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from . import containerd as containerd_facts
from .version import Line, Version
from .windows import runs_image

Verdict = Literal["fits", "untested", "refused"]

SUPPORTED = (Line(1, 35), Line(1, 36), Line(1, 37))
"""The lines that the project configures; older ones are in the tables so that they can be told from mistakes."""

DEFAULT_CONTAINERD = Line(2, 3)
"""Installed unless the user asks for another: the long-term line that the newest Kubernetes recommends."""

K0S_STACK = "k0s.k0sproject.io/stack"
"""A label of all that k0s applies. What it applies for Windows nodes (Calico, kube-proxy) comes within a minute after
the first of them. Sources: k0sproject/k0s dff90cee pkg/applier/meta.go, stack.go; pkg/component/controller/calico.go,
kubeproxy.go, windowsstackcomponent.go."""


@dataclass(frozen=True, slots=True)
class KubernetesLine:
    """One release line.

    `cri`: versions of the CRI API its kubelet speaks. `pause`: the tag of the pause image for Windows nodes.
    `containerd`: the first recommended release of each recommended line of containerd; empty where no list was found.
    """

    line: Line
    cri: tuple[str, ...]
    pause: str
    containerd: tuple[Version, ...]
    source: str
    unverified: bool = False


def _versions(*texts: str) -> tuple[Version, ...]:
    return tuple(Version.parse(text) for text in texts)


_OLD, _BOTH, _NEW = ("v1alpha2",), ("v1alpha2", "v1"), ("v1",)
_CRI = "containerd v2.4.2 RELEASES.md, Deprecated containerd and kubernetes versions"
_PAIRS = "containerd v2.4.2 RELEASES.md, Kubernetes Support"
_PAIRS_213 = "containerd/containerd.io#213, content/releases.md"
_PAIRS_OLD = "containerd, RELEASES.md of 2025, Kubernetes Support"


def _kubeadm(release: str) -> str:
    return f"kubernetes v{release} cmd/kubeadm/app/constants/constants.go PauseVersion"


_PAGE = "kubernetes.io, Windows containers in Kubernetes, Pause container"

KUBERNETES_LINES: tuple[KubernetesLine, ...] = (
    KubernetesLine(
        Line(1, 20),
        _OLD,
        "3.4.1",
        (),
        f"{_CRI}; the tag of 1.21, since 1.20's own 3.2 has no Windows (kubernetes v1.20.0 container_runtime.go)",
        unverified=True,
    ),
    KubernetesLine(Line(1, 21), _OLD, "3.4.1", (), f"{_CRI}; {_kubeadm('1.21.0')}"),
    KubernetesLine(Line(1, 22), _OLD, "3.5", (), f"{_CRI}; {_PAGE}, v1.22; {_kubeadm('1.22.0')}"),
    KubernetesLine(Line(1, 23), _BOTH, "3.6", (), f"{_CRI}; {_kubeadm('1.23.0')}"),
    KubernetesLine(
        Line(1, 24),
        _BOTH,
        "3.6",
        _versions("1.6.4", "1.7.0"),
        f"{_PAIRS_213}; {_PAGE} kept 3.6 up to v1.27 (kubeadm v1.24.0: 3.7)",
    ),
    KubernetesLine(
        Line(1, 25),
        _BOTH,
        "3.6",
        _versions("1.6.4", "1.7.0"),
        f"{_PAIRS_213}; {_PAGE} kept 3.6 up to v1.27 (kubeadm v1.25.0: 3.8)",
    ),
    KubernetesLine(
        Line(1, 26),
        _NEW,
        "3.6",
        _versions("1.6.15", "1.7.0"),
        f"{_PAIRS_213}; {_PAGE} kept 3.6 up to v1.27 (kubeadm v1.26.0: 3.9)",
    ),
    KubernetesLine(
        Line(1, 27),
        _NEW,
        "3.6",
        _versions("1.6.15", "1.7.0"),
        f"{_PAIRS_213}; {_PAGE}, v1.27 (kubeadm v1.27.0: 3.9)",
    ),
    KubernetesLine(Line(1, 28), _NEW, "3.9", _versions("1.6.15", "1.7.0"), f"{_PAIRS_213}; {_kubeadm('1.28.0')}"),
    KubernetesLine(Line(1, 29), _NEW, "3.9", _versions("1.6.27", "1.7.11"), f"{_PAIRS_213}; {_kubeadm('1.29.0')}"),
    KubernetesLine(
        Line(1, 30),
        _NEW,
        "3.9",
        _versions("1.6.28", "1.7.13", "2.0.0", "2.1.0"),
        f"{_PAIRS_OLD}; {_kubeadm('1.30.0')}",
    ),
    KubernetesLine(
        Line(1, 31),
        _NEW,
        "3.10",
        _versions("1.6.34", "1.7.20", "2.0.0", "2.1.0"),
        f"{_PAIRS_OLD}; {_kubeadm('1.31.0')}",
    ),
    KubernetesLine(
        Line(1, 32),
        _NEW,
        "3.10",
        _versions("1.6.36", "1.7.24", "2.0.1", "2.1.0"),
        f"{_PAIRS}; {_kubeadm('1.32.0')}",
    ),
    KubernetesLine(
        Line(1, 33),
        _NEW,
        "3.10",
        _versions("1.6.36", "1.7.24", "2.0.4", "2.1.0"),
        f"{_PAIRS}; {_kubeadm('1.33.0')}",
    ),
    KubernetesLine(
        Line(1, 34),
        _NEW,
        "3.10.1",
        _versions("1.6.39", "1.7.28", "2.0.6", "2.1.3"),
        f"{_PAIRS}; {_kubeadm('1.34.0')}",
    ),
    KubernetesLine(
        Line(1, 35), _NEW, "3.10.1", _versions("1.7.28", "2.1.5", "2.2.0"), f"{_PAIRS}; {_kubeadm('1.35.0')}"
    ),
    KubernetesLine(Line(1, 36), _NEW, "3.10.2", _versions("2.2.0", "2.3.0"), f"{_PAIRS}; {_kubeadm('1.36.0')}"),
    KubernetesLine(Line(1, 37), _NEW, "3.10.2", _versions("2.3.0", "2.4.0"), f"{_PAIRS}; {_kubeadm('1.37.0')}"),
)

LAST_FOR_CONTAINERD_1 = Line(1, 35)
"""Later ones want containerd 2.x. Source: containerd v2.4.2 RELEASES.md; announcement of Kubernetes 1.35."""


@dataclass(frozen=True, slots=True)
class PauseImage:
    """One tag of the pause image: where it is published, and the Windows builds it has manifests for.

    `microsoft`: the repository of the copy whose programs Microsoft signs, None where none was seen.
    """

    tag: str
    builds: tuple[int, ...]
    microsoft: str | None
    source: str
    unverified: bool = False


_OSS = "mcr.microsoft.com/oss/kubernetes/pause"
_OSS_2 = "mcr.microsoft.com/oss/v2/kubernetes/pause"
_MAKEFILE = "build/pause/Makefile ALL_OSVERSIONS"
_CHANGELOG = "kubernetes v1.37.0 build/pause/CHANGELOG.md"

PAUSE_REPOSITORY = "registry.k8s.io/pause"

FROZEN_REPOSITORY = "k8s.gcr.io/pause"
"""The documentation's of v1.22. It gets no new tags, so it is not a default. Source: kubernetes.io blog, 2023."""

PAUSE_IMAGES: tuple[PauseImage, ...] = (
    PauseImage("3.4.1", (17763, 18362, 18363, 19041, 19042), _OSS, f"{_CHANGELOG}; kubernetes/website#29056"),
    PauseImage("3.5", (17763, 18362, 18363, 19041, 19042), _OSS, f"kubernetes v1.21.0 {_MAKEFILE}; {_PAGE}, v1.22"),
    PauseImage(
        "3.6", (17763, 18362, 18363, 19041, 19042, 20348), _OSS, f"kubernetes v1.23.0 {_MAKEFILE}; {_PAGE}, v1.27"
    ),
    PauseImage("3.7", (17763, 19042, 20348), None, f"kubernetes v1.24.0 {_MAKEFILE}"),
    PauseImage("3.8", (17763, 19042, 20348), None, f"kubernetes v1.25.0 {_MAKEFILE}"),
    PauseImage("3.9", (17763, 20348), _OSS, f"kubernetes v1.27.0 {_MAKEFILE}; seen in use from both repositories"),
    PauseImage("3.10", (17763, 20348), _OSS, f"kubernetes v1.32.0 {_MAKEFILE}; kubernetes-sigs/image-builder#1985"),
    PauseImage("3.10.1", (17763, 20348), _OSS_2, f"kubernetes v1.33.0 {_MAKEFILE}; Azure/AgentBaker tests"),
    PauseImage(
        "3.10.2",
        (17763, 20348, 26100),
        _OSS_2,
        f"{_CHANGELOG} (adds 2025; that it keeps 2019 is concluded); Azure/AgentBaker tests",
        unverified=True,
    ),
)


class NoPauseImageError(ValueError):
    """There is no pause image for what was asked; str() is the sentence for the user."""


def kubernetes_line(line: Line) -> KubernetesLine | None:
    """The table's row, None for a line that it does not know."""
    return next((known for known in KUBERNETES_LINES if known.line == line), None)


def pause_image(line: Line, source: str = "kubernetes", build: int | None = None) -> str:
    """The pause image for Windows nodes of this Kubernetes line.

    `source`: `kubernetes` or `microsoft` (signed programs). With `build`, the tag is the next one that has a manifest
    for that build of Windows: 1.35's own has none for Windows Server 2025. Where none has one, it is the first whose
    manifests the host can run all the same (23H2 runs those of 2022). NoPauseImageError if there is none.
    """
    row = kubernetes_line(line)
    if row is None:
        first, last = KUBERNETES_LINES[0].line, KUBERNETES_LINES[-1].line
        raise NoPauseImageError(
            f"Kubernetes {line} is not one that this collection knows ({first} to {last}): set "
            "winkube_kubernetes_version to one of these, or take a newer winkube.node. To try it all the same, name "
            "its sandbox image: winkube_pause_image."
        )
    tags = [image.tag for image in PAUSE_IMAGES]
    images = PAUSE_IMAGES[tags.index(row.pause) :]
    exact = [image for image in images if build is None or build in image.builds]
    running = [image for image in images if build is not None and any(runs_image(build, one) for one in image.builds)]
    for image in (*exact, *running):
        if repository := _repository(image, source):
            return f"{repository}:{image.tag}"
    raise NoPauseImageError(
        f"No pause image for Kubernetes {line} from the source '{source}' has a manifest for Windows build {build}; "
        "set winkube_pause_image."
    )


def _repository(image: PauseImage, source: str) -> str | None:
    sources: Mapping[str, str | None] = {"kubernetes": PAUSE_REPOSITORY, "microsoft": image.microsoft}
    return sources[source]


def pair(kubernetes: Line, containerd: Version) -> tuple[Verdict, str]:
    """Whether a kubelet of this line and this containerd go together, and the sentence for the user if they do not.

    `refused`: they cannot talk, or upstream says they do not work. `untested`: upstream recommends later ones of that
    line, or later lines. A line newer than all recommended ones fits: the list is not amended when one comes out.
    UnsupportedVersionError for a containerd that no table knows.
    """
    runtime = containerd_facts.release_line(containerd)
    row = kubernetes_line(kubernetes)
    if kubernetes < KUBERNETES_LINES[0].line:
        first = KUBERNETES_LINES[0].line
        return "refused", f"containerd runs Windows nodes from Kubernetes {first} on; this is Kubernetes {kubernetes}."
    if row is None:
        newest = KUBERNETES_LINES[-1].line
        return "untested", f"Kubernetes {kubernetes} is newer than {newest}, the newest this collection knows."
    if not set(row.cri) & set(runtime.cri):
        return "refused", (
            f"The kubelet of Kubernetes {kubernetes} speaks CRI {' and '.join(row.cri)}, containerd {containerd} "
            f"serves {' and '.join(runtime.cri)}: they cannot talk. {_advice(row)}"
        )
    if kubernetes > LAST_FOR_CONTAINERD_1 and containerd.major < 2:
        return "refused", (
            f"Kubernetes {LAST_FOR_CONTAINERD_1} was the last for containerd 1.x; this is {kubernetes} with containerd "
            f"{containerd}. {_advice(row)}"
        )
    if not row.containerd or containerd.line > row.containerd[-1].line:
        return "fits", ""
    if any(first.line == containerd.line and first <= containerd for first in row.containerd):
        return "fits", ""
    return "untested", f"containerd {containerd} is not among those tested with Kubernetes {kubernetes}. {_advice(row)}"


def _advice(row: KubernetesLine) -> str:
    if not row.containerd:
        return f"Take a containerd that serves CRI {' or '.join(row.cri)}."
    return f"Recommended: {', '.join(f'{first} or later {first.line}' for first in row.containerd)}."


# How far kubelet and kube-proxy may be behind the API server, and that they may not be ahead of it.

LAST_WITH_TWO = Line(1, 24)
"""Up to here a kubelet or kube-proxy may be two minors behind the API server, from 1.25 on three."""

SKEW_SOURCE = "kubernetes.io, Version Skew Policy (release-1.35), kubelet and kube-proxy"


def minors_behind(component: Line) -> int:
    """How many minors this kubelet or kube-proxy may be older than its API server. Source: SOURCE."""
    return 2 if component <= LAST_WITH_TWO else 3


def skew_problem(program: str, component: Line, server: Line) -> str | None:
    """Why `program` (kubelet, kube-proxy) of this line does not go with this API server, None if it does."""
    if component > server:
        return (
            f"{program} {component} is newer than the cluster's API server {server}, which Kubernetes does not "
            f"support: upgrade the control plane first, or set winkube_kubernetes_version to {server}."
        )
    limit = minors_behind(component)
    if component.major != server.major or server.minor - component.minor > limit:
        return (
            f"{program} {component} is too old for the cluster's API server {server}: it may be {limit} minors older. "
            f"Set winkube_kubernetes_version to {server}."
        )
    return None
