"""containerd on a simulated node by the clone's site.yml: from bare to running, again, upgraded, broken, adopted."""

from __future__ import annotations

import json
import random
import re
from functools import partial
from typing import Any

import pytest

from tests.integration.lab import Bench
from tests.integration.site import BINARY, CONFIG, converge, differences, served, site
from tests.lab.machine.faults import ServiceFault


def running(bench: Bench, name: str = "win1", service: str = "containerd") -> bool:
    host = bench.lab.host(name)
    return bool(host.in_turn(lambda: host.node.services.state(service)) == "running")


ALONE = "- hosts: windows\n  gather_facts: false\n  roles:\n    - winkube.node.containerd\n"
"""The role without the first task of site.yml, which would look for room before."""


def patience(seconds: int) -> dict[str, Any]:
    """The service as it is by default, with so much time to start."""
    return {"manager": "registered", "environment": {}, "start_timeout": seconds, "stop_timeout": 120}


@pytest.mark.exhaustive
@pytest.mark.row("NY-21", "CT-47")
def test_from_bare_to_running_and_again(bench: Bench) -> None:
    host = bench.node()
    proxied = {
        "winkube_proxy": "http://proxy.example.com:3128",
        "winkube_http_proxy": "",
        "winkube_no_proxy": [".corp"],
    }
    first = converge(bench, **proxied)
    assert first.recap["win1"].changed == 2, first
    assert running(bench)
    assert bench.calls() == 3  # one to read, one for each component that changed
    key = r"HKLM\SYSTEM\CurrentControlSet\Services\containerd"
    environment = str(host.in_turn(lambda: host.node.registry.get(key, "Environment"))).split("'")
    assert "HTTPS_PROXY=http://proxy.example.com:3128" in environment
    assert "NO_PROXY=.corp,localhost,127.0.0.1,.svc,.cluster.local,10.244.0.0/16,10.96.0.0/12" in environment

    before = bench.dump()  # the probe may add to its cache of hashes there
    bench.reset_ledger()
    host.node.counters.reset()
    second = converge(bench, **proxied)
    assert second.recap["win1"].changed == 0, second
    assert bench.calls() == 1
    assert host.node.counters.write_ops == 0
    assert differences(before, bench.dump()) == []


@pytest.mark.exhaustive
@pytest.mark.row("NY-21")
def test_check_mode_prints_the_whole_plan_and_touches_nothing(bench: Bench) -> None:
    host = bench.node()
    before = bench.dump()
    run = converge(bench, "--check", "--diff")
    assert run.recap["win1"].changed == 2, run
    for sentence in (
        r"would create the folder C:\k",
        "would install containerd 1.7.11 from http://xyz/containerd-1.7.11-windows-amd64.tar.gz",
        rf"would write {CONFIG}",
        "would register the service containerd",
        "would start containerd",
    ):
        assert sentence in run.output, run
    assert "+version = 2" in run.stdout, "the diff shows config.toml"
    assert bench.dump() == before
    assert host.node.counters.write_ops == 0
    assert bench.calls() == 1


@pytest.mark.exhaustive
def test_check_mode_says_what_the_real_run_does(bench: Bench) -> None:
    bench.node()
    planned = converge(bench, "--check")
    done = converge(bench)
    assert planned.steps and planned.steps == done.steps
    assert "win1: would " in planned.stdout and "would " not in done.stdout


@pytest.mark.exhaustive
def test_an_upgrade_replaces_the_programs_and_restarts_once(bench: Bench) -> None:
    host = bench.node()
    converge(bench)
    run = converge(bench, version="1.7.12")
    assert run.recap["win1"].changed == 1, run
    assert "installed containerd 1.7.12" in run.output
    assert running(bench)
    assert b"1.7.12" in host.in_turn(lambda: host.node.drive.read(BINARY))
    assert converge(bench, version="1.7.12").recap["win1"].changed == 0


