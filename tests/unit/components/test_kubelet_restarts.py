"""What restarts a kubelet, what stops it before, and what it depends on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components import nssm
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import service_key

from .nodes import LAYOUT, lines
from .test_kubelet import (
    EXE,
    MARK,
    OF_KUBEADM,
    SOURCE,
    arguments,
    bare_node,
    installed,
    plan,
    refusal,
    settings,
    starts,
)


def test_an_upgrade_restarts_once_and_has_to_be_healthy() -> None:
    args = arguments(configured=True)
    newer = replace(args, source=replace(SOURCE, sha256="b" * 64, version="1.37.2"))
    made = plan(installed(args, joined=True), newer)
    assert made.batch is not None
    found = lines(made.batch.ops)
    assert found.count("run sc.exe stop kubelet") == found.count("run sc.exe start kubelet") == 1
    assert found.index("run sc.exe stop kubelet") < found.index(rf"move {EXE} -> {EXE}.01234567.winkube-old")
    assert [op.args["url"] for op in made.batch.gate] == ["http://127.0.0.1:10248/healthz"]


@pytest.mark.row("KU-01", "SV-05")
def test_another_nssm_stops_it_first_and_starts_it_again() -> None:
    """Windows cannot replace a running program."""
    other = nssm.nssm_source(
        url="https://xyz/nssm.exe", checksum=f"sha256:{'c' * 64}", proxy=None, unverified=(), read_url=lambda _: ""
    )
    old = arguments(configured=True)
    made = plan(
        installed(old, joined=True), arguments(configured=True, tools=nssm.build_resources(LAYOUT, other, MARK))
    )
    assert made.batch is not None
    found = lines(made.batch.ops)
    replaced = next(number for number, line in enumerate(found) if line.endswith(r"-> C:\k\nssm.exe"))
    assert found.index("run sc.exe stop kubelet") < replaced < found.index("run sc.exe start kubelet")
    # SV-05: kube-proxy uses the same nssm.exe; its own task handles it.
    assert {line.split()[3] for line in found if line.startswith("run sc.exe st")} == {"kubelet"}
    by_sc = arguments("sc", configured=True)
    more = (*by_sc.service.tools, *nssm.build_resources(LAYOUT, other, MARK))
    assert starts(plan(installed(by_sc, joined=True), arguments("sc", configured=True, tools=more))) == []


@pytest.mark.parametrize(
    ("change", "restarts"),
    [
        ({"wanted": settings(system_reserved={"memory": "3Gi"})}, True),
        ({"wanted": settings(verbosity=4)}, True),
        ({"service": {"environment": {"HTTPS_PROXY": "http://proxy:3128"}}}, True),
        ({"config": {"maxPods": 60}}, False),
        ({"kubeadm_flags": OF_KUBEADM}, False),
        ({"service": {"depends_on": ["containerd"]}}, False),
    ],
)
def test_it_restarts_only_for_what_it_reads_at_its_start(change: dict[str, Any], restarts: bool) -> None:
    args = arguments(configured=True)
    node = installed(args, joined=True)
    node = node.merge({service_key("containerd"): {"name": "containerd", "state": "running", "depends_on": []}})
    assert bool(starts(plan(node, arguments(configured=True, **change)))) is restarts


@pytest.mark.row("SV-18")
def test_it_depends_on_what_is_asked_for_and_on_nothing_else() -> None:
    args = arguments(service={"depends_on": ["containerd"]})
    containerd = {"name": "containerd", "state": "running", "depends_on": []}
    made = plan(bare_node(containerd), args)
    assert made.batch is not None
    assert "run sc.exe config kubelet depend= containerd" in lines(made.batch.ops)
    assert (made.predicted.service("kubelet") or {})["depends_on"] == ["containerd"]
    by_hand = installed(arguments()).merge({service_key("containerd"): containerd})
    service = {**(by_hand.service("kubelet") or {}), "depends_on": ["Containerd", "hns"]}
    back = plan(by_hand.merge({service_key("kubelet"): service}), arguments()).batch
    assert back is not None
    assert lines(back.ops) == ["run sc.exe config kubelet depend= /"]
    assert [op.args["args"] for op in back.ops[0].undo] == [["config", "kubelet", "depend=", "Containerd/hns"]]
    assert "containerd, which is not a service on this node" in refusal(args)
