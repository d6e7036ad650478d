"""For `pytest --molecule molecule/<scenario>`: the scenario of a real machine needs one."""

from __future__ import annotations

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("WINKUBE_TEST_HOST"):
        return
    for item in items:
        if item.path.parent.name == "windows":
            item.add_marker(pytest.mark.skip(reason="WINKUBE_TEST_HOST names no Windows machine (docs/molecule.md)"))
