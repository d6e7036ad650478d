"""A bundle has no secrets, but everything helpful."""

from __future__ import annotations

import base64
import html
import json
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.bundle import known
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.redact import (
    MASK,
    is_secret_file,
    name_in_bundle,
    patterns,
    redact,
)
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.store import join_ends, whole_lines
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret

from tests.redaction.generated import SECRET as SECRET_WORDS
from tests.redaction.generated import WAYS, WRAPPINGS, shows
from tests.redaction.score import FORMS, of

SECRET = "hunter2-and-more"
KEY = base64.b64encode(bytes(range(256)) * 3).decode()
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY[:64]}\n{KEY[64:128]}\n-----END RSA PRIVATE KEY-----\n"
JWT = "eyJhbGciOiJSUzI1NiIsImtpZCI6IiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJlLW9mLWl0"


@pytest.mark.row("LG-06")
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"before\n{PEM}after", KEY[:64]),
        (PEM.replace("\n", "\\n"), KEY[:64]),
        (PEM.partition("-----END")[0], KEY[64:128]),
        (f"... 99 bytes left out ...\n{PEM.partition(chr(10))[2]}after", KEY[64:128]),
        (f"    client-key-data: {KEY}\n", KEY),
        (f"token: {SECRET}", SECRET),
        (
            "kubeadm join 10.0.0.1:6443 --token abcdef.0123456789abcdef --discovery-token-ca-cert-hash x",
            "0123456789abcdef",
        ),
        ("Using token abcdef.0123456789abcdef now", "0123456789abcdef"),
        (f"I0101 round_trippers.go:466] Authorization: Bearer {SECRET}", SECRET),
        (f'"Authorization":["Basic {SECRET}"]', SECRET),
        (f"token is {JWT}, says the log", "eyJpc3MiOiJrdWJlcm5ldGVzIn0"),
        (f'password = "{SECRET}"', SECRET),
        (f"[plugins.x.registry.configs.y.auth]\n  username = 'u'\n  password = '{SECRET}'\n", SECRET),
        (f'auth = "{SECRET}"', SECRET),
        (f'{{"auths": {{"r.example": {{"auth": "{SECRET}", "identitytoken": "{SECRET}"}}}}}}', SECRET),
        (f'{{\\"password\\": \\"{SECRET}\\"}}', SECRET),
        (f"HTTPS_PROXY=http://ann:{SECRET}@proxy.example:3128", SECRET),
        (f"--password {SECRET} --x", SECRET),
        ("password: 123456", "123456"),
        (f"  password: some words {SECRET}\n", SECRET),
        (f"PASSWORD=a,b&{SECRET}", SECRET),
        (f'{{"token":{{"value":{{"secret":"{SECRET}"}}}}}}', SECRET),
        (f"a:\n  token: |\n    {SECRET}: x\n    more\nb: c\n", SECRET),
        (f"password:\n  {SECRET}\nb: c\n", SECRET),
        ("password: no-way", "no-way"),
        (f"--password={SECRET}", SECRET),
        (f"--client-secret '{SECRET} two words'", SECRET),
        (f"AWS_SECRET_ACCESS_KEY={SECRET}", SECRET),
        (f"https://a.blob.example/x?sv=2020&sig={SECRET}&se=1", SECRET),
        (f'ansible.windows.win_user - Invoked with: {{"name":"x","update_password":"{SECRET}"}}\r\n', SECRET),
        (f"GMSA credential: {SECRET}", SECRET),
        (f"Proxy-Authorization: {SECRET}", SECRET),
        ("ghp_0123456789abcdefghijklmnopqrstuvwxyz", "0123456789abcdefghij"),
        ("github_pat_0123456789abcdefghijkl", "0123456789abcdefghij"),
        ("glpat-0123456789abcdefghij", "0123456789abcdefghij"),
        ("AKIA0123456789ABCDEF", "0123456789ABCDEF"),
        *((f"https://b.example/x?{name}={SECRET}", SECRET) for name in ("X-Amz-Signature", "x-amz-security-token")),
        *(
            (f"{name}: {SECRET}", SECRET)
            for name in (
                "passphrase",
                "passwd",
                "pwd",
                "secret",
                "api_key",
                "api-key",
                "access-key",
                "accessKey",
                "private_key",
                "clientSecret",
                "credentials",
                "signature",
            )
        ),
        (f"certificate key: kubeadm init --certificate-key {SECRET}", SECRET),
    ],
)
def test_a_planted_secret_is_gone(text: str, secret: str) -> None:
    assert secret in text
    clean, count = redact(text)
    assert secret not in clean, clean
    assert MASK in clean and count >= 1


