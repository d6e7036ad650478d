"""Writes what only repeats the declaration of a component that is one program and its service: `make generate`.

For each of them the files of its role (all but README.md, in which the table of variables is its own), and the lines
that name it in meta/runtime.yml, playbooks/bundle.yml and README.md. test_generated.py compares.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

if __name__ == "__main__":  # pytest makes the clone importable as the collection; nobody else has done it yet
    from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionFinder

    _AnsibleCollectionFinder(paths=[str(ROOT / ".venv" / "collections")])._install()

from ansible_collections.winkube.node.plugins.plugin_utils.components.program_service import ProgramService
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import PROGRAM_SERVICES

DEFAULTS = """\
---
# Generated from plugins/plugin_utils/components/programs/{role}.py: run `make generate` after a change there.
# The release of {name}.
winkube_{role}_version: {version}
# A release archive or the program; http, https, or file:///C:/ on the node.{published}
winkube_{role}_url: {url}
# sha256:<64 hex digits>, or the https address of a sum file.
winkube_{role}_checksum: {sums}
{options}# manager: {managers}.
winkube_{role}_service:
  manager: {manager}
  start_timeout: {start}
  stop_timeout: {stop}
"""
TASKS = """\
---
# Generated from plugins/plugin_utils/components/programs/{role}.py: run `make generate` after a change there.
- name: Install {name} {{{{ winkube_{role}_version }}}}
  winkube.node.{module}:
    version: "{{{{ winkube_{role}_version }}}}"
    source:
      url: "{{{{ winkube_{role}_url }}}}"
      checksum: "{{{{ winkube_{role}_checksum }}}}"
      proxy: "{{{{ winkube_http_proxy }}}}"
    nssm_source:
      url: "{{{{ winkube_nssm_url }}}}"
      checksum: "{{{{ winkube_nssm_checksum }}}}"
    log:
      max_mb: "{{{{ winkube_log_max_mb }}}}"
      keep_days: "{{{{ winkube_log_keep_days }}}}"
    allow_unverified: "{{{{ winkube_allow_unverified }}}}"
{options}{port}    service: "{{{{ winkube_{role}_service }}}}"
    drain: "{{{{ winkube_node_drain }}}}"
    node: "{{{{ winkube_node }}}}"
    reading_max_age: "{{{{ winkube_reading_max_age }}}}"
    runner: "{{{{ winkube_runner }}}}"
    reconnect_timeout: "{{{{ winkube_reconnect_timeout }}}}"
    answer_timeout: "{{{{ winkube_answer_timeout }}}}"
  notify: winkube {name} changed
"""
PORT = """\
    interface_name: "{{ winkube_interface_name }}"
    management_ip: "{{ winkube_management_ip }}"
    cluster_cidr: "{{ winkube_cluster_cidr }}"
    cluster: "{{ winkube_cluster }}"
    firewall:
      enabled: "{{ winkube_firewall }}"
      sources: "{{ winkube_firewall_sources }}"
"""
HANDLERS = """\
---
# Something has to listen to the topic; your own handlers can listen to it as well. No meta task, since it inherits the
# `when` of whoever imports the role.
- name: Note that {name} has changed
  ansible.builtin.debug:
    msg: changed
    verbosity: 1
  listen: winkube {name} changed
"""
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
SPECS = """\
---
# Generated from plugins/plugin_utils/components/programs/{role}.py: run `make generate` after a change there.
argument_specs:
  main:
    short_description: {summary}
    description:
      - One task, C(winkube.node.{module}). The shared variables of C(winkube.node.winkube) say where things are.
      - Notifies the topic C(winkube {name} changed).
    author: The winkube.node authors (@winkube)
    version_added: 0.1.0
    options:
