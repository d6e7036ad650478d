# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""windows_exporter: the machine's own metrics for Prometheus, which kubelet's do not hold (disks, services, adapters).

Sources: prometheus-community/windows_exporter v0.31.8 cmd/windows_exporter/main.go (flags, /health) and 0_service.go
(it finds out by itself whether it is a service, and then logs to the event log Application).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...engine import windows_path
from ...engine.batch import Op
from ...engine.reading import Reading
from ...engine.services.existing import argument
from ..declaration import Daemon, ServiceKind
from ..healthz import started_with
from ..layout import Layout
from ..options import Option
from ..program_service import Recipe, Values, declare

PORT = 9182
ADDRESS = "web.listen-address"


def _program(layout: Layout) -> str:
    return windows_path.join(layout.root, "windows_exporter.exe")


def _url(port: object) -> str:
    return f"http://127.0.0.1:{port}/health"


def _arguments(_layout: Layout, values: Values) -> tuple[str, ...]:
    collectors = ",".join(str(each) for each in values["collectors"])
    return (f"--{ADDRESS}=:{values['port']}", *((f"--collectors.enabled={collectors}",) if collectors else ()))


def _ready(values: Values, seconds: int) -> tuple[Op, ...]:
    return (Op("wait", {"for": "http", "url": _url(values["port"]), "status": 200, "timeout_s": seconds}),)


def _healthz(found: Mapping[str, Any], layout: Layout, _reading: Reading) -> str:
    words = started_with(found, _program(layout))
    if words is None:
        return ""
    address = argument(" ".join(words), ADDRESS) or f":{PORT}"
    return _url(address.rpartition(":")[2])


DECLARATION = declare(
    "windows_exporter",
    "windows_exporter",
    Daemon(
        service=lambda _layout: "windows_exporter",
        program=_program,
        kind=ServiceKind(
            managers=("sc", "nssm"),
            native_flag="",
            why="windows_exporter does not make its own service; its installer does.",
            source="prometheus-community/windows_exporter v0.31.8 cmd/windows_exporter/0_service.go",
        ),
        event_source="windows_exporter",
        healthz=_healthz,
    ),
    Recipe(
        summary="Runs windows_exporter on a Windows node, for Prometheus",
        title="windows_exporter",
        version="0.31.8",
        url="{{ winkube_downloads }}github.com/prometheus-community/windows_exporter/releases/download/"
        "v{{ winkube_windows_exporter_version }}/windows_exporter-{{ winkube_windows_exporter_version }}-amd64.exe",
        sums="{{ winkube_download_sums or 'https://github.com/prometheus-community/windows_exporter/releases/download/v'"
        " ~ winkube_windows_exporter_version ~ '/sha256sums.txt' }}",
        options=(
            Option("port", "int", "The TCP port of its metrics.", PORT),
            Option(
                "collectors",
                "list",
                "What is measured; V([defaults]) stands for its own default. Empty for that alone.",
                ["[defaults]", "container"],
                elements="str",
            ),
        ),
        arguments=_arguments,
        ready=_ready,
        port=lambda values: int(values["port"]),
    ),
    rule="winkube-windows-exporter",
)
