"""rfc3987_syntax makes 38 parsers when jsonschema imports it: four seconds in each process that imports that.

One of them is asked, and only where a schema has the format `iri` or `iri-reference`.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from types import ModuleType

NAME = "rfc3987_syntax"


def import_when_asked() -> None:
    """Where the package is installed, jsonschema gets a stand-in that imports it when a text is judged."""
    if NAME in sys.modules or find_spec(NAME) is None:
        return
    stand_in = ModuleType(NAME)

    def is_valid_syntax(term: str, value: str) -> bool:
        if sys.modules.get(NAME) is stand_in:
            del sys.modules[NAME]
        valid: bool = importlib.import_module(NAME).is_valid_syntax(term, value)
        return valid

    vars(stand_in)["is_valid_syntax"] = is_valid_syntax
    sys.modules[NAME] = stand_in
