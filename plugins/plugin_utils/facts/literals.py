# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which place in which program a line of a log comes from: literals.txt.gz beside this file.

    find_place('MountVolume.SetUp failed for volume "data" ...')    # Place("kubelet", "mounting a volume", ...)

The table has the literals of errors, warnings and events of the programs of a Windows node, by the function that they
stand in, as `make catalogue` reads them from upstream's sources. It is read at the first question, not at import. What
a function does stands in literal_places.txt, by hand.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import log2
from pathlib import Path

_FILE = Path(__file__).with_name("literals.txt.gz")
_PLACES = Path(__file__).with_name("literal_places.txt")
_VERB = re.compile(r"%(?:%|[-+# 0-9.*\[\]]*[a-zA-Z])")
_WORD = re.compile(r"[A-Za-z0-9_]{3,}")
_LONG = 12
_MARK = "_0_"
_TELLING = 19.0
"""So much must the words of a literal tell together: one that every second literal has tells one bit. "unable to
remove %q" and "invalid MAC address" are said by programs that no table has, too."""
_NAME = re.compile(r"[a-z][A-Z]")
_TELLING_NAME = 11.0
"""So much with a name of a function or field among them, as in hcnCreateEndpoint: it is nobody else's."""
_NAMING = 24.0
"""So much to name the program: "error reading network config" is not said by one CNI plugin alone."""
_PROVING = 20.0
"""So much where the words are to stand for a cause: "file not found" is of one function, and says nothing of it."""
_OWN = 4.0
"""So much more counts what a program itself says than what a library does."""
_LEAST = 9
"""So many letters of its own a literal must have, in two words or one long one, to tell a place."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A row: what may be said, `source` (module@version file:function), by which programs. `wraps`: another error
    follows in it."""

    text: str
    kind: str
    wraps: bool
    codes: tuple[str, ...]
    programs: tuple[str, ...]
    module: str
    since: str
    until: str
    file: str
    function: str

    @property
    def source(self) -> str:
        return f"{self.module}@{self.until} {self.file}:{self.function}"


@dataclass(frozen=True, slots=True)
class Place:
    """Who speaks, what it was doing, on what; `program` is empty where many have the same code linked in. `operation`
    is empty where the function is not described. `codes`: what the literal itself stands for, such as a status of
    gRPC."""

    program: str
    operation: str
    object: str
    literal: str
    source: str
    codes: tuple[str, ...] = ()
    own: bool = False
    """Of the program itself, not of a library that others have as well."""
    cause: str = ""
    """The finding that an error of this function means where it names no other reason; empty where it may be many."""


def find_place(line: str) -> Place | None:
    """Of the literals that the line has the one that says most: one of a program's own before those of libraries."""
    found = (entry for _start, _end, entry in _matches(line))
    best = max(found, key=lambda each: (bool(each.place.operation), each.bits + _OWN * each.place.own), default=None)
    if best is None:
        return None
    return best.place if best.bits >= _NAMING else replace(best.place, program="")


def find_places(line: str) -> tuple[Place, ...]:
    """All of them in the order of the line: who speaks first, the innermost reason last. Of two literals of which one
    contains the other the longer one."""
    found: list[Place] = []
    end = -1
    for _start, last, entry in sorted(_matches(line), key=lambda hit: (hit[0], -hit[1])):
        if last > end:
            found.append(entry.place)
            end = last
    return tuple(found)


def _matches(line: str) -> Iterator[tuple[int, int, _Entry]]:
    said = _bare(line)
    words = set(_WORD.findall(said))
    index = _index()
    for word in index.keys() & words:
        for second, entry in index[word]:
            if second in words and entry.words <= words and (found := entry.pattern.search(said)):
                yield *found.span(), entry