"""


ONLY_WHERE = "only where `winkube_optional_components` names it"


def _lines(options: dict[str, Any], indent: int) -> Iterator[str]:
    """Options of a specification as YAML, in their order."""
    blank = " " * indent
    for name, option in options.items():
        yield f"{blank}{name}:\n"
        for key, value in option.items():
            if key == "options":
                yield f"{blank}  options:\n"
                yield from _lines(value, indent + 4)
            elif isinstance(value, dict):
                yield f"{blank}  {key}:\n"
                yield from (f"{blank}    {inner}: {_value(each)}\n" for inner, each in value.items())
            elif key == "description" and len(value) > 90:
                yield f"{blank}  description:\n"
                yield from (f"{blank}    - {_value(each)}\n" for each in re.split(r"(?<=\.) ", value))
            elif isinstance(value, str) and "{{" in value:
                yield f"{blank}  {key}: {_template(value, indent + 2)}\n"
            else:
                yield f"{blank}  {key}: {_value(value)}\n"


def _value(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z][\w ,./()-]*|\d+\.\d+\.\d+", value):
        return value
    return json.dumps(value)


def _template(value: str, indent: int = 0) -> str:
    """A template as a YAML value: folded where it does not fit into a line, at blanks between braces alone."""
    if len(value) < 90 and '"' not in value:
        return f'"{value}"'
    blank = " " * (indent + 2)
    lines = [""]
    for piece in re.split(r" (?=[^{}]*}})(?=(?:[^']*'[^']*')*[^']*$)", value):
        if lines[-1] and len(lines[-1]) + len(piece) > 100:
            lines.append("")
        lines[-1] += f" {piece}" if lines[-1] else piece
    return "".join((">-", *(f"\n{blank}{line}" for line in lines)))


def _specification(made: ProgramService) -> dict[str, Any]:
    component, recipe, managers = made.component, made.recipe, list(made.daemon.kind.managers)
    prefix = f"winkube_{component.role}_"
    service = {
        "manager": managers[0],
        "start_timeout": recipe.start_timeout_s,
        "stop_timeout": recipe.stop_timeout_s,
    }
    seconds = {"start_timeout": "Seconds in which it has to work.", "stop_timeout": "Seconds in which it has to stop."}
    return {
        f"{prefix}version": {
            "description": f"The release of {component.name}.",
            "type": "str",
            "default": recipe.version,
        },
        f"{prefix}url": {
            "description": f"A release archive or the program. {recipe.no_url.partition(';')[0]}".rstrip(". ") + ".",
            "type": "str",
            "default": recipe.url,
        },
        f"{prefix}checksum": {
            "description": "V(sha256:) and 64 hex digits, or the https address of a sum file. Without one the download "
            f"is refused, unless C(winkube_allow_unverified) names {component.name}.",
            "type": "str",
            "default": _sums(made),
        },
        **{f"{prefix}{option.name}": option.documented() for option in recipe.options},
        f"{prefix}service": {
            "description": "How the service is made and run.",
            "type": "dict",
            "default": service,
            "options": {
                "manager": {
                    "description": " or ".join(f"V({each})" for each in managers) + ".",
                    "type": "str",
                    "choices": managers,
                    "default": managers[0],
                },
                **{
                    name: {"description": text, "type": "int", "default": service[name]}
                    for name, text in seconds.items()
                },
            },
        },
    }


def _sums(made: ProgramService) -> str:
    return made.recipe.sums or "{{ winkube_download_sums }}"


def _defaults(made: ProgramService) -> str:
    component, recipe, managers = made.component, made.recipe, made.daemon.kind.managers
    return DEFAULTS.format(
        role=component.role,
        name=component.name,
        version=recipe.version,
        published=f" {recipe.no_url.partition(';')[0]}." if recipe.no_url else "",
        url=_template(recipe.url),
        sums=_template(_sums(made)),
        options="".join(
            f"# {_plain(option.description)}\nwinkube_{component.role}_{option.name}: {_value(option.default)}\n"
            for option in recipe.options
        ),
        managers=", or ".join(managers),
        manager=managers[0],
        start=recipe.start_timeout_s,
        stop=recipe.stop_timeout_s,
    )


def _plain(text: str) -> str:
    """A description without Ansible's markup."""
    return re.sub(r"\b[A-Z]\(([^()]*)\)", r"\1", text)


