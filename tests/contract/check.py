"""Runs one case against one implementation and says what is not as the case has it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.contract.case import Case, Tree, tree
from tests.contract.implementations import Found, Implementation, Link, Place, content

TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$")
FAILING = {"n": 1, "op": "move", "args": {"from": "{root}\\no-such-file", "to": "{root}\\nor-this"}, "undo": []}
"""What makes a batch fail after the op whose undo is looked at."""


def failures(case: Case, on: Implementation) -> list[str]:
    """What of the case is not so."""
    run = _Run(case, on, on.prepare(case.before))
    try:
        if case.body.get("setup"):
            run.batch("set-up", case.body["setup"], "done")
        if case.kind == "query":
            run.query()
        elif case.kind == "op":
            run.op()
        else:
            run.talk()
    finally:
        if case.body.get("cleanup"):
            run.batch("clean-up", case.body["cleanup"], "done")
    return run.wrong


@dataclass
class _Run:
    case: Case
    on: Implementation
    place: Place

    def __post_init__(self) -> None:
        self.wrong: list[str] = []
        self._sent = 0

    # -- the three kinds -----------------------------------------------------------------------------------------

    def query(self) -> None:
        query = {"key": "it", **self.place.fill(self.case.body["query"])}
        request = {"schema": 1, "state_dir": self.place.state, "queries": [query]}
        answer = self.on.run("node_probe", {"request": json.dumps(request)})
        if answer.get("failed") or "parts" not in answer:
            self.wrong.append(f"the probe failed: {answer}")
            return
        self._match("value", self.place.fill(self.case.body["value"]), answer["parts"].get("it"))
        self._tree("after the query", self.case.before)

    def op(self) -> None:
        body = self.case.body
        entry = {"n": 0, "op": body["op"], "args": body["args"], "secrets": body.get("secrets") or []}
        if "fails" in body:
            answer = self.batch("the op", [entry], "undone")
            message = str((answer.get("error") or {}).get("message"))
            if not re.search(self.place.fill(body["fails"]), message, re.IGNORECASE | re.DOTALL):
                self.wrong.append(f"the error is {message!r}, wanted {body['fails']!r}")
            self._tree("after the failed op", tree(body["after"]) if "after" in body else self.case.before)
            self._hidden(answer, body.get("hidden") or [])
            return
        after = tree(body["after"]) if "after" in body else self.case.before
        answer = self.batch("the op", [entry], "done")
        self._match("result", {"n": 0, "op": body["op"], "ok": True, **(body.get("result") or {})}, _first(answer))
        self._tree("after the op", after)
        self._hidden(answer, body.get("hidden") or [])
        again = body.get("again", {})
        if again is not False:
            answer = self.batch("the op, run again", [entry], "done")
            self._match("result, run again", self.place.fill((again or {}).get("result") or {}), _first(answer))
            self._tree("after the op, run again", after)
        if "undo" in body:
            self._undo({**entry, "undo": body["undo"]})

    def _undo(self, entry: Mapping[str, Any]) -> None:
        self.place = self.on.prepare(self.case.before)
        if self.case.body.get("setup"):
            self.batch("set-up", self.case.body["setup"], "done")
        self.batch("the op with its undo", [entry, FAILING], "undone")
        undone = tree(self.case.body["undone"]) if "undone" in self.case.body else self.case.before
        self._tree("after the undo", undone)

    def talk(self) -> None:
        for number, step in enumerate(self.case.body["steps"], 1):
            if "place" in step:
                runner = dict(self.on.runner())["text"]
                described = {name: runner if value == "{runner}" else value for name, value in step["place"].items()}
                files = {str(name): content(value, self.place) for name, value in described.items()}
                self.on.put({name: data for name, data in files.items() if isinstance(data, bytes)})
            if "send" in step:
                send = dict(step["send"])
                check_mode = bool(send.pop("check_mode", False))
                answer = self.on.run("node_apply", {"batch": encode(self._envelope(send))}, check_mode=check_mode)
                self._match(f"step {number}, answer", self.place.fill(step.get("answer") or {}), answer)
                self._hidden(answer, step.get("hidden") or [])
            if "after" in step:
                self._tree(f"after step {number}", tree(step["after"]))
            if "state" in step:
                self._state(f"after step {number}", step["state"])

    # -- sending -------------------------------------------------------------------------------------------------

    def batch(self, what: str, ops: list[Mapping[str, Any]], outcome: str) -> dict[str, Any]:
        """Sends ops as one batch, inline, and expects this outcome."""
        self._sent += 1
        numbered = [{"n": number, "undo": [], "secrets": [], **op} for number, op in enumerate(ops)]
        send = {"kind": "submit", "id": f"{self._sent:032x}", "ops": numbered}
        answer = self.on.run("node_apply", {"batch": encode(self._envelope(send))})
        if answer.get("answer") != "accepted" or answer.get("outcome") != outcome:
            self.wrong.append(f"{what}: wanted {outcome}, found {json.dumps(answer)[:1500]}")
        return answer

    def _envelope(self, send: Mapping[str, Any]) -> dict[str, Any]:
        """A step's `send` as the envelope of docs/protocol.md; one letter stands for an id of 32 of it."""
        name = str(send["id"])
        batch_id = name * 32 if len(name) == 1 else name
        envelope: dict[str, Any] = {
            "schema": 1,
            "kind": send.get("kind", "submit"),
            "id": batch_id,
            "state_dir": self.place.state,
            "controller": "contract",
            "follow_s": send.get("follow_s", 60),
            "runner": {"mode": send.get("mode", "inline"), **(send.get("runner") or self.on.runner())},
            "state": self.place.fill(send.get("state") or []),
        }
        if envelope["kind"] == "submit":
            envelope["batch"] = {
                "schema": 1,
                "id": batch_id,
                "component": send.get("component", "contract"),
                "deadline_s": send.get("deadline_s", 120),
                "pre": self.place.fill(send.get("pre") or []),
                "ops": self.place.fill([{"undo": [], "secrets": [], **op} for op in send.get("ops") or []]),
                "gate": self.place.fill(send.get("gate") or []),
            }
        return envelope

    # -- looking -------------------------------------------------------------------------------------------------

    def _match(self, what: str, wanted: Any, found: Any) -> None:
        self.wrong += [f"{what}{place}: {text}" for place, text in differences(self.place.fill(wanted), found)]

    def _tree(self, what: str, wanted: Tree) -> None:
        found = self.on.observe()
        self.wrong += [f"{what}: {text}" for text in tree_differences(wanted, found, self.place)]

    def _hidden(self, answer: Mapping[str, Any], texts: list[str]) -> None:
        seen = [json.dumps(answer).encode(), *self.on.observe_state().values()] if texts else []
        for text in texts:
            if any(text.encode() in data for data in seen):
                self.wrong.append(f"{text!r} can be seen in the answer or in the state folder")

    def _state(self, what: str, wanted: Mapping[str, Any]) -> None:
        found = self.on.observe_state()
        for name, value in wanted.items():
            data = found.get(name)
            if value == "$absent":
                if data is not None:
                    self.wrong.append(f"{what}: the state folder holds {name}")
            elif data is None:
                self.wrong.append(f"{what}: the state folder has no {name}; it has {', '.join(sorted(found))}")
            elif isinstance(value, Mapping):
                self._match(f"{what}: {name}", value, json.loads(data))
            else:
                lines = [json.loads(line) for line in data.decode().splitlines() if line]
                self._match(f"{what}: {name}", value, lines)


