"""Nodes that have neither SSH nor WinRM: the same playbooks through a HostProcess pod, with only a kubeconfig."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.host_process.pod import Wanted, body

from tests.integration.lab import ROOT, Bench, Run, overstepped, until
from tests.integration.records import leaks
from tests.integration.test_winrm import SHELL, inventory, usual_modules
from tests.integration.whole import BRIDGE, OVERLAY, SITE, Whole
from tests.integration.whole import Kind as NodeKind
from tests.lab.cluster.api import Call
from tests.lab.cluster.kinds import Kind
from tests.lab.cluster.store import ApiError
from tests.lab.machine.builds import build

NAMESPACE = "winkube-node"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
DIAGNOSE = ROOT / "playbooks" / "diagnose.yml"
PROVISION = ROOT / "playbooks" / "provision.yml"
CNI_CONF = r"C:\k\cni\config\cni.conf"
SHORT: dict[str, Any] = {"winkube_diagnose_samples": 1, "winkube_diagnose_registries": ["http://xyz/"]}
CONNECTION = {"ansible_connection": "winkube.node.host_process", "ansible_shell_type": "powershell"}


class Managed(Whole):
    """A whole node that answers neither SSH nor WinRM: what is left is its cluster's API."""

    RIGHTS = ("site", "host_process", "diagnose")

    def play(self, playbook: Path | str, *arguments: object, **more: Any) -> Run:
        """A playbook with an inventory that has no address, over the cluster."""
        extra = self.bench.file("host_process.json", json.dumps(self.variables(**more)))
        inventory = self.inventory()
        words = ("-i", inventory, playbook, *arguments, "-e", f"@{extra}")
        return self.bench.ansible_playbook(*words)

    def inventory(self) -> Path:
        """One host without an address."""
        lines = ["[windows]", "win1", "[windows:vars]", *(f"{key}={value}" for key, value in CONNECTION.items())]
        return self.bench.file("cluster.ini", "\n".join(lines) + "\n")

    def ping(self, *arguments: object, **more: Any) -> Run:
        return self.play(self.bench.play(PING), *arguments, **more)

    def pods(self) -> list[str]:
        """Pods of ours that stay, once the process that takes them away has had its time."""
        end = time.monotonic() + 120
        while True:
            items = self.cluster.request("GET", PODS).get("items") or []
            left = [item["metadata"]["name"] for item in items if not item["metadata"].get("deletionTimestamp")]
            if not left or time.monotonic() > end:
                return left
            time.sleep(0.1)


both = pytest.mark.parametrize("managed", [BRIDGE, OVERLAY], ids=["v4, 1.27", "v5, 1.37"], indirect=True)
OLD = replace(BRIDGE, containerd="1.6.36")
"""On Windows Server 2019, which cannot bind folders: a HostProcess container's image is mounted elsewhere on C:."""
every = pytest.mark.parametrize(
    "managed", [BRIDGE, OVERLAY, OLD], ids=["v4, 1.27", "v5, 1.37", "containerd 1.6 on Server 2019"], indirect=True
)
newest = pytest.mark.parametrize("managed", [OVERLAY], ids=["v5, 1.37"], indirect=True)


@pytest.fixture(scope="module")
def managed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Managed]:
    """Made once for each protocol of exec: tests leave it as it was."""
    kind: NodeKind = request.param
    bench = Bench(tmp_path_factory.mktemp("managed"))
    try:
        more: dict[str, Any] = {"release": "2019"} if kind is OLD else {}
        made = Managed(bench, kind, **more)
        made.converge()
        made.host.set(access="refused")
        bench.reset_ledger()
        yield made
        assert leaks(bench) == []
        assert overstepped(bench) == []
    finally:
        bench.close()


@pytest.fixture(autouse=True)
def _no_pod_is_left(managed: Managed) -> Iterator[None]:
    yield
    assert managed.pods() == []


def posts(managed: Managed) -> list[Call]:
    """Every attempt to make a pod."""
    return [call for call in managed.cluster.calls if call.method == "POST" and call.path == PODS]


PING = """
- hosts: windows
  gather_facts: false
  tasks:
    - ansible.windows.win_ping:
"""


