"""Each room of the collection and of the lab has walls, and each wall holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quality import walls
from tests.quality.sanity import ROOT, project_files

pytestmark = pytest.mark.quick
NAMES = project_files()
UTILS = "plugins/plugin_utils"


def test_nothing_crosses_a_wall_and_no_room_is_without_one() -> None:
    assert walls.crossed(ROOT, NAMES) == []
    assert walls.without_rule(NAMES) == []


def test_each_import_that_is_planted_across_a_wall_is_refused() -> None:
    planted = [walls.planted(here, there) for here, there in walls.walls()]
    assert len(planted) > 1000
    assert [each for each in planted if not walls.is_refused(each)] == []


def test_the_lab_is_built_from_the_ground_up() -> None:
    assert walls.circles(ROOT, NAMES, "tests/lab") == []
    ground = [name for name in walls.LAB if name != "__main__"]
    for place, name in enumerate(ground):
        assert set(walls.LAB[name].may) <= set(ground[:place])


@pytest.mark.parametrize(
    ("name", "text", "refused"),
    [
        (f"{UTILS}/engine/a.py", "import ansible.errors", True),
        (f"{UTILS}/engine/a.py", "import json", False),
        (f"{UTILS}/engine/resources/a.py", "from ...facts import x", True),
        (f"{UTILS}/engine/resources/a.py", "from ..batch import x", False),
        (f"{UTILS}/node/a.py", "from ..lint import x", True),
        (f"{UTILS}/transfer/a.py", "from ..task.converge import x", True),
        (f"{UTILS}/node_yaml/a.py", "from ..repair import rejoin", True),
        (f"{UTILS}/golden_image/a.py", "from ..lint import engine", True),
        (f"{UTILS}/repair/a.py", "from ..provision import x", True),
        (f"{UTILS}/diagnosis/a.py", "from ..lint.images import image_build", False),
        (f"{UTILS}/diagnosis/a.py", "from ..lint.engine import lint", True),
        (f"{UTILS}/diagnosis/a.py", "from ..repair import rejoin", False),
        (f"{UTILS}/diagnosis/a.py", "from ..repair import hns", True),
        (f"{UTILS}/components/kubelet/a.py", "from ..flannel import flannel", True),
        (f"{UTILS}/components/kubelet/a.py", "from ..layout import Layout", False),
        (f"{UTILS}/components/kubelet/a.py", "from ..registry import COMPONENTS", True),
        (f"{UTILS}/components/layout.py", "from .kubelet import kubelet", True),
        (f"{UTILS}/components/registry.py", "from .kubelet import component", False),
        ("plugins/filter/a.py", "def f():\n    from ..plugin_utils.task.drain import x", True),
        ("plugins/callback/a.py", "from ..plugin_utils.task import x", True),
        ("plugins/action/a.py", "from ..plugin_utils.task import x", False),
        ("tests/lab/machine/a.py", "from tests.lab.programs.catalogue import PROGRAMS", True),
        ("tests/lab/cluster/a.py", "if TYPE_CHECKING:\n    from tests.lab.server.shell import Reply", True),
        ("tests/lab/server/a.py", "from tests.lab.twin import probe", False),
    ],
)
def test_what_a_wall_lets_through(name: str, text: str, refused: bool) -> None:
    assert walls.is_refused((name, text)) == refused


def test_a_package_that_no_rule_names_is_refused() -> None:
    for name in (f"{UTILS}/attic/__init__.py", f"{UTILS}/components/attic/a.py", "plugins/strategy/a.py"):
        (said,) = walls.without_rule([*NAMES, name])
        assert said.startswith(".".join(Path(name).parent.parts))
    assert walls.without_rule([*NAMES, "tests/lab/attic/a.py"])
    assert len(walls.without_rule([name for name in NAMES if not name.startswith(f"{UTILS}/pages/")])) == 1


def test_a_circle_is_of_what_loads_and_each_is_told_once(tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    folder.mkdir()
    files = {
        "a": "from lab import b",
        "b": "def f():\n    from lab.c import x",
        "c": "import lab.a",
        "d": "if TYPE_CHECKING:\n    from lab import e",
        "e": "from lab.d import y",
    }
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    assert walls.circles(tmp_path, [f"lab/{name}.py" for name in files], "lab") == [("lab.a", "lab.b", "lab.c")]
