# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The proxy through which the controller reaches an API, as kubectl chooses it.

Source: client-go v0.37 tools/clientcmd/client_config.go (proxy-url goes before the environment, NO_PROXY too);
golang.org/x/net/http/httpproxy (a loopback address needs no proxy, a proxy without a scheme speaks http).
"""

from __future__ import annotations

from contextlib import suppress
from ipaddress import ip_address, ip_network
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies

from ..engine.address import mask

SCHEMES = ("http", "https", "socks5", "socks5h")
_OF_KUBECONFIG = SCHEMES[:3]
"""Source: client-go v0.37.1 tools/clientcmd/helpers.go, parseProxyURL."""


def find_proxy(server: str, given: str) -> str:
    """The proxy's address with its scheme, empty for none. `given` is the kubeconfig's `proxy-url`.

    ValueError if it is not an address of a proxy.
    """
    proxy = given
    if not given:
        environment = getproxies()
        if is_direct(server, environment.get("no", "")):
            return ""
        proxy = environment.get(urlsplit(server).scheme) or environment.get("all") or ""
    if not proxy:
        return ""
    proxy = proxy if given or "://" in proxy else f"http://{proxy}"
    schemes = _OF_KUBECONFIG if given else SCHEMES
    if urlsplit(proxy).scheme not in schemes or not urlsplit(proxy).hostname:
        whose = "its proxy-url" if given else "the proxy of the environment"
        raise ValueError(f"{whose}, {mask(proxy)}, is not an address that begins with {', '.join(schemes)}")
    return proxy


def is_direct(server: str, no_proxy: str) -> bool:
    """Whether the address is the controller's own, or NO_PROXY names it: by its host, with its port or a domain of it,
    by a network, or by `*`."""
    parts = urlsplit(server.lower())
    host = parts.hostname or ""
    if host == "localhost" or _is_loopback(host):
        return True
    for rule in (each.strip().lower().lstrip(".") for each in no_proxy.split(",")):
        if rule and (rule in {"*", host, parts.netloc} or host.endswith(f".{rule}")):
            return True
        with suppress(ValueError):  # one of them is a name
            if ip_address(host) in ip_network(rule, strict=False):
                return True
    return False


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def credentials(proxy: SplitResult) -> tuple[str, str] | None:
    """User and password in a proxy's address."""
    return (unquote(proxy.username), unquote(proxy.password or "")) if proxy.username else None
