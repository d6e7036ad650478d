"""The picture of the house in docs/architecture.md: which room imports which, drawn from the imports.

A room is a package of plugin_utils, or a kind of Ansible's plugins. It stands on the floor above all that it imports;
the plugins, which nothing imports, stand at the top. Where a longer way leads to the same room, the direct arrow is
left out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from pathlib import Path

from tests.quality.import_checks import imports_of
from tests.quality.walls import crossed

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "architecture.svg"

PLUGINS = {
    "action": "What a task of a play names: options in, result out",
    "callback": "Prints the steps of a plan under each task",
    "connection": "A node reached through a pod of its cluster",
    "doc_fragments": "Options that several modules share",
    "filter": "Values for playbooks and templates",
    "inventory": "Hosts from Node YAML, or from the cluster",
    "lookup": "What the cluster says of its network",
    "modules": "Documentation, and the scripts that are sent",
}
"""What Ansible calls, the top floor."""

GROUPS: Sequence[tuple[str, str, frozenset[str]]] = (
    ("called by Ansible", "#3b6fb6", frozenset({*PLUGINS, "task"})),
    (
        "says what is wanted",
        "#2f8f6b",
        frozenset({"components", "golden_image", "node_yaml", "provision", "repair", "scheduling", "workloads"}),
    ),
    (
        "looks and judges",
        "#b5651d",
        frozenset(
            {"bundle", "cri", "cri_tcp", "diagnosis", "lint", "network", "pages", "redaction", "words"}
            | {"workload_tests"}
        ),
    ),
    ("speaks with node and cluster", "#8a4fa3", frozenset({"cluster", "host_process", "node", "transfer"})),
    ("the ground", "#5b6470", frozenset({"engine", "facts", "foreign"})),
)
"""What a room is for, its colour, the rooms."""

WIDE, HIGH, GAP, FLOOR = 196, 74, 26, 138
"""Of a room, in pixels; between two rooms; from one floor to the next."""
MARGIN, HEAD = 32, 84
LINE = 29
"""Characters of a room's line."""
SHORT = 20
"""Characters of a clause that does not stand for its sentence."""
STRAIGHT = 6
"""How much more a bend is drawn to the next bend than to a room."""

Arrows = Mapping[str, frozenset[str]]


def arrows(root: Path = ROOT) -> dict[str, frozenset[str]]:
    """The rooms, and for each the rooms that its files import."""
    found: dict[str, set[str]] = {}
    for path in sorted((root / "plugins").rglob("*.py")):
        parts = path.relative_to(root).parts
        here = _room(parts)
        if here:
            name = "/".join(parts)
            targets = (_room(each.target.split(".")) for each in imports_of(name, path.read_text(encoding="utf-8")))
            found.setdefault(here, set()).update(each for each in targets if each and each != here)
    return {name: frozenset(others) for name, others in sorted(found.items())}


def _room(parts: Sequence[str]) -> str:
    if len(parts) < 2 or parts[0] != "plugins":
        return ""
    return parts[1] if parts[1] != "plugin_utils" else parts[2] if len(parts) > 3 else ""


def without_short_cuts(all_of_them: Arrows) -> dict[str, list[str]]:
    """The arrows but for those that a longer way says already."""

    def below(name: str) -> frozenset[str]:
        return all_of_them[name].union(*(below(each) for each in all_of_them[name]))

    return {
        name: sorted(others - frozenset().union(*(below(each) for each in others)))
        for name, others in all_of_them.items()
    }


def floors(all_of_them: Arrows) -> dict[str, int]:
    """The floor of each room, 0 the ground; what Ansible calls is at the top."""
    found: dict[str, int] = {}

    def of(name: str) -> int:
        if name not in found:
            found[name] = 1 + max((of(each) for each in all_of_them[name]), default=-1)
        return found[name]

    top = max(of(name) for name in all_of_them)
    return found | {name: top for name in all_of_them if name in PLUGINS}


