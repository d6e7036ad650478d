"""A bundle has no secrets, but everything helpful."""

from __future__ import annotations

import base64
import html
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.bundle import known
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.store import join_ends, whole_lines
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret
from ansible_collections.winkube.node.plugins.plugin_utils.redaction.redact import (
    MASK,
    RULES,
    Rule,
    is_secret_file,
    name_in_bundle,
    patterns,
    redact,
)

from tests.redaction.generated import SECRET as SECRET_WORDS
from tests.redaction.generated import WAYS, WRAPPINGS, shows
from tests.redaction.score import FORMS, FROZEN, of, samples

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
@pytest.mark.parametrize("whole", [True, False])
def test_a_key_goes_whose_lines_are_records_of_docker(whole: bool) -> None:
    """Failed before: 64 characters in a record of their own look like no key."""
    key = PEM if whole else PEM.partition("-----END")[0]
    records = [json.dumps({"log": f"{line}\n", "stream": "stdout"}) for line in ("up", *key.splitlines(), "ready")]
    clean = redact("\n".join(records))[0].splitlines()
    first, removed, *after = [json.loads(line)["log"] for line in clean]
    assert (first, removed.strip()) == ("up\n", f"-----BEGIN PRIVATE KEY----- {MASK}")
    assert after == (["ready\n"] if whole else [])


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


@pytest.mark.parametrize("file", [FORMS, FROZEN], ids=lambda file: str(file.stem))
def test_a_text_without_a_name_loses_nothing_by_the_rules_that_it_is_not_asked(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [text for _name, text, _secret in samples(yaml.safe_load(file.read_text(encoding="utf-8")))]
    quick = [redact(text) for text in texts]
    assert 15 < sum(rule.needs_name for rule in RULES) < len(RULES)
    monkeypatch.setattr(Rule, "needs_name", False)
    assert [redact(text) for text in texts] == quick


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("way", WAYS)
def test_a_name_gives_its_value_away_however_both_are_written(way: str, wrapping: str) -> None:
    text = WRAPPINGS[wrapping](WAYS[way]("DB_PASSWORD", SECRET_WORDS))
    assert not shows(redact(text)[0], text)


def test_the_cells_below_a_head_are_taken_out_up_to_an_empty_line() -> None:
    text = WAYS["a column"]("password", SECRET_WORDS)
    clean, count = redact(f"{text}\n\nann       stays as it is")
    assert clean.splitlines()[2:] == [f"ann       {MASK:<30}5", "", "ann       stays as it is"] and count == 1


@pytest.mark.parametrize(
    ("table", "shown"),
    [
        ("NAME  TOKEN  AGE\nann-has-a-long-one  four-words  5d", f"NAME  TOKEN  AGE\nann-has-a-long-one  {MASK}   5d"),
        ("started: USER  PASSWORD  AGE\n----  --------  ---\nann  four-words  5d", f"ann  {MASK}   5d"),
        ("USER  PASSWORD\nI0512 12:00:01.1  42 main.go:12] a log", "I0512 12:00:01.1  42 main.go:12] a log"),
        ("password   : four-words\nOther      : stays", f"password   : {MASK}\nOther      : stays"),
    ],
)
def test_a_row_has_its_secret_below_the_head_or_counted_from_its_end(table: str, shown: str) -> None:
    assert redact(table)[0].endswith(shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ({"user": "ann", "password": "x y", "port": 5}, {"user": "ann", "password": MASK, "port": 5}),
        ({"pa\u0073sword": 12345678}, {"password": MASK}),
        ({"password": ["a b", {"value": "c d", "from": "e"}]}, {"password": [MASK, {"value": MASK, "from": "e"}]}),
        ({"name": "DB_TOKEN", "from": None, "value": "x y"}, {"name": "DB_TOKEN", "from": None, "value": MASK}),
        ({"value": "x y", "kind": "k", "key": "apiKey"}, {"value": MASK, "kind": "k", "key": "apiKey"}),
        ({"args": ["a", "--password", "x y", "b"]}, {"args": ["a", "--password", MASK, "b"]}),
        (
            {"kind": "Secret", "a": {"b": {"c": {}}}, "data": {"d": ["e"]}},
            {"kind": "Secret", "a": {"b": {"c": {}}}, "data": MASK},
        ),
        ({"data": {"d": "e"}, "type": "kubernetes.io/tls"}, {"data": MASK, "type": "kubernetes.io/tls"}),
        ({"metadata": {"annotations": {"x": "y"}}}, {"metadata": {"annotations": MASK}}),
        ({"Authorization": ["Negotiate x"], "a": "b"}, {"Authorization": [MASK], "a": "b"}),
        ({"msg": 'was "password=x" in "it"'}, {"msg": f'was "password={MASK}" in "it"'}),
    ],
)
def test_json_is_read_and_stays_json(text: Any, shown: Any) -> None:
    for indent in (None, 2):
        clean, count = redact(f"got {json.dumps(text, indent=indent)} at once")
        assert count >= 1 and json.loads(clean.removeprefix("got ").removesuffix(" at once")) == shown


