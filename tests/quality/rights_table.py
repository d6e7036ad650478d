"""The table of rights in docs/in-cluster.md, from the manifests of examples. tests/integration/test_in_cluster.py holds
the accounts' against what their runs ask for: no more, and no less."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.lab.cluster.shipped import OF_ACCOUNTS, documents

COLUMNS = {
    "look": ("ServiceAccount look", OF_ACCOUNTS),
    "keep": ("ServiceAccount keep", OF_ACCOUNTS),
    "join": ("ServiceAccount join", OF_ACCOUNTS),
    "site.yml": ("Group winkube-site", ("site",)),
    "host_process.yml": ("Group winkube-operators", ("host_process",)),
    "diagnose.yml": ("Group winkube-diagnose", ("diagnose",)),
}
"""Title of the column: whose rights, and the files that have them."""
HEADER = f"| resource | where | {' | '.join(f'`{name}`' for name in COLUMNS)} |"


@dataclass(frozen=True, order=True)
class Granted:
    """One verb for one resource; `namespace` empty: in the whole cluster; `names` empty: any."""

    group: str
    resource: str
    namespace: str
    names: tuple[str, ...]
    verb: str

    @property
    def row(self) -> tuple[str, str]:
        """Its resource and where, as the table has them."""
        shown = f"{self.resource}.{self.group}" if self.group else self.resource
        where = f"in {self.namespace}" if self.namespace else ""
        named = f"only {', '.join(self.names)}" if self.names else ""
        return shown, " ".join(filter(None, (named, where)))


def granted(who: str, files: Iterable[str]) -> Iterator[Granted]:
    """What the bindings of these files give to `who`: `Group winkube-site`, `ServiceAccount look`."""
    found = [document for name in files for document in documents(name)]
    for binding in found:
        subjects = {f"{each['kind']} {each['name']}" for each in binding.get("subjects") or ()}
        if who in subjects:
            namespace = str(binding["metadata"].get("namespace") or "")
            role = next(
                each
                for each in found
                if each["kind"] == binding["roleRef"]["kind"]
                and each["metadata"]["name"] == binding["roleRef"]["name"]
                and str(each["metadata"].get("namespace") or "") == namespace
            )
            yield from _of_role(role, namespace)


def _of_role(role: dict[str, Any], namespace: str) -> Iterator[Granted]:
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    yield Granted(group, resource, namespace, tuple(sorted(rule.get("resourceNames") or ())), verb)


def rows() -> list[str]:
    """Of the table."""
    cells: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for column, (who, files) in COLUMNS.items():
        for each in dict.fromkeys(granted(who, files)):
            cells[each.row][column].append(each.verb)
    return [
        f"| {resource} | {where} | {' | '.join(', '.join(by[column]) for column in COLUMNS)} |"
        for (resource, where), by in sorted(cells.items())
    ]
