"""The kinds that CustomResourceDefinitions add, as the lab's API server knows them: names and types out of upstream's
own files, written to tests/lab/cluster/custom.json.

    python -m tests.real.custom_kinds
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import ROOT

MODULE = "github.com/projectcalico/calico@v1.11.0-cni-plugin.0.20250813170300-a0db560f0520"
"""Of 2025-08-13, between Calico 3.30 and 3.31: the newest that the Go module proxy has."""
FILES = ("manifests/operator-crds.yaml", "libcalico-go/config/crd")
WANTED = ("Installation", "APIServer", "TigeraStatus", "IPAMConfig", "IPPool", "FelixConfiguration")
TARGET = ROOT / "tests" / "lab" / "cluster" / "custom.json"
KEPT = ("type", "enum", "required", "pattern", "x-kubernetes-preserve-unknown-fields")
DEEPEST = 4
"""Levels below spec; deeper is what pods are made of."""


def module() -> Path:
    """The module's folder, fetched by Go's own client."""
    line = ["go", "mod", "download", "-json", MODULE]
    return Path(json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)["Dir"])


def definitions(folder: Path) -> Iterator[dict[str, Any]]:
    """The CustomResourceDefinitions of the wanted kinds, each once."""
    seen = set()
    for name in FILES:
        path = folder / name
        for file in sorted(path.glob("*.yaml")) if path.is_dir() else (path,):
            for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
                if document and document.get("kind") == "CustomResourceDefinition":
                    kind = document["spec"]["names"]["kind"]
                    if kind in WANTED and kind not in seen:
                        seen.add(kind)
                        yield document


def entry(document: dict[str, Any]) -> dict[str, Any]:
    spec = document["spec"]
    version = next(each for each in spec["versions"] if each.get("served"))
    properties = version["schema"]["openAPIV3Schema"]["properties"]
    return {
        "group": spec["group"],
        "version": version["name"],
        "plural": spec["names"]["plural"],
        "kind": spec["names"]["kind"],
        "namespaced": spec["scope"] == "Namespaced",
        "spec": facts(properties.get("spec") or {}, DEEPEST),
    }


def facts(schema: dict[str, Any], levels: int) -> dict[str, Any]:
    """Names and types alone."""
    found = {key: schema[key] for key in KEPT if key in schema}
    if levels == 0:
        return {"any": True}
    if "properties" in schema:
        found["properties"] = {name: facts(each, levels - 1) for name, each in schema["properties"].items()}
    if isinstance(schema.get("items"), dict):
        found["items"] = facts(schema["items"], levels - 1)
    return found


def main() -> None:
    kinds = [entry(each) for each in definitions(module())]
    TARGET.write_text(
        json.dumps({"source": MODULE, "kinds": kinds}, indent=None, sort_keys=True) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
