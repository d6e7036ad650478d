"""One reader of quantities, for manifests, kubelet's reservations and what a Node says.

Cases: k8s.io/apimachinery pkg/api/resource quantity_test.go, TestQuantityParse and TestQuantityParseErrors.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts.quantity import quantity, resolve_cpu

from tests.unit.components.test_kubelet_check import problems


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("0n", 0),
        ("1n", Fraction(1, 10**9)),
        ("1u", Fraction(1, 10**6)),
        ("500m", Fraction(1, 2)),
        ("1k", 1000),
        ("1Ki", 1024),
        ("1.5Gi", 1536 * 1024**2),
        (".5", Fraction(1, 2)),
        ("1.", 1),
        ("1E", 10**18),
        ("1Ei", 1024**6),
        ("1e3", 1000),
        ("1E+3", 1000),
        ("1e-3", Fraction(1, 1000)),
        ("+2Gi", 2 * 1024**3),
        ("-1", -1),
        (2, 2),
        (0.5, Fraction(1, 2)),
    ],
)
def test_quantities(text: Any, number: Any) -> None:
    assert quantity(text) == number


@pytest.mark.parametrize(
    "text",
    ["", "1.1.M", "1+1.0M", "0.1mi", "0.1am", "aoeu", ".5i", "1K", "1i", "-3.01i", "2 GB", " 1", "1 ", True, None],
)
def test_what_is_none(text: Any) -> None:
    assert quantity(text) is None


def test_a_reservation_is_whatever_kubelet_takes() -> None:
    """1e9 and +2Gi were refused, while a kubelet takes them; a negative one it refuses."""
    assert problems("1.37.1", system_reserved={"memory": "+2Gi", "cpu": "1e-1"}) == []
    (sentence,) = problems("1.37.1", system_reserved={"memory": "-2Gi"})
    assert "'-2Gi' is not a quantity" in sentence
    with pytest.raises(ValueError, match="'-1' is not a valid CPU quantity"):
        resolve_cpu("-1", 4)
