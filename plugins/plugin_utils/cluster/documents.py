# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses certificates, requests and kubeconfigs; other modules decide what follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

try:
    from cryptography import x509
    from cryptography.x509.oid import NameOID
except ImportError:  # ansible-core depends on it, but importing this file must not need it
    x509 = None  # type: ignore[assignment]

from .error import ClusterError
from .kubeconfig import ClusterEntry, ContextEntry, UserEntry, read_kubeconfig


@dataclass(frozen=True, slots=True)
class Request:
    """What a certificate signing request asks for. `others` are alternative names of other types."""

    common_name: str
    organizations: tuple[str, ...]
    names: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def request(pem: bytes) -> Request:
    """The request in `pem`, whose signature must be by its own key. ClusterError if it is invalid."""
    try:
        found = x509.load_pem_x509_csr(pem)
        valid = found.is_signature_valid
    except ValueError as error:
        raise ClusterError(f"the certificate signing request cannot be read: {error}.") from error
    if not valid:
        raise ClusterError("the certificate signing request is not signed by its own key.")
    names: list[str] = []
    addresses: list[str] = []
    others: list[str] = []
    for extension in found.extensions:
        if not isinstance(extension.value, x509.SubjectAlternativeName):
            continue
        for name in extension.value:
            if isinstance(name, x509.DNSName):
                names.append(name.value)
            elif isinstance(name, x509.IPAddress):
                addresses.append(str(name.value))
            else:
                others.append(f"{type(name).__name__} {name.value}")
    common_name, organizations = _subject(found.subject)
    return Request(common_name, organizations, tuple(names), tuple(addresses), tuple(others))


def _subject(subject: x509.Name) -> tuple[str, tuple[str, ...]]:
    names = [str(item.value) for item in subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    groups = tuple(str(item.value) for item in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME))
    return names[0] if names else "", groups


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """A kubeconfig's current context: the identity (`names`: of the user entry and in the client certificate;
    `organizations`: the certificate's groups), and the other files that it needs."""

    server: str
    ca_pem: bytes = b""
    names: tuple[str, ...] = ()
    organizations: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)


def kubeconfig(text: str, where: str) -> Kubeconfig:
    """The kubeconfig in `text`. ClusterError, with `where` as its name, if it is invalid."""
    document = read_kubeconfig(text, where)
    if not document.clusters:
        raise ClusterError(f"{where}: no kubeconfig: it has no clusters.")
    current = document.current_context or next(iter(document.contexts), "")
    chosen = document.contexts.get(current, ContextEntry())
    alone = next(iter(document.clusters.values())) if len(document.clusters) == 1 else ClusterEntry()
    cluster = document.clusters.get(chosen.cluster, alone)
    user = document.users.get(chosen.user, UserEntry())
    if not cluster.server:
        raise ClusterError(f"{where}: no kubeconfig: its context '{current}' leads to no cluster with a server.")
    common_name, organizations = _client(user, where)
    files = {
        "certificate-authority": cluster.authority,
        "client-certificate": user.certificate,
        "client-key": user.key,
        "tokenFile": user.token_file,
    }
    return Kubeconfig(
        server=cluster.server,
        ca_pem=cluster.authority_data,
        names=tuple(name for name in (chosen.user, common_name) if name),
        organizations=organizations,
        files={key: file for key, file in files.items() if file},
    )


def _client(user: UserEntry, where: str) -> tuple[str, tuple[str, ...]]:
    if not user.certificate_data:
        return "", ()
    try:
        return _subject(x509.load_pem_x509_certificate(user.certificate_data).subject)
    except ValueError as error:
        raise ClusterError(f"{where}: its client certificate cannot be read: {error}.") from error