@pytest.mark.exhaustive
def test_a_config_of_your_own_replaces_ours_and_is_checked_first(bench: Bench) -> None:
    host = bench.node()
    bench.file(
        "templates/mine.toml.j2",
        r"""# mine
version = 2
root = '{{ root }}'
state = '{{ state }}'
oom_score = 0
[grpc]
  address = '{{ grpc_address }}'
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = '{{ sandbox_image }}'
  max_container_log_line_size = 4096
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = '{{ cni_bin_dir }}'
  conf_dir = '{{ cni_conf_dir }}'
""",
    )
    mine = str(bench.directory / "templates" / "mine.toml.j2")
    converge(bench, winkube_containerd_config_template=mine)
    assert b"max_container_log_line_size = 4096" in host.in_turn(lambda: host.node.drive.read(CONFIG))

    run = converge(bench, "--diff", winkube_containerd_config_extra={"debug": {"format": "json"}})
    assert "+format = 'json'" in run.stdout, run
    assert b"format = 'json'" in host.in_turn(lambda: host.node.drive.read(CONFIG))
    assert converge(bench, winkube_containerd_config_extra={"debug": {"format": "json"}}).recap["win1"].changed == 0

    before = bench.dump()
    broken = bench.file("templates/broken.toml.j2", "version = 3\n")
    run = site(bench, winkube_containerd_config_template=str(broken))
    assert run.rc != 0
    assert "version = 3, but containerd 1.7.11 reads at most version 2" in run.output, run
    assert differences(before, bench.dump()) == []


@pytest.mark.exhaustive
def test_a_containerd_that_does_not_come_up_is_taken_back(bench: Bench) -> None:
    host = bench.node()
    converge(bench)
    before = bench.dump()
    host.in_turn(lambda: host.node.faults.service("containerd", ServiceFault("no_pipe", times=1)))
    run = site(bench, version="1.7.12")
    assert run.rc != 0
    assert "Rolled back." in run.output, run
    host.in_turn(lambda: host.node.clock.advance(60))
    changed = [line for line in differences(before, bench.dump()) if "containerd.log" not in line]
    assert changed == []
    assert running(bench)
    assert converge(bench, version="1.7.12").recap["win1"].changed == 1


@pytest.mark.exhaustive
def test_a_containerd_that_is_stuck_on_its_way_up_is_ended_and_taken_back(bench: Bench) -> None:
    """`sc stop` was asked again and again for each undo list, 316 times in 4 minutes; then the node was blocked."""
    host = bench.node()
    converge(bench)
    host.in_turn(lambda: host.node.faults.service("containerd", ServiceFault("slow_start", 100_000, times=1)))
    host.node.counters.reset()
    run = site(bench, version="1.7.12", winkube_containerd_service=patience(60))
    assert run.rc != 0
    assert "The service containerd did not become running within 60 s: it is start_pending." in run.output, run
    assert "Rolled back." in run.output, run
    assert host.node.counters.programs["sc"] < 20, host.node.counters.programs
    host.in_turn(lambda: host.node.clock.advance(60))
    assert running(bench)
    assert converge(bench, version="1.7.12").recap["win1"].changed == 1


@pytest.mark.exhaustive
def test_a_containerd_that_ends_is_told_with_its_exit_code_and_its_log(bench: Bench) -> None:
    """`within 120 s: it is stopped` was all, after the whole start_timeout; the panic stood in the log. It ends
    twice: after the first time its failure action starts it again."""
    host = bench.node()
    converge(bench)
    log, panic = r"C:\ProgramData\containerd\log\containerd.log", b"panic: runtime error: index out of range\n"

    def break_it() -> float:
        host.node.faults.pipe_delay_s = 40
        host.node.faults.service("containerd", ServiceFault("crash_loop", 3, times=2))
        host.node.drive.write(log, panic, append=True)
        return float(host.node.clock.now())

    before = host.in_turn(break_it)
    run = site(bench, version="1.7.12", winkube_containerd_service=patience(600))
    assert run.rc != 0
    assert "the service containerd is stopped, its exit code 1" in run.output, run
    assert "containerd.log: " in run.output and "panic: runtime error" in run.output, run
    assert host.in_turn(lambda: host.node.clock.now()) - before < 300


