"""The kubelet on a simulated node: made and left stopped before the join, started when it is configured, upgraded."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pytest

from tests.integration import stand_ins
from tests.integration.lab import Bench, Run
from tests.integration.site import differences
from tests.lab.machine.builds import build, nssm_archive
from tests.lab.machine.image import ENVIRONMENT
from tests.lab.server.host import NodeHost

PLAY = """
- hosts: all
  gather_facts: false
  roles:
    - winkube.node.kubelet
"""
BASE = "http://dl.k8s.io/release/v{}/bin/windows/amd64"
SERVICE = r"HKLM\SYSTEM\CurrentControlSet\Services\kubelet"
EXE = r"C:\k\kubelet.exe"
MANAGERS = ("nssm", "sc")


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def variables(version: str = "1.27.4", manager: str = "nssm", **more: Any) -> dict[str, Any]:
    return {
        "winkube_kubernetes_version": version,
        "winkube_kubernetes_base_url": BASE.format(version),
        "winkube_kubelet_checksum": sha256(build("kubelet", version)),
        "winkube_service_manager": manager,
        "winkube_nssm_url": "http://xyz/nssm-2.24.zip",
        "winkube_nssm_checksum": sha256(nssm_archive()),
        "winkube_log_runner_url": f"{BASE.format('1.37.1')}/kube-log-runner.exe",
        "winkube_log_runner_checksum": sha256(build("kube-log-runner", "1.37.1")),
        **more,
    }


def kubelet(bench: Bench, *args: object, **wanted: Any) -> Run:
    extra = bench.file("extra.json", json.dumps(variables(**wanted)))
    return bench.ansible_playbook(bench.play(PLAY), "-e", f"@{extra}", *args)


def converge(bench: Bench, *args: object, **wanted: Any) -> Run:
    run = kubelet(bench, *args, **wanted)
    assert run.rc == 0, str(run)
    return run


def value(host: NodeHost, name: str, key: str = SERVICE) -> Any:
    return host.in_turn(lambda: host.node.registry.get(key, name))


def state(host: NodeHost) -> str:
    return str(host.in_turn(lambda: host.node.services.state("kubelet")))


def configured(host: NodeHost) -> None:
    """As a join leaves the node. Called in the node's turn."""
    host.node.drive.write(r"C:\etc\kubernetes\kubelet.conf", b"apiVersion: v1\n")
    host.node.drive.mkdir(r"C:\etc\kubernetes\pki")
    host.node.drive.write(r"C:\etc\kubernetes\pki\ca.crt", b"of the cluster")
    flags = "--container-runtime-endpoint=npipe:////./pipe/containerd-containerd --hostname-override=win1"
    image = "--pod-infra-container-image=registry.k8s.io/pause:3.9"
    host.node.drive.write(r"C:\var\lib\kubelet\kubeadm-flags.env", f'KUBELET_KUBEADM_ARGS="{flags} {image}"\n'.encode())


@pytest.mark.exhaustive
@pytest.mark.row("KU-01", "SV-05", "SV-12", "SV-22")
@pytest.mark.parametrize("manager", MANAGERS)
def test_before_the_join_it_is_installed_and_left_stopped(bench: Bench, manager: str) -> None:
    host = bench.node()
    first = converge(bench, manager=manager)
    assert first.recap["win1"].changed == 1, first
    assert bench.calls() == 2, first
    assert "left kubelet stopped: it waits for join" in first.output
    assert state(host) == "stopped"
    assert value(host, "Start") == 2
    if manager == "nssm":
        line = value(host, "AppParameters", rf"{SERVICE}\Parameters")
        assert value(host, "AppDirectory", rf"{SERVICE}\Parameters") == r"C:\k"
    else:
        runner, _, line = str(value(host, "ImagePath")).partition(f" {EXE} ")
        assert runner.startswith(r"C:\k\kube-log-runner.exe ")
        assert line.startswith("--windows-service ")
    assert "--hostname-override=win1" in line
    assert r"--config=C:\var\lib\kubelet\config.yaml" in line

    before = bench.dump()
    bench.reset_ledger()
    second = converge(bench, manager=manager)
    assert second.recap["win1"].changed == 0, second
    assert bench.calls() == 1
    assert differences(before, bench.dump()) == []


