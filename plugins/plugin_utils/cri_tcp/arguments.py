# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the module's options to what is wanted: checked, and with certificates where they are to be made."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..components.layout import Layout
from ..cri.client import Tls as ClientTls
from ..engine.resource import Refused
from ..engine.resources.firewall_rule import Network, sources
from . import certs, expiry, node
from .edit import Address, Listener, Tls


def of(options: Mapping[str, Any], layout: Layout) -> node.CriTcpArgs:
    """The arguments, or Refused for what would be open to more than it has to be."""
    listener: Listener | None = None
    networks: tuple[Network, ...] = ()
    if options["state"] == "present":
        listener = Listener(Address.parse(options["tcp_address"]), _tls(options["tls"]))
        networks = sources(options["allowed_sources"], "allowed_sources")
        problems = node.problems(listener, networks, allow_any_address=options["allow_any_address"])
        if problems:
            raise Refused(*problems)
    return node.CriTcpArgs(
        layout=layout,
        listener=listener,
        networks=networks,
        expires_s=expiry.seconds(options["expires_after"]) if listener else 0,
        expires_restart=options["expires_restart"],
        start_timeout_s=options["start_timeout"],
        stop_timeout_s=options["stop_timeout"],
    )


def certified(
    args: node.CriTcpArgs, given: Mapping[str, Any] | None, host: str, keep: bool
) -> tuple[node.CriTcpArgs, ClientTls | None]:
    """With certificates, where they are to be made, and the client's files; those of the last run as long as they are
    good, new ones written if `keep`. `host` is what Ansible calls the node."""
    where = str((given or {}).get("folder") or "")
    if not where or args.listener is None:
        return args, None
    if args.listener.tls is not None:
        raise Refused("tls and certificates exclude each other: the first names files that are on the node already.")
    folder = Path(where).expanduser()
    addresses = _addresses(args.listener.address, host)
    now = datetime.datetime.now(datetime.UTC)
    found = certs.usable(folder, addresses, now)
    if found is None:
        found = certs.made(addresses, int((given or {})["days"]), now)
        if keep:
            certs.keep(folder, found)
    own = ClientTls(*(str(folder / name) for name in ("ca.crt", "client.crt", "client.key")))
    return replace(args, listener=replace(args.listener, tls=node.made_files(args.layout)), certificates=found), own


def client_tls(given: Mapping[str, str] | None) -> ClientTls:
    """The option `client_tls`."""
    files = given or {}
    return ClientTls(*(str(files.get(name) or "") for name in ("ca", "cert", "key", "server_name")))


def _addresses(address: Address, host: str) -> list[str]:
    """The IP addresses at which a client may call the server."""
    found = ["127.0.0.1", "::1", *([] if address.is_any else [address.host])]
    with suppress(ValueError):
        found.append(str(ipaddress.ip_address(host)))
    return list(dict.fromkeys(found))


def _tls(given: Mapping[str, str] | None) -> Tls | None:
    """Refused if only some of the files are named."""
    named = {name: path for name in ("ca", "cert", "key") if (path := (given or {}).get(name) or "")}
    if not named:
        return None
    if len(named) < 3:
        raise Refused(
            f"tls names {', '.join(named)} alone; ca, cert and key belong together: without ca, containerd would ask "
            "clients for no certificate."
        )
    return Tls(**named)
