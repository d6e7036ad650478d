# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of certificates: the kubelet's two, and those of CRI over TCP.

A kubelet renews when 70 to 90 % of a certificate's life are over. What is past that waits for something: an approval,
the API server, a right clock. An expired client certificate cannot be renewed.

Source: client-go v0.37.0 util/certificate/certificate_manager.go (nextRotationDeadline, jitteryDuration).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from ..components.join.join import client_certificate
from ..components.kubelet.places import cert_dir
from ..components.layout import Layout
from ..cri_tcp.node import made_files
from ..engine import windows_path
from ..engine.reading import Query
from ..words.cause import ERROR, Area, Cause
from ..words.causes import CAUSES
from ..words.finding import Seen
from ..words.remedies import REJOIN, converge
from .check import Check
from .scene import Scene

LATE = 0.9
"""Of a certificate's life; by then a kubelet has renewed it."""


def places(layout: Layout) -> dict[str, str]:
    """Whose it is -> where it lies."""
    serving = windows_path.join(cert_dir(layout), "kubelet-server-current.pem")
    return {
        "kubelet's client certificate": client_certificate(layout),
        "kubelet's serving certificate": serving,
        "certificate of CRI over TCP": made_files(layout).cert,
    }


def reads(layout: Layout) -> tuple[Query, ...]:
    """Each of them, where it is there."""
    return tuple(Query(_key(path), "certificate", (("path", path),)) for path in places(layout).values())


def _key(path: str) -> str:
    return f"certificate:{windows_path.key(path)}"


def _lives(scene: Scene) -> Iterator[tuple[str, str, timedelta, timedelta]]:
    """(whose, path, what is left, the whole life) of each that is there, by the node's clock."""
    clock = (scene.first.parts.get("system") or {}).get("clock")
    for whose, path in places(scene.layout).items() if clock else ():
        found = scene.first.parts.get(_key(path)) or {}
        if found.get("not_before") and found.get("not_after"):
            ends = _time(found["not_after"])
            yield whose, path, ends - _time(clock), ends - _time(found["not_before"])


def _time(text: object) -> datetime:
    return datetime.fromisoformat(str(text).replace("Z", "+00:00"))


def _over(scene: Scene, *, client: bool) -> Iterator[Seen]:
    for whose, path, left, _life in _lives(scene):
        if left <= timedelta(0) and client == (path == client_certificate(scene.layout)):
            yield Seen(f"the {whose}", f"it expired {_show(-left)} ago ({path})", "valid")


def _late(scene: Scene) -> Iterator[Seen]:
    for whose, path, left, life in _lives(scene):
        if whose.startswith("kubelet") and timedelta(0) < left < (1 - LATE) * life:
            yield Seen(f"the {whose}", f"{_show(left)} of {_show(life)} are left ({path})", "renewed by now")


def _show(time: timedelta) -> str:
    return f"{time.days} days" if time.days > 1 else f"{time.total_seconds() / 3600:.1f} hours"


CHECKS = (
    Check(
        Cause(
            "kubelet.client-certificate-over",
            ERROR,
            "The kubelet's client certificate has expired",
            "The node was off, or did not reach the API server, for too long; or its clock is wrong. The kubelet "
            "cannot "
            "renew an expired certificate.",
            REJOIN.said(
                "Compare the clock. If it is right, make a new token (kubeadm token create "
                "--print-join-command); with the node drained remove /etc/kubernetes/kubelet.conf and "
                "C:\\var\\lib\\kubelet\\pki on it, and join it again."
            ),
            explains=("node.not-ready", "node.taint", "kubelet.unhealthy"),
            area=Area.PROGRAMS,
        ),
        lambda scene: _over(scene, client=True),
    ),
    Check(
        Cause(
            "kubelet.certificate-over",
            ERROR,
            "A certificate that others check has expired",
            "kubectl logs and exec, metrics, or callers of CRI over TCP are refused. Nobody approved its successor, or "
            "nobody made one.",
            converge(
                "join",
                text=(
                    "Compare the clock; kubectl get csr, then kubectl certificate approve NAME of the node's that "
                    "waits. For CRI over TCP make the server's certificate again."
                ),
            ),
            area=Area.PROGRAMS,
        ),
        lambda scene: _over(scene, client=False),
    ),
    Check(
        CAUSES["kubelet.certificate-late"],
        _late,
    ),
)
