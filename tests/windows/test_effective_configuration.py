"""kubelet.exe logs the whole configuration that it runs with, before it validates it (from 1.37 on): combinations of
config.yaml, drop-ins, flags and gates, equal to ours field by field, and refused exactly where it refuses.

Source: kubernetes v1.37.1 cmd/kubelet/app/server.go, marshalKubeletConfigForLog.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.components.flag_check import read
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.duration import nanoseconds
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.effective import Part, effective
from ansible_collections.winkube.node.plugins.plugin_utils.facts.flags import KUBELET
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line, Version

from tests.real import build
from tests.windows.conftest import require
from tests.windows.programs import Programs

PRINTS_SINCE = Line(1, 37)
RELEASES = [version for _, version, names in build.WINDOWS if "kubelet" in names and Line.parse(version) >= Line(1, 30)]
HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
OURS = "cgroupsPerQOS: false\nenforceNodeAllocatable: []\nresolvConf: ''\n"
STARTS = ("invalid kubeconfig", "failed to run Kubelet", "unable to load bootstrap kubeconfig")
"""What a kubelet says that has taken its configuration: it has no kubeconfig here."""
_PRINTED = re.compile(r'"Effective KubeletConfiguration" config=<\n(.*?)\n >', re.DOTALL)

Case = tuple[str | None, dict[str, str], tuple[str, ...]]
"""config.yaml (after its head; None: no such file), drop-ins by name (whole texts), flags."""


def drop_in(text: str) -> str:
    return f"{HEAD}{text}\n"


CASES: dict[str, Case] = {
    "defaults": ("", {}, ()),
    "our drop-in": ("", {"50-ours.conf": drop_in(OURS)}, ()),
    "only flags": (None, {}, ("--max-pods=33",)),
    "a number": ("maxPods: 50", {}, ()),
    "a duration is printed as Go does": ("syncFrequency: 90s\nstreamingConnectionIdleTimeout: 1h30m", {}, ()),
    "two files": ("maxPods: 1", {"10.conf": drop_in("maxPods: 2"), "20.conf": drop_in("maxPods: 3")}, ()),
    "a subfolder before a file": ("", {r"10\a.conf": drop_in("maxPods: 4"), "20.conf": drop_in("eventBurst: 5")}, ()),
    "a subfolder after a file": ("", {r"30\a.conf": drop_in("maxPods: 4"), "20.conf": drop_in("maxPods: 5")}, ()),
    "another ending": ("", {"10.yaml": "nonsense: ["}, ()),
    "null brings the default back": ("maxPods: 7", {"10.conf": drop_in("maxPods: null")}, ()),
    "null in a map": (
        "systemReserved: {cpu: 100m, memory: 1Gi}",
        {"1.conf": drop_in("systemReserved: {cpu: null}")},
        (),
    ),
    "maps add up": ("kubeReserved: {cpu: 100m}", {"1.conf": drop_in("kubeReserved: {memory: 1Gi}")}, ()),
    "lists are replaced": ("clusterDNS: [10.0.0.1]", {"1.conf": drop_in("clusterDNS: [10.0.0.2, 10.0.0.3]")}, ()),
    "evictionHard adds to Windows' own": ("", {"1.conf": drop_in("evictionHard: {memory.available: 1Gi}")}, ()),
    "evictionHard in config.yaml replaces it": ("evictionHard: {memory.available: 1Gi}", {}, ()),
    "mergeDefaultEvictionSettings": (
        "evictionHard: {memory.available: 1Gi}\nmergeDefaultEvictionSettings: true",
        {},
        (),
    ),
    "no kind": ("", {"1.conf": "maxPods: 5\n"}, ()),
    "no apiVersion": ("", {"1.conf": "kind: KubeletConfiguration\nmaxPods: 5\n"}, ()),
    "another kind": ("", {"1.conf": "apiVersion: v1\nkind: ConfigMap\n"}, ()),
    "an empty drop-in": ("", {"1.conf": ""}, ()),
    "no YAML": ("", {"1.conf": "a: [\n"}, ()),
    "misspelt in config.yaml": ("maxPodz: 5", {}, ()),
    "misspelt in a drop-in": ("", {"1.conf": drop_in("maxPodz: 5")}, ()),
    "another case in config.yaml": ("maxpods: 5", {}, ()),
    "another case in a drop-in": ("", {"1.conf": drop_in("maxpods: 5")}, ()),
    "a text for a number": ('maxPods: "5"', {}, ()),
    "a text for a number in a drop-in": ("", {"1.conf": drop_in('maxPods: "5"')}, ()),
    "a number for a duration": ("syncFrequency: 60", {}, ()),
    "singleProcessOOMKill": ("singleProcessOOMKill: false", {}, ()),
    "singleProcessOOMKill taken out": (
        "singleProcessOOMKill: true",
        {"1.conf": drop_in("singleProcessOOMKill: null")},
        (),
    ),
    "userNamespaces": ("userNamespaces: {idsPerPod: 65536}", {}, ()),
    "userNamespaces, empty": ("userNamespaces: {}", {}, ()),
    "userNamespaces taken out": ("userNamespaces: {idsPerPod: 65536}", {"1.conf": drop_in("userNamespaces: null")}, ()),
    "defaultPodSysctls": ("defaultPodSysctls: {net.ipv4.ip_local_port_range: 1024 65535}", {}, ()),
    "an unknown gate": ("featureGates: {NoSuchGate: true}", {}, ()),
    "an unknown gate taken out": (
        "featureGates: {NoSuchGate: true}",
        {"1.conf": drop_in("featureGates: {NoSuchGate: null}")},
        (),
    ),
    "an unknown gate in a drop-in": ("", {"1.conf": drop_in("featureGates: {NoSuchGate: true}")}, ()),
    "a locked gate": ("featureGates: {WinDSR: false}", {}, ()),
    "gates of file and flag": ("featureGates: {NodeLogQuery: true}", {}, ("--feature-gates=AllAlpha=false",)),
    "a flag over the file": ("maxPods: 5\nclusterDomain: a", {}, ("--max-pods=6", "--cluster-domain=b")),
    "a map by flag replaces": ("systemReserved: {cpu: 100m}", {}, ("--system-reserved=memory=1Gi",)),
    "an empty list is lost": (
        "cgroupsPerQOS: false\nenforceNodeAllocatable: []",
        {"1.conf": drop_in("maxPods: 5")},
        (),
    ),
    "parallel pulls in config.yaml": ("maxParallelImagePulls: 4", {}, ()),
    "parallel pulls in a drop-in": ("", {"1.conf": drop_in("maxParallelImagePulls: 4")}, ()),
    "logging": ("logging: {verbosity: 4, flushFrequency: 3s}", {}, ("--v=3",)),
    "taints": ("registerWithTaints: [{key: os, value: windows, effect: NoSchedule}]", {}, ()),
    "a relative path": ("staticPodPath: manifests\nauthentication: {x509: {clientCAFile: pki/ca.crt}}", {}, ()),
    "grace periods": ("shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: 20s", {}, ()),
    "a range": ("imageGCHighThresholdPercent: 70", {}, ()),
    "status frequency": ("nodeStatusUpdateFrequency: 20s", {}, ()),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("version", RELEASES)
def test_kubelet_exe_runs_with_what_we_compute(
    version: str, name: str, windows: Programs, judged: Callable[..., None]
) -> None:
    require("kubelet", version)
    base, drop_ins, flags = CASES[name]
    folder = rf"C:\effective\{list(CASES).index(name)}"
    files = {rf"{folder}\config.d\{path}": text for path, text in drop_ins.items()}
    if base is not None:
        files[rf"{folder}\config.yaml"] = HEAD + base + "\n"
    for path, text in files.items():
        place = windows.prefix.path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    arguments = [
        rf"--kubeconfig={folder}\absent",
        rf"--cert-dir={folder}\pki",
        *([rf"--config={folder}\config.yaml"] if base is not None else []),
        *([rf"--config-dir={folder}\config.d"] if drop_ins else []),
        *flags,
    ]
    done = windows.run("kubelet", version, arguments, 120)

    line = read((("flags", arguments),), KUBELET, Version.parse(version).line)
    found = effective(
        None if base is None else Part(rf"{folder}\config.yaml", files[rf"{folder}\config.yaml"]),
        [Part(rf"{folder}\config.d\{path}", text) for path, text in drop_ins.items()] if drop_ins else None,
        line,
        Version.parse(version),
    )
    started = any(sign in done.said for sign in STARTS) and "failed to validate" not in done.said
    assert started == (not found.faults), f"{[fault.sentence for fault in found.faults]}\n{done.said[-2000:]}"
    if printed := _PRINTED.search(done.said):
        shown = flat(yaml.safe_load(re.sub(r"^\t", "", printed[1], flags=re.MULTILINE)))
        assert flat(found.document()) == shown
        judged("kubelet", version, "its effective configuration", name)
    else:
        assert found.faults or Line.parse(version) < PRINTS_SINCE, done.said[-2000:]


def flat(document: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Values by dotted path, without zeros, which are not printed where they are defaults."""
    found: dict[str, Any] = {}
    for name, value in document.items():
        path = f"{above}{name}"
        if path in {"kind", "apiVersion"}:
            continue
        if isinstance(value, Mapping) and value:
            found |= flat(value, f"{path}.")
        elif isinstance(value, str) and nanoseconds(value) is not None:
            found |= {path: nanoseconds(value)} if nanoseconds(value) else {}
        elif value not in (None, "", [], 0, False) and (value != {} or path in {"userNamespaces"}):
            found[path] = value
    return found
