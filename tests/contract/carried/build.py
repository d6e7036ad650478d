"""The contract as an archive for a Windows machine that has neither Ansible nor Python: make contract-archive

What a module is started with is what Ansible sends, with one word in the place of its option; a case is a list of steps
(../steps.py) with what is wanted of each. `run.ps1` takes the steps, says what is not as wanted and writes the report
that `judge.py` judges once more.
"""

from __future__ import annotations

import argparse
import base64
import json
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.conftest import import_as_collection  # noqa: E402

if __name__ == "__main__":
    import_as_collection()

from tests.contract import people  # noqa: E402
from tests.contract.carried.journey import Download, journeys  # noqa: E402
from tests.contract.case import Case, Tree, all_cases  # noqa: E402
from tests.contract.check import expected_files  # noqa: E402
from tests.contract.implementations import Link, Place, content  # noqa: E402
from tests.contract.place_script import script_block  # noqa: E402
from tests.contract.powershell import payload, wire  # noqa: E402
from tests.contract.provides import ARCHIVE  # noqa: E402
from tests.contract.steps import Look, LookState, Prepare, Put, Run, Start, Step, Steps, steps_of  # noqa: E402
from tests.contract.web import PAGES  # noqa: E402
from tests.quality.powershell_programs import program  # noqa: E402
from tests.unit.powershell.source import FOLDER, read  # noqa: E402

HERE = Path(__file__).parent
PROCESS = FOLDER / "runner" / "10_process.ps1"
"""The runner's way to start programs."""
NAME = "winkube-contract"
RUNNER = "@RUNNER@"
ARGUMENT = "@ARGUMENT@"
CONTAINERD = "2.3.7"
RELEASES = "https://github.com/containerd/containerd/releases/download/v{0}/containerd-{0}-windows-amd64.tar.gz"
BASE = "C:\\winkube-contract"
PLACE = Place(
    f"{BASE}\\root",
    f"{BASE}\\state",
    {
        "powershell": "@POWERSHELL@",
        "shell": "C:\\Windows\\System32\\cmd.exe",
        "shell_flag": "/c",
        "web": "http://127.0.0.1:@WEB_PORT@",
        "web_host": "127.0.0.1",
        "web_port": "@WEB_PORT@",
        "drive": "@DRIVE@\\contract",
    },
)


def runner() -> Mapping[str, str]:
    """The runner as envelopes name it: its text is put in on the machine, so that it is carried once."""
    from ansible_collections.winkube.node.plugins.plugin_utils.node.runner_text import hns_text, runner_sha256

    texts = {"hns": hns_text(), "hns_read": hns_text(reads=True)}
    return {"sha256": runner_sha256(), "text": RUNNER, **texts}


def carried_steps(case: Case) -> Steps:
    """The steps of a case as they are carried, the preparation included."""
    found = steps_of(case, PLACE, runner())
    return Steps((Prepare(case.before), *found.main), found.last)


def rendered(module: str, check_mode: bool) -> str:
    """What Ansible sends to the standard input of PowerShell, with ARGUMENT as the option's value."""
    option = "batch" if module == "node_apply" else "request"
    _, data = payload(module, {option: ARGUMENT}, check_mode)
    text = data.decode("ascii")
    if text.count(ARGUMENT) != 1:
        raise ValueError(f"{ARGUMENT} stands {text.count(ARGUMENT)} times in what Ansible sends for {module}, not once")
    return text


def script() -> str:
    """run.ps1: its parameters, what it needs of the collection's own functions, the rest."""
    head, *rest = (read(HERE / name) for name in ("head.ps1", "judge.ps1", "run.ps1"))
    return program([head, read(PROCESS), *rest])


