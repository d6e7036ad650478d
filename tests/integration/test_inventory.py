"""Real ansible-inventory over Node YAML files: what comes out, what is printed, how it ends."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lab import ROOT, SCRIPTS
from tests.integration.warm import COLLECTIONS, MAINS, warm

SAMPLE = (ROOT / "examples" / "swdt" / "sample.yml").read_text(encoding="utf-8")
WHOLE = (ROOT / "examples" / "whole-node" / "win1.yml").read_text(encoding="utf-8")
PRINTED = (ROOT / "tests" / "fixtures" / "node_yaml" / "sample-as-printed.yml").read_text(encoding="utf-8")
OURS = "winkube.node.node_yaml, ansible.builtin.host_list, ansible.builtin.auto, ansible.builtin.ini"
WITH_YAML = f"{OURS}, ansible.builtin.yaml"
STOCK = "host_list, script, auto, yaml, ini, toml"  # what ansible-core enables when nothing is said
STRAY_COLON = (
    "17:25: found 'name: containerd:' with a stray colon at the end, which YAML cannot read; "
    "wanted 'name: containerd': remove the colon."
)


@dataclass(frozen=True)
class Ran:
    """What a program left behind."""

    status: int
    out: str
    err: str

    @property
    def hosts(self) -> dict[str, dict[str, Any]]:
        """Variables by host, of `--list`."""
        variables: dict[str, dict[str, Any]] = json.loads(self.out)["_meta"]["hostvars"]
        return variables

    def members(self, group: str) -> list[str]:
        return sorted(json.loads(self.out).get(group, {}).get("hosts", []))


class Place:
    """A folder in which the programs of this environment run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ANSIBLE_", "WIN_PASSWORD", "SSH_AUTH_SOCK", "PYTEST_"))
        }
        self.environment |= {"ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_NOCOLOR": "1"}
        self.configure(OURS)

    def configure(self, plugins: str, *, strict: bool = True) -> None:
        self.environment["ANSIBLE_INVENTORY_ENABLED"] = plugins
        self.environment["ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED"] = str(strict)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, program: str, *arguments: str) -> Ran:
        if program in MAINS:
            ended = warm().run(program, arguments, self.environment, self.folder, 300)
            ran = Ran(ended.rc, ended.stdout, ended.stderr)
        else:
            command = [str(SCRIPTS / program), *arguments]
            done = subprocess.run(
                command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=300, check=False
            )
            ran = Ran(done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in ran.out + ran.err
        return ran

    def list(self, *sources: str, more: Sequence[str] = ()) -> Ran:
        return self.run("ansible-inventory", *(word for source in sources for word in ("-i", source)), "--list", *more)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def named(name: str, text: str = SAMPLE) -> str:
    return text.replace("name: sample", f"name: {name}")


@pytest.mark.exhaustive
@pytest.mark.row("NY-03", "NY-05", "NY-09", "NY-18")
def test_a_node_yaml_is_an_inventory_source(place: Place) -> None:
    place.write("node.yaml", SAMPLE)
    ran = place.list("node.yaml")
    assert ran.status == 0
    variables = ran.hosts["sample"]
    assert variables["ansible_host"] == "192.168.122.220"
    assert variables["ansible_port"] == 22
    assert variables["ansible_connection"] == "ssh"
    assert variables["ansible_shell_type"] == "powershell"
    assert variables["winkube_provisioners"][0]["destination"] == r"c:\Program Files\containerd\bin\containerd.exe"
    assert "ansible_ssh_private_key_file" not in variables
    assert ran.members("windows_nodes") == ["sample"]


@pytest.mark.row("NY-18", "NY-24")
def test_a_folder_and_a_file_of_several_documents_become_many_hosts(place: Place) -> None:
    place.write("nodes/a.yml", f"{named('a')}---\n{named('b')}")
    place.write("nodes/c.yaml", WHOLE)
    place.write("nodes/hosts.ini", "[linux]\ncp1\n")
    place.write(
        "nodes/group_vars/windows_nodes.yml", "ansible_shell_type: cmd\nansible_port: 2200\nansible_user: ann\n"
    )
    ran = place.list("nodes")
    assert ran.status == 0
    assert sorted(ran.hosts) == ["a", "b", "win1"]
    assert ran.members("windows_nodes") == ["a", "b", "win1"]
    assert ran.members("winkube_mode_overlay") == ["win1"]
    assert ran.members("winkube_os_build_20348") == ["win1"]
    assert ran.members("winkube_kubernetes_1_29") == ["a", "b"]
    assert ran.members("winkube_provisioner_kubelet") == ["a", "b", "win1"]
    # What the file leaves open is the user's to say; what it says, is said.
    assert ran.hosts["a"]["ansible_shell_type"] == "cmd"
    assert ran.hosts["a"]["ansible_port"] == 22
    assert ran.hosts["a"]["ansible_user"] == "Administrator"


@pytest.mark.row("NY-18")
@pytest.mark.parametrize("source", ["nodes", "nodes.yml"])
def test_a_fifo_in_a_folder_is_skipped_with_a_sentence(place: Place, source: str) -> None:
    """Failed before: the run waited for ever, in this plugin or in the next one that opened it."""
    place.write("nodes/a.yml", SAMPLE)
    place.write("nodes.yml", f"plugin: {OURS.split(',', maxsplit=1)[0]}\npaths: [nodes]\n")
    os.mkfifo(place.folder / "nodes" / "pipe.yml")
    ran = place.list(source)
    assert ran.status == 0
    assert list(ran.hosts) == ["sample"]
    assert "nodes/pipe.yml is a FIFO and no file; it is skipped." in " ".join(ran.err.split())


@pytest.mark.row("NY-18")
def test_graph_shows_the_groups(place: Place) -> None:
    place.write("win1.yml", WHOLE)
    ran = place.run("ansible-inventory", "-i", "win1.yml", "--graph")
    assert ran.status == 0
    assert "  |--@windows_nodes:\n  |  |--win1\n" in ran.out


@pytest.mark.exhaustive(keep=("ours enabled",))
@pytest.mark.row("NY-18", "NY-24")
@pytest.mark.parametrize("plugins", [OURS, STOCK], ids=["ours enabled", "nothing configured"])
def test_a_source_file_names_files_patterns_and_folders_and_builds_groups(place: Place, plugins: str) -> None:
    place.configure(plugins)
    place.write("lab/one.yml", named("one"))
    place.write("nodes/two.yml", named("two"))
    place.write("nodes/other.yml", "all:\n  hosts: {x: }\n")
    place.write("more/win1.yml", WHOLE)
    place.write(
        "nodes.yml",
        "plugin: winkube.node.node_yaml\n"
        "paths: [lab/*.yml, nodes, '{{ where }}/win1.yml', lab/one.yml]\n"
        "keyed_groups:\n  - {key: winkube_network_mode | default('none'), prefix: net}\n"
        "groups:\n  ssh_nodes: ansible_connection == 'ssh'\n"
        "compose:\n  rack: winkube_node_name[:2]\n",
    )
    ran = place.list("nodes.yml", more=["-e", "where=more"])
    assert ran.status == 0
    assert sorted(ran.hosts) == ["one", "two", "win1"]
    assert ran.members("net_overlay") == ["win1"]
    assert ran.members("net_none") == ["one", "two"]
    assert ran.members("ssh_nodes") == ["one", "two", "win1"]
    assert ran.hosts["win1"]["rack"] == {"__ansible_unsafe": "wi"}  # what an expression yields is not a template


@pytest.mark.row("NY-24")
@pytest.mark.parametrize(("strict", "status"), [("true", 1), ("false", 0)])
def test_strict_decides_about_expressions_that_fail(place: Place, strict: str, status: int) -> None:
    place.write("node.yml", SAMPLE)
    place.write(
        "s.yml", f"plugin: winkube.node.node_yaml\npaths: [node.yml]\nstrict: {strict}\ncompose: {{a: nobody.knows}}\n"
    )
    ran = place.list("s.yml")
    assert ran.status == status
    assert ("Could not set a for host sample" in ran.err) == (status == 1)


@pytest.mark.exhaustive("lenient", "with yaml")
@pytest.mark.row("NY-13")
@pytest.mark.parametrize(
    ("plugins", "strict", "status"),
    [(OURS, True, 1), (OURS, False, 0), (WITH_YAML, True, 1), (WITH_YAML, False, 0)],
    ids=["ours", "lenient", "with yaml", "with yaml, lenient"],
)
def test_the_printed_sample_gets_its_sentence_whoever_else_looks_at_it(
    place: Place, plugins: str, strict: bool, status: int
) -> None:
    place.configure(plugins, strict=strict)
    place.write("node.yaml", PRINTED)
    ran = place.list("node.yaml")
    assert f"[ERROR]: node.yaml:{STRAY_COLON}\n" in ran.err
    assert ran.status == status


@pytest.mark.exhaustive
@pytest.mark.row("NY-12", "NY-13", "NY-14", "NY-18")
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "lenient"])
@pytest.mark.parametrize("plugins", [OURS, WITH_YAML, STOCK], ids=["ours", "with yaml", "nothing configured"])
def test_all_mistakes_are_printed_and_nothing_else(place: Place, plugins: str, strict: bool) -> None:
    """Failed before: the other plugins tried the file as well and printed some thirty lines, or `yaml` took it for an
    inventory with a group named metadata."""
    place.configure(plugins, strict=strict)
    place.environment["SSH_AUTH_SOCK"] = "/nowhere"
    place.write(
        "node.yml", SAMPLE.replace("1.29.0", "1.30").replace("sourceURL: http://xyz/k", "sourceUrl: http://xyz/k")
    )
    place.write("s.yml", "---\nplugin: winkube.node.node_yaml\npaths: [node.yml]\n")
    ran = place.list("s.yml")
    first, second, last = ran.err.splitlines()
    assert first.startswith("[ERROR]: node.yml:23:18: ")
    assert first.endswith('put it in quotes: "1.30".')
    assert second.startswith("[ERROR]: node.yml:24:9: ")
    assert second.endswith("did you mean sourceURL?")
    assert "2 mistakes in s.yml, named above; no host was taken from it." in last
    if strict:
        assert (ran.status, ran.out) == (1, "")
    else:
        assert (ran.status, ran.hosts) == (0, {})
        assert last.startswith("[WARNING]: ")


