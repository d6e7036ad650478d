"""Hypothesis as this project uses it: the same examples on every machine, until WINKUBE_SEED asks for others."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings

# What Hypothesis keeps (a table of Unicode, no failures) goes where `make clean` takes it away.
os.environ.setdefault(
    "HYPOTHESIS_STORAGE_DIRECTORY", str(Path(__file__).resolve().parents[3] / ".cache" / "hypothesis")
)
settings.register_profile(
    "winkube",
    database=None,
    deadline=None,
    max_examples=60,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    print_blob=True,
    # How long an example takes says nothing on a machine that runs other tests beside it.
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
)
settings.load_profile("winkube")
