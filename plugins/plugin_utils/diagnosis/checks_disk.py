# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the drive with containerd's images: what is free, how many layers there are, and which are left over.

Nothing is deleted: a layer is full of links and reparse points, and only HCS takes it away safely. The size of a
container's scratch disk is not a setting: hcsshim v0.9.12 and v0.14.1 declare default_container_scratch_size_in_gb and
do not read it; containerd v1.7.35 and v2.4.2 take RootfsSizeInBytes of CRI, which kubelet v1.37.1 does not send.

Sources: containerd v1.6.36, v1.7.35 snapshots/windows/windows.go, v2.4.2 plugins/snapshots/windows/{windows,common}.go
(`rm-` before the id of what is removed); kubernetes v1.37.1 pkg/kubelet/eviction/defaults_windows.go,
pkg/kubelet/apis/config/v1beta1/defaults.go (imageGCHighThresholdPercent).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..engine import windows_path
from ..engine.reading import Query, file_key, file_query
from ..facts.containerd import DEFAULT_ROOT, SNAPSHOTS
from ..words.cause import WARNING, Area, Cause
from ..words.finding import Seen
from ..words.remedies import advice
from ..words.remedy import Ends
from .check import Check
from .scene import Scene

FULL = 0.15
"""Of the drive. Below, the kubelet collects images (imageGCHighThresholdPercent 85) and evicts pods
(imagefs.available<15%)."""
LEFT = "rm-"
FOLDER = windows_path.join(DEFAULT_ROOT, SNAPSHOTS)
DRIVE = DEFAULT_ROOT[:2]
GB = 10**9


def reads() -> tuple[Query, ...]:
    """The drives, and the names of the layers."""
    return (Query("volumes", "volumes"), file_query(FOLDER, entries=True))


def _layers(scene: Scene) -> tuple[list[str], list[str]]:
    """(those in use, those left over)."""
    names = [str(name) for name in (scene.first.parts.get(file_key(FOLDER)) or {}).get("entries") or ()]
    left = [name for name in names if name.startswith(LEFT)]
    return [name for name in names if name.isdecimal()], left


def _sizes(scene: Scene) -> tuple[int, int]:
    """(free, whole) bytes of the drive; 0 where they were not told."""
    volume = (scene.first.parts.get("volumes") or {}).get(DRIVE) or {}
    return int(volume.get("free") or 0), int(volume.get("size") or 0)


def _space(scene: Scene) -> str:
    free, size = _sizes(scene)
    return f"{free / GB:.1f} GB of {size / GB:.1f} GB ({100 * free / size:.0f} %) are free" if size else ""


def _full(scene: Scene) -> Iterator[Seen]:
    free, size = _sizes(scene)
    if size and free < FULL * size:
        layers, left = _layers(scene)
        yield Seen(
            f"drive {DRIVE}",
            f"{_space(scene)}; containerd has {len(layers)} layers there, and {len(left)} that it could not remove",
            f"more than {100 * FULL:.0f} % free",
        )


def _find_left_over(scene: Scene) -> Iterator[Seen]:
    layers, left = _layers(scene)
    if left:
        space = f"; {said}" if (said := _space(scene)) else ""
        yield Seen(FOLDER, f"{len(left)} layers are left over beside {len(layers)} others ({left[0]}){space}", "none")


CHECKS = (
    Check(
        Cause(
            "host.drive-full",
            WARNING,
            "The drive with containerd's images is nearly full",
            "The kubelet removes images that nothing uses and evicts pods; pulls fail. What grows are images, "
            "containers' "
            "scratch disks (up to 20 GB each), logs and Windows' updates.",
            advice(
                "Make the drive larger, or remove what is not needed: crictl rmi --prune; DISM /Online "
                "/Cleanup-Image /StartComponentCleanup."
            ),
            explains=("pod.*", "node.pressure"),
            area=Area.PROGRAMS,
        ),
        _full,
    ),
    Check(
        Cause(
            "host.layers-left",
            WARNING,
            "containerd could not remove layers",
            "A process or a virus scanner held files of them. containerd forgot them and does not try again.",
            advice(
                (
                    "Drain and restart the machine, then remove them by HCS (hcsshim's wclayer remove PATH), never "
                    "by deleting the folder: it has links to files of Windows."
                ),
                Ends.PODS,
                Ends.MACHINE,
            ),
            area=Area.PROGRAMS,
        ),
        _find_left_over,
    ),
)
