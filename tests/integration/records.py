"""Everything that the runs of a scenario leave behind where somebody may read it, searched for secrets.

The fixture `bench` does it after every scenario: for the secrets of the lab itself, and for those that the scenario has
planted (`bench.plant`).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from tests.integration.lab import Bench
from tests.lab.cluster.access import plain
from tests.lab.cluster.cluster import Cluster
from tests.lab.machine.node import SimulatedNode

PRIVATE = {"S-1-5-18", "S-1-5-32-544"}
"""SYSTEM and Administrators: who may read a file with a secret in it."""
PRIVATE_LINE = 4
"""Of the text of an OpenSSH key: what comes before is its public half."""
_GZIP = re.compile(rb"\x1f\x8b\x08")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-](?:[A-Za-z0-9+/_-]|\\/|(?<=[A-Za-z0-9+/]{60})(?:\r?\n|\\r?\\n)){15,}={0,2}")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_LARGE = 64 << 20
LONG = 10
"""Characters: a shorter password may turn up as a word."""


def secrets_of(bench: Bench) -> dict[str, str]:
    """Secret -> what it is: the key and the passwords that Ansible logs in with, every token that the clusters have or
    had, the keys of their administrators, and what the scenario has planted."""
    key = (bench.lab.directory / "client_key").read_text(encoding="utf-8").splitlines()
    found = {key[PRIVATE_LINE]: "the key that Ansible logs in with"}
    for name, host in bench.lab.hosts.items():
        if len(host.spec.winrm_password) >= LONG:
            found[host.spec.winrm_password] = f"the password of {name}"
    for cluster in bench.lab.clusters.values():
        found |= _of_cluster(cluster)
    return found | bench.planted


def _of_cluster(cluster: Cluster) -> dict[str, str]:
    found: dict[str, str] = {}
    deleted = [one for one in cluster.store.deleted if one["kind"] == "Secret"]
    for secret in [*cluster.request("GET", "/api/v1/secrets")["items"], *deleted]:
        for key in ("token-secret", "token"):
            if value := plain(secret, key):
                found[value] = f"{key} of the Secret {secret['metadata']['name']}"
    for path in sorted(cluster.directory.glob("*.conf")):
        for line in path.read_text(encoding="utf-8").splitlines():
            name, _, value = line.strip().partition(": ")
            if name == "client-key-data":
                found[value.strip("'\"")] = f"the key of {path.name}"
    return found


def leaks(bench: Bench) -> list[str]:
    """Where a secret turned up that it may not be: a run's output, a file of the controller's, a remote command; on
    a node a file that others may read, the registry, a task, a command line of any process, a script block, a record of
    the collection's own."""
    forms = [(what, tuple(forms_of(secret))) for secret, what in secrets_of(bench).items()]
    return [
        f"{what} is in {where}"
        for where, text in _places(bench)
        for within in [_unpacked(text)]
        for what, written in forms
        if any(form in within for form in written) and not where.endswith(bench.lawful.get(what, ()))
    ]


@lru_cache(maxsize=64)
def _unpacked(data: bytes) -> bytes:
    """Together. Most nodes have the runner's text and the same script blocks."""
    return b"\n".join(unpacked(data))


def unpacked(data: bytes, depth: int = 6) -> Iterator[bytes]:
    """What was written, and what is packed in it, again and again: base64 (a PowerShell's -EncodedCommand, a file in a
    batch), gzip (a batch, a log)."""
    yield data
    if depth == 0:
        return
    if data.count(0) > len(data) // 4:
        yield from unpacked(data.replace(b"\0", b""), depth - 1)
    for start in (match.start() for match in _GZIP.finditer(data)):
        with suppress(zlib.error):
            yield from unpacked(zlib.decompressobj(wbits=31).decompress(data[start:], _LARGE), depth - 1)
    for match in _BASE64.finditer(data):
        # Broken lines, and JSON's way to write a slash.
        text = re.sub(rb"\\[rn]|[\s\\]", b"", match[0]).translate(_URL_SAFE).rstrip(b"=")
        with suppress(binascii.Error):
            yield from unpacked(
                base64.b64decode(text[: len(text) // 4 * 4 + (len(text) % 4 > 1) * 4] + b"=="), depth - 1
            )


def forms_of(secret: str) -> Iterator[bytes]:
    """Plain, in base64, UTF-16, an address and JSON."""
    yield secret.encode()
    yield base64.b64encode(secret.encode())
    yield secret.encode("utf-16-le")
    yield quote(secret, safe="").encode()
    yield quote(secret).encode()
    yield json.dumps(secret)[1:-1].encode()


def _places(bench: Bench) -> Iterator[tuple[str, bytes]]:
    for run in bench.runs:
        shown = " ".join(Path(word).name for word in run.arguments[:4])
        yield f"stdout of {shown}", run.stdout.encode()
        yield f"stderr of {shown}", run.stderr.encode()
    for path in sorted(bench.directory.rglob("*")):
        if path.is_file() and path not in bench.files and not path.is_relative_to(bench.lab.directory):
            yield str(path.relative_to(bench.directory)), path.read_bytes()
    for name, host in bench.lab.hosts.items():
        yield f"the commands sent to {name}", "\n".join(bench.lab.ledger.node(name).commands).encode()
        # Script blocks and command lines, where script block logging (4104) and process auditing (4688) are on.
        yield f"the event log of {name}", "\n".join(bench.lab.ledger.logged(name)).encode()
        yield from host.in_turn(lambda node=host.node: list(_of_node(node)))  # type: ignore[misc]


def _of_node(node: SimulatedNode) -> Iterator[tuple[str, bytes]]:
    for path, entry in node.drive.walk():
        lower = path.lower()
        # A batch's backup of a file holds what the file held, behind the same DACL.
        own = lower.startswith("c:\\programdata\\winkube\\") and "\\backup\\" not in lower
        if entry.kind == "file" and (own or _others_read(node, path)):
            yield f"{node.name}: {path}", entry.data
    dump = node.dump()
    yield f"{node.name}: the scheduled tasks", json.dumps(dump["tasks"]).encode()
    yield f"{node.name}: the registry", json.dumps(dump["registry"]).encode()
    yield f"{node.name}: the command lines of all processes (4688)", "\n".join(node.processes.started).encode()


def _others_read(node: SimulatedNode, path: str) -> bool:
    return any(ace.kind == "A" and ace.sid not in PRIVATE for ace in node.drive.security(path).aces)
