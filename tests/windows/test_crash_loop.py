"""What is recorded of a crash loop is what nssm.exe tells on Wine (for the lab: tests/unit/lab/test_crash_loop.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.windows import crash_loop
from tests.windows.conftest import require
from tests.windows.machine import witness
from tests.windows.programs import cannot_build
from tests.wine import nssm


@pytest.mark.parametrize("version", nssm.BUILDS)
def test_the_recording_is_what_happens(version: str, tmp_path: Path) -> None:
    require("kubeadm", crash_loop.KUBERNETES)
    if not nssm.BUILDS[version].at_hand():
        pytest.skip(f"lane windows: nssm {version} needs {nssm.BUILDS[version].client}")
    if not witness.program().exists() and (why := cannot_build()) is not None:
        pytest.skip(f"lane windows: {why}")
    recorded = crash_loop.recorded()[version]
    with crash_loop.on_wine(tmp_path / "prefix", version) as node:
        found = crash_loop.tell(node)
    assert found.said == recorded.said
    assert found.ends == recorded.ends
    assert "paused" in found.states
