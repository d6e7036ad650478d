# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""config.yaml of a node that has joined, as the cluster's ConfigMap would have it now.

It is what `kubeadm upgrade node phase kubelet-config` of the kubelet's release writes. That program is not run: it is
on the node in the release of the join, it writes without an undo, a plan could not say beforehand what will differ, and
it would take over gates on which this kubelet ends. Like it, a run knows no patches that somebody gave `kubeadm join`
by hand.

Sources: kubernetes v1.37.2 cmd/kubeadm/app/cmd/phases/upgrade/kubeletconfig.go, phases/upgrade/postupgrade.go
(WriteKubeletConfigFiles), phases/kubelet/config.go (WriteConfigToDisk).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from ...cluster.reading import ClusterReading
from ...cluster.records import ClusterConfiguration, KubeletDocument
from ...engine.reading import Query, Reading
from ...engine.resource import Change
from ...engine.resources.file import File
from ...facts import feature_gates
from ...facts.flags import KUBELET, line_for
from ...facts.kubelet_config import OPTIONAL_OBJECTS
from ...facts.version import Line, Version
from ...foreign.files import ForeignError
from ...foreign.values import load_yaml, shorten
from ..flag_check import read
from ..layout import Layout
from .drop_ins import text_of
from .effective import Effective, Part, adapt, effective
from .kubelet_args import endpoint
from .places import config_file, instance_file
from .validation import is_zero

_SOCKET_GATE = "NodeLocalCRISocket"
_SOCKET_ON, _SOCKET_ALWAYS = Line(1, 34), Line(1, 36)
"""From the first line on kubeadm's gate is on by default, from the second on always: config.yaml has the runtime's
socket out of instance-config.yaml. Source: kubernetes v1.33.13, v1.34.9, v1.36.4, v1.37.2
cmd/kubeadm/app/features/features.go, phases/kubelet/config.go."""
_HIDDEN = frozenset({"staticPodURLHeader"})
"""Its values may be credentials."""
MOST = 12
"""So many keys a sentence names."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A key of KubeletConfiguration, and its values, defaults included; None where it has none."""

    key: str
    present: Any
    wanted: Any

    def __str__(self) -> str:
        return f"{self.key}: {self._show(self.present)} -> {self._show(self.wanted)}"

    def line(self, value: Any) -> str:
        """One side, for a diff."""
        return f"{self.key}: {self._show(value)}\n"

    def _show(self, value: Any) -> str:
        if value is None:
            return "not set"
        return "(hidden)" if self.key in _HIDDEN else shorten(json.dumps(value, sort_keys=True))


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """`text` is what config.yaml becomes, by the object `source`; `differences` to what it is, never none."""

    text: str
    source: str
    differences: tuple[Difference, ...]

    @property
    def sentence(self) -> str:
        """The keys with both values."""
        more = len(self.differences) - MOST
        named = "; ".join(str(each) for each in self.differences[:MOST])
        return f"{named}{f'; and {more} more' if more > 0 else ''}"

    def list_overridden(self, found: Effective, path: str) -> tuple[str, ...]:
        """A sentence for each key that another place than config.yaml at `path` sets after it."""
        return tuple(
            f"{place} has {each.key} as well, and its value counts"
            for each in self.differences
            if (place := found.places.get(each.key, path)) != path
        )


def of_cluster(found: ClusterReading, layout: Layout, reading: Reading, version: Version) -> ClusterConfig | None:
    """config.yaml of this node as the cluster has it; None where both say the same, where there is no such file, and
    where the cluster has no such configuration or it may not be read."""
    path = config_file(layout)
    present = text_of(path, reading)
    if present is None or found.kubelet_config is None or found.cluster_configuration is None:
        return None
    document = build(
        found.kubelet_config,
        found.cluster_configuration,
        version,
        drive=layout.kubeadm_binary[:2],
        socket=endpoint(layout.containerd_pipe),
        instance=text_of(instance_file(layout), reading),
    )
    return follow(document, found.kubelet_config_source, path, present, version)


