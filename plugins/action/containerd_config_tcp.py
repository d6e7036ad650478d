# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens or closes CRI over TCP; documented in modules/containerd_config_tcp.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..plugin_utils.component_action import ComponentAction
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.registry import read_plan
from ..plugin_utils.cri.client import Tls as ClientTls
from ..plugin_utils.cri_tcp import expiry, node, proof
from ..plugin_utils.cri_tcp.edit import Address, effective
from ..plugin_utils.engine.batch import Batch
from ..plugin_utils.engine.reading import Reading, merge_queries
from ..plugin_utils.engine.resource import Resource
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
    _rehearsed: proof.Rehearsed | None = None

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Plan and act; then ask containerd over the port, whether or not anything was changed."""
        host = str(self._task_vars.get("ansible_host") or self._host)
        keep = not self._task.check_mode
        self._wanted, self._own = node.certified(node.of(options, layout), options["certificates"], host, keep)
        result = super().work(options, layout)
        if self._left_over:
            self.warn_once(f"{self._host}: {self._left_over}")
        found = self._rehearsed.found if self._rehearsed else effective(self._text.removeprefix("\ufeff"))
        self._encrypted = found.encrypted
        if self._rehearsed:
            self._tell(self._rehearsed, layout)
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
        if (off := node.firewall_off(self._wanted, reading))[0]:
            self._left_over = f"the Windows firewall is off ({off[1]}): allowed_sources keeps nobody out."
        self._text = proof.config_of(found).text
        return found

    def stage_first(self, resources: tuple[Resource, ...], reading: Reading) -> Batch | None:
        """Let containerd read the new file before anything is stopped."""
        return proof.rehearsal(self._wanted, resources, reading)

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
        if proof.is_rehearsal(batch) and answer.get("answer") != "stale":
            self._rehearsed = proof.judge_rehearsal(self._wanted, answer, self._text)
        return answer

    def _tell(self, rehearsed: proof.Rehearsed, layout: Layout) -> None:
        """After closing: what else has changed, and NodeError where another file keeps the port open."""
        if rehearsed.others:
            self.warn_once(f"{self._host}: closed, and besides {proof.others_sentence(rehearsed.others)}")
        if rehearsed.fault:
            folders = proof.import_folders(self._text, layout)
            known = Reading().merged(self._link.probe(folders), folders)
            files = proof.imported_files(self._text, layout, known)
            known = known.merged(self._link.probe(files), files) if files else known
            raise NodeError(proof.still_open(layout, rehearsed.found, rehearsed.fault, proof.opened_by(files, known)))

    def _prove(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Ask CRI for its version: at the node's address, or at a loopback address through Ansible's SSH connection."""
        listener = self._wanted.listener
        if listener is None or options["prove"] == "never":
            return proof.not_asked("prove: never")
        required = options["prove"] == "required"
        files = (self._own or node.client_tls(options["client_tls"])) if self._encrypted else None
        if self._encrypted and listener.tls is None and not options["client_tls"]:
            return self._said(proof.unproven(node.ASKS_STILL, required=required))
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
