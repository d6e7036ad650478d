"""win_k8s_provisioner on simulated nodes: freshly built programs in the place of those that services run."""

from __future__ import annotations

import json
import random
import re
import socket
from collections.abc import Generator
from typing import Any

import pytest

from tests.integration import stand_ins
from tests.integration.lab import ROOT, Bench, Run
from tests.integration.site import BINARY, converge, differences
from tests.integration.test_kubelet import variables as kubelet_variables
from tests.lab.machine.builds import build, identify
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.program import Caller, Completed, text
from tests.lab.machine.program import Run as ProgramRun
from tests.lab.machine.services import ServiceHost
from tests.lab.programs import worker
from tests.lab.server.host import NodeHost

PROVISION = ROOT / "playbooks" / "provision.yml"
KUBELET = r"c:\k\kubelet.exe"
PROXY = r"C:\k\kube-proxy.exe"
CRICTL = r"C:\Program Files\containerd\bin\crictl.exe"
BIG = build("kubelet", "1.29.1")[:1000] + random.Random(1).randbytes(1_200_000) + build("kubelet", "1.29.1")[1000:]
"""More than travels in a batch."""
ITEMS: dict[str, dict[str, Any]] = {
    "containerd": {
        "name": "containerd",
        "version": "1.7.11",
        "sourceURL": "http://xyz/containerd.exe",
        "destination": r"c:\Program Files\containerd\bin\containerd.exe",
        "overwrite": True,
    },
    "kubelet": {
        "name": "kubelet",
        "version": "1.29.0",
        "sourceURL": "http://xyz/kubelet.exe",
        "destination": KUBELET,
        "overwrite": True,
    },
}
"""The documents' two samples, unchanged."""


def provision(bench: Bench, *items: dict[str, Any], arguments: tuple[object, ...] = (), **more: Any) -> Run:
    wanted = {"winkube_hosts": "windows", "winkube_provisioners": list(items), **more}
    extra = bench.file("provision.json", json.dumps(wanted))
    env = {"ANSIBLE_CALLBACK_RESULT_FORMAT": "json"}
    return bench.ansible_playbook(PROVISION, "-v", "-e", f"@{extra}", *arguments, env=env)


def swapped(bench: Bench, *items: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """A run that has to succeed; what became of the items."""
    run = provision(bench, *items, **more)
    assert run.rc == 0, run
    return results(run)


def results(run: Run) -> list[dict[str, Any]]:
    marker = run.stdout.index("=> {", run.stdout.index("TASK [Replace"))
    found, _end = json.JSONDecoder().raw_decode(run.stdout[marker + 3 :])
    listed: list[dict[str, Any]] = found["provisioners"]
    return listed


def program(host: NodeHost, path: str = BINARY) -> bytes:
    return bytes(host.in_turn(lambda: host.node.drive.read(path)))


def beside(host: NodeHost, path: str) -> list[str]:
    """What lies in a program's folder under its name."""
    folder, _, name = path.rpartition("\\")
    entries = host.in_turn(lambda: host.node.drive.listdir(folder))
    return sorted(entry for entry in entries if entry.lower().startswith(name.lower()))


def state(host: NodeHost, service: str) -> str:
    return str(host.in_turn(lambda: host.node.services.state(service)))


def pid(host: NodeHost, service: str) -> int:
    return int(host.in_turn(lambda: host.node.services.runtime(service).pid))


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, port: int, broken: str = "none", works_s: float = 0.0) -> None:
    """`name`.exe says its version and is healthy at `port`; the one of version `broken` for `works_s` only, then it
    ends."""

    def healthy(node: SimulatedNode, path: str, caller: Caller) -> bool:
        found = identify(node.drive.read(path))
        assert found is not None
        works = found.version != broken
        if works or works_s:
            node.network.listen(port, caller.process.pid, lambda _path: (200, b"ok"))
        return works

    def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> ProgramRun:
        if argv[1:] == ["--version"]:
            yield 0.1
            found = identify(node.drive.read(argv[0]))
            assert found is not None
            return text(0, f"Kubernetes v{found.version}\n")
        if not healthy(node, argv[0], caller):
            yield works_s or 0.3
            return Completed(2, b"", b"panic: no luck today\ngoroutine 1 [running]:\n")
        return (yield from worker.main(node, argv, stdin, caller))

    def serve(
        node: SimulatedNode, argv: list[str], host: ServiceHost, caller: Caller
    ) -> Generator[float | None, None, int]:
        if not healthy(node, argv[0], caller):
            host.report("running")
            yield works_s or 0.3
            return 2
        return (yield from worker.serve(node, argv, host, caller))

    stand_ins.put(monkeypatch, name, (main, serve))


