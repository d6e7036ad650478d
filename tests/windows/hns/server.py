"""The HNS of a simulated node, for programs on Wine: what hns.c asks is answered here, and noted.

    with HnsServer(node) as server:
        prefix.run(plugin, [], environment=server.environment)
    server.asked                # the calls that change something, as Asked

`SimulatedNode.hns` is version 1 of the API; tests/lab/machine/hcn.py has the forms of version 2.
"""

from __future__ import annotations

import json
import socketserver
import struct
import threading
from dataclasses import dataclass
from typing import Any

from tests.lab.machine import hcn, hns_errors
from tests.lab.machine.hns import Object
from tests.lab.machine.hns_errors import HnsError
from tests.lab.machine.node import SimulatedNode

VERSION = {"Major": 15, "Minor": 4}
"""Of HNS on Windows Server 2025 at the least. Source: hcsshim v0.13.0 hcn/hcnglobals.go (ModifyLoadbalancer)."""
_KINDS = {"Network": "networks", "Endpoint": "endpoints", "Namespace": "namespaces", "LoadBalancer": "policylists"}


@dataclass(frozen=True)
class Asked:
    """One call that changes something: `HcnCreateEndpoint`, or HNSCall's `POST /endpoints/`."""

    call: str
    document: Object


@dataclass(frozen=True)
class Reply:
    """An HRESULT, a handle, what the function gives back, and its error document."""

    code: int = 0
    handle: int = 0
    given: str = ""
    error: str = ""

    def packed(self) -> bytes:
        texts = (self.given.encode(), self.error.encode())
        return struct.pack("<IQ", self.code, self.handle) + b"".join(struct.pack("<I", len(one)) + one for one in texts)


class HnsServer(socketserver.ThreadingTCPServer):
    """`asked` is read when the programs have ended."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, node: SimulatedNode) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.node = node
        self.asked: list[Asked] = []
        self._handles: list[tuple[str, str]] = []
        self._requests: dict[str, Object] = {}
        """ID of an endpoint -> what version 2 was asked."""

    @property
    def environment(self) -> dict[str, str]:
        return {"WINKUBE_HNS_PORT": str(self.server_address[1])}

    def __enter__(self) -> HnsServer:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.shutdown()
        self.server_close()

    def answer(self, call: str, guid: str, handle: int, texts: list[str]) -> Reply:
        """Errors are HNS's."""
        with self.node.lock:
            try:
                return self._hns_call(*texts) if call == "HNSCall" else self._hcn(call, guid, handle, texts)
            except HnsError as error:
                document = {"Success": False, "Error": error.text, "ErrorCode": error.code}
                return Reply(error.code, error=json.dumps(document))

    # -- version 1 -----------------------------------------------------------------------------------------------

    def _hns_call(self, method: str, path: str, request: str) -> Reply:
        if (method, path) == ("GET", "/globals/version"):
            return Reply(given=json.dumps({"Success": True, "Output": VERSION}))
        if method != "GET":
            self.asked.append(Asked(f"{method} {path}", json.loads(request or "{}")))
        return Reply(given=self.node.hns.call(method, path, request))

    # -- version 2 -----------------------------------------------------------------------------------------------

    def _hcn(self, call: str, guid: str, handle: int, texts: list[str]) -> Reply:
        verb, name = next(
            (verb, call.removeprefix(f"Hcn{verb}").removesuffix("Properties"))
            for verb in ("Enumerate", "Open", "Create", "Modify", "Query", "Delete", "Close")
            if call.startswith(f"Hcn{verb}")
        )
        kind = _KINDS[name.removesuffix("s") if verb == "Enumerate" else name]
        if verb == "Close":
            return Reply()
        if verb == "Enumerate":
            return Reply(given=json.dumps([one["ID"] for one in self._found(kind, texts[0])]))
        if verb == "Open":
            return self._opened(kind, self._one(kind, guid)["ID"])
        document: Object = json.loads(texts[0]) if texts else {}
        if verb == "Query":
            return Reply(given=json.dumps(self._shown(kind, self._one(kind, self._handles[handle - 1][1]))))
        self.asked.append(Asked(call, document))
        if verb == "Create" and kind == "endpoints":
            made = hcn.create_endpoint(self.node.hns, document)
            self._requests[made["ID"]] = document
            return self._opened(kind, made["ID"])
        if verb == "Modify" and kind == "namespaces" and document["ResourceType"] == "Endpoint":
            endpoint = str(document["Settings"]["EndpointId"])
            if document["RequestType"] == "Add":
                self.node.hns.attach_endpoint(endpoint, self._handles[handle - 1][1])
            else:
                self.node.hns.detach_endpoint(endpoint)
            return Reply()
        if verb == "Delete" and kind == "endpoints":
            self.node.hns.delete_endpoint(guid)
            return Reply()
        raise HnsError(hns_errors.INVALID)

    def _opened(self, kind: str, identity: str) -> Reply:
        self._handles.append((kind, identity))
        return Reply(handle=len(self._handles))

    def _one(self, kind: str, identity: str) -> Object:
        for one in self.node.hns.objects(kind):
            if one["ID"].lower() == identity.lower():
                return one
        raise HnsError(hns_errors.NOT_FOUND)

    def _found(self, kind: str, query: str) -> list[Object]:
        """Those that a query asks for, by fields of version 1."""
        wanted: dict[str, Any] = json.loads(json.loads(query).get("Filter") or "{}")
        return [
            one
            for one in self.node.hns.objects(kind)
            if all(str(one.get(key, "")).lower() == str(value).lower() for key, value in wanted.items())
        ]

    def _shown(self, kind: str, found: Object) -> Object:
        if kind == "networks":
            return hcn.network(found)
        if kind == "endpoints":
            return hcn.endpoint(found, self._requests.get(found["ID"], {}))
        return hcn.namespace(found, self.node.hns.endpoints)


class _Connection(socketserver.StreamRequestHandler):
    server: HnsServer

    def handle(self) -> None:
        (count,) = struct.unpack("<I", self.rfile.read(4))
        call, guid, handle, *texts = [self._field() for _ in range(count)]
        self.wfile.write(self.server.answer(call, guid, int(handle), texts).packed())

    def _field(self) -> str:
        (size,) = struct.unpack("<I", self.rfile.read(4))
        return self.rfile.read(size).decode()
