# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a kubelet says whether it is healthy, and the wait on what a program says there."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from ..engine.batch import Op
from ..facts.firewall import KUBELET_PORT as SERVING_PORT
from .flag_check import CommandLine

KUBELET_PORT = 10248
"""Source: kubernetes v1.37.1 pkg/cluster/ports/ports.go, KubeletHealthzPort."""
LOOPBACK = "127.0.0.1"


def of_kubelet(line: CommandLine, config: Mapping[str, Any]) -> tuple[str, str] | None:
    """Host and port, for a URL on the node itself, of a kubelet with these arguments and this KubeletConfiguration (its
    `healthzPort` and `healthzBindAddress` count); None if it answers nowhere. An argument wins over the file; port 0
    turns the server off. Source: kubernetes v1.37.1 cmd/kubelet/app/server.go, run."""
    port, address = line.last("healthz-port"), line.last("healthz-bind-address")
    where = port.value if port else str(_or(config.get("healthzPort"), KUBELET_PORT))
    host = address.value if address else str(_or(config.get("healthzBindAddress"), LOOPBACK))
    try:
        bound = ipaddress.ip_address(host)
    except ValueError:
        return None  # a kubelet takes no such address, and says so itself
    if not where.isdigit() or where == "0":
        return None
    text = LOOPBACK if bound.is_unspecified else str(bound)
    return (f"[{text}]" if ":" in text else text), where


def port_of_kubelet(line: CommandLine, config: Mapping[str, Any]) -> int:
    """The port at which it serves logs, exec and metrics: an argument wins over the file."""
    given = line.last("port")
    where = given.value if given else str(_or(config.get("port"), SERVING_PORT))
    return int(where) if where.isdigit() else SERVING_PORT


def _or(value: Any, default: Any) -> Any:
    return default if value is None or value == "" else value


def healthy(port: str, timeout_s: int, host: str = LOOPBACK) -> Op:
    """Until `/healthz` on this port of the node answers 200; `host` is the address that it listens on."""
    url = f"http://{host}:{port}/healthz"
    return Op("wait", {"for": "http", "url": url, "status": 200, "timeout_s": timeout_s})
