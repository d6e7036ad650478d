# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What mends a cause: in words for any cluster, and what of this collection carries it out."""

from __future__ import annotations

from collections.abc import Iterable
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
    PLAYBOOK = "playbook"
    """Another playbook of the collection, which no repair runs by itself."""
    ACKNOWLEDGE = "acknowledge"
    """repair.yml acknowledges a batch that could not be rolled back, by the id that the finding names."""


class Ends(StrEnum):
    """What a remedy ends that works while it is carried out. Such a remedy is drastic."""

    CONNECTIONS = "connections"
    """Of pods or of Services: networks, endpoints and load balancers are deleted or made again."""
    PODS = "pods"
    """That run on the node."""
    MEMBERSHIP = "the node's membership"
    """It leaves the cluster and joins again."""
    MACHINE = "the machine"
    """It is restarted."""


_OPTIONS = {"winkube_repair_policy_lists": "remove_policy_lists"}
"""Options of win_k8s_repair by the variables of repair.yml that remedies name."""
_BY_HAND = frozenset({Action.ADVICE, Action.PLAYBOOK, Action.ACKNOWLEDGE})
"""What win_k8s_repair does not carry out."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What mends a finding.

    `plain` says it for any cluster: the file, the command or the setting. `action` does it with this collection, on the
    roles, services, playbooks or batch `on`; `options` are extra variables of the playbook, on or off; `variables` are
    those of the inventory that are set before it. `cuts_off` says in a sentence what stops working meanwhile; `ends` is
    what does not outlive it. `tried`: a test runs the command on a node that was broken so.
    """

    plain: str
    action: Action = Action.ADVICE
    on: tuple[str, ...] = ()
    options: tuple[tuple[str, bool], ...] = ()
    cuts_off: str = ""
    ends: frozenset[Ends] = frozenset()
    variables: tuple[str, ...] = ()
    tried: bool = True

    @property
    def drastic(self) -> bool:
        """Whether it ends what works."""
        return bool(self.ends)

    @property
    def automatic(self) -> bool:
        """Whether win_k8s_repair, or site.yml in its place, may carry it out when it is asked for the finding."""
        return self.tried and self.action not in _BY_HAND

    def ours(self, host: str) -> str:
        """With this collection, on a host of the inventory: what is set, and the command; empty without either."""
        command = self._command(host)
        said = []
        if self.variables:
            said.append(f"Set {join_and(self.variables)}{', then' if command else '.'}")
        if command:
            said.append(command if self.tried else f"{command} (no test has run this on such a node)")
        return " ".join(said)

    def command(self, host: str) -> str:
        """The command that carries it out on a host of the inventory; empty where none is proven to."""
        return self._command(host) if self.automatic else ""

    def _command(self, host: str) -> str:
        variables = {name: str(value).lower() for name, value in self.options}
        match self.action:
            case Action.ADVICE:
                return ""
            case Action.CONVERGE:
                playbooks = " ".join(("winkube.node.site", *((f"--tags {','.join(self.on)}",) if self.on else ())))
            case Action.PLAYBOOK:
                playbooks = " ".join(f"winkube.node.{name}" for name in self.on)
            case Action.SWITCH:
                playbooks = "winkube.node.repair winkube.node.site"
                variables = {"winkube_repair": "network", "winkube_repair_switch_mode": "true"} | variables
            case _:
                playbooks = "winkube.node.repair"
                variables = {"winkube_repair": self.action.value} | variables
        if self.action == Action.RESTART:
            variables["winkube_repair_services"] = ",".join(self.on)
        if self.action == Action.ACKNOWLEDGE:
            variables["winkube_batch"] = next(iter(self.on), "ID")
        said = "".join(f" -e {name}={value}" for name, value in variables.items())
        return f"ansible-playbook {playbooks} --limit {host}{said}"

    @property
    def arguments(self) -> dict[str, Any]:
        """What win_k8s_repair is given to carry it out: action and options; empty for what it does not carry out."""
        if self.action in _BY_HAND or self.action == Action.CONVERGE:
            return {}
        given: dict[str, Any] = {_OPTIONS[name]: value for name, value in self.options}
        if self.action == Action.SWITCH:
            return {"action": "network", "switch_mode": True, **given}
        return {"action": self.action.value, **({"services": list(self.on)} if self.on else {}), **given}

    def said(self, plain: str, *ends: Ends) -> Remedy:
        """The same in the words of one cause, with what else it ends there."""
        return replace(self, plain=plain, ends=self.ends | frozenset(ends))

    def untried(self) -> Remedy:
        """The same, of which no test has run the command."""
        return replace(self, tried=False)

    def as_data(self, host: str) -> dict[str, str]:
        """As modules return it."""
        return {
            "text": self.plain,
            "ours": self.ours(host) if host else "",
            "action": (self.action if self.automatic else Action.ADVICE).value,
            "command": self.command(host),
            "cuts_off": self.cuts_off,
        }


def join_and(words: Iterable[str]) -> str:
    """Words for a sentence, one at least."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
