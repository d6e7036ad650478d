"""The chapters: what a user does with a node, told of the node on Wine and of the same node in the lab."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.integration.lab import Run
from tests.lab.machine.builds import tar_gz
from tests.windows import lines
from tests.wine_node.side import Side

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "playbooks" / "site.yml"
PUSH = ROOT / "playbooks" / "push.yml"
RESET = ROOT / "playbooks" / "reset.yml"
CONTAINERD = "2.3.7"
NEWER = "2.4.2"
KUBERNETES = "1.37.1"
CNI = "1.9.0"
RELEASE = ("containerd", "ctr", "containerd-shim-runhcs-v1")
CNI_PLUGINS = ("win-bridge", "win-overlay", "host-local")
PROGRAMS = (
    *(("containerd", version) for version in (CONTAINERD, NEWER)),
    ("ctr", CONTAINERD),
    *((name, KUBERNETES) for name in ("kubelet", "kube-proxy")),
    *((name, CNI) for name in CNI_PLUGINS),
)
"""Upstream's: name and version."""
READING = """
- hosts: windows
  gather_facts: false
  tasks:
    - winkube.node.win_k8s_node_info:
      register: found
    - ansible.builtin.debug: {var: found.winkube}
"""
ROLE = """
- hosts: windows
  gather_facts: false
  roles:
    - winkube.node.{}
"""


@dataclass
class Told:
    """What has happened so far. held: expectations that did."""

    node: Side
    held: int = 0
    failed: list[str] = field(default_factory=list)
    second: tuple[int, int] = (-1, -1)
    """Tasks that the second run changed, and its calls."""

    def expect(self, what: str, is_so: bool, run: Run | None = None) -> None:
        """One thing that has to hold; what does not is printed with the run that it came of."""
        print(f"  {'ok' if is_so else 'NOT'}: {what}", flush=True)
        self.held += is_so
        if not is_so:
            self.failed.append(what)
            print(run or "", flush=True)


def first(told: Told) -> None:
    ping = told.node.ansible("ansible", "win1", "-m", "ansible.windows.win_ping")
    told.expect("win_ping answers", ping.rc == 0 and '"ping": "pong"' in ping.stdout, ping)
    reading = told.node.play(READING)
    told.expect("the node is read by one call", reading.rc == 0 and '"calls": 1' in reading.stdout, reading)


def containerd(told: Told) -> None:
    run = converge(told.node)
    told.expect("containerd is installed", changed(run) == 1, run)
    told.expect("it runs, by the service manager", told.node.state("containerd") == "running")
    before = told.node.calls()
    again = converge(told.node)
    told.second = (changed(again), told.node.calls() - before)
    told.expect("the second run changes nothing, in one call", told.second == (0, 1), again)


def rollback(told: Told) -> None:
    """A value of the registry that the node has noted itself is back, too (`present` of an undo), and a file that was
    written over (`restore`)."""
    run = converge(told.node, **service(WINKUBE_TEST="one"))
    told.expect("a variable of the service is set", changed(run) == 1, run)
    told.expect("it is in the registry", variables(told.node) == ["WINKUBE_TEST=one"])
    broken = archive_of(told.node, "broken", containerd=told.node.ends_at_once())
    run = converge(told.node, **service(WINKUBE_TEST="two"), **broken, winkube_containerd_log_level="debug")
    told.expect("a containerd that ends at once is rolled back", run.rc != 0 and "Rolled back." in run.output, run)
    told.expect("the variable is what it was", variables(told.node) == ["WINKUBE_TEST=one"], run)
    told.expect("containerd runs", told.node.state("containerd") == "running")
    again = converge(told.node, **service(WINKUBE_TEST="one"))
    told.expect("what was there before is whole: changed=0", changed(again) == 0, again)
    run = converge(told.node)
    told.expect("back to no variable", changed(run) == 1 and not variables(told.node), run)


def cut(told: Told) -> None:
    """The session ends in the middle of a batch: the scheduled task's runner goes on, and Ansible asks for its id."""
    run, was_cut = told.node.cut_in_batch(lambda: converge(told.node, winkube_containerd_log_level="debug"))
    told.expect("the session was cut in the middle", was_cut, run)
    told.expect("the runner has finished by itself, and Ansible knows", changed(run) == 1, run)
    again = converge(told.node, winkube_containerd_log_level="debug")
    told.expect("changed=0 after it", changed(again) == 0, again)


def inline(told: Told) -> None:
    """The runner in the session's own process: what a cut leaves half done, the next batch rolls back first."""
    wanted = {"winkube_runner": "inline", "winkube_containerd_log_level": "warn"}
    run, was_cut = told.node.cut_in_batch(lambda: converge(told.node, **wanted))
    told.expect("the session was cut in the middle", was_cut, run)
    run = converge(told.node, **wanted)
    told.expect("one plain run converges", run.rc == 0, run)
    again = converge(told.node, **wanted)
    told.expect("changed=0 after it", changed(again) == 0, again)
    told.expect("containerd runs", told.node.state("containerd") == "running")


