"""The options of a test as its task has them: what is given, and the documented defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.cpu_limits import Burning, CpuLimitsOptions
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.density import DensityOptions, Wish
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.readiness import ReadinessOptions
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke import manifests
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke.model import SmokeOptions

from tests.unit.told import told

MODULE = "k8s_windows_conformance"
TAINTS = ("os=windows:NoSchedule",)


def cpu_limits(**given: Any) -> CpuLimitsOptions:
    return told(CpuLimitsOptions, MODULE, "cpu_limits", **given)


def burning(namespace: str, node: str, run: str = "", **given: Any) -> Burning:
    return Burning(cpu_limits(namespace=namespace, **given), node, run)


def density(namespace: str, until: str, **given: Any) -> Wish:
    return Wish(told(DensityOptions, MODULE, "density", **given), namespace, until, TAINTS)


def readiness(**given: Any) -> ReadinessOptions:
    return told(ReadinessOptions, MODULE, "operational_readiness", **given)


def smoke(**given: Any) -> SmokeOptions:
    return told(SmokeOptions, MODULE, "smoke", **given)


def deployed(
    builds: Mapping[int, int], *, until: str = "", taints: tuple[str, ...] = TAINTS, **given: Any
) -> manifests.Wish:
    return manifests.Wish(smoke(**{"namespace": "smoke", **given}), until, builds, taints, "")
