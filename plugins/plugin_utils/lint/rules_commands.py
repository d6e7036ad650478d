# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What containers run and which names they call: heuristics over commands, arguments and environment."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from .catalog import PodCase
from .levels import always
from .model import Hit, Severity, as_map, as_text
from .rule import ALL_CONTAINERS, Rule, commands, environment, mounts, short, volumes

_DOC = "Kubernetes documentation, Windows containers"


_PUBLIC_OR_FILE = frozenset(
    [
        "com",
        "org",
        "net",
        "io",
        "dev",
        "local",
        "localdomain",
        "internal",
        "lan",
        "cloud",
        "app",
        "gov",
        "edu",
        "mil",
        "info",
        "biz",
        "eu",
        "de",
        "uk",
        "us",
        "ch",
        "at",
        "fr",
        "cn",
        "jp",
        "ru",
        "exe",
        "dll",
        "json",
        "yml",
        "yaml",
        "txt",
        "log",
        "conf",
        "config",
        "cfg",
        "ini",
        "xml",
        "ps1",
        "cmd",
        "bat",
        "toml",
        "properties",
        "html",
        "js",
        "py",
        "sh",
        "zip",
        "pem",
        "crt",
        "key",
    ]
)
_HOST_LIKE = re.compile(r"(HOST|ADDR|SERVER|ENDPOINT|URL|URI|SERVICE|BROKER|DNS|DSN)", re.IGNORECASE)
_HALF_NAME = re.compile(
    r"^(?:[a-z]+://)?(?:[^/@\s]+@)?(?P<service>[a-z][a-z0-9-]*)\.(?P<namespace>[a-z][a-z0-9-]*)(?P<svc>\.svc)?(?::\d+)?(?:/.*)?"
    r"$"
)


def _half_names(case: PodCase) -> Iterator[Hit]:
    """Values that name a Service by more than its short name and less than its full one."""
    for path, name, value, container in environment(case):
        match = _HALF_NAME.match(value)
        if match is None:
            continue
        known = (
            match["svc"]
            or match["service"] == "kubernetes"
            or case.catalog.named("Service", match["service"], match["namespace"])
        )
        if known or (_HOST_LIKE.search(name) and match["namespace"] not in _PUBLIC_OR_FILE):
            full = f"{match['service']}.{match['namespace']}.svc.cluster.local"
            yield Hit(path, {"value": short(value), "full": full}, container)


_DNS_TOOL = re.compile(r"\b(nslookup|dig)(?:\.exe)?\b", re.IGNORECASE)
_PING = re.compile(r"\bping(?:\.exe)?\s+(?:[-/]\w+\s+(?:\d+\s+)?)*(?P<host>[\w.:-]+)", re.IGNORECASE)


