# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of containerd_config_tcp, which its documentation describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..components.options import option, suboptions


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFiles:
    """Certificates that are on the node already; none if all are empty."""

    ca: str = option("A path.", default="")
    cert: str = option("A path.", default="")
    key: str = option("A path.", default="")


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateOptions:
    """Certificates that are made for the port, kept in `folder` on the controller; none if that is empty."""

    folder: str = option("A path.", default="")
    days: int = option("Days.", default=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFiles:
    """The client's files on the controller; none if all are empty."""

    ca: str = option("A path.", default="")
    cert: str = option("A path.", default="")
    key: str = option("A path.", default="")
    server_name: str = option("A name.", default="")


@dataclass(frozen=True, slots=True, kw_only=True)
class CriTcpOptions:
    """How CRI is opened over TCP, closed, and asked."""

    state: Literal["present", "absent"] = option("Open or closed.", default="present")
    tcp_address: str = option("Where it listens.", default="127.0.0.1:8888")
    allowed_sources: tuple[str, ...] = option("Who may come in.", default=())
    allow_any_address: bool = option("Whether.", default=False)
    expires_after: str = option("A time.", default="")
    expires_restart: bool = option("Whether.", default=False)
    tls: NodeFiles = suboptions(NodeFiles, "Files on the node.")
    certificates: CertificateOptions = suboptions(CertificateOptions, "Certificates to make.")
    prove: Literal["auto", "required", "never"] = option("Whether it is asked.", default="auto")
    prove_address: str = option("Where it is asked.", default="")
    client_tls: ClientFiles = suboptions(ClientFiles, "The client's files.")
    start_timeout: int = option("Seconds.", default=120)
    stop_timeout: int = option("Seconds.", default=120)
