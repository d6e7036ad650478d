# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A trace of HNS and the virtual switch, as SIG Windows asks for it: started, the problem reproduced, stopped; pure.

Source: microsoft/SDN 0c42384a Kubernetes/windows/debug/starthnstrace.cmd (providers, keywords, options); names of the
providers from starthnstrace.ps1 there.
"""

from __future__ import annotations

from ..engine.batch import Op
from ..engine.tools import SYSTEM32, run

FILE = r"C:\server.etl"
MAX_MB = 250
NETSH = rf"{SYSTEM32}\netsh.exe"
CMD = rf"{SYSTEM32}\cmd.exe"
NO_SESSION = 1
"""What netsh ends with, among others, if there is no trace to be stopped; unverified."""

PROVIDERS: tuple[tuple[str, str], ...] = (
    ("{564368D6-577B-4af5-AD84-1C54464848E6}", ""),  # Microsoft-Windows-Overlay-HNSPlugin
    ("{0c885e0d-6eb6-476c-a048-2457eed3a5c1}", ""),  # Microsoft-Windows-Host-Network-Service
    ("{80CE50DE-D264-4581-950D-ABADEEE0D340}", ""),  # Microsoft.Windows.HyperV.Compute
    ("{D0E4BC17-34C7-43fc-9A72-D89A59D6979A}", ""),  # Microsoft.Windows.HostNetworkingService.PrivateCloudPlugin
    ("{93f693dc-9163-4dee-af64-d855218af242}", ""),  # Microsoft-Windows-Host-Network-Management
    ("{A6F32731-9A38-4159-A220-3D9B7FC5FE5D}", ""),  # Microsoft-Windows-SharedAccess_NAT
    ("{6C28C7E5-331B-4437-9C69-5352A2F7F296}", ""),  # Microsoft.Windows.Hyper.V.VmsIf
    ("{1F387CBC-6818-4530-9DB6-5F1058CD7E86}", "0xFFDFFFFB"),  # vmswitch, the control path only
    ("{67DC0D66-3695-47c0-9642-33F76F7BD7AD}", "0xFFFFFFDD"),  # Microsoft-Windows-Hyper-V-VmSwitch
)
"""Each with its keywords, empty for all of them."""


def start(script: str = "", file: str = FILE, max_mb: int = MAX_MB) -> Op:
    """Begin: by the user's own `script` on the node, else by netsh. A ring of `max_mb` MB, without packets."""
    if script:
        return run(CMD, "/d", "/c", script, timeout_s=120)
    words = [word for guid, keywords in PROVIDERS for word in _provider(guid, keywords)]
    size = ("filemode=circular", f"maxsize={max_mb}")
    kept = ("report=disabled", "capture=no", f"tracefile={file}", *size, "overwrite=yes", "persistent=yes")
    return run(NETSH, "trace", "start", "globallevel=6", *words, *kept, timeout_s=120)


def stop() -> Op:
    """End; netsh writes the rest of the file, which takes its time."""
    return run(NETSH, "trace", "stop", ok_exit=(0, NO_SESSION), timeout_s=600)


def _provider(guid: str, keywords: str) -> tuple[str, ...]:
    return (f"provider={guid}", *((f"keywords={keywords}",) if keywords else ()))
