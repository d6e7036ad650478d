# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kubeadm's JoinConfiguration, in the form that each release reads; as JSON, which is YAML as well."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...engine.resource import Refused
from ...facts.version import Line, Version
from ..kubelet.kubelet_args import endpoint

FIRST = Line(1, 22)
"""The first line that reads v1beta3. Source: kubernetes v1.28.0 cmd/kubeadm/app/apis/kubeadm/v1beta4/doc.go."""
V1BETA4 = Line(1, 31)
"""The first line that reads v1beta4 without --allow-experimental-api.

Source: kubernetes.io/blog/2024/08/23/kubernetes-1-31-kubeadm-v1beta4.
"""


PRIVILEGED_USER = "IsPrivilegedUser"
ASKS_THE_TOKEN = Line(1, 31)
"""The first line whose check IsPrivilegedUser passes for LocalSystem, which kubeadm is run as here. Before, it asked
for the groups of the user by his name, and LocalSystem has none. Source: kubernetes#124665, #108140; v1.30
cmd/kubeadm/app/preflight/checks_windows.go."""


@dataclass(frozen=True, slots=True)
class JoinSettings:
    """What kubeadm is told. `taints` are `<key>=<value>:<effect>`, `api_server` is `<host>:<port>`, `ca_hash`
    `sha256:<hex>`, `pipe` the name of containerd's pipe."""

    version: Version
    node_name: str
    pipe: str
    api_server: str
    token: str = field(repr=False)
    ca_hash: str
    taints: tuple[str, ...] = ()
    kubelet_extra_args: Mapping[str, str] = field(default_factory=dict)


def join_configuration(settings: JoinSettings) -> str:
    """The text of the file for `kubeadm join --config`. Refused for a release that reads none of the forms."""
    if settings.version.line < FIRST:
        raise Refused(
            f"kubeadm {settings.version} reads neither kubeadm.k8s.io/v1beta3 nor v1beta4: use Kubernetes {FIRST} or "
            "newer, or winkube_join: kubeconfig."
        )
    named = settings.version.line >= V1BETA4
    arguments: Any = dict(sorted(settings.kubelet_extra_args.items()))
    if named:
        arguments = [{"name": name, "value": value} for name, value in arguments.items()]
    registration: dict[str, Any] = {
        "name": settings.node_name,
        "criSocket": endpoint(settings.pipe),
        "taints": [_taint(taint) for taint in settings.taints],
    }
    if settings.version.line < ASKS_THE_TOKEN:
        registration["ignorePreflightErrors"] = [PRIVILEGED_USER]
    if arguments:
        registration["kubeletExtraArgs"] = arguments
    document = {
        "apiVersion": f"kubeadm.k8s.io/{'v1beta4' if named else 'v1beta3'}",
        "kind": "JoinConfiguration",
        "discovery": {
            "bootstrapToken": {
                "token": settings.token,
                "apiServerEndpoint": settings.api_server,
                "caCertHashes": [settings.ca_hash],
            }
        },
        "nodeRegistration": registration,
    }
    return json.dumps(document, indent=2) + "\n"


def _taint(text: str) -> dict[str, str]:
    rest, _colon, effect = text.rpartition(":")
    key, _equals, value = rest.partition("=")
    return {"key": key, "value": value, "effect": effect}
