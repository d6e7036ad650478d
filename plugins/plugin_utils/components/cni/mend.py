# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Repair a cni.conf where the right value is known: forms and keys of policies, exceptions, names.

A person must decide the rest, such as a missing plugin, or a policy of the old form with settings that the new form
cannot hold. Only the wrong values are rewritten: order, tabs and line ends stay, and a correct text is returned
unchanged.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...facts import cni
from ..networks import find_uncovered, parse_ranges
from .conf import BLANKS, ConfError, lower, read
from .json_edit import edit
from .judge import NO_VERSION, OLD_KEYS, OUTBOUND, OWN_ADDRESS, SEARCHED, list_accepted_versions, match_case
from .policy_forms import NoFormError, convert, find_dropped
from .rules import Subject

Object = dict[str, Any]


def mend(text: str, subject: Subject) -> str:
    """The repaired text; the same text if nothing can be repaired or the text cannot be read."""
    given, text = text, _blanks(text)
    try:
        read(text)
    except ConfError:
        return given
    data: Object = json.loads(text)
    mended = copy.deepcopy(data)
    _file(mended, subject)
    for plugin in _plugins(mended):
        _plugin(plugin, subject)
    return text if mended == data else edit(text, mended)


def _blanks(text: str) -> str:
    """The text with plain blanks in place of those that web pages use, outside of strings."""
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    return "".join(part if part.startswith('"') else re.sub(f"[{BLANKS}]", " ", part) for part in parts)


def _key(data: Mapping[str, Any], name: str) -> str:
    """The key as the file spells it; `name` if it is missing."""
    return next((key for key in data if key.casefold() == name.casefold()), name)


def _file(data: Object, subject: Subject) -> None:
    if subject.network_name and str(lower(data).get("name") or "").casefold() != subject.network_name.casefold():
        data[_key(data, "name")] = subject.network_name
    takes = list_accepted_versions(subject, read(json.dumps(data)))
    if subject.plugins_version and takes and lower(data).get("cniversion", NO_VERSION) not in takes:
        data[_key(data, "cniVersion")] = takes[-1]


def _plugins(data: Object) -> Iterator[Object]:
    """Every configured plugin, delegates too."""
    listed = data.get(_key(data, "plugins"))
    for each in listed if isinstance(listed, list) else [data]:
        if isinstance(each, dict):
            yield each
            inner = each.get(_key(each, "delegate"))
            if isinstance(inner, dict):
                yield inner


def _plugin(data: Object, subject: Subject) -> None:
    for key in [key for key in data if key.casefold() in cni.IGNORED_KEYS]:
        del data[key]
    known = cni.BY_NAME.get(str(lower(data).get("type") or ""))
    if known is None or not known.policies:
        return
    form = 1 if subject.runtime == "dockershim" else 2
    if known.forms and form == 2 and lower(data).get("apiversion") != 2:
        data[_key(data, "apiVersion")] = 2
    entries = _gather(data, known.policies)
    for entry in entries:
        value = entry.get(_key(entry, "value"))
        if isinstance(value, dict) and form == 2:
            entry[_key(entry, "value")] = _policy(value)
    if form == 2:
        _exceptions(data, known.policies, entries, subject.list_needed(known.needs))
        _address(data, known, entries, subject)


def _gather(data: Object, wanted: str) -> list[Object]:
    """The policies, moved below the key that the plugin reads."""
    wrong = "AdditionalArgs" if wanted == "policies" else "policies"
    stray = data.pop(_key(data, wrong), None)
    own = data.get(_key(data, wanted))
    if isinstance(stray, list):
        own = [*(own if isinstance(own, list) else ()), *stray]
        data[_key(data, wanted)] = own
    return [each for each in own if isinstance(each, dict)] if isinstance(own, list) else []


def _policy(value: Object) -> Object:
    """The policy in the form of apiVersion 2, spelled as the plugins search for it; unchanged if that would lose a
    setting."""
    kind = str(value.get(_key(value, "Type")) or "")
    right = match_case(kind, SEARCHED) or kind
    settings = value.get(_key(value, "Settings"))
    within = {key.casefold() for key in settings} if isinstance(settings, dict) else set()
    old = kind in OLD_KEYS or bool(find_dropped(value)) or "exceptionlist" in within
    if not kind or (right == kind and "Type" in value and not old):
        return value
    try:
        return convert(value)
    except NoFormError:
        return value


def _exceptions(data: Object, key: str, entries: list[Object], needed: tuple[str, ...]) -> None:
    """Add each missing exception to the first OutBoundNAT policy, or to a new one."""
    if not needed:
        return
    values = [entry.get(_key(entry, "value")) for entry in entries]
    own = [each for each in values if isinstance(each, dict) and each.get("Type") == OUTBOUND]
    given = [str(one) for each in own for one in (each.get("Settings") or {}).get("Exceptions") or ()]
    missing = find_uncovered([str(one) for each in given for one in parse_ranges(each)], needed)
    if not missing:
        return
    if own:
        settings = own[0].setdefault("Settings", {})
        settings["Exceptions"] = [*(settings.get("Exceptions") or ()), *missing]
    else:
        _add(data, key, {"Type": OUTBOUND, "Settings": {"Exceptions": list(missing)}})


def _address(data: Object, known: cni.CniPlugin, entries: list[Object], subject: Subject) -> None:
    values = [entry.get(_key(entry, "value")) for entry in entries]
    has = any(isinstance(each, dict) and each.get("Type") == "ProviderAddress" for each in values)
    if known.name == OWN_ADDRESS and subject.management_ip and not has:
        _add(data, known.policies, {"Type": "ProviderAddress", "Settings": {"ProviderAddress": subject.management_ip}})


def _add(data: Object, key: str, value: Object) -> None:
    entries = data.setdefault(_key(data, key), [])
    entries.append({"Name": "EndpointPolicy", "Value": value})