@dataclass
class Plan:
    """Places on each floor, from the top: a room, or a bend of an arrow that passes the floor. `down` are the places
    that each leads to on the floor below."""

    rows: list[list[str]]
    down: dict[str, list[str]]
    up: dict[str, list[str]] = field(default_factory=dict)
    x: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, others in self.down.items():
            for each in others:
                self.up.setdefault(each, []).append(name)

    def crossings(self) -> int:
        """Of the arrows, as the rows are ordered now."""
        count = 0
        for row, below in pairwise(self.rows):
            place = {name: number for number, name in enumerate(below)}
            lines = [(n, place[each]) for n, name in enumerate(row) for each in self.down.get(name, ())]
            count += sum((a - c) * (b - d) < 0 for a, b in lines for c, d in lines) // 2
        return count

    def untangle(self) -> None:
        """Orders each row by the middle of what its places are tied to, up and down in turn, and keeps the best."""
        best, order = self.crossings(), [list(row) for row in self.rows]
        for turn in range(60):
            downwards = turn % 2 == 0
            ties = self.up if downwards else self.down
            numbers = range(1, len(self.rows)) if downwards else range(len(self.rows) - 2, -1, -1)
            for number in numbers:
                beside = self.rows[number - 1 if downwards else number + 1]
                place = {name: position for position, name in enumerate(beside)}
                row = self.rows[number]
                own = {name: position for position, name in enumerate(row)}
                row.sort(key=lambda name: (_middle([place[each] for each in ties.get(name, ())], own[name]), own[name]))
                self._swap(number)
            if (now := self.crossings()) < best:
                best, order = now, [list(row) for row in self.rows]
        self.rows = order

    def _swap(self, number: int) -> None:
        """Changes two neighbours' places where that takes a crossing away."""
        row, now = self.rows[number], self.crossings()
        for left in range(len(row) - 1):
            row[left], row[left + 1] = row[left + 1], row[left]
            if (then := self.crossings()) < now:
                now = then
            else:
                row[left], row[left + 1] = row[left + 1], row[left]

    def spread(self) -> None:
        """Gives each place its middle on the row: near what it is tied to, without touching its neighbours."""
        for row in self.rows:
            at = 0.0
            for name in row:
                self.x[name] = at + _width(name) / 2
                at += _width(name) + GAP
        widest = max(self.x[row[-1]] + _width(row[-1]) / 2 for row in self.rows)
        for row in self.rows:
            free = widest - (self.x[row[-1]] + _width(row[-1]) / 2)
            for name in row:
                self.x[name] += free / 2
        for turn in range(400):
            for row in self.rows if turn % 2 else reversed(self.rows):
                wished = [self._wish(name) for name in row]
                _place(row, wished, self.x, widest)

    def _wish(self, name: str) -> float:
        """The middle of what a place is tied to; bends count more, so that long arrows are straight."""
        ties = (*self.up.get(name, ()), *self.down.get(name, ()))
        weights = [STRAIGHT if ">" in name and ">" in each else 1 for each in ties]
        if not ties:
            return self.x[name]
        return sum(self.x[each] * weight for each, weight in zip(ties, weights, strict=True)) / sum(weights)


def _middle(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _width(name: str) -> int:
    return 12 if ">" in name else WIDE


def _place(row: Sequence[str], wished: Sequence[float], x: dict[str, float], widest: float) -> None:
    """The nearest places to those wished that keep order and distance: the mean of pushing right and pushing left."""
    right = _pushed(row, wished, widest)
    left = [widest - each for each in reversed(_pushed(row[::-1], [widest - each for each in wished[::-1]], widest))]
    x.update(zip(row, ((one + other) / 2 for one, other in zip(right, left, strict=True)), strict=True))


def _pushed(row: Sequence[str], wished: Sequence[float], widest: float) -> list[float]:
    """Each at its wish, or as far to the right of it as its neighbour on the left needs, and room is left."""
    rest = sum(_width(name) + GAP for name in row)
    found, edge = [], 0.0
    for name, wish in zip(row, wished, strict=True):
        rest -= _width(name) + GAP
        most = widest - rest - _width(name) / 2
        found.append(max(min(wish, most), edge + _width(name) / 2))
        edge = found[-1] + _width(name) / 2 + GAP
    return found


def plan(all_of_them: Arrows) -> Plan:
    """Where everything stands."""
    floor = floors(all_of_them)
    top = max(floor.values())
    rows: list[list[str]] = [sorted(name for name in floor if floor[name] == top - number) for number in range(top + 1)]
    down: dict[str, list[str]] = {}
    for name, others in without_short_cuts(all_of_them).items():
        for each in others:
            way = [name, *(f"{name}>{each}>{level}" for level in range(floor[name] - 1, floor[each], -1)), each]
            for here, there in pairwise(way):
                down.setdefault(here, []).append(there)
            for bend in way[1:-1]:
                rows[top - int(bend.rpartition(">")[2])].append(bend)
    made = Plan(rows, down)
    made.untangle()
    made.spread()
    return made


def svg(root: Path = ROOT) -> str:
    """The picture. ValueError where an import crosses a wall: only rules that hold are drawn."""
    names = [str(path.relative_to(root)) for path in sorted((root / "plugins").rglob("*.py"))]
    if sentences := crossed(root, names):
        raise ValueError("\n".join(sentences))
    all_of_them = arrows(root)
    made = plan(all_of_them)
    y = {name: HEAD + MARGIN + number * FLOOR for number, row in enumerate(made.rows) for name in row}
    width = round(max(made.x[name] + _width(name) / 2 for name in made.x)) + 2 * MARGIN
    height = HEAD + 2 * MARGIN + (len(made.rows) - 1) * FLOOR + HIGH
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="system-ui, \'Segoe UI\', Helvetica, Arial, sans-serif" role="img">',
        "<title>Which part of the collection imports which</title>",
        f'<rect width="{width}" height="{height}" rx="12" fill="#fbfbf9"/>',
        *_legend(width),
        *_markers(),
        *_bands(len(made.rows), width),
    ]
    for name in all_of_them:
        parts += _arrows_of(name, made, y)
    parts += [line for name in all_of_them for line in _box(name, root, made.x[name] + MARGIN, y[name])]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _group(name: str) -> tuple[int, str]:
    found = ((number, colour) for number, (_title, colour, names) in enumerate(GROUPS) if name in names)
    return next(found, (len(GROUPS), "#777777"))


