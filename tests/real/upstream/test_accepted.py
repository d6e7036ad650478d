"""Lanes `real` and `windows`: kubelet and kube-proxy of several minors parse what we render, and refuse what our tables
refuse.

With --version behind the arguments both programs parse them all and then exit 0, or 1 with "unknown flag". A build for
Linux gets a line without the flags that only Windows builds have (tests/recorded/system-flags.txt).
"""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.kube_proxy import kube_proxy_args
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import kubelet_args
from ansible_collections.winkube.node.plugins.plugin_utils.facts.feature_gates import problem
from ansible_collections.winkube.node.plugins.plugin_utils.facts.flags import KUBE_PROXY, KUBELET, FlagTable
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line

from tests.real import build
from tests.real.upstream.programs import Upstream
from tests.unit.components.nodes import wanted_kube_proxy, wanted_kubelet


@pytest.mark.parametrize("version", build.EVERY_KUBERNETES)
def test_a_real_kubelet_takes_our_arguments(version: str, upstream: Upstream) -> None:
    runtimes = ["containerd"]
    if Line.parse(version) < kubelet_args.DOCKERSHIM_ENDS:
        runtimes.append("dockershim")
    for runtime in runtimes:
        wanted = wanted_kubelet(
            version,
            container_runtime=runtime,
            pause_image="registry.k8s.io/pause:3.9",
            kube_reserved={"cpu": "200m"},
            eviction_hard={"memory.available": "500Mi"},
            labels={"tier": "web"},
            node_ip="10.0.0.5",
        )
        arguments = upstream.own(kubelet_args.arguments(wanted), KUBELET)
        done = upstream.run("kubelet", version, [*arguments, "--version"])
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == f"Kubernetes v{version}"


@pytest.mark.parametrize("version", build.EVERY_KUBERNETES)
def test_a_real_kube_proxy_takes_our_arguments(version: str, upstream: Upstream) -> None:
    wanted = wanted_kube_proxy(version, "overlay", source_vip="10.244.2.3")
    arguments = upstream.own(kube_proxy_args.arguments(wanted), KUBE_PROXY)
    done = upstream.run("kube-proxy", version, [*arguments, "--version"])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("name", "table"), [("kubelet", KUBELET), ("kube-proxy", KUBE_PROXY)])
@pytest.mark.parametrize("version", build.EVERY_KUBERNETES)
def test_each_flag_is_known_or_refused_as_the_table_says(
    version: str, name: str, table: FlagTable, upstream: Upstream
) -> None:
    """Also those that --help hides. A value that no flag takes tells a known flag from an unknown one as well."""
    known = table.list_known(Line.parse(version), upstream.system) - {"help", "version"}

    def asked(flag: str) -> subprocess.CompletedProcess[str]:
        value = "true" if table.flags[flag].boolean else "1"
        return upstream.run(name, version, [f"--{flag}={value}", "--version"])

    first, *others = sorted(table.flags.keys() - {"help", "version"})
    answers = {first: asked(first)}  # by itself: it may have to place the program
    with ThreadPoolExecutor(2) as pool:
        answers |= zip(others, pool.map(asked, others), strict=True)
    for flag, done in answers.items():
        assert ("unknown flag" in done.stderr) is (flag not in known), f"--{flag}: {done.stderr[:300]}"


@pytest.mark.parametrize("version", build.EVERY_KUBERNETES)
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
def test_a_gate_is_taken_or_refused_as_the_table_says(
    version: str, gate: str, value: bool, tmp_path: Path, upstream: Upstream
) -> None:
    written = tmp_path / "kube-proxy.yaml"
    done = upstream.run(
        "kube-proxy",
        version,
        [f"--feature-gates={gate}={str(value).lower()}", f"--write-config-to={upstream.path(written)}"],
    )
    refused = problem("kube-proxy", gate, value, Line.parse(version)) is not None
    said = f"{done.stdout}{done.stderr}"
    assert ("unrecognized feature gate" in said or "feature is locked" in said) is refused, said[-400:]
