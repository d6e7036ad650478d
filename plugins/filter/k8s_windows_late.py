# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether it is too late to begin with further nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from ansible.errors import AnsibleFilterError

from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.engine.until import find_end
from ..plugin_utils.node.run_id import BEGAN
from ..plugin_utils.record.hosts import by_number

DOCUMENTATION = r"""
name: k8s_windows_late
short_description: Says whether it is too late to begin with further nodes
version_added: 0.1.0
author: The winkube.node authors
description:
  - Compares the controller's clock with C(winkube_until), which is a time of day, or a duration from the start of the
    run.
positional: hosts
options:
  _input:
    description: A time of day in the controller's time zone, such as V(05:00), or a duration, such as V(4h) or V(90m).
    type: str
    required: true
  hosts:
    description: The hosts that would be begun with now or later, for the sentence.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Say what is not begun
  ansible.builtin.debug:
    msg: "{{ winkube_until | winkube.node.k8s_windows_late(ansible_play_hosts_all) }}"
"""

RETURN = r"""
_value:
  description: A sentence; empty while there is time.
  type: str
"""


def k8s_windows_late(until: Any, hosts: Sequence[str]) -> str:
    """AnsibleFilterError for what is neither a time nor a duration."""
    try:
        end = find_end(str(until), BEGAN)
    except Refused as refused:
        raise AnsibleFilterError(" ".join(refused.sentences)) from None
    if datetime.now(BEGAN.tzinfo) < end:
        return ""
    names = ", ".join(sorted(hosts, key=by_number))
    return f"It is past {end:%H:%M %Z} (winkube_until), so no further node is begun. Not begun: {names}."


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"k8s_windows_late": k8s_windows_late}
