# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
r"""Registry mirrors and private certificate authorities: a folder with a hosts.toml for each registry.

containerd looks at these folders at each pull, so nothing restarts for them; only `config_path`, which names the folder
above them, is config.toml's. A hosts.toml that it cannot read is skipped with a line in its log, and the pull goes to
the registry itself: hence everything is checked here.

Which files we made is kept in a receipt on the node, so that folders of other people's are never touched.

Source: containerd v1.6.36 to v1.7.35 remotes/docker/config/{hosts,config_windows}.go, v2.0.14 to v2.4.2
core/remotes/docker/config/{hosts,config_windows}.go.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ...engine import security, windows_path
from ...engine.batch import Op, as_base64
from ...engine.reading import Query, Reading, file_key, file_query
from ...engine.resource import Change, Refused, Resource
from ...engine.resources.directory import guarded_always
from ...facts import containerd as facts
from ...facts.version import Version
from ..layout import Layout
from .containerd_toml import Document

RECEIPT_LIMIT = 64 * 1024
TEXT_LIMIT = 16 * 1024
"""A public file up to so many bytes is shown in the diff."""


def recorded_paths(reading: Reading, receipt: str) -> tuple[str, ...]:
    """The files that the receipt lists; none without a receipt. KeyError if nobody read it."""
    text = reading.text(receipt)
    if text is None:
        return ()
    try:
        files = json.loads(text).get("files", ())
        return tuple(str(file["path"]) for file in files)
    except (ValueError, AttributeError, TypeError, KeyError):
        return ()


@dataclass(frozen=True, slots=True)
class HostFile:
    """One file with this content, compared by its sha256. A `private` one is never read back or shown, and only
    administrators may read it; another is read where it is `shown`, that is where it differs."""

    path: str
    content: bytes
    private: bool
    backup: str
    shown: bool = True

    @classmethod
    def of(cls, path: str, content: bytes, private: bool, backup: str, reading: Reading) -> HostFile:
        """As it is seen from a reading that may have it: one that is as wanted need not be read for the diff."""
        known = reading.parts.get(file_key(path), {}).get("sha256")
        return cls(path, content, private, backup, shown=known != hashlib.sha256(content).hexdigest())

    @property
    def label(self) -> str:
        """The path."""
        return self.path

    def reads(self) -> tuple[Query, ...]:
        """Its hash; for the diff its text, for a private one who may read it."""
        shown = self.shown and not self.private
        return (file_query(self.path, sha256=True, sddl=self.private, content_limit=TEXT_LIMIT if shown else 0),)

    def confides(self, reading: Reading) -> tuple[Query, ...]:
        """Nothing."""
        return ()

    def change(self, reading: Reading) -> Change | None:
        """Write it if its content, or who may read it, is not as wanted. Refused if something else is there."""
        found = reading.file(self.path)
        exists = bool(found.get("exists"))
        if exists and found.get("kind") != "file":
            raise Refused(f"{self.path} should be a file, but is a {found.get('kind')}: move it away and run again.")
        sha256 = hashlib.sha256(self.content).hexdigest()
        same = exists and found.get("sha256") == sha256
        if same and not (self.private and _open_to_others(str(found.get("sddl", "")))):
            return None
        keep = windows_path.join(self.backup, hashlib.sha256(self.path.casefold().encode()).hexdigest()[:16])
        args = {"path": self.path, "content": as_base64(self.content)}
        args |= {"sddl": security.ADMINS_ONLY} if self.private else {}
        args |= {"backup": keep} if exists else {}
        back = Op("restore", {"path": self.path, "backup": keep}) if exists else Op("remove", {"path": self.path})
        write = Op("write", args, secrets=("content",) if self.private else ()).undone_by(back)
        after = {"exists": True, "kind": "file", "size": len(self.content), "sha256": sha256}
        after |= {"sddl": security.ADMINS_ONLY} if self.private else {"content": as_base64(self.content)}
        shown = "(not shown)\n" if self.private else self.content.decode("utf-8", errors="replace")
        before = "(not shown)\n" if self.private else (reading.text(self.path) or "")
        return Change(
            text=f"{'rewrite' if exists else 'write'} {self.path}",
            before=before if exists else "",
            after=shown if not same else "(for administrators only)\n",
            commit=(*((Op("mkdir", {"path": self.backup}),) if exists else ()), write),
            touches=frozenset({file_key(self.path)}),
            predicted={file_key(self.path): after},
            state=self.reads(),
        )


@dataclass(frozen=True, slots=True)
class MadeFiles:
    """The receipt of the files that are ours; `gone` are those of an earlier receipt that are not wanted any more."""

    receipt: str
    files: tuple[str, ...]
    gone: tuple[str, ...]
    backup: str

    @property
    def label(self) -> str:
        """The receipt."""
        return self.receipt

    def reads(self) -> tuple[Query, ...]:
        """The receipt, and what is to go."""
        return (
            file_query(self.receipt, sha256=True, content_limit=RECEIPT_LIMIT),
            *(file_query(path, sha256=True) for path in self.gone),
        )

    def confides(self, reading: Reading) -> tuple[Query, ...]:
        """Nothing."""
        return ()

    def change(self, reading: Reading) -> Change | None:
        """Move what is not wanted out of the way, remove folders that are empty then, and note what is ours now."""
        ours = {windows_path.key(path) for path in recorded_paths(reading, self.receipt)}
        if ours == {windows_path.key(path) for path in self.files}:
            return None
        there = [path for path in self.gone if reading.file(path).get("exists")]
        kept = {windows_path.key(windows_path.parent(path)) for path in self.files}
        folders = {
            windows_path.key(folder): folder
            for path in self.gone
            if windows_path.key(folder := windows_path.parent(path)) not in kept
        }
        remove = tuple(Op("remove", {"path": folder, "only_if_empty": True}) for folder in folders.values())
        empty = {file_key(folder): {"exists": False} for folder in folders.values()}
        absent = {file_key(path): {"exists": False} for path in there}
        return Change(
            text=self._text(there),
            before="".join(f"{path}\n" for path in there),
            commit=(
                *((Op("mkdir", {"path": self.backup}),) if there else ()),
                *(self._aside(path) for path in there),
            ),
            finish=(*remove, self._note(reading)),
            predicted={**empty, **absent},
            state=self.reads(),
        )

    def _text(self, there: list[str]) -> str:
        return f"remove {', '.join(there)}" if there else "record which files of registries were created here"

    def _aside(self, path: str) -> Op:
        target = windows_path.join(self.backup, f"{hashlib.sha256(path.casefold().encode()).hexdigest()[:16]}.gone")
        return Op("move", {"from": path, "to": target}).undone_by(Op("move", {"from": target, "to": path}))

    def _note(self, reading: Reading) -> Op:
        content = reading.file(self.receipt).get("content")
        back = (
            Op("write", {"path": self.receipt, "content": content}) if content else Op("remove", {"path": self.receipt})
        )
        if not self.files:
            return Op("remove", {"path": self.receipt}).undone_by(back)
        source = {"component": "registries"}
        return Op("record", {"path": self.receipt, "source": source, "files": list(self.files)}).undone_by(back)


def _open_to_others(sddl: str) -> bool:
    """Whether anybody but administrators owns, may read or may write a file with this descriptor."""
    extra = [sid for sid in security.readers(sddl) if sid not in security.readers(security.ADMINS_ONLY)]
    trusted = {"S-1-5-18", "S-1-5-32-544"}
    return bool(security.foreign_owner(sddl) or [sid for sid in extra if sid not in trusted])


NAME = "registries"

ALL = "_default"
"""The folder for every registry that has none of its own; containerd 1.6 and later."""

HOSTS_TOML = "hosts.toml"
CERTIFICATES = ("ca.pem", "client.pem", "client.key")
"""What files of an endpoint are called behind its name, which is `server`, `mirror1`, `mirror2`, ..."""

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

ReadFile = Callable[[str], bytes]
"""Gives a file on the controller. Raises OSError with a sentence."""

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?")
_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"
_KEY = re.compile(rb"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address that images are asked from; `url` may be empty for a registry's own.

    `ca`: PEM. On Windows containerd trusts **only** these certificates then, not those of the machine (its pool starts
    empty). `client`: certificate and private key, PEM. `header` values may be secret.
    """

    url: str = ""
    capabilities: tuple[str, ...] = ()
    ca: bytes = b""
    client: tuple[bytes, bytes] | None = None
    skip_verify: bool = False
    override_path: bool = False
    header: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Registry:
    """The registry `host` (`registry.example.com:5000`, or `_default`): its mirrors in the order in which they are
    asked, and then `server`."""

    host: str
    server: Endpoint = Endpoint()
    mirrors: tuple[Endpoint, ...] = ()

    @property
    def folder(self) -> str:
        """The folder's name. Windows has no colon in names: containerd leaves it out there."""
        return self.host.replace(":", "")

    @property
    def shadowing_folder(self) -> str:
        """The folder that containerd prefers to `folder`; empty for a host without a port."""
        name, colon, port = self.host.rpartition(":")
        return f"{name}_{port}_" if colon else ""


