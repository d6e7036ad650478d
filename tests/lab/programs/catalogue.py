"""Which lab build is which program: its main, and what it does as a service."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from tests.lab.machine.program import Main, Serve
from tests.lab.programs import (
    cni_plugins,
    containerd,
    crictl,
    ctr,
    curl,
    dism,
    flanneld,
    hcsdiag,
    hnsdiag,
    host_local,
    icacls,
    ipconfig,
    kube_log_runner,
    kube_proxy,
    kubeadm,
    kubelet,
    netsh,
    nssm,
    nssm_service,
    optional,
    sc,
    schtasks,
    shutdown,
    sshd,
    svchost,
    taskkill,
    tasklist,
    unsimulated,
    wevtutil,
    worker,
)

_UNSIMULATED = ("reg", "tar", "cmd", "xcopy", "containerd-stress", "containerd-shim-runhcs-v1")
PROGRAMS: dict[str, tuple[Main, Serve | None]] = {
    "svchost": (svchost.main, svchost.serve),
    "curl": (curl.main, None),
    "services": (svchost.main, None),
    "lsass": (svchost.main, None),
    "worker": (worker.main, worker.serve),
    "sc": (sc.main, None),
    "schtasks": (schtasks.main, None),
    "nssm": (nssm.main, nssm_service.serve),
    "netsh": (netsh.main, None),
    "hnsdiag": (hnsdiag.main, None),
    "hcsdiag": (hcsdiag.main, None),
    "tasklist": (tasklist.main, None),
    "ipconfig": (ipconfig.main, None),
    "wevtutil": (wevtutil.main, None),
    "shutdown": (shutdown.main, None),
    "sshd": (sshd.main, sshd.serve),
    "icacls": (icacls.main, None),
    "dism": (dism.main, None),
    "taskkill": (taskkill.main, None),
    "containerd": (containerd.main, containerd.serve),
    "ctr": (ctr.main, None),
    "crictl": (crictl.main, None),
    "kubelet": (kubelet.main, kubelet.serve),
    "kubeadm": (kubeadm.main, None),
    "kube-log-runner": (kube_log_runner.main, kube_log_runner.serve),
    "kube-proxy": (kube_proxy.main, kube_proxy.serve),
    "flanneld": (flanneld.main, flanneld.serve),
    "host-local": (host_local.main, None),
    **dict.fromkeys(("flannel", "win-bridge", "win-overlay"), (cni_plugins.main, None)),
    **dict.fromkeys(_UNSIMULATED, (unsimulated.main, None)),
    **{
        name: program
        for each in iter_modules(optional.__path__)
        for name, program in import_module(f"{optional.__name__}.{each.name}").PROGRAMS.items()
    },
}
