# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the variables that begin with winkube_ are ones of this collection, and of the type that they should have.

A variable that is misspelled has no effect, and nothing in Ansible says so. What exists is read from the roles and
playbooks themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.yaml import yaml_load

from ..foreign.spelling import meant
from .argument_spec import options_spec

PREFIX = "winkube_"
OWN = "winkube_own_variables"
"""The user's variable that names variables of his own with this prefix."""
RECORD = "winkube_record"
"""The fact that says what this run did to the host (record/node_record.py)."""
READING = "winkube_reading"
"""The fact that takes a reading of the node to the next task."""

SPECIFICATIONS = ("argument_specs.yml", "shared_variables.yml")
"""Files of a role's folder meta; the second is the role winkube's."""

_MOST_ABOUT = 3
"""Where more variables speak of a word than these, none of them is named."""

_ROOT = Path(__file__).resolve().parents[3]
NAME = re.compile(r"\bwinkube_[a-z0-9_]+")
_SOURCES = (
    "playbooks/**/*.yml",
    "roles/*/defaults/*.yml",
    "roles/*/tasks/*.yml",
    "plugins/plugin_utils/node_yaml/*.*",
    "plugins/connection/*.py",
)


@cache
def read_specifications() -> Mapping[str, Mapping[str, Any]]:
    """The roles' variables as they specify them."""
    found: dict[str, Mapping[str, Any]] = {}
    for path in sorted(path for name in SPECIFICATIONS for path in _ROOT.glob(f"roles/*/meta/{name}")):
        for entry in yaml_load(path.read_text(encoding="utf-8"))["argument_specs"].values():
            found |= entry.get("options") or {}
    return found


@cache
def list_names() -> frozenset[str]:
    """Every variable that a role or playbook knows."""
    texts = (path.read_text(encoding="utf-8") for pattern in _SOURCES for path in _ROOT.glob(pattern))
    return (
        frozenset(read_specifications()) | {name for text in texts for name in NAME.findall(text)} | {READING, RECORD}
    )


@cache
def read_defaults() -> Mapping[str, Any]:
    """The roles' defaults, as they are written."""
    found: dict[str, Any] = {}
    for path in sorted(_ROOT.glob("roles/*/defaults/main.yml")):
        found |= yaml_load(path.read_text(encoding="utf-8")) or {}
    return found


def find_unknown(variables: Mapping[str, Any]) -> dict[str, str]:
    """Those that nothing knows, each with a sentence."""
    own = {str(each) for each in variables.get(OWN) or ()}
    given = sorted(str(name) for name in variables if str(name).startswith(PREFIX))
    return {name: _describe_unknown(name) for name in given if name not in list_names() and name not in own}


def _describe_unknown(name: str) -> str:
    # What all begin with makes none of them more alike.
    near = meant(name.removeprefix(PREFIX), [each.removeprefix(PREFIX) for each in list_names()])
    known = list(dict.fromkeys([*_find_about(name), *([PREFIX + near] if near else [])]))
    advice = (
        f"Did you mean {' or '.join(filter(None, [', '.join(known[:-1]), known[-1]]))}?"
        if known
        else f"The roles' README files list all. If it is yours, add it to {OWN}."
    )
    return f"{name}: there is no variable of that name in winkube.node. {advice}"


def _find_about(name: str) -> list[str]:
    """The variables whose descriptions begin with a sentence that has every word of the name: the right word may stand
    there, and not in the right name."""
    words = set(name.removeprefix(PREFIX).split("_")) - {""}
    found = [each for each, specification in read_specifications().items() if words <= _words(specification)]
    return found if len(found) <= _MOST_ABOUT else []


def _words(specification: Mapping[str, Any]) -> set[str]:
    described = specification.get("description") or ""
    text = described if isinstance(described, str) else described[0]
    return set(re.findall(r"[a-z0-9]+", text.lower().partition(". ")[0]))


def find_wrong(variables: Mapping[str, Any], value_of: Callable[[str], Any]) -> dict[str, str]:
    """Those that the user has set to something of another type than their specification says, each with a sentence.
    `value_of` gives the value of one after templating, None where that is not possible."""
    found = {}
    for name, specification in read_specifications().items():
        if name not in variables or variables[name] == read_defaults().get(name):
            continue
        spec = options_spec({name: {key: each for key, each in specification.items() if key != "options"}})
        value = value_of(name)
        if value is not None and (errors := ArgumentSpecValidator(spec).validate({name: value}).error_messages):
            found[name] = f"{name}: {_describe_text(name, specification, value) or _shorten(errors[0], name)}"
    return found


_SCALARS = {"int": "a whole number", "float": "a number", "bool": "true or false"}


def _describe_text(name: str, specification: Mapping[str, Any], value: Any) -> str:
    """What to write where a text was given for something else; "" where Ansible's own sentence says it."""
    kind = str(specification.get("type"))
    if not isinstance(value, str):
        return ""
    if kind in _SCALARS:
        return f"it is '{value}', and wanted is {_SCALARS[kind]}."
    if kind != "dict":
        return ""
    keys = list(specification.get("options") or ())
    wanted = f" with {', '.join(keys)}" if keys else ""
    return (
        f"it is a text, and wanted is a dictionary{wanted}. With -e it is JSON: "
        f'-e \'{{"{name}": {{"{keys[0] if keys else "key"}": "..."}}}}\'.'
    )


def _shorten(error: str, name: str) -> str:
    """Ansible's own sentence, without the name a second time."""
    return error.replace(f"argument '{name}' is", "it is").replace(f"value of {name} must", "it must")
