"""What the lab writes into its directory: keys, known_hosts, ssh_config, lab.json.

client_key, client_key.pub    the key that every node accepts for its user
host_key                      one host key for all nodes
known_hosts                   that key, under the alias winkube-lab
ssh_config                    Host entries with a ProxyCommand, so that the nodes' own addresses reach the lab
winrm.ini                     an inventory of all nodes over WinRM; winrm/ has the certificates
lab.json                      read by `connect` and by the control commands
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh

from tests.lab.server.nodes import WINRM_HTTP, WINRM_HTTPS, NodeSpec

HOST_ALIAS = "winkube-lab"
CONNECT = Path(__file__).with_name("connect.py")


@dataclass(frozen=True)
class Keys:
    """The key pair of the lab's SSH servers and the one of its user."""

    host: asyncssh.SSHKey
    client: asyncssh.SSHKey


def make_keys(directory: Path) -> Keys:
    """Load the directory's keys, or make them; the private ones are readable by their owner alone."""
    keys = {}
    for name in ("host_key", "client_key"):
        path = directory / name
        if not path.exists():
            key = asyncssh.generate_private_key("ssh-ed25519", comment=f"simulated {name} of {HOST_ALIAS}")
            write_private(path, key.export_private_key().decode())
            path.with_name(f"{name}.pub").write_bytes(key.export_public_key())
        keys[name] = asyncssh.read_private_key(path)
    public = keys["host_key"].export_public_key().decode().split()
    (directory / "known_hosts").write_text(f"{HOST_ALIAS} {public[0]} {public[1]}\n", encoding="ascii")
    return Keys(keys["host_key"], keys["client_key"])


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, replacing an old one."""
    new = path.with_name(path.name + ".new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    new.replace(path)


def write_ssh_config(directory: Path, specs: Iterable[NodeSpec]) -> Path:
    """Write ssh_config: one Host entry for all addresses and names that the lab claims, nothing for other hosts."""
    patterns = sorted({pattern for spec in specs for pattern in (spec.address, spec.name)})
    command = [sys.executable, "-S", "-E", str(CONNECT), str(directory / "lab.json")]
    proxy = " ".join(shlex.quote(part).replace("%", "%%") for part in command)
    lines = ["# Written by the lab of simulated Windows nodes (tests/lab). Other hosts are not touched."]
    if patterns:
        lines += [
            f"Host {' '.join(patterns)}",
            f"  ProxyCommand {proxy} %h %p",
            f"  HostKeyAlias {HOST_ALIAS}",
            f"  UserKnownHostsFile {_quoted(directory / 'known_hosts')}",
            "  GlobalKnownHostsFile none",
            "  StrictHostKeyChecking yes",
            f"  IdentityFile {_quoted(directory / 'client_key')}",
            "  IdentityAgent none",
        ]
    path = directory / "ssh_config"
    write_private(path, "\n".join(lines) + "\n")
    return path


def winrm_variables(proxy: str, ca: Path, port: int = WINRM_HTTP, transport: str = "ntlm") -> dict[str, str]:
    """The variables with which Ansible's winrm plugin reaches every node of the lab."""
    return {
        "ansible_connection": "winrm",
        "ansible_port": str(port),
        "ansible_winrm_transport": transport,
        "ansible_winrm_proxy": proxy,
        "ansible_winrm_ca_trust_path": str(ca),
        "ansible_winrm_server_cert_validation": "validate",
    }


def psrp_variables(proxy: str, ca: Path, port: int = WINRM_HTTP, auth: str = "ntlm") -> dict[str, str]:
    """The variables with which Ansible's psrp plugin reaches every node of the lab."""
    return {
        "ansible_connection": "psrp",
        "ansible_port": str(port),
        "ansible_psrp_protocol": "https" if port == WINRM_HTTPS else "http",
        "ansible_psrp_auth": auth,
        "ansible_psrp_proxy": proxy,
        "ansible_psrp_ca_cert": str(ca),
        "ansible_psrp_cert_validation": "validate",
    }


def write_winrm_inventory(path: Path, specs: Iterable[NodeSpec], variables: Mapping[str, str]) -> Path:
    """Write an inventory (INI) of these nodes with their passwords, in the group that the playbooks take by default."""
    lines = ["# Written by the lab of simulated Windows nodes (tests/lab).", "[windows_nodes]"]
    for spec in specs:
        own = {"ansible_host": spec.address, "ansible_user": spec.username, "ansible_password": spec.winrm_password}
        # A JSON string in quotes of the shell: Ansible reads it as a string, whatever it looks like.
        lines.append(" ".join([spec.name, *(f"{key}={shlex.quote(json.dumps(own[key]))}" for key in own)]))
    lines += ["[windows_nodes:vars]", *(f"{key}={value}" for key, value in variables.items())]
    write_private(path, "\n".join(lines) + "\n")
    return path


def write_lab_json(directory: Path, document: Mapping[str, Any]) -> Path:
    """Write lab.json in one step, so that a `connect` at the same moment reads the old or the new one."""
    path = directory / "lab.json"
    write_private(path, json.dumps(document, indent=2) + "\n")
    return path


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("%", "%%") + '"'
