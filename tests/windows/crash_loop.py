"""nssm with a program that ends at once: what it says, which states the service has, what is left.

    python -m tests.windows.crash_loop        records it on Wine, with each nssm.exe at hand

The same story is told by a node of the lab and by one made of Wine. What Wine's told last is recorded in
tests/recorded/crash-loop, so that the lab is compared where there is no Wine.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.lab.machine.node import SimulatedNode
from tests.real import build
from tests.windows.machine import witness
from tests.windows.machine.node import WineNode
from tests.wine import nssm
from tests.wine.prefix import Prefix
from tests.wine.transcripts import printed

RECORDED = Path(__file__).resolve().parents[1] / "recorded" / "crash-loop"
NSSM, SC = r"C:\k\nssm.exe", r"C:\Windows\System32\sc.exe"
PROGRAM, GONE = r"C:\k\kubelet.exe", r"C:\k\gone.exe"
LOGS = r"C:\k\logs"
LOG = LOGS + r"\kubelet.log"
SETTINGS = (
    ("AppParameters", "--nonsense"),
    ("AppDirectory", LOGS),
    ("AppStdout", LOG),
    ("AppStderr", LOG),
    ("AppRestartDelay", "500"),
    ("AppExit", "Default", "Restart"),
)
WATCHED_S = 14.0
STEP_S = 0.2
KUBERNETES = "1.37.1"


@dataclass(frozen=True)
class Said:
    """One command line and what came of it."""

    line: str
    exit: int
    out: str


@dataclass(frozen=True)
class Story:
    """states: those of the service while its program ended again and again; ends: state, exit code and specific exit
    code after it was stopped, with a program that is not there, and with AppExit Exit; runs: how often the log has the
    program's words."""

    said: tuple[Said, ...]
    states: tuple[str, ...]
    ends: tuple[tuple[str, int, int], ...]
    runs: int


def tell(node: SimulatedNode) -> Story:
    """nssm.exe and a program that knows no --nonsense are there already."""
    said: list[Said] = []

    def run(program: str, *line: str) -> None:
        done = node.run(program, list(line))
        name = program.rpartition("\\")[2].removesuffix(".exe")
        said.append(Said(f"{name} {' '.join(line)}", done.exit_code, printed(done.stdout, done.stderr)))

    def end() -> tuple[str, int, int]:
        found = node.services.runtime("kubelet")
        return found.state, found.exit_code, found.service_exit_code

    node.drive.mkdir(LOGS)
    run(NSSM, "install", "kubelet", PROGRAM)
    for setting in SETTINGS:
        run(NSSM, "set", "kubelet", *setting)
    run(NSSM, "start", "kubelet")
    states: set[str] = set()
    until = node.clock.now() + WATCHED_S
    while node.clock.now() < until:
        states.add(node.services.state("kubelet"))
        node.clock.advance(STEP_S)
    run(NSSM, "start", "kubelet")
    run(SC, "start", "kubelet")
    run(NSSM, "stop", "kubelet")
    run(NSSM, "status", "kubelet")
    run(NSSM, "stop", "kubelet")
    run(SC, "stop", "kubelet")
    ends = [end()]
    runs = node.drive.read(LOG).count(b"unknown flag: --nonsense")
    run(NSSM, "set", "kubelet", "Application", GONE)
    run(NSSM, "start", "kubelet")
    ends.append(end())
    run(NSSM, "set", "kubelet", "Application", PROGRAM)
    run(NSSM, "set", "kubelet", "AppExit", "Default", "Exit")
    node.run(SC, ["start", "kubelet"])
    node.clock.advance(5.0)
    ends.append(end())
    run(NSSM, "remove", "kubelet", "confirm")
    run(NSSM, "status", "kubelet")
    return Story(tuple(said), tuple(sorted(states)), tuple(ends), runs)


@contextmanager
def on_wine(folder: Path, version: str) -> Iterator[SimulatedNode]:
    """A machine made of Wine with this nssm.exe. Its kubelet.exe is one, or kubeadm.exe where none is built: both end
    with 1 for a flag that they do not know."""
    program = build.program("kubelet", KUBERNETES, "windows")
    if not program.exists():
        program = build.program("kubeadm", KUBERNETES, "windows")
    with Prefix(folder) as prefix:
        node = WineNode("win1", prefix, witness.build())
        try:
            node.drive.mkdir(r"C:\k")
            node.drive.write(NSSM, nssm.fetch(nssm.BUILDS[version]).read_bytes())
            node.drive.write(PROGRAM, program.read_bytes())
            yield node
        finally:
            node.close()


def recorded() -> dict[str, Story]:
    """By nssm's version."""
    found = {}
    for path in sorted(RECORDED.glob("*.json")):
        read = json.loads(path.read_text(encoding="utf-8"))["story"]
        said = tuple(Said(**line) for line in read["said"])
        ends = tuple((str(state), int(code), int(specific)) for state, code, specific in read["ends"])
        found[path.stem.removeprefix("nssm-")] = Story(said, tuple(read["states"]), ends, int(read["runs"]))
    return found


def main() -> None:
    RECORDED.mkdir(exist_ok=True)
    for version, one in nssm.BUILDS.items():
        if not one.at_hand():
            print(f"nssm {version}: not recorded, needs {one.client}")
            continue
        with tempfile.TemporaryDirectory() as folder, on_wine(Path(folder) / "prefix", version) as node:
            document = {"on": f"Wine {node.prefix.version()}", "story": asdict(tell(node))}  # type: ignore[attr-defined]
        text = json.dumps(document, indent=1) + "\n"
        (RECORDED / f"nssm-{version}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
