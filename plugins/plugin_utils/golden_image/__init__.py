# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine that becomes an image of many nodes: what must not be cloned, and what is stopped first.

Private to the collection: playbooks use its modules.
"""

from __future__ import annotations
