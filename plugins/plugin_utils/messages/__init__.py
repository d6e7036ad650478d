# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What programs print, read as structure: records, their reasons, and which pattern fits them.

It knows nothing of causes; diagnosis/messages.py draws them.

Private to the collection: playbooks use its modules.
"""
