"""Every optional component, by its declaration alone, on a whole node; test_reset_whole.py takes them away again."""

from __future__ import annotations

from functools import partial

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import PROGRAM_SERVICES

from tests.integration.lab import ROOT, Bench
from tests.integration.optional import optional_components
from tests.integration.site import differences
from tests.integration.whole import BRIDGE, OVERLAY, Kind, Whole
from tests.unit.components.nodes import LAYOUT

SERVICES = [each.daemon.service(LAYOUT) for each in PROGRAM_SERVICES]
SETTINGS = [path for each in PROGRAM_SERVICES for path in each.component.settings(LAYOUT)]
DRIFT = ROOT / "playbooks" / "drift.yml"


@pytest.mark.exhaustive("overlay")
@pytest.mark.parametrize("kind", [BRIDGE, OVERLAY], ids=["l2bridge", "overlay"])
def test_from_bare_to_converged_and_back_to_what_is_wanted(bench: Bench, kind: Kind) -> None:
    whole = Whole(bench, kind)
    wanted = optional_components(bench)
    before = bench.dump()
    checked = whole.converge("--check", **wanted)
    assert [name for name in SERVICES if f"start {name}" not in checked.output] == [], checked
    assert differences(before, bench.dump()) == []
    whole.converge(**wanted)
    assert {name: whole.state(name) for name in SERVICES} == dict.fromkeys(SERVICES, "running")
    assert whole.converge(**wanted).recap["win1"].changed == 0
    conditions = whole.cluster.request("GET", "/api/v1/nodes/win1")["status"]["conditions"]
    found = {each["type"]: each["status"] for each in conditions}
    assert (found["KubeletUnhealthy"], found["KubeProxyUnhealthy"]) == ("False", "False"), found
    verified = whole.site(playbook=Whole.VERIFY, **wanted)
    assert verified.rc == 0, verified

    drive, in_turn = whole.host.node.drive, whole.host.in_turn

    def settings() -> list[bytes]:
        return [drive.read(path) for path in SETTINGS]

    good = in_turn(settings)
    for path in SETTINGS:
        in_turn(partial(drive.write, path, b"{}"))
    drifted = whole.site(playbook=DRIFT, winkube_drift_dir=str(bench.directory / "reports"), **wanted)
    assert drifted.rc != 0 and [path for path in SETTINGS if path not in drifted.output.replace("\\\\", "\\")] == []
    mended = whole.converge(**wanted)
    assert in_turn(settings) == good, mended
    assert whole.converge(**wanted).recap["win1"].changed == 0