def _legend(width: int) -> Iterable[str]:
    at = float(MARGIN)
    yield f'<text x="{at}" y="36" font-size="19" font-weight="600" fill="#22262b">Who imports whom</text>'
    yield (
        f'<text x="{at}" y="60" font-size="13" fill="#5b6470">An arrow leads to what is imported, always downwards; '
        "it is left out where a longer way leads there.</text>"
    )
    at = float(width - MARGIN)
    for title, colour, _names in reversed(GROUPS):
        at -= 7.0 * len(title) + 34
        yield f'<rect x="{at:.0f}" y="25" width="13" height="13" rx="3" fill="{colour}"/>'
        yield f'<text x="{at + 19:.0f}" y="36" font-size="13" fill="#22262b">{escape(title)}</text>'


def _markers() -> Iterable[str]:
    yield "<defs>"
    for number, colour in [*((number, each[1]) for number, each in enumerate(GROUPS)), (len(GROUPS), "#777777")]:
        yield (
            f'<marker id="to{number}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            f'orient="auto"><path d="M0 0.8 L7.5 4 L0 7.2 z" fill="{colour}"/></marker>'
        )
    yield "</defs>"


def _bands(count: int, width: int) -> Iterable[str]:
    for number in range(count):
        at = HEAD + MARGIN + number * FLOOR - 14
        yield (
            f'<rect x="12" y="{at}" width="{width - 24}" height="{HIGH + 28}" rx="10" '
            f'fill="{"#eef3fa" if number == 0 else "#f2f2ee"}"/>'
        )


def _arrows_of(name: str, made: Plan, y: Mapping[str, int]) -> Iterable[str]:
    number, colour = _group(name)
    for first in made.down.get(name, ()):
        points = [(_port(name, first, made.down, made.x), float(y[name] + HIGH))]
        before, here = name, first
        while ">" in here:
            points += [(made.x[here], float(y[here] - 14)), (made.x[here], float(y[here] + HIGH + 14))]
            before, here = here, made.down[here][0]
        points.append((_port(here, before, made.up, made.x), float(y[here] - 1)))
        path = f"M{points[0][0] + MARGIN:.1f} {points[0][1]:.1f}"
        for (ax, ay), (bx, by) in pairwise(points):
            bend = (by - ay) * 0.55
            path += f" C{ax + MARGIN:.1f} {ay + bend:.1f} {bx + MARGIN:.1f} {by - bend:.1f} {bx + MARGIN:.1f} {by:.1f}"
        yield (
            f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.8" stroke-opacity="0.75" '
            f'marker-end="url(#to{number})"><title>{name} imports {here}</title></path>'
        )


def _port(name: str, other: str, ties: Mapping[str, Sequence[str]], x: Mapping[str, float]) -> float:
    """Where on a room's edge an arrow begins or ends: side by side, in the order in which they come."""
    row = sorted(ties[name], key=lambda each: (x[each], each))
    step = min(30.0, (WIDE - 40) / max(1, len(row)))
    return x[name] + (row.index(other) - (len(row) - 1) / 2) * step


def _box(name: str, root: Path, x: float, y: int) -> Iterable[str]:
    colour = _group(name)[1]
    left = x - WIDE / 2
    yield (
        f'<rect x="{left:.1f}" y="{y}" width="{WIDE}" height="{HIGH}" rx="7" fill="#ffffff" stroke="{colour}" '
        'stroke-width="1.4"/>'
    )
    yield f'<rect x="{left:.1f}" y="{y}" width="6" height="{HIGH}" rx="3" fill="{colour}"/>'
    yield f'<text x="{left + 16:.1f}" y="{y + 21}" font-size="14.5" font-weight="600" fill="#22262b">{name}</text>'
    for number, line in enumerate(_lines(_says(name, root))):
        at = f'x="{left + 16:.1f}" y="{y + 39 + 14 * number}"'
        yield f'<text {at} font-size="11" fill="#4a525c">{escape(line)}</text>'


def _says(name: str, root: Path) -> str:
    """What a room is for: the first clause of its face."""
    if name in PLUGINS:
        return PLUGINS[name]
    face = root / "plugins" / "plugin_utils" / name / "__init__.py"
    text = ast.get_docstring(ast.parse(face.read_text(encoding="utf-8"))) or ""
    sentence = text.splitlines()[0].partition(". ")[0].rstrip(".")
    clause = sentence.partition(": ")[0]
    return clause if len(clause) >= SHORT else sentence


def _lines(text: str) -> list[str]:
    """In lines of a room, three at most."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) >= LINE:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines if len(lines) < 4 else [*lines[:2], f"{lines[2]} ..."]


def main() -> int:
    """Draws it."""
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(svg(), encoding="utf-8")
    print(f"drawn: {PICTURE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
