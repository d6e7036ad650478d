"""A real kube-apiserver over a real etcd, on loopback: RBAC, admission and validation by upstream's own code.

No kubelet runs: Nodes are objects, and pods never start. Without controllers (controller_manager.py) nobody makes the
ServiceAccount `default` of a namespace.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.real import build

VERSION = build.SERVER_VERSIONS[-1]
PROGRAMS = (("kube-apiserver", VERSION), ("etcd", build.ETCD))
ADMIN = "administrators-token"
DEFAULTS: Mapping[str, bool] = {}
START_S = 240.0
"""On a busy machine."""


@dataclass(frozen=True)
class Said:
    """A status and the object, or what the API server says of why not. `warnings`: the texts of its Warning headers."""

    status: int
    body: dict[str, Any]
    warnings: tuple[str, ...] = ()

    @property
    def refused(self) -> str:
        """Why it may not be; empty if it may."""
        return str(self.body.get("message")) if self.status in {403, 422} else ""


_WARNING = re.compile(r'299 - "((?:[^"\\]|\\.)*)"')


def _warnings(headers: Message) -> tuple[str, ...]:
    """A header's quoted text, in which a backslash stands before a quote or a backslash."""
    texts = (text for header in headers.get_all("Warning") or () for text in _WARNING.findall(header))
    return tuple(re.sub(r"\\(.)", r"\1", text) for text in texts)


def _object(data: bytes) -> dict[str, Any]:
    text = data.decode(errors="replace")
    found = json.loads(text) if text.startswith("{") else {"message": text}
    assert isinstance(found, dict)
    return found


@dataclass(frozen=True)
class Api:
    """Requests of whoever has the token."""

    server: str
    token: str

    def ask(
        self, method: str, path: str, body: Mapping[str, Any] | str | None = None, kind: str = "application/json"
    ) -> Said:
        """`body`: an object, or a text that is sent as it is."""
        data = None if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        request = urllib.request.Request(f"{self.server}{path}", data, headers, method=method)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            with urllib.request.urlopen(request, timeout=60, context=context) as answer:
                return Said(answer.status, _object(answer.read()), _warnings(answer.headers))
        except urllib.error.HTTPError as error:
            return Said(error.code, _object(error.read()), _warnings(error.headers))

    def get(self, path: str) -> Said:
        return self.ask("GET", path)

    def post(self, path: str, body: Mapping[str, Any]) -> Said:
        return self.ask("POST", path, body)

    def merge(self, path: str, body: Mapping[str, Any]) -> Said:
        return self.ask("PATCH", path, body, "application/merge-patch+json")

    def strategic(self, path: str, body: Mapping[str, Any]) -> Said:
        return self.ask("PATCH", path, body, "application/strategic-merge-patch+json")

    def make(self, document: Mapping[str, Any], *, strict: bool = True) -> Said:
        """An object of any kind, into its collection."""
        version = str(document["apiVersion"])
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        known = self.get(root).body["resources"]
        kind = next(each for each in known if each["kind"] == document["kind"] and "/" not in each["name"])
        namespace = f"/namespaces/{document['metadata']['namespace']}" if kind["namespaced"] else ""
        query = "?fieldValidation=Strict" if strict else ""
        return self.post(f"{root}{namespace}/{kind['name']}{query}", document)


@dataclass(frozen=True)
class Server:
    """What runs."""

    address: str
    folder: Path
    etcd: str = ""

    @property
    def audit(self) -> Path:
        """The log of who has asked for what."""
        return self.folder / "audit.json"

    @property
    def admin(self) -> Api:
        return Api(self.address, ADMIN)

    def account(self, namespace: str, name: str) -> Api:
        """With a token of this ServiceAccount."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
        said = self.admin.post(f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token", body)
        assert said.status == 201, said
        return Api(self.address, said.body["status"]["token"])

    def kubeconfig(self, api: Api) -> Path:
        """A file that leads there with this token."""
        path = self.folder / f"{abs(hash(api.token))}.conf"
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "real",
            "clusters": [{"name": "real", "cluster": {"server": self.address, "insecure-skip-tls-verify": True}}],
            "users": [{"name": "real", "user": {"token": api.token}}],
            "contexts": [{"name": "real", "context": {"cluster": "real", "user": "real"}}],
        }
        path.write_text(yaml.safe_dump(document), encoding="utf-8")
        return path


def missing(*more: str) -> str:
    """The command that builds what is not there, of `more` of Kubernetes' programs as well; empty if all is."""
    wanted = (*PROGRAMS, *((name, VERSION) for name in more))
    absent = [f"{name}@{version}" for name, version in wanted if not build.program(name, version).exists()]
    return f"python -m tests.real.build {' '.join(absent)}" if absent else ""


