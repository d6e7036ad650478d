"""The real kube-log-runner.exe: our flags, what it keeps of a program, and that it gives a new file at the size."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.log_runner import wrapper
from ansible_collections.winkube.node.plugins.plugin_utils.components.shared_options import LogOptions
from ansible_collections.winkube.node.plugins.plugin_utils.facts.service_wrappers import LOG_RUNNER_ROTATES
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line

from tests.windows.programs import Programs, built

NAME = "kube-log-runner"
VERSIONS = [version for version in built(NAME) if Line.parse(version) >= LOG_RUNNER_ROTATES]
"""Those that know our flags."""

pytestmark = pytest.mark.skipif(
    not VERSIONS, reason="lane windows: kube-log-runner.exe is not built; `make windows` builds it"
)


@pytest.mark.parametrize("version", VERSIONS)
def test_it_keeps_what_a_program_prints_under_our_flags(windows: Programs, version: str) -> None:
    """It starts a copy of itself, which complains that it has nothing to run: that complaint is in the file."""
    inner = windows.place(NAME, version)
    log = rf"C:\programs\{version}\kubelet.log"
    _runner, *flags = wrapper(inner, log, LogOptions(max_mb=1, keep_days=2))
    for _ in range(2):
        windows.run(NAME, version, [*flags, inner])
    kept = windows.prefix.path(log).read_text(encoding="utf-8", errors="replace")
    assert kept.count("not enough arguments to run") == 2, kept


@pytest.mark.parametrize("version", VERSIONS)
def test_a_flag_that_is_none_ends_it(windows: Programs, version: str) -> None:
    found = windows.run(NAME, version, ["-log-file-sizes=1Mi", "x"])
    assert found.exit == 2
    assert "flag provided but not defined: -log-file-sizes" in found.said
