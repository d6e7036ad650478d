"""A foreign module's work on a simulated node: in a process of the session, as Ansible's PowerShell is one."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from tests.lab.machine import image
from tests.lab.machine.errors import PowerLost
from tests.lab.twin.task import POWERSHELL

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.processes import Body
    from tests.lab.machine.session import Session

Answer = dict[str, Any]
Work = Generator[float | None, None, Answer]
"""Yields the seconds that it takes on the node's clock; returns the module's result."""
LIMIT_S = 3600.0
MODULE_S = 0.5
"""What a small module takes."""


def failed(message: str, **more: Any) -> Answer:
    """What FailJson prints."""
    return {"failed": True, "changed": False, "msg": message, **more}


def at_once(work: Callable[[], Answer]) -> Work:
    """Work that takes no time worth simulating."""
    yield MODULE_S
    return work()


def work_in_session(node: SimulatedNode, session: Session, name: str, work: Work) -> Answer:
    """The module's result. Raises SessionKilled or PowerLost when a fault takes the session or the machine."""
    if not node.powered:
        raise PowerLost(f"{node.name} is switched off")
    node.refuse_dead_session(session)
    node.counters.add(node.counters.modules, name)
    result: list[Answer] = []

    def body() -> Body:
        result.append((yield from work))
        return 1 if result[0].get("failed") else 0

    with node.lock:
        process = node.processes.spawn(
            POWERSHELL,
            body(),
            command_line=f"{POWERSHELL} (simulated {name})",
            parent=session.pid,
            user=image.user_sid(node, session.user),
            elevated=session.elevated,
            image=node.drive.entry(POWERSHELL),
        )
    node.drive_until_exit(session, process, LIMIT_S)
    if not result:
        node.close_session(session)
        node.refuse_dead_session(session)
    return result[0]
