"""See the package."""

from __future__ import annotations

import datetime
import json
import sys

from tests.real.kubeconfig_reader import CLIENT_GO, PROGRAM, answers
from tests.unit.cluster.kubeconfigs import RECORD

PROGRAM.build()
if "--record" in sys.argv[1:]:
    document = {
        "client-go": CLIENT_GO,
        "command": "python -m tests.real.kubeconfig_reader --record",
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "answers": answers(),
    }
    RECORD.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
