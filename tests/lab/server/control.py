"""The lab's control socket: one JSON object a line in, one a line out, over a unix socket that only its owner can open.

Request `{"op": "ledger", "reset": true}`; answer `{"ok": true, "result": ..}` or `{"ok": false, "error": ".."}`.
"""

from __future__ import annotations

import json
import socketserver
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

from tests.lab.cluster.flows import BREAKABLE
from tests.lab.machine.errors import WinError
from tests.lab.machine.faults import CutKind, Fault, Phase, ServiceFault, ServiceFaultKind, When
from tests.lab.server.client import ControlError
from tests.lab.server.host import NodeHost
from tests.lab.server.lab import Lab
from tests.lab.server.nodes import Access, NodesError
from tests.lab.server.show import show

# sun_path has 108 bytes on Linux and 104 on macOS and the BSDs, its closing NUL included.
SOCKET_PATH_LIMIT = 100


def socket_path(directory: Path) -> Path:
    """`<directory>/control.sock`, or a short path in a new private folder when that is too long for a unix socket."""
    path = directory / "control.sock"
    if len(str(path).encode()) <= SOCKET_PATH_LIMIT:
        return path
    return Path(tempfile.mkdtemp(prefix="winkube-lab-")) / "control.sock"


class Control:
    """Serves the socket in threads of its own; `stopped` is set when somebody asks the lab to stop."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.stopped = threading.Event()
        self.path = socket_path(lab.directory)
        self._ops: dict[str, Callable[[Mapping[str, Any]], Any]] = {
            "status": lambda _: lab.describe(),
            "ledger": self._ledger,
            "dump": lambda request: self._in_turn(request, lambda host: host.node.dump()),
            "show": lambda request: self._in_turn(request, lambda host: show(host.node, host.spec)),
            "advance": self._advance,
            "fault": self._fault,
            "power": self._power,
            "flow": self._flow,
            "hns": self._hns,
            "stop": lambda _: self.stopped.set(),
        }

    def start(self) -> None:
        self.path.unlink(missing_ok=True)
        self._server = _Server(str(self.path), _handler(self))
        self.path.chmod(0o600)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.lab.control = str(self.path)
        self.lab.write_files()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.path.unlink(missing_ok=True)
        if self.path.parent != self.lab.directory:
            self.path.parent.rmdir()

    def answer(self, line: bytes) -> dict[str, Any]:
        """One request -> one answer; every mistake in it becomes a sentence."""
        try:
            request = json.loads(line)
            if not isinstance(request, dict) or request.get("op") not in self._ops:
                raise ControlError(f"not a request with an op of {', '.join(self._ops)}: {line[:80]!r}")
            return {"ok": True, "result": self._ops[str(request["op"])](request)}
        except (ControlError, NodesError, WinError, ValueError) as error:
            return {"ok": False, "error": str(error)}

    # -- the ops -------------------------------------------------------------------------------------------------

    def _host(self, request: Mapping[str, Any]) -> NodeHost:
        return self.lab.host(str(request.get("node", "")))

    def _in_turn(self, request: Mapping[str, Any], work: Callable[[NodeHost], Any]) -> Any:
        host = self._host(request)
        return host.in_turn(lambda: work(host))

    def _ledger(self, request: Mapping[str, Any]) -> dict[str, Any]:
        figures = self.lab.ledger.read(self.lab.hosts)
        if request.get("reset"):
            self.lab.ledger.reset()
        return figures

    def _advance(self, request: Mapping[str, Any]) -> str:
        seconds = _number(request, "seconds")
        if seconds < 0:
            raise ControlError(f"a clock goes forward only, not by {seconds:g} s")

        def work(host: NodeHost) -> str:
            host.node.clock.advance(seconds)
            return host.node.clock.iso()

        return str(self._in_turn(request, work))

    def _power(self, request: Mapping[str, Any]) -> str:
        on = bool(request.get("on"))

        def work(host: NodeHost) -> None:
            if on:
                host.node.boot()
            else:
                host.node.power_off()

        self._in_turn(request, work)
        return "on" if on else "off"

    def _flow(self, request: Mapping[str, Any]) -> str:
        """`cluster`, and `broken`: the flows that do not work from now on."""
        cluster = self.lab.clusters.get(str(request.get("cluster")))
        if cluster is None:
            raise ControlError(f"the lab has the clusters {', '.join(self.lab.clusters) or 'none'}")
        wanted = [str(name) for name in request.get("broken") or ()]
        if odd := sorted(set(wanted) - set(BREAKABLE)):
            raise ControlError(f"there is no flow {', '.join(odd)}; there are {', '.join(BREAKABLE)}")
        cluster.flows.broken = set(wanted)
        return f"broken: {', '.join(wanted)}" if wanted else "every flow works"

    def _hns(self, request: Mapping[str, Any]) -> str:
        """HNSCall: `method`, `path`, `request`; its answer, or its error as a sentence."""
        call = [str(request.get(key) or "") for key in ("method", "path", "request")]
        answer = str(self._in_turn(request, lambda host: host.node.hns.call(*call)))
        if not json.loads(answer)["Success"]:
            raise ControlError(f"HNS answers {' '.join(call[:2])} with {answer}")
        return answer

    def _fault(self, request: Mapping[str, Any]) -> str:
        host, kind = self._host(request), request.get("kind")
        node = host.node
        if kind == "access":
            access = _choice(request, "access", get_args(Access))
            host.set(access=access)
            self.lab.write_files()
            return f"{node.name} is {access}"
        if kind == "latency":
            host.set(latency_s=_number(request, "seconds"))
            self.lab.write_files()
            return f"each remote call to {node.name} takes {host.spec.latency_s:g} s longer"
        if kind == "clear":
            host.set(access="open", latency_s=0.0)
            self.lab.write_files()
        with node.lock:
            return self._node_fault(node.faults, str(kind), request)

    def _node_fault(self, faults: Any, kind: str, request: Mapping[str, Any]) -> str:
        if kind == "clear":
            faults.clear()
            return "no faults"
        if kind == "cut":
            fault = Fault(
                kind=_choice(request, "cut", get_args(CutKind)),
                op=int(_number(request, "op_index")),
                when=_choice(request, "when", get_args(When)),
                phase=_choice(request, "phase", get_args(Phase)),
                boot_after_s=None if request.get("boot_after_s") is None else _number(request, "boot_after_s"),
                silent=bool(request.get("silent")),
            )
            faults.arm(fault)
            return f"armed: {fault.kind} {fault.when} {fault.phase} {fault.op}{' silently' if fault.silent else ''}"
        if kind == "service":
            wanted = _choice(request, "service_fault", (*get_args(ServiceFaultKind), "none"))
            name = str(request.get("service", ""))
            faults.service(name, None if wanted == "none" else ServiceFault(wanted, _number(request, "seconds")))
            return f"{name}: {wanted}"
        if kind == "disk-full":
            faults.disk_full_after = int(_number(request, "bytes"))
            return f"the disk is full after {faults.disk_full_after} more bytes"
        raise ControlError(f"there is no fault {kind!r}; there are access, latency, cut, service, disk-full, clear")


def _number(request: Mapping[str, Any], key: str) -> float:
    value = request.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ControlError(f"{key} is a number, not {value!r}")
    return value


def _choice(request: Mapping[str, Any], key: str, choices: tuple[str, ...]) -> Any:
    value = request.get(key)
    if value not in choices:
        raise ControlError(f"{key} is one of {', '.join(choices)}, not {value!r}")
    return value


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


def _handler(control: Control) -> type[socketserver.StreamRequestHandler]:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            for line in self.rfile:
                self.wfile.write(json.dumps(control.answer(line)).encode() + b"\n")
                self.wfile.flush()

    return Handler
