# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Windows does differently for containers and pods: users, names, signals, images, the host's network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..foreign.windows import Pattern
from .catalog import PodCase
from .images import image_os, linux_for_sure
from .model import Hit, Severity, as_list, as_map, as_text
from .rule import ALL_CONTAINERS, DOC, KEP, Find, Remove, Rule, always, by_steps, fields, needing, says_yes, short


def _windows_options(case: PodCase) -> Iterator[tuple[Any, dict[str, Any], str]]:
    yield ("spec",), as_map(case.pod.security.get("windowsOptions")), ""
    for container in case.pod.containers:
        yield container.path, as_map(container.security.get("windowsOptions")), container.name


# Source: k8s.io/kubernetes pkg/apis/core/validation validateWindowsSecurityContextOptions, unchanged from v1.22 to
# v1.37.
_NETBIOS = Pattern(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS_DOMAIN = Pattern(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_NOT_IN_USER = Pattern(r'["/\\:;|=,+*?<>@\[\]]')
_LONGEST_DOMAIN = 255
_LONGEST_USER = 104


def user_name_fault(name: str) -> str:
    """Why the API server refuses this runAsUserName; empty if it accepts it."""
    if not name:
        return "it is empty"
    if re.search(r"[\x00-\x1f\x7f]", name):
        return "it holds control characters"
    if name.count("\\") > 1:
        return "it has more than one backslash"
    domain, backslash, user = name.rpartition("\\")
    tests = (
        (len(domain) > _LONGEST_DOMAIN, f"its domain is longer than {_LONGEST_DOMAIN} characters"),
        (
            backslash and not (_NETBIOS.fullmatch(domain) or _DNS_DOMAIN.fullmatch(domain)),
            "its domain is neither a NetBIOS nor a DNS name",
        ),
        (not user, "its user is empty"),
        (len(user) > _LONGEST_USER, f"its user is longer than {_LONGEST_USER} characters"),
        (bool(user) and not user.strip(". "), "its user consists of periods and blanks"),
        (_NOT_IN_USER.search(user), 'its user holds one of " / \\ : ; | = , + * ? < > @ [ ]'),
    )
    return next((fault for broken, fault in tests if broken), "")


@needing("runAsUserName")
def _bad_user_names(case: PodCase) -> Iterator[Hit]:
    for path, options, container in _windows_options(case):
        name = options.get("runAsUserName")
        if isinstance(name, str) and (fault := user_name_fault(name)):
            hit = (*path, "securityContext", "windowsOptions", "runAsUserName")
            yield Hit(hit, {"value": short(name), "fault": fault}, container)


@needing("runAsNonRoot")
def _administrator_as_non_root(case: PodCase) -> Iterator[Hit]:
    """A container's setting overrides the pod's, field by field, as in the kubelet's effective security context."""
    at_pod = as_map(case.pod.security.get("windowsOptions")).get("runAsUserName")
    for container in case.pod.containers:
        options = as_map(container.security.get("windowsOptions"))
        user = as_text(options.get("runAsUserName", at_pod)).lower()
        non_root = container.security.get("runAsNonRoot", case.pod.security.get("runAsNonRoot"))
        if non_root is True and user.rpartition("\\")[2] == "containeradministrator":
            root = container.path if "runAsUserName" in options else ("spec",)
            yield Hit((*root, "securityContext", "windowsOptions", "runAsUserName"), {}, container.name)


@needing("terminationGracePeriodSeconds")
def _grace_period(case: PodCase) -> Iterator[Hit]:
    period = case.pod.spec.get("terminationGracePeriodSeconds")
    # 30 is the API server's default, so in a live object it may not be the author's. 0 means no grace.
    if isinstance(period, int) and period not in (0, 30):
        yield Hit(("spec", "terminationGracePeriodSeconds"), {"value": str(period)})


def _linux_images(for_sure: bool) -> Find:
    def find(case: PodCase) -> Iterator[Hit]:
        for container in case.pod.containers:
            if image_os(container.image) == "linux" and linux_for_sure(container.image) is for_sure:
                values = {"value": container.image, "why": case.target.why}
                yield Hit((*container.path, "image"), values, container.name)

    return find


def _problem_detector(case: PodCase) -> Iterator[Hit]:
    for container in case.pod.containers:
        if "node-problem-detector" in container.image:
            yield Hit((*container.path, "image"), {"value": container.image}, container.name)


_LOGS_TO_WINDOWS = Pattern(r"windows/servercore/iis|dotnet/framework/(aspnet|wcf)")


_ITS_OWN_PROGRAM = ("servicemonitor", "w3wp", "w3svc")


def _without_log_monitor(case: PodCase) -> Iterator[Hit]:
    """An image that logs to the event log, ETW or files and runs its own program without LogMonitor."""
    for container in case.pod.containers:
        command = " ".join(map(str, as_list(container.value.get("command")))).lower()
        run = f"{command} {' '.join(map(str, as_list(container.value.get('args'))))}".lower()
        own = not command or any(name in run for name in _ITS_OWN_PROGRAM)
        if own and _LOGS_TO_WINDOWS.search(container.image) and "logmonitor" not in run:
            yield Hit((*container.path, "image"), {"value": container.image}, container.name)


@needing("stopSignal")
def _stop_signals(case: PodCase) -> Iterator[Hit]:
    for container in case.pod.containers:
        signal = as_map(container.value.get("lifecycle")).get("stopSignal")
        if isinstance(signal, str) and signal not in ("SIGTERM", "SIGKILL"):
            yield Hit((*container.path, "lifecycle", "stopSignal"), {"value": signal}, container.name)


@needing("dnsConfig")
def _more_than_one_search(case: PodCase) -> Iterator[Hit]:
    searches = as_list(as_map(case.pod.spec.get("dnsConfig")).get("searches"))
    if len(searches) > 1:
        yield Hit(("spec", "dnsConfig", "searches"), {"value": ", ".join(map(str, searches))})


@needing("hostNetwork")
def _host_network(case: PodCase) -> Iterator[Hit]:
    """hostNetwork without HostProcess, which requires it. The gate WindowsHostNetwork (alpha 1.26, deprecated 1.33)
    allows both."""
    gate = case.profile.host_network_gate and says_yes("host-network-by-gate", case)
    if case.pod.spec.get("hostNetwork") is True and not case.pod.host_process and not gate:
        yield Hit(("spec", "hostNetwork"))


def _is_host_process(case: PodCase) -> bool:
    return case.pod.host_process


@needing("dnsPolicy")
def _dns_without_servers(case: PodCase) -> Iterator[Hit]:
    servers = as_list(as_map(case.pod.spec.get("dnsConfig")).get("nameservers"))
    if case.pod.spec.get("dnsPolicy") == "None" and not servers:
        yield Hit(("spec", "dnsPolicy"))


@needing("hostPort")
def _host_ports(case: PodCase) -> Iterator[Hit]:
    """On the host's network hostPort and containerPort are the same port."""
    if case.pod.spec.get("hostNetwork") is not True:
        return
    for container in case.pod.containers:
        for number, port in enumerate(map(as_map, as_list(container.value.get("ports")))):
            own, host = port.get("containerPort"), port.get("hostPort")
            if host and own != host:
                values = {"value": str(own), "host": str(host)}
                yield Hit((*container.path, "ports", number, "hostPort"), values, container.name)


@needing("procMount")
def _find_unmasked(case: PodCase) -> Iterator[Hit]:
    """For pods of any system; with os.name windows another rule reports the field."""
    for container in case.pod.containers:
        kind = container.security.get("procMount")
        wrong = kind is not None and kind not in ("Default", "Unmasked")
        if wrong or (kind == "Unmasked" and case.pod.spec.get("hostUsers") is not False):
            what = (
                "there are Default and Unmasked" if wrong else "Unmasked needs hostUsers: false, which Windows has not"
            )
            yield Hit(
                (*container.path, "securityContext", "procMount"), {"value": short(kind), "what": what}, container.name
            )


_DEFAULT_MESSAGE_PATH = "/dev/termination-log"


_OF_THE_NODE = ("localhost", "127.0.0.1", "::1")


@needing("host")
def _probes_of_the_node(case: PodCase) -> Iterator[Hit]:
    if case.pod.spec.get("hostNetwork") is True:
        return
    for container in case.pod.containers:
        for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
            for way in ("httpGet", "tcpSocket"):
                host = as_map(as_map(container.value.get(probe)).get(way)).get("host")
                if host in _OF_THE_NODE:
                    yield Hit((*container.path, probe, way, "host"), {"value": str(host)}, container.name)


RULES: tuple[Rule, ...] = (
    Rule(
        id="probe-of-the-node",
        title="Probes that ask the node itself",
        level=always(Severity.ERROR),
        find=_probes_of_the_node,
        message="host is {value}: the kubelet asks from the node, so it asks the node itself, and the pod"
        " counts as dead.",
        remedy="Leave host out: then the kubelet asks the pod.",
        source="k8s.io/kubernetes pkg/kubelet/prober, pkg/probe/http; Kubernetes documentation, Configure probes",
        paths=(f"{ALL_CONTAINERS}.*Probe.httpGet.host", f"{ALL_CONTAINERS}.*Probe.tcpSocket.host"),
    ),
    Rule(
        id="dns-without-server",
        title="dnsPolicy None without a name server",
        level=always(Severity.ERROR),
        find=_dns_without_servers,
        message="dnsPolicy is None and dnsConfig names no server: the API server rejects the pod.",
        remedy="Name one in dnsConfig.nameservers, or use ClusterFirst.",
        source="k8s.io/kubernetes pkg/apis/core/validation validatePodDNSConfig",
        paths=("spec.dnsPolicy", "spec.dnsConfig.nameservers"),
    ),
    Rule(
        id="host-port-mismatch",
        title="hostPort that is not the containerPort of a pod on the host's network",
        level=always(Severity.ERROR),
        find=_host_ports,
        message="containerPort is {value} and hostPort {host} in a pod with hostNetwork: true. The API server rejects"
        " the pod.",
        remedy="Remove hostPort, or make both the same.",
        source="k8s.io/kubernetes pkg/apis/core/validation validateHostNetwork",
        paths=(f"{ALL_CONTAINERS}.ports[*].hostPort",),
    ),
    Rule(
        id="invalid-proc-mount",
        title="procMount that the API server refuses",
        level=by_steps("invalid-proc-mount"),
        find=_find_unmasked,
        message="securityContext.procMount is {value}: {what}. The API server rejects the pod.",
        remedy="Remove the field.",
        source="k8s.io/kubernetes pkg/apis/core/validation ValidateSecurityContext, v1.33 on (gate ProcMountType)",
        paths=(f"{ALL_CONTAINERS}.securityContext.procMount",),
    ),
    Rule(
        id="run-as-non-root",
        title="runAsNonRoot keeps out ContainerAdministrator",
        level=always(Severity.INFO),
        find=fields(
            "spec.securityContext.runAsNonRoot",
            f"{ALL_CONTAINERS}.securityContext.runAsNonRoot",
            test=lambda value: value is True,
            unless=lambda case: next(iter(_administrator_as_non_root(case)), None) is not None,
        ),
        message="runAsNonRoot on Windows means: the container does not run as ContainerAdministrator, and nothing"
        " else.",
        remedy="Nothing, if that is meant. The user is named in securityContext.windowsOptions.runAsUserName, for"
        " example ContainerUser.",
        source=DOC,
        paths=("spec.securityContext.runAsNonRoot", f"{ALL_CONTAINERS}.securityContext.runAsNonRoot"),
    ),
    Rule(
        id="administrator-as-non-root",
        title="runAsNonRoot together with ContainerAdministrator",
        level=always(Severity.ERROR),
        find=_administrator_as_non_root,
        message="runAsUserName is ContainerAdministrator and runAsNonRoot is true: the kubelet will not start the"
        " container.",
        remedy="Use ContainerUser (or a user of the image), or remove runAsNonRoot.",
        source=DOC,
        paths=(f"{ALL_CONTAINERS}.securityContext.windowsOptions.runAsUserName",),
    ),
    Rule(
        id="invalid-user-name",
        title="Form of runAsUserName",
        level=always(Severity.ERROR),
        find=_bad_user_names,
        message="runAsUserName {value} is not a Windows user: {fault}. The API server rejects the pod.",
        remedy=r"Write USER or DOMAIN\USER, for example ContainerUser or 'NT AUTHORITY\SYSTEM' (HostProcess).",
        source="k8s.io/kubernetes pkg/apis/core/validation validateWindowsSecurityContextOptions, v1.22 to v1.37;",
        paths=(f"{ALL_CONTAINERS}.securityContext.windowsOptions.runAsUserName",),
    ),
    Rule(
        id="termination-message-path",
        title="terminationMessagePath other than the default",
        level=always(Severity.WARNING),
        find=fields(f"{ALL_CONTAINERS}.terminationMessagePath", test=lambda value: value != _DEFAULT_MESSAGE_PATH),
        message="terminationMessagePath is {value}; Windows cannot map single files, only the default"
        " /dev/termination-log works.",
        remedy="Remove the field, or use terminationMessagePolicy: FallbackToLogsOnError.",
        source=DOC + "; " + KEP,
        paths=(f"{ALL_CONTAINERS}.terminationMessagePath",),
        fix=Remove(),
    ),
    Rule(
        id="host-network",
        title="hostNetwork",
        level=always(Severity.WARNING),
        find=_host_network,
        message="hostNetwork is true; only HostProcess pods share the network of a Windows host, this one"
        " gets its own. 1.26 to 1.32 had it as"
        " an alpha feature"
        " behind the gate WindowsHostNetwork, deprecated in 1.33.",
        remedy="Remove the field and use a Service or hostPort; what needs the host's network runs as a"
        " HostProcess pod.",
        source=DOC + ", v1.22, v1.27; k8s.io/kubernetes pkg/features v1.26.0, v1.33.0",
        paths=("spec.hostNetwork",),
    ),
    Rule(
        id="dns-policy-host-net",
        title="dnsPolicy ClusterFirstWithHostNet",
        level=always(Severity.WARNING),
        find=fields("spec.dnsPolicy", test=lambda value: value == "ClusterFirstWithHostNet", unless=_is_host_process),
        message="dnsPolicy is ClusterFirstWithHostNet; Windows pods have a container network, never the host's: it is"
        " documented as not supported, and the kubelet takes it as ClusterFirst.",
        remedy="Use ClusterFirst, the default.",
        source=DOC + "; k8s.io/kubernetes pkg/kubelet/network/dns getPodDNSType",
        paths=("spec.dnsPolicy",),
    ),
    Rule(
        id="dns-policy",
        title="dnsPolicy None or Default",
        level=always(Severity.INFO),
        find=fields("spec.dnsPolicy", test=lambda value: value in ("None", "Default")),
        message="dnsPolicy is {value}; the enhancement proposal for Windows nodes names ClusterFirst as the"
        " implemented one.",
        remedy="Try name resolution in such a pod before you rely on it.",
        source=KEP,
        paths=("spec.dnsPolicy",),
    ),
    Rule(
        id="dns-searches",
        title="More than one DNS suffix",
        level=always(Severity.WARNING),
        find=_more_than_one_search,
        message="dnsConfig.searches names {value}; a Windows pod has one DNS suffix.",
        remedy="Keep one suffix and write other names in full.",
        source=DOC,
        paths=("spec.dnsConfig.searches",),
    ),
    Rule(
        id="dns-options",
        title="Options of the resolver",
        level=always(Severity.WARNING),
        find=fields("spec.dnsConfig.options", test=bool),
        message="dnsConfig.options are set; the resolver of Windows knows none of them, ndots neither.",
        remedy="Remove the field, and write names short or in full.",
        source=DOC,
        paths=("spec.dnsConfig.options",),
    ),
    Rule(
        id="termination-grace-period",
        title="terminationGracePeriodSeconds",
        level=by_steps("termination-grace-period"),
        find=_grace_period,
        message="terminationGracePeriodSeconds is {value}. It works with containerd, where the process gets"
        " CTRL_SHUTDOWN_EVENT first;"
        " with Docker Windows ends everything after 5 seconds, set in the container's registry.",
        remedy="Handle the event in the program; with Docker set WaitToKillServiceTimeout in the image.",
        source=DOC,
        paths=("spec.terminationGracePeriodSeconds",),
    ),
    Rule(
        id="stop-signal",
        title="stopSignal that Windows does not have",
        level=by_steps("stop-signal"),
        find=_stop_signals,
        message="lifecycle.stopSignal is {value}; Windows containers know SIGTERM and SIGKILL. The API server leaves"
        " the field out, and rejects the pod where its gate ContainerStopSignals is on (off by default up to 1.37).",
        remedy="Remove the field or use SIGTERM.",
        source="k8s.io/kubernetes pkg/apis/core/validation validateStopSignal, pkg/api/pod dropDisabledFields, v1.33.0"
        " to v1.37.1 (gate ContainerStopSignals)",
        paths=(f"{ALL_CONTAINERS}.lifecycle.stopSignal",),
    ),
    Rule(
        id="linux-image",
        title="Linux image in a Windows pod",
        level=always(Severity.ERROR),
        find=_linux_images(for_sure=True),
        message="{value} is an image for Linux, but the pod is for Windows ({why}). The container does not start.",
        remedy="Use an image for Windows, or move the container to a pod of its own on Linux nodes.",
        source=DOC,
        paths=(f"{ALL_CONTAINERS}.image",),
    ),
    Rule(
        id="linux-image",
        title="Image in a Windows pod whose tag names a Linux distribution",
        level=always(Severity.WARNING),
        find=_linux_images(for_sure=False),
        message="{value} looks by its tag like an image for Linux, but the pod is for Windows ({why}). One pod runs on"
        " one node.",
        remedy="Make sure that the image has a variant for Windows; else move the container to a pod on Linux nodes.",
        source=DOC,
        paths=(f"{ALL_CONTAINERS}.image",),
    ),
    Rule(
        id="node-problem-detector",
        title="Node problem detector",
        level=by_steps("node-problem-detector"),
        find=_problem_detector,
        message="{value}: the node problem detector did not work on Windows up to 1.23, support since then is"
        " preliminary.",
        remedy="Use a Windows build of it and check what it reports, or keep it on Linux nodes.",
        source=DOC + ", v1.22, v1.27",
        paths=(f"{ALL_CONTAINERS}.image",),
    ),
    Rule(
        id="logs-not-on-stdout",
        title="Logs that kubectl logs does not see",
        level=always(Severity.INFO),
        find=_without_log_monitor,
        message="{value} logs to the event log, ETW or files, not to standard output: kubectl logs stays empty.",
        remedy="Start it through LogMonitor: command [C:\\LogMonitor\\LogMonitor.exe, ...] with a"
        " LogMonitorConfig.json.",
        source=DOC,
        paths=(f"{ALL_CONTAINERS}.image",),
    ),
)
