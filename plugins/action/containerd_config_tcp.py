# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens or closes CRI over TCP; documented in modules/containerd_config_tcp.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.options import read
from ..plugin_utils.components.stage import First, Given, Key, Resources, Stage
from ..plugin_utils.cri.client import Tls as ClientTls
from ..plugin_utils.cri_tcp import expiry, node, proof
from ..plugin_utils.cri_tcp.edit import Address, Listener, effective
from ..plugin_utils.cri_tcp.options import CriTcpOptions
from ..plugin_utils.engine.answer import Answer
from ..plugin_utils.engine.batch import Batch
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.task.component_action import ConvergingAction

CONFIG: Key[str] = Key("the text of config.toml as it is wanted")
REHEARSED: Key[proof.Rehearsed] = Key("what containerd made of it")


class ActionModule(ConvergingAction):
    """containerd_config_tcp."""

    module = "containerd_config_tcp"
    topic = node.NAME

    @property
    def _address(self) -> str:
        """Where Ansible reaches the node."""
        return str(self._task_vars.get("ansible_host") or self._host)

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Plan and act; then ask containerd over the port, whether or not anything was changed."""
        check = self._task.check_mode
        how = read(CriTcpOptions, options)
        wanted, own = node.certify(node.find_wanted(how, layout), self._address, not check)

        def build_resources(given: Given[Any]) -> Resources:
            """Firewall rule, config.toml, the restart."""
            found = node.build_resources(replace(wanted, mark=given.mark), given.reading)
            given.learned.note(CONFIG, proof.config_of(found).text)
            return found

        def rehearse(given: Given[Any], resources: Resources) -> Batch | None:
            """Let containerd read the new file before anything is stopped."""
            return proof.rehearsal(wanted, resources, given.reading)

        def judge(given: Given[Any], batch: Batch, answer: Answer) -> Mapping[str, Any]:
            """What it made of the file decides whether to go on."""
            text = given.learned.get(CONFIG) or ""
            given.learned.note(REHEARSED, proof.judge_rehearsal(wanted, batch, answer, text))
            return {}

        stage = Stage("tcp", build_resources, first=(First(rehearse, learned=judge),))
        needed = node.reads(wanted)
        before = self.reading(needed)
        ran, result = self.converge((stage,), options, before, needed=needed)

        text, rehearsed = ran.learned.get(CONFIG) or "", ran.learned.get(REHEARSED)
        found = rehearsed.found if rehearsed else effective(text.removeprefix("\ufeff"))
        if sentence := _find_leftover(wanted, before):
            self.warn_once(f"{self._host}: {sentence}")
        if rehearsed:
            self._tell(rehearsed, text)
        if wanted.expires_s or (wanted.listener is None and check):
            afterwards = rehearsed.afterwards if rehearsed else ""
            if sentence := proof.describe_open_elsewhere(self._find_open_elsewhere(text), afterwards):
                self.warn_once(f"{self._host}: {sentence}")
        if wanted.listener is not None and (sentence := node.warning(found, wanted.networks)):
            self.warn_once(sentence)
        if wanted.listener is None:
            proven = proof.report_not_asked("it is closed")
        elif check:
            proven = proof.report_not_asked("check mode")
        else:
            proven = self._prove(wanted.listener, how, own, encrypted=found.encrypted)
        cri = {"address": found.address, "encrypted": found.encrypted, "clients_proven": found.clients_proven}
        return result | {"cri": cri | proven}

    def _tell(self, rehearsed: proof.Rehearsed, text: str) -> None:
        """After closing: what else has changed, and NodeError where another file keeps the port open."""
        if rehearsed.others:
            self.warn_once(f"{self._host}: closed, and besides {proof.describe_others(rehearsed.others)}")
        if rehearsed.fault:
            openers = self._find_open_elsewhere(text)
            raise NodeError(proof.describe_still_open(self._node.layout, rehearsed.found, rehearsed.fault, openers))

    def _find_open_elsewhere(self, text: str) -> list[str]:
        """The files that the config.toml `text` imports and that give the port an address."""
        layout = self._node.layout
        known = self._node.ask_again(Reading(), proof.import_folders(text, layout))
        files = proof.query_imports(text, layout, known)
        return proof.find_openers(files, self._node.ask_again(known, files))

    def _prove(
        self, listener: Listener, how: CriTcpOptions, own: ClientTls | None, *, encrypted: bool
    ) -> dict[str, Any]:
        """Whether CRI answers; a warning where no one could ask, NodeError where that has to be proven."""
        if how.prove == "never":
            return proof.report_not_asked("prove: never")
        required = how.prove == "required"
        try:
            try:
                found = self._ask_port(listener, how, own, encrypted=encrypted, required=required)
            except proof.UnreachableError as none:
                found = proof.report_unproven(str(none), required=required)
        except proof.ProofError as error:
            raise NodeError(str(error)) from error
        if sentence := proof.warning(found):
            self.warn_once(sentence)
        return found

    def _ask_port(
        self, listener: Listener, how: CriTcpOptions, own: ClientTls | None, *, encrypted: bool, required: bool
    ) -> dict[str, Any]:
        """Ask CRI for its version: at the node's address, or at a loopback address through Ansible's SSH connection."""
        files = (own or how.client_tls) if encrypted else None
        if encrypted and listener.tls is None and how.client_tls == ClientTls():
            return proof.report_unproven(node.ASKS_STILL, required=required)
        if not listener.address.is_loopback:
            reached = how.prove_address or self._address_of_node(listener.address)
            return proof.proof(reached, files, required=required)
        with proof.forward_port(self._ssh_command, listener.address.near, listener.address.port) as reached:
            return proof.proof(reached, files, required=required)

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


def _find_leftover(wanted: node.CriTcp, reading: Reading) -> str:
    """What is left to be done about the port as it was before, or about the firewall; empty if nothing is."""
    off, why = node.firewall_off(wanted, reading)
    if off:
        return f"the Windows firewall is off ({why}): allowed_sources has no effect."
    return expiry.finding(wanted.layout, reading)
