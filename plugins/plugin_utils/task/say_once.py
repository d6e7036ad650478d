# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What several hosts would say alike in one task is said by the first of them.

Each host of a task is a process of its own. They meet in the folder that ansible-core makes for a run on the
controller and removes at its end (`C.DEFAULT_LOCAL_TMP`). A file of its own: it knows nothing of nodes or of Ansible.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path


def find_first_speaker(folder: Path, task: str, text: str, host: str, names: Iterable[str] = ()) -> str:
    """The host that says this text in this task.

    Args:
        folder: One that all processes of the run share.
        task: Tells the task from the others of the run.
        text: What would be said.
        host: The inventory's name of the host that asks.
        names: What else the text calls this host: its node name, its addresses.

    Returns:
        `host` itself if no other has said it before, else the other. `host` too where the folder cannot be used.
    """
    key = hashlib.sha256(f"{task}\0{_mask_names(text, {host, *names})}".encode()).hexdigest()
    mark = folder / f"said-{key}"
    try:
        mark.symlink_to(host)  # made with its content in one step: a file would be empty for a moment
    except FileExistsError:
        return str(mark.readlink())
    except OSError:
        return host
    return host


def _mask_names(text: str, names: set[str]) -> str:
    """The text with one word in place of all names of its host."""
    longest_first = sorted((name for name in names if name), key=len, reverse=True)
    whole = "|".join(re.escape(name) for name in longest_first)
    return re.sub(rf"(?<![\w.-])(?:{whole})(?![\w-])", "<host>", text)
