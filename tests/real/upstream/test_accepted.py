"""Lane `real`: kubelet and kube-proxy of several minors parse what we render, and refuse what our tables refuse.

With --version behind the arguments both programs parse them all and then exit 0, or 1 with "unknown flag". They are
Linux builds: flags that only Windows builds have (tests/recorded/system-flags.txt) are left out of the line.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components import kube_proxy_args, kubelet_args
from ansible_collections.winkube.node.plugins.plugin_utils.components.kube_proxy_args import KubeProxySettings
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet_args import KubeletSettings
from ansible_collections.winkube.node.plugins.plugin_utils.facts.feature_gates import problem
from ansible_collections.winkube.node.plugins.plugin_utils.facts.flag_table import FlagTable
from ansible_collections.winkube.node.plugins.plugin_utils.facts.kube_proxy_flags import KUBE_PROXY
from ansible_collections.winkube.node.plugins.plugin_utils.facts.kubelet_flags import KUBELET
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line, Version

from tests.real import build


def run(name: str, version: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """The program's answer; skips where it was not built."""
    program = build.program(name, version)
    if not program.exists():
        pytest.skip(
            f"lane real: {name} {version} is not there; `python -m tests.real.build {name}@{version}` builds it"
        )
    command = [str(program), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env={"HOME": "/"})


def for_linux(arguments: Sequence[str], table: FlagTable) -> list[str]:
    """Without the flags that only a Windows build has."""
    windows = {flag.name for flag in table.flags.values() if flag.system == "windows"}
    return [argument for argument in arguments if argument[2:].partition("=")[0] not in windows]


@pytest.mark.parametrize("version", build.KUBERNETES_VERSIONS)
def test_a_real_kubelet_takes_our_arguments(version: str) -> None:
    wanted = KubeletSettings(
        Version.parse(version),
        "win1",
        pause_image="registry.k8s.io/pause:3.9",
        image_pipe="containerd-containerd",
        kube_reserved={"cpu": "200m"},
        eviction_hard={"memory.available": "500Mi"},
        labels={"tier": "web"},
        node_ip="10.0.0.5",
    )
    runtimes: list[kubelet_args.Runtime] = ["containerd"]
    if Line.parse(version) < kubelet_args.DOCKERSHIM_ENDS:
        runtimes.append("dockershim")
    for runtime in runtimes:
        arguments = for_linux(kubelet_args.arguments(replace(wanted, runtime=runtime)), KUBELET)
        done = run("kubelet", version, [*arguments, "--version"])
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == f"Kubernetes v{version}"


@pytest.mark.parametrize("version", build.KUBERNETES_VERSIONS)
def test_a_real_kube_proxy_takes_our_arguments(version: str) -> None:
    wanted = KubeProxySettings(Version.parse(version), "win1", mode="overlay", source_vip="10.244.2.3")
    done = run("kube-proxy", version, [*for_linux(kube_proxy_args.arguments(wanted), KUBE_PROXY), "--version"])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("name", "table"), [("kubelet", KUBELET), ("kube-proxy", KUBE_PROXY)])
@pytest.mark.parametrize("version", build.KUBERNETES_VERSIONS)
def test_each_flag_is_known_or_refused_as_the_table_says(version: str, name: str, table: FlagTable) -> None:
    """Also those that --help hides. A value that no flag takes tells a known flag from an unknown one as well."""
    known = table.known(Line.parse(version), "linux") - {"help", "version"}
    for flag in sorted(table.flags.keys() - {"help", "version"}):
        value = "true" if table.flags[flag].boolean else "1"
        done = run(name, version, [f"--{flag}={value}", "--version"])
        assert ("unknown flag" in done.stderr) is (flag not in known), f"--{flag}: {done.stderr[:300]}"


@pytest.mark.parametrize("version", build.KUBERNETES_VERSIONS)
@pytest.mark.parametrize(
    ("gate", "value"),
    [
        ("WinDSR", True),
        ("WinDSR", False),
        ("WinOverlay", False),
        ("IdentifyPodOS", True),
        ("PodAndContainerStatsFromCRI", True),
    ],
)
def test_a_gate_is_taken_or_refused_as_the_table_says(version: str, gate: str, value: bool, tmp_path: Path) -> None:
    written = tmp_path / "kube-proxy.yaml"
    done = run("kube-proxy", version, [f"--feature-gates={gate}={str(value).lower()}", f"--write-config-to={written}"])
    refused = problem("kube-proxy", gate, value, Line.parse(version)) is not None
    said = f"{done.stdout}{done.stderr}"
    assert ("unrecognized feature gate" in said or "feature is locked" in said) is refused, said[-400:]
