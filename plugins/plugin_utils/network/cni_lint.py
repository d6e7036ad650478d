# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The linter of cni.conf: what the plugins would refuse, misread, or pass over in silence.

    findings = lint(text, Subject("cni.conf", cluster_cidr="10.244.0.0/16"))
    fixed = fix(text, subject)                  # the same text where nothing can be mended

Sources: containernetworking/plugins pkg/hns/netconf_windows.go (policies), CNI specification (name, cniVersion, type).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..components.cni.cni_conf import OLD_KEYS
from ..components.networks import uncovered
from ..facts import cni as cni_facts
from ..facts import cni_plugins
from ..facts.version import Version, VersionError
from .checking import listed, ranges
from .conf import Conf, ConfError, ConfPolicy, Plugin, join, lower, read
from .finding import ERROR, SEVERITIES, WARNING, Finding

POLICY_NAME = "endpointpolicy"
OUTBOUND = "OutBoundNAT"
FLANNEL_IPAM = "host-local"

OWN_ADDRESS = "sdnoverlay"
"""The plugin that has to be told the node's address. Sources: microsoft/windows-container-networking#38;
containernetworking/plugins pkg/hns/netconf_windows.go ApplyDefaultPAPolicy, which does it for win-overlay."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is looked at: `file` is its name; the rest is what is known of the node, empty for what is not.

    `plugins_version` is the release of the CNI plugins, `programs` the names in the plugins' folder (None: not known),
    `subnet` the host's own network.
    """

    file: str
    network_name: str = ""
    runtime: str = "containerd"
    plugins_version: str = ""
    cluster_cidr: str = ""
    service_cidr: str = ""
    subnet: str = ""
    management_ip: str = ""
    programs: tuple[str, ...] | None = None

    def needed(self, kind: str) -> tuple[str, ...]:
        """The IPv4 networks that pods have to reach with their own address on an HNS network of this kind."""
        own = "" if kind in cni_plugins.TRANSLATES_NODES else self.subnet
        found = ranges(f"{self.cluster_cidr},{self.service_cidr},{own}")
        return tuple(str(each) for each in found if each.version == 4)


@dataclass(frozen=True, slots=True)
class Rule:
    """What a kind of finding says besides what was seen."""

    severity: str
    cause: str
    remedy: str
    row: str = ""
    issue: str = ""


