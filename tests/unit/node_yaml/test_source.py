"""Which files are ours: claimed by what they say of themselves, and no others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.node_yaml import source

from .samples import FIXTURES, SAMPLE, edited

OURS = {
    "sample": SAMPLE,
    "printed": (FIXTURES / "sample-as-printed.yml").read_text(encoding="utf-8"),
    "without nesting": (FIXTURES / "sample-without-nesting.yml").read_text(encoding="utf-8"),
    "other version": edited(("v1alpha1", "v1beta1")),
    "no version": "apiVersion: windows.k8s.io\nkind: Thing\n",
    "core node": "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n",
    "node list": "kind: NodeList\napiVersion: v1\nitems: []\n",
    "list of nodes": "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node\nkind: List\n",
    "kind alone": "kind: Node\n",
    "misspelt kind": "apiVersion: windows.k8s.io/v1alpha1\nkind: Nodes\n",
    "second document": f"apiVersion: v1\nkind: Secret\n---\n{SAMPLE}",
    "comments and quotes": '# a node\n---\n"apiVersion": "windows.k8s.io/v1alpha1"  # x\n"kind": "Node"\n',
    "indented": "".join(f"  {line}\n" for line in SAMPLE.splitlines()),
    "json": '{"kind": "Node", "apiVersion": "windows.k8s.io/v1alpha1"}',
    "crlf": SAMPLE.replace("\n", "\r\n"),
}
OTHERS = {
    "inventory": "all:\n  hosts:\n    win1:\n      ansible_host: 10.0.0.5\n",
    "inventory with a manifest": "all:\n  vars:\n    manifest:\n      apiVersion: v1\n      kind: Node\n",
    "manifest": "apiVersion: apps/v1\nkind: Deployment\n",
    "list of pods": "apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n",
    "other plugin": "plugin: ansible.builtin.constructed\n",
    "ini": "[windows_nodes]\nwin1 ansible_host=10.0.0.5\n",
    "playbook": "- hosts: all\n  tasks: []\n",
    "json": '{"all": {"hosts": ["a"]}}',
    "broken json": '{"kind": "Node"',
    "json list": "[1]",
    "empty": "",
    "node class": "kind: NodeClass\n",
}


@pytest.mark.row("NY-01", "NY-02", "NY-18")
@pytest.mark.parametrize("name", OURS)
def test_ours_are_claimed(name: str, tmp_path: Path) -> None:
    assert source.is_node_yaml(OURS[name])
    (tmp_path / "file").write_text(OURS[name], encoding="utf-8", newline="")
    assert source.claims(tmp_path / "file")


@pytest.mark.row("NY-18")
@pytest.mark.parametrize("name", OTHERS)
def test_others_are_left_alone(name: str, tmp_path: Path) -> None:
    assert not source.is_node_yaml(OTHERS[name])
    (tmp_path / "file").write_text(OTHERS[name], encoding="utf-8")
    assert not source.claims(tmp_path / "file")


@pytest.mark.row("NY-18")
@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("plugin: winkube.node.node_yaml\npaths: [a]\n", True),
        ('---\n# x\nplugin: "winkube.node.node_yaml"  # y\n', True),
        ("plugin: winkube.node.node_yaml_old\n", False),
        ("plugin: amazon.aws.aws_ec2\n", False),
        ("all:\n  plugin: winkube.node.node_yaml\n", False),
    ],
)
def test_a_source_file_is_known_by_its_plugin(tmp_path: Path, text: str, ours: bool) -> None:
    (tmp_path / "nodes.yml").write_text(text, encoding="utf-8")
    assert source.names_plugin(tmp_path / "nodes.yml", "winkube.node.node_yaml") == ours
    assert not source.names_plugin(tmp_path / "none.yml", "winkube.node.node_yaml")


@pytest.mark.row("NY-08", "NY-18")
@pytest.mark.parametrize(
    ("data", "claimed"),
    [
        (b"$ANSIBLE_VAULT;1.1;AES256\n3061\n", True),
        (b"kind: Node\nname: \xff\n", True),
        (b"\x7fELF\x00\xff kind: Node\n", False),
        (SAMPLE.encode("utf-16"), True),
    ],
    ids=["vaulted", "latin-1", "binary", "utf-16"],
)
def test_bytes(tmp_path: Path, data: bytes, claimed: bool) -> None:
    (tmp_path / "file").write_bytes(data)
    assert source.claims(tmp_path / "file") == claimed
    assert not source.claims(tmp_path / "none")


@pytest.mark.parametrize(("name", "claimed"), [("x.yml", True), ("x.json", True), ("x", False), ("x.ini", False)])
def test_what_is_no_file_is_claimed_by_its_name_and_never_opened(tmp_path: Path, name: str, claimed: bool) -> None:
    """Failed before: a FIFO was opened, which waits until somebody writes into it; so do Ansible's own plugins."""
    os.mkfifo(tmp_path / name)
    assert source.claims(tmp_path / name) is claimed
    assert source.name_special_file(tmp_path / name) == "a FIFO"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "a.yml": SAMPLE,
        "b.yaml": edited(("name: sample", "name: b")),
        "sub/c.json": OURS["json"],
        "sub/inventory.yml": OTHERS["inventory"],
        "group_vars/all.yml": SAMPLE,
        ".hidden/d.yml": SAMPLE,
        "notes.txt": SAMPLE,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.row("NY-18")
@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("a.yml", ["a.yml"]),
        ("*.y*ml", ["a.yml", "b.yaml"]),
        ("**/*.yml", ["a.yml", "group_vars/all.yml", "sub/inventory.yml"]),
        (".", ["a.yml", "b.yaml", "sub/c.json"]),
        ("sub", ["sub/c.json"]),
    ],
)
def test_files_patterns_and_folders(folder: Path, pattern: str, names: list[str]) -> None:
    found, problem = source.expand(pattern, folder)
    assert problem is None
    assert [str(path.relative_to(folder)) for path in found] == names


@pytest.mark.row("NY-18")
@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("none.yml", "found no file none.yml, wanted a Node YAML"),
        ("none/*.yml", "found no file that matches none/*.yml"),
        ("group_vars/sub", "found no file group_vars/sub"),
        (".hidden/../empty", "found no Node YAML in the folder"),
    ],
)
def test_what_means_no_file_is_said(folder: Path, pattern: str, said: str) -> None:
    (folder / "empty").mkdir()
    found, problem = source.expand(pattern, folder)
    assert found == []
    assert problem is not None
    assert said in problem


@pytest.mark.row("NY-18")
def test_below_a_folder_no_file_is_passed_over_that_may_be_a_node(folder: Path) -> None:
    """Failed before: a link to nowhere (an unreadable file is the same to a program that opens it) and a file that was
    emptied were left out without a word, and so was their node."""
    (folder / "sub" / "gone.yml").symlink_to("nowhere.yml")
    (folder / "sub" / "empty.yaml").write_text("\n", encoding="utf-8")
    os.mkfifo(folder / "sub" / "pipe.yml")
    (folder / "sub" / "empty.txt").write_text("", encoding="utf-8")
    (folder / "sub" / "linked.yml").symlink_to(folder / "group_vars")
    found, problem = source.expand("sub", folder)
    assert problem is None
    assert [path.name for path in found] == ["c.json", "empty.yaml", "gone.yml", "pipe.yml"]
