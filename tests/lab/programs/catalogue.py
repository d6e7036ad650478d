"""Which lab build is which program."""

from __future__ import annotations

from tests.lab.programs import (
    containerd,
    crictl,
    ctr,
    dism,
    icacls,
    netsh,
    nssm,
    nssm_service,
    powershell,
    sc,
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
    "icacls": (icacls.main, None),
    "dism": (dism.main, None),
    "taskkill": (taskkill.main, None),
    "containerd": (containerd.main, containerd.serve),
    "ctr": (ctr.main, None),
    "crictl": (crictl.main, None),
    **dict.fromkeys(_UNSIMULATED, (unsimulated.main, None)),
}