@pytest.mark.row("NY-18")
def test_one_mistake_is_one_line(place: Place) -> None:
    """Failed before: 38 lines."""
    place.configure(STOCK)
    place.write("nodes/node.yml", "")
    place.write("s.yml", "plugin: winkube.node.node_yaml\npaths: [nodes]\n")
    ran = place.list("s.yml")
    assert ran.status == 1
    assert ran.err == (
        "[ERROR]: nodes/node.yml:1:1: found an empty file, wanted a Node YAML: apiVersion, kind, metadata, spec.\n"
    )
    (place.folder / "nodes" / "node.yml").unlink()
    (place.folder / "nodes" / "gone.yml").symlink_to("nowhere")
    ran = place.list("s.yml")
    assert ran.status == 1
    (line,) = ran.err.splitlines()
    assert "nodes/gone.yml:1:1: found a file that cannot be read (No such file or directory)" in line


@pytest.mark.row("NY-01", "NY-02")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n",
            "1:13: found 'v1' for apiVersion, wanted windows.k8s.io/v1alpha1: the Node of v1",
        ),
        (
            "apiVersion: v1\nkind: NodeList\nitems: []\n",
            "2:7: found 'NodeList' for kind, wanted Node: write each node as a document",
        ),
        (
            SAMPLE.replace("v1alpha1", "v2"),
            "1:13: found 'windows.k8s.io/v2' for apiVersion, wanted windows.k8s.io/v1alpha1",
        ),
    ],
)
@pytest.mark.parametrize("plugins", [OURS, WITH_YAML], ids=["without yaml", "with yaml"])
def test_what_is_nearly_ours_is_refused_and_never_passed_over(
    place: Place, plugins: str, text: str, found: str
) -> None:
    place.configure(plugins)
    place.write("node.yml", text)
    assert f"[ERROR]: node.yml:{found}" in place.list("node.yml").err


