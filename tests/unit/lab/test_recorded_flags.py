"""The lab's programs take the flags that the builds for Windows named when they were asked (tests/recorded/windows)."""

from __future__ import annotations

import re

import pytest

from tests.lab.programs import containerd, flags
from tests.unit.facts.recorded_help import RECORDED, recordings

HIDDEN = {"run-service"}
"""containerd's, for the service manager alone: not in its help."""
OF_CONTAINERD = sorted((RECORDED / "windows").glob("containerd-*.help.txt"))


@pytest.mark.parametrize("path", OF_CONTAINERD, ids=lambda path: path.name)
def test_containerds_flags(path: object) -> None:
    text = path.read_text(encoding="utf-8").partition("GLOBAL OPTIONS:")[2]  # type: ignore[attr-defined]
    # cli v2 (containerd up to 2.3) says "value", v3 "string".
    found = re.findall(r"(?m)^   --([\w-]+)( value| string)?(?:, -(\w)\b(?: value| string)?)?", text)
    values = {name for long, value, short in found if value for name in (long, short) if name}
    switches = {name for long, value, short in found if not value for name in (long, short) if name}
    assert len(values) > 5
    assert values == containerd._VALUES
    assert switches | HIDDEN == containerd._SWITCHES


@pytest.mark.parametrize("program", ["kubelet", "kube-proxy", "kubeadm"])
def test_what_linux_and_the_sources_say_is_what_windows_says(program: str) -> None:
    """For the minors that were recorded for both: so it holds for those between them as well."""
    for recording in recordings(program):
        if recording.system != "windows":
            continue
        minor = flags.minor_of(recording.version)
        hidden = set(flags.HIDDEN.get(program, {})) - set(recording.flags)  # not yet, in an older release
        derived = set(flags.derived(program, minor)) - hidden
        assert derived == set(recording.flags), (program, minor)
