"""The documentation and the code say the same: links, names, commands, variables, and what errors.md explains."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.node_yaml.variables import rows

from tests.unit.docs.sentences import (
    Sentence,
    literals,
    pattern,
    quotations,
    raised,
    returned,
    single_blanks,
    thrown,
)

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
PLUGINS = ROOT / "plugins"
UTILS = PLUGINS / "plugin_utils"
README = ROOT / "README.md"
CONTENTS = ROOT / "docs" / "contents.md"
ERRORS = ROOT / "docs" / "errors.md"
# Other people's manual, whose commands are checked where it is written.
PAGES = [
    path
    for path in (
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs" / "troubleshooting").glob("*.md"),
        *(ROOT / "roles").glob("*/README.md"),
    )
    if path.name != "CHANGELOG.md"
]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_VARIABLE = re.compile(r"\bwinkube_[a-z0-9_]+\b")
# Names in documents that begin like a variable and are none of a role: groups of the inventory (the start of their
# names), what the inventory says about a host, the fact of the reading, and what playbooks take.
GROUPS = (
    "winkube_ssh",
    "winkube_winrm",
    "winkube_psrp",
    "winkube_mode_",
    "winkube_provisioner_",
    "winkube_kubernetes_",
    "winkube_os_",
)
HOST = {"winkube_node_name", "winkube_node_source", "winkube_node_dir"}
FACT = {"winkube_reading", "winkube_record"}


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def label(path: Path) -> str:
    return str(path.relative_to(ROOT))


def prose(path: Path) -> str:
    """The page without its blocks of code."""
    return _FENCE.sub("", text_of(path))


# -- tables ------------------------------------------------------------------------------------------------------


def torn_tables(text: str) -> list[str]:
    """Rows that no head stands above: Markdown shows them as text."""
    lines = text.splitlines()
    return [
        row
        for above, row, below in zip(["", *lines], lines, [*lines[1:], ""], strict=False)
        if row.startswith("|") and not above.startswith("|") and not re.match(r"\|[ :|-]+\|$", below)
    ]


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_every_row_of_a_table_stands_below_its_head(page: Path) -> None:
    assert torn_tables(prose(page)) == []


def test_a_blank_line_tears_a_table() -> None:
    assert torn_tables("| a | b |\n|---|---|\n| 1 | 2 |") == []
    assert torn_tables("| a | b |\n|---|---|\n\n| 1 | 2 |") == ["| 1 | 2 |"]


# -- links -------------------------------------------------------------------------------------------------------


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.+)$", prose(path), re.MULTILINE)
    plain = (re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in plain}


def broken_links(path: Path) -> Iterator[str]:
    spoken = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", prose(path))  # a pattern of a message is no link
    for target in re.findall(r"\]\(([^)\s]+)\)", spoken):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        page = (path.parent / name).resolve() if name else path
        if not page.exists():
            yield f"{target}: there is no such file"
        elif anchor and page.suffix == ".md" and anchor not in anchors(page):
            yield f"{target}: the page has no such heading; it has {', '.join(sorted(anchors(page)))}"


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_links_lead_somewhere(page: Path) -> None:
    assert list(broken_links(page)) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("# One `two`\n[x](b.md) [y](#one-two) [z](#three) [w](https://example.com/none) `[v](c.md)`\n")
    assert [link.partition(":")[0] for link in broken_links(page)] == ["b.md", "#three"]


def test_every_page_is_in_the_index() -> None:
    index = text_of(ROOT / "docs" / "README.md")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert {name for name in pages if f"({name})" not in index} == set()


# -- names -------------------------------------------------------------------------------------------------------


def names_of_contents() -> Iterator[str]:
    for folder in ("modules", "inventory", "connection", "callback", "filter", "lookup", "test"):
        names = {path.stem for path in (PLUGINS / folder).glob("*") if path.suffix in {".py", ".ps1"}}
        yield from sorted(names - {"__init__"})
    yield from sorted(path.name for path in (ROOT / "roles").iterdir() if path.is_dir())
    yield from sorted(f"winkube.node.{path.stem}" for path in (ROOT / "playbooks").glob("*.yml"))


@pytest.mark.parametrize("name", list(names_of_contents()))
def test_the_page_of_contents_names_everything(name: str) -> None:
    assert name in _CODE.findall(text_of(CONTENTS))


def test_the_page_of_contents_names_nothing_that_is_not_there() -> None:
    table = text_of(CONTENTS).partition("## Contents")[2].partition("\n## ")[0]
    first_cells = re.findall(r"^\|([^|]+)\|", table, re.MULTILINE)
    named = {name for cell in first_cells for name in _CODE.findall(cell)}
    assert named == set(names_of_contents())


# -- commands ----------------------------------------------------------------------------------------------------


def commands(path: Path) -> Iterator[str]:
    """Each line of a console block that begins with a prompt, and each piece of code in the prose."""
    for language, block in _FENCE.findall(text_of(path)):
        if language in {"console", "bash"}:
            yield from (line[2:] for line in block.splitlines() if line.startswith("$ "))
    yield from _CODE.findall(prose(path))


def named_by_commands(pattern: str) -> set[tuple[str, str]]:
    """(page, what the pattern's group found) over all pages."""
    return {
        (label(page), found) for page in PAGES for command in commands(page) for found in re.findall(pattern, command)
    }


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    named = named_by_commands(r"^make ([a-z-]+)")
    assert named, "the documentation names make targets"
    assert {entry for entry in named if entry[1] not in targets} == set()


def test_playbooks_exist() -> None:
    named = named_by_commands(r"(?:^|\s)(winkube\.node\.[a-z]+|(?:playbooks/)?[a-z]+\.yml)(?=\s|$)")
    books = {f"winkube.node.{path.stem}" for path in (ROOT / "playbooks").glob("*.yml")}
    books |= {f"playbooks/{path.name}" for path in (ROOT / "playbooks").glob("*.yml")} | {"site.yml"}
    run = {entry for entry in named if entry[1].startswith(("winkube.node.", "playbooks/"))}
    roles = {f"winkube.node.{path.name}" for path in (ROOT / "roles").iterdir()}
    plugins = {f"winkube.node.{name}" for name in names_of_contents()}
    plugins |= {f"winkube.node.{path.stem}" for path in (PLUGINS / "doc_fragments").glob("*.py")}
    assert run, "the documentation names playbooks"
    assert {entry for entry in run if entry[1] not in books | roles | plugins} == set()


def test_lab_commands_exist() -> None:
    known = set(re.findall(r'\bcommand\("([a-z-]+)"', text_of(ROOT / "tests/lab/server/cli.py"))) | {"connect"}
    named = named_by_commands(r"python -m tests\.lab ([a-z-]+)")
    assert named, "the documentation names commands of the lab"
    assert {entry for entry in named if entry[1] not in known} == set()


# -- variables ---------------------------------------------------------------------------------------------------


def variables_of_roles() -> set[str]:
    found: set[str] = set()
    for path in (ROOT / "roles").glob("*/defaults/main.yml"):
        found |= set(yaml.safe_load(text_of(path)) or {})
    return found


MISSPELT = {"winkube_adapter", "winkube_kublet_verbosity"}
"""On the page about wrong inputs."""


def variables_of_playbooks() -> set[str]:
    return {name for path in (ROOT / "playbooks").rglob("*.yml") for name in _VARIABLE.findall(text_of(path))}


@cache
def known_variables() -> set[str]:
    inventory = {row.variable for row in rows()}
    connection = set(_VARIABLE.findall(text_of(PLUGINS / "connection" / "host_process.py")))
    return variables_of_roles() | variables_of_playbooks() | inventory | connection | HOST | FACT


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_variables_exist(page: Path) -> None:
    misspelt = MISSPELT if page.name == "bad-inputs.md" else set()
    named = {name for name in _VARIABLE.findall(text_of(page)) if not name.startswith(GROUPS) or name in HOST}
    assert named - known_variables() == misspelt


# -- sentences ---------------------------------------------------------------------------------------------------


@cache
def python_sentences() -> list[Sentence]:
    """What is said of a node that was asked or changed, where the user's input is not the cause. What is refused
    (`Refused`) names the option and what to do."""
    files = [*sorted(UTILS.rglob("*.py")), *sorted((PLUGINS / "action").glob("*.py"))]
    found = [sentence for path in files for sentence in raised(path, ROOT, frozenset({"NodeError", "OutcomeUnknown"}))]
    return found + returned(UTILS / "node" / "verdict.py", ROOT)


@cache
def powershell_sentences() -> list[Sentence]:
    """What a node throws while it works; those about the batch's own form are defects, which are to be reported."""
    return [sentence for path in sorted((ROOT / "powershell").rglob("*.ps1")) for sentence in thrown(path, ROOT)]


@pytest.mark.parametrize("find", [python_sentences, powershell_sentences])
def test_the_errors_page_explains_every_sentence_without_a_remedy(find: Callable[[], list[Sentence]]) -> None:
    quoted = quotations(text_of(ERRORS))
    bare = [each for each in find() if not each.explains_itself]
    assert len(bare) > 5
    missing = [f"{each.file}:{each.line}: {each.text}" for each in bare if not each.is_among(quoted)]
    assert "\n".join(missing) == "", "sentences that say no remedy, and that docs/errors.md does not explain"


def said_by_the_code() -> list[str]:
    texts = [literals(path) for path in sorted(PLUGINS.rglob("*.py"))]
    texts += [single_lines(path) for path in sorted((ROOT / "powershell").rglob("*.ps1"))]
    return "\n".join(texts).splitlines()


def is_said(quotation: str, lines: list[str]) -> bool:
    """Whether a line has the words; only lines with the longest piece are matched, which takes a tenth of the time."""
    longest = max(re.split("<[^<>]*>", quotation), key=len)
    return any(re.search(pattern(quotation), line) for line in lines if longest in line)


def single_lines(path: Path) -> str:
    return "\n".join(single_blanks(line) for line in text_of(path).splitlines())


def test_the_errors_page_quotes_only_what_the_code_says() -> None:
    said = said_by_the_code()
    quoted = quotations(text_of(ERRORS))
    assert len(quoted) > 100
    assert "\n".join(each for each in quoted if not is_said(each, said)) == ""
    assert not is_said("<name>: the folder is on the moon", said)


def test_the_errors_page_quotes_enough_words_to_know_a_sentence_by() -> None:
    every = python_sentences() + powershell_sentences()
    for quoted in quotations(text_of(ERRORS)):
        assert len(re.findall("[A-Za-z]{2,}", re.sub("<[^<>]*>", "", quoted))) > 1, quoted
        assert sum(each.is_among([quoted]) for each in every) <= 5, quoted


@pytest.mark.parametrize(
    ("file", "at_least", "head"),
    [
        ("node/verdict.py", 7, "an earlier change could not be rolled back (<..>)"),
        ("node/restart.py", 2, "The machine was told to restart, but did not come back within <..> s"),
        ("node/link.py", 4, "The node did not answer for <..> s"),
    ],
)
def test_the_sentences_of_a_file_are_found(file: str, at_least: int, head: str) -> None:
    """The comparison above is worth what this finds."""
    found = [each for each in python_sentences() if each.file.endswith(file)]
    assert len(found) >= at_least
    assert any(each.text.startswith(head) for each in found)


def test_the_sentences_of_the_scripts_are_found() -> None:
    said = {each.text for each in powershell_sentences()}
    assert "The session is not elevated; log in as a member of Administrators with full rights." in said
    assert len(said) > 60


def test_a_sentence_that_is_worded_otherwise_is_missing(tmp_path: Path) -> None:
    code = tmp_path / "a.py"
    code.write_text('raise Refused(f"{path} should be a folder, but is {what}.")\n')
    (sentence,) = raised(code, tmp_path, {"Refused"})
    assert sentence.is_among(["should be a folder, but is"])
    assert sentence.is_among(["<path> should be a <kind>, but is <kind>."])
    assert not sentence.is_among(["should be a file, but is"])


def test_quotations_are_the_first_column_of_the_tables_of_errors() -> None:
    table = "| error | do |\n|---|---|\n| `a <b>`, `c` | `d` |\n"
    assert quotations(f"| said | do |\n|---|---|\n| `e` | f |\n\n{table}\n`g`\n") == ["a <b>", "c"]


@pytest.mark.parametrize(
    ("text", "itself"),
    [
        ("<..> is a folder. Remove it or choose another path.", True),
        ("The environment names <..> and <..>, which are one variable on Windows: name it once.", True),
        ("<..> has changed: is a build still writing it?", True),
        ("The service hns is <..>, and a reading does not start it.", False),
        ("<..> did not set the address that it was given.", False),
        ("The runner looks the same, or takes longer.", False),
    ],
)
def test_what_counts_as_a_remedy_is_an_imperative(text: str, itself: bool) -> None:
    assert Sentence("a.py", 1, text).explains_itself is itself
