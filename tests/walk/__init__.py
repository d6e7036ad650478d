"""A newcomer's walk: an environment with plain ansible-core goes through the pages that a team reads first.

    make walk                           # or of some: PAGES="examples/infra-repo/README.md ten-nodes"

A clone and a virtual environment are made in a temporary folder, with what the collection's requirements.txt names and
nothing else. Then every command behind a `$` in the console blocks of the pages (pages.py) is executed in the order of
the page, against a lab of its own, or is listed with the reason why not: a command that is in neither is an error. Each
is told with its exit status and how many lines it printed. At the end ten nodes join and two of them die, and what that
shows at Ansible's defaults is judged line by line (fleet.py). The last line is one JSON object.

What is not as at a user's: downloads come from the lab (`-e @lab.json`, as from a mirror), ssh takes the lab's
configuration, kubectl is a small one of the walk, the collections that galaxy.yml names come from PyPI's `ansible`
where there is no way to Galaxy, Windows Update is a stand-in. No Windows is in it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.integration.lab import ROOT, Bench
from tests.integration.whole import BASE, Kind, write_sums
from tests.lab.cluster.cluster import Cluster

KIND = Kind("overlay", "nssm", "1.37.1", "2.3.7", "vxlan")
BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
FENCED = re.compile(r"^```yaml\n# (\S+?)(?:, below spec:)?\n(.*?)^```", re.DOTALL | re.MULTILINE)
MINUTES = "it takes minutes, and {} runs it"
DEMO = MINUTES.format("tests/integration/test_demo.py")


def commands(page: Path) -> list[str]:
    """What stands behind a `$` in the page's console blocks, without comments, in its order."""
    lines = [line for block in BLOCK.findall(page.read_text(encoding="utf-8")) for line in block.splitlines()]
    return [re.split(r"\s{2,}#", line[2:])[0].strip() for line in lines if line.startswith("$ ")]


def documents(page: Path) -> list[tuple[str, str]]:
    """The YAML blocks of a page that begin with the name of their file: (name, text)."""
    return FENCED.findall(page.read_text(encoding="utf-8"))


@dataclass
class Place:
    """The newcomer's machine: a clone, an environment, a home."""

    root: Path
    executed: int = 0
    left_out: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @property
    def clone(self) -> Path:
        return self.root / "winkube.node"

    @property
    def scripts(self) -> Path:
        return self.root / "environment" / "bin"

    @property
    def others(self) -> Path:
        """The collections that galaxy.yml names, and what a newcomer has beside them: kubectl."""
        return self.root / "others"

    @property
    def archive(self) -> Path:
        return next((self.clone / "build").glob("winkube-node-*.tar.gz"))

    def make(self) -> None:
        """What README and installing.md say, before the first command of a page."""
        made = self.root / "environment"
        self.must("git", "clone", "--quiet", str(ROOT), str(self.clone))
        self.must(sys.executable, "-m", "venv", str(made))
        self.must(str(self.scripts / "pip"), "install", "--quiet", "-r", str(self.clone / "requirements.txt"))
        self.must(
            *(str(self.scripts / "pip"), "install", "--quiet", "--no-deps", "--target", str(self.others), "ansible")
        )
        link = self.clone / ".venv" / "collections" / "ansible_collections" / "winkube" / "node"
        link.parent.mkdir(parents=True)
        link.symlink_to(Path("../../../.."))
        self.must(*(str(self.scripts / "ansible-galaxy"), "collection", "build", "--output-path", "build"))
        program = self.others / "kubectl"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).parent / "kubectl.py"} "$@"\n')
        program.chmod(0o755)

    def must(self, *command: str) -> str:
        """A command that is not a page's, in the clone where that is there."""
        folder = self.clone if self.clone.exists() else self.root
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
        environment = kept | {"HOME": str(self.root), "ANSIBLE_HOME": str(self.root / "galaxy")}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"walk: {shlex.join(command)}: {done.stdout}{done.stderr}")
        return done.stdout


