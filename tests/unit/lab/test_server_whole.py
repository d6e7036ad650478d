"""`start --cluster`: which nodes get a cluster, and what a run of site.yml is led to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import yaml

from tests.lab.server.whole import Wish, wishes

ROOT = Path(__file__).resolve().parents[3]
NODES = ROOT / "examples" / "nodes"
SAMPLE = ROOT / "examples" / "swdt" / "sample.yml"


def test_nodes_that_name_a_release_and_nodes_without_a_file_get_a_cluster() -> None:
    found = wishes([str(SAMPLE), str(NODES / "win-bridge.yml"), str(NODES / "win-overlay.yml"), "win1=10.0.0.2:22"])
    assert found == (
        Wish("win-bridge", "1.27.4", "1.7.28", "l2bridge"),
        Wish("win-overlay", "1.37.1", "2.3.7", "overlay"),
        Wish("win1"),
    )


def test_a_detached_lab_with_clusters(tmp_path: Path) -> None:
    def lab(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tests.lab", *(str(argument) for argument in arguments)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    files = (SAMPLE, NODES / "win-bridge.yml", NODES / "win-overlay.yml")
    started = lab("start", "--cluster", "--detach", "--dir", tmp_path, "--nodes", *files)
    try:
        assert started.returncode == 0, started.stderr
        assert "cluster of win-bridge: Kubernetes 1.27.4 at https://127.0.0.1:" in started.stdout
        assert f"{tmp_path}/kubeconfig has a context for each cluster" in started.stdout
        assert f"-e @{tmp_path}/whole.yml" in started.stdout
        variables = yaml.safe_load((tmp_path / "whole.yml").read_text())
        kubeconfig = yaml.safe_load(Path(variables["winkube_cluster"]["kubeconfig"]).read_text())
        assert [context["name"] for context in kubeconfig["contexts"]] == ["win-bridge", "win-overlay"]
        sums = Path(variables["winkube_download_sums"]).read_text()
        assert "dl.k8s.io/release/v1.27.4/bin/windows/amd64/kubelet.exe" in sums
        assert "dl.k8s.io/release/v1.37.1/bin/windows/amd64/kubelet.exe" in sums
        whole, sample = (lab("dump", "--dir", tmp_path, name).stdout for name in ("win-bridge", "sample"))
        assert ('"vmcompute"' in whole, '"vmcompute"' in sample) == (False, True)
    finally:
        assert lab("stop", "--dir", tmp_path).returncode == 0
