# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who runs this process."""

from __future__ import annotations

import getpass
import os


def user() -> str:
    """The user's name; the uid where it has none, as in a container whose user is not in its passwd."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # KeyError: before Python 3.13
        return str(os.getuid())
