"""What a newcomer sees: `make demo` and `make lab`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.demo.lab import NODE_YAMLS
from tests.integration.lab import ROOT


def run(*command: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """A command of the clone, as `make` runs it."""
    here = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NO_COLOR": "1", **(env or {})}
    return subprocess.run(command, cwd=ROOT, env=here, capture_output=True, text=True, timeout=900, check=False)


@pytest.mark.row("NY-13", "VC-20")
def test_the_demo_shows_all_it_promises() -> None:
    shown = run(sys.executable, "-m", "tests.demo")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    recaps = re.findall(r"^sample\s+: ok=\d+\s+changed=(\d)", shown.stdout, re.MULTILINE)
    assert recaps == ["2", "0"]
    assert "The lab counted 1 remote call." in shown.stdout
    assert "installed containerd 1.7.11 from http://xyz/containerd.exe" in shown.stdout
    assert "containerd: running, start automatic" in shown.stdout
    assert r"address = '\\.\pipe\containerd-containerd'" in shown.stdout
    # Two whole nodes: Ready, and again with one call each.
    nodes = re.findall(r"^(win-[a-z]+)\s+: ok=\d+\s+changed=(\d+)", shown.stdout, re.MULTILINE)
    assert [name for name, changed in nodes if changed == "0"] == ["win-bridge", "win-overlay"]
    assert "win-bridge: Ready, kubelet v1.27.4, containerd://1.7.28" in shown.stdout
    assert "win-overlay: Ready, kubelet v1.37.1, containerd://2.3.7" in shown.stdout
    assert "found 'name: containerd:' with a stray colon at the end" in shown.stdout + shown.stderr


def test_the_commands_that_make_lab_prints_work(tmp_path: Path) -> None:
    started = run(
        sys.executable,
        "-m",
        "tests.lab",
        "start",
        "--detach",
        "--cluster",
        "--dir",
        str(tmp_path / "lab"),
        "--nodes",
        *NODE_YAMLS,
    )
    assert started.returncode == 0, started.stderr
    try:
        env = {"ANSIBLE_SSH_COMMON_ARGS": f"-F {tmp_path / 'lab' / 'ssh_config'}"}
        checked = run("ansible-playbook", "-i", "examples/swdt", "site.yml", "--check", "--diff", env=env)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        assert "would start containerd" in checked.stdout
        shown = run(sys.executable, "-m", "tests.lab", "show", "--dir", str(tmp_path / "lab"), "sample")
        assert "none" in shown.stdout, "check mode has made no service"
        whole = ("-e", f"@{tmp_path / 'lab' / 'whole.yml'}", "--check", "--limit", "win-bridge")
        planned = run("ansible-playbook", "-i", "examples/nodes", "site.yml", *whole, env=env)
        assert planned.returncode == 0, planned.stdout + planned.stderr
        assert "would join the cluster as win-bridge by kubeadm" in planned.stdout
        assert planned.stdout.count("would install nssm 2.24") == 1, "the next role takes it for there"
    finally:
        run(sys.executable, "-m", "tests.lab", "stop", "--dir", str(tmp_path / "lab"))


@pytest.mark.exhaustive
def test_the_loop_ends_with_right_values() -> None:
    """Measure, edit, a build that crashes, fix, push, measure: what docs/push-your-build.md shows."""
    shown = run(sys.executable, "-m", "tests.demo.loop")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "containerd 1.7.12 answered ListContainerStats with 0 millicores" in shown.stdout
    assert "containerd.exe has ended, its exit code 1. Rolled back." in shown.stdout
    assert "win1: containerd replaced" in shown.stdout
    assert "2 looked at, nothing wrong" in shown.stdout