def commit() -> str:
    """The checkout's commit; empty where there is no git."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _request(verb: str, **more: Any) -> str:
    return json.dumps({"verb": verb, "root": PLACE.root, "state": PLACE.state, **more})


def _runner_put_in(files: Mapping[str, bytes]) -> dict[str, bytes | Link | None]:
    from ansible_collections.winkube.node.plugins.plugin_utils.node.runner_text import runner_text

    return {name: runner_text().encode() if data == RUNNER.encode() else data for name, data in files.items()}


def _open(file: dict[str, Any]) -> dict[str, Any]:
    """As text where it names what only the machine knows: in base64 no word would be found."""
    data = base64.b64decode(file["data"])
    if b"@WEB_PORT@" not in data:
        return file
    return {"path": file["path"], "kind": "file", "text": data.decode("ascii")}


def carried(step: Step) -> dict[str, Any]:
    """A step as run.ps1 reads it; all keys of a kind are always there."""
    match step:
        case Prepare():
            files = {name: content(value, PLACE) for name, value in step.tree.files.items()}
            return {
                "do": "place",
                "request": _request("prepare", files=wire(files), registry=step.tree.registry),
            }
        case Put():
            return {
                "do": "place",
                "request": _request("put", files=[_open(file) for file in wire(_runner_put_in(step.files))]),
            }
        case Start():
            return {"do": "place", "request": _request("start")}
        case Run():
            return {
                "do": "run",
                "module": step.module,
                "payload": f"{step.module}{'-check' if step.check_mode else ''}",
                "sent": json.dumps(step.sent),
                "what": step.what,
                "outcome": step.outcome,
                "wants": [{"what": want.what, "at": list(want.at), "value": want.value} for want in step.wants],
            }
        case Look():
            return {
                "do": "look",
                "what": step.what,
                "request": _request("observe"),
                "files": list(_wanted(step.tree)),
                "registry": step.tree.registry,
            }
        case LookState():
            return {
                "do": "state",
                "what": step.what,
                "request": _request("state"),
                "files": step.files,
                "hidden": list(step.hidden),
            }


def _wanted(tree: Tree) -> Iterator[dict[str, Any]]:
    for name, value in expected_files(tree, PLACE).items():
        described = tree.files.get(name)
        if isinstance(described, Mapping) and "json" in described:
            yield {"path": name, "kind": "json", "value": PLACE.fill(described["json"])}
        elif value is None:
            yield {"path": name, "kind": "directory", "data": ""}
        elif isinstance(value, Link):
            yield {"path": name, "kind": "link", "data": ""}
        else:
            if b"@WEB_PORT@" in value or b"@POWERSHELL@" in value:
                raise ValueError(f"{name}: the content of a file cannot name what only the machine knows")
            yield {"path": name, "kind": "file", "data": base64.b64encode(value).decode()}


def lines(download: Download | None) -> Iterator[dict[str, Any]]:
    """Every case of the archive, in the order in which they run."""
    for journey in journeys(PLACE, runner(), download):
        yield {
            "id": journey.id,
            "stage": journey.stage,
            "once": True,
            "needs": ["services"] if journey.stage == "containerd" else [],
            "skip": journey.skip,
            "main": [carried(step) for step in journey.steps.main],
            "last": [carried(step) for step in journey.steps.last],
        }
    for own in people.CASES:
        yield {
            "id": people.ident(own),
            "stage": "people",
            "once": False,
            "needs": [],
            "skip": "",
            "main": [carried(Prepare(_machine(own))), {"do": "people", **_people(own)}],
            "last": [],
        }
    for case in all_cases():
        missing = sorted(case.needs - ARCHIVE)
        found = None if missing else carried_steps(case)
        yield {
            "id": case.id,
            "stage": "contract",
            "once": False,
            "needs": sorted(case.needs),
            "skip": f"needs {', '.join(missing)}" if missing else "",
            "main": [carried(step) for step in found.main] if found else [],
            "last": [carried(step) for step in found.last] if found else [],
        }


MACHINE = f"{PLACE.root}\\machine"
"""Where the stand-ins of a script for people have their files; beside it lies world.tsv."""


def _machine(case: Mapping[str, Any]) -> Tree:
    return Tree({"world.tsv": people.world(case, MACHINE), **{f"machine/{name}": "" for name in people.files(case)}})


def _people(case: Mapping[str, Any]) -> dict[str, Any]:
    """`root`, and `request`, which looks at all that is there, beside what the step wants."""
    return {**people.step(case, MACHINE), "root": PLACE.root, "request": _request("observe")}


def members(download: Download | None = None) -> dict[str, str]:
    """Name -> text of every file of the archive."""
    from ansible.release import __version__ as core
    from ansible_collections.winkube.node.plugins.plugin_utils.node.runner_text import runner_text

    bootstrap, _ = payload("node_probe", {"request": ARGUMENT}, False)
    web = [
        {
            "start": page.request,
            "header": page.header,
            "lacks": page.lacks,
            "pause_ms": int(page.pause_s * 1000),
            "data": _base64(page.raw()),
        }
        for page in PAGES
    ]
    cases = list(lines(download))
    about = {
        "schema": 1,
        "commit": commit(),
        "ansible_core": core,
        "cases": len(cases),
        "download": asdict(download) if download else None,
    }
    return {
        "run.ps1": script(),
        "web.ps1": (HERE / "web.ps1").read_text(encoding="ascii"),
        "place.ps1": script_block(),
        "bootstrap.txt": base64.b64encode(bootstrap.encode("utf-16-le")).decode(),
        "runner.json": json.dumps(runner_text()),
        "node_probe.payload": rendered("node_probe", False),
        "node_apply.payload": rendered("node_apply", False),
        "node_apply-check.payload": rendered("node_apply", True),
        "web.json": json.dumps(web),
        "about.json": json.dumps(about),
        **{path.name: path.read_text(encoding="ascii") for path in (people.HARNESS, *people.SCRIPTS)},
        "cases.jsonl": "".join(json.dumps(line) + "\n" for line in cases),
    }


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def build(path: Path, download: Download | None = None) -> int:
    """Writes the archive; how many cases it holds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    found = members(download)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in found.items():
            archive.writestr(zipfile.ZipInfo(f"{NAME}/{name}"), text.encode("ascii"), zipfile.ZIP_DEFLATED)
    return found["cases.jsonl"].count("\n")


def _published(url: str) -> str | None:
    """The sha256 that the publisher names beside the archive; None if it cannot be had, which is said."""
    try:
        with urllib.request.urlopen(f"{url}.sha256sum", timeout=20) as answer:
            return str(answer.read(200).decode("ascii").split()[0])
    except (OSError, ValueError, IndexError) as error:
        print(f"{url}.sha256sum could not be read ({error}): the archive is made without containerd.", file=sys.stderr)
        return None


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make contract-archive")
    parser.add_argument("--to", type=Path, default=ROOT / "build" / f"{NAME}.zip")
    parser.add_argument("--containerd", default=CONTAINERD, help="its version (default: %(default)s); empty: none")
    parser.add_argument("--checksum", help="sha256 of its archive (default: what its publisher says)")
    options = parser.parse_args(arguments)
    url = RELEASES.format(options.containerd)
    sha256 = (options.checksum or _published(url)) if options.containerd else None
    count = build(options.to, Download(options.containerd, url, sha256) if sha256 else None)
    print(f"{options.to}: {count} cases, {options.to.stat().st_size // 1024} KB")
    print("On the Windows machine, in a PowerShell of an administrator (docs/first-hour.md):")
    print(f"  tar -xf {NAME}.zip; powershell -NoProfile -ExecutionPolicy Bypass -File {NAME}\\run.ps1")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
