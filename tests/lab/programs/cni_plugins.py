"""flannel.exe, win-bridge.exe, win-overlay.exe, judged by containernetworking/cni v1.3.0 pkg/skel/skel.go.

What they say of themselves. They connect no pods.

Source: containernetworking/cni pkg/skel/skel.go, pkg/version (the answer to VERSION); plugins/pkg/utils/buildversion.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.lab.machine.builds import identify
from tests.lab.machine.program import Caller, Completed, Run, text
from tests.lab.programs.daemon import version_of

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

CODE_ENVIRONMENT, CODE_DECODING, CODE_INTERNAL = 4, 6, 999


def error(version: str, code: int, message: str) -> Completed:
    """An error as a plugin prints it: JSON on standard output, exit status 1."""
    return text(1, json.dumps({"cniVersion": version, "code": code, "msg": message}, indent=4) + "\n")


def supported(release: str) -> list[str]:
    """The versions of the CNI specification that the win-* plugins of a release take.

    Sources: containernetworking/plugins 2b68088 (0.8), #668 (1.0.1); that 1.6.0 was the first with 1.1.0 is unverified.
    """
    number = tuple(int(part) for part in release.partition("-")[0].split("."))
    if number < (1, 0, 1):
        return ["0.1.0", "0.2.0", "0.3.0"]
    return ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", *(["1.1.0"] if number >= (1, 6) else [])]


def about(name: str, release: str) -> Completed:
    """Started without CNI_COMMAND: its name and version."""
    versions = supported(release)
    shown = ", ".join(versions)
    return text(0, "", f"CNI {name} plugin v{release} (simulated)\nCNI protocol versions supported: {shown}\n")


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.1
    found = identify(node.drive.read(argv[0]))
    assert found is not None
    release = version_of(node, argv[0])
    command = caller.environment.get("CNI_COMMAND", "")
    if not command:
        return about(found.name, release)
    if command == "VERSION":
        versions = supported(release)
        return text(0, json.dumps({"cniVersion": versions[-1], "supportedVersions": versions}) + "\n")
    return error("", CODE_INTERNAL, f"the lab does not simulate {command} of {found.name}")
