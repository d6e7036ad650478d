"""How the time of explain, the linter and the redaction grows with a text: python -m tests.linear."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / ".venv" / "collections"))
"""So that the command needs no environment variable."""
