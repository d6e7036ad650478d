"""`make bisect`: twenty hunts of `git bisect run` with playbooks/files/bisect.sh for regressions planted in a small Go
program. Prints JSON: how many commits were found, and what a step costs beside the build.

In place of Ansible stands PUSH: it builds as push.yml does, runs the program as a node would, and leaves the same
notes.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "playbooks" / "files" / "bisect.sh"
HUNTS = 20
COMMITS = 24

PUSH = """#!/bin/sh
# winkube_build_dir and winkube_push_notes as bisect.sh passes them; what a node does is to start the program.
for word in "$@"; do
  case $word in
    winkube_build_dir=*) cd "${word#*=}" || exit 4 ;;
    winkube_push_notes=*) notes=${word#*=} ;;
  esac
done
begun=$(date +%s%N)
touch "$notes/unbuilt"
go build -o "$BUILT" . || exit 2
rm "$notes/unbuilt"
echo $(($(date +%s%N) - begun)) >> "$BUILD_TIMES"
"$BUILT" start || { touch "$notes/rolled-back"; exit 2; }
"""

TIMED = """#!/bin/sh
begun=$(date +%s%N)
"{script}" "$@"
status=$?
echo $(($(date +%s%N) - begun)) >> "$STEP_TIMES"
exit $status
"""

PROGRAM = """package main

import "os"

// %s
func main() {
	if len(os.Args) > 1 && os.Args[1] == "start" {
		%s
		return
	}
	%s
}
"""
KINDS = ("crashes", "answers wrongly")


@dataclass(frozen=True)
class Hunt:
    """The planted commit (1 is the first after the good one), what is wrong with it, and commits that do not build."""

    planted: int
    kind: str
    unbuildable: frozenset[int]


def plant(seed: int) -> Hunt:
    """None of the commits around the planted one is unbuildable: then git can tell it from its neighbours."""
    chance = random.Random(seed)
    planted = chance.randint(1, COMMITS)
    others = [number for number in range(1, COMMITS) if abs(number - planted) > 1]
    return Hunt(planted, KINDS[seed % len(KINDS)], frozenset(chance.sample(others, 3)))


def source(hunt: Hunt, number: int) -> str:
    """The program of a commit."""
    bad = number >= hunt.planted
    crash = "os.Exit(2)" if bad and hunt.kind == "crashes" else "// works"
    wrong = "os.Exit(1)" if bad and hunt.kind == "answers wrongly" else "// right"
    broken = "this is no Go" if number in hunt.unbuildable else wrong
    return PROGRAM % (f"commit {number}", crash, broken)


def hunt(one: Hunt, folder: Path) -> tuple[bool, list[float]]:
    """Whether git named the planted commit, and the seconds of each step beside its build."""
    repository, tools = folder / "src", folder / "bin"
    repository.mkdir()
    tools.mkdir()
    (tools / "ansible-playbook").write_text(PUSH)
    (tools / "ansible-playbook").chmod(0o755)
    timed = tools / "timed"
    timed.write_text(TIMED.format(script=SCRIPT))
    timed.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "BUILT": str(folder / "built"),
        "BUILD_TIMES": str(folder / "builds"),
        "STEP_TIMES": str(folder / "steps"),
        "CHECK": str(folder / "built"),
        "GOFLAGS": "-buildvcs=false",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }

    def git(*words: str) -> str:
        who = ("-c", "user.name=hunt", "-c", "user.email=hunt@example.com")
        done = subprocess.run(
            ["git", *who, *words], cwd=repository, env=environment, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    git("init", "-q")
    (repository / "go.mod").write_text("module example.com/standin\n\ngo 1.21\n")
    commits = []
    for number in range(COMMITS + 1):
        (repository / "main.go").write_text(source(one, number))
        git("add", "-A")
        git("commit", "-q", "-m", str(number))
        commits.append(git("rev-parse", "HEAD").strip())
    git("bisect", "start", commits[-1], commits[0])
    said = git("bisect", "run", str(timed))
    found = f"{commits[one.planted]} is the first bad commit" in said
    if not found:
        print(f"{one}: {said[-600:]}", file=sys.stderr)
    steps = [int(line) / 1e9 for line in (folder / "steps").read_text().split()]
    builds = [int(line) / 1e9 for line in (folder / "builds").read_text().split()]
    return found, [max(0.0, (sum(steps) - sum(builds)) / max(1, len(steps)))]


def main(arguments: Sequence[str]) -> int:
    hunts = int(arguments[0]) if arguments else HUNTS
    right, costs, begun = 0, [0.0], time.monotonic()
    for seed in range(1, hunts + 1):
        with TemporaryDirectory(prefix="winkube-bisect-") as name:
            found, beside = hunt(plant(seed), Path(name))
        right += found
        costs += beside
    figures = {"hunts": hunts, "right": right, "step_beside_build_s": round(max(costs), 2)}
    print(json.dumps({**figures, "seconds": round(time.monotonic() - begun)}))
    return 0 if right == hunts and max(costs) <= 10 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
