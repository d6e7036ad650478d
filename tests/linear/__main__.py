"""`python -m tests.linear [NAME ...]`: how time grows with a text, for each pattern and for the whole programs.

NAME: explain, lint, redact, node-yaml, patterns; all of them without one. The programs read 64 and 512 KB. A pattern is
asked as its module asks it, of an eighth of a window and of a whole one: beyond a window each one costs the same, which
the programs' own figures show. The exponent is 1 where twice the text takes twice the time; times too short to compare
count as 1. The last line is JSON: how many patterns, the worst exponent, and the input that it is of. It rests on the
processor time of this machine, which varies: a figure far from 1 is a reason to look, and no test fails on it.
"""

from __future__ import annotations

import json
import math
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.explain import explain
from ansible_collections.winkube.node.plugins.plugin_utils.foreign.windows import WINDOW, Pattern
from ansible_collections.winkube.node.plugins.plugin_utils.lint import cli  # noqa: F401 - its patterns
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import UnreadableError, read_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile
from ansible_collections.winkube.node.plugins.plugin_utils.node_yaml import document
from ansible_collections.winkube.node.plugins.plugin_utils.redaction.redact import redact
from ansible_collections.winkube.node.plugins.plugin_utils.words.scan import Scanner

from tests.linear.inputs import ADVERSARIAL, REAL

LONGEST_S = 120.0
"""Of processor time. What takes longer counts as if it took so long."""
WORST = 5
DOUBTFUL = 1.2
"""What grows faster is measured again: other programs of the machine disturb."""


@dataclass(frozen=True)
class Lengths:
    """The two texts that are compared, in characters. What takes less than `short_s` in the large one is not. `exact`:
    texts are cut to it, though JSON is none then."""

    small: int
    large: int
    short_s: float
    exact: bool = False


WHOLE_TEXTS = Lengths(64 << 10, 512 << 10, 0.05)
WINDOWS = Lengths(WINDOW // 8, WINDOW, 0.001, exact=True)
"""A millisecond for a window is four minutes for a gigabyte."""


@dataclass(frozen=True)
class Growth:
    """What was measured, on which input, and the seconds for the small and the large text."""

    what: str
    text: str
    lengths: Lengths
    small_s: float
    large_s: float

    @property
    def exponent(self) -> float:
        if self.large_s < self.lengths.short_s:
            return 1.0
        small_s = max(self.small_s, self.lengths.short_s / 8)
        return math.log(self.large_s / small_s, self.lengths.large / self.lengths.small)


def _explain(text: str) -> None:
    explain({"text": text})


def _lint(text: str) -> None:
    """As a manifest, and as what a container of a manifest runs and is told."""
    shell = {"name": "a", "image": "mcr.microsoft.com/windows/servercore:ltsc2022", "command": ["cmd", "/c", text]}
    script = {**shell, "name": "b", "command": ["powershell", text], "env": [{"name": "A_HOST", "value": text}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [shell, script]}}
    for each in (text, json.dumps(pod)):
        try:
            lint(read_documents("f.json", each), Profile())
        except UnreadableError:
            continue


def _redact(text: str) -> None:
    redact(text)


def _node_yaml(text: str) -> None:
    document.read(text)


WHOLE: Mapping[str, Callable[[str], None]] = {
    "explain": _explain,
    "lint": _lint,
    "redact": _redact,
    "node-yaml": _node_yaml,
}


def patterns() -> dict[str, Callable[[str], object]]:
    """What every pattern of the modules that are loaded is asked, by its own text. One of which every module asks
    only whether it begins or is a text is asked that; of all others it is not known, and they are searched for."""
    found: dict[str, re.Pattern[str]] = {}
    asked: dict[str, set[str]] = {}
    for name, module in list(sys.modules.items()):
        if ".winkube.node." not in name or not (file := getattr(module, "__file__", None)):
            continue
        uses = dict.fromkeys(vars(module), frozenset({"?"}))
        for variable, method in _USE.findall(Path(file).read_text(encoding="utf-8")):
            uses[variable] = (uses.get(variable, frozenset()) - {"?"}) | {method}
        for variable, value in vars(module).items():
            for each in _patterns_of(value):
                text = f"{each.pattern} {each.flags}"
                found.setdefault(text, each)
                asked.setdefault(text, set()).update(uses[variable])
    begins = {text for text, methods in asked.items() if methods <= {"match", "fullmatch"}}
    return {text: each.match if text in begins else each.search for text, each in found.items()}


_USE = re.compile(r"\b(_*[A-Z][A-Z0-9_]*)\.([a-z]+)\(")
"""A pattern's variable, and what is asked of it."""


def _patterns_of(value: Any, depth: int = 0) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif isinstance(value, Pattern):
        yield re.compile(value.pattern, value.flags)
    elif isinstance(value, Scanner):
        yield from (branch._pattern for branches in value._asking.values() for branch in branches)
        yield from (branch._pattern for branch in value._always)
    elif isinstance(value, list | tuple | frozenset | set) and depth < 3:
        for each in value:
            yield from _patterns_of(each, depth + 1)
    elif isinstance(value, Mapping) and depth < 3:
        yield from _patterns_of(tuple(value.values()), depth + 1)
    elif hasattr(value, "pattern") and isinstance(getattr(value, "pattern", None), re.Pattern):
        yield value.pattern


def _seconds(act: Callable[[str], object], text: str) -> float:
    began = time.thread_time()
    signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
    try:
        act(text)
    except TimeoutError:
        return float(LONGEST_S)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return time.thread_time() - began


def _stop(*_: object) -> None:
    raise TimeoutError


def _measure(acts: Mapping[str, Callable[[str], object]], lengths: Lengths) -> Iterator[Growth]:
    """What takes long enough to be compared."""
    for text, make in {**REAL, **ADVERSARIAL}.items():
        small, large = (make(size)[: size if lengths.exact else None] for size in (lengths.small, lengths.large))
        for what, act in acts.items():
            found = Growth(what, text, lengths, _seconds(act, small), _seconds(act, large))
            if found.exponent > DOUBTFUL:
                again = _seconds(act, small), _seconds(act, large)
                found = replace(found, small_s=min(found.small_s, again[0]), large_s=min(found.large_s, again[1]))
            if found.large_s >= lengths.short_s:
                yield found


def main(arguments: list[str]) -> int:
    """Prints the worst five of each, and the line."""
    wanted = arguments or [*WHOLE, "patterns"]
    signal.signal(signal.SIGPROF, _stop)
    known = patterns()
    worst: list[Growth] = []
    for name in wanted:
        acts = {name: WHOLE[name]} if name in WHOLE else known
        found = sorted(
            _measure(acts, WHOLE_TEXTS if name in WHOLE else WINDOWS), key=lambda each: each.exponent, reverse=True
        )
        for each in found[:WORST]:
            seconds = f"{each.small_s:.4f} s, {each.large_s:.4f} s"
            print(f"{name}: {each.exponent:.2f} {each.text!r}: {seconds} ({each.what[:80]})", flush=True)
        worst += found[:1]
    top = max(worst, key=lambda each: each.exponent, default=Growth("", "", WINDOWS, 0, 0))
    figures = {
        "patterns": len(known),
        "worst_exponent": round(top.exponent, 2),
        "input": f"{top.what[:80]}: {top.text}",
    }
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
