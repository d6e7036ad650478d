# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is missing before a playbook may take several machines apart."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any

from ..plugin_utils.record.hosts import by_number

DOCUMENTATION = r"""
name: k8s_windows_unconfirmed
short_description: What is missing before a playbook may take several machines apart
version_added: 0.1.0
author: The winkube.node authors
description:
  - A forgotten C(--limit) makes a playbook work on the whole fleet. So an action that takes machines apart asks for the
    names of its hosts, or for their number; for a single host V(true) is enough.
positional: _input, hosts, variable
options:
  _input:
    description: V(true), the names of the hosts (a list, or with commas between them), or their number.
    type: raw
    required: true
  hosts:
    description: All hosts of the play, C(ansible_play_hosts_all).
    type: list
    elements: str
    required: true
  variable:
    description: The variable that holds the answer, for the sentence.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Check that these machines are meant
  ansible.builtin.assert:
    that: winkube_missing | length == 0
    fail_msg: "{{ winkube_missing }}"
  vars:
    winkube_missing: >-
      {{ winkube_reset | winkube.node.k8s_windows_unconfirmed(ansible_play_hosts_all, 'winkube_reset') }}
"""

RETURN = r"""
_value:
  description: The hosts of the play, and what to add to the command line; empty if the answer confirms them.
  type: str
"""


def k8s_windows_unconfirmed(answer: Any, hosts: Sequence[str], variable: str) -> str:
    """The sentence for an answer that does not fit the hosts, else ""."""
    # An answer from the command line is text; a list comes from a file or as JSON.
    parts = answer if isinstance(answer, list) else str(answer).split(",")
    named = [text for part in parts if (text := str(part).strip())]
    confirmed = {name.casefold() for name in named} == {host.casefold() for host in hosts}
    counted = named == [str(len(hosts))]
    alone = len(hosts) == 1 and [text.casefold() for text in named] in (["true"], ["yes"])
    if confirmed or counted or alone:
        return ""
    in_order = sorted(hosts, key=by_number)
    wanted = "true" if len(hosts) == 1 else shlex.quote(",".join(in_order))
    number = "" if len(hosts) == 1 else f" (or their number, {variable}={len(hosts)})"
    return (
        f"This run works on {', '.join(in_order)}, and {variable} "
        f"{'is not set' if not named else f'is {answer!r}'}. If "
        f"{'this host is' if len(hosts) == 1 else f'these {len(hosts)} hosts are'} meant, add -e {variable}={wanted}"
        f"{number}; else choose hosts with --limit. --check --diff shows what would change and asks for nothing."
    )


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"k8s_windows_unconfirmed": k8s_windows_unconfirmed}
