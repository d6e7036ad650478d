"""The walls of the house: who may import whom, for each package of the collection and of the lab.

A room is a package, a sub-package of components, a kind of Ansible's plugins, or one file. A file belongs to the
innermost room around it. Imports for types count. What no rule names is refused: a new package needs its rule, written
by whoever makes it. `make walls` plants one import across every wall and tells how many were refused.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tests.quality.import_checks import imports_of
from tests.quality.sanity import ROOT, project_files


@dataclass(frozen=True)
class Room:
    """What the files of a room may import besides themselves and Python's own library: other rooms, or single modules
    of them; packages from outside (None: any)."""

    may: tuple[str, ...] = ()
    packages: tuple[str, ...] | None = ()


_PARTS = ("cni", "containerd", "flannel", "host", "join", "kube_proxy", "kubelet", "programs")
COMPONENTS = ("components", "components.registry", "components.node", *(f"components.{name}" for name in _PARTS))
"""For what is above the components: all of them."""


def _part(*others: str) -> Room:
    """A component: what all components share, and the components that it builds on."""
    shared = ("cluster", "components", "engine", "facts", "foreign")
    return Room((*shared, *(f"components.{name}" for name in others)), ("yaml",))


UTILS: Mapping[str, Room] = {
    "engine": Room(),
    "facts": Room(("foreign.spelling",)),
    "foreign": Room(packages=("yaml",)),
    "record": Room(("engine.local_path", "engine.run_end")),
    "pages": Room(("record",), packages=("jinja2", "markupsafe")),
    "words": Room(("facts", "foreign")),
    "lint": Room(("engine.command_line", "facts", "foreign"), ("yaml",)),
    "workloads": Room(("facts",)),
    "cluster": Room(
        (
            *("engine.address", "engine.clock", "engine.gate", "engine.local_path", "engine.printable"),
            *("engine.secret", "engine.time_limit", "engine.waiting", "foreign"),
        ),
        ("cryptography", "kubernetes", "urllib3", "websocket", "yaml"),
    ),
    "budget": Room(
        (
            *("cluster.error", "cluster.pods", "cluster.records", "engine.clock", "engine.printable"),
            *("engine.resource", "engine.run_end", "engine.waiting"),
        )
    ),
    "node_status": Room(("budget", "cluster.error", "cluster.records", "engine.printable")),
    "cri": Room(
        ("cluster", "engine.clock", "engine.local_path", "engine.waiting", "facts", "pages"), ("google", "grpc")
    ),
    "transfer": Room(("engine",), ("ansible",)),
    "calico": Room(("cluster", "engine", "facts", "words")),
    "components": Room(("cluster", "engine", "facts", "foreign"), ("yaml",)),
    "components.node": Room(("components", "facts", *(f"components.{name}" for name in _PARTS))),
    "components.registry": Room(("components", "engine", *(f"components.{name}" for name in _PARTS))),
    "components.cni": Room((*_part().may, "words"), ("yaml",)),
    "components.containerd": _part("kubelet"),
    "components.flannel": _part("cni"),
    "components.host": _part(),
    "components.join": _part("kubelet"),
    "components.kube_proxy": _part("flannel"),
    "components.kubelet": _part(),
    "components.programs": _part(),
    "host_process": Room(("cluster", "engine")),
    "node": Room(("components", "engine"), ("ansible",)),
    "node_yaml": Room(("engine", "foreign", "node"), ("yaml",)),
    "network": Room(("components", "components.cni", "foreign")),
    "cri_tcp": Room((*COMPONENTS, "cri", "engine", "facts"), ("cryptography", "tomlkit")),
    "provision": Room((*COMPONENTS, "cluster", "engine", "facts", "node", "transfer")),
    "scheduling": Room((*COMPONENTS, "cluster", "engine", "facts", "lint")),
    "workload_tests": Room((*COMPONENTS, "cluster", "cri", "engine", "facts", "scheduling"), ("yaml",)),
    "repair": Room((*COMPONENTS, "engine", "facts", "network")),
    "redaction": Room(("engine",)),
    # What is stale of a former membership is one definition, for the finding and for what takes it away; and two files
    # of the linter know nothing of manifests: what an image's name says, what is wrong with a credential spec.
    "diagnosis": Room(
        (
            *(*COMPONENTS, "calico", "cluster", "cri", "cri_tcp", "engine", "facts", "network", "pages", "words"),
            *("foreign", "lint.credential_spec", "lint.images", "redaction", "repair.rejoin"),
        ),
        ("cryptography", "yaml"),
    ),
    "golden_image": Room((*COMPONENTS, "cri_tcp", "engine", "network", "repair")),
    "bundle": Room((*COMPONENTS, "diagnosis", "engine", "facts", "foreign", "node", "redaction")),
    "task": Room(
        (
            *(*COMPONENTS, "budget", "calico", "cluster", "engine", "facts", "foreign.spelling", "host_process"),
            *("node", "node_status", "record", "repair", "transfer", "words"),
        ),
        ("ansible", "yaml"),
    ),
}
"""The packages of plugin_utils, each above all that it names."""

KINDS: Mapping[str, Room] = {
    "action": Room(
        (
            *(
                *COMPONENTS,
                "budget",
                "bundle",
                "calico",
                "cluster",
                "cri",
                "cri_tcp",
                "diagnosis",
                "engine",
                "facts",
                "golden_image",
            ),
            *(
                "lint",
                "network",
                "node",
                "node_status",
                "pages",
                "provision",
                "record",
                "redaction",
                "repair",
                "scheduling",
                "task",
                "words",
                "workload_tests",
            ),
        ),
        ("ansible",),
    ),
    "callback": Room(("engine.printable", "node.run_id", "record"), ("ansible",)),
    "connection": Room(("cluster", "engine.printable", "engine.run_end", "engine.user", "host_process"), ("ansible",)),
    "doc_fragments": Room(COMPONENTS, ("yaml",)),
    "filter": Room(
        (
            *("diagnosis", "engine.resource", "engine.until", "facts", "lint", "node.run_id", "pages", "record.hosts"),
            "scheduling",
            "workloads",
        ),
        ("ansible", "jinja2"),
    ),
    "inventory": Room(("cluster", "engine", "foreign", "node", "node_yaml"), ("ansible",)),
    "lookup": Room(("cluster",), ("ansible",)),
    "modules": Room(),
}
"""The kinds of Ansible's plugins. Actions alone reach `task`."""

