# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The picture of a node's network: adapters, HNS networks, endpoints, services, and what hangs on what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from itertools import pairwise
from typing import Any

from ..cluster.objects import full_name
from .scene import Scene
from .tried import pods_of

ROWS = 24
"""So many boxes has a column at most; the rest is a number."""

_WIDTH, _HEIGHT, _GAP, _STEP, _TOP = 230, 44, 90, 56, 40
_COLUMNS = ("adapters", "networks", "endpoints", "services")


@dataclass(frozen=True, slots=True)
class Box:
    """One thing: `id` is unique in its column, `to` names ids in the column to the left that it hangs on."""

    id: str
    title: str
    text: str
    to: tuple[str, ...] = ()
    bad: bool = False


Picture = Mapping[str, Sequence[Mapping[str, Any]]]
"""The four columns, each a list of boxes as plain data."""


def picture_of(scene: Scene) -> dict[str, list[dict[str, Any]]]:
    """The boxes as plain data, for report.json and for `draw`."""
    columns = {
        "adapters": _adapters(scene),
        "networks": _networks(scene),
        "endpoints": _endpoints(scene),
        "services": _services(scene),
    }
    return {name: [asdict(box) for box in boxes] for name, boxes in columns.items()}


def _adapters(scene: Scene) -> list[Box]:
    return [
        Box(
            one.name,
            one.name,
            f"{', '.join(f'{address}/{prefix}' for address, prefix in one.addresses) or 'no address'}, MTU {one.mtu}",
            bad=not one.up or any(address.startswith("169.254.") for address, _prefix in one.addresses),
        )
        for one in scene.adapters or ()
    ]


def _networks(scene: Scene) -> list[Box]:
    found = []
    wanted = scene.network_name.casefold()
    for one in scene.hns.networks:
        subnets = ", ".join(each.prefix for each in one.subnets)
        on = tuple(
            each.name
            for each in scene.adapters or ()
            if one.adapter and each.physical.casefold() == one.adapter.casefold()
        )
        text = f"{one.type}, {subnets or 'no subnet'}, {one.management_ip or 'no management address'}"
        bad = one.name.casefold() == wanted and not one.management_ip
        found.append(Box(one.id or one.name, one.name, text, on, bad))
    if wanted and wanted not in {box.title.casefold() for box in found}:
        found.append(Box(wanted, scene.network_name, "is not there", (), True))
    return found


def _endpoints(scene: Scene) -> list[Box]:
    objects = scene.tried.objects if scene.tried else None
    pods = {str((pod.get("status") or {}).get("podIP")): full_name(pod) for pod in pods_of(objects)}
    found = []
    for one in scene.hns.endpoints:
        address = one.addresses[0] if one.addresses else ""
        kind = "remote" if one.remote else pods.get(address) or one.name
        orphan = objects is not None and scene.is_pods(one) and address not in pods
        text = "no pod" if orphan else kind
        found.append(Box(one.id or address, address or "no address", text, (one.network,), orphan))
    return sorted(found, key=lambda box: (box.text == "remote", box.title))


def _services(scene: Scene) -> list[Box]:
    objects = scene.tried.objects if scene.tried else None
    services = objects.services if objects else ()
    names = {str((one.get("spec") or {}).get("clusterIP")): full_name(one) for one in services}
    found: dict[str, Box] = {}
    for policies, rule in scene.hns.balancers():
        for address in rule.vips:
            key = f"{address}:{rule.external}/{rule.protocol}"
            text = f"{address}, {rule.protocol} {rule.external} to {rule.internal}"
            found[key] = Box(key, names.get(address, address), text, _more(found.get(key), policies.endpoints))
    return [found[key] for key in sorted(found)]


def _more(before: Box | None, ends: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*(before.to if before else ()), *ends)))


# -- SVG -----------------------------------------------------------------------------------------------------------


def draw(picture: Picture, title: str) -> str:
    """The picture as a self-contained SVG element: no script, no font, nothing from elsewhere."""
    shown = {name: list(picture.get(name) or ())[:ROWS] for name in _COLUMNS}
    rows = max((len(boxes) + (len(picture.get(name) or ()) > ROWS) for name, boxes in shown.items()), default=0)
    width, height = 4 * _WIDTH + 3 * _GAP + 20, _TOP + max(rows, 1) * _STEP + 10
    places = {
        (name, str(box["id"])): (10 + column * (_WIDTH + _GAP), _TOP + row * _STEP)
        for column, name in enumerate(_COLUMNS)
        for row, box in enumerate(shown[name])
    }
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" font-family="Segoe UI, sans-serif" font-size="12"><title>{escape(title)}</title>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for column, name in enumerate(_COLUMNS):
        left = 10 + column * (_WIDTH + _GAP)
        parts.append(f'<text x="{left}" y="24" font-weight="bold">{name} ({len(picture.get(name) or ())})</text>')
    parts += [_line(places, before, name, box) for before, name in _pairs() for box in shown[name]]
    parts += [_box(places[name, str(box["id"])], box) for name in _COLUMNS for box in shown[name]]
    for column, name in enumerate(_COLUMNS):
        if hidden := len(picture.get(name) or ()) - len(shown[name]):
            left, top = 10 + column * (_WIDTH + _GAP), _TOP + len(shown[name]) * _STEP
            parts.append(f'<text x="{left}" y="{top + 20}">and {hidden} more</text>')
    return "\n".join([*(part for part in parts if part), "</svg>"])


def _pairs() -> Iterable[tuple[str, str]]:
    return pairwise(_COLUMNS)


def _line(places: Mapping[tuple[str, str], tuple[int, int]], before: str, name: str, box: Mapping[str, Any]) -> str:
    right, middle = places[name, str(box["id"])]
    lines = []
    for target in box.get("to") or ():
        if (place := places.get((before, str(target)))) is not None:
            start = f'x1="{place[0] + _WIDTH}" y1="{place[1] + _HEIGHT // 2}"'
            lines.append(f'<line {start} x2="{right}" y2="{middle + _HEIGHT // 2}" stroke="#8a8a8a"/>')
    return "\n".join(lines)


def _box(place: tuple[int, int], box: Mapping[str, Any]) -> str:
    left, top = place
    fill, stroke = ("#fde7e9", "#c50f1f") if box.get("bad") else ("#f3f9fd", "#2b6cb0")
    title, text = escape(_short(str(box["title"]))), escape(_short(str(box["text"])))
    whole = escape(f"{box['title']}: {box['text']}")
    return (
        f'<g><title>{whole}</title><rect x="{left}" y="{top}" width="{_WIDTH}" height="{_HEIGHT}" rx="4" fill="{fill}" '
        f'stroke="{stroke}"/><text x="{left + 8}" y="{top + 18}" font-weight="bold">{title}</text>'
        f'<text x="{left + 8}" y="{top + 35}">{text}</text></g>'
    )


def _short(text: str, limit: int = 36) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
