"""A whole node on the lab: from bare to Ready with site.yml, each download from the lab's server, and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.integration.lab import ROOT, Bench, Run
from tests.lab.cluster import makers
from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.flows import SilenceError
from tests.lab.server import whole as downloads
from tests.lab.server.host import NodeHost
from tests.lab.server.source import SourceServer

SITE = ROOT / "playbooks" / "site.yml"
BASE = downloads.BASE
CALICO = ROOT / "playbooks" / "calico.yml"
DIAGNOSE = ("diagnose", "diagnose-kubelet", "diagnose-exec")
"""Files of examples/rbac for all questions of the diagnosis."""


SECOND = {"second_pod_network": "fd00:10:244::/56", "second_service_network": "fd00:10:96::/112"}


@dataclass(frozen=True)
class Kind:
    """One of the two nodes that everything is shown with. `maker`: of the cluster that it joins, in which pods and
    Services may have two families."""

    mode: str
    manager: str
    kubernetes: str
    containerd: str
    backend: str
    maker: str = "kubeadm"
    two_families: bool = False

    def variables(self, **more: Any) -> dict[str, Any]:
        return {
            "winkube_network_mode": self.mode,
            "winkube_service_manager": self.manager,
            "winkube_kubernetes_version": self.kubernetes,
            "winkube_containerd_version": self.containerd,
            **more,
        }


BRIDGE = Kind("l2bridge", "nssm", "1.27.4", "1.7.28", "host-gw")
OVERLAY = Kind("overlay", "sc", "1.37.1", "2.3.7", "vxlan")
VXLAN = Kind("calico", "sc", "1.37.1", "2.3.7", "vxlan", "kubespray")
"""Beside kubespray's own default, Calico by manifests."""
KINDS = {"l2bridge, nssm, 1.27": BRIDGE, "overlay, sc, 1.37": OVERLAY}


def write_sums(sources: SourceServer, folder: Path, *kinds: Kind) -> Path:
    """SHA256SUMS of what these kinds of nodes fetch."""
    return downloads.write_sums(sources, folder, [(kind.kubernetes, kind.containerd) for kind in kinds])


class Whole:
    """A bench with a node that is to become one of the two, its cluster, and site.yml for it."""

    RIGHTS: tuple[str, ...] = ("site",)
    """The files of examples/rbac that are granted to whoever runs the playbooks."""
    VERIFY = ROOT / "playbooks" / "verify.yml"

    def __init__(
        self,
        bench: Bench,
        kind: Kind,
        *kinds: Kind,
        server: str = "",
        name: str = "",
        cluster: Mapping[str, Any] | None = None,
        **spec: Any,
    ) -> None:
        """name: of one node of several, each of which has a cluster of its own; cluster: more of its settings."""
        self.bench = bench
        self.kind = kind
        self.name = name or "win1"
        self.host: NodeHost = bench.node(self.name, **{"address": "192.168.122.231", "containers": False, **spec})
        settings: dict[str, Any] = {"version": server or kind.kubernetes, "backend": kind.backend}
        settings |= {"maker": kind.maker, **makers.ALL[kind.maker].settings}
        if makers.ALL[kind.maker].network == "calico" and kind.mode != "calico":
            settings["network"] = "flannel"
        settings |= SECOND if kind.two_families else {}
        settings |= dict(cluster or {})
        self.cluster: Cluster = bench.cluster_of(name, **settings) if name else bench.cluster(**settings)
        folder = bench.directory / "sums" / self.name
        folder.mkdir(parents=True)
        self.sums = write_sums(bench.lab.sources, folder, kind, *kinds)

    def site(self, *arguments: object, playbook: Path | str = SITE, **more: Any) -> Run:
        """site.yml; more variables as keywords."""
        if Path(playbook).stem == "verify":
            more.setdefault("winkube_cluster", {"kubeconfig": str(self.cluster.shipped("diagnose"))})
        if Path(playbook).stem == "diagnose":
            more.setdefault("winkube_cluster", {"kubeconfig": str(self.cluster.shipped(*DIAGNOSE))})
        if Path(playbook) == CALICO:
            more.setdefault("winkube_cluster", {"kubeconfig": str(self.cluster.shipped("calico"))})
        if Path(playbook).stem == "repair":  # by the name of a finding it looks as the diagnosis does
            rights = dict.fromkeys((*self.RIGHTS, *DIAGNOSE))
            more.setdefault("winkube_cluster", {"kubeconfig": str(self.cluster.shipped(*rights))})
        extra = self.bench.file("extra.json", json.dumps(self.variables(**more)))
        return self.bench.ansible_playbook(playbook, *arguments, "-e", f"@{extra}")

    def variables(self, **more: Any) -> dict[str, Any]:
        """What site.yml is given; more as keywords."""
        return {
            "winkube_hosts": "windows",
            "winkube_download_base": BASE,
            "winkube_download_sums": str(self.sums),
            "winkube_nssm_checksum": str(self.sums),
            "winkube_cluster": {"kubeconfig": str(self.cluster.shipped(*self.RIGHTS))},
            **self.kind.variables(**more),
        }

    def converge(self, *arguments: object, **more: Any) -> Run:
        """A run that has to succeed."""
        run = self.site(*arguments, **more)
        assert run.rc == 0, run
        return run

    def pod(self, name: str = "web", owners: Sequence[Mapping[str, str]] = ()) -> dict[str, Any]:
        """A pod for Windows nodes, once scheduler and kubelet have looked at it."""
        container = {
            "name": name,
            "image": "mcr.microsoft.com/windows/nanoserver:ltsc2022",
            "command": ["powershell", "-Command", "http://*:80/"],
        }
        selector = {"kubernetes.io/os": "windows"}
        spec = {"nodeSelector": selector, "tolerations": [{"operator": "Exists"}], "containers": [container]}
        metadata: dict[str, Any] = {"name": name, "labels": {"app": name}, "ownerReferences": list(owners)}
        body = {"metadata": metadata, "spec": spec}
        self.cluster.request("POST", "/api/v1/namespaces/default/pods", body)
        for _ in ("the scheduler", "the kubelet"):
            self.cluster.advance(60)
        return self.cluster.request("GET", f"/api/v1/namespaces/default/pods/{name}")

    def resolved(self, pod: str, name: str) -> str:
        """The address of a name, asked for in a pod: of the DNS server that the pod was given, by way of its node's
        load balancers; empty where no answer comes."""
        flows = self.cluster.flows
        try:
            return flows.resolve(flows.place_of("default", pod), name)
        except (LookupError, SilenceError):
            return ""

    def state(self, service: str) -> str:
        return str(self.host.in_turn(lambda: self.host.node.services.state(service)))

    def pid(self, service: str) -> int:
        """The process that the service is: of nssm, if that runs it."""
        return int(self.host.in_turn(lambda: self.host.node.services.runtime(service).pid))


class Looked(Whole):
    """hns_check and the diagnosis ask more of the cluster than site.yml does."""

    RIGHTS = ("site", "diagnose")


class BesideCalico(Whole):
    """A node beside a maker's Calico; site.yml looks at Calico's objects as well."""

    RIGHTS = ("site", "calico")

    def __init__(self, bench: Bench, maker: str = "kubespray", **more: Any) -> None:
        super().__init__(bench, replace(VXLAN, maker=maker), **more)
        # Calico's own way to log on, and the tokens that a kubelet gives to pods.
        upstreams = ("\\calico-kubeconfig", "\\serviceaccount\\token")
        for account in ("kube-proxy", "calico-node"):
            bench.lawful[f"token of the Secret {account}-request"] = upstreams
