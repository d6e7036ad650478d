"""How to start the linter as its users do, from the environment that runs the tests."""

from __future__ import annotations

import sys
from pathlib import Path

_PLACES = (Path(sys.prefix) / "collections", Path(__file__).resolve().parents[3] / ".venv" / "collections")
COLLECTIONS = next((place for place in _PLACES if place.is_dir()), _PLACES[0])
"""The folder that holds ansible_collections."""
COMMAND = (sys.executable, "-m", "ansible_collections.winkube.node.plugins.plugin_utils.lint")
ENVIRONMENT = {"PYTHONPATH": str(COLLECTIONS), "PATH": ""}
