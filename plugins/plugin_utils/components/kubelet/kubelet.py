# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet: program, folders, drop-in, service.

It cannot run before it is configured, so its service stays stopped until its kubeconfig exists: the join starts it for
the first time. kubeadm's own files, `config.yaml` and `kubeadm-flags.env`, are read; after the join `config.yaml`
follows the cluster's ConfigMap, as `kubeadm upgrade node` would have it (cluster_config.py). Our settings go into the
drop-in folder if the release has one, else into the arguments.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...engine import security, windows_path
from ...engine.batch import Op
from ...engine.reading import Query, Reading, file_key, http_query, services_query
from ...engine.resource import Notice, Refused, ReliesOn, Resource, whole_file
from ...engine.resources.directory import Directory, add_parents, guard
from ...engine.resources.file import READ_LIMIT, File, is_same_json
from ...engine.resources.firewall_rule import FirewallRule, Network
from ...engine.resources.programs import Programs, Source
from ...engine.resources.service import Service
from ...engine.tools import wait_service
from ...facts.flags import KUBELET, NEWEST
from ...facts.version import Version
from .. import healthz, inbound, log_runner, networks, nssm
from ..declaration import Daemon, Health, ServiceKind
from ..flag_check import read
from ..healthz import KUBELET_PORT, LOOPBACK, find_kubelet, port_of_kubelet, wait_healthy
from ..layout import Layout
from ..service import Dependencies, Running, service_of
from . import credentials, drop_ins, kubelet_check
from .cluster_config import ConfigFile
from .kubelet_args import DROP_IN_NAME, PROCESSORS, Kubelet, arguments, configuration
from .places import ca_file, cert_dir, config_file, drop_in_dir, env_file, instance_file

NAME = "kubelet"
SERVICE = ServiceKind(
    managers=("nssm", "sc"),
    native_flag="--windows-service",
    why="The kubelet does not make its own service.",
    source="kubernetes v1.27.0 cmd/kubelet/app/options/osflags_windows.go; it has no --service",
    wrapped=True,
)
STATE = ("pods", "cpu_manager_state", "memory_manager_state")
"""Entries that a kubelet leaves in its folder. Source: kubernetes v1.37.1 pkg/kubelet/config/defaults.go
(DefaultKubeletPodsDirName), pkg/kubelet/cm/cpumanager/cpu_manager.go and memorymanager/memory_manager.go
(cpuManagerStateFileName, memoryManagerStateFileName)."""


@dataclass(frozen=True, slots=True)
class KubeletArgs:
    """The kubelet that is `wanted`, and what was found out for it.

    `kubeadm_flags` is the text of kubeadm-flags.env on the node, `config` that of config.yaml; `values`: what the
    kubelet runs with, by `effective`; `configured`: it has a kubeconfig, without which it cannot run. `ca_pem` is the
    cluster's CA if the node lacks it; `providers` are its credential providers. `sources` may reach its port: an empty
    one means everyone, None leaves the firewall alone. `foreign`: drop-ins of others. `follows`: config.yaml, where the
    cluster has it otherwise by now; `rereads`: whether the kubelet then runs with other values. `mark` is the batch's
    id.
    """

    wanted: Kubelet
    source: Source
    service: Running = field(default_factory=Running)
    configured: bool = False
    kubeadm_flags: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    ca_pem: str = ""
    providers: tuple[credentials.Provider, ...] = ()
    sources: tuple[Network, ...] | None = None
    foreign: tuple[ReliesOn, ...] = ()
    follows: ConfigFile | None = None
    rereads: bool = False
    notices: tuple[Notice, ...] = ()
    mark: str = ""


def command_arguments(args: KubeletArgs) -> tuple[str, ...]:
    """The whole command line without the program: our arguments, then those of kubeadm that we do not set."""
    return (*arguments(args.wanted), *kubelet_check.list_kubeadm_arguments(args.wanted, args.kubeadm_flags))