def encode(envelope: Mapping[str, Any]) -> str:
    """base64 of gzip of JSON: the one option of node_apply."""
    return base64.b64encode(gzip.compress(json.dumps(envelope).encode(), mtime=0)).decode()


def differences(wanted: Any, found: Any, place: str = "") -> list[tuple[str, str]]:
    """(where, sentence) for all that is not as wanted: a mapping in part, a list in whole.

    Strings: `~regex`; `$int`, `$bool`, `$string`, `$list`, `$filled` (a list), `$time`, `$any`, `$absent`. For a list,
    `{$has: [..]}` wants each of these to be in it somewhere, `{$hasnot: [..]}` none of them.
    """
    if isinstance(wanted, Mapping) and set(wanted) <= {"$has", "$hasnot"} and wanted:
        return _list_differences(wanted, found, place)
    if isinstance(wanted, Mapping):
        if not isinstance(found, Mapping):
            return [(place, f"wanted {dict(wanted)}, found {found!r}")]
        result: list[tuple[str, str]] = []
        for key, value in wanted.items():
            if value == "$absent":
                if key in found:
                    result.append((f"{place}.{key}", f"wanted nothing, found {found[key]!r}"))
            elif key not in found:
                result.append((f"{place}.{key}", f"is missing; there are {', '.join(map(str, found))}"))
            else:
                result += differences(value, found[key], f"{place}.{key}")
        return result
    if isinstance(wanted, list):
        if not isinstance(found, list) or len(found) != len(wanted):
            return [(place, f"wanted {wanted!r}, found {found!r}")]
        pairs = enumerate(zip(wanted, found, strict=True))
        return [item for number, (one, other) in pairs for item in differences(one, other, f"{place}[{number}]")]
    return [] if _same(wanted, found) else [(place, f"wanted {wanted!r}, found {found!r}")]


