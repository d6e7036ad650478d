# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""fluent_bit: sends the node's logs and Windows' events to a log store.

Sources: fluent/fluent-bit v5.1.1 src/fluent-bit.c (command line), src/win32/winsvc.c (it finds out by itself whether it
is a service, and says RUNNING when its engine starts), src/http_server/api/v1/health.c; CMakeLists.txt,
CPACK_PACKAGE_FILE_NAME (the archive's folder); docs.fluentbit.io, installation on Windows (downloads and their sums).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...engine import windows_path
from ...engine.resource import Refused
from ..declaration import Daemon, ServiceKind
from ..healthz import by_port_flag
from ..layout import Layout
from ..options import option
from ..program_service import Recipe, answers, declare

PORT = 2020
HEALTH = "http://127.0.0.1:{}/api/v1/health"
_FILE = "fluent-bit-{{ winkube_fluent_bit_version | regex_replace('^v') }}-win64.zip"


@dataclass(frozen=True, slots=True, kw_only=True)
class FluentBitOptions:
    """What Fluent Bit sends, and where."""

    node_name: str = option("The node's name in each record.", default="", variable="winkube_node_name")
    outputs: tuple[Mapping[str, Any], ...] = option(
        (
            "Where logs go: outputs of Fluent Bit as mappings, each with its C(name).",
            "A password stands in C(service.environment), and here as C(${NAME}).",
        ),
        default=(),
    )
    logs: tuple[str, ...] = option(
        "Log files besides containerd's, by their names in C(node.log_dir).",
        default=("kubelet.log", "kube-proxy.log", "flanneld.log"),
    )
    channels: tuple[str, ...] = option("Channels of Windows' event log.", default=("System", "Application"))
    port: int = option("The TCP port of its health check, only on the node.", default=PORT, flag="http_port")


def _program(layout: Layout) -> str:
    return windows_path.join(layout.root, "fluent-bit", "fluent-bit.exe")


def _arguments(layout: Layout, options: FluentBitOptions) -> tuple[str, ...]:
    config = windows_path.join(windows_path.parent(_program(layout)), "fluent-bit.yaml")
    return (f"--config={config}", f"--http_port={options.port}")


def _check(_version: str, options: FluentBitOptions) -> None:
    """Refused without an output."""
    if not options.outputs:
        raise Refused("fluent_bit: outputs: nothing says where the logs go. Name at least one, each with its name.")


DECLARATION = declare(
    "fluent_bit",
    "fluent_bit",
    Daemon(
        service=lambda _layout: "fluent-bit",
        program=_program,
        kind=ServiceKind(
            managers=("sc", "nssm"),
            native_flag="",
            why="fluent-bit does not make its own service.",
            source="fluent/fluent-bit v5.1.1 src/win32/winsvc.c",
        ),
        log=lambda layout: windows_path.join(layout.log_dir, "fluent_bit.log"),
        health=by_port_flag("http_port", PORT, HEALTH),
    ),
    Recipe(
        summary="Runs Fluent Bit on a Windows node, to send its logs and events elsewhere",
        title="Fluent Bit",
        version="5.1.1",
        description=(
            "Installs fluent-bit.exe, writes its configuration, and creates and starts its service. It counts as "
            "working when its health check answers.",
            "Sends the logs of containerd, kubelet, kube-proxy and flanneld and Windows' events, with the node's name.",
        ),
        example={
            "node_name": "win1",
            "source": {"url": "https://packages.fluentbit.io/windows/fluent-bit-5.1.1-win64.zip"},
            "outputs": [{"name": "forward", "match": "*", "host": "logs.example.com"}],
        },
        url="{{ winkube_downloads }}packages.fluentbit.io/windows/" + _FILE,
        sums="{{ winkube_download_sums or 'https://packages.fluentbit.io/windows/fluent-bit-'"
        " ~ (winkube_fluent_bit_version | regex_replace('^v')) ~ '-win64.zip.sha256' }}",
        members=("fluent-bit-{version}-win64/bin/fluent-bit.exe",),
        config="fluent-bit.yaml.j2",
        leaves=tuple(f"{name}.db{end}" for name in ("logs", "events") for end in ("", "-shm", "-wal")),
        options=FluentBitOptions,
        arguments=_arguments,
        log_arguments=lambda log: (f"--log_file={log}",),
        check=_check,
        ready=answers(HEALTH),
    ),
)
