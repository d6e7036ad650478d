# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`winkube-explain [FILE ...]`: what logs, listings and configuration files of a Windows node mean, without the node.

Files, folders and bundles of collect_logs (zip), or standard input. Exit status 0: a cause, or a short list of causes;
3: only where something failed; 1: nothing is wrong, or known; 2: nothing could be read, or winkube-explain failed. What
cannot be read is told, and the rest is looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..engine.local_path import expand_home
from ..engine.printable import escape
from ..foreign.encoding import decode_anyhow
from ..foreign.files import MOST_BYTES, ForeignError, is_zip, read_end, read_input, read_members
from ..redaction.redact import redact
from .explain import Explained, explain

MOST = 16 << 20
"""Bytes at the end of a file that are looked at."""
_TEXTS = {".txt", ".log", ".json", ".conf", ".conflist", ".toml", ".yaml", ".yml", ".md", ".env", ""}
_INPUT = "standard input"


@dataclass(slots=True)
class Given:
    """Texts by their names, and a sentence for each file that is not read."""

    texts: dict[str, str] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, name: str, text: str) -> None:
        """Many files are no more than one may have. What is printed quotes the text, so secrets go first."""
        if self.size + len(text) > MOST_BYTES:
            self.refuse(name, f"the files before it have the {MOST_BYTES >> 20} MB that are looked at.")
            return
        self.size += len(text)
        self.texts[name] = redact(text)[0]

    def refuse(self, name: str, sentence: str) -> None:
        self.refused.append(f"{name}: {sentence}")


def main(arguments: list[str]) -> int:
    """The command; its exit status."""
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        return 0
    for name in arguments:
        if name.startswith("--") and not Path(name).exists():
            print(f"winkube-explain: there is no option {escape(name)}; --help says what it takes.", file=sys.stderr)
            return 2
    given = read_all(arguments)
    for sentence in given.refused:
        print(f"winkube-explain: {sentence}", file=sys.stderr)
    if not given.texts:
        return 2
    answer = explain_given(given)
    print(*map(escape, answer.lines), sep="\n")
    return int(answer.worth)


def explain_given(given: Given) -> Explained:
    """What the texts mean. A secret that Docker or CRI had cut stands whole in a sentence, and goes from there."""
    answer = explain(given.texts)
    return replace(answer, lines=tuple(redact(each)[0] for each in answer.lines))


def run() -> int:
    """As the wheel's command."""
    try:
        return main(sys.argv[1:])
    except Exception as error:  # whatever it is: the status of an uncaught one is that of nothing found
        print(f"winkube-explain: a fault of its own, {type(error).__name__}: {escape(str(error))}", file=sys.stderr)
        return 2


def read_all(names: Iterable[str], given: Given | None = None) -> Given:
    """The texts by their names, behind those of `given`; of a folder and a zip each member's. Without a name, or with
    -, standard input."""
    given = given or Given()
    for name in tuple(names) or ("-",):
        try:
            if name == "-":
                given.add(_INPUT, decode_anyhow(read_input(sys.stdin.buffer))[-MOST:])
            elif is_zip(path := expand_home(name)):
                _add_members(given, path)
            else:
                for each in _files(path):
                    _add(given, each)
        except ForeignError as error:
            given.refuse(_INPUT if name == "-" else name, str(error))
    return given


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    found = sorted(each for each in path.rglob("*") if each.suffix.lower() in _TEXTS and each.is_file())
    if not found:
        raise ForeignError(f"there is no file in this folder that ends in {', '.join(sorted(_TEXTS - {''}))}.")
    yield from found


def _add(given: Given, path: Path) -> None:
    try:
        end = read_end(path, MOST)
    except ForeignError as error:
        given.refuse(str(path), str(error))
        return
    given.add(f"{path}, its last {MOST >> 20} MB" if end.cut else str(path), end.text)


def _add_members(given: Given, path: Path) -> None:
    for member in read_members(path, lambda name: Path(name).suffix.lower() in _TEXTS):
        name = f"{path.name}/{member.name}"
        if member.refused:
            given.refuse(name, member.refused)
        else:
            given.add(name, decode_anyhow(member.data)[-MOST:])


if __name__ == "__main__":
    sys.exit(run())