def free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _each in range(count)]
    try:
        return [each.getsockname()[1] for each in held]
    finally:
        for each in held:
            each.close()


def until(what: Callable[[], bool], why: str, patience_s: float = START_S) -> None:
    """AssertionError with `why` after `patience_s`."""
    end = time.monotonic() + patience_s
    while not what():
        assert time.monotonic() < end, why
        time.sleep(0.2)


@contextmanager
def started(log: Path, line: Sequence[object]) -> Iterator[subprocess.Popen[bytes]]:
    """A program, which ends with the block."""
    with log.open("wb") as output:
        words = [str(word) for word in line]
        program = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield program
    finally:
        program.terminate()
        try:
            program.wait(30)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()


REQUESTS = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}
"""An audit policy: each request, without bodies."""


@contextmanager
def running(
    folder: Path,
    *,
    audit: Mapping[str, Any] = REQUESTS,
    without: Sequence[str] = (),
    gates: Mapping[str, bool] = DEFAULTS,
) -> Iterator[Server]:
    """Both programs, ready, with their logs in `folder`; they end with it. `without`: these admission plugins; `gates`:
    feature gates of the API server."""
    client, peer, secure = free_ports(3)
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    (folder / "sa.key").write_bytes(private)
    (folder / "audit.yml").write_text(yaml.safe_dump(dict(audit)), encoding="utf-8")
    (folder / "audit.json").touch()
    (folder / "tokens.csv").write_text(f'{ADMIN},admin,1,"system:masters"\n', encoding="utf-8")
    etcd = [
        build.program("etcd", build.ETCD), "--data-dir", folder / "etcd", "--unsafe-no-fsync",
        "--listen-client-urls", f"http://127.0.0.1:{client}", "--advertise-client-urls", f"http://127.0.0.1:{client}",
        "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
        "--initial-cluster", f"default=http://127.0.0.1:{peer}",
    ]  # fmt: skip
    api = [
        build.program("kube-apiserver", VERSION), f"--etcd-servers=http://127.0.0.1:{client}",
        "--bind-address=127.0.0.1", f"--secure-port={secure}", f"--cert-dir={folder / 'certs'}",
        f"--token-auth-file={folder / 'tokens.csv'}", f"--service-account-key-file={folder / 'sa.key'}",
        f"--service-account-signing-key-file={folder / 'sa.key'}", "--service-account-issuer=https://real.invalid",
        "--service-cluster-ip-range=10.96.0.0/16", "--authorization-mode=Node,RBAC", "--allow-privileged=true",
        f"--audit-log-path={folder / 'audit.json'}", f"--audit-policy-file={folder / 'audit.yml'}",
        f"--disable-admission-plugins={','.join(without)}", "--advertise-address=192.0.2.1",
        *(f"--feature-gates={name}={str(on).lower()}" for name, on in gates.items()),
    ]  # fmt: skip
    with ExitStack() as stack:
        logs = [folder / "etcd.log", folder / "kube-apiserver.log"]
        programs = [stack.enter_context(started(log, line)) for log, line in zip(logs, (etcd, api), strict=True)]
        server = Server(f"https://127.0.0.1:{secure}", folder, f"http://127.0.0.1:{client}")

        def is_ready() -> bool:
            for each, log in zip(programs, logs, strict=True):
                assert each.poll() is None, log.read_text(errors="replace")[-3000:]
            try:
                return server.admin.get("/readyz").status == 200
            except OSError:
                return False

        until(is_ready, f"no kube-apiserver within {START_S:g} s: {folder}")
        yield server


@contextmanager
def for_a_record() -> Iterator[Server]:
    """One for a command that writes down what it answers; without admission that needs controllers. SystemExit 2 where
    it is not built."""
    if command := missing():
        print(f"kube-apiserver is not there; `{command}` builds it", file=sys.stderr)
        raise SystemExit(2)
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), without=["ServiceAccount"]) as server:
        yield server


def record_in(folder: Path) -> Path:
    """The file of what this version answers."""
    folder.mkdir(exist_ok=True)
    return folder / f"{VERSION.rsplit('.', 1)[0]}.json"
