# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubeconfig's text as client-go decodes it: each field has its type, or the file is refused by entry and field.

A field that is not known is ignored, as there. No sentence quotes a value: it may be a credential.

Source: client-go v0.37.1 tools/clientcmd/api/v1/types.go (fields), conversion.go (a name twice),
tools/clientcmd/validation.go (what is refused).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import yaml

from ..engine.secret import NO_BYTES, NO_TEXT, Secret
from ..foreign.files import ForeignError
from ..foreign.values import LOADER, check_node, explain_yaml
from .error import ClusterError

T = TypeVar("T")

MOST_BYTES = 8 << 20
"""Of a kubeconfig."""
EXEC_EXTENSION = "client.authentication.k8s.io/exec"
INTERACTIVE = ("Never", "IfAvailable", "Always")
_BETA = "client.authentication.k8s.io/v1beta1"
VERSIONS = ("client.authentication.k8s.io/v1", _BETA)
"""Of ExecCredential. Source: client-go plugin/pkg/client/auth/exec/exec.go, apiVersions."""
_KINDS: Mapping[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "a mapping",
}


@dataclass(frozen=True, slots=True)
class ClusterEntry:
    """Where an API is, and who is trusted there."""

    server: str = ""
    tls_server_name: str = ""
    insecure: bool = False
    authority: str = ""
    authority_data: bytes = b""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExecEntry:
    """A program that gives credentials."""

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


@dataclass(frozen=True, slots=True)
class UserEntry:
    """Who asks. `act_as` and its like are what `kubectl --as` sends."""

    certificate: str = ""
    certificate_data: bytes = field(default=b"", repr=False)
    key: str = ""
    key_data: Secret[bytes] = NO_BYTES
    token: Secret[str] = NO_TEXT
    token_file: str = ""
    username: str = ""
    password: Secret[str] = NO_TEXT
    act_as: str = ""
    act_as_uid: str = ""
    act_as_groups: tuple[str, ...] = ()
    act_as_extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    provider: Mapping[str, Any] | None = field(default=None, repr=False)
    program: ExecEntry | None = None


@dataclass(frozen=True, slots=True)
class ContextEntry:
    """Which user asks which cluster, by their names."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class KubeconfigFile:
    current_context: str
    clusters: Mapping[str, ClusterEntry]
    users: Mapping[str, UserEntry]
    contexts: Mapping[str, ContextEntry]


class _Loader(LOADER):
    """With the types that Go's YAML makes of a text without quotes: no dates, and no numbers to the base of sixty. A
    token 2026-11-29 or 12:34 is a text there, and 1e3 is a number."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}
    bool_values: ClassVar[dict[str, bool]] = {**yaml.SafeLoader.bool_values, "y": True, "n": False}


