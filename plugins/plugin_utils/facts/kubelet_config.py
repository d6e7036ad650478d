# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""KubeletConfiguration over the release lines: fields and flags (kubelet_fields.txt beside this file), defaults, what a
kubelet on Windows refuses, and the values that a field takes.

Sources, each read at v1.22.17, v1.24.17, v1.27.16, v1.28.15, v1.30.14 to v1.33.13, v1.34.9, v1.35.6, v1.36.4, v1.37.2:
kubernetes pkg/kubelet/apis/config/validation/validation{,_windows}.go, pkg/kubelet/apis/config/v1beta1/defaults.go,
pkg/kubelet/eviction/defaults_windows.go, cmd/kubelet/app/server.go, cmd/kubelet/app/options/options.go.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .flags import PRE_RELEASE, line_for
from .version import Line

_FILE = Path(__file__).with_name("kubelet_fields.txt")

KIND, API_VERSION = "KubeletConfiguration", "kubelet.config.k8s.io/v1beta1"

PATCHES_VERSIONED = Line(1, 32)
"""The first line that merges drop-ins into the form of v1beta1 and looks at their kind. Before it merges them into
its own form, in which nothing has the name that a null would delete, and `resolvConf` has another name."""
GATES_BEFORE_DROP_INS = Line(1, 32)
"""From this line on a gate that config.yaml may not set ends the kubelet before it reads a drop-in: the defaults ask
the gates. Source: defaults.go, SetDefaults_KubeletConfiguration (SetFromMap, panic)."""
ROOTED = Line(1, 30)
"""The first line that takes a path with a leading slash for absolute. Source: pkg/kubelet/kubeletconfig/configfiles/
configfiles.go, resolveRelativePaths, v1.29.15 (filepath.IsAbs), v1.30.14 (utilfs.IsAbs)."""

REFUSED_ON_WINDOWS: Mapping[str, Line] = {
    "singleProcessOOMKill": Line(1, 32),
    "userNamespaces": Line(1, 33),
    "defaultPodSysctls": Line(1, 37),
}
"""Field -> the first line whose kubelet ends on it on Windows, whatever its value; an empty defaultPodSysctls is taken.
Source: validation_windows.go, validateKubeletOSConfiguration."""

PATHS = (
    "staticPodPath",
    "authentication.x509.clientCAFile",
    "tlsCertFile",
    "tlsPrivateKeyFile",
    "resolvConf",
    "volumePluginDir",
    "podLogsDir",
)
"""What config.yaml may say relative to itself. Source: pkg/kubelet/apis/config/helpers.go."""

OPTIONAL_OBJECTS = frozenset({"userNamespaces", "tracing"})
"""Objects of which it matters whether they are there, empty ones too (pointers in types.go)."""

WHEN_ABSENT: Mapping[str, Any] = {
    "enableServer": True,
    "authentication.anonymous.enabled": False,
    "authentication.webhook.enabled": True,
    "registryPullQPS": 5,
    "eventRecordQPS": 50,
    "enableDebuggingHandlers": True,
    "healthzPort": 10248,
    "oomScoreAdj": -999,
    "imageGCHighThresholdPercent": 85,
    "imageGCLowThresholdPercent": 80,
    "cgroupsPerQOS": True,
    "podPidsLimit": -1,
    "resolvConf": "/etc/resolv.conf",
    "cpuCFSQuota": True,
    "cpuCFSQuotaPeriod": "100ms",
    "nodeStatusMaxImages": 50,
    "kubeAPIQPS": 50,
    "mergeDefaultEvictionSettings": False,
    "enableControllerAttachDetach": True,
    "makeIPTablesUtilChains": True,
    "iptablesMasqueradeBit": 14,
    "iptablesDropBit": 15,
    "failSwapOn": True,
    "containerLogMaxFiles": 5,
    "containerLogMaxWorkers": 1,
    "containerLogMonitorInterval": "10s",
    "enforceNodeAllocatable": ["pods"],
    "enableSystemLogHandler": True,
    "enableSystemLogQuery": False,
    "enableProfilingHandler": True,
    "enableDebugFlagsHandler": True,
    "seccompDefault": False,
    "failCgroupV1": True,
    "registerNode": True,
    "localStorageCapacityIsolation": True,
}
"""Defaults of the newest line, of fields whose zero is a value. Only where a line has the field."""

WHEN_ZERO: Mapping[str, Any] = {
    "syncFrequency": "1m0s",
    "fileCheckFrequency": "20s",
    "httpCheckFrequency": "20s",
    "address": "0.0.0.0",
    "port": 10250,
    "authentication.webhook.cacheTTL": "2m0s",
    "authorization.mode": "Webhook",
    "authorization.webhook.cacheAuthorizedTTL": "5m0s",
    "authorization.webhook.cacheUnauthorizedTTL": "30s",
    "registryBurst": 10,
    "eventBurst": 100,
    "healthzBindAddress": "127.0.0.1",
    "streamingConnectionIdleTimeout": "4h0m0s",
    "nodeStatusUpdateFrequency": "10s",
    "nodeLeaseDurationSeconds": 40,
    "imageMinimumGCAge": "2m0s",
    "volumeStatsAggPeriod": "1m0s",
    "cgroupDriver": "cgroupfs",
    "cpuManagerPolicy": "none",
    "cpuManagerReconcilePeriod": "10s",
    "memoryManagerPolicy": "None",
    "topologyManagerPolicy": "none",
    "topologyManagerScope": "container",
    "runtimeRequestTimeout": "2m0s",
    "hairpinMode": "promiscuous-bridge",
    "maxPods": 110,
    "maxOpenFiles": 1000000,
    "contentType": "application/vnd.kubernetes.protobuf",
    "kubeAPIBurst": 100,
    "evictionPressureTransitionPeriod": "5m0s",
    "containerLogMaxSize": "10Mi",
    "configMapAndSecretChangeDetectionStrategy": "Watch",
    "volumePluginDir": "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/",
    "memoryReservationPolicy": "None",
    "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
    "podLogsDir": "/var/log/pods",
    "logging.format": "text",
    "logging.flushFrequency": "5s",
}
"""Defaults of the newest line, of fields whose zero counts as absent."""

