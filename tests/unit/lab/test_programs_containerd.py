"""containerd.exe, ctr.exe and crictl.exe as upstream's sources say they behave on Windows."""

from __future__ import annotations

import tomllib

import pytest

from tests.lab.machine.builds import build, identify, machine_of, release_archive
from tests.lab.machine.faults import ServiceFault
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.program import Completed
from tests.lab.twin.node import LabNode
from tests.lab.twin.ops_transfer import read_archive

BIN = "C:\\Program Files\\containerd\\bin"
CONFIG = "C:\\Program Files\\containerd\\config.toml"
SC = "C:\\Windows\\System32\\sc.exe"
ADDRESS = "\\\\.\\pipe\\containerd-containerd"


def machine(version: str = "1.7.11", config: str | None = None) -> SimulatedNode:
    node = LabNode("win1")
    node.drive.mkdir(BIN)
    for member in read_archive("a", release_archive("containerd", version)):
        assert member.data is not None
        node.drive.write(f"{BIN}\\{member.name.split('/')[1]}", member.data)
    node.drive.write(f"{BIN}\\crictl.exe", build("crictl", "1.30.0"))
    if config is not None:
        node.drive.write(CONFIG, config.encode())
    return node


def run(node: SimulatedNode, name: str, *arguments: str) -> Completed:
    return node.run(f"{BIN}\\{name}.exe", list(arguments))


def register(node: SimulatedNode, *arguments: str) -> int:
    return run(node, "containerd", "--register-service", *arguments).exit_code


def start(node: SimulatedNode) -> int:
    return node.run(SC, ["start", "containerd"]).exit_code


def test_a_release_archive_has_the_four_programs() -> None:
    members = {member.name: member.data for member in read_archive("a", release_archive("containerd", "2.0.1"))}
    programs = ("containerd", "containerd-shim-runhcs-v1", "containerd-stress", "ctr")
    assert set(members) == {f"bin/{name}.exe" for name in programs}
    found = identify(members["bin/ctr.exe"] or b"")
    assert found is not None and (found.name, found.version, found.arch) == ("ctr", "2.0.1", "amd64")
    assert machine_of(build("containerd", "1.7.11", arch="arm64")) == "arm64"
    assert identify(b"<html>") is None
    assert release_archive("containerd", "2.0.1") == release_archive("containerd", "2.0.1")


@pytest.mark.parametrize(
    ("version", "package", "highest"),
    [("1.6.27", "", 2), ("1.7.11", "", 2), ("2.0.0", "/v2", 3), ("2.2.1", "/v2", 3), ("2.3.0", "/v2", 4)],
)
def test_version_and_default_configuration(version: str, package: str, highest: int) -> None:
    node = machine(version)
    shown = run(node, "containerd", "--version").stdout.decode()
    assert shown.startswith(f"containerd github.com/containerd/containerd{package} v{version} ")
    assert tomllib.loads(run(node, "containerd", "config", "default").stdout.decode())["version"] == highest


def test_registration_is_stored_as_upstream_stores_it() -> None:
    node = machine(config="version = 2\n")
    assert register(node, "--log-file", "C:\\k\\containerd.log", "--config", CONFIG) == 0
    config = node.services.config("containerd")
    assert config.image_path == (
        f'"{BIN}\\containerd.exe" --run-service --log-file C:\\k\\containerd.log --config "{CONFIG}"'
    )
    assert (config.start, config.type, config.display_name) == (2, 0x10, "Containerd")
    assert config.failure is not None and config.failure.reset_s == 86400
    assert config.failure.actions == (("restart", 15000), ("restart", 15000), ("none", 0))
    again = run(node, "containerd", "--register-service")
    assert again.exit_code == 1 and b"The specified service already exists." in again.stderr
    assert run(node, "containerd", "--unregister-service").exit_code == 0
    assert not node.services.exists("containerd")


def test_a_log_for_which_there_is_no_room_stops_nothing() -> None:
    """The line was an error of the machine itself, wherever its clock moved."""
    node = machine(config="version = 2\n")
    log = "C:\\k\\containerd.log"
    node.drive.mkdir("C:\\k")
    assert register(node, "--log-file", log, "--config", CONFIG) == 0
    assert start(node) == 0
    node.faults.disk_full_after = 0
    node.clock.advance(60)
    assert node.services.state("containerd") == "running"
    assert b"starting containerd" in node.drive.read(log)
    assert b"successfully booted" not in node.drive.read(log)


def test_registration_reads_the_configuration_and_makes_the_folders() -> None:
    node = machine(config="version = 2\n")
    assert register(node) == 0
    assert node.drive.is_dir("C:\\ProgramData\\containerd\\root")
    bad = machine(config='[grpc]\naddress = "\\\\.\\pipe\\x"\n'.replace("\\\\", "\\"))
    completed = run(bad, "containerd", "--register-service")
    assert completed.exit_code == 1 and completed.stderr.startswith(b"containerd: failed to load TOML")
    assert not bad.services.exists("containerd")


