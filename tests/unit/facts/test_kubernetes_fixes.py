"""Which releases of Kubernetes lack which of its own fixes for Windows."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import KNOWN
from ansible_collections.winkube.node.plugins.plugin_utils.facts.kubernetes_fixes import FIXES, READ
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Version

BY_ID = {each.id: each for each in FIXES}
ADDRESS, RECHECK, PANIC = (
    BY_ID[f"winkernel-{name}"] for name in ("address-of-both", "rules-not-rechecked", "panic-without-ports")
)


@pytest.mark.parametrize(
    ("fix", "release", "lacks"),
    [
        (ADDRESS, "1.34.7", True),
        (ADDRESS, "1.34.8", False),
        (ADDRESS, "1.36.0", True),
        (ADDRESS, "1.37.0-rc.1", True),
        (ADDRESS, "1.38.0", False),
        (ADDRESS, "1.33.2", None),
        (RECHECK, "1.33.13", False),
        (RECHECK, "1.34.0", True),
        (PANIC, "1.35.10", True),
        (PANIC, "1.35.11", None),
        (PANIC, "1.36.4", True),
        (PANIC, "1.37.1", False),
    ],
)
def test_a_release_lacks_it_has_it_or_is_not_known_yet(fix: object, release: str, lacks: bool | None) -> None:
    assert fix.lacks(Version.parse(release)) is lacks  # type: ignore[attr-defined]


def test_each_fix_has_a_release_that_was_read_and_known_causes() -> None:
    assert len(BY_ID) == len(FIXES)
    for each in FIXES:
        assert all(release.patch <= READ[release.line] for release in each.mended), each.id
        assert set(each.causes) <= set(KNOWN), each.id
        assert each.network in {"", "l2bridge", "overlay"} and each.program in {"kubelet", "kube-proxy"}
