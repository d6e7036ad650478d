# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where things are on a node: one dict, `winkube_node`, which every role passes to its module, so that one reading
serves them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..engine import windows_path
from ..engine.powershell import TYPOGRAPHIC
from ..engine.resource import Refused
from .options import Option, Variable


@dataclass(frozen=True, slots=True)
class Layout:
    r"""Paths are absolute; `pipe` is the name of a named pipe without `\\.\pipe\`; `registry_hosts` are the
    registries with a folder below `certs_dir`, `credential_providers` names of the kubelet's providers. PLACES here
    and the tables of the components document each field and its default."""

    state_dir: str
    root: str
    cni_bin_dir: str
    cni_conf_dir: str
    flannel_dir: str
    flannel_run_dir: str
    nssm: str
    containerd_service: str
    containerd_binary: str
    containerd_config: str
    containerd_log: str
    containerd_pipe: str
    log_dir: str
    kubernetes_dir: str
    kubelet_dir: str
    kubelet_service: str
    kubelet_binary: str
    kubelet_kubeconfig: str
    kubeadm_binary: str
    kube_proxy_service: str
    kube_proxy_binary: str
    kube_proxy_kubeconfig: str
    flanneld_service: str
    flanneld_binary: str
    flanneld_kubeconfig: str
    certs_dir: str
    registry_hosts: tuple[str, ...] = ()
    credential_providers: tuple[str, ...] = ()

    @classmethod
    def of(cls, node: Mapping[str, Any]) -> Layout:
        """From a module's argument `node`. Refused with one sentence per invalid path."""
        lists = ("registry_hosts", "credential_providers")
        places = [field.name for field in fields(cls) if field.name not in lists]
        hosts, providers = (tuple(str(one) for one in node.get(name) or ()) for name in lists)
        paths = {name: str(node[name]) for name in places}
        layout = cls(**paths, registry_hosts=hosts, credential_providers=providers)
        names = {
            "containerd_service",
            "containerd_pipe",
            "kubelet_service",
            "kube_proxy_service",
            "flanneld_service",
        }
        problems = [
            f"node.{name}: '{getattr(layout, name)}' {problem}."
            for name in places
            if name not in names and (problem := _problem(getattr(layout, name)))
        ]
        if problems:
            raise Refused(*problems)
        return layout

    @property
    def containerd_bin_dir(self) -> str:
        """The folder of containerd's programs."""
        return windows_path.parent(self.containerd_binary)

    @property
    def ctr(self) -> str:
        """containerd's own client."""
        return windows_path.join(self.containerd_bin_dir, "ctr.exe")

    @property
    def log_runner(self) -> str:
        """The program that writes the logs of services under sc.exe."""
        return windows_path.join(self.root, "kube-log-runner.exe")

    @property
    def runner(self) -> str:
        """The script that executes batches."""
        return windows_path.join(self.state_dir, "runner.ps1")

    @property
    def changes(self) -> str:
        """The file that records which batch last changed each component."""
        return windows_path.join(self.state_dir, "changes.json")

    @property
    def blocked(self) -> str:
        """The file that names the batch whose rollback failed, until someone acknowledges that."""
        return windows_path.join(self.state_dir, "blocked.json")

    def backup(self, mark: str) -> str:
        """The folder in which the batch with this id keeps what it replaces."""
        return windows_path.join(self.state_dir, "batches", mark, "backup")

    def journal(self, mark: str) -> str:
        """What the batch with this id did, op by op."""
        return windows_path.join(self.state_dir, "batches", mark, "journal.jsonl")


def _problem(path: str) -> str | None:
    if any(quote in path for quote in TYPOGRAPHIC):
        return "holds a typographic quote, which PowerShell takes for an apostrophe: write the path with '"
    return windows_path.problem(path)


PLACES = (
    Option(
        "state_dir",
        "str",
        "The collection's own folder. For administrators only; refused if anyone else owns it.",
        default=r"C:\ProgramData\winkube",
        variable=Variable("winkube_state_dir"),
    ),
    Option(
        "root",
        "str",
        "The folder of the node's Kubernetes programs.",
        default=r"C:\k",
        variable=Variable(
            "winkube_root", text="The folder of the node's Kubernetes programs; the CNI folders and nssm follow it."
        ),
    ),
    Option(
        "nssm",
        "str",
        "nssm.exe, the service manager of programs that are not services themselves.",
        default=r"C:\k\nssm.exe",
        variable=Variable("winkube_nssm", r"{{ winkube_root }}\nssm.exe"),
    ),
    Option(
        "log_dir",
        "str",
        "The folder for the logs of kubelet, kube-proxy and flanneld, one file each.",
        default=r"C:\k",
        variable=Variable("winkube_log_dir", "{{ winkube_root }}"),
    ),
    Option(
        "kubernetes_dir",
        "str",
        "The folder of kubeadm's files, pki and kubelet.conf.",
        default=r"C:\etc\kubernetes",
        variable=Variable("winkube_kubernetes_dir"),
    ),
)
"""Places of no component; the others are in the components' tables."""
