# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of how services run their programs: by whom, with which arguments, and where what they print goes.

Source: kubernetes.io, Windows containers in Kubernetes, v1.22, Getting help and troubleshooting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..components.flag_check import CommandLine, read
from ..components.healthz import find_arguments
from ..components.kube_proxy import kube_proxy_args
from ..components.kubelet import kubelet_args, kubelet_check
from ..engine import windows_path
from ..engine.environment import names_of
from ..facts.flags import KUBE_PROXY, KUBELET, NEWEST, FlagTable
from ..facts.version import Version
from ..words.cause import ERROR, NOTE, Area, Cause
from ..words.causes import CAUSES
from ..words.finding import Seen
from ..words.remedies import advice, converge
from ..words.remedy import Ends
from .check import Check, Needs
from .programs import Program, log_of, programs
from .scene import Scene

_USERS_CHOICE = frozenset(
    {"v", "feature-gates", "register-with-taints", "node-labels", "system-reserved", "kube-reserved", "eviction-hard"}
    | {"eviction-soft", "eviction-soft-grace-period", "node-ip", "windows-priorityclass", "log-dir", "enable-dsr"}
    | {"pod-infra-container-image", "cluster-cidr", "source-vip"}
)
"""Flags whose value is the user's, or that another check looks at."""


def of(scene: Scene) -> tuple[Program, ...]:
    """What has to run on this node."""
    return programs(scene.layout, scene.expected) if scene.whole else ()


def arguments(scene: Scene, service: str, binary: str) -> tuple[str, ...] | None:
    """The arguments with which a service starts its program; None if it is not there or that cannot be told."""
    found = scene.second.service(service)
    return None if found is None else find_arguments(found, binary)


def _outside(scene: Scene) -> Iterator[Seen]:
    """Processes of a program that its service has not started."""
    for program in of(scene):
        service = scene.second.service(program.service)
        found = _processes(scene, program)
        runs = service is not None and service.get("state") == "running"
        if service is None or not runs:
            extra = found
        elif _manager(service) == "sc":
            extra = [one for one in found if one.get("pid") != service.get("pid")]
        else:
            extra = found[1:]  # nssm and other wrappers: one child of theirs
        for one in extra:
            path = one.get("path") or one.get("name")
            yield Seen(
                f"{path} (pid {one.get('pid')})",
                f"it runs, and the service {program.service} ({_manager(service)}) has not started it",
                "one process, started by the service",
            )


def _processes(scene: Scene, program: Program) -> list[Mapping[str, Any]]:
    listed = scene.second.parts.get("processes")
    name = windows_path.name(program.binary).casefold()
    found = listed if isinstance(listed, list) else []
    return [one for one in found if str(one.get("name", "")).casefold() == name]


def _manager(service: Mapping[str, Any] | None) -> str:
    if service is None:
        return "no service"
    if service.get("nssm"):
        return "nssm"
    return "kube-log-runner" if "kube-log-runner" in str(service.get("image_path") or "").casefold() else "sc"


def _deleting(scene: Scene) -> Iterator[Seen]:
    for program in of(scene):
        if (scene.second.service(program.service) or {}).get("deleting"):
            yield Seen(f"service {program.service}", "it is marked for deletion", "a service that can be started")


def _find_drift(scene: Scene) -> Iterator[Seen]:
    """Flag by flag against what is wanted, and what a program of this release would not start with."""
    version = _version(scene)
    if version is None or not scene.whole:
        return
    for service, binary, table, wanted in _lines(scene, version):
        argv = arguments(scene, service, binary)
        if argv is not None:
            drift = [*differences(argv, wanted, table, version), *_impossible(service, argv, version, scene)]
            own = "--hostname-override" if table is KUBE_PROXY else "\0"  # has its own check
            yield from _as_seen(service, [each for each in drift if own not in each], argv)
    layout = scene.layout
    argv = arguments(scene, layout.flanneld_service, layout.flanneld_binary) if scene.expected.runs_flannel else None
    if argv is not None:
        yield from _as_seen(layout.flanneld_service, list(_of_flanneld(argv, scene)), argv)