@pytest.mark.parametrize(
    "text",
    [
        "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.2.1/24\nFLANNEL_MTU=1450",
        '{"cniVersion":"0.2.0","name":"cbr0","type":"win-overlay","policies":[{"Name":"EndpointPolicy"}]}',
        "automountServiceAccountToken: false\nrotateCertificates: true\ntokenTTL: 24h0m0s",
        'FLAG: --authentication-token-webhook="true"',
        "BINARY_PATH_NAME   : C:\\k\\kubelet.exe --windows-service --kubeconfig=C:\\k\\config --v=6",
        "IPv4 Address. . . . . . . . . . . : 10.7.0.25\r\nPhysical Address : 00-15-5D-EB-40-00",
        "version v1.30.4 sandbox abc123.example",
        "https://registry.k8s.io/v2/",
        "authorization:\n  mode: Webhook\nclusterDNS:\n- 10.96.0.10\n",
        "secrets:\n  name: x\ntokens:\n- a: b\n",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        '"author": "x", "authority": "y"',
    ],
)
def test_what_helps_stays(text: str) -> None:
    assert redact(text) == (text, 0)


@pytest.mark.row("LG-06")
def test_the_users_own_secrets() -> None:
    clean, count = redact("the project is Falcon, codename Falcon", patterns(["Fal.on"]))
    assert (clean, count) == (f"the project is {MASK}, codename {MASK}", 2)
    with pytest.raises(ValueError, match=r"redact: '\(' is not a regular expression"):
        patterns(["("])


@pytest.mark.row("LG-06")
@pytest.mark.parametrize(
    ("path", "is_secret"),
    [
        (r"C:\etc\kubernetes\kubelet.conf", True),
        (r"C:\k\config", True),
        (r"C:\k\kube-proxy.kubeconfig", True),
        (r"C:\flannel\flanneld.kubeconfig.log", True),
        (r"C:\etc\kubernetes\pki\ca.log", True),
        (r"C:\var\lib\kubelet\pods\1\volumes\x\token.log", True),
        (r"C:\ProgramData\Docker\CredentialSpecs\gmsa.log", True),
        (r"C:\var\lib\kubelet\pods\1\Volumes\x\app.log", True),
        (r"C:\app\secrets\app.log", True),
        (r"C:\app\tokens\app.log", True),
        (r"C:\etc\kubernetes\bootstrap-kubelet.conf", True),
        (r"C:\etc\kubernetes\admin.conf", True),
        (r"C:\k\.dockerconfigjson", True),
        (r"C:\k\docker.json", True),
        (r"C:\Users\ann\.ssh\id_rsa.old", True),
        *((rf"C:\k\server.{ending}", True) for ending in ("key", "pem", "PFX", "p12", "crt", "cer", "ppk")),
        (r"C:\k\kubelet.log", False),
        (r"C:\k\cni\config\cni.conf", False),
        (r"C:\Program Files\containerd\config.toml", False),
    ],
)
def test_which_files_are_never_fetched(path: str, is_secret: bool) -> None:
    assert is_secret_file(path) is is_secret


def test_names() -> None:
    assert name_in_bundle(r"C:\k\kubelet.log") == "c/k/kubelet.log"
    assert name_in_bundle(r"C:\k\..\x") == "c/k/x"


def test_beginning_and_end_lose_the_lines_that_were_cut_through() -> None:
    data = b"".join(b"line %d token=%d-secret\n" % (n, n) for n in range(100))
    text = join_ends(data[:40], data[-45:], len(data))
    first, middle, *last = text.splitlines()
    assert first == "line 0 token=0-secret"
    assert middle == f"... {len(data) - 85} bytes left out ..."
    assert last == ["line 99 token=99-secret"]
    assert join_ends(b"x" * 10, b"y" * 10, 99) == "... 79 bytes left out ...\n"
    cut = "one\ntwo tok\n... 5 bytes left out ...\nen=x three\nfour"
    assert whole_lines(cut) == "one\n... 5 bytes left out ...\nfour"


SHOWN = frozenset(
    {"artifactory-password", "twilio-sid", "buttercms", "kanbantool", "mockaroo"}
    | {"https://api.softlayer.com/soap/v3/SECRET"}
)
"""Forms that are known to be shown: names that mean nothing, a part of a path."""


