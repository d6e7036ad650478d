# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Short-lived certificates for CRI over TCP, made on the controller: one for the node and one for its client.

The key of the authority signs these two and is never written.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..engine.resource import Refused

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
except ImportError:  # ansible-core depends on it, but a mere import of the file must not need it
    x509 = None  # type: ignore[assignment]

NAMES = ("ca.crt", "server.crt", "server.key", "client.crt", "client.key")
"""The files on the controller; the first three go to the node."""
ON_NODE = NAMES[:3]
MAX_DAYS = 30
_SKEW = datetime.timedelta(days=1)
"""The node's clock may be this far behind the controller's: hours, where one of them takes local time for UTC."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM texts by file name."""

    files: Mapping[str, str] = field(repr=False)


def create(addresses: Iterable[str], days: int, now: datetime.datetime) -> Certificates:
    """New certificates for a server at these IP addresses. Refused for more than MAX_DAYS days."""
    if not 1 <= days <= MAX_DAYS:
        raise Refused(f"certificates.days is {days}; from 1 to {MAX_DAYS} are possible.")
    authority = ec.generate_private_key(ec.SECP256R1())
    issuer = _name("winkube CRI over TCP")
    ends = now + datetime.timedelta(days=days)

    def certificate(subject: Any, key: Any, *extensions: tuple[Any, bool]) -> Any:
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _SKEW)
            .not_valid_after(ends)
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical=critical)
        return builder.sign(authority, hashes.SHA256())

    leaf = (x509.BasicConstraints(ca=False, path_length=None), True)
    own = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(text)) for text in addresses])
    server, client = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    found = {
        "ca.crt": certificate(issuer, authority, (x509.BasicConstraints(ca=True, path_length=0), True)),
        "server.crt": certificate(
            _name("containerd"), server, leaf, (own, False), (_for(ExtendedKeyUsageOID.SERVER_AUTH), False)
        ),
        "client.crt": certificate(_name("client"), client, leaf, (_for(ExtendedKeyUsageOID.CLIENT_AUTH), False)),
    }
    texts = {name: value.public_bytes(serialization.Encoding.PEM).decode() for name, value in found.items()}
    return Certificates(texts | {"server.key": _key(server), "client.key": _key(client)})


def load(folder: Path, addresses: Iterable[str], now: datetime.datetime) -> Certificates | None:
    """The certificates in the folder if they cover these addresses and are not in the last third of their lifetime.
    Refused if a file cannot be read."""
    try:
        texts = {name: (folder / name).read_text(encoding="ascii") for name in NAMES}
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"certificates.folder: a file in {folder} cannot be read: {error}.") from None
    try:
        certificate = x509.load_pem_x509_certificate(texts["server.crt"].encode())
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return None
    starts, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    known = {str(address) for address in names.get_values_for_type(x509.IPAddress)}
    good = now < ends - (ends - starts) / 3 and set(addresses) <= known
    return Certificates(texts) if good else None


def keep(folder: Path, certificates: Certificates) -> None:
    """Write them on the controller, readable only by its user. Refused if writing fails."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, text in certificates.files.items():
            new = folder / f"{name}.new"
            new.unlink(missing_ok=True)
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
                file.write(text)
            new.replace(folder / name)
    except OSError as error:
        raise Refused(f"certificates.folder: nothing can be written to {folder}: {error.strerror}.") from None


def _name(text: str) -> Any:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _for(usage: Any) -> Any:
    return x509.ExtendedKeyUsage([usage])


def _key(key: Any) -> str:
    text: bytes = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return text.decode()
