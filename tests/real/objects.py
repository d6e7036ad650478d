"""What a real kube-apiserver says of objects of every kind that the linter's rules speak about.

    python -m tests.real.objects        writes tests/corpus/verdicts/objects/<minor>.json

Each scene (tests/corpus/objects.py) has a namespace of its own, with the labels of its Namespace. Objects go there as
dry runs, but RuntimeClasses, which admission looks up: these are there while their scene is. What the API server has no
kind for is not asked.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from tests.corpus import objects
from tests.corpus.objects import Scene
from tests.real import api_server
from tests.real.api_server import Api, Said


class Places:
    """Where objects of a kind go: path and whether it has namespaces, as the API server lists them."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.known: dict[str, dict[str, tuple[str, bool]]] = {}

    def of(self, value: dict[str, Any], namespace: str) -> str:
        """Empty for a kind that the API server does not have."""
        version = str(value.get("apiVersion"))
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if version not in self.known:
            there = self.api.get(root).body.get("resources", ())
            self.known[version] = {
                each["kind"]: (each["name"], each["namespaced"]) for each in there if "/" not in each["name"]
            }
        name, namespaced = self.known[version].get(str(value.get("kind")), ("", False))
        return f"{root}{f'/namespaces/{namespace}' if namespaced else ''}/{name}" if name else ""


def ask(server: api_server.Server) -> list[dict[str, Any]]:
    places = Places(server.admin)
    return [each for scene in objects.scenes() for each in _scene(server.admin, places, scene)]


def _scene(api: Api, places: Places, scene: Scene) -> Iterator[dict[str, Any]]:
    namespace = scene.name.lower()
    labels = {
        key: value
        for each in scene.objects
        if each.get("kind") == "Namespace"
        for key, value in (each["metadata"].get("labels") or {}).items()
    }
    made = api.post(
        "/api/v1/namespaces",
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}},
    )
    assert made.status == 201, made
    kept = []
    for number, value in enumerate(scene.objects):
        path = places.of(value, namespace)
        if not path or value["kind"] == "Namespace":
            continue
        metadata = {**value["metadata"], "namespace": namespace} if "/namespaces/" in path else value["metadata"]
        sent = json.dumps({**value, "metadata": metadata}, default=str)
        said = api.ask("POST", f"{path}?dryRun=All&fieldValidation=Ignore", sent)
        if value["kind"] == "RuntimeClass" and said.status == 201:
            kept.append(f"{path}/{value['metadata']['name']}")
            assert api.ask("POST", path, sent).status == 201
        yield _verdict(objects.name_of(scene, number), objects.digest(scene), said)
    for path in kept:
        assert api.ask("DELETE", path).status == 200


def _verdict(name: str, digest: str, said: Said) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "digest": digest, "status": said.status}
    if said.status >= 400:
        causes = (said.body.get("details") or {}).get("causes") or ()
        named = sorted({(each["reason"], each["field"]) for each in causes if "field" in each and "reason" in each})
        found |= {"fields": named} if named else {"says": said.body["message"]}
    return found


def main() -> int:
    with api_server.for_a_record() as server:
        found = ask(server)
    target = api_server.record_in(objects.RECORDS)
    head = {"kubernetes": api_server.VERSION, "command": "python -m tests.real.objects"}
    lines = ",\n".join(json.dumps(each, separators=(",", ":")) for each in found)
    target.write_text(f'{json.dumps(head)[:-1]}, "verdicts": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{target}: {len(found)} objects")
    return 0


if __name__ == "__main__":
    sys.exit(main())
