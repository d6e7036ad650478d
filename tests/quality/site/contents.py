"""What the site has, in which order: docs/README.md says it. And where a link between files of the clone leads in it.

docs/README.md has a heading for each kind of page, and below it a table whose rows link the pages. Pages in a folder of
their own (docs/rules, roles) are put below the listed page that links to most of them.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

INDEX = "docs/README.md"
ELSEWHERE = {"README.md": "index.md", INDEX: "pages.md", "CONTRIBUTING.md": "contributing.md"}
"""Files with a place of their own -> their page."""
BACKGROUND = "Background"
"""The heading of the index for pages about the project itself."""
_TABLES_OF_MISTAKES = ("docs/bad-inputs.md",)
_TABLES_OF_FINDINGS = ("docs/diagnose.md", "docs/hns-check.md")
_HEADING = re.compile(r"^## (.+)$")
_PAGE = re.compile(r"\[[^\]]+\]\(([^)#]+\.md)\)")
_LINK = re.compile(r"(?<=\]\()(?P<target>[^()\s]+)(?=\))")
_CODE = re.compile(r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)\s*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Section:
    """A heading of the index, and the files that its table links, by their path in the clone."""

    title: str
    files: tuple[str, ...]


def sections(index: str) -> tuple[Section, ...]:
    """Of the index's text. ValueError where a page stands twice."""
    found: list[tuple[str, list[str]]] = []
    seen: set[str] = set()
    for line in index.splitlines():
        if heading := _HEADING.match(line):
            found.append((heading[1], []))
        for target in _PAGE.findall(line) if line.startswith("| ") else ():
            path = resolved(INDEX, target)
            if path in seen:
                raise ValueError(f"{INDEX}: {target} stands twice")
            if not found:
                raise ValueError(f"{INDEX}: {target} stands before the first heading")
            seen.add(path)
            found[-1][1].append(path)
    return tuple(Section(title, tuple(files)) for title, files in found)


def pages(root: Path) -> dict[str, str]:
    """Files of the clone that are pages -> their page. Those of docs/ keep their place."""
    found = dict(ELSEWHERE)
    for path in sorted((root / "docs").rglob("*.md")):
        name = path.relative_to(root).as_posix()
        found.setdefault(name, name.removeprefix("docs/"))
    for path in sorted((root / "roles").glob("*/README.md")):
        found[path.relative_to(root).as_posix()] = f"reference/role-{path.parent.name}.md"
    return found


def boost(source: str | None, found: Iterable[Section]) -> float:
    """How much a hit in a page counts in the search; `found` are the index's sections. The many titles of modules (no
    `source`), rules and checks would hide the pages that answer, as would pages about the project itself and tables of
    all findings or mistakes. The index only repeats titles."""
    if source in ELSEWHERE or source in _TABLES_OF_MISTAKES:
        return 0.1
    background = {file for section in found if section.title == BACKGROUND for file in section.files}
    if source is None or source.startswith(("docs/rules/", "roles/")) or source in background:
        return 0.3
    return 0.5 if source.startswith("docs/troubleshooting/") or source in _TABLES_OF_FINDINGS else 1.0


def resolved(source: str, target: str) -> str:
    """The path in the clone of what a file's relative link leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), target))


def links(text: str) -> Iterator[str]:
    """The relative links of a page, without their fragments."""
    for prose, part in _parts(text):
        for match in _LINK.finditer(part) if prose else ():
            target = match["target"].partition("#")[0]
            if target and not _external(target):
                yield target


def _external(target: str) -> bool:
    return re.match(r"[a-z]+:|/|#", target) is not None


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    """Prose (True) and code in turn. Together they are the text."""
    end = 0
    for code in _CODE.finditer(text):
        yield True, text[end : code.start()]
        yield False, code[0]
        end = code.end()
    yield True, text[end:]


@dataclass(frozen=True)
class Clone:
    """The files, the pages that some of them are, and the address of all others."""

    root: Path
    pages: Mapping[str, str]
    repository: str

    def rewritten(self, text: str, source: str) -> str:
        """A page's text with links that work in the site. One that leads nowhere stays: mkdocs says so."""

        def leads(match: re.Match[str]) -> str:
            target, mark, fragment = match["target"].partition("#")
            if not target or _external(target):
                return match["target"]
            path = resolved(source, target)
            page = self.pages.get(path) or self.pages.get(f"{path}/README.md")
            if page is None and path.startswith("docs/pictures/") and (self.root / path).is_file():
                page = path.removeprefix("docs/")  # mkdocs brings it along
            if page is not None:
                found = os.path.relpath(page, posixpath.dirname(self.pages[source]) or ".")
            elif (self.root / path).exists() and not path.startswith(".."):
                kind = "tree" if (self.root / path).is_dir() else "blob"
                found = f"{self.repository}/{kind}/main/{path}"
            else:
                return match["target"]
            return found + mark + fragment

        return "".join(_LINK.sub(leads, part) if prose else part for prose, part in _parts(text))


def navigation(found: tuple[Section, ...], clone: Clone) -> tuple[list[dict[str, object]], list[str]]:
    """mkdocs' nav, and the files that ought to be in it and are not."""
    listed = {path: set(_children(path, clone)) for section in found for path in section.files if path in clone.pages}
    others = sorted(clone.pages.keys() - listed.keys() - {"README.md", INDEX})
    folders: dict[str, list[str]] = {}
    for path in others:
        folders.setdefault(_folder(path), []).append(path)
    below: dict[str, list[str]] = {path: [] for path in listed}
    missing: list[str] = []
    for folder, files in folders.items():
        parent = max(listed, key=lambda path: len(listed[path] & set(files)), default="")
        for path in files:
            (below[parent] if folder and path in listed.get(parent, ()) else missing).append(path)
    nav: list[dict[str, object]] = [{"winkube.node": ["index.md", {"All pages": "pages.md"}]}]
    for section in found:
        entries: list[object] = []
        for path in section.files:
            # What is not a page stays as it is, and mkdocs says so.
            page = clone.pages.get(path, path)
            more = [clone.pages[child] for child in below.get(path, ())]
            entries.append({title(clone.root / path): [page, *more]} if more else page)
        nav.append({section.title: entries})
    return nav, missing


def _folder(path: str) -> str:
    """What a page lies in beside its own kind: docs/rules, roles; nothing for those in docs/."""
    parts = path.split("/")
    return "/".join(parts[: 2 if parts[0] == "docs" else 1]) if len(parts) > 2 else ""


def _children(path: str, clone: Clone) -> Iterator[str]:
    for target in links((clone.root / path).read_text(encoding="utf-8")):
        child = resolved(path, target)
        yield child if child in clone.pages else f"{child}/README.md"


def title(path: Path) -> str:
    """A page's first heading."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            return line[2:].strip()
    raise ValueError(f"{path}: has no heading")
