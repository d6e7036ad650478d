"""Writes plugins/plugin_utils/facts/looked_up.txt: each place in a program of a node that starts or looks up another.

    python -m tests.lookups                       every program of PROGRAMS; needs Go and its module proxy
    python -m tests.lookups kubeadm flanneld      these alone, in place of their rows
    python -m tests.lookups csi-proxy=FOLDER      from a checkout, where the module proxy does not hand the project out

Go says which packages and files a build for windows/amd64 is made of; in these the calls are looked for. What is in a
file is linked or left out by the linker, so a row says "may", not "does": facts/looked_up.py says by hand which are
reached, and when.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from tests.lookups.calls import Call, calls, cmdlets, constants
from tests.real import build

TABLE = build.ROOT / "plugins" / "plugin_utils" / "facts" / "looked_up.txt"

PROGRAMS: tuple[tuple[str, str, str], ...] = (
    ("kubernetes", "1.37.1", "kubeadm"),
    ("kubernetes", "1.37.1", "kubelet"),
    ("kubernetes", "1.37.1", "kube-proxy"),
    ("kubernetes", "1.37.1", "kube-log-runner"),
    ("kubernetes", "1.30.4", "kubeadm"),
    ("containerd", "2.3.7", "containerd"),
    ("containerd", "1.7.35", "containerd"),
    ("hcsshim", "0.15.0-rc.1", "containerd-shim-runhcs-v1"),
    ("flannel", "0.28.4", "flanneld"),
    ("flannel-cni", "1.2.0-flannel1", "flannel"),
    ("cni-plugins", "1.9.0", "win-bridge"),
    ("cni-plugins", "1.9.0", "win-overlay"),
    ("cni-plugins", "1.9.0", "host-local"),
    ("csi-proxy", "1.2.1", "csi-proxy"),
)
"""Project, version, program. nssm is not a Go program: its rows stand in facts/looked_up.py."""

COMMAND_LINES = ("github.com/urfave/cli", "github.com/spf13/cobra")
"""Modules whose Command is a word of a command line."""


@dataclass(frozen=True, order=True)
class Row:
    """One call: which program has it linked in, where it stands, what it does with which name."""

    program: str
    version: str
    module: str
    file: str
    line: int
    how: str
    name: str

    def __str__(self) -> str:
        return " | ".join((self.program, self.version, self.module, f"{self.file}:{self.line}", self.how, self.name))


def packages(folder: Path, package: str, *options: str) -> Iterator[dict[str, object]]:
    """What `go list` says of each package of a build for Windows that is not Go's own."""
    fields = "ImportPath,Dir,GoFiles,Standard,Module"
    said = build.go("list", "-deps", *options, f"-json={fields}", package, cwd=folder, capture=True, system="windows")
    decoder, at = json.JSONDecoder(), 0
    while at < len(said.rstrip()):
        found, end = decoder.raw_decode(said, at)
        at = end + len(said[end:]) - len(said[end:].lstrip())
        if not found.get("Standard"):
            yield found


def rows(project: str, version: str, program: str, checkout: Path | None = None) -> Iterator[Row]:
    """`checkout`: a folder with the project at this version, for one that the proxy does not hand out."""
    with tempfile.TemporaryDirectory() as temporary:
        if checkout is None:
            folder = build.prepare(project, version, Path(temporary) / "module")
            found = list(packages(folder, build.PROJECTS[project].package(program, version)))
        else:
            vendored = ("-mod=vendor",) if (checkout / "vendor").is_dir() else ()
            found = list(packages(checkout, f"./{build.PROJECTS[project].programs[program]}", *vendored))
    for package in found:
        module = package.get("Module")
        assert isinstance(module, dict)
        if str(module["Path"]).startswith(COMMAND_LINES):
            continue
        told = module.get("Replace") or module
        place = Path(str(package["Dir"]))
        root = Path(str(told.get("Dir") or (checkout or place) / "vendor" / str(told["Path"])))
        names = package.get("GoFiles")
        assert isinstance(names, list)
        sources = {name: (place / str(name)).read_text(encoding="utf-8", errors="replace") for name in names}
        known = constants(sources.values())
        for name, source in sorted(sources.items()):
            for call in chain(calls(source, known), cmdlets(source)):
                release = str(told.get("Version") or f"v{version}")
                yield _row(program, version, f"{told['Path']}@{release}", place / name, root, call)


def _row(program: str, version: str, module: str, path: Path, root: Path, call: Call) -> Row:
    return Row(program, version, module, path.relative_to(root).as_posix(), call.line, call.how, call.name)


def read(text: str) -> list[Row]:
    """The table's rows."""
    found = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            program, version, module, place, how, name = line.split(" | ")
            file, _, number = place.rpartition(":")
            found.append(Row(program, version, module, file, int(number), how, name))
    return found


HEAD = """\
# Each place in a program of a node, built for windows/amd64, that starts another program or looks one up.
# program | version | module@version | file:line | how | name; a name in <> is an expression of Go, see looked_up.py.
# Made by `make lookups`; do not edit.
"""


def main(words: Sequence[str]) -> int:
    found = set(read(TABLE.read_text(encoding="utf-8"))) if TABLE.exists() else set()
    failed = 0
    given = {name: Path(folder).absolute() if folder else None for name, _, folder in (w.partition("=") for w in words)}
    for project, version, program in PROGRAMS:
        if given and program not in given:
            continue
        try:
            new = set(rows(project, version, program, given.get(program)))
            runs = {row.module for row in new if "powershell" in f"{row.how} {row.name}".lower()}
            new = {row for row in new if row.how != "cmdlet" or row.module in runs}
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{program} {version} could not be read, its rows stay: {error}", file=sys.stderr)
            failed = 1
            continue
        print(f"{program} {version}: {len(new)} places", flush=True)
        found = {row for row in found if (row.program, row.version) != (program, version)} | new
        TABLE.write_text(HEAD + "".join(f"{row}\n" for row in sorted(found)), encoding="utf-8")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