def _is_external(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host and not re.search(r"\.svc(\.|$)|\.cluster\.local$|\.local$", host)


def _dns_tools(case: PodCase) -> Iterator[Hit]:
    for path, text, container in commands(case):
        tools = {match.group(1).lower() for match in _DNS_TOOL.finditer(text)}
        tools |= {"ping" for match in _PING.finditer(text) if not _is_external(match["host"])}
        for tool in sorted(tools):
            yield Hit(path, {"value": tool}, container)


def _external_pings(case: PodCase) -> Iterator[Hit]:
    for path, text, container in commands(case):
        for match in _PING.finditer(text):
            if _is_external(match["host"]):
                yield Hit(path, {"value": match["host"]}, container)


_LINUX_PATH = re.compile(
    r"""(?:^|[\s"'=])(?P<path>/(?:bin|sbin|usr|etc|var|tmp|opt|dev|proc|sys|root|home)/[\w./-]*)"""
)
_LINUX_SIGNAL = re.compile(r"\bkill\s+-(?:s\s+)?(?P<signal>(?:SIG)?(?:TERM|HUP|INT|QUIT|USR1|USR2)|1|2|3|15)\b")


def _linux_commands(case: PodCase) -> Iterator[Hit]:
    for path, text, container in commands(case):
        for match in _LINUX_PATH.finditer(text):
            yield Hit(path, {"value": match["path"], "what": "path"}, container)
        for match in _LINUX_SIGNAL.finditer(text):
            yield Hit(path, {"value": f"kill -{match['signal']}", "what": "signal"}, container)


_RESOLVER_FILES = re.compile(r"(/etc/(?:resolv\.conf|hosts)|[Ss]ystem32[\\/]drivers[\\/]etc[\\/]hosts)\b")


def _resolver_files(case: PodCase) -> Iterator[Hit]:
    for path, mount, container in mounts(case):
        if match := _RESOLVER_FILES.search(as_text(mount.get("mountPath"))):
            yield Hit((*path, "mountPath"), {"value": match.group(1)}, container)
    for path, volume in volumes(case):
        if match := _RESOLVER_FILES.search(as_text(as_map(volume.get("hostPath")).get("path"))):
            yield Hit((*path, "hostPath", "path"), {"value": match.group(1)})
    for path, _name, value, container in environment(case):
        if match := _RESOLVER_FILES.search(value):
            yield Hit(path, {"value": match.group(1)}, container)


RULES: tuple[Rule, ...] = (
    Rule(
        id="LM-31",
        title="Half-qualified Service names",
        level=always(Severity.WARNING),
        find=_half_names,
        message="{value} is neither a short name nor a full one; Windows resolves only these two, not the in-betweens.",
        remedy="Write {full}, or the short name within the same namespace.",
        source=_DOC + " (S2 L132, L178)",
        paths=(f"{ALL_CONTAINERS}.env[*].value",),
    ),
    Rule(
        id="LM-32",
        title="nslookup, dig and ping for DNS",
        level=always(Severity.INFO),
        find=_dns_tools,
        message="{value} in a command: it does not resolve names as Windows programs do.",
        remedy="Use Resolve-DnsName.",
        source=_DOC + " (S2 L180)",
        paths=(
            f"{ALL_CONTAINERS}.command",
            f"{ALL_CONTAINERS}.args",
            f"{ALL_CONTAINERS}.*Probe.exec",
            f"{ALL_CONTAINERS}.lifecycle",
        ),
    ),
    Rule(
        id="LM-33",
        title="ping to the outside",
        level=always(Severity.WARNING),
        find=_external_pings,
        message="ping {value}: the network plugins of Windows do not translate ICMP on the way out, it gets no answer.",
        remedy="Use curl or Test-NetConnection with a port.",
        source=_DOC + " (S2 L110, L437)",
        paths=(
            f"{ALL_CONTAINERS}.command",
            f"{ALL_CONTAINERS}.args",
            f"{ALL_CONTAINERS}.*Probe.exec",
            f"{ALL_CONTAINERS}.lifecycle",
        ),
    ),
    Rule(
        id="LM-64",
        title="Linux paths and signals in commands",
        level=always(Severity.INFO),
        find=_linux_commands,
        message="the {what} {value} in a command is of Linux: Windows paths have drives and backslashes, and"
        " processes end by"
        " CTRL_SHUTDOWN_EVENT or WM_CLOSE, not by signals.",
        remedy="Write it for Windows, for example powershell.exe -Command ...",
        source=_DOC + " (S2 L250; S3 L167)",
        paths=(
            f"{ALL_CONTAINERS}.command",
            f"{ALL_CONTAINERS}.args",
            f"{ALL_CONTAINERS}.*Probe.exec",
            f"{ALL_CONTAINERS}.lifecycle",
        ),
    ),
    Rule(
        id="LM-65",
        title="Files of the resolver",
        level=always(Severity.WARNING),
        find=_resolver_files,
        message="{value} is used; Windows keeps DNS and routes in the registry, mapping the file has no effect.",
        remedy="Use dnsConfig or hostAliases of the pod, or set names in the program's configuration.",
        source=_DOC + " (S2 L101)",
        paths=(
            f"{ALL_CONTAINERS}.volumeMounts[*].mountPath",
            "spec.volumes[*].hostPath.path",
            f"{ALL_CONTAINERS}.env[*].value",
        ),
    ),
)
