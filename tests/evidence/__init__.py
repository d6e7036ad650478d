"""Where the linter's severities come from, filled in from upstream's modules: `python -m tests.evidence`."""

from __future__ import annotations

import sys
from pathlib import Path

# Run as a program, not by pytest: the collection is where `make setup` put it.
sys.path.append(str(Path(__file__).resolve().parents[2] / ".venv" / "collections"))
