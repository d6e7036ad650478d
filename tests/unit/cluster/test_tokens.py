"""Bootstrap tokens: as kubeadm makes them, and deleted when they are no longer needed."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.answer import Answer
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.connection import Connection
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.endpoint import (
    bootstrap_token,
    make_token,
    token_secret,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret

from tests.unit.cluster.fake import Fake

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.row("JR-01")
def test_the_secret_is_kubeadms_own_and_ends_in_15_minutes() -> None:
    assert token_secret(Secret("abcdef.0123456789abcdef"), "join of win1", NOW) == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "bootstrap-token-abcdef", "namespace": "kube-system"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "token-id": "abcdef",
            "token-secret": "0123456789abcdef",
            "description": "winkube.node: join of win1",
            "expiration": "2026-11-21T12:15:00Z",
            "usage-bootstrap-signing": "true",
            "usage-bootstrap-authentication": "true",
            "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
        },
    }


def test_tokens_are_of_the_form_and_differ() -> None:
    tokens = {make_token().reveal() for _ in range(20)}
    assert len(tokens) == 20
    assert all(re.fullmatch(r"[a-z0-9]{6}\.[a-z0-9]{16}", token) for token in tokens)


@pytest.mark.row("JR-01")
def test_a_token_is_there_while_it_is_used_and_gone_after_a_failure() -> None:
    fake = Fake()
    with pytest.raises(RuntimeError), bootstrap_token(fake.cluster, "win1") as token:
        path = f"/api/v1/namespaces/kube-system/secrets/bootstrap-token-{token.reveal()[:6]}"
        assert base64.b64decode(fake.objects[path]["data"]["token-secret"]).decode() == token.reveal()[7:]
        raise RuntimeError
    assert fake.objects == {}
    assert [method for method, _, _ in fake.writes] == ["POST", "DELETE"]


def test_a_token_of_a_controller_whose_clock_is_behind_is_not_over_when_it_is_made() -> None:
    fake, dates = Fake(), list[str]()

    def send(method: str, path: str, body: Mapping[str, Any] | None, content_type: str) -> Answer:
        dates.append("Fri, 21 Nov 2036 12:00:00 GMT")
        return Answer(*fake.send(method, path, body, content_type))

    cluster = Cluster(lambda: Connection("https://api", b"", send, dates=dates))
    with bootstrap_token(cluster, "win1"):
        (made,) = fake.objects.values()
        assert base64.b64decode(made["data"]["expiration"]).decode() == "2036-11-21T12:15:00Z"


def test_a_server_that_tells_no_time_is_no_reason_to_make_none() -> None:
    fake = Fake()
    with bootstrap_token(fake.cluster, "win1"):
        (made,) = fake.objects.values()
    ends = datetime.fromisoformat(base64.b64decode(made["data"]["expiration"]).decode())
    assert 14 < (ends - datetime.now(UTC)).total_seconds() / 60 < 16
