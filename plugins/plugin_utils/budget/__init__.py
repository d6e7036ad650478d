# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many Windows nodes may be away at once, over all runs and people: the marks of runs on Nodes, and who waits.

Private to the collection: playbooks use its modules.
"""
