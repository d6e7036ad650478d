# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""LogMonitorConfig.json from a few words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ..plugin_utils.workloads.log_monitor import KINDS, config

DOCUMENTATION = r"""
name: k8s_windows_log_monitor
short_description: LogMonitorConfig.json, so that kubectl logs shows what Windows workloads log
version_added: 0.1.0
author: The winkube.node authors
description:
  - Windows workloads log to event logs, ETW and files, which C(kubectl logs) does not show. LogMonitor writes them to
    standard output. This gives the text of its configuration file, checked.
positional: _input
options:
  _input:
    description:
      - A mapping with any of C(event_logs) (channel to level), C(providers) (list of C(guid), C(name), C(level)) and
        C(files) (list of C(directory), C(filter), C(subdirectories)).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Write LogMonitorConfig.json beside the Dockerfile
  ansible.builtin.copy:
    dest: image/LogMonitorConfig.json
    content: "{{ logged | winkube.node.k8s_windows_log_monitor }}"
    mode: "0644"
  vars:
    logged:
      event_logs: {system: Information, application: Error}
      files: [{directory: 'c:\inetpub\logs'}]
"""

RETURN = r"""
_value:
  description: The text of the file.
  type: str
"""


def k8s_windows_log_monitor(sources: Any) -> str:
    """JSON with a line feed at its end. AnsibleFilterError with all that is wrong."""
    if not isinstance(sources, Mapping) or set(sources) - set(KINDS):
        raise AnsibleFilterError(f"k8s_windows_log_monitor: give a mapping with any of {', '.join(KINDS)}.")
    try:
        made = config(sources.get("event_logs") or {}, sources.get("providers") or (), sources.get("files") or ())
    except ValueError as error:
        raise AnsibleFilterError(f"k8s_windows_log_monitor: {error}.") from error
    return json.dumps(made, indent=2) + "\n"


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"k8s_windows_log_monitor": k8s_windows_log_monitor}