def service(host: NodeHost, name: str, exe: str, data: bytes, *arguments: str, depends_on: str = "") -> None:
    """A service that somebody made with sc.exe, running."""

    def make() -> None:
        node = host.node
        node.drive.mkdir(exe.rpartition("\\")[0])
        node.drive.write(exe, data)
        line = ["create", name, "binPath=", " ".join([exe, *arguments]), "start=", "auto"]
        line += ["depend=", depends_on] if depends_on else []
        for words in (line, ["start", name]):
            process, _result = node.start_program(r"C:\Windows\System32\sc.exe", words, user="SYSTEM", elevated=True)
            node.clock.advance(60)
            assert process.exit_code == 0, words
        node.clock.advance(5)

    host.in_turn(make)


@pytest.mark.row("PV-01", "PV-02", "PV-03", "PV-04", "PV-05", "PV-06", "PV-18", "PV-19", "PV-20")
def test_the_documents_list_end_to_end_and_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "kubelet", 10248)
    host = bench.node()
    converge(bench, version="1.7.28")
    service(host, "kubelet", KUBELET, build("kubelet", "1.28.4"), "--windows-service", "--v=2")
    host.in_turn(lambda: host.node.drive.write(CRICTL, build("crictl", "1.29.0")))
    before = {name: pid(host, name) for name in ITEMS}
    bench.reset_ledger()
    checked = provision(bench, *ITEMS.values(), arguments=("--check", "--diff"))
    assert checked.rc == 0, checked
    assert [entry["result"] for entry in results(checked)] == ["unknown", "unknown"]
    assert bench.calls() == 1
    assert {name: pid(host, name) for name in ITEMS} == before

    bench.reset_ledger()
    run = provision(bench, *ITEMS.values())
    assert run.rc == 0, run
    assert "is fetched over plain http and without a checksum" in run.output
    assert bench.calls() == 3, "read, stage, swap"
    assert host.in_turn(lambda: host.node.counters.programs["crictl"]) > 0, "containerd was asked over CRI"
    found = results(run)
    assert [entry["name"] for entry in found] == ["containerd", "kubelet"]
    assert [entry["result"] for entry in found] == ["replaced", "replaced"]
    assert [entry["version"]["after"] for entry in found] == ["1.7.11", "1.29.0"]
    assert all(0 < entry["downtime_s"] < 60 for entry in found), found
    assert program(host) == build("containerd", "1.7.11")
    assert program(host, KUBELET) == build("kubelet", "1.29.0")
    assert {name: state(host, name) for name in ITEMS} == dict.fromkeys(ITEMS, "running")
    assert all(pid(host, name) != before[name] for name in ITEMS)
    assert host.in_turn(lambda: host.node.drive.listdir(r"C:\ProgramData\winkube\staging\provision")) == []

    running, dump = {name: pid(host, name) for name in ITEMS}, bench.dump()
    bench.reset_ledger()
    again = swapped(bench, *ITEMS.values())
    assert [entry["result"] for entry in again] == ["unchanged", "unchanged"]
    assert bench.calls() == 1
    assert {name: pid(host, name) for name in ITEMS} == running
    assert differences(dump, bench.dump()) == []


PLAY = """
- hosts: all
  gather_facts: false
  module_defaults:
    winkube.node.win_k8s_provisioner:
      node: "{{ winkube_node }}"
      start_timeout: 20
  roles: [winkube.node.winkube]
  tasks:
"""


