# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services and their programs: who runs them, with which arguments, where do they log, how did they end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..components.flag_check import CommandLine, read
from ..components.kube_proxy import kube_proxy_args
from ..components.kubelet import kubelet, kubelet_args, kubelet_check
from ..diagnosis import programs as verify
from ..diagnosis.finding import WARNING
from ..engine import windows_path
from ..facts.flag_table import NEWEST, FlagTable
from ..facts.kube_proxy_flags import KUBE_PROXY
from ..facts.kubelet_flags import KUBELET
from ..facts.version import Version
from .evidence import Evidence
from .model import Answer, broken, cannot_tell, does_not_apply, ok

START_TYPES = {0: "boot", 1: "system", 2: "automatic", 3: "on demand", 4: "disabled"}
DISABLED = 4
NEVER_STARTED = 1077
"""ERROR_SERVICE_NEVER_STARTED: the exit code of a service that was not started since the machine was. Source:
learn.microsoft.com, System error codes (1000 to 1299)."""

RUNS = ("*.not-installed", "*.disabled", "*.stopped", "*.crashes", "*.no-pipe", "*.unhealthy", "node.*")
"""The findings about programs that do not run, and about the Node."""
_USERS_CHOICE = frozenset(
    {"v", "feature-gates", "register-with-taints", "node-labels", "system-reserved", "kube-reserved", "eviction-hard"}
    | {"eviction-soft", "eviction-soft-grace-period", "node-ip", "windows-priorityclass", "log-dir", "enable-dsr"}
    | {"pod-infra-container-image", "cluster-cidr", "source-vip"}
)
"""Flags whose value is the user's, or that another check looks at."""


def programs(evidence: Evidence) -> tuple[verify.Program, ...]:
    """What has to run on this node."""
    return verify.programs(evidence.layout, evidence.expected)


def completed(evidence: Evidence) -> Answer:
    """Processes run, answer and log; the Node is Ready."""
    wrong = evidence.of(*RUNS)
    seen = [f"{program.service}: {_state(evidence, program)}" for program in programs(evidence)]
    view = evidence.cluster
    if view is not None and evidence.expected.kubernetes:
        seen.append(f"Node {evidence.expected.node_name}: {_ready(view.node)}")
    if wrong:
        return broken(
            " ".join(one.text for one in wrong), " ".join(dict.fromkeys(one.remedy.text for one in wrong)), seen
        )
    warned = [one.text for one in evidence.of("*", severity=WARNING)]
    if view is None and evidence.expected.kubernetes:
        return cannot_tell(
            f"The services run and answer; whether the Node is Ready is not known: {evidence.no_cluster}",
            "Name a kubeconfig in winkube_cluster.kubeconfig.",
            f"kubectl get node {evidence.expected.node_name}",
            (*seen, *warned),
        )
    return ok("All services run, answer where they can be asked, and the Node is Ready.", (*seen, *warned))


def managers(evidence: Evidence) -> Answer:
    """Which manager owns each service; processes that run outside one."""
    seen, outside = [], []
    for program in programs(evidence):
        service = evidence.service(program.service)
        found = _processes(evidence, program)
        seen.append(f"{program.service}: {_manager(service)}")
        runs = service is not None and service.get("state") == "running"
        if service is None or not runs:
            extra = found
        elif _manager(service) == "sc":
            extra = [one for one in found if one.get("pid") != service.get("pid")]
        else:
            extra = found[1:]  # nssm and other wrappers: one child of theirs
        outside += [f"{one.get('path') or one.get('name')} (pid {one.get('pid')})" for one in extra]
    if outside:
        return broken(
            f"Started outside a service: {', '.join(outside)}. Such a program ends with the session that started it "
            "(a window of start.ps1), and a second one beside the service writes the same things.",
            "Close that window or end that process, then run site.yml, which makes and starts the services.",
            seen,
        )
    return ok("Each program runs as a service, and only once.", seen)


