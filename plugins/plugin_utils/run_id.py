# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which run of ansible-playbook this is.

Made when this file is first imported. Ansible's strategies load a task's action plugin in the parent process before
they fork a worker
for it, so that all tasks and hosts of one run share the value and the next run has another.
Source: ansible-core 2.19 and 2.21, plugins/strategy/linear.py and free.py (`action_loader.get(..., class_only=True)`).
"""

from __future__ import annotations

import uuid

RUN_ID = uuid.uuid4().hex
