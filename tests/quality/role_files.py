"""The files of a role that only repeat the table of its component's options."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.components.declaration import Component
from ansible_collections.winkube.node.plugins.plugin_utils.components.options import (
    Given,
    Option,
    Variable,
    role_variables,
)
from ansible_collections.winkube.node.plugins.plugin_utils.components.shared_options import arguments

WIDTH = 130
LONGEST = 110
META = """\
---
galaxy_info:
  author: The winkube.node authors
  description: {summary}.
  license: GPL-3.0-or-later
  min_ansible_version: "2.19"
  standalone: false
dependencies:
  - role: winkube.node.winkube
"""
GENERATED = "# Generated from plugins/plugin_utils/components/"
"""Begins the defaults of a role that a component declares."""
SPECIFICATION = """\
---
# Generated from {source}: run `make generate` after a change there.
argument_specs:
  main:
    short_description: {summary}
    description:
      - One task, C(winkube.node.{module}). The shared variables of the role C(winkube.node.winkube) say where things
        are and what the cluster is like.
      - Notifies the handlers that C(winkube_notify) names when something has changed.
    author: The winkube.node authors (@winkube)
    version_added: 0.1.0
    options:
"""


def options_of(component: Component) -> tuple[Option, ...]:
    """The table of a component's options: the one place where generation reads it."""
    return component.interface.rows


def files(component: Component, source: str) -> dict[str, str]:
    """The role's files by their path in its folder; `source` is the file that the table stands in."""
    words = {"summary": component.interface.summary, "module": component.module, "source": source}
    given = role_variables(options_of(component))
    generated = f"---\n# Generated from {source}: run `make generate` after a change there.\n"
    return {
        "defaults/main.yml": generated + "".join(_default(each) for each in given),
        "tasks/main.yml": generated + "".join(_task(component)),
        "meta/main.yml": META.format(**words),
        "meta/argument_specs.yml": SPECIFICATION.format(**words) + "".join(_specified(given)),
    }


def places(options: tuple[Option, ...]) -> tuple[list[str], list[str], list[str]]:
    """Where things are on a node: in the defaults and the specification of the role winkube, and as suboptions of
    `node`."""
    given = role_variables(options)
    template = "{{ {\n" + "".join(
        f"    '{option.name}': {found.name if isinstance(found := option.variable, Variable) else found},\n"
        for option in options
    )
    node = f"winkube_node: >-\n  {template}  }} }}}}\n"
    told = "All of it in one dict, passed to every module: the first one reads the node for all."
    defaults = "".join((*(_default(each) for each in given), f"# {told}\n{node}"))
    indented = node.replace("winkube_node:", "default:").replace("\n", "\n" + " " * 8).rstrip(" ")
    specified = "".join(
        (
            *_specified(given),
            "      winkube_node:\n",
            "        description: All of these places as the modules take them, a dict made of the variables above; "
            "leave it alone.\n",
            f"        type: raw\n        {indented}",
        )
    )
    suboptions = "".join(
        "".join((f"{option.name}:\n", *_option(option, str(option.description), option.default, 2)))
        for option in options
    )
    return defaults.splitlines(), textwrap.dedent(specified).splitlines(), suboptions.splitlines()


def table(component: Component) -> list[str]:
    """The variables as the README has them, and what holds for each role."""
    rows = ["| variable | default | |", "|---|---|---|"]
    for each in role_variables(options_of(component)):
        rows.append(f"| `{each.variable.name}` | {_shown(each)} | {markdown(each.text)} |")
    shared = (
        "The [shared variables](../winkube/README.md) apply too; `winkube_notify` names handlers to notify of a change."
    )
    return [*rows, "", f"{shared} A second run changes nothing. Module: `winkube.node.{component.module}`.", ""]


def table_of(specification: str) -> list[str]:
    """The same of a role without a component, from its specification; long expressions stand only in the defaults."""
    (entry,) = yaml.safe_load(specification)["argument_specs"].values()
    rows = ["| variable | default | |", "|---|---|---|"]
    for name, option in entry["options"].items():
        default = option.get("default", "")
        value = default if isinstance(default, str) else json.dumps(default)
        shown = "empty" if not value else f"`{value}`" if len(value) < LONGEST else "built from others"
        rows.append(f"| `{name}` | {cell(shown)} | {markdown(joined(option['description']))} |")
    return rows


def _task(component: Component) -> Iterator[str]:
    yield f"- name: {component.interface.task}\n  winkube.node.{component.module}:\n"
    yield from _block(arguments(component.interface), 4)
    yield '  notify: "{{ winkube_notify }}"\n'


