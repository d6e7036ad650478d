"""The smoke test and density while the API server fails every few requests: the same results as from a calm one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, cycle
from pathlib import Path

import pytest

from tests.lab.cluster.api import Request
from tests.unit.workload_tests.smoke.clusters import Smoke, cluster


def every(number: int, *kinds: str) -> Callable[[Request], str]:
    """One of every `number` requests fails, each time in another way; the first ones succeed."""
    asked, kind = count(1), cycle(kinds)
    return lambda request: next(kind) if next(asked) % number == 0 else ""


@pytest.mark.slow
def test_the_smoke_test_is_green_on_a_cluster_whose_api_server_stumbles(tmp_path: Path) -> None:
    with cluster(tmp_path) as lab:
        calm = Smoke(lab).report()
    with cluster(tmp_path / "again") as lab:
        smoke = Smoke(lab)
        lab.https.trouble = every(4, "reset", "503", "lost", "429")
        found = smoke.report()
        lab.https.trouble = lambda request: ""
    assert found.failures == calm.failures == ()
    assert [(one.check.group, one.verdict) for one in found.findings] == [
        (one.check.group, one.verdict) for one in calm.findings
    ]