def play(bench: Bench, *tasks: dict[str, Any]) -> Run:
    """Tasks of this module in one play, going on after a failed one."""
    rows = [
        f"    - winkube.node.win_k8s_provisioner: {json.dumps(task)}\n      ignore_errors: true\n" for task in tasks
    ]
    path = bench.play(PLAY + "".join(rows))
    return bench.ansible_playbook(path, "-v", env={"ANSIBLE_CALLBACK_RESULT_FORMAT": "json"})


def answers(run: Run) -> list[dict[str, Any]]:
    """Each task's result, in order."""
    found, at = [], 0
    while (at := run.stdout.find("=> {", at)) >= 0:
        result, _end = json.JSONDecoder().raw_decode(run.stdout[at + 3 :])
        found.append(result)
        at += 4
    return found


@pytest.mark.row("PV-05", "PV-07", "PV-10", "PV-16", "PV-17")
def test_what_fails_is_put_back_and_what_works_is_pushed_and_swapped_back_and_forth(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, "kubelet", 10248, broken="1.29.9")
    stand_in(monkeypatch, "kube-proxy", 10256)
    host = bench.node()
    service(host, "kubelet", KUBELET, build("kubelet", "1.28.4"), "--windows-service")
    service(host, "kube-proxy", PROXY, build("kube-proxy", "1.28.4"), "--windows-service", depends_on="kubelet")
    for name, data in {
        "crashes.exe": build("kubelet", "1.29.9"),
        "linux": b"\x7fELF\x02\x01\x01" + bytes(11) + b"\x3e\0" + bytes(100),
        "good": BIG,
        "better": build("kubelet", "1.29.3"),
        "best": build("kubelet", "1.29.4"),
    }.items():
        (bench.directory / name).write_bytes(data)
    bench.lab.sources.publish("/linux/kubelet.exe", (bench.directory / "linux").read_bytes())
    before, running = program(host, KUBELET), pid(host, "kube-proxy")
    checksum = f"sha256:{'0' * 64}"
    kubelet = {"name": "kubelet", "overwrite": True}
    refused = play(
        bench,
        {**kubelet, "sourceURL": "linux"},
        {**kubelet, "sourceURL": "http://xyz/linux/kubelet.exe"},
        {**kubelet, "sourceURL": "http://xyz/kubelet.exe", "checksum": checksum},
        {**kubelet, "sourceURL": "http://xyz/1.29.2/kubelet.exe", "version": "1.29.0"},
        {**kubelet, "sourceURL": "good", "checksum": checksum},
        {"name": "agent", "sourceURL": "good", "destination": r"C:\k\agent.exe"},
        {**kubelet, "sourceURL": "good", "destination": rf"{PROXY}\kubelet.exe"},
    )
    said = [str(answer.get("msg")) for answer in answers(refused)]
    for text_of, wanted in zip(
        said,
        (
            "GOOS=windows was forgotten",
            "GOOS=windows was forgotten",
            "sha256",
            "says it is 1.29.2, and wanted was 1.29.0",
            "another build, or it was damaged",
            "there is no service agent on the node",
            "should be a folder, but is a file",
        ),
        strict=True,
    ):
        assert wanted in text_of, refused
    assert pid(host, "kube-proxy") == running, "nothing was stopped"

    began = host.in_turn(lambda: host.node.clock.now())
    crashed = play(bench, {**kubelet, "sourceURL": "crashes.exe", "start_timeout": 120})
    message = str(answers(crashed)[0]["msg"])
    assert "kubelet.exe has ended, its exit code 2" in message, crashed
    assert "Rolled back" in message, crashed
    assert host.in_turn(lambda: host.node.clock.now()) - began < 30, "the end is seen, not the end of the time"
    assert program(host, KUBELET) == before
    assert {name: state(host, name) for name in ("kubelet", "kube-proxy")} == dict.fromkeys(
        ("kubelet", "kube-proxy"), "running"
    )
    assert beside(host, KUBELET) == ["kubelet.exe"]

    running = pid(host, "kube-proxy")
    pushed = play(bench, {**kubelet, "sourceURL": "good"}, *([{"name": "kubelet", "state": "previous"}] * 4))
    assert pushed.rc == 0, pushed
    first, *back = (answer["provisioners"][0] for answer in answers(pushed))
    assert (first["result"], first["transfer"]["how"]) == ("replaced", "whole")
    assert first["transfer"]["bytes_sent"] > 1_000_000 and first["transfer"]["by"] == "connection"
    assert [entry["result"] for entry in back] == ["went_back"] * 4
    assert [entry["version"]["after"] for entry in back] == [None, "1.29.1"] * 2
    assert program(host, KUBELET) == BIG, "an even number of swaps"
    assert beside(host, KUBELET) == ["kubelet.exe", "kubelet.exe.winkube-previous"]
    assert program(host, f"{KUBELET}.winkube-previous") == before
    assert {state(host, name) for name in ("kubelet", "kube-proxy")} == {"running"}
    assert pid(host, "kube-proxy") != running, "it depends on the kubelet"

    # The node fetches from the controller, and where it cannot reach it the build is sent.
    port = free_port()
    host.in_turn(lambda: host.node.network.hosts.update({f"controller:{port}": f"127.0.0.1:{port}"}))
    pull = {**kubelet, "transfer": "pull", "pull_ports": str(port)}
    fetched = play(
        bench,
        {**pull, "sourceURL": "better", "pull_address": "controller"},
        {**pull, "sourceURL": "best", "pull_address": "elsewhere"},
    )
    assert fetched.rc == 0, fetched
    first, second = (answer["provisioners"][0]["transfer"] for answer in answers(fetched))
    assert (first["how"], first["by"], first["bytes_sent"] > 0) == ("delta", "pull", True)
    assert (second["how"], second["by"]) == ("delta", "batch")
    assert (
        fetched.output.count("[WARNING]: provisioner: transfer: pull did not work") == 1
        and "elsewhere" in fetched.output
    ), fetched
    assert "Bearer" not in fetched.output
    assert program(host, KUBELET) == build("kubelet", "1.29.4")
    assert program(host, f"{KUBELET}.winkube-previous") == build("kubelet", "1.29.3")
    assert host.in_turn(lambda: host.node.drive.listdir(r"C:\ProgramData\winkube\staging\provision")) == []


