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
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..components.cni.cni_conf import OLD_KEYS
from ..components.networks import uncovered
from ..facts import cni
from ..facts import cni as cni_facts
from ..facts.version import Version, VersionError
from ..network.conf import Conf, ConfError, ConfPolicy, Plugin, join, lower, read
from ..network.policy_forms import dropped
from .check import listed, ranges
from .finding import ERROR, SEVERITIES, WARNING, Finding, Remedy

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
        own = "" if kind in cni.TRANSLATES_NODES else self.subnet
        found = ranges(f"{self.cluster_cidr},{self.service_cidr},{own}")
        return tuple(str(each) for each in found if each.version == 4)


@dataclass(frozen=True, slots=True)
class Rule:
    """What a kind of finding says besides what was seen."""

    severity: str
    cause: str
    remedy: str
    issue: str = ""


RULES: Mapping[str, Rule] = {
    "cni.unreadable": Rule(
        ERROR, "The plugins read strict JSON, without comments.", "Remove comments and trailing commas."
    ),
    "cni.key-twice": Rule(ERROR, "The plugins ignore the case of keys: the last one counts.", "Remove one of the two."),
    "cni.ending": Rule(
        ERROR,
        "A file with the ending .conflist holds 'plugins', one with .conf a single plugin.",
        "Give the file the ending that fits.",
        "microsoft/windows-container-networking#70",
    ),
    "cni.network-name": Rule(
        ERROR,
        "The plugins look for an HNS network of this name; pods fail with 'network not found'.",
        "Write the HNS network's name.",
        "kubernetes-sigs/sig-windows-tools#89",
    ),
    "cni.version": Rule(
        ERROR, "A plugin refuses a cniVersion that it does not know.", "Take one that the plugins know."
    ),
    "cni.plugin-missing": Rule(
        ERROR,
        "The type is the name of a program in the folder of the CNI plugins.",
        "Bring the program in, or write the right type.",
        "microsoft/windows-container-networking#70",
    ),
    "cni.plugin-rare": Rule(
        WARNING,
        "The type is the name of a program in the folder of the CNI plugins, and this is none that is known here.",
        "Look whether it is there under this name.",
    ),
    "cni.dockershim-form": Rule(
        ERROR,
        "With containerd only apiVersion 2 makes endpoints in the pod's namespace.",
        "Set apiVersion to 2.",
    ),
    "cni.old-form": Rule(
        ERROR,
        "Under apiVersion 2 the policy is read without these keys: all of the pods' traffic is translated, and "
        "nobody says so.",
        "Write the settings below 'Settings'.",
        "projectcalico/node#954",
    ),
    "cni.new-form": Rule(
        ERROR, "Without apiVersion 2 the plugin does not know 'Settings'.", "Set apiVersion to 2 (containerd)."
    ),
    "cni.policy-without-settings": Rule(
        ERROR,
        "Under apiVersion 2 a policy is its Type and its Settings: what stands beside them is dropped without a word, "
        "a block rule too.",
        "Write it below 'Settings'.",
    ),
    "cni.value-unfilled": Rule(
        ERROR,
        "A template's value was not known when the file was written.",
        "Write the value.",
        "containerd/containerd#5729",
    ),
    "cni.value-type": Rule(
        ERROR, "Go's decoder, or HNS behind it, refuses a text in this place: no pod starts.", "Write it in brackets."
    ),
    "cni.policy-skipped": Rule(
        ERROR,
        "The plugin passes over it without a word.",
        'Write {"Name": "EndpointPolicy", "Value": {"Type": ..}}.',
    ),
    "cni.policy-case": Rule(
        ERROR,
        "The plugin searches the policy as text: written otherwise it is not merged with its own.",
        "Write it as shown.",
    ),
    "cni.policy-unknown": Rule(
        WARNING,
        "HNS refuses a policy that it does not know (0x803b000d): no pod starts.",
        "Look for a slip of the pen.",
        "projectcalico/calico#8465",
    ),
    "cni.policy-level": Rule(
        ERROR,
        "A CNI plugin gives its policies to the pods' endpoints, and an endpoint has none of this type.",
        "Take it out; the HNS network or its subnet gets it from whoever makes the network.",
    ),
    "cni.policies-key": Rule(
        ERROR,
        "The plugin reads its policies from another key; these are passed over without a word.",
        "Move them below the key that it reads.",
    ),
    "cni.exceptions": Rule(
        ERROR,
        "Traffic from pods to a network that is no exception leaves with the node's address, which Kubernetes "
        "does not allow inside the cluster.",
        "Add them to the exceptions of OutBoundNAT.",
    ),
    "cni.exception-wrong": Rule(
        ERROR,
        "HNS refuses the policy: no pod starts.",
        "Write networks such as 10.244.0.0/16, those of IPv4 and of IPv6 in a policy each.",
    ),
    "cni.exception-all": Rule(
        WARNING,
        "Traffic that leaves the cluster keeps the pod's address too, and no answer finds its way back.",
        "Name the cluster's networks only.",
    ),
    "cni.no-provider-address": Rule(
        WARNING,
        "sdnoverlay needs the node's address as the tunnel's end; win-overlay finds it by itself.",
        "Add a policy of type ProviderAddress.",
        "microsoft/windows-container-networking#38",
    ),
    "cni.ignored-key": Rule(WARNING, "Nobody reads it.", "Remove it."),
    "cni.dns-search": Rule(WARNING, "Windows pods use one DNS suffix.", "Leave svc.<cluster domain> alone."),
    "cni.ipam": Rule(
        ERROR,
        "That IPAM plugin works with Azure's own plugin alone.",
        "Leave 'ipam' out: flannel sets host-local.",
    ),
}
"""By the id of their findings."""

