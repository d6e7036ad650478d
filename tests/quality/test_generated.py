"""What only repeats a component's declaration is as `make generate` writes it."""

from __future__ import annotations

import json
import re
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


WITHOUT = """
import json, pkgutil, sys
from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionFinder
from tests.compiled_once import keep_code

whole = pkgutil.iter_modules
pkgutil.iter_modules = lambda *args: (each for each in whole(*args) if each.name != sys.argv[1])
_AnsibleCollectionFinder(paths=[sys.argv[2]])._install()
keep_code()
from tests.quality.generated import generated

json.dump({str(path): text for path, text in generated().items()}, sys.stdout)
"""


def test_a_component_that_is_taken_out_is_gone_everywhere(whole: Mapping[Path, str]) -> None:
    """Only `make generate` is run after its declaration went. What names it else is its own, or a page in words."""
    role = "windows_exporter"
    command = [sys.executable, "-c", WITHOUT, role, str(ROOT / ".venv" / "collections")]
    made = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    rest = {Path(path): text for path, text in json.loads(made.stdout).items()}
    name = re.compile(role.replace("_", "[-_]"))
    assert [path for path, text in rest.items() if name.search(text)] == []
    places = ("meta", "playbooks", "plugins", "roles")
    listed = subprocess.run(["git", "ls-files", *places], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    naming = {path for each in listed.splitlines() if name.search((path := ROOT / each).read_text(errors="replace"))}
    declaration = ROOT / "plugins" / "plugin_utils" / "components" / "programs" / f"{role}.py"
    assert naming - whole.keys() <= {declaration}
    assert ROOT / "docs" / "reset.md" in whole and ROOT / "docs" / "support-matrix.md" in whole
