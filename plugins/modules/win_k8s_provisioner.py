# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_provisioner; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_provisioner
short_description: Replaces programs of Kubernetes and containerd on a Windows node with your own builds
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Replaces the program that a service on the node runs, and restarts that service; services that depend on it are
    stopped before and started after. The service must exist already.
  - If the program is already there (by its sha256), nothing is transferred and nothing is stopped.
  - The new program is placed under another name while the services run. It is refused, and nothing is stopped, if it is
    not a program for the node's architecture, if it does not print its version, if that version is not O(version), or
    if it is a kubelet or kube-proxy that would not start with the arguments of its service.
  - The service is down only for the renames. If it does not work with the new program (containerd answers, kubelet and
    kube-proxy are healthy, others stay up), or if the program ends, the node restores everything. It notices this
    within seconds, and the error has the exit code and the last lines of the log.
  - A stopped service, such as one whose last build crashed, is started if Windows would start it at boot and, for a
    kubelet, if the kubeconfig on its command line exists. Otherwise there is a warning.
  - A list is one change. Either all of its programs are replaced, or none.
  - The program that was replaced is kept beside the new one (C(.winkube-previous)); O(state=previous) restores it.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.drain
  - winkube.node.cluster
  - winkube.node.attributes
options:
  provisioners:
    description:
      - The items of C(spec.kubernetes.provisioners) of a Node YAML, unchanged. The inventory plugin emits them as
        C(winkube_provisioners).
      - Instead of a list, the fields of one item can be given at the top level.
    type: list
    elements: dict
    suboptions:
      name:
        description: As O(name).
        type: str
        required: true
      version:
        description: As O(version).
        type: str
      sourceURL:
        description: As O(sourceURL).
        type: str
        aliases: [source_url]
      destination:
        description: As O(destination).
        type: str
      overwrite:
        description: As O(overwrite).
        type: bool
        default: false
      checksum:
        description: As O(checksum).
        type: str
      service_name:
        description: As O(service_name).
        type: str
      verify_version:
        description: As O(verify_version).
        type: str
        choices: ['true', 'false', warn]
        default: 'true'
      wait_for:
        description: As O(wait_for).
        type: str
        choices: [service, node_ready, none]
        default: service
      service_missing:
        description: As O(service_missing).
        type: str
        choices: [fail, copy_only]
        default: fail
      state:
        description: As O(state).
        type: str
        choices: [present, previous]
        default: present
  name:
    description:
      - The name of the program, which is also the name of its service. For containerd, kubelet, kube-proxy, flanneld
        and csi-proxy, O(destination) and O(service_name) can be left out.
    type: str
  version:
    description:
      - The wanted version, such as V(1.29.0). It is compared with the version that the new program prints.
    type: str
  sourceURL:
    description:
      - Where the new program comes from, an address (V(http), V(https)), or a file on the controller (a path or
        V(file:)), or a folder of builds there, in which it is found by its name.
      - The file name may end with C(.exe) or not. A relative path starts in the folder of the Node YAML or the
        inventory, otherwise in that of the playbook.
    type: str
    aliases: [source_url]
  destination:
    description: The path of the program on the node.
    type: str
  overwrite:
    description:
      - Whether to replace an existing program. If not, it is left as it is, with a warning if its version differs.
    type: bool
  checksum:
    description:
      - V(sha256:) and 64 hex digits, or the https address of the publisher's sum file, which the controller reads.
      - Without a checksum, an address is downloaded each time to compare, unless the program on the node came from the
        same address with the same O(version). Plain http without a checksum gives a warning.
    type: str
  service_name:
    description: The service that runs the program; default O(name).
    type: str
  verify_version:
    description:
      - What to do if the program prints another version than O(version). V(true) refuses it, V(warn) warns, V(false)
        does not check. A build between two releases gives a warning, except with V(false).
      - The default is V(true).
    type: str
    choices: ['true', 'false', warn]
  wait_for:
    description:
      - What to wait for before the replacement counts as done. V(service) waits for the health of the service, and
        rolls back if it fails; V(node_ready) also waits until the Node is Ready again, and fails without rolling back;
        V(none) only checks that the service runs.
      - The default is V(service).
    type: str
    choices: [service, node_ready, none]
  service_missing:
    description:
      - What to do if the service does not exist. V(copy_only) installs the program and restarts nothing.
      - The default is V(fail). kube-proxy is always just copied if a DaemonSet of the cluster runs it from that file
        (KUBEPROXY_PATH); restart its pods afterwards.
    type: str
    choices: [fail, copy_only]
  state:
    description:
      - V(previous) restores the program that was replaced last; the current one becomes the previous one. Doing this
        twice returns to the current program, unless O(checksum) says which program is wanted.
      - The default is V(present).
    type: str
    choices: [present, previous]
  fetch_by:
    description: Who downloads from an address, the node, or the controller, which then sends the program to the node.
    type: str
    choices: [node, controller]
    default: node
  transfer:
    description:
      - How a file gets from the controller to the node. V(auto) sends only the differences to a build on the node that
        this controller sent earlier (it keeps them in C(~/.cache/winkube/builds)); otherwise it sends the whole build,
        compressed. V(whole) always sends the whole build.
      - With V(pull) the node downloads what V(auto) would send from a web server that the controller runs during this
        task, over plain http, with a token for this transfer, and checks the sha256 of each part. This is faster than
        WinRM. If the node does not reach the controller, there is a warning and the build is sent as with V(auto).
    type: str
    choices: [auto, whole, pull]
    default: auto
  pull_address:
    description:
      - For O(transfer=pull), the name or address at which the node reaches the controller; empty for the address from
        which the controller reaches the node.
    type: str
    default: ''
  pull_ports:
    description:
      - For O(transfer=pull), the port or ports on which the controller may listen, such as V(8800-8899), one for each
        node at the same time. Empty for any free port.
    type: str
    default: ''
  fetch_timeout:
    description: Seconds to wait for each download to end.
    type: int
    default: 600
  proxy:
    description: A web proxy for the node's downloads.
    type: str
    default: ''
  start_timeout:
    description: Seconds to wait for each service to work with its new program.
    type: int
    default: 120
  stable:
    description:
      - For how many seconds each service is watched once it works. If it or its program ends in that time, the change
        is rolled back, even if Windows or nssm would start it again.
      - By default 3 if the service reports its own health, otherwise 10. Later crashes are not
        noticed.
    type: int
  stop_timeout:
    description: Seconds to wait for each service to stop.
    type: int
    default: 120
  node_name:
    description: The name of the Node for O(wait_for=node_ready); the name in the inventory if it is empty.
    type: str
    default: ''
  node_timeout:
    description: Seconds to wait for the Node to be Ready with O(wait_for=node_ready).
    type: int
    default: 180
