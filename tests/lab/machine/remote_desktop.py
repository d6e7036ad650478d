"""What a freshly installed Windows Server has for Remote Desktop: off, with its firewall rules there and disabled.

Sources: the rules' texts: Microsoft, "Remote desktop can't connect to the remote computer for one or more reasons"
(RemoteDesktop-UserMode-In-TCP, in the registry); their group @FirewallAPI.dll,-28752. That fDenyTSConnections is 1 and
UserAuthentication 1 on a fresh machine is field knowledge, unverified.
"""

from __future__ import annotations

from tests.lab.machine.firewall import RULES as FIREWALL_RULES
from tests.lab.machine.registry import Registry

GROUP = "@FirewallAPI.dll,-28752"
TERMINAL_SERVER = "HKLM\\SYSTEM\\CurrentControlSet\\Control\\Terminal Server"
RDP_TCP = f"{TERMINAL_SERVER}\\WinStations\\RDP-Tcp"
_SVCHOST = "%SystemRoot%\\system32\\svchost.exe"
# Name in the registry, and the fields that differ.
RULES = (
    (
        "RemoteDesktop-UserMode-In-TCP",
        f"Protocol=6|LPort=3389|App={_SVCHOST}|Svc=termservice|Name=@FirewallAPI.dll,-28775",
    ),
    (
        "RemoteDesktop-UserMode-In-UDP",
        f"Protocol=17|LPort=3389|App={_SVCHOST}|Svc=termservice|Name=@FirewallAPI.dll,-28776",
    ),
    ("RemoteDesktop-Shadow-In-TCP", "Protocol=6|App=%SystemRoot%\\system32\\RdpSa.exe|Name=@FirewallAPI.dll,-28778"),
)


def install(registry: Registry) -> None:
    """Puts it into the registry of a new machine."""
    for name, fields in RULES:
        text = f"v2.31|Action=Allow|Active=FALSE|Dir=In|{fields}|EmbedCtxt={GROUP}|"
        registry.set(FIREWALL_RULES, name, "string", text)
    registry.set(TERMINAL_SERVER, "fDenyTSConnections", "dword", 1)
    registry.set(RDP_TCP, "UserAuthentication", "dword", 1)
