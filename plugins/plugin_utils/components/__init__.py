# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a Windows node, one file per component. Each turns its arguments into resources and is pure; the engine
does the rest.

Private to the collection: playbooks use its modules.
"""
