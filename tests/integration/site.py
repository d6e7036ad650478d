"""The clone's site.yml against the nodes of a bench, and what must hold afterwards."""

from __future__ import annotations

import hashlib
import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.integration.lab import ROOT, Bench, Run
from tests.lab.machine.builds import release_archive

SITE = ROOT / "playbooks" / "site.yml"
VERSION = "1.7.11"
URL = f"http://xyz/containerd-{VERSION}-windows-amd64.tar.gz"
CONFIG = r"C:\Program Files\containerd\config.toml"
BINARY = r"C:\Program Files\containerd\bin\containerd.exe"


def checksum(version: str = VERSION) -> str:
    """The checksum option for the archive that the lab's source server serves."""
    return f"sha256:{hashlib.sha256(release_archive('containerd', version)).hexdigest()}"


def served(bench: Bench, url: str) -> str:
    """The checksum option for what the lab's source server answers for this address."""
    with urllib.request.urlopen(f"http://{bench.lab.sources.address}{urlsplit(url).path}") as answer:
        return f"sha256:{hashlib.sha256(answer.read()).hexdigest()}"


def variables(version: str = VERSION, **more: Any) -> dict[str, Any]:
    """Extra variables for a run that installs `version` from the lab's source server."""
    url = URL.replace(VERSION, version)
    wanted = {
        "winkube_containerd_version": version,
        "winkube_containerd_url": url,
        "winkube_containerd_checksum": checksum(version),
    }
    return {"winkube_hosts": "windows", **wanted, **more}


def site(bench: Bench, *args: object, playbook: Path = SITE, version: str = VERSION, **more: Any) -> Run:
    """`ansible-playbook site.yml`; more variables as keywords."""
    env = more.pop("env", None)
    extra = bench.file("extra.json", json.dumps(variables(version, **more)))
    return bench.ansible_playbook(playbook, "-e", f"@{extra}", *args, env=env)


def converge(bench: Bench, *args: object, **more: Any) -> Run:
    """A run that has to succeed."""
    run = site(bench, *args, **more)
    assert run.rc == 0, run
    return run


def without_journal(dump: dict[str, Any]) -> dict[str, Any]:
    """A dump less what the collection keeps about its own work (state folder and runner task)."""
    state = "c:\\programdata\\winkube"
    drive = {path: value for path, value in dump["drive"].items() if not path.lower().startswith(state)}
    tasks = {path: value for path, value in dump["tasks"].items() if not path.lower().startswith("\\winkube")}
    return {**dump, "drive": drive, "tasks": tasks}


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What two dumps do not share, a line each; the collection's own journal left out."""
    return list(_differences("", without_journal(before), without_journal(after)))


def whole_differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """`differences` with the journal, too."""
    return list(_differences("", before, after))


def _differences(where: str, before: Any, after: Any) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}, key=str):
            yield from _differences(f"{where}/{key}", before.get(key), after.get(key))
    elif before != after:
        yield f"{where}: {before!r} -> {after!r}"
