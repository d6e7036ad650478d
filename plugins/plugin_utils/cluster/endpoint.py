# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How nodes reach the API: the address and the CA that the cluster publishes, and the token for a join."""

from __future__ import annotations

import secrets
import string
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from ..engine.address import mask
from ..engine.clock import as_timestamp
from ..engine.secret import Secret
from .answer import Object
from .client import Cluster
from .documents import Kubeconfig, kubeconfig
from .error import ClusterError
from .reading import is_reachable_by_others, with_scheme


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`server` is an address with its scheme."""

    server: str
    ca_pem: bytes


def endpoint(cluster: Cluster, api_server: str = "") -> Endpoint:
    """The address for nodes: `api_server` if the user gives one, else cluster-info's, else the kubeconfig's.
    ClusterError where none is one that another machine reaches.

    Source: kubernetes cmd/kubeadm/app/phases/bootstraptoken/clusterinfo/clusterinfo.go.
    """
    info = _published(cluster)
    known = (with_scheme(api_server),) if api_server else (info.server if info else "", cluster.server)
    server = next(filter(is_reachable_by_others, filter(None, known)), "")
    if not server:
        raise ClusterError(refuse_own_address(mask(known[0] or known[-1]), given=bool(api_server)))
    if urlsplit(server).scheme not in {"http", "https"} or not urlsplit(server).netloc:
        raise ClusterError(f"api_server: '{mask(server)}' is not an address such as https://10.0.0.10:6443.")
    return Endpoint(server.rstrip("/"), api_ca(cluster))


def api_ca(cluster: Cluster) -> bytes:
    """The CA of the API server's certificate: cluster-info's, else the kubeconfig's. ClusterError."""
    info = _published(cluster)
    return (info.ca_pem if info else b"") or cluster.ca_pem


def _published(cluster: Cluster) -> Kubeconfig | None:
    published = cluster.config_map("kube-public", "cluster-info")
    text = published.data.get("kubeconfig", "") if published else ""
    return kubeconfig(text, "ConfigMap kube-public/cluster-info") if text else None


def refuse_own_address(server: str, *, given: bool) -> str:
    """The sentence about an API server's address that means each machine itself."""
    if given:
        return (
            f"winkube_api_server: {server} is the node's own address there (loopback or link-local): give the one of "
            "the API servers, or of their load balancer."
        )
    return (
        f"The cluster says {server} of itself, which is the node's own address there (loopback or link-local): set "
        "winkube_api_server to an address at which nodes reach the API."
    )


# Bootstrap tokens as `kubeadm token create` makes them, which live no longer than their one use.

LIFETIME = timedelta(minutes=15)
"""How long a token that is not deleted can be used; then the controller manager's token cleaner removes it."""

SECRETS = "/api/v1/namespaces/kube-system/secrets"
_LETTERS = string.ascii_lowercase + string.digits


def make_token() -> Secret[str]:
    """A random token, `<6>.<16>` of a-z and 0-9.

    Source: kubernetes staging/src/k8s.io/cluster-bootstrap/token/api/types.go, BootstrapTokenPattern.
    """
    return Secret(".".join("".join(secrets.choice(_LETTERS) for _place in range(length)) for length in (6, 16)))


def token_secret(token: Secret[str], purpose: str, now: datetime) -> Object:
    """The Secret of the bootstrap token `token`; `purpose`: what it is for, such as `join of win1`.

    Source: kubernetes cmd/kubeadm/app/apis/bootstraptoken/v1/utils.go (fields), defaults.go (usages, group).
    """
    identity, _dot, password = token.reveal().partition(".")
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"bootstrap-token-{identity}", "namespace": "kube-system"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "token-id": identity,
            "token-secret": password,
            "description": f"winkube.node: {purpose}",
            "expiration": as_timestamp(now + LIFETIME),
            "usage-bootstrap-signing": "true",
            "usage-bootstrap-authentication": "true",
            "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
        },
    }


@contextmanager
def bootstrap_token(cluster: Cluster, purpose: str) -> Iterator[Secret[str]]:
    """A token for a `purpose`, such as `join of win1`; deleted from the cluster afterwards, even after a failure. It
    ends by the later of two clocks, the API server's and this controller's: by one that is behind it would be over when
    it is made."""
    token = make_token()
    made = token_secret(token, purpose, max(cluster.now(), datetime.now(UTC)))
    cluster.create(SECRETS, made, unique=True)  # by its random name
    try:
        yield token
    finally:
        cluster.delete(f"{SECRETS}/{made['metadata']['name']}")
