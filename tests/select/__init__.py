"""Which tests belong to a change: python -m tests.select FILE ... prints the test files, for `make test FILES="..."`.

The rule, for each file:

1. **A test** is run. So is each test that imports the file, by however many steps (`import` statements as they are
   written, of the collection and of tests/).
2. **What it is called.** A scenario (tests/integration) runs playbooks, so it imports nothing of the collection. It
   belongs to a module, role or playbook if it names it: `win_kubelet`, `winkube.node.kubelet`, `kubelet.yml`; or if it
   is called like it: test_kubelet.py. A file of plugins/ has the names of the actions that import it, with their roles.
3. **The core.** What more than half of all actions import, or a part of the lab that more than half of all scenarios
   import, would have every scenario: it gets those of CORE instead, and those that are called like it.
4. PowerShell is the core's, and has its parser's tests and the contract. Any other file (docs, examples, tables) has
   the tests whose text names it. tests/quality, which is about files, always runs.

A test that belongs to a change by what happens at run time only is not found: `make test` is the answer before a push.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
COLLECTION = "ansible_collections.winkube.node."
SCENARIOS = "tests/integration/"
CORE = tuple(f"{SCENARIOS}test_{name}.py" for name in ("first_landing", "seams", "whole_node"))
POWERSHELL = ("tests/unit/powershell", "tests/contract")
ALWAYS = ("tests/quality",)


def select(names: Iterable[str]) -> list[str]:
    """Test files and folders, relative to the project, for changed files; SystemExit (a sentence) for one that is not
    there and has never been a test."""
    found = set(ALWAYS)
    for name in names:
        path = _relative(name)
        found |= set(_of(path))
    folders = {one for one in found if not one.endswith(".py")}
    return sorted(one for one in found if one in folders or not any(one.startswith(f"{folder}/") for folder in folders))


def _relative(name: str) -> str:
    path = (Path(name) if Path(name).is_absolute() else ROOT / name).resolve()
    if not path.is_relative_to(ROOT):
        raise SystemExit(f"select: {name} is not a file of this project ({ROOT})")
    return path.relative_to(ROOT).as_posix()


def _of(path: str) -> Iterator[str]:
    if (ROOT / path).is_dir():
        for inner in sorted((ROOT / path).rglob("*")):
            if inner.is_file() and "__pycache__" not in inner.parts:
                yield from _of(inner.relative_to(ROOT).as_posix())
        return
    importers = {path, *_importers(path)}
    tests = {one for one in importers if _is_test(one) and (ROOT / one).exists()}
    scenarios = {one for one in _tests() if one.startswith(SCENARIOS)}
    actions = {one for one in importers if one.startswith("plugins/action/")}
    called_by_users = {one for one in importers if one.startswith(("plugins/action/", "plugins/inventory/"))}
    names = _own_names(path)
    if path.endswith(".ps1"):
        yield from (*CORE, *POWERSHELL)
    elif path.startswith("tests/") and 2 * len(tests & scenarios) > len(scenarios):
        tests -= scenarios
        yield from (*CORE, *(one for one in scenarios if _called(one) in names))
    elif 2 * len(actions) > len(list((ROOT / "plugins" / "action").glob("*.py"))):
        yield from (*CORE, *(one for one in scenarios if _called(one) in names))
    elif path.startswith(("plugins/", "roles/", "playbooks/")):
        names |= {word for one in called_by_users for word in _names(PurePosixPath(one).stem)}
        found = {one for one in scenarios if _called(one) in names or _mentions(one, names)}
        # A module without a scenario of its own has those of the playbooks that run it.
        playbooks = set() if found else {name for each in names for name in _playbooks_with(each)}
        yield from found or (one for one in scenarios if _called(one) in playbooks or _mentions(one, playbooks))
    elif not path.endswith(".py"):
        yield from (test for test in _tests() if PurePosixPath(path).name in _text(test))
    yield from tests


def _own_names(path: str) -> set[str]:
    parts = PurePosixPath(path).parts
    return _names(parts[1] if parts[0] == "roles" else PurePosixPath(path).stem)


def _names(name: str) -> set[str]:
    """A module's, role's or playbook's name, and what the others of the same thing are called."""
    return {name, re.sub(r"^(win_k8s_|win_|k8s_windows_)", "", name)}


@cache
def _playbooks_with(module: str) -> frozenset[str]:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "playbooks").glob("*.yml")}
    return frozenset(name for name, text in texts.items() if re.search(rf"winkube\.node\.{re.escape(module)}:", text))


def _called(test: str) -> str:
    return PurePosixPath(test).stem.removeprefix("test_")


def _mentions(test: str, names: set[str]) -> bool:
    some = "|".join(re.escape(name) for name in sorted(names))
    return (
        re.search(rf"winkube\.node\.(win_k8s_|win_|k8s_windows_)?({some})\b|\b({some})\.yml\b", _text(test)) is not None
    )


def _is_test(path: str) -> bool:
    return path.startswith("tests/") and PurePosixPath(path).name.startswith("test_") and path.endswith(".py")


@cache
def _tests() -> tuple[str, ...]:
    return tuple(path for path in _graph() if _is_test(path))


@cache
def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


# -- who imports whom --------------------------------------------------------------------------------------------------


def _importers(path: str) -> set[str]:
    """Every file that imports it, by however many steps."""
    backwards = _backwards()
    found: set[str] = set()
    todo = [path]
    while todo:
        new = backwards.get(todo.pop(), set()) - found
        found |= new
        todo.extend(new)
    return found


@cache
def _backwards() -> dict[str, set[str]]:
    result: dict[str, set[str]] = {}
    for path, imported in _graph().items():
        for one in imported:
            result.setdefault(one, set()).add(path)
    return result


@cache
def _graph() -> dict[str, set[str]]:
    """Each Python file of plugins/ and tests/ with the files that it imports."""
    files = {
        path.relative_to(ROOT).as_posix(): path
        for folder in ("plugins", "tests")
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    return {name: set(_imports(name, path)) & files.keys() for name, path in files.items()}


def _imports(name: str, path: Path) -> Iterator[str]:
    """Files that it imports; of a package whose `__path__` it looks through, every module."""
    package = PurePosixPath(name).parent.parts
    named: dict[str, str] = {}
    looked_through: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) + 1 - node.level]) if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            yield from _files(module)
            for alias in node.names:
                yield from _files(f"{module}.{alias.name}")
                named[alias.asname or alias.name] = f"{module}.{alias.name}"
        elif isinstance(node, ast.Attribute) and node.attr == "__path__" and isinstance(node.value, ast.Name):
            looked_through.add(node.value.id)
    for package_name in looked_through & named.keys():
        folder = PurePosixPath(next(_files(named[package_name]))).with_suffix("")
        yield from (found.relative_to(ROOT).as_posix() for found in sorted((ROOT / folder).glob("*.py")))


def _files(module: str) -> Iterator[str]:
    path = module.removeprefix(COLLECTION).replace(".", "/")
    yield from (f"{path}.py", f"{path}/__init__.py")