def _block(found: dict[str, Any], indent: int) -> Iterator[str]:
    """Nested mappings of values as YAML."""
    blank = " " * indent
    for name, value in found.items():
        if isinstance(value, dict) and value:
            yield f"{blank}{name}:\n"
            yield from _block(value, indent + 2)
        else:
            yield f"{blank}{name}: {_value(value, indent)}\n"


def _default(given: Given) -> str:
    comment = textwrap.wrap(_plain(given.text), WIDTH, break_long_words=False, break_on_hyphens=False)
    return "".join((*(f"# {line}\n" for line in comment), *_block({given.variable.name: given.default}, 0)))


def _specified(given: tuple[Given, ...]) -> Iterator[str]:
    for each in given:
        yield f"      {each.variable.name}:\n"
        yield from _option(each.option, each.text, each.default, 8)


def _option(option: Option, text: str, default: Any, indent: int) -> Iterator[str]:
    blank = " " * indent
    if len(text) < 90:
        yield f"{blank}description: {_value(text)}\n"
    else:
        yield f"{blank}description:\n"
        for sentence in re.split(r"(?<=[.)]\.) |(?<=[a-z]\.) (?=[A-Z])", text):
            lines = textwrap.wrap(sentence, WIDTH - indent, break_long_words=False, break_on_hyphens=False)
            if len(lines) == 1:
                yield f"{blank}  - {_value(sentence)}\n"
            else:
                yield "".join((f"{blank}  - >-\n", *(f"{blank}    {line}\n" for line in lines)))
    yield f"{blank}type: {option.type}\n"
    if option.elements:
        yield f"{blank}elements: {option.elements}\n"
    if option.choices:
        yield f"{blank}choices: [{', '.join(option.choices)}]\n"
    yield from _block({"default": default}, indent)
    if option.options and option.type == "dict":
        yield f"{blank}options:\n"
        for one in option.options:
            text = one.description if isinstance(one.description, str) else " ".join(one.description)
            yield f"{blank}  {one.name}:\n"
            yield from _option(one, text.removeprefix("Secret. "), one.default, indent + 4)


_UNQUOTED = r"[A-Za-z]([\w ,;./()'=-]*[\w.)])?|\d+\.\d+\.\d+|[A-Z]:\\[\w\\.-]+"
_WORDS = ("true", "false", "yes", "no", "on", "off", "null")


def _value(value: Any, indent: int = 0) -> str:
    if isinstance(value, str) and "{{" in value:
        return _template(value, indent)
    if isinstance(value, str) and re.fullmatch(
        r"[A-Za-z]([\w ,./()'=-]*[\w.)])?|\d+\.\d+\.\d+|[A-Z]:\\[\w\\.-]+", value
    ):
        return json.dumps(value) if value.lower() in ("true", "false", "yes", "no", "on", "off", "null") else value
    return json.dumps(value)


def _template(value: str, indent: int) -> str:
    """A template as a YAML value: folded where it does not fit into a line, at blanks between braces alone."""
    if len(value) + indent < 110 and '"' not in value:
        return '"' + value.replace("\\", "\\\\") + '"'
    lines = [""]
    for piece in re.split(r" (?=[^{}]*}})(?=(?:[^']*'[^']*')*[^']*$)", value):
        if lines[-1] and len(lines[-1]) + len(piece) > WIDTH - indent:
            lines.append("")
        lines[-1] += f" {piece}" if lines[-1] else piece
    return "".join((">-", *(f"\n{' ' * (indent + 2)}{line}" for line in lines)))


def _shown(given: Given) -> str:
    default = given.default
    if given.variable.shown:
        return markdown(given.variable.shown)
    if isinstance(default, dict) and given.option.options:
        name, value = next(iter(default.items()))
        return f"`{name}: {_value(value)}`"
    if isinstance(default, dict) and default:
        return f"`{', '.join(f'{name}: {_value(value)}' for name, value in default.items())}`"
    return "empty" if default == "" else f"`{_value(default)}`"


_MARKUP = r"\b[A-Z]\(((?:[^()]|\([^()]*\))*)\)"


def _plain(text: str) -> str:
    """A description without Ansible's markup."""
    return re.sub(_MARKUP, r"\1", text)


def joined(description: str | Sequence[str]) -> str:
    """A description as Ansible has it, one paragraph or several, as one text."""
    return description if isinstance(description, str) else " ".join(description)


def cell(text: str) -> str:
    """A text for a cell of a table."""
    return text.replace("|", r"\|")


def markdown(text: str) -> str:
    """A description in Markdown, for a cell of a table."""
    return cell(re.sub(_MARKUP, r"`\1`", text))
