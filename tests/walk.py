"""A newcomer's walk: an environment with plain ansible-core goes through the pages that a team reads first.

    make walk

A clone and a virtual environment are made in a temporary folder, with what the collection's requirements.txt names and
nothing else. Then every command that stands behind a `$` in the console blocks of PAGES is executed in the order of the
page, against a lab of its own, or is listed with the reason why not: a command that nobody has thought of is an error.
The last line is one JSON object.

What is not as at a user's: downloads come from the lab (`-e @lab.json`, as from a mirror), ssh takes the lab's
configuration, the collections that galaxy.yml names come from PyPI's `ansible` where there is no way to Galaxy, Windows
Update is a stand-in. No Windows is in it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
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
        """The collections that galaxy.yml names."""
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

    def must(self, *command: str) -> str:
        """A command that is no page's, in the clone where that is there."""
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

    def execute(self, command: str, wanted: int) -> None:
        """One command of the page; what it said is shown where its exit status is another one."""
        line = command
        if command.startswith("ansible-playbook "):
            (self.folder / "lab.json").write_text(json.dumps(self.extra), encoding="utf-8")
            line += " -e @lab.json"
        if command.startswith("ssh "):
            line = command.replace("ssh ", f"ssh -F {shlex.quote(str(self.bench.lab.ssh_config))} ", 1)
        environment = {**self.bench.environment(), **self.environment}
        paths = [str(self.folder / "collections"), str(self.place.others)]
        if self.folder == self.place.clone:
            paths = [str(self.place.clone / ".venv" / "collections"), str(self.place.others)]
        environment["ANSIBLE_COLLECTIONS_PATH"] = os.pathsep.join([*self._first_collections(), *paths])
        environment["PATH"] = f"{self.place.scripts}{os.pathsep}{environment['PATH']}"
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
        right = done.returncode == wanted and "Traceback" not in said
        print(f"{'ok    ' if right else 'FAILED'} {self.name}: {command} (exit status {done.returncode})", flush=True)
        if not right:
            self.place.failed.append(f"{self.name}: {command}")
            print(said)

    @property
    def name(self) -> str:
        return str(self.page.relative_to(ROOT))

    def _first_collections(self) -> list[str]:
        return [self.environment["WALK_COLLECTIONS"]] if "WALK_COLLECTIONS" in self.environment else []

    def whole(self) -> Cluster:
        """A cluster to join, and the lab's downloads."""
        cluster = self.bench.cluster(version=KIND.kubernetes, backend=KIND.backend)
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
        path = self.folder / name
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


def readme(walk: Walk) -> None:
    walk.bench.node("win1", "192.168.122.220", containers=False)
    walk.whole()
    walk.key()
    walk.node_yaml()
    walk.write("nodes/group_vars/windows_nodes.yml", "winkube_cluster: {kubeconfig: ~/.kube/config}\n")


def fresh_nodes(walk: Walk) -> None:
    """Getting started begins with a folder without nodes."""
    shutil.rmtree(walk.folder / "nodes")
    walk.bench.node("win1", "192.168.122.220", containers=False)
    walk.whole()
    walk.key()
    (name, text), *_ = documents(walk.page)
    walk.write(name, text)


def with_kubernetes(walk: Walk) -> None:
    """Step 4: what is added to the Node YAML, and the variables."""
    shutil.rmtree(walk.folder / "nodes")
    walk.node_yaml()
    checksum = re.compile(r"^winkube_flannel_checksum:.*\n", re.MULTILINE)
    path = walk.folder / "nodes" / "group_vars" / "windows_nodes.yml"
    path.write_text(checksum.sub("", path.read_text(encoding="utf-8")), encoding="utf-8")


def infra_repo(walk: Walk) -> None:
    shutil.copytree(ROOT / "examples" / "infra-repo", walk.folder, dirs_exist_ok=True)
    home = Path(walk.bench.environment()["HOME"])
    (home / "winkube.node").symlink_to(walk.place.clone)
    for number in (1, 2):
        walk.bench.node(f"win{number}", f"192.168.10.2{number}", containers=False)
    cluster = walk.whole()
    kinds = (replace(KIND, kubernetes="1.37.0"), replace(KIND, containerd="2.3.8"))
    write_sums(walk.bench.lab.sources, walk.bench.directory, *kinds)
    (walk.folder / "inventory" / "artifacts").mkdir()
    shutil.copy(cluster.kubeconfig, walk.folder / "inventory" / "artifacts" / "admin.conf")
    for name in ("cp1", "linux1"):
        here = f"ansible_connection: local\nansible_python_interpreter: {sys.executable}\n"
        walk.write(f"inventory/host_vars/{name}.yml", here)


