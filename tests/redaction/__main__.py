"""`make redaction`: forms that still show their secret, and harmless texts that were changed; the last line is JSON.

forms.yml: `rules`, identities of a public scanner's rules with the form of a value, and `forms`, texts of our own.
frozen.yml was collected after the rules stood, and no rule is mended on it. generated.py makes forms of names, ways and
wrappings: `rate` is what was removed of them, `worst` the way and the wrapping with the least; `known` are values that
the run knows, in the same wrappings, under names that mean nothing. `lines` are lines of public logs (tests/judge),
`whole` those that stay as they are, alone and in their files. The exit status is 0, whatever the figures.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator

from ansible_collections.winkube.node.plugins.plugin_utils.redaction.redact import redact

from tests.judge.case import load
from tests.redaction.generated import Cell, cells, known_cells
from tests.redaction.score import FORMS, FROZEN, of

LINES = 2000
_SECRET = re.compile(r"\b[a-z0-9]{6,7}\.[a-z0-9]{16}\b")
"""A bootstrap token: somebody pasted it, and so the line is not harmless."""


def real_lines() -> tuple[list[str], list[str]]:
    """Lines of logs and listings that people have published, at even distances, and those of them that are changed
    where they stand or alone."""
    changed: dict[str, bool] = {}
    for text in _texts():
        lines = [line for line in text.splitlines() if len(line.strip()) > 30 and not _SECRET.search(line)]
        kept = set(redact(text)[0].splitlines())
        for line in lines:
            changed[line] = changed.get(line, False) or line not in kept
    every = list(changed)
    drawn = [every[number * len(every) // LINES] for number in range(min(LINES, len(every)))]
    return drawn, [line for line in drawn if changed[line] or redact(line) != (line, 0)]


def _texts() -> Iterator[str]:
    for kind in ("healthy", "cases"):
        for case in load(kind):
            for value in case.data.values():
                yield from [value] if isinstance(value, str) else ()
                yield from (each for each in value.values() if isinstance(each, str)) if isinstance(value, dict) else ()


def main() -> int:
    """Prints what failed, the rate of each way, and the line."""
    open_part, frozen = of(FORMS), of(FROZEN)
    for name, score in (("open", open_part), ("frozen", frozen)):
        for title, found in (("still shows its secret", score.shown), ("was changed", score.changed)):
            print("".join(f"{name}: {title}: {one}\n" for one in found), end="")
    by_way: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells():
        by_way[cell.way].append(cell)
    for way, found_cells in by_way.items():
        least = min(found_cells, key=lambda each: each.rate)
        rest = "" if least.rate == 1 else f"; least in {least.wrapping}, {least.rate:.0%}: {least.shown[0]!r}"
        print(f"generated: {way}: {sum(each.rate for each in found_cells) / len(found_cells):.0%}{rest}")
    by_value = list(known_cells())
    for cell in by_value:
        print("".join(f"known, in {cell.wrapping}: {text!r}\n" for text in cell.shown), end="")
    lines, spoiled = real_lines()
    print("".join(f"a real line was changed: {redact(line)[0][:200]}\n" for line in spoiled), end="")
    everything = [each for found_cells in by_way.values() for each in found_cells]
    worst = min(everything, key=lambda each: each.rate)
    forms, shown = sum(each.forms for each in everything), sum(len(each.shown) for each in everything)
    print(
        json.dumps(
            {
                **open_part.figures(),
                "frozen": frozen.figures(),
                "generated": {"forms": forms, "removed": forms - shown, "rate": round(1 - shown / forms, 4)},
                "known": {
                    "forms": sum(each.forms for each in by_value),
                    "removed": sum(each.forms - len(each.shown) for each in by_value),
                },
                "worst": {"way": worst.way, "wrapping": worst.wrapping, "rate": round(worst.rate, 2)},
                "lines": len(lines),
                "whole": len(lines) - len(spoiled),
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
