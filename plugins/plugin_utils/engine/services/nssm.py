# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services that nssm.exe runs: any console program, with its output in a rotated file.

Source: nssm.cc/usage and nssm 2.24's registry layout (measured: `Application`, `AppParameters`, ... under `Parameters`,
REG_EXPAND_SZ; `AppEnvironmentExtra` REG_MULTI_SZ; `AppExit` is a subkey whose default value is the action).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import command_line, windows_path
from ..batch import Op
from ..environment import Entry, name_all, names
from ..tools import remove_ops, restore_value, run, sc
from .definition import AUTOMATIC, Difference
from .native import SERVICES_KEY, set_variables

Setting = str | int

DEFAULTS: Mapping[str, Setting] = {
    "AppThrottle": 1500,
    "AppStdoutCreationDisposition": 4,
    "AppStderrCreationDisposition": 4,
}
"""Settings that nssm removes from the registry when they are set to these numbers: a missing value means this number.

Source: nssm 2.24 settings.cpp, setting_set_number and the table of settings (measured as well).
"""

VARIABLES = "AppEnvironmentExtra"
"""Variables in addition to the service manager's own; a REG_MULTI_SZ under Parameters."""


@dataclass(frozen=True, slots=True)
class Nssm:
    """A service whose ImagePath is nssm.exe.

    `arguments` become AppParameters as **one** string, quoted once: nssm joins several with blanks and loses their
    quotes. `log_file` gets stdout and stderr, appended, and is rotated at `rotate_bytes` even while the program runs.
    """

    name: str
    nssm: str
    program: str
    arguments: tuple[str, ...]
    directory: str
    display_name: str
    log_file: str | None = None
    rotate_bytes: int = 10 * 1024 * 1024
    environment: tuple[Entry, ...] = ()
    throttle_ms: int = 1500
    restart_delay_ms: int = 5000

    @property
    def manager(self) -> str:
        """`nssm`."""
        return "nssm"

    @property
    def command(self) -> str:
        """The program's command line; ImagePath is nssm's own."""
        return command_line.join([self.program, *self.arguments])

    def owns(self, found: Mapping[str, Any]) -> bool:
        """A service with nssm's parameters."""
        return found.get("nssm") is not None

    def create(self) -> tuple[Op, ...]:
        """Install the service, then each setting."""
        install = self._nssm("install", self.name, self.program).with_undo(*remove_ops(self.name, self.program))
        settings = (
            self._set(setting, value) for setting, value in self._settings().items() if setting != "Application"
        )
        variables = set_variables(self._key, VARIABLES, self.environment) if self.environment else ()
        return (install, *settings, *variables)

    def environment_differs(self, found: Mapping[str, Any]) -> bool:
        """Compared by fingerprint."""
        present = (found.get("nssm") or {}).get(VARIABLES)
        return list(present or ()) != [entry.fingerprint for entry in self.environment]

    def differences(self, found: Mapping[str, Any]) -> tuple[Difference, ...]:
        """Each setting that differs; unwanted ones are reset to their default."""
        present: Mapping[str, Any] = found.get("nssm") or {}
        differences = []
        image_path = str(found.get("image_path") or "")
        if not windows_path.is_same(next(iter(command_line.split(image_path)), ""), self.nssm):
            here, back = (
                sc("config", self.name, "binPath=", line) for line in (command_line.quote(self.nssm), image_path)
            )
            differences.append(Difference("nssm.exe", image_path, self.nssm, (here.with_undo(back),)))
        if self.environment_differs(found):
            (op,) = set_variables(self._key, VARIABLES, self.environment)
            before, after = names(present.get(VARIABLES)), name_all(self.environment)
            ops = (op.with_undo(restore_value(self._key, VARIABLES)),)
            differences.append(Difference("environment", before, after, ops))
        for setting, wanted in self._settings().items():
            old = _read_setting(setting, found, present)
            if _is_same_setting(setting, old, wanted):
                continue
            back = self._set(setting, old) if old is not None else self._nssm("reset", self.name, *setting.split())
            ops = (self._set(setting, wanted).with_undo(back),)
            shown = (_show(setting, old), _show(setting, wanted))
            differences.append(Difference(setting, *shown, ops, at_once=setting in _AT_ONCE))
        for setting in ("AppStdout", "AppStderr"):
            old = present.get(setting)
            if setting not in self._settings() and old:
                reset = self._nssm("reset", self.name, setting).with_undo(self._set(setting, old))
                differences.append(Difference(setting, _text(old), "none", (reset,)))
        return tuple(differences)

    def predict(self) -> dict[str, Any]:
        """The service as wanted."""
        parameters: dict[str, Any] = {
            setting: value for setting, value in self._settings().items() if DEFAULTS.get(setting) != value
        }
        if self.environment:
            parameters[VARIABLES] = [entry.fingerprint for entry in self.environment]
        return {
            "name": self.name,
            "display_name": self.display_name,
            "image_path": command_line.quote(self.nssm),
            "start": AUTOMATIC,
            "delayed": False,
            "depends_on": [],
            "environment": [],
            "failure": None,
            "nssm": {
                "AppExit" if setting == "AppExit Default" else setting: value for setting, value in parameters.items()
            },
            "deleting": False,
        }

    def _settings(self) -> dict[str, Setting]:
        settings: dict[str, Setting] = {
            "Application": self.program,
            "AppParameters": command_line.join(self.arguments),
            "AppDirectory": self.directory,
            "DisplayName": self.display_name,
            "Start": "SERVICE_AUTO_START",
            "AppExit Default": "Restart",
            "AppThrottle": self.throttle_ms,
            "AppRestartDelay": self.restart_delay_ms,
        }
        if self.log_file:
            settings |= {
                "AppStdout": self.log_file,
                "AppStderr": self.log_file,
                "AppStdoutCreationDisposition": 4,  # OPEN_ALWAYS: append; 2 would empty the log at each start
                "AppStderrCreationDisposition": 4,
                "AppRotateFiles": 1,
                "AppRotateOnline": 1,
                "AppRotateBytes": self.rotate_bytes,
            }
        return settings

    def _set(self, setting: str, value: Setting) -> Op:
        return self._nssm("set", self.name, *setting.split(), str(value))

    @property
    def _key(self) -> str:
        return f"{SERVICES_KEY}\\{self.name}\\Parameters"

    def _nssm(self, *args: str) -> Op:
        return run(self.nssm, *args, encoding="utf-16")