def build_resources(args: KubeletArgs) -> tuple[Resource, ...]:
    """Folders, program, drop-in, service. Refused if a kubelet of this release would not start with its arguments."""
    layout, wanted = args.wanted.layout, args.wanted
    problems = kubelet_check.problems(wanted)
    problems += [
        sentence
        for sentence in kubelet_check.check_command_line(command_arguments(args), wanted.version)
        if sentence not in problems
    ]
    if problems:
        raise Refused(*problems)
    service = _service(args)
    drop_in = (_drop_in(args),) if wanted.uses_drop_in else ()
    return (
        *_folders(layout, drop_in=wanted.uses_drop_in),
        *args.service.tools,
        _programs(layout, args.source, args.mark),
        ReliesOn(layout.kubelet_dir, _list_kubeadm_files(layout)),
        *args.foreign,
        *((args.follows,) if args.follows else ()),
        *drop_in,
        *credentials.build_resources(layout, args.providers, wanted.version, args.mark),
        *_ca(args),
        *_firewall(args),
        service,
        Dependencies(service, args.service.options.depends_on),
        *(() if args.configured else (_waits_for_join(layout),)),
        *args.notices,
    )


def warnings(args: KubeletArgs) -> list[str]:
    """Settings that work, but probably not as intended; one sentence each."""
    argv, manager = command_arguments(args), args.service.options.manager
    conflicts = kubelet_check.conflicts(argv, args.wanted, args.config) if args.config else []
    return [
        *kubelet_check.warnings(args.wanted),
        *kubelet_check.graceful_shutdown(args.wanted, args.config, manager, args.wanted.layout.kubelet_service),
        *kubelet_check.find_overruled(args.wanted, args.kubeadm_flags),
        *conflicts,
    ]


def is_configured(layout: Layout, reading: Reading) -> bool:
    """Whether the kubelet has what it needs to run."""
    return is_there(layout.kubelet_kubeconfig, reading)


def lacks_ca(wanted: Kubelet, reading: Reading) -> bool:
    """Whether a running kubelet could not start again because the CA that it names is missing. Before the join
    nothing is missing: the join writes it."""
    path = ca_file(wanted.layout)
    named = f"--client-ca-file={path}" in arguments(wanted)
    there = reading.parts.get(file_key(path), {"exists": True}).get("exists")
    return named and is_configured(wanted.layout, reading) and not there


def refuse_without_ca(layout: Layout) -> Refused:
    """A refusal: the CA by which the kubelet authenticates its callers is unknown."""
    return Refused(
        f"kubelet: {ca_file(layout)} is not on the node. Without the cluster's CA the kubelet cannot authenticate "
        "callers, and anyone who reaches port 10250 may run commands in its pods: set winkube_cluster.kubeconfig to a "
        "kubeconfig that has the CA, or name the file with --client-ca-file in winkube_kubelet_extra_arguments."
    )


def refuse_image(layout: Layout) -> Refused:
    """A refusal: a machine that is a node cannot become an image of nodes."""
    return Refused(
        f"This machine has joined a cluster ({layout.kubelet_kubeconfig} is there): an image of it would clone this "
        "one node. Make the image from another machine, or take the node apart first (playbooks/reset.yml; "
        "winkube_reset_keep: [programs, images] spares the downloads)."
    )


def is_there(path: str, reading: Reading) -> bool:
    """Whether a file exists."""
    return bool((reading.parts.get(file_key(path)) or {}).get("exists"))


def reads(layout: Layout) -> tuple[Query, ...]:
    """What `build_resources` reads for this layout, whatever its other arguments."""
    resources: tuple[Resource, ...] = (
        *_folders(layout, drop_in=True),
        _programs(layout, Source("", None, ""), ""),
        File(windows_path.join(drop_in_dir(layout), DROP_IN_NAME), b"", backup=""),
        inbound.kubelet(),
    )
    return (
        drop_ins.folder_query(drop_in_dir(layout)),
        *(query for resource in resources for query in resource.reads()),
        *_list_kubeadm_files(layout),
        *credentials.reads(layout),
        *nssm.reads(layout),
        *log_runner.reads(layout),
        networks.adapters_query(),
        PROCESSORS,
        services_query((layout.kubelet_service,)),
        http_query(healthz.url_of((LOOPBACK, str(KUBELET_PORT))), layout.kubelet_service),
    )


def _list_kubeadm_files(layout: Layout) -> tuple[Query, ...]:
    """The join's files that a kubelet's command line depends on."""
    return (
        whole_file(config_file(layout), READ_LIMIT),
        whole_file(env_file(layout), READ_LIMIT),
        whole_file(instance_file(layout), READ_LIMIT),
        whole_file(layout.kubelet_kubeconfig),
        whole_file(ca_file(layout)),
    )