@dataclass
class Walk:
    """One page: a lab, the folder in which it is read, and what its commands are given besides."""

    place: Place
    page: Path
    folder: Path
    bench: Bench
    extra: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    def execute(self, command: str, wanted: int) -> str:
        """One command of the page, and its standard output; what it said is shown where its exit status is another
        one."""
        line = command
        if command.split()[0].endswith("ansible-playbook"):
            (self.folder / "lab.json").write_text(json.dumps(self.extra), encoding="utf-8")
            line += " -e @lab.json"
        if command.startswith("ssh "):
            line = command.replace("ssh ", f"ssh -F {shlex.quote(str(self.bench.lab.ssh_config))} ", 1)
        environment = {**self.bench.environment(), **self.environment}
        paths = [str(self.folder / "collections"), str(self.place.others)]
        if self.folder == self.place.clone:
            paths = [str(self.place.clone / ".venv" / "collections"), str(self.place.others)]
        environment["ANSIBLE_COLLECTIONS_PATH"] = os.pathsep.join([*self._first_collections(), *paths])
        environment["PATH"] = os.pathsep.join([str(self.place.scripts), str(self.place.others), environment["PATH"]])
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout + done.stderr
        self.place.executed += 1
        lines = len(said.splitlines())
        right = done.returncode == wanted and "Traceback" not in said
        ended = f"exit status {done.returncode}, {lines} lines"
        print(f"{'ok    ' if right else 'FAILED'} {self.name}: {command} ({ended})", flush=True)
        if not right:
            self.place.failed.append(f"{self.name}: {command}")
            print(said)
        return done.stdout

    @property
    def name(self) -> str:
        return str(self.page.relative_to(ROOT))

    def _first_collections(self) -> list[str]:
        return [self.environment["WALK_COLLECTIONS"]] if "WALK_COLLECTIONS" in self.environment else []

    def whole(self, **settings: Any) -> Cluster:
        """A cluster to join, and the lab's downloads."""
        cluster = self.bench.cluster(version=KIND.kubernetes, backend=KIND.backend, **settings)
        sums = write_sums(self.bench.lab.sources, self.bench.directory, KIND)
        self.extra |= {
            "winkube_download_base": BASE,
            "winkube_download_sums": str(sums),
            "winkube_nssm_checksum": str(sums),
            "winkube_flannel_checksum": str(sums),
        }
        home = Path(self.bench.environment()["HOME"])
        (home / ".kube").mkdir(exist_ok=True)
        shutil.copy(cluster.kubeconfig, home / ".kube" / "config")
        return cluster

    def key(self) -> None:
        """The private key that the pages name; the lab takes any."""
        folder = Path(self.bench.environment()["HOME"]) / ".ssh"
        folder.mkdir(exist_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "id_ed25519"], check=True)

    def write(self, name: str, text: str) -> None:
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise ValueError(f"{self.page}: {name} does not lie in the folder of the walk; a page writes nowhere else.")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def node_yaml(self) -> None:
        """The Node YAML files as the page has them, one below the other."""
        for name, text in documents(self.page):
            path = self.folder / name
            self.write(name, (path.read_text(encoding="utf-8") if path.exists() else "") + text)


@dataclass(frozen=True)
class Step:
    """What becomes of one command: executed, with the exit status that it should have, or left out for a reason.
    `first` is done before it."""

    command: str
    status: int = 0
    left_out: str = ""
    first: Callable[[Walk], object] | None = None


@dataclass(frozen=True)
class Page:
    """A page and its commands. `folder` is where it is read, below the newcomer's; `before` makes its start."""

    path: str
    steps: tuple[Step, ...]
    before: Callable[[Walk], object]
    folder: str = "winkube.node"


def forgotten(page: Page) -> list[str]:
    """Commands of a page that are not in the walk, and the other way round."""
    shown, known = commands(ROOT / page.path), [step.command for step in page.steps]
    return [] if shown == known else [f"{page.path}: the page has {shown}, the walk {known}"]
