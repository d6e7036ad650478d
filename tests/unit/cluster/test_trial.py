"""A bootstrap token that is made to try what machines may do, and deleted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.connection import Connection
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.reading import BOOTSTRAP_RIGHTS, KUBEADM_RIGHTS
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.remembered import Remembered
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.trial import Trial, try_token
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret

from .fake import Fake, as_api

SECRETS = "/api/v1/namespaces/kube-system/secrets"
RIGHTS = (*BOOTSTRAP_RIGHTS, *KUBEADM_RIGHTS)


class Bootstrapping(Fake):
    """Knows a token from the request after `lag` on; `tokens` are those that it was asked with."""

    def __init__(self, lag: int = 0) -> None:
        super().__init__()
        self.lag, self.tokens, self.passed = lag, list[str](), 0.0
        made = Connection("https://10.0.0.10:6443", b"", self.send, with_token=self.with_token)
        self.cluster = Cluster(lambda: made)
        self.cluster.clock = Clock(now=lambda: self.passed, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        self.passed += seconds

    def with_token(self, token: Secret[str]) -> Connection:
        def send(method: str, path: str, body: Mapping[str, Any] | None, content_type: str) -> tuple[int, bytes]:
            self.tokens.append(token.reveal())
            assert f"{SECRETS}/bootstrap-token-{token.reveal()[:6]}" in self.objects
            if len(self.tokens) <= self.lag:
                return 401, as_api(method, path, 401, {"message": "Unauthorized"})
            return self.send(method, path, body, content_type)

        return Connection("https://10.0.0.10:6443", b"", send)


@pytest.mark.parametrize(
    ("lag", "waited", "accepted"), [(0, 0, True), (3, 3, True), (10, 10, True), (11, 10, False), (99, 10, False)]
)
def test_a_first_401_is_asked_again_for_ten_seconds(lag: int, waited: int, accepted: bool) -> None:
    fake = Bootstrapping(lag)
    assert try_token(fake.cluster, RIGHTS) == Trial(accepted)
    assert fake.passed == waited
    assert fake.objects == {}, "the token is gone"
    assert [method for method, _path, _body in fake.writes] == ["POST", "DELETE"]


def test_what_its_user_may_not_is_named() -> None:
    fake = Bootstrapping()
    fake.denied = {"create certificatesigningrequests", "get configmaps kubelet-config"}
    found = try_token(fake.cluster, RIGHTS)
    assert found.accepted is True
    assert {each.resource for each in found.lacking} >= {"certificatesigningrequests", "configmaps"}
    assert all(each.name != "kubeadm-config" for each in found.lacking)


def test_nothing_is_tried_where_no_token_may_be_made() -> None:
    fake = Bootstrapping()
    fake.refused["POST", SECRETS] = 403
    assert try_token(fake.cluster, RIGHTS) == Trial(None)
    assert fake.tokens == []


def test_another_error_ends_the_trial_and_the_token() -> None:
    fake = Bootstrapping()
    fake.with_token = lambda _token: replace(  # type: ignore[method-assign,assignment]
        Connection("https://10.0.0.10:6443", b"", fake.send),
        send=lambda method, path, _body, _type: (422, as_api(method, path, 422, {"message": "no"})),
    )
    made = Connection("https://10.0.0.10:6443", b"", fake.send, with_token=fake.with_token)
    fake.cluster = Cluster(lambda: made)
    with pytest.raises(ClusterError):
        try_token(fake.cluster, RIGHTS)
    assert fake.objects == {}


def test_it_is_tried_once_for_all_nodes_of_a_task(tmp_path: Path) -> None:
    fake = Bootstrapping()
    made = Connection("https://10.0.0.10:6443", b"", fake.send, with_token=fake.with_token)
    for _node in range(3):
        remember = Remembered(tmp_path, "task")
        assert try_token(Cluster(lambda: made, remember), RIGHTS) == Trial(True)
        assert not any(token in json.dumps(remember._own) for token in fake.tokens), "no token is remembered"
    assert [method for method, _path, _body in fake.writes] == ["POST", "DELETE"]
