"""Nothing is skipped on the quiet: a whole pytest run with the plugin, in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import lanes
from tests.quality.sanity import ROOT

pytest_plugins = ["pytester"]

ONLY_XDIST = ("--disable-plugin-autoload", "-p", "xdist.plugin")
"""For a run inside a test: importing hypothesis takes longer than all the rest."""

_TABLE = """
lab: {folders: [lab], needs: {programs: [sh]}, due: true, why: the lab}
wine: {folders: [], needs: {programs: [no-such-program]}, due: false, why: wine}
must: {folders: [], needs: {any_variable: [NO_SUCH_VARIABLE]}, due: true, why: it must run}
oldest: {folders: [], needs: {}, due: true, why: a run of its own}
"""

_CONFTEST = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.lanes import LanesPlugin, load_lanes

def pytest_configure(config):
    config.addinivalue_line("markers", "lane(name): x")
    plugin = LanesPlugin(config, load_lanes(Path("lanes.yml").absolute()), strict={strict})
    config.pluginmanager.register(plugin, "lanes-under-test")
"""

_WINE = "import pytest\n@pytest.mark.lane('wine')\ndef test_a(): assert False\n"
_MUST = _WINE.replace("wine", "must")
_QUIET = "import pytest\ndef test_a(): pytest.skip('no time')\n"
_MODULE = "import pytest\npytest.importorskip('no_such_module')\ndef test_a(): pass\n"
_NAMED = "import pytest\ndef test_a(): pytest.skip('lane wine: it is Monday')\ndef test_b(): pass\n"


def _run(pytester: pytest.Pytester, source: str, *options: str, strict: bool) -> pytest.RunResult:
    pytester.makefile(".yml", lanes=_TABLE)
    pytester.makeconftest(_CONFTEST.format(root=str(ROOT), strict=strict))
    pytester.makepyfile(test_it=source)
    return pytester.runpytest_subprocess(*ONLY_XDIST, *options)


@pytest.mark.parametrize(
    ("source", "strict", "counts"),
    [
        (_WINE, True, {"skipped": 1}),
        (_MUST, False, {"skipped": 1}),
        (_MUST, True, {"errors": 1}),
        (_QUIET, False, {"failed": 1}),
        (_NAMED, True, {"skipped": 1, "passed": 1}),
    ],
)
def test_skips(pytester: pytest.Pytester, source: str, strict: bool, counts: dict[str, int]) -> None:
    result = _run(pytester, source, strict=strict)
    assert result.parseoutcomes() == counts
    assert result.ret == (1 if {"failed", "errors"} & set(counts) else 0)


def test_a_module_that_skips_itself_without_a_lane_is_an_error(pytester: pytest.Pytester) -> None:
    result = _run(pytester, _MODULE, strict=False)
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*a skip names its lane*"])


def test_an_unknown_lane_is_refused(pytester: pytest.Pytester) -> None:
    result = _run(pytester, _WINE.replace("wine", "moon"), strict=False)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*'moon'*tests/lanes.yml*"])


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one process", "workers"])
def test_one_line_per_lane(pytester: pytest.Pytester, options: tuple[str, ...]) -> None:
    pytester.mkdir("lab")
    (pytester.path / "lab" / "test_lab.py").write_text("def test_a(): pass\ndef test_b(): pass\n", encoding="utf-8")
    result = _run(pytester, _WINE, *options, strict=False)
    result.stdout.fnmatch_lines(
        [
            "lab     2 passed",
            "wine    1 skipped: no-such-program not on PATH (not due)",
            "must    not run here, none of NO_SUCH_VARIABLE is set",
            "oldest  *",
        ]
    )


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ("{folders: [], needs: {}, due: maybe, why: x}", "due: true or false"),
        ("{folders: [], needs: {}, why: x}", "needs exactly"),
        ("{folders: [], needs: {weather: [sun]}, due: true, why: x}", "needs weather"),
    ],
)
def test_wrong_table(tmp_path: Path, entry: str, sentence: str) -> None:
    (tmp_path / "lanes.yml").write_text(f"wine: {entry}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=sentence):
        lanes.load_lanes(tmp_path / "lanes.yml")


def test_the_projects_table() -> None:
    assert list(lanes.load_lanes()) == [
        "lab",
        "wine",
        "windows",
        "pwsh",
        "browser",
        "search",
        "real",
        "faults",
        "oldest",
    ]