RULES: Mapping[str, Rule] = {
    "conf-json": Rule(
        ERROR, "The plugins read strict JSON, without comments.", "Remove comments and trailing commas.", "NW-27"
    ),
    "conf-key-twice": Rule(
        ERROR, "The plugins ignore the case of keys: the last one counts.", "Remove one of the two.", "NW-31"
    ),
    "conf-list": Rule(
        ERROR,
        "A file with the ending .conflist holds 'plugins', one with .conf a single plugin.",
        "Give the file the ending that fits.",
        "NW-31",
        "microsoft/windows-container-networking#70",
    ),
    "conf-name": Rule(
        ERROR,
        "The plugins look for an HNS network of this name; pods fail with 'network not found'.",
        "Write the HNS network's name.",
        "NW-31",
        "kubernetes-sigs/sig-windows-tools#89",
    ),
    "conf-cni-version": Rule(
        ERROR, "A plugin refuses a cniVersion that it does not know.", "Take one that the plugins know.", "NW-14"
    ),
    "conf-plugin-unknown": Rule(
        ERROR,
        "The type is the name of a program in the folder of the CNI plugins.",
        "Bring the program in, or write the right type.",
        "NW-31",
        "microsoft/windows-container-networking#70",
    ),
    "conf-plugin-rare": Rule(
        WARNING,
        "The type is the name of a program in the folder of the CNI plugins, and this is none that is known here.",
        "Look whether it is there under this name.",
        "NW-31",
    ),
    "conf-api-version": Rule(
        ERROR,
        "With containerd only apiVersion 2 makes endpoints in the pod's namespace.",
        "Set apiVersion to 2.",
        "NW-26",
    ),
    "conf-old-form": Rule(
        ERROR,
        "Under apiVersion 2 the policy is read without these keys: all of the pods' traffic is translated, and "
        "nobody says so.",
        "Write the settings below 'Settings'.",
        "NW-26",
        "projectcalico/node#954",
    ),
    "conf-new-form": Rule(
        ERROR, "Without apiVersion 2 the plugin does not know 'Settings'.", "Set apiVersion to 2 (containerd).", "NW-26"
    ),
    "conf-policy-skipped": Rule(
        ERROR,
        "The plugin passes over it without a word.",
        'Write {"Name": "EndpointPolicy", "Value": {"Type": ..}}.',
        "NW-26",
    ),
    "conf-policy-case": Rule(
        ERROR,
        "The plugin searches the policy as text: written otherwise it is not merged with its own.",
        "Write it as shown.",
        "NW-26",
    ),
    "conf-policy-unknown": Rule(
        WARNING,
        "HNS refuses a policy that it does not know (0x803b000d): no pod starts.",
        "Look for a slip of the pen.",
        "NW-26",
        "projectcalico/calico#8465",
    ),
    "conf-policy-level": Rule(
        ERROR,
        "A CNI plugin gives its policies to the pods' endpoints, and an endpoint has none of this type.",
        "Take it out; the HNS network or its subnet gets it from whoever makes the network.",
        "NW-26",
    ),
    "conf-policies-key": Rule(
        ERROR,
        "The plugin reads its policies from another key; these are passed over without a word.",
        "Move them below the key that it reads.",
        "NW-26",
    ),
    "conf-exceptions": Rule(
        ERROR,
        "Traffic from pods to a network that is no exception leaves with the node's address, which Kubernetes "
        "does not allow inside the cluster.",
        "Add them to the exceptions of OutBoundNAT.",
        "NW-30",
    ),
    "conf-exception-wrong": Rule(
        ERROR, "HNS refuses the policy: no pod starts.", "Write networks such as 10.244.0.0/16.", "NW-26"
    ),
    "conf-exception-all": Rule(
        WARNING,
        "Traffic that leaves the cluster keeps the pod's address too, and no answer finds its way back.",
        "Name the cluster's networks only.",
        "NW-28",
    ),
    "conf-provider-address": Rule(
        WARNING,
        "sdnoverlay needs the node's address as the tunnel's end; win-overlay finds it by itself.",
        "Add a policy of type ProviderAddress.",
        "NW-32",
        "microsoft/windows-container-networking#38",
    ),
    "conf-ignored-key": Rule(WARNING, "Nobody reads it.", "Remove it.", "NW-31"),
    "conf-dns-search": Rule(WARNING, "Windows pods use one DNS suffix.", "Leave svc.<cluster domain> alone.", "NW-33"),
    "conf-ipam": Rule(
        ERROR,
        "That IPAM plugin works with Azure's own plugin alone.",
        "Leave 'ipam' out: flannel sets host-local.",
        "NW-31",
    ),
}
"""By the id of their findings."""

FIXED = frozenset(
    {
        "conf-name", "conf-cni-version", "conf-api-version", "conf-old-form", "conf-policy-case", "conf-policies-key",
        "conf-exceptions", "conf-provider-address", "conf-ignored-key",
    }
)  # fmt: skip
"""What `fix` can mend, where it knows the right value."""


def lint(text: str, subject: Subject) -> tuple[Finding, ...]:
    """What is wrong, errors first, else in the order of the file."""
    try:
        conf = read(text)
    except ConfError as error:
        return (_finding("conf-json", subject, "", str(error), "strict JSON, an object"),)
    twice: list[str] = []
    json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, twice))
    found = [_finding("conf-key-twice", subject, "", f"'{key}' stands twice in one object", "it once") for key in twice]
    found += [
        *_of_file(conf, subject),
        *(each for plugin in conf.plugins for each in _of_plugin(plugin, subject)),
        *_exceptions(conf, subject),
    ]
    return tuple(sorted(found, key=lambda each: SEVERITIES.index(each.severity)))


def _once(pairs: list[tuple[str, Any]], twice: list[str]) -> dict[str, Any]:
    seen: set[str] = set()
    for key, _value in pairs:
        if key.casefold() in seen:
            twice.append(key)
        seen.add(key.casefold())
    return dict(pairs)


def _finding(identity: str, subject: Subject, where: str, seen: str, wanted: str) -> Finding:
    rule = RULES[identity]
    repository, _hash, number = rule.issue.partition("#")
    return Finding(
        id=identity,
        severity=rule.severity,
        object=f"{subject.file}, {where}" if where else subject.file,
        seen=seen,
        wanted=wanted,
        cause=rule.cause,
        remedy=rule.remedy,
        row=rule.row,
        issue=f"https://github.com/{repository}/issues/{number}" if rule.issue else "",
    )


