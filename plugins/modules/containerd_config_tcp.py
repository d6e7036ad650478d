# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of containerd_config_tcp; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: containerd_config_tcp
short_description: Opens or closes containerd's CRI over TCP on a Windows node
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Sets the two keys of C(config.toml) that only together make CRI answer over TCP, or puts them back. Versions 2, 3
    and 4 of the file; every other key, the comments and the order stay.
  - Programs such as C(grpcurl) cannot use named pipes, so CRI over TCP is how they reach containerd. It is a mode for
    debugging, B(not for production) - anyone who reaches the port without TLS can start a container that mounts the
    node's own files.
  - The node's own containerd reads the new file before anything is stopped (C(config dump)). If the result would not be
    the wanted one, for example because another file that it imports overrides it, nothing is changed.
  - containerd, and what depends on it and runs, is restarted only if the file changes. If it does not come up with the
    port open, the change is rolled back.
  - Then the controller asks for CRI's version over the port, since a port that merely accepts connections proves
    nothing.
  - O(expires_after) says when the node closes the port by itself. With V(never) nothing closes it; run the task with
    O(state=absent).
requirements:
  - tomlkit on the controller
  - grpcio and protobuf on the controller, for the proof that CRI answers
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.drain
  - winkube.node.attributes
options:
  state:
    description:
      - V(present) opens the port. V(absent) closes it - the address is removed, C(disable_tcp_service) is set back to
        true where the file has it, and the firewall rule is deleted.
    type: str
    choices: [present, absent]
    default: present
  tcp_address:
    description: IP address and port on which containerd listens. Write an IPv6 address in brackets.
    type: str
    default: 127.0.0.1:8888
  allowed_sources:
    description:
      - IP addresses and networks that may reach the port. A rule of the Windows firewall (C(winkube-cri-tcp)) admits
        exactly these. Refused where the firewall is off.
      - Required for every address except loopback addresses, and refused for those.
    type: list
    elements: str
    default: []
  allow_any_address:
    description: Whether O(tcp_address) may be C(0.0.0.0) or C([::]), which means every address that the node has or
      will have.
    type: bool
    default: false
  expires_after:
    description:
      - A time such as V(45m), V(8h) or V(2d), from 1 minute to 30 days, after which the node closes the port by itself,
        without another run, even if it was switched off at that time; or V(never). Required for opening.
      - A scheduled task of SYSTEM (C(\winkube\expiry)) then disables the firewall rule at once, and closes the port in
        C(config.toml) if the file is still as this module wrote it; a file that someone else has changed is left as it
        is.
      - Counted from the run that opens the port, by the node's clock; a run with the same values does not extend the
        time, a run with other values starts it again.
      - M(winkube.node.win_k8s_diagnose) and the next run of this module report what is still to be done then.
    type: str
    default: ''
  expires_restart:
    description: Whether containerd, and what depends on it, may be restarted at that time. Without it the port stays
      open on the node's own addresses until containerd's next start.
    type: bool
    default: false
  tls:
    description:
      - Files on the node with which containerd authenticates itself and its clients. They must exist, and only SYSTEM
        and administrators may read the key.
      - Set all three or none. Without them, the certificate settings in C(config.toml) stay as they are.
    type: dict
    suboptions:
      ca:
        description: The authority that must have signed the clients' certificates (PEM).
        type: str
        default: ''
      cert:
        description: The server's certificate (PEM).
        type: str
        default: ''
      key:
        description: Its key (PEM). The path, not the key.
        type: str
        default: ''
  certificates:
    description:
      - Certificates that this module creates. Use either this or O(tls).
      - The controller creates an authority, a server certificate and one client certificate. The first run in the last
        third of their lifetime renews them, which restarts containerd. The authority's key is not kept.
    type: dict
    suboptions:
      folder:
        description: Where the controller keeps them, including C(client.crt), C(client.key) and C(ca.crt) for your own
          clients. Use a separate folder for each node. Empty for no certificates.
        type: str
        default: ''
      days:
        description: How many days they are valid, at most 30.
        type: int
        default: 3
  prove:
    description:
      - Whether the controller asks for CRI's version over the port. A loopback address is asked through the SSH
        connection that Ansible has to the node.
      - V(auto) warns if the node could not be asked, V(required) fails. An answer that is not CRI's is always an error.
    type: str
    choices: [auto, required, never]
    default: auto
  prove_address:
    description: The address at which the controller reaches the port, if it is another than O(tcp_address).
    type: str
    default: ''
  client_tls:
    description: Files on the controller for that question, where containerd has certificates.
    type: dict
    suboptions:
      ca:
        description: The authority of the server's certificate. Empty for the public ones.
        type: str
        default: ''
      cert:
        description: The client's certificate.
        type: str
        default: ''
      key:
        description: Its key. The path, not the key.
        type: str
        default: ''
      server_name:
        description: The name in the server's certificate, if it is not the address.
        type: str
        default: ''
  start_timeout:
    description: Seconds to wait for containerd to be up and its port open.
    type: int
    default: 120
  stop_timeout:
    description: Seconds to wait for it to stop.
    type: int
    default: 120
seealso:
  - module: winkube.node.win_containerd
"""

EXAMPLES = r"""
- name: Open CRI on the node itself
  winkube.node.containerd_config_tcp:
    expires_after: 1h

- name: Open it to one machine, with certificates
  winkube.node.containerd_config_tcp:
    tcp_address: 192.168.122.220:8888
    allowed_sources: [192.168.122.1]
    expires_after: never
    certificates:
      folder: "~/.winkube/cri/{{ inventory_hostname }}"

- name: Open CRI for the working day
  winkube.node.containerd_config_tcp:
    expires_after: 8h
    expires_restart: true

- name: Close it
  winkube.node.containerd_config_tcp:
    state: absent
"""

RETURN = r"""
cri:
  description: The file's settings for CRI over TCP, and whether CRI answered.
  returned: always
  type: dict
  contains:
    address:
      description: The address, empty if it is closed.
      type: str
    encrypted:
      description: Whether the server uses a certificate.
      type: bool
    clients_proven:
      description: Whether clients need a certificate.
      type: bool
    proven:
      description: Whether CRI answered the controller.
      type: bool
    runtime:
      description: What answered, such as V(containerd v2.3.7).
      type: str
    reason:
      description: Why nothing is proven.
      type: str
  sample: {address: "127.0.0.1:8888", encrypted: false, clients_proven: false, proven: true, runtime: containerd v2.3.7,
    reason: ""}
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
  sample: [{text: restarted containerd, state: done}]
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