LAB: Mapping[str, Room] = {
    "machine": Room((), None),
    "cluster": Room(("machine",), None),
    "programs": Room(("machine", "cluster"), None),
    "twin": Room(("machine", "cluster", "programs"), None),
    "server": Room(("machine", "cluster", "programs", "twin"), None),
    "__main__": Room(("server",), None),
}
"""The lab, from the ground up: each imports what stands before it."""

_UTILS, _KINDS, _LAB = "plugins.plugin_utils", "plugins", "tests.lab"
ROOMS: Mapping[str, Room] = {
    f"{home}.{name}": Room(tuple(f"{_LAB if home == _LAB else _UTILS}.{each}" for each in room.may), room.packages)
    for home, rooms in ((_UTILS, UTILS), (_KINDS, KINDS), (_LAB, LAB))
    for name, room in rooms.items()
}
"""All rooms by their dotted names from the root of the repository."""


def room_of(target: str) -> str:
    """The innermost room that a dotted name stands in; empty for none."""
    parts = target.split(".")
    return next((name for end in range(len(parts), 0, -1) if (name := ".".join(parts[:end])) in ROOMS), "")


def crossed(root: Path, names: Iterable[str]) -> list[str]:
    """Files that import what their room may not."""
    found: list[str] = []
    for name in names:
        if name.endswith(".py") and name.startswith(("plugins/", "tests/lab/")):
            here = room_of(".".join(PurePosixPath(name).with_suffix("").parts))
            if here:
                found += _crossed(name, here, (root / name).read_text(encoding="utf-8"))
    return found


def _crossed(name: str, here: str, source: str) -> Iterator[str]:
    room = ROOMS[here]
    for item in imports_of(name, source):
        if not _allowed(item.target, here, room):
            may = ", ".join(["Python's own library", "itself", *room.may, *(room.packages or ())])
            yield f"{name}:{item.line}: imports {item.target}; {here} may import {may}"


def _allowed(target: str, here: str, room: Room) -> bool:
    there = room_of(target)
    if target.split(".")[0] not in {"plugins", "tests"}:
        return room.packages is None or target.split(".")[0] in {*sys.stdlib_module_names, *room.packages}
    if there == here or target.startswith("plugins.module_utils."):
        return True
    if here.startswith(_LAB):
        return target in (_LAB, "tests") or there in room.may or not target.startswith(f"{_LAB}.")
    return any(there == each if each in ROOMS else f"{target}.".startswith(f"{each}.") for each in room.may)


