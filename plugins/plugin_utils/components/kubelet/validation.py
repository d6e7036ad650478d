# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules by which a kubelet validates its configuration before it runs, over its release lines.

Source: kubernetes v1.22.17, v1.27.16, v1.30.14 to v1.37.2 pkg/kubelet/apis/config/validation/validation.go. What cannot
be broken from Windows' settings, or only by several gates together (FeatureGate.Validate, from 1.36 on), is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ...facts import feature_gates, kubelet_config
from ...facts.version import Line, Version
from .duration import nanoseconds


def broken_rules(values: Mapping[str, Any], line: Line, version: Version) -> Iterator[tuple[str, str]]:
    """(dotted path, why the kubelet ends). `values` are flat, with the defaults."""
    yield from _Rules(values, line, version).all()


def is_on(gate: str, values: Mapping[str, Any], version: Version) -> bool:
    """Whether a gate is on; one that this release has dropped stays as it was last."""
    given = values.get("featureGates") or {}
    found = feature_gates.gate("kubelet", gate, version)
    if found is None:
        first = feature_gates.first_line("kubelet", gate)
        return first is not None and first < version.line
    if found.locked:
        return found.default
    group = {"alpha": "AllAlpha", "beta": "AllBeta"}.get(found.stage, "")
    return bool(given.get(gate, given.get(group, found.default)))


