"""Options as an action reads them: what is given, and the defaults that the module documents."""

from __future__ import annotations

from functools import reduce
from typing import Any, TypeVar

from ansible_collections.winkube.node.plugins.plugin_utils.components.options import read
from ansible_collections.winkube.node.plugins.plugin_utils.task.argument_spec import check_arguments

T = TypeVar("T")


def told(of: type[T], module: str, *keys: str, **given: Any) -> T:
    """`keys` lead to the option whose suboptions are `given`."""
    arguments = reduce(lambda inner, key: {key: inner}, reversed(keys), given)
    return read(of, reduce(lambda found, key: found[key], keys, check_arguments(module, arguments)))
