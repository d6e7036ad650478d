"""The one port at which a lab takes WinRM connections: an HTTP proxy to the nodes' own addresses.

    ansible_winrm_proxy=http://127.0.0.1:PORT        (pywinrm: Protocol(..., proxy=))

So inventories keep their addresses: `http://192.168.122.220:5985/wsman` through the proxy ends at the node that claims
192.168.122.220, and `https://192.168.122.220:5986/wsman` after CONNECT, with a certificate of the lab's own authority.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import ssl
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from tests.lab.cluster.pki import Authority, Identity
from tests.lab.machine.errors import PowerLost, SessionKilled
from tests.lab.server.files import write_private
from tests.lab.server.host import NodeHost
from tests.lab.server.nodes import DEFAULT_PORT, WINRM_HTTP, WINRM_HTTPS, NodesError, NodeSpec, split_address
from tests.lab.server.winrm import http, soap
from tests.lab.server.winrm.http import BadRequestError, Request, Response
from tests.lab.server.winrm.login import SEALED_TYPE, Login, SealError, is_sealed

SERVICE = "WinRM"
PATH = "/wsman"
PATIENCE_S = 30.0
"""Seconds of the node's clock that one attempt to connect waits for it: pywinrm's read_timeout_sec."""
YOUNG_S = 4.0
"""So long after its start the service answers 503, and as long again it knows nobody; each such answer lets as much of
the node's clock pass. Field knowledge; the times are a guess.
"""
# Requests of 0.5 MB arrive in one piece; asyncio's own 64 KB would stop the stream in between.
_LIMIT = 4 * 1024 * 1024


class Door:
    """See the module. `directory` gets the certificates: `ca.pem`, and one file for each node."""

    def __init__(self, directory: Path, hosts: Callable[[], Iterable[NodeHost]]) -> None:
        self.ca = directory / "ca.pem"
        self._directory = directory
        self._hosts = hosts
        self._authority: Authority | None = None
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._server: asyncio.Server | None = None
        self.url = ""

    async def start(self) -> None:
        self._directory.mkdir(mode=0o700, exist_ok=True)
        self._authority = Authority("winkube lab, simulated nodes")
        self.ca.write_bytes(self._authority.pem)
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_LIMIT, backlog=128)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        if self._server:
            self._server.close()

    # -- connections ---------------------------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(self, reader, writer)
        # A client that goes away in the middle, or a cut, is no error of the lab.
        with contextlib.suppress(OSError, ssl.SSLError, asyncio.TimeoutError):
            try:
                await connection.serve()
            except BadRequestError as error:
                await http.write_response(writer, http.text(error.status, str(error)))
            finally:
                connection.leave()
                writer.close()

    def find(self, authority: str, tls: bool) -> NodeHost:
        """The node that claims `host:port` for this scheme. BadRequestError 502 where none does."""
        own = WINRM_HTTPS if tls else WINRM_HTTP
        try:
            name, port = split_address(authority, "the request")
        except NodesError as error:
            raise BadRequestError(502, str(error)) from error
        if ":" not in authority.rpartition("]")[2]:
            port = 443 if tls else 80
        hosts = [host for host in self._hosts() if name.lower() in (host.spec.address.lower(), host.spec.name.lower())]
        others = {DEFAULT_PORT, WINRM_HTTP if tls else WINRM_HTTPS}
        exact = [host for host in hosts if host.spec.port == port and port not in others]
        found = exact or (hosts if port == own else [])
        if found:
            return found[0]
        claimed = ", ".join(f"{host.spec.name} {host.spec.address}" for host in self._hosts()) or "no nodes"
        raise BadRequestError(
            502,
            f"no simulated node takes {'HTTPS' if tls else 'HTTP'} at {authority} (WinRM has {WINRM_HTTP} and "
            f"{WINRM_HTTPS}); the lab has {claimed}",
        )

    def tls(self, host: NodeHost) -> ssl.SSLContext:
        """The node's side of TLS; its certificate is made when it is first asked for."""
        spec = host.spec
        if spec.name not in self._contexts:
            assert self._authority is not None
            pair = self._authority.issue(_identity(spec), usages=("server auth",))
            path = self._directory / f"{spec.name}.pem"
            write_private(path, (pair.certificate + pair.key).decode())
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(path)
            self._contexts[spec.name] = context
        return self._contexts[spec.name]


def _identity(spec: NodeSpec) -> Identity:
    try:
        return Identity(spec.name, (), (spec.name,), (str(ipaddress.ip_address(spec.address)),))
    except ValueError:
        return Identity(spec.name, (), (spec.name, spec.address))


