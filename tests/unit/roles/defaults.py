"""What a node is like where nobody says otherwise, as one snapshot: `python -m tests.unit.roles.defaults` writes it.

`variables`: each variable of the roles, for a host WIN1. `options`: each option of their modules and of the repair that
has a default. Who changes one looks at the difference.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from tests.conftest import ROOT, import_as_collection
from tests.yaml_text import dump

if __name__ == "__main__":
    import_as_collection()

from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import COMPONENTS
from ansible_collections.winkube.node.plugins.plugin_utils.task.argument_spec import plain, read_options

FILE = Path(__file__).with_name("defaults.yml")
OPTIONAL = [each.role for each in COMPONENTS if each.optional]
MODULES = (*(each.module for each in COMPONENTS), "win_k8s_repair")
ROLES = ("winkube", *(each.role for each in COMPONENTS))
HEAD = """\
---
# yamllint disable rule:line-length
# Written by `python -m tests.unit.roles.defaults`, reviewed as a change.
"""


@cache
def specs() -> dict[str, Any]:
    """What the specifications of these roles say of their variables."""
    found: dict[str, Any] = {}
    for role in ROLES:
        file = "shared_variables.yml" if role == "winkube" else "argument_specs.yml"
        text = (ROOT / "roles" / role / "meta" / file).read_text(encoding="utf-8")
        for entry in yaml.safe_load(text)["argument_specs"].values():
            found |= entry.get("options") or {}
    return found


@cache
def defaults() -> dict[str, Any]:
    """The variables of these roles, for a host WIN1."""
    found: dict[str, Any] = {"inventory_hostname": "WIN1"}
    for role in ROLES:
        found |= yaml.safe_load((ROOT / "roles" / role / "defaults" / "main.yml").read_text(encoding="utf-8"))
    return {name: trusted(each) for name, each in found.items()}


def trusted(found: Any) -> Any:
    """With every text in it as one that may be a template."""
    if isinstance(found, dict):
        return {name: trusted(each) for name, each in found.items()}
    if isinstance(found, list):
        return [trusted(each) for each in found]
    return trust_as_template(found) if isinstance(found, str) else found


def value(name: str, **given: Any) -> Any:
    """A variable's value where only these are set."""
    return filled(defaults()[name], **given)


def filled(found: Any, **given: Any) -> Any:
    """A default where only these variables are set."""
    return Templar(DataLoader(), variables=defaults() | given).template(trusted(found))


def option(module: str, path: str) -> dict[str, Any]:
    """What a module's documentation says of `option` or `option.suboption`."""
    found: dict[str, Any] = {"suboptions": read_options(module)}
    for name in path.split("."):
        found = found["suboptions"][name]
    return found


def take() -> dict[str, Any]:
    """The snapshot."""
    variables = {name: _shown(name) for name in sorted(defaults()) if name != "inventory_hostname"}
    return {"variables": variables, "options": {module: _options(module) for module in MODULES}}


def _shown(name: str) -> Any:
    try:
        return plain(value(name))
    except AnsibleError:
        return f"needs more: {defaults()[name]}"


def _options(module: str) -> dict[str, Any]:
    return {name: option["default"] for name, option in read_options(module).items() if "default" in option}


def main() -> int:
    FILE.write_text(HEAD + dump(take(), sort_keys=False, width=120), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
