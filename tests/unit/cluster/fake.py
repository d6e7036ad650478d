"""A cluster in memory: objects by path, as the client sees them, and a list of what was written."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.connection import Connection
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from tests.lab.cluster.kinds import ALL

_PATH = re.compile(
    r"/api(?:s/[^/]+)?/[^/]+(?:/namespaces/[^/]+)?/(?P<plural>[a-z]+)(?:/(?P<name>[^/]+)(?:/(?P<sub>.+))?)?"
)
_LIMIT = re.compile(r"[?&]limit=500$")
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
OF_OTHERS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
SERVER = "https://10.0.0.10:6443"


def subject(common_name: str, *groups: str) -> x509.Name:
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def certificate(common_name: str = "kubernetes", *groups: str) -> tuple[bytes, ec.EllipticCurvePrivateKey]:
    """A self-signed certificate as PEM, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = subject(common_name, *groups)
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(Encoding.PEM), key


def certificate_request(name: x509.Name, *alternatives: x509.GeneralName) -> bytes:
    """A signing request as PEM."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(name)
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    return builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()).public_bytes(Encoding.PEM)


def as_api(method: str, path: str, status: int, answer: Mapping[str, Any]) -> bytes:
    """What a test says of an answer, with what every answer of an API server has: kind, apiVersion, name."""
    match = _PATH.fullmatch(path.partition("?")[0])
    if status >= 300:
        failed = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": status}
        return json.dumps({**failed, **answer}).encode()
    if match is None or (match["sub"] or "").startswith("proxy"):
        return json.dumps(answer).encode()
    if method == "DELETE" or match["sub"] == "eviction":
        return json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Success"}).encode()
    of_review = "SubjectAccessReview" if path == OF_OTHERS else "SelfSubjectAccessReview"
    kind = next((each.name for each in ALL if each.plural == match["plural"]), of_review)
    if method == "GET" and not match["name"]:
        items = [named(each, f"unnamed-{n}") for n, each in enumerate(answer.get("items") or ())]
        return json.dumps({"kind": f"{kind}List", **answer, "items": items}).encode()
    return json.dumps(named({"kind": kind, **answer}, match["name"] or "made")).encode()


def without_limit(path: str) -> str:
    """Of a list that is no longer than one piece."""
    return _LIMIT.sub("", path)


def named(item: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An object; each has a name."""
    metadata = item.get("metadata") or {}
    return {**item, "metadata": {"name": name, **metadata} if isinstance(metadata, dict) else metadata}


class Fake:
    """Serves `objects`; `writes` are (method, path, body). `on_write` may change what there is, as controllers do."""

    def __init__(self, ca_pem: bytes = b"") -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.writes: list[tuple[str, str, Any]] = []
        self.refused: dict[tuple[str, str], int] = {}
        self.denied: set[str] = set()
        """What the user may not, by its own question: `create secrets`, `get secrets a`."""
        self.cluster = Cluster(lambda: Connection(SERVER, ca_pem, self.send))

    def send(self, method: str, path: str, body: Mapping[str, Any] | None, content_type: str) -> tuple[int, bytes]:
        path = without_limit(path)
        if path in {REVIEWS, OF_OTHERS}:
            wanted = dict(body or {})["spec"]["resourceAttributes"]
            words = " ".join(wanted[key] for key in ("verb", "resource", "name") if key in wanted)
            said = self.objects.get(path) or {"status": {"allowed": words not in self.denied}}
            return 201, as_api(method, path, 201, said)
        if method != "GET":
            self.writes.append((method, path, body))
        if (status := self.refused.pop((method, path), 0)) != 0:
            return status, as_api(method, path, status, {"message": "the object has been modified"})
        found = self._answer(method, path, dict(body or {}))
        status = 404 if found is None else 200
        return status, as_api(method, path, status, {"message": "not found"} if found is None else found)

    def _answer(self, method: str, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        if method == "POST":
            path = f"{path}/{body['metadata']['name']}"
            data = {key: base64.b64encode(value.encode()).decode() for key, value in body.pop("stringData", {}).items()}
            if body.get("type") == "kubernetes.io/service-account-token":
                data = {"token": base64.b64encode(f"token-of-{body['metadata']['name']}".encode()).decode()}
            self.objects[path] = body | ({"data": data} if data else {})
            return self.objects[path]
        if method == "DELETE":
            return self.objects.pop(path, None)
        if method == "PATCH":
            found = self.objects.get(path.removesuffix("/approval"))
            if found is not None:
                for part in ("spec", "status"):
                    found[part] = {**(found.get(part) or {}), **(body.get(part) or {})}
            return found
        if path in self.objects:
            return self.objects[path]
        below = [value for key, value in self.objects.items() if key.rpartition("/")[0] == path]
        return {"items": below} if below else None

    def add_node(self, name: str, **labels: str) -> dict[str, Any]:
        """A Node that is Ready, without podCIDR and taints."""
        found: dict[str, Any] = {
            "kind": "Node",
            "metadata": {"name": name, "labels": labels, "resourceVersion": "7"},
            "spec": {},
            "status": {"conditions": [{"type": "Ready", "status": "True"}], "addresses": []},
        }
        self.objects[f"/api/v1/nodes/{name}"] = found
        return found
