"""What a whole node needs besides the machine: a cluster to join, a kubeconfig for the controller, downloads with sums.

`start --cluster` makes all of it for the nodes that shall become whole ones. A kubelet is never newer than its API
server, and at most three releases older, so each node has a cluster of its own; the kubeconfig has a context for each.
"""

from __future__ import annotations

import hashlib
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.lab.cluster import kubespray
from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.seed import Settings
from tests.lab.server.lab import Lab
from tests.lab.server.nodes import NodeSpec
from tests.lab.server.source import SourceServer

# The lab's sources answer for every publisher, below any path: what a bundle's server does.
BASE = "http://xyz"
FLEET = "mycluster"
"""The cluster of a fleet, named as kubespray's documentation names one."""
_FIXED = {"plugins": "1.10.0", "flannel_cni": "1.9.1-flannel3", "flannel": "0.28.10", "log_runner": "1.37.2"}


@dataclass(frozen=True)
class Wish:
    """A node that shall become a whole one, and its releases; `mode` is that of its network."""

    name: str
    kubernetes: str = Settings().version
    containerd: str = "2.3.7"
    mode: str = "l2bridge"


def wishes(items: Iterable[str]) -> tuple[Wish, ...]:
    """Of the values of `--nodes`: each Node document with spec.kubernetes.version, and each NAME=ADDRESS:PORT."""
    found: list[Wish] = []
    for item in items:
        if Path(item).is_file():
            documents = yaml.safe_load_all(Path(item).read_text(encoding="utf-8"))
            found += [_of_document(each) for each in documents if each and _version(each)]
        else:
            found.append(Wish(item.partition("=")[0]))
    return tuple(found)


def _version(document: Mapping[str, Any]) -> str:
    return str(((document.get("spec") or {}).get("kubernetes") or {}).get("version") or "")


def _of_document(document: Mapping[str, Any]) -> Wish:
    spec = document["spec"]
    containerd = str((spec.get("containerd") or {}).get("version") or Wish.containerd)
    mode = str((spec.get("network") or {}).get("mode") or Wish.mode)
    return Wish(document["metadata"]["name"], _version(document), containerd, mode.lower())


def start_clusters(lab: Lab, wanted: Iterable[Wish]) -> None:
    """A cluster for each; in the lab's directory one `kubeconfig`, `SHA256SUMS`, and `whole.yml`, variables for
    ansible-playbook that lead to all of it."""
    releases = []
    for wish in wanted:
        backend = "vxlan" if wish.mode == "overlay" else "host-gw"
        lab.start_cluster(Settings(version=wish.kubernetes, backend=backend), wish.name.lower())
        releases.append((wish.kubernetes, wish.containerd))
    add_linux_hosts(lab)
    sums = str(write_sums(lab.sources, lab.directory, releases))
    variables = {
        "winkube_download_base": BASE,
        "winkube_download_sums": sums,
        "winkube_nssm_checksum": sums,
        "winkube_cluster": {
            "kubeconfig": str(contexts(lab.clusters, lab.directory / "kubeconfig")),
            "context": "{{ winkube_node_name }}",
        },
    }
    lab.directory.joinpath("whole.yml").write_text(yaml.safe_dump(variables), encoding="utf-8")


def fleet_nodes(count: int) -> list[str]:
    """The nodes of a fleet, as `--nodes` takes them; the first are those of examples/infra-repo."""
    return [f"win{number}=192.168.10.{20 + number}:22" for number in range(1, count + 1)]


