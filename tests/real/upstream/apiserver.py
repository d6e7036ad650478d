"""A real kube-apiserver over Debian's etcd, on 127.0.0.1 and in a folder of its own, for as long as a test needs it."""

from __future__ import annotations

import json
import secrets
import shutil
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

START_S = 120.0


@dataclass(frozen=True)
class ApiServer:
    """Where it listens and the token of an administrator."""

    port: int
    token: str
    log: Path

    def request(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
        """HTTP status and the answer's document."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}{path}", data, headers, method=method)
        # It made its certificate itself a moment ago; there is nobody else on this port of this machine.
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        try:
            with urllib.request.urlopen(request, timeout=30, context=trusting) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            return error.code, json.loads(text) if text.startswith("{") else {"message": text}

    def ready(self) -> bool:
        """Whether it takes requests, with the namespace that tests use."""
        try:
            return self.request("GET", "/api/v1/namespaces/default")[0] == 200
        except (OSError, ValueError):
            return False


@contextmanager
def running(program: Path, folder: Path, gates: Sequence[str] = ()) -> Iterator[ApiServer]:
    """Starts etcd and `program`, yields the server when it is ready, stops both. RuntimeError with the log's end."""
    etcd = shutil.which("etcd")
    if etcd is None:
        raise RuntimeError("etcd is not there (Debian: apt install etcd-server)")
    clients, peers, port = _free_port(), _free_port(), _free_port()
    key, tokens, token = folder / "service-account.key", folder / "tokens.csv", secrets.token_hex(16)
    key.write_bytes(_private_key())
    tokens.write_text(f'{token},admin,admin,"system:masters"\n', encoding="utf-8")
    store = f"http://127.0.0.1:{clients}"
    peer = f"http://127.0.0.1:{peers}"
    store_line = [etcd, "--data-dir", str(folder / "etcd"), "--unsafe-no-fsync"]
    store_line += ["--listen-client-urls", store, "--advertise-client-urls", store, "--listen-peer-urls", peer]
    store_line += ["--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"]
    server_line = [
        str(program),
        f"--etcd-servers={store}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        f"--cert-dir={folder / 'certificates'}",
        f"--token-auth-file={tokens}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://tests.invalid",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-cluster-ip-range=10.96.0.0/12",
        # As kubeadm sets it; without it the server takes no HostProcess pod.
        "--allow-privileged=true",
        # Nobody makes a service account for the namespace; the pods are only looked at.
        "--disable-admission-plugins=ServiceAccount",
        *([f"--feature-gates={','.join(gates)}"] if gates else []),
    ]
    with ExitStack() as stack:
        stack.enter_context(_started(store_line, folder / "etcd.log"))
        process = stack.enter_context(_started(server_line, folder / "apiserver.log"))
        server = ApiServer(port, token, folder / "apiserver.log")
        end = time.monotonic() + START_S
        while not server.ready():
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"kube-apiserver did not start:\n{server.log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.5)
        yield server


@contextmanager
def _started(line: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    environment = {"HOME": str(log.parent), "PATH": "/usr/bin:/bin"}
    with log.open("wb") as output:
        process = subprocess.Popen(line, stdout=output, stderr=subprocess.STDOUT, env=environment)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _private_key() -> bytes:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
