"""The programs for Linux. Lane `windows` has a fixture of that name for those for Windows."""

from __future__ import annotations

import pytest

from tests.real.upstream.programs import Upstream


@pytest.fixture
def upstream() -> Upstream:
    return Upstream()
