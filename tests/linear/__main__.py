"""`python -m tests.linear [NAME ...]`: how time grows from 64 to 512 KB, for each pattern and for the whole programs.

NAME: explain, lint, redact, node-yaml, patterns; all of them without one. A pattern is measured as the programs use it,
a window at a time. The exponent is 1 where twice the text takes twice the time; times too short to compare count as 1.
The last line is JSON: how many patterns, the worst exponent, and the input that it is of. It rests on the processor
time of this machine, which varies: a figure far from 1 is a reason to look, and no test fails on it.
"""

from __future__ import annotations

import json
import math
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.bundle.redact import redact
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.explain import explain
from ansible_collections.winkube.node.plugins.plugin_utils.foreign.windows import Pattern, list_windows
from ansible_collections.winkube.node.plugins.plugin_utils.lint import cli  # noqa: F401 - its patterns
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import UnreadableError, read_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile
from ansible_collections.winkube.node.plugins.plugin_utils.node_yaml import document
from ansible_collections.winkube.node.plugins.plugin_utils.words.scan import Scanner

from tests.linear.inputs import ADVERSARIAL, LARGE, REAL, SMALL

SHORT_S = 0.05
"""What takes less in the large text is not compared."""
LONGEST_S = 120
"""Of processor time. What takes longer counts as if it took so long."""


@dataclass(frozen=True)
class Growth:
    """What was measured, on which input, and the seconds for the small and the large text."""

    what: str
    text: str
    small_s: float
    large_s: float

    @property
    def exponent(self) -> float:
        if self.large_s < SHORT_S:
            return 1.0
        return math.log(self.large_s / max(self.small_s, SHORT_S / 8), LARGE / SMALL)


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


def patterns() -> dict[str, re.Pattern[str]]:
    """Every pattern of the modules that are loaded, by its own text."""
    found: dict[str, re.Pattern[str]] = {}
    for name, module in list(sys.modules.items()):
        if ".winkube.node." in name:
            for value in vars(module).values():
                for each in _patterns_of(value):
                    found.setdefault(f"{each.pattern} {each.flags}", each)
    return found


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


def _search(pattern: re.Pattern[str]) -> Callable[[str], None]:
    def search(text: str) -> None:
        for _start, window in list_windows(text):
            pattern.search(window)

    return search


def _seconds(act: Callable[[str], None], text: str) -> float:
    began = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
    try:
        act(text)
    except TimeoutError:
        return float(LONGEST_S)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return time.process_time() - began


def _stop(*_: object) -> None:
    raise TimeoutError


def main(arguments: list[str]) -> int:
    """Prints the worst five of each, and the line."""
    wanted = arguments or [*WHOLE, "patterns"]
    signal.signal(signal.SIGPROF, _stop)
    inputs = {**REAL, **ADVERSARIAL}
    known = patterns()
    worst: list[Growth] = []
    for name in wanted:
        acts = {name: WHOLE[name]} if name in WHOLE else {text: _search(each) for text, each in known.items()}
        found = []
        for text, make in inputs.items():
            small, large = make(SMALL), make(LARGE)
            for what, act in acts.items():
                small_s = _seconds(act, small)
                if small_s * LARGE / SMALL >= SHORT_S / 4:
                    found.append(Growth(what, text, small_s, _seconds(act, large)))
        found.sort(key=lambda each: each.exponent, reverse=True)
        for each in found[:5]:
            seconds = f"{each.small_s:.2f} s, {each.large_s:.2f} s"
            print(f"{name}: {each.exponent:.2f} {each.text!r}: {seconds} ({each.what[:80]})", flush=True)
        worst += found[:1]
    top = max(worst, key=lambda each: each.exponent, default=Growth("", "", 0, 0))
    figures = {
        "patterns": len(known),
        "worst_exponent": round(top.exponent, 2),
        "input": f"{top.what[:80]}: {top.text}",
    }
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
