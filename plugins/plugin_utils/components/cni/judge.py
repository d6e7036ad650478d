# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges a CNI configuration by the rules.

faults = judge(text, Subject("cni.conf", cluster_cidr="10.244.0.0/16"))
mended = mend(text, subject)                # mend.py; the same text where nothing can be mended
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ...engine.sentences import join_words
from ...facts import cni
from ...facts.flannel import BACKENDS
from ...facts.version import Version, VersionError
from ...words.cause import ERROR
from ..networks import find_uncovered, parse_ranges
from .conf import ENDINGS, LIST_ENDING, Conf, ConfError, ConfPolicy, Plugin, find_repeats, join, lower, read
from .policy_forms import find_dropped
from .rules import Fault, Subject

POLICY_NAME = "endpointpolicy"
OUTBOUND = "OutBoundNAT"
FLANNEL = "flannel"
FLANNEL_IPAM = "host-local"

OLD_KEYS = {"ROUTE": "SDNRoute", "PA": "ProviderAddress"}
"""Types of the form without apiVersion (dockershim), and their names under apiVersion 2."""

OWN_ADDRESS = "sdnoverlay"
"""The plugin that needs the node's address. Sources: microsoft/windows-container-networking#38;
containernetworking/plugins pkg/hns/netconf_windows.go ApplyDefaultPAPolicy, which does it for win-overlay."""


@lru_cache(maxsize=4)
def judge(text: str, subject: Subject) -> tuple[Fault, ...]:
    """The faults of a configuration, errors first, then in the order of the file."""
    try:
        conf = read(text)
    except ConfError as error:
        return (Fault("cni.unreadable", subject.file, "", str(error), "strict JSON in UTF-8, an object"),)
    twice = (f"'{key}' stands twice in one object" for key in find_repeats(text))
    found = [
        *(_fault("cni.key-twice", subject, "", seen, "it once") for seen in twice),
        *_check_file(conf, subject),
        *(each for plugin in conf.plugins for each in _check_plugin(plugin, subject)),
        *_exceptions(conf, subject),
        *_provider_addresses(conf, subject),
        *_values(json.loads(text), "", subject),
    ]
    return tuple(sorted(found, key=lambda each: each.rule.cause.severity != ERROR))


def _fault(identity: str, subject: Subject, where: str, seen: str, wanted: str) -> Fault:
    return Fault(identity, subject.file, where, seen, wanted)


def _check_file(conf: Conf, subject: Subject) -> Iterator[Fault]:
    file = subject.file.casefold()
    if file.endswith(ENDINGS) and file.endswith(LIST_ENDING) != conf.is_list:
        seen = "it holds 'plugins'" if conf.is_list else "it holds a single plugin"
        yield _fault("cni.ending", subject, "", seen, "the ending .conflist" if conf.is_list else "the ending .conf")
    yield from _network_name(conf.name, subject)
    takes = list_accepted_versions(subject, conf)
    version = conf.cni_version or NO_VERSION
    if takes and version not in takes:
        seen = f"it is {_show(conf.cni_version)}" + ("" if conf.cni_version else f", which is {NO_VERSION}")
        yield _fault("cni.version", subject, "cniVersion", seen, join_words(takes))


def _network_name(name: str, subject: Subject) -> Iterator[Fault]:
    there = subject.networks
    if there is not None and name.casefold() not in {each.casefold() for each in there}:
        seen = f"it is {_show(name)}; HNS has the networks {join_words(there)}"
        yield _fault("cni.network-name", subject, "name", seen, subject.network_name or "an HNS network's name")
    elif not name or (subject.network_name and name.casefold() != subject.network_name.casefold()):
        yield _fault("cni.network-name", subject, "name", f"it is {_show(name)}", subject.network_name or "a name")


NO_VERSION = "0.1.0"
"""The version of a configuration without cniVersion. Source: containernetworking/cni pkg/version/conf.go."""


def list_accepted_versions(subject: Subject, conf: Conf | None = None) -> tuple[str, ...]:
    """The CNI versions that all plugins of the file accept. A plugin of unknown release accepts every known version."""
    try:
        own = cni.cni_versions(Version.parse(subject.plugins_version)) if subject.plugins_version else ()
    except VersionError:
        own = ()
    found = own or tuple(dict.fromkeys(one for each in cni.CNI_VERSIONS for one in each.versions))
    for worker in conf.workers if conf else ():
        if worker.type in cni.SDN_PLUGINS:
            found = tuple(each for each in found if each in cni.SDN_VERSIONS) or cni.SDN_VERSIONS
    return found


