# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What works but should be known: secrets in clear text, missing credentials."""

from __future__ import annotations

from collections.abc import Iterator

from .document import Node
from .problems import Notice
from .schema import has_template
from .tree import Mapping, Scalar, Value
from .variables import is_winrm


def credentials(node: Node, *, agent: bool, encrypted: bool) -> Iterator[Notice]:
    """What to warn about. `agent`: an SSH agent is at hand; `encrypted`: the whole file is vaulted."""
    block = node.get("spec", "credentials")
    if not isinstance(block, Mapping):
        return
    password, key, name = block.get("password"), block.get("privateKey"), node.text("metadata", "name")
    winrm = is_winrm(node)
    if isinstance(password, Scalar) and _given(password) and not encrypted and _is_clear_text(password):
        yield Notice(
            password.at,
            f"the password of {name} stands here in clear text; encrypt it (ansible-vault encrypt_string), take it "
            "from the environment (\"{{ lookup('env', 'NAME') }}\"), or use a private key.",
        )
    if winrm and key is not None and _given(key):
        yield Notice(key.at, f"privateKey of {name} is not used: {name} is reached by winrm, which needs a password.")
    if _given(password) or (not winrm and (_given(key) or agent)):
        return
    if winrm:
        ways = "password in this file, or ansible_password in group_vars or host_vars"
    else:
        ways = (
            "privateKey or password in this file, ansible_ssh_private_key_file or ansible_password in group_vars or "
            "host_vars, or an SSH agent (SSH_AUTH_SOCK)"
        )
    yield Notice(block.at, f"{name} has no credentials here; give {ways}. If variables have them, all is well.")


def _is_clear_text(password: Scalar) -> bool:
    return password.tag != "vault" and (password.tag == "unsafe" or not has_template(password.value))


def _given(value: Value | None) -> bool:
    return isinstance(value, Scalar) and isinstance(value.value, str) and value.value != ""
