# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds that the node fetches from the controller: the same parts as `push` sends, by a server that lasts as long as
the one batch that needs it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from ..engine import windows_path
from ..engine.batch import Op
from .progress import Progress
from .push import Pushed, Ready
from .serve import Served, serve

REACH_S = 15
"""So long the node tries to reach the controller: a firewall that drops packets says nothing."""


@dataclass(frozen=True, slots=True)
class Offer:
    """Builds by name, and the server that has their parts."""

    builds: Mapping[str, Ready]
    served: Served

    def fetches(self, name: str, timeout_s: int) -> tuple[Op, ...]:
        """What the node does to have the parts of one build: each is checked against its sha256 on arrival."""
        ready = self.builds[name]
        if not ready.files:
            return ()
        reach = {"for": "tcp", "host": self.served.host, "port": self.served.port, "timeout_s": REACH_S}
        return (
            Op("wait", reach),
            *(
                Op(
                    "fetch",
                    {
                        "url": self.served.url(windows_path.name(there)),
                        "path": there,
                        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
                        "timeout_s": timeout_s,
                        "headers": self.served.headers,
                    },
                    secrets=("headers",),
                ).undone_by(Op("remove", {"path": there, "in_use_ok": True}))
                for file, there in zip(ready.files, ready.remote, strict=True)
            ),
        )

    def pulled(self, name: str) -> Pushed:
        """What was fetched of one build."""
        ready = self.builds[name]
        count = sum(self.served.sent.get(windows_path.name(there), 0) for there in ready.remote)
        return ready.pushed(count, max(0.0, self.served.last - self.served.first))


@contextmanager
def offered(
    builds: Mapping[str, Ready], host: str, ports: range, progress: Callable[[Progress], None]
) -> Iterator[Offer]:
    """Serve the parts of these builds at `host` while the context is open; `progress` is called after each of them.
    ServeError if that cannot be done."""
    files = {
        windows_path.name(there): file
        for ready in builds.values()
        for file, there in zip(ready.files, ready.remote, strict=True)
    }
    sizes = [file.stat().st_size for file in files.values()]
    started, done = time.monotonic(), list[int]()

    def on_part(size: int) -> None:
        done.append(size)
        progress(Progress(len(done), len(files), sum(done), sum(sizes), time.monotonic() - started))

    with serve(files, host, ports, on_part) as served:
        yield Offer(dict(builds), served)
