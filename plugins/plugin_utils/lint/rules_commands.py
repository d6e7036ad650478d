# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What containers run and which names they call: heuristics on commands, arguments and environment."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from typing import Any

from ..foreign.windows import Pattern
from .catalog import ObjectCase, PodCase
from .model import Hit, Path, Severity, as_map, as_text
from .rule import ALL_CONTAINERS, DOC, Rule, always, commands, environment, mounts, needing, volumes

# Suffixes of public, company or file names, which are not namespaces.
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
        "nl",
        "se",
        "it",
        "es",
        "pl",
        "br",
        "in",
        "au",
        "ca",
        "co",
        "me",
        "sh",
        "ai",
        "tv",
        "ms",
        "xyz",
        "tech",
        "site",
        "online",
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
        "ts",
        "py",
        "sh",
        "zip",
        "pem",
        "crt",
        "key",
        "csv",
        "md",
        "sock",
        "tmp",
        "jar",
        "war",
        "cs",
        "go",
        "tar",
        "gz",
        "dat",
        "db",
        "sql",
        "level",
        "name",
        "type",
    ]
)
_HOST_LIKE = Pattern(r"(HOST|ADDR|SERVER|ENDPOINT|URL|URI|SERVICE|BROKER|DNS|DSN)", re.IGNORECASE)
_HALF_NAME = Pattern(
    r"^(?:[a-z]+://)?(?:[^/@\s]+@)?(?P<pod>[a-z][a-z0-9-]*-\d+\.)?(?P<service>[a-z][a-z0-9-]*)\.(?P<namespace>[a-z][a-z0-9-]*)(?P<svc>\.svc)?(?::\d+)?(?:/.*)?"
    r"$"
)


# Of these, a namespace if something marks it as a host: `Host=postgres.db`.
_BOTH = frozenset(["db", "sql"])


def _foreign(namespace: str, host: bool) -> bool:
    """Whether it is the suffix of a public name or of a file. `host`: something marks it as a host."""
    return namespace.lower() in _PUBLIC_OR_FILE and not (host and namespace in _BOTH)


# The same inside a text: after a scheme, a user, the key of a connection string, or before a port.
_HALF_NAME_IN_TEXT = Pattern(
    r"(?:(?P<scheme>[a-z][a-z0-9+.-]{0,30}://)(?:[^/@\s\"']+@)?|(?P<key>\b(?:server|host|hostname|addr|address"
    r"|data source|endpoint|broker|brokers|bootstrap\.servers|url)\s*[=:]\s*(?:tcp:)?)|(?<![\w./@:\\-]))"
    r"(?P<pod>[a-z][a-z0-9-]*-\d+\.)?(?P<service>[a-z][a-z0-9-]*)\.(?P<namespace>[a-z][a-z0-9-]*)(?P<svc>\.svc)?(?P<port>:\d+)?(?![\w-]|\.\w)",
    re.IGNORECASE,
)
# shorter numbers after a colon are also lines and versions
_SHORTEST_PORT = len(":80")


@needing("env", "command", "args", "host")
def _half_names(case: PodCase) -> Iterator[Hit]:
    """Values that name a Service by more than its short name and less than its full one."""
    domains = _domains(case)
    for path, name, value, container in environment(case):
        match = _HALF_NAME.match(value)
        if match is not None:
            known = _is_known_service(case, match)
            if not known and match["namespace"] in domains:
                continue
            told = _HOST_LIKE.search(name) or "://" in value
            if known or (told and not _foreign(match["namespace"], host=True)):
                yield Hit(path, _complete_name(match), container)
            continue
        for found in _in_text(case, value, domains):
            yield Hit(path, _complete_name(found), container)
    for path, text, container in commands(case):
        for found in _in_text(case, text, domains):
            yield Hit(path, _complete_name(found), container)
    for path, text, container in _list_hosts(case):
        match = _HALF_NAME.match(text)
        if match is not None and (_is_known_service(case, match) or not _foreign(match["namespace"], host=True)):
            yield Hit(path, _complete_name(match), container)


_OF_HTTPS = Pattern(r"\bhttps://[a-z][a-z0-9-]*\.(?P<domain>[a-z][a-z0-9-]*)(?![\w.-])", re.IGNORECASE)


def _domains(case: PodCase) -> frozenset[str]:
    """Suffixes of names that the pod's variables call by https: Ingresses have certificates, Services mostly do not."""
    texts = [value for _path, _name, value, _container in environment(case)]
    return frozenset(match["domain"] for text in texts for match in _OF_HTTPS.finditer(text))


def _is_known_service(case: PodCase | ObjectCase, match: re.Match[str]) -> bool:
    named = match["service"], match["namespace"]
    return bool(match["svc"] or named == ("kubernetes", "default") or case.catalog.find("Service", *named))


def _complete_name(match: re.Match[str]) -> dict[str, str]:
    # A pod of a StatefulSet has a name below its Service's.
    name = f"{match['pod'] or ''}{match['service']}.{match['namespace']}"
    return {"value": name + (match["svc"] or ""), "full": f"{name}.svc.cluster.local"}


def _in_text(case: PodCase | ObjectCase, text: str, domains: frozenset[str] = frozenset()) -> Iterator[re.Match[str]]:
    seen: set[str] = set()
    for match in _HALF_NAME_IN_TEXT.finditer(text) if "." in text else ():
        # `Data Source=app.db` is a file of SQLite.
        keyed = match["scheme"] or match["key"]
        named = keyed and not keyed.lower().startswith("data source")
        bare = len(match["port"] or "") >= _SHORTEST_PORT and match.group().islower()
        foreign = match["namespace"] in domains or _foreign(match["namespace"], bool(named))
        told = (keyed or bare) and not foreign
        if (_is_known_service(case, match) or told) and match.group() not in seen:
            seen.add(match.group())
            yield match


