"""A pytest plugin (`--cover=FOLDER`): what each test executes, as JSON lines, one file for each process of the tests.

A line for each test that has passed: {"test": "<test id>", "rows": ["NY-01"], "seen": ["plugins/x.py:12", ...],
"started": ["molecule"], "quick": false}. `seen` is what tests/cover/tracer.py writes, of pytest's process and of
Ansible's (tests/integration/warm.py), `task:<name>:<how it ended>` of the tasks that Ansible has printed, and
`secret:<what>` of those that may turn up nowhere. `started`: programs whose doing is not seen. `quick`: whether `make
quick` runs it.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.cover import tracer
from tests.integration import warm
from tests.rows.record import rows_of

OPTION = "--cover"
_ENDED = re.compile(r"^(ok|changed|skipping|fatal|failed|included|unreachable)\b", re.MULTILINE)
_TASK = re.compile(r"^(?:TASK|RUNNING HANDLER|PLAY) \[(.*?)\] \*+$", re.MULTILINE)


class CoverPlugin:
    """See the module."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        self._out = folder / f"{worker}.jsonl"
        self._trace = folder.absolute() / f"{worker}.trace"
        self._trace.write_text("", encoding="utf-8")
        self._started: set[str] = set()
        self._passed = True

    def pytest_collection_finish(self) -> None:
        warm.TRACE[:] = [str(self._trace)]
        tracer.start(str(self._trace))
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen" and "tests.integration.warm" not in (arguments[1] or ()):
            self._started.add(Path(str(arguments[0])).name)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        os.truncate(self._trace, 0)
        self._started.clear()
        self._passed = True
        tracer.restart()
        done = yield
        if not self._passed:
            return done
        seen = set(self._trace.read_text(encoding="utf-8", errors="replace").splitlines())
        said = {
            "test": item.nodeid,
            "rows": rows_of(item),
            "seen": sorted(seen),
            "started": sorted(self._started),
            "quick": item.get_closest_marker("quick") is not None,
        }
        with self._out.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(said) + "\n")
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._passed &= report.passed

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        bench = getattr(item, "funcargs", {}).get("bench")
        with self._trace.open("a", encoding="utf-8") as stream:
            for run in getattr(bench, "runs", ()):
                stream.writelines(f"{task}\n" for task in tasks(run.stdout))
            stream.writelines(f"secret:{what}\n" for what in getattr(bench, "planted", {}).values())
        return (yield)


def tasks(output: str) -> set[str]:
    """`task:<name>:<how it ended>` of what Ansible has printed."""
    found = set()
    _, *pieces = _TASK.split(output)
    for name, text in zip(pieces[::2], pieces[1::2], strict=True):
        found |= {f"task:{name}:{how}" for how in _ENDED.findall(text)}
    return found
