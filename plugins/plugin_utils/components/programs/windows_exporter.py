# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""windows_exporter: the machine's own metrics for Prometheus (disks, services, adapters), which the kubelet's lack.

Sources: prometheus-community/windows_exporter v0.31.8 cmd/windows_exporter/main.go (flags, /health) and 0_service.go
(it finds out by itself whether it is a service, and then logs to the event log Application).
"""

from __future__ import annotations

from dataclasses import dataclass

from ...engine import windows_path
from ..declaration import Daemon, ServiceKind
from ..healthz import by_port_flag
from ..layout import Layout
from ..options import option
from ..program_service import Recipe, answers, declare

PORT = 9182
ADDRESS = "web.listen-address"
HEALTH = "http://127.0.0.1:{}/health"
_RELEASE = "https://github.com/prometheus-community/windows_exporter/releases/download/v0.31.8/"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsExporterOptions:
    """What windows_exporter measures."""

    port: int = option("The TCP port of its metrics.", default=PORT, flag="web.listen-address")
    collectors: tuple[str, ...] = option(
        "What is measured; V([defaults]) stands for its own default. Empty for only that.",
        default=("[defaults]", "container"),
    )


def _program(layout: Layout) -> str:
    return windows_path.join(layout.root, "windows_exporter.exe")


def _arguments(_layout: Layout, options: WindowsExporterOptions) -> tuple[str, ...]:
    collectors = ",".join(options.collectors)
    return (f"--{ADDRESS}=:{options.port}", *((f"--collectors.enabled={collectors}",) if collectors else ()))


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
        health=by_port_flag(ADDRESS, PORT, HEALTH),
    ),
    Recipe(
        summary="Runs windows_exporter on a Windows node, for Prometheus",
        title="windows_exporter",
        version="0.31.8",
        description=(
            "Installs windows_exporter.exe, and creates and starts its service. It counts as working when C(/health) "
            "answers.",
            "It provides metrics of the machine itself, such as disks, adapters, services and containers, which the "
            "kubelet does not have.",
        ),
        example={
            "source": {"url": f"{_RELEASE}windows_exporter-0.31.8-amd64.exe", "checksum": f"{_RELEASE}sha256sums.txt"},
            "collectors": ["[defaults]", "container"],
        },
        url="{{ winkube_downloads }}github.com/prometheus-community/windows_exporter/releases/download/"
        "v{{ winkube_windows_exporter_version | regex_replace('^v') }}/"
        "windows_exporter-{{ winkube_windows_exporter_version | regex_replace('^v') }}-amd64.exe",
        sums="{{ winkube_download_sums or 'https://github.com/prometheus-community/windows_exporter/releases/download/v'"
        " ~ (winkube_windows_exporter_version | regex_replace('^v')) ~ '/sha256sums.txt' }}",
        options=WindowsExporterOptions,
        arguments=_arguments,
        ready=answers(HEALTH),
        port=lambda options: options.port,
    ),
    rule="winkube-windows-exporter",
)
