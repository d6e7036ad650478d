# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`winkube-explain [FILE ...]`: what logs, listings and configuration files of a Windows node mean, without the node.

Files, folders and bundles of collect_logs (zip), or standard input. Exit status 0: said; 1: nothing is wrong, or known;
2: a file cannot be read.

A file of its own: the command of the wheel, and what the playbook explain.yml runs by explain_files.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..engine.local_path import expand_home
from .explain import NOTHING, explain

MOST = 16 * 1024 * 1024
"""Characters at the end of a file that are looked at."""
_TEXTS = {".txt", ".log", ".json", ".conf", ".conflist", ".toml", ".yaml", ".yml", ".md", ".env", ""}


def main(arguments: list[str]) -> int:
    """The command; its exit status."""
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        return 0
    try:
        texts = read_all(arguments)
    except OSError as error:
        print(f"winkube-explain: {error.filename}: {error.strerror or error}", file=sys.stderr)
        return 2
    lines = explain(texts)
    print(*lines, sep="\n")
    return 1 if lines[-1].startswith(NOTHING) else 0


def run() -> int:
    """As the wheel's command."""
    return main(sys.argv[1:])


def read_all(names: Iterable[str]) -> dict[str, str]:
    """The texts by their names; of a folder and a zip each member's. Without a name, or with -, standard input."""
    found: dict[str, str] = {}
    for name in tuple(names) or ("-",):
        if name == "-":
            found["standard input"] = _text(sys.stdin.buffer.read())
        else:
            found.update(_of_path(expand_home(name)))
    return found


def _of_path(path: Path) -> Iterator[tuple[str, str]]:
    if path.is_dir():
        for each in sorted(each for each in path.rglob("*") if each.is_file() and each.suffix.lower() in _TEXTS):
            yield str(each), _text(each.read_bytes())
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if not member.is_dir() and Path(member.filename).suffix.lower() in _TEXTS:
                    yield f"{path.name}/{member.filename}", _text(archive.read(member))
    else:
        yield str(path), _text(path.read_bytes())


def _text(data: bytes) -> str:
    """As UTF-8, or as UTF-16, which Windows' tools and PowerShell's > write."""
    encoding = "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    return data.decode(encoding, errors="replace")[-MOST:]


if __name__ == "__main__":
    sys.exit(run())
