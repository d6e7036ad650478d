# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The credentials of flanneld and kube-proxy on one node: the user's files, or ServiceAccounts made in the cluster."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...cluster.client import Clock, Cluster, wait_for
from ...cluster.documents import kubeconfig as read_kubeconfig
from ...cluster.endpoint import endpoint
from ...cluster.objects import make, missing
from ...engine.resource import Refused
from ..layout import Layout
from . import accounts, kubeconfig

TOKEN_S = 30
"""How long the controller manager may take to fill in a ServiceAccount's token, in seconds."""
LATER = "(known when the ServiceAccount is made)"


@dataclass(frozen=True, slots=True)
class Identity:
    """A kubeconfig for `program`, at `path` on the node, read by `service`."""

    program: str
    path: str
    service: str
    text: str = field(repr=False)


def identities(
    cluster: Cluster | None, options: Mapping[str, Any], layout: Layout, *, check: bool, clock: Clock
) -> tuple[list[str], tuple[Identity, ...]]:
    """(steps taken in the cluster, kubeconfigs for the node). Without a cluster, only the user's own files.

    `options` are the module's: `flanneld` and `kube_proxy`, each `{kubeconfig: bool, kubeconfig_source: path or ""}`,
    `api_server`, `allow_cluster_admin`. With `check` nothing is made.
    """
    steps: list[str] = []
    found: list[Identity] = []
    programs = (
        ("flanneld", accounts.FLANNELD, layout.flanneld_kubeconfig, layout.flanneld_service),
        ("kube_proxy", accounts.KUBE_PROXY, layout.kube_proxy_kubeconfig, layout.kube_proxy_service),
    )
    for option, account, path, service in programs:
        wanted = options[option]
        if not wanted["kubeconfig"]:
            continue
        text: str | None = None
        if wanted["kubeconfig_source"]:
            text = users_kubeconfig(
                wanted["kubeconfig_source"],
                f"{option}.kubeconfig_source",
                allow_admin=options["allow_cluster_admin"],
            )
        elif cluster is not None:
            made, text = _of_account(cluster, account, str(options["api_server"]), check=check, clock=clock)
            steps += made
        if text is not None:
            found.append(Identity(option.replace("_", "-"), path, service, text))
    return steps, tuple(found)


def users_kubeconfig(path: str, option: str, *, allow_admin: bool) -> str:
    """A kubeconfig on the controller that shall go to a node. Refused if it must not, or is none."""
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{option}: {path} on the controller cannot be read: {error}.") from error
    if problems := kubeconfig.problems(read_kubeconfig(text, path), path, allow_admin=allow_admin):
        raise Refused(*problems)
    return text


def _of_account(cluster: Cluster, account: str, api_server: str, *, check: bool, clock: Clock) -> tuple[list[str], str]:
    absent = missing(cluster, accounts.objects(account))
    steps = [f"make in the cluster: {', '.join(item.label for item in absent)}"] if absent else []
    if check and absent:
        return steps, LATER
    make(cluster, absent)

    def token() -> str | None:
        data = (cluster.get(accounts.token_path(account)) or {}).get("data") or {}
        return base64.b64decode(str(data.get("token") or "")).decode() or None

    sentence = (
        f"the cluster gave the ServiceAccount {account} no token within {TOKEN_S} s: kube-controller-manager fills it "
        f"into the Secret {account}-token in {accounts.NAMESPACE}."
    )
    found = wait_for(clock, TOKEN_S, token, sentence)
    where = endpoint(cluster, api_server)
    return steps, kubeconfig.with_token(where.server, where.ca_pem, account, found)
