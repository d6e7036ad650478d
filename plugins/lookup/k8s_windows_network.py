# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nodes have to know of the cluster's network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible import constants as C  # noqa: N812 - as all of Ansible names it
from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase

from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.cluster.network import SOURCES, open_for_run, resolve
from ..plugin_utils.cluster.reading import read_network

DOCUMENTATION = r"""
name: k8s_windows_network
short_description: What nodes have to know of the cluster's network
version_added: 0.1.0
author: The winkube.node authors
description:
  - The ranges of pods and Services, the address of DNS, the domain and the address of the API. Each as it was set, else
    as the cluster says it, else, without a kubeconfig, kubeadm's default.
  - The variable C(winkube_network) is this lookup with the shared variables.
  - All hosts and tasks of a run share the cluster's answers.
options:
  _terms:
    description:
      - How the cluster is reached, C(winkube_cluster). An empty one is not asked.
    type: list
    elements: dict
    required: true
  given:
    description:
      - The values that were set, by name; one that is empty was not.
    type: dict
    default: {}
  needed:
    description:
      - Whether it is an error if the cluster does not answer. If not, what was not set is empty.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Print the cluster's range of Services
  ansible.builtin.debug:
    msg: "{{ lookup('winkube.node.k8s_windows_network', {'kubeconfig': '/srv/admin.conf'}).service_cidr }}"
"""

RETURN = r"""
_raw:
  description: >-
    C(cluster_cidr), C(service_cidr), C(dns_service_ip), C(cluster_domain) and C(api_server); empty where neither a
    variable nor the cluster says it.
  type: list
  elements: dict
"""


class LookupModule(LookupBase):
    """k8s_windows_network."""

    def run(
        self, terms: Sequence[Any], variables: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> list[dict[str, str]]:
        """One dict. AnsibleError if the cluster does not answer."""
        self.set_options(var_options=variables, direct=kwargs)
        given = {str(name): str(value or "") for name, value in (self.get_option("given") or {}).items()}
        reached = {"kubeconfig": "", "context": ""}
        reached |= {str(name): str(value or "") for term in terms for name, value in (term or {}).items()}
        try:
            cluster = open_for_run(reached, Path(C.DEFAULT_LOCAL_TMP)) if not set(SOURCES) <= _set(given) else None
            return [resolve(given, None if cluster is None else read_network(cluster))]
        except ClusterError as error:
            if self.get_option("needed"):
                raise AnsibleError(f"What the cluster's network is was not found out: {error}") from error
            return [{name: given.get(name, "") for name in SOURCES}]


def _set(given: Mapping[str, str]) -> set[str]:
    return {name for name, value in given.items() if value}
