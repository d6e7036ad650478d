# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A component's program as a service under one of the managers that can run it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..engine.resource import Refused
from ..engine.services.definition import Definition, Recovery
from ..engine.services.native import Native
from ..engine.services.nssm import Nssm
from .declaration import ServiceKind
from .log_runner import Rotation, wrapper

RECOVERY = Recovery(reset_s=86400, actions=(("restart", 15_000), ("restart", 30_000), ("restart", 60_000)))
"""Does not give up; containerd's own default does after the second crash of a day (restart, restart, none).

Source: containerd cmd/containerd/command/service_windows.go, SetRecoveryActions.
"""


@dataclass(frozen=True, slots=True)
class ServiceArgs:
    """A service as a component wants it, whatever its manager.

    `component` is its name in sentences, `kind` its declaration's; `arguments` are the program's own. `log_file` is
    used by nssm and, under sc, by `log_runner` (its path; empty for none); a program that logs by itself has its own
    argument for that in `native_arguments`, which nssm does not get. `rotation` is the log's.
    """

    component: str
    kind: ServiceKind
    name: str
    manager: str
    program: str
    arguments: tuple[str, ...]
    display_name: str
    directory: str
    nssm: str
    native_arguments: tuple[str, ...] = ()
    log_file: str | None = None
    environment: tuple[str, ...] = ()
    log_runner: str = ""
    rotation: Rotation = field(default_factory=Rotation)


def definition(args: ServiceArgs) -> Definition:
    """The service's definition. Refused for a manager that cannot run the program."""
    kind = args.kind
    if args.manager not in kind.managers:
        raise Refused(
            f"{args.component} cannot run under the service manager '{args.manager}', only under "
            f"{' or '.join(kind.managers)}. {kind.why}"
        )
    if args.manager == "nssm":
        return Nssm(
            name=args.name,
            nssm=args.nssm,
            program=args.program,
            arguments=args.arguments,
            directory=args.directory,
            display_name=args.display_name,
            log_file=args.log_file,
            rotate_bytes=args.rotation.max_mb * 1024 * 1024,
            environment=args.environment,
        )
    flags = (*args.arguments, *args.native_arguments)
    return Native(
        name=args.name,
        program=args.program,
        arguments=((kind.native_flag, *flags) if kind.native_flag else flags),
        display_name=args.display_name,
        recovery=RECOVERY,
        registration=("--register-service", *flags) if args.manager == "registered" else (),
        environment=args.environment,
        wrapper=wrapper(args.log_runner, args.log_file, args.rotation) if args.log_runner and args.log_file else (),
    )
