# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CRI over TCP: config.toml edited in place, the firewall's rule, the plan for a node, certificates, the proof.

Nothing of Ansible is imported here. tomlkit and cryptography are, which the components do without.

Private to the collection: playbooks use its modules.
"""