def joined(walk: Walk, *names: str) -> None:
    """Two nodes of a cluster, as the infra repository makes them, in the folder of the page."""
    walk.environment["WALK_COLLECTIONS"] = str(walk.place.root / "infra" / "collections")
    lines = ["[windows_nodes]"]
    for number in (1, 2):
        spec = walk.bench.node(f"win{number}", f"192.168.122.23{number}", containers=False).spec
        lines.append(f"win{number} ansible_host={spec.address} ansible_user={spec.username}")
    lines += ["[windows_nodes:vars]", "ansible_connection=ssh", "ansible_shell_type=powershell"]
    walk.write("inventory", "\n".join(lines) + "\n")
    cluster = walk.whole()
    walk.extra |= KIND.variables(winkube_cluster={"kubeconfig": str(cluster.kubeconfig)})
    if names != ("fresh",):
        walk.execute("ansible-playbook -i inventory winkube.node.site", 0)
        cluster.advance(60)


def fresh(walk: Walk) -> None:
    """Two machines, and their fingerprints as their consoles show them."""
    joined(walk, "fresh")
    listed = subprocess.run(
        ["ssh-keygen", "-l", "-f", str(walk.bench.lab.directory / "known_hosts")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    seen = sorted({word for word in listed.split() if word.startswith("SHA256:")})
    walk.write("fingerprints.yml", json.dumps({"winkube_bootstrap_fingerprints": {"win1": seen, "win2": seen}}))


def patched(walk: Walk) -> None:
    """Two whole nodes; a stand-in for Windows Update that has one update for each."""
    joined(walk)
    plugins = walk.folder / "stand-in" / "ansible_collections" / "ansible" / "windows" / "plugins"
    for kind, name, text in (("action", "win_updates.py", UPDATES), ("modules", "win_updates.ps1", "#!powershell\n")):
        (plugins / kind).mkdir(parents=True)
        (plugins / kind / name).write_text(text, encoding="utf-8")
    walk.environment["WALK_COLLECTIONS"] = os.pathsep.join(
        [str(walk.folder / "stand-in"), walk.environment["WALK_COLLECTIONS"]]
    )


UPDATES = '''
from pathlib import Path
from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """One update for each host, until it is installed."""

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        done = Path("updated-" + task_vars["inventory_hostname"])
        found = 0 if done.exists() else 1
        installs = self._task.args["state"] == "installed"
        if installs and not self._task.check_mode:
            done.touch()
        return {"changed": bool(found) and installs, "found_update_count": found, "reboot_required": False}
'''
SITE = "ansible-playbook -i nodes site.yml"
PLAN = f"{SITE} --check --diff"
LAB = MINUTES.format("tests/integration/test_demo.py")
DRIFTING = "ansible-playbook -i inventory winkube.node.drift"
PATCH = "ansible-playbook -i inventory winkube.node.patch"
BOOTSTRAP = "ansible-playbook -i inventory winkube.node.bootstrap -e @fingerprints.yml"


def edited(walk: Walk) -> None:
    """Somebody edits a node by hand."""
    host = walk.bench.lab.host("win1")
    path = r"C:\Program Files\containerd\config.toml"
    host.in_turn(lambda: host.node.drive.write(path, b"version = 3\n"))


PAGES = (
    Page(
        "README.md",
        (
            Step("make demo", left_out=DEMO),
            Step("make test", left_out="it is the tests"),
            Step(PLAN),
            Step(SITE),
        ),
        readme,
    ),
    Page(
        "docs/getting-started.md",
        (
            Step("git clone <the repository>", left_out="the walk begins with it"),
            Step("cd winkube.node", left_out="the walk is there"),
            Step("make demo", left_out=DEMO),
            Step("make lab", left_out=LAB),
            Step(
                'export ANSIBLE_SSH_COMMON_ARGS="-F .lab/ssh_config" ANSIBLE_SSH_CONTROL_PATH_DIR="$PWD/.lab/cp"',
                left_out=LAB,
            ),
            Step('export PATH="$PWD/.venv/bin:$PATH"', left_out=LAB),
            Step("ansible-playbook -i examples/swdt site.yml --check --diff", left_out=LAB),
            Step("ansible-playbook -i examples/swdt site.yml", left_out=LAB),
            Step("ansible-playbook -i examples/swdt site.yml", left_out=LAB),
            Step("python -m tests.lab show sample", left_out=LAB),
            Step("python -m tests.lab fault sample service containerd no_pipe", left_out=LAB),
            Step(
                "ansible-playbook -i examples/swdt site.yml -e winkube_containerd_log_level=debug",
                left_out=LAB,
            ),
            Step("python -m tests.lab fault sample clear", left_out=LAB),
            Step("python -m tests.lab stop", left_out=LAB),
            Step("ssh -i ~/.ssh/id_ed25519 Administrator@192.168.122.220 hostname"),
            Step("ansible-inventory -i nodes --host win1"),
            Step("ansible -i nodes win1 -m ansible.windows.win_ping"),
            Step(PLAN),
            Step(SITE),
            Step(PLAN, first=with_kubernetes),
            Step(SITE),
            Step("ansible-playbook -i nodes playbooks/verify.yml"),
        ),
        fresh_nodes,
    ),
    Page(
        "examples/infra-repo/README.md",
        (
            Step("mkdir vendor && cp ~/winkube.node/build/winkube-node-0.1.0.tar.gz vendor/"),
            Step("ansible-galaxy collection install -r requirements.yml"),
            Step("ansible-inventory --graph"),
            Step("ansible-playbook playbooks/site.yml --check --diff --limit windows_nodes"),
            Step("ansible-playbook playbooks/site.yml"),
            Step("ansible-playbook playbooks/containerd.yml -e winkube_containerd_version=2.3.8"),
        ),
        infra_repo,
        folder="infra",
    ),
    Page(
        "docs/bootstrap.md",
        (
            Step(BOOTSTRAP),
            Step(f"{BOOTSTRAP} -e @vaulted-password.yml", left_out="the lab's machines have no accounts to change"),
        ),
        fresh,
        folder="bootstrap",
    ),
    Page(
        "docs/patch.md",
        (
            Step(f"{PATCH} --check"),
            Step(f"{PATCH} --limit win1"),
            Step(PATCH),
            Step(f"{PATCH} -e winkube_serial=25%"),
        ),
        patched,
        folder="patch",
    ),
    Page(
        "docs/drift.md",
        (
            Step(DRIFTING),
            Step(
                f"{DRIFTING} -e winkube_drift_dir=/srv/reports/windows -e winkube_drift_fail=false",
                left_out="it writes outside of the walk's folder",
            ),
        ),
        joined,
        folder="drift",
    ),
)
"""In the order in which somebody reads them; the infra repository brings the installed collection."""
MORE: Mapping[str, tuple[Step, ...]] = {
    "docs/drift.md": (
        Step(DRIFTING, status=2, first=edited),
        Step(f"{DRIFTING} -e winkube_drift_dir=reports -e winkube_drift_fail=false"),
    )
}
"""What a page says of its commands without showing them."""


def forgotten(page: Page) -> list[str]:
    """Commands of a page that are not in the walk, and the other way round."""
    shown, known = commands(ROOT / page.path), [step.command for step in page.steps]
    return [] if shown == known else [f"{page.path}: the page has {shown}, the walk {known}"]


def walk_page(place: Place, page: Page) -> None:
    folder = place.root / page.folder
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(Path(directory), warm=False)
        try:
            walk = Walk(place, ROOT / page.path, folder, bench)
            page.before(walk)
            for step in (*page.steps, *MORE.get(page.path, ())):
                if step.left_out:
                    place.left_out.append(step.command)
                    print(f"-      {page.path}: {step.command}: {step.left_out}")
                    continue
                if step.first:
                    step.first(walk)
                walk.execute(step.command, step.status)
        finally:
            bench.close()


def main() -> int:
    """0 if every command ended as its page says."""
    if unknown := [each for page in PAGES for each in forgotten(page)]:
        print("\n".join(unknown))
        return 1
    with tempfile.TemporaryDirectory(prefix="walk-") as root:
        place = Place(Path(root))
        place.make()
        print(place.must(str(place.scripts / "ansible"), "--version").splitlines()[0], flush=True)
        for page in PAGES:
            walk_page(place, page)
    found = {
        "pages": len(PAGES),
        "commands": place.executed,
        "failed": len(place.failed),
        "left_out": len(place.left_out),
    }
    print(json.dumps(found))
    return 1 if place.failed else 0


if __name__ == "__main__":
    sys.exit(main())
