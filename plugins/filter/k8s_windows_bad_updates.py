# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which updates that Windows Update found would break a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ..plugin_utils.facts.calico import hns_mode
from ..plugin_utils.facts.windows_revisions import BadEntryError, find_refused, parse_entries

DOCUMENTATION = r"""
name: k8s_windows_bad_updates
short_description: Which updates would break a node
version_added: 0.1.0
author: The winkube.node authors
description:
  - Of the updates that were found, those that are known to bring the node something bad that it does not have yet, and
    that a later update mends. C(docs/windows-support.md) has the revisions and their sources.
positional: _input, os
options:
  _input:
    description: C(updates) as ansible.windows.win_updates returns them.
    type: dict
    required: true
  os:
    description: The node's Windows, with C(build) and C(revision), as M(winkube.node.win_k8s_node_info) returns it.
    type: dict
    required: true
  revisions:
    description: Bad revisions besides, as C(winkube_windows_revisions) has them.
    type: list
    elements: dict
    default: []
  mode:
    description: The node's network mode.
    type: str
    default: ''
"""

EXAMPLES = r"""
- name: Say what is not installed
  ansible.builtin.debug:
    msg: "{{ found.updates | winkube.node.k8s_windows_bad_updates(info.node.system.os) | map(attribute='why') }}"
"""

RETURN = r"""
_value:
  description: C(kb), the number for a reject list, and C(why), a sentence that names the next good update.
  type: list
  elements: dict
"""


def k8s_windows_bad_updates(
    updates: Mapping[str, Any], os: Mapping[str, Any], revisions: Sequence[Any] = (), mode: str = ""
) -> list[dict[str, str]]:
    """AnsibleFilterError for what is not an update, no Windows or no entry."""
    try:
        found = [(str(each["title"]), [str(kb) for kb in each["kb"]]) for each in updates.values()]
        bad = find_refused(found, int(os["build"]), int(os["revision"]), parse_entries(revisions), hns_mode(mode))
        return [{"kb": each.kb, "why": each.why} for each in bad]
    except BadEntryError as error:
        raise AnsibleFilterError(str(error)) from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise AnsibleFilterError(f"k8s_windows_bad_updates: {type(error).__name__}: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"k8s_windows_bad_updates": k8s_windows_bad_updates}
