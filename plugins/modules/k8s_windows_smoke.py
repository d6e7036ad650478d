# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of k8s_windows_smoke; the work is done by the action plugin of the same name, on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: k8s_windows_smoke
short_description: Runs the documents' web server on the Windows nodes and checks what it reaches
version_added: 0.3.0
author: The winkube.node authors (@winkube)
description:
  - The three parts of C(playbooks/smoke.yml), which is how it is meant to be run. C(docs/smoke.md) tells about the
    checks.
  - V(started) makes a namespace of its own with C(win-webserver) of the Kubernetes documents, an image for each build
    of Windows in the cluster and at least one pod for each Windows node, waits for the pods, and runs the checks that
    run in pods. It deletes what earlier runs left.
  - V(judged) adds what Linux nodes and hosts outside answered to RV(commands), and reports.
  - V(absent) deletes the namespace. Ansible does the same when it is interrupted in between.
  - The user of the kubeconfig needs to make namespaces, deployments and services, to get and create C(pods/exec), and
    to get C(nodes/proxy) for one of the checks.
extends_documentation_fragment:
  - winkube.node.cluster
attributes:
  check_mode:
    support: partial
    description: Says what it would make; runs no check.
  diff_mode:
    support: none
    description: Nothing that stays is changed.
  idempotent:
    support: none
    description: Each run makes its own namespace.
  async:
    support: none
    description: It runs on the controller.
  platform:
    support: full
    platforms: all
    description: It runs on the controller, whatever the host of the task is.
options:
  state:
    description: Which part.
    type: str
    choices: [started, judged, absent]
    required: true
  namespace:
    description: The namespace that is made; it must not be there. Empty for C(winkube-smoke-) and six random digits.
    type: str
    default: ''
  taints:
    description: Taints of the Windows nodes, as C(key=value:effect), that the pods tolerate.
    type: list
    elements: str
    default: ['os=windows:NoSchedule']
  image_repo:
    description: Repository of the images, for example a copy in a private registry.
    type: str
    default: mcr.microsoft.com/windows/servercore
  image_tags:
    description: Tags by build of Windows, such as C({"20348":"ltsc2022-amd64"}). They stand before the built-in ones.
    type: dict
    default: {}
  pull_secret:
    description: A Secret with the registry's credentials, as C(namespace/name). It is copied into the namespace.
    type: str
    default: ''
  timeout:
    description: Seconds in which the pods have to be Ready. What is not Ready then is a finding.
    type: int
    default: 900
  network_mode:
    description: Network mode of the Windows nodes. Empty for what flannel's annotations on them say.
    type: str
    choices: ['', l2bridge, overlay]
    default: ''
  dns_domain:
    description: The domain of the cluster's DNS.
    type: str
    default: cluster.local
  linux_host:
    description: The inventory's name of a Linux node of the cluster. Empty if there is none; what is to be tried from
      there is reported as not run.
    type: str
    default: ''
  outside_host:
    description: The inventory's name of a host outside of the cluster. Empty to try nothing from outside.
    type: str
    default: ''
  external_address:
    description: An address outside that answers HTTP. Empty without a way out; the check is reported as not run.
    type: str
    default: 1.1.1.1
  external_name:
    description: A name outside that answers HTTP. Empty without a way out.
    type: str
    default: www.msftconnecttest.com
  external_dns:
    description: The address of a DNS server outside, for UDP. Empty to leave that out.
    type: str
    default: ''
  session:
    description: RV(session) of the task with O(state=started).
    type: dict
    default: {}
  answers:
    description: C(results) of the task with C(ansible.builtin.raw) that ran RV(commands).
    type: list
    elements: dict
    default: []
  report:
    description: A folder on the controller for C(smoke.txt), C(smoke.json) and C(smoke.xml) (JUnit).
    type: path
    default: ''
  fail:
    description: Whether V(judged) fails if something is broken.
    type: bool
    default: true
  keep:
    description: The namespace is to stay after the run, so an interrupted Ansible does not delete it. A later run
      deletes it when its time is up, an hour after O(timeout).
    type: bool
    default: false
  gone_timeout:
    description: Seconds in which the namespace has to be gone.
    type: int
    default: 300
seealso:
  - module: winkube.node.win_k8s_node_check
"""

EXAMPLES = r"""
- name: Deploy and check
  winkube.node.k8s_windows_smoke:
    state: started
    cluster: {kubeconfig: ~/.kube/config}
    linux_host: control-plane
  register: smoke

- name: Ask from the Linux node
  ansible.builtin.raw: "{{ item.line }}"
  delegate_to: "{{ item.host }}"
  loop: "{{ smoke.commands }}"
  register: asked
  changed_when: false
  failed_when: false

- name: Report
  winkube.node.k8s_windows_smoke:
    state: judged
    session: "{{ smoke.session }}"
    answers: "{{ asked.results }}"
    report: reports/smoke

- name: Clean up
  winkube.node.k8s_windows_smoke:
    state: absent
    cluster: {kubeconfig: ~/.kube/config}
    session: "{{ smoke.session }}"
"""

RETURN = r"""
steps:
  description: What was done, or in check mode would be done.
  returned: with O(state=started) and O(state=absent)
  type: list
  elements: dict
  contains:
    text:
      description: One sentence.
      type: str
    state:
      description: V(done), or V(planned) in check mode.
      type: str
  sample: [{text: delete the namespace winkube-smoke-1a2b3c with all in it, state: done}]
session:
  description: What the other two parts need; facts and answers so far, with the name of the namespace.
  returned: with O(state=started), not in check mode
  type: dict
commands:
  description: What is to be run on which host of the inventory.
  returned: with O(state=started)
  type: list
  elements: dict
  contains:
    id:
      description: The check.
      type: str
    host:
      description: O(linux_host) or O(outside_host).
      type: str
    line:
      description: A command line for a shell.
      type: str
  sample: [{id: service/linux, host: control-plane, line: "curl -sS --noproxy '*' --max-time 10 http://10.96.0.20/"}]
table:
  description: The report for a person.
  returned: with O(state=judged)
  type: str
report:
  description: The report for a machine; the verdicts are V(ok), V(broken), V(follows) (because something else is
    broken), V(limitation) (of Windows, known) and V(skipped) (not run, with the reason).
  returned: with O(state=judged)
  type: dict
  contains:
    summary:
      description: One sentence.
      type: str
    checks:
      description: The documents' seven checks with their verdicts.
      type: dict
    flows:
      description: The supported flows, each with its verdict for TCP and UDP.
      type: dict
    findings:
      description: Every check with its command, verdict, what was seen, and remedy.
      type: list
      elements: dict
"""
