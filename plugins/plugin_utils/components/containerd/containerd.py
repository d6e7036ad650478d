# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""containerd: programs, config.toml, service.

By default containerd registers itself as a service (`--register-service`): at each stop nssm would kill its process
tree, and with it the shims of running containers. `--log-file` is always set: without it containerd's log is lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...engine import windows_path
from ...engine.batch import Batch, Op, flatten
from ...engine.reading import Expectation, Query, Reading, file_key, pipe_query, services_query, system_query
from ...engine.resource import Refused, Resource
from ...engine.resources.directory import Directory, MadeByUs, guard
from ...engine.resources.environment_variable import MachinePath
from ...engine.resources.file import File
from ...engine.resources.programs import Programs, Source
from ...engine.resources.service import Service
from ...engine.tools import wait_pipe, wait_run, wait_service
from ...facts import containerd as facts
from .. import nssm
from ..declaration import Daemon, NoHealth, ServiceKind
from ..layout import Layout
from ..service import Running, service_of
from . import containerd_config, containerd_toml, crictl, defender, earlier_programs, images, registries, shim
from .containerd_config import Containerd

NAME = "containerd"

SERVICE = ServiceKind(
    managers=("registered", "nssm"),
    native_flag="--run-service",
    why="containerd registers itself; sc.exe would leave out what --register-service sets.",
    source="containerd v2.4.2 cmd/containerd/command/service_windows.go",
)


@dataclass(frozen=True, slots=True)
class ContainerdArgs:
    """containerd as it is `wanted`, and what was found and rendered for it.

    `archive`: `source` is a release archive, not only containerd.exe. `config` is the rendered config.toml. `earlier`
    is the folder from which an earlier installation's service runs containerd, empty if there is none. `registries` are
    the files of registries. `has_ctr`: ctr.exe is already beside containerd.exe. `template` names the template in
    messages. `mark` is the batch's id.
    """

    wanted: Containerd
    source: Source
    archive: bool
    config: str
    service: Running = field(default_factory=Running)
    registries: tuple[Resource, ...] = ()
    crictl: tuple[Resource, ...] = ()
    has_ctr: bool = False
    earlier: str = ""
    template: str = "config.toml"
    mark: str = ""


def build_resources(args: ContainerdArgs) -> tuple[Resource, ...]:
    """Folders, programs, config.toml, the Path entry and the service. Refused if config.toml would not work."""
    wanted, layout = args.wanted, args.wanted.layout
    problems = containerd_config.check(args.config, wanted)
    if not problems and wanted.hosts_dir:
        problems = registries.config_problems(args.config, wanted.hosts_dir, wanted.version)
    if problems:
        raise Refused(*(f"{args.template}: {problem}" for problem in problems))
    log_dir = windows_path.parent(layout.containerd_log)
    brought = _paths(args)
    earlier = (earlier_programs.EarlierPrograms(layout, args.earlier, brought, args.mark),) if args.earlier else ()
    return (
        *_folders(layout),
        *_data(),
        *args.service.tools,
        *earlier,
        _programs(layout, args.source, archive=args.archive, mark=args.mark),
        *args.crictl,
        File(
            layout.containerd_config,
            args.config.encode(),
            backup=layout.backup(args.mark),
            equal=containerd_toml.is_equal,
        ),
        *args.registries,
        MachinePath(layout.containerd_bin_dir),
        *((defender.Exclusions(layout),) if wanted.options.defender_exclusions else ()),
        _service(args, log_dir),
    )


def stage_first(resources: tuple[Resource, ...], reading: Reading) -> Batch | None:
    """A batch with only the download, if programs of unknown origin are running: their hashes then tell whether to
    replace them."""
    unproven = [
        resource
        for resource in resources
        if isinstance(resource, Programs) and resource.is_unproven(reading) and not resource.is_staged(reading)
    ]
    if not unproven:
        return None
    expect = Expectation(system_query(), (("machine", reading.machine),))
    return Batch(
        NAME,
        flatten(programs.stage() for programs in unproven),
        pre=(expect,),
        state=tuple(query for programs in unproven for query in programs.list_staged_queries()),
    )


