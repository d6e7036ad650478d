"""What a real kube-apiserver says of the planted types: does it read the object, which fields does it not know.

    python -m tests.real.decoder        writes tests/corpus/types/verdicts/<minor>.json

Each text goes there as it is (application/yaml, as a dry run). An object that the server cannot decode is refused
with status 400, before admission and validation; 422 is validation, of an object that could be read.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import yaml

from tests.corpus import types
from tests.real import api_server

_PLURALS = {
    "Pod": "pods",
    "Service": "services",
    "Deployment": "deployments",
    "DaemonSet": "daemonsets",
    "StatefulSet": "statefulsets",
    "Job": "jobs",
    "CronJob": "cronjobs",
}


def said(server: api_server.Server, text: str) -> dict[str, Any]:
    """The verdict of one text: status, its sentence where it is refused, its warnings."""
    document = yaml.safe_load(text)
    version = document["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    path = f"{root}/namespaces/default/{_PLURALS[document['kind']]}?dryRun=All&fieldValidation=Warn"
    answer = server.admin.ask("POST", path, text, "application/yaml")
    verdict: dict[str, Any] = {"status": answer.status, "decoded": answer.status != 400}
    if answer.status >= 400:
        verdict["says"] = answer.body["message"]
    # Others than of the object's fields are about what stands in them.
    unknown = [each for each in answer.warnings if "unknown field" in each or "duplicate field" in each]
    return {**verdict, "warns": unknown}


def ask(server: api_server.Server) -> dict[str, dict[str, Any]]:
    return {each.name: said(server, each.text) for each in types.planted()}


def main() -> int:
    with api_server.for_a_record() as server:
        answers = ask(server)
    target = api_server.record_in(types.VERDICTS)
    found = {"kubernetes": api_server.VERSION, "command": "python -m tests.real.decoder", "verdicts": answers}
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{target}: {len(answers)} manifests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