def _of_file(conf: Conf, subject: Subject) -> Iterator[Finding]:
    is_list = subject.file.casefold().endswith(".conflist")
    if is_list != conf.is_list:
        seen = "it holds 'plugins'" if conf.is_list else "it holds a single plugin"
        yield _finding("conf-list", subject, "", seen, "the ending .conflist" if conf.is_list else "the ending .conf")
    if not conf.name or (subject.network_name and conf.name.casefold() != subject.network_name.casefold()):
        yield _finding("conf-name", subject, "name", f"it is {_show(conf.name)}", subject.network_name or "a name")
    takes = accepted_versions(subject)
    if not conf.cni_version or (takes and conf.cni_version not in takes):
        yield _finding("conf-cni-version", subject, "cniVersion", f"it is {_show(conf.cni_version)}", listed(takes))


def accepted_versions(subject: Subject) -> tuple[str, ...]:
    """What the plugins take; all that are known where their release is not."""
    try:
        own = cni_facts.cni_versions(Version.parse(subject.plugins_version)) if subject.plugins_version else ()
    except VersionError:
        own = ()
    return own or tuple(dict.fromkeys(one for each in cni_facts.CNI_VERSIONS for one in each.versions))


def _of_plugin(plugin: Plugin, subject: Subject) -> Iterator[Finding]:
    yield from _type(plugin.type, join(plugin.path, "type"), subject)
    ipam = plugin.keys.get("ipam")
    kind = str(lower(ipam).get("type") or "") if isinstance(ipam, Mapping) else ""
    if kind:
        yield from _type(kind, join(plugin.path, "ipam.type"), subject)
    for key in plugin.keys:
        if key in cni_plugins.IGNORED_KEYS:
            why = cni_plugins.IGNORED_KEYS[key]
            yield _finding("conf-ignored-key", subject, join(plugin.path, key), "it is there", f"it gone: {why}")
    dns = plugin.keys.get("dns")
    search = lower(dns).get("search") if isinstance(dns, Mapping) else None
    if isinstance(search, list) and len(search) > 1:
        yield _finding("conf-dns-search", subject, join(plugin.path, "dns.search"), f"it has {len(search)}", "one")
    if plugin.delegate is not None:
        inner = plugin.delegate.keys.get("ipam")
        if plugin.type == "flannel" and isinstance(inner, Mapping) and lower(inner).get("type") == "azure-vnet-ipam":
            where = join(plugin.delegate.path, "ipam.type")
            yield _finding("conf-ipam", subject, where, "it is azure-vnet-ipam", f"none, or {FLANNEL_IPAM}")
        yield from _of_plugin(plugin.delegate, subject)
        return
    known = cni_plugins.BY_NAME.get(plugin.type)
    if known is not None and known.policies:
        yield from _of_worker(plugin, known, subject)


def _type(kind: str, where: str, subject: Subject) -> Iterator[Finding]:
    there = None if subject.programs is None else {name.casefold() for name in subject.programs}
    if not kind:
        yield _finding("conf-plugin-unknown", subject, where, "it is missing", "a plugin's name")
    elif kind in cni_plugins.NOT_BUILT:
        meant = cni_plugins.NOT_BUILT[kind]
        yield _finding("conf-plugin-unknown", subject, where, f"it is {kind}, which is no program", f"{meant} perhaps")
    elif there is not None and f"{kind}.exe".casefold() not in there:
        programs = listed(sorted(name for name in there if name.endswith(".exe")))
        yield _finding("conf-plugin-unknown", subject, where, f"it is {kind}; there are: {programs}", f"{kind}.exe")
    elif there is None and kind not in cni_plugins.BY_NAME:
        yield _finding("conf-plugin-rare", subject, where, f"it is {kind}", "a plugin that is known")


def _of_worker(plugin: Plugin, known: cni_plugins.CniPlugin, subject: Subject) -> Iterator[Finding]:
    wanted = 1 if subject.runtime == "dockershim" else 2
    if known.forms and plugin.api_version != wanted:
        where = join(plugin.path, "apiVersion")
        yield _finding(
            "conf-api-version", subject, where, f"it is {plugin.keys.get('apiversion', 'missing')}", str(wanted)
        )
    for policy in plugin.policies:
        if policy.path.rpartition(".")[2].partition("[")[0] != known.policies.casefold():
            seen = f"{plugin.type} does not read it"
            yield _finding("conf-policies-key", subject, policy.path, seen, f"'{known.policies}'")
        yield from _of_policy(policy, plugin.form, subject)
    if known.name == OWN_ADDRESS and not _has_address(plugin):
        yield _finding("conf-provider-address", subject, plugin.path, "no policy has the node's address", "one")


