"""Kubeconfigs as the controller's own requests need them, compared with what the package `kubernetes` makes of them."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.access import access
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.connection import is_direct
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from kubernetes import config
from kubernetes.client import Configuration

from tests.lab.cluster.pki import Authority, Identity

SERVER = "https://10.0.0.10:6443"
ANN = Identity("ann", ())
API = "client.authentication.k8s.io/v1"


def write(folder: Path, user: Any = None, cluster: Any = None) -> Path:
    document = {
        "current-context": "lab",
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "me"}}],
        "clusters": [{"name": "lab", "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": "me", "user": user or {}}],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def program(folder: Path, text: str) -> str:
    """A program beside the kubeconfig, by its relative path."""
    path = folder / "credentials"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o700)
    return "./credentials"


def credential(**status: Any) -> str:
    return json.dumps({"apiVersion": API, "kind": "ExecCredential", "status": status})


def jwt() -> str:
    """A token of OpenID Connect that does not expire soon."""
    parts = (base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (b"{}", b'{"exp": 99999999999}', b"xyz"))
    return ".".join(parts)


USERS: dict[str, Callable[[Path], Any]] = {
    "nobody": lambda _folder: {},
    "token": lambda _folder: {"token": "t"},
    "file of a token": lambda folder: {"tokenFile": "token"},
    "both": lambda folder: {"token": "t", "tokenFile": "token"},
    "password": lambda _folder: {"username": "ann", "password": "p:w"},
    "program": lambda folder: {
        "exec": {
            "apiVersion": API,
            "command": program(folder, f"[ \"$1 $WHO\" = 'get it' ] && echo '{credential(token='t')}'"),
            "args": ["get"],
            "env": [{"name": "WHO", "value": "it"}],
        }
    },
    "provider": lambda _folder: {"auth-provider": {"name": "oidc", "config": {"id-token": jwt()}}},
}


@pytest.mark.parametrize("name", USERS)
def test_the_header_is_that_of_the_package(name: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("of a file\n", encoding="utf-8")
    path = write(tmp_path, USERS[name](tmp_path))
    made: Any = Configuration()
    load: Any = config.load_kube_config
    load(str(path), client_configuration=made, persist_config=False)
    wanted = [each["value"] for each in made.auth_settings().values() if each["value"]]
    assert access(path, "").authorization() == (wanted[0].strip() if wanted else "")


def test_certificates_are_taken_inline_and_from_files_beside_it(tmp_path: Path) -> None:
    authority = Authority()
    ann = authority.issue(ANN)
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    inline = {
        "client-certificate-data": base64.b64encode(ann.certificate).decode(),
        "client-key-data": base64.b64encode(ann.key).decode(),
    }
    assert access(write(tmp_path, inline, {"certificate-authority": "ca.pem"}), "lab").ca_pem == authority.pem
    (tmp_path / "key.pem").write_bytes(Authority().issue(ANN).key)
    with pytest.raises(ClusterError, match=r"the certificates of .* cannot be used"):
        access(
            write(tmp_path, {"client-certificate-data": inline["client-certificate-data"], "client-key": "key.pem"}), ""
        )


def test_what_a_cluster_entry_says_of_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = access(write(tmp_path, None, {"tls-server-name": "api", "insecure-skip-tls-verify": True}), "")
    assert (found.server_name, found.tls.verify_mode, found.tls.check_hostname) == ("api", ssl.CERT_NONE, False)
    monkeypatch.setenv("HTTPS_PROXY", "http://of-the-shell:3128")
    monkeypatch.setenv("NO_PROXY", "10.0.0.0/8")
    assert (access(write(tmp_path), "").proxy, access(write(tmp_path), "").no_proxy) == (
        "http://of-the-shell:3128",
        "10.0.0.0/8",
    )
    assert access(write(tmp_path, None, {"proxy-url": "socks5://p:1"}), "").proxy == "socks5://p:1"


@pytest.mark.parametrize(
    ("rules", "direct"),
    [
        *(("", False), ("*", True), ("example.com", True), (".EXAMPLE.com, x", True), ("ample.com", False)),
        *(("api.example.com:6443", True), ("api.example.com:443", False), ("10.0.0.0/8", False)),
    ],
)
def test_who_needs_no_proxy(rules: str, direct: bool) -> None:
    assert is_direct("https://api.example.com:6443", rules) is direct


@pytest.mark.parametrize(("rules", "direct"), [("10.0.0.0/8", True), ("10.0.0.11,10.1.0.0/16", False)])
def test_a_network_needs_no_proxy(rules: str, direct: bool) -> None:
    assert is_direct(SERVER, rules) is direct


def test_a_program_is_asked_again_when_its_token_expires(tmp_path: Path) -> None:
    old = credential(token="old", expirationTimestamp="2026-01-01T00:00:00Z")
    new = credential(token="new", expirationTimestamp="2999-01-01T00:00:00Z")
    command = program(tmp_path, f"[ -e asked ] && echo '{new}' || echo '{old}'; echo x >> asked")
    found = access(write(tmp_path, {"exec": {"apiVersion": API, "command": command}}), "")
    assert [found.authorization(), found.authorization()] == ["Bearer new", "Bearer new"]
    assert (tmp_path / "asked").read_text(encoding="utf-8").count("x") == 2


def test_a_program_may_give_a_certificate_and_is_told_of_the_cluster(tmp_path: Path) -> None:
    ann = Authority().issue(ANN)
    status = {"clientCertificateData": ann.certificate.decode(), "clientKeyData": ann.key.decode()}
    (tmp_path / "said").write_text(credential(**status), encoding="utf-8")
    command = program(tmp_path, 'printf %s "$KUBERNETES_EXEC_INFO" > told; cat said')
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    user = {"exec": {"apiVersion": API, "command": command, "provideClusterInfo": True}}
    found = access(write(tmp_path, user, {"extensions": [extension]}), "")
    told = json.loads((tmp_path / "told").read_text(encoding="utf-8"))
    assert found.authorization() == ""
    assert (told["apiVersion"], told["spec"]["cluster"]["server"], told["spec"]["cluster"]["config"]) == (
        API,
        SERVER,
        {"audience": "a"},
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("echo not logged in >&2; exit 3", r"credentials, ended with 3: not logged in\."),
        ("echo secret", r"wrote no ExecCredential of client\.authentication\.k8s\.io/v1 with a token"),
        ("echo '{}'", "wrote no ExecCredential"),
        (f"echo '{credential()}'", "wrote no ExecCredential"),
    ],
)
def test_a_program_that_gives_nothing_is_a_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    path = write(tmp_path, {"exec": {"apiVersion": API, "command": program(tmp_path, text)}})
    with pytest.raises(ClusterError, match=sentence) as raised:
        access(path, "")
    assert "secret" not in str(raised.value)


def test_a_program_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    path = write(tmp_path, {"exec": {"apiVersion": API, "command": "no-such-program"}})
    with pytest.raises(ClusterError, match="the program no-such-program, which gives the credentials, cannot be run: "):
        access(path, "")


@pytest.mark.parametrize(
    ("text", "context", "sentence"),
    [
        ("a: [", "", "the text is not YAML"),
        ("a: 1", "", "it has no clusters"),
        (
            "clusters: [{name: a, cluster: {server: x}}]",
            "prod",
            "with the context prod: it has no context 'prod', but none",
        ),
        ("{clusters: [{name: a}], contexts: [{name: c, context: {}}], current-context: c}", "", "leads to no cluster"),
    ],
)
def test_what_is_wrong_with_a_kubeconfig_is_said(text: str, context: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ClusterError, match=sentence):
        access(path, context)
