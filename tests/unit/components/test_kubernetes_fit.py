"""A release is parsed once, where an option names it; an invalid one is refused there with the option's name."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components import kubernetes_fit
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line, Version


@pytest.mark.parametrize(
    ("what", "text", "sentence"),
    [
        ("containerd version", "1.7", "containerd version is '1.7', which names the release line 1.7 and no release"),
        ("winkube_flannel_version", "new", "winkube_flannel_version is 'new'; wanted is a release"),
        pytest.param(
            "kubernetes_version", "1.35", "kubernetes_version .* write the patch number", marks=pytest.mark.row("VC-20")
        ),
    ],
)
def test_what_is_no_release_is_refused(what: str, text: str, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        kubernetes_fit.release(text, what)


def test_a_release_is_what_its_text_says() -> None:
    assert kubernetes_fit.release("v2.3.7", "containerd version") == Version(2, 3, 7)
    assert kubernetes_fit.kubernetes_line("1.29.3") == Line(1, 29)
    assert kubernetes_fit.kubernetes_line("") is None
