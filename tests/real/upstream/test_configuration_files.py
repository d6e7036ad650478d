"""Lanes `real` and `windows`: kubeadm reads our JoinConfiguration, and a kubelet starts with the values of our drop-in.

Both programs pass over a field that they do not know, some with a warning, some without a word. That they end well
says little, so what they have read is compared with what we wrote, and a broken twin of each file shows that this would
find a mistake. To a build for Linux the paths, and for kubeadm the runtime's address, are given as on Linux.
"""

from __future__ import annotations

import json
import re
import subprocess
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.material import (
    join_configuration,
)
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.options import JoinOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import kubelet_args
from ansible_collections.winkube.node.plugins.plugin_utils.facts.feature_gates import problem
from ansible_collections.winkube.node.plugins.plugin_utils.facts.flags import KUBELET
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line

from tests.real import build
from tests.real.upstream.programs import Upstream
from tests.unit.components.nodes import LAYOUT, wanted_kubelet

HAS_VALIDATE = Line(1, 28)
"""The first line with `kubeadm config validate`.

Source: kubernetes v1.27.16 (without), v1.28.0 (with) cmd/kubeadm/app/cmd/config.go.
"""

THAT_PRINT = [version for version in build.EVERY_KUBERNETES if Line.parse(version) >= Line(1, 24)]
"""kubeadm 1.22 was written for an older Go: built with a newer one, it crashes as it prints a document.

Its reflect2 v1.0.1 does.
"""
WITH_DROP_INS = [version for version in build.EVERY_KUBERNETES if Line.parse(version) >= kubelet_args.DROP_INS]

_DUMP = re.compile(r'KubeletConfiguration" config(?:uration)?=<\n(.*?)\n >', re.DOTALL)
_NAMES_WITHIN = {"resolvconf": "resolverconfig"}
"""Fields that the kubelet's own type, which it logs up to 1.36, names otherwise. Source: kubernetes v1.30.4
pkg/kubelet/apis/config/types.go."""


def join(version: str, folder: Path, upstream: Upstream) -> dict[str, Any]:
    """Our document for this release of kubeadm, with a runtime's address that this build takes, and a file for the
    discovery that is there."""
    text = join_configuration(
        JoinOptions(node_name="win1", version=version, taints=("os=windows:NoSchedule", "gpu:NoExecute")), LAYOUT
    )
    document: dict[str, Any] = json.loads(text)
    assert document["nodeRegistration"]["criSocket"] == kubelet_args.endpoint("containerd-containerd")
    assert document["discovery"]["file"] == {"kubeConfigPath": r"\etc\kubernetes\winkube-discovery.conf"}
    document["discovery"]["file"]["kubeConfigPath"] = str(written(folder, "discovery.conf", {"kind": "Config"}))
    document["nodeRegistration"]["criSocket"] = upstream.runtime or document["nodeRegistration"]["criSocket"]
    return document


def written(folder: Path, name: str, document: Mapping[str, Any]) -> Path:
    path = folder / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.mark.row("JR-01")
@pytest.mark.parametrize("version", THAT_PRINT)
def test_a_real_kubeadm_reads_our_join_configuration(version: str, tmp_path: Path, upstream: Upstream) -> None:
    """`config migrate` prints the document as it was read, in the newest form that this release writes: ours."""
    ours = join(version, tmp_path, upstream)
    file = written(tmp_path, "join.json", ours)
    done = upstream.run("kubeadm", version, ["config", "migrate", "--old-config", upstream.path(file)])
    assert done.returncode == 0, done.stderr
    assert "unknown field" not in done.stderr
    read = yaml.safe_load(done.stdout)
    assert read["apiVersion"] == ours["apiVersion"]
    assert missing(ours, read) == []
    if Line.parse(version) >= HAS_VALIDATE:
        done = upstream.run("kubeadm", version, ["config", "validate", "--config", upstream.path(file)])
        assert (done.returncode, done.stdout.strip()) == (0, "ok"), done.stderr


@pytest.mark.row("JR-01")
@pytest.mark.parametrize("version", THAT_PRINT)
def test_a_real_kubeadm_sees_a_field_that_is_none(version: str, tmp_path: Path, upstream: Upstream) -> None:
    broken = join(version, tmp_path, upstream)
    broken["nodeRegistration"]["criSocke"] = broken["nodeRegistration"].pop("criSocket")
    file = written(tmp_path, "join.json", broken)
    done = upstream.run("kubeadm", version, ["config", "migrate", "--old-config", upstream.path(file)])
    assert "unknown field" in done.stderr
    if Line.parse(version) >= HAS_VALIDATE:
        done = upstream.run("kubeadm", version, ["config", "validate", "--config", upstream.path(file)])
        assert done.returncode == 1
        assert 'unknown field "nodeRegistration.criSocke"' in done.stderr


