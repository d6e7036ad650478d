"""See the package."""

from __future__ import annotations

import datetime
import json
import sys

from tests.real.exec_server import KUBERNETES, PROGRAM, RECORD, answers

PROGRAM.build()
if "--record" in sys.argv[1:]:
    document = {
        "kubernetes": KUBERNETES,
        "command": "python -m tests.real.exec_server --record",
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "conversations": answers(),
    }
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
