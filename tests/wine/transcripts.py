"""Transcripts: what real programs answered to a list of command lines, and the lines themselves.

A file of tests/recorded/transcripts is `{program, version, on, date, by, lines: [{argv, exit, out, registry}]}`:
`argv` without the program, `out` what it printed (stdout, then stderr; text, lines ended by LF, blanks at their ends
and empty lines at both ends cut off), `registry` what the line changed below the service's key: `name` or
`subkey\\name` to `[type, data]`, or to null for a value that is gone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "recorded" / "transcripts"
SERVICE = "winkube-transcript"
NOWHERE = "winkube-nowhere"
WORKER = r"C:\k\worker.exe"

Changes = Mapping[str, tuple[str, str] | None]

NSSM_LINES: tuple[tuple[str, ...], ...] = (
    ("status", NOWHERE),
    ("get", NOWHERE, "Application"),
    ("set", NOWHERE, "Application", WORKER),
    ("reset", NOWHERE, "AppExit", "Default"),
    ("start", NOWHERE),
    ("stop", NOWHERE),
    ("remove", NOWHERE, "confirm"),
    ("install", SERVICE, WORKER, "--first", "a b"),
    ("install", SERVICE, WORKER),
    ("status", SERVICE),
    ("stop", SERVICE),
    ("get", SERVICE, "Application"),
    ("get", SERVICE, "AppParameters"),
    ("get", SERVICE, "AppDirectory"),
    ("get", SERVICE, "AppExit", "Default"),
    ("get", SERVICE, "AppThrottle"),
    ("get", SERVICE, "AppRotateFiles"),
    ("get", SERVICE, "AppStdout"),
    ("get", SERVICE, "Start"),
    ("get", SERVICE, "DisplayName"),
    ("get", SERVICE, "AppNonsense"),
    ("set", SERVICE, "AppNonsense", "1"),
    ("set", SERVICE, "AppParameters", "--v=4", r"--config=C:\a b\c.yaml"),
    ("get", SERVICE, "AppParameters"),
    ("set", SERVICE, "AppDirectory", r"C:\k"),
    ("set", SERVICE, "AppStdout", r"C:\logs\worker.log"),
    ("set", SERVICE, "AppStderr", r"C:\logs\worker.log"),
    ("get", SERVICE, "AppStdout"),
    ("set", SERVICE, "AppThrottle", "2000"),
    ("set", SERVICE, "AppThrottle", "1500"),
    ("set", SERVICE, "AppRotateFiles", "1"),
    ("set", SERVICE, "AppRotateOnline", "1"),
    ("set", SERVICE, "AppRotateBytes", "10485760"),
    ("get", SERVICE, "AppRotateBytes"),
    ("set", SERVICE, "AppRestartDelay", "0"),
    ("set", SERVICE, "AppEnvironmentExtra", "KUBE_NETWORK=cbr0", "A=b c"),
    ("get", SERVICE, "AppEnvironmentExtra"),
    ("reset", SERVICE, "AppEnvironmentExtra"),
    ("get", SERVICE, "AppEnvironmentExtra"),
    ("set", SERVICE, "AppExit", "Default", "Exit"),
    ("set", SERVICE, "AppExit", "3", "Ignore"),
    ("get", SERVICE, "AppExit", "3"),
    ("set", SERVICE, "AppExit", "Default", "Nonsense"),
    ("reset", SERVICE, "AppExit", "3"),
    ("reset", SERVICE, "AppExit", "Default"),
    ("reset", SERVICE, "AppStdout"),
    ("reset", SERVICE, "AppRotateFiles"),
    ("set", SERVICE, "Start", "SERVICE_DEMAND_START"),
    ("get", SERVICE, "Start"),
    ("set", SERVICE, "Start", "SERVICE_NONSENSE"),
    ("set", SERVICE, "DisplayName", "A worker"),
    ("get", SERVICE, "DisplayName"),
    ("set", SERVICE, "Description", "It works."),
    ("get", SERVICE, "Description"),
    ("set", SERVICE, "DependOnService", "RpcSs"),
    ("get", SERVICE, "DependOnService"),
    ("remove", SERVICE, "confirm"),
    ("status", SERVICE),
)
"""Not `remove` without confirm, and not a line without its value: these open a window."""

SC_LINES: tuple[tuple[str, ...], ...] = (
    ("query", NOWHERE),
    ("qc", NOWHERE),
    ("config", NOWHERE, "start=", "auto"),
    ("failure", NOWHERE, "reset=", "60", "actions=", "restart/1000"),
    ("start", NOWHERE),
    ("stop", NOWHERE),
    ("delete", NOWHERE),
    ("create", SERVICE, "start=", "auto"),
    ("create", SERVICE, "binPath=", r'"C:\a b\w.exe" --x "y z"', "start=", "auto", "DisplayName=", "A worker"),
    ("create", SERVICE, "binPath=", WORKER),
    ("query", SERVICE),
    ("qc", SERVICE),
    ("stop", SERVICE),
    ("description", SERVICE, "It works."),
    ("config", SERVICE, "start=", "demand"),
    ("config", SERVICE, "binPath=", WORKER),
    ("failure", SERVICE, "reset=", "60", "actions=", "restart/1000/restart/5000"),
    ("failureflag", SERVICE, "1"),
    ("nonsense", SERVICE),
    ("delete", SERVICE),
    ("query", SERVICE),
    ("delete", SERVICE),
)

NO_FILE = "/nowhere/config.toml"
CONTAINERD_LINES: tuple[tuple[str, ...], ...] = (
    ("--version",),
    ("--nonsense",),
    ("config", "default"),
    ("--config", NO_FILE, "config", "dump"),
)
NO_SOCKET = "/nowhere/containerd.sock"
CTR_LINES: tuple[tuple[str, ...], ...] = (("--version",), ("--address", NO_SOCKET, "version"))


@dataclass(frozen=True)
class Line:
    """One command line and what came of it."""

    argv: tuple[str, ...]
    exit: int
    out: str
    registry: Changes = field(default_factory=dict)

    @property
    def shown(self) -> str:
        return " ".join(self.argv)


@dataclass(frozen=True)
class Transcript:
    """One file."""

    program: str
    version: str
    on: str
    date: str
    by: str
    lines: tuple[Line, ...]

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.program}-{self.version}.json"


def write(transcript: Transcript) -> None:
    """One line of the file for each command line, so that a difference can be read."""
    head = {key: value for key, value in asdict(transcript).items() if key != "lines"}
    lines = [json.dumps(asdict(line), ensure_ascii=False) for line in transcript.lines]
    text = json.dumps(head, indent=1)[:-2] + ',\n "lines": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n"
    FOLDER.mkdir(parents=True, exist_ok=True)
    transcript.path.write_text(text, encoding="utf-8")


def read(path: Path) -> Transcript:
    """A file as `write` made it. KeyError or ValueError for anything else."""
    found = json.loads(path.read_text(encoding="utf-8"))
    lines = tuple(
        Line(
            tuple(line["argv"]),
            int(line["exit"]),
            line["out"],
            {name: tuple(value) if value else None for name, value in line["registry"].items()},
        )
        for line in found.pop("lines")
    )
    return Transcript(**found, lines=lines)


def recorded(program: str) -> Iterator[Transcript]:
    """Every transcript of a program."""
    for path in sorted(FOLDER.glob(f"{program}-*.json")):
        yield read(path)


def printed(stdout: bytes, stderr: bytes) -> str:
    """What was printed, as a transcript has it. nssm writes UTF-16 into a pipe, builds after 2.24 bytes."""
    texts = [_decoded(data).replace("\r", "") for data in (stdout, stderr)]
    return "\n".join(line.rstrip() for line in "".join(texts).split("\n")).strip()


def _decoded(data: bytes) -> str:
    if data[1:2] == b"\0":
        return data.decode("utf-16-le", "replace")
    return data.decode("cp437")


def changes(
    before: Mapping[str, tuple[str, str]], after: Mapping[str, tuple[str, str]]
) -> dict[str, tuple[str, str] | None]:
    """What is new, other or gone."""
    return {name: after.get(name) for name in sorted({*before, *after}) if before.get(name) != after.get(name)}
