"""drift.yml: how nodes differ from what is wanted, in one report, and nothing on them is changed."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.site import CONFIG, converge, differences, site, variables

DRIFT = ROOT / "playbooks" / "drift.yml"


def drift(bench: Bench, *arguments: object, **more: Any) -> tuple[Run, dict[str, Any], ET.Element]:
    """The run, its report for programs, and the page: parsed as XML, which forgives nothing."""
    folder = bench.directory / "reports"
    run = site(bench, *arguments, playbook=DRIFT, winkube_drift_dir=str(folder), **more)
    assert (folder / "drift.json").is_file(), run
    page = Path(folder / "drift.html").read_text(encoding="utf-8")
    root = ET.fromstring(page.removeprefix("<!DOCTYPE html>\n"))
    return run, json.loads((folder / "drift.json").read_text(encoding="utf-8")), root


def test_nodes_that_differ_are_reported_and_left_as_they_are(bench: Bench) -> None:
    host = bench.node("win1")
    bench.node("win2", "192.168.122.221")
    converge(bench)
    run, report, page = drift(bench)
    assert run.rc == 0, run
    assert "No node differs. The report: " in run.output, run
    assert report["counts"] == {"same": 2, "different": 0, "failed": 0, "unreachable": 0}
    assert page.find(".//h2") is None

    host.in_turn(lambda: host.node.drive.write(CONFIG, b"version = 2\n# <b>mine</b>\n"))
    bench.node("win3", "192.168.122.222").set(access="refused")
    before = bench.dump()
    bench.reset_ledger()
    run, report, page = drift(bench)
    assert run.rc != 0
    assert "2 of 3 nodes are not as wanted." in run.output, run
    assert "Differs in containerd. See " in run.output, run
    assert "Not reached: " in run.output, run
    failed = {name: run.recap[name].failed for name in ("win1", "win2", "win3")}
    assert failed == {"win1": 1, "win2": 0, "win3": 1}, "each node fails for itself, a healthy one does not"
    assert differences(before, bench.dump()) == []
    assert bench.calls("win1") == 1
    assert report["counts"] == {"same": 1, "different": 1, "failed": 0, "unreachable": 1}
    found = {node["name"]: node for node in report["nodes"]}
    first, second = found["win1"]["components"]["containerd"]
    assert CONFIG in first["text"]
    assert "-# <b>mine</b>" in first["diff"]
    assert second == {"text": "restart containerd", "diff": ""}
    assert found["win2"]["components"] == {}
    assert [each.text for each in page.findall(".//h2")] == ["win1", "win3"]
    assert "# <b>mine</b>" in "".join(page.itertext())
    assert page.find(".//b") is None, "what a node says is not HTML"

    limited, report, _page = drift(bench, "--limit", "win1")
    assert limited.rc != 0, limited
    assert "1 of 1 nodes are not as wanted." in limited.output, limited
    assert [node["name"] for node in report["nodes"]] == ["win1"]

    assert drift(bench, winkube_drift_fail=False)[0].rc == 0


@pytest.mark.exhaustive
def test_a_node_that_cannot_be_planned_stands_in_the_report_with_the_reason(bench: Bench) -> None:
    bench.node("win1")
    run, report, page = drift(bench, winkube_containerd_config_extra={"version": 9})
    assert run.rc != 0
    (node,) = report["nodes"]
    assert node["state"] == "failed"
    assert "version = 9" in node["error"]
    assert "host" in node["components"], "what was planned before it"
    assert "version = 9" in "".join(page.itertext())


@pytest.mark.exhaustive
def test_the_report_lies_where_the_command_was_given(bench: Bench) -> None:
    """Not beside the playbook: a folder `drift` there would be taken for the playbook of that name."""
    bench.node("win1")
    converge(bench)
    folder = bench.directory / "elsewhere"
    folder.mkdir()
    extra = bench.file("extra.json", json.dumps({**variables(), "winkube_drift_dir": ""}))
    assert bench.ansible_playbook(DRIFT, "-e", f"@{extra}", cwd=folder).rc == 0
    assert sorted(path.name for path in (folder / "drift").iterdir()) == ["drift.html", "drift.json"]
    assert not (DRIFT.parent / "drift").exists()
