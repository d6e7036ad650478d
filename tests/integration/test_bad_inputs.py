"""What is said of inputs that are wrong, one after the other, and how the run ends: the table in docs/bad-inputs.md.

Ansible has its own defaults, but for the callback, and where a Node YAML is read (ENV). What the inventory plugin
refuses (NODE_YAML) it is given without a run, and one of them in a run, too; all others are runs against one simulated
node, which is compared before and after.

After a change of a sentence: `WINKUBE_WRITE=1 python -m pytest tests/integration/test_bad_inputs.py`, and read what it
wrote.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ansible import constants as C  # noqa: N812 - as all of Ansible names it
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.utils.display import Display

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.optional import OPTIONAL
from tests.integration.site import SITE, differences, variables
from tests.integration.test_seams import programs, slow_source, start, wait_for_download
from tests.quality.page_text import as_cell

pytestmark = pytest.mark.slow
PAGE = ROOT / "docs" / "bad-inputs.md"
HEAD = "| what is wrong | what is said | exit status | changed on the node |\n|---|---|---|---|\n"
END = "<!-- end of bad_inputs -->\n"
WHOLE = (ROOT / "examples" / "whole-node" / "win1.yml").read_text(encoding="utf-8")
ENV = {"ANSIBLE_INVENTORY_ENABLED": "winkube.node.node_yaml,ini", "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true"}
REPAIR, RESET, VERIFY, PUSH, EXPLAIN, PROVISION, WATCH = (
    ROOT / "playbooks" / f"{name}.yml"
    for name in ("repair", "reset", "verify", "push", "explain", "provision", "stats_watch")
)
UNVERIFIED = {"winkube_allow_unverified": ["flanneld"]}


@dataclass(frozen=True)
class Case:
    """`what` is wrong: in a Node YAML (`text`, else `old` with `new` in its place), among a run's variables (`given`)
    or other arguments (`words`), at the machine (`access`, as the lab has it; its disk is `full`), or at the cluster
    (the release of its `api`)."""

    what: str
    old: str = ""
    new: str = ""
    text: str | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    access: str = ""
    full: bool = False
    api: str = ""
    playbook: Path = SITE
    words: tuple[str, ...] = ()

    @property
    def node_yaml(self) -> str | None:
        if self.old:
            assert self.old in WHOLE, self.old
            return WHOLE.replace(self.old, self.new, 1)
        return self.text


def yaml(what: str, old: str, new: str) -> Case:
    return Case(what, old, new)


def given(what: str, **more: Any) -> Case:
    return Case(what, given=more)


NODE_YAML = (
    yaml("a key is misspelt", "containerd:\n", "containerD:\n"),
    yaml("a key of a provisioner is misspelt", "sourceURL: ./", "sourceUrl: ./"),
    yaml("a version without quotes becomes a number", "version: 1.37.0", "version: 1.30"),
    yaml("a version is a whole number", "version: 1.37.0", "version: 1"),
    yaml("a version that YAML takes for a time", "version: 2.3.7", "version: 1:30:00"),
    yaml("a version with words", "version: 2.3.7", "version: latest"),
    yaml("a colon too many", "name: win1", "name: win1:"),
    yaml("a tab in place of blanks", "  name: win1", "\tname: win1"),
    yaml("a bracket is not closed", 'version: "3.11"}', 'version: "3.11"'),
    yaml("the same key twice", "  setup:\n", "  os: {build: 17763}\n  setup:\n"),
    yaml("a core Node in place of ours", "windows.k8s.io/v1alpha1", "v1"),
    yaml("another kind", "kind: Node", "kind: Nodes"),
    yaml("the kind in lower case", "kind: Node", "kind: node"),
    yaml("swdt's later kind", "kind: Node", "kind: Cluster"),
    yaml("no name", "  name: win1\n", "  annotations: {}\n"),
    yaml("a name that no Node can have", "name: win1", "name: Win_1"),
    yaml("a name that Ansible keeps for itself", "name: win1", "name: all"),
    yaml("no address", "    hostname: 192.168.122.220:22\n", ""),
    yaml("a port that is none", "192.168.122.220:22", "192.168.122.220:220000"),
    yaml("an unknown network mode", "mode: overlay", "mode: vxlan"),
    yaml("an unknown connection", "    hostname: 192.168.122.220:22\n", "    hostname: win1\n    connection: pssrp\n"),
    yaml("a range that is none", "10.244.0.0/16", "10.244.0.0/33"),
    yaml("an unknown way to join", "join: kubeadm", "join: token"),
    yaml("a list where one value belongs", "serviceManager: nssm", "serviceManager: [nssm]"),
    Case("an empty file", text=""),
    Case("several documents, one of them no Node", text=WHOLE + "---\nkind: Pod\napiVersion: v1\n"),
)
DEAD = """
{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],
clusters: [{name: a, cluster: {server: "https://127.0.0.1:9"}}], users: [{name: a, user: {token: none}}]}
"""
"""A kubeconfig of an API at which nobody listens."""
NODE = {"winkube_kubernetes_version": "1.37.1", "winkube_containerd_version": "2.3.7"}
LATE = given("the checksum of another file", winkube_containerd_checksum="sha256:" + "0" * 64)
"""What only the download shows, after the collection's folders were made."""
VARIABLES = (
    yaml("pods and services overlap", "10.96.0.0/12", "10.244.0.0/16"),
    yaml("DNS outside the services' range", "10.96.0.10", "10.0.0.10"),
    given("a misspelt variable", winkube_kublet_verbosity=2),
    given("a variable of another name", winkube_adapter="Ethernet 2"),
    given("a path in place of the dictionary", winkube_cluster="~/.kube/config"),
    given("a label without a value", winkube_node_labels="windows"),
    given("a percentage where a number belongs", winkube_max_failed="50%", winkube_serial="1"),
    given("a variable of a wrong type", winkube_kubelet_verbosity="high"),
    given("a variable that is not defined for Windows hosts", winkube_containerd_version="{{ kube_version }}"),
    given("a release that is none", winkube_containerd_version="2.x"),
    given("releases that do not go together", winkube_kubernetes_version="1.37.1", winkube_containerd_version="1.4.0"),
    Case("Kubernetes is newer than the cluster's API", given=NODE, api="1.36.1"),
    given("Kubernetes is newer than the collection", **NODE | {"winkube_kubernetes_version": "1.38.0"}),
    Case("it is newer than both", given=NODE | {"winkube_kubernetes_version": "1.39.0"}, api="1.36.1"),
    Case("the cluster's API is down", given=NODE | {"winkube_cluster": {"kubeconfig": "dead.yml"}}),
    given("a machine's name that is too long", winkube_computer_name="windows-worker-01"),
    given("no checksum", winkube_containerd_checksum=""),
    given("a checksum that is none", winkube_containerd_checksum="sha256:abc"),
    LATE,
    given("a sum file that cannot be had", winkube_containerd_checksum="https://127.0.0.1:9/containerd.sha256sum"),
    given("an address with nothing behind it", winkube_containerd_url="http://xyz/none.tar.gz"),
    given("an address without a scheme", winkube_containerd_url="xyz/containerd.tar.gz"),
    given("a proxy that is none", winkube_proxy="proxy 3128"),
    given("an unknown component", winkube_optional_components=["windows-exporter"]),
    given(
        "a kubeconfig that is not there",
        winkube_kubernetes_version="1.35.1",
        winkube_containerd_version="2.2.9",
        winkube_cluster={"kubeconfig": "~/none"},
    ),
    given(
        "an adapter that is not there",
        winkube_kubernetes_version="1.35.1",
        winkube_containerd_version="2.2.9",
        winkube_interface_name="Ethernet 9",
    ),
    given("an unknown word", winkube_preflight="onyl"),
    given("a batch that is none", winkube_serial="abc"),
    Case("an unknown tag", words=("--tags", "containered")),
    Case("a limit that no host has", words=("--limit", "win9")),
    Case("become is on", words=("-b",)),
    Case("a folder whose one file is a copy, win1.yml.bak", words=("-i", "copies")),
    Case("an empty group, or another inventory", given={"winkube_hosts": "windows_nodes"}, playbook=VERIFY),
    given("a drive that is not there", winkube_log_dir="D:\\logs"),
    Case("a reset that is not confirmed", playbook=RESET),
    Case("nothing to replace", playbook=PROVISION),
    Case("a build without its folder", given={"winkube_build_name": "kubelet"}, playbook=PUSH),
    Case(
        "a build of an unknown name",
        given={"winkube_build_name": "kubelet.exe", "winkube_build_dir": "."},
        playbook=PUSH,
    ),
    Case(
        "a build where there is no makefile",
        given={"winkube_build_name": "kubelet", "winkube_build_dir": "."},
        playbook=PUSH,
    ),
    Case("a log that is not there", given={"winkube_explain_files": ["kubelet.log"]}, playbook=EXPLAIN),
    Case("nothing to watch", playbook=WATCH),
    Case("an unknown repair", given={"winkube_repair": "rejion"}, playbook=REPAIR),
)
MACHINES = (
    Case("the machine is off", access="silent"),
    given("SSH is refused", ansible_host="127.0.0.1", ansible_port=9, ansible_ssh_common_args="-o ConnectTimeout=5"),
    given("no shell is named", ansible_shell_type="sh"),
    given("the connection is the controller's own", ansible_connection="local"),
    given("WinRM at SSH's port", ansible_connection="winrm", ansible_port=22),
    Case("the disk is full", full=True),
)
CTRL_C = Case("Ctrl-C while containerd is installed")
CASES = (*NODE_YAML, *VARIABLES, *MACHINES, CTRL_C)
ROWS: dict[str, str] = {}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One node for all, on which a run has failed already and left the collection's folders: what is refused leaves it
    as it was."""
    made = Bench(tmp_path_factory.mktemp("bad"))
    try:
        made.node()
        assert carried_out(made, LATE).rc == 2
        yield made
    finally:
        made.close()


SUMS = {
    f"winkube_{name}_checksum": "sha256:" + "a" * 64
    for name in ("cni_plugins", "flannel_cni", "flannel", "kubeadm", "kubelet", "kube_proxy", "log_runner")
}
"""Else the first task would say that their publishers cannot be asked."""
PINNED = {"winkube_containerd_checksum": "sha256:" + "a" * 64}


def carried_out(bench: Bench, case: Case) -> Run:
    bench.file("dead.yml", DEAD)
    bench.file("copies/win1.yml.bak", WHOLE)
    api = {"winkube_cluster": {"kubeconfig": str(_api(bench, case.api))}} if case.api else {}
    extra = bench.file("extra.json", json.dumps({**variables(), **UNVERIFIED, **SUMS, **case.given, **api}))
    if (text := case.node_yaml) is not None:
        bench.file("win1.yml", text)
        words: tuple[object, ...] = ("-i", "win1.yml", case.playbook, "-e", json.dumps(UNVERIFIED | SUMS | PINNED))
    else:
        words = (case.playbook, *case.words, "-e", f"@{extra}")
    env = None if case.node_yaml is None else ENV
    return bench.ansible_playbook(*words, env=env, cwd=bench.directory)


def _api(bench: Bench, release: str) -> Path:
    """The kubeconfig of a cluster of this release."""
    name = f"of-{release}"
    found = bench.lab.clusters.get(name) or bench.cluster_of(name, version=release)
    return Path(found.kubeconfig)


ERROR = re.compile(
    r"^\[ERROR\]: (?:Task failed: )?(?:Action failed: )?(.*?)(?=^\[|\nOrigin: |\n\nTask failed|\nfatal: |\Z)",
    re.DOTALL | re.MULTILINE,
)
NOTHING = re.compile(r"^  (No host of the inventory .*)", re.MULTILINE)
"""What winkube.node.steps says of a run that Ansible ends with 0."""
MUX = re.compile(r"mux_client_\w+: [^:]*: Broken pipe ")
# Where ssh gives up before Ansible has written the module to it, Ansible says this instead of ssh's own words.
UNSENT = "[Errno 32] Broken pipe"
SSH_SAYS = re.compile(r"""['"]([\d.]+)['"](\. Make sure this host can be reached over )(?:ssh|SSH): .*?(?= \| 4 )""")


