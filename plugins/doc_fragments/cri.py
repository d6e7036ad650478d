# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How modules that ask a node's container runtime reach it."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
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
  - Whoever reaches this port can do on the node what containerd can, which is everything. Open it for the controller
    only, with TLS, and close it afterwards.
"""