def _check_plugin(plugin: Plugin, subject: Subject) -> Iterator[Fault]:
    yield from _type(plugin.type, join(plugin.path, "type"), subject)
    ipam = plugin.keys.get("ipam")
    kind = str(lower(ipam).get("type") or "") if isinstance(ipam, Mapping) else ""
    if kind and kind not in cni.BUILT_IN_IPAM:
        yield from _type(kind, join(plugin.path, "ipam.type"), subject)
    for key in plugin.keys:
        if key in cni.IGNORED_KEYS:
            why = cni.IGNORED_KEYS[key]
            yield _fault("cni.ignored-key", subject, join(plugin.path, key), "it is there", f"it gone: {why}")
    dns = plugin.keys.get("dns")
    search = lower(dns).get("search") if isinstance(dns, Mapping) else None
    if isinstance(search, list) and len(search) > 1 and plugin.type not in cni.SEVERAL_SUFFIXES:
        yield _fault("cni.dns-search", subject, join(plugin.path, "dns.search"), f"it has {len(search)}", "one")
    if plugin.type == FLANNEL:
        yield from _check_flannel(plugin, subject)
    elif subject.flannel:
        yield _fault("cni.flannel-plugin", subject, join(plugin.path, "type"), f"it is {_show(plugin.type)}", FLANNEL)
    if plugin.delegate is not None:
        yield from _check_plugin(plugin.delegate, replace(subject, flannel=False))
        return
    yield from _families(plugin, subject)
    known = cni.BY_NAME.get(plugin.type)
    if known is not None and known.policies:
        yield from _check_worker(plugin, known, subject)


def _check_flannel(plugin: Plugin, subject: Subject) -> Iterator[Fault]:
    """Faults in what flannel's plugin adds to its delegate, or fails to add."""
    delegate = plugin.delegate
    if delegate is None:
        where = join(plugin.path, "delegate")
        wanted = BACKENDS[subject.mode].delegate if subject.mode in BACKENDS else "win-bridge or win-overlay"
        yield _fault("cni.flannel-plugin", subject, where, "it is not an object", f"one with the type {wanted}")
        return
    ipam = delegate.keys.get("ipam")
    if not isinstance(ipam, Mapping):
        return
    kind = lower(ipam).get("type")
    if kind == "azure-vnet-ipam":
        yield _fault("cni.ipam", subject, join(delegate.path, "ipam.type"), f"it is {kind}", f"none, or {FLANNEL_IPAM}")
    elif not kind:
        yield _fault("cni.ipam-by-hns", subject, join(delegate.path, "ipam"), "it has no type", "no 'ipam'")


def _type(kind: str, where: str, subject: Subject) -> Iterator[Fault]:
    there = None if subject.programs is None else {name.casefold() for name in subject.programs}
    if not kind:
        yield _fault("cni.plugin-missing", subject, where, "it is missing", "a plugin's name")
    elif kind in cni.NOT_BUILT:
        meant = cni.NOT_BUILT[kind]
        yield _fault("cni.plugin-missing", subject, where, f"it is {kind}, which is not a program", f"{meant} perhaps")
    elif there is not None and f"{kind}.exe".casefold() not in there:
        programs = join_words(sorted(name for name in there if name.endswith(".exe")))
        yield _fault("cni.plugin-missing", subject, where, f"it is {kind}; there are: {programs}", f"{kind}.exe")
    elif there is None and kind not in cni.BY_NAME:
        yield _fault("cni.plugin-rare", subject, where, f"it is {kind}", "a plugin that is known")