def _folders(layout: Layout, *, drop_in: bool) -> tuple[Directory, ...]:
    r"""The folders. Locked are only those that hold keys or are read by a service of the machine.
    `C:\var\lib\kubelet` itself inherits its access: containers read mounted secrets from there as ordinary users."""
    return add_parents(
        *guard(windows_path.parent(layout.kubelet_binary), layout.log_dir, windows_path.parent(layout.kubernetes_dir)),
        Directory(layout.kubernetes_dir, sddl=security.ADMINS_ONLY, private=True),
        Directory(windows_path.join(layout.kubernetes_dir, "manifests")),
        Directory(layout.kubelet_dir),
        Directory(cert_dir(layout), sddl=security.ADMINS_ONLY, private=True),
        *((Directory(drop_in_dir(layout), sddl=security.ADMINS_WRITE),) if drop_in else ()),
    )


def _waits_for_join(layout: Layout) -> Notice:
    return Notice(
        f"start of the service {layout.kubelet_service}",
        f"leave {layout.kubelet_service} stopped: it waits for join ({layout.kubelet_kubeconfig} is not there yet)",
    )


def _programs(layout: Layout, source: Source, mark: str) -> Programs:
    return Programs(NAME, source, (("", layout.kubelet_binary),), layout.state_dir, mark[:8])


def drop_in_text(wanted: Kubelet) -> str:
    """Our drop-in."""
    return json.dumps(configuration(wanted), indent=2, sort_keys=True) + "\n"


def _drop_in(args: KubeletArgs) -> File:
    text = drop_in_text(args.wanted).encode()
    return File(args.wanted.drop_in, text, backup=args.wanted.layout.backup(args.mark), equal=is_same_json)


def _ca(args: KubeletArgs) -> tuple[Resource, ...]:
    if not args.ca_pem:
        return ()
    path = ca_file(args.wanted.layout)
    return (
        Directory(windows_path.parent(path)),
        File(path, args.ca_pem.encode(), backup=args.wanted.layout.backup(args.mark)),
    )


def _service(args: KubeletArgs) -> Service:
    wanted = args.wanted
    files: tuple[str, ...] = (wanted.drop_in,) if wanted.uses_drop_in else ()
    files += (args.follows.label,) if args.follows and args.rereads else ()
    made = service_of(
        NAME,
        DAEMON,
        args.wanted.layout,
        args.service,
        arguments=command_arguments(args),
        ready=_build_gate(args),
        uses=(*files, *credentials.uses(args.wanted.layout, args.providers)),
    )
    return replace(made, run=args.configured)


def _firewall(args: KubeletArgs) -> tuple[FirewallRule, ...]:
    if args.sources is None:
        return ()
    line = read(((kubelet_check.OWN, command_arguments(args)),), KUBELET, args.wanted.version.line)
    return (inbound.kubelet(args.sources, port_of_kubelet(line, args.values)),)


def _build_gate(args: KubeletArgs) -> tuple[Op, ...]:
    """A wait for the kubelet's health address if it has one: under nssm the service state is RUNNING even if the
    kubelet crashes again and again."""
    line = read(((kubelet_check.OWN, command_arguments(args)),), KUBELET, args.wanted.version.line)
    found = find_kubelet(line, args.values)
    if found is None:
        return (
            wait_service(
                args.wanted.layout.kubelet_service, "running", args.service.options.start_timeout, stable_s=30
            ),
        )
    return (wait_healthy(healthz.url_of(found), args.service.options.start_timeout),)


def _find_health(argv: Sequence[str] | None, _layout: Layout, reading: Reading) -> str:
    """By what a running kubelet was given; its release does not matter for where it is healthy."""
    given = read(((kubelet_check.OWN, argv or ()),), KUBELET, NEWEST)
    found = drop_ins.of_service(argv or (), Version(NEWEST.major, NEWEST.minor, 0), reading)
    return healthz.url_of(find_kubelet(given, found.values if found else {}))


DAEMON = Daemon(
    service=lambda layout: layout.kubelet_service,
    program=lambda layout: layout.kubelet_binary,
    kind=SERVICE,
    health=Health(healthz.url_of((LOOPBACK, str(KUBELET_PORT))), _find_health),
    rank=3,
    of_cluster=True,
)