FIXED = frozenset(
    {
        "cni.network-name", "cni.version", "cni.dockershim-form", "cni.old-form",
        "cni.policy-without-settings", "cni.policy-case", "cni.policies-key",
        "cni.exceptions", "cni.no-provider-address", "cni.ignored-key",
    }
)  # fmt: skip
"""What `fix` can mend, where it knows the right value."""


def encoding(refused: str, subject: Subject) -> tuple[Finding, ...]:
    """The finding that the plugins cannot read a file's encoding; `refused` says why, empty if they can."""
    return (_finding("cni.unreadable", subject, "", refused, "UTF-8 without a mark"),) if refused else ()


def lint(text: str, subject: Subject) -> tuple[Finding, ...]:
    """What is wrong, errors first, else in the order of the file."""
    try:
        conf = read(text)
    except ConfError as error:
        return (_finding("cni.unreadable", subject, "", str(error), "strict JSON, an object"),)
    twice: list[str] = []
    json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, twice))
    found = [_finding("cni.key-twice", subject, "", f"'{key}' stands twice in one object", "it once") for key in twice]
    found += [
        *_of_file(conf, subject),
        *(each for plugin in conf.plugins for each in _of_plugin(plugin, subject)),
        *_exceptions(conf, subject),
        *_values(json.loads(text), "", subject),
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
        title=rule.cause,
        subject=f"{subject.file}, {where}" if where else subject.file,
        seen=seen,
        wanted=wanted,
        cause=rule.cause,
        remedy=Remedy(rule.remedy),
        source=f"https://github.com/{repository}/issues/{number}" if rule.issue else "",
    )


def _of_file(conf: Conf, subject: Subject) -> Iterator[Finding]:
    is_list = subject.file.casefold().endswith(".conflist")
    if is_list != conf.is_list:
        seen = "it holds 'plugins'" if conf.is_list else "it holds a single plugin"
        yield _finding("cni.ending", subject, "", seen, "the ending .conflist" if conf.is_list else "the ending .conf")
    if not conf.name or (subject.network_name and conf.name.casefold() != subject.network_name.casefold()):
        yield _finding(
            "cni.network-name", subject, "name", f"it is {_show(conf.name)}", subject.network_name or "a name"
        )
    takes = accepted_versions(subject, conf)
    version = conf.cni_version or NO_VERSION
    if takes and version not in takes:
        seen = f"it is {_show(conf.cni_version)}" + ("" if conf.cni_version else f", which is {NO_VERSION}")
        yield _finding("cni.version", subject, "cniVersion", seen, listed(takes))


NO_VERSION = "0.1.0"
"""What a configuration without cniVersion is of. Source: containernetworking/cni pkg/version/conf.go."""


def accepted_versions(subject: Subject, conf: Conf | None = None) -> tuple[str, ...]:
    """What all of the file's plugins take; for each all that are known where its release is not."""
    try:
        own = cni_facts.cni_versions(Version.parse(subject.plugins_version)) if subject.plugins_version else ()
    except VersionError:
        own = ()
    found = own or tuple(dict.fromkeys(one for each in cni_facts.CNI_VERSIONS for one in each.versions))
    for worker in conf.workers if conf else ():
        if worker.type in cni_facts.SDN_PLUGINS:
            found = tuple(each for each in found if each in cni_facts.SDN_VERSIONS) or cni_facts.SDN_VERSIONS
    return found