@pytest.mark.row("NY-18")
def test_other_inventories_are_left_to_other_plugins(place: Place) -> None:
    place.configure(WITH_YAML)
    place.write("hosts.yml", "all:\n  hosts:\n    win1: {manifest: {apiVersion: v1, kind: Node}}\n")
    ran = place.list("hosts.yml")
    assert ran.status == 0
    assert list(ran.hosts) == ["win1"]
    assert "ERROR" not in ran.err


@pytest.mark.row("NY-03")
def test_one_name_in_two_files_is_refused_naming_both_places(place: Place) -> None:
    place.write("nodes/a.yml", SAMPLE)
    place.write("nodes/b.yml", named("Sample"))
    sentence = "nodes/b.yml:4:9: found a second node 'sample' (first in nodes/a.yml:4:9), wanted each name once"
    folder = place.list("nodes")
    assert (folder.status, sentence in folder.err) == (1, True)
    place.write("s.yml", "plugin: winkube.node.node_yaml\npaths: [nodes]\n")
    source = place.list("s.yml")
    assert (source.status, sentence in source.err) == (1, True)
    assert place.list("nodes/a.yml", "nodes/a.yml").status == 0


@pytest.mark.row("NY-18")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("paths: [none.yml]\n", "s.yml:1:1: found no file none.yml, wanted a Node YAML, a folder or a pattern"),
        ("", "s.yml:1:1: found no paths, wanted 'paths:'"),
        ("path: [node.yml]\n", "s.yml:2:1: found the unknown option 'path', wanted"),
        ("paths: [hosts.yml]\n", "hosts.yml:1:1: found no apiVersion"),
        ("paths: [node.yml, '{{ nobody }}']\n", "s.yml:1:1: found '{{ nobody }}' in paths, which cannot be read"),
        ("paths: [node.yml\n", "s.yml:3:1: found text that is not YAML"),
    ],
)
def test_a_wrong_source_file_gets_sentences(place: Place, text: str, found: str) -> None:
    place.write("node.yml", SAMPLE)
    place.write("hosts.yml", "all: {}\n")
    place.write("s.yml", f"plugin: winkube.node.node_yaml\n{text}")
    ran = place.list("s.yml")
    assert ran.status == 1
    assert f"[ERROR]: {found}" in ran.err


