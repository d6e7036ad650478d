# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""With which arguments a service that is there starts its program, and where that then says whether it is healthy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..engine import command_line, windows_path
from ..facts.flag_table import NEWEST
from ..facts.kube_proxy_flags import KUBE_PROXY
from ..facts.kubelet_flags import KUBELET
from . import healthz
from .flag_check import read
from .kube_proxy import kube_proxy_args


def arguments(found: Mapping[str, Any], program: str) -> tuple[str, ...] | None:
    """The arguments with which the service starts `program`, whatever runs it; None if that cannot be told, as for a
    script. `found` is the service as the probe lists it."""
    nssm = found.get("nssm")
    if nssm is not None:
        words = [str(nssm.get("Application") or ""), *command_line.split(f"x {nssm.get('AppParameters') or ''}")[1:]]
    else:
        words = command_line.split(str(found.get("image_path") or ""))
    for position, word in enumerate(words):
        if windows_path.same(word, program):
            return tuple(words[position + 1 :])
    return None


def kube_proxy(argv: Sequence[str]) -> tuple[str, str] | None:
    """Host and port, for a URL on the node itself; None if it answers nowhere, or a configuration file says where."""
    return kube_proxy_args.healthz_of(read((("kube-proxy", argv),), KUBE_PROXY, NEWEST))


def kubelet(argv: Sequence[str], config: str) -> tuple[str, str] | None:
    """The same for a kubelet; `config` is the text of its configuration file as far as that was read."""
    settings = {name: _setting(config, name) for name in ("healthzPort", "healthzBindAddress")}
    return healthz.of_kubelet(read((("kubelet", argv),), KUBELET, NEWEST), settings)


def _setting(config: str, wanted: str) -> str:
    """One setting of a file that kubeadm wrote: a line of its own. Read without a YAML parser."""
    for row in config.splitlines():
        key, colon, value = row.partition(":")
        if colon and key == wanted:
            return value.strip().strip("'\"")
    return ""


def url(where: tuple[str, str] | None) -> str:
    """The address of `/healthz` at this host and port; empty for none."""
    return f"http://{where[0]}:{where[1]}/healthz" if where else ""
