# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A component's program as a service under one of its managers, and what that service waits for at boot."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..engine import windows_path
from ..engine.batch import Op
from ..engine.environment import Entry
from ..engine.reading import Query, Reading, file_key, service_key, services_query
from ..engine.resource import Change, Refused, Resource
from ..engine.resources.service import Service
from ..engine.secret import Secret
from ..engine.sentences import join_words
from ..engine.services.definition import Definition, Recovery
from ..engine.services.native import Native
from ..engine.services.nssm import Nssm
from ..engine.tools import NOT_INSTALLED, WINDOWS_PATH, sc
from ..facts import looked_up
from .declaration import Daemon
from .layout import Layout
from .log_runner import wrapper
from .shared_options import LogOptions, ServiceOptions

RECOVERY = Recovery(reset_s=86400, actions=(("restart", 15_000), ("restart", 30_000), ("restart", 60_000)))
"""Restarts without end; containerd's own default gives up after the second crash of a day (restart, restart, none).

Source: containerd cmd/containerd/command/service_windows.go, SetRecoveryActions.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """How a component's service runs.

    `options` are the user's, in which `manager` is one of its kind's, the first if empty; `log` is how its log is kept;
    `tools` bring what the manager needs: nssm.exe or kube-log-runner.exe. A service that `rests` is not started just
    because it is stopped.
    """

    options: ServiceOptions = field(default_factory=ServiceOptions)
    log: LogOptions = field(default_factory=LogOptions)
    tools: tuple[Resource, ...] = ()
    rests: bool = False


def service_of(
    component: str,
    daemon: Daemon,
    layout: Layout,
    running: Running,
    *,
    arguments: tuple[str, ...],
    ready: tuple[Op, ...],
    native_arguments: tuple[str, ...] = (),
    environment: tuple[Entry, ...] = (),
    uses: Iterable[str] = (),
    display_name: str = "",
    directory: str = "",
    log_file: str = "",
) -> Service:
    """The service of a component's daemon. `component` is its name in messages and, unless `log_file` is given, in
    its log's name. `arguments` are the program's own; nssm writes its log, under sc kube-log-runner does, and a program
    that logs by itself has arguments for that in `native_arguments`, which nssm does not get. `environment` are
    variables besides the user's. A change of a file in `uses`, besides the program, restarts it.
    Refused for a manager that cannot run the program."""
    kind, name, program = daemon.kind, daemon.service(layout), daemon.program(layout)
    manager = running.options.manager or kind.managers[0]
    own = _list_variables(running.options.environment)
    _check_path(component, daemon, layout, manager, own)
    if manager not in kind.managers:
        raise Refused(
            f"{component} cannot run under the service manager '{manager}', only under "
            f"{' or '.join(kind.managers)}. {kind.why}"
        )
    _check_values(name, (*environment, *own))
    wrapped = kind.wrapped and manager == "sc"
    runner = {"nssm": (layout.nssm,)}.get(manager, (layout.log_runner,) if wrapped else ())
    log_file = log_file or windows_path.join(layout.log_dir, f"{component}.log")
    made: Definition
    if manager == "nssm":
        made = Nssm(
            name=name,
            nssm=layout.nssm,
            program=program,
            arguments=arguments,
            directory=directory or windows_path.parent(program),
            display_name=display_name or name,
            log_file=log_file,
            rotate_bytes=running.log.max_mb * 1024 * 1024,
            environment=(*environment, *own),
        )
    else:
        flags = (*arguments, *native_arguments)
        made = Native(
            name=name,
            program=program,
            arguments=((kind.native_flag, *flags) if kind.native_flag else flags),
            display_name=display_name or name,
            recovery=RECOVERY,
            registration=("--register-service", *flags) if manager == "registered" else (),
            environment=(*environment, *own),
            wrapper=wrapper(layout.log_runner, log_file, running.log) if wrapped else (),
        )
    return Service(
        name=name,
        definition=made,
        uses=frozenset(file_key(path) for path in (program, *runner, *uses)),
        ready=ready,
        start_timeout_s=running.options.start_timeout,
        stop_timeout_s=running.options.stop_timeout,
        rests=running.rests,
    )


def _list_variables(wanted: Mapping[str, Secret[str]]) -> tuple[Entry, ...]:
    """A service's variables, sorted so that they are the same at each run."""
    return tuple(Entry(name, value) for name, value in sorted(wanted.items()))


