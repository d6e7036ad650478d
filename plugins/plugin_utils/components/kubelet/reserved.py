# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node keeps back for itself: quantities, or of its CPU a share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...engine.reading import Query, Reading
from ...engine.resource import Refused
from ...engine.resources.machine_path import KEY
from ...facts.quantity import reserved_cpu

PROCESSORS = Query("registry:processors", "registry", (("path", KEY), ("name", "NUMBER_OF_PROCESSORS")))
"""The machine's logical processors; on Windows Server 2019 with more than 64, those of one processor group.

Source: learn.microsoft.com, NUMBER_OF_PROCESSORS environment variable may show incorrect values.
"""


def reserved(option: str, given: Mapping[str, Any], reading: Reading) -> dict[str, str]:
    """By resource, as the kubelet takes it: a share of the CPU (`10%`) becomes millicores of this node.

    Refused for a share of 100 % and more, and where the node does not say how many processors it has.
    """
    found = {str(resource): str(value) for resource, value in given.items()}
    share = found.get("cpu", "")
    if not share.strip().endswith("%"):
        return found
    processors = str((reading.parts.get(PROCESSORS.key) or {}).get("value", ""))
    if not processors.isdecimal():
        raise Refused(
            f"{option}: cpu: {share}: the node does not say how many processors it has (NUMBER_OF_PROCESSORS of the "
            "machine's environment is not there); write cores (0.5) or millicores (500m)."
        )
    try:
        return found | {"cpu": reserved_cpu(share, int(processors))}
    except ValueError as error:
        raise Refused(f"{option}: cpu: {error}") from error
