"""Reset, take_over and a switch of the network mode ask who is meant, before the first of several hosts changes."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.filter.k8s_windows_unconfirmed import k8s_windows_unconfirmed

HOSTS = ["win1", "win2", "win3"]


@pytest.mark.parametrize("answer", ["win1,win2,win3", "win3, WIN2,win1", ["win1", "win2", "win3"], "3", 3])
def test_the_names_or_the_number_of_all_hosts_confirm(answer: Any) -> None:
    assert k8s_windows_unconfirmed(answer, HOSTS, "winkube_reset") == ""


@pytest.mark.parametrize("answer", [True, "true", "yes", "win1", 1])
def test_true_confirms_a_single_host(answer: Any) -> None:
    assert k8s_windows_unconfirmed(answer, ["win1"], "winkube_reset") == ""


@pytest.mark.parametrize("answer", [True, "true", "", "win1", "win1,win2", "win1,win2,win3,win4", "2", 10, "all", None])
def test_any_other_answer_for_several_hosts_names_them_and_the_line_to_paste(answer: Any) -> None:
    sentence = k8s_windows_unconfirmed(answer, HOSTS, "winkube_reset")
    assert "works on win1, win2, win3" in sentence
    assert "add -e winkube_reset=win1,win2,win3 (or their number, winkube_reset=3)" in sentence


@pytest.mark.parametrize("answer", [False, "false", "", "win2", 2])
def test_a_single_host_wants_a_yes(answer: Any) -> None:
    assert "add -e winkube_reset=true;" in k8s_windows_unconfirmed(answer, ["win1"], "winkube_reset")
