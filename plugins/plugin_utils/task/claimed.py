# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that this run has marked and on which it has changed nothing yet: at its end, whatever ends it, they are as
they were.

A worker notes a Node before it marks it, in a file, and takes the note away before the first batch goes to the machine.
The run's own process works off what is left once its workers are gone: after Ctrl-C, SIGTERM (a Job's deadline, an
eviction of its pod), and a play that ended early. After SIGKILL the next run does it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from ansible import constants

from ..budget.claim import BudgetFullError, Claim, Wish
from ..budget.count import Budget
from ..cluster.client import Cluster
from ..cluster.error import ClusterError
from ..components.shared_options import Access
from ..engine.resource import Refused
from ..engine.run_end import at_end, run_folder, run_pid
from .budget import this_run
from .screen import display


def folder() -> Path:
    """Where the notes of this run are. Beside its temporary folder, as the keeper's."""
    found = run_folder(Path(constants.DEFAULT_LOCAL_TMP), run_pid())
    return found.with_name(f"{found.name}-claimed")


@contextmanager
def noted(names: Collection[str], cluster: Access) -> Iterator[None]:
    """Within it these Nodes get their marks. A refusal takes the notes back, since it leaves no mark; after any other
    error the end of the run looks once more."""
    here = folder()
    here.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in names:
        (here / name).write_text(json.dumps({"node": name, "cluster": asdict(cluster)}), encoding="utf-8")
    try:
        yield
    except (BudgetFullError, Refused):
        forget(names)
        raise


def forget(names: Collection[str]) -> None:
    """These Nodes are changed from here on, or have no mark any more."""
    for name in names:
        if name:
            (folder() / name).unlink(missing_ok=True)


def give_back_at_end() -> None:
    """From here on the run's own process gives back what is noted before it ends. Does nothing in a worker."""
    here = folder()

    def give_back() -> None:
        for note in sorted(here.glob("*")):
            with suppress(OSError, ValueError, ClusterError, Refused):
                found = json.loads(note.read_text(encoding="utf-8"))
                if (cluster := Cluster.open(found["cluster"])) is None:
                    continue
                name, claim = found["node"], Claim(cluster, this_run(), Wish(Budget("1")))
                if claim.is_own(claim.see(name).mark):
                    claim.uncordon(name)
                    display.display(f"{name}: nothing was changed on it; its Node is as before this run.")
        shutil.rmtree(here, ignore_errors=True)

    at_end(here.exists, give_back)


give_back_at_end()