@pytest.mark.row("NY-25")
def test_deploys_works_with_a_deprecation_warning(place: Place) -> None:
    place.write("node.yml", SAMPLE.replace("provisioners:", "deploys:"))
    ran = place.list("node.yml")
    assert ran.status == 0
    assert len(ran.hosts["sample"]["winkube_provisioners"]) == 2
    assert "[DEPRECATION WARNING]: node.yml:16:5: spec.kubernetes.deploys is the former name of provisioners" in ran.err


@pytest.mark.row("NY-07", "NY-08", "SE-14")
def test_credentials_are_warned_about_and_a_clear_password_is_never_printed(place: Place) -> None:
    place.write("node.yml", SAMPLE.replace("privateKey:", "password: Sw0rdfish!"))
    graph = place.run("ansible-inventory", "-i", "node.yml", "--graph", "-vvv")
    assert "[WARNING]: node.yml:9:15: the password of sample stands here in clear text" in graph.err
    assert "Sw0rdfish" not in graph.out + graph.err
    place.write("node.yml", SAMPLE.replace("privateKey:", "password: Sw0rdfish!").replace("22\n", "220000\n"))
    refused = place.list("node.yml")
    assert refused.status == 1
    assert "Sw0rdfish" not in refused.out + refused.err
    place.write("node.yml", SAMPLE)
    assert "sample has no credentials here" not in place.list("node.yml").err, "group_vars may have them"
    verbose = place.list("node.yml", more=["-v"])
    assert "sample has no credentials here" in verbose.out + verbose.err
    place.environment["SSH_AUTH_SOCK"] = "/nowhere"
    verbose = place.list("node.yml", more=["-v"])
    assert "sample has no credentials here" not in verbose.out + verbose.err


def debug(place: Place, source: str, *more: str) -> Ran:
    """The password as a task sees it."""
    play = "- hosts: all\n  gather_facts: false\n  tasks: [{debug: {msg: 'got {{ ansible_password }}'}}]\n"
    place.write("play.yml", play)
    return place.run("ansible-playbook", "-i", source, "play.yml", *more)


