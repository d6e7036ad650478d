"""Services as node_probe describes them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from tests.lab.machine import image
from tests.lab.machine.commandline import candidates
from tests.lab.machine.registry import Data
from tests.lab.machine.service_config import key_of

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode


def describe(node: SimulatedNode, name: str) -> dict[str, Any]:
    """One service: its configuration from the registry, its state from the SCM."""
    config = node.services.config(name)
    runtime = node.services.runtime(name)
    failure = None
    if config.failure is not None:
        actions = [[kind, delay] for kind, delay in config.failure.actions]
        failure = {"reset_s": config.failure.reset_s, "actions": actions, "non_crash": config.non_crash}
    return {
        "name": config.name,
        "display_name": config.display_name,
        "image_path": config.image_path,
        "start": config.start,
        "delayed": config.delayed,
        "type": config.type,
        "account": config.account,
        "depends_on": list(config.depends_on),
        "environment": list(config.environment),
        "state": runtime.state,
        "pid": runtime.pid,
        "exit_code": runtime.exit_code,
        "service_exit_code": runtime.service_exit_code,
        "deleting": config.deleting,
        "failure": failure,
        "nssm": _nssm(node, config.name),
    }


def _nssm(node: SimulatedNode, name: str) -> dict[str, Data] | None:
    key = f"{key_of(name)}\\Parameters"
    if node.registry.value(key, "Application") is None:
        return None
    result: dict[str, Data] = {
        value.name: value.data.hex() if isinstance(value.data, bytes) else value.data
        for value in node.registry.values(key)
    }
    exit_action = node.registry.get(f"{key}\\AppExit", "")
    if exit_action is not None:
        result["AppExit"] = exit_action
    return result


def one_service(node: SimulatedNode, name: str) -> dict[str, Any]:
    return {"exists": True, **_hidden(describe(node, name))} if node.services.exists(name) else {"exists": False}


def services(node: SimulatedNode, names: list[str]) -> list[dict[str, Any]]:
    """Those whose program is outside the Windows folder, those asked for, and those that depend on one of these."""
    wanted = {name.lower() for name in names}
    everything = node.services.names()
    chosen = {name.lower() for name in everything if name.lower() in wanted or _is_foreign(node, name)}
    while True:
        more = {
            name.lower()
            for name in everything
            if name.lower() not in chosen and chosen & {item.lower() for item in node.services.config(name).depends_on}
        }
        if not more:
            break
        chosen |= more
    return [_hidden(describe(node, name)) for name in everything if name.lower() in chosen]


def fingerprint(entry: str) -> str:
    """`NAME=value` with the beginning of the value's sha256 in its place."""
    name, equals, value = entry.partition("=")
    return f"{name}{equals}sha256:{hashlib.sha256(value.encode()).hexdigest()[:16]}"


def _hidden(service: dict[str, Any]) -> dict[str, Any]:
    """Without the values of its variables."""
    service["environment"] = [fingerprint(entry) for entry in service["environment"]]
    for name in ("AppEnvironment", "AppEnvironmentExtra"):
        if isinstance((service["nssm"] or {}).get(name), list):
            service["nssm"][name] = [fingerprint(entry) for entry in service["nssm"][name]]
    return service


def _is_foreign(node: SimulatedNode, name: str) -> bool:
    line = image.expand(node.services.config(name).image_path, node.environment)
    program = candidates(line)[0].lower().removeprefix("\\??\\")
    return not (program.startswith(("c:\\windows\\", "\\systemroot\\", "system32\\")))
