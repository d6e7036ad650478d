"""Which lab build is which program: its main, and what it does as a service."""

from __future__ import annotations

from tests.lab.programs import (
    cni_plugins,
    containerd,
    crictl,
    ctr,
    dism,
    flanneld,
    hnsdiag,
    host_local,
    icacls,
    ipconfig,
    kube_proxy,
    kubeadm,
    kubelet,
    netsh,
    nssm,
    nssm_service,
    powershell,
    sc,
    shutdown,
    svchost,
    taskkill,
    unsimulated,
    worker,
)
from tests.lab.programs.program import Main, Serve

_UNSIMULATED = ("schtasks", "reg", "tar", "curl", "cmd", "containerd-stress", "containerd-shim-runhcs-v1")
PROGRAMS: dict[str, tuple[Main, Serve | None]] = {
    "svchost": (svchost.main, svchost.serve),
    "services": (svchost.main, None),
    "lsass": (svchost.main, None),
    "powershell": (powershell.main, None),
    "worker": (worker.main, worker.serve),
    "sc": (sc.main, None),
    "nssm": (nssm.main, nssm_service.serve),
    "netsh": (netsh.main, None),
    "hnsdiag": (hnsdiag.main, None),
    "ipconfig": (ipconfig.main, None),
    "shutdown": (shutdown.main, None),
    "icacls": (icacls.main, None),
    "dism": (dism.main, None),
    "taskkill": (taskkill.main, None),
    "containerd": (containerd.main, containerd.serve),
    "ctr": (ctr.main, None),
    "crictl": (crictl.main, None),
    "kubelet": (kubelet.main, kubelet.serve),
    "kubeadm": (kubeadm.main, None),
    "kube-proxy": (kube_proxy.main, kube_proxy.serve),
    "flanneld": (flanneld.main, flanneld.serve),
    "host-local": (host_local.main, None),
    **dict.fromkeys(("flannel", "win-bridge", "win-overlay"), (cni_plugins.main, None)),
    **dict.fromkeys(_UNSIMULATED, (unsimulated.main, None)),
}
