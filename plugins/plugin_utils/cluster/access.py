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
import json
import os
import ssl
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from ..engine.address import mask
from ..engine.local_path import expand_home
from ..foreign.files import read_text
from .answer import read_first_line
from .documents import MOST_BYTES, index_by_name, load_kubeconfig
from .error import ClusterError
from .proxy import find_proxy

PROGRAM_S = 60
"""How long a program may take to give credentials, in seconds."""
SKEW = timedelta(minutes=1)
"""A token that expires so soon is replaced before it is sent."""
_OF_HEADERS = "!#$&'*+-.^_`|~"
_SAID = {"Impersonate-User": "as", "Impersonate-Uid": "as-uid", "Impersonate-Group": "as-groups"}
_TOLD = ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url", "disable-compression")


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

    def identity(self) -> list[tuple[str, str]]:
        """The headers that say who asks, for a request that is sent now.

        ClusterError, without the value, for one that no header can hold: a line break in it would begin another header,
        and an error of the library that sends it would quote it.
        """
        authorization = self.authorization()
        given = [*([("Authorization", authorization)] if authorization else ()), *self.impersonation]
        return [(name, _check_header(name, value)) for name, value in given]


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


class _Entry(NamedTuple):
    """A cluster or a user, and the folder of its file, from which its paths begin."""

    fields: Mapping[str, Any]
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


def _load(files: Sequence[Path]) -> list[_Entry]:
    """The whole documents. ClusterError for one that is not a kubeconfig."""
    found = []
    for file in files:
        with suppress(FileNotFoundError):
            text = read_text(file, MOST_BYTES)
            found.append(_Entry(load_kubeconfig(text, f"cluster.kubeconfig: {file}"), file.absolute().parent))
    if not any(each.fields.get("clusters") for each in found):
        raise ValueError("it has no clusters")
    return found


def _merge(documents: Sequence[_Entry], key: str, inner: str) -> dict[str, _Entry]:
    """The list `key` of all documents, by name. All of an entry is of the first document that has its name."""
    found: dict[str, _Entry] = {}
    for document in documents:
        for name, fields in index_by_name(document.fields, key, inner).items():
            found.setdefault(name, _Entry(fields, document.folder))
    return found


def _entries(documents: Sequence[_Entry], context: str) -> tuple[_Entry, _Entry]:
    """The cluster and the user of a context. ValueError if it leads to no cluster."""
    contexts = _merge(documents, "contexts", "context")
    currents = (str(each.fields.get("current-context") or "") for each in documents)
    name = context or next(filter(None, currents), "")
    if name not in contexts:
        raise ValueError(f"it has no context '{name}', but {', '.join(contexts) or 'none'}")
    chosen, nothing = contexts[name].fields, _Entry({}, Path())
    cluster = _merge(documents, "clusters", "cluster").get(str(chosen.get("cluster")), nothing)
    if not cluster.fields.get("server"):
        raise ValueError(f"its context '{name}' leads to no cluster with a server")
    users, user = _merge(documents, "users", "user"), str(chosen.get("user") or "")
    if user and user not in users:
        raise ValueError(
            f"its context '{name}' names the user '{user}', but its users are {', '.join(users) or 'none'}"
        )
    return cluster, users.get(user, nothing)


def _access(cluster: _Entry, user: _Entry, named: str) -> Access:
    server = str(cluster.fields["server"]).rstrip("/")
    parts = urlsplit(server)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0:
        raise ValueError(f"its server '{mask(server)}' is not an address such as https://10.0.0.10:6443")
    ca_pem, tls = b"", ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if parts.scheme == "https":
        ca_pem = _content(cluster, "certificate-authority")
    program = _Program(user, _describe(cluster.fields, ca_pem)) if _needs_program(user.fields) else None
    given = program.found if program else _Credentials()
    if parts.scheme == "https":
        certificate = given.certificate or _content(user, "client-certificate")
        key = given.key or _content(user, "client-key")
        try:
            tls = _tls(ca_pem, certificate, key)
        except (OSError, ValueError) as error:
            raise ClusterError(f"cluster.kubeconfig: the certificates of {named} cannot be used: {error}.") from error
        if cluster.fields.get("insecure-skip-tls-verify"):
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
    return Access(
        server,
        ca_pem,
        tls,
        str(cluster.fields.get("tls-server-name") or ""),
        find_proxy(server, str(cluster.fields.get("proxy-url") or "")),
        program.authorization if program else _authorization(user),
        _impersonation(user.fields),
    )


def _needs_program(user: Mapping[str, Any]) -> bool:
    """A user with other credentials is not asked of a program."""
    others = ("token", "tokenFile", "auth-provider", "client-certificate", "client-certificate-data", "username")
    return bool(user.get("exec")) and not any(user.get(each) for each in others)


def _authorization(user: _Entry) -> Callable[[], str]:
    fields = user.fields
    if fields.get("auth-provider"):
        return _by_package(fields["auth-provider"])
    if fields.get("tokenFile"):
        file = user.folder / str(fields["tokenFile"])
        file.read_bytes()  # a file that is missing is said before the first request
        return lambda: _bearer(file)
    if token := fields.get("token"):
        return lambda: f"Bearer {str(token).strip()}"
    if fields.get("username") and fields.get("password"):
        basic = base64.b64encode(f"{fields['username']}:{fields['password']}".encode()).decode()
        return lambda: f"Basic {basic}"
    return str


def _bearer(file: Path) -> str:
    """Read for each request: the kubelet renews the token of a pod in its file."""
    try:
        return f"Bearer {file.read_text(encoding='utf-8').strip()}"
    except (OSError, ValueError) as error:
        raise ClusterError(f"cluster.kubeconfig: the file of the token, {file}, cannot be read: {error}.") from error


