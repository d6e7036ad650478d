"""kube-log-runner's source: which releases are taken."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components import log_runner
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused


def wanted(version: str) -> object:
    return log_runner.find_source(
        version=version,
        url="https://example.com/kube-log-runner.exe",
        checksum="sha256:" + "0" * 64,
        proxy=None,
        unverified=(),
        read_url=lambda address: pytest.fail(f"read {address}"),
    )


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        ("newest", "winkube_log_runner_version is 'newest'; wanted is a release such as '1.29.0' or '2.0.0-rc.1'."),
        ("1.36", "winkube_log_runner_version is '1.36', which names the release line 1.36 and no release"),
        ("1.21.0", "winkube_log_runner_version: kube-log-runner 1.21.0 has no limit for its log"),
    ],
)
def test_refused_by_the_name_of_the_variable(version: str, sentence: str) -> None:
    with pytest.raises(Refused) as refused:
        wanted(version)
    assert sentence in str(refused.value)
