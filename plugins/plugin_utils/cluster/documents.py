# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses certificates, requests and kubeconfigs; other modules decide what follows."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

try:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
    from cryptography.x509.oid import NameOID
except ImportError:  # ansible-core depends on it, but importing this file must not need it
    x509 = None  # type: ignore[assignment]

from ..foreign.files import ForeignError
from ..foreign.values import load_yaml
from .error import ClusterError

MOST_BYTES = 8 << 20
"""Of a kubeconfig."""


def public_key_sha256(ca_pem: bytes) -> str:
    """`sha256:<hex>` of the SubjectPublicKeyInfo of the first certificate, as kubeadm's caCertHashes have it.

    Source: kubernetes cmd/kubeadm/app/util/pubkeypin/pubkeypin.go. ClusterError if there is no certificate.
    """
    try:
        certificate = x509.load_pem_x509_certificate(ca_pem)
    except ValueError as error:
        raise ClusterError(f"the cluster's CA is not a certificate in PEM: {error}.") from error
    key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return f"sha256:{hashlib.sha256(key).hexdigest()}"


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


def load_kubeconfig(text: str, where: str) -> dict[str, Any]:
    """The document in `text`. ClusterError, with `where` as its name, if it is not a kubeconfig."""
    try:
        document = load_yaml(text)
    except ForeignError as error:
        raise ClusterError(f"{where}: no kubeconfig: {error}") from None
    if not isinstance(document, dict | None):
        raise ClusterError(f"{where}: no kubeconfig: the text is not a mapping.")
    return document or {}


def kubeconfig(text: str, where: str) -> Kubeconfig:
    """The kubeconfig in `text`. ClusterError, with `where` as its name, if it is invalid."""
    document = load_kubeconfig(text, where)
    if not document.get("clusters"):
        raise ClusterError(f"{where}: no kubeconfig: it has no clusters.")
    contexts = index_by_name(document, "contexts", "context")
    current = str(document.get("current-context") or next(iter(contexts), ""))
    chosen = contexts.get(current, {})
    clusters = index_by_name(document, "clusters", "cluster")
    cluster = clusters.get(str(chosen.get("cluster")), next(iter(clusters.values())) if len(clusters) == 1 else {})
    user_name = str(chosen.get("user") or "")
    user = index_by_name(document, "users", "user").get(user_name, {})
    if not cluster.get("server"):
        raise ClusterError(f"{where}: no kubeconfig: its context '{current}' leads to no cluster with a server.")
    common_name, organizations = _client(user, where)
    files = {
        key: str(part[key])
        for part in (cluster, user)
        for key in ("certificate-authority", "client-certificate", "client-key", "tokenFile")
        if part.get(key)
    }
    return Kubeconfig(
        server=str(cluster["server"]),
        ca_pem=_decode(cluster.get("certificate-authority-data"), where),
        names=tuple(name for name in (user_name, common_name) if name),
        organizations=organizations,
        files=files,
    )


def _client(user: Mapping[str, Any], where: str) -> tuple[str, tuple[str, ...]]:
    data = user.get("client-certificate-data")
    if not data:
        return "", ()
    try:
        return _subject(x509.load_pem_x509_certificate(_decode(data, where)).subject)
    except ValueError as error:
        raise ClusterError(f"{where}: its client certificate cannot be read: {error}.") from error


def _decode(data: object, where: str) -> bytes:
    try:
        return base64.b64decode(str(data or ""), validate=False)
    except (ValueError, binascii.Error):
        raise ClusterError(f"{where}: no kubeconfig: a certificate in it is not base64.") from None


def index_by_name(document: Mapping[str, Any], key: str, inner: str) -> dict[str, dict[str, Any]]:
    """The list `key` of a kubeconfig: what each item has as `inner`, by the item's name."""
    found: dict[str, dict[str, Any]] = {}
    for item in document.get(key) or ():
        if isinstance(item, dict) and isinstance(item.get(inner), dict):
            found[str(item.get("name"))] = item[inner]
    return found
