"""What holds when things go wrong on the node: inline work, an undo that fails, somebody else at work."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.integration.lab import ROOT, Bench
from tests.integration.site import converge, differences, site
from tests.lab.machine.faults import Fault, ServiceFault

REPAIR = ROOT / "playbooks" / "repair.yml"


@pytest.mark.exhaustive
def test_inline_converges_as_well(bench: Bench) -> None:
    host = bench.node()
    converge(bench, winkube_runner="inline")
    assert host.in_turn(lambda: host.node.services.state("containerd")) == "running"
    assert not host.in_turn(lambda: [path for path in host.node.dump()["tasks"] if "winkube" in path]), (
        "no task was made"
    )
    bench.reset_ledger()
    assert converge(bench, winkube_runner="inline").recap["win1"].changed == 0
    assert bench.calls() == 1


def test_inline_work_that_was_cut_is_taken_back_by_the_next_run(bench: Bench) -> None:
    host = bench.node()
    converge(bench, "--tags", "host", winkube_runner="inline")
    host.in_turn(lambda: host.node.faults.arm(Fault("session", 10, "after")))
    cut = site(bench, winkube_runner="inline", winkube_reconnect_timeout=1)
    assert cut.rc != 0, cut
    assert "Traceback" not in cut.output
    run = converge(bench, winkube_runner="inline")
    assert run.recap["win1"].changed == 1, run
    assert converge(bench, winkube_runner="inline").recap["win1"].changed == 0


def test_a_failed_undo_blocks_the_node_until_somebody_has_looked(bench: Bench) -> None:
    host = bench.node()
    converge(bench)
    host.in_turn(lambda: host.node.faults.service("containerd", ServiceFault("crash_at_start")))
    failed = site(bench, version="1.7.12")
    assert failed.rc != 0
    assert "The roll back failed as well" in failed.output, failed
    batch = re.search(r"winkube_batch=([0-9a-f]{32})", failed.output)
    assert batch, failed

    host.in_turn(host.node.faults.clear)
    before = bench.dump()
    blocked = site(bench, version="1.7.12")
    assert blocked.rc != 0
    assert f"an earlier change could not be rolled back (batch {batch[1]}" in blocked.output, blocked
    report = bench.directory / "report"
    more: dict[str, Any] = {
        "winkube_diagnose_dir": str(report),
        "winkube_diagnose_watch": 1,
        "winkube_diagnose_registries": [],
    }
    asked = site(bench, playbook=ROOT / "playbooks" / "diagnose.yml", **more)
    assert asked.rc != 0, asked
    assert differences(before, bench.dump()) == []
    first = json.loads((report / "report.json").read_text(encoding="utf-8"))["nodes"][0]["causes"][0]
    assert (first["id"], f"winkube_batch={batch[1]}" in first["remedy"]["ours"]) == ("host.blocked", True), first

    acknowledge = "winkube_hosts=windows winkube_repair=acknowledge winkube_batch="
    wrong = bench.ansible_playbook(REPAIR, "-e", f"{acknowledge}{'0' * 32}")
    assert "nothing to acknowledge" in wrong.output, wrong
    looked = bench.ansible_playbook(REPAIR, "-e", f"{acknowledge}{batch[1]}")
    assert looked.rc == 0, looked
    assert converge(bench, version="1.7.12").recap["win1"].changed == 1
    assert host.in_turn(lambda: host.node.services.state("containerd")) == "running"


@pytest.mark.exhaustive
def test_the_journal_tells_each_op_and_no_batch_file_is_left(bench: Bench) -> None:
    host = bench.node()
    converge(bench)
    files = host.in_turn(lambda: {path: entry for path, entry in host.node.drive.walk() if "\\batches\\" in path})
    journals = [path for path in files if path.endswith("journal.jsonl")]
    assert len(journals) == 2  # host, containerd
    text = host.in_turn(lambda: "".join(host.node.drive.read(path).decode() for path in journals))
    assert text.count('"e": "intent"') == text.count('"e": "done"') > 20
    assert text.count('"outcome": "done"') == 2
    assert not [path for path in files if path.endswith("batch.json")]
