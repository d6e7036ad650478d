# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_provisioner; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_provisioner
short_description: Replaces programs of Kubernetes and containerd on a Windows node by freshly built ones
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Puts a program in the place of the one that a service on the node runs, and restarts that service; services that
    depend on it stop before and start after. The service must exist already.
  - A program that is there already (by its sha256) is neither transferred nor is anything stopped.
  - The new program is brought in under another name while the services run. It is refused, and nothing is stopped, if
    it is not a program for the node's architecture, if it does not say its version, if that is another one than
    O(version), or if it is a kubelet or kube-proxy that would not start with the arguments its service has.
  - The service is down only for the renames. If it does not work with the new program (containerd answers, kubelet and
    kube-proxy are healthy, others stay up), or ends, the node puts everything back as it was. That is noticed within
    seconds, and the error has the exit code and the last lines of the log.
  - A service that was stopped, such as one whose last build has crashed, is started if Windows would start it at boot
    and, for a kubelet, the kubeconfig is there that its own command line names. Otherwise there is a warning.
  - A list is one plan. Either all its programs are replaced, or none.
  - The program that was replaced is kept beside the new one (C(.winkube-previous)); O(state=previous) goes back to it.
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
      - The name of the program, which is that of its service. Known are containerd, kubelet, kube-proxy, flanneld and
        csi-proxy; for those O(destination) and O(service_name) can be left out.
    type: str
  version:
    description:
      - The version that is wanted, such as V(1.29.0). Compared with what the new program says of itself.
    type: str
  sourceURL:
    description:
      - Where the new program comes from, an address (V(http), V(https)), or a file on the controller (a path or
        V(file:)), or a folder of builds there, in which it is found by its name.
      - The file may have C(.exe) at its end or not. A relative path begins beside the Node YAML or the inventory, else
        beside the playbook.
    type: str
    aliases: [source_url]
  destination:
    description: The path of the program on the node.
    type: str
  overwrite:
    description:
      - Whether a program that is there is replaced. If not, it is left as it is, with a warning where it is of another
        version.
    type: bool
  checksum:
    description:
      - V(sha256:) and 64 hex digits, or the https address of the publisher's sum file, which the controller reads.
      - Without one, an address is fetched each time to see whether its program differs, unless O(version) and the
        address are those that the program on the node came from. Plain http without one is warned of.
    type: str
  service_name:
    description: The service that runs the program; O(name) if it is not given.
    type: str
  verify_version:
    description:
      - What to do about a program that says it is of another version than O(version). V(true) refuses it, V(warn)
        warns, V(false) does not look. A build between two releases is warned of in any case but V(false).
      - V(true) if it is not given.
    type: str
    choices: ['true', 'false', warn]
  wait_for:
    description:
      - What has to be seen before the swap counts as done. V(service) is the service with its own health, rolled back
        if it fails; V(node_ready) besides waits until the Node is Ready again, and fails without rolling back;
        V(none) is content when the service runs.
      - V(service) if it is not given.
    type: str
    choices: [service, node_ready, none]
  service_missing:
    description:
      - What to do where the service is not there. V(copy_only) puts the program there and restarts nothing.
      - V(fail) if it is not given. kube-proxy is copied in any case where a DaemonSet of the cluster runs it from that
        file (KUBEPROXY_PATH); its pods have to be restarted then.
    type: str
    choices: [fail, copy_only]
  state:
    description:
      - V(previous) goes back to the program that was replaced last; the present one becomes the previous one. Doing so
        twice ends where it began, unless O(checksum) says which program is wanted.
      - V(present) if it is not given.
    type: str
    choices: [present, previous]
  fetch_by:
    description: Who fetches an address, the node, or the controller, which then sends the program to the node.
    type: str
    choices: [node, controller]
    default: node
  transfer:
    description:
      - How a file of the controller gets to the node. With V(auto) only what differs from a build that is on the node
        is sent, where that one was sent from this controller before (they are kept in C(~/.cache/winkube/builds)); else
        the whole build, compressed. V(whole) sends the whole in any case.
      - With V(pull) the node fetches what V(auto) would send from a web server that the controller runs while this one
        task brings the build in, over plain http, with a token of its own and each part checked by its sha256. That is
        quicker than WinRM. Where the node does not reach the controller, there is a warning and the build is sent as
        with V(auto).
    type: str
    choices: [auto, whole, pull]
    default: auto
  pull_address:
    description:
      - For O(transfer=pull), the name or address by which the node reaches the controller; the address from which the
        controller reaches the node if it is empty.
    type: str
    default: ''
  pull_ports:
    description:
      - For O(transfer=pull), the port or ports at which the controller may listen, such as V(8800-8899); each node that
        is worked on at the same time needs one. Any free one if it is empty.
    type: str
    default: ''
  fetch_timeout:
    description: Seconds in which each download has to end.
    type: int
    default: 600
  proxy:
    description: A web proxy for what the node fetches.
    type: str
    default: ''
  start_timeout:
    description: Seconds in which each service has to work with its new program.
    type: int
    default: 120
  stable:
    description:
      - Seconds for which each service is watched after it works. If it or its program ends in that time, the change is
        rolled back, even where Windows or nssm would start it again.
      - By default 3 where the service reports its own health, else 10. Later crashes are not
        noticed.
    type: int
  stop_timeout:
    description: Seconds in which each service has to stop.
    type: int
    default: 120
  node_name:
    description: The name of the Node for O(wait_for=node_ready); the name in the inventory if it is empty.
    type: str
    default: ''
  node_timeout:
    description: Seconds in which the Node has to be Ready with O(wait_for=node_ready).
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
  description: One line for who watches.
  returned: always
  type: str
  sample: "win1: kubelet replaced, delta 439 KB in 0.8 s, down 2.4 s, works since 3 s; 9.1 s in all"
provisioners:
  description: What became of each item, in the order of the list.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Its name.
      type: str
    result:
      description: V(replaced), V(copied), V(went_back), V(unchanged) or V(skipped); in check mode V(would_replace),
        V(would_copy), V(would_go_back), or V(unknown) where only a download would tell.
      type: str
    destination:
      description: The program's path.
      type: str
    service:
      description: The service that runs it, none if there is none.
      type: str
    sha256:
      description: C(before) and C(after).
      type: dict
    size:
      description: C(before) and C(after), in bytes.
      type: dict
    version:
      description: C(wanted), C(before) and C(after); none where nothing tells.
      type: dict
    version_mismatch:
      description: Whether the program that is there is of another version than the wanted one; none if that is unknown.
      type: bool
    downtime_s:
      description: Seconds from the order to stop the service until it ran again.
      type: float
    watched_s:
      description: For how many seconds the service was watched with its new program, none if it was not started.
      type: float
    transfer:
      description: For a file of the controller, C(how) it was sent (V(delta), V(whole), V(unchanged)), C(why),
        C(bytes_sent) and C(seconds); C(by) is V(batch) for up to 1 MB, V(connection) or
        V(pull).
      type: dict
    previous:
      description: Where the program before is kept, none if there is none.
      type: str
    left_behind:
      description: Replaced programs that a process still holds.
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
      description: The node's answer to the batch, none if nothing had to be done.
      type: str
    outcome:
      description: What became of the batch.
      type: str
    recovered:
      description: The batch of an earlier run that was finished or rolled back before, and what became of it.
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
