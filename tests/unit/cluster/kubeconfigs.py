"""The kubeconfigs of tests/fixtures/kubeconfigs, written to files whose server answers with what it was asked."""

from __future__ import annotations

import base64
import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.lab.cluster.pki import Identity
from tests.unit.cluster import witness

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "kubeconfigs"
RECORD = FOLDER / "client-go.json"


@dataclass(frozen=True)
class Case:
    """`ours`: what the collection does if it is not what client-go does, "refused" or what it sends; `why` it does."""

    name: str
    given: Mapping[str, Any]
    ours: Any = None
    why: str = ""


def cases() -> tuple[Case, ...]:
    """All of them."""
    found = yaml.safe_load((FOLDER / "cases.yml").read_text(encoding="utf-8"))
    return tuple(Case(each["name"], each, each.get("ours"), each.get("why", "")) for each in found)


@contextmanager
def written(folder: Path, wanted: Sequence[Case]) -> Iterator[tuple[list[Path], dict[str, str]]]:
    """Their files, while the server runs, and what stands for what in them."""
    ann = witness.authority().issue(Identity("ann", ()))
    pems = {"ca": witness.authority().pem, "certificate": ann.certificate, "key": ann.key}
    with witness.serving(tls=True) as tls, witness.serving(tls=False) as plain:
        texts = {"<https>": f"https://127.0.0.1:{tls}", "<http>": f"http://127.0.0.1:{plain}"}
        texts |= {"<place>": f"127.0.0.1:{plain}", "<https as ann:pw>": f"https://ann:pw@127.0.0.1:{tls}"}
        texts |= {"<http as ann:pw>": f"http://ann:pw@127.0.0.1:{plain}"}
        for name, pem in pems.items():
            data = base64.b64encode(pem).decode()
            texts |= {f"<{name}>": data, f"<{name}.pem>": pem.decode(), f"<{name} in lines>": textwrap.fill(data, 64)}
            texts[f"<{name} in JSON>"] = json.dumps(pem.decode())[1:-1]
        yield [_write(folder / str(number), case, texts) for number, case in enumerate(wanted)], texts


def _write(folder: Path, case: Case, texts: Mapping[str, str]) -> Path:
    folder.mkdir()
    for name, text in (case.given.get("files") or {}).items():
        (folder / name).write_text(_fill(text, texts), encoding="utf-8")
        (folder / name).chmod(0o700)
    path = folder / "config"
    if "text" in case.given:
        path.write_text(_fill(str(case.given["text"]), texts), encoding="utf-8")
        return path
    cluster = _over({"server": "<https>", "certificate-authority-data": "<ca>"}, case.given.get("cluster"))
    user = _over({"token": "t0ken"}, case.given.get("user"))
    context = _over({"cluster": "lab", "user": "me"}, case.given.get("context"))
    document = {
        "current-context": "lab",
        "contexts": [{"name": "lab", "context": context}],
        "clusters": [{"name": "lab", "cluster": cluster}],
        "users": [{"name": "me", "user": user}],
    }
    path.write_text(json.dumps(_fill_all(document, texts)), encoding="utf-8")
    return path


HEAD = (
    "{current-context: lab, contexts: [{name: lab, context: {cluster: lab, user: me}}], "
    'clusters: [{name: lab, cluster: {server: "<https>", certificate-authority-data: "<ca>"}}]'
)


def _over(fields: dict[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: value for key, value in {**fields, **(given or {})}.items() if value is not None}


def _fill(text: str, texts: Mapping[str, str]) -> str:
    text = text.replace("<head>", HEAD)
    for place, value in texts.items():
        text = text.replace(place, value)
    return text


def _fill_all(value: Any, texts: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _fill_all(each, texts) for key, each in value.items()}
    if isinstance(value, list):
        return [_fill_all(each, texts) for each in value]
    return _fill(value, texts) if isinstance(value, str) else value
