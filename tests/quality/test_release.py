"""`make release` on a clone: what comes out can be checked, installed and tagged."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import jsonschema
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests.quality.sanity import project_files
from tests.release import importer, lock, nightly
from tests.release.__main__ import ROOT, NotReadyError, release, section, show, version_of


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What git knows of this clone, as one commit."""
    folder = tmp_path / "tree"
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


def test_an_archive_that_the_importer_refuses_is_no_release() -> None:
    with pytest.raises(NotReadyError, match="galaxy-importer would not take the archive:\nERROR: x"):
        show(Path("x.tar.gz"), lambda archive: ["ERROR: x"])


@pytest.mark.slow
def test_an_address_in_a_bill_is_still_judged() -> None:
    """By what tests/iri_syntax.py loads late."""
    checker = jsonschema.Draft7Validator.FORMAT_CHECKER
    assert checker.conforms("https://exämple.org/a#b", "iri-reference")
    assert not checker.conforms("https://a b", "iri-reference")


@pytest.mark.slow
def test_a_release_is_complete(tree: Path, tmp_path: Path) -> None:
    into, version = tmp_path / "out", version_of(tree)
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tree, check=True, capture_output=True, text=True).stdout
    with pytest.raises(NotReadyError, match=f"There is no green nightly run of {commit.strip()}: none was green here"):
        release(tree, into, key)
    assert nightly.note(tree).endswith(f"{commit.strip()}.")
    shown: list[Path] = []

    def accept(archive: Path) -> list[str]:
        shown.append(archive)
        return []

    said = release(tree, into, key, judge=accept)
    assert shown == [into / f"winkube-node-{version}.tar.gz"]
    assert subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=into, check=False).returncode == 0
    verify = said.splitlines()[1]
    assert subprocess.run(verify, shell=True, cwd=into, check=False).returncode == 0
    assert (
        subprocess.run(f"cp SHA256SUMS SUMS && echo >> SUMS && {verify[:-10]}SUMS", shell=True, cwd=into).returncode
        != 0
    )
    stated = json.loads((into / f"winkube-node-{version}.intoto.json").read_text(encoding="utf-8"))
    listed = [line.split("  ") for line in (into / "SHA256SUMS").read_text().splitlines()]
    sums = {name: digest for digest, name in listed}
    assert {one["name"]: one["digest"]["sha256"] for one in stated["subject"]}.items() < sums.items()
    assert len(stated["subject"]) == 2
    depends = stated["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert depends[0]["digest"] == {"gitCommit": commit.strip()}
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


def test_a_run_with_changes_or_of_another_commit_counts_for_no_release(tmp_path: Path) -> None:
    git = ("git", "-c", "user.name=ann", "-c", "user.email=ann@example.com")
    (tmp_path / ".gitignore").write_text("/.cache/\n", encoding="utf-8")
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "one")):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    (tmp_path / "new").touch()
    assert "not committed" in nightly.note(tmp_path)
    assert "none was green here" in nightly.objection(tmp_path)
    (tmp_path / "new").unlink()
    nightly.note(tmp_path)
    assert nightly.objection(tmp_path) == ""
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message", "two"], cwd=tmp_path, check=True)
    assert "the last one that was green here is of" in nightly.objection(tmp_path)


def test_what_ci_installs_is_locked_by_hashes(tmp_path: Path) -> None:
    assert lock.stale() == []
    text = (ROOT / lock.FILE).read_text(encoding="utf-8")
    assert text.count("==") <= text.count("--hash=sha256:")
    for name in (*lock.WISHES, lock.FILE):
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("tomlkit>=99\nnobody-has-it\n", encoding="utf-8")
    assert [one.split()[3] for one in lock.stale(tmp_path)] == ["tomlkit>=99:", "nobody-has-it:"]


def test_a_version_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "galaxy.yml").write_text("version: one\n", encoding="utf-8")
    with pytest.raises(NotReadyError, match=r"'one' is not a version such as 1\.2\.0"):
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


@pytest.mark.parametrize(
    ("said", "status", "found"),
    [
        ("Importing\nLoading role cni\nImporter processing completed successfully\n", 0, []),
        ("Importing\nWARNING: no changelog\n", 0, ["WARNING: no changelog"]),
        ("Importing\nERROR: The import failed: x\n", 1, ["ERROR: The import failed: x"]),
        ("no module named galaxy_importer\n", 1, ["no module named galaxy_importer"]),
    ],
)
def test_what_the_importer_objects_to(said: str, status: int, found: list[str]) -> None:
    assert importer.objections(said, status) == found
