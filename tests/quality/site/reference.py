"""Pages of modules and plugins, made from what ansible-doc says of them.

Tables are HTML: descriptions are of several paragraphs, and Markdown's tables have one line in a cell.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal

import yaml
from antsibull_docs_parser.dom import PluginIdentifier
from antsibull_docs_parser.format import LinkProvider
from antsibull_docs_parser.html import to_html_plain
from antsibull_docs_parser.parser import Context, parse

KINDS = {"module": "Modules", "inventory": "Plugins", "callback": "Plugins", "filter": "Plugins"}
"""What has pages here, and the heading they are listed under. Roles have their README."""
OTHERS = "https://docs.ansible.com/projects/ansible/latest/collections/{}/{}/{}_{}.html"
"""Where other collections' modules and plugins are: namespace, name, plugin, kind."""


@dataclass(frozen=True)
class Plugin:
    """One module or plugin. name: without the collection's; documented: ansible-doc's doc, examples, return."""

    kind: str
    name: str
    documented: Mapping[str, Any]

    @property
    def page(self) -> str:
        """Its page in the site; those of all kinds lie in one folder."""
        return f"reference/{self.kind}-{self.name}.md"


def plugins(root: Path, collection: str) -> tuple[Plugin, ...]:
    """All of them, by kind and name. CalledProcessError with ansible-doc's words where it does not understand one."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    done = subprocess.run(
        [Path(sys.prefix) / "bin" / "ansible-doc", "--metadata-dump", collection],
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, "ansible-doc", done.stdout, done.stderr)
    said = json.loads(done.stdout)["all"]
    return tuple(
        Plugin(kind, name.removeprefix(f"{collection}."), found)
        for kind in KINDS
        for name, found in sorted(said[kind].items())
    )


class Links(LinkProvider):
    """Links from one page of the folder to another one, and to other collections' at docs.ansible.com."""

    def __init__(self, collection: str, known: Sequence[Plugin]) -> None:
        self._collection = collection
        self._known = {(plugin.kind, plugin.name) for plugin in known}

    def plugin_link(self, plugin: PluginIdentifier) -> str | None:
        collection, _, name = plugin.fqcn.rpartition(".")
        if collection == self._collection:
            known = (plugin.type, name) in self._known
            return f"{plugin.type}-{name}.html" if known else None
        return OTHERS.format(*collection.partition(".")[::2], name, plugin.type)

    def plugin_option_like_link(
        self,
        plugin: PluginIdentifier,
        entrypoint: str | None,
        what: Literal["option"] | Literal["retval"],
        name: list[str],
        current_plugin: bool,
    ) -> str | None:
        page = "" if current_plugin else self.plugin_link(plugin)
        if page is None or plugin.type == "role" or not plugin.fqcn.startswith(f"{self._collection}."):
            return None
        return f"{page}#{_anchor(what, '.'.join(name))}"


def _anchor(what: str, name: str) -> str:
    return f"{what}-{name}"


def markdown(plugin: Plugin, collection: str, links: Links) -> str:
    """Its page. ValueError where the markup of a description is wrong."""
    page = _Page(PluginIdentifier(f"{collection}.{plugin.name}", plugin.kind), links)
    return "\n\n".join(page.parts(plugin.documented)) + "\n"