def under_nssm(host: NodeHost, data: bytes, *arguments: str) -> None:
    """A kubelet that somebody made a service of with nssm, its log in a file, running."""

    def make() -> None:
        node = host.node
        node.drive.mkdir(r"C:\k")
        node.drive.write(KUBELET, data)
        node.drive.write(r"C:\k\nssm.exe", build("nssm", "2.24"))
        node.clock.advance(60)  # until the virus scanner has let go of it
        for words in (
            ["install", "kubelet", KUBELET, *arguments],
            ["set", "kubelet", "AppStderr", r"C:\k\kubelet.log"],
            ["start", "kubelet"],
        ):
            process, _result = node.start_program(r"C:\k\nssm.exe", words, user="SYSTEM", elevated=True)
            node.clock.advance(60)
            assert process.exit_code == 0, words

    host.in_turn(make)


def timed(bench: Bench, host: NodeHost, *tasks: dict[str, Any]) -> tuple[list[dict[str, Any]], float]:
    """The results of `play`, and the seconds on the node."""
    began = host.in_turn(lambda: host.node.clock.now())
    found = answers(play(bench, *tasks))
    return found, host.in_turn(lambda: host.node.clock.now()) - began


def test_a_crash_is_told_at_once_also_under_nssm_which_starts_the_program_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service was waited for until start_timeout, since nssm's own process goes on; then there was no exit code,
    and no line of the log. A build that works for five seconds was said to work."""
    stand_in(monkeypatch, "kubelet", 10248, broken="1.29.9", works_s=1)
    host, kubelet = bench.node(), {"name": "kubelet", "overwrite": True, "start_timeout": 120}
    under_nssm(host, build("kubelet", "1.28.4"))
    (bench.directory / "bad").write_bytes(build("kubelet", "1.29.9"))
    (bench.directory / "good").write_bytes(build("kubelet", "1.29.1"))
    (told,), seconds = timed(bench, host, {**kubelet, "sourceURL": "bad"})
    assert "kubelet.exe has ended, its exit code 2" in told["msg"], told
    assert r"The last lines of C:\k\kubelet.log: panic: no luck today | goroutine 1 [running]:" in told["msg"]
    assert seconds < 40, "the order to stop, to start, and to put back"
    assert (program(host, KUBELET), state(host, "kubelet")) == (build("kubelet", "1.28.4"), "running")

    stand_in(monkeypatch, "kubelet", 10248, broken="1.29.9", works_s=8)
    (short, long), _seconds = timed(
        bench, host, {**kubelet, "sourceURL": "good", "stable": 30}, {**kubelet, "sourceURL": "bad", "stable": 30}
    )
    assert short["provisioners"][0]["watched_s"] >= 30
    assert "kubelet.exe has ended, its exit code 2" in long["msg"], long
    assert program(host, KUBELET) == build("kubelet", "1.29.1")


OWN = r"C:\k\own.conf"


@pytest.mark.exhaustive(keep=("True",))
@pytest.mark.parametrize("kubeconfig", [True, False])
def test_a_fixed_build_is_started_after_one_that_crashed_later(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, kubeconfig: bool
) -> None:
    """It was left stopped, since the crashed one was, and the task was green: what was looked for was the kubeconfig of
    the roles, not that of the service's own command line."""
    stand_in(monkeypatch, "kubelet", 10248, broken="1.29.9", works_s=12)
    host = bench.node()
    service(host, "kubelet", KUBELET, build("kubelet", "1.28.4"), f"--kubeconfig={OWN}")
    if kubeconfig:
        host.in_turn(lambda: host.node.drive.write(OWN, b"x"))
    (bench.directory / "bad").write_bytes(build("kubelet", "1.29.9"))
    (bench.directory / "good").write_bytes(build("kubelet", "1.29.1"))
    kubelet = {"name": "kubelet", "overwrite": True}
    first = play(bench, {**kubelet, "sourceURL": "bad"})
    assert answers(first)[0]["provisioners"][0]["result"] == "replaced", first
    host.in_turn(lambda: host.node.clock.advance(60))
    assert state(host, "kubelet") == "stopped"
    again = play(bench, {**kubelet, "sourceURL": "bad"})
    assert "this very program is there already, and its service kubelet is stopped" in again.output, again
    fixed = play(bench, {**kubelet, "sourceURL": "good"})
    assert program(host, KUBELET) == build("kubelet", "1.29.1")
    assert state(host, "kubelet") == ("running" if kubeconfig else "stopped"), fixed
    untried = "It is unknown whether it works" in fixed.output
    assert untried is not kubeconfig
    assert (f"its command line names {OWN}" in fixed.output.replace("\\\\", "\\")) is not kubeconfig
    back = play(bench, {"name": "kubelet", "state": "previous"})
    crashes = "kubelet.exe has ended" in back.output
    assert not crashes and state(host, "kubelet") == ("running" if kubeconfig else "stopped")