def test_running_comes_first_and_the_pipe_later() -> None:
    node = machine()
    register(node)
    node.faults.pipe_delay_s = 12
    assert start(node) == 0
    assert node.services.state("containerd") == "running"
    early = run(node, "ctr", "version")
    assert early.exit_code == 1 and b"Client:" in early.stdout and b"failed to dial" in early.stderr
    assert not node.pipes.exists(ADDRESS)
    node.clock.advance(13)
    ready = run(node, "ctr", "version")
    assert ready.exit_code == 0 and b"Server:\n  Version:  v1.7.11\n" in ready.stdout
    cri = run(node, "crictl", "--runtime-endpoint", "npipe:////./pipe/containerd-containerd", "version")
    assert cri.exit_code == 0 and b"RuntimeVersion:  v1.7.11" in cri.stdout
    node.run(SC, ["stop", "containerd"])
    node.clock.advance(5)
    assert node.services.state("containerd") == "stopped" and not node.pipes.exists(ADDRESS)
    assert run(node, "crictl", "version").exit_code == 1


@pytest.mark.parametrize(
    ("version", "config"),
    [
        ("1.7.11", "version = 2\n[plugins.cri]\ndisable_tcp_service = false\n"),
        ("1.7.11", "this is no toml"),
        ("1.7.11", 'version = 2\nroot = "C:\\\\x"\nstate = "C:\\\\x"\n'),
        ("2.0.0", "version = 4\n"),
        ("2.3.0", "version = 5\n"),
    ],
)
def test_a_bad_configuration_ends_the_service_without_a_word(version: str, config: str) -> None:
    node = machine(version)
    register(node, "--log-file", "C:\\containerd.log")
    node.drive.write(CONFIG, config.encode())
    assert start(node) == 1053
    node.clock.advance(60)
    assert node.services.state("containerd") == "stopped"
    assert not node.drive.exists("C:\\containerd.log")
    assert run(node, "containerd", "config", "dump").exit_code == 1


TCP = '[grpc]\ntcp_address = "1.2.3.4:8888"\n'
CRI_ON = '[plugins."io.containerd.grpc.v1.cri"]\ndisable_tcp_service = false\n'
TABLE = '[plugins."io.containerd.server.v1.grpc-tcp"]\n'


@pytest.mark.parametrize(
    ("version", "config", "tcp", "no_cri"),
    [
        ("1.7.11", TCP + CRI_ON, "1.2.3.4:8888", True),
        ("1.7.11", "version = 2\n" + TCP + CRI_ON, "1.2.3.4:8888", False),
        ("2.3.0", "version = 2\n" + TCP, "1.2.3.4:8888", True),
        ("2.3.0", "version = 2\n" + TCP + TABLE, "", True),
        ("2.3.0", "version = 4\n" + TABLE + 'address = "1.2.3.4:9"\n', "1.2.3.4:9", True),
        ("2.3.0", "version = 4\n" + TCP, "", True),
    ],
)
def test_which_keys_a_version_reads(version: str, config: str, tcp: str, no_cri: bool) -> None:
    node = machine(version, config)
    dumped = tomllib.loads(run(node, "containerd", "config", "dump").stdout.decode())
    plugins = dumped["plugins"]
    found = (
        plugins["io.containerd.server.v1.grpc-tcp"]["address"] if version == "2.3.0" else dumped["grpc"]["tcp_address"]
    )
    assert found == tcp
    assert plugins["io.containerd.grpc.v1.cri"]["disable_tcp_service"] is no_cri


def test_a_file_of_version_1_has_its_cri_table_under_the_old_name() -> None:
    node = machine(
        "1.7.11",
        '[plugins."io.containerd.grpc.v1.cri"]\nsandbox_image = "ignored"\n[plugins.cri]\nsandbox_image = "x"\n',
    )
    dumped = tomllib.loads(run(node, "containerd", "config", "dump").stdout.decode())
    assert dumped["plugins"]["io.containerd.grpc.v1.cri"]["sandbox_image"] == "x"


def test_a_drop_in_replaces_a_table_in_1x_and_is_merged_in_2x() -> None:
    config = 'version = 2\nimports = ["conf.d/*.toml"]\n[plugins."io.containerd.grpc.v1.cri"]\nsandbox_image = "mine"\n'
    part = 'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\ndisable_tcp_service = false\n'
    for version, image in (("1.7.11", "registry.k8s.io/pause:3.8"), ("2.0.0", "mine")):
        node = machine(version, config)
        node.drive.mkdir("C:\\Program Files\\containerd\\conf.d")
        node.drive.write("C:\\Program Files\\containerd\\conf.d\\tcp.toml", part.encode())
        cri = tomllib.loads(run(node, "containerd", "config", "dump").stdout.decode())["plugins"][
            "io.containerd.grpc.v1.cri"
        ]
        assert cri["disable_tcp_service"] is False and cri["sandbox_image"] == image