BY = {"ssh": None, "winrm": SHELL, "host_process": "host_process"}
"""The same node by each connection."""


@pytest.mark.exhaustive(keep=("v4, 1.27",))
@every
def test_the_usual_modules_and_a_file_of_300_kb(managed: Managed) -> None:
    """What test_winrm.py does over SSH and WinRM; here for each protocol of exec."""
    usual_modules(managed.bench, managed.host, managed.play)
    assert [call.status for call in posts(managed)].count(201) == 2, "one pod for all tasks of a run"


@pytest.mark.exhaustive
@newest
@pytest.mark.parametrize("way", BY)
def test_the_same_work_takes_as_many_calls_by_each_connection(managed: Managed, way: str) -> None:
    """docs/host_process.md has these figures. Exec goes through the kubelet, whose restart cuts the connection: the
    outcome is asked for by one more call."""
    bench, by = managed.bench, BY[way]

    def site(**more: Any) -> tuple[int, int]:
        bench.reset_ledger()
        if way == "host_process":
            run = managed.play(SITE, **more)
        else:
            extra = bench.file("site.json", json.dumps(managed.variables(**more)))
            run = bench.ansible_playbook("-i", inventory(bench, by), SITE, "-e", f"@{extra}")  # type: ignore[arg-type]
        assert run.rc == 0, run
        return run.recap["win1"].changed, bench.calls()

    if way != "host_process":
        managed.host.set(access="open")
    try:
        assert site() == (0, 1)
        pid, more = managed.pid("kubelet"), int(way == "host_process")
        assert site(winkube_kubelet_verbosity=4) == (1, 2 + more)
        assert managed.pid("kubelet") != pid
        assert site() == (1, 2 + more)
    finally:
        managed.host.set(access="refused")


@pytest.mark.exhaustive
@every
def test_site_finds_nothing_to_do_and_a_change_restarts_the_kubelet_under_the_connection(managed: Managed) -> None:
    """Exec goes through the kubelet: its restart cuts the connection, and the batch is asked for when it is back."""
    bench = managed.bench
    bench.reset_ledger()
    again = managed.play(SITE)
    assert again.recap["win1"].changed == 0, again
    assert bench.calls() == 1
    pid = managed.pid("kubelet")
    changed = managed.play(SITE, winkube_kubelet_verbosity=4)
    assert changed.rc == 0 and changed.recap["win1"].changed == 1, changed
    assert managed.pid("kubelet") != pid
    assert "asking the node what became of it" in changed.output, changed
    back = managed.play(SITE)
    assert back.rc == 0 and back.recap["win1"].changed == 1, back


@newest
def test_a_broken_node_is_diagnosed_and_the_remedy_applied(managed: Managed) -> None:
    """Its network is not ready: pods of the cluster do not start, and a HostProcess pod does."""
    node = managed.host.node
    managed.host.in_turn(lambda: node.drive.delete(CNI_CONF))
    managed.cluster.advance(60)
    folder = managed.bench.directory / "report"
    broken = managed.play(DIAGNOSE, winkube_diagnose_dir=str(folder), winkube_diagnose_watch=1, **SHORT)
    assert broken.rc == 2, broken
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    (absent,) = (cause for cause in report["nodes"][0]["causes"] if cause["id"] == "cni.absent")
    assert absent["remedy"]["command"] == "ansible-playbook winkube.node.site --tags flannel --limit win1"
    mended = managed.play(SITE, "--tags", "flannel", "--limit", "win1")
    assert mended.rc == 0 and mended.recap["win1"].changed == 1, mended
    managed.cluster.advance(60)
    well = managed.play(DIAGNOSE, winkube_diagnose_dir=str(folder), winkube_diagnose_watch=1, **SHORT)
    assert well.rc == 0, well


