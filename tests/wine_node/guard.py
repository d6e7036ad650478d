"""Refuses `tests.lab.twin` in this process: what it answers has come from the scripts themselves."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

TWIN = "tests.lab.twin"


class Refuser(MetaPathFinder):
    """The first of the finders: no other is asked for the twin."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == TWIN or fullname.startswith(f"{TWIN}."):
            raise ImportError(f"{fullname} may not be imported in the process of the node on Wine")
        return None


def close() -> None:
    """From now on nobody here can import it. RuntimeError if somebody has."""
    loaded = sorted(name for name in sys.modules if name == TWIN or name.startswith(f"{TWIN}."))
    if loaded:
        raise RuntimeError(f"imported already: {', '.join(loaded)}")
    sys.meta_path.insert(0, Refuser())


def importable() -> bool:
    """Whether the twin can be imported here, by trying it."""
    try:
        importlib.import_module(f"{TWIN}.ops")
    except ImportError:
        return False
    return True
