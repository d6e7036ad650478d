"""The smoke test in a cluster whose pods and Services have IPv4 and IPv6, and in one where only pods have both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.workload_tests.smoke.clusters import Smoke, cluster

BOTH = {"second_pod_network": "fd00:10:244::/56", "second_service_network": "fd00:10:96::/112"}


def verdicts(folder: Path, **settings: Any) -> dict[str, str]:
    """The verdicts on the checks of the other family, by their ids without pods' names."""
    with cluster(folder, **settings) as lab:
        for number in (1, 2):
            node = lab.request("GET", f"/api/v1/nodes/win{number}")
            node["spec"]["podCIDRs"] = [node["spec"]["podCIDR"], f"fd00:10:244:{number}::/64"]
            lab.request("PUT", f"/api/v1/nodes/win{number}", node)
        report = Smoke(lab).report()
        assert report.failures == ()
        second = [found for found in report.findings if "-second" in found.check.id]
        assert all(found.check.target.startswith("fd00:10:") for found in second)
        return {found.check.id.partition("-second")[0]: found.verdict for found in second}


@pytest.mark.parametrize(
    ("settings", "states"),
    [
        (BOTH, {"pod-to-pod/tcp": "ok", "service/tcp": "ok"}),
        ({"second_pod_network": BOTH["second_pod_network"]}, {"pod-to-pod/tcp": "ok"}),
    ],
)
def test_pods_and_services_of_two_families_are_asked_at_both(
    tmp_path: Path, settings: dict[str, str], states: dict[str, str]
) -> None:
    assert verdicts(tmp_path, **settings) == states
