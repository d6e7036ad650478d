"""dism.exe: what it has begun goes on without it."""

from __future__ import annotations

from tests.lab.machine import image
from tests.lab.twin.node import LabNode
from tests.lab.twin.ops import execute_op

DISM = {
    "program": "C:\\Windows\\System32\\dism.exe",
    "args": ["/Online", "/Enable-Feature", "/FeatureName:Containers", "/All", "/NoRestart", "/English"],
    "ok_exit": [0, 3010],
}
PENDING = f"{image.FEATURES_KEY}\\RebootPending"


def test_the_servicing_goes_on_when_dism_is_ended() -> None:
    node = LabNode("dism", containers=False)
    node.faults.servicing_s = 900
    said = execute_op(node, "run", {**DISM, "timeout_s": 600})
    assert "did not end within 600 s" in said["failed"]
    assert node.services.state("TrustedInstaller") == "running"
    assert not node.registry.exists(PENDING)
    wait = {"for": "service", "name": "TrustedInstaller", "state": "stopped", "timeout_s": 3600}
    assert execute_op(node, "wait", wait) == {"changed": False}
    assert node.registry.exists(PENDING)


def test_a_limit_of_an_hour_lets_it_end() -> None:
    node = LabNode("dism", containers=False)
    node.faults.servicing_s = 900
    assert execute_op(node, "run", {**DISM, "timeout_s": 3600})["exit_code"] == 3010
