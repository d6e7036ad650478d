# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the configuration that the kubelet will run with after its next start, and of the cluster's."""

from __future__ import annotations

from collections.abc import Iterator

from ..components.healthz import find_arguments
from ..components.kubelet import cluster_config, drop_ins
from ..components.kubelet.effective import Effective, find_overriding
from ..components.kubelet.kubelet_args import DROP_IN_NAME
from ..components.kubelet.places import config_file, drop_in_dir
from ..components.layout import Layout
from ..engine import windows_path
from ..engine.reading import Reading
from ..facts.flags import OLDEST
from ..facts.version import Version
from ..words.cause import ERROR, WARNING, Area, Cause
from ..words.finding import Seen
from ..words.remedies import advice, converge
from .check import Check, Needs
from .scene import Probe, Scene

_DEPTH = 3
"""So many levels of folders below config.d are looked into."""


def complete_drop_ins(reading: Reading, layout: Layout, probe: Probe) -> Reading:
    """With the drop-ins of others, whose names are known once the folder has been read."""
    for _level in range(_DEPTH):
        relied = drop_ins.rely_on_foreign(drop_in_dir(layout), reading)
        more = tuple(query for each in relied for query in each.queries if query.key not in reading.parts)
        if not more:
            break
        reading = reading.merge(probe(more), more)
    return reading


def _release(scene: Scene) -> Version | None:
    """The wanted release, by which the kubelet is judged; None for a node without Kubernetes, and for a release whose
    flags are not known."""
    if not scene.expected.kubernetes:
        return None
    found = Version.parse(scene.expected.kubelet.version)
    return found if found.line >= OLDEST else None


def _effective(scene: Scene) -> Effective | None:
    version, service = _release(scene), scene.service(scene.layout.kubelet_service)
    argv = find_arguments(service, scene.layout.kubelet_binary) if service else None
    return None if version is None or argv is None else drop_ins.of_service(argv, version, scene.first)


def _ends(scene: Scene) -> Iterator[Seen]:
    found = _effective(scene)
    for fault in found.faults if found else ():
        yield Seen(fault.place or "the kubelet", f"{fault.key}: {fault.why}" if fault.key else fault.why)


def _overridden(scene: Scene) -> Iterator[Seen]:
    found = _effective(scene)
    ours = windows_path.join(drop_in_dir(scene.layout), DROP_IN_NAME)
    for each in find_overriding(found, ours) if found else ():
        yield Seen(each.place, each.seen, each.wanted)


def _ignored(scene: Scene) -> Iterator[Seen]:
    found = _effective(scene)
    for sentence in found.ignored if found else ():
        place, _colon, said = sentence.partition(": ")
        yield Seen(place, said)


def _behind(scene: Scene) -> Iterator[Seen]:
    version = _release(scene)
    if scene.kubelets is None or version is None:
        return
    found = cluster_config.of_cluster(scene.kubelets, scene.layout, scene.first, version)
    if found is not None:
        yield Seen(config_file(scene.layout), found.sentence, f"as {found.source} has it")


CHECKS = (
    Check(
        Cause(
            "kubelet.config-ends",
            ERROR,
            "The kubelet will end on its configuration at its next start",
            "Somebody has written a file in config.d or config.yaml since it was started; a kubelet reads them at its "
            "start only.",
            advice("Mend the key in the file that is named, before the kubelet starts again."),
            "kubernetes/kubernetes#124796",
            explains=("start.kubelet-config", "start.feature-gate"),
            area=Area.PROGRAMS,
        ),
        _ends,
        role="kubelet",
    ),
    Check(
        Cause(
            "kubelet.config-overridden",
            WARNING,
            "A drop-in of somebody else's overrides ours",
            "The kubelet reads config.d sorted by name, and the last value of a key counts.",
            advice("Take the key out there, or set the variable that gives ours to the same value."),
            area=Area.PROGRAMS,
        ),
        _overridden,
        role="kubelet",
    ),
    Check(
        Cause(
            "kubelet.config-ignored",
            WARNING,
            "The kubelet ignores a key of its configuration",
            "The key is misspelled, or of another release: the kubelet drops it in a drop-in without a word.",
            advice("Write the key as KubeletConfiguration of this release has it, or take it out."),
            area=Area.PROGRAMS,
        ),
        _ignored,
        role="kubelet",
    ),
    Check(
        Cause(
            "kubelet.config-behind",
            WARNING,
            "The kubelet does not have the cluster's present configuration",
            "The ConfigMap was changed after the join, and only a run brings that to a node that has joined.",
            converge(
                "kubelet", text="kubeadm upgrade node phase kubelet-config on the node, then Restart-Service kubelet."
            ),
            area=Area.PROGRAMS,
        ),
        _behind,
        needs=Needs.NODE,
        role="kubelet",
    ),
)