def test_the_forms_of_secrets_that_are_known_are_taken_out() -> None:
    score = of(FORMS)
    assert set(score.shown) <= SHOWN
    assert score.changed == ()


@pytest.mark.parametrize("wrapping", [name for name in WRAPPINGS if name not in {"URL", "HTML"}])
@pytest.mark.parametrize("way", [name for name in WAYS if name != "a column"])
def test_a_name_gives_its_value_away_however_both_are_written(way: str, wrapping: str) -> None:
    text = WRAPPINGS[wrapping](WAYS[way]("DB_PASSWORD", SECRET_WORDS))
    assert not shows(redact(text)[0], text)


def test_the_cells_below_a_head_are_taken_out_up_to_an_empty_line() -> None:
    text = WAYS["a column"]("password", SECRET_WORDS)
    clean, count = redact(f"{text}\n\nann       stays as it is")
    assert clean.splitlines()[2:] == [f"ann       {MASK:<30}5", "", "ann       stays as it is"] and count == 1


KNOWN = 'it\'s a "quite" od\u00e4 p\u00e9ss & more/of+it'


@pytest.mark.parametrize(
    "text",
    [
        KNOWN,
        json.dumps({"a": KNOWN}),
        json.dumps({"a": KNOWN}, ensure_ascii=False),
        json.dumps({"a": json.dumps({"b": KNOWN})}),
        html.escape(KNOWN),
        quote(KNOWN),
        quote_plus(KNOWN),
        quote(KNOWN, safe=""),
        "'" + KNOWN.replace("'", "''") + "'",
        *(base64.b64encode(f"{before}{KNOWN} and so on".encode()).decode() for before in ("", "a", "ab", "abc")),
        *(base64.b64encode(f"{before}{KNOWN} and so on".encode("utf-16-le")).decode() for before in ("", "a", "ab")),
    ],
)
def test_what_the_run_knows_goes_wherever_it_stands_however_it_is_written(text: str) -> None:
    clean, count = redact(f"it says {text}.", known=[Secret(KNOWN)])
    assert MASK in clean and count >= 1
    for rest in (KNOWN, KNOWN[5:20], quote(KNOWN)[5:20], base64.b64encode(KNOWN.encode()).decode()[4:24]):
        assert rest not in clean


def test_of_known_values_the_longest_goes_first_and_short_ones_stay() -> None:
    assert redact("abcdef abc abcd", known=[Secret("abc"), Secret("abcd"), Secret("abcdef")]) == (
        f"{MASK} abc {MASK}",
        2,
    )


def test_blanks_part_name_and_value_only_where_the_format_does_so() -> None:
    line = "    Splunk_Token    some words"
    assert redact(line) == (line, 0)
    assert redact(line, parted_by_blanks=True) == (f"    Splunk_Token    {MASK}", 1)


def test_variables_and_kubeconfigs_give_their_secrets(tmp_path: Path) -> None:
    variables = {
        "ansible_password": "hunter2-hunter2",
        "winkube_kubelet_environment": {"DB_PASSWORD": "in-an-environment", "LEVEL": "debug"},
        "winkube_registries": [{"host": "r.example", "password": "of-a-registry"}],
        "ansible_ssh_private_key_file": "~/.ssh/key",
        "winkube_token_ttl": "24h0m0s",
        "winkube_token": r"C:\k\token",
        "name": "ann",
    }
    assert {name for name, value in variables.items() if known.has_secret(value, name)} >= {
        "ansible_password",
        "winkube_kubelet_environment",
        "winkube_registries",
    }
    assert [each.reveal() for each in known.list_secrets(variables)] == [
        "hunter2-hunter2",
        "in-an-environment",
        "of-a-registry",
    ]
    file = tmp_path / "config"
    file.write_text("clusters: []\nusers: [{name: a, user: {token: of-a-kubeconfig, client-key: /k}}]\n")
    assert list(known.list_of_kubeconfigs([file, tmp_path / "absent"])) == [Secret("of-a-kubeconfig")]


def test_what_is_counted_is_what_was_taken_out() -> None:
    clean, count = redact(f"DB_PASS={SECRET}\nimage sha256:{64 * 'a'}\nAccountKey={SECRET};x")
    assert (clean.count(MASK), count) == (2, 2)
