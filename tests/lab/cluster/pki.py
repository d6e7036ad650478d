"""The cluster's certificate authority, real X.509 by the package cryptography; keys are ECDSA P-256, as kubelets'."""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_USAGES = {"client auth": ExtendedKeyUsageOID.CLIENT_AUTH, "server auth": ExtendedKeyUsageOID.SERVER_AUTH}
EARLIEST = datetime(2026, 11, 1, tzinfo=UTC)
"""Certificates are valid from here at the latest: nodes have a clock of their own, which starts in November 2026."""


class BadCertificateError(Exception):
    """A certificate, key or request that cannot be used; the sentence is that of Go's x509 where it has one."""


@dataclass(frozen=True)
class Pair:
    """A certificate with its private key, both PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True)
class Identity:
    """Whom a certificate or a request is for. names, addresses: its subject alternative names."""

    name: str
    groups: tuple[str, ...]
    names: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()


class Authority:
    """A self-signed CA called `kubernetes`."""

    def __init__(self, name: str = "kubernetes") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = (
            x509.CertificateBuilder()
            .subject_name(self._subject)
            .issuer_name(self._subject)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(_start(datetime.now(UTC)))
            .not_valid_after(datetime.now(UTC) + timedelta(days=3650))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_CA_USAGE, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.pem = self._certificate.public_bytes(serialization.Encoding.PEM)

    def issue(
        self, identity: Identity, usages: Iterable[str] = ("client auth",), days: float = 365, start: float = 0
    ) -> Pair:
        """A certificate for a new key; `start` and the end by `days` are days from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        return Pair(self._certify(identity, key.public_key(), usages, days, start), _pem_of(key))

    def sign(self, request: bytes, usages: Iterable[str], days: float = 365) -> bytes:
        """A certificate for a PEM request, with the request's subject and names. BadCertificateError."""
        read = _request(request)
        return self._certify(identity_of_request(request), read.public_key(), usages, days, 0)

    def _certify(
        self, identity: Identity, key: CertificatePublicKeyTypes, usages: Iterable[str], days: float, start: float
    ) -> bytes:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(_subject(identity))
            .issuer_name(self._subject)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + timedelta(days=start) if start else _start(now))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([_USAGES[usage] for usage in usages if usage in _USAGES]), False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), False)
        )
        if identity.names or identity.addresses:
            builder = builder.add_extension(_alternatives(identity), critical=False)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def verify(self, certificate: bytes, moment: datetime, usage: str = "client auth") -> Identity:
        """Whom a PEM certificate of this CA is for at that moment. BadCertificateError."""
        found = _load(certificate)
        if not _issued_by(found, self._certificate):
            raise BadCertificateError("x509: certificate signed by unknown authority")
        if not found.not_valid_before_utc <= moment <= found.not_valid_after_utc:
            raise BadCertificateError("x509: certificate has expired or is not yet valid")
        usages = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        if _USAGES[usage] not in usages:
            raise BadCertificateError("x509: certificate specifies an incompatible key usage")
        return _identity(found.subject, found.extensions)


@lru_cache(maxsize=256)
def _issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


_CA_USAGE = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=True,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)


def _start(now: datetime) -> datetime:
    return min(EARLIEST, now - timedelta(minutes=5))


def _subject(identity: Identity) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in identity.groups]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, identity.name)])


def _alternatives(identity: Identity) -> x509.SubjectAlternativeName:
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in identity.names]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in identity.addresses]
    return x509.SubjectAlternativeName(names)


def _identity(subject: x509.Name, extensions: x509.Extensions) -> Identity:
    common = [str(item.value) for item in subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    groups = tuple(str(item.value) for item in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME))
    try:
        found = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return Identity(common[0] if common else "", groups)
    addresses = tuple(str(address) for address in found.get_values_for_type(x509.IPAddress))
    return Identity(common[0] if common else "", groups, tuple(found.get_values_for_type(x509.DNSName)), addresses)


def _pem_of(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


@lru_cache(maxsize=256)
def _load(certificate: bytes) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(certificate)
    except ValueError as error:
        raise BadCertificateError("tls: failed to find any PEM data in certificate input") from error


def _request(request: bytes) -> x509.CertificateSigningRequest:
    try:
        found = x509.load_pem_x509_csr(request)
    except ValueError as error:
        raise BadCertificateError("PEM block type must be CERTIFICATE REQUEST") from error
    if not found.is_signature_valid:
        raise BadCertificateError("the request is not signed by its own key")
    return found


def identity_of_request(request: bytes) -> Identity:
    """What a PEM request asks for. BadCertificateError."""
    found = _request(request)
    return _identity(found.subject, found.extensions)


def identity_of_certificate(certificate: bytes) -> Identity:
    """Whom a PEM certificate says that it is for; nothing is verified. BadCertificateError."""
    found = _load(certificate)
    return _identity(found.subject, found.extensions)


def make_request(identity: Identity) -> tuple[bytes, bytes]:
    """A PEM certificate request for a new key, and that key."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = x509.CertificateSigningRequestBuilder().subject_name(_subject(identity))
    if identity.names or identity.addresses:
        builder = builder.add_extension(_alternatives(identity), critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM), _pem_of(key)


@lru_cache(maxsize=256)
def belong_together(certificate: bytes, key: bytes) -> bool:
    """Whether a PEM private key is that of the certificate."""
    try:
        private = serialization.load_pem_private_key(key, None)
    except (ValueError, TypeError):
        return False
    return _spki(private.public_key()) == _spki(_load(certificate).public_key())


def _spki(key: object) -> bytes:
    found: bytes = key.public_bytes(  # type: ignore[attr-defined]
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return found


def key_hash(certificate: bytes) -> str:
    """`sha256:<hex>` of a certificate's public key (SPKI), as kubeadm's caCertHashes. BadCertificateError.

    Source: kubernetes cmd/kubeadm/app/util/pubkeypin/pubkeypin.go.
    """
    return f"sha256:{hashlib.sha256(_spki(_load(certificate).public_key())).hexdigest()}"


def valid_until(certificate: bytes) -> datetime:
    """The end of a PEM certificate, UTC. BadCertificateError."""
    return _load(certificate).not_valid_after_utc


@lru_cache(maxsize=256)
def same_key(one: bytes, other: bytes) -> bool:
    """Whether two PEM certificates are of the same key."""
    return _spki(_load(one).public_key()) == _spki(_load(other).public_key())
