"""Readings of nodes for unit tests: a bare one, and ways to add to it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.components.asks import Asks
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd.containerd_config import Containerd
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd.options import ContainerdOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.kube_proxy.kube_proxy_args import KubeProxy
from ansible_collections.winkube.node.plugins.plugin_utils.components.kube_proxy.options import KubeProxyOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.kubelet_args import Kubelet
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.options import KubeletOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.layout import Layout
from ansible_collections.winkube.node.plugins.plugin_utils.components.node import Node
from ansible_collections.winkube.node.plugins.plugin_utils.components.options import read
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import COMPONENTS
from ansible_collections.winkube.node.plugins.plugin_utils.components.service import Running
from ansible_collections.winkube.node.plugins.plugin_utils.components.shared_options import (
    ServiceOptions,
    SharedOptions,
)
from ansible_collections.winkube.node.plugins.plugin_utils.components.stage import Given
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Query, Reading
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Resource

LAYOUT = Layout(
    state_dir=r"C:\ProgramData\winkube",
    root=r"C:\k",
    cni_bin_dir=r"C:\k\cni",
    cni_conf_dir=r"C:\k\cni\config",
    flannel_dir=r"C:\flannel",
    flannel_run_dir=r"C:\run\flannel",
    nssm=r"C:\k\nssm.exe",
    containerd_service="containerd",
    containerd_binary=r"C:\Program Files\containerd\bin\containerd.exe",
    containerd_config=r"C:\Program Files\containerd\config.toml",
    containerd_log=r"C:\ProgramData\containerd\log\containerd.log",
    containerd_pipe="containerd-containerd",
    log_dir=r"C:\k",
    kubernetes_dir=r"C:\etc\kubernetes",
    kubelet_dir=r"C:\var\lib\kubelet",
    kubelet_service="kubelet",
    kubelet_binary=r"C:\k\kubelet.exe",
    kubelet_kubeconfig=r"C:\etc\kubernetes\kubelet.conf",
    kubeadm_binary=r"C:\k\kubeadm.exe",
    kube_proxy_service="kube-proxy",
    kube_proxy_binary=r"C:\k\kube-proxy.exe",
    kube_proxy_kubeconfig=r"C:\k\kube-proxy.kubeconfig",
    flanneld_service="flanneld",
    flanneld_binary=r"C:\flannel\flanneld.exe",
    flanneld_kubeconfig=r"C:\flannel\flanneld.kubeconfig",
    certs_dir=r"C:\ProgramData\containerd\certs.d",
)


def wanted_kubelet(
    version: str = "1.37.1", join: str = "kubeconfig", manager: str = "nssm", layout: Layout = LAYOUT, **more: Any
) -> Kubelet:
    """A kubelet with these options; what are fields of the layout are its places."""
    places = {name: more.pop(name) for name in tuple(more) if hasattr(layout, name)}
    options = {"node_name": "win1", "source": {}, "service": {"manager": manager}, **more}
    return Kubelet(read(KubeletOptions, {"version": version, "join": join, **options}), replace(layout, **places))


def wanted_kube_proxy(
    version: str = "1.37.1",
    mode: str = "l2bridge",
    layout: Layout = LAYOUT,
    source_vip: str = "",
    pod_cidr: str = "",
    **more: Any,
) -> KubeProxy:
    """A kube-proxy with these options; what are fields of the layout are its places."""
    places = {name: more.pop(name) for name in tuple(more) if hasattr(layout, name)}
    options = {"node_name": "win1", "source": {}, "service": {"manager": "nssm"}, "network_mode": mode, **more}
    own = read(KubeProxyOptions, {"version": version, **options})
    return KubeProxy(own, replace(layout, **places), source_vip, pod_cidr)


def wanted_containerd(
    version: str = "2.3.7", image: str = "registry.k8s.io/pause:3.10.2", layout: Layout = LAYOUT, **more: Any
) -> Containerd:
    """A containerd with these options; what are fields of the layout are its places."""
    places = {name: more.pop(name) for name in tuple(more) if hasattr(layout, name)}
    options = read(ContainerdOptions, {"version": version, "source": {"url": ""}, **more})
    return Containerd(options, replace(layout, **places), image)


def running(manager: str = "", tools: tuple[Resource, ...] = (), **options: Any) -> Running:
    """How a service runs, with these of its options."""
    return Running(options=read(ServiceOptions, {"manager": manager, **options}), tools=tools)


def wanted_node(version: str = "1.37.1", layout: Layout = LAYOUT, **options: Any) -> Node:
    """A node with these options of a module that looks at it; without a version, one without Kubernetes."""
    return Node.of({"node_name": "win1", "kubernetes_version": version, **options}, layout)


def bare(queries: tuple[Query, ...], *services: dict[str, Any]) -> Reading:
    """A machine with none of the requested files, and only these services."""
    answers: dict[str, Any] = {}
    for query in queries:
        match query.op:
            case "system":
                answers[query.key] = {"machine": "m-1", "boot_id": "b-1", "elevated": True, "os": {"build": 20348}}
            case "services":
                answers[query.key] = list(services)
            case "registry":
                answers[query.key] = {
                    "exists": True,
                    "type": "expand_string",
                    "value": r"%SystemRoot%\system32;%SystemRoot%",
                }
            case _:
                answers[query.key] = {"exists": False}
    return Reading().merge(answers, queries)


def file(content: bytes) -> dict[str, Any]:
    """A file as the probe reports it."""
    return {
        "exists": True,
        "kind": "file",
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "content": base64.b64encode(content).decode(),
    }


def lines(ops: tuple[Op, ...]) -> list[str]:
    """Ops as one readable line each."""
    found = []
    for op in ops:
        args = dict(op.args)
        if op.op == "run":
            found.append(f"run {str(args['program']).rsplit(chr(92), 1)[-1]} {' '.join(args['args'])}")
        elif op.op == "wait":
            what = args.get("name") or args.get("path") or str(args.get("program", "")).rsplit("\\", 1)[-1]
            found.append(f"wait {args['for']} {what} {args.get('state', '')}".rstrip())
        elif op.op == "move":
            found.append(f"move {args['from']} -> {args['to']}")
        else:
            found.append(f"{op.op} {args.get('path') or args.get('archive')}")
    return found


@dataclass
class Controller:
    """A controller without files and network; `said` are its warnings."""

    rendered: Callable[[dict[str, Any]], str] = lambda _variables: ""
    said: list[str] = field(default_factory=list)

    def read_url(self, address: str) -> str:
        raise AssertionError(f"{address} was read")

    def read_file(self, path: str) -> bytes:
        raise AssertionError(f"{path} was read")

    def render(self, template: str, variables: Mapping[str, Any], role: str) -> str:
        return self.rendered(dict(variables))

    def warn_once(self, sentence: str) -> None:
        self.said.append(sentence)


def given(
    name: str, options: Mapping[str, Any], reading: Reading, controller: Controller | None = None, *, check: bool = True
) -> Given[Any]:
    """The input of a component's planning."""
    asks = Asks(controller or Controller(), "win1")
    programs = ("containerd", "kubelet", "kube-proxy")
    own = next(each for each in COMPONENTS if name in (each.name, each.role)).interface.read(options)
    shared = read(SharedOptions, options)
    return Given(name, own, LAYOUT, reading, asks, shared, "mark", check=check, programs=programs)
