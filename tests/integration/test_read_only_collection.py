"""An installed collection may be read-only: what playbooks write on the controller lies where the command was given.

File modes do not stop root, so Python itself refuses in these runs: an audit hook, which a sitecustomize module brings
into each process of Ansible's.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.site import variables
from tests.quality.sanity import released_files

READ_ONLY = """
import errno
import os
import sys

FOLDERS, REFUSED = {folders!r}, {refused!r}
FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
CHANGES = {{f"os.{{name}}" for name in "mkdir rename remove rmdir symlink link chmod chown utime".split()}}


def hook(event, arguments):
    if event == "open" and arguments[2] & FLAGS:
        paths = arguments[:1]
    elif event in CHANGES and arguments[-1] == -1:  # otherwise the name is one in a folder that is open
        paths = arguments[:2]
    else:
        return
    for path in paths:
        if isinstance(path, (str, bytes)) and os.path.abspath(os.fsdecode(path)).startswith(FOLDERS):
            with open(REFUSED, "a") as file:
                file.write(f"{{event}} {{os.fsdecode(path)}}\\n")
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)


sys.addaudithook(hook)
"""


class Installed:
    """The bench's Ansible has the released files in a folder that cannot be written to, and nothing else of ours.
    `closed`: more folders that cannot be written to."""

    def __init__(self, bench: Bench, *closed: Path) -> None:
        bench.warm = False  # a process that has begun already would not have the hook
        self._bench = bench
        self._refused = bench.directory / "refused.txt"
        self.collection = bench.directory / "installed" / "ansible_collections" / "winkube" / "node"
        self.here = bench.directory / "here"
        self.here.mkdir()
        for name in released_files():
            target = self.collection / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)
        folders = tuple(f"{folder}{os.sep}" for folder in (self.collection, *closed))
        text = READ_ONLY.format(folders=folders, refused=str(self._refused))
        self.environment = {
            "ANSIBLE_COLLECTIONS_PATH": str(bench.directory / "installed"),
            "PYTHONPATH": str(bench.file("python/sitecustomize.py", text).parent),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def play(self, name: str, **variables: object) -> Run:
        """`ansible-playbook winkube.node.NAME`, given in the folder `here`."""
        wanted = json.dumps({"winkube_hosts": "windows", **variables})
        return self._bench.ansible_playbook(f"winkube.node.{name}", "-e", wanted, env=self.environment, cwd=self.here)

    def files(self) -> dict[str, str]:
        return {
            str(path.relative_to(self.collection)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in self.collection.rglob("*")
            if path.is_file()
        }

    @property
    def refused(self) -> str:
        """What was tried in vain, a line each."""
        return self._refused.read_text(encoding="utf-8") if self._refused.exists() else ""


@pytest.mark.slow
def test_reports_and_bundles_are_written_where_the_command_was_given(bench: Bench) -> None:
    bench.node()
    installed = Installed(bench)
    before = installed.files()
    diagnosed = installed.play("diagnose", winkube_diagnose_fail=False, winkube_diagnose_watch=1)
    assert diagnosed.rc == 0, diagnosed
    collected = installed.play("collect_logs")
    assert collected.rc == 0, collected
    drifted = installed.play("drift", winkube_drift_fail=False)
    assert drifted.rc == 0, drifted
    assert installed.refused == ""
    assert installed.files() == before
    made = {str(path.relative_to(installed.here)) for path in installed.here.glob("*/*")}
    assert made == {
        *{"diagnosis/report.html", "diagnosis/report.json", "diagnosis/report.md"},
        *{"drift/drift.html", "drift/drift.json", "logs/win1", "logs/win1.zip"},
    }
    for run, path in (
        (diagnosed, "diagnosis/report.html"),
        (collected, "logs/win1.zip"),
        (drifted, "drift/drift.html"),
    ):
        assert str(installed.here / path) in run.output, run


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_node_is_converged_from_a_collection_and_a_home_that_are_read_only(bench: Bench) -> None:
    """As in a container whose only folders to write in are those that ANSIBLE_HOME and TMPDIR name."""
    host = bench.node()
    home = bench.directory / "read-only-home"
    home.mkdir()
    installed = Installed(bench, home)
    del installed.environment["PYTHONDONTWRITEBYTECODE"]  # compiled files and templates are tried to be kept
    installed.environment |= {"HOME": str(home), "ANSIBLE_HOME": str(bench.directory / "ansible")}
    before = installed.files()
    for changed in (2, 0):
        run = installed.play("site", **variables())
        assert run.rc == 0, run
        assert run.recap["win1"].changed == changed, run
        assert "Traceback" not in run.output and "Read-only" not in run.output, run
    assert host.in_turn(lambda: host.node.services.state("containerd")) == "running"
    assert "__pycache__" in installed.refused
    assert installed.files() == before
    assert list(home.iterdir()) == []


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_folder_that_cannot_be_written_to_is_named(bench: Bench) -> None:
    """And the hook does refuse, in the runs above as here."""
    bench.node()
    installed = Installed(bench)
    folder = installed.collection / "reports"
    run = installed.play("diagnose", winkube_diagnose_dir=str(folder), winkube_diagnose_watch=1)
    assert run.rc == 2, run
    assert f"the report cannot be written to {folder}: Read-only file system. Name a folder" in run.output, run
    run = installed.play("collect_logs", winkube_logs_dir=str(folder))
    assert run.rc == 2, run
    assert f"dest: {folder / 'win1'} cannot be made: Read-only file system." in run.output, run
    assert "Traceback" not in run.output, run
    assert installed.refused.splitlines() == [f"os.mkdir {folder}", f"os.mkdir {folder / 'win1'}"]
