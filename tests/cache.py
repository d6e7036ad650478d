"""Where what is fetched and built for tests lies: one folder for all clones on a machine.

`$WINKUBE_CACHE`, else `$XDG_CACHE_HOME/winkube-node`, else `~/.cache/winkube-node`.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def shared(name: str) -> Path:
    """The entry of that name; it need not exist."""
    own = os.environ.get("WINKUBE_CACHE")
    if own:
        return Path(own).expanduser().absolute() / name
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base).absolute() / "winkube-node" / name


@contextmanager
def locked(name: str) -> Iterator[None]:
    """One process at a time makes that entry; the others wait. The lock ends with its process."""
    path = shared(f"{name}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