def restarted_without_pipe(bench: Bench, times: int | None) -> None:
    """containerd is restarted by somebody and runs, but its pipe does not come, so often."""
    host = bench.lab.host("win1")
    host.in_turn(lambda: host.node.faults.service("containerd", ServiceFault("no_pipe", times=times)))
    for order in ("stop", "start"):
        host.in_turn(partial(host.node.run, r"C:\Windows\System32\sc.exe", [order, "containerd"]))
        host.in_turn(lambda: host.node.clock.advance(60))
    assert running(bench)


@pytest.mark.exhaustive
def test_a_service_that_runs_and_does_not_work_is_a_difference(bench: Bench) -> None:
    """Failed before: changed=0, since RUNNING was all that was looked at."""
    host = bench.node()
    converge(bench)
    restarted_without_pipe(bench, times=1)
    check = converge(bench, "--check")
    assert check.recap["win1"].changed == 1, check
    assert (
        "would wait until containerd is ready (its pipe containerd-containerd is not there), and restart it if it stays"
        " so" in check.output
    ), check

    run = converge(bench)
    assert run.recap["win1"].changed == 1, run
    assert "restarted containerd, which was not ready: its pipe containerd-containerd is not there" in run.output, run
    assert host.in_turn(lambda: host.node.pipes.exists("containerd-containerd"))
    assert converge(bench).recap["win1"].changed == 0


@pytest.mark.exhaustive
def test_a_service_that_only_needs_time_is_waited_for_and_not_restarted(bench: Bench) -> None:
    """As after a boot: containerd counts as running half a minute before its pipe is there."""
    host = bench.node()
    converge(bench)
    host.in_turn(lambda: setattr(host.node.faults, "pipe_delay_s", 90))
    for order in ("stop", "start"):
        host.in_turn(partial(host.node.run, r"C:\Windows\System32\sc.exe", [order, "containerd"]))
        host.in_turn(lambda: host.node.clock.advance(10))
    pid = host.in_turn(lambda: host.node.services.runtime("containerd").pid)
    run = converge(bench)
    assert "waited until containerd is ready" in run.output, run
    assert host.in_turn(lambda: host.node.services.runtime("containerd").pid) == pid


def test_a_service_that_does_not_come_to_work_fails_the_run(bench: Bench) -> None:
    """Failed before: changed=0 and exit status 0."""
    bench.node()
    converge(bench)
    restarted_without_pipe(bench, times=None)
    run = site(bench, winkube_containerd_service=patience(20))
    assert run.rc != 0, run
    assert "containerd-containerd" in run.output, run


@pytest.mark.exhaustive
def test_a_running_dependant_runs_again_after_an_upgrade(bench: Bench) -> None:
    host = bench.node()
    converge(bench)
    kubelet = ["create", "kubelet", "binPath=", r"C:\Windows\System32\svchost.exe -k kubelet", "depend=", "containerd"]
    host.in_turn(lambda: host.node.run(r"C:\Windows\System32\sc.exe", kubelet))
    host.in_turn(lambda: host.node.run(r"C:\Windows\System32\sc.exe", ["start", "kubelet"]))
    host.in_turn(lambda: host.node.clock.advance(30))
    assert running(bench, service="kubelet")
    run = converge(bench, version="1.7.12")
    assert "restarted its dependants: kubelet" in run.output, run
    assert running(bench, service="kubelet")
    assert running(bench)


@pytest.mark.exhaustive
def test_a_containerd_made_by_hand_is_adopted_without_a_restart(bench: Bench) -> None:
    host = bench.node()
    converge(bench)
    receipt = r"C:\ProgramData\winkube\receipts\containerd.json"
    host.in_turn(lambda: host.node.drive.delete(receipt))
    pid = host.in_turn(lambda: host.node.services.runtime("containerd").pid)
    run = converge(bench)
    assert "recorded where containerd 1.7.11 came from (the files on the node are the same)" in run.output, run
    assert host.in_turn(lambda: host.node.services.runtime("containerd").pid) == pid
    assert converge(bench).recap["win1"].changed == 0


