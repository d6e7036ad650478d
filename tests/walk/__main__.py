"""`make walk`: all pages and the fleet, or those that are named."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.integration.lab import ROOT, Bench
from tests.walk import Page, Place, Walk, forgotten
from tests.walk.fleet import NAME, walk_fleet
from tests.walk.pages import MORE, PAGES


def walk_page(place: Place, page: Page) -> None:
    folder = place.root / page.folder
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(Path(directory), warm=False)
        try:
            walk = Walk(place, ROOT / page.path, folder, bench)
            page.before(walk)
            for step in (*page.steps, *MORE.get(page.path, ())):
                if step.left_out:
                    place.left_out.append(step.command)
                    print(f"-      {page.path}: {step.command}: {step.left_out}")
                    continue
                if step.first:
                    step.first(walk)
                walk.execute(step.command, step.status)
        finally:
            bench.close()


def main(named: Sequence[str]) -> int:
    """0 if every command of the pages ended as they say, and of the fleet nothing is shown wrong; of all where none is
    named."""
    if strange := set(named) - {NAME} - {page.path for page in PAGES}:
        print(f"walk: {', '.join(sorted(strange))}: not in the walk; it has {NAME} and those of tests/walk/pages.py.")
        return 1
    if unknown := [each for page in PAGES for each in forgotten(page)]:
        print("\n".join(unknown))
        return 1
    with tempfile.TemporaryDirectory(prefix="walk-") as root:
        place = Place(Path(root))
        place.make()
        print(place.must(str(place.scripts / "ansible"), "--version").splitlines()[0], flush=True)
        chosen = [page for page in PAGES if not named or page.path in named]
        for page in chosen:
            walk_page(place, page)
        shown = walk_fleet(place) if not named or NAME in named else None
    found = {
        "pages": len(chosen),
        "commands": place.executed,
        "failed": len(place.failed),
        "left_out": len(place.left_out),
    }
    print(json.dumps(found | (shown.counts() if shown is not None else {})))
    return 1 if place.failed or (shown is not None and shown.wrong) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
