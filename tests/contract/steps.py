"""A case as the steps it takes, each with what is wanted of it. No step depends on an answer, so that the steps can be
carried to a machine where nobody can ask."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.contract.case import Case, Tree, tree
from tests.contract.implementations import Place, content

FAILING = {"n": 1, "op": "move", "args": {"from": "{root}\\no-such-file", "to": "{root}\\nor-this"}, "undo": []}
"""What makes a batch fail after the op whose undo is looked at."""


@dataclass(frozen=True)
class Want:
    """`what` is how a difference is named; `at` the way to the value in the answer; `value` as README.md says."""

    what: str
    at: tuple[str | int, ...]
    value: Any


@dataclass(frozen=True)
class Prepare:
    """A fresh root with this in it, and no state folder."""

    tree: Tree


@dataclass(frozen=True)
class Put:
    """Files of the state folder."""

    files: Mapping[str, bytes]


@dataclass(frozen=True)
class Start:
    """The runner that lies in the state folder, started by itself, as its task starts it."""


@dataclass(frozen=True)
class Run:
    """One execution of a module. `sent` is the request of node_probe or the envelope of node_apply."""

    module: str
    sent: Mapping[str, Any]
    wants: Sequence[Want]
    what: str = ""
    outcome: str = ""
    """What the batch `what` has to come to, accepted; empty: only `wants` counts."""
    check_mode: bool = False


@dataclass(frozen=True)
class Look:
    """The tree is this now."""

    what: str
    tree: Tree


@dataclass(frozen=True)
class LookState:
    """These files of the state folder are so; `hidden` is neither in the last answer nor in any of them."""

    what: str
    files: Mapping[str, Any] = field(default_factory=dict)
    hidden: Sequence[str] = ()


Step = Prepare | Put | Start | Run | Look | LookState


@dataclass(frozen=True)
class Steps:
    """`last` is taken whatever becomes of `main`."""

    main: Sequence[Step]
    last: Sequence[Step]


def steps_of(case: Case, place: Place, runner: Mapping[str, str]) -> Steps:
    """All steps but the first, which prepares `case.before`. `runner`: `sha256`, `text`, and `hns` as it travels."""
    make = _Make(case, place, runner)
    main = {"query": make.query, "op": make.op, "talk": make.talk}[case.kind]
    return Steps((*make.set_up(), *main()), tuple(make.clean_up()))


@dataclass
class _Make:
    case: Case
    place: Place
    runner: Mapping[str, str]
    sent: int = 0

    def set_up(self) -> Iterator[Step]:
        if self.case.body.get("setup"):
            yield self._batch("set-up", self.case.body["setup"], "done")

    def clean_up(self) -> Iterator[Step]:
        if self.case.body.get("cleanup"):
            yield self._batch("clean-up", self.case.body["cleanup"], "done")

    # -- the three kinds -----------------------------------------------------------------------------------------

    def query(self) -> Iterator[Step]:
        query = {"key": "it", **self.place.fill(self.case.body["query"])}
        sent = self._with_hns({"schema": 1, "state_dir": self.place.state, "queries": [query]})
        yield Run("node_probe", sent, [self._want("value", ("parts", "it"), self.case.body["value"])])
        yield Look("after the query", self.case.before)

    def op(self) -> Iterator[Step]:
        body = self.case.body
        entry = {"n": 0, "op": body["op"], "args": body["args"], "secrets": body.get("secrets") or []}
        after = tree(body["after"]) if "after" in body else self.case.before
        if "fails" in body:
            error = Want("the error", ("error", "message"), "~" + str(self.place.fill(body["fails"])))
            yield self._batch("the op", [entry], "undone", error)
            yield Look("after the failed op", after)
            yield from self._hidden(body.get("hidden"))
            return
        result = {"n": 0, "op": body["op"], "ok": True, **(body.get("result") or {})}
        yield self._batch("the op", [entry], "done", self._want("result", ("results", 0), result))
        yield Look("after the op", after)
        yield from self._hidden(body.get("hidden"))
        again = body.get("again", {})
        if again is not False:
            result = (again or {}).get("result") or {}
            yield self._batch(
                "the op, run again", [entry], "done", self._want("result, run again", ("results", 0), result)
            )
            yield Look("after the op, run again", after)
        if "undo" in body:
            yield Prepare(self.case.before)
            yield from self.set_up()
            yield self._batch("the op with its undo", [{**entry, "undo": body["undo"]}, FAILING], "undone")
            yield Look("after the undo", tree(body["undone"]) if "undone" in body else self.case.before)

    def talk(self) -> Iterator[Step]:
        for number, step in enumerate(self.case.body["steps"], 1):
            if "place" in step:
                text = self.runner["text"]
                described = {name: text if value == "{runner}" else value for name, value in step["place"].items()}
                files = {str(name): content(value, self.place) for name, value in described.items()}
                text_for_hns = json.dumps(self.runner["hns"])[1:-1].encode()
                placed = {name: data for name, data in files.items() if isinstance(data, bytes)}
                yield Put({name: data.replace(b"{hns}", text_for_hns) for name, data in placed.items()})
            if step.get("start") == "runner":
                yield Start()
            if "send" in step:
                send = dict(step["send"])
                check_mode = bool(send.pop("check_mode", False))
                want = self._want(f"step {number}, answer", (), step.get("answer") or {})
                yield Run("node_apply", self._envelope(send), [want], check_mode=check_mode)
                yield from self._hidden(step.get("hidden"))
            if "after" in step:
                yield Look(f"after step {number}", tree(step["after"]))
            if "state" in step:
                yield LookState(f"after step {number}", self.place.fill(step["state"]))

    # -- their parts ---------------------------------------------------------------------------------------------

    def _want(self, what: str, at: tuple[str | int, ...], value: Any) -> Want:
        return Want(what, at, self.place.fill(value))

    def _hidden(self, texts: Sequence[str] | None) -> Iterator[Step]:
        if texts:
            yield LookState("", {}, tuple(texts))

    def _batch(self, what: str, ops: Sequence[Mapping[str, Any]], outcome: str, *wants: Want) -> Run:
        """Ops as one batch, inline, and what has to become of it."""
        self.sent += 1
        numbered = [{"n": number, "undo": [], "secrets": [], **op} for number, op in enumerate(_repeated(ops))]
        send = {"kind": "submit", "id": f"{self.sent:032x}", "ops": numbered}
        return Run("node_apply", self._envelope(send), wants, what, outcome)

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
            "runner": {"mode": send.get("mode", "inline"), **(send.get("runner") or without_hns(self.runner))},
            "state": self.place.fill(send.get("state") or []),
        }
        if envelope["kind"] == "submit":
            envelope["batch"] = {
                "schema": 1,
                "id": batch_id,
                "component": send.get("component", "contract"),
                "deadline_s": send.get("deadline_s", 120),
                "was": send.get("was", ""),
                "pre": self.place.fill(send.get("pre") or []),
                "ops": self.place.fill([{"undo": [], "secrets": [], **op} for op in send.get("ops") or []]),
                "gate": self.place.fill(send.get("gate") or []),
            }
        return envelope if send.get("hns") is False else self._with_hns(envelope)

    def _with_hns(self, sent: dict[str, Any]) -> dict[str, Any]:
        """With the text that calls HNS, if anything in it has a name that begins so; a reading has one of its own."""
        text = self.runner.get("hns_read" if "queries" in sent else "hns") or self.runner["hns"]
        return {**sent, "hns": text} if names_hns(sent) else sent


def _repeated(ops: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Each op, one with `times` so many times: in its argument list `{number}` is 1, 2, .."""
    for op in ops:
        plain = {key: value for key, value in op.items() if key != "times"}
        if "times" not in op:
            yield plain
            continue
        for number in range(1, int(op["times"]) + 1):
            words = [str(word).replace("{number}", str(number)) for word in op["args"]["args"]]
            yield {**plain, "args": {**op["args"], "args": words}}


def names_hns(value: Any) -> bool:
    """Whether an op, a wait or a query of HNS is in it."""
    if isinstance(value, Mapping):
        here = any(str(value.get(key, "")).startswith("hns") for key in ("op", "for"))
        return here or any(names_hns(item) for item in value.values())
    return isinstance(value, list) and any(names_hns(item) for item in value)


def without_hns(runner: Mapping[str, str]) -> dict[str, str]:
    """The runner as an envelope names it."""
    return {key: value for key, value in runner.items() if key != "hns"}