@pytest.mark.parametrize(
    ("url", "checksum", "sentence"),
    [
        (None, "sha256:" + "0" * 64, "sha256"),
        ("http://xyz/bad/404/containerd-1.7.11-windows-amd64.tar.gz", None, "404"),
        ("http://xyz/bad/html/containerd-1.7.11-windows-amd64.tar.gz", None, "an HTML page"),
        ("http://xyz/bad/truncated/containerd-1.7.11-windows-amd64.tar.gz", None, "bytes"),
        ("http://nowhere.example/containerd-1.7.11-windows-amd64.tar.gz", None, "nowhere.example"),
    ],
)
def test_a_bad_source_is_one_sentence_and_nothing_is_touched(
    bench: Bench, url: str | None, checksum: str | None, sentence: str
) -> None:
    bench.node()
    converge(bench, "--tags", "host")
    before = bench.dump()
    more: dict[str, Any] = {"winkube_containerd_url": url} if url else {}
    more |= {"winkube_containerd_checksum": checksum} if checksum else {}
    run = site(bench, **more)
    assert run.rc != 0
    assert "Rolled back." in run.output, run
    assert sentence in run.output, run
    assert "Traceback" not in run.output
    assert differences(before, bench.dump()) == []


@pytest.mark.exhaustive
def test_an_archive_that_leads_out_of_its_folder_is_refused_whole(bench: Bench) -> None:
    bench.node()
    converge(bench, "--tags", "host")
    before = bench.dump()
    run = site(
        bench,
        winkube_containerd_url="http://xyz/bad/escape/containerd-1.7.11-windows-amd64.tar.gz",
        winkube_containerd_checksum=served(bench, "/bad/escape/containerd-1.7.11-windows-amd64.tar.gz"),
    )
    assert run.rc != 0
    assert "evil.exe" in run.output, run
    assert differences(before, bench.dump()) == []


@pytest.mark.exhaustive
def test_a_disk_without_room_for_the_journal_is_refused_before_anything_is_done(bench: Bench) -> None:
    host = bench.node()
    converge(bench, "--tags", "host")
    before = bench.dump()
    volume = host.node.drive.volumes["C:"]
    size = volume.size
    volume.size = volume.used + 14000
    assert "The volume C: has 0.0 GB free" in site(bench).output
    run = site(bench, playbook=bench.play(ALONE))
    assert run.rc != 0
    assert "bytes free" in run.output and "Make room there." in run.output, run.output
    volume.size = size
    assert differences(before, bench.dump()) == []


@pytest.mark.exhaustive
def test_a_full_disk_is_said_and_nothing_is_left_behind(bench: Bench) -> None:
    host = bench.node()
    converge(bench, "--tags", "host")
    before = bench.dump()
    volume = host.node.drive.volumes["C:"]
    size = volume.size
    # Room for the batch and its journal, not for the archive.
    bench.lab.sources.publish("/big/containerd-1.7.11-windows-amd64.tar.gz", random.Random(0).randbytes(8_000_000))
    volume.size = volume.used + 4_000_000
    run = site(
        bench,
        playbook=bench.play(ALONE),
        winkube_containerd_url="http://xyz/big/containerd-1.7.11-windows-amd64.tar.gz",
        winkube_containerd_checksum=served(bench, "/big/containerd-1.7.11-windows-amd64.tar.gz"),
    )
    assert run.rc != 0
    assert "112" in run.output or "not enough space" in run.output, run
    volume.size = size
    assert differences(before, bench.dump()) == []
    assert converge(bench).recap["win1"].changed == 1


def test_a_node_that_is_not_there_is_unreachable_in_a_sentence(bench: Bench) -> None:
    bench.node(access="refused")
    run = site(bench)
    assert run.recap["win1"].unreachable == 1, run
    assert "Traceback" not in run.output


@pytest.mark.exhaustive
def test_a_wrong_password_is_unreachable_in_a_sentence(bench: Bench) -> None:
    bench.node(password="right")
    before = bench.dump()
    inventory = bench.inventory(ansible_password="wrong", ansible_ssh_extra_args="'-o PubkeyAuthentication=no'")
    run = site(bench, "-i", inventory)
    assert run.recap["win1"].unreachable == 1, run
    assert "Traceback" not in run.output
    assert bench.dump() == before


