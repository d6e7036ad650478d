"""Programs in one prefix for the whole run, and what each has been found to do (`judged`)."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.real import build
from tests.real.conftest import RealContainerd
from tests.real.upstream.programs import Upstream
from tests.windows import programs
from tests.windows.programs import Programs
from tests.wine.prefix import Prefix

FOLDER = Path(__file__).parent
CONTAINERDS = sorted({version for project, version, _ in build.WINDOWS if project == "containerd"})


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the tests shared with lane `real` those go whose release of Kubernetes is built for Linux alone."""
    ours = {version for project, version, _ in build.WINDOWS if project == "kubernetes"}
    theirs = set(build.EVERY_KUBERNETES) - ours
    gone = [
        item
        for item in items
        if isinstance(item, pytest.Function)
        and hasattr(item, "callspec")
        and item.callspec.params.get("version") in theirs
        and item.path.is_relative_to(FOLDER)
    ]
    if gone:
        config.hook.pytest_deselected(items=gone)
        left_out = set(gone)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    """One prefix for all."""
    if (why := programs.missing()) is not None:
        pytest.skip(f"lane windows: {why}")
    with Prefix(tmp_path_factory.mktemp("windows") / "prefix") as prefix:
        yield Programs(prefix)


class WindowsContainerd(RealContainerd):
    """containerd.exe, asked as the tests ask a containerd for Linux."""

    windows: Programs

    def path(self, path: Path) -> str:
        return programs.windows_path(path)

    def run(self, config: Path, command: str = "dump") -> subprocess.CompletedProcess[str]:
        assert config.is_file()
        line = ["--config", programs.windows_path(config), "config", command]
        return programs.as_completed(self.windows.run("containerd", self.version, line), line)


@pytest.fixture(params=CONTAINERDS)
def containerd(request: pytest.FixtureRequest, windows: Programs) -> RealContainerd:
    """Each containerd.exe in turn, or those that a test names (`indirect`)."""
    version = next(found for found in CONTAINERDS if found.startswith(request.param))  # Debian's is named 1.6
    program = require("containerd", version)
    found = WindowsContainerd(version, program)
    object.__setattr__(found, "windows", windows)
    return found


def require(name: str, version: str) -> Path:
    """The program; the test is skipped where it was not built."""
    program = build.program(name, version, "windows")
    if programs.left_out(name, version):
        pytest.skip("lane windows: this run is about the newest of each program alone")
    if not program.exists():
        pytest.skip(f"lane windows: {name} {version} is not built; `make windows` builds it")
    return program


class WindowsUpstream(Upstream):
    """Builds for Windows."""

    system = "windows"
    runtime = ""

    def __init__(self, windows: Programs) -> None:
        self._windows = windows

    def run(self, name: str, version: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        require(name, version)
        return programs.as_completed(self._windows.run(name, version, arguments), arguments)

    def path(self, path: Path) -> str:
        return programs.windows_path(path)


@pytest.fixture
def upstream(windows: Programs) -> Upstream:
    """Kubernetes' programs."""
    return WindowsUpstream(windows)


@pytest.fixture
def judged(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Notes for the table what a program did: judged(program, version, reached, compared, differed)."""

    def note(program: str, version: str, reached: str, compared: str, differed: str = "") -> None:
        request.node.user_properties.append(("judged", (program, version, reached, compared, differed)))

    return note
