# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a service's program writes to, by the service itself."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from .. import command_line


def log_file(service: Mapping[str, Any]) -> str:
    """nssm's AppStderr (the programs of Kubernetes log there), else the command line's --log-file; empty if there is
    neither. `service` is one as the probe reports it."""
    nssm = service.get("nssm")
    if nssm:
        return str(nssm.get("AppStderr") or nssm.get("AppStdout") or "")
    return argument(str(service.get("image_path") or ""), "log-file")


def argument(line: str, wanted: str) -> str:
    """The value of `--wanted=value` or `--wanted value` on a command line; empty if it is not there."""
    for word, following in pairwise((*command_line.split(f"x {line}")[1:], "")):
        name, equals, value = word.partition("=")
        if name.startswith("-") and name.lstrip("-") == wanted:
            return value if equals else following
    return ""
