# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks that containerd serves CRI over the port: tries the configuration before anything stops, and calls the port
from the controller once it is open.

A port that takes connections proves nothing: with the address alone containerd listens and speaks HTTP/2, but serves no
CRI.
"""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ..components.containerd.containerd_toml import Document, NotTomlError, is_same_value
from ..components.layout import Layout
from ..cri.client import CriClient, CriError
from ..cri.client import Tls as ClientTls
from ..engine import security, windows_path
from ..engine.answer import Answer
from ..engine.batch import Batch, Op, as_base64
from ..engine.reading import Expectation, Query, Reading, file_key, file_query, merge_queries, system_query
from ..engine.resource import Refused, Resource
from ..engine.resources.file import READ_LIMIT, File
from ..engine.tools import ANY_EXIT, run
from ..facts import cri_tcp as facts
from .edit import Effective, effective, imports, not_effective
from .expiry import Expiry
from .node import NAME, CriTcp

CANDIDATE, CLOSED = ".winkube-candidate", ".winkube-closed"
_WITHOUT = frozenset(
    {("imports",), ("version",), *(place for one in (facts.GRPC, facts.PLUGIN) for place in one.places)}
)
"""Places of an effective configuration that may differ. `imports` holds the name of the file itself."""
SHOWN = 5


def rehearsal(args: CriTcp, resources: tuple[Resource, ...], reading: Reading) -> Batch | None:
    """A batch in which containerd reads the present config.toml, the new one under another name, and the one that
    closes the port later, before anything stops. All are in one folder, so that they import the same files. None if
    nothing changes and nothing is imported: then the file itself says everything."""
    file = config_of(resources)
    changes = file.change(reading) is not None
    layout = args.layout
    if not changes and not _may_import(file.text, layout, reading):
        return None
    if not reading.file(layout.containerd_binary).get("exists"):
        raise Refused(
            f"{layout.containerd_binary} is missing, so the new config.toml cannot be tried; "
            "winkube_containerd_binary (node.containerd_binary) names the program that the service runs."
        )
    end = next((each for each in resources if isinstance(each, Expiry) and each.after_s), None)
    tried = ({CANDIDATE: file.text} if changes else {}) | ({CLOSED: end.closed} if end else {})
    ops = [_dump(layout.containerd_binary, layout.containerd_config, ok_exit=ANY_EXIT)]
    for ending, text in tried.items():
        path = f"{layout.containerd_config}{ending}"
        away = Op("remove", {"path": path})
        write = Op("write", {"path": path, "content": as_base64(text.encode()), "sddl": security.ADMINS_ONLY_FILE})
        # Only the new file must be valid now; the other one matters when the time is over.
        strict = ANY_EXIT if ending == CLOSED else (0,)
        ops += (write.with_undo(away), _dump(layout.containerd_binary, path, ok_exit=strict), away)
    return Batch(NAME, tuple(ops), pre=(Expectation(system_query(), (("machine", reading.machine),)),))


def _dump(program: str, config: str, ok_exit: Sequence[int | str] = (0,)) -> Op:
    return run(program, "--config", config, "config", "dump", ok_exit=ok_exit, encoding="utf-8")


def config_of(resources: tuple[Resource, ...]) -> File:
    """The config.toml among the resources."""
    return next(resource for resource in resources if isinstance(resource, File) and not resource.private)


def is_rehearsal(batch: Batch) -> bool:
    """Whether a batch is one of `rehearsal`."""
    return any(op.op == "run" and list(op.args.get("args") or ())[-2:] == ["config", "dump"] for op in batch.ops)


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """How containerd reads the new file: its configuration, the `fault` (a clause, empty if it is as wanted), and the
    `others`, further differences from the present file. `afterwards` is the address on which containerd would still
    listen with the file that closes the port later."""

    found: Effective
    fault: str = ""
    others: tuple[str, ...] = ()
    afterwards: str = ""


def judge_rehearsal(args: CriTcp, batch: Batch, answer: Answer, text: str) -> Rehearsed:
    """Judge the node's `answer` to the `rehearsal` in `batch`. To open the port: Refused if containerd does not read
    the new file `text` as wanted. To close it: never refused; the result says what is left."""
    where = args.layout.containerd_config
    dumps = _dumps(batch, answer)
    afterwards = dumps.pop(f"{where}{CLOSED}", "")
    outputs = list(dumps.values())
    try:
        found = effective(outputs[-1] if outputs else "")
    except ValueError as error:
        raise Refused(f"{where}: the answer of containerd to 'config dump' is not TOML ({error}).") from None
    fault = not_effective(found, args.listener)
    others = tuple(differences(outputs[0], outputs[1])) if len(outputs) > 1 else ()
    if args.listener is None:
        return Rehearsed(found, fault, others)
    if fault:
        imported = imports(text)
        remedy = (
            f"Look into what it imports ({', '.join(imported)}): in containerd 1.x such a file replaces a plugin's "
            "table."
            if imported
            else "This containerd is older than the version of the file, or does not know the key."
        )
        raise Refused(f"{where}: with the change, containerd would say that {fault}. Nothing was changed. {remedy}")
    if others:
        raise Refused(
            f"{where}: with the change, containerd would do more than open the port: {describe_others(others)}. "
            "Nothing was changed. A file without a version, for one, is read otherwise as soon as it has one: put "
            "these settings right, or take them out, then run again."
        )
    address = ""
    with suppress(ValueError):
        address = effective(afterwards).address
    return Rehearsed(found, afterwards=address)


def _dumps(batch: Batch, answer: Answer) -> dict[str, str]:
    """What containerd printed, by file."""
    printed = [each.stdout for each in answer.ran]
    return dict(zip((str(op.args["args"][1]) for op in batch.ops if op.op == "run"), printed, strict=False))


def differences(before: str, after: str) -> Iterator[str]:
    """Differences between two effective configurations besides CRI over TCP, a clause each. None if one of them is
    invalid: containerd does not run with that either."""
    try:
        old, new = (Document.parse(text).by_place() for text in (before, after))
    except NotTomlError:
        return
    if not old or not new:
        return
    for place in sorted((old.keys() | new.keys()) - _WITHOUT):
        was, becomes = old.get(place), new.get(place)
        if not is_same_value(was, becomes):
            yield f"{'.'.join(place)} would be {becomes!r}, and is {was!r}"


def describe_others(others: Sequence[str]) -> str:
    """The first differences and the number of others."""
    more = f"; and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
    return f"{'; '.join(others[:SHOWN])}{more}"


def import_folders(text: str, layout: Layout) -> tuple[Query, ...]:
    """Queries for the folders that config.toml imports from."""
    return merge_queries(file_query(windows_path.parent(path), entries=True) for path in _patterns(text, layout))


def query_imports(text: str, layout: Layout, reading: Reading) -> tuple[Query, ...]:
    """Queries for the imported files with their content."""
    return merge_queries(
        file_query(windows_path.join(windows_path.parent(path), entry), content_limit=READ_LIMIT)
        for path in _patterns(text, layout)
        for entry in reading.file(windows_path.parent(path)).get("entries") or ()
        if _matches(entry, path)
    )


def find_openers(files: Sequence[Query], reading: Reading) -> list[str]:
    """The files of `query_imports` that set an address for the port."""
    found = []
    for query in files:
        path = str(dict(query.args)["path"])
        with suppress(ValueError):
            if effective((reading.text(path) or "").removeprefix("\ufeff")).address:
                found.append(path)
    return found


def describe_open_elsewhere(files: Sequence[str], afterwards: str = "") -> str:
    """A warning that closing config.toml will leave the port open; empty if it will not. `afterwards` is the address
    that containerd reported for the closed file."""
    if not files and afterwards:
        return (
            f"closing config.toml leaves the port open: containerd would listen on {afterwards} all the same. Look "
            "into what config.toml imports."
        )
    if not files:
        return ""
    one = len(files) == 1
    return (
        f"{' and '.join(files)}, which config.toml imports, {'opens' if one else 'open'} CRI over TCP as well: closing "
        "config.toml leaves the port open. Take the address out there."
    )


def describe_still_open(layout: Layout, found: Effective, fault: str, files: Sequence[str]) -> str:
    """The error if containerd still listens after `state: absent`."""
    where = " and ".join(files) or "a file that it imports"
    return (
        f"{layout.containerd_config} is closed, but {fault.removeprefix('it ')} all the same: {where} "
        f"{'say' if len(files) > 1 else 'says'} {found.address}. Take the address out there, then run again."
    )


def _may_import(text: str, layout: Layout, reading: Reading) -> bool:
    """Whether config.toml imports other files; False only if the folders are known to have none."""
    for path in _patterns(text.removeprefix("\ufeff"), layout):
        folder = reading.parts.get(file_key(windows_path.parent(path)))
        if folder is None or any(_matches(entry, path) for entry in folder.get("entries") or ()):
            return True
    return False


def _matches(entry: str, pattern: str) -> bool:
    name = windows_path.name(pattern)
    if "*" not in pattern:  # containerd takes such a one as it is. Source: cmd/containerd/server/config, resolveImports
        return entry.casefold() == name.casefold()
    return fnmatchcase(entry, _CLASS.sub(_as_fnmatch, name))  # Go's Glob minds case on Windows, too


_CLASS = re.compile(r"\[([!^]?)([^]]*)\]")


def _as_fnmatch(found: re.Match[str]) -> str:
    """In Go's character classes `^` negates and `!` stands for itself. Source: path/filepath match.go."""
    sign, members = found[1], found[2]
    return f"[!{members}]" if sign == "^" else f"[{members}{sign}]"