def build_gate(layout: Layout, *, has_ctr: bool, timeout_s: int) -> tuple[Op, ...]:
    """Waits that pass once containerd works: its pipe exists and, if ctr.exe exists, answers `version`. The service
    state RUNNING proves nothing."""
    pipe = wait_pipe(layout.containerd_pipe, timeout_s)
    if not has_ctr:
        return (pipe, wait_service(layout.containerd_service, "running", timeout_s, stable_s=3))
    address = rf"\\.\pipe\{layout.containerd_pipe}"
    return (pipe, wait_run(layout.ctr, "--address", address, "version", timeout_s=timeout_s))


def has_ctr(layout: Layout, reading: Reading) -> bool:
    """Whether ctr.exe is beside containerd.exe; a release archive contains it."""
    return bool(reading.parts.get(file_key(layout.ctr), {}).get("exists"))


def reads(layout: Layout) -> tuple[Query, ...]:
    """Everything that `build_resources` reads for this layout, whatever its other arguments."""
    source = Source("", None, "")
    resources: tuple[Resource, ...] = (
        *_folders(layout),
        *_data(),
        _programs(layout, source, archive=True, mark=""),
        File(layout.containerd_config, b"", backup=""),
        MachinePath(layout.containerd_bin_dir),
    )
    return (
        *(query for resource in resources for query in resource.reads()),
        *nssm.reads(layout),
        *crictl.reads(layout),
        *registries.reads(layout),
        *images.reads(layout),
        *defender.reads(layout),
        *shim.reads(layout),
        services_query((layout.containerd_service,)),
        pipe_query(layout.containerd_pipe),
    )


def _folders(layout: Layout) -> tuple[Directory, ...]:
    paths = (
        layout.containerd_bin_dir,
        windows_path.parent(layout.containerd_config),
        windows_path.parent(layout.containerd_log),
    )
    return guard(*paths)


def _data() -> tuple[MadeByUs, ...]:
    """The folders that containerd makes. Any user may make a folder in ProgramData before it does."""
    parent = windows_path.parent(facts.DEFAULT_ROOT)
    return tuple(MadeByUs(path) for path in (parent, facts.DEFAULT_ROOT, facts.DEFAULT_STATE))


def _programs(layout: Layout, source: Source, *, archive: bool, mark: str) -> Programs:
    files: tuple[tuple[str, str], ...] = (("", layout.containerd_binary),)
    if archive:
        files = tuple((member, _destination(layout, member)) for member in facts.ARCHIVE_MEMBERS)
    return Programs(NAME, source, files, layout.state_dir, mark[:8])


def _paths(args: ContainerdArgs) -> tuple[str, ...]:
    return _programs(args.wanted.layout, args.source, archive=args.archive, mark=args.mark).paths


def _destination(layout: Layout, member: str) -> str:
    name = member.rsplit("/", 1)[-1]
    return (
        layout.containerd_binary
        if name == earlier_programs.PROGRAM
        else windows_path.join(layout.containerd_bin_dir, name)
    )


def _service(args: ContainerdArgs, log_dir: str) -> Service:
    layout = args.wanted.layout
    renamed = layout.containerd_service.casefold() != NAME
    return service_of(
        NAME,
        DAEMON,
        layout,
        args.service,
        arguments=("--config", layout.containerd_config),
        native_arguments=(
            "--log-file",
            layout.containerd_log,
            *(("--service-name", layout.containerd_service) if renamed else ()),
        ),
        ready=build_gate(layout, has_ctr=args.archive or args.has_ctr, timeout_s=args.service.options.start_timeout),
        uses=(layout.containerd_config, *_paths(args)),
        display_name="Containerd",
        directory=log_dir,
        log_file=layout.containerd_log,
    )


DAEMON = Daemon(
    service=lambda layout: layout.containerd_service,
    program=lambda layout: layout.containerd_binary,
    kind=SERVICE,
    health=NoHealth("It has no HTTP server unless its metrics are on; it works once its pipe answers."),
    rank=0,
    log=lambda layout: layout.containerd_log,
    pipe=lambda layout: layout.containerd_pipe,
)
