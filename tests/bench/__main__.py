"""Measures what site.yml costs and ends with one line of JSON; exit status 1 only if it cannot be measured.

    python -m tests.bench [--many 100] [--whole] [--no-transfer]

`transfer` in it is what a rebuilt Go program costs on its way to a node, beside Ansible's own copy (transfer.py) and
beside other programs (yardsticks.py); null where there is no Go to build one with. `push` is the developer's loop
(push.py). `real_in_win_pings` is what a call takes under a real PowerShell, which the lab does not know (figures.py).

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
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.bench import push
from tests.bench.figures import AIMS, IN_WIN_PINGS, aims, missed
from tests.bench.fleet import BenchFailed
from tests.bench.measure import FEW, measure

BUILDS = Path(__file__).parents[2] / ".cache" / "bench"


def main(arguments: Sequence[str] | None = None) -> int:
    """A figure that misses its target is a sentence and no exit status: time belongs to the machine."""
    parser = argparse.ArgumentParser(prog="make bench", description="what site.yml costs, on simulated nodes")
    parser.add_argument("--many", type=int, default=100, help="how many nodes the big run has (default 100)")
    parser.add_argument("--whole", action="store_true", help="growth over whole nodes too, not over containerd alone")
    parser.add_argument("--no-transfer", action="store_true", help="without the transfer of a build")
    options = parser.parse_args(arguments)
    if options.many <= FEW:
        parser.error(f"--many {options.many}: more than {FEW} are needed to see how a run grows")
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
    pushed = push.pushes()
    document: dict[str, Any] = {**figures.as_dict(), "push": [asdict(one) for one in pushed]}
    document["real_in_win_pings"] = dict(IN_WIN_PINGS)
    document["aims"] = dict(AIMS)
    document["transfer"] = None if options.no_transfer else _transfer()
    print(json.dumps(document))
    for sentence in (*missed(figures), *push.missed(pushed), *aims(figures)):
        print(sentence, file=sys.stderr)
    return 0


def _transfer() -> dict[str, Any] | None:
    from tests.bench.transfer import builds, transfer  # loads Ansible's plugins into this process

    BUILDS.mkdir(parents=True, exist_ok=True)
    pair = builds(BUILDS)
    return None if pair is None else transfer(pair)


if __name__ == "__main__":
    sys.exit(main())
