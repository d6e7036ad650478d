# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a provisioner replaces: the items of a Node YAML, with what is known by name filled in; and what may stand
between a service and its program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..components import registry
from ..components.layout import Layout
from ..components.source import as_meant
from ..engine import windows_path
from ..engine.resource import Refused

KUBEPROXY_PATH = "KUBEPROXY_PATH"
"""The variable by which the HostProcess DaemonSets of sig-windows-tools run a kube-proxy.exe of the host instead of the
one in their image. Source: kubernetes-sigs/sig-windows-tools hostprocess/*/kube-proxy/start.ps1."""

WRAPPERS = frozenset({"kube-log-runner.exe", "nssm.exe", "winsw.exe", "powershell.exe", "pwsh.exe", "cmd.exe"})
"""Programs that a service runs in place of its own and that start it: their image is not what is replaced."""


FIELDS = (
    *("name", "version", "sourceURL", "destination", "overwrite", "checksum", "service_name", "verify_version"),
    *("wait_for", "service_missing", "state"),
)
"""The options of one item, in a list and at the top level."""
LAST = 9
"""The rank of a program that no component declares."""


@dataclass(frozen=True, slots=True)
class Item:
    """One program to replace. `source` is as written; `service` the service that runs it; `asks` are the arguments that
    make it say its version (none: no one may start it), `rank` orders starts: what a component of its name declares.

    `verify` is `true`, `false` or `warn`; `wait_for` is `service`, `node_ready` or `none`.
    """

    name: str
    version: str
    source: str
    destination: str
    overwrite: bool
    checksum: str
    service: str
    verify: str
    wait_for: str
    copy_only: bool
    previous: bool
    asks: tuple[str, ...]
    rank: int

    @property
    def place(self) -> str:
        """The destination as a key."""
        return windows_path.key(self.destination)


def parse_items(options: Mapping[str, Any], layout: Layout) -> tuple[Item, ...]:
    """The items of the option `provisioners`, or the one of the top level. Refused with a sentence per mistake."""
    single = {field: options[field] for field in FIELDS if options.get(field) is not None}
    listed: Sequence[Mapping[str, Any]] = options.get("provisioners") or ()
    if options.get("provisioners") is not None and "name" in single:
        raise Refused("provisioners and name are given both: name one item in the task, or a list of them.")
    if options.get("provisioners") is None and "name" not in single:
        raise Refused("There is nothing to provision: give name and sourceURL, or a list as provisioners.")
    found = tuple(_item(given, layout) for given in (listed or ([single] if "name" in single else [])))
    problems = [*_duplicates(found), *(problem for item in found for problem in _problems(item))]
    if problems:
        raise Refused(*problems)
    return found


def list_warnings(items: Iterable[Item]) -> list[str]:
    """What works but is hardly meant."""
    return [
        f"{item.name}: the destination {item.destination} does not end with .exe; Windows services start it all the "
        "same, people at a prompt do not."
        for item in items
        if not item.destination.lower().endswith(".exe")
    ]


def _item(given: Mapping[str, Any], layout: Layout) -> Item:
    name = str(given["name"])
    known = registry.DAEMONS.get(name.casefold())
    service, destination = (known.service(layout), known.program(layout)) if known else ("", "")
    return Item(
        name=name,
        version=str(given.get("version") or ""),
        source=str(given.get("sourceURL") or ""),
        destination=str(given.get("destination") or destination).replace("/", "\\"),
        overwrite=bool(given.get("overwrite")),
        checksum=as_meant(str(given.get("checksum") or "")),
        service=str(given.get("service_name") or service or name),
        verify=str(given.get("verify_version") or "true").lower(),
        wait_for=str(given.get("wait_for") or "service"),
        copy_only=given.get("service_missing") == "copy_only",
        previous=given.get("state") == "previous",
        asks=known.asks if known else (),
        rank=known.rank if known else LAST,
    )


def _problems(item: Item) -> list[str]:
    found = []
    if not item.destination:
        names = ", ".join(registry.DAEMONS)
        found.append(
            f"{item.name}: no destination is given, and it is known for {names} only. Give the path of the program "
            "on the node."
        )
    elif problem := windows_path.problem(item.destination):
        found.append(f"{item.name}: the destination '{item.destination}' {problem}.")
    if not item.source and not item.previous:
        found.append(
            f"{item.name}: no sourceURL is given. Give an address (http, https), a file or a folder of builds on the "
            "controller; or state: previous, to go back to the program before."
        )
    return found


def _duplicates(items: Sequence[Item]) -> list[str]:
    found = []
    names: dict[str, Item] = {}
    places: dict[str, Item] = {}
    for item in items:
        if item.name.casefold() in names:
            found.append(f"{item.name}: it is in the list of provisioners twice. Leave one of them out.")
        elif item.destination and item.place in places:
            found.append(
                f"{item.name}: {places[item.place].name} has the same destination {item.destination}. Give each its "
                "own."
            )
        names.setdefault(item.name.casefold(), item)
        places.setdefault(item.place, item)
    return found
