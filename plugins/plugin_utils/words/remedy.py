# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What mends a cause: a sentence, and what carries it out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any


class Action(StrEnum):
    """What carries out a remedy."""

    ADVICE = "advice"
    """A person: there is no command for it, or none that was proven to mend it."""
    CONVERGE = "converge"
    """site.yml with the tags of these roles."""
    RESTART = "restart"
    """repair.yml: these services are started, again if they run, those that lean on them too."""
    NETWORK = "network"
    """repair.yml: flanneld is launched until its network and its lease are there."""
    REJOIN = "rejoin"
    """repair.yml: what is left of the node's earlier life goes, and it joins again."""
    CNI_CONF = "cni_conf"
    """repair.yml: the CNI configuration is mended, only the lines that have to change."""
    SWITCH = "switch"
    """repair.yml removes our networks of the other mode, then site.yml makes those of the wanted one."""


HOST = "<host>"
"""A host of the inventory in a command, where it is not known."""
_OPTIONS = {"winkube_repair_policy_lists": "remove_policy_lists"}
"""Options of win_k8s_repair by the variables of repair.yml that remedies name."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What mends a finding. `text` says it in a sentence or two, for people; `action` does it, on the roles or services
    `on`; `options` are extra variables of the playbook, on or off. `cuts_off` says in a sentence what stops working
    meanwhile."""

    text: str
    action: Action = Action.ADVICE
    on: tuple[str, ...] = ()
    options: tuple[tuple[str, bool], ...] = ()
    cuts_off: str = ""

    def command(self, host: str) -> str:
        """The command that carries it out on a host of the inventory; empty for advice."""
        variables = {name: str(value).lower() for name, value in self.options}
        match self.action:
            case Action.ADVICE:
                return ""
            case Action.CONVERGE:
                playbooks = f"winkube.node.site --tags {','.join(self.on)}"
            case Action.SWITCH:
                playbooks = "winkube.node.repair winkube.node.site"
                variables = {"winkube_repair": "network", "winkube_repair_switch_mode": "true"} | variables
            case _:
                playbooks = "winkube.node.repair"
                variables = {"winkube_repair": self.action.value} | variables
        if self.action == Action.RESTART:
            variables["winkube_repair_services"] = ",".join(self.on)
        said = "".join(f" -e {name}={value}" for name, value in variables.items())
        return f"ansible-playbook {playbooks} --limit {host}{said}"

    @property
    def arguments(self) -> dict[str, Any]:
        """What win_k8s_repair is given to carry it out: action and options; empty for what site.yml does."""
        if self.action in {Action.ADVICE, Action.CONVERGE}:
            return {}
        given: dict[str, Any] = {_OPTIONS[name]: value for name, value in self.options}
        if self.action == Action.SWITCH:
            return {"action": "network", "switch_mode": True, **given}
        return {"action": self.action.value, **({"services": list(self.on)} if self.on else {}), **given}

    def as_advice(self) -> Remedy:
        """The same as advice, with the command, if there is one, in its text."""
        if self.action == Action.ADVICE:
            return self
        command = self.command(HOST)
        return replace(
            self,
            text=f"{self.text} No test has run this command on such a node: '{command}'.",
            action=Action.ADVICE,
            on=(),
            options=(),
        )

    def describe(self, host: str) -> str:
        """`text`, its command for a host of the inventory."""
        return self.text.replace(HOST, host or HOST)

    def as_data(self, host: str) -> dict[str, str]:
        """As modules return it."""
        return {
            "text": self.describe(host),
            "action": self.action.value,
            "command": self.command(host),
            "cuts_off": self.cuts_off,
        }
