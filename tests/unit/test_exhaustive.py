"""One marker leaves tests, or some of their cases, to the night."""

from __future__ import annotations

import pytest

from tests.quality.sanity import ROOT
from tests.quality.test_lanes import ONLY_XDIST

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

_CONFTEST = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests import exhaustive

def pytest_configure(config):
    for marker in (exhaustive.HELP, "lane(name): x"):
        config.addinivalue_line("markers", marker)

def pytest_collection_modifyitems(items):
    for item in items:
        exhaustive.settle(item)
"""
_TESTS = """
import pytest

@pytest.mark.exhaustive
@pytest.mark.parametrize("x", ["a", "b"])
def test_all(x): pass

@pytest.mark.exhaustive("a")
@pytest.mark.parametrize("x", ["a", "b", "c"])
def test_named(x): pass

@pytest.mark.exhaustive(keep=("a",))
@pytest.mark.parametrize("x", ["a", "b", "c"])
def test_but(x): pass

@pytest.mark.exhaustive(but_one_in=4)
@pytest.mark.parametrize("x", range(400))
def test_sample(x): pass

@pytest.mark.parametrize("x", ["a", pytest.param("b", marks=pytest.mark.exhaustive)])
def test_param(x): pass

@pytest.mark.lane("wine")
def test_wine(): pass

def test_always(): pass
"""


def chosen(pytester: pytest.Pytester, expression: str) -> list[str]:
    pytester.makeconftest(_CONFTEST)
    pytester.makepyfile(test_it=_TESTS)
    result = pytester.runpytest_subprocess(*ONLY_XDIST, "--collect-only", "-q", "-m", expression)
    return [line.partition("::")[2] for line in result.outlines if "::" in line]


def test_what_the_day_leaves_out_is_what_the_night_has_more(pytester: pytest.Pytester) -> None:
    day, night = (chosen(pytester, expression) for expression in ("not exhaustive", "exhaustive"))
    assert [each for each in day if "sample" not in each] == [
        *("test_named[b]", "test_named[c]", "test_but[a]", "test_param[a]", "test_always")
    ]
    assert [each for each in night if "sample" not in each] == [
        *("test_all[a]", "test_all[b]", "test_named[a]", "test_but[b]", "test_but[c]", "test_param[b]", "test_wine")
    ]
    sample = [each for each in day if "sample" in each]
    assert 60 < len(sample) < 140
    assert len(sample) + sum("sample" in each for each in night) == 400
