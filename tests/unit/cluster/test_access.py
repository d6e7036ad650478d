"""Kubeconfigs as the controller's own requests need them, compared with what the package `kubernetes` makes of them."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.cluster import credential_program
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.access import (
    Access,
    access,
    list_files,
)
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.connection import connection
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.proxy import is_direct
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from kubernetes import config
from kubernetes.client import Configuration

from tests.lab.cluster.pki import Authority, Identity
from tests.unit.cluster import witness

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


def reach(file: Path, context: str) -> Access:
    return access((file,), context)


def program(folder: Path, text: str) -> str:
    """A program beside the kubeconfig, by its relative path."""
    path = folder / "credentials"
    path.write_text(f'#!/bin/sh\ncd "$(dirname "$0")"\n{text}\n', encoding="utf-8")
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
    "password": lambda _folder: {"username": "ann", "password": "p:w"},
    "program": lambda folder: {
        "exec": {
            "apiVersion": API,
            "interactiveMode": "Never",
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
    assert reach(path, "").authorization() == (wanted[0].strip() if wanted else "")


def test_certificates_are_taken_inline_and_from_files_beside_it(tmp_path: Path) -> None:
    authority = Authority()
    ann = authority.issue(ANN)
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    inline = {
        "client-certificate-data": base64.b64encode(ann.certificate).decode(),
        "client-key-data": base64.b64encode(ann.key).decode(),
    }
    assert reach(write(tmp_path, inline, {"certificate-authority": "ca.pem"}), "lab").ca_pem == authority.pem
    (tmp_path / "key.pem").write_bytes(Authority().issue(ANN).key)
    with pytest.raises(ClusterError, match=r"the certificates of .* cannot be used"):
        reach(
            write(tmp_path, {"client-certificate-data": inline["client-certificate-data"], "client-key": "key.pem"}), ""
        )


def test_what_a_cluster_entry_says_of_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = reach(write(tmp_path, None, {"tls-server-name": "api", "insecure-skip-tls-verify": True}), "")
    assert (found.server_name, found.tls.verify_mode, found.tls.check_hostname) == ("api", ssl.CERT_NONE, False)


@pytest.mark.parametrize(
    ("cluster", "environment", "proxy"),
    [
        ({}, {}, ""),
        ({}, {"HTTPS_PROXY": "http://shell:3128"}, "http://shell:3128"),
        ({}, {"HTTPS_PROXY": "shell:3128"}, "http://shell:3128"),
        ({}, {"HTTPS_PROXY": "http://shell:3128", "NO_PROXY": "10.0.0.0/8"}, ""),
        (
            {"proxy-url": "socks5://own:1"},
            {"HTTPS_PROXY": "http://shell:3128", "NO_PROXY": "10.0.0.0/8"},
            "socks5://own:1",
        ),
        ({"server": "https://127.0.0.1:6443"}, {"HTTPS_PROXY": "http://shell:3128"}, ""),
        ({"server": "https://localhost:6443"}, {"HTTPS_PROXY": "http://shell:3128"}, ""),
    ],
)
def test_the_proxy_is_the_one_that_kubectl_takes(
    cluster: Any, environment: dict[str, str], proxy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert reach(write(tmp_path, None, cluster), "").proxy == proxy


@pytest.mark.parametrize("proxy", ["ftp://me:s3cret@p:1", "http://", "socks4://p:1"])
def test_a_proxy_that_cannot_be_one_is_a_sentence_without_its_password(proxy: str, tmp_path: Path) -> None:
    with pytest.raises(
        ClusterError, match=r"its proxy-url, .*, is not an address that begins with http, https"
    ) as raised:
        reach(write(tmp_path, None, {"proxy-url": proxy}), "")
    assert "s3cret" not in str(raised.value)


def test_a_socks_proxy_needs_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "socks", None)
    with pytest.raises(ClusterError, match=r"PySocks is missing .* proxy socks5://\*\*\*@p:1: pip install PySocks"):
        connection((write(tmp_path, None, {"proxy-url": "socks5://me:s3cret@p:1"}),), "")


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
    found = reach(write(tmp_path, {"exec": {"apiVersion": API, "interactiveMode": "Never", "command": command}}), "")
    assert [found.authorization(), found.authorization()] == ["Bearer new", "Bearer new"]
    assert (tmp_path / "asked").read_text(encoding="utf-8").count("x") == 2


def test_a_program_may_give_a_certificate_and_is_told_of_the_cluster(tmp_path: Path) -> None:
    ann = Authority().issue(ANN)
    status = {"clientCertificateData": ann.certificate.decode(), "clientKeyData": ann.key.decode()}
    (tmp_path / "said").write_text(credential(**status), encoding="utf-8")
    command = program(tmp_path, 'printf %s "$KUBERNETES_EXEC_INFO" > told; cat said')
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    user = {"exec": {"apiVersion": API, "interactiveMode": "Never", "command": command, "provideClusterInfo": True}}
    found = reach(write(tmp_path, user, {"extensions": [extension]}), "")
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
    path = write(
        tmp_path, {"exec": {"apiVersion": API, "interactiveMode": "Never", "command": program(tmp_path, text)}}
    )
    with pytest.raises(ClusterError, match=sentence) as raised:
        reach(path, "")
    assert "secret" not in str(raised.value)


def test_a_program_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    path = write(tmp_path, {"exec": {"apiVersion": API, "interactiveMode": "Never", "command": "no-such-program"}})
    with pytest.raises(ClusterError, match="the program no-such-program, which gives the credentials, cannot be run: "):
        reach(path, "")


@pytest.mark.parametrize(
    ("text", "context", "sentence"),
    [
        ("a: [", "", "it is not valid YAML"),
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
        reach(path, context)


@pytest.mark.parametrize(
    ("user", "cluster", "sentence"),
    [
        (None, {"certificate-authority-data": "x"}, r"\[lab\]\.cluster\.certificate-authority-data is not base64"),
        (None, {"server": "10.0.0.10:6443"}, "its server '10.0.0.10:6443' is not an address such as https://"),
        (None, {"server": "https://10.0.0.10:99999"}, "Port out of range"),
        ({"as-groups": ["admins"]}, None, "its user 'me' has as-uid, as-groups or as-user-extra, but no `as`"),
    ],
)
def test_which_field_is_wrong_is_said(user: Any, cluster: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=sentence):
        reach(write(tmp_path, user, cluster), "")


def part(path: Path, **content: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def context(name: str, user: str) -> dict[str, Any]:
    return {"name": name, "context": {"cluster": "lab", "user": user}}


def test_several_kubeconfigs_are_one_as_for_kubectl(tmp_path: Path) -> None:
    """Source: client-go v0.37 tools/clientcmd/loader.go Load, whose comments say each of these."""
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "token").write_text("beside the second", encoding="utf-8")
    first = part(
        tmp_path / "first" / "config", contexts=[context("of-ann", "ann")], users=[{"name": "ann", "user": {"as": "a"}}]
    )
    second = part(
        tmp_path / "second" / "config",
        **{"current-context": "of-bob"},
        contexts=[context("of-bob", "bob"), context("of-ann", "bob")],
        clusters=[{"name": "lab", "cluster": {"server": SERVER}}],
        users=[{"name": "ann", "user": {"token": "lost"}}, {"name": "bob", "user": {"tokenFile": "token"}}],
    )
    third = part(
        tmp_path / "third",
        **{"current-context": "of-ann"},
        clusters=[{"name": "lab", "cluster": {"server": "https://10.0.0.99:6443"}}],
    )
    setting = f"{first}::{tmp_path / 'missing'}:{second}:{first}:{third}"
    (tmp_path / "empty").write_text("", encoding="utf-8")
    files = list_files(f"{tmp_path / 'empty'}:{setting}")
    bob = access(files, "")
    assert (bob.server, bob.authorization()) == (SERVER, "Bearer beside the second"), "the first that has each decides"
    ann = access(files, "of-ann")
    assert ann.identity() == [("Impersonate-User", "a")], "nothing of an entry comes from a later file"
    part(tmp_path / "third", clusters=3).write_text("a: [", encoding="utf-8")
    with pytest.raises(ClusterError, match="third: no kubeconfig: it is not valid YAML"):
        access(files, "")


def test_a_list_of_kubeconfigs_that_are_all_missing_is_a_sentence(tmp_path: Path) -> None:
    setting = f"{tmp_path / 'a'}:{tmp_path / 'b'}"
    with pytest.raises(ClusterError, match=f"there is no file {setting} on the controller"):
        list_files(setting)
    named = part(tmp_path / "with:colon")
    assert list_files(str(named)) == (named,)


def test_a_program_that_asks_at_a_terminal_is_refused_and_not_run(tmp_path: Path) -> None:
    entry = {"apiVersion": API, "interactiveMode": "Always", "command": program(tmp_path, "touch asked")}
    with pytest.raises(ClusterError, match=r"\./credentials, .* at a terminal \(interactiveMode: Always\)"):
        reach(write(tmp_path, {"exec": entry}), "")
    assert not (tmp_path / "asked").exists()
    entry |= {"interactiveMode": "IfAvailable", "command": program(tmp_path, f"echo '{credential(token='t')}'")}
    assert reach(write(tmp_path, {"exec": entry}), "").authorization() == "Bearer t"


def test_a_user_that_is_missing_is_not_an_anonymous_one(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace("user: me", "user: em"), encoding="utf-8")
    with pytest.raises(ClusterError, match="its context 'lab' names the user 'em', but its users are me"):
        reach(path, "")


def test_the_token_of_a_file_is_the_newest_and_goes_before_the_other(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("old", encoding="utf-8")
    found = reach(write(tmp_path, {"token": "inline", "tokenFile": "token"}), "")
    assert found.authorization() == "Bearer old"
    (tmp_path / "token").write_text("new", encoding="utf-8")
    assert found.authorization() == "Bearer new"
    alone = reach(write(tmp_path, {"tokenFile": "token"}), "")
    (tmp_path / "token").unlink()
    assert found.authorization() == "Bearer inline"
    with pytest.raises(ClusterError, match=r"the file of the token, .*token, cannot be read"):
        alone.authorization()


def test_another_identity_is_asked_for_as_kubectl_does(tmp_path: Path) -> None:
    user = {"token": "t", "as": "ann", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"x/y": ["1", "2"]}}
    assert reach(write(tmp_path, user), "").identity() == [
        ("Authorization", "Bearer t"),
        ("Impersonate-User", "ann"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-x%2Fy", "1"),
        ("Impersonate-Extra-x%2Fy", "2"),
    ]


def test_certificates_of_old_clusters_and_comments_in_their_files_are_taken(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes("# Főtanúsítvány\n".encode() + Authority().pem)
    tls = reach(write(tmp_path, None, {"certificate-authority": "ca.pem"}), "").tls
    assert not tls.verify_flags & ssl.VERIFY_X509_STRICT
    assert len(tls.get_ca_certs()) == 1


def test_a_key_with_a_passphrase_is_a_sentence_and_no_question(tmp_path: Path) -> None:
    ann = Authority().issue(ANN)
    locked = load_pem_private_key(ann.key, None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"p")
    )
    user = {
        "client-certificate-data": base64.b64encode(ann.certificate).decode(),
        "client-key-data": base64.b64encode(locked).decode(),
    }
    with pytest.raises(ClusterError, match="cannot be used: the client's key is encrypted"):
        reach(write(tmp_path, user), "")


def test_a_program_is_told_the_content_of_the_authoritys_file_and_nothing_of_its_place(tmp_path: Path) -> None:
    authority = Authority()
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    command = program(tmp_path, f"printf %s \"$KUBERNETES_EXEC_INFO\" > told; echo '{credential(token='t')}'")
    user = {"exec": {"apiVersion": API, "interactiveMode": "Never", "command": command, "provideClusterInfo": True}}
    reach(write(tmp_path, user, {"certificate-authority": "ca.pem", "tls-server-name": "api", "extensions": []}), "")
    told = json.loads((tmp_path / "told").read_text(encoding="utf-8"))["spec"]["cluster"]
    assert told == {
        "server": SERVER,
        "tls-server-name": "api",
        "certificate-authority-data": base64.b64encode(authority.pem).decode(),
        "config": None,
    }


def test_a_program_is_not_asked_if_the_user_has_a_certificate(tmp_path: Path) -> None:
    ann = Authority().issue(ANN)
    user = {
        "client-certificate-data": base64.b64encode(ann.certificate).decode(),
        "client-key-data": base64.b64encode(ann.key).decode(),
        "exec": {"apiVersion": API, "interactiveMode": "Never", "command": program(tmp_path, "touch asked")},
    }
    assert reach(write(tmp_path, user), "").authorization() == ""
    assert not (tmp_path / "asked").exists()


def test_a_program_that_is_not_there_says_how_to_get_it(tmp_path: Path) -> None:
    entry = {
        "apiVersion": API,
        "interactiveMode": "Never",
        "command": "no-such-program",
        "installHint": "Install it\n from https://example.com",
    }
    with pytest.raises(ClusterError, match=r"The kubeconfig says: Install it from https://example\.com$"):
        reach(write(tmp_path, {"exec": entry}), "")


def test_a_time_without_a_zone_is_no_error(tmp_path: Path) -> None:
    said = credential(token="t", expirationTimestamp="2999-01-01T00:00:00")
    user = {"exec": {"apiVersion": API, "interactiveMode": "Never", "command": program(tmp_path, f"echo '{said}'")}}
    assert reach(write(tmp_path, user), "").authorization() == "Bearer t"


@pytest.fixture
def heard() -> Iterator[tuple[int, list[bytes]]]:
    """A proxy that refuses: its port, and what it was asked."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    client, _address = listener.accept()
                    with client:
                        asked.append(client.recv(4096))
                        client.sendall(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1], asked


