# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many nodes a playbook works on at a time."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

DOCUMENTATION = r"""
name: k8s_windows_batches
short_description: How many nodes a playbook works on at a time
version_added: 0.1.0
author: The winkube.node authors
description:
  - Makes the C(serial) of a play of C(winkube_serial), which may come from the command line as text.
  - Refuses what is neither a number of nodes nor a percentage.
options:
  _input:
    description: A number, a percentage, or several of them, as a list or with commas between them.
    type: raw
    required: true
"""

EXAMPLES = r"""
- name: Work on one node, then on a quarter of them at a time
  hosts: windows_nodes
  serial: "{{ '1,25%' | winkube.node.k8s_windows_batches }}"
"""

RETURN = r"""
_value:
  description: The batches, as C(serial) takes them.
  type: list
  elements: str
"""

_BATCH = re.compile(r"[1-9][0-9]*%?")


def k8s_windows_batches(given: Any) -> list[str]:
    """AnsibleFilterError for what is not a batch."""
    parts = given if isinstance(given, list) else str(given).split(",")
    batches = [str(part).strip() for part in parts]
    for batch in batches:
        if not _BATCH.fullmatch(batch):
            raise AnsibleFilterError(
                f"winkube_serial: '{batch}' is neither a number of nodes nor a percentage. Write 1, 25%, or several of "
                "them: 1,25%."
            )
    return batches


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"k8s_windows_batches": k8s_windows_batches}