def _check_values(name: str, environment: tuple[Entry, ...]) -> None:
    """Refused for a variable that Windows would cut: a block of variables ends at a NUL. Its value is not shown."""
    for entry in environment:
        if "\0" in entry.text.reveal():
            variable = entry.name.replace("\0", "\\0")
            raise Refused(
                f"environment: {variable} of the service {name} holds a NUL, at which Windows would cut it; take the "
                "character out."
            )


_REPLACED = {"%path%": ";".join(WINDOWS_PATH), "%systemroot%": r"C:\Windows", "%windir%": r"C:\Windows"}
"""What nssm substitutes in a variable's value; the service control manager leaves them as they are (unverified).
Source: nssm env.cpp, set_environment_block."""


def _path(declared: tuple[str, ...], manager: str, environment: tuple[Entry, ...]) -> tuple[str, ...]:
    """The folders of a service's Path. A Path in its environment replaces the machine's."""
    for entry in environment:
        if entry.name.casefold() == "path":
            replaced = _REPLACED if manager == "nssm" else {}
            words = (replaced.get(word.casefold(), word) for word in re.split("(%[^%;]+%)", entry.value.reveal()))
            return tuple("".join(words).split(";"))
    return declared


def _check_path(component: str, daemon: Daemon, layout: Layout, manager: str, environment: tuple[Entry, ...]) -> None:
    """Refused for a Path in which the program would not find the programs that it starts by name."""
    needs: dict[str, list[looked_up.Need]] = {}
    path = _path(daemon.path(layout), manager, environment)
    for need in looked_up.unmet(component, path, windows_path.parent(layout.kubelet_binary)):
        needs.setdefault(need.folder, []).append(need)
    if needs:
        why = "; ".join(
            f"it has no {folder}, where {component} looks {each[0].name} up ({', '.join(need.when for need in each)})"
            for folder, each in needs.items()
        )
        written = "" if manager == "nssm" else ", written in full: %..% is not replaced there"
        raise Refused(f"environment: Path of the service {daemon.service(layout)}: {why}. Add it to Path{written}.")


# Services that a service waits for at boot (DependOnService). None by default: Windows stops this service whenever one
# of them is stopped, and if one cannot start at boot this one stays down (Windows error 1068), which failure actions do
# not repair.


@dataclass(frozen=True, slots=True)
class Dependencies:
    """`service` depends on exactly `names`. A change restarts nothing."""

    service: Service
    names: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"dependencies of the service {self.service.name}"

    def reads(self) -> tuple[Query, ...]:
        """The service and its dependencies."""
        return (services_query((self.service.name, *self.names)),)

    def change(self, reading: Reading) -> Change | None:
        """Set the list if it differs. Refused for a name that is not a service on the node."""
        absent = [name for name in self.names if reading.service(name) is None]
        if absent:
            raise Refused(
                f"The service {self.service.name} shall depend on {', '.join(absent)}, which is not a service on this "
                "node: it would never start (Windows error 1075). Look at the spelling, or leave it out."
            )
        found = reading.service(self.service.name)
        remade = found is None or not self.service.definition.owns(found)
        present = () if found is None or remade else tuple(str(name) for name in found.get("depends_on") or ())
        if sorted(map(str.casefold, present)) == sorted(map(str.casefold, self.names)):
            return None
        changed = self.service.change(reading)
        key = service_key(self.service.name)
        after = changed.predicted[key] if changed else found or {}
        op = self._set(self.names).with_undo(self._set(present, absent_is_fine=True))
        return Change(
            text=f"make the service {self.service.name} depend on {join_words(self.names, 'nothing')}",
            before=f"{join_words(present, 'nothing')}\n",
            after=f"{join_words(self.names, 'nothing')}\n",
            define=(op,),
            predicted={key: {**after, "depends_on": list(self.names)}},
        )

    def _set(self, names: tuple[str, ...], *, absent_is_fine: bool = False) -> Op:
        ok_exit = (0, NOT_INSTALLED) if absent_is_fine else (0,)
        return sc("config", self.service.name, "depend=", "/".join(names) or "/", ok_exit=ok_exit)
