# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of the checks. Requests to pods never go through a proxy."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ...engine.powershell import literal

CONNECT_S = 10
"""Seconds that one command waits for an answer."""
WORD = "winkube"
"""The datagram, which must come back."""

_PLAIN = ("-sS", "--noproxy", "*", "--max-time", str(CONNECT_S))


def curl_page(url: str, *, windows: bool) -> tuple[str, ...]:
    """Print the page."""
    return ("curl.exe" if windows else "curl", *_PLAIN, url)


def curl_status(url: str, *, inside: bool = True) -> tuple[str, ...]:
    """In a Windows pod: print the status of the answer, whatever it is. `inside`: in the cluster, so without a
    proxy."""
    options = _PLAIN if inside else ("-sS", "--max-time", str(CONNECT_S))
    return ("curl.exe", "-k", *options, "-o", "NUL", "-w", "%{http_code}", url)


def ping(address: str) -> tuple[str, ...]:
    """In a Windows pod."""
    return ("ping.exe", "-n", "2", "-w", "3000", address)


def udp_from_windows(host: str, port: int) -> tuple[str, ...]:
    """Send WORD and print the reply."""
    script = (
        "$ErrorActionPreference = 'Stop'; $client = New-Object System.Net.Sockets.UdpClient; "
        f"$client.Client.ReceiveTimeout = {CONNECT_S * 1000}; $client.Connect({literal(host)}, {port}); "
        f"$data = [System.Text.Encoding]::ASCII.GetBytes('{WORD}'); $null = $client.Send($data, $data.Length); "
        "$from = New-Object System.Net.IPEndPoint([System.Net.IPAddress]::Any, 0); "
        "[System.Text.Encoding]::ASCII.GetString($client.Receive([ref]$from))"
    )
    return powershell(script)


def udp_from_linux(host: str, port: int) -> tuple[str, ...]:
    """The same with only bash."""
    script = f"exec 3<>/dev/udp/{host}/{port}; echo -n {WORD} >&3; timeout {CONNECT_S} head -c {len(WORD)} <&3"
    return ("bash", "-c", script)


def resolve(name: str, server: str = "") -> tuple[str, ...]:
    """In a Windows pod: print the IPv4 address of a name."""
    at = f" -Server {literal(server)}" if server else ""
    return powershell(
        "$ErrorActionPreference = 'Stop'; "
        f"(Resolve-DnsName -Name {literal(name)} -Type A -DnsOnly{at} | Where-Object {{ $_.Type -eq 'A' }}).IPAddress"
    )


def dns_servers() -> tuple[str, ...]:
    """In a Windows pod: the DNS servers in its registry, in place of /etc/resolv.conf."""
    return powershell("(Get-DnsClientServerAddress -AddressFamily IPv4).ServerAddresses | Sort-Object -Unique")


def whoami() -> tuple[str, ...]:
    """In a Windows pod."""
    return ("whoami.exe",)


def write_where_it_is_denied() -> tuple[str, ...]:
    """In a Windows pod, as a user without administrator rights: stands in for permission bits."""
    return ("cmd.exe", "/c", "echo winkube> C:\\Windows\\winkube-smoke.txt")


def powershell(script: str) -> tuple[str, ...]:
    """A script in a Windows pod."""
    return ("powershell.exe", "-NoProfile", "-NonInteractive", "-Command", script)


def as_typed(namespace: str, pod: str, argv: Sequence[str]) -> str:
    """The command as a person types it: with kubectl if it runs in a pod."""
    line = shlex.join(argv)
    return f"kubectl exec -n {namespace} {pod} -- {line}" if pod else line
