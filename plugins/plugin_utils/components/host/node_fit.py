# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a machine can become the wanted node: Windows x Kubernetes x containerd x pause image x network.

Asked before the machine is changed. Pure: tables in `facts`, sentences here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...engine.reading import Reading
from ...facts import feature_gates
from ...facts.calico import hns_mode
from ...facts.containerd import UnsupportedVersionError, takes_earlier_ltsc
from ...facts.flags import OLDEST as OLDEST_LINE
from ...facts.kubernetes import FROZEN_REPOSITORY, PAUSE_IMAGES, PAUSE_REPOSITORY, NoPauseImageError, PauseImage, pair
from ...facts.kubernetes import pause_image as known_image
from ...facts.version import Line, Version
from ...facts.windows import (
    FULLY_SUPPORTED_BUILD,
    LAST_WITH_ONE_FULLY_SUPPORTED,
    OLDEST_BUILD,
    describe_images,
    find_release,
    list_builds,
    overlay_floor,
    runs_image,
)
from ..kubernetes_fit import kubernetes_line, release
from .options import HostOptions

ARCHITECTURES = ("amd64",)
"""Source: kubernetes 0029a648 hack/lib/golang.sh, KUBE_SUPPORTED_NODE_PLATFORMS."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The present Windows. `revision` is the fourth part of 10.0.17763.348, `kind` the registry's InstallationType."""

    build: int
    revision: int
    kind: str = "Server Core"
    architecture: str = "amd64"

    @classmethod
    def of(cls, reading: Reading) -> Machine:
        """From the query `system`; checks skip what it does not tell."""
        found = (reading.parts.get("system") or {}).get("os") or {}
        return cls(
            int(found.get("build") or 0),
            int(found.get("revision") or 0),
            str(found.get("installation_type") or ""),
            str(found.get("architecture") or ""),
        )

    @property
    def name(self) -> str:
        """For people: `Windows Server 2019 (10.0.17763.348)`."""
        release = find_release(self.build)
        version = f"10.0.{self.build}.{self.revision}"
        return f"{release.name} ({version})" if release else f"Windows {version}"


@dataclass(frozen=True, slots=True)
class Fit:
    """`refusals` that nothing overrules, and `warnings`; sentences."""

    refusals: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def problems(machine: Machine, wanted: HostOptions) -> Fit:
    """All reasons why the machine cannot become that node, and warnings if it can. Refused for an invalid release."""
    refusals: list[str] = []
    warnings: list[str] = []
    line = kubernetes_line(wanted.kubernetes_version)
    if machine.build:
        refusals += _windows(machine)
    if line is not None:
        _line(line, refusals)
        if machine.build >= OLDEST_BUILD:
            _host(machine, line, wanted.allow_unsupported_os, refusals, warnings)
        refusals += _containerd(line, find_containerd(wanted), warnings)
    if machine.build and (line or wanted.pause_image):
        refusals += pause_refusals(machine, wanted, warnings)
    if hns_mode(wanted.network.mode) == "overlay":
        refusals += _overlay(machine)
        warnings += _young_overlay(line)
    return Fit(tuple(dict.fromkeys(refusals)), tuple(dict.fromkeys(warnings)))


def _young_overlay(line: Line | None) -> Iterator[str]:
    """A warning: up to 1.33 kube-proxy's support for overlay networks is beta."""
    known = feature_gates.gate("kube-proxy", "WinOverlay", line) if line is not None and line >= OLDEST_LINE else None
    if known is not None and known.stage == "beta":
        yield (
            f"winkube_network_mode is overlay: in Kubernetes {line} kube-proxy's support for it is beta (feature gate "
            "WinOverlay). It is final from 1.34 on; l2bridge is final in every release."
        )


def _windows(machine: Machine) -> Iterator[str]:
    """Reasons that hold for every version of everything."""
    if machine.build < OLDEST_BUILD:
        yield (
            f"{machine.name} cannot be a Kubernetes node: nodes need Windows Server 2019 (build {OLDEST_BUILD}) or "
            "newer."
        )
    if machine.kind in {"Client", "Nano Server"}:
        yield (
            f"This machine runs the Windows edition '{machine.kind}' (build {machine.build}); Kubernetes "
            "nodes are Windows Server, with or without desktop."
        )
    if machine.architecture and machine.architecture not in ARCHITECTURES:
        yield (
            f"This machine's processor is {machine.architecture}; Kubernetes publishes programs for Windows nodes for "
            f"{' and '.join(ARCHITECTURES)} alone."
        )


