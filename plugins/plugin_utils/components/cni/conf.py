# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A CNI configuration as the plugins read it: one plugin or a list of them, a plugin's delegate, endpoint policies.

Keys match without regard to case, as in Go's encoding/json. Values of policies keep their case.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...facts.cni import BY_NAME

Object = Mapping[str, Any]

FILE = "cni.conf"
"""The name of the file that the role flannel writes."""

POLICY_LISTS = ("policies", "additionalargs")
"""Keys of policies: the first for win-bridge and win-overlay (containernetworking/plugins pkg/hns), the second for
sdnbridge, sdnoverlay and nat (microsoft/windows-container-networking)."""


ENDINGS = (".conf", ".conflist", ".json")
"""Endings that containerd reads as configurations; Go compares case. Source: containerd go-cni opts.go,
loadFromConfDir; containernetworking/cni libcni/conf.go, ConfFiles."""

LIST_ENDING = ".conflist"

BLANKS = "\u00a0\u2000\u2001\u2002\u2003\u2007\u2009\u202f\u3000\u200b"
"""Blanks of web pages and word processors, which JSON does not allow."""


class ConfError(Exception):
    """The file cannot be read as a CNI configuration; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class ConfPolicy:
    """One entry of a plugin's policies. `path` is its place, such as `delegate.policies[0]`; `value` is None unless
    it is an object."""

    path: str
    name: str
    value: Object | None

    @property
    def type(self) -> str:
        """The value of the key `Type`, spelled just so; empty without one."""
        return str((self.value or {}).get("Type") or "")


@dataclass(frozen=True, slots=True)
class Plugin:
    """One plugin's configuration. `keys` are its own keys in lower case; `delegate` is the plugin that a meta plugin
    such as flannel calls."""

    path: str
    type: str
    api_version: int
    keys: Object
    policies: tuple[ConfPolicy, ...]
    delegate: Plugin | None = None

    @property
    def form(self) -> int:
        """The form that its policies must have: that of its apiVersion if the plugin knows both forms."""
        known = BY_NAME.get(self.type)
        return self.api_version if known is None or known.forms else 2

    @property
    def worker(self) -> Plugin:
        """The plugin that talks to HNS: the delegate if there is one, else this plugin."""
        return self.delegate or self


@dataclass(frozen=True, slots=True)
class Conf:
    """A whole configuration file."""

    name: str
    cni_version: str
    plugins: tuple[Plugin, ...]
    is_list: bool

    @property
    def workers(self) -> tuple[Plugin, ...]:
        """The plugins that talk to HNS."""
        return tuple(each.worker for each in self.plugins)

    def exceptions(self) -> tuple[str, ...]:
        """Networks that pods reach with their own address, as the plugins understand the policies.

        Under apiVersion 2 the plugins ignore `ExceptionList`. Source: containernetworking/plugins
        pkg/hns/netconf_windows.go.
        """
        found: list[str] = []
        for plugin in self.workers:
            for policy in plugin.policies:
                if policy.type == "OutBoundNAT" and policy.name.casefold() == "endpointpolicy":
                    found += _exceptions(policy.value or {}, plugin.form)
        return tuple(found)

    def provider_addresses(self) -> tuple[str, ...]:
        """The node's addresses in its overlay policies, in either form."""
        found = []
        for plugin in self.workers:
            for policy in plugin.policies:
                value = policy.value or {}
                settings = value.get("Settings")
                inner = settings if isinstance(settings, Mapping) else {}
                found.append(str(inner.get("ProviderAddress") or value.get("PA") or ""))
        return tuple(each for each in found if each)


def _exceptions(value: Object, form: int) -> list[str]:
    settings = value.get("Settings")
    if form == 2:
        found = settings.get("Exceptions") if isinstance(settings, Mapping) else None
    else:
        found = value.get("ExceptionList")
    return [str(each) for each in found] if isinstance(found, list) else []


def choose_file(names: Iterable[str]) -> str:
    """The file in a folder that containerd uses: the first in byte order. Empty if there is none. Source: containerd
    go-cni opts.go, loadFromConfDir (sort.Strings), with max_conf_num 1, its default."""
    return min((name for name in names if name.endswith(ENDINGS)), key=str.encode, default="")


