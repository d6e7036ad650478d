"""What mkdocs asks while it builds the site (mkdocs.yml): its pages, their order, and where links lead.

A warning ends the build with `--strict`, which `make docs` gives.
"""

from __future__ import annotations

import functools
import html
import logging
import posixpath
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pymdownx.slugs import slugify

from tests.quality.site import contents, reference

ROOT = Path(__file__).resolve().parents[3]
LOG = logging.getLogger("mkdocs.hooks.site")
MESSAGES = "docs/messages.md"
LISTS_ALL = "docs/contents.md"
"""The page that has a line for each module and plugin: theirs stand below it."""
_NAMES = re.compile(r"^\| (?P<cell>(?:[a-z]+ )?`[^|]+) \|", re.MULTILINE)


@functools.cache
def galaxy() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8")))


@functools.cache
def clone() -> contents.Clone:
    return contents.Clone(ROOT, contents.pages(ROOT), galaxy()["repository"])


@functools.cache
def plugins() -> tuple[reference.Plugin, ...]:
    try:
        return reference.plugins(ROOT, _collection())
    except subprocess.CalledProcessError as error:
        raise PluginError(f"ansible-doc does not understand the collection: {error.stderr}") from error


@functools.cache
def _sections() -> tuple[contents.Section, ...]:
    try:
        return contents.sections((ROOT / contents.INDEX).read_text(encoding="utf-8"))
    except ValueError as error:
        raise PluginError(str(error)) from error


def _collection() -> str:
    return f"{galaxy()['namespace']}.{galaxy()['name']}"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    # No `repo_url`: with it each page asks the API of GitHub for stars and releases.
    link = {"icon": "fontawesome/brands/git-alt", "link": galaxy()["repository"], "name": _collection()}
    config.extra["social"] = [link]
    # Headings' anchors as GitHub makes them: links to them work in both places.
    config.mdx_configs.setdefault("toc", {})["slugify"] = slugify(case="lower")
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Pages from outside of docs/, modules and plugins; and the order of all."""
    files.remove(files.src_uris[posixpath.basename(contents.INDEX)])
    for path, page in clone().pages.items():
        if page not in files.src_uris:
            files.append(File.generated(config, page, content=(ROOT / path).read_text(encoding="utf-8")))
    links = reference.Links(_collection(), plugins())
    for plugin in plugins():
        files.append(File.generated(config, plugin.page, content=reference.markdown(plugin, _collection(), links)))
    config.nav, missing = contents.navigation(_sections(), clone())
    _add_plugins(config.nav)
    for path in missing:
        LOG.warning("%s stands in no table of %s: give it a line there", path, contents.INDEX)
    return files


def _add_plugins(nav: list[Any]) -> None:
    """Below the page that lists them."""
    groups = dict.fromkeys(reference.KINDS.values())
    made = [{group: [plugin.page for plugin in plugins() if reference.KINDS[plugin.kind] == group]} for group in groups]
    page = clone().pages[LISTS_ALL]
    for section in nav:
        for entries in section.values():
            for entry in entries:
                for children in entry.values() if isinstance(entry, dict) else ():
                    if children[0] == page:
                        children += made
                        return
    raise PluginError(f"{contents.INDEX} does not list {LISTS_ALL}")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    source = next((path for path, found in clone().pages.items() if found == page.file.src_uri), None)
    page.meta["search"] = {"boost": contents.boost(source, _sections())}
    if source is None:
        return markdown
    text = clone().rewritten(markdown, source)
    if source == MESSAGES:
        return _searchable(text)
    return _linked(text) if source == LISTS_ALL else text


def _searchable(text: str) -> str:
    """Below each cause all the words by which it is known, for the search alone: the page shows few of them."""
    sys.path.append(str(ROOT / ".venv" / "collections"))
    from tests.quality import message_page

    known = message_page.list_texts()

    def add(match: re.Match[str]) -> str:
        return f"{match[0]}\n\n<p hidden>{html.escape('; '.join(known[match[1]]))}</p>"

    return message_page.ENDS.sub(add, text)


def _linked(text: str) -> str:
    """The names in the first column become links to their pages; a name without one stays."""
    known = {plugin.name: plugin.page for plugin in plugins()}

    def cell(match: re.Match[str]) -> str:
        def name(code: re.Match[str]) -> str:
            return f"[{code[0]}]({known[code[1]]})" if code[1] in known else code[0]

        return match[0].replace(match["cell"], re.sub(r"`([a-z0-9_]+)`", name, match["cell"]))

    return _NAMES.sub(cell, text)
