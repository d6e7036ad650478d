"""What the node reaches over HTTP: its own ports, and real servers under the names that its own DNS knows."""

from __future__ import annotations

import base64
import http.client
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

Handler = Callable[[str], tuple[int, bytes]]
"""A path -> status and body: a server on the node itself."""


_REFUSED = "No connection could be made because the target machine actively refused it {}:{}"


class NetworkError(Exception):
    """No answer; the sentence says why."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes
    complete: bool


class Network:
    """hosts: `xyz` or `xyz:80` -> `127.0.0.1:PORT`. What is not in it does not resolve."""

    def __init__(self, hosts: Mapping[str, str] | None) -> None:
        self.hosts: dict[str, str] = {name.lower(): address for name, address in (hosts or {}).items()}
        self.listeners: dict[int, tuple[int, Handler]] = {}
        self.rules: list[str] = []
        self.requests: list[str] = []
        """Every URL that was asked for, in order."""
        self.up: Callable[[], bool] = lambda: True
        """Whether the machine reaches the LAN at the moment."""
        self.own: Callable[[str], bool] = lambda host: False
        """Whether an IP address is one of the machine's own."""
        self.portal: bytes | None = None
        """What a proxy in between answers to every request for another machine: a page, with status 200."""

    def listen(self, port: int, pid: int, handler: Handler) -> None:
        self.listeners[port] = (pid, handler)

    def close_of(self, pid: int) -> None:
        self.listeners = {port: found for port, found in self.listeners.items() if found[0] != pid}

    def clear(self) -> None:
        self.listeners.clear()

    def get(
        self,
        url: str,
        timeout: float = 10.0,
        headers: Mapping[str, str] | None = None,
        limit: int | None = None,
        proxy: str | None = None,
    ) -> Answer:
        """One GET, redirects not followed; through `proxy` (`http://name:port`) only if it is given.

        NetworkError for everything that is no HTTP answer.
        """
        self.requests.append(url)
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        port = parts.port or (443 if parts.scheme == "https" else 80)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if self._is_local(host, port):
            return self._local(host, port, path)
        self._need_lan(host, port)
        if self.portal is not None:
            said = {"content-type": "text/html", "content-length": str(len(self.portal))}
            return Answer(200, said, self.portal, True)
        if parts.scheme != "http":
            raise NetworkError(f"the simulated network speaks http only, not {parts.scheme}: {url}")
        shown = host if port == 80 else f"{host}:{port}"
        if proxy is not None:
            through = urlsplit(proxy)
            address = self.resolve((through.hostname or "").lower(), through.port or 80)
            answer = self._real(address, shown, url, timeout, headers or {}, limit)
            if answer.status != 407 or not through.username:
                return answer
            # As .NET does: the name and its password only when the proxy wants them.
            given = f"{unquote(through.username)}:{unquote(through.password or '')}"
            shows = {"Proxy-Authorization": f"Basic {base64.b64encode(given.encode()).decode()}"}
            return self._real(address, shown, url, timeout, {**(headers or {}), **shows}, limit)
        return self._real(self.resolve(host, port), shown, path, timeout, headers or {}, limit)

    def family(self, host: str, port: int) -> str:
        """`4` or `6`: what kind of address a name leads to. NetworkError where it leads nowhere."""
        if self._is_local(host, port):
            return "6" if ":" in host else "4"
        return "6" if self.resolve(host.lower(), port).startswith("[") else "4"

    def is_unknown(self, host: str, port: int) -> bool:
        """Whether it is a name, and DNS has no address for it."""
        host = host.lower()
        is_name = not re.fullmatch(r"[0-9.]+|.*:.*", host)
        return is_name and not self._is_local(host, port) and not {host, f"{host}:{port}"} & {*self.hosts}

    def connect(self, host: str, port: int, timeout: float = 2.0) -> None:
        """Opens a TCP connection and closes it. NetworkError when nobody takes it."""
        host = host.lower()
        if self._is_local(host, port):
            if port not in self.listeners:
                raise NetworkError(_REFUSED.format(host, port))
            return
        self._need_lan(host, port)
        target, _, real_port = self.resolve(host, port).rpartition(":")
        try:
            socket.create_connection((target.strip("[]"), int(real_port)), timeout=timeout).close()
        except OSError as error:
            raise NetworkError(_REFUSED.format(host, port)) from error

    def _is_local(self, host: str, port: int) -> bool:
        return f"{host}:{port}" not in self.hosts and (host in {"127.0.0.1", "localhost", "::1"} or self.own(host))

    def _need_lan(self, host: str, port: int) -> None:
        if not self.up():
            raise NetworkError(f"A socket operation was attempted to an unreachable network {host}:{port}")

    def resolve(self, host: str, port: int) -> str:
        """A name of the node's DNS -> `127.0.0.1:PORT` of what stands for it. NetworkError for any other."""
        address = self.hosts.get(f"{host}:{port}", self.hosts.get(host))
        if address is None:
            raise NetworkError(f"The remote name could not be resolved: '{host}'")
        return address

    def _local(self, host: str, port: int, path: str) -> Answer:
        found = self.listeners.get(port)
        if found is None:
            raise NetworkError(_REFUSED.format(host, port))
        status, body = found[1](path)
        return Answer(status, {"content-length": str(len(body))}, body, True)

    @staticmethod
    def _real(
        address: str, host: str, path: str, timeout: float, headers: Mapping[str, str], limit: int | None
    ) -> Answer:
        target, _, port = address.rpartition(":")
        connection = http.client.HTTPConnection(target.strip("[]"), int(port), timeout=timeout)
        try:
            connection.request("GET", path, headers={"Host": host, "Accept-Encoding": "identity", **headers})
            response = connection.getresponse()
            complete = True
            try:
                body = response.read() if limit is None else response.read(limit)
            except http.client.IncompleteRead as cut:
                body, complete = cut.partial, False
            return Answer(response.status, {key.lower(): value for key, value in response.getheaders()}, body, complete)
        except (OSError, http.client.HTTPException) as error:
            raise NetworkError(f"Unable to connect to the remote server: {host} ({error})") from error
        finally:
            connection.close()
