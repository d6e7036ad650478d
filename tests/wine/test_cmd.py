"""Lane `wine`: cmd.exe reads commands of HostProcess containers as tests/unit/lint/host_process_lines.py says.

Wine hands words to a program as hcsshim's escapeArgs does: quoted only for blanks, with backslashes before quotes. What
it proves is how a line is taken apart, by the rules of `cmd /?`, which Wine's cmd.exe has rewritten: not its words, nor
its exit codes, and not what Windows does with a line that these rules say nothing of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine import command_line

from tests.unit.lint.host_process_lines import MEANT, RIGHT, WRONG
from tests.wine.prefix import Prefix

pytestmark = pytest.mark.lane("wine")
CMD = r"C:\windows\system32\cmd.exe"
FOLDERS = ("C:\\t", r"C:\Program Files", r"C:\Program Files (x86)", r"C:\R&D files")


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prefix]:
    with Prefix(tmp_path_factory.mktemp("wine") / "prefix") as made:
        for folder in FOLDERS:
            made.path(folder).mkdir(parents=True, exist_ok=True)
            (made.path(folder) / "show.cmd").write_bytes(b"@echo RAN [%*]\r\n")
        yield made


def said(prefix: Prefix, words: Sequence[str]) -> str:
    return prefix.run(CMD, ["/c", *words]).stdout.decode(errors="replace")


def seen(prefix: Prefix, words: Sequence[str]) -> list[list[str]]:
    """The arguments of each start of show.cmd."""
    lines = (line.strip() for line in said(prefix, words).splitlines())
    return [command_line.split(f"show {line[5:-1]}")[1:] for line in lines if line.startswith("RAN [")]


def test_what_is_right_reaches_the_program(prefix: Prefix) -> None:
    for words in RIGHT:
        arguments = list(words[words.index(next(each for each in words if "show" in each)) + 1 :])
        assert seen(prefix, words) == [arguments], words


def test_a_line_that_is_meant_for_it_is_read_by_it(prefix: Prefix) -> None:
    for words, text in MEANT:
        assert text in said(prefix, words), words


def test_what_is_wrong_does_not_reach_the_program(prefix: Prefix) -> None:
    for words in WRONG:
        assert seen(prefix, words) != [list(words[1:])], words
