"""Writes plugins/plugin_utils/facts/api_fields.txt: each field that a user can write for a pod, its volumes, Services,
and what makes pods, with the kind of its value.

    python -m tests.fields

k8s.io/api and k8s.io/apimachinery of each minor come from Go's module proxy; the structs of types.go are read for their
names, types and json tags. A row is a fact: type, field, its kind (`*` a list, `%` a map; a type of the table or a
scalar), the first minor that has it, the last one where it went away. Nothing else of the sources is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.go_modules import download

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "plugins" / "plugin_utils" / "facts" / "api_fields.txt"
MINORS = range(22, 38)
# What is reached from here is in the table.
ROOTS = (
    *("PodSpec", "PersistentVolumeClaimSpec", "PersistentVolumeSpec", "ServiceSpec"),
    *("StorageClass", "CSIDriverSpec", "IngressSpec", "NetworkPolicySpec"),
    *("Pod", "PodTemplate", "ReplicationController", "Service"),
    *("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"),
)
PACKAGES = ("core/v1", "apps/v1", "batch/v1", "storage/v1", "networking/v1")
META = "pkg/apis/meta/v1"
# Scalars, by the types that are read as one. `any` is not looked into: a status is the cluster's own.
_PLAIN = {
    "Time": "time",
    "MicroTime": "time",
    "Duration": "string",
    "Quantity": "quantity",
    "IntOrString": "intOrString",
    "UID": "string",
    "byte": "string",
    **dict.fromkeys(("FieldsV1", "RawExtension", "ListMeta"), "any"),
    **{name: name for name in ("string", "bool", "int32", "int64")},
}
# `type PullPolicy string`, `type ResourceList map[ResourceName]resource.Quantity`
_NAMED = re.compile(r"^type (\w+) ((?:\[\]|map\[\w+\])?[\w.]+)$", re.MULTILINE)
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'^\t(\w+[ \t]+)?([\w.\[\]*]+)[ \t]+`(?:[^`]*\s)?json:"([^",]*)[^"]*"', re.MULTILINE)
Fields = dict[str, dict[str, str]]


def structs(text: str) -> Iterator[tuple[str, list[tuple[str, str, bool]]]]:
    """(type, [(field, type of the field, is it inline)]) of a Go file."""
    for name, body in _STRUCT.findall(text):
        fields = []
        for own_name, written, field in _FIELD.findall(body):
            fields.append((field, kind_of(written), not field and not own_name))
        yield name, fields


def kind_of(written: str) -> str:
    """A type of Go as the table has it: `[]v1.Container` is `*Container`."""
    kind = "*" if written.startswith("[]") and written != "[]byte" else "%" if written.startswith("map[") else ""
    return kind + re.sub(r"^(?:\[\]|\*|map\[[\w.]+\])+", "", written).rpartition(".")[2]


def fields_of(minor: int) -> Fields:
    """Type -> field -> type of the field, for what ROOTS reach in this minor."""
    api, machinery = (download(f"k8s.io/{name}@v0.{minor}.0") for name in ("api", "apimachinery"))
    read: dict[str, list[tuple[str, str, bool]]] = {}
    named: dict[str, str] = {}
    for folder in (*(api / package for package in PACKAGES), machinery / META):
        text = (folder / "types.go").read_text(encoding="utf-8")
        read |= dict(structs(text))
        named |= {name: kind_of(written) for name, written in _NAMED.findall(text)}
    found: Fields = {}
    waiting = list(ROOTS)
    while waiting:
        name = waiting.pop()
        if name in found or name not in read or name in _PLAIN:
            continue
        found[name] = {field: settled(field, kind, read, named) for field, kind in flat(name, read)}
        waiting += [kind.lstrip("*%") for kind in found[name].values()]
    return found


def flat(name: str, read: dict[str, list[tuple[str, str, bool]]]) -> Iterator[tuple[str, str]]:
    for field, kind, inline in read.get(name, ()):
        if inline:
            yield from flat(kind, read)
        elif field and field != "-":
            yield field, kind


def settled(field: str, kind: str, read: dict[str, list[tuple[str, str, bool]]], named: dict[str, str]) -> str:
    """The kind of a field: names that stand for others are followed. What other packages have is not looked into."""
    base = kind.lstrip("*%")
    several = kind.removesuffix(base)
    if field == "status":
        return "any"
    if base in _PLAIN:
        return several + _PLAIN[base]
    if base in read:
        return kind
    return settled(field, several + named[base], read, named) if base in named else "any"


def main() -> None:
    rows: dict[tuple[str, str], tuple[str, int, int]] = {}
    for minor in MINORS:
        for name, fields in fields_of(minor).items():
            for field, kind in fields.items():
                first = rows.get((name, field), ("", minor, minor))[1]
                rows[name, field] = (kind, first, minor)
    newest = MINORS[-1]
    lines = [
        f"{name} {field} {kind} {first} {'-' if last == newest else last}\n"
        for (name, field), (kind, first, last) in sorted(rows.items())
    ]
    TABLE.write_text(
        f"# Written by `python -m tests.fields` from k8s.io/api v0.{MINORS[0]}.0 to v0.{newest}.0: type,"
        f" field, its kind"
        " (* a list, % a map), first minor, last minor (- still there).\n" + "".join(lines),
        encoding="utf-8",
    )
    print(f"{TABLE.relative_to(ROOT)}: {len(lines)} fields of {len({name for name, _ in rows})} types")


if __name__ == "__main__":
    main()
