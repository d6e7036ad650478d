# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The readings of a run in files on the controller: a CSV, and a plot that grows.

A file of its own: it alone of this folder writes files."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from ..engine.local_path import expand_home
from . import plot
from .samples import Sample, SampleError
from .watch import StatsOptions, rows

DRAW_S = 5
"""Seconds between two drawings of a plot that grows."""


class Recording:
    """The files of `stats.csv` and `stats.plot`; both exist however the run ends. SampleError with a sentence if one
    cannot be written."""

    def __init__(self, how: StatsOptions, *, write: bool) -> None:
        self._csv, self._plot = (how.csv, how.plot) if write else ("", "")
        self._title = how.title
        self._rows: list[dict[str, Any]] = []
        self._drawn = time.monotonic()

    def add(self, number: int, samples: Sequence[Sample]) -> None:
        """The readings of a round: to the CSV at once, to the plot every few seconds."""
        fresh = [row for sample in samples for row in rows(sample)]
        self._rows += fresh
        first = number == 1
        if self._csv:
            _write("csv", self._csv, plot.csv_text(fresh, head=first), "w" if first else "a")
        if self._plot and time.monotonic() - self._drawn >= DRAW_S:
            _write("plot", self._plot, plot.draw(self._plot, self._rows, self._title))
            self._drawn = time.monotonic()

    def finish(self, title: str, readings: Sequence[dict[str, Any]], verdicts: Sequence[dict[str, Any]]) -> None:
        """Both with all readings; the plot with the verdicts."""
        if self._csv:
            _write("csv", self._csv, plot.csv_text(readings))
        if self._plot:
            _write("plot", self._plot, plot.draw(self._plot, readings, title, verdicts))


def _write(name: str, where: str, text: str, mode: str = "w") -> None:
    path = expand_home(where)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode, encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise SampleError(f"stats.{name}: {path} cannot be written: {error.strerror}.") from None