def _check_worker(plugin: Plugin, known: cni.CniPlugin, subject: Subject) -> Iterator[Fault]:
    if subject.mode in BACKENDS and known.needs in BACKENDS and known.needs != subject.mode:
        seen = f"the plugin {plugin.type} needs an {known.needs} network"
        yield _fault("cni.plugin-type", subject, join(plugin.path, "type"), seen, BACKENDS[subject.mode].delegate)
    wanted = 1 if subject.runtime == "dockershim" else 2
    if known.forms and plugin.api_version != wanted:
        where = join(plugin.path, "apiVersion")
        yield _fault(
            "cni.dockershim-form", subject, where, f"it is {plugin.keys.get('apiversion', 'missing')}", str(wanted)
        )
    if subject.dsr and known.forms and plugin.keys.get("loopbackdsr") is not True:
        where = join(plugin.path, "loopbackDSR")
        yield _fault("cni.loopback-dsr", subject, where, f"it is {_show(plugin.keys.get('loopbackdsr'))}", "true")
    for policy in plugin.policies:
        if policy.path.rpartition(".")[2].partition("[")[0] != known.policies.casefold():
            seen = f"{plugin.type} does not read it"
            yield _fault("cni.policies-key", subject, policy.path, seen, f"'{known.policies}'")
        yield from _check_policy(policy, plugin.form, subject)
    if known.name == OWN_ADDRESS and not _has_address(plugin):
        yield _fault("cni.no-provider-address", subject, plugin.path, "no policy has the node's address", "one")


def _has_address(plugin: Plugin) -> bool:
    return any(each.type in {"ProviderAddress", "PA"} for each in plugin.policies)


def _check_policy(policy: ConfPolicy, api_version: int, subject: Subject) -> Iterator[Fault]:
    if policy.name.casefold() != POLICY_NAME:
        seen = f"its name is {_show(policy.name)}"
        yield _fault("cni.policy-skipped", subject, policy.path, seen, "the name EndpointPolicy")
    if policy.value is None:
        yield _fault("cni.policy-skipped", subject, policy.path, "it has no value", "a value that is an object")
        return
    key = next((key for key in policy.value if key.casefold() == "type"), "")
    kind = str(policy.value.get(key) or "")
    if not key:
        yield _fault("cni.policy-skipped", subject, policy.path, "its value has no Type", "a Type")
        return
    if key != "Type":
        yield _fault("cni.policy-case", subject, policy.path, f"the key is '{key}'", "'Type'")
    new = api_version == 2
    types = cni.ENDPOINT_POLICIES if new else cni.OLD_POLICY_TYPES
    right = match_case(kind, (*types, *OLD_KEYS))
    if not right and new and (level := _level(kind)):
        seen = f"the type {_show(kind)} is one of a {level}"
        yield _fault("cni.policy-level", subject, policy.path, seen, join_words(types))
    elif not right:
        yield _fault("cni.policy-unknown", subject, policy.path, f"the type is {_show(kind)}", join_words(types))
    elif right != kind and right in SEARCHED:
        yield _fault("cni.policy-case", subject, policy.path, f"the type is '{kind}'", f"'{right}'")
    if new and (old := _find_old_form(policy.value, right)):
        yield _fault(
            "cni.old-form", subject, policy.path, f"{old} is the form without apiVersion", _describe_new_form(right)
        )
    elif new and (lost := find_dropped(policy.value)):
        seen = f"{join_words(lost)} {'stands' if len(lost) == 1 else 'stand'} beside Type"
        yield _fault("cni.policy-without-settings", subject, policy.path, seen, "all of it below 'Settings'")
    if api_version != 2 and "Settings" in policy.value:
        yield _fault("cni.new-form", subject, policy.path, "'Settings' is the form of apiVersion 2", "no 'Settings'")
    yield from _networks(policy, subject)


SEARCHED = ("OutBoundNAT", "PA", "ProviderAddress")
"""Types that win-bridge and win-overlay search as text; HNS itself ignores case. Source: containernetworking/plugins
pkg/hns/netconf_windows.go; projectcalico/calico writes SDNROUTE."""


def _level(kind: str) -> str:
    """The level that takes policies of this type; empty if none does."""
    return next((level for level, types in cni.POLICY_LEVELS.items() if match_case(kind, types)), "")


def match_case(kind: str, types: tuple[str, ...]) -> str:
    return next((each for each in types if each.casefold() == kind.casefold()), "")


def _find_old_form(value: Mapping[str, Any], kind: str) -> str:
    """The key or type of the form without apiVersion, as written; empty if the policy has none."""
    if kind in OLD_KEYS:
        return f"'{kind}'"
    inner = value.get("Settings")
    settings = inner if isinstance(inner, Mapping) else {}
    return next((f"'{key}'" for key in (*value, *settings) if key.casefold() == "exceptionlist"), "")


def _describe_new_form(kind: str) -> str:
    return f"'{OLD_KEYS[kind]}' with 'Settings'" if kind in OLD_KEYS else "'Settings': {'Exceptions': [..]}"


