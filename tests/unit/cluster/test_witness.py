"""The servers of these tests serve everyone, and end, whatever one client does not say."""

from __future__ import annotations

import socket
import ssl

from tests.unit.cluster import witness


def test_a_client_that_says_nothing_holds_up_neither_the_others_nor_the_end() -> None:
    with witness.serving(tls=True) as port, socket.create_connection((witness.HOST, port)):
        trust = ssl.create_default_context(cadata=witness.authority().pem.decode())
        with (
            socket.create_connection((witness.HOST, port), timeout=20) as plain,
            trust.wrap_socket(plain, server_hostname=witness.HOST) as other,
        ):
            other.sendall(b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert other.recv(15) == b"HTTP/1.1 200 OK"
