"""A CRI server that is put together from bytes, so that the client's names and numbers have an independent judge.

Field numbers: k8s.io/cri-api v0.37.1 pkg/apis/runtime/v1/api.proto; the encoding: protobuf.dev, "Encoding".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import grpc

Answer: TypeAlias = bytes | grpc.StatusCode | Callable[[], bytes]


def varint(value: int) -> bytes:
    """Seven bits a byte, lowest first."""
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(position: int, value: int) -> bytes:
    """A field of an integer type."""
    return varint(position << 3) + varint(value)


def block(position: int, content: bytes | str) -> bytes:
    """A field with a text or a message."""
    data = content.encode() if isinstance(content, str) else content
    return varint(position << 3 | 2) + varint(len(data)) + data


def labels(position: int, entries: Mapping[str, str]) -> bytes:
    """A map<string, string>."""
    return b"".join(block(position, block(1, key) + block(2, value)) for key, value in entries.items())


def cpu(at: int, core: int, nano: int | None) -> bytes:
    """CpuUsage or WindowsCpuUsage: timestamp = 1, usage_core_nano_seconds = 2, usage_nano_cores = 3."""
    last = b"" if nano is None else block(3, number(1, nano) if nano else b"")
    return number(1, at) + block(2, number(1, core)) + last


def container_stats(namespace: str, pod: str, name: str, usage: bytes) -> bytes:
    """ContainerStats: attributes = 1 (id = 1, metadata = 2, labels = 3), cpu = 2."""
    marks = {
        "io.kubernetes.pod.name": pod,
        "io.kubernetes.pod.namespace": namespace,
        "io.kubernetes.container.name": name,
    }
    attributes = block(1, f"id-of-{name}") + block(2, block(1, name)) + labels(3, marks)
    return block(1, attributes) + block(2, usage)


def pod_stats(namespace: str, pod: str, usage: bytes, containers: list[bytes]) -> bytes:
    """PodSandboxStats: attributes = 1 (metadata = 2: name = 1, namespace = 3), windows = 3 (cpu = 1, containers = 5)"""
    windows = block(1, usage) + b"".join(block(5, one) for one in containers)
    return block(1, block(1, "sandbox") + block(2, block(1, pod) + block(3, namespace))) + block(3, windows)


def many(position: int, messages: list[bytes]) -> bytes:
    """A repeated field."""
    return b"".join(block(position, one) for one in messages)


def version(of: str = "1.7.12", api: str = "v1", name: str = "containerd") -> bytes:
    """VersionResponse: version = 1, runtime_name = 2, runtime_version = 3, runtime_api_version = 4."""
    return block(1, "0.1.0") + block(2, name) + block(3, of) + block(4, api)


@dataclass
class Server(grpc.GenericRpcHandler):
    """Answers by `/runtime.v1.RuntimeService/Version`; what has none is UNIMPLEMENTED. `asked` is what came in."""

    answers: dict[str, Answer]
    port: int = 0
    asked: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def service(self, handler_call_details: Any) -> Any:
        path = handler_call_details.method
        if path not in self.answers:
            return None

        def handle(request: bytes, context: Any) -> bytes:
            self.asked.append(path)
            answer = self.answers[path]
            if isinstance(answer, grpc.StatusCode):
                context.abort(answer, "as the test wants")
                raise AssertionError("abort raises")
            made = answer if isinstance(answer, bytes) else answer()
            if isinstance(made, grpc.StatusCode):
                context.abort(made, "as the test wants")
            return made

        return grpc.unary_unary_rpc_method_handler(handle)


def runtime(name: str, api: str = "v1") -> str:
    """The path of a call of RuntimeService."""
    return f"/runtime.{api}.RuntimeService/{name}"


@contextmanager
def serving(answers: dict[str, Answer], credentials: Any = None) -> Iterator[Server]:
    """A server on a free port of 127.0.0.1, with TLS if there are credentials."""
    server = Server(answers)
    running: Any = grpc.server(ThreadPoolExecutor(max_workers=4), handlers=[server])
    if credentials is None:
        server.port = running.add_insecure_port("127.0.0.1:0")
    else:
        server.port = running.add_secure_port("127.0.0.1:0", credentials)
    running.start()
    try:
        yield server
    finally:
        running.stop(0).wait()