def queried(evidence: Evidence) -> Answer:
    """What `sc.exe query` and `sc.exe qc` say of each service."""
    seen, wrong, remedies = [], [], []
    for program in programs(evidence):
        service = evidence.service(program.service)
        if service is None:
            seen.append(f"{program.service}: no such service (sc.exe: 1060)")
            wrong.append(f"there is no service {program.service}")
            remedies.append(f"Run site.yml with the tag {program.role}.")
            continue
        start = START_TYPES.get(service.get("start", -1), "unknown")
        seen.append(
            f"{program.service}: {service.get('state')}, start {start}, runs {service.get('image_path') or '?'}"
        )
        if service.get("deleting"):
            wrong.append(f"{program.service} is marked for deletion")
            remedies.append("Close what holds it open (services.msc, Task Manager), or restart the machine.")
        elif service.get("start") == DISABLED:
            wrong.append(f"{program.service} is disabled")
            remedies.append(f"sc.exe config {program.service} start= auto")
        elif service.get("state") != "running":
            wrong.append(f"{program.service} is {service.get('state')}")
            remedies.append(f"sc.exe start {program.service}")
    if wrong:
        return broken(f"{'; '.join(wrong)}.", " ".join(dict.fromkeys(remedies)), seen)
    return ok("Each service is there, starts with the machine and runs.", seen)


def drifted(evidence: Evidence) -> Answer:
    """The arguments that each service really gives its program, flag by flag against those that are wanted."""
    version = evidence.wanted.version
    if not evidence.expected.kubernetes or version is None:
        return does_not_apply("the node runs no Kubernetes that is known (winkube_kubernetes_version is empty).")
    seen: list[str] = []
    drift: list[str] = []
    unknown: list[str] = []
    for service, binary, table, wanted in _lines(evidence, version):
        argv = evidence.arguments(service, binary)
        if argv is None:
            unknown.append(service)
            continue
        seen.append(f"{service}: {' '.join(argv)}")
        drift += [f"{service} {each}" for each in differences(argv, wanted, table, version)]
        drift += [f"{service}: {each}" for each in _impossible(service, argv, version, evidence)]
    if evidence.expected.flannel:
        argv = evidence.arguments(evidence.layout.flanneld_service, evidence.layout.flanneld_binary)
        if argv is None:
            unknown.append(evidence.layout.flanneld_service)
        else:
            seen.append(f"{evidence.layout.flanneld_service}: {' '.join(argv)}")
            drift += [f"{evidence.layout.flanneld_service} {each}" for each in _of_flanneld(argv, evidence)]
    if drift:
        return broken(
            " ".join(each if each.endswith(".") else f"{each}." for each in drift),
            "Run site.yml: it sets the arguments and restarts what has others. --check --diff shows them first.",
            seen,
        )
    if unknown:
        return cannot_tell(
            f"With which arguments {' and '.join(unknown)} runs cannot be told: the service is not there or "
            f"starts a script.",
            run=f"nssm.exe dump {unknown[0]}",
            seen=seen,
        )
    return ok("Each service has the arguments that this collection gives it.", seen)


def differences(argv: Sequence[str], wanted: Sequence[str], table: FlagTable, version: Version) -> Iterator[str]:
    """Flag by flag, what of `wanted` is missing or another on the command line; the user's own choices are left out."""
    is_line = read((("it", argv),), table, version.line)
    for flag in read((("it", wanted),), table, version.line).given:
        if flag.name in _USERS_CHOICE:
            continue
        found = is_line.last(flag.name)
        if found is None:
            yield f"lacks {flag.text}"
        elif not _same(found.value, flag.value):
            yield f"has {found.text}, wanted is {flag.text}"


