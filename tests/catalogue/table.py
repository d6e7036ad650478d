"""The rows of literals.txt.gz, written so that what many rows share stands once."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ansible_collections.winkube.node.plugins.plugin_utils.facts import literals as table

HEAD = """\
# What programs for Windows may say. Made by `make catalogue`; do not edit. facts/literals.py reads it.
# M module, R releases in which it stands (first and last of those that were read), P programs, F file, : function,
# literals: e error, l log, v event, i info, s standard error, t text; a capital: another error follows. Codes|text.
"""

LETTERS = {name: letter for letter, name in table.KINDS.items()}


@dataclass(frozen=True)
class Row:
    """A literal of one function in the releases between two."""

    module: str
    file: str
    function: str
    kind: str
    text: str
    wraps: bool
    codes: tuple[str, ...]
    programs: frozenset[str]
    versions: frozenset[str]

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.module, self.file, self.function, self.text


def merged(rows: Iterable[Row]) -> list[Row]:
    """Each literal of a function once, with all programs and releases."""
    found: dict[tuple[str, str, str, str], Row] = {}
    for row in rows:
        known = found.get(row.key)
        found[row.key] = (
            replace(row, programs=known.programs | row.programs, versions=known.versions | row.versions)
            if known
            else row
        )
    return sorted(found.values(), key=lambda row: (row.module, sorted(row.programs), row.file, row.function, row.text))


def read(packed: bytes) -> list[Row]:
    found = []
    for text, kind, codes, (programs, module, releases, file), function in table.read(gzip.decompress(packed).decode()):
        found.append(
            Row(
                module,
                file,
                function,
                table.KINDS[kind.lower()],
                text,
                kind.isupper(),
                tuple(codes.split(",")) if codes else (),
                frozenset(programs.split(",")),
                frozenset(releases.split(" ")),
            )
        )
    return found


def write(rows: Iterable[Row]) -> bytes:
    """The same bytes for the same rows."""
    said, state = [HEAD], {"M": "", "R": "", "P": "", "F": "", ":": ""}
    for row in rows:
        versions = sorted(row.versions, key=release)
        now = {
            "M": row.module,
            "R": versions[0] if versions[0] == versions[-1] else f"{versions[0]} {versions[-1]}",
            "P": ",".join(sorted(row.programs)),
            "F": row.file,
            ":": row.function,
        }
        said += [f"{letter}{text}\n" for letter, text in now.items() if state[letter] != text]
        state = now
        letter = LETTERS[row.kind].upper() if row.wraps else LETTERS[row.kind]
        text = row.text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "")
        said.append(f"{letter}{','.join(row.codes)}|{text}\n")
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", compresslevel=9, mtime=0) as file:
        file.write("".join(said).encode("utf-8"))
    return packed.getvalue()


def release(version: str) -> tuple[object, ...]:
    """In the order of releases; a release after what came before it, a commit after all."""
    numbers = tuple(int(each) for each in re.findall(r"\d+", version.partition("-")[0])[:3])
    return (numbers, "-" not in version, version) if version.startswith("v") else ((9999,), True, version)


def write_codes(codes: Mapping[str, int]) -> bytes:
    """`number name`, by number."""
    packed = io.BytesIO()
    lines = sorted({(number, name) for name, number in codes.items()})
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", compresslevel=9, mtime=0) as file:
        file.write("".join(f"{number:X} {name}\n" for number, name in lines).encode("ascii"))
    return packed.getvalue()
