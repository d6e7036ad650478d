"""Says which releases that the project names are not the newest of their line any more.

    python -m tests.newest

Looked at: what the roles install by default, what tests/real/build.py builds for Windows, and the releases that the
tables of facts were read at. The newest is what the module proxy lists; of Kubernetes also what the notes of its newest
archive name, since the proxy may list less; of flannel's CNI plugin, which the proxy does not have, what flannel's own
manifest installs. A release of a project with long lines (LINES) is held against its own line, and a pre-release only
against other releases. What is built or read comes through the proxy: its newest is the newest that the proxy gives
out, which may be less than the notes name. What stays behind for a reason (HELD of tests/real/build.py) says it on its
line. The last line is one JSON object; what nobody could say is on the error output.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ansible_collections.winkube.node.plugins.plugin_utils.facts.kubernetes import SUPPORTED
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line, Version

from tests.go_modules import ModuleMissing, download, has_version, list_versions, parse_versions
from tests.ledger.__main__ import final_releases, read_archives
from tests.pins.__main__ import RELEASE_OF, defaults
from tests.real.build import HELD, KUBERNETES, PROJECTS, ROOT, WINDOWS

TABLES = ("feature_gates.txt", "kubelet_fields.txt")
"""Tables whose head names the releases of Kubernetes that they were read at."""
LINES = frozenset({"containerd", "kubernetes"})
FLANNEL = "github.com/flannel-io/flannel"
MANIFEST = "Documentation/kube-flannel.yml"
_PLUGIN = re.compile(r"flannel-cni-plugin:v(\S+)")
_RELEASE = re.compile(r"\bv(1\.\d+\.\d+)\b")


@dataclass(frozen=True)
class Named:
    """A release that the project names, and where. `module` is empty for what no module is known for. `fetched`: it
    comes through the proxy. `held`: why it stays at this release."""

    where: str
    project: str
    release: Version
    module: str = ""
    fetched: bool = False
    held: str = ""


def by_default() -> Iterator[Named]:
    """What the roles install by default."""
    known = defaults()
    for variable, project in RELEASE_OF.items():
        if known[variable]:
            yield _named(variable, project, str(known[variable]))


def built() -> Iterator[Named]:
    """What is built for Windows: the newest of each project, of each line of LINES that is still maintained."""
    found: dict[tuple[str, Line | None], Version] = {}
    for project, release, _programs in WINDOWS:
        version = Version.parse(release)
        line = version.line if project in LINES else None
        if project != "kubernetes" or version.line in SUPPORTED:
            found[project, line] = max(found.get((project, line), version), version)
    for (project, _line), version in found.items():
        named = _named("tests/real/build.py", project, str(version))
        yield replace(named, fetched=True, held=HELD.get(project, ""))


def read_at(folder: Path = ROOT / "plugins" / "plugin_utils" / "facts") -> Iterator[Named]:
    """The newest release of each maintained line that a table was read at."""
    for name in TABLES:
        head = "".join(
            line for line in (folder / name).read_text(encoding="utf-8").splitlines() if line.startswith("#")
        )
        releases = [Version.parse(each) for each in _RELEASE.findall(head)]
        for line in SUPPORTED:
            own = [each for each in releases if each.line == line]
            newest = max(own, default=Version.parse(f"{line}.0-0"))
            yield Named(name, "kubernetes", newest, KUBERNETES, fetched=True)


def _named(where: str, project: str, release: str) -> Named:
    known = PROJECTS.get(project)
    return Named(where, project, Version.parse(release), known.module_of(release) if known else "")


@cache
def is_given_out(module: str, release: Version) -> bool:
    """Whether the proxy has this release, listed or not."""
    return has_version(f"{module}@v{release}")


@cache
def noted() -> tuple[Version, ...]:
    """The releases of Kubernetes that the notes in its newest listed archive name."""
    newest = max(list_versions(KUBERNETES), default=None)
    return (
        ()
        if newest is None
        else tuple(each for text in read_archives([str(newest)]).values() for each in final_releases(text))
    )


@cache
def of_manifest() -> tuple[Version, ...]:
    """flannel's CNI plugin, as the newest flannel's own manifest installs it."""
    newest = max(list_versions(FLANNEL), default=None)
    if newest is None:
        return ()
    try:
        manifest = download(f"{FLANNEL}@v{newest}") / MANIFEST
    except ModuleMissing:
        return ()
    return parse_versions(_PLUGIN.findall(manifest.read_text(encoding="utf-8")))


def find_newest(named: Named) -> Version | None:
    """None where nobody says it. A build of flannel's plugin is told by what follows its number."""
    if named.project == "flannel-cni" and not named.fetched:
        return max(of_manifest(), default=None)
    known = (*list_versions(named.module), *(noted() if named.project == "kubernetes" else ())) if named.module else ()
    same = [each for each in known if named.project not in LINES or each.line == named.release.line]
    newer = sorted({each for each in same if not each.pre or named.release.pre}, reverse=True)
    if named.fetched:
        return next((each for each in newer if each <= named.release or is_given_out(named.module, each)), None)
    return next(iter(newer), None)


def main() -> int:
    found = [*by_default(), *built(), *read_at()]
    newest: Mapping[Named, Version | None] = {each: find_newest(each) for each in found}
    behind = [(each, last) for each, last in newest.items() if last is not None and each.release < last]
    for each in found:
        if newest[each] is None:
            print(f"{each.where}: {each.project} {each.release}: the proxy has no list of it.", file=sys.stderr)
    for each, last in behind:
        print(f"{each.where}: {each.project} {each.release}, newest {last}{f' ({each.held})' if each.held else ''}")
    checked = sum(last is not None for last in newest.values())
    told = [f"{each.where}: {each.project} {each.release} < {last}" for each, last in behind if not each.held]
    print(json.dumps({"checked": checked, "behind": told}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
