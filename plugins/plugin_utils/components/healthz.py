# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a program says that it is healthy: by its settings, by its running service, and a wait for it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from ..engine import command_line, windows_path
from ..engine.batch import Op
from ..engine.reading import Reading
from ..engine.services.existing import argument
from ..facts.windows import KUBELET_PORT as SERVING_PORT
from .declaration import Daemon, Health, NoHealth
from .flag_check import CommandLine
from .layout import Layout

KUBELET_PORT = 10248
"""Source: kubernetes v1.37.1 pkg/cluster/ports/ports.go, KubeletHealthzPort."""
LOOPBACK = "127.0.0.1"


def find_kubelet(line: CommandLine, config: Mapping[str, Any]) -> tuple[str, str] | None:
    """(host, port) of the health URL on the node itself, for a kubelet with these arguments and this
    KubeletConfiguration (`healthzPort`, `healthzBindAddress`); None if it has none. An argument wins over the file;
    port 0 turns the server off. Source: kubernetes v1.37.1 cmd/kubelet/app/server.go, run."""
    port, address = line.find_last("healthz-port"), line.find_last("healthz-bind-address")
    where = port.value if port else str(_or(config.get("healthzPort"), KUBELET_PORT))
    host = address.value if address else str(_or(config.get("healthzBindAddress"), LOOPBACK))
    try:
        bound = ipaddress.ip_address(host)
    except ValueError:
        return None  # the kubelet refuses such an address itself
    if not where.isdigit() or where == "0":
        return None
    text = LOOPBACK if bound.is_unspecified else str(bound)
    return (f"[{text}]" if ":" in text else text), where


def port_of_kubelet(line: CommandLine, config: Mapping[str, Any]) -> int:
    """The port of the kubelet's API (logs, exec, metrics); an argument wins over the file."""
    given = line.find_last("port")
    where = given.value if given else str(_or(config.get("port"), SERVING_PORT))
    return int(where) if where.isdigit() else SERVING_PORT


def _or(value: Any, default: Any) -> Any:
    return default if value is None or value == "" else value


def wait_healthy(url: str, timeout_s: int) -> Op:
    """A wait until this URL answers 200 on the node itself."""
    return Op("wait", {"for": "http", "url": url, "status": 200, "timeout_s": timeout_s})


# The arguments of an existing service, and its health address.


def find_arguments(found: Mapping[str, Any], program: str) -> tuple[str, ...] | None:
    """The arguments with which the service starts `program`, under any manager; None if unknown, as for a script.
    `found` is the service as the probe lists it."""
    nssm = found.get("nssm")
    if nssm is not None:
        words = [str(nssm.get("Application") or ""), *command_line.split(f"x {nssm.get('AppParameters') or ''}")[1:]]
    else:
        words = command_line.split(str(found.get("image_path") or ""))
    for position, word in enumerate(words):
        if windows_path.is_same(word, program):
            return tuple(words[position + 1 :])
    return None


def find_url(daemon: Daemon, found: Mapping[str, Any], layout: Layout, reading: Reading, program: str = "") -> str:
    """Where a daemon says that it is healthy, by its service `found` as the probe lists it; empty if nowhere.
    `program` is its path where that is not the declared one."""
    if isinstance(daemon.health, NoHealth):
        return ""
    return daemon.health.find(find_arguments(found, program or daemon.program(layout)), layout, reading)


def by_port_flag(flag: str, default: int, url: str) -> Health:
    """`url` with the port of `--flag`, or the default port, for its `{}`."""

    def find(argv: Sequence[str] | None, _layout: Layout, _reading: Reading) -> str:
        return "" if argv is None else url.format((argument(" ".join(argv), flag) or str(default)).rpartition(":")[2])

    return Health(url.format(default), find)


def url_of(where: tuple[str, str] | None) -> str:
    """The URL of `/healthz` at this host and port; empty for none."""
    return f"http://{where[0]}:{where[1]}/healthz" if where else ""
