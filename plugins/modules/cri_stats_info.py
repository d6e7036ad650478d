# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of cri_stats_info; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cri_stats_info
short_description: Says who reports wrong CPU usage, kubelet or containerd
version_added: 0.3.0
author: The winkube.node authors (@winkube)
description:
  - Reads the CPU usage of pods and containers several times, from the container runtime (CRI), from kubelet's
    C(/stats/summary) and from what C(crictl stats -o json) printed, and compares.
  - Per container and pod it counts zeros, missing values, values that are a negative difference read as unsigned, and
    readings with equal timestamps, and computes the usage itself from the counter of CPU time.
  - The verdict says for each call of CRI whether kubelet, containerd, both or neither report wrong values, why, and
    what is known about it upstream.
  - A zero is a fault only of something busy. A missing value is not a zero.
  - The findings do not fail the task.
extends_documentation_fragment:
  - winkube.node.cri
  - winkube.node.cluster
options:
  address:
    description: C(host:port) of the runtime's TCP service. Empty if the runtime is not to be asked.
    type: str
    default: ''
  node_name:
    description: The name of the Node whose C(/stats/summary) is read through the cluster's API server. Empty if the
      kubelet is not to be asked. Needs O(cluster).
    type: str
    default: ''
  samples:
    description: How often each of them is asked.
    type: int
    default: 6
  interval:
    description: Seconds from one sample to the next. Less than the 10 seconds at which kubelet and containerd collect
      themselves shows what they do to each other.
    type: float
    default: 5
  second_caller:
    description: Seconds between the calls of a second caller, which asks for the containers' usage at the same time, to
      provoke the defect. 0 for none.
    type: float
    default: 0
  names:
    description: Patterns such as V(cpulimit*); only pods and containers with a name that fits one are looked at. Empty
      for all.
    type: list
    elements: str
    default: []
  busy:
    description: Names of pods or containers that burn CPU all the time, for which a zero is wrong whatever their
      counter says.
    type: list
    elements: str
    default: []
  busy_millicores:
    description: From this usage on, by its own counter, something is busy.
    type: int
    default: 100
  containerd_version:
    description: The node's containerd. Empty to ask it, or to take what the Node says.
    type: str
    default: ''
  kubelet_stats:
    description:
      - How the kubelet makes its summary. V(partial) from ListContainerStats, V(strict) from ListPodSandboxStats
        (feature gate PodAndContainerStatsFromCRI, off by default in all releases up to 1.37).
      - V(auto) reads the gate from kubelet's configuration through the API server, V(partial) if that is not possible.
    type: str
    choices: [auto, partial, strict]
    default: auto
  live:
    description: Whether to show the values in the terminal while they are read. C(0 !) is a zero, C(-) a missing value,
      C(huge !) a negative difference read as unsigned.
    type: bool
    default: false
  csv:
    description: A file on the controller for every reading, as CSV. Empty for none; not written in check mode.
    type: str
    default: ''
  plot:
    description: A file on the controller for a plot, as SVG, a panel for each pod and container. Empty for none; not
      written in check mode.
    type: str
    default: ''
  title:
    description: The plot's title. Empty for one with the node's name.
    type: str
    default: ''
  crictl:
    description: Outputs of C(crictl stats -o json), as text or as objects, in the order in which they were made.
    type: list
    elements: raw
    default: []
  summaries:
    description: Outputs of C(/stats/summary) that were read elsewhere, as text or as objects, in their order.
    type: list
    elements: raw
    default: []
seealso:
  - module: winkube.node.cri_info
"""

EXAMPLES = r"""
- name: Who says that the busy pods use no CPU
  winkube.node.cri_stats_info:
    address: 127.0.0.1:8888
    node_name: win1
    cluster: {kubeconfig: ~/.kube/config}
    samples: 12
    names: ['cpulimit*']
  register: stats

- name: Show it
  ansible.builtin.debug:
    msg: "{{ stats.findings | map(attribute='text') }}"

- name: Judge outputs that somebody sent
  winkube.node.cri_stats_info:
    containerd_version: 1.7.12
    crictl:
      - "{{ lookup('ansible.builtin.file', 'report/crictl-1.json') }}"
      - "{{ lookup('ansible.builtin.file', 'report/crictl-2.json') }}"
"""

RETURN = r"""
findings:
  description: The verdicts that blame somebody or leave it open.
  returned: success
  type: list
  elements: dict
  contains:
    namespace: &namespace
      description: The pod's namespace.
      type: str
    pod: &pod
      description: The pod.
      type: str
    container: &container
      description: The container; empty for the pod itself.
      type: str
    call:
      description: The call of CRI that it is about.
      type: str
    blame:
      description: V(kubelet), V(containerd), V(both), V(neither) or V(cannot_tell).
      type: str
    text:
      description: What was seen and why that is the verdict.
      type: str
    defect:
      description: What is known about it; empty if nothing is.
      type: dict
      contains:
        name:
          description: A short name.
          type: str
        text:
          description: What goes wrong.
          type: str
        issue:
          description: Upstream's issue or pull request; empty if there is none.
          type: str
verdicts:
  description: All verdicts, as in RV(findings).
  returned: success
  type: list
  elements: dict
series:
  description: The figures per pod or container and source.
  returned: success
  type: list
  elements: dict
  contains:
    namespace: *namespace
    pod: *pod
    container: *container
    source:
      description: V(/stats/summary), V(ListContainerStats), V(ListPodSandboxStats) or V(crictl stats).
      type: str
    samples:
      description: How many readings.
      type: int
    minimum:
      description: The smallest value in nanocores, null without any.
      type: int
    maximum:
      description: The largest value in nanocores, null without any.
      type: int
    zeros:
      description: How many are 0.
      type: int
    nulls:
      description: How many are missing.
      type: int
    underflows:
      description: How many are a negative difference read as unsigned.
      type: int
    equal_timestamps:
      description: How many have the timestamp of the reading before.
      type: int
    older_timestamps:
      description: How many have an older one.
      type: int
    still:
      description: How often the counter of CPU time had not moved although the timestamp had.
      type: int
    alternating:
      description: Whether zeros and values alternate.
      type: bool
    own_nano_cores:
      description: The usage that the counter of CPU time gives over the whole series, null if it cannot be computed.
      type: int
readings:
  description: Every reading, for tables and plots. Timestamps in nanoseconds since 1970.
  returned: success
  type: list
  elements: dict
containerd_version:
  description: The version that the verdicts count with; empty if not known.
  returned: success
  type: str
kubelet_stats:
  description: V(partial) or V(strict), what the verdicts count with.
  returned: success
  type: str
second_caller:
  description: The calls that the second caller made.
  returned: success
  type: int
notes:
  description: What could not be asked, such as a call that this containerd does not have.
  returned: success
  type: list
  elements: str
"""
