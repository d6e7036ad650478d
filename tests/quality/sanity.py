"""`ansible-test sanity` on a copy of the clone: python -m tests.quality.sanity [TEST ...]

ansible-test wants a checkout at .../ansible_collections/winkube/node with a git index; so the files that the built
collection holds, the examples apart, and the lists in tests/sanity of what is ignored, are copied to a temporary
folder. Which tests run is told by tests/quality/sanity.yml. The environments of ansible-test's own linters are kept in
.cache/ansible-test.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import yaml

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("sanity.yml")
HOME = ROOT / ".cache" / "ansible-test"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

# ansible-test puts pip into the environments it makes with a script that it downloads from a server of its own, unless
# the script is at hand already. Python brings a pip along.
_GET_PIP = "import ensurepip\n\nensurepip.bootstrap(default_pip=True)\n"


@dataclass(frozen=True)
class Table:
    """What to run: `run` in this order, `only` a test's glob of files, `left_out` a test's reason."""

    run: tuple[str, ...]
    only: Mapping[str, str]
    left_out: Mapping[str, str]


def load_table(path: Path = TABLE) -> Table:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    only = {name: str(entry["files"]) for name, entry in document["only"].items()}
    return Table(tuple(document["run"]), only, dict(document["left_out"]))


def project_files(root: Path = ROOT) -> list[str]:
    """Every file that git knows or would add, and that is there; relative, sorted."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return sorted({name for name in listed.split("\0") if name and (root / name).is_file()})


def released_files(root: Path = ROOT) -> list[str]:
    """Those of the project's files that go into the built collection, by galaxy.yml's build_ignore. As ansible-galaxy
    does it, a pattern is held against each folder's whole path and against the file's."""
    patterns = yaml.safe_load((root / "galaxy.yml").read_text(encoding="utf-8"))["build_ignore"]
    ignored = re.compile("|".join(fnmatch.translate(each) for each in patterns))

    @functools.cache
    def is_left_out(path: PurePosixPath) -> bool:
        above = path.parent
        return ignored.match(str(path)) is not None or (above != path and is_left_out(above))

    return [name for name in project_files(root) if not is_left_out(PurePosixPath(name))]


def copy_project(target: Path) -> None:
    """A checkout of the files that sanity looks at in `target`, with everything in a git index.

    Not the examples: a manifest has several documents, which ansible-test's yamllint refuses; the project's own reads
    it.
    """
    ignores = [name for name in project_files() if fnmatch.fnmatch(name, "tests/sanity/ignore-*.txt")]
    released = (name for name in released_files() if not name.startswith("examples/"))
    for name in ("galaxy.yml", *released, *ignores):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target / name)
    subprocess.run(["git", "init", "-q"], cwd=target, check=True)
    subprocess.run(["git", "add", "--all"], cwd=target, check=True)


def environment() -> dict[str, str]:
    """ansible-test's own home, so that nothing of the user's is read or left behind; settings of pip stay."""
    cache = HOME / ".ansible" / "test" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    (cache / f"get_pip_{_pip_version().replace('.', '_')}.py").write_text(_GET_PIP, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    path = f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return kept | {"HOME": str(HOME), "LC_ALL": "C.UTF-8", "PATH": path}


def _pip_version() -> str:
    """The version of pip that this ansible-test asks its server for."""
    from ansible_test._internal.python_requirements import get_venv_packages

    return str(get_venv_packages(types.SimpleNamespace(version=PYTHON))["pip"])


def run(tests: Sequence[str]) -> int:
    table = load_table()
    unknown = [test for test in tests if test not in table.run]
    if unknown:
        why = table.left_out.get(unknown[0], "tests/quality/sanity.yml does not have it")
        print(f"sanity: {unknown[0]} is not run here: {why}", file=sys.stderr)
        return 2
    for name, why in table.left_out.items():
        print(f"sanity: {name} is left out: {why}")
    with tempfile.TemporaryDirectory(prefix="winkube-sanity-") as folder:
        checkout = Path(folder) / "ansible_collections" / "winkube" / "node"
        copy_project(checkout)
        whole = [test for test in tests or table.run if test not in table.only]
        calls: list[tuple[list[str], list[str]]] = [(whole, [])] if whole else []
        for test in (test for test in tests or table.run if test in table.only):
            files = sorted(str(path.relative_to(checkout)) for path in checkout.glob(table.only[test]))
            calls += [([test], files)] if files else []
        failed = [names for names, files in calls if _ansible_test(checkout, names, files) != 0]
    return 1 if failed else 0


def _ansible_test(checkout: Path, tests: Sequence[str], files: Sequence[str]) -> int:
    names = [argument for test in tests for argument in ("--test", test)]
    program = str(Path(sys.prefix) / "bin" / "ansible-test")
    command = [program, "sanity", "--python", PYTHON, "--color", "no", *names, *files]
    return subprocess.run(command, cwd=checkout, env=environment(), stdin=subprocess.DEVNULL, check=False).returncode


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
