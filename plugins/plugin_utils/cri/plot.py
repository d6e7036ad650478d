# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU readings for people: a line for the terminal, CSV, and a plot as SVG. Pure functions from readings to text.

A reading is `{namespace, pod, container, source, at_ns, core_ns, nano_cores}`, as k8s_windows_cri_info returns them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

from ..pages.render import drawing, render
from .figures import ABSURD, MILLICORE, windows
from .samples import SOURCES, Reading, Sample

COLUMNS = ("namespace", "pod", "container", "source", "at_ns", "core_ns", "nano_cores")

_WIDTH, _HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 100, 20, 50, 70
_EDGE = 10
"""Where titles and the values of the axis begin."""
_SIZE = 18
"""Of the text: on a phone, 380 pixels for the whole width, it is still 10 pixels high."""
_COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd")
"""By the place of the source in SOURCES."""

Readings = Sequence[Mapping[str, Any]]


def show(nano_cores: int | None) -> str:
    """In millicores: `439 m`; `-` for a missing value, `0 !` for a zero, `huge !` for a negative difference."""
    if nano_cores is None:
        return "-"
    if nano_cores >= ABSURD:
        return "huge !"
    return "0 !" if nano_cores == 0 else f"{nano_cores / MILLICORE:.0f} m"


def live(number: int, samples: Sequence[Sample]) -> list[str]:
    """The lines for one round: a subject each, with the value of every source that was asked."""
    sources = [source for source in SOURCES if any(sample.source == source for sample in samples)]
    rows: dict[str, dict[str, str]] = {}
    for sample in samples:
        for subject, reading in sample.readings.items():
            rows.setdefault(str(subject), {})[sample.source] = show(reading.nano_cores)
    width = max((len(name) for name in rows), default=0)
    head = f"{number:4}  {'':{width}}" + "".join(f"  {source:>20}" for source in sources)
    return [
        head,
        *(
            f"      {name:{width}}" + "".join(f"  {values.get(source, ''):>20}" for source in sources)
            for name, values in sorted(rows.items())
        ),
    ]