class _Rules:
    def __init__(self, values: Mapping[str, Any], line: Line, version: Version) -> None:
        self.values, self.line, self.version = values, line, version
        self.fields = kubelet_config.fields(line)

    def _on(self, gate: str) -> bool:
        return is_on(gate, self.values, self.version)

    def all(self) -> Iterator[tuple[str, str]]:
        values = self.values
        for path, (low, high) in kubelet_config.RANGES.items():
            value = values.get(path)
            if not isinstance(value, int) or isinstance(value, bool) or path not in self.fields:
                continue
            if value < low or (high is not None and value > high):
                limit = f"from {low} to {high}" if high is not None else f"{low} or more"
                yield path, f"{value} is not {limit}; the kubelet ends on it."
        for path, choices in kubelet_config.CHOICES.items():
            value = values.get(path)
            if isinstance(value, str) and path in self.fields and value not in choices:
                words = ", ".join(word or '""' for word in choices)
                yield path, f"{value!r} is not one of {words}; the kubelet ends on it."
        for path, gate in kubelet_config.NEEDS_GATE.items():
            value = values.get(path)
            if path in self.fields and value and not is_zero(value) and not self._on(gate):
                yield path, f"it needs the feature gate {gate}; the kubelet ends on it."
        yield from self._images()
        yield from self._shutdown()
        yield from self._cgroups()
        yield from self._others()

    def _images(self) -> Iterator[tuple[str, str]]:
        values = self.values
        low, high = values.get("imageGCLowThresholdPercent"), values.get("imageGCHighThresholdPercent")
        if isinstance(low, int) and isinstance(high, int) and low >= high:
            yield "imageGCLowThresholdPercent", f"{low} is not less than imageGCHighThresholdPercent {high}."
        most, least = values.get("imageMaximumGCAge"), values.get("imageMinimumGCAge")
        if "imageMaximumGCAge" in self.fields and (_ns(most) < 0 or 0 < _ns(most) <= _ns(least)):
            yield "imageMaximumGCAge", f"{most} is not more than imageMinimumGCAge {least}."
        if self.line >= Line(1, 37) and _ns(least) < 0:
            yield "imageMinimumGCAge", f"{least} is negative."
        parallel = values.get("maxParallelImagePulls")
        if isinstance(parallel, int) and parallel > 1 and values.get("serializeImagePulls") is True:
            yield (
                "maxParallelImagePulls",
                f"{parallel} needs serializeImagePulls: false, which has to stand beside it: where only a drop-in sets "
                "the number, the default true of config.yaml stays.",
            )
        policy = "imagePullCredentialsVerificationPolicy"
        value, allowed = values.get(policy), values.get("preloadedImagesVerificationAllowlist")
        if policy not in self.fields:
            return
        if self._on("KubeletEnsureSecretPulledImages"):
            if value and value not in kubelet_config.PULL_POLICIES:
                yield policy, f"{value!r} is not one of {', '.join(kubelet_config.PULL_POLICIES)}."
            if allowed and value != "NeverVerifyAllowlistedImages":
                yield "preloadedImagesVerificationAllowlist", f"it needs {policy}: NeverVerifyAllowlistedImages."
        else:
            for path in (policy, "preloadedImagesVerificationAllowlist"):
                if values.get(path):
                    yield path, "it needs the feature gate KubeletEnsureSecretPulledImages."

    def _shutdown(self) -> Iterator[tuple[str, str]]:
        total, critical = (
            self.values.get("shutdownGracePeriod"),
            self.values.get("shutdownGracePeriodCriticalPods"),
        )
        if not self._on("GracefulNodeShutdown"):
            if _ns(total) > 0 or _ns(critical) > 0:
                yield "shutdownGracePeriod", "it needs the feature gate GracefulNodeShutdown; the kubelet ends on it."
        else:
            if _ns(critical) > _ns(total):
                yield "shutdownGracePeriodCriticalPods", f"{critical} is more than shutdownGracePeriod {total or '0s'}."
            for path, value in (("shutdownGracePeriod", total), ("shutdownGracePeriodCriticalPods", critical)):
                if _ns(value) < 0 or 0 < _ns(value) < 10**9:
                    yield path, f"{value} is neither 0s nor 1s and more."
        path = "shutdownGracePeriodByPodPriority"
        both = self.values.get(path) and (_ns(total) > 0 or _ns(critical) > 0)
        if both and self._on("GracefulNodeShutdownBasedOnPodPriority"):
            yield path, "it cannot stand beside shutdownGracePeriod."

    def _cgroups(self) -> Iterator[tuple[str, str]]:
        values = self.values
        qos, enforce = values.get("cgroupsPerQOS"), values.get("enforceNodeAllocatable")
        enforced = [str(item) for item in enforce] if isinstance(enforce, list) else []
        path = "enforceNodeAllocatable"
        if self.line < Line(1, 31):
            if qos:
                yield "cgroupsPerQOS", f"a kubelet {self.version} ends on true on Windows."
            if enforced:
                yield path, f"a kubelet {self.version} ends on any entry on Windows; write []."
        known = {*kubelet_config.ENFORCEMENTS, "none"}
        if self.line >= kubelet_config.COMPRESSIBLE_SINCE:
            known |= {"system-reserved-compressible", "kube-reserved-compressible"}
            for name in ("system", "kube"):
                if {f"{name}-reserved", f"{name}-reserved-compressible"} <= set(enforced):
                    yield path, f"{name}-reserved and {name}-reserved-compressible cannot stand side by side."
            if len(set(enforced)) < len(enforced):
                yield path, "an entry stands there twice."
        for entry in dict.fromkeys(enforced):
            if entry not in known:
                yield path, f"{entry!r} is not one of {', '.join(sorted(known))}."
                continue
            if entry == "none":
                if len(enforced) > 1:
                    yield path, "none stands alone."
                continue
            owner = entry.partition("-")[0]
            if owner in {"system", "kube"} and not values.get(f"{owner}ReservedCgroup"):
                yield path, f"{entry} needs {owner}ReservedCgroup."
            if not qos and self.line >= Line(1, 31):
                yield path, f"{entry} needs cgroupsPerQOS: true; write enforceNodeAllocatable: [] for Windows."
        if values.get("systemCgroups") and not values.get("cgroupRoot"):
            yield "systemCgroups", "it needs cgroupRoot."

    def _others(self) -> Iterator[tuple[str, str]]:
        values = self.values
        period = _ns(values.get("cpuCFSQuotaPeriod"))
        if self._on("CustomCPUCFSQuotaPeriod"):
            if not 10**6 <= period <= 10**9:
                yield "cpuCFSQuotaPeriod", "it is not from 1ms to 1s."
        elif period != 10**8:
            yield "cpuCFSQuotaPeriod", "it needs the feature gate CustomCPUCFSQuotaPeriod."
        if self._on("NodeSwap"):
            swaps = ("", "LimitedSwap", "NoSwap") if self.line >= Line(1, 30) else ("", "LimitedSwap", "UnlimitedSwap")
            if (swap := values.get("memorySwap.swapBehavior") or "") not in swaps:
                yield "memorySwap.swapBehavior", f"{swap!r} is not one of {', '.join(swaps[1:])}."
        elif values.get("memorySwap.swapBehavior"):
            yield "memorySwap.swapBehavior", "it needs the feature gate NodeSwap."
        yield from self._back_off()
        if values.get("enableSystemLogQuery") and values.get("enableSystemLogHandler") is False:
            yield "enableSystemLogQuery", "it needs enableSystemLogHandler: true."
        if "containerLogMonitorInterval" in self.fields and _ns(values.get("containerLogMonitorInterval")) < 3 * 10**9:
            yield "containerLogMonitorInterval", "it is shorter than 3s."
        files = values.get("containerLogMaxFiles")
        if self.line >= kubelet_config.LOG_FILES_SINCE and isinstance(files, int) and files <= 1:
            yield "containerLogMaxFiles", f"{files} is not 2 or more."
        if self.line >= Line(1, 31) and values.get("runOnce"):
            yield "runOnce", "the kubelet ends on it."
        yield from self._memory()
        if _ns(values.get("logging.flushFrequency")) <= 0 and "logging.flushFrequency" in self.fields:
            yield "logging.flushFrequency", "it is not more than zero."
        if values.get("logging.vmodule") and values.get("logging.format") != "text":
            yield "logging.vmodule", "only logging.format: text has it."
        for taint in values.get("registerWithTaints") or ():
            effect = taint.get("effect") if isinstance(taint, dict) else None
            if not isinstance(taint, dict) or not taint.get("key"):
                yield "registerWithTaints", f"{json.dumps(taint, sort_keys=True)} has no key."
            elif effect not in {None, "", "NoSchedule", "PreferNoSchedule", "NoExecute"}:
                yield "registerWithTaints", f"{effect!r} is not one of NoSchedule, PreferNoSchedule, NoExecute."

    def _back_off(self) -> Iterator[tuple[str, str]]:
        path = "crashLoopBackOff.maxContainerRestartPeriod"
        if path not in self.fields:
            return
        value = self.values.get(path)
        if self._on("KubeletCrashLoopBackOffMax"):
            if not 10**9 <= _ns(value) <= 300 * 10**9:
                yield path, f"{value} is not from 1s to 300s."
        elif value is not None:
            yield path, "it needs the feature gate KubeletCrashLoopBackOffMax."

    def _memory(self) -> Iterator[tuple[str, str]]:
        factor, quality = self.values.get("memoryThrottlingFactor"), self._on("MemoryQoS")
        if isinstance(factor, int | float) and not 0 < factor <= 1:
            yield "memoryThrottlingFactor", f"{factor} is not more than 0 and at most 1."
        if self.line >= Line(1, 37) and not quality and factor not in {None, 0.9}:
            yield "memoryThrottlingFactor", "it needs the feature gate MemoryQoS."
        if self.values.get("memoryReservationPolicy") == "TieredReservation" and not quality:
            yield "memoryReservationPolicy", "TieredReservation needs the feature gate MemoryQoS."


def is_zero(value: Any) -> bool:
    """Whether Go takes it for a zero: absent, empty, 0, a duration of nothing; never a bool."""
    if value is None or value == "" or value == 0:
        return not isinstance(value, bool)
    return isinstance(value, str) and nanoseconds(value) == 0


def _ns(value: Any) -> int:
    """A duration in nanoseconds; 0 for none."""
    return (nanoseconds(value) or 0) if isinstance(value, str) else 0
