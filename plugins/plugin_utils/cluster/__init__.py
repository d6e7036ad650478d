# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster from the controller: a small API client, and what is read and made through it.

Nothing of Ansible is imported here.

Private to the collection: playbooks use its modules.
"""