def _list_differences(wanted: Mapping[str, Any], found: Any, place: str) -> list[tuple[str, str]]:
    if not isinstance(found, list):
        return [(place, f"wanted a list, found {found!r}")]
    there = [item for item in wanted.get("$has") or [] if all(differences(item, one) for one in found)]
    not_there = [item for item in wanted.get("$hasnot") or [] if any(not differences(item, one) for one in found)]
    result = [(place, f"has no entry {item}; it has {found!r}") for item in there]
    return result + [(place, f"has an entry {item}, which it should not") for item in not_there]


def _same(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, str) and wanted.startswith("~"):
        return isinstance(found, str) and re.search(wanted[1:], found, re.IGNORECASE | re.DOTALL) is not None
    if isinstance(wanted, str) and wanted.startswith("$"):
        words = {
            "$int": isinstance(found, int) and not isinstance(found, bool),
            "$bool": isinstance(found, bool),
            "$string": isinstance(found, str) and found != "",
            "$list": isinstance(found, list),
            "$filled": isinstance(found, list) and found != [],
            "$time": isinstance(found, str) and TIME.match(found) is not None,
            "$any": True,
        }
        return words[wanted]
    return type(wanted) is type(found) and bool(wanted == found)


def tree_differences(wanted: Tree, found: Found, place: Place) -> list[str]:
    """What of a tree is not so; all files and folders count, and of the registry all below the contract's key."""
    files = {name: content(value, place) for name, value in wanted.files.items()}
    for name in list(files):
        for end in range(len(name)):
            if name[end] == "/" and end < len(name) - 1:
                files.setdefault(name[: end + 1], None)
    result = [f"{name} should not be there" for name in sorted(set(found.files) - set(files))]
    for name, value in files.items():
        if name not in found.files:
            result.append(f"{name} is missing; there are {', '.join(sorted(found.files)) or 'no files'}")
        elif isinstance(value, Link) or isinstance(found.files[name], Link):
            if not (isinstance(value, Link) and isinstance(found.files[name], Link)):
                result.append(f"{name} is {found.files[name]!r}, wanted {value!r}")
        elif isinstance(wanted.files.get(name), Mapping) and "json" in wanted.files[name]:
            text = found.files[name]
            shown = json.loads(text) if isinstance(text, bytes) else None
            result += [f"{name}{at}: {why}" for at, why in differences(place.fill(wanted.files[name]["json"]), shown)]
        elif found.files[name] != value:
            result.append(f"{name} holds {found.files[name]!r}, wanted {value!r}")
    registry = {key: {name: dict(item) for name, item in values.items()} for key, values in found.registry.items()}
    expected = {key: {name: dict(item) for name, item in values.items()} for key, values in wanted.registry.items()}
    if registry != expected:
        result.append(f"the registry holds {registry}, wanted {expected}")
    return result


def _first(answer: Mapping[str, Any]) -> Any:
    results = answer.get("results") or [None]
    return results[0]
