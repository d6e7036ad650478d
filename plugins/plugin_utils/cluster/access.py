# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's kubeconfig, read for the controller's own requests: where the API is, who asks, and who is trusted.

The package `kubernetes` reads kubeconfigs, too, but loading it costs every run 0.3 s. It is loaded for an
`auth-provider` alone.

Source: client-go v0.37 tools/clientcmd/api/v1/types.go (fields), tools/clientcmd/loader.go (several files),
plugin/pkg/client/auth/exec/exec.go (programs), transport/round_trippers.go (impersonation).
"""

from __future__ import annotations

import base64
import os
import ssl
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote, unquote, urlsplit

from ..engine.address import mask
from ..engine.local_path import expand_home
from ..engine.secret import Secret
from ..foreign.files import read_text
from .credential_program import CredentialProgram, Credentials
from .error import ClusterError
from .kubeconfig import (
    EXEC_EXTENSION,
    MOST_BYTES,
    ClusterEntry,
    KubeconfigFile,
    UserEntry,
    find_conflicts,
    read_kubeconfig,
)
from .proxy import find_proxy

E = TypeVar("E")

_OF_HEADERS = "!#$&'*+-.^_`|~"
_SAID = {"Impersonate-User": "as", "Impersonate-Uid": "as-uid", "Impersonate-Group": "as-groups"}


@dataclass(frozen=True, slots=True)
class Access:
    """How the API is reached. `ca_pem`: empty for the certificates that the controller trusts. `server_name`: the one
    in the server's certificate, empty for its address. `proxy`: empty for none. `authorization` gives the value of this
    header, empty for none; `impersonation` are the headers that ask for another identity."""

    server: str
    ca_pem: bytes
    tls: ssl.SSLContext
    server_name: str = ""
    proxy: str = ""
    authorization: Callable[[], str] = str
    impersonation: tuple[tuple[str, str], ...] = ()
    forget: Callable[[], bool] = bool
    """Called when the server does not know these credentials: whether there may be others at the next request."""
    renewals: list[None] = field(default_factory=list)
    """One for each client certificate that has replaced another: a connection that is open has the old one."""

    def identity(self) -> list[tuple[str, str]]:
        """The headers that say who asks, for a request that is sent now.

        ClusterError, without the value, for one that no header can hold: a line break in it would begin another header,
        and an error of the library that sends it would quote it.
        """
        authorization = self.authorization()
        given = [*([("Authorization", authorization)] if authorization else ()), *self.impersonation]
        return [(name, _check_header(name, value)) for name, value in given]

    def with_token(self, token: Secret[str]) -> Access:
        """The same server, asked with this token alone: no certificate, and nobody else's identity."""
        tls = _tls(self.ca_pem, b"", Secret(b""))
        tls.check_hostname, tls.verify_mode = self.tls.check_hostname, self.tls.verify_mode
        return Access(
            self.server, self.ca_pem, tls, self.server_name, self.proxy, lambda: f"Bearer {token.reveal().strip()}"
        )

    def renew(self, certificate: bytes, key: Secret[bytes]) -> None:
        """From now on connections are made with this certificate. ClusterError if it cannot be used."""
        try:
            _load_pair(self.tls, certificate, key)
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"cluster.kubeconfig: the certificate that the program has renewed cannot be used: {error}."
            ) from error
        self.renewals.append(None)


def _check_header(name: str, value: str) -> str:
    value = value.strip()
    wrong = next((place for place, each in enumerate(value, 1) if not " " <= each <= "~"), 0)
    if wrong:
        what = "the user's credentials" if name == "Authorization" else f"the user's {_SAID.get(name, 'as-user-extra')}"
        raise ClusterError(
            f"cluster.kubeconfig: {what} cannot be sent: the character {wrong} of {len(value)} in the header {name} is "
            f"{_name_character(value[wrong - 1])}, and only printable ASCII is allowed there."
        )
    return value


def _name_character(character: str) -> str:
    return {"\n": "a line break", "\r": "a line break", "\t": "a tab"}.get(character, f"U+{ord(character):04X}")


class _Entry(NamedTuple, Generic[E]):
    """A cluster, a user or a context, and the folder of its file, from which its paths begin."""

    fields: E
    folder: Path


def list_files(setting: str) -> tuple[Path, ...]:
    """The kubeconfigs that a setting names: one, or several as in the environment variable KUBECONFIG. ClusterError if
    none of them exists."""
    whole = expand_home(setting)
    files = (whole,) if whole.is_file() else tuple(expand_home(each) for each in setting.split(os.pathsep) if each)
    if not any(file.is_file() for file in files):
        raise ClusterError(
            f"cluster.kubeconfig: there is no file {setting} on the controller; winkube_cluster.kubeconfig names it."
        )
    return files


def access(files: Sequence[Path], context: str) -> Access:
    """By the context of the kubeconfigs, "" for their current one. No request is sent.

    ClusterError if a file or the context is wrong, or if the context is missing. A file that is missing is left out.
    """
    named = os.pathsep.join(map(str, files))
    try:
        cluster, user = _entries(_load(files), context)
        return _access(cluster, user, named)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"cluster.kubeconfig: {named} cannot be used{f' with the context {context}' if context else ''}: "
            f"{str(error).strip().rstrip('.')}."
        ) from error


