"""The queries about adapters, HNS, certificates and disk encryption (docs/protocol.md, section 1)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA1

from tests.lab.machine.hns import KINDS
from tests.lab.twin import dotnet

if TYPE_CHECKING:
    from tests.lab.machine.adapters import Address, Settings
    from tests.lab.machine.node import SimulatedNode

Query = dict[str, Any]
BEGIN = b"-----BEGIN CERTIFICATE-----"
LISTED_AGAIN_S = 10.0
END = b"-----END CERTIFICATE-----"
# Source: RFC 4519 and .NET's X500DistinguishedName: the names it prints; others as their number.
NAMES = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "S",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "2.5.4.5": "SERIALNUMBER",
    "0.9.2342.19200300.100.1.25": "DC",
}


def adapters(node: SimulatedNode, query: Query) -> list[dict[str, Any]]:
    found = []
    for adapter in dotnet.interfaces(node, LISTED_AGAIN_S):
        now = node.adapters.current(adapter)
        found.append(
            {
                "name": adapter.name,
                "description": adapter.description,
                "index": adapter.index,
                "mac": adapter.mac,
                "up": adapter.up,
                "dhcp": now.dhcp,
                "mtu": node.adapters.mtu(adapter),
                "ipv4": [{"address": item.address, "prefix": item.prefix} for item in now.addresses],
                "ipv6": [
                    {"address": item.address, "prefix": item.prefix} for item in _ipv6(now) if not item.link_local
                ],
                "gateways": list(now.gateways),
                "dns": list(now.dns),
            }
        )
    return found


def _ipv6(now: Settings) -> tuple[Address, ...]:
    return now.by_hand.ipv6


def hns(node: SimulatedNode, query: Query) -> dict[str, Any]:
    objects = [str(item) for item in query["objects"]]
    if not node.hns.available:
        return {"available": False}
    return {"available": True, **{item: _list(node, item) for item in objects}}


def _list(node: SimulatedNode, objects: str) -> str | dict[str, str]:
    """HNS's answer as it came, also one that says `"Success":false`. An error is what gave no answer at all."""
    if objects not in KINDS:
        return {"error": f"The Host Network Service is not asked for {objects!r}; there are {', '.join(KINDS)}."}
    if not node.hns.running:
        return {"error": f"The service hns is {node.services.state('hns')}, and a reading does not start it."}
    return node.hns.call("GET", f"/{objects}/")


def certificate(node: SimulatedNode, query: Query) -> dict[str, Any]:
    path = dotnet.long_path(str(query["path"]))
    kind = node.drive.kind(path)
    if kind is None:
        return {"exists": False}
    if kind == "directory":
        raise ValueError(f"{path} is a folder, not a PEM file.")
    data = node.drive.read(path)
    start = data.find(BEGIN)
    end = data.find(END, start)
    if start < 0 or end < 0:
        raise ValueError(f"{path} holds no certificate: it has no lines BEGIN CERTIFICATE and END CERTIFICATE.")
    try:
        found = x509.load_pem_x509_certificate(data[start : end + len(END)] + b"\n")
    except ValueError as error:
        raise ValueError(f"{path}: the certificate cannot be read: {error}") from error
    return {
        "exists": True,
        "subject": _name(found.subject),
        "issuer": _name(found.issuer),
        "not_before": _time(found.not_valid_before_utc),
        "not_after": _time(found.not_valid_after_utc),
        "thumbprint": found.fingerprint(SHA1()).hex().upper(),
    }


def _name(name: x509.Name) -> str:
    """As X509Certificate2.Subject prints it: last part first, values with special characters in quotes."""
    parts = []
    for attribute in reversed(list(name)):
        value = str(attribute.value)
        if any(sign in value for sign in ',+"\\<>;=\n#') or value != value.strip() or not value:
            value = '"' + value.replace('"', '""') + '"'
        parts.append(f"{NAMES.get(attribute.oid.dotted_string, f'OID.{attribute.oid.dotted_string}')}={value}")
    return ", ".join(parts)


def _time(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def encryption(node: SimulatedNode, query: Query) -> dict[str, str]:
    return {"state": node.encryption.get(str(query["volume"]).upper(), "unknown")}
