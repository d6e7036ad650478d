"""Measures what site.yml costs and prints one JSON object; exit status 1 if a target is missed.

    python -m tests.bench [--no-judge] [--many 100] [--whole]

Nodes are simulated, Ansible and SSH are real; calls and bytes are what the lab's server counted. Progress is on stderr.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench.figures import missed
from tests.bench.fleet import BenchFailed
from tests.bench.measure import measure


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 if every target is met, or nobody is to judge."""
    parser = argparse.ArgumentParser(prog="make bench", description="what site.yml costs, on simulated nodes")
    parser.add_argument("--no-judge", action="store_true", help="measure only")
    parser.add_argument("--many", type=int, default=100, help="how many nodes the big run has (default 100)")
    parser.add_argument("--whole", action="store_true", help="growth over whole nodes too, not over containerd alone")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what it has started ends with it
    folder = Path(tempfile.mkdtemp(prefix="wk"))
    try:
        for name in ("whole", "containerd"):
            (folder / name).mkdir()
        figures = measure(folder, options.many, whole_fleet=options.whole)
    except BenchFailed as failed:
        print(failed, file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(figures.as_dict(), indent=2))
    sentences = missed(figures)
    for sentence in sentences:
        print(sentence, file=sys.stderr)
    return 1 if sentences and not options.no_judge else 0


if __name__ == "__main__":
    sys.exit(main())
