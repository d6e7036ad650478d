"""containerd.exe reads our config.toml as containerd for Linux does: the same tests, on the builds for Windows."""

from __future__ import annotations

from tests.real.test_containerd_config import *  # noqa: F403
from tests.real.test_containerd_config import rendered  # noqa: F401
