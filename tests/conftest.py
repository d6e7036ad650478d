"""Makes the clone importable as the collection winkube.node, and loads what watches over lanes and rows."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

# The variable is common in containers. What pytest makes of the asserts is in .pyc files, and took each process half of
# its time to collect the tests; the runs of Ansible leave such files here anyway.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# The link that `make setup` has made: of the environment that runs the tests, else of .venv. pytest-ansible takes it
# from the environment (--ansible-unit-inject-only), and would else make a folder `collections` here.
COLLECTIONS = next(
    (place for place in (Path(sys.prefix) / "collections", ROOT / ".venv" / "collections") if place.is_dir()), None
)
if COLLECTIONS:
    os.environ["ANSIBLE_COLLECTIONS_PATH"] = str(COLLECTIONS)

from tests import iri_syntax  # noqa: E402
from tests.compiled_once import keep_code  # noqa: E402
from tests.exhaustive import HELP, settle  # noqa: E402
from tests.lanes import LanesPlugin, load_lanes  # noqa: E402
from tests.pwsh import choice  # noqa: E402
from tests.rows.record import OPTION, RowsPlugin  # noqa: E402
from tests.rows.table import load_rows  # noqa: E402
from tests.times import OPTION as TIMES_OPTION  # noqa: E402
from tests.times import TimesPlugin  # noqa: E402

UNIT = ROOT / "tests" / "unit"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, metavar="FILE", help="write what the tests say about the rows to this file")
    parser.addoption(TIMES_OPTION, metavar="FILE", help="write what each test costs to this file, JSON lines")


def pytest_configure(config: pytest.Config) -> None:
    for marker in (
        "row(*ids): the rows of tests/rows.yml that this test proves",
        "lane(name): the lane of tests/lanes.yml that this test belongs to",
        "quick: part of `make quick`; every test in tests/unit is that is not slow",
        "slow: takes many seconds (a file of tests/unit); left out of `make quick`",
        HELP,
    ):
        config.addinivalue_line("markers", marker)
    import_as_collection()
    iri_syntax.import_when_asked()
    strict = os.environ.get("CI") == "true"
    config.pluginmanager.register(LanesPlugin(config, load_lanes(), strict=strict), "winkube-lanes")
    config.pluginmanager.register(choice, "winkube-pwsh")
    config.pluginmanager.register(RowsPlugin(config, load_rows()), "winkube-rows")
    # A worker of pytest-xdist measures; the file is written by the process that they report to.
    file = None if hasattr(config, "workerinput") else config.getoption(TIMES_OPTION)
    config.pluginmanager.register(TimesPlugin(Path(file) if file else None), "winkube-times")


def import_as_collection() -> None:
    """Plain imports of ansible_collections.winkube.node, by a private API of ansible-core that is used only here."""
    from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionFinder

    keep_code()
    _AnsibleCollectionFinder(paths=[str(COLLECTIONS)] if COLLECTIONS else [])._install()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    folder = f"{UNIT}{os.sep}"
    for item in items:
        if str(item.path).startswith(folder) and item.get_closest_marker("slow") is None:
            item.add_marker("quick")
        settle(item)


def pytest_collection_finish() -> None:
    """What the tests are stays until the end: the garbage collector need not look through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> Generator[None]:
    """Ctrl-C means what it means at a terminal, for the tests and what they start, also where a shell has started the
    suite in the background, which ignores it."""
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
