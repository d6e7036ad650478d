"""Nodes that others have laid out: containerd without a folder `bin`, its folder on Path, and shims of strangers."""

from __future__ import annotations

import json

import pytest

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.site import converge, served, site
from tests.lab.machine import image
from tests.lab.machine.builds import CONTAINERD_RELEASE, build
from tests.lab.machine.faults import ServiceFault
from tests.lab.programs.cri import SHIM, connect
from tests.lab.server.host import NodeHost

FLAT = r"C:\Program Files\containerd"
BIN = rf"{FLAT}\bin"
OLD = "1.6.36"
OTHER = r"C:\Program Files\Docker"
MOVES = rf"containerd from {FLAT} to {BIN}"


def on_path(host: NodeHost, folder: str) -> None:
    """Appended to the machine's Path, as `SetEnvironmentVariable(.., Machine)` does."""
    registry = host.node.registry
    registry.set(image.ENVIRONMENT, "Path", "expand_string", registry.text(image.ENVIRONMENT, "Path") + f";{folder}")


def flat(host: NodeHost, *, manager: str = "registered", folder: str = FLAT) -> None:
    r"""As image-builder and sig-windows-tools lay it (`tar --strip-components 1`, `containerd.exe --register-service`),
    or AKS (`Move-Item bin\*`, nssm); the machine was restarted since, so that services see its Path."""

    def lay() -> None:
        node = host.node
        node.drive.mkdir(folder)
        for program in CONTAINERD_RELEASE:
            node.drive.write(rf"{folder}\{program}.exe", build(program, OLD))
        node.drive.write(rf"{folder}\crictl.exe", build("crictl", "1.27.0"))
        on_path(host, folder)
        node.clock.advance(60)  # antivirus holds what is new
        exe = rf"{folder}\containerd.exe"
        if manager == "nssm":
            node.drive.mkdir(r"C:\k")
            node.drive.write(r"C:\k\nssm.exe", build("nssm", "2.24", "amd64", "2.24"))
            node.clock.advance(60)
            node.run(r"C:\k\nssm.exe", ["install", "containerd", exe])
            node.run(r"C:\k\nssm.exe", ["set", "containerd", "AppStdout", r"C:\k\containerd.log"])
        else:
            node.run(exe, ["--register-service"])
        node.environment = image.machine_environment(node.registry)
        node.run(r"C:\Windows\System32\sc.exe", ["start", "containerd"])
        node.clock.advance(30)

    host.in_turn(lay)
    assert shim_of(host) == rf"{folder}\{SHIM}"


def shim_of(host: NodeHost) -> str:
    """The shim that containerd starts pods by."""
    found = host.in_turn(lambda: connect(host.node, r"\\.\pipe\containerd-containerd", 30))
    assert not isinstance(found, str), found
    return found.shim


def programs(host: NodeHost) -> list[str]:
    """Every file on the drive that is called as one of containerd's."""
    names = {f"{program}.exe" for program in CONTAINERD_RELEASE}
    found = host.in_turn(lambda: [path for path, _entry in host.node.drive.walk()])
    return sorted(path for path in found if path.rpartition("\\")[2] in names)


def verify(bench: Bench) -> Run:
    extra = bench.file("verify.json", json.dumps({"winkube_hosts": "windows", "winkube_kubernetes_version": ""}))
    return bench.ansible_playbook(ROOT / "playbooks" / "verify.yml", "-e", f"@{extra}")


@pytest.mark.exhaustive
@pytest.mark.parametrize("manager", ["registered", "nssm"])
def test_a_layout_without_bin_is_moved_and_no_second_installation_stays_beside_it(bench: Bench, manager: str) -> None:
    """The old shim stayed first in Path and ran the pods of the new containerd."""
    host = bench.node()
    flat(host, manager=manager)
    planned = converge(bench, "--check")
    assert f"would move {MOVES}" in planned.output and "winkube_containerd_binary" in planned.output, planned
    assert shim_of(host) == rf"{FLAT}\{SHIM}"

    run = converge(bench)
    assert f"moved {MOVES}" in run.output, run
    assert programs(host) == [rf"{BIN}\{name}" for name in (SHIM, "containerd-stress.exe", "containerd.exe", "ctr.exe")]
    assert shim_of(host) == rf"{BIN}\{SHIM}"
    assert host.in_turn(lambda: host.node.drive.is_file(rf"{FLAT}\crictl.exe")), "it is nobody's of containerd's"
    assert "in the machine's Path, which is" not in run.output
    assert converge(bench).recap["win1"].changed == 0


@pytest.mark.exhaustive
def test_a_layout_without_bin_is_adopted_where_it_lies_if_it_is_named(bench: Bench) -> None:
    host = bench.node()
    flat(host)
    run = converge(bench, winkube_containerd_binary=rf"{FLAT}\containerd.exe")
    assert MOVES not in run.output
    assert {path.rpartition("\\")[0] for path in programs(host)} == {FLAT}
    assert b"1.7.11" in host.in_turn(lambda: host.node.drive.read(rf"{FLAT}\containerd.exe"))
    assert shim_of(host) == rf"{FLAT}\{SHIM}"
    assert converge(bench, winkube_containerd_binary=rf"{FLAT}\containerd.exe").recap["win1"].changed == 0


@pytest.mark.exhaustive
def test_a_move_that_fails_is_taken_back(bench: Bench) -> None:
    host = bench.node()
    flat(host)
    before = programs(host)
    host.in_turn(lambda: host.node.faults.service("containerd", ServiceFault("no_pipe", times=1)))
    run = site(bench)
    assert run.rc != 0 and "Rolled back." in run.output, run
    assert programs(host) == before
    host.in_turn(lambda: host.node.clock.advance(60))
    assert shim_of(host) == rf"{FLAT}\{SHIM}"


def test_containerd_exe_alone_takes_its_shim_along(bench: Bench) -> None:
    """A source without a shim: what the earlier installation has moves with it, or no pod would start."""
    host = bench.node()
    flat(host)
    converge(
        bench,
        winkube_containerd_url="http://xyz/containerd.exe",
        winkube_containerd_checksum=served(bench, "http://xyz/containerd.exe"),
    )
    assert {path.rpartition("\\")[0] for path in programs(host)} == {BIN}
    assert shim_of(host) == rf"{BIN}\{SHIM}"


def test_a_strangers_shim_that_is_first_in_path_is_told(bench: Bench) -> None:
    """containerd looks beside itself only where Path has none; nothing said so."""
    host = bench.node()

    def strange() -> None:
        host.node.drive.mkdir(OTHER)
        host.node.drive.write(rf"{OTHER}\{SHIM}", build("containerd-shim-runhcs-v1", "1.5.0"))
        on_path(host, OTHER)
        host.node.environment = image.machine_environment(host.node.registry)

    host.in_turn(strange)
    sentence = f"containerd runs pods by the first {SHIM} in the machine's Path, which is {OTHER}\\{SHIM}"
    assert sentence in converge(bench).output
    assert shim_of(host) == rf"{OTHER}\{SHIM}"
    again = converge(bench)
    assert sentence in again.output and again.recap["win1"].changed == 0
    found = verify(bench)
    assert found.rc == 0, found
    assert rf"it runs pods by {OTHER}\{SHIM}, the first in the machine's Path" in found.output, found

    host.in_turn(lambda: host.node.drive.delete(rf"{OTHER}\{SHIM}"))
    assert sentence not in converge(bench).output
    assert sentence not in verify(bench).output
