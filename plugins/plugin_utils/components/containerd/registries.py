# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Registry mirrors and private certificate authorities: one folder with a hosts.toml for each registry.

containerd reads these folders at each pull, so no service restarts for them; config.toml has only `config_path`, the
folder above them. If containerd cannot read a hosts.toml, it logs a line and pulls from the registry itself. So
everything is checked here.

A receipt on the node lists the files that we made; folders of others are never touched.

Credentials become the header Authorization. config.toml has a place for them too (`registry.configs.<host>.auth`),
which is not used: it is deprecated, works only for the kubelet's pulls and after a restart, and `config dump` and
`crictl info` print it. In 1.x a file in conf.d for it would replace the settings of the whole CRI plugin.

Source: containerd v1.6.36 to v1.7.35 remotes/docker/config/{hosts,config_windows}.go, v2.0.14 to v2.4.2
core/remotes/docker/config/{hosts,config_windows}.go.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from ...engine import windows_path
from ...engine.address import mask
from ...engine.reading import Query, Reading, file_key, file_query
from ...engine.resource import Refused, Resource
from ...engine.resources.directory import guard_always
from ...engine.resources.file import File
from ...engine.secret import Secret
from ...facts import containerd as facts
from ...facts.version import Version
from ..layout import Layout
from .containerd_toml import Document
from .made_files import RECEIPT_LIMIT, MadeFiles, read_recorded_paths
from .options import AuthOptions, ClientOptions, MirrorOptions, RegistryOptions

NAME = "registries"

ALL = "_default"
"""The folder for registries without one of their own; containerd 1.6 and later."""

HOSTS_TOML = "hosts.toml"
CERTIFICATES = ("ca.pem", "client.pem", "client.key")
"""File names of an endpoint, after its own name, which is `server`, `mirror1`, `mirror2`, ..."""

READ_MIRRORS = 2
_READ_NAMES = (
    HOSTS_TOML,
    *(
        f"{endpoint}-{kind}"
        for endpoint in ("server", *(f"mirror{n + 1}" for n in range(READ_MIRRORS)))
        for kind in CERTIFICATES
    ),
)

CAPABILITIES = ("pull", "resolve", "push")

AUTHORIZATION = "authorization"

_ALSO_FOR_TOKENS = Version.parse("2.1.0")
"""The first release that sends the headers of hosts.toml also to a registry's token server; earlier ones send them
only to the registry, and a pull is anonymous. Source: containerd v2.0.14, v2.1.0
core/remotes/docker/config/hosts.go, ConfigureHosts (WithAuthHeader)."""

