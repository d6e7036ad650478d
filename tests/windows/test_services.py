"""Whether a program speaks to the service manager: what the components declare, against the builds for Windows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import DAEMONS

from tests.real import build
from tests.windows.conftest import require

SPEAKS = b"golang.org/x/sys/windows/svc.Run"
"""The function that a Go program answers the service manager with; its name stays in a program without symbols."""


@pytest.mark.parametrize(
    ("name", "version"), [(name, version) for _, version, names in build.WINDOWS for name in names if name in DAEMONS]
)
def test_a_program_speaks_to_the_service_manager_or_does_not(
    name: str, version: str, judged: Callable[..., None]
) -> None:
    speaks = SPEAKS in require(name, version).read_bytes()
    assert speaks == (DAEMONS[name].kind.native_flag is not None)
    judged(name, version, "", "whether it can be a service by itself")
