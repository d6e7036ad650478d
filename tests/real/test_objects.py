"""What a kube-apiserver says of objects of every kind is what the record holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.corpus import objects as corpus
from tests.real import api_server, objects


def test_the_objects_of_the_fixtures_and_of_the_corpus(tmp_path: Path) -> None:
    if command := api_server.missing():
        pytest.skip(f"lane real: kube-apiserver is not there; `{command}` builds it")
    record = corpus.RECORDS / f"{api_server.VERSION.rsplit('.', 1)[0]}.json"
    with api_server.running(tmp_path, without=["ServiceAccount"]) as server:
        assert json.loads(json.dumps(objects.ask(server))) == json.loads(record.read_text(encoding="utf-8"))["verdicts"]