@pytest.mark.exhaustive
def test_a_download_without_a_checksum_is_refused_before_the_node_is_touched(bench: Bench) -> None:
    bench.node()
    run = site(bench, "--tags", "containerd", winkube_containerd_checksum="")
    assert run.rc != 0
    assert "winkube_allow_unverified: [containerd]" in run.output, run
    assert bench.calls() == 1


@pytest.mark.exhaustive
def test_with_all_paths_changed_a_converged_node_is_still_one_call(bench: Bench) -> None:
    bench.node()
    paths = {
        "winkube_state_dir": r"D:\state".replace("D:", "C:"),
        "winkube_root": r"C:\kube",
        "winkube_flannel_dir": r"C:\net\flannel",
        "winkube_flannel_run_dir": r"C:\net\run",
        "winkube_containerd_binary": r"C:\ctrd\bin\containerd.exe",
        "winkube_containerd_config": r"C:\ctrd\etc\config.toml",
        "winkube_containerd_log": r"C:\ctrd\log\c.log",
        "winkube_containerd_service_name": "ctrd",
        "winkube_containerd_pipe": "ctrd-pipe",
    }
    converge(bench, **paths)
    bench.reset_ledger()
    second = converge(bench, **paths)
    assert second.recap["win1"].changed == 0, second
    assert bench.calls() == 1
    assert bench.lab.host("win1").node.drive.is_file(r"C:\ctrd\etc\config.toml")
    assert not bench.lab.host("win1").node.drive.exists(r"C:\k")


@pytest.mark.exhaustive
def test_an_old_runs_facts_in_a_cache_are_not_believed(bench: Bench) -> None:
    host = bench.node()
    env = {"ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(bench.directory / "facts")}
    converge(bench, env=env)
    cached = json.dumps([json.loads(path.read_text()) for path in (bench.directory / "facts").iterdir()])
    assert "winkube_reading" in cached
    host.in_turn(lambda: host.node.drive.delete(CONFIG))
    # Even where nothing refreshes: the roles alone, without site.yml's first task.
    play = bench.play(
        "- hosts: windows\n  gather_facts: false\n  roles: [winkube.node.host, winkube.node.containerd]\n",
    )
    bench.reset_ledger()
    run = converge(bench, playbook=play, env=env)
    assert rf"wrote {CONFIG}" in run.output, run
    assert bench.calls() == 2
    bench.reset_ledger()
    assert converge(bench, playbook=play, env=env).recap["win1"].changed == 0
    assert bench.calls() == 1


EXCLUSIONS = r"HKLM\SOFTWARE\Policies\Microsoft\Windows Defender\Exclusions"


@pytest.mark.exhaustive
def test_defenders_exclusions_are_written_once_and_read_back(bench: Bench) -> None:
    host = bench.node()
    run = converge(bench, winkube_defender_exclusions=True)
    assert "added to the exclusions of Microsoft Defender: C:\\ProgramData\\containerd\\root" in run.output, run
    assert host.in_turn(lambda: host.node.registry.get(rf"{EXCLUSIONS}\Processes", BINARY)) == "0"
    bench.reset_ledger()
    assert converge(bench, winkube_defender_exclusions=True).recap["win1"].changed == 0
    assert bench.calls() == 1


@pytest.mark.exhaustive
def test_exclusions_that_tamper_protection_takes_back_are_named(bench: Bench) -> None:
    """Windows reports nothing."""
    host = bench.node()
    host.in_turn(lambda: host.node.registry.taken_back.add(EXCLUSIONS))
    run = converge(bench, winkube_defender_exclusions=True)
    assert r"should exclude C:\ProgramData\containerd\root" in " ".join(run.output.split()), run


@pytest.mark.exhaustive
def test_what_takes_long_is_told_while_it_does(bench: Bench) -> None:
    """A line a minute where nobody watches: what is waited for, and for how long so far."""
    host = bench.node()
    host.in_turn(lambda: host.node.faults.service("containerd", ServiceFault("slow_start", 100, times=1)))
    run = converge(bench)
    assert re.search(r"^  win1: containerd: is waiting for .*, 60 s so far$", run.stdout, re.MULTILINE), run
    assert "[WARNING]" not in run.stdout
