"""playbooks/push.yml on simulated nodes: edit, build, push, crash, fix, push, by one command that goes on."""

from __future__ import annotations

import json
import threading

import pytest

from tests.integration.lab import ROOT, Bench, until
from tests.integration.test_provisioner import KUBELET, program, service, stand_in, state
from tests.lab.machine.builds import build
from tests.lab.server.host import NodeHost

PUSH = ROOT / "playbooks" / "push.yml"
BUILDS = {"good": build("kubelet", "1.29.1"), "crash": build("kubelet", "1.29.9"), "fixed": build("kubelet", "1.29.2")}


def runs(hosts: list[NodeHost], name: str) -> bool:
    return all(program(host, KUBELET) == BUILDS[name] and state(host, "kubelet") == "running" for host in hosts)


def test_a_change_is_built_and_pushed_to_all_nodes_until_somebody_ends_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There was one build and one push for each start of Ansible."""
    stand_in(monkeypatch, "kubelet", 10248, broken="1.29.9")
    hosts = bench.nodes(2)
    for host in hosts:
        service(host, "kubelet", KUBELET, build("kubelet", "1.28.4"), "--windows-service")
    for name, data in BUILDS.items():
        (bench.directory / f"{name}.exe").write_bytes(data)
    source, starts = bench.directory / "src" / "kubelet.go", bench.directory / "src" / "starts"
    source.parent.mkdir()
    source.write_text("good")
    script = 'n=$(cat kubelet.go); echo x >> starts; test "$n" != wrong || { echo kubelet.go:1: no; exit 2; }; '
    script += 'mkdir -p bin && cp "../$n.exe" bin/kubelet.exe'

    def built(count: int) -> bool:
        return starts.exists() and len(starts.read_text().splitlines()) >= count

    def edit() -> None:
        until(lambda: runs(hosts, "good"))
        source.write_text("wrong")
        until(lambda: built(2))
        source.write_text("crash")
        until(lambda: built(3))
        until(lambda: runs(hosts, "good"))
        source.write_text("fixed")

    notes = bench.directory / "notes"
    notes.mkdir()
    editor = threading.Thread(target=edit, daemon=True)
    editor.start()
    run = bench.ansible_playbook(
        PUSH,
        *(
            "-e",
            "winkube_hosts=windows",
            "-e",
            "winkube_build_name=kubelet",
            "-e",
            f"winkube_build_dir={source.parent}",
        ),
        *("-e", f'{{"winkube_build_command": ["sh", "-c", "{script.replace(chr(34), chr(92) + chr(34))}"]}}'),
        *("-e", "winkube_build_result=bin", "-e", "winkube_watch=true", "-e", "winkube_watch_rounds=4"),
        *("-e", f"winkube_push_notes={notes}"),
    )
    editor.join(10)
    assert run.rc == 0, run
    assert runs(hosts, "fixed")
    assert [one.name for one in notes.iterdir()] == ["rolled-back"], "what files/bisect.sh reads"
    assert "kubelet: built " in run.output
    assert "kubelet: the build ended with exit code 2 after" in run.output and "kubelet.go:1: no" in run.output
    assert run.output.count("kubelet.exe has ended, its exit code 2") >= 2, "on both nodes"
    for name in ("win1", "win2"):
        assert f"{name}: kubelet replaced, delta" in run.output.replace("\n", " "), run


def test_each_push_but_the_first_takes_two_calls(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """It took three calls each time: the node was read again, although the last push had left it so."""
    stand_in(monkeypatch, "kubelet", 10248)
    (host,) = bench.nodes(1)
    service(host, "kubelet", KUBELET, build("kubelet", "1.28.4"), "--windows-service")
    for name in ("good", "fixed"):
        (bench.directory / f"{name}.exe").write_bytes(BUILDS[name])
    source = bench.directory / "src" / "kubelet.go"
    source.parent.mkdir()
    source.write_text("good")
    spent: list[int] = []

    def edit() -> None:
        until(lambda: runs([host], "good"))
        until(lambda: bench.calls() >= 3)
        spent.append(bench.calls())
        source.write_text("fixed")

    editor = threading.Thread(target=edit, daemon=True)
    editor.start()
    command = ["sh", "-c", "mkdir -p bin && cp ../$(cat kubelet.go).exe bin/kubelet.exe"]
    more = {"winkube_hosts": "windows", "winkube_build_name": "kubelet", "winkube_build_dir": str(source.parent)}
    more |= {"winkube_build_result": "bin", "winkube_watch": "true", "winkube_watch_rounds": "2"}
    extra = bench.file("push.json", json.dumps({**more, "winkube_build_command": command}))
    run = bench.ansible_playbook(PUSH, "-e", f"@{extra}")
    editor.join(10)
    assert run.rc == 0, run
    assert runs([host], "fixed")
    (calls,) = spent
    assert (calls, bench.calls() - calls) == (3, 2), run
