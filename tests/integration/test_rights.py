"""The playbooks that make and look after a node, with exactly the rights of their files in examples/rbac."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.whole import BRIDGE, DIAGNOSE, OVERLAY, Kind, Whole

PLAYBOOKS = ROOT / "playbooks"


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("kind", [BRIDGE, OVERLAY], ids=["l2bridge", "overlay"])
def test_these_rights_are_enough(bench: Bench, kind: Kind) -> None:
    whole = Whole(bench, kind)
    may_join, may_look = whole.cluster.shipped("site"), whole.cluster.shipped("diagnose")

    def run(file: Path, playbook: str, **more: Any) -> Run:
        done = whole.site(playbook=PLAYBOOKS / f"{playbook}.yml", winkube_cluster={"kubeconfig": str(file)}, **more)
        assert done.rc == 0, done
        # kubeadm asks cluster-info with the token of its discovery file, which may not read it: a 403 is enough for it.
        own = [call for call in whole.cluster.refusals if not call.user.startswith("system:bootstrap:")]
        assert own == [], playbook
        whole.cluster.advance(30)
        return done

    run(may_join, "site")
    run(may_look, "verify", winkube_verify_watch=1)
    short: dict[str, Any] = {"winkube_diagnose_watch": 1, "winkube_diagnose_samples": 1}
    folder = str(bench.directory / "diagnosis")
    looks: dict[str, Any] = {"winkube_diagnose_dir": folder, "winkube_diagnose_registries": [], **short}
    run(may_look, "diagnose", **looks)
    report = (bench.directory / "diagnosis" / "report.json").read_text(encoding="utf-8")
    assert "examples/rbac/diagnose-kubelet.yml" in report, (
        "what was not looked at is told, without a request that fails"
    )
    run(whole.cluster.shipped(*DIAGNOSE), "diagnose", **looks)
    report = (bench.directory / "diagnosis" / "report.json").read_text(encoding="utf-8")
    assert "examples/rbac/diagnose-" not in report
    run(may_join, "site", winkube_drain=True, winkube_kubelet_verbosity=4)
    run(may_join, "repair", winkube_repair="rejoin", winkube_rejoin_always=True)
    run(may_join, "reset", winkube_reset=True)


@pytest.mark.exhaustive
def test_without_them_the_first_task_says_which_are_missing(bench: Bench) -> None:
    whole = Whole(bench, BRIDGE)
    nobody = bench.file("nobody.conf", whole.cluster.kubeconfig_for("nobody"))
    before = bench.dump()
    run = whole.site(winkube_cluster={"kubeconfig": str(nobody)})
    assert run.rc != 0 and "its user may not get nodes (to see the Node)" in run.output, run
    assert bench.dump() == before
