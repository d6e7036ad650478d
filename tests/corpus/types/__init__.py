"""The planted types of planted.yml as whole manifests, and what a real kube-apiserver said of each.

verdicts/<minor>.json is written by `python -m tests.real.decoder` (lane real), which sends the texts as they are.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import read_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile

HERE = Path(__file__).resolve().parent
PLANTED = HERE / "planted.yml"
VERDICTS = HERE / "verdicts"
NEWEST = "1.37"

_CONTAINER = {
    "name": "name: web",
    "image": "image: mcr.microsoft.com/windows/nanoserver:ltsc2022",
}
_POD = {
    "nodeSelector": "nodeSelector: {kubernetes.io/os: windows}",
    "containers": "containers:\n- CONTAINER",
}
_TEMPLATE = {
    "metadata": "metadata: {labels: {app: web}}",
    "spec": "spec:\n  POD",
}
_JOB = {"template": "template:\n  TEMPLATE"}
_SELECTOR = {"selector": "selector: {matchLabels: {app: web}}"}
_MORE_OF_SPEC: Mapping[str, dict[str, str]] = {
    "Deployment": _SELECTOR,
    "DaemonSet": _SELECTOR,
    "StatefulSet": {**_SELECTOR, "serviceName": "serviceName: web"},
    "Job": {},
}
_API = {"Pod": "v1", "Service": "v1", "Job": "batch/v1", "CronJob": "batch/v1"}


@dataclass(frozen=True, slots=True)
class Planted:
    """`text` is the manifest; a control has nothing that the API server refuses or does not know."""

    name: str
    text: str
    control: bool


def planted() -> Iterator[Planted]:
    for entry in yaml.safe_load(PLANTED.read_text(encoding="utf-8")):
        yield Planted(entry.get("mistake") or entry["control"], manifest(entry), "control" in entry)


def manifest(entry: Mapping[str, Any]) -> str:
    """The text of an entry: its fields take the place of those of the same name."""
    kind = entry["kind"]
    container = _laid(_CONTAINER, entry.get("container"))
    pod_fields = dict(_POD)
    if kind in {"Job", "CronJob"}:
        pod_fields["restartPolicy"] = "restartPolicy: Never"
    pod = _laid(pod_fields, entry.get("pod")).replace("- CONTAINER", _item(container))
    template = _laid(_TEMPLATE, entry.get("template")).replace("  POD", textwrap.indent(pod, "  "))
    below = textwrap.indent(template, "  ")
    if kind == "Pod":
        spec = _laid(_POD, entry.get("pod")).replace("- CONTAINER", _item(container))
    elif kind == "Service":
        spec = _laid({"selector": "selector: {app: web}", "ports": "ports: [{port: 80}]"}, entry.get("spec"))
    elif kind == "CronJob":
        job = textwrap.indent(_JOB["template"].replace("  TEMPLATE", below), "    ")
        fields = {"schedule": 'schedule: "0 3 * * *"', "jobTemplate": f"jobTemplate:\n  spec:\n{job}"}
        spec = _laid(fields, entry.get("spec"))
    else:
        fields = {**_MORE_OF_SPEC[kind], "template": _JOB["template"].replace("  TEMPLATE", below)}
        spec = _laid(fields, entry.get("spec"))
    root = {
        "apiVersion": f"apiVersion: {_API.get(kind, 'apps/v1')}",
        "kind": f"kind: {kind}",
        "metadata": "metadata: {name: web}",
        "spec": f"spec:\n{textwrap.indent(spec, '  ')}",
    }
    return _laid(root, entry.get("object")) + "\n"


def _item(block: str) -> str:
    return "- " + textwrap.indent(block, "  ").lstrip()


def _laid(base: Mapping[str, str], patch: str | None) -> str:
    if not patch:
        return "\n".join(base.values())
    given = set(re.findall(r"^(\w+):", patch, re.MULTILINE))
    return "\n".join([*(text for key, text in base.items() if key not in given), patch])


def verdicts(minor: str) -> dict[str, dict[str, Any]]:
    """By name: `says` is the API server's sentence where it refuses (`decoded`: whether it could read the object at
    all), `warns` are its warnings of unknown fields."""
    found: dict[str, dict[str, Any]] = json.loads((VERDICTS / f"{minor}.json").read_text(encoding="utf-8"))["verdicts"]
    return found


# What a Service of the planted ones is for: without a Windows pod nothing is said of it.
_ITS_POD = """\
---
apiVersion: v1
kind: Pod
metadata: {name: behind, labels: {app: web}}
spec:
  nodeSelector: {kubernetes.io/os: windows}
  containers: [{name: web, image: registry.example.com/web:1}]
"""


def told(each: Planted) -> str:
    """What the linter says of its fields and their values: error, warning, or nothing."""
    text = each.text + (_ITS_POD if "\nkind: Service\n" in each.text else "")
    found = [one for one in lint(read_documents("a.yml", text), Profile()).findings if one.rule in _RULES]
    return max(found, key=lambda one: one.severity).severity.name.lower() if found else ""


_RULES = ("undecodable-value", "unknown-field", "other-security-context")


def figures() -> dict[str, int]:
    """`found`: mistakes told as bad as kube-apiserver takes them, of those `planted`; `false`: controls with a word."""
    said, counted = verdicts(NEWEST), Counter[str]()
    for each in planted():
        bad = "error" if not said[each.name]["decoded"] else "warning"
        counted["controls" if each.control else "planted"] += 1
        counted["false" if each.control else "found"] += bool(told(each)) if each.control else told(each) == bad
    return {name: counted[name] for name in ("planted", "found", "controls", "false")}