def csv_text(readings: Readings, *, head: bool = True) -> str:
    """One line a reading, below a head; missing values are empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, extrasaction="ignore", lineterminator="\n")
    if head:
        writer.writeheader()
    for reading in readings:
        writer.writerow({name: "" if reading.get(name) is None else reading[name] for name in COLUMNS})
    return out.getvalue()


def svg(readings: Readings, title: str) -> str:
    """A document with a panel for each pod and container: usage in millicores over seconds, a line for each source.

    A zero is a hollow circle on the axis, a negative difference a cross at the upper edge; neither is joined by a
    line, and the latter does not count for the scale. Readings without a time are left out.
    """
    subjects: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for reading in readings:
        if reading.get("at_ns") is not None and reading.get("nano_cores") is not None:
            key = (str(reading["namespace"]), str(reading["pod"]), str(reading["container"]))
            subjects.setdefault(key, []).append(reading)
    times = [int(one["at_ns"]) for found in subjects.values() for one in found]
    span = _Span(min(times, default=0), max(times, default=0))
    panels = [_panel(key, found, span, number * _HEIGHT + 30) for number, (key, found) in enumerate(subjects.items())]
    height = 30 + _HEIGHT * max(1, len(panels))
    body = "".join(panels) or _text(_EDGE, 60, "no readings")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="{_SIZE}">\n'
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>\n{_text(_EDGE, 24, title)}{body}</svg>\n'
    )


def draw(where: str, readings: Readings, title: str, verdicts: Sequence[Mapping[str, Any]] = ()) -> str:
    """The plot for a file of this name: a page with the verdicts for one that ends with .html, else the plot alone."""
    picture = svg(readings, title)
    if not where.lower().endswith((".html", ".htm")):
        return picture
    return render("cpu.html.j2", title=title, picture=drawing(picture), verdicts=list(verdicts))


@dataclass(frozen=True, slots=True)
class _Span:
    """The time that all panels share."""

    start: int
    end: int

    def x(self, at_ns: int) -> float:
        width = _WIDTH - _LEFT - _RIGHT
        return _LEFT + width * (at_ns - self.start) / max(1, self.end - self.start)

    @property
    def seconds(self) -> float:
        return (self.end - self.start) / 1e9


def _panel(key: tuple[str, str, str], found: Readings, span: _Span, top: int) -> str:
    scale = max((one["nano_cores"] for one in found if one["nano_cores"] < ABSURD), default=0) or MILLICORE
    base, height = top + _HEIGHT - _BOTTOM, _HEIGHT - _TOP - _BOTTOM
    out = _text(_EDGE, top + 30, "/".join(part for part in key if part))
    out += f'<path d="M{_LEFT},{top + _TOP}V{base}H{_WIDTH - _RIGHT}" fill="none" stroke="#888"/>\n'
    out += _text(_EDGE, top + _TOP + 12, f"{scale / MILLICORE:.0f} m") + _text(_EDGE, base, "0 m")
    out += _text(_LEFT, base + 20, "0 s") + _text(_WIDTH - _RIGHT, base + 20, f"{span.seconds:.0f} s", anchor="end")
    present = [source for source in SOURCES if any(one["source"] == source for one in found)]
    for place, source in enumerate(present):
        colour = _COLOURS[SOURCES.index(source)]
        row, column = divmod(place, 2)
        out += _text(_LEFT + 270 * column, base + 42 + 20 * row, source, colour=colour)
        line: list[str] = []
        own = sorted((each for each in found if each["source"] == source), key=lambda each: int(each["at_ns"]))
        for one, is_gap in zip(own, _gaps(own), strict=True):
            if is_gap:
                out += _line(line, colour)
                line = []
            x, value = span.x(int(one["at_ns"])), int(one["nano_cores"])
            if value >= ABSURD:
                y = top + _TOP
                cross = f"M{x - 4:.1f},{y - 4}l8,8m0,-8l-8,8"
                out += f'<path class="underflow" d="{cross}" stroke="{colour}" stroke-width="2"/>\n'
            elif value == 0:
                out += f'<circle class="zero" cx="{x:.1f}" cy="{base}" r="4" fill="white" stroke="{colour}"/>\n'
            else:
                y_value = base - height * value / scale
                line.append(f"{x:.1f},{y_value:.1f}")
                out += f'<circle class="value" cx="{x:.1f}" cy="{y_value:.1f}" r="2.5" fill="{colour}"/>\n'
        out += _line(line, colour) + _slope(own, span, (base, height, scale), colour)
    return out


def _slope(own: Readings, span: _Span, axis: tuple[int, int, int], colour: str) -> str:
    """What the counter proves, from each reading to the next, as a broken line."""
    base, height, scale = axis
    out = ""
    times = [Reading(int(one["at_ns"]), one.get("core_ns"), None) for one in own]
    for window in windows(times)[0]:
        first, last = span.x(int(own[window.first]["at_ns"])), span.x(int(own[window.last]["at_ns"]))
        y = base - height * min(1.0, window.nano_cores / scale)
        style = f'stroke="{colour}" stroke-dasharray="4 3" stroke-opacity="0.8"'
        out += f'<path class="proven" d="M{first:.1f},{y:.1f}H{last:.1f}" {style}/>\n'
    return out


def _line(points: list[str], colour: str) -> str:
    if len(points) < 2:
        return ""
    return f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-opacity="0.6"/>\n'


def _gaps(found: Readings) -> list[bool]:
    """Whether before a reading others are missing: no line joins it with the last one."""
    times = [int(one["at_ns"]) for one in found]
    steps = sorted(other - one for one, other in pairwise(times) if other > one)
    usual = steps[len(steps) // 2] if steps else 0
    return [False, *(2 * (other - one) > 5 * usual for one, other in pairwise(times))] if times else []


def _text(x: float, y: float, text: str, *, colour: str = "#222", anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" text-anchor="{anchor}">{escape(text)}</text>\n'