def without_rule(names: Iterable[str]) -> list[str]:
    """Packages and kinds that no rule names; rules of rooms that are not there."""
    folders, there = set(), set()
    for name in names:
        path = PurePosixPath(name)
        if path.suffix == ".py" and name.startswith(("plugins/", "tests/lab/")):
            there.add(room_of(".".join(path.with_suffix("").parts)))
            deep = 3 if name.startswith((f"{_UTILS.replace('.', '/')}/", "tests/lab/")) else 2
            deep += name.startswith(f"{_UTILS.replace('.', '/')}/components/")
            folders.add(".".join(path.parts[: min(deep, len(path.parts) - 1)]))
    unnamed = sorted(each for each in folders if each not in ROOMS and each not in (_UTILS, _LAB, "plugins"))
    return [
        *(f"{each}: no rule says what it may import: give it one in tests/quality/walls.py" for each in unnamed),
        *(f"{each}: a rule of tests/quality/walls.py is about nothing" for each in sorted(set(ROOMS) - there)),
    ]


def circles(root: Path, names: Iterable[str], folder: str) -> list[tuple[str, ...]]:
    """The modules below a folder that import each other in a circle when they are loaded: imports for types alone do
    not load anything."""
    modules = {
        ".".join(PurePosixPath(name).with_suffix("").parts).removesuffix(".__init__"): name
        for name in names
        if name.startswith(f"{folder}/") and name.endswith(".py")
    }
    reached: dict[str, set[str]] = {}
    for module, name in modules.items():
        targets = (
            item.target for item in imports_of(name, (root / name).read_text(encoding="utf-8")) if not item.only_types
        )
        homes = (each if each in modules else each.rpartition(".")[0] for each in targets)
        reached[module] = {each for each in homes if each in modules and each != module}
    return _circles(reached)


def _circles(reached: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """Those that can be reached from themselves, each circle once."""

    def below(start: str) -> set[str]:
        found: set[str] = set()
        ahead = [start]
        while ahead:
            for each in reached[ahead.pop()] - found:
                found.add(each)
                ahead.append(each)
        return found

    all_below = {each: below(each) for each in reached}
    rings = {
        tuple(sorted(other for other in all_below[each] if each in all_below[other]))
        for each in reached
        if each in all_below[each]
    }
    return sorted(rings)


def walls() -> Iterator[tuple[str, str]]:
    """Each wall: a room, and one of the same house that it may not import."""
    for here, room in ROOMS.items():
        for there in ROOMS:
            same = here.startswith(_LAB) == there.startswith(_LAB)
            if same and here != there and there not in room.may:
                yield here, there


def planted(here: str, there: str) -> tuple[str, str]:
    """A file of one room that imports another: its name and text. In the collection imports are relative."""
    folder = here if not _is_file(here) else here.rpartition(".")[0]
    name = f"{folder.replace('.', '/')}/planted.py" if folder == here else f"{here.replace('.', '/')}.py"
    if here.startswith(_LAB):
        return name, f"if TYPE_CHECKING:\n    from {there} import x\n"
    dots = "." * len(PurePosixPath(name).parts)
    return name, f"def f():\n    from {dots}{there} import x\n"


def _is_file(room: str) -> bool:
    return (ROOT / f"{room.replace('.', '/')}.py").is_file()


def is_refused(file: tuple[str, str]) -> bool:
    """Whether a file, by its name and text, crosses a wall."""
    name, text = file
    return any(_crossed(name, room_of(".".join(PurePosixPath(name).with_suffix("").parts)), text))


def main() -> int:
    """One JSON object; 1 if a wall has a hole."""
    names = project_files()
    sentences = [*crossed(ROOT, names), *without_rule(names)]
    rings = circles(ROOT, names, "tests/lab")
    tried = [planted(here, there) for here, there in walls()]
    refused = sum(map(is_refused, tried))
    for sentence in [*sentences, *(f"a circle: {', '.join(ring)}" for ring in rings)]:
        print(sentence, file=sys.stderr)
    told = {"packages_without_rule": len(without_rule(names)), "lab_circles": len(rings)}
    print(json.dumps({**told, "planted": len(tried), "refused": refused}))
    return 1 if sentences or rings or refused < len(tried) else 0


if __name__ == "__main__":
    sys.exit(main())
