# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTML pages for people: templates over one page and its style (page.html.j2), no scripts, nothing from elsewhere.

Private to the collection: playbooks use its modules.
"""

from __future__ import annotations