def registries(options: Sequence[Mapping[str, Any]], read_file: ReadFile) -> tuple[Registry, ...]:
    """From the option `registries` of win_containerd. Refused with a sentence for each entry that cannot be."""
    problems: list[str] = []
    made = tuple(_registry(option, read_file, problems) for option in options)
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


def desired(
    layout: Layout, wanted: Sequence[Registry], version: Version, reading: Reading, mark: str
) -> tuple[Resource, ...]:
    """Folders, hosts.toml, certificates, and what we made earlier removed. Nothing if nothing is or was wanted."""
    before = recorded_paths(reading, _receipt(layout))
    if not wanted and not before:
        return ()
    _refuse_default(wanted, version)
    _refuse_shadowed(layout, wanted, reading)
    backup = layout.backup(mark)
    files = tuple(
        HostFile.of(windows_path.join(layout.certs_dir, registry.folder, name), content, private, backup, reading)
        for registry in wanted
        for name, content, private in _files(registry)
    )
    keep = {windows_path.key(file.path) for file in files}
    gone = tuple(path for path in before if windows_path.key(path) not in keep)
    # Any user may make folders in ProgramData: one of these would say where the node's images come from.
    own = [windows_path.join(layout.certs_dir, registry.folder) for registry in wanted]
    folders = guarded_always(layout.certs_dir, *own) if wanted else ()
    return (*folders, *files, MadeFiles(_receipt(layout), tuple(file.path for file in files), gone, backup))