@pytest.mark.exhaustive
@newest
def test_a_pushed_kubelet_restarts_itself_from_under_the_connection(managed: Managed) -> None:
    source = managed.bench.directory / "kubelet.exe"
    source.write_bytes(build("kubelet", "1.37.0"))
    path = r"C:\k\kubelet.exe"
    item = {"name": "kubelet", "sourceURL": str(source), "destination": path, "overwrite": True}
    pushed = managed.play(PROVISION, winkube_provisioners=[item])
    assert pushed.rc == 0, pushed.output
    assert managed.host.in_turn(lambda: managed.host.node.drive.read(path)) == source.read_bytes()
    assert managed.state("kubelet") == "running"
    back = managed.play(SITE)
    assert back.rc == 0 and back.recap["win1"].changed == 1, back


@newest
def test_looking_at_a_node_works_as_over_ssh(managed: Managed) -> None:
    """verify, drift, a bundle of logs, CRI over TCP opened and closed."""
    folder = managed.bench.directory / "looked"
    for playbook, more in (
        ("verify", {}),
        ("drift", {"winkube_drift_dir": str(folder)}),
        ("collect_logs", {"winkube_logs_dir": str(folder)}),
    ):
        run = managed.play(ROOT / "playbooks" / f"{playbook}.yml", **more)
        assert run.rc == 0, run
    assert {path.name for path in folder.iterdir()} >= {"drift.json", "win1.zip"}
    for state, changed in (("present", True), ("present", False), ("absent", True), ("absent", False)):
        run = managed.play(managed.bench.play(CRI_TCP.format(state=state)))
        assert run.rc == 0 and bool(run.recap["win1"].changed) is changed, run


CRI_TCP = """
- hosts: windows
  gather_facts: false
  roles: [{{role: winkube.node.winkube}}]
  tasks:
    - winkube.node.containerd_config_tcp:
        node: "{{{{ winkube_node }}}}"
        state: {state}
        expires_after: 1h
"""


# -- pods that cannot be had -------------------------------------------------------------------------------------------