def _of_plugin(plugin: Plugin, subject: Subject) -> Iterator[Finding]:
    yield from _type(plugin.type, join(plugin.path, "type"), subject)
    ipam = plugin.keys.get("ipam")
    kind = str(lower(ipam).get("type") or "") if isinstance(ipam, Mapping) else ""
    if kind and kind not in cni.BUILT_IN_IPAM:
        yield from _type(kind, join(plugin.path, "ipam.type"), subject)
    for key in plugin.keys:
        if key in cni.IGNORED_KEYS:
            why = cni.IGNORED_KEYS[key]
            yield _finding("cni.ignored-key", subject, join(plugin.path, key), "it is there", f"it gone: {why}")
    dns = plugin.keys.get("dns")
    search = lower(dns).get("search") if isinstance(dns, Mapping) else None
    if isinstance(search, list) and len(search) > 1 and plugin.type not in cni.SEVERAL_SUFFIXES:
        yield _finding("cni.dns-search", subject, join(plugin.path, "dns.search"), f"it has {len(search)}", "one")
    if plugin.delegate is not None:
        inner = plugin.delegate.keys.get("ipam")
        if plugin.type == "flannel" and isinstance(inner, Mapping) and lower(inner).get("type") == "azure-vnet-ipam":
            where = join(plugin.delegate.path, "ipam.type")
            yield _finding("cni.ipam", subject, where, "it is azure-vnet-ipam", f"none, or {FLANNEL_IPAM}")
        yield from _of_plugin(plugin.delegate, subject)
        return
    yield from _families(plugin, subject)
    known = cni.BY_NAME.get(plugin.type)
    if known is not None and known.policies:
        yield from _of_worker(plugin, known, subject)


def _type(kind: str, where: str, subject: Subject) -> Iterator[Finding]:
    there = None if subject.programs is None else {name.casefold() for name in subject.programs}
    if not kind:
        yield _finding("cni.plugin-missing", subject, where, "it is missing", "a plugin's name")
    elif kind in cni.NOT_BUILT:
        meant = cni.NOT_BUILT[kind]
        yield _finding("cni.plugin-missing", subject, where, f"it is {kind}, which is no program", f"{meant} perhaps")
    elif there is not None and f"{kind}.exe".casefold() not in there:
        programs = listed(sorted(name for name in there if name.endswith(".exe")))
        yield _finding("cni.plugin-missing", subject, where, f"it is {kind}; there are: {programs}", f"{kind}.exe")
    elif there is None and kind not in cni.BY_NAME:
        yield _finding("cni.plugin-rare", subject, where, f"it is {kind}", "a plugin that is known")


def _of_worker(plugin: Plugin, known: cni.CniPlugin, subject: Subject) -> Iterator[Finding]:
    wanted = 1 if subject.runtime == "dockershim" else 2
    if known.forms and plugin.api_version != wanted:
        where = join(plugin.path, "apiVersion")
        yield _finding(
            "cni.dockershim-form", subject, where, f"it is {plugin.keys.get('apiversion', 'missing')}", str(wanted)
        )
    for policy in plugin.policies:
        if policy.path.rpartition(".")[2].partition("[")[0] != known.policies.casefold():
            seen = f"{plugin.type} does not read it"
            yield _finding("cni.policies-key", subject, policy.path, seen, f"'{known.policies}'")
        yield from _of_policy(policy, plugin.form, subject)
    if known.name == OWN_ADDRESS and not _has_address(plugin):
        yield _finding("cni.no-provider-address", subject, plugin.path, "no policy has the node's address", "one")


def _has_address(plugin: Plugin) -> bool:
    return any(each.type in {"ProviderAddress", "PA"} for each in plugin.policies)


def _of_policy(policy: ConfPolicy, api_version: int, subject: Subject) -> Iterator[Finding]:
    if policy.name.casefold() != POLICY_NAME:
        seen = f"its name is {_show(policy.name)}"
        yield _finding("cni.policy-skipped", subject, policy.path, seen, "the name EndpointPolicy")
    if policy.value is None:
        yield _finding("cni.policy-skipped", subject, policy.path, "it has no value", "a value that is an object")
        return
    key = next((key for key in policy.value if key.casefold() == "type"), "")
    kind = str(policy.value.get(key) or "")
    if not key:
        yield _finding("cni.policy-skipped", subject, policy.path, "its value has no Type", "a Type")
        return
    if key != "Type":
        yield _finding("cni.policy-case", subject, policy.path, f"the key is '{key}'", "'Type'")
    new = api_version == 2
    types = cni.ENDPOINT_POLICIES if new else cni.OLD_POLICY_TYPES
    right = cased(kind, (*types, *OLD_KEYS))
    if not right and new and (level := _level(kind)):
        seen = f"the type {_show(kind)} is one of a {level}"
        yield _finding("cni.policy-level", subject, policy.path, seen, listed(types))
    elif not right:
        yield _finding("cni.policy-unknown", subject, policy.path, f"the type is {_show(kind)}", listed(types))
    elif right != kind and right in SEARCHED:
        yield _finding("cni.policy-case", subject, policy.path, f"the type is '{kind}'", f"'{right}'")
    if new and (old := _old_form(policy.value, right)):
        yield _finding("cni.old-form", subject, policy.path, f"{old} is the form without apiVersion", _new_form(right))
    elif new and (lost := dropped(policy.value)):
        seen = f"{listed(lost)} {'stands' if len(lost) == 1 else 'stand'} beside Type"
        yield _finding("cni.policy-without-settings", subject, policy.path, seen, "all of it below 'Settings'")
    if api_version != 2 and "Settings" in policy.value:
        yield _finding("cni.new-form", subject, policy.path, "'Settings' is the form of apiVersion 2", "no 'Settings'")
    yield from _networks(policy, subject)


