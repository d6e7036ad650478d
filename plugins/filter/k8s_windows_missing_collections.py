# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which collections are not installed on the controller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec

DOCUMENTATION = r"""
name: k8s_windows_missing_collections
short_description: Which collections are not installed on the controller
version_added: 0.1.0
author: The winkube.node authors
description:
  - A collection that was installed with C(--no-deps), or from an archive without a network, may lack those that it
    depends on. Ansible then ends with "couldn't resolve module", which does not say what to install.
options:
  _input:
    description: Names of collections, such as V(ansible.windows).
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Check that the collection is installed
  ansible.builtin.assert:
    that: "['ansible.windows'] | winkube.node.k8s_windows_missing_collections | length == 0"
"""

RETURN = r"""
_value:
  description: Those that are not installed, in the given order.
  type: list
  elements: str
"""


def k8s_windows_missing_collections(names: Sequence[str]) -> list[str]:
    """Ansible's import hook finds a collection as a package below `ansible_collections`."""
    return [name for name in names if not _is_installed(name)]


def _is_installed(name: str) -> bool:
    try:
        return find_spec(f"ansible_collections.{name}") is not None
    except ModuleNotFoundError:  # not even its namespace
        return False


class FilterModule:
    def filters(self) -> dict[str, Callable[..., list[str]]]:
        return {"k8s_windows_missing_collections": k8s_windows_missing_collections}