def build(
    document: KubeletDocument,
    cluster: ClusterConfiguration,
    version: Version,
    *,
    drive: str,
    socket: str,
    instance: str | None,
) -> dict[str, Any]:
    """The KubeletConfiguration that kubeadm writes on this node.

    Args:
        document: The cluster's.
        cluster: What kubeadm knows of it.
        version: The kubelet's release, and kubeadm's.
        drive: Of kubeadm's program.
        socket: The runtime's, for a node without instance-config.yaml.
        instance: The text of that file; None where there is none.
    """
    made = adapt(document, cluster, drive, version)
    if gates := list_foreign_gates(document, version):
        made["featureGates"] = {name: value for name, value in made["featureGates"].items() if name not in gates}
    if version.line >= _SOCKET_ALWAYS or cluster.feature_gates.get(_SOCKET_GATE, version.line >= _SOCKET_ON):
        made["containerRuntimeEndpoint"] = _endpoint_of(instance) or socket
    return made


def _endpoint_of(instance: str | None) -> str:
    try:
        found = load_yaml(instance or "")
    except ForeignError:
        return ""
    return str(found.get("containerRuntimeEndpoint") or "") if isinstance(found, dict) else ""


def list_foreign_gates(kubelet_config: KubeletDocument, version: Version) -> tuple[str, ...]:
    """Feature gates of the cluster's KubeletConfiguration with which a kubelet of this release would end: they are left
    out of config.yaml, as the cluster's Linux nodes may be of another release."""
    gates = kubelet_config.get("featureGates") or {}
    return tuple(
        sorted(name for name, value in gates.items() if feature_gates.problem("kubelet", name, value, version))
    )


def follow(wanted: Mapping[str, Any], source: str, path: str, present: str, version: Version) -> ClusterConfig | None:
    """config.yaml at `path` with this `present` text, brought to what is `wanted`; None where both say the same: a
    default that stands there, order and comments do not count."""
    text = write(wanted)
    differences = find_differences(_alone(path, present, version), _alone(path, text, version))
    return ClusterConfig(text, source, differences) if differences else None


def _alone(path: str, text: str, version: Version) -> Effective:
    """What the file says, without drop-ins and arguments."""
    return effective(Part(path, text), None, read((), KUBELET, line_for(version.line)), version)


def write(document: Mapping[str, Any]) -> str:
    """The text, as kubeadm's own has it: keys sorted, none on one line."""
    return str(yaml.safe_dump(dict(document), sort_keys=True, default_flow_style=False, width=10_000))


def find_differences(present: Effective, wanted: Effective) -> tuple[Difference, ...]:
    """The keys that differ, those of maps one by one. What is absent is empty, as Go's types have it."""
    found = (
        Difference(path, present.values.get(path), wanted.values.get(path))
        for path in sorted({*present.values, *wanted.values})
    )
    return tuple(part for each in found if _differs(each) for part in _split(each))


def _differs(each: Difference) -> bool:
    both_empty = each.key not in OPTIONAL_OBJECTS and _is_empty(each.present) and _is_empty(each.wanted)
    return bool(each.present != each.wanted) and not both_empty


def _is_empty(value: Any) -> bool:
    return value is False or value == [] or value == {} or is_zero(value)


def _split(whole: Difference) -> Sequence[Difference]:
    sides = [{} if side is None else side for side in (whole.present, whole.wanted)]
    if not all(isinstance(side, Mapping) for side in sides) or whole.key in _HIDDEN or not any(sides):
        return (whole,)
    one, other = sides
    return tuple(
        Difference(f"{whole.key}.{name}", one.get(name), other.get(name))
        for name in sorted({*one, *other})
        if one.get(name) != other.get(name)
    )


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """config.yaml as the cluster has it; `file` writes it. `overridden`: a sentence for each key of these that another
    place sets after it."""

    file: File
    config: ClusterConfig
    overridden: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The path."""
        return self.file.label

    def reads(self) -> tuple[Query, ...]:
        """The file."""
        return self.file.reads()

    def change(self, reading: Reading) -> Change | None:
        """Its text names the keys, and its diff has nothing else: the whole file may have what is secret."""
        change = self.file.change(reading)
        if change is None:
            return None
        aside = f" ({'; '.join(self.overridden)})" if self.overridden else ""
        return replace(
            change,
            text=f"rewrite {self.file.path} as {self.config.source} has it: {self.config.sentence}{aside}",
            before="".join(each.line(each.present) for each in self.config.differences),
            after="".join(each.line(each.wanted) for each in self.config.differences),
        )
