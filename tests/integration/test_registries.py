"""Mirrors, a private certificate authority and credentials on a simulated node: written, found by config.toml, used for
images in advance, removed."""

from __future__ import annotations

import base64
import tomllib
from typing import Any

import pytest

from tests.integration.lab import Bench
from tests.integration.site import CONFIG, converge, differences, site
from tests.lab.machine.faults import ServiceFault
from tests.lab.programs import images
from tests.lab.server.host import NodeHost

CERTS = r"C:\ProgramData\containerd\certs.d"
CA = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


def read(host: NodeHost, path: str) -> str:
    return bytes(host.in_turn(lambda: host.node.drive.read(path))).decode()


def kind(host: NodeHost, path: str) -> str | None:
    found: str | None = host.in_turn(lambda: host.node.drive.kind(path))
    return found


def pid(host: NodeHost) -> int:
    return int(host.in_turn(lambda: host.node.services.runtime("containerd").pid))


def test_from_mirrors_to_none(bench: Bench) -> None:
    host = bench.node()
    ca = bench.file("ca.pem", CA)
    private: dict[str, Any] = {"host": "registry.example.com:5000", "ca": str(ca)}
    hub = {"host": "docker.io", "mirrors": [{"url": "https://mirror.example.com"}]}
    run = converge(bench, winkube_registries=[private, hub])
    folder = rf"{CERTS}\registry.example.com5000"
    assert rf"wrote {folder}\hosts.toml" in run.output
    assert tomllib.loads(read(host, rf"{folder}\hosts.toml")) == {"ca": "server-ca.pem"}
    assert read(host, rf"{folder}\server-ca.pem") == CA
    (mirror,) = tomllib.loads(read(host, rf"{CERTS}\docker.io\hosts.toml"))["host"].values()
    assert mirror == {"capabilities": ["pull", "resolve"]}
    config = tomllib.loads(read(host, CONFIG))
    assert config["plugins"]["io.containerd.grpc.v1.cri"]["registry"] == {"config_path": CERTS}

    running = pid(host)
    bench.reset_ledger()
    assert converge(bench, winkube_registries=[private, hub]).recap["win1"].changed == 0
    assert bench.calls() == 1

    # One less, the other wants a password: its folder goes, a stranger's stays, and nothing restarts.
    password = bench.plant("geheim-42", "the registry's password")
    basic = base64.b64encode(f"puller:{password}".encode()).decode()
    bench.plant(basic, "the registry's password in a header", "hosts.toml")
    host.node.pods.closed[private["host"]] = f"Basic {basic}"
    private["auth"] = {"username": "puller", "password": password}
    image = f"{private['host']}/app:1"
    host.in_turn(lambda: host.node.drive.mkdir(rf"{CERTS}\quay.io"))
    host.in_turn(lambda: host.node.drive.write(rf"{CERTS}\quay.io\hosts.toml", b"# mine\n"))
    fewer = converge(bench, winkube_registries=[private], winkube_images=[image])
    assert fewer.recap["win1"].changed == 1, fewer
    assert "sends these credentials only to the registry" in fewer.output
    assert image in host.in_turn(lambda: images.names(host.node)), fewer
    assert kind(host, rf"{CERTS}\docker.io") is None
    assert kind(host, rf"{CERTS}\quay.io\hosts.toml") == "file"
    assert pid(host) == running

    none = converge(bench)
    assert kind(host, folder) is None
    assert "restarted containerd" in none.output, "config.toml no longer names the folder"
    assert kind(host, rf"{CERTS}\quay.io\hosts.toml") == "file"
    assert converge(bench).recap["win1"].changed == 0


def moved_aside(host: NodeHost) -> list[str]:
    """The files of registries that lie in the backups of batches."""
    return [path for path, _ in host.in_turn(lambda: list(host.node.drive.walk())) if path.endswith(".gone")]


@pytest.mark.exhaustive
def test_a_broken_run_leaves_no_file_aside(bench: Bench) -> None:
    """A file that is no longer wanted is moved into its batch's backup; a batch that fails moves it back."""
    host = bench.node()
    hub = {"host": "docker.io", "mirrors": [{"url": "https://mirror.example.com"}]}
    converge(bench, winkube_registries=[hub])
    before = bench.dump()
    host.in_turn(lambda: host.node.faults.service("containerd", ServiceFault("no_pipe", times=1)))
    assert "Rolled back." in site(bench).output
    host.in_turn(lambda: host.node.clock.advance(60))
    # The folder, made again, inherits from certs.d the access that it had of its own.
    expected = ("containerd.log", r"certs.d\docker.io/sddl")
    assert [line for line in differences(before, bench.dump()) if not any(text in line for text in expected)] == []
    assert moved_aside(host) == []

    converge(bench)
    assert moved_aside(host), "the backup of a finished batch, which goes with the batch"
