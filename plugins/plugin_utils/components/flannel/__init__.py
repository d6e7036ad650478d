# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The component flannel: its declaration is COMPONENT in component.py.

Private to the collection: playbooks use its modules.
"""

from __future__ import annotations
