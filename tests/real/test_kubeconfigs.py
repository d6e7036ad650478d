"""What client-go makes of the table of kubeconfigs today is what the record holds."""

from __future__ import annotations

import json

import pytest

from tests.real import kubeconfig_reader
from tests.unit.cluster.kubeconfigs import RECORD


def test_the_record_is_what_client_go_says() -> None:
    if not kubeconfig_reader.PROGRAM.is_built:
        pytest.skip("lane real: kubeconfig_reader is not there; `python -m tests.real.kubeconfig_reader` builds it")
    kept = json.loads(RECORD.read_text(encoding="utf-8"))
    assert (kept["client-go"], kept["answers"]) == (kubeconfig_reader.CLIENT_GO, kubeconfig_reader.answers())
