# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens or closes CRI over TCP; documented in modules/containerd_config_tcp.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.stage import First, Given, Resources, Stage
from ..plugin_utils.cri.client import Tls as ClientTls
from ..plugin_utils.cri_tcp import expiry, node, proof
from ..plugin_utils.cri_tcp.edit import Address, effective
from ..plugin_utils.engine.batch import Batch
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.task.component_action import ConvergingAction


class ActionModule(ConvergingAction):
    """containerd_config_tcp."""

    module = "containerd_config_tcp"
    topic = node.NAME

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._wanted: node.CriTcpArgs
        self._text = ""
        self._encrypted = False
        self._own: ClientTls | None = None
        self._left_over = ""
        self._rehearsed: proof.Rehearsed | None = None

    @property
    def _address(self) -> str:
        """Where Ansible reaches the node."""
        return str(self._task_vars.get("ansible_host") or self._host)

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Plan and act; then ask containerd over the port, whether or not anything was changed."""
        keep = not self._task.check_mode
        self._wanted, self._own = node.certify(node.of(options, layout), options["certificates"], self._address, keep)
        stage = Stage("tcp", self._build_resources, first=(self._rehearsal(),))
        _reading, result = self.converge((stage,), options, needed=node.reads(self._wanted))
        if self._left_over:
            self.warn_once(f"{self._host}: {self._left_over}")
        found = self._rehearsed.found if self._rehearsed else effective(self._text.removeprefix("\ufeff"))
        self._encrypted = found.encrypted
        if self._rehearsed:
            self._tell(self._rehearsed, layout)
        closes = self._wanted.expires_s or (self._wanted.listener is None and self._task.check_mode)
        afterwards = self._rehearsed.afterwards if self._rehearsed else ""
        if closes and (sentence := proof.open_elsewhere(self._find_open_elsewhere(layout), afterwards)):
            self.warn_once(f"{self._host}: {sentence}")
        if self._wanted.listener is not None and (sentence := node.warning(found, self._wanted.networks)):
            self.warn_once(sentence)
        proven = proof.not_asked("it is closed")
        if self._wanted.listener is not None:
            proven = proof.not_asked("check mode") if self._task.check_mode else self._prove(options)
        cri = {"address": found.address, "encrypted": found.encrypted, "clients_proven": found.clients_proven}
        return result | {"cri": cri | proven}

    def _build_resources(self, given: Given) -> Resources:
        """Firewall rule, config.toml, the restart."""
        layout, reading = given.layout, given.reading
        found = node.build_resources(replace(self._wanted, mark=given.mark), reading)
        self._left_over = self._left_over or expiry.finding(layout, reading)
        if (off := node.firewall_off(self._wanted, reading))[0]:
            self._left_over = f"the Windows firewall is off ({off[1]}): allowed_sources has no effect."
        self._text = proof.config_of(found).text
        return found

    def _rehearsal(self) -> First:
        """Let containerd read the new file before anything is stopped; what it made of it decides whether to go on."""

        def judge(_given: Given, batch: Batch, answer: Mapping[str, Any]) -> Mapping[str, Any]:
            self._rehearsed = proof.judge_rehearsal(self._wanted, batch, answer, self._text)
            return {}

        return First(lambda given, resources: proof.rehearsal(self._wanted, resources, given.reading), learned=judge)

    def _tell(self, rehearsed: proof.Rehearsed, layout: Layout) -> None:
        """After closing: what else has changed, and NodeError where another file keeps the port open."""
        if rehearsed.others:
            self.warn_once(f"{self._host}: closed, and besides {proof.others_sentence(rehearsed.others)}")
        if rehearsed.fault:
            raise NodeError(
                proof.still_open(layout, rehearsed.found, rehearsed.fault, self._find_open_elsewhere(layout))
            )

    def _find_open_elsewhere(self, layout: Layout) -> list[str]:
        """The files that config.toml imports and that give the port an address."""
        known = self._node.ask_again(Reading(), proof.import_folders(self._text, layout))
        files = proof.query_imports(self._text, layout, known)
        return proof.find_openers(files, self._node.ask_again(known, files))

    def _ask_port(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Ask CRI for its version: at the node's address, or at a loopback address through Ansible's SSH connection."""
        listener = self._wanted.listener
        if listener is None or options["prove"] == "never":
            return proof.not_asked("prove: never")
        required = options["prove"] == "required"
        files = (self._own or node.client_tls(options["client_tls"])) if self._encrypted else None
        if self._encrypted and listener.tls is None and not options["client_tls"]:
            return self._warn_of(proof.unproven(node.ASKS_STILL, required=required))
        try:
            if not listener.address.is_loopback:
                reached = options["prove_address"] or self._address_of_node(listener.address)
                return self._warn_of(proof.proof(reached, files, required=required))
            with proof.forward_port(self._ssh_command, listener.address.near, listener.address.port) as reached:
                return self._warn_of(proof.proof(reached, files, required=required))
        except proof.UnreachableError as none:
            return self._warn_of(proof.unproven(str(none), required=required))

    def _prove(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """As `_ask_port`, with an error that a task can end with."""
        try:
            return self._ask_port(options)
        except proof.ProofError as error:
            raise NodeError(str(error)) from error

    def _warn_of(self, found: dict[str, Any]) -> dict[str, Any]:
        if sentence := proof.warning(found):
            self.warn_once(sentence)
        return found

    def _address_of_node(self, address: Address) -> str:
        """Of an address that stands for all, the one by which Ansible reaches the node."""
        if not address.is_any:
            return str(address)
        host = f"[{self._address}]" if ":" in self._address else self._address
        return f"{host}:{address.port}"

    def _ssh_command(self, options: Sequence[str]) -> Sequence[str | bytes]:
        """ssh as Ansible's own connection calls it, so that it finds the one that is open."""
        build = getattr(self._connection, "_build_command", None)
        if build is None or self._connection.transport != "ssh":
            raise proof.UnreachableError(f"a connection by {self._connection.transport} forwards no port")
        host = self._connection.get_option("host")
        command: Sequence[str | bytes] = build(self._connection.get_option("ssh_executable"), "ssh", *options, host)
        return command
