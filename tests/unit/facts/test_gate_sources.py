"""How the table of feature gates is derived from upstream's sources: tests/real/upstream/gates.py."""

from __future__ import annotations

import pytest

from tests.real.upstream import gates

CONSTANT = """
const (
	Some featuregate.Feature = "SomeGate"
	// someDefault = false while in alpha.
	someDefault = true
)

func featureGates() map[featuregate.Feature]featuregate.FeatureSpec {
	return map[featuregate.Feature]featuregate.FeatureSpec{
		Some: {Default: someDefault, PreRelease: featuregate.Beta},
	}
}
"""


def test_a_default_may_be_a_constant_of_the_file() -> None:
    """As that of ContextualLogging. Source: component-base v0.30.4 logs/api/v1/kube_features.go."""
    assert gates.gates_in([CONSTANT], 30) == {"SomeGate": ("beta", True, False)}
    off = CONSTANT.replace("someDefault = true", "someDefault = false")
    assert gates.gates_in([off], 30) == {"SomeGate": ("beta", False, False)}


def test_a_default_that_is_not_understood_is_no_false() -> None:
    with pytest.raises(ValueError, match="Default: elsewhere"):
        gates.gates_in([CONSTANT.replace("Default: someDefault", "Default: elsewhere")], 30)


def test_an_older_release_stands_in_the_table_where_it_differs_from_the_next() -> None:
    off, on = ("alpha", False, False), ("beta", True, False)
    releases: dict[gates.Release, dict[str, gates.State]] = {
        (27, 0): {"Stays": off},
        (27, 4): {"Stays": off, "Backported": off, "Reverted": on},
        (27, 16): {"Stays": off, "Backported": off, "Reverted": off},
        (28, 15): {"Stays": on, "Backported": off, "Reverted": off},
    }
    text = gates.table({"kubelet": releases, "kube-proxy": releases}, ["1.27.0", "1.27.4", "1.27.16", "1.28.15"])
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert lines == [
        "Backported 1.27.0:gone 1.27:alpha-",
        "Reverted 1.27.0:gone 1.27.4:beta+ 1.27:alpha-",
        "Stays 1.27:alpha- 1.28:beta+",
    ]