def _patterns(text: str, layout: Layout) -> list[str]:
    folder = windows_path.parent(layout.containerd_config)
    given = (path.replace("/", "\\") for path in imports(text))
    return [path if windows_path.problem(path.replace("*", "x")) is None else f"{folder}\\{path}" for path in given]


UNKNOWN_SERVICE = "UNIMPLEMENTED"
TIMEOUT_S = 10
_SSH_S = 30

Ask = Callable[[str, ClientTls | None], Mapping[str, Any]]
"""The answer to CRI's call Version at `host:port`. CriError."""

Command = Callable[[Sequence[str]], Sequence[str | bytes]]
"""The command line of ssh with these options, for the host and with the settings of Ansible's connection."""


class ProofError(Exception):
    """The port is open, but CRI does not answer there, or could not be asked although it must. A sentence."""


class UnreachableError(Exception):
    """The controller cannot reach the port; the text says why, without a full stop."""


def ask(address: str, tls: ClientTls | None) -> Mapping[str, Any]:
    """Ask over gRPC."""
    with CriClient(address, tls, TIMEOUT_S) as client:
        return client.version()


def report_not_asked(why: str) -> dict[str, Any]:
    """The result if CRI was not asked."""
    return {"proven": False, "runtime": "", "reason": why}


def proof(address: str, tls: ClientTls | None, *, required: bool, ask: Ask = ask) -> dict[str, Any]:
    """`{proven, runtime, reason}`. ProofError if the answer is not CRI, or if nothing answers and `required`. A port
    that the controller cannot reach proves nothing: the firewall may keep the controller out."""
    try:
        answer = ask(address, tls)
    except CriError as error:
        if error.code == UNKNOWN_SERVICE:
            raise ProofError(f"The port was opened, but {error}") from error
        return report_unproven(str(error).rstrip("."), required=required)
    runtime = f"{answer.get('runtimeName', '')} {answer.get('runtimeVersion', '')}".strip()
    return {"proven": True, "runtime": runtime, "reason": ""}


