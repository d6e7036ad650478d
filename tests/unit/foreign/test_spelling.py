"""The name that was probably meant: nearly the same, whatever its case and its strokes."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.foreign.spelling import meant, nearest


@pytest.mark.parametrize(
    ("word", "known", "found"),
    [
        ("sourceUrl", ["sourceURL", "destination"], "sourceURL"),
        ("kube_proxy", ["kubelet", "kube-proxy"], "kube-proxy"),
        ("kubelett", ["kube-proxy", "kubelet"], "kubelet"),
        ("hostpid", ["hostIPC", "hostPID"], "hostPID"),
        ("cordon", ["kubelet", "kube-proxy"], ""),
        ("x", [], ""),
    ],
)
def test_the_nearest_known_name_is_meant(word: str, known: list[str], found: str) -> None:
    assert meant(word, known) == found


def test_several_stand_with_the_nearest_first_and_as_they_are_written() -> None:
    assert nearest("CNI.absend", ["cni.absent", "cni.Absend", "hns.absent"], 2) == ("cni.Absend", "cni.absent")
