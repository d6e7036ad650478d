# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CRI over TCP: edits config.toml, plans the firewall rule and the restart, makes certificates, checks the port.

Imports nothing of Ansible, but tomlkit and cryptography, which the components do without.

Private to the collection: playbooks use its modules.
"""
