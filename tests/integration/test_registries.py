"""Mirrors and a private certificate authority on a simulated node: written, found by config.toml, removed."""

from __future__ import annotations

import tomllib
from typing import Any

from tests.integration.lab import Bench
from tests.integration.site import CONFIG, converge
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

    # One less: its folder goes, a stranger's stays, and nothing restarts.
    host.in_turn(lambda: host.node.drive.mkdir(rf"{CERTS}\quay.io"))
    host.in_turn(lambda: host.node.drive.write(rf"{CERTS}\quay.io\hosts.toml", b"# mine\n"))
    fewer = converge(bench, winkube_registries=[private])
    assert fewer.recap["win1"].changed == 1, fewer
    assert kind(host, rf"{CERTS}\docker.io") is None
    assert kind(host, rf"{CERTS}\quay.io\hosts.toml") == "file"
    assert pid(host) == running

    none = converge(bench)
    assert kind(host, folder) is None
    assert "restarted containerd" in none.output, "config.toml no longer names the folder"
    assert kind(host, rf"{CERTS}\quay.io\hosts.toml") == "file"
    assert converge(bench).recap["win1"].changed == 0
