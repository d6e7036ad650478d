"""The JSON Schema of .workload-lint.yml, from the options of the module that are keys of it as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.lint.config import KEYS
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook import IDS

from . import role_files

Schema = dict[str, Any]
ADDRESS = "https://github.com/winkube/winkube.node/raw/main/docs/workload-lint.schema.json"
_RULE = {"enum": list(IDS)}
_PLAIN = {"str": "string", "path": "string", "bool": "boolean", "dict": "object"}
# What the file allows besides, or more narrowly, than an option of Ansible.
_OWN: Mapping[str, Schema] = {
    "paths": {"type": "array", "items": {"type": "string"}},
    "disable": {"type": "array", "items": _RULE},
    "severity": {
        "type": "object",
        "propertyNames": _RULE,
        "additionalProperties": {"enum": ["error", "warning", "info"]},
    },
    "builds": {"type": "array", "items": {"type": ["string", "integer"]}},
    "profile": {"type": "string", "pattern": r"^v?1\.\d+(\.\d+)?$"},
}


def lint_schema(options: Mapping[str, Any]) -> Schema:
    about = "What workload-lint has to know of a cluster, what it lints, and which findings are accepted."
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": ADDRESS, "title": ".workload-lint.yml"}
    properties = {name: _told(options[name]) | (_OWN.get(name) or _of(options[name])) for name in KEYS}
    entry = properties["ignore"]["items"]
    entry["properties"]["rule"] = {"anyOf": [_RULE, {"type": "array", "items": _RULE}]}
    return {**head, "description": about, "type": "object", "additionalProperties": False, "properties": properties}


def _told(option: Mapping[str, Any]) -> Schema:
    return {"description": role_files.markdown(role_files.joined(option["description"]))}


def _of(option: Mapping[str, Any]) -> Schema:
    kind = option["type"]
    if kind == "list":
        return {"type": "array", "items": _of({**option, "type": option["elements"]})}
    if "suboptions" in option:
        parts = option["suboptions"]
        required = [name for name, part in parts.items() if part.get("required")]
        properties = {name: _told(part) | _of(part) for name, part in parts.items()}
        return {"type": "object", "required": required, "additionalProperties": False, "properties": properties}
    return {"enum": list(option["choices"])} if "choices" in option else {"type": _PLAIN[kind]}
