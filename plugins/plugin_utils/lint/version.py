# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection's version, as the reports name it; a test compares it with galaxy.yml."""

from __future__ import annotations

VERSION = "0.1.0"
