"""Every command line that the roles render is accepted by the program for Windows, and goes as far as Wine lets it.

reached.yml says how far that is. What only the service manager can start is parsed to its end, by --version behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.seed import Settings
from tests.real import build
from tests.unit.components.nodes import LAYOUT
from tests.windows import lines
from tests.windows.conftest import require
from tests.windows.programs import Programs
from tests.wine.prefix import REG, Running

REACHED: dict[str, dict[str, list[str]]] = yaml.safe_load(
    Path(__file__).with_name("reached.yml").read_text(encoding="utf-8")
)
OF_ROLES = ("containerd", "kubelet", "kube-proxy", "flanneld")
# containerd first: the one that the others want running (`running`) holds the database and the pipe.
RELEASES = sorted(
    ((name, version) for _, version, names in build.WINDOWS for name in names if name in OF_ROLES),
    key=lambda each: each[0] != "containerd",
)
START_S = 90
WINDOWS_NT = r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion"
AT_FIRST = "validate service connection"
"""What the first program that connects to a containerd just started may say on a busy machine."""


def reached(program: str, version: str) -> list[str]:
    """Its points; the test is skipped for a release of which reached.yml says nothing yet."""
    points = REACHED.get(program, {}).get(version)
    if points is None:
        pytest.skip(f"lane windows: reached.yml has no point for {program} {version} yet")
    return points


@pytest.fixture(scope="module")
def running(windows: Programs) -> Iterator[Running]:
    """A containerd with the role's configuration, for those that want one."""
    require("containerd", "2.3.7")
    write(windows, {LAYOUT.containerd_config: lines.config_toml("2.3.7")})
    containerd = windows.prefix.start(windows.place("containerd", "2.3.7"), ["--config", LAYOUT.containerd_config])
    containerd.wait_for("containerd successfully booted", START_S)
    # The kubelet reads the revision of Windows, of which Wine has none.
    windows.prefix.run(REG, ["add", WINDOWS_NT, "/v", "UBR", "/t", "REG_DWORD", "/d", "4652", "/f"])
    yield containerd
    containerd.stop()


@pytest.fixture
def kubeconfig(version: str, tmp_path: Path) -> Iterator[str]:
    """Of an administrator of the lab's cluster, in which the node is known."""
    cluster = Cluster(tmp_path / "cluster", Settings(version=version if version.startswith("1.") else "1.37.1"))
    ranges = {"podCIDR": "10.244.2.0/24", "podCIDRs": ["10.244.2.0/24"]}
    status = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "win1"}, "spec": ranges, "status": status}
    cluster.request("POST", "/api/v1/nodes", node)
    yield cluster.kubeconfig_for("kubernetes-admin", "system:masters")
    cluster.stop()


def write(windows: Programs, files: dict[str, str]) -> None:
    for path, text in files.items():
        target = windows.prefix.path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("program", "version"), RELEASES)
def test_each_line_is_parsed(program: str, version: str, windows: Programs, judged: Callable[..., None]) -> None:
    """With --version behind it: both before it and behind it the program ends for a flag that it does not know."""
    require(program, version)
    every = lines.of(program, version)
    for line in every:
        done = windows.run(program, version, [*line.arguments, "--version"])
        assert "unknown flag" not in done.said, (line.said, done.said[:500])
        assert (done.exit, version in done.out or program == "flanneld") == (0, True), (line.said, done.said[:500])
    judged(program, version, "", f"{len(every)} command lines parsed")


@pytest.mark.parametrize(("program", "version"), RELEASES)
def test_each_line_goes_as_far_as_wine_lets_it(
    program: str,
    version: str,
    windows: Programs,
    kubeconfig: str,
    request: pytest.FixtureRequest,
    judged: Callable[..., None],
) -> None:
    require(program, version)
    if program == "containerd":
        write(windows, {LAYOUT.containerd_config: lines.config_toml(version)})
    else:
        request.getfixturevalue("running")
        write(windows, lines.files(version if version.startswith("1.") else "1.37.1", kubeconfig))
    points = reached(program, version)
    met = set()
    for line in lines.of(program, version):
        if line.of_scm:
            continue
        for _ in range(3):
            point, said = windows.until(program, version, line.arguments, points, START_S, line.environment)
            if point or AT_FIRST not in said:
                break
        assert point, f"{program} {version}, {line.said}: {' '.join(line.arguments)}\n{said[-6000:]}"
        met.add(point)
    assert met == set(points), f"reached.yml has for {program} {version} what no line reaches"
    judged(program, version, " / ".join(points), "")