def of_kubeadm(version: str, folder: Path, upstream: Upstream) -> kubelet_args.Kubelet:
    """A kubelet whose configuration kubeadm has written, and whose kubeconfig is not there: with it the kubelet ends
    after it has logged its configuration (from -v 5 on), before it touches the machine."""
    line = Line.parse(version)
    kubeadms: dict[str, Any] = {
        "kind": "KubeletConfiguration",
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "clusterDNS": ["10.96.0.99"],
        "maxPods": 77,
    }
    if "fail-cgroupv1" in KUBELET.list_known(line, upstream.system):
        kubeadms["failCgroupV1"] = False
    (folder / "kubelet.conf.d").mkdir()
    written(folder, "config.yaml", kubeadms)
    return wanted_kubelet(
        version,
        "kubeadm",
        kube_reserved={"cpu": "200m"},
        eviction_hard={"memory.available": "500Mi"},
        eviction_soft={"memory.available": "1Gi"},
        eviction_soft_grace_period={"memory.available": "1m0s"},
        taints=("os=windows:NoSchedule", "gpu:NoExecute"),
        labels={"tier": "web"},
        node_ip="10.0.0.5",
        feature_gates={"NodeLogQuery": problem("kubelet", "NodeLogQuery", False, line) is not None},
    )


def started(
    wanted: kubelet_args.Kubelet, drop_in: Mapping[str, Any], folder: Path, upstream: Upstream
) -> subprocess.CompletedProcess[str]:
    """A kubelet with the arguments of `wanted`, whose files are in `folder`, and this drop-in."""
    written(folder / "kubelet.conf.d", kubelet_args.DROP_IN_NAME, drop_in)
    places = {
        "kubeconfig": "absent",
        "cert-dir": "pki",
        "config": "config.yaml",
        "config-dir": "kubelet.conf.d",
        "bootstrap-kubeconfig": "",
        "client-ca-file": "",
    }
    told = {word.lstrip("-").partition("=")[0]: word for word in kubelet_args.arguments(wanted)}
    moved = {flag: f"--{flag}={upstream.path(folder / place)}" if place else "" for flag, place in places.items()}
    arguments = upstream.own(
        [word for word in (told | {f: moved[f] for f in moved if f in told}).values() if word], KUBELET
    )
    return upstream.run("kubelet", str(wanted.version), [*arguments, f"--root-dir={upstream.path(folder / 'root')}"])


def effective(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The configuration that the kubelet has logged, its fields in lower case."""
    found = _DUMP.search(done.stderr)
    assert found, done.stderr[-2000:]
    document = yaml.safe_load(textwrap.dedent(found[1].replace("\t", "")))
    return {str(name).lower(): value for name, value in document.items()}


def as_it_logs(wanted: Mapping[str, Any], logged: Mapping[str, Any]) -> dict[str, Any]:
    """Our fields, but for kind and apiVersion, under the names in the log."""
    fields = {name.lower(): value for name, value in wanted.items() if name not in {"kind", "apiVersion"}}
    return {
        (_NAMES_WITHIN[name] if name in _NAMES_WITHIN and name not in logged else name): value
        for name, value in fields.items()
    }


def missing(wanted: Any, read: Any, place: str = "") -> list[str]:
    """What of `wanted` is not in `read`, which may have more fields; an empty text or list may be left out."""
    if isinstance(wanted, Mapping) and isinstance(read, Mapping):
        found = []
        for name, value in wanted.items():
            found += missing(value, read.get(name, value if value in ("", []) else None), f"{place}.{name}")
        return found
    if _is_list(wanted) and _is_list(read) and len(wanted) == len(read):
        return [
            text
            for at, (one, other) in enumerate(zip(wanted, read, strict=True))
            for text in missing(one, other, f"{place}[{at}]")
        ]
    return [] if wanted == read else [f"{place}: {wanted!r} became {read!r}"]


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


@pytest.mark.row("KU-32")
@pytest.mark.parametrize("version", WITH_DROP_INS)
def test_a_real_kubelet_takes_every_setting_of_a_kubeadm_node(version: str, tmp_path: Path, upstream: Upstream) -> None:
    """Whether it stands in the drop-in or in the arguments: the values are those of a node without kubeadm."""
    wanted = of_kubeadm(version, tmp_path, upstream)
    done = started(wanted, kubelet_args.configuration(wanted), tmp_path, upstream)
    assert "failed to run Kubelet: invalid kubeconfig" in done.stderr, done.stderr[-2000:]
    logged = effective(done)
    ours = {"resolvConf": "", **kubelet_args.configuration(wanted)}  # an argument up to 1.32
    assert missing(as_it_logs(ours, logged), logged) == []
    assert logged["maxpods"] == 77  # what is not ours stays as kubeadm has written it


@pytest.mark.row("KU-32")
@pytest.mark.parametrize("version", WITH_DROP_INS)
def test_a_real_kubelet_shows_a_broken_drop_in(version: str, tmp_path: Path, upstream: Upstream) -> None:
    wanted = of_kubeadm(version, tmp_path, upstream)
    ours = kubelet_args.configuration(wanted)
    done = started(wanted, {**ours, "clusterDNS": "10.96.0.10"}, tmp_path, upstream)
    assert "failed to merge kubelet configs" in done.stderr
    assert "clusterdns of type []string" in done.stderr.lower()
    misspelt = {("clusterDN" if name == "clusterDNS" else name): value for name, value in ours.items()}
    logged = effective(started(wanted, misspelt, tmp_path, upstream))
    assert ".clusterdns[0]: '10.96.0.10' became '10.96.0.99'" in missing(as_it_logs(ours, logged), logged)
