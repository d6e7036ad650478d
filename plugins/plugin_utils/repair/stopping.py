# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stop services in the order of their dependencies; the undo starts them again."""

from __future__ import annotations

from collections.abc import Sequence

from ..components import registry
from ..components.layout import Layout
from ..engine.batch import Op
from ..engine.reading import Reading
from ..engine.resource import Refused
from ..engine.resources.service import ACTIVE, RUNNING, add_start_undo, running_dependants
from ..engine.services.existing import Existing

TIMEOUT_S = 120


def names(layout: Layout) -> tuple[str, ...]:
    """The services of a node that talk to the cluster, in stop order."""
    return registry.stop_order(layout, of_cluster=True)


def list_active(wanted: Sequence[str], reading: Reading) -> tuple[str, ...]:
    """Those that run or are starting, such as nssm's PAUSED."""
    return tuple(name for name in wanted if (reading.service(name) or {}).get("state") in ACTIVE)


def stop(
    wanted: Sequence[str], reading: Reading, timeout_s: int = TIMEOUT_S, *, after: Sequence[str] = ()
) -> tuple[Op, ...]:
    """Stop these, first to last, after those in `after`; the undo starts them, last to first. Refused if another's
    running service depends on one of them: nothing would start it again."""
    ours = {name.casefold() for name in (*wanted, *after)}
    ops: tuple[Op, ...] = ()
    for name in list_active(wanted, reading):
        others = [each for each in running_dependants(name, reading) if each.casefold() not in ours]
        if others:
            raise Refused(
                f"The service {name} has to be stopped, but {', '.join(others)} depends on it and runs: stop it before "
                f"(sc.exe stop {others[0]}), and start it again afterwards."
            )
        found = reading.service(name) or {}
        first = Existing(found).stop(timeout_s)
        ops += add_start_undo(name, first, timeout_s, ran=found.get("state") == RUNNING)
    return ops
