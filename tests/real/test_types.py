"""What a kube-apiserver says of the planted types is what the record holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus import types
from tests.real import api_server, decoder


def test_the_planted_types(tmp_path: Path) -> None:
    if command := api_server.missing():
        pytest.skip(f"lane real: kube-apiserver is not there; `{command}` builds it")
    with api_server.running(tmp_path, without=["ServiceAccount"]) as server:
        assert decoder.ask(server) == types.verdicts(api_server.VERSION.rsplit(".", 1)[0])


def test_a_control_is_one_and_a_mistake_is_one() -> None:
    said = types.verdicts(api_server.VERSION.rsplit(".", 1)[0])
    wrong = [
        each.name
        for each in types.planted()
        if each.control != (said[each.name]["status"] == 201 and not said[each.name]["warns"])
    ]
    assert not wrong