@pytest.mark.exhaustive
@pytest.mark.row("RS-07")
def test_a_share_of_the_cpu_is_of_the_nodes_own_processors(bench: Bench) -> None:
    host = bench.node()
    host.in_turn(lambda: host.node.registry.set(ENVIRONMENT, "NUMBER_OF_PROCESSORS", "string", "8"))
    kept = {"winkube_system_reserved": {"memory": "2Gi", "cpu": "10%"}}
    converge(bench, **kept)
    assert "--system-reserved=cpu=800m,memory=2Gi" in value(host, "AppParameters", rf"{SERVICE}\Parameters")
    assert converge(bench, **kept).recap["win1"].changed == 0


@pytest.mark.exhaustive
def test_after_a_restart_before_the_join_nobody_starts_it(bench: Bench) -> None:
    """Windows does at boot, and without its configuration it ends at once: nssm keeps the service paused."""
    host = bench.node()
    converge(bench)

    def restarted() -> None:
        host.node.power_off()
        host.node.boot()
        host.node.clock.advance(120)

    host.in_turn(restarted)
    assert state(host) == "paused"
    again = converge(bench)
    assert again.recap["win1"].changed == 0, again
    other = converge(bench, version="1.27.16")
    assert "stopped kubelet" in other.output
    assert "started kubelet" not in other.output
    assert state(host) == "stopped"


@pytest.mark.exhaustive
def test_check_mode_shows_it_and_changes_nothing(bench: Bench) -> None:
    bench.node()
    before = bench.dump()
    run = converge(bench, "--check", "--diff")
    assert "would register the service kubelet with nssm" in run.output, run
    assert "would leave kubelet stopped: it waits for join" in run.output
    assert "--hostname-override=win1" in run.output
    assert bench.dump() == before


@pytest.mark.exhaustive
@pytest.mark.row("KU-29")
def test_what_it_would_not_start_with_never_reaches_the_node(bench: Bench) -> None:
    bench.node()
    before = bench.dump()
    for extra, sentence in (
        (["--enforce-node-allocatable=pods"], "Windows has no cgroups to enforce anything with"),
        (["--network-plugin=cni"], "--network-plugin: it was removed in Kubernetes 1.24"),
        (["--kubelet-reserve=memory=1Gi"], "write --kube-reserved"),
    ):
        run = kubelet(bench, winkube_kubelet_extra_arguments=extra)
        assert run.rc != 0
        assert sentence in run.output, run
        assert "Traceback" not in run.output
    assert bench.dump() == before


@pytest.mark.exhaustive
@pytest.mark.row("HP-04", "SE-02")
def test_the_folders_are_locked_where_they_hold_keys(bench: Bench) -> None:
    host = bench.node()
    converge(bench, version="1.37.1", manager="sc")
    drive = bench.dump()["drive"]
    folders = {path.lower(): entry for path, entry in drive.items()}
    assert {r"c:\etc\kubernetes\manifests", r"c:\var\lib\kubelet\pki", r"c:\var\lib\kubelet\config.d"} <= set(folders)
    for locked in (r"c:\etc\kubernetes", r"c:\etc\kubernetes\manifests", r"c:\var\lib\kubelet\pki"):
        assert not re.search(r";;;(BU|AU|WD)\)", folders[locked]["sddl"]), locked
    assert "D:PAI" not in folders[r"c:\var\lib\kubelet"]["sddl"], "containers read mounted secrets from there"
    assert host.in_turn(lambda: host.node.drive.exists(EXE))