def reads(layout: Layout) -> tuple[Query, ...]:
    """What `desired` needs to know of a node that is as wanted: the receipt, and for each registry of the layout its
    folder and files. What more than READ_MIRRORS mirrors have costs a call more, as does what differs."""
    hosts = [Registry(host) for host in layout.registry_hosts if host == ALL or _HOST.fullmatch(host)]
    folders = [windows_path.join(layout.certs_dir, registry.folder) for registry in hosts]
    return (
        *_own_reads(layout),
        *(query for made in guarded_always(layout.certs_dir, *folders) if hosts for query in made.reads()),
        *(
            file_query(windows_path.join(folder, name), sha256=True, sddl=True)
            for folder in folders
            for name in _READ_NAMES
        ),
    )


def _own_reads(layout: Layout) -> tuple[Query, Query]:
    return (
        file_query(_receipt(layout), sha256=True, content_limit=RECEIPT_LIMIT),
        file_query(layout.certs_dir, entries=True, sddl=True),
    )


def config_problems(text: str, folder: str, version: Version) -> list[str]:
    """What is wrong with `text` as config.toml of a node whose registries lie in `folder`: containerd would not look
    there. `text` must have passed containerd_config.check."""
    document = Document.parse(text)
    place = facts.release_line(version).places[document.data["version"]].registry_config_path
    said = document.get(place, "") if place else ""
    folders = said.split(";") if isinstance(said, str) else []  # Go's filepath.SplitList on Windows
    if place is None or any(windows_path.same(entry, folder) for entry in folders if entry):
        return []
    table = ".".join(f'"{part}"' if "." in part else part for part in place[:-1])
    return [
        f"{document.at(place)}there are registries, but {place[-1]} does not name their folder: "
        f"write `{place[-1]} = '{folder}'` in [{table}]."
    ]


