"""node_probe: answers queries about the node and changes nothing (docs/protocol.md, section 1)."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.lab.machine import image
from tests.lab.machine.builds import resource_version
from tests.lab.machine.errors import WinError
from tests.lab.machine.network import NetworkError
from tests.lab.machine.registry import Registry, Value
from tests.lab.twin import dotnet, probe_machine
from tests.lab.twin.hashes import Hashes
from tests.lab.twin.holders import holders
from tests.lab.twin.ops_transfer import USER_AGENT
from tests.lab.twin.service_query import fingerprint, one_service, services
from tests.lab.twin.state import StateFolder

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

BODY_LIMIT = 2048
TASK = "\\winkube\\runner"


class QueryError(Exception):
    """A sentence: what is wrong with a query."""


@dataclass(frozen=True)
class Asker:
    """Whose eyes the node is seen with."""

    user: str
    elevated: bool


@dataclass(frozen=True)
class Look:
    """What an answer needs: the node, who asks, the cache of hashes, the text that calls HNS."""

    node: SimulatedNode
    asker: Asker
    hashes: Hashes
    hns: bool = False


def answer_queries(
    node: SimulatedNode, asker: Asker, state_dir: str, queries: list[dict[str, Any]], hns: bool = False
) -> dict[str, Any]:
    """Each query's value under its key; one that fails yields `{"error": sentence}`. hns: the text for that came with
    them."""
    hashes = Hashes(node, StateFolder(node, state_dir), asker.elevated)
    look = Look(node, asker, hashes, hns)
    parts = {str(query["key"]): answer_query(look, query) for query in queries}
    hashes.save()
    return parts


def answer_query(look: Look, query: dict[str, Any]) -> Any:
    operation = str(query.get("op", ""))
    look.node.counters.add(look.node.counters.probes, operation)
    answer = ANSWERS.get(operation)
    try:
        if answer is None:
            raise QueryError(f"There is no query {operation!r}; there are {', '.join(sorted(ANSWERS))}.")
        return answer(look, query)
    except KeyError as missing:
        return {"error": f"The query {operation!r} needs {missing}."}
    except (WinError, QueryError, NetworkError, ValueError) as error:
        return {"error": str(error)}


def _system(look: Look, query: dict[str, Any]) -> Any:
    node = look.node
    version = image.VERSION_KEY
    release = node.release
    return {
        "machine": node.registry.text("HKLM\\SOFTWARE\\Microsoft\\Cryptography", "MachineGuid"),
        "boot_id": node.boot_id,
        "computer_name": image.computer_name(node.registry),
        "os": {
            "product": node.registry.text(version, "ProductName"),
            "build": int(node.registry.text(version, "CurrentBuildNumber", "0")),
            "revision": node.registry.number(version, "UBR"),
            "installation_type": node.registry.text(version, "InstallationType"),
            "architecture": release.architecture,
        },
        "elevated": look.asker.elevated,
        "user_sid": image.user_sid(node, look.asker.user),
        "clock": node.clock.iso(),
        "powershell": f"5.1.{release.build}.{release.revision}" if node.framework else "7.6.5",
        "reboot_pending": image.reboot_pending(node.registry),
        "free_bytes": {letter: node.drive.free(letter) for letter in sorted(node.drive.volumes)},
        "machine_path": [item for item in node.registry.text(image.ENVIRONMENT, "Path").split(";") if item],
    }


def _file(look: Look, query: dict[str, Any]) -> Any:
    drive, path = look.node.drive, dotnet.long_path(str(query["path"]))
    kind = drive.kind(path)
    if kind is None:
        return {"exists": False}
    stat = drive.stat(path)
    result: dict[str, Any] = {
        "exists": True,
        "kind": kind,
        "size": stat.size if kind == "file" else 0,
        "written": look.node.clock.iso(stat.written),
    }
    if kind == "file":
        if query.get("sha256"):
            result["sha256"] = look.hashes.sha256(path, bool(query.get("fresh")))
        if query.get("version"):
            result["version"] = resource_version(drive.read(path))
        limit = int(query.get("content_limit") or 0)
        if limit > 0:
            fits = stat.size <= limit
            result["content"] = base64.b64encode(drive.read(path)).decode() if fits else None
        head = int(query.get("head") or 0)
        if head > 0:
            result["head"] = base64.b64encode(drive.read(path)[:head]).decode()
        tail = int(query.get("tail") or 0)
        if tail > 0:
            result["tail"] = base64.b64encode(drive.read(path)[-tail:]).decode()
        if query.get("holders"):
            result["holders"] = holders(look.node, str(query["path"]))
    if query.get("sddl"):
        result["sddl"] = drive.sddl(path)
    if query.get("inside") and kind == "directory":
        result["inside"] = _inside(look, path, [str(ending).lower() for ending in query["inside"]])
    if query.get("entries") and kind == "directory":
        result["entries"] = drive.listdir(path)
    return result


_PLAIN = re.compile(r"O:(BA|SY)D:(AI)?(\(A;ID;[^)]*\))*")


def _inside(look: Look, folder: str, endings: list[str]) -> dict[str, str]:
    """The files with these endings that are links, or have another owner or list than a folder of administrators
    hands on."""
    drive, found = look.node.drive, {}
    for name in drive.listdir(folder):
        path = f"{folder}\\{name}"
        ending = f".{name.rpartition('.')[2]}".lower() if "." in name else ""
        if drive.kind(path) == "directory" or drive.is_dir(path) or ending not in endings:
            continue
        sddl = "link" if drive.kind(path) == "link" else drive.sddl(path)
        if not _PLAIN.fullmatch(sddl):
            found[name] = sddl
    return found


def typed(value: Value) -> dict[str, Any]:
    """A registry value as the protocol prints it: binary as hex, a qword as a decimal string."""
    data: Any = value.data
    if isinstance(data, bytes):
        data = data.hex()
    elif value.type == "qword":
        data = str(data)
    return {"type": value.type, "value": data}


def _registry(look: Look, query: dict[str, Any]) -> Any:
    registry, path = look.node.registry, str(query["path"])
    if query.get("name") is not None:
        found = registry.value(path, str(query["name"]))
        if found is None:
            return {"exists": False}
        value = typed(found)
        if query.get("fingerprint"):
            value["fingerprint"] = fingerprint(f"{str(query['name']).upper()}={value.pop('value')}")
        return {"exists": True, **value}
    if not registry.exists(path):
        return {"exists": False, "values": {}, "keys": []}
    texts = [str(text).lower() for text in query.get("containing") or ()]
    values = {
        value.name: typed(value)
        for value in registry.values(path)
        if not texts or any(text in str(value.data).lower() for text in texts)
    }
    tree = _tree(registry, path) if query.get("tree") else {}
    if query.get("types"):
        for table in (values, *tree.values()):
            for value in table.values():
                del value["value"]
    more = {"tree": tree} if query.get("tree") else {}
    return {"exists": True, "values": values, "keys": registry.keys(path), **more}


def _tree(registry: Registry, path: str, prefix: str = "") -> dict[str, Any]:
    """The keys below one: path below it -> values."""
    found: dict[str, Any] = {}
    for key in registry.keys(path):
        found[prefix + key] = {value.name: typed(value) for value in registry.values(f"{path}\\{key}")}
        found |= _tree(registry, f"{path}\\{key}", f"{prefix}{key}\\")
    return found


def _processes(look: Look, query: dict[str, Any]) -> Any:
    found = look.node.processes.named([str(name) for name in query["names"]])
    return [
        {"pid": item.pid, "name": item.name, "path": item.path, "started": look.node.clock.iso(item.started)}
        for item in sorted(found, key=lambda item: item.pid)
    ]


def _http(look: Look, query: dict[str, Any]) -> Any:
    service = str(query.get("service") or "")
    if service and one_service(look.node, service).get("state") != "running":
        return {"status": 0, "error": f"The service {service} does not run."}
    try:
        answer = look.node.network.get(
            str(query["url"]),
            float(query.get("timeout_ms") or 2000) / 1000,
            {"User-Agent": USER_AGENT},
            limit=BODY_LIMIT,
        )
    except NetworkError as error:
        return {"status": 0, "error": str(error)}
    return {"status": answer.status, "body": answer.body[:BODY_LIMIT].decode("utf-8", "replace")}


def _task(look: Look, query: dict[str, Any]) -> Any:
    task = look.node.tasks.get(str(query["path"]))
    return {"exists": True, "enabled": task.enabled, "state": task.state} if task else {"exists": False}


def _on_path(look: Look, query: dict[str, Any]) -> Any:
    name, registry = str(query["name"]), look.node.registry
    return [
        {"path": path, "sha256": look.hashes.sha256(path, False)}
        for path in image.on_path(look.node.drive, image.machine_environment(registry), name)
    ]


def _volumes(look: Look, query: dict[str, Any]) -> Any:
    drive = look.node.drive
    return {
        letter: {"free": drive.free(letter), "size": volume.size} for letter, volume in sorted(drive.volumes.items())
    }


def _hns(look: Look, query: dict[str, Any]) -> Any:
    if not look.hns:
        raise QueryError("HNS is asked for, and the text that calls it did not come with the queries (the field hns).")
    return probe_machine.hns(look.node, query)


ANSWERS: dict[str, Callable[[Look, dict[str, Any]], Any]] = {
    "system": _system,
    "services": lambda look, query: services(look.node, [str(name) for name in query["names"]]),
    "service": lambda look, query: one_service(look.node, str(query["name"])),
    "file": _file,
    "registry": _registry,
    "pipe": lambda look, query: {"exists": look.node.pipes.exists(str(query["name"]))},
    "processes": _processes,
    "http": _http,
    "task": _task,
    "volumes": _volumes,
    "adapters": lambda look, query: probe_machine.adapters(look.node, query),
    "hns": _hns,
    "certificate": lambda look, query: probe_machine.certificate(look.node, query),
    "on_path": _on_path,
    "encryption": lambda look, query: probe_machine.encryption(look.node, query),
}