@newest
def test_why_there_is_no_pod(managed: Managed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each refusal is a sentence with the way out, and leaves nothing behind."""
    soon = {"winkube_host_process_start_timeout": 3}
    missing = managed.ping(winkube_host_process_node="win9", **soon)
    assert "There is no Node win9 in https://127.0.0.1" in missing.output, missing
    node = managed.host.node
    managed.host.in_turn(lambda: node.pods.unpullable.add("mcr.microsoft.com"))
    pulling = managed.ping(**soon)
    assert "ImagePullBackOff: Back-off pulling image" in pulling.output, pulling
    assert "winkube_host_process_image" in pulling.output
    there = managed.ping(winkube_host_process_image="registry.internal/any:1", **soon)
    assert there.rc == 0, there
    managed.host.in_turn(lambda: node.pods.unpullable.clear())
    for said, wanted in (
        ('pods "x" is forbidden: violates PodSecurity "baseline:latest": hostProcess', "enforce=privileged"),
        ('pods "x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2', "10m of CPU and 100Mi"),
        ('User "nobody" cannot create resource "pods" in API group ""', "docs/host_process.md"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(managed.cluster.api, "admit", refusing(said))
            refused = managed.ping(**soon)
        assert refused.recap["win1"].unreachable == 1 and wanted in refused.output, refused
    managed.host.in_turn(lambda: node.run(r"C:\Windows\System32\sc.exe", ["stop", "kubelet"]))
    managed.cluster.advance(70)
    stopped = managed.ping(**soon)
    assert "The Node is not Ready: Kubelet stopped posting node status" in stopped.output, stopped
    managed.host.in_turn(lambda: node.run(r"C:\Windows\System32\sc.exe", ["start", "kubelet"]))
    managed.cluster.advance(30)


def refusing(sentence: str) -> Callable[..., None]:
    def admit(kind: Kind, namespace: str, body: dict[str, Any]) -> None:
        if kind.name == "Pod":
            raise ApiError(403, "Forbidden", sentence)

    return admit


@newest
def test_the_rights_of_the_example_are_enough(managed: Managed) -> None:
    file = managed.cluster.shipped("host_process")
    run = managed.ping(winkube_cluster={"kubeconfig": str(file)})
    assert run.rc == 0, run
    nobody = managed.bench.file("nobody.conf", managed.cluster.kubeconfig_for("bob"))
    refused = managed.ping(winkube_cluster={"kubeconfig": str(nobody)})
    assert refused.recap["win1"].unreachable == 1 and 'User "bob" cannot get resource "pods"' in refused.output, refused


@newest
def test_check_mode_makes_a_pod_only_where_it_may(managed: Managed) -> None:
    refused = managed.ping("--check", winkube_host_process_pod_in_check_mode=False)
    assert "Check mode may make no pod" in refused.output, refused
    made = len(posts(managed))
    assert managed.ping("--check").rc == 0
    assert len(posts(managed)) == made + 1


@newest
def test_what_earlier_runs_left_is_taken_away_and_a_pod_of_others_is_not(managed: Managed) -> None:
    wanted = Wanted("win1", NAMESPACE, "image", "0123456789abcdef", "deploy@ci-7 (pid 1)", 60)
    now = managed.cluster.clock.utc()
    left = body(wanted, now - timedelta(hours=1))
    running = body(replace(wanted, run="fedcba9876543210"), now)
    for pod in (left, running):
        managed.cluster.request("POST", PODS, pod)
    assert managed.ping().rc == 0
    names = [item["metadata"]["name"] for item in managed.cluster.request("GET", PODS)["items"]]
    assert left["metadata"]["name"] not in names
    assert running["metadata"]["name"] in names
    managed.cluster.request("DELETE", f"{PODS}/{running['metadata']['name']}")
    managed.cluster.advance(5)


@newest
def test_an_api_server_whose_gate_is_off_speaks_v4(managed: Managed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(managed.cluster.https, "protocols", ("v4.channel.k8s.io",))
    assert managed.ping().rc == 0


@newest
def test_ctrl_c_leaves_no_pod(managed: Managed) -> None:
    """Ctrl-C, and a kill that nobody can react to."""
    managed.host.set(latency_s=5.0)
    try:
        for signal_ in (signal.SIGINT, signal.SIGKILL):
            before = len(posts(managed))
            words = [managed.bench.play(PING), "-i", managed.inventory(), "-e", json.dumps(managed.variables())]
            run = managed.bench.start(*words, own_group=True)
            until(partial(made_since, managed, before))
            os.killpg(run.pid, signal_)
            run.communicate(timeout=300)
            assert managed.pods() == []
    finally:
        managed.host.set(latency_s=0.0)


INFO = """
- hosts: windows
  gather_facts: false
  tasks:
    - winkube.node.win_k8s_node_info:
"""
FIRST = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc")
"""Runs a program as the first process of a container, with which all others end."""


def running_pods(managed: Managed) -> list[str]:
    """Pods of ours whose program runs, now."""
    return [
        item["metadata"]["name"]
        for item in managed.cluster.request("GET", PODS).get("items") or []
        if not item["metadata"].get("deletionTimestamp") and item["status"].get("phase") not in {"Succeeded", "Failed"}
    ]


@newest
@pytest.mark.skipif(
    subprocess.run([*FIRST, "true"], capture_output=True, check=False).returncode != 0, reason="no pid namespaces"
)
@pytest.mark.parametrize("end", ["itself", "SIGTERM", "SIGKILL"])
def test_a_run_that_is_a_containers_first_process_leaves_no_pod(managed: Managed, end: str) -> None:
    """Failed before: the process that deletes the pod died with the run's, and the pod stayed for four hours."""
    before = len(posts(managed))
    managed.host.set(latency_s=0.0 if end == "itself" else 5.0)
    words = [managed.bench.play(INFO), "-i", managed.inventory(), "-e", json.dumps(managed.variables())]
    try:
        with managed.bench.start(*words, under=FIRST) as run:
            if end != "itself":
                until(partial(made_since, managed, before))
                until(lambda: bool(running_pods(managed)))
                children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text(encoding="utf-8").split()
                os.kill(int(children[0]), getattr(signal, end))
            said = run.communicate(timeout=300)[0]
    finally:
        managed.host.set(latency_s=0.0)
    assert made_since(managed, before), said
    if end == "SIGKILL":
        assert running_pods(managed), "nobody was left to delete it"
        managed.cluster.advance(290)
        assert running_pods(managed), "its run might still be there"
        managed.cluster.advance(30)
    assert running_pods(managed) == [], said
    for pod in managed.cluster.request("GET", PODS).get("items") or []:
        managed.cluster.request("DELETE", f"{PODS}/{pod['metadata']['name']}")
    managed.cluster.advance(5)


@newest
def test_a_pod_that_has_ended_is_made_again_when_it_is_needed(managed: Managed) -> None:
    """A run that is long silent, because its keeper was killed, or whose machine was restarted in between."""
    advance = managed.bench.file("waits", "")
    play = f"""
- hosts: windows
  gather_facts: false
  tasks:
    - ansible.windows.win_ping:
    - ansible.builtin.wait_for: {{path: "{advance}.done", timeout: 200}}
      delegate_to: localhost
      vars: {{ansible_connection: local}}
    - ansible.windows.win_ping:
"""
    before = len(posts(managed))
    words = [managed.bench.play(play), "-i", managed.inventory(), "-e", json.dumps(managed.variables())]
    with managed.bench.start(*words) as run:
        until(lambda: bool(running_pods(managed)))
        time.sleep(2)
        managed.cluster.advance(310)
        assert running_pods(managed) == []
        Path(f"{advance}.done").touch()
        said = run.communicate(timeout=300)[0]
    assert run.returncode == 0 and "ok=3" in said, said
    assert len(posts(managed)) == before + 2, said


def made_since(managed: Managed, before: int) -> bool:
    return len(posts(managed)) > before


# -- the inventory -----------------------------------------------------------------------------------------------------


@newest
def test_three_lines_make_an_inventory_that_needs_nothing_else(managed: Managed) -> None:
    """Its kubeconfig is a list as in KUBECONFIG: the context is of one file, the cluster and the user of another."""
    bench = managed.bench
    whole = managed.cluster.shipped("host_process")
    context = yaml.safe_load(whole.read_text(encoding="utf-8"))["contexts"][0]["context"]
    chosen = {"current-context": "mine", "contexts": [{"name": "mine", "context": context}]}
    bench.file("context.conf", yaml.safe_dump(chosen))
    source = bench.file(
        "cluster_nodes.yml",
        f"plugin: winkube.node.cluster_nodes\nkubeconfig: context.conf:{whole}\n"
        "keyed_groups: [{key: \"k8s_node_labels['kubernetes.io/os']\", prefix: os}]\n",
    )
    env = {"ANSIBLE_INVENTORY_ENABLED": "winkube.node.cluster_nodes"}
    run = bench.ansible("-i", source, "os_windows", "-m", "ansible.windows.win_ping", env=env)
    assert run.rc == 0 and "win1 | SUCCESS" in run.output, run
    listed = bench.ansible(
        "-i", source, "windows_nodes", "-m", "ansible.builtin.debug", "-a", "var=hostvars.win1", env=env
    )
    assert "containerd://2.3.7" in listed.output and '"k8s_node_ready": true' in listed.output, listed
    ssh = bench.file("by_ssh.yml", source.read_text() + "connection: ssh\n")
    shown = bench.ansible("-i", ssh, "win1", "-m", "ansible.builtin.debug", "-a", "var=ansible_host", env=env)
    assert '"ansible_host": "192.168.122.231"' in shown.output, shown
    slices = []
    for number in range(2):
        sliced = env | {"JOB_COMPLETION_INDEX": str(number), "WINKUBE_SLICES": "2"}
        slices.append(bench.ansible("-i", source, "all", "-m", "ansible.builtin.debug", env=sliced).output)
    assert ["win1 | SUCCESS" in said for said in slices].count(True) == 1, slices
    beyond = bench.ansible("-i", source, "all", "-m", "ansible.builtin.debug", env=env | {"JOB_COMPLETION_INDEX": "1"})
    assert "slice is 1 (JOB_COMPLETION_INDEX) and slices is 1 (WINKUBE_SLICES)" in beyond.output, beyond
    wrong = bench.file("no_cluster_nodes.yml", "plugin: winkube.node.cluster_nodes\nkubeconfig: nowhere.conf\n")
    failed = bench.ansible("-i", wrong, "all", "-m", "ansible.windows.win_ping", env=env)
    assert "there is no file" in failed.output and "nowhere.conf" in failed.output, failed
