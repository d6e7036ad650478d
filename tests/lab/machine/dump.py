"""A machine's state as JSON, for comparing before and after. Left out: times, file ids, pids, the clock."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from tests.lab.machine.registry import Value

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode


def dump(node: SimulatedNode) -> dict[str, Any]:
    """`{"drive": {path: {kind, size, sha256, sddl}}, "registry": {key: {name: [type, data]}}, "services": {name: {..}},
    "tasks": {path: {..}}, "processes": [[parent's path, path, user]]}`, all sorted; two dumps of an untouched machine
    are equal."""
    return {
        "name": node.name,
        "drive": _drive(node),
        "registry": {path: _values(key.values) for path, key in node.registry.walk()},
        "services": {name: _service(node, name) for name in node.services.names()},
        "tasks": {
            task.path: {
                "program": task.program,
                "arguments": task.arguments,
                "at_boot": task.at_boot,
                "repeat_s": task.repeat_s,
                "enabled": task.enabled,
            }
            for task in node.tasks.all()
        },
        "processes": _processes(node),
        "pipes": node.pipes.names(),
        "adapters": node.adapters.dump(),
        "hns": node.hns.dump(),
    }


def _drive(node: SimulatedNode) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for path, entry in node.drive.walk():
        facts: dict[str, Any] = {"kind": entry.kind, "sddl": entry.security.sddl()}
        if entry.kind == "file":
            facts |= {"size": len(entry.data), "sha256": hashlib.sha256(entry.data).hexdigest()}
        elif entry.kind == "link":
            facts["target"] = entry.target
        result[path] = facts
    return result


def _values(values: dict[str, Value]) -> dict[str, Any]:
    return {
        values[key].name: [values[key].type, data.hex() if isinstance(data := values[key].data, bytes) else data]
        for key in sorted(values)
    }


def _service(node: SimulatedNode, name: str) -> dict[str, Any]:
    config = node.services.config(name)
    return {"state": node.services.state(name), "start": config.start, "image_path": config.image_path}


def _processes(node: SimulatedNode) -> list[list[str]]:
    """Without remote sessions: whether somebody looks is no state of the machine."""
    inside = {pid for session in node.sessions for pid in node.processes.tree(session.pid)}
    paths = {process.pid: process.path for process in node.processes.all()}
    return sorted(
        [paths.get(process.parent, ""), process.path, process.user]
        for process in node.processes.all()
        if process.pid not in inside
    )
