"""playbooks/image.yml: a machine that becomes the image of many nodes; a node made of it, beside a fresh one."""

from __future__ import annotations

import json

import pytest

from tests.integration.lab import ROOT, Bench
from tests.integration.site import differences
from tests.integration.test_remedies import ARCHIVE, EXPORTER, OPTIONAL
from tests.integration.whole import BRIDGE, KINDS, Whole
from tests.lab.machine import sysprep
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.security import sid_of

IMAGE = ROOT / "playbooks" / "image.yml"
PAGE = ROOT / "docs" / "image.md"
OURS = tuple(f"c:\\{name}" for name in ("k", "etc", "var", "run", "flannel", "programdata\\w", "programdata\\c"))
SERVICES = ("containerd", "kubelet", "flanneld", "kube-proxy")
NAT = {"AddressPrefix": "172.30.0.0/20", "GatewayAddress": "172.30.0.1"}
KEY = "HKLM\\SYSTEM\\CurrentControlSet\\Services"


def own_texts(node: SimulatedNode) -> list[str]:
    """Where in what is cloned of ours the machine's own name, address or id stands."""
    own = ("win1", node.nic.address, node.registry.text("HKLM\\SOFTWARE\\Microsoft\\Cryptography", "MachineGuid"))
    texts = {
        path: entry.data.decode(errors="ignore")
        for path, entry in node.drive.walk()
        if path.lower().startswith(OURS) and entry.kind == "file" and len(entry.data) < 100_000
    }
    registry = node.dump()["registry"]
    texts |= {
        path: json.dumps(values)
        for path, values in registry.items()
        if path.startswith(tuple(f"{KEY}\\{name}" for name in SERVICES))
    }
    return [path for path, text in texts.items() if any(each.lower() in text.lower() for each in own)]


def told(kind: str) -> tuple[int, int]:
    """The most calls in the page's table, of a fresh machine and of one made of the image."""
    rows = [[cell.strip() for cell in line.split("|")] for line in PAGE.read_text(encoding="utf-8").splitlines()]
    found = next(number for number, row in enumerate(rows) if row[1:2] == [f"{kind}, from scratch"])
    return int(rows[found][2]), int(rows[found + 1][2])


@pytest.mark.exhaustive(keep=("overlay, sc, 1.37",))
@pytest.mark.parametrize("kind", KINDS)
def test_a_node_made_of_an_image_joins_with_few_calls_and_no_download(bench: Bench, kind: str) -> None:
    whole = Whole(bench, KINDS[kind])
    planned = whole.site("--check", playbook=IMAGE)
    assert planned.rc == 0 and "win1 would be ready to generalise." in planned.output, planned
    first = whole.site(playbook=IMAGE)
    assert first.rc == 0 and "win1 is ready to generalise." in first.output, first
    assert "win1: stopped containerd" in first.output and "notes and logs of this machine" in first.output
    assert [whole.state(name) for name in SERVICES] == ["stopped", "stopped", "absent", "absent"]
    assert own_texts(whole.host.node) == []
    assert whole.cluster.calls == []  # nothing of a cluster takes part
    before = bench.dump()
    bench.reset_ledger()
    second = whole.site(playbook=IMAGE)
    assert second.rc == 0 and second.recap["win1"].changed == 0, second
    assert bench.calls() <= 3
    assert differences(before, bench.dump()) == []

    made = whole.host.in_turn(lambda: sysprep.generalise(whole.host.node))
    whole.host.set(access="refused")
    fresh = bench.node("win2", "192.168.122.232", containers=False)
    clone = bench.node("win3", "192.168.122.233", containers=False)
    clone.in_turn(lambda: sysprep.deploy(made, clone.node))
    for host in (fresh, clone):
        host.node.counters.reset()
    bench.reset_ledger()
    joined = whole.site("--limit", "win2,win3")
    assert joined.rc == 0, joined
    whole.cluster.advance(30)
    assert whole.cluster.is_ready("win2") and whole.cluster.is_ready("win3")
    calls = {name: bench.calls(name) for name in ("win2", "win3")}
    sent = {name: bench.account(name).bytes_in for name in ("win2", "win3")}
    fetched = {host.spec.name: host.node.counters.downloads for host in (fresh, clone)}
    print(
        f"figures: {kind}: calls {calls}, bytes sent {sent}, fetched {[sum(one.values()) for one in fetched.values()]}"
    )
    assert fetched["win3"] == {} and len(fetched["win2"]) >= 8
    for most, found in zip(told(kind), (calls["win2"], calls["win3"]), strict=True):
        # How often a node is asked that makes a virtual switch depends on when it makes it.
        assert most - 3 <= found <= most, "docs/image.md has the figures"
    verified = whole.site("--limit", "win3", playbook=whole.VERIFY)
    assert verified.rc == 0, verified

    # What has joined becomes no image: said by the first task.
    after = bench.dump("win3")
    refused = whole.site("--limit", "win3", playbook=IMAGE)
    assert refused.rc == 2 and "This machine has joined a cluster" in refused.output, refused
    assert refused.stdout.count("TASK [") == 1, "the first task"
    assert differences(after, bench.dump("win3")) == []


def test_whatever_is_in_the_way_is_named_and_nothing_is_changed(bench: Bench) -> None:
    whole = Whole(bench, BRIDGE, containers=True)
    bench.lab.sources.publish("/windows_exporter.exe", EXPORTER)
    bench.lab.sources.publish("/csi-proxy-v1.2.1.tar.gz", ARCHIVE)
    assert whole.site(playbook=IMAGE, **OPTIONAL).rc == 0
    assert [whole.state(name) for name in ("csiproxy", "windows_exporter", "containerd")] == ["stopped"] * 3
    again = whole.site(playbook=IMAGE, **OPTIONAL)
    assert again.rc == 0 and again.recap["win1"].changed == 0, again
    node = whole.host.node

    def plant() -> None:
        node.drive.mkdir("C:\\etc\\kubernetes\\pki", sid_of("SY"))
        for path in ("etc\\kubernetes\\pki\\ca.crt", "run\\flannel\\subnet.env", "k\\kube-proxy.kubeconfig"):
            node.drive.write(f"C:\\{path}", b"of another life")
        sandbox = "C:\\ProgramData\\containerd\\root\\io.containerd.grpc.v1.cri\\sandboxes\\4711"
        node.drive.mkdir(sandbox, sid_of("SY"))
        node.hns.create_network({"Name": "nat", "Type": "nat", "Subnets": [NAT]})
        environment = "HKLM\\SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Environment"
        node.registry.set(environment, "NO_PROXY", "string", f"10.0.0.0/8,{node.nic.address}")

    whole.host.in_turn(plant)
    before = bench.dump()
    run = whole.site(playbook=IMAGE, **OPTIONAL)
    assert run.rc == 2, run
    for said in (
        "win1 is not ready to be generalised",
        "ca.crt is there (join)",
        "subnet.env is there (flanneld)",
        "kube-proxy.kubeconfig is there (kube-proxy)",
        "sandboxes holds 4711 (containerd). Remove them: sc.exe start containerd",
        "HNS has the network nat (nat)",
        f"The machine's variable NO_PROXY holds the address {node.nic.address}",
    ):
        assert said in run.output.replace("\\\\", "\\"), (said, run)
    assert differences(before, bench.dump()) == []
