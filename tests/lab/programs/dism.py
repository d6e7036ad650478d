"""dism.exe: /online /enable-feature and /get-featureinfo of Containers; 3010 asks for a reboot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.lab.machine import image
from tests.lab.programs.program import Caller, Run, crlf, text

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

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
    yield 20.0
    if not image.enable_containers(node):
        return text(0, crlf(*HEAD, "The operation completed successfully."))
    return text(3010, crlf(*HEAD, "Restart Windows to complete this operation."))
