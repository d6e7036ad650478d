"""The task of an action on the controller, as far as the action and its record ask it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible import constants
from ansible.plugins.action import ActionBase

HOST = {"inventory_hostname": "win1"}
_UNSET = ("_uuid", "no_log", "loop", "run_once", "delegate_to", "ignore_errors", "ignore_unreachable")


def give_task(action: Any, *, check: bool = False) -> None:
    """A task with nothing set but check mode, and templates that say what they are."""
    unset: dict[str, Any] = dict.fromkeys(_UNSET)
    action._task = SimpleNamespace(args={"taken": "from here"}, get_name=lambda: "Work", check_mode=check, **unset)
    action._templar = SimpleNamespace(template=lambda value: value)


def give_run(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """The folder that ansible-core makes for a run, and nothing else that its base class would do."""
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(folder))
    monkeypatch.setattr(ActionBase, "run", lambda *_given: {})
