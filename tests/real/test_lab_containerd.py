"""The lab's containerd has its settings where the real one of the same release has them."""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lab.programs.containerd_config import default_text, dump_text
from tests.real.conftest import RealContainerd
from tests.unit.lab.test_programs_containerd import CONFIG, machine

NAMES = {"stats_collect_period", "bin_dirs", "disable_tcp_service", "tcp_address"}
OLD = """version = 2
[grpc]
  address = '{pipe}'
  tcp_address = "127.0.0.1:18889"
  tcp_tls_ca = "/x/ca"
  tcp_tls_cert = "/x/cert"
  tcp_tls_key = "/x/key"
"""


def release(containerd: RealContainerd) -> str:
    """As the lab's builds are called: Debian says 1.6.20~ds1, the others v2.3.7+unknown."""
    return containerd.version.lstrip("v").partition("~")[0].partition("+")[0]


def leaves(table: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name), value


def places(document: Mapping[str, Any]) -> set[tuple[str, ...]]:
    """Where the settings stand that somebody here reads; bin_dir is another plugin's name, too."""
    found = {path for path, _value in leaves(document)}
    return {
        path
        for path in found
        if path[-1] in NAMES
        or path[-1].startswith("tcp_tls_")
        or path[-2:] == ("cni", "bin_dir")
        or (len(path) == 3 and "grpc-tcp" in path[1] and path[2].startswith("tls_"))
    }


def test_default(containerd: RealContainerd) -> None:
    done = subprocess.run(
        [str(containerd.program), "config", "default"], capture_output=True, text=True, timeout=60, check=True
    )
    lab = tomllib.loads(default_text(release(containerd)))
    assert places(lab) == places(tomllib.loads(done.stdout))


@pytest.mark.row("CT-09")
def test_dump_of_an_older_file_with_certificates(containerd: RealContainerd, tmp_path: Path) -> None:
    def tcp(document: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
        kept = ("tcp_address", "tcp_tls_ca", "tcp_tls_cert", "tcp_tls_key")
        tables = ("grpc", "io.containerd.server.v1.grpc-tcp")
        return {
            path: value
            for path, value in leaves(document)
            if path[:-1] and path[-2] in tables and (path[-1] in kept or path[-1].startswith("tls_"))
        }

    file = tmp_path / "config.toml"
    file.write_text(OLD.format(pipe=tmp_path / "c.sock"))
    node = machine(release(containerd), OLD.format(pipe="\\\\.\\pipe\\containerd-containerd"))
    lab = tomllib.loads(dump_text(node, release(containerd), CONFIG))
    assert tcp(lab) == tcp(containerd.dump(file))
