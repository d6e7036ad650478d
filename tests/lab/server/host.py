"""One simulated node behind one real SSH port on 127.0.0.1, and behind the lab's door for WinRM."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import socket
import struct
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, TypeVar

import asyncssh

from tests.lab.machine.errors import PowerLost, SessionKilled
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.session import Reply, Session
from tests.lab.server import shell
from tests.lab.server.files import Keys
from tests.lab.server.ledger import Ledger
from tests.lab.server.nodes import NodeSpec
from tests.lab.server.recordings import known
from tests.lab.server.sftp import DriveServer
from tests.lab.server.winrm.shells import Shells
from tests.lab.server.winrm.soap import POWERSHELL

T = TypeVar("T")
PATIENCE_S = 10.0
"""Seconds of the node's clock that one attempt to connect waits for it."""


class NodeHost:
    """The listener of one node, and its connections."""

    def __init__(self, spec: NodeSpec, node: SimulatedNode, keys: Keys, ledger: Ledger, executor: Executor) -> None:
        self.spec = spec
        self.node = node
        self.port = 0
        self._shells = {Shells.resource: Shells(self)}
        self.streams: set[asyncio.StreamWriter] = set()
        """The WinRM connections that are the node's now."""
        self._ledger = ledger
        self._executor = executor
        self._connections: set[asyncssh.SSHServerConnection] = set()
        self._silent: set[socket.socket] = set()
        """Connections that are open for the other side only."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._socket: socket.socket | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._keys = keys
        node.on_cut.append(self.lose)

    # -- the listener --------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen on a free port of 127.0.0.1."""
        self._loop = asyncio.get_running_loop()
        self._options = asyncssh.SSHServerConnectionOptions(
            server_factory=lambda: _Login(self, self._keys.client),
            server_host_keys=[self._keys.host],
            process_factory=self._serve_exec,
            sftp_factory=self._serve_sftp,
            encoding=None,
            line_editor=False,
            agent_forwarding=False,
            x11_forwarding=False,
            server_version="winkube_lab_simulated",
            compression_algs=None,
            # The fastest pair that OpenSSH and asyncssh share; the lab's traffic never leaves the machine.
            encryption_algs=[
                "aes128-gcm@openssh.com",
                "aes256-gcm@openssh.com",
                "chacha20-poly1305@openssh.com",
                "aes128-ctr",
            ],
        )
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._socket.setblocking(False)
        self.port = self._socket.getsockname()[1]
        self.spawn(self._accept(self._socket))

    async def stop(self) -> None:
        """Close the listener and every connection."""
        if self._socket:
            self._socket.close()
        self.node.on_cut.remove(self.lose)
        self.drop_connections()
        for sock in self._silent:
            sock.close()
        self._silent.clear()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def set(self, **changes: Any) -> None:
        """Change the spec from any thread, e.g. `set(access="refused")`; open connections are cut when access ends,
        without a word if it is `silent` now. `open` ends a silence of the machine, too."""
        self.spec = replace(self.spec, **changes)
        if changes.get("access") == "open":
            self.node.faults.silent = False
        elif self.spec.access != "open":
            self._in_loop(self.drop_connections if self.spec.access == "refused" else self.hush_connections)

    def drop(self) -> None:
        """`drop_connections` from any thread."""
        self._in_loop(self.drop_connections)

    def lose(self, told: bool) -> None:
        """Every connection is lost, from any thread; one that the client is not told of stays open for it."""
        kind = self.spec.kind
        self._in_loop(self.drop_connections if told or (kind and kind.connections) else self.hush_connections)

    def _in_loop(self, work: Callable[[], None]) -> None:
        if self._loop:
            self._loop.call_soon_threadsafe(work)

    @property
    def reachable(self) -> bool:
        return self.answers("sshd")

    def answers(self, service: str) -> bool:
        """Whether a connection is taken: it may, and the machine has its address and the service runs."""
        node = self.node
        return (
            not self.is_silent
            and self.spec.access == "open"
            and node.online
            and node.services.state(service) == "running"
        )

    @property
    def is_silent(self) -> bool:
        """Whether packets are lost on the way, until somebody mends it or the machine boots."""
        return self.spec.access == "silent" or self.node.faults.silent

    async def admit(self, service: str, patience_s: float = PATIENCE_S) -> bool:
        """Whether a new connection is taken, after some of the node's time if need be; a refusal is counted."""
        if self.answers(service):
            return True
        if self.spec.access != "refused" and await self.run(lambda: self._wait_for(service, patience_s)):
            return True
        self.count(refused_connections=1)
        return False

    def _wait_for(self, service: str, patience_s: float) -> bool:
        """What a client does whose first packets get no answer: so much of the node's clock passes. Is it there?"""
        clock = self.node.clock
        end = clock.now() + patience_s
        if clock.advance_until(lambda: self.answers(service), patience_s):
            return True
        clock.advance(end - clock.now())
        return self.answers(service)

    def drop_connections(self) -> None:
        """Cut the TCP connection of every session, so that the clients know. Runs in the event loop."""
        for connection in list(self._connections):
            self.count(aborted=1)
            connection.abort()
        self._connections.clear()
        for stream in self.streams:
            self.count(aborted=1)
            stream.transport.abort()
        self.streams.clear()

    def hush_connections(self) -> None:
        """As `drop_connections`, but the clients get neither FIN nor RST: for them the connections stay open."""
        for way in (*(connection for connection in self._connections), *self.streams):
            self.swallow(way.get_extra_info("socket").dup())
        self.drop_connections()

    def swallow(self, sock: socket.socket) -> None:
        """Take what comes on this connection and answer nothing, until the client gives up."""
        sock.setblocking(False)
        self._silent.add(sock)
        self.spawn(self._swallow(sock))

    async def _swallow(self, sock: socket.socket) -> None:
        """A machine that is back answers what belongs to no connection of its own with a RST."""
        loop = asyncio.get_running_loop()
        try:
            while await loop.sock_recv(sock, 65536):
                if self.reachable:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    break
        except OSError:
            pass  # it was the client who has reset it
        finally:
            self._silent.discard(sock)
            sock.close()

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, _ = await loop.sock_accept(listener)
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.reachable:
                self.spawn(self._serve(sock))
            else:
                self.spawn(self._try(sock))

    async def _try(self, sock: socket.socket) -> None:
        """A connection to a node that does not answer now: served if it comes back soon enough."""
        if await self.admit("sshd"):
            await self._serve(sock)
        elif self.is_silent:
            self.swallow(sock)
        else:
            sock.close()

    async def _serve(self, sock: socket.socket) -> None:
        # A login that fails, or a client that goes away in the middle of it, is no error of the lab.
        with contextlib.suppress(asyncssh.Error, OSError, asyncio.TimeoutError):
            await asyncssh.run_server(sock, options=self._options)

    def spawn(self, coroutine: Any) -> None:
        """Run a coroutine in the lab's loop until it ends, or the host is stopped."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- the work ------------------------------------------------------------------------------------------------

    def shells_of(self, resource: str) -> Shells:
        """The shells of a kind of WS-Management's, by its ResourceURI; those of cmd refuse one that there is not."""
        if resource == POWERSHELL and resource not in self._shells:
            from tests.lab.server.winrm.pools import RunspacePools  # psrpcore takes long to load, and few ask for it

            self._shells[resource] = RunspacePools(self)
        return self._shells.get(resource, self._shells[Shells.resource])

    def count(self, **amounts: int) -> None:
        self._ledger.add(self.spec.name, **amounts)

    def in_turn(self, work: Callable[[], T]) -> T:
        """Run work while nobody else works on this node; blocks the calling thread."""
        with self.node.lock:
            return work()

    async def run(self, work: Callable[[], T]) -> T:
        """Run work in a thread, in this node's turn."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, self.in_turn, work)

    async def _serve_exec(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        connection = process.channel.get_connection()
        command = process.command
        if command is None:
            self._finish(process, shell.interactive(self.node))
            return
        stdin = b""
        if shell.reads_stdin(command):
            stdin = await process.stdin.read()
        self.count(execs=1, bytes_in=len(command.encode()) + len(stdin))
        await asyncio.sleep(self.spec.latency_s)
        user = str(connection.get_extra_info("username"))
        try:
            session = await self.run(lambda: self.node.open_session(user))
            reply = await self.respond(session, command, stdin)
        except SessionKilled:
            if connection in self._connections:  # else all were cut at once
                self.count(aborted=1)
                connection.abort()
            return
        except PowerLost:
            self.drop_connections()
            return
        self._finish(process, reply)

    async def respond(self, session: Session, command: str, stdin: bytes) -> Reply:
        """Run one command line in its session, which ends with it. SessionKilled, PowerLost."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._respond, session, command, stdin)

    def inside(self, command: str, stdin: bytes) -> Reply:
        """A program of a HostProcess pod: at the machine itself, as SYSTEM. Counted as an exec. PowerLost."""
        self.count(execs=1, bytes_in=len(command.encode()) + len(stdin))
        time.sleep(self.spec.latency_s)
        reply = self._respond(self.in_turn(lambda: self.node.open_console("SYSTEM")), command, stdin)
        self.count(bytes_out=len(reply.stdout) + len(reply.stderr))
        return reply

    def reads_stdin(self, command: str) -> bool:
        return shell.reads_stdin(command)

    def _respond(self, session: Session, command: str, stdin: bytes) -> Reply:
        """Runs in a thread. The node's lock is held step by step: another session can come in between, as it would."""
        node = self.node
        try:
            return shell.respond(shell.Request(node, session, command, stdin), self._ledger, known())
        finally:
            with node.lock:
                if session in node.sessions:  # else it was killed, and its process id may be another's by now
                    node.close_session(session)

    def _finish(self, process: asyncssh.SSHServerProcess[bytes], reply: Reply) -> None:
        self.count(bytes_out=len(reply.stdout) + len(reply.stderr))
        # The client may be gone by now: then nobody is there to read the answer.
        with contextlib.suppress(OSError, asyncssh.Error):
            process.stdout.write(reply.stdout)
            process.stderr.write(reply.stderr)
            process.exit(reply.exit_status)

    def _serve_sftp(self, channel: Any) -> DriveServer:
        self.count(subsystems=1)
        return DriveServer(channel, self)

    def connected(self, connection: asyncssh.SSHServerConnection) -> None:
        self._connections.add(connection)
        self.count(connections=1)

    def disconnected(self, connection: asyncssh.SSHServerConnection | None) -> None:
        if connection is not None:
            self._connections.discard(connection)


class _Login(asyncssh.SSHServer):
    """Who may log in: the node's user, with the lab's key or the node's password."""

    def __init__(self, host: NodeHost, client_key: asyncssh.SSHKey) -> None:
        self._host = host
        self._public_data = client_key.public_data
        self._connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._host.connected(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        self._host.disconnected(self._connection)

    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return self._is_user(username) and key.public_data == self._public_data

    def password_auth_supported(self) -> bool:
        return self._host.spec.password is not None

    def validate_password(self, username: str, password: str) -> bool:
        wanted = self._host.spec.password
        right = (
            self._is_user(username) and wanted is not None and hmac.compare_digest(password.encode(), wanted.encode())
        )
        if not right:
            self._host.count(failed_logins=1)
        return right

    def _is_user(self, username: str) -> bool:
        return username.lower() == self._host.spec.username.lower()
