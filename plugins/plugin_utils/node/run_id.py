# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The present run of ansible-playbook, and which of its readings are out of date.

The id is made when this file is first imported. Ansible's strategies load a task's action plugin in the parent process
before they fork a worker for it. So all tasks and hosts of a run share the value, and the next run has another. Source:
ansible-core 2.19 and 2.21, plugins/strategy/linear.py and free.py (`action_loader.get(..., class_only=True)`).
"""

from __future__ import annotations

import hashlib
import uuid
from datetime import datetime
from pathlib import Path

from ansible import constants

from ..engine.run_end import end_with_keeper

RUN_ID = uuid.uuid4().hex
BEGAN = datetime.now().astimezone()
"""When the run began, in the controller's time zone."""
end_with_keeper(Path(constants.DEFAULT_LOCAL_TMP))


# Hosts whose reading is out of date, although the fact still exists. Ansible drops the facts of a failed task, and a
# looped or delegated one returns none, but a batch may have changed the node. A mark is set before a batch is sent, and
# removed once a reading made after it has been returned. Marks are files in the temporary folder that ansible-playbook
# makes for one run and shares with its workers.


def spoil(host: str) -> None:
    """Mark the host's reading as out of date."""
    _mark(host).touch()


def is_spoiled(host: str) -> bool:
    """Whether the host's reading is out of date."""
    return _mark(host).exists()


def mend(host: str) -> None:
    """Remove the mark: the returned reading is up to date."""
    _mark(host).unlink(missing_ok=True)


def _mark(host: str) -> Path:
    name = hashlib.sha256(host.encode()).hexdigest()[:16]
    return Path(constants.DEFAULT_LOCAL_TMP) / f"winkube-spoiled-{name}"