class _Connection:
    """One client's connection, to one node at a time."""

    def __init__(self, door: Door, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._door = door
        self._reader = reader
        self._writer = writer
        self._host: NodeHost | None = None
        self._tls = False
        self._login: Login | None = None

    async def serve(self) -> None:
        request = await http.read_request(self._reader, self._writer)
        if request is not None and request.method == "CONNECT":
            if not await self._enter(self._door.find(request.authority, tls=True), tls=True):
                return
            request = await http.read_request(self._reader, self._writer)
        while request is not None:
            host = self._host if self._tls else self._door.find(request.authority, tls=False)
            assert host is not None
            if host is not self._host and not await self._enter(host, tls=False):
                return
            response = await self._answer(host, request)
            if response is None:
                return
            if self._login is not None and self._login.last_word and response.status != 401:
                response = replace(response, headers=(*response.headers, ("WWW-Authenticate", self._login.last_word)))
            await http.write_response(self._writer, response)
            request = await http.read_request(self._reader, self._writer)

    async def _enter(self, host: NodeHost, tls: bool) -> bool:
        """Whether the node takes the connection; if so it is the node's from now on."""
        self.leave()
        if not await host.admit(SERVICE, PATIENCE_S):
            if host.is_silent:
                host.swallow(self._writer.get_extra_info("socket").dup())
                self._writer.transport.abort()
            return False
        self._host, self._tls = host, tls
        self._login = Login(host.spec, encrypted=tls)
        host.streams.add(self._writer)
        host.count(connections=1)
        if tls:
            self._writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await self._writer.drain()
            await self._writer.start_tls(self._door.tls(host), ssl_handshake_timeout=30)
        return True

    def leave(self) -> None:
        if self._host is not None:
            self._host.streams.discard(self._writer)
            self._host = None

    def _cut(self, host: NodeHost) -> None:
        host.count(aborted=1)
        self._writer.transport.abort()

    # -- requests ------------------------------------------------------------------------------------------------

    async def _answer(self, host: NodeHost, request: Request) -> Response | None:
        """The answer; None when the connection has been cut instead."""
        login = self._login
        assert login is not None
        if not host.answers(SERVICE):
            self._cut(host)
            return None
        if request.path.rstrip("/").lower() != PATH:
            return http.text(404, f"Windows has WS-Management at {PATH}, not at {request.path:.80}")
        if request.method != "POST":
            return http.text(405, f"WS-Management takes POST, not {request.method:.20}")
        age = _age(host)
        if age < YOUNG_S:
            await host.run(lambda: host.node.clock.advance(YOUNG_S))
            return http.text(503, f"WinRM on the simulated node {host.spec.name} has just been started")
        challenges = login.check(request.headers.get("authorization", ""))
        if challenges is None and age < 2 * YOUNG_S:
            await host.run(lambda: host.node.clock.advance(YOUNG_S))
            challenges = login.refuse()
        if challenges is not None:
            host.count(failed_logins=int(login.failed))
            return Response(401, headers=tuple(("WWW-Authenticate", value) for value in challenges))
        if not request.body:
            return Response(200)  # how pywinrm makes a connection log in before its first sealed message
        return await self._message(host, login, request)

    async def _message(self, host: NodeHost, login: Login, request: Request) -> Response | None:
        sealed = is_sealed(request.headers.get("content-type", ""))
        if not (sealed or self._tls or host.spec.winrm_unencrypted):
            return http.text(
                500, f"the simulated node {host.spec.name} takes encrypted messages only (AllowUnencrypted is false)"
            )
        try:
            body = login.open(request.body) if sealed else request.body
            message = replace(soap.parse(body), gone=self._writer.transport.is_closing)
        except (SealError, ValueError) as error:
            return http.text(400, str(error))
        host.count(winrm_messages=1)
        status = 200
        try:
            assert login.user is not None
            made = await host.shells_of(message.resource).answer(message, login.user)
        except soap.FaultError as error:
            status, made = 500, soap.fault(error, message.message_id, host.node.name)
        except ValueError as error:
            return http.text(400, str(error))
        except SessionKilled:
            self._cut(host)
            return None
        except PowerLost:
            host.drop_connections()
            return None
        if not sealed:
            return Response(status, made)
        return Response(status, login.seal(made), SEALED_TYPE)


def _age(host: NodeHost) -> float:
    """Seconds of the node's clock since the service was started."""
    process = host.node.services.runtime(SERVICE).process
    return 0.0 if process is None else host.node.clock.now() - process.started