def _networks(policy: ConfPolicy, subject: Subject) -> Iterator[Fault]:
    for each in _list_exceptions(policy.value or {}):
        parsed = parse_ranges(str(each))
        if not parsed:
            yield _fault("cni.exception-wrong", subject, policy.path, f"the exception is {_show(each)}", "a network")
        elif parsed[0].prefixlen == 0:
            yield _fault("cni.exception-all", subject, policy.path, f"the exception {each} is everything", "networks")


def _families(plugin: Plugin, subject: Subject) -> Iterator[Fault]:
    """Faults of exception lists with both address families: HNS takes one family per list. Source:
    Azure/AgentBaker#3049."""
    for policy in plugin.policies:
        given = (one for each in _list_exceptions(policy.value or {}) for one in parse_ranges(str(each)))
        if len({one.version for one in given}) > 1:
            seen = "it has IPv4 and IPv6 in one list"
            yield _fault("cni.exception-wrong", subject, policy.path, seen, "a policy for each")


def _list_exceptions(value: Mapping[str, Any]) -> list[Any]:
    """All exceptions in a policy, in either form."""
    inner = value.get("Settings")
    found: list[Any] = []
    for each in (value, inner if isinstance(inner, Mapping) else {}):
        for key, content in each.items():
            if key.casefold() in {"exceptionlist", "exceptions"} and isinstance(content, list):
                found += content
    return found


def _provider_addresses(conf: Conf, subject: Subject) -> Iterator[Fault]:
    for address in conf.provider_addresses() if subject.addresses else ():
        if address not in (subject.addresses or ()):
            seen = f"ProviderAddress is {address}; the host has {join_words(subject.addresses or ())}"
            yield _fault("cni.provider-address", subject, "", seen, "the host's own address")


def _exceptions(conf: Conf, subject: Subject) -> Iterator[Fault]:
    """Missing exceptions, as the plugins understand them: one in the wrong form does not count."""
    known = [cni.BY_NAME[each.type] for each in conf.workers if each.type in cni.BY_NAME]
    workers = [each for each in known if each.needs in BACKENDS]
    if not workers:
        return
    found = [str(one) for each in conf.exceptions() for one in parse_ranges(each)]
    needed = dict.fromkeys(one for each in workers for one in subject.list_needed(each.needs))
    missing = find_uncovered(found, needed)
    if missing:
        seen = f"its exceptions are {join_words(found)}: traffic from pods to {join_words(missing)} is translated"
        yield _fault("cni.exceptions", subject, "", seen, f"{join_words(missing)} among them")


UNFILLED = re.compile(r"\{\{.*\}\}|\{%.*%\}|<[^<>]*[a-zA-Z][^<>]*>|\$\{\w+\}|\$\(\w+\)|__\w+__|%\w+%")
"""Placeholders of a template that were not filled in."""

LISTS = frozenset({"policies", "additionalargs", "exceptions", "exceptionlist", "nameservers", "search", "plugins",
                   "destinations", "routes"})  # fmt: skip
"""Keys whose value must be a list, in lower case."""

NEEDED = frozenset({"name", "type", "destinationprefix", "provideraddress", "pa", "subnet"})
"""Keys whose value must not be empty, in lower case; an ipam's type may be, which leaves addresses to HNS."""


def _values(value: Any, path: str, subject: Subject) -> Iterator[Fault]:
    """Placeholders that were never filled in, and strings where a list or a boolean belongs."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            where, folded = join(path, str(key)), str(key).casefold()
            if folded in LISTS and isinstance(each, str):
                yield _fault("cni.value-type", subject, where, f"it is the text {_show(each)}", "a list")
            elif folded == "needencap" and isinstance(each, str):
                yield _fault("cni.value-type", subject, where, f"it is the text {_show(each)}", "true or false")
            elif folded in NEEDED and each == "" and path and not path.casefold().endswith("ipam"):
                yield _fault("cni.value-unfilled", subject, where, "it is empty", "a value")
            yield from _values(each, where, subject)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            if each == "":
                yield _fault("cni.value-unfilled", subject, f"{path}[{number}]", "it is empty", "a value, or nothing")
            yield from _values(each, f"{path}[{number}]", subject)
    elif isinstance(value, str) and UNFILLED.search(value.replace(cni.OWN_TEMPLATE, "")):
        yield _fault("cni.value-unfilled", subject, path, f"it is {_show(value)}", "the value that belongs there")


def _show(value: object) -> str:
    return f"'{value}'" if value not in (None, "") else "missing"