@pytest.mark.row("PV-18")
def test_one_node_after_the_other_and_the_first_failure_ends_the_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, "kubelet", 10248, broken="1.29.9")
    hosts, old = bench.nodes(2), build("kubelet", "1.28.4")
    for host in hosts:
        service(host, "kubelet", KUBELET, old, "--windows-service")
    source = bench.file("crashes.exe", "")
    source.write_bytes(build("kubelet", "1.29.9"))
    item = {"name": "kubelet", "sourceURL": str(source), "overwrite": True}
    bench.reset_ledger()
    run = provision(bench, item, winkube_serial=1, winkube_provision_start_timeout=20)
    assert run.rc != 0 and "Rolled back" in run.output, run
    assert (bench.calls("win1") > 0, bench.calls("win2")) == (True, 0), "the nodes behind it are not even asked"
    for host in hosts:
        assert (program(host, KUBELET), state(host, "kubelet")) == (old, "running")


@pytest.mark.exhaustive
def test_a_small_difference_takes_three_calls(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """It took five the first time and four then: the folder was made and the parts sent by calls of their own."""
    stand_in(monkeypatch, "kubelet", 10248)
    host, kubelet = bench.node(), {"name": "kubelet", "overwrite": True}
    service(host, "kubelet", KUBELET, build("kubelet", "1.28.4"), "--windows-service")
    for version in ("1.29.0", "1.29.1"):
        path = bench.directory / version
        path.write_bytes(build("kubelet", version))
        bench.reset_ledger()
        (entry,) = swapped(bench, {**kubelet, "sourceURL": str(path)})
        assert (entry["result"], entry["transfer"]["by"]) == ("replaced", "batch")
        assert bench.calls() == 3, "read, stage, swap"
    assert entry["transfer"]["how"] == "delta"
    assert host.in_turn(lambda: host.node.drive.listdir(r"C:\ProgramData\winkube\staging\provision")) == []


def test_whose_build_it_is_is_told_and_kept_where_that_is_wanted(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """site.yml replaced a pushed build without a word, and nothing brought it back."""
    stand_in(monkeypatch, "kubelet", 10248)
    host = bench.node()
    converged_kubelet(bench)
    path = bench.directory / "mine.exe"
    path.write_bytes(build("kubelet", "1.29.5"))
    swapped(bench, {"name": "kubelet", "sourceURL": str(path), "overwrite": True})
    assert program(host, KUBELET) == build("kubelet", "1.29.5")

    kept = converged_kubelet(bench, winkube_keep_pushed_builds=True)
    assert kept.recap["win1"].changed == 0, kept
    replaced = converged_kubelet(bench)
    assert re.search(
        r"installed kubelet 1\.29\.0 from \S+, in place of the build that \S+@\S+ pushed on \S+ \d\d:\d\d UTC "
        rf"from {re.escape(str(path))}",
        replaced.output,
    ), replaced
    assert program(host, KUBELET) == build("kubelet", "1.29.0")
    assert converged_kubelet(bench).recap["win1"].changed == 0

    (back,) = swapped(bench, {"name": "kubelet", "state": "previous"})
    assert back["result"] == "went_back", back
    assert program(host, KUBELET) == build("kubelet", "1.29.5")


def test_a_build_of_somebody_else_is_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "kubelet", 10248)
    host, kubelet = bench.node(), {"name": "kubelet", "overwrite": True}
    service(host, "kubelet", KUBELET, build("kubelet", "1.28.4"), "--windows-service")
    outputs = []
    for version in ("1.29.0", "1.29.1", "1.29.2"):
        path = bench.directory / version
        path.write_bytes(build("kubelet", version))
        if version == "1.29.2":
            host.in_turn(lambda: somebody_elses(host))
        outputs.append(provision(bench, {**kubelet, "sourceURL": str(path)}).output)
    assert "this replaces the build that" not in outputs[0] + outputs[1], "one's own builds are not news"
    assert "this replaces the build that bob@desk pushed on 2026-11-23 09:12 UTC from" in outputs[2], outputs[2]


def somebody_elses(host: NodeHost) -> None:
    place = r"C:\ProgramData\winkube\receipts\provision-kubelet.json"
    receipt = json.loads(host.node.drive.read(place))
    receipt["source"] |= {"by": "bob@desk", "at": "2026-11-23T09:12:30+00:00"}
    host.node.drive.write(place, json.dumps(receipt).encode())


def converged_kubelet(bench: Bench, **more: Any) -> Run:
    """The role kubelet, 1.29.0 under sc."""
    wanted = kubelet_variables("1.29.0", "sc", **more)
    extra = bench.file("role.json", json.dumps(wanted))
    text = "- hosts: all\n  gather_facts: false\n  roles: [winkube.node.kubelet]\n"
    run = bench.ansible_playbook(bench.play(text, "role.yml"), "-e", f"@{extra}")
    assert run.rc == 0, run
    return run
