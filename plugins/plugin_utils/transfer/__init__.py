# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transfer of a local build to a node: as the difference from the node's build, else whole, always gzipped.

Private to the collection: playbooks use its modules.
"""