WHEN_ABSENT_BEFORE: Mapping[str, tuple[tuple[Line, Any], ...]] = {
    "failCgroupV1": ((Line(1, 35), False),),
    "memoryThrottlingFactor": ((Line(1, 27), 0.8), (Line(1, 37), 0.9)),
}
"""Field -> its default before each of these lines, oldest first."""

EVICTION_HARD: Mapping[str, str] = {
    "memory.available": "500Mi",
    "nodefs.available": "10%",
    "imagefs.available": "15%",
}
"""On Windows, where config.yaml says no evictionHard. Source: defaults_windows.go; server.go, loadConfigFile."""

WITHOUT_A_FILE: Mapping[str, Any] = {
    "authentication.anonymous.enabled": True,
    "authentication.webhook.enabled": False,
    "authorization.mode": "AlwaysAllow",
    "readOnlyPort": 10255,
}
"""Defaults of a kubelet without config.yaml. Source: options.go, applyLegacyDefaults."""

RANGES: Mapping[str, tuple[int, int | None]] = {
    "nodeLeaseDurationSeconds": (1, None),
    "eventBurst": (0, None),
    "eventRecordQPS": (0, None),
    "healthzPort": (0, 65535),
    "imageGCHighThresholdPercent": (0, 100),
    "imageGCLowThresholdPercent": (0, 100),
    "iptablesDropBit": (0, 31),
    "iptablesMasqueradeBit": (0, 31),
    "kubeAPIBurst": (0, None),
    "kubeAPIQPS": (0, None),
    "nodeStatusMaxImages": (-1, None),
    "maxOpenFiles": (0, None),
    "maxPods": (0, None),
    "oomScoreAdj": (-1000, 1000),
    "podsPerCore": (0, None),
    "port": (1, 65535),
    "readOnlyPort": (0, 65535),
    "registryBurst": (0, None),
    "registryPullQPS": (0, None),
    "maxParallelImagePulls": (1, None),
    "containerLogMaxWorkers": (1, None),
    "logging.verbosity": (0, 2**31 - 1),
    "tracing.samplingRatePerMillion": (0, 1_000_000),
}

LOG_FILES_SINCE = Line(1, 33)
"""The first line that refuses containerLogMaxFiles below 2."""

CHOICES: Mapping[str, tuple[str, ...]] = {
    "topologyManagerPolicy": ("none", "best-effort", "restricted", "single-numa-node"),
    "topologyManagerScope": ("container", "pod"),
    "hairpinMode": ("promiscuous-bridge", "hairpin-veth", "none"),
    "memoryReservationPolicy": ("None", "TieredReservation"),
    "logging.format": ("text", "json"),
    "authorization.mode": ("Webhook", "AlwaysAllow"),
    "tlsMinVersion": ("", "VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"),
}
"""Source of the last two: cmd/kubelet/app/auth.go, component-base cli/flag/ciphersuites_flag.go."""

PULL_POLICIES = ("NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify")
ENFORCEMENTS = ("pods", "system-reserved", "kube-reserved")
COMPRESSIBLE_SINCE = Line(1, 32)
"""The first line with system-reserved-compressible and kube-reserved-compressible."""

NEEDS_GATE: Mapping[str, str] = {
    "serverTLSBootstrap": "RotateKubeletServerCertificate",
    "shutdownGracePeriodByPodPriority": "GracefulNodeShutdownBasedOnPodPriority",
    "imageMaximumGCAge": "ImageMaximumGCAge",
    "enableSystemLogQuery": "NodeLogQuery",
    "defaultPodSysctls": "DefaultPodSysctls",
}
"""Field -> the gate without which the kubelet ends when it is set."""


def fields(of: Line) -> Mapping[str, str]:
    """Path -> kind of every field of this line; for newer lines as the newest of the table. UnknownLineError before
    it."""
    return _at(line_for(of, PRE_RELEASE))[0]


def flags(of: Line) -> Mapping[str, str]:
    """Flag -> path of the field that it overrides."""
    return _at(line_for(of, PRE_RELEASE))[1]


def default(path: str, of: Line) -> Any:
    """The default of a field, None if it has none; whether it stands for a zero as well is WHEN_ZERO's matter."""
    for until, value in WHEN_ABSENT_BEFORE.get(path, ()):
        if of < until:
            return value
    return WHEN_ABSENT.get(path, WHEN_ZERO.get(path))


@functools.cache
def _at(line: Line) -> tuple[Mapping[str, str], Mapping[str, str]]:
    found: dict[str, str] = {}
    overriding: dict[str, str] = {}
    for text in _FILE.read_text(encoding="utf-8").splitlines():
        if text.startswith("#"):
            continue
        name, value, since, *gone = text.split()
        if Line.parse(since) <= line and not (gone and Line.parse(gone[0]) <= line):
            (overriding if name.startswith("--") else found)[name.removeprefix("--")] = value
    return found, overriding
