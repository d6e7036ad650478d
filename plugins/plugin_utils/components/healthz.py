# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wait on what a program says of its own health."""

from __future__ import annotations

from ..engine.batch import Op


def healthy(port: str, timeout_s: int, host: str = "127.0.0.1") -> Op:
    """Until `/healthz` on this port of the node answers 200; `host` is the address that it listens on."""
    url = f"http://{host}:{port}/healthz"
    return Op("wait", {"for": "http", "url": url, "status": 200, "timeout_s": timeout_s})
