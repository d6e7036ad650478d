"""What counts as a difference to the lab."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import yaml

from tests.wine_node.compare import BATCH, KNOWN, READING, Exchange, differences, of_calls, unexplained


def reading(**parts: Any) -> Exchange:
    return Exchange("first", READING, {}, {"parts": parts})


def batch(result: dict[str, Any]) -> Exchange:
    sent = {"batch": {"component": "containerd", "ops": [{"op": "fetch"}]}}
    packed = base64.b64encode(gzip.compress(json.dumps(sent).encode())).decode()
    return Exchange("first", BATCH, {"batch": packed}, {"answer": "accepted", "results": [{"op": "fetch", **result}]})


def test_a_field_that_one_side_alone_has_and_another_type_are_differences() -> None:
    ours = [reading(system={"build": 20348, "name": "a"}), batch({"sha256": "a"})]
    labs = [reading(system={"build": "20348", "name": "b"}), batch({"sha256": "b", "bytes": 5})]
    assert differences(ours, labs) == [
        "op fetch.bytes: in the lab alone",
        "reading system.build: int on Wine, str in the lab",
    ]
    assert unexplained(differences(ours, labs)) == differences(ours, labs)


def test_values_and_names_are_none_and_null_is_any_type() -> None:
    ours = [reading(key={"values": {"a": 1}, "sddl": None, "exists": True}, only={"exists": False})]
    labs = [reading(key={"values": {"b": "x"}, "sddl": "O:BA", "exists": False})]
    assert differences(ours, labs) == []


def test_of_the_calls_those_with_a_script_of_ours_and_an_answer_count() -> None:
    call = {
        "chapter": "first",
        "module": READING,
        "arguments": {},
        "is_ours": True,
        "answer": 'noise {"parts": {}}\r\n',
    }
    found = list(of_calls([call, {**call, "is_ours": False}, {**call, "answer": ""}]))
    assert found == [Exchange("first", READING, {}, {"parts": {}})]


def test_each_known_difference_has_a_reason_and_hides_no_other() -> None:
    known = yaml.safe_load(KNOWN.read_text(encoding="utf-8"))
    assert all(entry.keys() == {"difference", "reason"} and entry["reason"].strip() for entry in known)
    assert unexplained(["reading hns.endpoints: in the lab alone"]) == ["reading hns.endpoints: in the lab alone"]
