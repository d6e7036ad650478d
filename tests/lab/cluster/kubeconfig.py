"""Kubeconfig files: writing them, and reading the little that clients need."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

from tests.lab.cluster.pki import Pair


class BadKubeconfigError(Exception):
    """A file that is no kubeconfig, or lacks something; the sentence says what."""


@dataclass(frozen=True)
class Access:
    """A kubeconfig's current context. ca: PEM (empty: none given); credentials may be missing."""

    server: str
    ca: bytes = b""
    token: str = ""
    pair: Pair | None = None


def write(server: str, ca: bytes, *, user: str = "", token: str = "", pair: Pair | None = None) -> str:
    """A kubeconfig with embedded data; with neither token nor pair it has no user, as that of cluster-info."""
    cluster = {"certificate-authority-data": base64.b64encode(ca).decode(), "server": server}
    document: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "preferences": {}}
    if not token and pair is None:
        document |= {"clusters": [{"name": "", "cluster": cluster}], "contexts": [], "current-context": "", "users": []}
        return yaml.safe_dump(document, sort_keys=False)
    credentials: dict[str, str] = {}
    if token:
        credentials["token"] = token
    if pair is not None:
        credentials["client-certificate-data"] = base64.b64encode(pair.certificate).decode()
        credentials["client-key-data"] = base64.b64encode(pair.key).decode()
    name = f"{user}@kubernetes"
    document |= {
        "clusters": [{"name": "kubernetes", "cluster": cluster}],
        "contexts": [{"name": name, "context": {"cluster": "kubernetes", "user": user}}],
        "current-context": name,
        "users": [{"name": user, "user": credentials}],
    }
    return yaml.safe_dump(document, sort_keys=False)


def write_by_files(server: str, ca: bytes, user: str, pair_path: str) -> str:
    """As a kubelet writes it: certificate and key in one file beside it."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "default-cluster",
                "cluster": {"certificate-authority-data": base64.b64encode(ca).decode(), "server": server},
            }
        ],
        "contexts": [
            {
                "name": "default-context",
                "context": {"cluster": "default-cluster", "namespace": "default", "user": user},
            }
        ],
        "current-context": "default-context",
        "users": [{"name": user, "user": {"client-certificate": pair_path, "client-key": pair_path}}],
    }
    return yaml.safe_dump(document, sort_keys=False)


def _named(document: dict[str, Any], list_name: str, item: str, name: str) -> dict[str, Any]:
    for entry in document.get(list_name) or []:
        if isinstance(entry, dict) and entry.get("name") == name:
            found = entry.get(item)
            return found if isinstance(found, dict) else {}
    raise BadKubeconfigError(f'{item} "{name}" does not exist')


def read(text: str, load: Callable[[str], bytes]) -> Access:
    """The current context; `load` reads a file that the kubeconfig names. BadKubeconfigError.

    A file with one cluster and no context (cluster-info's) gives that cluster.
    """
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadKubeconfigError(f"yaml: {' '.join(str(error).split())}") from error
    if not isinstance(document, dict):
        raise BadKubeconfigError("invalid configuration: no configuration has been provided")
    current = document.get("current-context") or ""
    if not current and len(document.get("clusters") or []) == 1:
        return _access((document["clusters"][0] or {}).get("cluster") or {}, {}, load)
    if not current:
        raise BadKubeconfigError("invalid configuration: no configuration has been provided")
    context = _named(document, "contexts", "context", current)
    cluster = _named(document, "clusters", "cluster", str(context.get("cluster")))
    user = _named(document, "users", "user", str(context.get("user"))) if context.get("user") else {}
    return _access(cluster, user, load)


def _access(cluster: dict[str, Any], user: dict[str, Any], load: Callable[[str], bytes]) -> Access:
    ca = _data(cluster, "certificate-authority", load)
    certificate, key = _data(user, "client-certificate", load), _data(user, "client-key", load)
    token = str(user.get("token") or "")
    if not token and user.get("tokenFile"):
        token = load(str(user["tokenFile"])).decode().strip()
    pair = Pair(certificate, key) if certificate and key else None
    return Access(str(cluster.get("server") or "").rstrip("/"), ca, token, pair)


def _data(table: dict[str, Any], name: str, load: Callable[[str], bytes]) -> bytes:
    data = table.get(f"{name}-data")
    if data:
        try:
            return base64.b64decode(str(data), validate=True)
        except (binascii.Error, ValueError) as error:
            raise BadKubeconfigError(f"illegal base64 data in {name}-data") from error
    return load(str(table[name])) if table.get(name) else b""