@pytest.mark.parametrize(
    "text",
    [
        '{"token": "not found", "rotateTokens": true, "tokenTTL": "24h0m0s", "secretRef": {"name": "a"}}',
        '{"imagePullSecrets":[{"name":"regcred"}],  "volumes" : [ {"secret": {"secretName": "x"}} ]}',
        '{"authorization": {"mode": "Webhook"}, "a": [], "b": {}, "c": "\u00e4"}',
        '[sig-windows] {key: value} {"a": } [1, 2',
        "{" * 5000 + "[" * 5000,
    ],
)
def test_json_without_secrets_stays_as_it_is(text: str) -> None:
    assert redact(text) == (text, 0)


def test_a_sign_that_stands_for_json_may_be_in_the_text() -> None:
    sign = "\ue000"
    text = f'{{"{sign}0{sign}"}} {{"password": "x y", "a": "{sign}{sign}"}} {sign}'
    assert redact(text) == (text.replace("x y", MASK), 1)


def test_by_a_blank_alone_no_word_of_a_log_is_parted_from_its_name() -> None:
    line = "rotated password rotation2026a of ann"
    assert redact(line) == (line, 0)


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
        re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), quote(KNOWN, safe="")),
        json.dumps(KNOWN, ensure_ascii=False).replace("&", r"\u0026").replace("'", r"\u0027"),
        KNOWN.replace('"', '`"'),
        KNOWN.replace('"', "&#34;").replace("'", "&#39;").replace(" & ", " &amp; "),
        quote(json.dumps(KNOWN)),
        html.escape(json.dumps(KNOWN)),
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


def test_a_value_of_several_lines_goes_with_each_of_its_lines() -> None:
    value = "first line of it\nsecond line of it\nend"
    for text in (value, value.replace("\n", "\r\n"), "only second line of it", json.dumps(value)):
        clean, count = redact(text, known=[Secret(value)])
        assert count == 1 and "line of" not in clean


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


def test_what_sets_a_secret_option_is_secret_whatever_its_name() -> None:
    templates = known.list_templates()
    assert templates["{{ winkube_kubelet_environment }}"] == ((),)
    assert templates["{{ winkube_fluent_bit_service }}"] == (("environment",),)
    assert ("mirrors", "auth", "token") in templates["{{ winkube_registries }}"]
    given = {
        "environment": {
            "OUTPUT": "correct horse battery",
            "PIN": 123456,
            "NODE": "win1",
            "LEVEL": "debug",
            "PORT": 8080,
            "NO_PROXY": "localhost,10.0.0.0/8,.svc",
            "DIR": r"C:\Program Files\x",
            "TTL": "1h30m",
            "X": "abc",
            "PROXY": "http://ann:p%2Fw-of-it@proxy:3128",
            "URL": "https://r.example/v2",
        }
    }
    found = [each.reveal() for each in known.list_given(given, ("environment",), {"win1"})]
    assert found == ["correct horse battery", "123456", "ann:p%2Fw-of-it", "ann:p/w-of-it", "p%2Fw-of-it", "p/w-of-it"]
    registries = [{"host": "a", "mirrors": [{"auth": {"token": "of-a-mirror"}}, {"auth": None}]}]
    assert list(known.list_given(registries, ("mirrors", "auth", "token"), ())) == [Secret("of-a-mirror")]


def test_a_kubeconfig_gives_what_stands_beside_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("of-its-file\n")
    file = tmp_path / "config"
    file.write_text(
        "clusters: [{name: c, cluster: {server: 'https://ann:of-its-server@10.0.0.1'}}, {name: d}]\n"
        "users: [{name: a, user: {tokenFile: token}}, {name: b, user: {tokenFile: absent}}, x, {user: 5},\n"
        "  {name: e, user: {exec: {command: c, env: [{name: A_PASSWORD, value: of-its-program}]}}}]\n"
    )
    found = [each.reveal() for each in known.list_of_kubeconfigs([file])]
    assert {"of-its-file", "of-its-server", "of-its-program"} <= set(found)


def test_what_is_counted_is_what_was_taken_out() -> None:
    clean, count = redact(f"DB_PASS={SECRET}\nimage sha256:{64 * 'a'}\nAccountKey={SECRET};x")
    assert (clean.count(MASK), count) == (2, 2)