def redirected(evidence: Evidence) -> Answer:
    """Whether what each program prints goes to a file."""
    seen: list[str] = []
    lost: list[verify.Program] = []
    by_sc: list[verify.Program] = []
    for program in programs(evidence):
        service = evidence.service(program.service)
        if service is None:
            continue
        log = verify.log_of(program, evidence.second)
        seen.append(f"{program.service}: {log.file or log.folder or 'no file'}")
        if log.file or log.folder:
            continue
        (lost if service.get("nssm") else by_sc).append(program)
    if lost:
        commands = []
        for program in lost:
            file = windows_path.join(evidence.layout.log_dir, f"{program.service}.log")
            commands += [
                f"nssm.exe set {program.service} AppStdout {file}",
                f"nssm.exe set {program.service} AppStderr {file}",
            ]
        return broken(
            f"What {' and '.join(program.service for program in lost)} prints goes nowhere.",
            f"Run site.yml with the tag {lost[0].role}, or: {'; '.join(commands)}; then restart the service.",
            seen,
        )
    if by_sc:
        return broken(
            f"Under sc, {' and '.join(program.service for program in by_sc)} writes no file: Windows gives a service "
            "no console, and Kubernetes' programs have no flag for one from 1.26 on.",
            f"Run site.yml with the tag {by_sc[0].role}: kube-log-runner.exe then keeps what it prints.",
            seen,
        )
    return ok("Each program's output goes to a file.", seen)


def hostname_override(evidence: Evidence) -> Answer:
    """Kube-proxy has to know the node's name."""
    layout, name = evidence.layout, evidence.expected.node_name
    if not evidence.expected.kube_proxy:
        return does_not_apply("kube-proxy is no service of this host.")
    argv = evidence.arguments(layout.kube_proxy_service, layout.kube_proxy_binary)
    if argv is None:
        return cannot_tell(
            f"With which arguments {layout.kube_proxy_service} starts kube-proxy cannot be told.",
            f"Run site.yml with the tag kube_proxy, or look that it has --hostname-override={name}.",
            f"nssm.exe get {layout.kube_proxy_service} AppParameters",
        )
    line = line_of(argv, KUBE_PROXY, evidence)
    given = line.last("hostname-override")
    seen = [f"{layout.kube_proxy_service}: {' '.join(argv)}"]
    remedy = (
        f"Run site.yml with the tag kube_proxy, which makes the service anew, or: "
        f"{layout.kube_proxy_binary} --hostname-override={name} (and its other arguments)."
    )
    if given is None and (config := line.last("config")):
        return cannot_tell(
            f"kube-proxy takes its settings from {config.value}.",
            f"Look that hostnameOverride there is {name}.",
            f"findstr hostnameOverride {config.value}",
            seen,
        )
    effect = "kube-proxy takes endpoints of the node's own containers for another node's, and deletes them"
    if given is None:
        return broken(
            f"kube-proxy has no --hostname-override: where the machine's name is another, {effect}.", remedy, seen
        )
    if given.value.casefold() != name.casefold():
        return broken(f"kube-proxy has {given.text}, but the Node is {name}: {effect}.", remedy, seen)
    return ok(f"kube-proxy knows the node's name ({given.text}).", seen)


def exit_codes(evidence: Evidence) -> Answer:
    """The exit codes of the services as Windows has them, nothing made of them."""
    seen, wrong = [], []
    for program in programs(evidence):
        service = evidence.service(program.service)
        if service is None:
            continue
        seen.append(exit_line(service))
        code = service.get("exit_code") or 0
        if service.get("state") != "running" and code not in (0, NEVER_STARTED):
            wrong.append(exit_line(service))
    if wrong:
        return broken(
            f"Ended with an error: {'; '.join(wrong)}.",
            "net.exe helpmsg <WIN32_EXIT_CODE> says what Windows' own codes mean; 1066 means that "
            "SERVICE_EXIT_CODE is the "
            "program's own code. The end of the service's log has the reason.",
            seen,
        )
    return ok("No service has ended with an error.", seen)


def exit_line(service: Mapping[str, Any]) -> str:
    """A service's exit codes in the words of `sc.exe query`, unchanged."""
    win32, own = int(service.get("exit_code") or 0), int(service.get("service_exit_code") or 0)
    return (
        f"{service.get('name')}: {service.get('state')}, WIN32_EXIT_CODE {win32} (0x{win32 & 0xFFFFFFFF:x}), "
        f"SERVICE_EXIT_CODE {own} (0x{own & 0xFFFFFFFF:x})"
    )


def _state(evidence: Evidence, program: verify.Program) -> str:
    service = evidence.service(program.service)
    return str(service.get("state")) if service else "not there"


