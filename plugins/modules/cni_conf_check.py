# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of cni_conf_check; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cni_conf_check
short_description: Checks a CNI configuration for Windows nodes
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Says what the CNI plugins on Windows would refuse in a C(cni.conf), and what they would pass over in silence, such
    as policies in the form of dockershim under C(apiVersion) 2, keys in another case, policies under a key that is not
    read.
  - Looks at a file of the controller (O(path)), a text (O(content)), or, without both, the node's own
    C(cni.conf), which takes one remote call. Nothing on a node is changed.
  - C(--diff) shows what can be mended and how. With O(fix) a file of the controller is mended.
  - The page C(docs/cni-conf-check.md) lists the findings.
extends_documentation_fragment:
  - winkube.node.node
attributes:
  check_mode:
    support: full
    description: Says what O(fix) would change.
  diff_mode:
    support: full
    description: Shows what can be mended, with O(fix) or without.
  idempotent:
    support: full
    description: A file that was mended is not changed again.
  platform:
    support: full
    platforms: windows
    description: The nodes are Windows.
options:
  path:
    description: A file of the controller; relative to the playbook's folder.
    type: str
    default: ''
  content:
    description: The text of a configuration.
    type: str
  name:
    description: The name of the file, where it is not that of O(path) or C(cni.conf). Its ending tells whether it holds
      one plugin or a list of them.
    type: str
    default: ''
  fix:
    description: Write what can be mended into O(path).
    type: bool
    default: false
  network_name:
    description: The HNS network's name, which the configuration has to have. Empty if any will do.
    type: str
    default: ''
  container_runtime:
    description: What runs the pods. V(dockershim) wants policies in another form.
    type: str
    choices: [containerd, dockershim]
    default: containerd
  plugins_version:
    description: The release of the CNI plugins, which tells the values of C(cniVersion). Empty if not known.
    type: str
    default: ''
  cluster_cidr:
    description: The pods' network. With it, O(service_cidr) and O(subnet) the exceptions are checked.
    type: str
    default: ''
  service_cidr:
    description: The services' network.
    type: str
    default: ''
  subnet:
    description: The host's own network, such as V(10.127.130.0/24).
    type: str
    default: ''
  management_ip:
    description: The host's address, for what O(fix) writes.
    type: str
    default: ''
  fail_on:
    description: The severity of findings from which on the task fails.
    type: str
    choices: [error, warning, never]
    default: error
seealso:
  - module: winkube.node.hns_check
"""

EXAMPLES = r"""
- name: Look at the node's cni.conf
  winkube.node.cni_conf_check:
    network_name: cbr0
    cluster_cidr: 10.244.0.0/16
    service_cidr: 10.96.0.0/12
    subnet: 10.127.130.0/24

- name: Mend a file in the repository
  winkube.node.cni_conf_check:
    path: files/cni.conf
    cluster_cidr: 10.244.0.0/16
    service_cidr: 10.96.0.0/12
    fix: true
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
file:
  description: What was looked at.
  returned: always
  type: str
findings:
  description: What is wrong, errors first; after O(fix) what is left.
  returned: always
  type: list
  elements: dict
  contains:
    id:
      description: The finding's name.
      type: str
    severity:
      description: V(error) or V(warning).
      type: str
    subject:
      description: The file and the place in it.
      type: str
    seen:
      description: What stands there.
      type: str
    wanted:
      description: What should.
      type: str
    cause:
      description: What comes of it.
      type: str
    remedy:
      description: What to do about it, as M(winkube.node.hns_check) returns it.
      type: dict
    source:
      description: A public thread that shows the fault; may be empty.
      type: str
  sample:
    - id: cni.old-form
      severity: error
      subject: cni.conf, delegate.policies[0]
      seen: "'ExceptionList' is the form without apiVersion"
      wanted: "'Settings': {'Exceptions': [..]}"
      cause: "Under apiVersion 2 the policy is read without these keys: all of the pods' traffic is translated, and
        nobody says so."
      remedy: {text: "Write the settings below 'Settings'.", action: advice, command: '', cuts_off: ''}
      source: https://github.com/projectcalico/node/issues/954
fixed:
  description: The text with what can be mended, the same text if that is nothing.
  returned: always
  type: str
patch:
  description: What can be mended, as a unified diff; empty if nothing can.
  returned: always
  type: str
winkube:
  description: How it was read.
  returned: always
  type: dict
  contains:
    calls:
      description: Remote calls this task made.
      type: int
"""
