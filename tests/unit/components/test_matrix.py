"""Every Windows x Kubernetes x containerd that fits has a plan: the components' own, over a bare machine, both network
modes, both service managers. What does not fit is refused by node_fit (test_node_fit.py has the axes)."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import jinja2
import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components import log_runner, nssm
from ansible_collections.winkube.node.plugins.plugin_utils.components.cni import cni
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd import containerd, containerd_config
from ansible_collections.winkube.node.plugins.plugin_utils.components.host import host, node_fit
from ansible_collections.winkube.node.plugins.plugin_utils.components.host.options import HostOptions, NetworkOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.kube_proxy import kube_proxy
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import kubelet
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubernetes_fit import pause_image
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key, merge_queries
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.programs import Source
from ansible_collections.winkube.node.plugins.plugin_utils.facts.containerd import MINIMUM, RELEASE_LINES
from ansible_collections.winkube.node.plugins.plugin_utils.facts.flags import OLDEST
from ansible_collections.winkube.node.plugins.plugin_utils.facts.kubernetes import KUBERNETES_LINES, SUPPORTED
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line, Version
from ansible_collections.winkube.node.plugins.plugin_utils.facts.windows import WINDOWS_RELEASES, list_builds

from .nodes import LAYOUT, bare, running, wanted_containerd, wanted_kube_proxy, wanted_kubelet
from .test_host import ADAPTERS

pytestmark = pytest.mark.slow

MARK = "0123456789abcdef0123456789abcdef"
TEMPLATE = Path(__file__).parents[3] / "roles" / "containerd" / "templates" / "config.toml.j2"
LINES = [row.line for row in KUBERNETES_LINES]
BUILDS = [release.build for release in WINDOWS_RELEASES]
RUNTIMES = [f"{row.line}.99" for row in RELEASE_LINES]
"""A late release of each line; which patch release is recommended is tested elsewhere."""
SOURCE = Source("https://example.com/x", "a" * 64, "1")
JINJA = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
CONFIG_TEMPLATE = JINJA.from_string(TEMPLATE.read_text(encoding="utf-8"))


def wanted_host(line: Line, runtime: str, mode: str) -> HostOptions:
    network = NetworkOptions(mode=mode)
    return HostOptions(kubernetes_version=f"{line}.0", containerd_version=runtime, network=network)


def fits(line: Line, runtime: str, build: int, mode: str) -> bool:
    wanted = wanted_host(line, runtime, mode)
    return not node_fit.problems(node_fit.Machine(build, 9999), wanted).refusals


@cache
def machine(build: int) -> Reading:
    """An empty machine of this build, with only the kubeconfigs that the join writes."""
    queries = merge_queries(
        query for each in (host, cni, containerd, kubelet, kube_proxy) for query in each.reads(LAYOUT)
    )
    system = {"machine": "m-1", "boot_id": "b-1", "elevated": True, "os": {"build": build, "revision": 9999}}
    there = {"exists": True, "kind": "file"}
    parts: dict[str, Any] = {"system": system, "adapters": ADAPTERS}
    parts |= {file_key(path): there for path in (LAYOUT.kubelet_kubeconfig, LAYOUT.kube_proxy_kubeconfig)}
    parts[file_key(LAYOUT.log_runner)] = there
    parts[file_key(LAYOUT.nssm)] = {**there, "version": "2.24"}
    return bare(queries).merge(parts)


@cache
def of_kubernetes(line: Line, build: int, mode: str, manager: str) -> dict[str, bool]:
    """Which components that no containerd changes have work on that machine: all of them."""
    reading, version = machine(build), Version(line.major, line.minor, 1)
    tool = (nssm if manager == "nssm" else log_runner).build_resources(LAYOUT, None, MARK)
    image = pause_image("", line, "kubernetes", build)
    of_kubelet = wanted_kubelet(str(version), "kubeadm", manager, pause_image=image)
    vip: dict[str, Any] = {"source_vip": "10.244.3.2", "pod_cidr": "10.244.3.0/24"} if mode == "overlay" else {}
    of_proxy = wanted_kube_proxy(str(version), mode, **vip)
    resources = {
        "cni": cni.build_resources(cni.CniArgs(LAYOUT, SOURCE, SOURCE, mark=MARK)),
        "kubelet": kubelet.build_resources(
            kubelet.KubeletArgs(of_kubelet, SOURCE, running(manager, tool), configured=True, mark=MARK)
        ),
        "kube-proxy": kube_proxy.build_resources(
            kube_proxy.KubeProxyArgs(of_proxy, SOURCE, running(manager, tool), mark=MARK), reading
        ),
    }
    return {name: make_plan(name, wanted, reading).changed for name, wanted in resources.items()}


def plans(line: Line, runtime: str, build: int, mode: str, manager: str) -> dict[str, bool]:
    """The same of all components."""
    reading = machine(build)
    wanted = wanted_host(line, runtime, mode)
    image = pause_image("", line, "kubernetes", build)
    of_runtime = wanted_containerd(runtime, image)
    config = CONFIG_TEMPLATE.render(containerd_config.template_variables(of_runtime))
    of_containerd = containerd.ContainerdArgs(of_runtime, SOURCE, archive=True, config=config, mark=MARK)
    resources = {
        "host": host.build_resources(host.Host(wanted, LAYOUT), reading),
        "containerd": containerd.build_resources(of_containerd),
    }
    made = {name: make_plan(name, wanted, reading).changed for name, wanted in resources.items()}
    return made | of_kubernetes(line, build, mode, manager)


@pytest.mark.row("VC-20")
@pytest.mark.parametrize("line", [line for line in LINES if line >= OLDEST], ids=str)
def test_what_fits_has_a_plan(line: Line) -> None:
    found = 0
    for runtime, build, (mode, manager) in product(RUNTIMES, BUILDS, [("l2bridge", "nssm"), ("overlay", "sc")]):
        if fits(line, runtime, build, mode):
            found += 1
            made = plans(line, runtime, build, mode, manager)
            assert all(made.values()), (line, runtime, build, mode, made)
    assert found, f"Kubernetes {line} has no containerd or no Windows at all"


@pytest.mark.row("VC-01", "VC-02", "VC-03")
@pytest.mark.parametrize("line", [line for line in LINES if line >= OLDEST], ids=str)
def test_the_builds_that_fit_are_those_of_the_table(line: Line) -> None:
    """With a fitting containerd; a supported build without a pause image does not fit."""
    runtime = next(runtime for runtime in RUNTIMES if any(fits(line, runtime, build, "l2bridge") for build in BUILDS))
    fitting = {build for build in BUILDS if fits(line, runtime, build, "l2bridge")}
    assert fitting <= set(list_builds(line))
    assert {17763, 20348} & fitting == {17763, 20348} & set(list_builds(line))


def test_every_supported_line_has_a_containerd_for_every_build() -> None:
    for line in SUPPORTED:
        for build in list_builds(line):
            assert [runtime for runtime in RUNTIMES if fits(line, runtime, build, "overlay")], (line, build)


def test_what_no_table_has_is_refused() -> None:
    assert not fits(Line(1, 21), "1.7.99", 17763, "l2bridge")
    assert not any(fits(line, "1.3.9", 20348, "l2bridge") for line in LINES)
    assert Version.parse("1.3.9") < MINIMUM
    assert not any(fits(line, "2.3.99", build, "l2bridge") for line in LINES for build in (14393, 16299, 17134))
    assert not any(fits(line, "2.3.99", 25398, "l2bridge") for line in LINES)