def hosts_toml(registry: Registry) -> str:
    """The text of hosts.toml. The order of the mirrors is the order in which they are asked."""
    lines = ["# Written by winkube.node; changes made here are undone by its next run."]
    if registry.server.url:
        lines.append(f"server = {_quoted(registry.server.url)}")
    lines += _settings(registry.server, "server")
    lines += _header(registry.server, "header")
    for n, mirror in enumerate(registry.mirrors, 1):
        table = f"host.{_quoted(mirror.url)}"
        lines += ["", f"[{table}]", *(f"  {line}" for line in _settings(mirror, f"mirror{n}"))]
        lines += [f"  {line}" for line in _header(mirror, f"{table}.header")]
    return "\n".join(lines) + "\n"


def _settings(endpoint: Endpoint, name: str) -> list[str]:
    """Paths of certificates are relative to hosts.toml."""
    lines = []
    if endpoint.capabilities:
        lines.append(f"capabilities = [{', '.join(_quoted(one) for one in endpoint.capabilities)}]")
    if endpoint.ca:
        lines.append(f"ca = {_quoted(f'{name}-ca.pem')}")
    if endpoint.client:
        lines.append(f"client = [[{_quoted(f'{name}-client.pem')}, {_quoted(f'{name}-client.key')}]]")
    if endpoint.skip_verify:
        lines.append("skip_verify = true")
    if endpoint.override_path:
        lines.append("override_path = true")
    return lines


def _header(endpoint: Endpoint, table: str) -> list[str]:
    return [f"[{table}]", *(f"  {_quoted(key)} = {_quoted(value)}" for key, value in endpoint.header)] * bool(
        endpoint.header
    )


def _quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are a part of TOML's."""
    return json.dumps(text, ensure_ascii=False)


def _files(registry: Registry) -> Iterator[tuple[str, bytes, bool]]:
    """(name, content, whether nobody but administrators may read it)."""
    endpoints = {"server": registry.server} | {f"mirror{n}": one for n, one in enumerate(registry.mirrors, 1)}
    for name, endpoint in endpoints.items():
        if endpoint.ca:
            yield f"{name}-ca.pem", endpoint.ca, False
        if endpoint.client:
            yield f"{name}-client.pem", endpoint.client[0], False
            yield f"{name}-client.key", endpoint.client[1], True
    # Last, so that it never names a file that is not there yet.
    yield HOSTS_TOML, hosts_toml(registry).encode(), any(endpoint.header for endpoint in endpoints.values())


def _receipt(layout: Layout) -> str:
    return windows_path.join(layout.state_dir, "receipts", f"{NAME}.json")


_FOLDER_FOR_ALL = Version.parse("1.6.0")
"""Since when containerd reads certs.d\\_default."""


def _refuse_default(wanted: Sequence[Registry], version: Version) -> None:
    if version < _FOLDER_FOR_ALL and any(registry.host == ALL for registry in wanted):
        raise Refused(
            f"registries: containerd {version} has no folder for all registries ('{ALL}'); name each one, or take "
            "containerd 1.6 or later."
        )


