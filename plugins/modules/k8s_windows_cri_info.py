# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of k8s_windows_cri_info; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: k8s_windows_cri_info
short_description: Asks a node's container runtime over CRI what it runs, and finds out which program reports wrong CPU
  usage
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Asks containerd over TCP which versions of CRI it serves, what it runs and which calls it answers. It makes only
    calls that read.
  - An open port proves nothing, since with C(tcp_address) alone containerd opens it but does not serve CRI there.
    With V(containers) in O(gather) this module fails unless the call C(Version) is answered.
  - With V(stats) in O(gather) it reads the CPU usage of pods and containers several times, from the container runtime
    (CRI), from the kubelet's C(/stats/summary) and from the output of C(crictl stats -o json), and compares them. Per
    container and pod it counts zeros, missing values, values that are a negative difference read as unsigned, and
    readings with equal timestamps, and computes the usage itself from the counter of CPU time.
  - The verdict says for each CRI call whether the kubelet, containerd, both or neither report wrong values, why, and
    what is known about it upstream. A zero is wrong only for something busy. A missing value is not a zero. The
    findings do not fail the task.
extends_documentation_fragment:
  - winkube.node.cluster
options:
  gather:
    description: V(containers) for what the runtime serves and runs, V(stats) for which program reports wrong CPU usage.
    type: list
    elements: str
    choices: [containers, stats]
    default: [containers]
  address:
    description: C(host:port) of the runtime's TCP service, or C(unix:///path) for one on the controller. Empty to ask
      only the summary, with V(stats).
    type: str
    default: ''
  tls:
    description: TLS of the connection. Without it the connection is not encrypted.
    type: dict
    suboptions:
      enabled:
        description: Whether the port speaks TLS.
        type: bool
        default: false
      ca:
        description: File on the controller with the authorities to trust for the node's certificate, PEM. Empty for
          those that come with gRPC.
        type: path
        default: ''
      cert:
        description: File with the client's certificate, PEM. Together with O(tls.key) or not at all.
        type: path
        default: ''
      key:
        description: File with the client's private key, PEM.
        type: path
        default: ''
      server_name:
        description: The name in the node's certificate, if it differs from the one in O(address). Through a forwarded
          port it always does.
        type: str
        default: ''
  timeout:
    description: Seconds for one call.
    type: float
    default: 10
  node_name:
    description: The name of the Node whose C(/stats/summary) is read through the cluster's API server, for V(stats).
      Empty to leave the kubelet out. Needs O(cluster).
    type: str
    default: ''
  stats:
    description: How CPU usage is read and judged.
    type: dict
    suboptions:
      samples:
        description: How many samples to take of each source.
        type: int
        default: 6
      interval:
        description: Seconds from one sample to the next. With less than the 10 seconds at which kubelet and containerd
          collect their own values, you see how they affect each other.
        type: float
        default: 5
      second_caller:
        description: Seconds between the calls of a second client that asks for the containers' usage at the same time,
          to provoke the bug. 0 for none.
        type: float
        default: 0
      names:
        description: Patterns such as V(cpulimit*); only pods and containers with a matching name are checked. Empty for
          all.
        type: list
        elements: str
        default: []
      busy:
        description: Names of pods or containers that use CPU all the time, for which a zero is wrong regardless of
          their counter.
        type: list
        elements: str
        default: []
      busy_millicores:
        description: The usage, computed from its own counter, from which a container counts as busy.
        type: int
        default: 100
      containerd_version:
        description: The node's containerd. Empty to ask containerd, or to read it from the Node.
        type: str
        default: ''
      kubelet_stats:
        description:
          - How the kubelet makes its summary. V(partial) from ListContainerStats, V(strict) from ListPodSandboxStats
            (feature gate PodAndContainerStatsFromCRI, off by default in all releases up to 1.37).
          - V(auto) reads the gate from kubelet's configuration through the API server, V(partial) if that is not
            possible.
        type: str
        choices: [auto, partial, strict]
        default: auto
      live:
        description: Whether to show the values in the terminal while they are read. C(0 !) is a zero, C(-) a missing
          value, C(huge !) a negative difference read as unsigned.
        type: bool
        default: false
      csv:
        description: A file on the controller for every reading, as CSV, written round by round. Empty for none; not
          written in check mode.
        type: str
        default: ''
      plot:
        description: A file on the controller for a plot, a panel for each pod and container, with the reported usage
          and the usage computed from the counter. A name that ends with C(.html) gives a page with the verdicts, any
          other an SVG. Drawn again every few seconds. Empty for none; not written in check mode.
        type: str
        default: ''
      title:
        description: The plot's title. Empty for one with the node's name.
        type: str
        default: ''
      crictl:
        description: Outputs of C(crictl stats -o json), as text or as objects, in chronological order.
        type: list
        elements: raw
        default: []
      summaries:
        description: Outputs of C(/stats/summary) that were read elsewhere, as text or as objects, in chronological
          order.
        type: list
        elements: raw
        default: []
