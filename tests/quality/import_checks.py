"""Who may import whom, read from the syntax trees."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

UTILS = PurePosixPath("plugins/plugin_utils")
# Layer -> the other layers, or modules of them, that it may import. Each may import Python's own library, itself and
# PACKAGES, nothing else.
LAYERS: Mapping[str, tuple[str, ...]] = {
    "foreign": (),
    "engine": (),
    "facts": (),
    "pages": (),
    "cluster": ("engine.address", "engine.local_path", "engine.time_limit", "foreign"),
    "cri": ("cluster", "engine.local_path", "facts", "pages"),
    "components": ("cluster", "engine", "facts", "foreign"),
    "calico": ("cluster", "engine", "facts"),
    "provision": ("cluster", "components", "engine", "facts", "node", "transfer"),
    "workloads": ("facts",),
    "scheduling": ("cluster", "components", "engine", "facts", "lint"),
    "workload_tests": ("cluster", "components", "cri", "engine", "facts", "scheduling"),
    "cri_tcp": ("components", "cri", "engine", "facts"),
    "messages": ("facts", "foreign"),
    "network": ("cluster", "components", "engine", "facts", "foreign"),
    "diagnosis": (
        *("cluster", "components", "cri", "cri_tcp", "engine", "facts", "lint", "messages", "network", "pages"),
        *("calico", "foreign", "repair"),
    ),
    "bundle": ("components", "diagnosis", "engine", "facts", "foreign", "node"),
    "repair": ("cluster", "components", "engine", "facts", "network", "provision"),
}
# Layer -> packages from outside that it may import. ansible-core brings yaml and cryptography with it.
PACKAGES: Mapping[str, tuple[str, ...]] = {
    "foreign": ("yaml",),
    "components": ("yaml",),
    "cluster": ("cryptography", "kubernetes", "urllib3", "websocket", "yaml"),
    "cri": ("grpc", "google"),
    "pages": ("jinja2", "markupsafe"),
    "workload_tests": ("yaml",),
    "cri_tcp": ("cryptography", "tomlkit"),
    "diagnosis": ("cryptography", "yaml"),
}


@dataclass(frozen=True)
class Import:
    """One import: `target` is a dotted name, relative ones already made absolute from the repository's root."""

    line: int
    target: str
    relative: bool


@functools.cache
def imports_of(name: str, source: str) -> tuple[Import, ...]:
    """Every import in a file, wherever it stands, also by import_module with a plain text."""
    package = PurePosixPath(name).parent.parts
    found = []
    for node in ast.walk(ast.parse(source, filename=name)):
        if isinstance(node, ast.Import):
            found += [Import(node.lineno, alias.name, False) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found += [Import(node.lineno, f"{node.module}.{alias.name}", False) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])
            found += [Import(node.lineno, f"{base}.{alias.name}", True) for alias in node.names]
        elif isinstance(node, ast.Call) and _called(node) in {"import_module", "__import__"} and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                found.append(Import(node.lineno, first.value, False))
    return tuple(found)


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def lab_reaches_plugins(root: Path, names: Iterable[str]) -> list[str]:
    """Files of tests/lab that import from the collection, or name its plugin_utils: plan and judge must not copy."""
    found = []
    for name in names:
        if not (name.startswith("tests/lab/") and name.endswith(".py")):
            continue
        source = (root / name).read_text(encoding="utf-8")
        for item in imports_of(name, source):
            if item.target.split(".")[0] in {"plugins", "ansible_collections"}:
                found.append(f"{name}:{item.line}: imports {item.target}; the lab imports nothing of the collection")
        for number, line in enumerate(source.splitlines(), 1):
            if "plugin_utils" in line:
                found.append(f"{name}:{number}: names plugin_utils; the lab shares nothing with the collection's code")
    return found


def layers_crossed(root: Path, names: Iterable[str]) -> list[str]:
    """Files of a layer (LAYERS) that import what it may not: the engine neither Ansible nor Kubernetes, no cycles."""
    found = []
    for name in names:
        path = PurePosixPath(name)
        if path.suffix != ".py" or not path.is_relative_to(UTILS) or len(path.relative_to(UTILS).parts) < 2:
            continue
        layer = path.relative_to(UTILS).parts[0]
        if layer not in LAYERS:
            continue
        for item in imports_of(name, (root / name).read_text(encoding="utf-8")):
            if not _allowed(item, layer):
                also = "".join(f", {other}" for other in (*LAYERS[layer], *PACKAGES.get(layer, ())))
                found.append(
                    f"{name}:{item.line}: imports {item.target}; {layer} may import Python's own library, itself{also}"
                )
    return found


def _allowed(item: Import, layer: str) -> bool:
    if not item.relative:
        return item.target.split(".")[0] in {*sys.stdlib_module_names, *PACKAGES.get(layer, ())}
    homes = [".".join((*UTILS.parts, name)) for name in (layer, *LAYERS[layer])]
    return any(f"{item.target}.".startswith(f"{home}.") for home in homes)
