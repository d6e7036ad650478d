"""`make reconcile`: ends in one line of JSON; exit status 1 if a node was taken away beyond the budget, or was not made
right.

Part one is tests/reconcile/real.py, part two lab.py, part three jobs.py. One and three need upstream's programs (python
-m tests.real.build kubernetes etcd). What was not run stands in the line.

python -m tests.reconcile [--seed 1] [--kills 200] [--small]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.reconcile import apiserver, jobs, lab, real

SMALL = lab.Fleet(right=1, drifting=2, cordoned=1, paused=0, dead=1, new=1)


def say(line: str) -> None:
    """On stderr: the last line of stdout is the result."""
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make reconcile", description="nodes that stay right by themselves")
    parser.add_argument("--seed", type=int, default=1, help="what the person does")
    parser.add_argument("--small", action="store_true", help="6 nodes in place of 23")
    parser.add_argument("--kills", type=int, default=200, help="runs that are killed before the real API server")
    options = parser.parse_args(arguments)
    fleet = SMALL if options.small else lab.Fleet()
    not_run: list[str] = []
    stormed: dict[str, Any] = {}
    ended: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="wk") as folder:
        if apiserver.is_there():
            stormed = real.spend(Path(folder), options.seed, options.kills, say)
            say(f"a real API server: {json.dumps(stormed)}")
        else:
            not_run.append("real: kube-apiserver and etcd are not built")
        if command := jobs.missing():
            not_run.append(f"jobs: {command}")
        else:
            ended = jobs.spend(Path(folder) / "jobs", say)
            say(f"runs in Jobs: {json.dumps(ended)}")
        found: dict[str, Any] = lab.spend(Path(folder), fleet, options.seed, say)
    found["over_budget"] += stormed.get("over_budget", 0)
    found["pods_running_after_5_min"] += ended.get("pods_running_after_5_min", 0)
    wrong = found["over_budget"] + found["uncordoned_by_mistake"] + found["second_run_changed"]
    wrong += found["writes_per_converged_node"] + found["batches_more_than_once"]
    wrong += stormed.get("marks_left", 0) + stormed.get("cordoned_left", 0) + stormed.get("failed", 0)
    wrong += found["pods_running_after_5_min"] + sum(ended.get(name, 0) for name in jobs.WRONG)
    missing = fleet.drifting + fleet.new - found["mended"] - found["joined"]
    missing += fleet.cordoned + fleet.paused + fleet.dead - found["reported"]
    print(json.dumps({**found, "real": stormed, "jobs": ended, "not_run": not_run}))
    return 1 if wrong or missing else 0


if __name__ == "__main__":
    sys.exit(main())
