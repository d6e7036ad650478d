"""`make recording`: runs the demo and draws what it printed as a terminal that plays, docs/pictures/demo.svg.

The picture is text that CSS moves: line by line, each as long after the one before as it was, but for long waits. No
script is in it, so that an <img> plays it. Where motion is not wanted it shows the end.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "pictures" / "demo.svg"

COLUMNS, ROWS = 108, 26
WIDE, HIGH = 7.8, 18
"""Of a character and of a line, in pixels, at 13 pixels of a monospaced font."""
MARGIN, HEAD = 14, 30
LONGEST_WAIT_S, LEAST_S, END_S = 1.2, 0.12, 6.0
"""A wait is cut to the first, a line takes the second at least, and the last screen stays for the third."""

COLOURS = (
    (re.compile(r"#"), "#e6c07b"),
    (re.compile(r"\$"), "#98c379"),
    (re.compile(r"ok:|  \S+: nothing differs"), "#7fb069"),
    (re.compile(r"changed:|  \S+: "), "#d8a657"),
    (re.compile(r"\[ERROR\]|exit status [1-9]"), "#ea6962"),
    (re.compile(r"PLAY|TASK"), "#89b4d8"),
)
"""By how a line begins, the first that fits."""
PLAIN, GROUND, BAR = "#d4d4d4", "#1e1e1e", "#333333"


@dataclass(frozen=True)
class Line:
    """One line of the terminal, and the second at which it appeared."""

    at: float
    text: str


def record() -> Iterator[Line]:
    """The demo, as it prints. CalledProcessError where it fails."""
    command = [sys.executable, "-u", "-m", "tests.demo"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as demo:
        assert demo.stdout is not None
        began = time.monotonic()
        for text in demo.stdout:
            yield Line(time.monotonic() - began, text.rstrip("\n"))
    if demo.returncode:
        raise subprocess.CalledProcessError(demo.returncode, command)


def told(lines: Iterable[Line]) -> list[Line]:
    """The lines as they are shown: without what is about this machine, rules of asterisks, blank lines that repeat."""
    shown: list[Line] = []
    for line in lines:
        if str(Path.home()) in line.text:  # that its user has no such key
            continue
        text = re.sub(r"/tmp/\w+/(?:lab/)?", "lab/", line.text).replace(str(ROOT), ".")
        text = re.sub(r" \*{3,}$", " ***", text)
        if text or (shown and shown[-1].text):
            shown.append(Line(line.at, text))
    return shown


def folded(lines: Iterable[Line]) -> list[Line]:
    """Lines no longer than the terminal is wide."""
    return [
        Line(line.at, line.text[at : at + COLUMNS])
        for line in lines
        for at in range(0, max(len(line.text), 1), COLUMNS)
    ]


def moments(lines: Sequence[Line]) -> list[float]:
    """The second of the picture at which each line appears."""
    found: list[float] = []
    for number, line in enumerate(lines):
        wait = line.at - lines[number - 1].at if number else 0.0
        found.append((found[-1] if found else 0.0) + min(max(wait, LEAST_S), LONGEST_WAIT_S))
    return found


def svg(lines: Sequence[Line]) -> str:
    """The picture."""
    rows = folded(lines)
    times = moments(rows)
    whole = times[-1] + END_S
    width, height = COLUMNS * WIDE + 2 * MARGIN, HEAD + ROWS * HIGH + MARGIN
    end = -HIGH * max(len(rows) - ROWS, 0)
    steps = [
        f"{100 * at / whole:.3f}%{{transform:translateY({-HIGH * (number + 1 - ROWS)}px)}}"
        for number, at in enumerate(times)
    ]
    style = (
        f"text{{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:{PLAIN};white-space:pre}}"
        f"#s{{transform:translateY({end}px);animation:p {whole:.1f}s step-end infinite}}"
        "@media (prefers-reduced-motion:reduce){#s{animation:none}}"
        f"@keyframes p{{0%{{transform:translateY({HIGH * ROWS}px)}}{''.join(steps)}}}"
    )
    texts = [
        f'<text x="{MARGIN}" y="{HIGH * (number + 1) - 4}"{_colour(row.text)}>{escape(row.text, quote=False)}</text>'
        for number, row in enumerate(rows)
        if row.text.strip()
    ]
    box = f'width="{width:g}" height="{height:g}"'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" {box} role="img">',
            "<title>make demo, recorded</title>",
            f"<style>{style}</style>",
            f'<rect {box} rx="8" fill="{GROUND}"/>',
            f'<path d="M0 {HEAD}V8a8 8 0 0 1 8-8H{width - 8:g}a8 8 0 0 1 8 8V{HEAD}z" fill="{BAR}"/>',
            f'<text x="{MARGIN}" y="20">make demo</text>',
            f'<svg y="{HEAD}" width="{width:g}" height="{ROWS * HIGH + 4}"><g id="s">',
            *texts,
            "</g></svg>",
            "</svg>",
            "",
        )
    )


def _colour(text: str) -> str:
    return next((f' style="fill:{colour}"' for begin, colour in COLOURS if begin.match(text)), "")


def main() -> None:
    """Writes the picture."""
    PICTURE.write_text(svg(told(record())), encoding="utf-8")


if __name__ == "__main__":
    main()