def said(run: Run) -> str:
    """The sentences of the errors, those of the lab and of SSH itself left out."""
    found = [" ".join(each.split()) for each in ERROR.findall(run.stdout + run.stderr) or NOTHING.findall(run.stdout)]
    return " ".join(MUX.sub("", each).partition(" Connection to UNKNOWN")[0] for each in found)


def interrupted(bench: Bench) -> str:
    """The row of a run that is ended in its middle: the node goes on, and the next run finds what was wanted."""
    running = start(bench, "1.7.12", "interrupted", **slow_source(bench, "1.7.12"))
    wait_for_download(bench, "1.7.12")
    os.killpg(running.pid, signal.SIGINT)
    output, _ = running.communicate(timeout=300)
    host = bench.lab.host("win1")
    host.in_turn(lambda: host.node.clock.advance(60))
    assert programs(bench) == "1.7.12"
    done = "what was begun, and the node finishes it by itself"
    return cells(CTRL_C.what, " ".join(ERROR.findall(output)[-1].split()), running.returncode, done)


def refused(case: Case, here: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The row of a Node YAML that the inventory plugin refuses, without a run: `test_a_run_says_the_same`."""
    monkeypatch.chdir(here)
    Path("win1.yml").write_text(str(case.node_yaml), encoding="utf-8")
    heard: list[str] = []
    monkeypatch.setattr(C, "INVENTORY_ENABLED", ["winkube.node.node_yaml"])
    monkeypatch.setattr(C, "INVENTORY_ANY_UNPARSED_IS_FAILED", True)
    monkeypatch.setattr(Display(), "error", heard.append)
    with pytest.raises(SystemExit) as ended:
        InventoryManager(DataLoader(), sources=["win1.yml"])
    return cells(case.what, " ".join(heard), int(str(ended.value)))


def cells(what: str, told: str, status: int, changed: str = "nothing") -> str:
    told = re.sub(r"(The roles have: )[\w, ]+", r"\1...", told).replace(", ".join(OPTIONAL), "...")
    told = re.sub(r"(after) [\d.]+ s\b", r"\1 2 s", told)
    return f"| {what} | {as_cell(told)} | {status} | {changed} |"


def row(bench: Bench, case: Case) -> str:
    if case is CTRL_C:
        return interrupted(bench)
    before = bench.dump()
    if case.access:
        bench.lab.host("win1").set(access=case.access)
    host = bench.lab.host("win1")
    if case.full:
        host.in_turn(lambda: setattr(host.node.faults, "disk_full_after", 0))
    run = carried_out(bench, case)
    assert run.rc != 0 or NOTHING.search(run.stdout), run
    if case.access:
        bench.lab.host("win1").set(access="open")
    host.in_turn(lambda: setattr(host.node.faults, "disk_full_after", None))
    assert differences(before, bench.dump()) == []
    return cells(case.what, said(run).replace(str(bench.directory), "~/ansible"), run.rc)


def stands_in_the_page(case: Case, found: str) -> bool:
    ROWS[case.what] = found
    page = PAGE.read_text(encoding="utf-8").splitlines()
    if UNSENT in found:
        found, page = SSH_SAYS.sub(r"\1\2ssh", found), [SSH_SAYS.sub(r"\1\2ssh", line) for line in page]
    return "WINKUBE_WRITE" in os.environ or found in page


@pytest.mark.parametrize("case", NODE_YAML, ids=lambda case: case.what)
def test_what_is_said_of_a_file_stands_in_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    found = refused(case, tmp_path, monkeypatch)
    assert stands_in_the_page(case, found), found


@pytest.mark.exhaustive
def test_a_run_says_the_same(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert row(bench, NODE_YAML[-1]) == refused(NODE_YAML[-1], tmp_path, monkeypatch)


@pytest.mark.exhaustive("an address with nothing behind it", "an unknown repair", "the checksum of another file")
@pytest.mark.parametrize("case", CASES[len(NODE_YAML) :], ids=lambda case: case.what)
def test_what_is_said_stands_in_the_page(bench: Bench, case: Case) -> None:
    found = row(bench, case)
    assert stands_in_the_page(case, found), found


def test_the_page_has_these_rows_alone() -> None:
    before, _, table = PAGE.read_text(encoding="utf-8").partition(HEAD)
    if "WINKUBE_WRITE" in os.environ:
        PAGE.write_text(before + HEAD + "".join(f"{ROWS[case.what]}\n" for case in CASES) + END, encoding="utf-8")
        return
    assert [line.split(" | ")[0] for line in table.removesuffix(END).splitlines()] == [
        f"| {case.what}" for case in CASES
    ]
