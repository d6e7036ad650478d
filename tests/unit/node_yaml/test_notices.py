"""What works but should be known."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.node_yaml import reading
from ansible_collections.winkube.node.plugins.plugin_utils.node_yaml.tree import Scalar

from .samples import SAMPLE, edited, node

HOSTNAME = "hostname: 192.168.122.220:22"
VAULTED = "password: !vault |\n      $ANSIBLE_VAULT;1.1;AES256\n      3061"


def warned(text: str, *, agent: bool = False, encrypted: bool = False) -> list[str]:
    return [notice.locate("node.yml") for notice in reading.credentials(node(text), agent=agent, encrypted=encrypted)]


@pytest.mark.row("NY-08", "SE-14")
@pytest.mark.parametrize("value", ["secret", "!unsafe 'a{{b'"])
def test_a_password_in_clear_text_is_warned_about_and_not_shown(value: str) -> None:
    (line,) = warned(edited(("privateKey:", f"password: {value}")))
    assert line.startswith("node.yml:9:15: the password of sample stands here in clear text")
    assert "ansible-vault encrypt_string" in line
    assert "secret" not in line
    assert "a{{b" not in line


@pytest.mark.row("NY-08", "SE-14")
@pytest.mark.parametrize("value", [VAULTED, "password: \"{{ lookup('env', 'P') }}\""])
def test_a_vaulted_password_or_a_template_is_not(value: str) -> None:
    assert warned(edited(("privateKey:", value))) == []


@pytest.mark.row("NY-08", "SE-14")
def test_nor_is_a_password_in_a_vaulted_file() -> None:
    assert warned(edited(("privateKey:", "password: secret")), encrypted=True) == []


@pytest.mark.row("NY-07")
def test_no_credentials_is_a_hint_that_names_the_three_ways() -> None:
    (line,) = warned(SAMPLE)
    assert line == (
        "node.yml:7:5: sample has no credentials here; give privateKey or password in this file, "
        "ansible_ssh_private_key_file or ansible_password in group_vars or host_vars, or an SSH agent (SSH_AUTH_SOCK). "
        "If variables have them, all is well."
    )


@pytest.mark.row("NY-07")
def test_an_agent_is_enough_for_ssh_and_not_for_winrm() -> None:
    assert warned(SAMPLE, agent=True) == []
    (line,) = warned(edited((HOSTNAME, "hostname: 10.0.0.5:5986")), agent=True)
    assert "give password in this file, or ansible_password in group_vars or host_vars." in line
    assert "SSH_AUTH_SOCK" not in line


@pytest.mark.row("NY-09")
def test_a_key_that_winrm_does_not_use_is_named() -> None:
    lines = warned(edited((HOSTNAME, "hostname: 10.0.0.5:5986"), ("privateKey:", f"privateKey: /k\n    {VAULTED}")))
    assert lines == [
        "node.yml:9:17: privateKey of sample is not used: sample is reached by winrm, which needs a password."
    ]


def _read(path: Path) -> reading.Reading:
    def refuse(_path: Path) -> str:
        raise reading.VaultError("no vault secrets found")

    def leaf(scalar: Scalar) -> object:
        return scalar.value

    return reading.read(path, reading.Reader(refuse, leaf, agent=False))


@pytest.mark.row("NY-08")
@pytest.mark.parametrize(
    ("mode", "warns"), [(0o600, False), (0o400, False), (0o640, True), (0o604, True), (0o644, True)]
)
def test_a_private_key_that_others_can_read_is_warned_about(tmp_path: Path, mode: int, warns: bool) -> None:
    (tmp_path / "key").touch(mode=0o600)
    (tmp_path / "key").chmod(mode)
    (tmp_path / "node.yml").write_text(edited(("privateKey:", "privateKey: key")), encoding="utf-8")
    said = [text for _level, text in _read(tmp_path / "node.yml").notices if "private key" in text]
    assert bool(said) == warns
    if warns:
        assert f"can be read by others (mode {mode:04o})" in said[0]
        assert "chmod 600" in said[0]


@pytest.mark.row("NY-06")
@pytest.mark.parametrize("key", ["key", "~no-such-user/key"])
def test_a_private_key_that_is_not_there_is_warned_about(tmp_path: Path, key: str) -> None:
    (tmp_path / "node.yml").write_text(edited(("privateKey:", f"privateKey: {key}")), encoding="utf-8")
    (said,) = (text for _level, text in _read(tmp_path / "node.yml").notices if "cannot be found" in text)
    assert f"{key} of sample cannot be found; correct privateKey" in said


@pytest.mark.row("NY-08", "NY-18")
@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"kind: Node\nname: \xff\n", ":2:7: found the byte 0xff, which is not UTF-8"),
        (
            b"$ANSIBLE_VAULT;1.1;AES256\n30\n",
            ":1:1: found a vaulted file that cannot be decrypted (no vault secrets found)",
        ),
        (SAMPLE.encode("utf-16"), ""),
        (b"\xef\xbb\xbf" + SAMPLE.encode(), ""),
        (SAMPLE.replace("\n", "\r\n").encode(), ""),
    ],
    ids=["latin-1", "vault", "utf-16", "bom", "crlf"],
)
def test_what_bytes_a_file_may_hold(tmp_path: Path, data: bytes, found: str) -> None:
    (tmp_path / "node.yml").write_bytes(data)
    problems = _read(tmp_path / "node.yml").problems
    assert [found in problem for problem in problems] == ([True] if found else [])


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    assert "found a file that cannot be read (No such file or directory)" in _read(tmp_path / "node.yml").problems[0]
