"""winkube_record: what a run did to each of its nodes, as a fact and as lines of JSON."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import jsonschema

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.site import CONFIG, site

SCHEMA = json.loads((ROOT / "docs" / "record.schema.json").read_text(encoding="utf-8"))


def records(bench: Bench, *arguments: object, **more: Any) -> tuple[Run, dict[str, dict[str, Any]]]:
    """A run, and its records by host."""
    path = bench.directory / "records.jsonl"
    run = site(bench, *arguments, winkube_record_file=str(path), **more)
    return run, read(path)


def read(path: Path) -> dict[str, dict[str, Any]]:
    """The file's records; whoever wrote it closed it to others."""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for each in found:
        jsonschema.validate(each, SCHEMA)
    assert len({each["host"] for each in found}) == len(found), "one line for each"
    return {each["host"]: each for each in found}


def test_a_plan_and_a_change_stand_in_the_record(bench: Bench) -> None:
    bench.nodes(2)
    run, found = records(bench, "--check")
    assert run.rc == 0, run
    assert list(found) == ["win1", "win2"]
    planned = found["win1"]
    assert planned["state"] == "ok" and planned["done"] == {}
    assert {"host", "containerd"} <= set(planned["planned"])
    assert planned["left"] == list(planned["planned"])

    run, found = records(bench)
    assert run.rc == 0, run
    assert found["win1"]["left"] == []
    assert set(found["win1"]["done"]) == set(found["win1"]["planned"]) == set(planned["planned"])
    assert found["win1"]["run"] != planned["run"]
    assert f"wrote {CONFIG}" in " ".join(found["win1"]["done"]["containerd"])
