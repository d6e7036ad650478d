"""Nothing is found out half-way: the first task, or a plan of all nodes, says what cannot work before a change."""

from __future__ import annotations

import re

from tests.integration.lab import Bench
from tests.integration.site import differences, site
from tests.integration.whole import OVERLAY, Whole


def test_a_wrong_dns_address_is_said_before_the_first_change(bench: Bench) -> None:
    """Failed before: host, cni, containerd, kubelet and join had run when flannel's task refused it."""
    whole = Whole(bench, OVERLAY)
    whole.host.in_turn(lambda: whole.host.node.clock.set_off(-172_800))
    before = bench.dump()
    run = whole.site(
        winkube_dns_service_ip="10.200.0.10", winkube_flannel_checksum="", winkube_containerd_version="1.6.27"
    )
    assert run.rc != 0
    assert "winkube_dns_service_ip: 10.200.0.10 does not lie in winkube_service_cidr" in run.output, run
    assert "The node's clock says" in run.output, run
    assert "flanneld: the source" in run.output and "has no checksum" in run.output, run
    assert differences(before, bench.dump()) == []
    assert bench.calls() == 1


def test_all_nodes_are_planned_before_the_first_change_where_that_is_wanted(bench: Bench) -> None:
    for name, address in (("win1", "192.168.122.220"), ("win2", "192.168.122.221")):
        bench.node(name, address)
    before = {name: bench.dump(name) for name in ("win1", "win2")}

    only = site(bench, winkube_preflight="only")
    assert only.rc == 0, only
    assert "win2: would install containerd" in only.output, only
    assert "installed containerd" not in only.output

    wrong = "{{ {'version': 9} if inventory_hostname == 'win2' else {} }}"
    first = site(bench, winkube_preflight="first", winkube_containerd_config_extra=wrong)
    assert first.rc != 0
    assert "Nothing was changed on any node. win2 cannot be made what is wanted" in " ".join(first.output.split()), (
        first
    )
    assert {name: differences(old, bench.dump(name)) for name, old in before.items()} == {"win1": [], "win2": []}

    good = site(bench, winkube_preflight="first")
    assert good.rc == 0, good
    assert "win2: installed containerd" in good.output, good


def test_what_the_last_component_refuses_is_said_by_the_first_task(bench: Bench) -> None:
    """Failed before: everything but kube-proxy had been installed when its own task refused the option."""
    whole = Whole(bench, OVERLAY)
    before = bench.dump()
    run = whole.site(winkube_kube_proxy_feature_gates={"WinDSR": "perhaps"})
    assert run.rc != 0
    assert "feature_gates.WinDSR: 'perhaps' is neither true nor false." in run.output, run
    assert "TASK [Prepare the machine" not in run.output, run
    assert differences(before, bench.dump()) == []
    assert bench.calls() == 1


def test_where_nothing_differs_the_first_task_is_the_last(bench: Bench) -> None:
    whole = Whole(bench, OVERLAY)
    first = whole.converge()
    assert re.search(r"win1: \d+ steps: host \d+, cni \d+, containerd \d+, kubelet \d+, join", first.output), first
    bench.reset_ledger()
    again = whole.converge()
    assert "win1: nothing differs" in again.output, again
    assert again.recap["win1"].ok == 1, again
    assert bench.calls() == 1

    # A service that has stopped since is a difference of one component; -v says which step.
    whole.host.in_turn(lambda: whole.host.node.run(r"C:\Windows\System32\sc.exe", ["stop", "kube-proxy"]))
    stopped = whole.site("-v", "--check")
    assert "win1: 1 step: kube_proxy 1" in stopped.output, stopped
    assert "win1: kube_proxy: would start kube-proxy" in stopped.output, stopped
    only = whole.site("--tags", "containerd")
    assert "win1: nothing differs" in only.output and only.recap["win1"].ok == 1, only
    assert whole.state("kube-proxy") == "stopped"
    rest = whole.site("--skip-tags", "containerd")
    assert rest.rc == 0 and whole.state("kube-proxy") == "running", rest


def test_a_node_that_is_done_stops_no_batch(bench: Bench) -> None:
    for name, address in (("win1", "192.168.122.220"), ("win2", "192.168.122.221")):
        bench.node(name, address)
    assert site(bench, "--limit", "win1").rc == 0
    run = site(bench, winkube_serial=1)
    assert run.rc == 0, run
    assert "win1: nothing differs" in run.output, run
    assert "win2: installed containerd" in run.output, run
