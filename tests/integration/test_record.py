"""winkube_record: what a run did to each of its nodes, as a fact and as lines of JSON."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.site import CONFIG, site
from tests.integration.whole import OVERLAY, Whole
from tests.lab.machine.faults import ServiceFault

PLAYBOOKS = ROOT / "playbooks"
DRIFT = PLAYBOOKS / "drift.yml"

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


def agrees(run: Run, found: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The states of a run's hosts: a record says failed or unreachable if and only if Ansible's recap counts it so."""
    assert run.recap, run
    for host, recap in run.recap.items():
        state = "unreachable" if recap.unreachable else "failed" if recap.failed else "ok"
        record = found.get(host, {"state": "ok", "failed": None})
        assert record["state"] == state, (host, record, str(run))
        assert (record["failed"] is None) == (state == "ok"), record
    return {host: record["state"] for host, record in found.items()}


def test_a_record_says_failed_or_unreachable_if_and_only_if_the_recap_does(bench: Bench) -> None:
    """Plan, change, failure, rollback, unreachable, drift, diagnosis, reset."""
    one, two, three = bench.nodes(3)
    ok = {"win1": "ok", "win2": "ok", "win3": "ok"}
    assert agrees(*records(bench, "--check")) == ok
    assert agrees(*records(bench)) == ok

    run, found = records(bench, winkube_containerd_config_extra={"version": 9})
    assert set(agrees(run, found).values()) == {"failed"}
    assert "version = 9" in found["win3"]["failed"]["reason"]
    (line,) = [line for line in run.stdout.splitlines() if line.startswith("win1 to win3: ")]
    assert "failed in 'Read the node': " in line and "version = 9" in line, "the screen folds, the records do not"

    one.in_turn(lambda: one.node.faults.service("containerd", ServiceFault("no_pipe", times=1)))
    run, found = records(bench, winkube_containerd_log_level="debug")
    assert agrees(run, found) == ok | {"win1": "failed"}
    assert "Rolled back" in found["win1"]["failed"]["reason"]
    assert found["win1"]["left"] == ["containerd"] and found["win2"]["left"] == []

    three.set(access="refused")
    run, found = records(bench)
    assert agrees(run, found) == ok | {"win3": "unreachable"}
    assert found["win3"]["failed"]["task"] == "Read the node"

    two.in_turn(lambda: two.node.drive.write(CONFIG, b"version = 2\n"))
    run, found = records(bench, playbook=DRIFT, winkube_drift_dir=str(bench.directory / "drift"))
    assert agrees(run, found) == {"win1": "ok", "win2": "failed", "win3": "failed"}
    assert [each["state"] for each in found["win3"]["went_on"]] == ["unreachable"], "the play went on without it"
    reported = records(
        bench, playbook=DRIFT, winkube_drift_dir=str(bench.directory / "drift"), winkube_drift_fail=False
    )
    assert agrees(*reported) == ok

    two.in_turn(lambda: two.node.services.stop("containerd"))
    folder = {"winkube_diagnose_dir": str(bench.directory / "diagnosis")}
    run, found = records(bench, playbook=PLAYBOOKS / "diagnose.yml", **folder)
    states = agrees(run, found)
    assert states["win2"] == states["win3"] == "failed"

    run, found = records(bench, playbook=PLAYBOOKS / "reset.yml")
    assert "failed" in set(agrees(run, found).values()), "it is not confirmed"
    run, found = records(bench, "--limit", "win1", playbook=PLAYBOOKS / "reset.yml", winkube_reset=True)
    assert agrees(run, found) == {"win1": "ok"}
    assert found["win1"]["done"]["reset"]


@pytest.mark.parametrize("strategy", ["linear", "free"])
def test_failures_that_are_ignored_or_rescued_are_none_and_those_of_others_count(bench: Bench, strategy: str) -> None:
    """A user's own play, with tasks of other collections, batches, and hosts that do not wait for each other."""
    bench.nodes(2)
    play = bench.play(PLAY.replace("STRATEGY", strategy).replace("FILE", str(bench.directory / "records.jsonl")))
    run = bench.ansible_playbook(play)
    found = read(bench.directory / "records.jsonl")
    assert agrees(run, found) == {"win1": "ok", "win2": "failed"}
    assert found["win2"]["failed"] == {"state": "failed", "task": "Fail", "reason": "of another collection"}
    assert len(found["win1"]["went_on"]) == 2
    assert all("winkube_nothing" in each["reason"] for each in found["win1"]["went_on"])


