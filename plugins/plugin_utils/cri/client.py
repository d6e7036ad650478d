# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A client for CRI that can only read, over TCP (with or without TLS) or a Unix socket.

Answers are JSON objects as `grpcurl` prints them: camelCase names, 64-bit numbers as strings, defaults left out. So one
reader is enough for what comes from here, from grpcurl and from crictl. grpc and protobuf are imported where the first
call is made, in the process that makes it: a channel does not survive a fork, and Ansible forks.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from ..engine.local_path import expand_home

DESCRIPTORS = Path(__file__).with_name("api.binpb.gz")
"""A FileDescriptorSet, made by `make generate` of api.proto beside it, which names its source: v1.proto and
v1alpha2.proto. Classes are made of it at run time: generated code would have to fit the protobuf of a controller."""

Object = dict[str, Any]
"""A JSON object."""

APIS = ("v1", "v1alpha2")
"""CRI's versions, the wanted one first: containerd 1.6 and 1.7 serve both, 1.5 only v1alpha2, 2.0 and later only v1.
Source: containerd RELEASES.md, "Kubernetes Support"."""

MAX_MESSAGE = 16 * 1024 * 1024
"""The longest answer, in bytes. Source: kubernetes v1.30.14 pkg/kubelet/cri/remote/utils.go, maxMsgSize."""

_NO_CRI = (
    "speaks gRPC but serves no CRI. containerd up to 2.2 opens the port for tcp_address alone, and serves CRI there "
    'only with disable_tcp_service = false in the table [plugins."io.containerd.grpc.v1.cri"]: set it and restart '
    "containerd."
)


class CriError(Exception):
    """The runtime cannot be asked or refuses. The text is a sentence for people; `code` is gRPC's name of the status
    (`UNAVAILABLE`, `UNIMPLEMENTED` ...), empty where no call was made."""

    def __init__(self, sentence: str, code: str = "") -> None:
        super().__init__(sentence)
        self.code = code


@cache
def pool() -> Any:
    """A protobuf DescriptorPool with only CRI: a Kubernetes package that brings CRI's messages does not collide."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    made: Any = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(gzip.decompress(DESCRIPTORS.read_bytes())).file:
        made.Add(file)
    return made


def _rpc(api: str, name: str) -> Any:
    """The MethodDescriptor of a call. KeyError if api.proto has none of this name."""
    services = pool().FindFileByName(f"{api}.proto").services_by_name.values()
    found = next((one.methods_by_name[name] for one in services if name in one.methods_by_name), None)
    if found is None:
        raise KeyError(name)
    return found


@dataclass(frozen=True, slots=True)
class Tls:
    """Files on the controller (PEM). `ca` empty: gRPC's own list of authorities. `cert` and `key` together or not at
    all. `server_name`: the name in the node's certificate if it is not the one in the address."""

    ca: str = ""
    cert: str = ""
    key: str = ""
    server_name: str = ""


class CriClient:
    """One runtime. Use it as a context manager; after `version()` calls go to the API version that it serves."""

    def __init__(self, address: str, tls: Tls | None = None, timeout_s: float = 10) -> None:
        """`address` is `host:port` or `unix:///path`. No call is made. CriError if it is neither, if a file of `tls`
        cannot be read, or if grpcio or protobuf is missing."""
        self.address = address
        self.api = ""
        self._timeout_s = timeout_s
        target = _target(address)
        try:
            import grpc
            from google.protobuf import json_format, message_factory

            self._class_of: Any = message_factory.GetMessageClass
            pool()
        except (ImportError, AttributeError) as error:
            raise CriError(
                "The Python packages grpcio and protobuf (4.22 or newer) are needed on the controller to ask a "
                f"container runtime ({error}): pip install grpcio protobuf."
            ) from error
        self._grpc: Any = grpc
        self._to_dict: Any = json_format.MessageToDict
        options = [
            ("grpc.max_receive_message_length", MAX_MESSAGE),
            # The node is asked directly: proxies of the controller's environment are for the Internet.
            ("grpc.enable_http_proxy", 0),
        ]
        if tls is None:
            self._channel: Any = grpc.insecure_channel(target, options=options)
        else:
            if tls.server_name:
                options.append(("grpc.ssl_target_name_override", tls.server_name))  # type: ignore[arg-type]
            self._channel = grpc.secure_channel(target, _credentials(grpc, tls), options=options)

    def __enter__(self) -> CriClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._channel.close()

    def version(self) -> Object:
        """`{"version", "runtimeName", "runtimeVersion", "runtimeApiVersion"}`; sets `api`. CriError if no version of
        CRI is served: a port that listens proves nothing, this answer does."""
        for api in APIS:
            try:
                answer = self.call("Version", api=api)
            except CriError as error:
                if error.code != "UNIMPLEMENTED":
                    raise
                continue
            self.api = api
            return answer
        raise CriError(f"{self.address} {_NO_CRI}", "UNIMPLEMENTED")

    def call(self, name: str, request: Mapping[str, Any] | None = None, api: str = "") -> Object:
        """The answer to the call `name` of api.proto (`ListContainerStats`), `request` as keyword arguments of its
        message. CriError with gRPC's code and the runtime's words."""
        served = api or self.api or APIS[0]
        rpc = _rpc(served, name)
        asked, answered = self._class_of(rpc.input_type), self._class_of(rpc.output_type)
        path = f"/{rpc.containing_service.full_name}/{name}"
        method = self._channel.unary_unary(
            path, request_serializer=asked.SerializeToString, response_deserializer=answered.FromString
        )
        try:
            answer = method(asked(**(request or {})), timeout=self._timeout_s)
        except self._grpc.RpcError as error:
            code, said = str(error.code().name), str(error.details() or "").strip().rstrip(".")
            said = said or "no reason was given"
            if code in ("UNAVAILABLE", "DEADLINE_EXCEEDED"):
                raise CriError(f"{self.address} cannot be asked for {path}: {said}.", code) from error
            raise CriError(f"{self.address} answered {path} with {code}: {said}.", code) from error
        found: Object = self._to_dict(answer)
        return found

    def pods(self) -> list[Object]:
        """ListPodSandbox."""
        return list(self.call("ListPodSandbox").get("items") or ())

    def containers(self) -> list[Object]:
        """ListContainers."""
        return list(self.call("ListContainers").get("containers") or ())


def _target(address: str) -> str:
    if address.startswith("npipe:"):
        raise CriError(
            f"address: {address} is a named pipe, which only programs on the node itself reach; give containerd a TCP "
            "address and name it as host:port."
        )
    host, colon, port = address.rpartition(":")
    is_tcp = colon and host and "/" not in address and port.isdigit() and 0 < int(port) < 65536
    if address.startswith("unix:///") or is_tcp:
        return address
    raise CriError(f"address: '{address}' is neither host:port nor unix:///path.")


def _credentials(grpc: Any, tls: Tls) -> Any:
    if bool(tls.cert) != bool(tls.key):
        raise CriError("tls: cert and key belong together; give both or neither.")

    def read(path: str, name: str) -> bytes | None:
        try:
            return expand_home(path).read_bytes() if path else None
        except OSError as error:
            raise CriError(f"tls.{name}: {path} cannot be read: {error.strerror}.") from error

    return grpc.ssl_channel_credentials(read(tls.ca, "ca"), read(tls.key, "key"), read(tls.cert, "cert"))
