"""All write ops by name, and how one is executed. Source: docs/protocol.md, section 2."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from tests.lab.machine.errors import WinError
from tests.lab.twin import (
    dotnet,
    ops_assemble,
    ops_category,
    ops_files,
    ops_halt,
    ops_ip,
    ops_machine,
    ops_system,
    ops_transfer,
)
from tests.lab.twin.work import STATE_DIR, Args, OpError, OpRun, Work

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.processes import Body

OPS: dict[str, Callable[[Work, Args], OpRun]] = {
    "mkdir": ops_files.mkdir,
    "write": ops_files.write,
    "restore": ops_files.restore,
    "fetch": ops_transfer.fetch,
    "assemble": ops_assemble.assemble,
    "unpack": ops_transfer.unpack,
    "move": ops_files.move,
    "remove": ops_files.remove,
    "registry_set": ops_system.registry_set,
    "registry_remove": ops_system.registry_remove,
    "run": ops_system.run,
    "hns_network": ops_machine.hns_network,
    "hns_network_remove": ops_machine.hns_network_remove,
    "hns_remove": ops_machine.hns_remove,
    "addresses": ops_machine.addresses,
    "category_note": ops_category.category_note,
    "category_restore": ops_category.category_restore,
    "ip_note": ops_ip.ip_note,
    "ip_restore": ops_ip.ip_restore,
    "computer_name": ops_machine.computer_name,
    "halt": ops_halt.halt,
    "wait": ops_system.wait,
    "record": ops_files.record,
}

HNS = "hns"
"""So begin the names of all that calls HNS."""


def perform(work: Work, name: str, args: Args) -> Generator[float | None, None, dict[str, Any]]:
    """One op. Raises OpError, its sentence and data without secrets, for whatever goes wrong."""
    operation = OPS.get(name)
    if operation is None:
        raise OpError(f"There is no op {name!r}; there are {', '.join(OPS)}.")
    word = next((word for word in (name, args.get("for")) if str(word).startswith(HNS)), None)
    if word is not None and not work.hns:
        raise OpError(f"The op {word} calls HNS, and the batch has not brought the text for that (the field hns).")
    counters = work.node.counters
    counters.add(counters.writes, name)
    try:
        return (yield from operation(work, long_arguments(args)))
    except OpError as error:
        raise OpError(work.mask(str(error)), **error.data) from error
    except WinError as error:
        raise OpError(work.mask(f"{name}: {error}"), code=error.code) from error
    except KeyError as missing:
        raise OpError(f"The op {name} needs {missing}.") from missing
    except ValueError as error:
        raise OpError(work.mask(f"{name}: {error}")) from error


def long_arguments(args: Args) -> Args:
    """The paths of files among them as Windows takes them whatever their length; `from` and `to` an op compares."""
    found = dict(args)
    for name in ("path", "backup", "base", "archive", "destination", "log"):
        if isinstance(found.get(name), str):
            found[name] = dotnet.long_path(found[name])
    if "delta" in found:
        found["delta"] = [dotnet.long_path(str(part)) for part in found["delta"]]
    return found


def targets(name: str, args: Args) -> list[str]:
    """The files an op puts in place of others."""
    if name in {"write", "restore", "record", "fetch", "assemble"}:
        return [str(args["path"])]
    if name == "unpack":
        folder = str(args["destination"])
        return [dotnet.long_path(f"{folder}\\{str(member['to']).replace('/', chr(92))}") for member in args["members"]]
    return []


def temporaries(name: str, args: Args) -> list[str]:
    """The files an op may leave half-written when it is cut."""
    suffix = ".part" if name in {"fetch", "assemble"} else ops_files.NEW
    found = [path + suffix for path in targets(name, args)]
    if name == "move":
        # A copy that was on its way to another drive; a folder of that name is being renamed, and stays.
        return [dotnet.long_path(str(args["to"]) + ops_files.NEW)]
    return [*found, str(args["backup"]) + ops_files.NEW] if args.get("backup") else found


def drop_temporaries(work: Work, name: str, args: Args) -> None:
    args = long_arguments(args)
    for path in targets(name, args):
        ops_files.clear_replaced(work.node.drive, path)
    for path in temporaries(name, args):
        if work.node.drive.kind(path) == "file":
            work.node.drive.delete(path)


def execute_op(
    node: SimulatedNode, name: str, args: Args, state_dir: str = STATE_DIR, hns: bool = True
) -> dict[str, Any]:
    """One op by itself, as SYSTEM, to its end, for contract cases: its result, or `{"failed": sentence, "data":
    ..}`.
    """
    outcome: list[dict[str, Any]] = []

    def body() -> Body:
        work = Work(node, process, state_dir=state_dir, hns=hns)
        try:
            outcome.append((yield from perform(work, name, args)))
        except OpError as error:
            outcome.append({"failed": str(error), "data": error.data})
        return 0

    process = node.processes.spawn("C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe", body())
    node.clock.advance_until(lambda: not process.alive)
    return outcome[0]
