"""A copy of the project, in which code can be changed and its tests be run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The first files of the collection that each of Ansible's processes loads.
_BEGINNINGS = (
    "plugins/plugin_utils/node/run_id.py",
    "plugins/action/workload_lint.py",
    "plugins/inventory/node_yaml.py",
)
_BEGIN_TRACE = "\nimport sys as _sys\n_sys.path.append({root!r})\nimport tests.mutate.tracer  # noqa: E402\n"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+(?:\[.*?\])?)", re.MULTILINE)
FAILED, USAGE = 1, 4
"""pytest's exit statuses for a failed test, and for tests that it cannot find."""


@dataclass(frozen=True)
class Verdict:
    """What a run of tests said: `passed`, `failed`, `time` (it did not end), `nothing` (none could be run)."""

    state: str
    test: str
    output: str


class Tree:
    """The copy in `folder`. It has an environment of its own, so that nothing of the original is imported."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "winkube.node"
        self._clock = time.time()
        for name in _project_files():
            target = self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)
        # Some tests ask git which files there are.
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        self._environment()

    def _environment(self) -> None:
        """`.venv` with the original's packages and with programs that name this environment's Python."""
        original, own = Path(sys.prefix), self.root / ".venv"
        (own / "bin").mkdir(parents=True)
        (own / "lib").symlink_to(original / "lib")
        shutil.copyfile(original / "pyvenv.cfg", own / "pyvenv.cfg")
        for program in (original / "bin").iterdir():
            target = own / "bin" / program.name
            if program.is_symlink():
                target.symlink_to(program.readlink())
            elif program.is_file():
                target.write_bytes(program.read_bytes().replace(str(original).encode(), str(own).encode()))
                target.chmod(0o755)
        link = own / "collections" / "ansible_collections" / "winkube" / "node"
        link.parent.mkdir(parents=True)
        link.symlink_to(Path("../../../.."))

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    @contextmanager
    def changed(self, path: str, text: str) -> Iterator[None]:
        """The file with another text, for a while."""
        before = self.read(path)
        self._write(path, text)
        try:
            yield
        finally:
            self._write(path, before)

    def _write(self, path: str, text: str) -> None:
        """Each writing has another time, in whole seconds: Python compares those with its compiled files."""
        target = self.root / path
        target.write_text(text, encoding="utf-8")
        self._clock += 10
        os.utime(target, (self._clock, self._clock))

    def trace(self, tests: Sequence[str], limit_s: float) -> tuple[Verdict, set[tuple[str, int]]]:
        """Run tests; what they executed, as (path, line), and what they opened, as (path, 0)."""
        found, pointer = self.root / ".traced", self.root / ".trace"
        found.write_text("", encoding="utf-8")
        pointer.write_text(str(found), encoding="utf-8")
        originals = {name: self.read(name) for name in _BEGINNINGS}
        try:
            for name, text in originals.items():
                self._write(name, text + _BEGIN_TRACE.format(root=str(self.root)))
            verdict = self.run(tests, limit_s, "-p", "tests.mutate.tracer")
        finally:
            pointer.unlink()
            for name, text in originals.items():
                self._write(name, text)
        lines = (line.rpartition(":") for line in found.read_text(encoding="utf-8").splitlines())
        return verdict, {(path, int(number)) for path, _, number in lines}

    def run(self, tests: Sequence[str], limit_s: float, *arguments: str) -> Verdict:
        """Run these tests and no others, up to the first that fails."""
        command = [str(self.root / ".venv" / "bin" / "python"), "-m", "pytest", "-x", "-rfE", "--tb=line"]
        # Of the plugins of others the one that pyproject.toml has an option of.
        command += ["-p", "no:cacheprovider", "-p", "pytest_ansible.plugin", *arguments, *tests]
        environment = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "CI"}}
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # those of others take longer to load than most tests take
        with subprocess.Popen(
            command,
            cwd=self.root,
            env={**environment, "PATH": f"{self.root / '.venv' / 'bin'}{os.pathsep}{environment.get('PATH', '')}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            try:
                output, _ = process.communicate(timeout=limit_s)
            except subprocess.TimeoutExpired:
                process.terminate()  # tests/integration ends what it has started
                output, _ = process.communicate()
                return Verdict("time", "", output)
            except BaseException:
                process.terminate()
                raise
        return Verdict(_state(process.returncode, output), *_first_failed(output), output)


def _state(status: int, output: str) -> str:
    if status == 0:
        return "passed" if re.search(r"\b\d+ passed\b", output) else "nothing"
    # Tests of a file that cannot be imported are not found, and the file is an error.
    return "failed" if status < USAGE or _FAILED.search(output) else "nothing"


def _first_failed(output: str) -> tuple[str]:
    match = _FAILED.search(output)
    return (match[1] if match else "",)


def _project_files() -> Iterable[str]:
    """What git would hand to somebody, less what has been deleted."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]