def push(told: Told) -> None:
    """The first push brings all of the program, the second what has changed."""
    folder = told.node.work / "source"
    (folder / "bin").mkdir(parents=True)
    extra = {
        "winkube_hosts": "windows",
        "winkube_build_name": "containerd",
        "winkube_build_dir": str(folder),
        "winkube_build_command": ["cp", "containerd.exe", "bin/containerd.exe"],
        "winkube_build_result": "bin",
    }
    for text in ("built here", "and built again"):
        (folder / "containerd.exe").write_bytes(told.node.other_build("containerd", CONTAINERD, text.encode()))
        run = told.node.playbook(PUSH, **extra)
        told.expect(f"a build is pushed: {text}", run.rc == 0, run)
        told.expect("it runs, by the service manager", told.node.state("containerd") == "running")
    again = told.node.playbook(PUSH, **extra)
    told.expect("pushed again: nothing changes on the node", "containerd unchanged" in again.stdout, again)


def upgrade(told: Told) -> None:
    """The next minor, as site.yml has it; then the way back."""
    newer = {
        "winkube_containerd_version": NEWER,
        **archive_of(told.node, f"containerd-{NEWER}-windows-amd64", NEWER),
    }
    run = converge(told.node, **newer)
    told.expect("the newer containerd is installed", changed(run) == 1 and "restarted containerd" in run.output, run)
    told.expect("it runs, by the service manager", told.node.state("containerd") == "running")
    again = converge(told.node, **newer)
    told.expect("changed=0 after it", changed(again) == 0, again)


def kubelet(told: Told) -> None:
    run = role(told.node, "kubelet", "kubelet")
    told.expect("the kubelet is left stopped: it waits for the join", "waits for join" in run.output, run)
    again = role(told.node, "kubelet", "kubelet")
    verbs = set(re.findall(r"^  kubelet: win1: (\w+) ", again.stdout, re.MULTILINE))
    # Of an access list Wine keeps what Unix can: a folder for administrators alone is secured each time.
    told.expect("nothing but access lists is changed again", verbs <= {"secured", "left", "skipped"}, again)


def kube_proxy(told: Told) -> None:
    """What kube-proxy.exe needs of HNS Wine has not, so it ends: the check fails."""
    joined(told.node)
    run = role(told.node, "kube_proxy", "kube-proxy")
    told.expect("a kube-proxy that ends is rolled back", run.rc != 0 and "Rolled back" in run.output, run)
    told.expect("no service is left", told.node.state("kube-proxy") == "absent", run)


def cni(told: Told) -> None:
    run = told.node.play(ROLE.format("cni"), **cni_sources(told.node))
    told.expect("the plugins are there", changed(run) == 1, run)
    again = told.node.play(ROLE.format("cni"), **cni_sources(told.node))
    told.expect("changed=0 after it", changed(again) == 0, again)


def flannel(told: Told) -> None:
    """The network that makes the virtual switch, which cuts every session: the node takes it back by itself where the
    address does not come back."""
    node = told.node
    joined(node)
    source = node.publish("flanneld.exe", node.ends_at_once)
    extra = {
        "winkube_network_mode": "l2bridge",
        "winkube_interface_name": node.adapter,
        "winkube_flannel_url": source.url,
        "winkube_flannel_checksum": source.checksum,
        **cni_sources(node),
        **of_nssm(node),
    }
    before = node.adapters()
    node.lose_address()
    run = node.play(ROLE.format("flannel"), **extra)
    told.expect("a switch that takes the address is taken back", run.rc != 0 and "Rolled back" in run.output, run)
    told.expect("it is said which adapter has no address", f"vEthernet ({node.adapter}) did not get" in run.output, run)
    told.expect("no network is left", node.networks() == [], run)
    told.expect("routes, servers, IPv6, metric and suffix are what they were", node.adapters() == before, run)


def reset(told: Told) -> None:
    """Everything that was made goes, with what flanneld and pods have left in HNS."""
    told.node.occupy()
    wanted = {"winkube_hosts": "windows", "winkube_reset": True, "winkube_cluster_cidr": "10.244.0.0/16"}
    run = told.node.playbook(RESET, **wanted)
    told.expect("the node is taken apart", run.rc == 0, run)
    told.expect("no network is left", told.node.networks() == [], run)
    told.expect("no service is left", told.node.state("containerd") == "absent", run)
    told.expect("no program is left", not told.node.has(r"C:\k\kubelet.exe"), run)


def host(told: Told) -> None:
    """The machine's name is changed, and its restart waits."""
    extra = {
        "winkube_computer_name": "edge-7",
        "winkube_proxy": "http://proxy.example.com:3128",
        "winkube_interface_name": told.node.adapter,
        "winkube_reboot": False,
    }
    run = told.node.play(ROLE.format("host"), **extra)
    told.expect("the machine gets its name and its proxy", changed(run) == 1 and "to edge-7" in run.output, run)
    told.expect("it is said what waits for a restart", "has to be restarted before all of this" in run.output, run)
    again = told.node.play(ROLE.format("host"), **extra)
    told.expect("changed=0 after it", changed(again) == 0, again)