ReadFile = Callable[[str], bytes]
"""Reads a file on the controller. Raises OSError with a sentence."""

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""Characters in a header with which Go's client sends no request: source golang.org/x/net v0.48.0
http/httpguts/httplex.go, ValidHeaderFieldName and ValidHeaderFieldValue. TOML's strings cannot hold DEL either."""
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?")
_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"
_KEY = re.compile(rb"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address to pull from. `url` may be empty for the registry's own.

    `ca`: PEM. On Windows containerd then trusts **only** these certificates, not the machine's (its pool starts empty).
    `client`: certificate and private key, PEM. `auth` becomes one of the `header`.
    """

    url: str = ""
    capabilities: tuple[str, ...] = ()
    ca: bytes = b""
    client: tuple[bytes, Secret[bytes]] | None = None
    skip_verify: bool = False
    override_path: bool = False
    header: tuple[tuple[str, Secret[str]], ...] = ()

    @property
    def authorizes(self) -> bool:
        """Whether requests carry credentials."""
        return any(name.casefold() == AUTHORIZATION for name, _value in self.header)


@dataclass(frozen=True, slots=True)
class Registry:
    """The registry `host` (`registry.example.com:5000`, or `_default`). containerd asks its mirrors in their order,
    then `server`."""

    host: str
    server: Endpoint = Endpoint()
    mirrors: tuple[Endpoint, ...] = ()

    @property
    def folder(self) -> str:
        """The folder's name: the host without its colon, which Windows does not allow."""
        return self.host.replace(":", "")

    @property
    def shadowing_folder(self) -> str:
        """The folder that containerd would prefer to `folder`; empty for a host without a port."""
        name, colon, port = self.host.rpartition(":")
        return f"{name}_{port}_" if colon else ""


def registries(wanted: Sequence[RegistryOptions], read_file: ReadFile) -> tuple[Registry, ...]:
    """The registries in the option `registries` of win_containerd. Refused with one sentence per invalid entry."""
    problems: list[str] = []
    made = tuple(_registry(option, read_file, problems) for option in wanted)
    folders: dict[str, Registry] = {}
    for registry in made:
        other = folders.setdefault(registry.folder.casefold(), registry)
        if other is not registry:
            problems.append(
                f"registries: {other.host} and {registry.host} have the same folder on Windows, '{registry.folder}'; "
                "keep one."
            )
    if problems:
        raise Refused(*problems)
    return made


def build_resources(
    layout: Layout, wanted: Sequence[Registry], version: Version, reading: Reading, mark: str
) -> tuple[Resource, ...]:
    """Folders, hosts.toml and certificates, and the removal of files we no longer need. Nothing if no registry is or
    was wanted."""
    before = read_recorded_paths(reading, _receipt(layout))
    if not wanted and not before:
        return ()
    _refuse_default(wanted, version)
    _refuse_shadowed(layout, wanted, reading)
    backup = layout.backup(mark)
    files = tuple(
        _file(windows_path.join(layout.certs_dir, registry.folder, name), content, backup, reading)
        for registry in wanted
        for name, content in _files(registry)
    )
    keep = {windows_path.key(file.path) for file in files}
    gone = tuple(path for path in before if windows_path.key(path) not in keep)
    # Any user may make folders in ProgramData, and such a folder would decide where the node's images come from.
    own = [windows_path.join(layout.certs_dir, registry.folder) for registry in wanted]
    folders = guard_always(layout.certs_dir, *own) if wanted else ()
    return (*folders, *files, MadeFiles(_receipt(layout), tuple(file.path for file in files), gone, backup))


def _file(path: str, content: bytes | Secret[bytes], backup: str, reading: Reading) -> File:
    """A file as it follows from a reading: an unchanged one need not be read for the diff."""
    made = File(path, content, backup, equal=None)
    return replace(made, shown=reading.parts.get(file_key(path), {}).get("sha256") != made.sha256)


def warnings(wanted: Sequence[Registry], version: Version) -> list[str]:
    """Settings that work, but probably not as intended; one sentence each."""
    named = [
        registry.host for registry in wanted if any(one.authorizes for one in (registry.server, *registry.mirrors))
    ]
    open_ = [
        one.url
        for registry in wanted
        for one in (registry.server, *registry.mirrors)
        if one.authorizes and one.url.startswith("http:")
    ]
    found = [f"registries: {mask(url)} is asked without TLS: anyone on the way can read its password." for url in open_]
    if named and version < _ALSO_FOR_TOKENS:
        found.append(
            f"registries, {', '.join(named)}: containerd {version} sends these credentials only to the registry, not "
            "to a separate token server (Docker Hub, ghcr.io, quay.io, GitLab, Azure): use containerd "
            f"{_ALSO_FOR_TOKENS} or later, or imagePullSecrets."
        )
    return found


def reads(layout: Layout) -> tuple[Query, ...]:
    """Everything that `build_resources` reads of a converged node: the receipt, and the folder and files of each
    registry in the layout. More than READ_MIRRORS mirrors cost another call, and so does any difference."""
    hosts = [Registry(host) for host in layout.registry_hosts if host == ALL or _HOST.fullmatch(host)]
    folders = [windows_path.join(layout.certs_dir, registry.folder) for registry in hosts]
    return (
        *_list_reads(layout),
        *(query for made in guard_always(layout.certs_dir, *folders) if hosts for query in made.reads()),
        *(
            file_query(windows_path.join(folder, name), sha256=True, sddl=True)
            for folder in folders
            for name in _READ_NAMES
        ),
    )


def _list_reads(layout: Layout) -> tuple[Query, Query]:
    return (
        file_query(_receipt(layout), sha256=True, content_limit=RECEIPT_LIMIT),
        file_query(layout.certs_dir, entries=True, sddl=True),
    )


def config_problems(text: str, folder: str, version: Version) -> list[str]:
    """Why containerd would not look into `folder` for registries with this config.toml. `text` must have passed
    containerd_config.check."""
    document = Document.parse(text)
    place = facts.release_line(version).places[document.data["version"]].registry_config_path
    said = document.get(place, "") if place else ""
    folders = said.split(";") if isinstance(said, str) else []  # as Go's filepath.SplitList on Windows
    if place is None or any(windows_path.is_same(entry, folder) for entry in folders if entry):
        return []
    table = ".".join(f'"{part}"' if "." in part else part for part in place[:-1])
    return [
        f"{document.at(place)}there are registries, but {place[-1]} does not name their folder: "
        f"write `{place[-1]} = '{folder}'` in [{table}]."
    ]


def hosts_toml(registry: Registry) -> str:
    """The text of hosts.toml. containerd asks the mirrors in this order."""
    lines = ["# Written by winkube.node; changes made here are undone by its next run."]
    if registry.server.url:
        lines.append(f"server = {_quote(registry.server.url)}")
    lines += _settings(registry.server, "server")
    lines += _header(registry.server, "header")
    for n, mirror in enumerate(registry.mirrors, 1):
        table = f"host.{_quote(mirror.url)}"
        lines += ["", f"[{table}]", *(f"  {line}" for line in _settings(mirror, f"mirror{n}"))]
        lines += [f"  {line}" for line in _header(mirror, f"{table}.header")]
    return "\n".join(lines) + "\n"


def _settings(endpoint: Endpoint, name: str) -> list[str]:
    """The lines of one endpoint. Paths of certificates are relative to hosts.toml."""
    lines = []
    if endpoint.capabilities:
        lines.append(f"capabilities = [{', '.join(_quote(one) for one in endpoint.capabilities)}]")
    if endpoint.ca:
        lines.append(f"ca = {_quote(f'{name}-ca.pem')}")
    if endpoint.client:
        lines.append(f"client = [[{_quote(f'{name}-client.pem')}, {_quote(f'{name}-client.key')}]]")
    if endpoint.skip_verify:
        lines.append("skip_verify = true")
    if endpoint.override_path:
        lines.append("override_path = true")
    return lines


def _header(endpoint: Endpoint, table: str) -> list[str]:
    return [f"[{table}]", *(f"  {_quote(key)} = {_quote(value.reveal())}" for key, value in endpoint.header)] * bool(
        endpoint.header
    )


def _quote(text: str) -> str:
    """A TOML basic string. JSON's escapes are valid in TOML."""
    return json.dumps(text, ensure_ascii=False)


def _files(registry: Registry) -> Iterator[tuple[str, bytes | Secret[bytes]]]:
    """(name, content)."""
    endpoints = {"server": registry.server} | {f"mirror{n}": one for n, one in enumerate(registry.mirrors, 1)}
    for name, endpoint in endpoints.items():
        if endpoint.ca:
            yield f"{name}-ca.pem", endpoint.ca
        if endpoint.client:
            yield f"{name}-client.pem", endpoint.client[0]
            yield f"{name}-client.key", endpoint.client[1]
    # Last, so that it never names a missing file.
    text = hosts_toml(registry).encode()
    yield HOSTS_TOML, Secret(text) if any(endpoint.header for endpoint in endpoints.values()) else text


def _receipt(layout: Layout) -> str:
    return windows_path.join(layout.state_dir, "receipts", f"{NAME}.json")


_FOLDER_FOR_ALL = Version.parse("1.6.0")
r"""The first release that reads certs.d\_default."""


def _refuse_default(wanted: Sequence[Registry], version: Version) -> None:
    if version < _FOLDER_FOR_ALL and any(registry.host == ALL for registry in wanted):
        raise Refused(
            f"registries: containerd {version} has no folder for all registries ('{ALL}'); name each one, or take "
            "containerd 1.6 or later."
        )


def _refuse_shadowed(layout: Layout, wanted: Sequence[Registry], reading: Reading) -> None:
    """Refused if the folder that containerd prefers exists, even if it is empty."""
    entries = {str(entry).casefold() for entry in _entries(layout, reading)}
    problems = [
        f"registries: on the node there is the folder "
        f"{windows_path.join(layout.certs_dir, registry.shadowing_folder)}, which containerd prefers to "
        f"'{registry.folder}' for {registry.host}. Remove it, or move its settings into "
        "winkube_registries."
        for registry in wanted
        if registry.shadowing_folder and registry.shadowing_folder.casefold() in entries
    ]
    if problems:
        raise Refused(*problems)


def _entries(layout: Layout, reading: Reading) -> Sequence[Any]:
    (_folder, query) = _list_reads(layout)
    return reading.parts.get(query.key, {}).get("entries") or ()


def _registry(option: RegistryOptions, read_file: ReadFile, problems: list[str]) -> Registry:
    host = option.host
    if host != ALL and not _HOST.fullmatch(host):
        problems.append(
            f"registries: '{host}' is not a registry's host; wanted the beginning of an image's name, such as "
            f"docker.io or registry.example.com:5000, or '{ALL}' for all that have no entry."
        )
    server = _endpoint(f"registries, {host}", option.server, option, read_file, problems, optional_url=True)
    if host == ALL and server.authorizes and not server.url:
        problems.append(
            f"registries, {host}: these credentials would go to every registry of the world that has no entry; name "
            "the registry that they belong to."
        )
    mirrors = tuple(
        _endpoint(f"registries, {host}, mirror {mask(mirror.url)}", mirror.url, mirror, read_file, problems)
        for mirror in option.mirrors
    )
    twice = {mirror.url for n, mirror in enumerate(mirrors) if mirror.url in [other.url for other in mirrors[:n]]}
    problems += [f"registries, {host}: the mirror {mask(url)} appears twice; keep one." for url in sorted(twice)]
    return Registry(host, server, mirrors)


def _endpoint(
    where: str,
    url: str,
    option: RegistryOptions | MirrorOptions,
    read_file: ReadFile,
    problems: list[str],
    *,
    optional_url: bool = False,
) -> Endpoint:
    reached = option.connection
    if not (optional_url and not url):
        problems += _url_problems(where, url)
    problems += [
        f"{where}: '{one}' is not a capability; known are {', '.join(CAPABILITIES)}."
        for one in option.capabilities
        if one not in CAPABILITIES
    ]
    pair = None
    if reached.client.certificate or reached.client.key:
        pair = _client(where, reached.client, read_file, problems)
    header = tuple(sorted(reached.header.items(), key=lambda entry: entry[0]))
    problems += _header_problems(where, header)
    header += _authorization(where, reached.auth, header, problems)
    ca = _read(where, "ca", reached.ca, read_file, problems) if reached.ca else b""
    if ca and _CERTIFICATE not in ca:
        problems.append(f"{where}: {reached.ca} holds no certificate in PEM form; containerd would fail at each pull.")
    return Endpoint(
        url=url,
        capabilities=option.capabilities,
        ca=ca,
        client=pair,
        skip_verify=reached.skip_verify,
        override_path=reached.override_path,
        header=header,
    )


def _authorization(
    where: str, auth: AuthOptions, header: Sequence[tuple[str, Secret[str]]], problems: list[str]
) -> tuple[tuple[str, Secret[str]], ...]:
    """The header for `auth`."""
    user, password, token = auth.username, auth.password, auth.token
    if not (user or password or token):
        return ()
    if token and (user or password):
        problems.append(f"{where}: auth has a token and a user; give username and password, or only token.")
    elif not token and not (user and password):
        problems.append(f"{where}: auth has {'no password' if user else 'no username'}; give both.")
    elif ":" in user:
        problems.append(f"{where}: the username in auth holds a colon, behind which the password would begin.")
    elif any(name.casefold() == AUTHORIZATION for name, _value in header):
        problems.append(f"{where}: auth and the header Authorization say the same thing twice; keep one.")
    elif _CONTROL.search(user + password.reveal() + token.reveal()):
        problems.append(f"{where}: auth holds a control character, such as a newline; write each value on one line.")
    basic = base64.b64encode(f"{user}:{password.reveal()}".encode()).decode()
    return (("Authorization", Secret(f"Bearer {token.reveal()}" if token else f"Basic {basic}")),)


def _client(
    where: str, client: ClientOptions, read_file: ReadFile, problems: list[str]
) -> tuple[bytes, Secret[bytes]] | None:
    if not client.certificate or not client.key:
        problems.append(f"{where}: a client has both a certificate and a key; only one of the two files is given.")
        return None
    certificate = _read(where, "client.certificate", client.certificate, read_file, problems)
    key = _read(where, "client.key", client.key, read_file, problems)
    if certificate and _CERTIFICATE not in certificate:
        problems.append(f"{where}: {client.certificate} holds no certificate in PEM form.")
    if key and not _KEY.search(key):
        problems.append(f"{where}: {client.key} holds no private key in PEM form.")
    return certificate, Secret(key)


def _read(where: str, name: str, path: str, read_file: ReadFile, problems: list[str]) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        problems.append(f"{where}: {name} {path} could not be read on the controller: {error}.")
        return b""


def _header_problems(where: str, header: Sequence[tuple[str, Secret[str]]]) -> Iterator[str]:
    """Mistakes in headers. A secret may stand in the place of a name; no sentence shows it."""
    for number, (name, value) in enumerate(header, 1):
        if not _HEADER_NAME.fullmatch(name):
            yield (
                f"{where}: the name of header {number} holds a character that no name of a header has; containerd "
                'would send no request. Write it as Authorization: "Bearer ...".'
            )
        elif _CONTROL.search(value.reveal()):
            yield (
                f"{where}: the header {name} holds a control character, such as a newline; containerd would send no "
                "request, or skip hosts.toml. Write the value on one line."
            )


def _url_problems(where: str, url: str) -> Iterator[str]:
    if re.search(r"[\x00-\x20\x7f]", url):
        yield f"{where}: the address '{mask(url)}' holds a blank or a control character; write it on one line."
        return
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        yield f"{where}: '{mask(url)}' is not a registry's address; wanted http:// or https:// and a host."
    elif parts.username or parts.password:
        yield (
            f"{where}: there is a user or a password in the address, which containerd does not use; give them as auth."
        )


def host_files(layout: Layout) -> tuple[str, ...]:
    """The hosts.toml of each registry."""
    return tuple(windows_path.join(layout.certs_dir, host, HOSTS_TOML) for host in layout.registry_hosts)
