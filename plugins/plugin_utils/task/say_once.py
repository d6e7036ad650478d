# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What several hosts or tasks of a run would say alike is said by the first of them.

Each host of a task is a process of its own. They meet in the folder that ansible-core makes for a run on the
controller and removes at its end (`C.DEFAULT_LOCAL_TMP`). A file of its own: it knows nothing of nodes or of Ansible.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path


def is_first_to_say(folder: Path, text: str, host: str, names: Iterable[str] = ()) -> bool:
    """Whether no host has said this text in the run before; True too where the folder cannot be used.

    Args:
        folder: One that all processes of the run share.
        text: What would be said.
        host: The inventory's name of the host that asks.
        names: What else the text calls this host: its node name, its addresses.
    """
    key = hashlib.sha256(_mask_names(text, {host, *names}).encode()).hexdigest()
    try:
        (folder / f"said-{key}").touch(exist_ok=False)
    except FileExistsError:
        return False
    except OSError:
        return True
    return True


def _mask_names(text: str, names: set[str]) -> str:
    """The text with one word in place of all names of its host."""
    longest_first = sorted((name for name in names if name), key=len, reverse=True)
    whole = "|".join(re.escape(name) for name in longest_first)
    return re.sub(rf"(?<![\w.-])(?:{whole})(?![\w-])", "<host>", text)
