# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs and state of a node for an issue: in a folder on the controller, without secrets, of limited size.

Private to the collection: playbooks use its modules.
"""
