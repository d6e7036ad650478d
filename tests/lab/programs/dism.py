"""dism.exe, judged by memory.

/online /enable-feature and /get-featureinfo of Containers; 3010 asks for a reboot.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from tests.lab.machine import image
from tests.lab.machine.errors import WinError
from tests.lab.machine.program import Caller, Run, crlf, text

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

SERVICE = "TrustedInstaller"
HEAD = ("", "Deployment Image Servicing and Management tool (simulated)", "")


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 1.0
    options = {item.lower().partition(":")[0]: item.partition(":")[2] for item in argv[1:]}
    if not caller.elevated:
        return text(740, crlf("", "Error: 740", "", "Elevated permissions are required to run DISM."))
    if "/online" not in options or not {"/enable-feature", "/get-featureinfo"} & set(options):
        return text(87, crlf(*HEAD, f"The lab does not simulate dism {' '.join(argv[1:])}."))
    feature = options.get("/featurename", "")
    if feature.lower() != "containers":
        return text(0x800F080C, crlf(*HEAD, "Error: 0x800f080c", "", f"Feature name {feature} is unknown."))
    on = bool(node.registry.number(f"{image.FEATURES_KEY}\\Features", "Containers"))
    pending = node.registry.exists(f"{image.FEATURES_KEY}\\RebootPending")
    if "/get-featureinfo" in options:
        state = "Enabled" if on else "Enable Pending" if pending else "Disabled"
        return text(0, crlf(*HEAD, "Feature Name : Containers", f"State : {state}"))
    done = yield from _service(node)
    while not done:
        yield 1.0
    if not done[0]:
        return text(0, crlf(*HEAD, "The operation completed successfully."))
    return text(3010, crlf(*HEAD, "Restart Windows to complete this operation."))


def _service(node: SimulatedNode) -> Generator[float | None, None, list[bool]]:
    """Has the service do it, which goes on when dism.exe is ended: a list that holds, in the end, whether it is new."""
    done: list[bool] = []
    try:
        yield from node.services.start(SERVICE)
    except WinError as error:
        if error.code != 1056:
            raise

    def finish() -> None:
        done.append(image.enable_containers(node))
        if node.services.state(SERVICE) == "running":
            node.services.stop(SERVICE)

    node.clock.call_later(node.faults.servicing_s, finish)
    return done