def _has_address(plugin: Plugin) -> bool:
    return any(each.type in {"ProviderAddress", "PA"} for each in plugin.policies)


def _of_policy(policy: ConfPolicy, api_version: int, subject: Subject) -> Iterator[Finding]:
    if policy.name.casefold() != POLICY_NAME:
        seen = f"its name is {_show(policy.name)}"
        yield _finding("conf-policy-skipped", subject, policy.path, seen, "the name EndpointPolicy")
    if policy.value is None:
        yield _finding("conf-policy-skipped", subject, policy.path, "it has no value", "a value that is an object")
        return
    key = next((key for key in policy.value if key.casefold() == "type"), "")
    kind = str(policy.value.get(key) or "")
    if not key:
        yield _finding("conf-policy-skipped", subject, policy.path, "its value has no Type", "a Type")
        return
    if key != "Type":
        yield _finding("conf-policy-case", subject, policy.path, f"the key is '{key}'", "'Type'")
    new = api_version == 2
    types = cni_plugins.ENDPOINT_POLICIES if new else cni_plugins.OLD_POLICY_TYPES
    right = cased(kind, (*types, *OLD_KEYS))
    if not right and new and (level := _level(kind)):
        seen = f"the type {_show(kind)} is one of a {level}"
        yield _finding("conf-policy-level", subject, policy.path, seen, listed(types))
    elif not right:
        yield _finding("conf-policy-unknown", subject, policy.path, f"the type is {_show(kind)}", listed(types))
    elif right != kind:
        yield _finding("conf-policy-case", subject, policy.path, f"the type is '{kind}'", f"'{right}'")
    if api_version == 2 and (old := _old_form(policy.value, right)):
        yield _finding("conf-old-form", subject, policy.path, f"{old} is the form without apiVersion", _new_form(right))
    if api_version != 2 and "Settings" in policy.value:
        yield _finding("conf-new-form", subject, policy.path, "'Settings' is the form of apiVersion 2", "no 'Settings'")
    yield from _networks(policy, subject)


def _level(kind: str) -> str:
    """What has policies of this type; empty for a type that nothing has."""
    return next((level for level, types in cni_plugins.POLICY_LEVELS.items() if cased(kind, types)), "")


def cased(kind: str, types: tuple[str, ...]) -> str:
    return next((each for each in types if each.casefold() == kind.casefold()), "")


def _old_form(value: Mapping[str, Any], kind: str) -> str:
    """The key or type of the form without apiVersion, as it is written; empty if there is none."""
    if kind in OLD_KEYS:
        return f"'{kind}'"
    inner = value.get("Settings")
    settings = inner if isinstance(inner, Mapping) else {}
    return next((f"'{key}'" for key in (*value, *settings) if key.casefold() == "exceptionlist"), "")


def _new_form(kind: str) -> str:
    return f"'{OLD_KEYS[kind]}' with 'Settings'" if kind in OLD_KEYS else "'Settings': {'Exceptions': [..]}"


def _networks(policy: ConfPolicy, subject: Subject) -> Iterator[Finding]:
    for each in _given(policy.value or {}):
        parsed = ranges(str(each))
        if not parsed:
            yield _finding("conf-exception-wrong", subject, policy.path, f"the exception is {_show(each)}", "a network")
        elif parsed[0].prefixlen == 0:
            yield _finding(
                "conf-exception-all", subject, policy.path, f"the exception {each} is everything", "networks"
            )


def _given(value: Mapping[str, Any]) -> list[Any]:
    """All exceptions in a policy, in whatever form."""
    inner = value.get("Settings")
    found: list[Any] = []
    for each in (value, inner if isinstance(inner, Mapping) else {}):
        for key, content in each.items():
            if key.casefold() in {"exceptionlist", "exceptions"} and isinstance(content, list):
                found += content
    return found


def _exceptions(conf: Conf, subject: Subject) -> Iterator[Finding]:
    """As the plugins understand them: what stands there in the wrong form is none."""
    known = [cni_plugins.BY_NAME[each.type] for each in conf.workers if each.type in cni_plugins.BY_NAME]
    workers = [each for each in known if each.policies]
    if not workers:
        return
    found = [str(one) for each in conf.exceptions() for one in ranges(each)]
    needed = dict.fromkeys(one for each in workers for one in subject.needed(each.needs))
    missing = uncovered(found, needed)
    if missing:
        yield _finding(
            "conf-exceptions", subject, "", f"its exceptions are {listed(found)}", f"{listed(missing)} among them"
        )


def _show(value: object) -> str:
    return f"'{value}'" if value not in (None, "") else "missing"