def _as_seen(service: str, drift: Sequence[str], argv: Sequence[str]) -> Iterator[Seen]:
    if drift:
        said = "; ".join(each.rstrip(".") for each in drift)
        yield Seen(f"service {service}", f"it {said}", evidence=(f"{service}: {' '.join(argv)}",))


def _version(scene: Scene) -> Version | None:
    known = scene.tried is not None and scene.expected.kubernetes
    return scene.tried.version if known and scene.tried else None


def differences(argv: Sequence[str], wanted: Sequence[str], table: FlagTable, version: Version) -> Iterator[str]:
    """Flag by flag, what of `wanted` is missing or another on the command line; the user's own choices are left out."""
    is_line = read((("it", argv),), table, version.line)
    for flag in read((("it", wanted),), table, version.line).given:
        if flag.name in _USERS_CHOICE:
            continue
        found = is_line.find_last(flag.name)
        if found is None:
            yield f"lacks {flag.text}"
        elif not _same(found.value, flag.value):
            yield f"has {found.text}, wanted is {flag.text}"


def _same(left: str, right: str) -> bool:
    """Paths and names are the same in any case and with either slash."""
    return left.replace("/", "\\").casefold() == right.replace("/", "\\").casefold()


def _lines(scene: Scene, version: Version) -> Iterator[tuple[str, str, FlagTable, tuple[str, ...]]]:
    """Service, binary, its flags and the arguments that are wanted, for kubelet and kube-proxy."""
    layout, expected, tried = scene.layout, scene.expected, scene.tried
    if expected is None or tried is None:
        return
    options = replace(expected.kubelet, version=str(version))
    yield (
        layout.kubelet_service,
        layout.kubelet_binary,
        KUBELET,
        kubelet_args.arguments(kubelet_args.Kubelet(options, layout)),
    )
    if expected.runs_kube_proxy and expected.network_mode in kube_proxy_args.NETWORKS:
        own = replace(
            expected.kube_proxy,
            version=str(version),
            network_mode=expected.network_mode,
            network_name=expected.network_name,
        )
        proxy = kube_proxy_args.KubeProxy(own, layout, source_vip="any")
        yield layout.kube_proxy_service, layout.kube_proxy_binary, KUBE_PROXY, kube_proxy_args.arguments(proxy)


def _of_flanneld(argv: Sequence[str], scene: Scene) -> Iterator[str]:
    """The three of Kubernetes' page that do not depend on the node's address; --iface has its own check."""
    found = {name.lstrip("-"): value if equals else "true" for name, equals, value in (w.partition("=") for w in argv)}
    wanted = {"kubeconfig-file": scene.layout.flanneld_kubeconfig, "ip-masq": "1", "kube-subnet-mgr": "1"}
    for name, value in wanted.items():
        if name not in found:
            yield f"lacks --{name}={value}"
        elif not _same({"true": "1", "false": "0"}.get(found[name], found[name]), value):
            yield f"has --{name}={found[name]}, wanted is --{name}={value}"


def _impossible(service: str, argv: Sequence[str], version: Version, scene: Scene) -> list[str]:
    """Why a program of this release would not start with these arguments."""
    if service == scene.layout.kubelet_service:
        return [f"would not start: {each}" for each in kubelet_check.check_command_line(argv, version)]
    found = scene.second.service(service) or {}
    environment = [*(found.get("environment") or ()), *((found.get("nssm") or {}).get("AppEnvironmentExtra") or ())]
    said = kube_proxy_args.check_command_line(argv, version, names_of(environment))
    return [f"would not work: {each}" for each in said]


def line_of(argv: Sequence[str], table: FlagTable, scene: Scene) -> CommandLine:
    """The arguments, read as a program of the node's release reads them."""
    version = _version(scene)
    return read((("it", argv),), table, version.line if version else NEWEST)