CHAPTERS: dict[str, Callable[[Told], None]] = {
    "first": first,
    "containerd": containerd,
    "rollback": rollback,
    "cut": cut,
    "inline": inline,
    "push": push,
    "upgrade": upgrade,
    "kubelet": kubelet,
    "kube_proxy": kube_proxy,
    "cni": cni,
    "host": host,
    "flannel": flannel,
    "reset": reset,
}
NEEDED = {"": ("first", "containerd"), "flannel": ("cni",)}
"""What a chapter builds on; the first of these every chapter."""


def tell(told: Told, chosen: Sequence[str] = (), after: Callable[[], None] = lambda: None) -> None:
    """From the bare node on: all chapters in their order, or those chosen with what they need. `after`: each."""
    wanted = {*chosen, *NEEDED[""], *(need for name in chosen for need in NEEDED.get(name, ()))}
    for name, chapter in CHAPTERS.items():
        if not chosen or name in wanted:
            began = time.monotonic()
            print(f"{name}, {told.node.name}:", flush=True)
            told.node.begin(name)
            chapter(told)
            print(f"  {time.monotonic() - began:.0f} s", flush=True)
            after()


def changed(run: Run) -> int:
    """Tasks that changed the node; -1 for a run that failed."""
    return run.recap["win1"].changed if run.rc == 0 and "win1" in run.recap else -1


def converge(node: Side, *arguments: object, **more: Any) -> Run:
    """site.yml's containerd, by nssm."""
    extra = {
        "winkube_hosts": "windows",
        "winkube_containerd_version": CONTAINERD,
        **archive_of(node, f"containerd-{CONTAINERD}-windows-amd64"),
        **of_nssm(node),
        **service(),
    }
    return node.playbook(SITE, "--tags", "containerd", *arguments, **(extra | more))


def service(**environment: str) -> dict[str, Any]:
    return {
        "winkube_containerd_service": {
            "manager": "nssm",
            "environment": environment,
            "start_timeout": 60,
            "stop_timeout": 60,
        }
    }


def variables(node: Side) -> object:
    """Those of containerd's service."""
    return node.values(r"SYSTEM\CurrentControlSet\Services\containerd\Parameters").get("AppEnvironmentExtra")


def archive_of(node: Side, name: str, version: str = CONTAINERD, **instead: bytes) -> dict[str, str]:
    """The roles' variables for a release archive; `instead` has other bytes for one of its programs."""

    def archive() -> bytes:
        # Of ctr one release is built (tests/real/build.py): nothing here depends on which.
        members = {f"bin/{each}.exe": node.program(each, CONTAINERD if each == "ctr" else version) for each in RELEASE}
        return tar_gz(members | {f"bin/{each}.exe": data for each, data in instead.items()})

    source = node.publish(f"{name}.tar.gz", archive)
    return {"winkube_containerd_url": source.url, "winkube_containerd_checksum": source.checksum}


def joined(node: Side) -> None:
    """The files that a join leaves; the API server of its kubeconfigs answers nobody."""
    for path, text in lines.files(KUBERNETES).items():
        node.write(path, text)


def cni_sources(node: Side) -> dict[str, str]:
    """The plugins of the release, and flannel's."""
    archive = node.publish(
        "cni-plugins.tgz", lambda: tar_gz({f"{name}.exe": node.program(name, CNI) for name in CNI_PLUGINS})
    )
    plugin = node.publish("flannel-amd64.exe", lambda: node.program("flannel", CNI))
    return {
        "winkube_cni_plugins_url": archive.url,
        "winkube_cni_plugins_checksum": archive.checksum,
        "winkube_flannel_cni_url": plugin.url,
        "winkube_flannel_cni_checksum": plugin.checksum,
    }


def of_nssm(node: Side) -> dict[str, str]:
    tool = node.publish("nssm-2.24.zip", node.nssm)
    return {"winkube_nssm_url": tool.url, "winkube_nssm_checksum": tool.checksum}


def role(node: Side, name: str, program: str, **more: Any) -> Run:
    """One role of Kubernetes' with the real program, by nssm."""
    source = node.publish(f"{program}.exe", lambda: node.program(program, KUBERNETES))
    extra = {
        "winkube_kubernetes_version": KUBERNETES,
        f"winkube_{name}_url": source.url,
        f"winkube_{name}_checksum": source.checksum,
        f"winkube_{name}_start_timeout": 60,
        f"winkube_{name}_stop_timeout": 60,
        "winkube_service_manager": "nssm",
        "winkube_interface_name": node.adapter,
        **of_nssm(node),
    }
    return node.play(ROLE.format(name), **(extra | more))