_AT_ONCE = frozenset({"DisplayName", "Start"})
"""Settings of the service control manager; nssm reads the others when it starts the program."""


def _read_setting(setting: str, service: Mapping[str, Any], parameters: Mapping[str, Any]) -> Any:
    """The value of a setting; nssm keeps some in the service itself."""
    if setting == "DisplayName":
        return service.get("display_name")
    if setting == "Start":
        starts = {2: "SERVICE_AUTO_START", 3: "SERVICE_DEMAND_START", 4: "SERVICE_DISABLED"}
        return "SERVICE_DELAYED_AUTO_START" if service.get("delayed") else starts.get(service.get("start", 3))
    return parameters.get("AppExit" if setting == "AppExit Default" else setting, DEFAULTS.get(setting))


def _is_same_setting(setting: str, old: Setting | None, wanted: Setting) -> bool:
    if setting == "AppParameters":
        return command_line.split(f"x {old or ''}") == command_line.split(f"x {wanted}")
    if setting in {"Application", "AppDirectory", "AppStdout", "AppStderr"}:
        return old is not None and windows_path.is_same(str(old), str(wanted))
    return str(old) == str(wanted)


def _show(setting: str, value: Setting | None) -> str:
    """A value in the diff. `x` stands for the program: Windows splits the program's name by other rules than the
    arguments."""
    if setting != "AppParameters" or not value:
        return _text(value)
    return command_line.list_arguments(f"x {value}").removeprefix("\n  x")


def _text(value: Setting | None) -> str:
    return "not set" if value is None else str(value)
