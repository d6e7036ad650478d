"""ProxyCommand of the lab's ssh_config: joins stdin and stdout to the port of the node that claims HOST:PORT.

    connect.py LAB_JSON HOST PORT

It runs once per SSH connection: standard library only, and of that as little as can be.
"""

import json
import os
import select
import socket
import struct
import sys

CHUNK = 65536


def connect(lab_json: str, host: str, port: str) -> int:
    """Pump bytes until one side closes. Returns the exit status; says why on stderr when there is no such node."""
    try:
        with open(lab_json, encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs 10 ms
            nodes = json.load(file)["nodes"]
    except (OSError, ValueError, KeyError) as error:
        return _refuse(f"no lab is described by {lab_json} ({error}); start it with: python -m tests.lab start")
    for name, node in nodes.items():
        if host.lower() in (node["address"].lower(), name.lower()) and (
            port == str(node["port"]) or host.lower() == name.lower()
        ):
            break
    else:
        claimed = ", ".join(f"{name} {node['address']}:{node['port']}" for name, node in sorted(nodes.items()))
        return _refuse(f"no simulated node claims {host}:{port}; the lab has {claimed or 'no nodes'}")
    address, _, listening = node["listen"].rpartition(":")
    try:
        peer = socket.create_connection((address, int(listening)), timeout=60)
    except OSError as error:
        return _refuse(
            f"the simulated node {name} does not answer on {node['listen']} ({error}); does the lab still run?"
        )
    peer.settimeout(None)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not _pump(peer):
        why = "it is switched off, without network, or unreachable by order"
        return _refuse(f"the simulated node {name} closed the connection: {why}")
    return 0


def _pump(peer: socket.socket) -> bool:
    """Copy both ways until one side is gone. Returns whether anything came from the peer."""
    received = False
    readers = [0, peer.fileno()]
    try:
        while True:
            ready = select.select(readers, [], [])[0]
            if peer.fileno() in ready:
                data = peer.recv(CHUNK)
                if not data:
                    break
                received = True
                _write(data)
            if 0 in ready:
                data = os.read(0, CHUNK)
                if not data:
                    peer.shutdown(socket.SHUT_WR)
                    readers = [peer.fileno()]
                    continue
                peer.sendall(data)
    except OSError:
        pass  # a reset is an end, too
    return received


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def _refuse(sentence: str) -> int:
    """Say it on stderr, and as an SSH disconnect message: with ControlPersist ssh hides its ProxyCommand's stderr."""
    sentence = f"winkube lab (simulated): {sentence}"
    sys.stderr.write(sentence + "\n")
    text = sentence.encode("ascii", "replace")
    # RFC 4253, sections 6 and 11.1: message 1, reason 11 (by application), description, language; in clear.
    message = struct.pack(">BII", 1, 11, len(text)) + text + struct.pack(">I", 0)
    padding = 8 - (5 + len(message)) % 8 + 8
    packet = struct.pack(">IB", 1 + len(message) + padding, padding) + message + bytes(padding)
    try:
        _write(b"SSH-2.0-winkube_lab_simulated\r\n" + packet)
        # Until ssh has read the reason and closed, on a busy machine too: it does not print it when its own writing
        # fails first.
        while select.select([0], [], [], 30.0)[0] and os.read(0, CHUNK):
            pass
    except OSError:
        pass
    return 1


if __name__ == "__main__":
    sys.exit(connect(*sys.argv[1:4]))
