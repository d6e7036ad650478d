"""What people ask in public, put to the site's own search: python -m tests.quality.site.asked [SITE]

Prints each of asked.yml for which no answer is among the first three hits, and last one JSON object: `questions` and
`pasted` are how many were asked, `in_first_three` and `in_first_three_pasted` how many have an answer among the first
three pages; null where there is no Node.js to run the search. `unseen` has the same of asked_unseen.yml, on which
nothing is tuned, so what is not found of it is not shown.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

HERE = Path(__file__).parent
SITE = HERE.parents[2] / "build" / "site"
FIRST = 3
TUNED, UNSEEN = "asked.yml", "asked_unseen.yml"
"""Two sets: pages and search were made better with the first, and never with the second."""


@dataclass(frozen=True)
class Asked:
    """A question or a message as somebody wrote it `at` a public address; pages or headings of pages that answer it."""

    asked: str
    at: str
    answers: tuple[str, ...]

    def is_answered(self, hits: Sequence[Sequence[str]]) -> bool:
        """Whether an answer is among the first hits: each hit is a page and its headings, the best first. A heading
        has to be the first one of its page that is shown."""
        shown = [place for page in hits[:FIRST] for place in _shown(page)]
        return any(answer in shown for answer in self.answers)


def _shown(page: Sequence[str]) -> list[str]:
    """A page, and its heading that fits best."""
    headings = [place for place in page if "#" in place]
    return [page[0].partition("#")[0], *headings[:1]]


def read_asked(kind: str, table: str = TUNED) -> list[Asked]:
    """`questions` or `pasted` of a set."""
    rows = yaml.safe_load((HERE / table).read_text(encoding="utf-8"))[kind]
    return [Asked(row["asked"], row["at"], tuple(row["answers"])) for row in rows]


def search(site: Path, questions: Sequence[str]) -> list[list[list[str]]]:
    """For each question what the browser would show: pages, best first, each as the places in it that were found."""
    (worker,) = site.glob("assets/javascripts/workers/search.*.min.js")
    command = ["node", str(HERE / "search.js"), str(worker), str(site / "search" / "search_index.json")]
    ran = subprocess.run(command, input=json.dumps(questions), capture_output=True, text=True, check=True, timeout=120)
    found: list[list[list[str]]] = json.loads(ran.stdout)
    return found


def count(site: Path, table: str, *, shows: bool) -> dict[str, int | None]:
    """How many of a table have an answer among the first hits; `shows` prints the others."""
    counts: dict[str, int | None] = {}
    has_node = shutil.which("node") is not None
    for kind, answered in (("questions", "in_first_three"), ("pasted", "in_first_three_pasted")):
        asked = read_asked(kind, table)
        counts |= {kind: len(asked), answered: None}
        if not has_node:
            continue
        found = list(zip(asked, search(site, [each.asked for each in asked]), strict=True))
        counts[answered] = sum(each.is_answered(hits) for each, hits in found)
        for each, hits in found if shows else ():
            if not each.is_answered(hits):
                shown = ", ".join(" ".join(_shown(page)) for page in hits[:FIRST]) or "nothing"
                print(f"{each.asked}\n  found: {shown}\n  wanted: {', '.join(each.answers)}")
    return counts


def main(site: Path) -> int:
    """Put all of them, print what of the first set is not answered, and the counts."""
    print(json.dumps(count(site, TUNED, shows=True) | {"unseen": count(site, UNSEEN, shows=False)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else SITE))