def _load(files: Sequence[Path]) -> list[tuple[KubeconfigFile, Path]]:
    """The files and their folders. ClusterError for one that is not a kubeconfig."""
    found = []
    for file in files:
        with suppress(FileNotFoundError):
            text = read_text(file, MOST_BYTES)
            found.append((read_kubeconfig(text, f"cluster.kubeconfig: {file}"), file.absolute().parent))
    if not any(each.clusters for each, _folder in found):
        raise ValueError("it has no clusters")
    return found


def _merge(found: Iterable[tuple[Mapping[str, E], Path]]) -> dict[str, _Entry[E]]:
    """By name. All of an entry is of the first file that has its name."""
    merged: dict[str, _Entry[E]] = {}
    for entries, folder in found:
        for name, fields in entries.items():
            merged.setdefault(name, _Entry(fields, folder))
    return merged


def _entries(
    documents: Sequence[tuple[KubeconfigFile, Path]], context: str
) -> tuple[_Entry[ClusterEntry], _Entry[UserEntry]]:
    """The cluster and the user of a context. ValueError if kubectl would refuse the context or the user."""
    contexts = _merge((each.contexts, folder) for each, folder in documents)
    name = context or next((each.current_context for each, _folder in documents if each.current_context), "")
    if name not in contexts:
        raise ValueError(f"it has no context '{name}', but {', '.join(contexts) or 'none'}")
    chosen = contexts[name].fields
    cluster = _merge((each.clusters, folder) for each, folder in documents).get(chosen.cluster)
    if cluster is None or not cluster.fields.server:
        raise ValueError(f"its context '{name}' leads to no cluster with a server")
    users = _merge((each.users, folder) for each, folder in documents)
    if chosen.user and chosen.user not in users:
        raise ValueError(
            f"its context '{name}' names the user '{chosen.user}', but its users are {', '.join(users) or 'none'}"
        )
    user = users.get(chosen.user, _Entry(UserEntry(), Path()))
    if problem := find_conflicts(user.fields):
        raise ValueError(f"its user '{chosen.user}' {problem}")
    return cluster, user


def _access(cluster: _Entry[ClusterEntry], user: _Entry[UserEntry], named: str) -> Access:
    entry = cluster.fields
    server, owner = _split_server(entry.server)
    proxy = find_proxy(server, entry.proxy_url)
    if entry.authority and entry.authority_data:
        raise ValueError(
            "its cluster has certificate-authority and certificate-authority-data, and only one is allowed"
        )
    impersonation = _impersonation(user.fields)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not server.startswith("https:"):
        # Without TLS nobody's credentials are sent, nor is a program asked for any. Source: client-go
        # tools/clientcmd/client_config.go, ClientConfig.
        return Access(server, b"", tls, proxy=proxy, impersonation=impersonation)
    ca_pem = _read_authority(cluster)
    program = None
    if user.fields.program and not owner and not _has_others(user.fields):
        program = CredentialProgram(user.fields.program, user.folder, _describe(entry, ca_pem))
    given = program.found if program else _certificate(user)
    try:
        tls = _tls(ca_pem, given.certificate, given.key)
    except (OSError, ValueError) as error:
        raise ClusterError(f"cluster.kubeconfig: the certificates of {named} cannot be used: {error}.") from error
    if entry.insecure:
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    found = Access(
        server,
        ca_pem,
        tls,
        entry.tls_server_name,
        proxy,
        program.authorization if program else _authorization(user, owner),
        impersonation,
        program.forget if program else bool,
    )
    if program:
        program.renewed = lambda renewed: found.renew(renewed.certificate, renewed.key)
    return found


def _split_server(server: str) -> tuple[str, str]:
    """The address without user and password, and these as `user:password`. ValueError for what is not an address.

    A query or fragment is dropped. Source: client-go rest/client.go, NewRESTClient.
    """
    parts = urlsplit(server)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0:
        raise ValueError(f"its server '{mask(server)}' is not an address such as https://10.0.0.10:6443")
    owner, _at, place = parts.netloc.rpartition("@")
    return f"{parts.scheme}://{place}{parts.path.rstrip('/')}", unquote(owner)


def _has_others(user: UserEntry) -> bool:
    """A user with other credentials is not asked of a program. Source: client-go exec.go, UpdateTransportConfig."""
    return bool(user.token or user.token_file or user.username or user.certificate or user.certificate_data)


def _authorization(user: _Entry[UserEntry], owner: str) -> Callable[[], str]:
    """`owner` is the user and password in the server's address, which Go's client sends before all others."""
    fields = user.fields
    if owner:
        return lambda: _basic(owner)
    if fields.provider:
        return _by_package(fields.provider)
    if fields.token_file:
        file = user.folder / fields.token_file
        if not fields.token:
            file.read_bytes()  # a file that is missing is said before the first request
        return lambda: _bearer(file, fields.token)
    if fields.token:
        return lambda: f"Bearer {fields.token.reveal().strip()}"
    if fields.username:
        return lambda: _basic(f"{fields.username}:{fields.password.reveal()}")
    return str


