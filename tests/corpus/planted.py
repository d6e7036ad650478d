"""The planted mistakes of planted.yml, as whole manifests."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).with_name("planted.yml")
BASE: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "os": {"name": "windows"},
                "nodeSelector": {"kubernetes.io/os": "windows"},
                "containers": [
                    {
                        "name": "web",
                        "image": "mcr.microsoft.com/windows/nanoserver:ltsc2022",
                        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
                    }
                ],
            },
        },
    },
}


@dataclass(frozen=True, slots=True)
class Planted:
    """One mistake, the rule that has to find it, the objects that hold it, and what is known of the cluster."""

    mistake: str
    rule: str
    objects: tuple[dict[str, Any], ...]
    settings: dict[str, Any]

    @property
    def pod(self) -> dict[str, Any] | None:
        """The pod of the Deployment alone, as the API server would be given it; None for other kinds."""
        first = self.objects[0]
        if first["kind"] != "Deployment":
            return None
        return {"apiVersion": "v1", "kind": "Pod", **copy.deepcopy(first["spec"]["template"])}


def mistakes() -> Iterator[Planted]:
    for entry in yaml.safe_load(FILE.read_text(encoding="utf-8")):
        first = entry["text"] if "text" in entry else changed(entry)
        yield Planted(entry["mistake"], entry["rule"], (first, *entry.get("more", ())), entry.get("settings", {}))


def changed(entry: dict[str, Any]) -> dict[str, Any]:
    thing = copy.deepcopy(BASE)
    template = thing["spec"]["template"]
    _lay(template["spec"], entry.get("spec", {}))
    _lay(template["spec"]["containers"][0], entry.get("container", {}))
    _lay(template["metadata"], entry.get("metadata", {}))
    if "replicas" in entry:
        thing["spec"]["replicas"] = entry["replicas"]
    return thing


def _lay(base: dict[str, Any], patch: dict[str, Any]) -> None:
    """Mappings by key, the rest replaced; null takes away."""
    for key, value in patch.items():
        if value is None:
            base.pop(key, None)
        elif isinstance(value, dict) and isinstance(base.get(key), dict) and key != "nodeSelector":
            _lay(base[key], value)
        else:
            base[key] = copy.deepcopy(value)
