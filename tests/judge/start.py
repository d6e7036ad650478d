"""How long a start of winkube-explain takes for one line, beside a start of Python that imports yaml."""

from __future__ import annotations

import resource
import subprocess
import sys
from statistics import median

LINE = "E0512 12:00:01.1 7 proxier.go:9] hcnCreateEndpoint failed in Win32: refused. (0x803b000d)"
_EXPLAIN = (
    "import sys; from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.explain_cli import main; "
    "sys.exit(main([]))"
)
_RUNS = 5


def start_ratio() -> float:
    """By processor time, of so many runs of both in turns."""
    pairs = [(_seconds("import yaml"), _seconds(_EXPLAIN, LINE)) for _run in range(_RUNS)]
    return round(median(told for _bare, told in pairs) / median(bare for bare, _told in pairs), 1)


def _seconds(program: str, given: str = "") -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program], input=given, text=True, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
