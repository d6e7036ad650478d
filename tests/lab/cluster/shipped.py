"""The rights that the project ships, as a cluster's administrator would give them: the files of examples/rbac, and the
accounts of examples/in-cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.store import Store

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
USER = "shipped"
"""How the users begin whose rights are the files'."""
ACCOUNTS = "system:serviceaccount:winkube:"
"""How the names of the accounts of examples/in-cluster begin."""
OF_ACCOUNTS = (
    "in-cluster/namespaces",
    "in-cluster/rights",
    "in-cluster/join/rights",
    "in-cluster/serving-certificates/rights",
)
BEFORE = {"site": ("accounts",)}
"""What an administrator applies before a file."""


def documents(name: str) -> list[dict[str, Any]]:
    """Of a file of examples/rbac, or of examples where the name has a folder."""
    path = EXAMPLES / f"{name if '/' in name else f'rbac/{name}'}.yml"
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def grant(store: Store, *names: str) -> tuple[str, ...]:
    """Make what the files have, unless it is there; the groups that their bindings name."""
    groups: dict[str, None] = {}
    for name in (each for named in names for each in (*BEFORE.get(named, ()), named)):
        for document in documents(name):
            kind, namespace = BY_NAME[document["kind"]], str(document["metadata"].get("namespace") or "")
            if kind.namespaced and store.find(BY_NAME["Namespace"], "", namespace) is None:
                store.create(BY_NAME["Namespace"], "", {"metadata": {"name": namespace}})
            if store.find(kind, namespace, str(document["metadata"]["name"])) is None:
                store.create(kind, namespace, document)
            subjects = document.get("subjects") or ()
            groups |= dict.fromkeys(str(one["name"]) for one in subjects if one["kind"] == "Group")
    return tuple(groups)