seealso:
  - module: winkube.node.win_containerd
  - module: winkube.node.win_kubelet
"""

EXAMPLES = r"""
- name: Replace what the Node YAML names
  winkube.node.win_k8s_provisioner:
    provisioners: "{{ winkube_provisioners }}"
    node: "{{ winkube_node }}"

- name: Try the kubelet that was just built
  winkube.node.win_k8s_provisioner:
    name: kubelet
    sourceURL: ~/kubernetes/_output/local/bin/windows/amd64
    overwrite: true
    node: "{{ winkube_node }}"

- name: Go back to the containerd before
  winkube.node.win_k8s_provisioner:
    name: containerd
    state: previous
    node: "{{ winkube_node }}"
"""

RETURN = r"""
summary:
  description: One line for people.
  returned: always
  type: str
  sample: "win1: kubelet replaced, delta 439 KB in 0.8 s, down 2.4 s, works since 3 s; 9.1 s in all"
provisioners:
  description: The outcome of each item, in the order of the list.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Its name.
      type: str
    result:
      description: V(replaced), V(copied), V(went_back), V(unchanged) or V(skipped); in check mode V(would_replace),
        V(would_copy), V(would_go_back), or V(unknown) if only a download could tell.
      type: str
    destination:
      description: The program's path.
      type: str
    service:
      description: The service that runs it; null if there is none.
      type: str
    sha256:
      description: C(before) and C(after).
      type: dict
    size:
      description: C(before) and C(after), in bytes.
      type: dict
    version:
      description: C(wanted), C(before) and C(after); null if unknown.
      type: dict
    version_mismatch:
      description: Whether the existing program has another version than the wanted one; null if that is unknown.
      type: bool
    downtime_s:
      description: Seconds from stopping the service until it ran again.
      type: float
    watched_s:
      description: For how many seconds the service was watched with its new program; null if it was not started.
      type: float
    transfer:
      description: For a file of the controller, C(how) it was sent (V(delta), V(whole), V(unchanged)), C(why),
        C(bytes_sent) and C(seconds); C(by) is V(batch) for up to 1 MB, V(connection) or
        V(pull).
      type: dict
    previous:
      description: Where the previous program is kept; null if there is none.
      type: str
    left_behind:
      description: Replaced programs that a process still holds open.
      type: list
      elements: str
steps:
  description: What was done, or in check mode would be done, in the order of the plan.
  returned: always
  type: list
  elements: dict
  contains:
    text:
      description: One sentence.
      type: str
    state:
      description: V(done), or V(planned) in check mode.
      type: str
  sample: [{text: restarted kubelet, state: done}]
winkube:
  description: How it was done.
  returned: always
  type: dict
  contains:
    answer:
      description: The node's answer to the batch; null if nothing had to be done.
      type: str
    outcome:
      description: The outcome of the batch.
      type: str
    recovered:
      description: The batch of an earlier run that was finished or rolled back first, and its outcome.
      returned: if there was one
      type: dict
      sample: {id: 5fa17f4f4b3d4c91b7dd4f076635f82c, outcome: undone}
    batch:
      description: The id of the batch; its journal is on the node.
      type: str
    calls:
      description: Remote calls this task made.
      type: int
"""
