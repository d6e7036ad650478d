"""Writes docs/versions.md from the tables in plugins/plugin_utils/facts.

    python tests/unit/facts/versions_page.py

test_versions_page.py fails while the page is not what this writes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "versions.md"

INTRODUCTION = """\
<!-- Written by tests/unit/facts/versions_page.py from plugins/plugin_utils/facts: change the tables, not this page. -->
# Versions

A question mark marks a value that was concluded or taken from a neighbouring version. Everything else was read in the
source or documentation of the release, as the tables in `plugins/plugin_utils/facts` state.
"""

KUBERNETES = """\
## Kubernetes

The collection configures Kubernetes {oldest} to {newest}, each with the flags and feature gates of its release.
Upstream maintains {supported}. Older lines are listed so that mistakes with them can be named.

The column `containerd` is what containerd recommends for this Kubernetes. An older release gets a warning. Refused
are pairs that cannot work: no common CRI version, or containerd 1.x after Kubernetes {last}. The pause image is the
one for Windows nodes; if its tag has no manifest for a node's build of Windows, the next tag that has one is used.
"""

FIXES = """\
## What Kubernetes has mended on Windows

By release notes read up to {read};
what came later is not known yet. Where the wanted release lacks something of this table that a later one of its line
has, and it concerns the node, a run of site.yml says so, once. `explain` and `diagnose` name these releases for what
they read. Of containerd, hcsshim and flannel there is no row: their notes are on their release pages, not in their
modules, and of what the modules do have (containerd's prefaces) nothing speaks of Windows; `make ledger` looks again.
"""

CONTAINERD = """\
## containerd

Releases before {minimum} are refused. The role installs {default} by default and writes config.toml in the version
in bold. Your own template may use another listed version; containerd then migrates it at each start. From the
release in the last column on, containerd reads the address for traces from the service's environment, not from
config.toml.
"""

PAUSE = """\
## Pause images

`registry.k8s.io/pause` has every tag. Microsoft's copy has signed programs; choose it with
`winkube_pause_image_source: microsoft`.
"""

WINDOWS = """\
## Windows Server

A node runs images (process isolation) of the builds in the last column: before Windows Server 2022 only its own
build, from then on those from the previous LTSC release to its own. containerd up to 1.6.22, and 1.7.0 to 1.7.5,
needs the node's own build on every Windows. A Windows without images of its own, such as 23H2, uses those of 2022.
"""


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    lines = [tuple(header), *(tuple(row) for row in rows)]
    lines.insert(1, tuple("---" for _ in lines[0]))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def doubt(unverified: bool) -> str:
    """The mark of an entry that could not be verified."""
    return " ?" if unverified else ""


def page() -> str:
    """The whole page."""
    from ansible_collections.winkube.node.plugins.plugin_utils.facts import (
        containerd,
        flags,
        kubernetes,
        kubernetes_fixes,
        windows,
    )

    supported = [str(line) for line in kubernetes.SUPPORTED]
    return "\n".join(
        (
            INTRODUCTION,
            KUBERNETES.format(
                oldest=flags.OLDEST,
                newest=flags.NEWEST,
                supported=f"{', '.join(supported[:-1])} and {supported[-1]}",
                last=kubernetes.LAST_FOR_CONTAINERD_1,
            ),
            table(
                ("Kubernetes", "CRI", "containerd", "pause image", "Windows Server"),
                (
                    (
                        f"{row.line}{doubt(row.unverified)}",
                        ", ".join(row.cri),
                        ", ".join(f"{first}+" for first in row.containerd) or "-",
                        f"`{row.pause}`",
                        ", ".join(_hosts(row.line)),
                    )
                    for row in reversed(kubernetes.KUBERNETES_LINES)
                ),
            ),
            FIXES.format(read=", ".join(f"{line}.{last}" for line, last in kubernetes_fixes.READ.items())),
            table(
                ("program", "without it", "concerns", "mended in"),
                (
                    (
                        each.program,
                        each.breaks,
                        each.network or each.gate or ("Services of two families" if each.two_families else "all"),
                        ", ".join(
                            f"[{release}](https://github.com/kubernetes/kubernetes/pull/{pull})"
                            for release, pull in each.mended.items()
                        ),
                    )
                    for each in kubernetes_fixes.FIXES
                ),
            ),
            CONTAINERD.format(minimum=containerd.MINIMUM, default=kubernetes.DEFAULT_CONTAINERD),
            table(
                ("containerd", "config.toml", "CRI", "supported until", "traces"),
                (
                    (
                        f"{row.line}{doubt(row.unverified)}",
                        " or ".join(f"**{v}**" if v == row.config_version else str(v) for v in sorted(row.places)),
                        ", ".join(row.cri),
                        row.ends + (" (long-term)" if row.long_term else ""),
                        str(row.tracing_since) if row.tracing_since else "-",
                    )
                    for row in reversed(containerd.RELEASE_LINES)
                ),
            ),
            PAUSE,
            table(
                ("tag", "Windows builds", "Microsoft's copy"),
                (
                    (
                        f"`{image.tag}`{doubt(image.unverified)}",
                        ", ".join(str(build) for build in image.builds),
                        f"`{image.microsoft}:{image.tag}`" if image.microsoft else "-",
                    )
                    for image in reversed(kubernetes.PAUSE_IMAGES)
                ),
            ),
            WINDOWS,
            table(
                ("release", "version", "channel", "runs images of"),
                (
                    (
                        f"{release.name}{doubt(release.unverified)}",
                        f"10.0.{release.build}",
                        release.channel,
                        windows.describe_images(release.build),
                    )
                    for release in reversed(windows.WINDOWS_RELEASES)
                ),
            ),
        )
    )


def _hosts(line: Line) -> Iterable[str]:
    from ansible_collections.winkube.node.plugins.plugin_utils.facts.windows import HOST_SUPPORT, find_release

    supports = {build: row.unverified for row in HOST_SUPPORT if row.first <= line <= row.last for build in row.builds}
    for build, unverified in sorted(supports.items()):
        release = find_release(build)
        assert release is not None
        name = release.name.removeprefix("Windows Server").removeprefix(", version").strip()
        yield f"{name}{doubt(unverified)}"


if __name__ == "__main__":
    from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionFinder

    _AnsibleCollectionFinder(paths=[str(ROOT / ".venv" / "collections")])._install()
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE} written", file=sys.stderr)
