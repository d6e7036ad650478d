"""Of which commit the nightly run (`make check-whole`) was green: a release is made of no other.

    python -m tests.release.nightly        # at the end of a green run: notes the commit, where nothing else was checked

The exhaustive tests run at night alone, so a commit of which only `make check` was green may be broken.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTE = Path(".cache") / "nightly"
"""The commit, in the clone that was checked; no part of it."""


def _git(tree: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=tree, check=True, capture_output=True, text=True).stdout.strip()


def note(tree: Path) -> str:
    """Note the commit of a tree whose run was green; what was done, a sentence."""
    if _git(tree, "status", "--porcelain"):
        return "The run was green, with changes that are not committed: it counts for no release."
    commit = _git(tree, "rev-parse", "HEAD")
    (tree / NOTE).parent.mkdir(exist_ok=True)
    (tree / NOTE).write_text(f"{commit}\n", encoding="utf-8")
    return f"The run was green: a release may be made of {commit}."


def objection(tree: Path) -> str:
    """Why the commit of a tree is no release yet; empty where its run was green."""
    commit = _git(tree, "rev-parse", "HEAD")
    noted = (tree / NOTE).read_text(encoding="utf-8").strip() if (tree / NOTE).is_file() else ""
    if noted == commit:
        return ""
    last = f"the last one that was green here is of {noted}" if noted else "none was green here"
    return f"There is no green nightly run of {commit}: {last}. Run make check-whole on it."


if __name__ == "__main__":
    print(note(ROOT))
