# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CRI over TCP: the keys of config.toml that open it, by the version of the file, and the firewall's rule.

Two switches have to be set together, since `disable_tcp_service` is true by default. With the address alone, containerd
up to 2.2 opens a port that answers `UNIMPLEMENTED unknown service` to every CRI call; from 2.3 on nothing listens.
Source: measured with 1.6, 1.7.35, 2.2.9, 2.3.7 and 2.4.2 (tests/real/test_cri_tcp.py); plugins/cri/cri.go,
DisableTCPService.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .containerd import CRI, SERVER_TCP, V2, V4, Place

DISABLED_NAMES = ("cri", CRI)
"""How `disabled_plugins` names the CRI plugin, in version 1 and since version 2."""


@dataclass(frozen=True, slots=True)
class TcpPlaces:
    """Where a config.toml of one version holds the address, the switch, and the certificates of the server."""

    address: Place
    disable: Place
    tls_ca: Place
    tls_cert: Place
    tls_key: Place

    @property
    def tls(self) -> tuple[Place, Place, Place]:
        """The certificates: authority, certificate, key."""
        return (self.tls_ca, self.tls_cert, self.tls_key)

    @property
    def places(self) -> tuple[Place, ...]:
        """Every place."""
        return (self.address, self.disable, *self.tls)


_TABLE = ("plugins", SERVER_TCP)

GRPC = TcpPlaces(
    address=V2.tcp_address,
    disable=V2.disable_tcp_service,
    tls_ca=("grpc", "tcp_tls_ca"),
    tls_cert=("grpc", "tcp_tls_cert"),
    tls_key=("grpc", "tcp_tls_key"),
)
"""Version 2 and 3. Source: containerd's server/config/config.go, GRPCConfig. With a `tcp_tls_ca` a client has to show a
certificate of that authority, without one anybody may connect: server.go, New; measured with 1.6 and 2.4.2."""

PLUGIN = TcpPlaces(
    address=V4.tcp_address,
    disable=V4.disable_tcp_service,
    tls_ca=(*_TABLE, "tls_ca"),
    tls_cert=(*_TABLE, "tls_cert"),
    tls_key=(*_TABLE, "tls_key"),
)
"""Version 4, containerd 2.3 on. It holds for an older file as well if that has this table, even an empty one: then
`[grpc] tcp_address` is not read. Source: v2.3.7 cmd/containerd/server/config/config.go, serviceMigrate; measured with
`config dump` of 2.3.7 and 2.4.2. containerd up to 2.2 does not know the table and reads `[grpc]`: measured with
1.7.35 to 2.2.9."""

BY_VERSION: Mapping[int, TcpPlaces] = {2: GRPC, 3: GRPC, 4: PLUGIN}
"""By the version that the file names. Version 1 has the switch in `[plugins.cri]`; containerd 1.6 and 1.7 read no table
of a version 2 name out of such a file: measured, `config dump` keeps `disable_tcp_service = true`."""

CLOSED: Mapping[Place, object] = {
    GRPC.address: "",
    GRPC.disable: True,
    GRPC.tls_ca: "",
    GRPC.tls_cert: "",
    GRPC.tls_key: "",
}
"""What version 2 and 3 say where they say nothing. Source: as above. Not for the table of version 4: in an older file
its being there means something."""

PLAIN_PORT_OWNER = "SYSTEM"
"""Whom containerd runs as, and so anyone who can ask it for a container with the host's files."""

RULE = "winkube-cri-tcp"
"""The name of the one inbound rule of the Windows firewall that is made here."""
