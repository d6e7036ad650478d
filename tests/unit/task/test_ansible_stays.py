"""ansible-core and Jinja stay as they are, whatever of the collection is loaded."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.slow

LOADS = """
import gc, importlib, json, pkgutil, sys
from types import FunctionType

import ansible.cli.playbook, ansible.executor.task_executor, ansible.plugins.action, ansible.plugins.callback
import ansible.plugins.connection, ansible.plugins.filter, ansible.plugins.inventory, ansible.plugins.loader
import ansible.template
import jinja2, jinja2.nativetypes, jinja2.sandbox
from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionFinder

_AnsibleCollectionFinder(paths=[sys.argv[1]])._install()


def state():
    found = {}
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in ("ansible", "jinja2") and module is not None:
            for attribute, value in list(vars(module).items()):
                if isinstance(value, type) and str(value.__module__).split(".")[0] in ("ansible", "jinja2"):
                    found |= {(name, attribute, each): one for each, one in vars(value).items()}
                if isinstance(value, (type, FunctionType)):
                    found[name, attribute, ""] = value
    return found


before = state()
if sys.argv[3:]:
    exec(sys.argv[3])
for name in json.loads(sys.argv[2]):
    importlib.import_module(f"ansible_collections.winkube.node.plugins.{name}")
after = state()
classes = {key[:2] for key in before if key[2]}
changed = [".".join(key) for key, value in before.items() if after.get(key, before) is not value]
changed += [".".join(key) for key in after if key not in before and key[2] and key[:2] in classes]
print(json.dumps({"looked": len(before), "changed": changed, "frozen": gc.get_freeze_count()}))
"""


def load(plugins: list[str], first: str = "") -> dict[str, object]:
    command = [sys.executable, "-c", LOADS, str(ROOT / ".venv" / "collections"), json.dumps(plugins)]
    done = subprocess.run([*command, *([first] if first else [])], cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def plugins() -> list[str]:
    folder = ROOT / "plugins"
    files = sorted(folder.glob("*/*.py"))
    return [".".join(path.relative_to(folder).with_suffix("").parts) for path in files if path.stem != "__init__"]


def test_no_plugin_changes_ansible_jinja_or_the_garbage_collector() -> None:
    found = load(plugins())
    assert len(plugins()) > 80
    assert int(str(found["looked"])) > 5000
    assert (found["changed"], found["frozen"]) == ([], 0)


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        ("jinja2.Environment.compile = lambda *_: None", "jinja2.Environment.compile"),
        ("jinja2.nativetypes.NativeEnvironment.compile = print", "jinja2.nativetypes.NativeEnvironment.compile"),
        ("import ansible.utils.vars as v; v.merge_hash = print", "ansible.utils.vars.merge_hash"),
        ("gc.freeze()", ""),
    ],
)
def test_a_change_is_seen(change: str, seen: str) -> None:
    found = load([], change)
    assert (found["changed"], found["frozen"]) != ([], 0)
    assert not seen or any(str(each).strip(".") == seen for each in found["changed"])  # type: ignore[attr-defined]


def test_the_collection_names_nothing_of_ansibles_inside() -> None:
    inside = re.compile(r'"_engine"|\._engine|ansible\._internal|gc\.freeze|import marshal')
    files = [path for path in (ROOT / "plugins").rglob("*") if path.suffix in {".py", ".ps1", ".cs"}]
    assert [str(path) for path in files if inside.search(Path(path).read_text(encoding="utf-8"))] == []
