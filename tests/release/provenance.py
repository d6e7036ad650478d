"""How a release was made: an in-toto statement with SLSA's predicate, which whoever made it signs with the sums.

Sources: in-toto.io/Statement/v1; slsa.dev/provenance/v1 (buildDefinition, runDetails).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LOCK = "requirements-lock.txt"


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def statement(repository: str, version: str, commit: str, source: Path, made: Sequence[Path]) -> str:
    """JSON. commit: of the sources before the changelog of this release was written; `make release` of it makes the
    archive again, but for the dates in it."""
    depends: list[dict[str, Any]] = [{"uri": f"git+{repository}@{commit}", "digest": {"gitCommit": commit}}]
    depends.append({"uri": LOCK, "digest": {"sha256": sha256(source / LOCK)}})
    document = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": path.name, "digest": {"sha256": sha256(path)}} for path in made],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{repository}#make-release",
                "externalParameters": {"version": version, "command": "make release"},
                "resolvedDependencies": depends,
            },
            "runDetails": {"builder": {"id": f"{repository}#maintainer"}},
        },
    }
    return json.dumps(document, indent=2) + "\n"