PLAY = """
- hosts: windows
  gather_facts: false
  strategy: STRATEGY
  serial: 1
  vars: {winkube_record_file: FILE}
  tasks:
    - name: Ignore
      winkube.node.win_k8s_node_info:
      vars: {winkube_nothing: true}
      ignore_errors: true
    - block:
        - name: Break
          winkube.node.win_k8s_node_info:
          vars: {winkube_nothing: true}
      rescue:
        - name: Rescue
          winkube.node.win_k8s_node_info:
    - name: Fail
      ansible.builtin.fail: {msg: of another collection}
      when: inventory_hostname == 'win2'
"""


def test_what_a_fact_cache_kept_of_another_run_is_not_read(bench: Bench) -> None:
    bench.nodes(1)
    env = {"ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(bench.directory / "facts")}
    first, found = records(bench, env=env)
    assert first.rc == 0 and found["win1"]["done"], first
    again, found = records(bench, env=env)
    assert again.rc == 0 and found["win1"]["done"] == {}, again
    (kept,) = (bench.directory / "facts").glob("*win1")
    text = kept.read_text(encoding="utf-8")
    assert "winkube_record" in text and found["win1"]["run"] in text and "containerd" in text


def test_a_file_that_cannot_be_written_is_refused_before_the_node_is_asked(bench: Bench) -> None:
    bench.nodes(1)
    folder = bench.directory / "nowhere" / "records.jsonl"
    run = site(bench, winkube_record_file=str(folder))
    assert run.rc != 0 and "winkube_record_file: " in run.output and "No such file or directory" in run.output, run
    assert bench.calls("win1") == 0


def test_a_task_with_no_log_leaves_no_text_in_the_record(bench: Bench) -> None:
    bench.nodes(1)
    path = bench.directory / "records.jsonl"
    hidden = bench.play(
        f"- hosts: windows\n  gather_facts: false\n  vars: {{winkube_record_file: {path}, winkube_nothing: 1}}\n"
        "  tasks:\n    - winkube.node.win_k8s_node_info:\n      no_log: true\n      ignore_errors: true\n"
        "    - ansible.builtin.fail: {msg: of another collection}\n      no_log: true\n"
    )
    assert bench.ansible_playbook(hidden).rc != 0
    text = path.read_text(encoding="utf-8")
    assert "winkube_nothing" not in text and "of another collection" not in text
    assert json.loads(text)["failed"]["reason"].startswith("hidden")


def test_a_node_that_has_joined_is_ready_in_its_record_and_last_line(bench: Bench) -> None:
    whole = Whole(bench, OVERLAY)
    path = bench.directory / "records.jsonl"
    run = whole.converge(winkube_record_file=str(path))
    record = read(path)["win1"]
    assert (record["node"], record["ready"]) == ("win1", "True"), run
    assert record["pod_cidr"].startswith("10.244."), record
    assert (record["versions"]["kubernetes"], record["versions"]["containerd"]) == ("1.37.1", "2.3.7")
    assert record["left"] == []
    assert re.search(r"^win1: Ready, 1\.37\.1, containerd 2\.3\.7(, restarted)?; ", run.stdout, re.MULTILINE), run

    again = whole.converge(winkube_record_file=str(path))
    assert (read(path)["win1"]["ready"], read(path)["win1"]["done"]) == ("True", {}), again


def test_secret_options_are_in_no_record(bench: Bench) -> None:
    """Planned with --diff, done, failed and rolled back."""
    (host,) = bench.nodes(1)
    secret = bench.plant("plantedinarecord", "the proxy's password", ": the registry")
    service = {"environment": {"HTTPS_PROXY": f"http://ann:{secret}@proxy:3128"}}
    planned = records(bench, "--check", "--diff", winkube_containerd_service=service)[1]
    assert planned["win1"]["planned"]["containerd"]
    done = records(bench, "--diff", winkube_containerd_service=service)[1]
    host.in_turn(lambda: host.node.faults.service("containerd", ServiceFault("no_pipe", times=1)))
    failed = records(bench, winkube_containerd_service=service, winkube_containerd_log_level="debug")[1]
    assert failed["win1"]["state"] == "failed"
    assert secret not in json.dumps([planned, done, failed])
