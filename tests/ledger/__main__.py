"""Holds plugins/plugin_utils/facts/kubernetes_fixes.json against the notes that Kubernetes publishes.

    python -m tests.ledger [RELEASE ...]

CHANGELOG-1.34.md and those after it are read out of the module archives of these releases (ARCHIVES without any), of
each line the longest. A release's notes are written after its tag: an archive of a line's own release ends one patch
before it, and that release is "not known yet", never "without fixes".

containerd's, hcsshim's and flannel's notes are written on their release pages: of what their modules hold (OTHERS), the
files with notes that speak of Windows are named, so that a change of that is seen. On 2026-11-29 there was none.

A candidate is a line about a bug in the notes of a final release that speaks of Windows, HNS or winkernel. It is in
the table, or in DECLINED with the reason; another one is printed as `not reviewed`. The last line is one JSON object.
Exit status 1 if a candidate was not reviewed, or the table says what the notes do not.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ansible_collections.winkube.node.plugins.plugin_utils.facts.kubernetes_fixes import FIXES, READ
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line, Version

from tests.go_modules import download, list_versions

MODULE = "k8s.io/kubernetes"
ARCHIVES = ("1.38.0-beta.0",)
"""An archive of a coming line holds the notes of all lines."""
LINES = tuple(READ)

OTHERS = ("github.com/containerd/containerd/v2", "github.com/Microsoft/hcsshim", "github.com/flannel-io/flannel")
"""Modules of a node's other programs. containerd's releases/*.toml have the preface of a release, not its changes."""

DECLINED: Mapping[int, str] = {
    135735: "kubectl's own: a kubeconfig of a node names no certificate authority by a relative path.",
    135843: "a library: hnslib's new calls, no fault of a node.",
    136689: "kubectl's own.",
    138879: "the image of a test.",
}
"""Pull requests of candidates that concern no node."""

_RELEASE = re.compile(r"# v(\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?)\s*")
_WINDOWS = re.compile(r"windows|\bHNS\b|winkernel", re.IGNORECASE)
_NOTES = re.compile(r"(?i)@v[^/]+/(releases/v[^/]+\.toml|(?:CHANGELOG|NEWS|RELEASE[-_]?NOTES)[^/]*)")
_PULL = re.compile(r"kubernetes/pull/(\d+)\)")


@dataclass(frozen=True)
class Note:
    """A line of the notes: the release, the pull request, the text."""

    release: Version
    pull: int
    text: str

    def __str__(self) -> str:
        return f"{self.release} #{self.pull}: {self.text.partition(' ([#')[0]}"


def final_releases(text: str) -> tuple[Version, ...]:
    """The final releases that a CHANGELOG has notes of, newest first."""
    found = (Version.parse(match[1]) for line in text.splitlines() if (match := _RELEASE.fullmatch(line)))
    return tuple(each for each in found if not each.pre)


def candidates(text: str) -> Iterator[Note]:
    """The lines of a CHANGELOG that may concern a node of Windows."""
    for release, section, words in _bullets(text):
        said = " ".join(words)
        pull = _PULL.search(said)
        if not release.pre and section.startswith("Bug") and pull and _WINDOWS.search(said):
            yield Note(release, int(pull[1]), said)


def _bullets(text: str) -> Iterator[tuple[Version, str, list[str]]]:
    """Each bullet below a release: its section, and its lines."""
    release: Version | None = None
    section, words = "", None
    for line in text.splitlines():
        starts = line.startswith(("#", "- "))
        if words is not None and release is not None and (starts or not line.startswith(" ")):
            yield release, section, words
            words = None
        if match := _RELEASE.fullmatch(line):
            release, section = Version.parse(match[1]), ""
        elif line.startswith("#"):
            section = line.strip("# ")
        elif line.startswith("- "):
            words = [line[2:]]
        elif words is not None:
            words.append(line.strip())
    if words is not None and release is not None:
        yield release, section, words


def read_archives(releases: Iterable[str]) -> Mapping[Line, str]:
    """The longest CHANGELOG of each line of LINES that the archives have."""
    found: dict[Line, str] = {}
    for release in releases:
        with zipfile.ZipFile(download(f"{MODULE}@v{release}", "Zip")) as archive:
            names = set(archive.namelist())
            for line in LINES:
                name = f"{MODULE}@v{release}/CHANGELOG/CHANGELOG-{line}.md"
                if name in names:
                    text = archive.read(name).decode("utf-8")
                    if len(final_releases(text)) > len(final_releases(found.get(line, ""))):
                        found[line] = text
    return found


def listed() -> tuple[Version, ...]:
    """The final releases of LINES that the module proxy lists."""
    return tuple(each for each in list_versions(MODULE) if not each.pre and each.line in LINES)


def describe_other(module: str) -> str:
    """What the newest archive of another module holds of notes, in a sentence."""
    newest = max(each for each in list_versions(module) if not each.pre)
    with zipfile.ZipFile(download(f"{module}@v{newest}", "Zip")) as archive:
        return f"{module} {newest}: {describe_notes(archive)}"


def describe_notes(archive: zipfile.ZipFile) -> str:
    """How many files of an archive have notes of releases of its own major version, and which speak of Windows."""
    found = [name for name in archive.namelist() if _NOTES.search(name)]
    major = found[0].partition("@v")[2].partition(".")[0] if found else ""
    own = [name for name in found if "/releases/" not in name or f"/releases/v{major}." in name]
    spoken = [name for name in own if _WINDOWS.search(archive.read(name).decode("utf-8", errors="replace"))]
    said = ", ".join(name.partition("@v")[2].partition("/")[2] for name in spoken)
    count = f"{len(own)} files of notes in the module"
    return f"{count}, of Windows speak {said}" if said else f"{count}, none speaks of Windows"


def faults(texts: Mapping[Line, str], notes: Sequence[Note]) -> Iterator[str]:
    """What the table says and the notes do not, and what nobody has reviewed; a sentence each."""
    for line, last in READ.items():
        newest = max((each.patch for each in final_releases(texts.get(line, ""))), default=None)
        if newest != last:
            yield f"READ has {line}.{last}; the notes end with {line}.{newest}."
    noted = {(each.release, each.pull) for each in notes}
    kept = {(release, pull) for fix in FIXES for release, pull in fix.mended.items()}
    for release, pull in sorted(kept - noted):
        yield f"The table has #{pull} in {release}; the notes of {release} do not."
    for note in notes:
        if (note.release, note.pull) not in kept and note.pull not in DECLINED:
            yield f"not reviewed: {note}"


def main(arguments: Sequence[str]) -> int:
    texts = read_archives(arguments or ARCHIVES)
    notes = [note for line in LINES for note in candidates(texts.get(line, ""))]
    for note in notes:
        print(f"{'-' if note.pull in DECLINED else '+'} {note}")
    read = {each for text in texts.values() for each in final_releases(text)}
    for module in OTHERS:
        print(describe_other(module))
    unknown = sorted(set(listed()) - read)
    found = list(faults(texts, notes))
    for sentence in found:
        print(sentence, file=sys.stderr)
    figures = {"releases": len(read), "lines": len(notes), "kept": len(FIXES)}
    print(json.dumps(figures | {"not_known_yet": [str(each) for each in unknown]}))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
