"""Each cell of the matrix in docs/molecule.md: what it says is what the planning answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.components.host import node_fit
from ansible_collections.winkube.node.plugins.plugin_utils.components.host.options import HostOptions, NetworkOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import kubelet_check
from ansible_collections.winkube.node.plugins.plugin_utils.facts.kubernetes import SUPPORTED
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line, Version

from tests.lab.machine.release import RELEASES
from tests.unit.components.nodes import wanted_kubelet
from tests.unit.components.test_matrix import plans

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "molecule.md"
MODES = ("l2bridge", "overlay")
WINDOWS = ("2019", "2022")
_ROW = re.compile(r"^\| (\d+\.\d+\.\d+) \| (20\d\d) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """One combination, and what the page says of it."""

    mode: str
    runtime: str
    windows: str
    kubernetes: str
    said: str

    def __str__(self) -> str:
        return f"{self.mode}-{self.runtime}-{self.windows}-{self.kubernetes}"


def cells() -> list[Cell]:
    """The rows of the page, taken apart."""
    found = []
    for kubernetes, windows, l2bridge, overlay, docker in _ROW.findall(PAGE.read_text(encoding="utf-8")):
        for mode, said in zip(MODES, (l2bridge, overlay), strict=True):
            found += [Cell(mode, "containerd", windows, kubernetes, said)]
            found += [Cell(mode, "docker", windows, kubernetes, docker)]
    return found


@pytest.mark.row("KE-07")
def test_no_cell_is_left_out() -> None:
    lines = {str(Version.parse(cell.kubernetes).line) for cell in cells()}
    assert lines == {"1.22", "1.27", str(SUPPORTED[-1])}, "the documents' release, a middle one, and the newest"
    wanted = set(product(MODES, ("containerd", "docker"), WINDOWS, lines))
    listed = [(cell.mode, cell.runtime, cell.windows, str(Version.parse(cell.kubernetes).line)) for cell in cells()]
    assert set(listed) == wanted
    assert len(listed) == len(wanted) == 24


@pytest.mark.row("KE-07")
@pytest.mark.parametrize("cell", cells(), ids=str)
def test_the_planning_says_of_each_cell_what_the_page_says(cell: Cell) -> None:
    version = Version.parse(cell.kubernetes)
    if cell.runtime == "docker":
        refusals = tuple(kubelet_check.problems(wanted_kubelet(cell.kubernetes, container_runtime="dockershim")))
    else:
        release = RELEASES[cell.windows]
        runtime = cell.said.rpartition(" ")[2] if cell.said.startswith("done") else ""
        network = NetworkOptions(mode=cell.mode)
        wanted = HostOptions(kubernetes_version=cell.kubernetes, containerd_version=runtime, network=network)
        refusals = node_fit.problems(node_fit.Machine(release.build, release.revision), wanted).refusals
    what, _, why = cell.said.partition(": ")
    if what == "refused":
        assert any(why in refusal for refusal in refusals), refusals
        return
    assert refusals == ()
    if what == "out of scope":
        assert cell.runtime == "docker"
        assert not (ROOT / "roles" / "docker").exists()
        return
    manager = {"l2bridge": "nssm", "overlay": "sc"}[cell.mode]
    line = Line(version.major, version.minor)
    made = plans(line, runtime, release.build, cell.mode, manager)
    assert made
    assert all(made.values()), made


@pytest.mark.parametrize("named", ["OVN and OVS", "Azure CNI", "Windows Server 2019 on GCP", "Docker by dockershim"])
def test_what_is_out_of_scope_is_named(named: str) -> None:
    assert f"**{named}**" in PAGE.read_text(encoding="utf-8")


def test_every_scenario_is_on_the_page_with_the_playbook_that_it_converges() -> None:
    """And nothing that is not a scenario."""
    shared = yaml.safe_load((ROOT / ".config" / "molecule" / "config.yml").read_text(encoding="utf-8"))
    rows = dict(re.findall(r"^\| `([a-z0-9_]+)` \| `([a-z/.]+)`", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    files = sorted((ROOT / "molecule").glob("*/molecule.yml"))
    assert set(rows) == {path.parent.name for path in files}
    for path in files:
        own = yaml.safe_load(path.read_text(encoding="utf-8"))["ansible"].get("playbooks", {})
        playbooks = {**shared["ansible"]["playbooks"], **own}
        assert (path.parent / playbooks["converge"]).resolve() == ROOT / rows[path.parent.name]
        for playbook in playbooks.values():
            assert (path.parent / playbook).is_file(), f"{path}: {playbook}"
