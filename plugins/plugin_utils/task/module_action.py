# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action of a module: its arguments as the module documents them, and sentences for what goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..cluster.error import ClusterError
from ..engine.local_path import FULL, explain_full
from ..engine.printable import make_printable, make_sentence
from ..engine.resource import Refused
from . import argument_spec

FACTS = "ansible_facts"


class ModuleAction(ActionBase):
    """A subclass names its module."""

    module: ClassVar[str]
    topic: ClassVar[str] = ""
    """What its batches are called, and what its errors begin with."""
    refusals: ClassVar[tuple[type[Exception], ...]] = ()
    """Errors whose text is a sentence for the user."""

    def check_options(self) -> dict[str, Any]:
        """The task's arguments and the module's defaults, as plain values."""
        spec = argument_spec.load_spec(self.module)
        return argument_spec.normalize(self.validate_argument_spec(argument_spec=spec)[1], spec)

    def explain_errors(self, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What `work` returns, fit to be printed; facts stay as they are. Its errors become sentences that end the
        task."""
        try:
            result = work()
        except Refused as refused:  # the sentences are whole; a chain of causes would say them twice
            raise AnsibleActionFail(make_sentence("\n".join(refused.sentences)), obj=self._task.args) from None
        except ClusterError as error:
            raise AnsibleActionFail(make_sentence(f"{self.topic}: {error}" if self.topic else error)) from None
        except self.refusals as error:
            raise AnsibleActionFail(make_sentence(error)) from None
        except OSError as error:
            if error.errno not in FULL:
                raise
            raise AnsibleActionFail(make_sentence(explain_full(Path(str(error.filename or "."))))) from None
        return {name: value if name == FACTS else make_printable(value) for name, value in result.items()}


class ControllerAction(ModuleAction):
    """The action of a module that works on the controller and asks no node; a subclass does `work`."""

    _requires_connection = False

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """The task's result. May raise Refused, ClusterError, and what `refusals` lists."""
        raise NotImplementedError

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Check the arguments, do the work."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        options = self.check_options()
        return result | self.explain_errors(lambda: self.work(options))