def _list_hosts(case: PodCase) -> Iterator[tuple[Path, str, str]]:
    """(path, host, container name) of HTTP and TCP probes and hooks."""
    for container in case.pod.containers:
        lifecycle = as_map(container.value.get("lifecycle"))
        asked: list[tuple[Path, Any]] = [
            ((name,), container.value.get(name)) for name in ("livenessProbe", "readinessProbe", "startupProbe")
        ]
        asked += [(("lifecycle", name), lifecycle.get(name)) for name in ("postStart", "preStop")]
        for where, probe in asked:
            for way in ("httpGet", "tcpSocket"):
                host = as_text(as_map(as_map(probe).get(way)).get("host"))
                if host:
                    yield (*container.path, *where, way, "host"), host, container.name


def _half_names_in_data(case: ObjectCase) -> Iterator[Hit]:
    for key, text in as_map(case.object.value.get("data")).items():
        if isinstance(text, str):
            for match in _in_text(case, text):
                yield Hit(("data", str(key)), _complete_name(match))


_DNS_TOOL = Pattern(r"\b(nslookup|dig)(?:\.exe)?\b", re.IGNORECASE)
_PING = Pattern(r"\bping(?:\.exe)?\s+(?:[-/]\w+\s+(?:\d+\s+)?)*(?P<host>[\w.:-]+)", re.IGNORECASE)


def _is_external(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host and not re.search(r"\.svc(\.|$)|\.cluster\.local$|\.local$", host)


def _is_loopback(host: str) -> bool:
    """Whether it is the loopback: `ping -n 60 127.0.0.1 > NUL` is cmd.exe's sleep and needs no DNS."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@needing("command", "args")
def _dns_tools(case: PodCase) -> Iterator[Hit]:
    for path, text, container in commands(case):
        tools = {match.group(1).lower() for match in _DNS_TOOL.finditer(text)}
        asked = (match["host"] for match in _PING.finditer(text))
        tools |= {"ping" for host in asked if not _is_external(host) and not _is_loopback(host)}
        for tool in sorted(tools):
            yield Hit(path, {"value": tool}, container)


@needing("command", "args")
def _external_pings(case: PodCase) -> Iterator[Hit]:
    for path, text, container in commands(case):
        for match in _PING.finditer(text):
            if _is_external(match["host"]):
                yield Hit(path, {"value": match["host"]}, container)


_RESOLVER_FILES = Pattern(r"(/etc/(?:resolv\.conf|hosts)|[Ss]ystem32[\\/]drivers[\\/]etc[\\/]hosts)\b")


@needing("mountPath", "hostPath", "env")
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
        id="half-qualified-name",
        title="Half-qualified Service names",
        level=always(Severity.WARNING),
        find=_half_names,
        message="{value} is neither a short name nor a full one; Windows resolves only these two, not the in-betweens.",
        remedy="Write {full}, or the short name within the same namespace.",
        source=DOC,
        paths=(
            f"{ALL_CONTAINERS}.env[*].value",
            f"{ALL_CONTAINERS}.command",
            f"{ALL_CONTAINERS}.args",
            f"{ALL_CONTAINERS}.*Probe",
            f"{ALL_CONTAINERS}.lifecycle",
        ),
    ),
    Rule(
        id="half-qualified-name",
        title="Half-qualified Service names in a ConfigMap of a Windows pod",
        level=always(Severity.WARNING),
        find=_half_names_in_data,
        message="{value} is neither a short name nor a full one; Windows resolves only these two, not the in-betweens.",
        remedy="Write {full}, or the short name within the same namespace.",
        source=DOC,
        kinds=("ConfigMap",),
        paths=("data.*",),
    ),
    Rule(
        id="dns-tool",
        title="nslookup, dig and ping for DNS",
        level=always(Severity.INFO),
        find=_dns_tools,
        message="{value} in a command: it does not resolve names as Windows programs do.",
        remedy="Use Resolve-DnsName.",
        source=DOC,
        paths=(
            f"{ALL_CONTAINERS}.command",
            f"{ALL_CONTAINERS}.args",
            f"{ALL_CONTAINERS}.*Probe.exec",
            f"{ALL_CONTAINERS}.lifecycle",
        ),
    ),
    Rule(
        id="ping-outside",
        title="ping to the outside",
        level=always(Severity.WARNING),
        find=_external_pings,
        message="ping {value}: the network plugins of Windows do not translate ICMP on the way out, it gets no answer.",
        remedy="Use curl or Test-NetConnection with a port.",
        source=DOC,
        paths=(
            f"{ALL_CONTAINERS}.command",
            f"{ALL_CONTAINERS}.args",
            f"{ALL_CONTAINERS}.*Probe.exec",
            f"{ALL_CONTAINERS}.lifecycle",
        ),
    ),
    Rule(
        id="resolver-file",
        title="Files of the resolver",
        level=always(Severity.WARNING),
        find=_resolver_files,
        message="{value} is used; Windows keeps DNS and routes in the registry, mapping the file has no effect.",
        remedy="Use dnsConfig or hostAliases of the pod, or set names in the program's configuration.",
        source=DOC,
        paths=(
            f"{ALL_CONTAINERS}.volumeMounts[*].mountPath",
            "spec.volumes[*].hostPath.path",
            f"{ALL_CONTAINERS}.env[*].value",
        ),
    ),
)
