"""Reads the publishers' sum files into plugins/plugin_utils/facts/pins.txt, for a maintainer with a way to them.

    python -m tests.pins [--mirror ADDRESS] [--table FILE]

Which files: those that the roles fetch by default, of the releases that they install by default and of those that
tests/real/build.py builds. A line that is there stays: a publisher whose sum is another one now is an error, since a
release does not change. The last line is one JSON object. Exit status 1 if a sum has changed.
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import PROGRAM_SERVICES
from ansible_collections.winkube.node.plugins.plugin_utils.components.source import find_in_sum_file
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused

from tests.real.build import WINDOWS

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "plugins" / "plugin_utils" / "facts" / "pins.txt"
SCHEME = "https://"
RELEASE_OF: Mapping[str, str] = {
    "winkube_cni_plugins_version": "cni-plugins",
    "winkube_containerd_version": "containerd",
    "winkube_flannel_cni_version": "flannel-cni",
    "winkube_flannel_version": "flannel",
    "winkube_kubernetes_version": "kubernetes",
    "winkube_log_runner_version": "kubernetes",
    **{f"winkube_{each.component.role}_version": each.component.role for each in PROGRAM_SERVICES if each.recipe.url},
}
"""Variable -> the project in WINDOWS whose releases it names."""
_TIMEOUT_S = 30
_LARGEST = 1 << 20

Read = Callable[[str], str]


@dataclass(frozen=True)
class File:
    """What a role fetches: its address and that of the publisher's sum file, empty where there is none."""

    url: str
    sums: str

    @property
    def path(self) -> str:
        return self.url.removeprefix(SCHEME)


@dataclass
class Found:
    """`pins` is the table, old and new; of `unsummed` there is no sum file; `unread` and `changed` are sentences."""

    pins: dict[str, str]
    added: int = 0
    unsummed: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)


def defaults() -> dict[str, Any]:
    """The variables of all roles, as they are before anybody sets one."""
    found: dict[str, Any] = {}
    for path in sorted((ROOT / "roles").glob("*/defaults/main.yml")):
        found |= yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    return found


def files() -> Iterator[File]:
    """Each file once, release by release."""
    known = defaults()
    seen = set()
    for variable, project in RELEASE_OF.items():
        built = [version for name, version, _programs in WINDOWS if name == project]
        for version in dict.fromkeys([*([str(known[variable])] if known[variable] else ()), *built]):
            for each in _of_release(known, variable, version):
                if each not in seen:
                    seen.add(each)
                    yield each


def _of_release(known: Mapping[str, Any], variable: str, version: str) -> Iterator[File]:
    of_it, of_none = rendering({**known, variable: version}), rendering({**known, variable: "0.0.0"})
    for name in sorted(known):
        if name.startswith("winkube_") and name.endswith("_url") and "_base_" not in name:
            url = of_it(name)
            if url.startswith(SCHEME) and url != of_none(name):
                yield File(url, of_it(name.removesuffix("_url") + "_checksum"))


def rendering(variables: Mapping[str, Any]) -> Callable[[str], str]:
    """Gives a variable by its name, with its templates filled in as Ansible does."""
    trusted = {name: trust_as_template(value) if isinstance(value, str) else value for name, value in variables.items()}
    templar = Templar(DataLoader(), trusted)
    return lambda name: str(templar.template(trusted[name])).strip()


def pin(wanted: Iterable[File], pins: Mapping[str, str], read: Read) -> Found:
    """The table with what the publishers say now."""
    found = Found(dict(pins))
    for each in wanted:
        if not each.sums:
            found.unsummed.append(each.path)
            continue
        try:
            sha256 = find_in_sum_file(each.path, each.url, each.sums, read)
        except Refused as refused:
            found.unread.append(str(refused))
            continue
        old = found.pins.setdefault(each.path, sha256)
        found.added += each.path not in pins
        if old != sha256:
            found.changed.append(f"{each.path}: pinned {old}, and {each.sums} says {sha256} now.")
    return found


def reader(mirror: str) -> Read:
    """Reads https addresses, from a mirror that keeps hosts and paths if one is named."""

    def read(address: str) -> str:
        where = f"{mirror.rstrip('/')}/{address.removeprefix(SCHEME)}" if mirror else address
        with urllib.request.urlopen(where, timeout=_TIMEOUT_S) as answer:
            return str(answer.read(_LARGEST).decode("utf-8", errors="replace"))

    return read


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", default="", help="reads from there: host and path follow")
    parser.add_argument("--table", type=Path, default=TABLE)
    options = parser.parse_args(arguments)
    lines = options.table.read_text(encoding="utf-8").splitlines()
    comments = [line for line in lines if line.startswith("#")]
    old = {path: sha256 for sha256, _space, path in (line.partition("  ") for line in lines if line not in comments)}
    found = pin(files(), old, reader(options.mirror))
    rows = [f"{sha256}  {path}" for path, sha256 in sorted(found.pins.items())]
    options.table.write_text("\n".join([*comments, *rows]) + "\n", encoding="utf-8")
    for sentence in [*found.unread, *found.changed]:
        print(sentence, file=sys.stderr)
    for path in found.unsummed:
        print(f"{path}: its publisher has no sum file.", file=sys.stderr)
    figures = {"pinned": len(rows), "added": found.added, "unread": len(found.unread)}
    print(json.dumps(figures | {"without_sums": len(found.unsummed), "changed": len(found.changed)}))
    return 1 if found.changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