@pytest.mark.row("NY-08", "SE-14")
def test_a_vaulted_password_decrypts_and_stays_vaulted_in_the_inventory(place: Place) -> None:
    place.write("secret", "open sesame\n")
    vault = ("--vault-password-file", "secret")
    value = place.run("ansible-vault", "encrypt_string", *vault, "Sw0rdfish!").out
    text = value.replace("\n          ", "\n      ")
    place.write("node.yml", SAMPLE.replace("privateKey:", f"password: {text}"))
    assert "got Sw0rdfish!" in debug(place, "node.yml", *vault).out
    listed = place.list("node.yml", more=vault)
    assert listed.status == 0
    assert "Sw0rdfish" not in listed.out
    assert "clear text" not in listed.err


@pytest.mark.row("NY-08", "SE-14")
def test_a_vaulted_file_is_read_with_its_password_and_refused_without(place: Place) -> None:
    place.write("secret", "open sesame\n")
    vault = ("--vault-password-file", "secret")
    place.write("node.yml", SAMPLE.replace("privateKey:", "password: Sw0rdfish!"))
    place.write("hosts.yml", "all: {hosts: {linux1: }}\n")
    for name in ("node.yml", "hosts.yml"):
        assert place.run("ansible-vault", "encrypt", *vault, name).status == 0
    ran = place.list("node.yml", more=vault)
    assert ran.hosts["sample"]["ansible_password"] == "Sw0rdfish!"
    assert "clear text" not in ran.err
    assert place.list("node.yml").status == 1
    place.write("s.yml", "plugin: winkube.node.node_yaml\npaths: [node.yml]\n")
    assert "node.yml:1:1: found a vaulted file that cannot be decrypted" in place.list("s.yml").err
    place.configure(WITH_YAML)
    assert place.list("hosts.yml", more=vault).members("ungrouped") == ["linux1"]


@pytest.mark.row("NY-08")
def test_a_template_is_resolved_and_unsafe_text_is_not(place: Place) -> None:
    place.environment["WIN_PASSWORD"] = "Sw0rdfish!"
    place.write("node.yml", SAMPLE.replace("privateKey:", "password: \"{{ lookup('env', 'WIN_PASSWORD') }}\""))
    assert "got Sw0rdfish!" in debug(place, "node.yml").out
    place.write("node.yml", SAMPLE.replace("privateKey:", "password: !unsafe 'a{{ 1 + 1 }}'"))
    assert "got a{{ 1 + 1 }}" in debug(place, "node.yml").out


@pytest.mark.row("NY-08")
def test_the_cache_keeps_unchanged_files_and_no_secrets(place: Place) -> None:
    place.write("nodes/a.yml", named("a"))
    place.write("nodes/b.yml", named("b").replace("privateKey:", "password: Sw0rdfish!"))
    place.write(
        "s.yml",
        "plugin: winkube.node.node_yaml\npaths: [nodes]\ncache: true\ncache_plugin:"
        " ansible.builtin.jsonfile\ncache_connection: cache\n",
    )
    first = place.list("s.yml")
    (kept,) = (place.folder / "cache").iterdir()
    assert "nodes/a.yml" in kept.read_text(encoding="utf-8")
    assert "nodes/b.yml" not in kept.read_text(encoding="utf-8")
    assert "Sw0rdfish" not in kept.read_text(encoding="utf-8")
    # The second run takes a.yml from the cache: what was put in there shows.
    kept.write_text(kept.read_text(encoding="utf-8").replace("192.168.122.220", "10.9.9.9"), encoding="utf-8")
    second = place.list("s.yml")
    verbose = place.run("ansible-inventory", "-i", "s.yml", "--graph", "-v")
    assert second.hosts["a"]["ansible_host"] == "10.9.9.9"
    assert second.hosts["b"] == first.hosts["b"]
    assert "a has no credentials here" in verbose.out + verbose.err
    # A file that has changed, and --flush-cache, are read.
    place.write("nodes/a.yml", named("a") + "\n")
    assert place.list("s.yml").hosts == first.hosts
    assert place.list("s.yml", more=["--flush-cache"]).hosts == first.hosts


def test_the_documentation_can_be_read(place: Place) -> None:
    ran = place.run("ansible-doc", "-t", "inventory", "winkube.node.node_yaml")
    assert ran.status == 0
    for option in ("paths", "keyed_groups", "cache_plugin", "strict"):
        assert option in ran.out
