"""The task that keeps logs within limits: made, recreated, taken away, and back where a batch fails."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.log_limit import LogLimitOptions, LogLimits
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading

from .nodes import LAYOUT, bare, lines

LOGS = (r"C:\k\kubelet.log", LAYOUT.containerd_log)
STATE = LAYOUT.state_dir
DELETE = r"run schtasks.exe /Delete /TN \winkube\logs /F"
CREATE = rf"run schtasks.exe /Create /TN \winkube\logs /XML {STATE}\logs.xml /F"


USUAL = LogLimitOptions()


def wish(limits: LogLimitOptions | None = USUAL) -> LogLimits:
    return LogLimits(LAYOUT, limits, LOGS, r"C:\backup")


def ops(node: Reading, wanted: LogLimits) -> list[tuple[str, list[str]]]:
    made = make_plan("host", (wanted,), node).batch
    return [(lines((op,))[0], lines(op.undo)) for op in made.ops] if made else []


def kept() -> Reading:
    return make_plan("host", (wish(),), bare(wish().reads())).predicted


def test_it_is_made_once_and_a_failed_batch_takes_it_away() -> None:
    assert ops(bare(wish().reads()), wish()) == [
        (rf"write {STATE}\logs.json", [rf"remove {STATE}\logs.json"]),
        (rf"write {STATE}\logs.xml", [rf"remove {STATE}\logs.xml"]),
        (CREATE, [DELETE]),
    ]
    assert ops(kept(), wish()) == []


def test_other_limits_are_written_and_come_back() -> None:
    found = ops(kept(), wish(LogLimitOptions(max_mb=20)))
    assert found == [
        (r"mkdir C:\backup", []),
        (rf"write {STATE}\logs.json", [rf"restore {STATE}\logs.json"]),
        (rf"write {STATE}\logs.xml", []),
        (CREATE, []),
    ]


@pytest.mark.parametrize("task", [{"exists": False}, {"exists": True, "enabled": False, "state": "disabled"}])
def test_a_task_that_somebody_has_deleted_or_disabled_is_made_anew(task: dict[str, Any]) -> None:
    assert (CREATE, [] if task["exists"] else [DELETE]) in ops(kept().merge({"task:logs": task}), wish())


def test_it_is_taken_away_and_comes_back_where_the_batch_fails() -> None:
    assert ops(kept(), wish(None)) == [
        (DELETE, [CREATE]),
        (rf"remove {STATE}\logs.json", [rf"write {STATE}\logs.json"]),
    ]
    assert ops(bare(wish().reads()), wish(None)) == []


def test_only_the_log_that_nobody_rotates_is_emptied_and_no_log_stands_twice() -> None:
    (step,) = make_plan("host", (wish(),), bare(wish().reads())).steps
    assert step.after.count('"empty": true') == 1 and step.after.count('"path"') == len(LOGS)
