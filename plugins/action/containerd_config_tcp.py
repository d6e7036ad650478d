# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens or closes CRI over TCP; documented in modules/containerd_config_tcp.py."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..plugin_utils.component_action import ComponentAction
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.read_plan import read_plan
from ..plugin_utils.cri.client import Tls as ClientTls
from ..plugin_utils.cri_tcp import certs, expiry, node, proof
from ..plugin_utils.cri_tcp.edit import Address, Listener, Tls, effective
from ..plugin_utils.engine.batch import Batch
from ..plugin_utils.engine.reading import Reading, merge_queries
from ..plugin_utils.engine.resource import Refused, Resource
from ..plugin_utils.engine.resources.firewall_rule import Network, sources
from ..plugin_utils.node.link import NodeError


class ActionModule(ComponentAction):
    """containerd_config_tcp."""

    module = "containerd_config_tcp"
    component = node.NAME
    _wanted: node.CriTcpArgs
    _text = ""
    _encrypted = False
    _own: ClientTls | None = None
    _left_over = ""

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Plan and act; then ask containerd over the port, whether or not anything was changed."""
        self._wanted = self._certified(_args(options, layout), options["certificates"])
        result = super().work(options, layout)
        if self._left_over:
            self.warn_once(f"{self._host}: {self._left_over}")
        found = effective(self._text)
        self._encrypted = found.encrypted
        if self._wanted.listener is not None and (sentence := node.warning(found, self._wanted.networks)):
            self.warn_once(sentence)
        proven = proof.not_asked("it is closed")
        if self._wanted.listener is not None:
            proven = proof.not_asked("check mode") if self._task.check_mode else self._proven(options)
        cri = {"address": found.address, "encrypted": found.encrypted, "clients_proven": found.clients_proven}
        return result | {"cri": cri | proven}

    def resources(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[Resource, ...]:
        """Firewall rule, config.toml, the restart."""
        found = node.desired(replace(self._wanted, mark=mark), reading)
        self._left_over = self._left_over or expiry.finding(layout, reading)
        self._text = node.config_of(found).text
        return found

    def stage_first(self, resources: tuple[Resource, ...], reading: Reading) -> Batch | None:
        """Let containerd read the new file before anything is stopped."""
        return node.rehearsal(self._wanted, resources, reading)

    def reading(self, options: Mapping[str, Any], layout: Layout) -> Reading:
        """With what only this task looks at."""
        known = super().reading(options, layout)
        missing = known.missing(node.reads(self._wanted))
        return known.merged(self._link.probe(missing), missing) if missing else known

    def read(self, layout: Layout) -> Reading:
        """The same, in one call."""
        return self.read_of(merge_queries((*read_plan(layout), *node.reads(self._wanted))))

    def _apply(self, batch: Batch, batch_id: str, layout: Layout, reading: Reading) -> Mapping[str, Any]:
        """As for any component; after the rehearsal, what containerd made of the file decides whether to go on."""
        answer = super()._apply(batch, batch_id, layout, reading)
        if node.is_rehearsal(batch) and answer.get("answer") != "stale":
            node.judge_rehearsal(self._wanted, answer, self._text)
        return answer

    def _prove(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Ask CRI for its version: at the node's address, or at a loopback address through Ansible's SSH connection."""
        listener = self._wanted.listener
        if listener is None or options["prove"] == "never":
            return proof.not_asked("prove: never")
        required = options["prove"] == "required"
        files = (self._own or _client_tls(options["client_tls"])) if self._encrypted else None
        try:
            if not listener.address.is_loopback:
                reached = options["prove_address"] or self._address_of_node(listener.address)
                return self._said(proof.proof(reached, files, required=required))
            with proof.forwarded(self._ssh_command, listener.address.near, listener.address.port) as reached:
                return self._said(proof.proof(reached, files, required=required))
        except proof.UnreachableError as none:
            return self._said(proof.unproven(str(none), required=required))

    def _proven(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """As `_prove`, with an error that a task can end with."""
        try:
            return self._prove(options)
        except proof.ProofError as error:
            raise NodeError(str(error)) from error

    def _certified(self, args: node.CriTcpArgs, given: Mapping[str, Any] | None) -> node.CriTcpArgs:
        """With certificates, where they are to be made; those of the last run as long as they are good."""
        where = str((given or {}).get("folder") or "")
        if not where or args.listener is None:
            return args
        if args.listener.tls is not None:
            raise Refused(
                "tls and certificates exclude each other: the first names files that are on the node already."
            )
        folder = Path(where).expanduser()
        addresses = self._addresses(args.listener.address)
        now = datetime.datetime.now(datetime.UTC)
        found = certs.usable(folder, addresses, now)
        if found is None:
            found = certs.made(addresses, int((given or {})["days"]), now)
            if not self._task.check_mode:
                certs.keep(folder, found)
        self._own = ClientTls(*(str(folder / name) for name in ("ca.crt", "client.crt", "client.key")))
        return replace(args, listener=replace(args.listener, tls=node.made_files(args.layout)), certificates=found)

    def _addresses(self, address: Address) -> list[str]:
        """The IP addresses at which a client may call the server."""
        found = ["127.0.0.1", "::1", *([] if address.is_any else [address.host])]
        with suppress(ValueError):
            found.append(str(ipaddress.ip_address(str(self._task_vars.get("ansible_host") or self._host))))
        return list(dict.fromkeys(found))

    def _said(self, found: dict[str, Any]) -> dict[str, Any]:
        if sentence := proof.warning(found):
            self.warn_once(sentence)
        return found

    def _address_of_node(self, address: Address) -> str:
        """Of an address that stands for all, the one by which Ansible reaches the node."""
        if not address.is_any:
            return str(address)
        host = str(self._task_vars.get("ansible_host") or self._host)
        return f"[{host}]:{address.port}" if ":" in host else f"{host}:{address.port}"

    def _ssh_command(self, options: Sequence[str]) -> Sequence[str | bytes]:
        """ssh as Ansible's own connection calls it, so that it finds the one that is open."""
        build = getattr(self._connection, "_build_command", None)
        if build is None or self._connection.transport != "ssh":
            raise proof.UnreachableError(f"a connection by {self._connection.transport} forwards no port")
        host = self._connection.get_option("host")
        command: Sequence[str | bytes] = build(self._connection.get_option("ssh_executable"), "ssh", *options, host)
        return command


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


def _client_tls(given: Mapping[str, str] | None) -> ClientTls:
    files = given or {}
    return ClientTls(*(str(files.get(name) or "") for name in ("ca", "cert", "key", "server_name")))


def _args(options: Mapping[str, Any], layout: Layout) -> node.CriTcpArgs:
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
