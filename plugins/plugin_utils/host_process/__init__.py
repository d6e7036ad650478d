# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A HostProcess pod as the way to a node: the pod, who takes it away, and what is run in it.

Of Ansible only the connection plugin knows.

Private to the collection: playbooks use its modules.
"""
