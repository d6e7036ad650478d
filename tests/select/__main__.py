"""python -m tests.select FILE ...: see the package."""

from __future__ import annotations

import sys

from tests.select import select

print(" ".join(select(sys.argv[1:])))