def test_a_proxy_gets_its_password_and_no_error_shows_it(heard: tuple[int, list[bytes]], tmp_path: Path) -> None:
    port, asked = heard
    kubeconfig = write(tmp_path, {"token": "t0ken"}, {"proxy-url": f"http://me:s%40cret@127.0.0.1:{port}"})
    found = connection((kubeconfig,), "")
    with pytest.raises(ClusterError, match="407") as request:
        found.send("GET", "/version", None, "application/json")
    assert found.listen is not None
    with pytest.raises(ClusterError, match="407") as stream:
        list(found.listen("/api/v1/namespaces/a/pods/b/exec", 5))
    wanted = b"Basic " + base64.b64encode(b"me:s@cret")
    assert [wanted in each for each in asked] == [True, True]
    assert not any(word in f"{request.value}{stream.value}" for word in ("s%40cret", "s@cret", "t0ken"))


HEADERS = {
    "line break": ({"token": "s3cret\r\nImpersonate-User: root"}, "a line break"),
    "line feed": ({"token": "s3c\nret"}, "a line break"),
    "tab": ({"token": "s3c\tret"}, "a tab"),
    "NUL": ({"token": "s3c\0ret"}, r"U\+0000"),
    "letter of another script": ({"token": "s3c\u0440et"}, r"U\+0440"),
    "escape": ({"token": "s3c\x1b[1mret"}, r"U\+001B"),
    "another identity": ({"token": "t", "as": "s3cret\r\nImpersonate-Group: system:masters"}, "the user's as "),
    "extra": ({"token": "t", "as": "ann", "as-user-extra": {"a": ["s3cret\nb"]}}, "as-user-extra"),
    "file": ({"tokenFile": "token"}, "a line break"),
    "program": ({"exec": {}}, "a line break"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_what_no_header_holds_is_refused_without_its_value(name: str, tmp_path: Path) -> None:
    """Both ways to the API: a request, and a stream, whose library would send the rest as further headers."""
    user, sentence = HEADERS[name]
    (tmp_path / "token").write_text("s3c\nret\n", encoding="utf-8")
    if name == "program":
        run = program(tmp_path, f"cat <<'E'\n{credential(token='s3c' + chr(10) + 'ret')}\nE")
        user = {"exec": {"apiVersion": API, "interactiveMode": "Never", "command": run}}
    found = connection((write(tmp_path, user, {"server": "https://127.0.0.1:1"}),), "")
    assert found.listen is not None
    for ask in (
        lambda: found.send("GET", "/version", None, "application/json"),
        lambda: list(found.listen("/api", 5)),
    ):
        with pytest.raises(ClusterError, match=sentence) as raised:
            ask()
        assert not raised.value.passing
        assert not any(part in str(raised.value) for part in ("s3c", "ret", "system:masters", "root"))


BLANKS = {
    "block": {"token": "t0ken\n"},
    "windows": {"token": " t0ken\r\n"},
    "file": {"tokenFile": "token"},
    "program": {"exec": {}},
}


@pytest.mark.parametrize("name", BLANKS)
def test_blanks_around_a_token_are_not_sent(name: str, tmp_path: Path) -> None:
    user: Any = BLANKS[name]
    (tmp_path / "token").write_text("\nt0ken\n", encoding="utf-8")
    if name == "program":
        run = program(tmp_path, f"cat <<'E'\n{credential(token='t0ken' + chr(10))}\nE")
        user = {"exec": {"apiVersion": API, "interactiveMode": "Never", "command": run}}
    with witness.serving(tls=True) as port:
        cluster = {
            "server": f"https://127.0.0.1:{port}",
            "certificate-authority-data": base64.b64encode(witness.authority().pem).decode(),
        }
        found = connection((write(tmp_path, user, cluster),), "")
        _status, answer, *_more = found.send("GET", "/version", None, "application/json")
    assert json.loads(answer)["seen"]["headers"] == [["Authorization", "Bearer t0ken"]]


def asked(folder: Path, text: str) -> dict[str, Any]:
    return {"exec": {"apiVersion": API, "interactiveMode": "Never", "command": program(folder, text)}}


DEEP = '{"apiVersion":"' + API + '","status":{"token":"t","x":' + 120 * "[" + 120 * "]" + "}}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("yes s3cret", "cannot be run: it wrote more than 1048576 bytes"),
        (f"echo '{DEEP}'", "wrote no ExecCredential"),
        (f"echo '{credential(token=7)}'", "wrote no ExecCredential"),
        (f"echo '{credential(clientCertificateData='c')}'", "wrote no ExecCredential"),
        (f"echo '{credential(token='s3cret', expirationTimestamp='tomorrow')}'", "wrote no ExecCredential"),
        ("sleep 60 & sleep 60", r"cannot be run: it has not ended after 0\.3 s"),
    ],
)
def test_what_a_program_prints_has_a_size_a_depth_and_a_time(
    text: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "sleep" in text:
        monkeypatch.setattr(credential_program, "PROGRAM_S", 0.3)
    with pytest.raises(ClusterError, match=sentence) as raised:
        reach(write(tmp_path, asked(tmp_path, text)), "")
    assert "s3cret" not in str(raised.value)


def test_a_certificate_that_a_program_renews_is_used_for_the_next_request(tmp_path: Path) -> None:
    """Also where a connection with the old one is still open."""
    for name in ("ann", "ben"):
        pair = witness.authority().issue(Identity(name, ()))
        more = {"clientCertificateData": pair.certificate.decode(), "clientKeyData": pair.key.decode()}
        said = credential(**more, expirationTimestamp="2020-01-01T00:00:00Z")
        (tmp_path / name).write_text(said, encoding="utf-8")
    with witness.serving(tls=True) as port:
        authority = base64.b64encode(witness.authority().pem).decode()
        cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": authority}
        user = asked(tmp_path, "[ -e asked ] && cat ben || cat ann; [ -e once ] && touch asked; touch once")
        found = connection((write(tmp_path, user, cluster),), "")
        seen = []
        for _time in range(2):  # asked when it is read, and before each request, since it has expired
            _status, answer, *_more = found.send("GET", "/version", None, "application/json")
            seen.append(json.loads(answer)["seen"]["certificate"])
    assert seen == ["ann", "ben"]


def test_credentials_that_the_server_does_not_know_any_more_are_asked_for_once_more(tmp_path: Path) -> None:
    """By its clock they have expired, and by the controller's they have not."""
    old, new = credential(token="expired", expirationTimestamp="2999-01-01T00:00:00Z"), credential(token="new")
    authority = base64.b64encode(witness.authority().pem).decode()
    with witness.serving(tls=True) as port:
        cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": authority}
        user = asked(tmp_path, f"echo x >> asked; [ -e once ] && echo '{new}' || echo '{old}'; touch once")
        found = connection((write(tmp_path, user, cluster),), "")
        status, answer, *_more = found.send("GET", "/version", None, "application/json")
        assert (status, json.loads(answer)["seen"]["headers"]) == (200, [["Authorization", "Bearer new"]])
        fixed = connection((write(tmp_path, {"token": "expired"}, cluster),), "")
        assert fixed.send("GET", "/version", None, "application/json")[0] == 401
    assert (tmp_path / "asked").read_text(encoding="utf-8").count("x") == 2
