"""See the package."""

from __future__ import annotations

import sys

from tests.mesh import main

sys.exit(main())