_PLAIN = (
    ("bool", r"(?:y|Y|n|N|yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$", "yYnNtTfFoO"),
    ("int", r"[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)$", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?$", "-+0123456789."),
    ("float", r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$", "-+."),
    ("null", r"(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("merge", r"<<$", "<"),
)
for _tag, _pattern, _first in _PLAIN:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))


def read_kubeconfig(text: str, where: str) -> KubeconfigFile:
    """The file in `text`. ClusterError, with `where` as its name, if it is none or a field has another type."""
    document = _Fields(_load(text, where), where, "")
    if document.text("apiVersion") not in {"", "v1"} or document.text("kind") not in {"", "Config"}:
        raise ClusterError(f"{where}: no kubeconfig: apiVersion and kind are not v1 and Config.")
    return KubeconfigFile(
        document.text("current-context"),
        document.named("clusters", "cluster", _cluster),
        document.named("users", "user", _user),
        document.named("contexts", "context", _context),
    )


def _load(text: str, where: str) -> Mapping[str, Any]:
    loader = _Loader(text)
    try:
        node = loader.get_node() if loader.check_node() else None  # of several documents Go reads the first
        if node is not None:
            check_node(node)
        document = None if node is None else loader.construct_document(node)
    except (yaml.YAMLError, ForeignError, ValueError, RecursionError) as error:
        raise ClusterError(f"{where}: no kubeconfig: {explain_yaml(error)}") from None
    finally:
        loader.dispose()
    if not isinstance(document, dict | None):
        raise ClusterError(f"{where}: no kubeconfig: the text is not a mapping.")
    return document or {}


def _cluster(fields: _Fields) -> ClusterEntry:
    return ClusterEntry(
        server=fields.text("server"),
        tls_server_name=fields.text("tls-server-name"),
        insecure=fields.flag("insecure-skip-tls-verify"),
        authority=fields.text("certificate-authority"),
        authority_data=fields.data("certificate-authority-data"),
        proxy_url=fields.text("proxy-url"),
        disable_compression=fields.flag("disable-compression"),
        extensions=fields.named("extensions", "", lambda extension: extension.raw("extension")),
    )


def _user(fields: _Fields) -> UserEntry:
    provider, program = fields.inner("auth-provider"), fields.inner("exec")
    return UserEntry(
        certificate=fields.text("client-certificate"),
        certificate_data=fields.data("client-certificate-data"),
        key=fields.text("client-key"),
        key_data=Secret(fields.data("client-key-data")),
        token=Secret(fields.text("token")),
        token_file=fields.text("tokenFile"),
        username=fields.text("username"),
        password=Secret(fields.text("password")),
        act_as=fields.text("as"),
        act_as_uid=fields.text("as-uid"),
        act_as_groups=fields.texts("as-groups"),
        act_as_extra=fields.lists("as-user-extra"),
        provider=_provider(provider) if provider else None,
        program=_program(program) if program else None,
    )


def _provider(fields: _Fields) -> dict[str, Any]:
    return {"name": fields.text("name"), "config": fields.texts_by_name("config")}


def _program(fields: _Fields) -> ExecEntry:
    version = fields.text("apiVersion")
    return ExecEntry(
        command=fields.text("command"),
        args=fields.texts("args"),
        env=tuple((each.text("name"), each.text("value")) for each in fields.items("env")),
        api_version=version,
        install_hint=fields.text("installHint"),
        provide_cluster_info=fields.flag("provideClusterInfo"),
        interactive_mode=fields.text("interactiveMode") or ("IfAvailable" if version == _BETA else ""),
    )


def _context(fields: _Fields) -> ContextEntry:
    return ContextEntry(fields.text("cluster"), fields.text("user"), fields.text("namespace"))


class _Fields:
    """One mapping of the file; each method gives a field of one type, or its zero where it is missing or null."""

    def __init__(self, fields: Mapping[str, Any], where: str, path: str) -> None:
        self._fields, self._where, self._path = fields, where, path

    def raw(self, key: str) -> Any:
        return self._fields.get(key)

    def text(self, key: str) -> str:
        return str(self._typed(key, str, ""))

    def flag(self, key: str) -> bool:
        return bool(self._typed(key, bool, False))

    def data(self, key: str) -> bytes:
        text = self.text(key)
        try:
            return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
        except ValueError:
            raise self._refuse(key, "is not base64") from None

    def texts(self, key: str) -> tuple[str, ...]:
        return self._texts(key, self._typed(key, list, []))

    def lists(self, key: str) -> dict[str, tuple[str, ...]]:
        found = self._typed(key, dict, {})
        for name, values in found.items():
            if not isinstance(values, list | None):
                raise self._refuse(f"{key}.{name}", f"is {_kind(values)}, and a list has to be there")
        return {str(name): self._texts(f"{key}.{name}", values or []) for name, values in found.items()}

    def texts_by_name(self, key: str) -> dict[str, str]:
        found = self._typed(key, dict, {})
        return dict(zip(map(str, found), self._texts(key, list(found.values())), strict=True))

    def inner(self, key: str) -> _Fields | None:
        found = self._typed(key, dict, None)
        return None if found is None else _Fields(found, self._where, self._join(key))

    def items(self, key: str) -> tuple[_Fields, ...]:
        found = self._typed(key, list, [])
        for number, each in enumerate(found):
            if not isinstance(each, dict | None):
                raise self._refuse(f"{key}[{number}]", f"is {_kind(each)}, and a mapping has to be there")
        return tuple(
            _Fields(each or {}, self._where, self._join(f"{key}[{number}]")) for number, each in enumerate(found)
        )

    def named(self, key: str, inner: str, make: Callable[[_Fields], T]) -> dict[str, T]:
        """A list of `{name, <inner>}`, by name; without `inner` the item itself is what `make` gets."""
        found: dict[str, T] = {}
        for item in self.items(key):
            name = item.text("name")
            if name in found:
                raise self._refuse(key, f"has the name '{name}' twice")
            path = self._join(f"{key}[{name}]")
            content = item._typed(inner, dict, {}) if inner else item._fields
            found[name] = make(_Fields(content, self._where, f"{path}.{inner}" if inner else path))
        return found

    def _texts(self, key: str, values: Sequence[Any]) -> tuple[str, ...]:
        for number, each in enumerate(values):
            if not isinstance(each, str | None):
                raise self._refuse(f"{key}[{number}]", f"is {_kind(each)}, and a text has to be there")
        return tuple(each or "" for each in values)

    def _typed(self, key: str, wanted: type, nothing: Any) -> Any:
        value = self._fields.get(key)
        if value is None:
            return nothing
        if not isinstance(value, wanted):
            quotes = "; write it in quotes" if wanted is str and not isinstance(value, list | dict) else ""
            raise self._refuse(key, f"is {_kind(value)}, and {_KINDS[wanted]} has to be there{quotes}")
        return value

    def _join(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def _refuse(self, key: str, what: str) -> ClusterError:
        return ClusterError(f"{self._where}: {self._join(key)} {what}.")


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "something else")


def find_conflicts(user: UserEntry) -> str:
    """Why kubectl refuses the user; empty if it does not. What is wrong with files is found when they are read."""
    if user.token and (user.username or user.password):
        return "has a token and a password, and only one is allowed"
    if user.certificate or user.certificate_data:
        for text, data, what in (
            (user.certificate, user.certificate_data, "client-certificate"),
            (user.key, user.key_data, "client-key"),
        ):
            if text and data:
                return f"has {what} and {what}-data, and only one is allowed"
        if not user.key and not user.key_data:
            return "has a client certificate, but neither client-key nor client-key-data"
    if user.program and user.provider:
        return "has exec and auth-provider, and only one is allowed"
    if (user.act_as_uid or user.act_as_groups or user.act_as_extra) and not user.act_as:
        return "has as-uid, as-groups or as-user-extra, but no `as`"
    return _find_program_conflicts(user.program) if user.program else ""


def _find_program_conflicts(program: ExecEntry) -> str:
    if not program.command:
        return "has exec without a command"
    if not program.api_version:
        return f"has exec without an apiVersion, such as {VERSIONS[0]}"
    if not all(name for name, _value in program.env):
        return "has exec with a variable without a name in env"
    if program.interactive_mode not in INTERACTIVE:
        return f"has exec without an interactiveMode that is {', '.join(INTERACTIVE[:-1])} or {INTERACTIVE[-1]}"
    return ""