@dataclass(frozen=True)
class _Page:
    identifier: PluginIdentifier
    links: Links

    def parts(self, documented: Mapping[str, Any]) -> Iterator[str]:
        doc = documented["doc"]
        yield f"# {self.identifier.fqcn.rpartition('.')[2]}"
        yield f"<p><strong>{self.html(doc['short_description'])}</strong></p>"
        yield f"`{self.identifier.fqcn}`, {self.identifier.type}"
        yield self.paragraphs(doc["description"])
        if doc.get("requirements"):
            yield "## Requirements"
            yield self.bullets(doc["requirements"])
        if doc.get("options"):
            yield "## Options"
            yield _table(("option", "type", "what it is"), self.options(doc["options"], ()))
        if doc.get("attributes"):
            yield "## Attributes"
            yield _table(("attribute", "support", "what it means"), self.attributes(doc["attributes"]))
        if doc.get("notes"):
            yield "## Notes"
            yield self.bullets(doc["notes"])
        if doc.get("seealso"):
            yield "## See also"
            yield self.bullets([_see(one) for one in doc["seealso"]])
        if documented.get("examples"):
            yield "## Examples"
            yield f"```yaml\n{documented['examples'].strip()}\n```"
        if documented.get("return"):
            yield "## Return values"
            yield _table(("key", "type", "what it is"), self.returned(documented["return"], ()))

    def html(self, text: str | Sequence[str]) -> str:
        """Ansible's markup as HTML without paragraphs around it."""
        found = parse(text, Context(current_plugin=self.identifier), errors="exception", strict=True)
        return to_html_plain(
            found,
            link_provider=self.links,
            par_start="",
            par_end="",
            par_sep="<br><br>",
            current_plugin=self.identifier,
        )

    def paragraphs(self, text: str | Sequence[str]) -> str:
        return "\n\n".join(f"<p>{self.html(one)}</p>" for one in _list(text))

    def bullets(self, texts: Sequence[str]) -> str:
        return "<ul>" + "".join(f"<li>{self.html(text)}</li>" for text in _list(texts)) + "</ul>"

    def options(self, options: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
        """Rows; a suboption's name has those above it before it."""
        for name, option in options.items():
            path = (*above, name)
            more = []
            if option.get("choices"):
                more.append("Choices: " + _values(option["choices"]))
            if "default" in option:
                more.append("Default: " + _values([option["default"]]))
            if option.get("aliases"):
                more.append("Other names: " + _values(option["aliases"]))
            described = "<br><br>".join([self.html(option["description"]), *more])
            yield _named("option", path), _type(option), described
            yield from self.options(option.get("suboptions") or {}, path)

    def attributes(self, attributes: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
        for name, attribute in attributes.items():
            support = str(attribute.get("support") or attribute.get("platforms") or "")
            text = [*_list(attribute["description"]), *_list(attribute.get("details") or [])]
            yield f"<code>{escape(name)}</code>", escape(support), self.html(text)

    def returned(self, values: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
        """Rows; a key of a dictionary has those above it before it."""
        for name, value in values.items():
            path = (*above, name)
            described = self.html(value["description"])
            if value.get("returned"):
                described += f"<br><br>Returned: {self.html(value['returned'])}"
            if value.get("sample") is not None:
                described += f"<pre><code>{escape(_shown(value['sample']))}</code></pre>"
            yield _named("retval", path), _type(value), described
            yield from self.returned(value.get("contains") or {}, path)


def _see(one: Mapping[str, Any]) -> str:
    """An entry of seealso in Ansible's markup."""
    text = " ".join(_list(one.get("description") or []))
    if "module" in one:
        subject = f"M({one['module']})"
    elif "plugin" in one:
        subject = f"P({one['plugin']}#{one['plugin_type']})"
    else:
        subject = f"L({one['name']},{one['link']})"
    return f"{subject}: {text}" if text else subject


def _list(text: str | Sequence[str]) -> list[str]:
    return [text] if isinstance(text, str) else list(text)


def _values(values: Any) -> str:
    return ", ".join(f"<code>{escape(_shown(value))}</code>" for value in values)


def _shown(value: Any) -> str:
    """As it is written in a playbook."""
    if isinstance(value, str):
        return value or '""'
    return yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=100).removesuffix("\n...\n").strip()


def _type(option: Mapping[str, Any]) -> str:
    kind = str(option.get("type") or "str")
    if option.get("elements"):
        kind += f" of {option['elements']}"
    return escape(kind) + ("<br><strong>required</strong>" if option.get("required") else "")


def _named(what: str, path: Sequence[str]) -> str:
    """A name that links lead to."""
    name = ".".join(path)
    return f'<code id="{escape(_anchor(what, name))}">{escape(name)}</code>'


def _table(heads: Sequence[str], rows: Iterator[tuple[str, str, str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"

    body = "\n".join(line(row, "td") for row in rows)
    return f"<table>\n<thead>{line(heads, 'th')}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"
