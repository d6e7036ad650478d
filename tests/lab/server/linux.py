"""A Linux host of the lab: real SSH, and behind it a shell that knows what the smoke test asks (pod_programs.py).

It is a node of the cluster, or a machine outside of it; it runs nothing else, no Python either.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from concurrent.futures import Executor

import asyncssh

from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.flows import Place
from tests.lab.cluster.pod_programs import run_on_linux
from tests.lab.server.files import Keys
from tests.lab.server.nodes import NodeSpec


class LinuxHost:
    """One host behind one port of 127.0.0.1; `place` is where it stands in the cluster's network."""

    def __init__(self, spec: NodeSpec, place: Place, cluster: Cluster, keys: Keys, executor: Executor) -> None:
        self.spec, self.place = spec, place
        self.port = 0
        self.lines: list[str] = []
        """Every command line, in order."""
        self._cluster, self._keys, self._executor = cluster, keys, executor
        self._server: asyncssh.SSHAcceptor | None = None
        self._connections: set[asyncssh.SSHServerConnection] = set()

    async def start(self) -> None:
        sock = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.port = int(sock.getsockname()[1])
        self._server = await asyncssh.listen(
            sock=sock,
            server_factory=lambda: _Login(self.spec.username, self._keys.client, self._connections),
            server_host_keys=[self._keys.host],
            process_factory=self._serve,
            encoding="utf-8",
            line_editor=False,
        )

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for connection in self._connections:  # OpenSSH keeps them open for the next command
            connection.abort()

    async def _serve(self, process: asyncssh.SSHServerProcess[str]) -> None:
        line = process.command or ""
        self.lines.append(line)
        code, stdout, stderr = await asyncio.get_running_loop().run_in_executor(self._executor, self._run, line)
        with contextlib.suppress(OSError, asyncssh.Error):
            process.stdout.write(stdout)
            process.stderr.write(stderr)
            process.exit(127 if code is None else code)

    def _run(self, line: str) -> tuple[int | None, str, str]:
        return run_on_linux(self._cluster.flows, self.place, line)


class _Login(asyncssh.SSHServer):
    """The host's user with the lab's key."""

    def __init__(self, user: str, key: asyncssh.SSHKey, connections: set[asyncssh.SSHServerConnection]) -> None:
        self._user, self._public_data, self._connections = user, key.public_data, connections

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connections.add(conn)

    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return username == self._user and key.public_data == self._public_data
