"""Three ways to run, each from a fresh folder with nothing but what its own documentation names: the clone, the
installed archive, and a repository of one's own that has a Linux half as well."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lab import ROOT, SCRIPTS, Bench, Recap, Run, parse_recap
from tests.integration.site import checksum

VERSION = "2.3.7"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that git would hand to somebody, and the link that `make setup` makes."""
    folder = tmp_path_factory.mktemp("clone") / "winkube.node"
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        source = ROOT / name
        if source.is_file():  # one that is deleted but not committed yet is still listed
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, folder / name)
    link = folder / ".venv" / "collections" / "ansible_collections" / "winkube" / "node"
    link.parent.mkdir(parents=True)
    link.symlink_to(Path("../../../.."))
    return folder


@pytest.fixture(scope="module")
def archive(clone: Path) -> Path:
    """The collection as `make build` builds it."""
    done = _plain("ansible-galaxy", "collection", "build", "--output-path", "build", cwd=clone)
    assert done.returncode == 0, done.stderr
    (built,) = (clone / "build").glob("winkube-node-*.tar.gz")
    return built


def _plain(*command: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """A command with nothing of the user's Ansible in its environment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    return subprocess.run(
        [str(SCRIPTS / command[0]), *command[1:]],
        cwd=cwd,
        env={**kept, "HOME": str(cwd), "ANSIBLE_HOME": str(cwd / ".ansible")} if env is None else env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def run(bench: Bench, folder: Path, *command: str, collections: Path | None = None) -> Run:
    """A command of Ansible in `folder`: what it needs to know is in the folder's own ansible.cfg, or `collections`."""
    # Where the nodes are is the lab's business, everything else is not to come from a test's environment.
    env = bench.environment()
    del env["ANSIBLE_COLLECTIONS_PATH"]
    env.pop("ANSIBLE_CALLBACKS_ENABLED", None)
    if collections:
        env["ANSIBLE_COLLECTIONS_PATH"] = str(collections)
    done = _plain(*command, cwd=folder, env=env)
    return Run(command, done.returncode, done.stdout, done.stderr, 0.0, parse_recap(done.stdout))


def extra(folder: Path, **variables: Any) -> list[str]:
    """Extra variables that bring containerd alone, from the lab's source server instead of GitHub."""
    wanted = {
        "winkube_kubernetes_version": "",
        "winkube_containerd_version": VERSION,
        "winkube_containerd_url": f"http://xyz/containerd-{VERSION}-windows-amd64.tar.gz",
        "winkube_containerd_checksum": checksum(VERSION),
    }
    path = folder / "mirror.json"
    path.write_text(json.dumps(wanted | variables), encoding="utf-8")
    return ["-e", f"@{path}"]


def state(bench: Bench, name: str) -> str:
    """The state of containerd's service."""
    host = bench.lab.host(name)
    return host.in_turn(lambda: host.node.services.state("containerd"))


def twice(bench: Bench, folder: Path, command: Sequence[str], nodes: Sequence[str], **more: Any) -> tuple[Run, Run]:
    """The same command twice: first it changes the nodes, then nothing, with one remote call each."""
    first = run(bench, folder, *command, **more)
    assert first.rc == 0, first
    for name in nodes:
        assert first.recap[name].changed == 2, first
        assert bench.calls(name) == 3, first
        assert state(bench, name) == "running", first
    bench.reset_ledger()
    second = run(bench, folder, *command, **more)
    assert second.rc == 0, second
    for name in nodes:
        assert second.recap[name].changed == 0, second
        assert bench.calls(name) == 1, second
    return first, second


@pytest.mark.row("NY-21")
def test_the_clone_as_it_is(bench: Bench, clone: Path) -> None:
    bench.node("sample")
    command = ["ansible-playbook", "-i", "examples/swdt", "site.yml"]
    first, _ = twice(bench, clone, command, ["sample"])
    assert first.recap.keys() == {"sample"}
    assert "sample: installed containerd 1.7.11 from http://xyz/containerd.exe" in first.output
    # What the clone's files say, it does as well by the playbook's full name.
    by_name = run(bench, clone, "ansible-playbook", "-i", "examples/swdt", "winkube.node.site")
    assert by_name.recap == {"sample": Recap(ok=1, skipped=1)}, by_name


@pytest.mark.row("NY-21")
def test_the_installed_archive_by_the_playbooks_name(bench: Bench, archive: Path, tmp_path: Path) -> None:
    bench.node("win1", "192.168.10.21")
    folder, installed = tmp_path / "elsewhere", tmp_path / "collections"
    folder.mkdir()
    install = ["collection", "install", str(archive), "-p", str(installed), "--offline"]
    done = run(bench, folder, "ansible-galaxy", *install, collections=installed)
    assert done.rc == 0, done
    assert not (installed / "ansible_collections" / "winkube" / "node" / "tests").exists()

    shutil.copy(ROOT / "examples" / "infra-repo" / "nodes" / "win1.yml", folder / "win1.yml")
    (folder / "nodes.yml").write_text("plugin: winkube.node.node_yaml\npaths: [win1.yml]\n", encoding="utf-8")
    command = ["ansible-playbook", "-i", "nodes.yml", "winkube.node.site", *extra(folder)]
    first, _ = twice(bench, folder, command, ["win1"], collections=installed)
    # The warning about credentials that the plugin cannot see is the only one.
    assert "Traceback" not in first.output


@pytest.fixture
def infra_repo(bench: Bench, archive: Path, tmp_path: Path) -> Path:
    """examples/infra-repo with its collection installed as its README says, its Linux hosts played by this machine."""
    folder = tmp_path / "infra-repo"
    shutil.copytree(ROOT / "examples" / "infra-repo", folder, ignore=shutil.ignore_patterns("collections", "vendor"))
    (folder / "vendor").mkdir()
    shutil.copy(archive, folder / "vendor")
    done = run(bench, folder, "ansible-galaxy", "collection", "install", "-r", "requirements.yml", "--offline")
    assert done.rc == 0, done
    for name in ("cp1", "linux1"):
        here = f"ansible_connection: local\nansible_python_interpreter: {sys.executable}\n"
        path = folder / "inventory" / "mycluster" / "host_vars" / f"{name}.yml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(here, encoding="utf-8")
    return folder


@pytest.mark.exhaustive
@pytest.mark.row("NY-21", "NY-26")
def test_a_repository_of_ones_own_with_a_linux_half(bench: Bench, infra_repo: Path) -> None:
    for number in (1, 2):
        bench.node(f"win{number}", f"192.168.10.2{number}")
    mirror = extra(infra_repo)
    first, second = twice(bench, infra_repo, ["ansible-playbook", "playbooks/site.yml", *mirror], ["win1", "win2"])
    assert {name: recap.changed for name, recap in first.recap.items()} == {"cp1": 0, "linux1": 0, "win1": 2, "win2": 2}
    assert second.recap["cp1"].failed == second.recap["linux1"].failed == 0

    # kubespray's bare names are there, on Windows hosts too, and decide nothing there.
    shown = run(bench, infra_repo, "ansible-inventory", "--host", "win1")
    assert shown.rc == 0, shown
    variables = json.loads(shown.stdout)
    assert variables["containerd_version"] == "2.1.4"
    assert variables["containerd_bin_dir"] == "/usr/local/bin"
    assert variables["winkube_containerd_version"] == VERSION
    windows = bench.lab.host("win1")
    service = windows.in_turn(lambda: windows.node.services.config("containerd").image_path)
    assert "/usr/local/bin" not in service
    assert r"C:\Program Files\containerd\bin\containerd.exe" in service

    # One role alone, with a handler of one's own: nothing to do, one remote call; and a rollout of another release.
    bench.reset_ledger()
    alone = run(bench, infra_repo, "ansible-playbook", "playbooks/containerd.yml", *mirror)
    assert alone.rc == 0, alone
    assert {name: recap.changed for name, recap in alone.recap.items()} == {"win1": 0, "win2": 0}
    assert [bench.calls(name) for name in ("win1", "win2")] == [1, 1]
    assert "has been rolled out" not in alone.output

    newer = extra(
        infra_repo,
        winkube_containerd_version="2.3.8",
        winkube_containerd_url="http://xyz/containerd-2.3.8-windows-amd64.tar.gz",
        winkube_containerd_checksum=checksum("2.3.8"),
    )
    rollout = run(bench, infra_repo, "ansible-playbook", "playbooks/containerd.yml", *newer)
    assert rollout.rc == 0, rollout
    assert rollout.output.count("containerd 2.3.8 has been rolled out on win") == 2, rollout
    assert "win1: installed containerd 2.3.8" in rollout.output, "the steps are printed"


def test_the_default_plugins_do_not_swallow_a_node_yaml_with_a_mistake(bench: Bench, infra_repo: Path) -> None:
    bench.node("win1", "192.168.10.21")
    node = infra_repo / "nodes" / "win2.yml"
    node.write_text(node.read_text(encoding="utf-8").replace("username", "user"), encoding="utf-8")
    refused = run(bench, infra_repo, "ansible-playbook", "playbooks/site.yml", *extra(infra_repo))
    assert refused.rc != 0, refused
    assert "win2.yml:7:5: found the unknown key 'user' in spec.credentials" in refused.output, refused
    assert bench.calls("win1") == 0
