"""winkube_serial, as it comes from an inventory or a command line, as the batches of a play."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.winkube.node.plugins.filter.k8s_windows_batches import k8s_windows_batches


@pytest.mark.parametrize(
    ("given", "batches"),
    [
        (1, ["1"]),
        ("25%", ["25%"]),
        ("1, 25%,100%", ["1", "25%", "100%"]),
        ([1, "50%"], ["1", "50%"]),
    ],
)
def test_numbers_and_percentages(given: Any, batches: list[str]) -> None:
    assert k8s_windows_batches(given) == batches


@pytest.mark.parametrize(("given", "named"), [("abc", "abc"), (0, "0"), ("1;2", "1;2"), ([1, "-5%"], "-5%"), ("", "")])
def test_what_is_neither_is_a_sentence(given: Any, named: str) -> None:
    with pytest.raises(AnsibleFilterError, match=f"winkube_serial: '{named}' is neither a number of nodes nor a perc"):
        k8s_windows_batches(given)