@pytest.mark.parametrize(
    ("pattern", "entry", "taken"),
    [
        ("conf.d/*.toml", "tcp.toml", True),
        ("conf.d/*.toml", "TCP.TOML", False),  # case is compared
        ("conf.d/[^x]*.toml", "tcp.toml", True),
        ("conf.d/[^t]*.toml", "tcp.toml", False),
        ("conf.d/[!t]*.toml", "tcp.toml", True),  # Go's ! is no negation
        ("conf.d/t?p*.toml", "tcp.toml", True),
        ("conf.d/t*p*.toml", "tcp.toml", True),
    ],
)
def test_an_import_with_a_star_is_matched_as_gos_filepath_does(pattern: str, entry: str, taken: bool) -> None:
    node = machine("2.0.0", f'version = 2\nimports = ["{pattern}"]\n')
    node.drive.mkdir("C:\\Program Files\\containerd\\conf.d")
    part = 'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\nsandbox_image = "theirs"\n'
    node.drive.write(f"C:\\Program Files\\containerd\\conf.d\\{entry}", part.encode())
    dumped = run(node, "containerd", "config", "dump").stdout
    assert (b"theirs" in dumped) is taken


def test_an_import_without_a_star_is_a_name_whatever_else_it_has() -> None:
    node = machine("2.0.0", 'version = 2\nimports = ["[t]cp.toml"]\n')
    node.drive.write("C:\\Program Files\\containerd\\tcp.toml", b"version = 2\n")
    assert rb"open C:\Program Files\containerd\[t]cp.toml" in run(node, "containerd", "config", "dump").stderr


def test_a_drop_in_may_not_be_newer_than_its_root() -> None:
    node = machine("2.0.0", 'version = 2\nimports = ["x.toml"]\n')
    node.drive.write("C:\\Program Files\\containerd\\x.toml", b"version = 3\n")
    assert (
        b"drop-in config version 3 higher than root config version 2"
        in run(node, "containerd", "config", "dump").stderr
    )


def test_another_pipe_and_a_switched_off_cri() -> None:
    node = machine(
        config="version = 2\ndisabled_plugins = ['io.containerd.grpc.v1.cri']\n[grpc]\naddress = '\\\\.\\pipe\\other'\n"
    )
    register(node)
    start(node)
    node.clock.advance(10)
    assert node.pipes.exists("other") and not node.pipes.exists("containerd-containerd")
    assert run(node, "ctr", "--address", "\\\\.\\pipe\\other", "version").exit_code == 0
    completed = run(node, "crictl", "-r", "npipe:////./pipe/other", "version")
    assert completed.exit_code == 1 and b"unknown service runtime.v1.RuntimeService" in completed.stderr


@pytest.mark.parametrize(
    ("disabled", "made"), [("", True), ("disabled_plugins = ['io.containerd.grpc.v1.cri']", False)]
)
def test_the_cri_plugin_makes_the_folder_that_it_watches(disabled: str, made: bool) -> None:
    """Source: containerd internal/cri/server/cni_conf_syncer.go, newCNINetConfSyncer."""
    table = "[plugins.'io.containerd.grpc.v1.cri'.cni]\nconf_dir = 'C:\\k\\cni\\config'\n"
    node = machine(config=f"version = 2\n{disabled}\n{table}")
    register(node)
    start(node)
    node.clock.advance(10)
    assert node.drive.exists("C:\\k\\cni\\config") == made


def test_the_snapshotter_makes_its_folder() -> None:
    """Source: containerd plugins/snapshots/windows/common.go."""
    node = machine(config="version = 2\nroot = 'C:\\ProgramData\\containerd\\root'\n")
    register(node)
    start(node)
    node.clock.advance(10)
    assert node.drive.exists("C:\\ProgramData\\containerd\\root\\io.containerd.snapshotter.v1.windows\\snapshots")


def test_a_crash_is_followed_by_the_registered_restart() -> None:
    node = machine()
    register(node)
    start(node)
    node.processes.kill(node.services.runtime("containerd").pid)
    node.clock.advance(16)
    assert node.services.state("containerd") == "running"


def test_a_pipe_that_never_comes() -> None:
    node = machine()
    register(node)
    node.faults.service("containerd", ServiceFault("no_pipe"))
    start(node)
    node.clock.advance(300)
    assert node.services.state("containerd") == "running" and not node.pipes.exists(ADDRESS)


def test_an_unknown_flag_is_refused() -> None:
    node = machine()
    completed = run(node, "containerd", "--registre-service")
    assert completed.exit_code == 1 and b"flag provided but not defined: -registre-service" in completed.stderr


def test_the_log_is_only_written_when_it_is_asked_for() -> None:
    node = machine()
    register(node, "--log-file", "C:\\containerd.log")
    start(node)
    node.clock.advance(10)
    assert b"successfully booted" in node.drive.read("C:\\containerd.log")
