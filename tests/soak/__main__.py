"""`make soak`: ends in one line of JSON; exit status 1 if anything was mixed, stuck or leaked.

python -m tests.soak [--seed 1] [--runs 300]
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.soak import soak, told


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="make soak", description="joins, upgrades, pushes, resets while things go wrong"
    )
    parser.add_argument("--seed", type=int, default=1, help="which nodes, actions and faults")
    parser.add_argument("--runs", type=int, default=300, help="how many actions (default 300)")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="wk") as folder:
        made = soak(Path(folder), options.seed, options.runs, lambda line: print(line, file=sys.stderr, flush=True))
    return 0 if told(made) else 1


if __name__ == "__main__":
    sys.exit(main())
