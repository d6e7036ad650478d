"""A real etcd and kube-apiserver, which write down every request to Nodes and every eviction.

Nodes and pods are objects only: no kubelet, no controller.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.real.build import program

KUBERNETES, ETCD = "1.37.1", "3.7.3"
STARTS_S = 120.0
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "RequestResponse", "resources": [{"resources": ["nodes"]}], "verbs": ["create", "patch", "update"]},
        {
            "level": "Metadata",
            "resources": [{"resources": ["nodes/status", "pods/eviction"]}],
            "verbs": ["create", "patch"],
        },
        {"level": "None"},
    ],
}


def is_there() -> bool:
    """Whether both programs are built: `python -m tests.real.build kubernetes etcd`."""
    return program("kube-apiserver", KUBERNETES).is_file() and program("etcd", ETCD).is_file()


@dataclass(frozen=True)
class Real:
    """A running API server. `kubeconfig`: of a user who may do everything; `audit`: its log."""

    kubeconfig: Path
    audit: Path

    def open(self) -> Cluster:
        found = Cluster.open({"kubeconfig": str(self.kubeconfig)})
        assert found is not None
        return found

    def events(self) -> list[dict[str, Any]]:
        """The audit log, in the order of the answers."""
        found = [json.loads(line) for line in self.audit.read_text(encoding="utf-8").splitlines() if line]
        return sorted(found, key=lambda event: str(event["stageTimestamp"]))


@contextmanager
def running(folder: Path) -> Iterator[Real]:
    """Both programs, in a folder of their own; they end with the block."""
    folder.mkdir(parents=True, exist_ok=True)
    client, peer, secure = (_free_port() for _one in range(3))
    token = secrets.token_hex(16)
    (folder / "tokens.csv").write_text(f'{token},runs,runs,"system:masters"\n', encoding="utf-8")
    (folder / "policy.yml").write_text(yaml.safe_dump(POLICY), encoding="utf-8")
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "accounts.key").write_bytes(pem)
    etcd_url = f"http://127.0.0.1:{client}"
    real = Real(folder / "kubeconfig", folder / "audit.log")
    real.audit.touch()
    with (folder / "log").open("wb") as log:
        processes = [
            _start(
                log,
                program("etcd", ETCD),
                *("--data-dir", folder / "etcd", "--listen-client-urls", etcd_url, "--advertise-client-urls", etcd_url),
                *("--listen-peer-urls", f"http://127.0.0.1:{peer}", "--unsafe-no-fsync"),
            ),
            _start(
                log,
                program("kube-apiserver", KUBERNETES),
                *("--etcd-servers", etcd_url, "--secure-port", secure, "--bind-address", "127.0.0.1"),
                *("--cert-dir", folder / "certs", "--token-auth-file", folder / "tokens.csv"),
                *("--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.96.0.0/16"),
                *("--service-account-issuer", "https://real.invalid", "--service-account-key-file"),
                *(folder / "accounts.key", "--service-account-signing-key-file", folder / "accounts.key"),
                *("--disable-admission-plugins", "ServiceAccount", "--audit-policy-file", folder / "policy.yml"),
                *("--audit-log-path", real.audit, "--advertise-address", "192.0.2.1"),
            ),
        ]
        try:
            _write_kubeconfig(real.kubeconfig, folder / "certs" / "apiserver.crt", secure, token)
            _wait(real, processes, folder / "log")
            yield real
        finally:
            for process in reversed(processes):
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            shutil.rmtree(folder / "etcd", ignore_errors=True)


def _start(log: Any, *words: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(word) for word in words],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env={"PATH": os.environ["PATH"]},
        start_new_session=True,
    )


def _free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def _write_kubeconfig(path: Path, authority: Path, port: int, token: str) -> None:
    server = {"server": f"https://127.0.0.1:{port}", "certificate-authority": str(authority)}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "real",
        "clusters": [{"name": "real", "cluster": server}],
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": "runs"}}],
        "users": [{"name": "runs", "user": {"token": token}}],
    }
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    path.chmod(0o600)


def _wait(real: Real, processes: list[subprocess.Popen[bytes]], log: Path) -> None:
    end = time.monotonic() + STARTS_S
    while True:
        try:
            if real.open().get("/api/v1/namespaces/default") is not None:
                return
        except ClusterError:
            pass
        dead = [process.args for process in processes if process.poll() is not None]
        assert not dead and time.monotonic() < end, log.read_text(encoding="utf-8")[-3000:]
        time.sleep(0.5)