def _impersonation(user: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What `kubectl --as` sends. ValueError if it names no user."""
    groups, extra = user.get("as-groups") or (), user.get("as-user-extra") or {}
    found = [("Impersonate-Uid", str(user["as-uid"]))] if user.get("as-uid") else []
    found += [("Impersonate-Group", str(group)) for group in groups]
    for key, values in extra.items():
        found += [(f"Impersonate-Extra-{quote(str(key), safe=_OF_HEADERS)}", str(value)) for value in values]
    if found and not user.get("as"):
        raise ValueError("its user has as-uid, as-groups or as-user-extra, but no `as`")
    return (("Impersonate-User", str(user["as"])), *found) if user.get("as") else ()


def _content(entry: _Entry, key: str) -> bytes:
    """What is in the entry as base64, else in the file that it names."""
    if data := entry.fields.get(f"{key}-data"):
        try:
            return base64.b64decode(str(data))
        except ValueError as error:
            raise ValueError(f"its {key}-data is not base64") from error
    name = entry.fields.get(key)
    return (entry.folder / str(name)).read_bytes() if name else b""


def _tls(ca_pem: bytes, certificate: bytes, key: bytes) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=ca_pem.decode("ascii", "ignore") or None)  # a comment may be in UTF-8
    # Python 3.13 wants an AuthorityKeyIdentifier, which the certificates of clusters that are older do not have.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if certificate:
        with tempfile.NamedTemporaryFile() as both:  # of the user alone; Python takes them from no other place
            both.write(certificate + b"\n" + key)
            both.flush()
            context.load_cert_chain(both.name, password=_refuse_passphrase)  # else OpenSSL asks at the terminal
    return context


def _refuse_passphrase() -> str:
    raise ValueError("the client's key is encrypted, and a kubeconfig has no place for its passphrase")


def _describe(cluster: Mapping[str, Any], ca_pem: bytes) -> dict[str, Any]:
    """What a program gets to know of the cluster. Source: client-go pkg/apis/clientauthentication/v1/types.go."""
    told = {key: cluster[key] for key in _TOLD if cluster.get(key)}
    if ca_pem:
        told["certificate-authority-data"] = base64.b64encode(ca_pem).decode()
    extensions = index_by_name(cluster, "extensions", "extension")
    return {**told, "config": extensions.get("client.authentication.k8s.io/exec")}


class _Credentials(NamedTuple):
    """A token, or a client certificate and its key in PEM."""

    token: str = ""
    certificate: bytes = b""
    key: bytes = b""
    expires: datetime | None = None


class _Program:
    """A program that gives credentials (`exec`), and new ones when a token expires."""

    def __init__(self, user: _Entry, cluster: Mapping[str, Any]) -> None:
        self._entry = entry = user.fields["exec"]
        self._folder = user.folder
        self._version = str(entry.get("apiVersion") or "")
        self._line = [str(entry.get("command") or ""), *map(str, entry.get("args") or ())]
        self._told: dict[str, Any] = {"interactive": False}
        if entry.get("provideClusterInfo"):
            self._told["cluster"] = cluster
        self.found = self._ask()

    def authorization(self) -> str:
        """Header of a request that is sent now."""
        if self.found.expires and datetime.now(UTC) > self.found.expires - SKEW:
            self.found = self._ask()
        return f"Bearer {self.found.token.strip()}" if self.found.token else ""

    def _ask(self) -> _Credentials:
        """ClusterError if the program gives none.

        A worker of Ansible has no terminal. Source: client-go, exec.go isInteractive.
        """
        if self._entry.get("interactiveMode") == "Always":
            raise ClusterError(
                f"cluster.kubeconfig: the program {self._line[0]}, which gives the credentials, asks its user at a "
                "terminal (interactiveMode: Always), and a task has none. Name a kubeconfig with other credentials; or "
                "set interactiveMode: IfAvailable, if the program asks nothing after you have logged in with it."
            )
        told = {"apiVersion": self._version, "kind": "ExecCredential", "spec": self._told}
        own = {str(each.get("name")): str(each.get("value")) for each in self._entry.get("env") or ()}
        program = f"cluster.kubeconfig: the program {self._line[0]}, which gives the credentials,"
        try:
            done = subprocess.run(
                self._line,
                cwd=self._folder,  # to which its path is relative
                env={**os.environ, **own, "KUBERNETES_EXEC_INFO": json.dumps(told)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PROGRAM_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            hint = read_first_line(" ".join(str(self._entry.get("installHint") or "").split()).encode())
            raise ClusterError(
                f"{program} cannot be run: {error}.{f' The kubeconfig says: {hint}' if hint else ''}"
            ) from error
        if done.returncode != 0:
            raise ClusterError(
                f"{program} ended with {done.returncode}: {read_first_line(done.stderr) or 'no reason given'}."
            )
        try:
            return _read_credentials(json.loads(done.stdout), self._version)
        except (ValueError, LookupError, TypeError, AttributeError) as error:  # its words may quote a token
            raise ClusterError(
                f"{program} wrote no ExecCredential of {self._version} with a token or a certificate."
            ) from error


def _read_credentials(said: Mapping[str, Any], version: str) -> _Credentials:
    if said["apiVersion"] != version:
        raise ValueError(said["apiVersion"])
    status = said["status"]
    until = status.get("expirationTimestamp")
    expires = datetime.fromisoformat(until).astimezone(UTC) if until else None
    if token := status.get("token"):
        return _Credentials(str(token), expires=expires)
    return _Credentials("", status["clientCertificateData"].encode(), status["clientKeyData"].encode(), expires)


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