def _line(line: Line, refusals: list[str]) -> None:
    if line < OLDEST_LINE:
        refusals.append(
            f"Kubernetes {line} is older than {OLDEST_LINE}, the oldest whose programs this collection can configure; "
            "set winkube_kubernetes_version to a newer release."
        )


def _host(machine: Machine, line: Line, allowed: bool, refusals: list[str], warnings: list[str]) -> None:
    builds = list_builds(line)
    if builds and machine.build not in builds:
        names = [known.name if (known := find_release(build)) else str(build) for build in builds]
        sentence = f"Kubernetes {line} does not support {machine.name} as a node, only {', '.join(names)}."
        if machine.build == FULLY_SUPPORTED_BUILD:
            sentence += (
                " Its images do not run on newer ones, so new nodes join beside the old ones, the workloads move, and "
                "the old ones are drained and reset (docs/from-2019.md)."
            )
        if allowed:
            warnings.append(f"{sentence} It is tried anyway, since winkube_allow_unsupported_os is true.")
        else:
            refusals.append(f"{sentence} To try it anyway, set winkube_allow_unsupported_os to true.")
    if line <= LAST_WITH_ONE_FULLY_SUPPORTED and machine.build != FULLY_SUPPORTED_BUILD:
        warnings.append(
            f"Kubernetes {line} fully supports only containers of Windows Server 2019; this node is {machine.name} "
            f"and runs images of {describe_images(machine.build)}."
        )


def _containerd(line: Line, containerd: Version | None, warnings: list[str]) -> Iterator[str]:
    if containerd is None:
        return
    try:
        verdict, sentence = pair(line, containerd)
    except UnsupportedVersionError as error:
        yield str(error)
        return
    if verdict == "refused":
        yield sentence
    elif verdict == "untested":
        warnings.append(sentence)


def find_containerd(wanted: HostOptions) -> Version | None:
    """The release of containerd; None for none. Refused if the text is not a release."""
    return release(wanted.containerd_version, "winkube_containerd_version") if wanted.containerd_version else None


def pause_refusals(machine: Machine, wanted: HostOptions, warnings: list[str]) -> Iterator[str]:
    """Why the sandbox image does not run there: with process isolation a host runs images of its own build, or back
    to the LTSC release before it."""
    chosen, line = wanted.pause_image, kubernetes_line(wanted.kubernetes_version)
    if not chosen:
        if line is None:
            return
        try:
            chosen = known_image(line, wanted.pause_image_source, machine.build)
        except NoPauseImageError as error:
            if machine.build >= OLDEST_BUILD:
                yield str(error)
            return
    image = _find_image(chosen)
    if image is None:
        warnings.append(
            f"Whether the pause image {chosen} runs on {machine.name} is not known here: it needs a manifest for "
            f"{describe_images(machine.build)}."
        )
    elif not any(runs_image(machine.build, build) for build in image.builds):
        builds = ", ".join(str(build) for build in image.builds)
        yield (
            f"The pause image {chosen} has no manifest for {machine.name}, only for the builds {builds}: every pod "
            "would stay in ContainerCreating. Leave winkube_pause_image empty, or set one for this build."
        )
    elif machine.build not in image.builds and (runtime := find_containerd(wanted)) and not takes_earlier_ltsc(runtime):
        builds = ", ".join(str(build) for build in image.builds)
        yield (
            f"The pause image {chosen} is for the builds {builds}, and containerd {runtime} runs images of "
            f"the node's own build alone, here {machine.build}. Take containerd 1.7.6 or newer."
        )


def _find_image(reference: str) -> PauseImage | None:
    """The row of a published image; None for the user's own."""
    repository, _colon, tag = reference.rpartition(":")
    for image in PAUSE_IMAGES:
        if image.tag == tag and repository in {PAUSE_REPOSITORY, FROZEN_REPOSITORY, image.microsoft}:
            return image
    return None


def _overlay(machine: Machine) -> Iterator[str]:
    floor = overlay_floor(machine.build)
    if floor is None:
        return
    if floor.revision is None:
        yield f"The network mode overlay does not work on {machine.name}: {floor.why}. Use a newer Windows."
    elif machine.revision < floor.revision:
        yield (
            f"The network mode overlay does not work on {machine.name}: {floor.why} ({floor.update}, "
            f"10.0.{floor.build}.{floor.revision}). Update Windows, or use l2bridge."
        )