def report_unproven(why: str, *, required: bool) -> dict[str, Any]:
    """The result if nothing answered. ProofError if an answer is `required`."""
    if required:
        raise ProofError(f"The port is open on the node, but that CRI answers there could not be proven: {why}.")
    return report_not_asked(why)


def warning(found: Mapping[str, Any]) -> str:
    """A warning about an open port on which CRI was not seen to answer; empty if it was."""
    if found["proven"]:
        return ""
    return f"The port is open on the node, but no call has proved that CRI answers there: {found['reason']}."


@contextmanager
def forward_port(command: Command, host: str, port: int) -> Iterator[str]:
    """Forward a port of the controller to `host:port` on the node, through Ansible's open SSH connection; yields its
    `host:port`. UnreachableError without such a connection."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        local = free.getsockname()[1]
    far = f"[{host}]" if ":" in host else host
    way = ["-L", f"127.0.0.1:{local}:{far}:{port}"]
    _ssh(command(["-O", "forward", *way]))
    try:
        yield f"127.0.0.1:{local}"
    finally:
        with suppress(UnreachableError):  # the connection is gone, and the port with it
            _ssh(command(["-O", "cancel", *way]))


def _ssh(argv: Sequence[str | bytes]) -> None:
    try:
        done = subprocess.run(list(argv), capture_output=True, stdin=subprocess.DEVNULL, timeout=_SSH_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnreachableError(f"ssh could not be asked to forward a port ({error})") from error
    if done.returncode != 0:
        said = " ".join(done.stderr.decode(errors="replace").split()).rstrip(".")
        raise UnreachableError(f"Ansible's SSH connection forwards no port ({said or done.returncode})")
