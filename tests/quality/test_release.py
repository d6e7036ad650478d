"""`make release` on a clone: what comes out can be checked, installed and tagged."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests.quality.sanity import project_files
from tests.release.__main__ import ROOT, NotReadyError, release, section, version_of


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What git knows of this clone, as one commit."""
    folder = tmp_path_factory.mktemp("release") / "tree"
    folder.mkdir()
    for name in project_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    for words in (
        ("init", "--quiet", "-b", "main"),
        ("config", "user.name", "ann"),
        ("config", "user.email", "ann@example.com"),
        ("add", "--all"),
        ("commit", "--quiet", "--message", "all"),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


@pytest.mark.slow
def test_a_release_is_complete(tree: Path, tmp_path: Path) -> None:
    into, version = tmp_path / "out", version_of(tree)
    said = release(tree, into)
    assert subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=into, check=False).returncode == 0
    bill = (into / f"winkube-node-{version}.cdx.json").read_text(encoding="utf-8")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill) is None
    names = {component["name"] for component in json.loads(bill)["components"]}
    assert names >= {"ansible.windows", "kubernetes", "ansible-core"}
    notes = (into / "tag.txt").read_text(encoding="utf-8")
    assert notes.startswith(f"winkube.node {version}\n\n") and "Major changes" in notes and "<a id" not in notes

    # The last line takes it over; then the tree has the changelog and the tag, and another release of it is refused.
    subprocess.run(said.splitlines()[-1].split(), cwd=tree, check=True, capture_output=True)
    assert section(tree / "CHANGELOG.md", version) in notes
    assert list((tree / "changelogs" / "fragments").glob("*.yml")) == []
    with pytest.raises(NotReadyError, match=rf"There is a tag v{version} already.*\n.*nothing has changed"):
        release(tree, tmp_path / "again")
    (tree / "new").touch()
    with pytest.raises(NotReadyError, match="not committed"):
        release(tree, tmp_path / "again")
    (tree / "new").unlink()

    with tarfile.open(into / f"winkube-node-{version}.tar.gz") as archive:
        members = set(archive.getnames())
    assert "plugins/connection/host_process.py" in members and "CHANGELOG.md" in members


def test_a_version_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "galaxy.yml").write_text("version: one\n", encoding="utf-8")
    with pytest.raises(NotReadyError, match=r"'one' is no version such as 1\.2\.0"):
        version_of(tmp_path)


def test_the_notes_of_one_version(tmp_path: Path) -> None:
    file = tmp_path / "CHANGELOG.md"
    file.write_text(
        '# Notes\n\n<a id="v1-1-0"></a>\n## v1\\.1\\.0\n\n<a id="x"></a>\n### Fixes\n\n* b\\, c\n\n## v1.0.0\n\n* a\n'
    )
    assert section(file, "1.1.0") == "### Fixes\n\n* b, c"
    assert section(file, "1.0.0") == "* a"
    with pytest.raises(NotReadyError, match=r"no section v2\.0\.0"):
        section(file, "2.0.0")
