"""What only repeats a component's declaration is as `make generate` writes it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.quality import generated
from tests.quality.cri_descriptors import committed, compiled


@pytest.fixture(scope="module")
def whole() -> Mapping[Path, str]:
    """What `make generate` writes."""
    return generated.generated()


def test_generated_files_are_up_to_date(whole: Mapping[Path, str]) -> None:
    old = [
        str(path.relative_to(ROOT))
        for path, text in whole.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    assert old == [], "run make generate"


def test_cri_descriptors_are_those_of_api_proto() -> None:
    """Compared as messages: another protoc may write the same in other bytes."""
    assert committed() == compiled(), "run make generate"


NEW = """
from __future__ import annotations

from dataclasses import dataclass

from ...engine import windows_path
from ..declaration import Daemon, NoHealth, ServiceKind
from ..layout import Layout
from ..options import option
from ..program_service import Recipe, declare


@dataclass(frozen=True, slots=True, kw_only=True)
class SnailOptions:
    pace: int = option("Its pace.", default=3)


def _program(layout: Layout) -> str:
    return windows_path.join(layout.root, "snail-agent.exe")


DECLARATION = declare(
    "snail-agent",
    "snail_agent",
    Daemon(
        service=lambda _layout: "snail-agent",
        program=_program,
        kind=ServiceKind(("sc",), "", "It makes no service.", "its own page"),
        health=NoHealth("It says so nowhere."),
    ),
    Recipe(
        summary="Runs an agent",
        title="Snail",
        version="1.0.0",
        description=("Runs an agent.",),
        example={"source": {"url": "https://example.com/snail.exe"}},
        url="https://example.com/snail.exe",
        options=SnailOptions,
    ),
)
"""
README = "# snail_agent\n\n<!-- generated: variables -->\n<!-- end of variables -->\n"
NAMED = re.compile("snail[-_]agent")


class Copy:
    """A copy of the tree with a link that makes it the collection, as in a clone."""

    def __init__(self, folder: Path) -> None:
        self._root = folder
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
        for name in listed.stdout.splitlines():
            if (ROOT / name).is_file() and not name.startswith(("tests/corpus/", "tests/judge/", "tests/recorded/")):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, folder / name)
        link = folder / ".venv" / "collections" / "ansible_collections" / "winkube" / "node"
        link.parent.mkdir(parents=True)
        link.symlink_to(folder)

    def write(self, name: str, text: str) -> None:
        (self._root / name).parent.mkdir(parents=True, exist_ok=True)
        (self._root / name).write_text(text, encoding="utf-8")

    def remove(self, name: str) -> None:
        (self._root / name).unlink()

    def generate(self) -> set[str]:
        """What `make generate` said that it has done."""
        command = [sys.executable, "-m", "tests.quality.generated"]
        done = subprocess.run(command, cwd=self._root, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return set(done.stdout.splitlines())

    def texts(self) -> dict[str, bytes]:
        """Every file but what Python keeps beside them."""
        return {
            str(path.relative_to(self._root)): path.read_bytes()
            for folder in ("docs", "meta", "playbooks", "plugins", "roles")
            for path in (self._root / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }


def test_one_run_adds_a_component_and_one_takes_it_away(tmp_path: Path) -> None:
    copy = Copy(tmp_path)
    before = copy.texts()
    assert copy.generate() == set()
    copy.write("plugins/plugin_utils/components/programs/snail_agent.py", NEW)
    copy.write("roles/snail_agent/README.md", README)
    said = copy.generate()
    made = copy.texts()
    naming = {name for name, text in made.items() if NAMED.search(f"{name} {text.decode(errors='replace')}")}
    assert {f"written: {name}" for name in naming} >= said, "no other file is touched"
    assert naming >= {
        *(f"docs/{name}.md" for name in ("contents", "reset", "observability", "support-matrix")),
        *("docs/node.schema.json", "meta/runtime.yml", "playbooks/tasks/node.yml", "playbooks/bundle.yml"),
        *("plugins/action/win_snail_agent.py", "plugins/modules/win_snail_agent.py", "roles/snail_agent/README.md"),
        *(f"roles/snail_agent/{name}/main.yml" for name in ("defaults", "meta", "tasks")),
    }
    assert copy.generate() == set(), "a second run has nothing to do"
    copy.remove("plugins/plugin_utils/components/programs/snail_agent.py")
    taken = {line.partition(": ")[2] for line in copy.generate() if line.startswith("taken away: ")}
    assert taken == made.keys() - before.keys() - {"plugins/plugin_utils/components/programs/snail_agent.py"}
    assert copy.texts() == before
    assert not (tmp_path / "roles" / "snail_agent").exists()
    assert copy.generate() == set()


def test_what_no_component_declares_goes_with_its_declaration(tmp_path: Path) -> None:
    """Of one that is there: what names it else is written by hand, in tests and pages of words."""
    copy = Copy(tmp_path)
    copy.remove("plugins/plugin_utils/components/programs/windows_exporter.py")
    copy.generate()
    name = re.compile(b"windows[-_]exporter")
    left = {each for each, text in copy.texts().items() if name.search(text)}
    pages = {f"docs/{page}.md" for page in ("architecture", "bad-inputs", "supply-chain")}
    assert left <= {*pages, "docs/pictures/demo.svg"}, "words, and a recording"
