"""Writes tests/recorded/gates-1.N.txt: upstream's own list of feature gates, as a release's repository has it.

    python -m tests.real.upstream.gate_list 1.32.13 1.33.13 ...     from 1.32 on, where the list begins

The lab's kubelet knows its gates from there; the collection's table is made of Go sources (gates.py).
"""

from __future__ import annotations

import sys

import yaml

from tests.real.build import ROOT
from tests.real.upstream.gates import downloaded

PLACES = (
    "test/compatibility_lifecycle/reference/versioned_feature_list.yaml",
    "test/featuregates_linter/test_data/versioned_feature_list.yaml",
)


def recorded(version: str) -> str:
    """`<gate> <default> <locked>` per line, under a header that names the source."""
    minor = int(version.split(".")[1])
    root = downloaded("kubernetes", version)
    place = next(place for place in PLACES if (root / place).is_file())
    lines = [f"# kubernetes v{version} {place}; written by tests/real/upstream/gate_list.py"]
    for gate in yaml.safe_load((root / place).read_text(encoding="utf-8")):
        # A release is compatible with the one before it unless --min-compatibility-version says otherwise.
        specs = [
            one
            for one in gate["versionedSpecs"]
            if _minor(one["version"]) <= minor and _minor(one.get("minCompatibilityVersion") or "1.0") < minor
        ]
        if specs:
            last = specs[-1]
            lines.append(f"{gate['name']} {str(last['default']).lower()} {'locked' if last['lockToDefault'] else '-'}")
    return "\n".join(lines) + "\n"


def _minor(version: str) -> int:
    return int(version.split(".")[1])


def main(versions: list[str]) -> int:
    for version in versions:
        minor = version.split(".")[1]
        (ROOT / "tests" / "recorded" / f"gates-1.{minor}.txt").write_text(recorded(version), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
