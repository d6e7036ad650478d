# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of containerd_config_tcp, which its documentation describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..cri.client import Tls as ClientTls
from .edit import Tls


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateOptions:
    """Certificates that are made for the port, kept in `folder` on the controller; none if that is empty."""

    folder: str
    days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CriTcpOptions:
    """How CRI is opened over TCP, closed, and asked. `tls` are certificates that are on the node already, `client_tls`
    the client's on the controller; none if all their names are empty. Times are seconds."""

    state: Literal["present", "absent"]
    tcp_address: str
    allowed_sources: tuple[str, ...]
    allow_any_address: bool
    expires_after: str
    expires_restart: bool
    tls: Tls
    certificates: CertificateOptions
    prove: Literal["auto", "required", "never"]
    prove_address: str
    client_tls: ClientTls
    start_timeout: int
    stop_timeout: int
