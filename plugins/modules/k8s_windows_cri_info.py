# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of k8s_windows_cri_info; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: k8s_windows_cri_info
short_description: Asks a node's container runtime over CRI what it runs, and says who reports wrong CPU usage
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Asks containerd over TCP which versions of CRI it serves, what it runs and which calls it answers. Only calls that
    read are made.
  - A port that listens proves nothing, since with only C(tcp_address) containerd opens it and serves no CRI there.
    With V(containers) in O(gather) this module fails unless the call C(Version) is answered.
  - With V(stats) in O(gather) it reads the CPU usage of pods and containers several times, from the container runtime
    (CRI), from kubelet's C(/stats/summary) and from what C(crictl stats -o json) printed, and compares. Per container
    and pod it counts zeros, missing values, values that are a negative difference read as unsigned, and readings with
    equal timestamps, and computes the usage itself from the counter of CPU time.
  - The verdict says for each call of CRI whether kubelet, containerd, both or neither report wrong values, why, and
    what is known about it upstream. A zero is a fault only of something busy. A missing value is not a zero. The
    findings do not fail the task.
extends_documentation_fragment:
  - winkube.node.cluster
options:
  gather:
    description: V(containers) for what the runtime serves and runs, V(stats) for who reports wrong CPU usage.
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
    description: TLS of the connection. Left out, the connection is not encrypted.
    type: dict
    suboptions:
      enabled:
        description: Whether the port speaks TLS.
        type: bool
        default: false
      ca:
        description: File on the controller with the authorities that the node's certificate is trusted by, PEM. Empty
          for those that gRPC brings.
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
        description: The name in the node's certificate, if it is not the one in O(address). Through a forwarded port it
          never is.
        type: str
        default: ''
  timeout:
    description: Seconds for one call.
    type: float
    default: 10
  node_name:
    description: The name of the Node whose C(/stats/summary) is read through the cluster's API server, for V(stats).
      Empty if the kubelet is not to be asked. Needs O(cluster).
    type: str
    default: ''
  stats:
    description: How CPU usage is read and judged.
    type: dict
    suboptions:
      samples:
        description: How often each of them is asked.
        type: int
        default: 6
      interval:
        description: Seconds from one sample to the next. Less than the 10 seconds at which kubelet and containerd
          collect themselves shows what they do to each other.
        type: float
        default: 5
      second_caller:
        description: Seconds between the calls of a second caller, which asks for the containers' usage at the same
          time, to provoke the defect. 0 for none.
        type: float
        default: 0
      names:
        description: Patterns such as V(cpulimit*); only pods and containers with a name that fits one are looked at.
          Empty for all.
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
        description: A file on the controller for a plot, a panel for each pod and container, with the usage that was
          reported and the one that the counter proves. One that ends with C(.html) is a page with the verdicts, another
          one SVG alone. Drawn again every few seconds. Empty for none; not written in check mode.
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
  - Runs on the controller; no connection to the node is opened but the one to O(address).
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
  description: The verdicts that blame somebody or leave it open.
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
  returned: if O(gather) has V(stats)
  type: list
  elements: dict
containerd_version:
  description: The version that the verdicts count with; empty if not known.
  returned: if O(gather) has V(stats)
  type: str
kubelet_stats:
  description: V(partial) or V(strict), what the verdicts count with.
  returned: if O(gather) has V(stats)
  type: str
second_caller:
  description: The calls that the second caller made.
  returned: if O(gather) has V(stats)
  type: int
notes:
  description: What could not be asked, such as a call that this containerd does not have.
  returned: if O(gather) has V(stats)
  type: list
  elements: str
"""