@dataclass(frozen=True, eq=False)
class _Entry:
    """`words`: those that no verb touches; `bits`: how much they tell; `at`: where in the table the text stands."""

    text: str
    words: frozenset[str]
    bits: float
    at: list[int]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return _pattern(self.text)

    @cached_property
    def place(self) -> Place:
        """The first one that is described; with the programs of all that say the same."""
        places = [place(_literal(number)) for number in self.at]
        best = next((each for each in places if each.operation), places[0])
        programs, causes = {each.program for each in places}, {each.cause for each in places}
        return replace(
            best,
            program=best.program if len(programs) == 1 else "",
            cause=best.cause if len(causes) == 1 and self.bits >= _PROVING else "",
        )


_LIBRARY = re.compile(
    r"^(?:std|k8s\.io/(?!kubernetes$|system-validators)|golang\.org/|google\.golang\.org/|sigs\.k8s\.io/|go\.|gopkg\.in/"
    r"|github\.com/(?:Microsoft/(?:hcsshim|hnslib|go-winio)|containerd/(?!containerd)|containernetworking/cni|moby/|spf13/"
    r"|opencontainers/|gorilla/|pelletier/))"
)
"""Modules that other programs, of this machine or not, have linked in as well."""


def place(literal: Literal) -> Place:
    _where, operation, thing, cause = describe(literal.module, literal.file, literal.function) or (None, "", "", "")
    own = not _LIBRARY.match(literal.module) or "/cmd/" in f"/{literal.file}"
    program = literal.programs[0] if own and len(literal.programs) == 1 else ""
    proves = literal.kind == "error" and not literal.wraps
    return Place(program, operation, thing, literal.text, literal.source, literal.codes, own, cause if proves else "")


_MAJOR = re.compile(r"/v\d+(?=/|$)")
_LAYOUT = re.compile(r"^(github\.com/containerd/containerd)/(?:core|pkg|internal|plugins)(?=/)")


Row = tuple[re.Pattern[str] | None, str, str, str]
"""Which functions, operation, object, cause."""


@cache
def describe(module: str, file: str, function: str) -> Row | None:
    """The row of the places that fits."""
    folder = _old_layout(f"{_MAJOR.sub('', module)}/{file.rpartition('/')[0]}".rstrip("/"))
    where = f"{file.rpartition('/')[2]}:{function}"
    while folder:
        for row in places().get(folder, ()):
            if row[0] is None or row[0].search(where):
                return row
        folder = folder.rpartition("/")[0]
    return None


def _old_layout(folder: str) -> str:
    """containerd 1.7 had two CRI servers, and containerd 2 has moved its packages: a row is of all releases."""
    return _LAYOUT.sub(r"\1", folder).replace("/cri/sbserver", "/cri/server")


@cache
def places() -> dict[str, list[Row]]:
    """The rows of a folder."""
    found: dict[str, list[Row]] = {}
    for line in _PLACES.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            where, operation, thing, *cause = line.split(" | ")
            folder, _mark, expression = where.partition(" ~")
            found.setdefault(folder, []).append(
                (re.compile(expression, re.IGNORECASE) if expression else None, operation, thing, "".join(cause))
            )
    return found


_HOLES = {"d": r"-?\d+", "x": r"[\da-fx]+", "X": r"[\dA-FX]+", "c": ".", "t": "(?:true|false)", "q": r"[^ ].{0,160}?"}
"""What may stand for a verb; for others anything that is not too long."""


def _pattern(text: str) -> re.Pattern[str]:
    """A literal as it stands in a line: what it begins or ends with is left open."""
    parts = []
    for each in re.split(f"({_VERB.pattern})", " ".join(_bare(text).split())):
        if _VERB.fullmatch(each):
            parts.append("%" if each == "%%" else _HOLES.get(each[-1], ".{0,300}?"))
        else:
            parts.append(re.escape(each).replace(r"\ ", r"\s+"))
    for end in (0, -1):
        while parts and (not parts[end].replace(r"\s+", "") or parts[end].endswith("?")):
            parts.pop(end)
    return re.compile(r"(?<![A-Za-z])" + "".join(parts).rstrip(":"))


