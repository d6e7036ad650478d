"""Runs one case against one implementation and says what is not as the case has it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.contract.case import Case, Tree
from tests.contract.implementations import Found, Implementation, Link, Place, content
from tests.contract.steps import Look, LookState, Prepare, Put, Run, Start, Step, steps_of

TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$")


def failures(case: Case, on: Implementation) -> list[str]:
    """What of the case is not so."""
    run = _Run(on, on.prepare(case.before))
    steps = steps_of(case, run.place, on.runner())
    try:
        for step in steps.main:
            run.take(step)
    finally:
        for step in steps.last:
            run.take(step)
    return run.wrong


@dataclass
class _Run:
    on: Implementation
    place: Place
    wrong: list[str] = field(default_factory=list)
    answer: Mapping[str, Any] = field(default_factory=dict)

    def take(self, step: Step) -> None:
        """Takes one step and notes what is not as wanted."""
        if isinstance(step, Prepare):
            self.on.prepare(step.tree)
        elif isinstance(step, Put):
            self.on.put(step.files)
        elif isinstance(step, Start):
            self.on.start()
        elif isinstance(step, Run):
            argument = (
                {"batch": encode(step.sent)} if step.module == "node_apply" else {"request": json.dumps(step.sent)}
            )
            self.answer = self.on.run(step.module, argument, check_mode=step.check_mode)
            self.wrong += answer_differences(step, self.answer)
        elif isinstance(step, Look):
            found = self.on.observe()
            self.wrong += [f"{step.what}: {text}" for text in tree_differences(step.tree, found, self.place)]
        else:
            self.wrong += state_differences(step, self.answer, self.on.observe_state())


def answer_differences(step: Run, answer: Mapping[str, Any]) -> list[str]:
    """What of a module's answer is not as wanted."""
    wrong = []
    if step.outcome and (answer.get("answer") != "accepted" or answer.get("outcome") != step.outcome):
        wrong.append(f"{step.what}: wanted {step.outcome}, found {json.dumps(answer)[:1500]}")
    if answer.get("failed") and step.module == "node_probe":
        wrong.append(f"the probe failed: {json.dumps(answer)[:1500]}")
    for want in step.wants:
        wrong += [f"{want.what}{place}: {text}" for place, text in differences(want.value, _at(answer, want.at))]
    return wrong


def state_differences(step: LookState, answer: Mapping[str, Any], found: Mapping[str, bytes]) -> list[str]:
    """What of the state folder is not as wanted, and what of it or of the last answer should be hidden."""
    wrong = []
    seen = [json.dumps(answer).encode(), *found.values()]
    for text in step.hidden:
        if any(text.encode() in data for data in seen):
            wrong.append(f"{text!r} can be seen in the answer or in the state folder")
    for name, value in step.files.items():
        data = found.get(name)
        if value == "$absent":
            wrong += [f"{step.what}: the state folder holds {name}"] if data is not None else []
        elif data is None:
            wrong.append(f"{step.what}: the state folder has no {name}; it has {', '.join(sorted(found))}")
        else:
            parts = [data.decode()] if isinstance(value, Mapping) else data.decode().splitlines()
            shown = [json.loads(part) for part in parts if part]
            shown = shown[0] if isinstance(value, Mapping) else shown
            wrong += [f"{step.what}: {name}{place}: {text}" for place, text in differences(value, shown)]
    return wrong


def _at(answer: Any, way: Sequence[str | int]) -> Any:
    """The value at the end of the way, None where there is none."""
    for part in way:
        there = isinstance(part, str) and isinstance(answer, Mapping) and part in answer
        there = there or (isinstance(part, int) and isinstance(answer, list) and part < len(answer))
        answer = answer[part] if there else None
    return answer


def argument(step: Run) -> dict[str, str]:
    """The one option of the step's module."""
    return {"batch": encode(step.sent)} if step.module == "node_apply" else {"request": json.dumps(step.sent)}


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


def expected_files(wanted: Tree, place: Place) -> dict[str, bytes | Link | None]:
    """Everything that a tree names, the folders above its files too; name -> content."""
    files = {name: content(value, place) for name, value in wanted.files.items()}
    for name in list(files):
        for end in range(len(name)):
            if name[end] == "/" and end < len(name) - 1:
                files.setdefault(name[: end + 1], None)
    return files


def tree_differences(wanted: Tree, found: Found, place: Place) -> list[str]:
    """What of a tree is not so; all files and folders count, and of the registry all below the contract's key."""
    files = expected_files(wanted, place)
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