requirements:
  - grpcio and protobuf (4.22 or newer) on the controller
attributes:
  check_mode:
    support: full
    description: It only reads.
  diff_mode:
    support: none
    description: It changes nothing.
  idempotent:
    support: full
    description: It only reads.
  platform:
    support: full
    platforms: posix
    description: It runs on the controller and asks the node's container runtime or the cluster.
notes:
  - Runs on the controller; the only connection to the node is the one to O(address).
  - Anyone who reaches this port can do anything on the node. Open it for the controller
    only, with TLS, and close it afterwards.
seealso:
  - module: winkube.node.containerd_config_tcp
"""

EXAMPLES = r"""
- name: Ask the node's containerd
  winkube.node.k8s_windows_cri_info:
    address: 127.0.0.1:8888
  register: cri

- name: Stop unless it is the wanted release
  ansible.builtin.assert:
    that: cri.version.runtimeVersion is version('1.7.0', '>=')

- name: Who says that the busy pods use no CPU
  winkube.node.k8s_windows_cri_info:
    gather: [stats]
    address: 127.0.0.1:8888
    node_name: win1
    cluster: {kubeconfig: ~/.kube/config}
    stats:
      samples: 12
      names: ['cpulimit*']
  register: cpu

- name: Show it
  ansible.builtin.debug:
    msg: "{{ cpu.findings | map(attribute='text') }}"

- name: Judge outputs that somebody sent
  winkube.node.k8s_windows_cri_info:
    gather: [stats]
    stats:
      containerd_version: 1.7.12
      crictl:
        - "{{ lookup('ansible.builtin.file', 'report/crictl-1.json') }}"
        - "{{ lookup('ansible.builtin.file', 'report/crictl-2.json') }}"
"""

RETURN = r"""
version:
  description: The answer to C(Version), names as in CRI.
  returned: if O(gather) has V(containers)
  type: dict
  sample: {version: 0.1.0, runtimeName: containerd, runtimeVersion: 1.7.12, runtimeApiVersion: v1}
apis:
  description: The versions of CRI that are served.
  returned: if O(gather) has V(containers)
  type: list
  elements: str
  sample: [v1, v1alpha2]
calls:
  description: Each call that was tried, V(ok) or gRPC's status such as V(UNIMPLEMENTED).
  returned: if O(gather) has V(containers)
  type: dict
  sample: {ListContainerStats: ok, ListPodSandboxStats: UNKNOWN}
errors:
  description: The sentences for the calls that were not answered.
  returned: if O(gather) has V(containers)
  type: list
  elements: str
conditions:
  description: The runtime's conditions, such as RuntimeReady and NetworkReady.
  returned: if O(gather) has V(containers)
  type: list
  elements: dict
pods:
  description: The pod sandboxes, with C(id), C(name), C(namespace) and C(state).
  returned: if O(gather) has V(containers)
  type: list
  elements: dict
containers:
  description: The containers, with C(id), C(name), C(pod), C(namespace), C(image) and C(state).
  returned: if O(gather) has V(containers)
  type: list
  elements: dict
images:
  description: The names of the images.
  returned: if O(gather) has V(containers)
  type: list
  elements: str
findings:
  description: The verdicts that blame a program or cannot tell.
  returned: if O(gather) has V(stats)
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
      description: The CRI call that it is about.
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
  returned: if O(gather) has V(stats)
  type: list
  elements: dict
series:
  description: The figures per pod or container and source.
  returned: if O(gather) has V(stats)
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
      description: How often the counter of CPU time had not changed although the timestamp had.
      type: int
    alternating:
      description: Whether zeros and values alternate.
      type: bool
    own_nano_cores:
      description: The usage computed from the counter of CPU time over the whole series; null if it cannot be computed.
      type: int
readings:
  description: Every reading, for tables and plots. Timestamps in nanoseconds since 1970.
  returned: if O(gather) has V(stats)
  type: list
  elements: dict
containerd_version:
  description: The version that the verdicts assume; empty if unknown.
  returned: if O(gather) has V(stats)
  type: str
kubelet_stats:
  description: V(partial) or V(strict), as the verdicts assume.
  returned: if O(gather) has V(stats)
  type: str
second_caller:
  description: The number of calls that the second client made.
  returned: if O(gather) has V(stats)
  type: int
notes:
  description: What could not be asked, such as a call that this containerd does not have.
  returned: if O(gather) has V(stats)
  type: list
  elements: str
"""