def _refuse_shadowed(layout: Layout, wanted: Sequence[Registry], reading: Reading) -> None:
    """containerd takes the first folder that exists, also an empty one."""
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
    (_folder, query) = _own_reads(layout)
    return reading.parts.get(query.key, {}).get("entries") or ()


def _registry(option: Mapping[str, Any], read_file: ReadFile, problems: list[str]) -> Registry:
    host = str(option["host"])
    if host != ALL and not _HOST.fullmatch(host):
        problems.append(
            f"registries: '{host}' is no host of a registry; wanted the beginning of an image's name, such as "
            f"docker.io or registry.example.com:5000, or '{ALL}' for all that have no entry."
        )
    own = {**option, "url": str(option.get("server") or "")}
    server = _endpoint(f"registries, {host}", own, read_file, problems, optional_url=True)
    mirrors = tuple(
        _endpoint(f"registries, {host}, mirror {mirror['url']}", mirror, read_file, problems)
        for mirror in option.get("mirrors") or ()
    )
    twice = {mirror.url for n, mirror in enumerate(mirrors) if mirror.url in [other.url for other in mirrors[:n]]}
    problems += [f"registries, {host}: the mirror {url} is there twice; keep one." for url in sorted(twice)]
    return Registry(host, server, mirrors)


def _endpoint(
    where: str, option: Mapping[str, Any], read_file: ReadFile, problems: list[str], *, optional_url: bool = False
) -> Endpoint:
    url = str(option["url"])
    if not (optional_url and not url):
        problems += _url_problems(where, url)
    capabilities = tuple(option.get("capabilities") or ())
    problems += [
        f"{where}: '{one}' is no capability; known are {', '.join(CAPABILITIES)}."
        for one in capabilities
        if one not in CAPABILITIES
    ]
    client = option.get("client") or {}
    pair = None
    if client.get("certificate") or client.get("key"):
        pair = _client(where, client, read_file, problems)
    ca = _read(where, "ca", str(option["ca"]), read_file, problems) if option.get("ca") else b""
    if ca and _CERTIFICATE not in ca:
        problems.append(
            f"{where}: {option['ca']} holds no certificate in PEM form; containerd would fail at each pull."
        )
    return Endpoint(
        url=url,
        capabilities=capabilities,
        ca=ca,
        client=pair,
        skip_verify=bool(option.get("skip_verify")),
        override_path=bool(option.get("override_path")),
        header=tuple(sorted((str(key), str(value)) for key, value in (option.get("header") or {}).items())),
    )


def _client(
    where: str, client: Mapping[str, Any], read_file: ReadFile, problems: list[str]
) -> tuple[bytes, bytes] | None:
    if not client.get("certificate") or not client.get("key"):
        problems.append(f"{where}: a client has both a certificate and a key; only one of the two files is given.")
        return None
    certificate = _read(where, "client.certificate", str(client["certificate"]), read_file, problems)
    key = _read(where, "client.key", str(client["key"]), read_file, problems)
    if certificate and _CERTIFICATE not in certificate:
        problems.append(f"{where}: {client['certificate']} holds no certificate in PEM form.")
    if key and not _KEY.search(key):
        problems.append(f"{where}: {client['key']} holds no private key in PEM form.")
    return certificate, key


def _read(where: str, name: str, path: str, read_file: ReadFile, problems: list[str]) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        problems.append(f"{where}: {name} {path} could not be read on the controller: {error}.")
        return b""


def _url_problems(where: str, url: str) -> Iterator[str]:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        yield f"{where}: '{url}' is no address of a registry; wanted http:// or https:// and a host."
    elif parts.username or parts.password:
        yield (
            f"{where}: there is a user or a password in the address, which containerd does not use; give "
            "imagePullSecrets in the cluster, or a header."
        )


def host_files(layout: Layout) -> tuple[str, ...]:
    """The hosts.toml of each registry."""
    return tuple(windows_path.join(layout.certs_dir, host, HOSTS_TOML) for host in layout.registry_hosts)
