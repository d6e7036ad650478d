# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a node's reading and the wanted resources to one batch of ops.

`reading` is what is known about the node, `resources` are what should exist, `plan` compares the two, and `batch` is
what goes over the wire (docs/protocol.md). Everything here is a pure function of its arguments: no Ansible, no
Kubernetes, no IO.

Private to the collection: playbooks use its modules.
"""
