"""A node taken apart: only what is ours goes, what stays is said, and site.yml makes the node again."""

from __future__ import annotations

from typing import Any

from tests.integration.lab import ROOT, Bench
from tests.integration.site import differences
from tests.integration.whole import OVERLAY, Whole

RESET = ROOT / "playbooks" / "reset.yml"
OURS = ("containerd", "kubelet", "flanneld", "kube-proxy")
NOTES = r"C:\k\notes.txt"
STATE = "c:\\programdata\\winkube"
GONE = (
    *("c:\\k\\", "c:\\flannel", "c:\\run", "c:\\etc", "c:\\var\\lib\\kubelet", "c:\\var\\lib\\cni"),
    *("c:\\program files\\containerd", "c:\\programdata\\containerd"),
)


def paths(dump: dict[str, Any]) -> list[str]:
    """What lies on the node, the state folder apart."""
    return [path for path in dump["drive"] if not path.lower().startswith(STATE)]


def test_only_what_is_ours_goes_and_site_makes_the_node_again(bench: Bench) -> None:
    whole = Whole(bench, OVERLAY, containers=True)
    node = whole.host.node
    bare = {name: whole.state(name) for name in OURS}
    whole.converge()
    path = "HKLM\\SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Environment"
    whole.host.in_turn(lambda: node.drive.write(NOTES, b"whose node is this?"))

    before = bench.dump()
    planned = whole.site("--check", "--diff", playbook=RESET)
    assert planned.rc == 0, planned
    print(planned)
    assert "the services kube-proxy, kubelet, flanneld, containerd" in planned.output
    assert r"would remove the HNS networks vxlan0" in planned.output
    assert r"C:\\k stays: it holds notes.txt" in planned.output
    assert [line for line in differences(before, bench.dump()) if ".log" not in line] == []

    refused = whole.site(playbook=RESET)
    assert refused.rc != 0
    assert "If this host is meant, add -e winkube_reset=true" in refused.output

    done = whole.converge(playbook=RESET, winkube_reset=True)
    assert {name: whole.state(name) for name in OURS} == bare == dict.fromkeys(OURS, "absent")
    after = bench.dump()
    assert [each for each in paths(after) if each.lower().startswith(GONE)] == [NOTES]
    assert whole.host.in_turn(lambda: node.hns.networks) == []
    assert "containerd" not in whole.host.in_turn(lambda: node.registry.text(path, "Path")).lower()
    assert "win1" not in whole.cluster.nodes
    assert r"C:\\k stays: it holds notes.txt" in done.output
    whole.bench.reset_ledger()
    again = whole.converge(playbook=RESET, winkube_reset=True)
    assert again.recap["win1"].changed == 0, again
    assert whole.bench.calls() == 1, "a machine that is bare already is asked once"

    whole.converge()
    whole.cluster.advance(30)
    assert whole.cluster.is_ready("win1")
    assert whole.host.in_turn(lambda: node.drive.read(NOTES)) == b"whose node is this?"
