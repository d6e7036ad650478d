"""The built archive holds what it should and nothing else, and works where nothing but it is installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

from tests.quality.sanity import ROOT, released_files

TOP_LEVEL = {
    *{"FILES.json", "MANIFEST.json", "README.md", "LICENSE", "CHANGELOG.md", "bindep.txt", "requirements.txt"},
    *{"CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md"},
    *{"changelogs", "docs", "examples", "meta", "playbooks", "plugins", "powershell", "roles"},
}
# Folder in plugins/ -> what ansible-doc calls its plugins.
DOCUMENTED = {
    "modules": "module",
    "inventory": "inventory",
    "connection": "connection",
    "callback": "callback",
    "filter": "filter",
    "lookup": "lookup",
}


def _environment(home: Path, collections: Path | None = None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    ours = {
        "ANSIBLE_HOME": str(home / "ansible"),
        "HOME": str(home),
        "PATH": f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}",
    }
    return kept | ours | ({"ANSIBLE_COLLECTIONS_PATH": str(collections)} if collections else {})


def _ansible(command: list[str], cwd: Path, environment: dict[str, str]) -> str:
    program = str(Path(sys.prefix) / "bin" / command[0])
    done = subprocess.run(
        [program, *command[1:]],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def archive(home: Path) -> Path:
    _ansible(["ansible-galaxy", "collection", "build", "--output-path", str(home / "built")], ROOT, _environment(home))
    (built,) = (home / "built").glob("winkube-node-*.tar.gz")
    return built


@pytest.fixture(scope="module")
def installed(archive: Path, home: Path) -> Path:
    """A collection path that holds the built collection and nothing else."""
    path = home / "collections"
    command = ["ansible-galaxy", "collection", "install", str(archive), "-p", str(path), "--offline"]
    _ansible(command, home, _environment(home, path))
    return path


def _members(archive: Path) -> list[str]:
    with tarfile.open(archive) as tar:
        return sorted(member.name for member in tar if member.isfile() or member.issym())


def test_archive_holds_the_released_files_and_nothing_else(archive: Path) -> None:
    members = _members(archive)
    assert {name.split("/")[0] for name in members} <= TOP_LEVEL
    assert set(members) - {"FILES.json", "MANIFEST.json"} == set(released_files()) - {"galaxy.yml"}


def test_nothing_is_released_that_belongs_to_development() -> None:
    development = {"tests", "bench", "molecule", "Makefile", "ansible.cfg", "site.yml", "packaging", "pyproject.toml"}
    assert not development & {name.split("/")[0] for name in released_files()}
    assert not [name for name in released_files() if name.startswith(".")]


def _plugins(folder: str) -> list[str]:
    names = {Path(name) for name in released_files() if name.startswith(f"plugins/{folder}/")}
    return sorted(
        f"winkube.node.{path.stem}" for path in names if path.suffix in {".py", ".ps1"} and path.stem != "__init__"
    )


def test_ansible_doc_knows_every_plugin(installed: Path, home: Path) -> None:
    dump = ["ansible-doc", "--metadata-dump", "--no-fail-on-errors", "winkube.node"]
    told = json.loads(_ansible(dump, home, _environment(home, installed)))["all"]
    for folder, kind in DOCUMENTED.items():
        found = told.get(kind, {})
        assert sorted(found) == _plugins(folder)
        assert [name for name, each in found.items() if not each.get("doc", {}).get("description")] == []


def test_nothing_that_a_run_writes_lies_beside_the_playbooks() -> None:
    below = [Path(name) for name in released_files() if name.startswith("playbooks/")]
    assert [str(path) for path in below if path.suffix != ".yml" and path.parts[1] != "files"] == []


def test_syntax_of_every_playbook(installed: Path, home: Path) -> None:
    playbooks = [Path(name).stem for name in released_files() if re.fullmatch(r"playbooks/[a-z_]+\.yml", name)]
    assert "site" in playbooks
    names = [f"winkube.node.{name}" for name in sorted(playbooks)]
    said = _ansible(
        ["ansible-playbook", "--syntax-check", "-i", "localhost,", *names], home, _environment(home, installed)
    )
    assert said.count("playbook: ") == len(names)


def test_syntax_of_the_clones_site_yml(home: Path) -> None:
    _ansible(["ansible-playbook", "--syntax-check", "-i", "localhost,", "site.yml"], ROOT, _environment(home))


def test_an_execution_environment_gets_what_the_collection_needs(installed: Path, home: Path) -> None:
    """As ansible-builder reads it in an image. It ended with a TypeError where the file was a definition of its own."""
    said = yaml.safe_load(_ansible(["ansible-builder", "introspect", str(installed)], home, _environment(home)))
    found = {kind: {line.partition("  #")[0] for line in lines} for kind, lines in said.items()}
    required = {line for line in (ROOT / "requirements.txt").read_text().splitlines() if not line.startswith("#")}
    # ansible-core is what the image is made with.
    assert found["python"] == {line for line in required if not line.startswith("ansible-core")}
    assert found["system"] == {"openssh-client [platform:dpkg]", "openssh-clients [platform:rpm]"}


def test_the_example_of_an_execution_environment_is_one(archive: Path, tmp_path: Path, home: Path) -> None:
    """Up to the point where a container engine is needed."""
    shutil.copy(ROOT / "examples" / "execution-environment" / "execution-environment.yml", tmp_path)
    shutil.copy(archive, tmp_path)
    _ansible(["ansible-builder", "create", "--output-filename", "Containerfile"], tmp_path, _environment(home))
    assert "COPY _build/archives /archives" in (tmp_path / "context" / "Containerfile").read_text()
    assert (tmp_path / "context" / "_build" / "archives" / archive.name).is_file()


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_repository_that_installs_it_passes_ansible_lints_production_profile(
    archive: Path, tmp_path: Path, home: Path
) -> None:
    """With what the example excludes: 17 findings in a role's defaults without it."""
    here = tmp_path / "infra"
    shutil.copytree(ROOT / "examples" / "infra-repo", here, symlinks=True)
    environment = _environment(home, here / "collections")
    install = ["ansible-galaxy", "collection", "install", str(archive), "-p", "collections", "--offline", "--no-deps"]
    _ansible(install, here, environment)
    _ansible(["ansible-lint", "--offline", "--strict", "playbooks/containerd.yml"], here, environment)


def test_every_collection_that_is_used_is_declared() -> None:
    """In roles and playbooks."""
    texts = [path.read_text() for folder in ("roles", "playbooks") for path in (ROOT / folder).rglob("*.yml")]
    modules = re.findall(r"^\s*(?:- )?([a-z_]+\.[a-z_]+)\.[a-z_]+:", "\n".join(texts), re.MULTILINE)
    declared = yaml.safe_load((ROOT / "galaxy.yml").read_text())["dependencies"]
    assert set(modules) - {"ansible.builtin", "winkube.node"} == set(declared)