@cache
def _index() -> dict[str, list[tuple[str, _Entry]]]:
    """Entries by the word of theirs that the fewest literals have, beside the next one."""
    same: dict[str, list[int]] = {}
    for number, row in enumerate(_rows()):
        same.setdefault(row[0], []).append(number)
    words = {text: _anchors(text) for text in same if tells(list_constants(text))}
    count = Counter(word for each in words.values() for word in each)
    found: dict[str, list[tuple[str, _Entry]]] = {}
    for text, said in words.items():
        bits = sum(log2(len(words) / count[word]) for word in said)
        if bits >= (_TELLING_NAME if any(map(_NAME.search, said)) else _TELLING):
            first, second, *_others = *sorted(said, key=lambda word: (count[word], word)), *said
            found.setdefault(first, []).append((second, _Entry(text, said, bits, same[text])))
    return found


def _bare(text: str) -> str:
    """Without quotes: a log quotes the quotes of what it quotes."""
    return text.replace('"', "").replace("\\", "").replace("`", "")


def list_constants(text: str) -> tuple[str, ...]:
    """What of a literal is the same in each line: the parts between its verbs, without quotes."""
    return tuple(part for each in _VERB.split(_bare(text)) for line in each.splitlines() if (part := line.strip()))


def tells(parts: tuple[str, ...]) -> bool:
    """Whether a literal with these parts can be told from others."""
    words = [word for part in parts for word in _WORD.findall(part)]
    letters = sum(map(len, words))
    return letters >= _LEAST and (len(words) > 1 or letters > _LONG)


def _anchors(text: str) -> frozenset[str]:
    """The words of a literal that no verb touches: a verb stands as a letter of no word would."""
    return frozenset(word for word in _WORD.findall(_VERB.sub(_MARK, _bare(text))) if "_0_" not in word)


def literals() -> tuple[Literal, ...]:
    """The table."""
    return tuple(_literal(number) for number in range(len(_rows())))


def _literal(number: int) -> Literal:
    text, kind, codes, (programs, module, releases, file), function = _rows()[number]
    since, _blank, until = releases.partition(" ")
    return Literal(
        text, KINDS[kind.lower()], kind.isupper(), tuple(codes.split(",")) if codes else (), tuple(programs.split(",")),
        module, since, until or since, file, function,
    )  # fmt: skip


KINDS = {"e": "error", "l": "log", "i": "info", "v": "event", "s": "stderr", "t": "text"}


_Row = tuple[str, str, str, tuple[str, str, str, str], str]
"""Text, kind, codes; programs, module, releases, file; function."""


@cache
def _rows() -> tuple[_Row, ...]:
    """Lines as they stand: an object for each would take longer than most questions."""
    return tuple(read(gzip.decompress(_FILE.read_bytes()).decode("utf-8"))) if _FILE.exists() else ()


def read(text: str) -> Iterator[_Row]:
    """A line's first character says what it is: module, releases, programs, file, function, or a kind of literal."""
    said = {"M": "", "R": "", "P": "", "F": ""}
    where = ("", "", "", "")
    function = ""
    for line in text.splitlines():
        kind, rest = line[:1], line[1:]
        if kind in said:
            said[kind] = rest
            where = (said["P"], said["M"], said["R"], said["F"])
        elif kind == ":":
            function = rest
        elif kind.lower() in KINDS:
            codes, _bar, literal = rest.partition("|")
            if "\\" in literal:
                literal = literal.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\")
            yield literal, kind, codes, where, function


def find_cause(line: str) -> Place | None:
    """The innermost place of a line that means a cause by itself."""
    return next((each for each in reversed(find_places(line)) if each.cause), None)


def counts() -> dict[str, int]:
    """How many literals reach a user (they say something beside what they wrap), of how many the place is known."""
    reach = [each for each in literals() if tells(list_constants(each.text))]
    told = {entry.text for entries in _index().values() for _second, entry in entries}
    return {"reach": len(reach), "place": sum(1 for each in reach if each.text in told and place(each).operation)}
