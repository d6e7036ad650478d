"""containerd as a service that nssm.exe runs: nssm.exe brought in, the service in the registry, settings, undo."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from tests.integration.lab import Bench, Run
from tests.integration.site import CONFIG, differences, site
from tests.lab.machine.builds import build, identify, nssm_archive, zip_of
from tests.lab.machine.faults import ServiceFault
from tests.lab.server.host import NodeHost

NSSM = r"C:\k\nssm.exe"
SERVICE = r"HKLM\SYSTEM\CurrentControlSet\Services\containerd"
PARAMETERS = rf"{SERVICE}\Parameters"
URL = "http://xyz/nssm-2.24.zip"
LOG = r"C:\ProgramData\containerd\log\containerd.log"


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def nssm(bench: Bench, *args: object, manager: dict[str, Any] | None = None, **more: Any) -> Run:
    wanted = {"winkube_nssm_url": URL, "winkube_nssm_checksum": sha256(nssm_archive())} | more
    service = {"manager": "nssm", "environment": {}, "start_timeout": 120, "stop_timeout": 120} | (manager or {})
    return site(bench, *args, winkube_containerd_service=service, **wanted)


def converge(bench: Bench, *args: object, **more: Any) -> Run:
    run = nssm(bench, *args, **more)
    assert run.rc == 0, run
    return run


def value(host: NodeHost, name: str, key: str = PARAMETERS) -> Any:
    return host.in_turn(lambda: host.node.registry.get(key, name))


def pid(host: NodeHost) -> int:
    return int(host.in_turn(lambda: host.node.services.runtime("containerd").pid))


@pytest.mark.exhaustive
@pytest.mark.row("SV-06", "SV-12", "SV-13", "SV-15", "SV-20", "SV-21", "SV-22")
def test_from_bare_to_running_under_nssm_and_again(bench: Bench) -> None:
    host = bench.node()
    first = converge(bench)
    assert first.recap["win1"].changed == 2, first
    assert bench.calls() == 3, first
    assert f"installed nssm 2.24 from {URL}" in first.output
    assert "registered the service containerd with nssm" in first.output

    # SV-21: out of the zip, the 64-bit one.
    found = identify(host.in_turn(lambda: host.node.drive.read(NSSM)))
    assert found is not None
    assert (found.name, found.version, found.arch) == ("nssm", "2.24", "amd64")
    # SV-06, SV-20, SV-22: the service of that name runs by itself, in the background, from the next boot on too.
    assert host.in_turn(lambda: host.node.services.state("containerd")) == "running"
    assert value(host, "ImagePath", SERVICE) == NSSM
    assert value(host, "Start", SERVICE) == 2
    assert host.in_turn(lambda: host.node.pipes.exists("containerd-containerd"))
    # SV-13: one string, a path with a blank in quotes; SV-15: both streams in a file that is appended to and rotated.
    assert value(host, "AppParameters") == rf'--config "{CONFIG}"'
    assert value(host, "AppStdout") == value(host, "AppStderr") == LOG
    # Appending is nssm's default, and what is set to its default is taken out of the registry.
    assert value(host, "AppStdoutCreationDisposition") is value(host, "AppStderrCreationDisposition") is None
    assert (value(host, "AppRotateFiles"), value(host, "AppRotateOnline")) == (1, 1)
    assert b"containerd successfully booted" in host.in_turn(lambda: host.node.drive.read(LOG))

    # SV-12: nothing is installed or set a second time.
    before, programs, running = bench.dump(), dict(host.node.counters.programs), pid(host)
    bench.reset_ledger()
    second = converge(bench)
    assert second.recap["win1"].changed == 0, second
    assert bench.calls() == 1
    assert differences(before, bench.dump()) == []
    assert dict(host.node.counters.programs) == programs
    assert pid(host) == running


@pytest.mark.exhaustive
@pytest.mark.row("SV-22")
def test_it_runs_again_after_the_machine_was_restarted(bench: Bench) -> None:
    host = bench.node()
    converge(bench)

    def restart() -> str:
        host.node.restart()
        host.node.clock.advance(60)
        return str(host.node.services.state("containerd"))

    assert host.in_turn(restart) == "running"
    assert converge(bench).recap["win1"].changed == 0


@pytest.mark.exhaustive
@pytest.mark.row("SV-12")
def test_only_what_differs_is_set_and_what_is_not_wanted_is_taken_out(bench: Bench) -> None:
    host = bench.node()
    converge(bench, manager={"environment": {"HTTPS_PROXY": "http://proxy:3128"}})
    assert value(host, "AppEnvironmentExtra") == ["HTTPS_PROXY=http://proxy:3128"]
    host.in_turn(lambda: host.node.registry.set(PARAMETERS, "AppThrottle", "dword", 9))
    before = host.node.counters.programs["nssm"]
    running = pid(host)
    run = converge(bench)
    assert run.recap["win1"].changed == 1, run
    assert value(host, "AppThrottle") is None, "nssm takes out what is set to its default"
    assert value(host, "AppEnvironmentExtra") is None
    assert host.node.counters.programs["nssm"] - before <= 2, "one call at most for each difference"
    assert pid(host) != running, "a new environment needs a restart"
    assert converge(bench).recap["win1"].changed == 0


@pytest.mark.exhaustive
@pytest.mark.row("SV-21")
def test_check_mode_shows_nssm_as_well(bench: Bench) -> None:
    bench.node()
    before = bench.dump()
    run = converge(bench, "--check")
    assert f"would install nssm 2.24 from {URL}" in run.output, run
    assert "would register the service containerd with nssm" in run.output
    assert run.output.count(r"would create the folder C:\k ") == 1
    assert bench.calls() == 1
    assert bench.dump() == before


@pytest.mark.exhaustive
def test_a_containerd_that_does_not_come_up_takes_nssm_back_too(bench: Bench) -> None:
    host = bench.node()
    before = bench.dump()
    host.in_turn(lambda: host.node.faults.service("containerd", ServiceFault("crash_at_start")))
    run = nssm(bench, "--tags", "containerd")
    assert run.rc != 0
    assert "Rolled back." in run.output, run
    assert differences(before, bench.dump()) == []


# -- nssm.exe: where from, which version -------------------------------------------------------------------------------


@pytest.mark.row("SV-21")
@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        # The known checksum is that of the real zip: the lab's own is refused, as a forged one would be.
        ({"winkube_nssm_checksum": ""}, "727d1e42275c605e0f04aba98095c38a8e1e46def453cdffce42869428aa6743"),
        (
            {"winkube_nssm_url": "http://xyz/nssm.exe", "winkube_nssm_checksum": ""},
            "nssm: the source http://xyz/nssm.exe has no checksum.",
        ),
        ({"winkube_nssm_url": "http://xyz/nssm-2.16.zip"}, "is version 2.16, but 2.24 is needed"),
        ({"winkube_nssm_url": "http://xyz/tools.zip"}, "is neither nssm's own zip by its name (nssm-2.24.zip) nor"),
        ({"winkube_nssm_url": ""}, rf"there is no {NSSM}, and nssm_source.url is empty"),
    ],
)
def test_a_source_that_cannot_be_is_a_sentence(bench: Bench, wanted: dict[str, Any], sentence: str) -> None:
    bench.node()
    before = bench.dump()
    run = nssm(bench, "--tags", "containerd", **wanted)
    assert run.rc != 0
    assert sentence in run.output, run
    assert "Traceback" not in run.output
    assert differences(before, bench.dump()) == []


@pytest.mark.exhaustive
@pytest.mark.row("SV-21")
def test_a_program_by_its_url_and_its_version_is_looked_at(bench: Bench) -> None:
    host = bench.node()
    right, wrong = (build("nssm", version, resource=f"{version}.0.0") for version in ("2.24", "2.16"))
    bench.lab.sources.publish("/mine/nssm.exe", right)
    mine: dict[str, Any] = {"winkube_nssm_url": "http://xyz/mine/nssm.exe", "winkube_nssm_checksum": sha256(right)}
    assert converge(bench, **mine).recap["win1"].changed == 2
    assert converge(bench, **mine).recap["win1"].changed == 0

    # One that was put there by hand and is to stay: accepted as 2.24, refused as anything else.
    elsewhere: dict[str, Any] = {"winkube_nssm_url": "", "winkube_nssm_checksum": ""}
    assert converge(bench, **elsewhere).recap["win1"].changed == 0
    host.in_turn(lambda: host.node.drive.rename(NSSM, rf"{NSSM}.aside"))
    host.in_turn(lambda: host.node.drive.write(NSSM, wrong))
    run = nssm(bench, **elsewhere)
    assert run.rc != 0
    assert rf"nssm: {NSSM} says that it is version 2.16.0.0, but 2.24 is needed." in run.output, run

    # Where it is ours to bring, it is replaced, and the service restarts, since its program has changed.
    running = pid(host)
    assert converge(bench, **mine).recap["win1"].changed == 1
    assert host.in_turn(lambda: host.node.drive.read(NSSM)) == right
    assert pid(host) != running


@pytest.mark.exhaustive
def test_the_same_nssm_by_hand_is_adopted_without_a_restart(bench: Bench) -> None:
    host = bench.node()
    converge(bench)
    running = pid(host)
    host.in_turn(lambda: host.node.drive.delete(r"C:\ProgramData\winkube\receipts\nssm.json"))
    run = converge(bench)
    assert "recorded where nssm 2.24 came from (the files on the node are the same)" in run.output, run
    assert pid(host) == running
    receipt = json.loads(host.in_turn(lambda: host.node.drive.read(r"C:\ProgramData\winkube\receipts\nssm.json")))
    digest = sha256(nssm_archive()).removeprefix("sha256:")
    assert receipt["source"] == {"url": URL, "sha256": digest, "version": "2.24"}
    assert converge(bench).recap["win1"].changed == 0


@pytest.mark.exhaustive
def test_without_nssm_nobody_asks_for_it(bench: Bench) -> None:
    host = bench.node()
    run = site(bench, winkube_nssm_url="http://nowhere.example/nssm.rar")
    assert run.rc == 0, run
    assert not host.in_turn(lambda: host.node.drive.exists(NSSM))


@pytest.mark.exhaustive
def test_an_archive_that_holds_another_version_than_its_name_says_is_taken_back_at_once(bench: Bench) -> None:
    """It was installed, and refused by the next run."""
    host = bench.node()
    archive = zip_of({"nssm-2.24/win64/nssm.exe": build("nssm", "2.23", "amd64", "2.23")})
    host.in_turn(lambda: host.node.drive.write(r"C:\nssm-2.24.zip", archive))
    run = nssm(bench, winkube_nssm_url="file:///C:/nssm-2.24.zip", winkube_nssm_checksum=sha256(archive))
    assert run.rc != 0
    assert r"nssm.exe did not have version 2.24 within 0 s: it is of version 2.23." in run.output, run
    assert not host.in_turn(lambda: host.node.drive.exists(NSSM))
