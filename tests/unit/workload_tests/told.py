"""The options of a test as its task has them: what is given, and the documented defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ansible_collections.winkube.node.plugins.plugin_utils.components.options import read
from ansible_collections.winkube.node.plugins.plugin_utils.task.argument_spec import check_arguments
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.cpu_limits import Burning, CpuLimitsOptions
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.density import DensityOptions, Wish
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.readiness import ReadinessOptions
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke import manifests
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke.model import SmokeOptions

T = TypeVar("T")
TAINTS = ("os=windows:NoSchedule",)


def cpu_limits(**given: Any) -> CpuLimitsOptions:
    return _told(CpuLimitsOptions, "cpu_limits", given)


def burning(namespace: str, node: str, run: str = "", **given: Any) -> Burning:
    return Burning(cpu_limits(namespace=namespace, **given), node, run)


def density(namespace: str, until: str, **given: Any) -> Wish:
    return Wish(_told(DensityOptions, "density", given), namespace, until, TAINTS)


def readiness(**given: Any) -> ReadinessOptions:
    return _told(ReadinessOptions, "operational_readiness", given)


def smoke(**given: Any) -> SmokeOptions:
    return _told(SmokeOptions, "smoke", given)


def deployed(
    builds: Mapping[int, int], *, until: str = "", taints: tuple[str, ...] = TAINTS, **given: Any
) -> manifests.Wish:
    return manifests.Wish(smoke(**{"namespace": "smoke", **given}), until, builds, taints, "")


def _told(of: type[T], test: str, given: dict[str, Any]) -> T:
    return read(of, check_arguments("k8s_windows_conformance", {test: given})[test])