SEARCHED = ("OutBoundNAT", "PA", "ProviderAddress")
"""Types that win-bridge and win-overlay search as text; HNS itself minds no case. Source: containernetworking/plugins
pkg/hns/netconf_windows.go; projectcalico/calico writes SDNROUTE."""


def _level(kind: str) -> str:
    """What has policies of this type; empty for a type that nothing has."""
    return next((level for level, types in cni.POLICY_LEVELS.items() if cased(kind, types)), "")


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
            yield _finding("cni.exception-wrong", subject, policy.path, f"the exception is {_show(each)}", "a network")
        elif parsed[0].prefixlen == 0:
            yield _finding("cni.exception-all", subject, policy.path, f"the exception {each} is everything", "networks")


def _families(plugin: Plugin, subject: Subject) -> Iterator[Finding]:
    """Lists of exceptions with both families, whatever the plugin: HNS takes one of each. Source:
    Azure/AgentBaker#3049."""
    for policy in plugin.policies:
        given = (one for each in _given(policy.value or {}) for one in ranges(str(each)))
        if len({one.version for one in given}) > 1:
            seen = "it has IPv4 and IPv6 in one list"
            yield _finding("cni.exception-wrong", subject, policy.path, seen, "a policy for each")


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
    known = [cni.BY_NAME[each.type] for each in conf.workers if each.type in cni.BY_NAME]
    workers = [each for each in known if each.policies]
    if not workers:
        return
    found = [str(one) for each in conf.exceptions() for one in ranges(each)]
    needed = dict.fromkeys(one for each in workers for one in subject.needed(each.needs))
    missing = uncovered(found, needed)
    if missing:
        yield _finding(
            "cni.exceptions", subject, "", f"its exceptions are {listed(found)}", f"{listed(missing)} among them"
        )


UNFILLED = re.compile(r"\{\{.*\}\}|\{%.*%\}|<[^<>]*[a-zA-Z][^<>]*>|\$\{\w+\}|\$\(\w+\)|__\w+__|%\w+%")
"""What a template that was not filled in leaves behind."""

LISTS = frozenset({"policies", "additionalargs", "exceptions", "exceptionlist", "nameservers", "search", "plugins",
                   "destinations", "routes"})  # fmt: skip
"""Keys whose value is a list for whoever reads it, in lower case."""

NEEDED = frozenset({"name", "type", "destinationprefix", "provideraddress", "pa", "subnet"})
"""Keys whose value may not be empty, in lower case."""


def _values(value: Any, path: str, subject: Subject) -> Iterator[Finding]:
    """Values that nobody filled in, and texts where lists or truth values belong."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            where, folded = join(path, str(key)), str(key).casefold()
            if folded in LISTS and isinstance(each, str):
                yield _finding("cni.value-type", subject, where, f"it is the text {_show(each)}", "a list")
            elif folded == "needencap" and isinstance(each, str):
                yield _finding("cni.value-type", subject, where, f"it is the text {_show(each)}", "true or false")
            elif folded in NEEDED and each == "" and path:
                yield _finding("cni.value-unfilled", subject, where, "it is empty", "a value")
            yield from _values(each, where, subject)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            if each == "":
                yield _finding("cni.value-unfilled", subject, f"{path}[{number}]", "it is empty", "a value, or nothing")
            yield from _values(each, f"{path}[{number}]", subject)
    elif isinstance(value, str) and UNFILLED.search(value.replace(cni.OWN_TEMPLATE, "")):
        yield _finding("cni.value-unfilled", subject, path, f"it is {_show(value)}", "the value that belongs there")


def _show(value: object) -> str:
    return f"'{value}'" if value not in (None, "") else "missing"