def _ready(node: Mapping[str, Any] | None) -> str:
    if node is None:
        return "not there"
    conditions = (node.get("status") or {}).get("conditions") or ()
    return next(
        (f"Ready={one.get('status')}" for one in conditions if one.get("type") == "Ready"), "no condition Ready"
    )


def _processes(evidence: Evidence, program: verify.Program) -> list[Mapping[str, Any]]:
    listed = evidence.second.parts.get("processes")
    name = windows_path.name(program.binary).casefold()
    found = listed if isinstance(listed, list) else []
    return [one for one in found if str(one.get("name", "")).casefold() == name]


def _manager(service: Mapping[str, Any] | None) -> str:
    if service is None:
        return "no service"
    if service.get("nssm"):
        return "nssm"
    return "kube-log-runner" if "kube-log-runner" in str(service.get("image_path") or "").casefold() else "sc"


def _lines(evidence: Evidence, version: Version) -> Iterator[tuple[str, str, FlagTable, tuple[str, ...]]]:
    """Service, binary, its flags and the arguments that are wanted, for kubelet and kube-proxy."""
    layout, expected, wanted = evidence.layout, evidence.expected, evidence.wanted
    settings = kubelet_args.KubeletSettings(
        version=version,
        node_name=expected.node_name,
        cluster_dns=(wanted.dns_service_ip,),
        cluster_domain=wanted.cluster_domain,
        **kubelet.places(layout, wanted.join),
    )
    yield (
        layout.kubelet_service,
        layout.kubelet_binary,
        KUBELET,
        (*kubelet_args.arguments(settings), *kubelet.own_arguments(layout)),
    )
    if expected.kube_proxy and expected.network_mode in kube_proxy_args.NETWORKS:
        proxy = kube_proxy_args.KubeProxySettings(
            version=version,
            node_name=expected.node_name,
            mode="overlay" if expected.network_mode == "overlay" else "l2bridge",
            network=expected.network_name,
            source_vip="any",
            kubeconfig=layout.kube_proxy_kubeconfig,
            log_dir=layout.log_dir,
        )
        yield layout.kube_proxy_service, layout.kube_proxy_binary, KUBE_PROXY, kube_proxy_args.arguments(proxy)


def _of_flanneld(argv: Sequence[str], evidence: Evidence) -> Iterator[str]:
    """The three of Kubernetes' page that do not depend on the node's address; --iface has its own check."""
    found = {name.lstrip("-"): value if equals else "true" for name, equals, value in (w.partition("=") for w in argv)}
    wanted = {
        "kubeconfig-file": evidence.layout.flanneld_kubeconfig,
        "ip-masq": "1",
        "kube-subnet-mgr": "1",
    }
    for name, value in wanted.items():
        if name not in found:
            yield f"lacks --{name}={value}"
        elif not _same({"true": "1", "false": "0"}.get(found[name], found[name]), value):
            yield f"has --{name}={found[name]}, wanted is --{name}={value}"


def _impossible(service: str, argv: Sequence[str], version: Version, evidence: Evidence) -> list[str]:
    """Why a program of this release would not start with these arguments; --hostname-override has its own check."""
    if service == evidence.layout.kubelet_service:
        return kubelet_check.check_command_line(argv, version)
    found = evidence.service(service) or {}
    environment = [*(found.get("environment") or ()), *((found.get("nssm") or {}).get("AppEnvironmentExtra") or ())]
    said = kube_proxy_args.check_command_line(argv, version, [str(one) for one in environment])
    return [sentence for sentence in said if "--hostname-override is missing" not in sentence]


def line_of(argv: Sequence[str], table: FlagTable, evidence: Evidence) -> CommandLine:
    """The arguments, read as a program of the node's release reads them."""
    version = evidence.wanted.version
    return read((("it", argv),), table, version.line if version else NEWEST)


def _same(left: str, right: str) -> bool:
    """Paths and names are the same in any case and with either slash."""
    return left.replace("/", "\\").casefold() == right.replace("/", "\\").casefold()