def start_fleet(lab: Lab, nodes: Iterable[NodeSpec]) -> None:
    """One cluster as kubespray makes it; in the lab's directory its kubeconfig, `fleet.conf`, its downloads' sums,
    `fleet/SHA256SUMS`, and `fleet.ini`, an inventory of the nodes with all that site.yml needs."""
    wish = Wish(FLEET, mode="overlay")
    settings = Settings(version=wish.kubernetes, backend="vxlan", **kubespray.SETTINGS)
    cluster = lab.start_cluster(settings, FLEET)
    folder = lab.directory / "fleet"  # beside it are those of `start_clusters`
    folder.mkdir(exist_ok=True)
    sums = str(write_sums(lab.sources, folder, [(wish.kubernetes, wish.containerd)]))
    variables = {
        "ansible_connection": "ssh",
        "ansible_shell_type": "powershell",
        "ansible_user": "Administrator",
        "winkube_kubernetes_version": wish.kubernetes,
        "winkube_containerd_version": wish.containerd,
        "winkube_network_mode": wish.mode,
        "winkube_download_base": BASE,
        "winkube_download_sums": sums,
        "winkube_nssm_checksum": sums,
        "winkube_cluster": {"kubeconfig": str(contexts({FLEET: cluster}, lab.directory / "fleet.conf"))},
    }
    lines = ["[windows_nodes]", *(f"{spec.name} ansible_host={spec.address}" for spec in nodes)]
    lines += ["", "[windows_nodes:vars]", *(f"{name}={value}" for name, value in variables.items())]
    lab.directory.joinpath("fleet.ini").write_text("\n".join(lines) + "\n", encoding="utf-8")


def add_linux_hosts(lab: Lab) -> None:
    """Where the first cluster can be asked from: its control plane, and a machine outside of it."""
    for cluster in list(lab.clusters.values())[:1]:
        lab.add_linux(cluster)
        lab.add_linux(cluster, "workstation", "192.168.122.1")


def contexts(clusters: Mapping[str, Cluster], target: Path) -> Path:
    """One kubeconfig with a context for each cluster, by its name; the first is the current one."""
    merged: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": []}
    for name, cluster in clusters.items():
        own = yaml.safe_load(cluster.kubeconfig.read_text(encoding="utf-8"))
        merged["clusters"].append({**own["clusters"][0], "name": name})
        merged["users"].append({**own["users"][0], "name": name})
        merged["contexts"].append({"name": name, "context": {"cluster": name, "user": name}})
    merged["current-context"] = next(iter(clusters), "")
    target.touch(mode=0o600)
    target.write_text(yaml.safe_dump(merged), encoding="utf-8")
    return target


def downloads(kubernetes: str, containerd: str) -> tuple[str, ...]:
    """What site.yml fetches, as paths below a download base."""
    github = "github.com"
    return (
        f"{github}/containerd/containerd/releases/download/v{containerd}/containerd-{containerd}-windows-amd64.tar.gz",
        *(
            f"dl.k8s.io/release/v{kubernetes}/bin/windows/amd64/{name}.exe"
            for name in ("kubelet", "kubeadm", "kube-proxy")
        ),
        f"dl.k8s.io/release/v{_FIXED['log_runner']}/bin/windows/amd64/kube-log-runner.exe",
        "nssm.cc/release/nssm-2.24.zip",
        f"{github}/containernetworking/plugins/releases/download/v{_FIXED['plugins']}/"
        f"cni-plugins-windows-amd64-v{_FIXED['plugins']}.tgz",
        f"{github}/flannel-io/cni-plugin/releases/download/v{_FIXED['flannel_cni']}/"
        f"cni-plugin-flannel-windows-amd64-v{_FIXED['flannel_cni']}.tgz",
        f"{github}/flannel-io/flannel/releases/download/v{_FIXED['flannel']}/flanneld.exe",
    )


def write_sums(sources: SourceServer, folder: Path, releases: Iterable[tuple[str, str]]) -> Path:
    """SHA256SUMS of what nodes of these releases (Kubernetes, containerd) fetch, as playbooks/bundle.yml writes it."""
    lines = []
    for path in dict.fromkeys(path for release in releases for path in downloads(*release)):
        with urllib.request.urlopen(f"http://{sources.address}/{path}", timeout=30) as answer:
            lines.append(f"{hashlib.sha256(answer.read()).hexdigest()}  {path}\n")
    target = folder / "SHA256SUMS"
    target.write_text("".join(lines), encoding="utf-8")
    return target
