"""How long the linter reads the files of the corpus' repositories, beside yaml.CSafeLoader on the same files.

    python -m tests.corpus.reading

Processor time of one process, each file by both, one after the other. A text that can have no object is not parsed by
the linter. No test fails on a figure; the last line is one JSON object.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import (
    UnreadableError,
    may_hold_objects,
    read_documents,
)
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rendering import read_text
from ansible_collections.winkube.node.plugins.plugin_utils.lint.sources import list_folder

from tests.corpus.repositories import folder_of, read_file


@dataclass
class Read:
    """Files of one kind: their number, characters, and seconds of both."""

    files: int = 0
    characters: int = 0
    linter_s: float = 0.0
    loader_s: float = 0.0

    @property
    def ratio(self) -> float | None:
        """The linter's part of the loader's time."""
        return round(self.linter_s / self.loader_s, 2) if self.loader_s else None


def _as_the_linter(text: str) -> None:
    if may_hold_objects(text):
        read_documents("f.yml", text)


def _as_pyyaml(text: str) -> None:
    for _value in yaml.load_all(text, Loader=yaml.CSafeLoader):
        pass


def _seconds(read: Callable[[str], None], text: str) -> float:
    """Also of a text that is broken for it."""
    start = time.process_time()
    with contextlib.suppress(UnreadableError, yaml.YAMLError, ValueError, TypeError, RecursionError):
        read(text)
    return time.process_time() - start


def texts() -> Iterator[str]:
    """Of each repository that is at hand."""
    for name in read_file()[0]:
        folder, reason = folder_of(name)
        if folder is None:
            print(f"left out: {name}: {reason}", file=sys.stderr)
            continue
        for file in list_folder(folder).files:
            if text := _text(file):
                yield text


def _text(file: Path) -> str:
    try:
        return read_text(file)
    except UnreadableError:
        return ""


def main() -> int:
    whole, parsed = Read(), Read()
    for text in texts():
        linter, loader = _seconds(_as_the_linter, text), _seconds(_as_pyyaml, text)
        for each in (whole, parsed) if may_hold_objects(text) else (whole,):
            each.files += 1
            each.characters += len(text)
            each.linter_s += linter
            each.loader_s += loader
    for name, each in (("all files", whole), ("those that may hold objects", parsed)):
        print(f"{name}: {each.files} files, {each.characters / 1e6:.1f} million characters: ", end="")
        print(f"the linter {each.linter_s:.2f} s, yaml.CSafeLoader {each.loader_s:.2f} s ({each.ratio})")
    print(
        json.dumps(
            {
                "files": whole.files,
                "parsed": parsed.files,
                "linter_s": round(whole.linter_s, 2),
                "csafeloader_s": round(whole.loader_s, 2),
                "ratio": whole.ratio,
                "ratio_of_parsed": parsed.ratio,
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
