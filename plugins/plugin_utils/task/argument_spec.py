# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module's argument_spec, made from its own documentation, so that the two cannot differ; and options as
plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.yaml import yaml_load
from ansible.module_utils.errors import UnsupportedError

from ..components import options as tables

_COLLECTION = "winkube.node."
_COPIED = ("type", "elements", "required", "default", "choices", "aliases")


@cache
def load_spec(name: str) -> dict[str, Any]:
    """The argument_spec of the module `name` of this collection, with the options of this collection's fragments.

    In the documentation an option whose value is secret says so in a line of its description that starts with "Secret."
    The same object is returned each time: no one changes it.
    """
    return options_spec(read_options(name))


def check_arguments(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the module `name` with these arguments and its defaults, as plain values. AnsibleActionFail, as of
    the module's own task, for arguments that do not fit."""
    spec = load_spec(name)
    found = ArgumentSpecValidator(spec).validate(dict(arguments))
    if found.error_messages:
        # An unsupported option is a bare name; ActionBase.validate_argument_spec begins the sentence like this, too.
        is_unsupported = isinstance(found.errors[0], UnsupportedError)
        start = f"Unsupported parameters for ({_COLLECTION}{name}) module: " if is_unsupported else ""
        raise AnsibleActionFail(f"{start}{found.errors.msg}")
    return normalize({**arguments, **found.validated_parameters}, spec)


def read_options(name: str) -> dict[str, Any]:
    """The options as the module `name` and the fragments it extends document them."""
    documented = read_documentation(name)
    options: dict[str, Any] = {}
    for fragment in documented.get("extends_documentation_fragment") or ():
        if str(fragment).startswith(_COLLECTION):
            options |= _read_fragment(str(fragment).removeprefix(_COLLECTION))
    return options | (documented.get("options") or {})


def read_documentation(name: str) -> dict[str, Any]:
    """What the module `name` says of itself, without its fragments."""
    found: dict[str, Any] = yaml_load(_import(f"modules.{name}").DOCUMENTATION)
    return found


@cache
def _read_fragment(name: str) -> Mapping[str, Any]:
    file, _dot, variable = name.partition(".")
    if file == "components" and variable:
        component = next(one for one in _import("plugin_utils.components.registry").COMPONENTS if one.role == variable)
        options: Mapping[str, Any] = tables.document(component.interface.rows)
        return options
    text = getattr(_import(f"doc_fragments.{file}").ModuleDocFragment, variable.upper() or "DOCUMENTATION")
    return yaml_load(text).get("options") or {}


def _import(name: str) -> Any:
    return import_module(f"{__package__.rsplit('.', 2)[0]}.{name}")


def options_spec(options: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Documented options as an argument_spec; suboptions likewise."""
    return {name: _option_spec(option) for name, option in options.items()}


def _option_spec(option: Mapping[str, Any]) -> dict[str, Any]:
    spec = {key: option[key] for key in _COPIED if key in option}
    spec.setdefault("type", "str")
    spec["no_log"] = _is_secret(option)
    if "suboptions" in option:
        spec["options"] = options_spec(option["suboptions"])
        if spec["type"] == "dict" and not spec.get("required"):
            spec["apply_defaults"] = True
    return spec


def _is_secret(option: Mapping[str, Any]) -> bool:
    """Whether the documentation calls the option's value secret."""
    description = option.get("description", "")
    lines = description if isinstance(description, list) else [description]
    return any(str(line).startswith("Secret.") for line in lines)


def normalize(options: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """Options as plain values, with releases as 1.37.1 where the user writes the tag, v1.37.1. What is in a dict that
    the spec leaves free, such as labels, stays as it is."""
    return {name: _normalize(name, value, spec.get(name) or {}) for name, value in plain(options).items()}


def _normalize(name: str, value: Any, option: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_normalize(name, each, option) for each in value]
    if isinstance(value, dict) and "options" in option:
        return normalize(value, option["options"])
    if isinstance(value, str) and (name == "version" or name.endswith("_version")):
        return re.sub(r"^v(?=\d)", "", value.strip())
    return value


# ansible-core 2.19 and later hand out tagged subclasses of str, int, list and dict; the engine gets plain ones.


def plain(value: Any) -> Any:
    """`value` made of exactly str, int, float, bool, None, list and dict. TypeError for anything else."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    raise TypeError(f"a {type(value).__name__} is not a plain value")