def _untold(scene: Scene) -> Iterator[Seen]:
    """Services whose arguments cannot be told, and what kube-proxy takes from a file."""
    if (version := _version(scene)) is None:
        return
    for service, binary, table, _wanted in _lines(scene, version):
        argv = arguments(scene, service, binary)
        if scene.second.service(service) is not None and argv is None:
            yield Seen(
                f"service {service}",
                "with which arguments it runs cannot be told: it starts a script",
                remedy=advice(f"nssm.exe dump {service}"),
            )
        elif argv is not None and table is KUBE_PROXY and (config := line_of(argv, table, scene).find_last("config")):
            name = scene.expected.node_name
            yield Seen(
                f"service {service}",
                f"it takes its settings from {config.value}, which was not read",
                remedy=advice(f"Look that hostnameOverride there is {name}: findstr hostnameOverride {config.value}"),
            )


def _find_lost(scene: Scene) -> Iterator[Seen]:
    """Programs whose output goes to no file."""
    for program in of(scene):
        service = scene.second.service(program.service)
        if service is None:
            continue
        log = log_of(program, scene.second)
        if log.file or log.folder:
            continue
        if service.get("nssm"):
            file = windows_path.join(scene.layout.log_dir, f"{program.service}.log")
            by_hand = "; ".join(f"nssm.exe set {program.service} {name} {file}" for name in ("AppStdout", "AppStderr"))
            yield Seen(
                f"service {program.service}",
                "what its program prints goes nowhere",
                "a file for it",
                converge(program.role, text=f"{by_hand}; then restart the service."),
            )
        else:
            yield Seen(
                f"service {program.service}",
                "under sc it writes no file: Windows gives a service no console, and Kubernetes' programs have no flag "
                "for one from 1.26 on",
                "a file for what it prints",
                converge(
                    program.role,
                    text="Put kube-log-runner.exe -log-file FILE before the program in the service's command line.",
                ),
            )


CHECKS = (
    Check(
        Cause(
            "services.outside",
            ERROR,
            "A program runs outside its service",
            "Such a program ends with the session that started it (a window of start.ps1), and a second one beside the "
            "service writes the same things.",
            converge(text="Close that window or end that process, then start its service.", ends=(Ends.PODS,)),
            area=Area.PROGRAMS,
        ),
        _outside,
        needs=Needs.TRIED,
    ),
    Check(
        CAUSES["services.deleting"],
        _deleting,
        needs=Needs.TRIED,
    ),
    Check(
        Cause(
            "services.arguments",
            ERROR,
            "A service has other arguments",
            "Somebody has changed them, or they are of another release of this collection or of Kubernetes.",
            converge(
                text=(
                    "Compare sc.exe qc SERVICE, or nssm.exe dump SERVICE, with what is wanted; set it and restart "
                    "the service."
                )
            ),
            explains=("kubelet.crashes", "kube-proxy.crashes", "flannel.crashes"),
            area=Area.PROGRAMS,
        ),
        _find_drift,
        needs=Needs.TRIED,
    ),
    Check(
        Cause(
            "services.arguments-not-read",
            NOTE,
            "With which arguments a service runs is not known",
            "",
            advice("nssm.exe dump SERVICE"),
            area=Area.PROGRAMS,
        ),
        _untold,
        needs=Needs.TRIED,
    ),
    Check(
        Cause(
            "services.output",
            ERROR,
            "What a program prints is lost",
            "Nothing more can be said without its log.",
            converge(
                text=(
                    "Give the service a file for what it prints: nssm.exe set SERVICE AppStdout FILE and AppStderr, "
                    "or kube-log-runner.exe -log-file FILE before the program."
                )
            ),
            explains=("*.no-log",),
            area=Area.PROGRAMS,
        ),
        _find_lost,
        needs=Needs.TRIED,
    ),
)
