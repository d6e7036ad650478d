"""`--nodes`, and the files that ssh and Ansible read."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.lab.server.files import make_keys, write_ssh_config
from tests.lab.server.nodes import NodesError, NodeSpec, parse_nodes, split_address

SAMPLE = """
apiVersion: windows.k8s.io/v1alpha1
kind: Node
metadata: {name: sample}
spec:
  credentials: {username: Admin, hostname: "192.168.122.220:2222", password: geheim}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("192.168.122.220:22", ("192.168.122.220", 22)),
        ("win1.example", ("win1.example", 22)),
        ("[fd00::1]:2222", ("fd00::1", 2222)),
        ("fd00::1", ("fd00::1", 22)),
    ],
)
def test_addresses(text: str, expected: tuple[str, int]) -> None:
    assert split_address(text, "x") == expected


@pytest.mark.parametrize("text", ["host:ssh", "host:0", "host:70000", ":22"])
def test_bad_addresses_are_refused(text: str) -> None:
    with pytest.raises(NodesError, match="is no address:port"):
        split_address(text, "--nodes win1")


def test_nodes_from_arguments_and_the_documents_own_file(tmp_path: Path) -> None:
    file = tmp_path / "node.yaml"
    file.write_text(SAMPLE)
    assert parse_nodes(["win1=192.168.122.220:22", str(file)]) == (
        NodeSpec("win1", "192.168.122.220", 22),
        NodeSpec("sample", "192.168.122.220", 2222, "Admin", "geheim"),
    )


def test_nodes_from_the_labs_own_list(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(
        "nodes:\n"
        '  - {name: a, address: "10.0.0.1:2022", latency_s: 0.5, access: silent, username: x, release: "2025"}\n'
    )
    assert parse_nodes([str(file)]) == (
        NodeSpec("a", "10.0.0.1", 2022, username="x", latency_s=0.5, access="silent", release="2025"),
    )


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("nodes: [{name: a}]", "has name, address"),
        ("nodes: [{name: a, address: b, colour: red}]", "colour"),
        ("nodes: [{name: a, address: b, access: maybe}]", "access is one of open, refused, silent, not 'maybe'"),
        ("kind: Node\nmetadata: {name: a}\nspec: {}", "missing: 'credentials'"),
        ("kind: Pod", "neither a document of kind Node"),
        ("a: [", "this is no YAML"),
    ],
)
def test_bad_files_are_refused_in_a_sentence(tmp_path: Path, content: str, sentence: str) -> None:
    file = tmp_path / "nodes.yaml"
    file.write_text(content)
    with pytest.raises(NodesError, match=sentence) as found:
        parse_nodes([str(file)])
    assert str(file) in str(found.value)


@pytest.mark.parametrize("items", [["a=10.0.0.1", "a=10.0.0.2"], ["a=10.0.0.1", "b=10.0.0.1:22"]])
def test_names_and_addresses_are_unique(items: list[str]) -> None:
    with pytest.raises(NodesError, match="more than one node"):
        parse_nodes(items)


def test_neither_file_nor_address() -> None:
    with pytest.raises(NodesError, match=r"nothere\.yaml: neither a file nor name=address:port"):
        parse_nodes(["nothere.yaml"])


def test_ssh_reads_the_config_and_only_for_the_labs_nodes(tmp_path: Path) -> None:
    ssh = shutil.which("ssh")
    if ssh is None:
        pytest.skip("lane lab: no OpenSSH client")
    directory = tmp_path / "with blank % and 'quote"
    directory.mkdir()
    make_keys(directory)
    config = write_ssh_config(directory, [NodeSpec("win1", "192.168.122.220")])

    def effective(host: str) -> dict[str, str]:
        output = subprocess.run([ssh, "-F", str(config), "-G", host], capture_output=True, text=True, check=True).stdout
        return dict(line.partition(" ")[::2] for line in output.splitlines())

    lab = effective("192.168.122.220")
    assert lab["hostkeyalias"] == "winkube-lab"
    assert lab["stricthostkeychecking"] == "true"
    assert lab["proxycommand"].endswith(" %h %p")
    assert lab["userknownhostsfile"].replace("%%", "%") == str(directory / "known_hosts")
    assert effective("win1")["hostkeyalias"] == "winkube-lab"
    other = effective("192.168.122.221")
    assert "proxycommand" not in other
    assert other.get("hostkeyalias") is None


def test_private_keys_are_private_and_kept(tmp_path: Path) -> None:
    first = make_keys(tmp_path)
    for name in ("client_key", "host_key"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert make_keys(tmp_path).host.public_data == first.host.public_data
