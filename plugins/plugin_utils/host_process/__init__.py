# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A HostProcess pod as the way to a node: the pod, its removal, and the programs that run in it.

Only the connection plugin knows Ansible.

Private to the collection: playbooks use its modules.
"""
