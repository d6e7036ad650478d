"""The tables of docs/defaults.md: what makers of Windows nodes set, beside the roles' own defaults."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.facts import os_switches, windows
from ansible_collections.winkube.node.plugins.plugin_utils.facts.rows import read_rows

from tests.pins.__main__ import defaults

HEADER = "| setting | upstream | makers | here | why |"
SWITCHES_HEADER = "| Windows | key, value | image-builder | AKS | restart | in the maker's words |"
FILE = Path(__file__).with_name("maker_defaults.yml")


@dataclass(frozen=True)
class Row:
    """`makers` has each maker's value and source; `here` names a variable, or says what the roles do."""

    setting: str
    upstream: str
    makers: list[dict[str, str]]
    here: str
    why: str


def read() -> list[Row]:
    """The reviewed rows."""
    return [Row(**each) for each in yaml.safe_load(FILE.read_text(encoding="utf-8"))]


def rows() -> list[str]:
    """The rows of the table of defaults."""
    ours = defaults()
    return [
        f"| {each.setting} | {each.upstream} | {_makers(each)} | {_here(each.here, ours)} | {each.why} |"
        for each in read()
    ]


def switches() -> list[str]:
    """A row for each switch and build, with what each maker sets it to."""
    found: dict[tuple[str, str, tuple[int, ...]], dict[str, dict[str, Any]]] = {}
    for row in read_rows("os_switches.json"):
        place = (row["key"], row["name"], tuple(row["builds"]))
        found.setdefault(place, {})[row["maker"]] = row
    return [_switch(*place, by) for place, by in sorted(found.items(), key=_order)]


def _order(item: tuple[tuple[str, str, tuple[int, ...]], Any]) -> tuple[int, str, str]:
    key, name, builds = item[0]
    return (builds[0] if builds else 0, key, name)


def _switch(key: str, name: str, builds: tuple[int, ...], by: dict[str, dict[str, Any]]) -> str:
    where = ", ".join(_name(build) for build in builds) or "each"
    values = [str(by[maker]["value"]) if maker in by else "" for maker in os_switches.MAKERS]
    says = dict.fromkeys(row["says"] for row in by.values())
    restart = "yes" if any(row["restart"] for row in by.values()) else "no"
    place = f"`{key.removeprefix('HKLM')[1:]}`, `{name}`"
    return f"| {where} | {place} | {' | '.join(values)} | {restart} | {'; '.join(says)} |"


def _name(build: int) -> str:
    release = windows.find_release(build)
    return release.name if release else str(build)


def _makers(row: Row) -> str:
    return "; ".join(f"[{made['maker']}]({made['source']}): {made['value']}" for made in row.makers)


def _here(text: str, ours: Mapping[str, Any]) -> str:
    return f"`{text}: {json.dumps(ours[text])}`" if text.startswith("winkube_") else text
