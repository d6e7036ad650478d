"""The three kinds of probes are Kubernetes' own and not specific to Windows: never a finding."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import NEWEST_MINOR, OLDEST_MINOR, Profile
from ansible_collections.winkube.node.plugins.plugin_utils.lint.sources import read_paths

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  os: {name: windows}
  nodeSelector: {kubernetes.io/os: windows}
  containers:
    - name: web
      image: mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022
      resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {cpu: "1", memory: 1Gi}}
      PROBES
"""
PROBE = "{httpGet: {path: /, port: 80}}"
KINDS = ("startupProbe", "livenessProbe", "readinessProbe")


def findings(directory: Path, minor: int, *probes: str) -> set[str]:
    path = directory / "pod.yml"
    path.write_text(POD.replace("PROBES", "\n      ".join(f"{kind}: {PROBE}" for kind in probes)), encoding="utf-8")
    return {f"{each.rule} {each.path}" for each in lint(read_paths([str(path)]), Profile(minor=minor)).findings}


@pytest.mark.row("VC-18")
@pytest.mark.parametrize("minor", range(OLDEST_MINOR, NEWEST_MINOR + 1))
def test_a_startup_probe_is_accepted_in_every_version(tmp_path: Path, minor: int) -> None:
    assert findings(tmp_path, minor, *KINDS) == findings(tmp_path, minor)
    assert not any("startupProbe" in each for each in findings(tmp_path, minor, *KINDS))


@pytest.mark.row("VC-18")
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_probe_runs_is_judged_alike_in_all_three(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "pod.yml"
    probe = "{exec: {command: [/bin/sh, -c, 'true']}}"
    path.write_text(POD.replace("PROBES", f"{kind}: {probe}"), encoding="utf-8")
    found = lint(read_paths([str(path)]), Profile()).findings
    missing = [each.path for each in found if each.rule == "missing-program"]
    assert missing == [f"spec.containers[0].{kind}.exec.command"]
