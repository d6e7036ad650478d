"""What the API says about itself, and the look of a service account's token."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from tests.lab.cluster import custom
from tests.lab.cluster.kinds import ALL, SUBRESOURCES

ACCOUNT_ANNOTATION = "kubernetes.io/service-account.name"


def document(path: str, version: str) -> dict[str, Any] | None:
    """`/version`, `/api`, `/apis` and the lists of a group's resources; None for other paths."""
    major, minor = version.split(".")[:2]
    if path == "/version":
        return {
            "major": major,
            "minor": minor,
            "gitVersion": f"v{version}",
            "gitCommit": hashlib.sha1(f"simulated kubernetes {version}".encode()).hexdigest(),
            "gitTreeState": "clean",
            "buildDate": "2026-11-01T00:00:00Z",
            "goVersion": "simulated",
            "compiler": "gc",
            "platform": "linux/amd64",
        }
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    groups = sorted({kind.group for kind in ALL if kind.group})
    if path == "/apis":
        found = [
            {
                "name": group,
                "versions": [{"groupVersion": f"{group}/v1", "version": "v1"}],
                "preferredVersion": {"groupVersion": f"{group}/v1", "version": "v1"},
            }
            for group in groups
        ]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}
    for group in ("", *groups):
        if path == (f"/apis/{group}/v1" if group else "/api/v1"):
            return _resources(group)
    return None


def _resources(group: str) -> dict[str, Any]:
    verbs = ["create", "delete", "get", "list", "patch", "update"]
    found: list[dict[str, Any]] = []
    for kind in (kind for kind in ALL if kind.group == group):
        entry = {"singularName": kind.name.lower(), "namespaced": kind.namespaced, "kind": kind.name}
        found.append({"name": kind.plural, "verbs": verbs, **entry})
        found += [
            {"name": f"{kind.plural}/{sub}", "verbs": ["get", "patch", "update"], **entry}
            for sub in sorted(SUBRESOURCES.get(kind.plural, ()))
        ]
    version = f"{group}/v1" if group else "v1"
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": found}


def custom_group(path: str, served: set[str]) -> dict[str, Any] | None:
    """The list of a custom group's resources, where its definitions are installed."""
    _slash, _apis, group, version = (*path.split("/"), "", "", "")[:4]
    found = [kind for kind in custom.ALL if (kind.group, kind.version) == (group, version) and group in served]
    resources = [{"name": kind.plural, "namespaced": kind.namespaced, "kind": kind.name} for kind in found]
    entry = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/{version}"}
    return {**entry, "resources": resources} if found else None


def account_token(namespace: str, account: str, uid: str) -> str:
    """Three base64url parts as a real one; the signature is none, since the server compares whole tokens."""
    claims = {
        "iss": "kubernetes/serviceaccount",
        "kubernetes.io/serviceaccount/namespace": namespace,
        "kubernetes.io/serviceaccount/service-account.name": account,
        "sub": f"system:serviceaccount:{namespace}:{account}",
    }
    seed = hashlib.sha256(f"simulated {uid}".encode()).digest()
    parts = (json.dumps({"alg": "RS256", "kid": "simulated"}).encode(), json.dumps(claims).encode(), seed * 4)
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