def _table(made: ProgramService) -> list[str]:
    rows = ["| variable | default | |", "|---|---|---|"]
    for name, option in _specification(made).items():
        default = option["default"]
        shown = "none" if default in ("", "{{ winkube_download_sums }}") else f"`{_value(default)}`"
        if str(default).startswith("{{") and shown != "none":
            shown = "the publisher's"
        if isinstance(default, dict):
            shown = f"`manager: {default['manager']}`"
        rows.append(f"| `{name}` | {shown} | {_plain(option['description'])} |")
    return rows


def _between(text: str, name: str, lines: list[str], begin: str, end: str) -> str:
    """`text` with these lines between its two marks. ValueError if it has no such marks."""
    first, last = f"{begin}generated: {name}{end}\n", f"{begin}end of {name}{end}\n"
    before, found, rest = text.partition(first)
    _old, closed, after = rest.partition(last)
    indent = last[: len(last) - len(last.lstrip())]
    if not found or not closed:
        raise ValueError(f"there is no '{first.strip()}' ... '{last.strip()}'")
    return before + first + "".join(f"{indent}{line}\n" if line else "\n" for line in lines) + last + after


def generated() -> dict[Path, str]:
    """Each file and the text that it has to have."""
    found: dict[Path, str] = {}
    for made in PROGRAM_SERVICES:
        component, recipe = made.component, made.recipe
        folder = ROOT / "roles" / component.role
        words = {"role": component.role, "name": component.name, "module": component.module, "summary": recipe.summary}
        options = "".join(
            f'    {option.name}: "{{{{ winkube_{component.role}_{option.name} }}}}"\n' for option in recipe.options
        )
        found[folder / "defaults" / "main.yml"] = _defaults(made)
        found[folder / "tasks" / "main.yml"] = TASKS.format(options=options, port=PORT if recipe.port else "", **words)
        found[folder / "handlers" / "main.yml"] = HANDLERS.format(**words)
        found[folder / "meta" / "main.yml"] = META.format(**words)
        found[folder / "meta" / "argument_specs.yml"] = SPECS.format(**words) + "".join(_lines(_specification(made), 6))
        readme = folder / "README.md"
        if readme.is_file():
            found[readme] = _between(readme.read_text(encoding="utf-8"), "variables", _table(made), "<!-- ", " -->")
    components = [made.component for made in PROGRAM_SERVICES]
    routes = [
        line for each in components for line in (f"{each.module}:", "  action_plugin: winkube.node.program_service")
    ]
    imports = [
        line
        for each in components
        for line in (
            f"- name: Know the sources of {each.name}",
            "  ansible.builtin.import_role:",
            f"    name: winkube.node.{each.role}",
            "    rolespec_validate: false",
            "  tags: never",
            "",
        )
    ]
    rows = [f"| [`{each.role}`](roles/{each.role}/README.md) | `{each.module}`; {ONLY_WHERE} |" for each in components]
    names = ", ".join(each.role for each in components)
    for file, blocks, marks in (
        ("meta/runtime.yml", {"routing": routes, "group": [f"- {each.module}" for each in components]}, ("    # ", "")),
        (
            "playbooks/bundle.yml",
            {"roles": imports[:-1], "names": [f"winkube_bundle_optional: [{names}]"]},
            ("    # ", ""),
        ),
    ):
        text = (ROOT / file).read_text(encoding="utf-8")
        for name, lines in blocks.items():
            text = _between(text, name, lines, *marks)
        found[ROOT / file] = text
    text = _rows((ROOT / "README.md").read_text(encoding="utf-8"), rows, "| [`setup`]")
    modules = [f"| `{made.component.module}` | {_lower(made.recipe.summary)} |" for made in PROGRAM_SERVICES]
    found[ROOT / "README.md"] = _rows(text, modules, "| `win_k8s_node_check`")
    return found


def _rows(text: str, rows: list[str], following: str) -> str:
    """README.md with these rows in the table that has a row `following`, right before that."""
    begins = tuple(row[: row.index(" |", 2)] for row in rows)
    kept = [line for line in text.split("\n") if not line.startswith(begins)]
    place = next(number for number, line in enumerate(kept) if line.startswith(following))
    return "\n".join((*kept[:place], *rows, *kept[place:]))


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def main() -> int:
    """Writes what differs, and says what."""
    for path, text in generated().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"written: {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