def _basic(pair: str) -> str:
    return f"Basic {base64.b64encode((pair if ':' in pair else f'{pair}:').encode()).decode()}"


def _bearer(file: Path, token: Secret[str]) -> str:
    """Read for each request: the kubelet renews the token of a pod in its file. `token` stands in for one that cannot
    be read."""
    try:
        found = file.read_text(encoding="utf-8").strip()
        if not found:
            raise ValueError("it is empty")
    except (OSError, ValueError) as error:
        if token:
            return f"Bearer {token.reveal().strip()}"
        why = "it is not text" if isinstance(error, UnicodeError) else error
        raise ClusterError(f"cluster.kubeconfig: the file of the token, {file}, cannot be read: {why}.") from error
    return f"Bearer {found}"


def _impersonation(user: UserEntry) -> tuple[tuple[str, str], ...]:
    """What `kubectl --as` sends."""
    found = [("Impersonate-User", user.act_as)] if user.act_as else []
    found += [("Impersonate-Uid", user.act_as_uid)] if user.act_as_uid else []
    found += [("Impersonate-Group", group) for group in user.act_as_groups]
    for key, values in user.act_as_extra.items():
        found += [(f"Impersonate-Extra-{quote(key, safe=_OF_HEADERS)}", value) for value in values]
    return tuple(found)


def _read_authority(cluster: _Entry[ClusterEntry]) -> bytes:
    """Empty for the certificates that the controller trusts. ValueError for a file without any: who names one does
    not mean those."""
    entry = cluster.fields
    pem = entry.authority_data or ((cluster.folder / entry.authority).read_bytes() if entry.authority else b"")
    if entry.insecure and (entry.authority or entry.authority_data):
        raise ValueError(
            "its cluster has a certificate-authority and insecure-skip-tls-verify, and only one is allowed"
        )
    if (entry.authority or entry.authority_data) and b"-----BEGIN CERTIFICATE-----" not in pem:
        raise ValueError(f"its certificate-authority{'-data' * (not entry.authority)} has no certificate in PEM")
    return pem


def _certificate(user: _Entry[UserEntry]) -> Credentials:
    """The client certificate of the entry or of the files that it names. A key alone is of no use."""
    fields = user.fields
    if not fields.certificate and not fields.certificate_data:
        return Credentials()
    certificate = fields.certificate_data or (user.folder / fields.certificate).read_bytes()
    key = fields.key_data or Secret((user.folder / fields.key).read_bytes())
    return Credentials(certificate=certificate, key=key)


def _tls(ca_pem: bytes, certificate: bytes, key: Secret[bytes]) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=ca_pem.decode("ascii", "ignore") or None)  # a comment may be in UTF-8
    # Python 3.13 wants an AuthorityKeyIdentifier, which the certificates of clusters that are older do not have.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if certificate:
        _load_pair(context, certificate, key)
    return context


def _load_pair(context: ssl.SSLContext, certificate: bytes, key: Secret[bytes]) -> None:
    with tempfile.NamedTemporaryFile() as both:  # of the user alone; Python takes them from no other place
        both.write(certificate + b"\n" + key.reveal())
        both.flush()
        context.load_cert_chain(both.name, password=_refuse_passphrase)  # else OpenSSL asks at the terminal


def _refuse_passphrase() -> str:
    raise ValueError("the client's key is encrypted, and a kubeconfig has no place for its passphrase")


def _describe(cluster: ClusterEntry, ca_pem: bytes) -> dict[str, Any]:
    """What a program gets to know of the cluster. Source: client-go pkg/apis/clientauthentication/v1/types.go."""
    told = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure,
        "proxy-url": cluster.proxy_url,
        "disable-compression": cluster.disable_compression,
        "certificate-authority-data": base64.b64encode(ca_pem).decode(),
    }
    return {
        **{key: value for key, value in told.items() if value},
        "config": cluster.extensions.get(EXEC_EXTENSION),
    }


def _by_package(provider: Mapping[str, Any]) -> Callable[[], str]:
    """What an auth-provider gives. ClusterError without the package `kubernetes`."""
    try:
        from kubernetes import config
        from kubernetes.client import Configuration
    except ImportError as error:
        raise ClusterError(
            f"The Python package kubernetes is missing on the controller ({error}); it is needed for a kubeconfig with "
            "an auth-provider: pip install kubernetes."
        ) from error
    made: Any = Configuration()
    load: Any = config.load_kube_config_from_dict
    only = {"name": "only"}
    document = {
        "current-context": "only",
        "contexts": [only | {"context": {"cluster": "only", "user": "only"}}],
        "clusters": [only | {"cluster": {"server": ""}}],
        "users": [only | {"user": {"auth-provider": provider}}],
    }
    try:
        load(document, client_configuration=made, persist_config=False)
    except config.ConfigException as error:
        raise ValueError(str(error)) from error
    return lambda: next((str(each["value"]) for each in made.auth_settings().values() if each["value"]), "")