@pytest.mark.exhaustive
@pytest.mark.row("SV-06", "SV-12")
@pytest.mark.parametrize("manager", MANAGERS)
def test_once_configured_it_is_started_and_an_upgrade_restarts_it_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, manager: str
) -> None:
    stand_ins.healthy_at(monkeypatch, "kubelet", 10248)
    host = bench.node()
    converge(bench, manager=manager)
    line = value(host, "ImagePath") if manager == "sc" else value(host, "AppParameters", rf"{SERVICE}\Parameters")

    host.in_turn(lambda: configured(host))
    run = converge(bench, manager=manager)
    assert "started kubelet" in run.output and " of the service" not in run.output, str(run)
    assert state(host) == "running"
    now = value(host, "ImagePath") if manager == "sc" else value(host, "AppParameters", rf"{SERVICE}\Parameters")
    assert now == line, "what kubeadm wrote is not a reason for another command line"
    bench.reset_ledger()
    assert converge(bench, manager=manager).recap["win1"].changed == 0
    assert bench.calls() == 1

    newer = converge(bench, manager=manager, version="1.27.5")
    assert newer.output.count("restarted kubelet") == 1, str(newer)
    assert host.in_turn(lambda: host.node.drive.read(EXE)) == build("kubelet", "1.27.5")
    assert state(host) == "running"


@pytest.mark.exhaustive
def test_two_runs_with_contradicting_values_tell_of_each_other(bench: Bench) -> None:
    """A value that goes back within the hour is told; one that is changed once, and one after hours, are not."""
    host = bench.node()
    converge(bench, winkube_kubelet_verbosity=2)
    host.in_turn(lambda: host.node.clock.advance(7 * 60))
    same = converge(bench, winkube_kubelet_verbosity=2)
    assert "another run" not in same.output
    second = converge(bench, winkube_kubelet_verbosity=4)
    assert "another run" not in second.output
    host.in_turn(lambda: host.node.clock.advance(7 * 60))
    back = converge(bench, winkube_kubelet_verbosity=2)
    said = r"win1: an earlier run of yours \(pid \d+\) changed kubelet 7 minutes ago, at \S+ UTC, and this one .* back"
    assert re.search(said, joined(back.output)), back
    host.in_turn(lambda: host.node.clock.advance(2 * 3600))
    later = converge(bench, winkube_kubelet_verbosity=4)
    assert "another run" not in later.output


def joined(output: str) -> str:
    """Ansible breaks the lines of a warning."""
    return " ".join(output.split())


def test_credential_providers_are_there_before_the_kubelet_and_change_with_one_restart(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lab's kubelet ends where upstream's does: without the program, the folder, or a version that it knows."""
    stand_ins.healthy_at(monkeypatch, "kubelet", 10248)
    host = bench.node()
    program = b"MZ a provider"
    bench.lab.sources.publish("/ecr.exe", program)
    ecr = {
        "name": "ecr-credential-provider",
        "source": {"url": "http://xyz/ecr.exe", "checksum": sha256(program)},
        "match_images": ["*.dkr.ecr.*.amazonaws.com"],
    }
    wanted = {"version": "1.37.1", "winkube_credential_providers": [ecr]}
    config = r"C:\etc\kubernetes\credential-providers.json"
    planned = converge(bench, "--check", "--diff", **wanted)
    assert f"would write {config}" in planned.output, planned
    converge(bench, **wanted)
    assert (
        host.in_turn(lambda: host.node.drive.read(r"C:\k\credential-providers\ecr-credential-provider.exe")) == program
    )
    host.in_turn(lambda: configured(host))
    assert "started kubelet" in converge(bench, **wanted).output
    assert state(host) == "running"
    assert converge(bench, **wanted).recap["win1"].changed == 0

    ecr["match_images"] = ["*.dkr.ecr.*.amazonaws.com", "123.dkr.ecr.eu-west-1.amazonaws.com"]
    other = converge(bench, **wanted)
    assert other.output.count("restarted kubelet") == 1, other
    assert state(host) == "running"

    ecr["match_images"] = ["https://*.amazonaws.com/"]
    refused = kubelet(bench, **wanted)
    assert refused.rc != 0
    assert "match_images" in refused.output, refused
    assert state(host) == "running"
