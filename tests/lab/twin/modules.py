"""The two modules as a session runs them: `node_probe` and `node_apply`."""

from __future__ import annotations

import base64
import gzip
import json
from typing import TYPE_CHECKING, Any

from tests.lab.machine import image
from tests.lab.machine.errors import NotSimulated, PowerLost
from tests.lab.machine.faults import ModuleError
from tests.lab.twin.apply import Apply, RequestError, read_envelope
from tests.lab.twin.probe import Asker, answer_queries
from tests.lab.twin.task import POWERSHELL
from tests.lab.twin.work import came

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.processes import Body
    from tests.lab.machine.session import Session

LIMIT_S = 4 * 3600.0
UNHANDLED = "Unhandled exception while executing module: "
PROBE_S = 3.0
"""What a PowerShell that starts, compiles and reads takes. Who asks a node again and again lets its time pass by it."""


def run_module(
    node: SimulatedNode, session: Session, name: str, arguments: dict[str, Any], check_mode: bool = False
) -> dict[str, Any]:
    """Runs a module in a process of the session while the node's clock moves on; its result.

    Raises SessionKilled or PowerLost when a fault takes the session or the machine: then there is no result.
    """
    if name not in {"node_probe", "node_apply"}:
        raise NotSimulated(f"The twin knows the modules node_probe and node_apply, not {name}.")
    if not node.powered:
        raise PowerLost(f"{node.name} is switched off")
    node.refuse_dead_session(session)
    for listener in tuple(node.before_module):
        listener(session, name, arguments)
    node.counters.add(node.counters.modules, name)
    result: list[dict[str, Any]] = []
    asker = Asker(session.user, session.elevated)

    def body() -> Body:
        yield PROBE_S if name == "node_probe" else 0.05
        error = node.faults.take_module(name, "before")
        if error is not None:
            result.append(_thrown(error))
            return 1
        if name == "node_probe":
            found = _probe(node, asker, arguments)
        else:
            try:
                envelope = read_envelope(str(arguments.get("batch") or ""))
            except RequestError as unread:
                result.append(_thrown(ModuleError(name, str(unread))))
                return 1
            found = yield from Apply(node, asker, process, envelope, check_mode).answer()
        error = node.faults.take_module(name, "after")
        result.append(found if error is None else _thrown(error))
        return int(error is not None)

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


def _probe(node: SimulatedNode, asker: Asker, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        text = str(arguments.get("request") or "")
        request = json.loads(text if text.startswith("{") else gzip.decompress(base64.b64decode(text)))
        schema, queries, state_dir = request.get("schema"), request.get("queries") or [], request.get("state_dir")
    except (ValueError, AttributeError, OSError, EOFError) as error:
        text = f"The option request cannot be read: {error!r}."
        return failed(text, text)
    if schema != 1:
        return failed("The option request has not schema 1.", "The option request has not schema 1.")
    parts = answer_queries(node, asker, str(state_dir or ""), queries, hns=came(request))
    return {"changed": False, "schema": 1, "parts": parts}


def failed(message: str, cause: str = "") -> dict[str, Any]:
    """What a module that failed prints: with an ErrorRecord (`cause`) also `exception`, from verbosity 3 on."""
    result: dict[str, Any] = {"failed": True, "changed": False, "msg": message}
    return {**result, "exception": _record(cause)} if cause else result


def unhandled(text: str) -> dict[str, Any]:
    """What Ansible's module_wrapper.ps1 prints of an exception that no module has caught (ansible-core 2.21.5)."""
    return {"failed": True, "msg": f"{UNHANDLED}{text}", "exception": _record(text)}


def _thrown(error: ModuleError) -> dict[str, Any]:
    return (
        failed(f"The batch could not be handled: {error.text}", error.text) if error.caught else unhandled(error.text)
    )


def _record(text: str) -> str:
    """An ErrorRecord as text."""
    lines = (
        text,
        "At line:1 char:1",
        "+ CategoryInfo          : OperationStopped: (:) [], RuntimeException",
        f"+ FullyQualifiedErrorId : {text}",
        "",
        "ScriptStackTrace:",
        "at <ScriptBlock>, <No file>: line 1",
    )
    return "\r\n".join(lines)
