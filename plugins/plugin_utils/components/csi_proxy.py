# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
r"""csi-proxy: the program with the rights that CSI drivers without them need, and its service.

It works when its pipes are there. A driver that runs as a HostProcess container does not need it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..engine import windows_path
from ..engine.batch import Op
from ..engine.reading import Query, file_key, pipe_query, services_query
from ..engine.resource import Refused, Resource
from ..engine.resources.directory import Directory
from ..engine.resources.programs import Programs, Source
from ..engine.resources.service import RUNNING, Service
from ..engine.tools import wait_pipe, wait_service
from ..facts import csi_proxy as facts
from ..facts.version import Line, Version, VersionError
from . import nssm
from .declaration import Component, Daemon, ServiceKind
from .folders import guarded
from .layout import Layout
from .log_runner import Rotation
from .service import ServiceArgs, definition

NAME = "csi-proxy"
SERVICE = ServiceKind(
    managers=("sc", "nssm"),
    native_flag="-windows-service",
    why="csi-proxy does not make its own service.",
    source="kubernetes-csi/csi-proxy 10bd8800 cmd/csi-proxy/main.go; kubernetes-csi.github.io/docs/csi-proxy.html",
)
FIRST = Line(1, 0)
"""The first line with stable groups and -kubelet-path. Source: kubernetes-csi.github.io/docs/csi-proxy.html."""


@dataclass(frozen=True, slots=True)
class CsiProxyArgs:
    """Arguments of win_csi_proxy, checked.

    `archive` tells whether `source` is a release archive or csi-proxy.exe alone; `pipes` are waited for; `nssm` brings
    nssm.exe in, if the manager is nssm; `mark` is the id of the batch.
    """

    layout: Layout
    source: Source
    archive: bool = False
    pipes: tuple[str, ...] = ()
    manager: str = "sc"
    nssm: tuple[Resource, ...] = ()
    rotation: Rotation = field(default_factory=Rotation)
    start_timeout_s: int = 60
    stop_timeout_s: int = 60
    mark: str = ""


def binary(layout: Layout) -> str:
    """Where the program lies."""
    return windows_path.join(layout.root, "csi-proxy.exe")


def pipes(groups: tuple[str, ...]) -> tuple[str, ...]:
    """The pipes of these groups, by their names; of those that drivers in use need if none is named. Refused for a
    group that does not exist."""
    known = {group.name: group for group in facts.GROUPS}
    if wrong := [name for name in groups if name not in known]:
        raise Refused(f"csi-proxy: groups: {', '.join(wrong)}: there are only {', '.join(known)}.")
    chosen = [known[name] for name in groups] or [group for group in facts.GROUPS if group.default]
    return tuple(group.pipe for group in chosen)


def check(version: str) -> None:
    """Refused for a release before 1.0, whose command line and pipes are others."""
    try:
        release = Version.parse(version, "winkube_csi_proxy_version")
    except VersionError as error:
        raise Refused(str(error)) from None
    if release.line < FIRST:
        raise Refused(f"csi-proxy {version} is older than {FIRST}, whose groups are stable; take a newer release.")


def desired(args: CsiProxyArgs) -> tuple[Resource, ...]:
    """Folders, program, service."""
    layout = args.layout
    return (
        *_folders(layout),
        *args.nssm,
        _programs(layout, args.source, archive=args.archive, mark=args.mark),
        _service(args),
    )


def reads(layout: Layout) -> tuple[Query, ...]:
    """What `desired` needs to know for this layout, whatever its other arguments."""
    resources: tuple[Resource, ...] = (
        *_folders(layout),
        _programs(layout, Source("", None, ""), archive=True, mark=""),
    )
    return (
        *(query for resource in resources for query in resource.reads()),
        *nssm.reads(layout),
        services_query((facts.SERVICE,)),
        *(pipe_query(group.pipe) for group in facts.GROUPS),
    )


def _folders(layout: Layout) -> tuple[Directory, ...]:
    return guarded(layout.root, layout.log_dir)


def _programs(layout: Layout, source: Source, *, archive: bool, mark: str) -> Programs:
    member = facts.ARCHIVE_MEMBER if archive else ""
    return Programs(NAME, source, ((member, binary(layout)),), layout.state_dir, mark[:8])


def _service(args: CsiProxyArgs) -> Service:
    layout = args.layout
    log = windows_path.join(layout.log_dir, "csi-proxy.log")
    uses = {file_key(binary(layout))}
    if args.manager == "nssm":
        uses.add(file_key(layout.nssm))
    made = definition(
        ServiceArgs(
            component=NAME,
            kind=SERVICE,
            name=facts.SERVICE,
            manager=args.manager,
            program=binary(layout),
            arguments=(f"{facts.KUBELET_PATH}={layout.kubelet_dir}",),
            native_arguments=(f"-log_file={log}", "-logtostderr=false"),
            display_name="CSI proxy",
            directory=layout.root,
            nssm=layout.nssm,
            log_file=log,
            rotation=args.rotation,
        )
    )
    return Service(
        name=facts.SERVICE,
        definition=made,
        uses=frozenset(uses),
        ready=_ready(args),
        start_timeout_s=args.start_timeout_s,
        stop_timeout_s=args.stop_timeout_s,
    )


def _ready(args: CsiProxyArgs) -> tuple[Op, ...]:
    """Every pipe is there, and the service stays up: as a service it is RUNNING before it has made one."""
    waits = [wait_pipe(pipe, args.start_timeout_s) for pipe in args.pipes]
    return (*waits, wait_service(facts.SERVICE, RUNNING, args.start_timeout_s, stable_s=3))


COMPONENT = Component(
    name=NAME,
    role="csi_proxy",
    reads=reads,
    expected=lambda expected: "csi_proxy" in expected.optional_components,
    daemon=Daemon(
        service=lambda _layout: facts.SERVICE,
        program=binary,
        kind=SERVICE,
        asks=(),  # it has no flag for its version: started with one it would serve
    ),
    tools=lambda layout: (layout.nssm,),
    optional=True,
)
