# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether Ansible's connection to a host can reach a Windows node at all: judged by what is loaded, before it connects.

Each of these mistakes would else end in a message of a program that does not know of the other: `/bin/sh` that Windows
does not have, an SSH banner that is not HTTP, a controller on which there is no C:.
"""

from __future__ import annotations

from dataclasses import dataclass

WINDOWS_SHELLS = frozenset({"powershell", "cmd"})
"""SHELL_FAMILY of Ansible's shell plugins for Windows. Source: ansible-core 2.21 lib/ansible/plugins/shell."""
WS_MANAGEMENT = frozenset({"winrm", "psrp"})
WS_MANAGEMENT_PORTS = frozenset({5985, 5986})
SSH_PORT = 22
WINDOWS_BECOME = "runas"
"""The one become plugin for Windows. Source: ansible-core 2.21 lib/ansible/plugins/become."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What Ansible has loaded for a host: the short name of the connection plugin, the shell's family, the port (None
    where the plugin has none), whether one of mitogen's strategies is in the process, and the become plugin."""

    connection: str
    shell: str
    port: int | None
    mitogen: bool
    become: str = ""


def find_misfit(loaded: Loaded) -> str:
    """Why this cannot reach a Windows node, and what to set; "" if it can."""
    if loaded.mitogen:
        return (
            "The strategy is one of mitogen's, which needs Python on the host, and Windows nodes have none. Set "
            "'strategy: linear' for this play, or ANSIBLE_STRATEGY=linear."
        )
    if loaded.connection == "local":
        return (
            "ansible_connection is local, so the controller itself would be made a node. Set ansible_connection: "
            "ssh, winrm or psrp, and ansible_host."
        )
    if loaded.connection in WS_MANAGEMENT and loaded.port == SSH_PORT:
        return (
            f"ansible_connection is {loaded.connection}, and port {SSH_PORT} is SSH's. Set ansible_connection: ssh, or "
            "ansible_port: 5986 (a Node YAML: spec.credentials.hostname without ':22')."
        )
    if loaded.connection == "ssh" and loaded.port in WS_MANAGEMENT_PORTS:
        return (
            f"ansible_connection is ssh, and port {loaded.port} is WinRM's. Set ansible_connection: winrm, or "
            f"ansible_port: {SSH_PORT}."
        )
    if loaded.become not in {"", WINDOWS_BECOME}:
        return (
            f"become is on (-b, become: true or ansible_become) with the method {loaded.become}, which Windows does "
            "not have. The collection works as the user who logs in, an administrator: leave become out."
        )
    if loaded.shell not in WINDOWS_SHELLS:
        return (
            f"ansible_shell_type is not set, so Ansible would start /bin/sh on the host ({loaded.connection} takes the "
            "shell 'sh'). Set ansible_shell_type: powershell, or cmd where sshd starts that."
        )
    return ""
