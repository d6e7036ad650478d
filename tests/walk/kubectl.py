"""The kubectl of the walk: `apply -f FILE` of objects that are not there, and `get --raw PATH`, by ~/.kube/config.

No kubectl is installed for the walk. The API server is the lab's, over TLS, with the kubeconfig's own certificates.
"""

from __future__ import annotations

import base64
import json
import ssl
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import yaml

_COLLECTIONS = {"ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"}


def main(words: list[str]) -> int:
    match words:
        case ["apply", "-f", path]:
            for made in yaml.safe_load_all(Path(path).read_text(encoding="utf-8")):
                status, said = _ask("POST", _COLLECTIONS[made["kind"]], made)
                if status not in (201, 409):
                    return _failed(said)
                print(
                    f"{made['kind'].lower()}/{made['metadata']['name']} {'created' if status == 201 else 'unchanged'}"
                )
            return 0
        case ["get", "--raw", path]:
            status, said = _ask("GET", path)
            if status != 200:
                return _failed(said)
            print(json.dumps(said))
            return 0
    return _failed({"message": f"the walk's kubectl does not know: {' '.join(words)}"})


def _failed(said: dict[str, Any]) -> int:
    print(f"Error from server: {said.get('message')}", file=sys.stderr)
    return 1


def _ask(method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
    known = yaml.safe_load((Path.home() / ".kube" / "config").read_text(encoding="utf-8"))
    cluster, user = known["clusters"][0]["cluster"], known["users"][0]["user"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    with tempfile.NamedTemporaryFile() as pair:
        for part in ("client-certificate-data", "client-key-data"):
            pair.write(base64.b64decode(user[part]) + b"\n")
        pair.flush()
        context.load_cert_chain(pair.name)
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        cluster["server"] + path, data, {"Content-Type": "application/json"}, method=method
    )
    try:
        with urllib.request.urlopen(request, context=context) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
