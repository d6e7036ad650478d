"""On PYTHONPATH, an `ansible-playbook` that somebody else starts (molecule) has the clock of warm.py: its
pauses take no time. The lab that is started beside it keeps the real one.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

if any(Path(word).name == "ansible-playbook" for word in sys.orig_argv[1:2]):
    _spec = importlib.util.spec_from_file_location("warm", Path(__file__).resolve().parents[1] / "warm.py")
    assert _spec is not None and _spec.loader is not None
    _warm = importlib.util.module_from_spec(_spec)
    sys.modules["warm"] = _warm  # its dataclasses look themselves up
    _spec.loader.exec_module(_warm)
    _warm.let_the_clock_go_on()
