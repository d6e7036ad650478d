# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who called, where a line says so, and the causes that it then cannot have.

The node's own login, its CA and kube-proxy's rules are the node's programs'. A CNI plugin has a kubeconfig of its own,
a pod's program the account of its pod, and Docker knows no Service. words/precedence.py asks for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_PROGRAMS = "kube-?proxy|flannel|canal|calico|antrea"
"""Programs of a node that run as pods: their accounts have their names, whatever the namespace. All accounts of
kube-system are the cluster's own."""
_LOGIN = ("cluster.denied", "cluster.wrong-ca", "cluster.certificate-name", "start.kubeconfig", "start.no-login")
"""Causes of the login of kubelet, kube-proxy or flanneld, and of the CA that they trust."""
_RULES = ("kube-proxy.",)


@dataclass(frozen=True, slots=True)
class Caller:
    """`words` of a line that names it; `never`: beginnings of the causes that its call cannot have."""

    name: str
    words: re.Pattern[str]
    never: tuple[str, ...]


CALLERS = (
    Caller(
        "a CNI plugin",
        re.compile(r"\bplugin type=|\[cni-\w+\]|\bMultus: |networkPlugin cni failed"),
        (*_LOGIN, *_RULES),
    ),
    Caller(
        "a pod's program",
        re.compile(rf"\bsystem:serviceaccount:(?!kube-system:)[\w.-]{{1,253}}:(?![\w.-]{{0,253}}?(?:{_PROGRAMS}))"),
        _LOGIN,
    ),
    Caller("Docker", re.compile(r"^docker\b|\b[Ee]rror response from daemon: "), _RULES),
)


def excluded(line: str) -> tuple[str, ...]:
    """Beginnings of the causes that a line cannot have; none where it does not say who called."""
    return tuple(each for caller in CALLERS if caller.words.search(line) for each in caller.never)