def decode(content: bytes) -> str:
    """A file's text, decoded as Go's decoder does: UTF-8 without a byte order mark. ConfError for the encodings that
    Windows PowerShell 5.1 writes (`>` UTF-16, Set-Content -Encoding utf8 with a mark)."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in content[:4]:
        raise ConfError("it is UTF-16, as Windows PowerShell's > and Out-File write; the plugins read only UTF-8")
    if content.startswith(b"\xef\xbb\xbf"):
        raise ConfError("it begins with a byte order mark, which Go's decoder refuses (invalid character '\u00ef')")
    return content.decode("utf-8", errors="replace")


def load(name: str, text: str) -> Conf:
    """The file as containerd loads it: a .conflist holds `plugins`, any other file one plugin with a type. ConfError
    says why containerd would refuse it. Source: containerd go-cni opts.go, loadFromConfDir; libcni/conf.go."""
    conf = read(text)
    if name.endswith(LIST_ENDING) and not conf.is_list:
        raise ConfError(f"the ending {LIST_ENDING} stands for a list of 'plugins', and it holds one plugin")
    if not name.endswith(LIST_ENDING) and not conf.plugins[0].type:
        raise ConfError("it has no 'type'" + (f"; a list of plugins needs the ending {LIST_ENDING}" * conf.is_list))
    if not conf.plugins:
        raise ConfError("its list 'plugins' is empty")
    return conf


def read(text: str) -> Conf:
    """The parsed file. ConfError says why it is not a configuration."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        line = text.splitlines()[error.lineno - 1].strip()[:80] if text.strip() else ""
        blank = text[error.pos : error.pos + 1]
        why = f"a blank that JSON does not allow (U+{ord(blank):04X})" if blank and blank in BLANKS else error.msg
        raise ConfError(f"line {error.lineno}, column {error.colno}: {why}: '{line}'") from None
    if not isinstance(data, Mapping):
        raise ConfError("it is not a JSON object")
    keys = lower(data)
    listed = keys.get("plugins")
    if isinstance(listed, list):
        plugins = tuple(_plugin(each, f"plugins[{n}]") for n, each in enumerate(listed) if isinstance(each, Mapping))
    else:
        plugins = (_plugin(data, ""),)
    return Conf(str(keys.get("name") or ""), str(keys.get("cniversion") or ""), plugins, isinstance(listed, list))


def find_repeats(text: str) -> tuple[str, ...]:
    """The keys that an object repeats, compared without case as Go does. The text must be valid."""
    found: list[str] = []

    def note_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key.casefold() for key, _value in pairs]
        found.extend(key for number, (key, _value) in enumerate(pairs) if key.casefold() in keys[:number])
        return dict(pairs)

    json.loads(text, object_pairs_hook=note_repeats)
    return tuple(found)


def _plugin(data: Object, path: str) -> Plugin:
    keys = lower(data)
    inner = keys.get("delegate")
    version = keys.get("apiversion")
    return Plugin(
        path=path,
        type=_program(keys.get("type")),
        api_version=version if isinstance(version, int) and not isinstance(version, bool) else 1,
        keys=keys,
        policies=tuple(_policies(keys, path)),
        delegate=_plugin(inner, join(path, "delegate")) if isinstance(inner, Mapping) else None,
    )


def _program(kind: object) -> str:
    """A plugin's type without `.exe`: the runtime finds the program either way. Source: containernetworking/cni
    pkg/invoke/os_windows.go, ExecutableFileExtensions."""
    return str(kind or "").removesuffix(".exe") if isinstance(kind, str) else ""


def _policies(keys: Object, path: str) -> Iterator[ConfPolicy]:
    for list_name in POLICY_LISTS:
        entries = keys.get(list_name)
        for number, each in enumerate(entries if isinstance(entries, list) else ()):
            own = lower(each) if isinstance(each, Mapping) else {}
            value = own.get("value")
            where = join(path, f"{list_name}[{number}]")
            yield ConfPolicy(where, str(own.get("name") or ""), value if isinstance(value, Mapping) else None)


def lower(data: Object) -> dict[str, Any]:
    """The object with its own keys in lower case; nested objects stay as they are."""
    return {str(key).casefold(): value for key, value in data.items()}


def join(path: str, name: str) -> str:
    """The path of `name` below `path`."""
    return f"{path}.{name}" if path else name
