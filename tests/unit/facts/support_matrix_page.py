"""docs/support-matrix.md as `make generate` writes it: what the planning answers for each combination."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tests.unit.facts.versions_page import doubt, table

ROOT = Path(__file__).resolve().parents[3]
if TYPE_CHECKING:
    from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line, Version
    from ansible_collections.winkube.node.plugins.plugin_utils.facts.windows import WindowsRelease

PAGE = ROOT / "docs" / "support-matrix.md"
MODES = ("l2bridge", "overlay")
LAST_REVISION = 9999

INTRODUCTION = """\
<!-- Written by `make generate` from plugins/plugin_utils/facts and the components' declarations: change those. -->
# Support matrix

What the collection answers for each combination, before it touches a machine. The cells are not written down: they are
asked of the code that plans a node (`components/node_fit.py`, `facts/kubernetes.py`, `components/service.py`).

| in a cell | meaning |
|---|---|
| yes, or a tag of the pause image | supported, without a warning |
| warns | done, with a warning: upstream does not test this pair or support it fully |
| unsupported | refused: Kubernetes does not support it. `winkube_allow_unsupported_os: true` tries it anyway |
| no node | refused, whatever is set: this Windows cannot be a Kubernetes node |
| no image | refused: there is no pause image for this Windows |
| refused | refused, whatever is set |
| no | refused: this program does not run under this service manager |
| ? | taken from a neighbouring version or concluded; unverified |

[versions.md](versions.md) has the versions behind each cell, [windows-support.md](windows-support.md) why a Windows is
refused, [molecule.md](molecule.md) which combinations run as scenarios, the [README](../README.md) what was run where.
"yes" means that the versions go together according to their sources.
"""

WINDOWS = """\
## Kubernetes, Windows, pause image

For an up-to-date Windows. A cell has the tag of the pause image that is used.
"""

CONTAINERD = """\
## Kubernetes and containerd

For the newest release of each line of containerd.
"""

IMAGES = """\
## Node and image

Containers run in process isolation. Which image starts on which node, with containerd 1.6.23, 1.7.6 or newer; older
ones start only images of the node's own build.
"""

NETWORK = """\
## Network mode and Windows

l2bridge is flannel's host-gw, overlay its vxlan, calico [Calico's VXLAN](calico.md), which its operator brings. The
collection does not touch another CNI that the cluster brings (`winkube_cni_managed_by: cluster`), such as Antrea.
Cilium has no Windows part.
"""

MANAGERS = """\
## Program and service manager
"""

OTHERS = """\
## Other runtimes

| runtime | Kubernetes | |
|---|---|---|
| Docker by dockershim | before 1.24 | out of scope: no role installs Docker, see [molecule.md](molecule.md) |
| Docker by dockershim | 1.24 and newer | refused: removed |
| Mirantis Container Runtime | all | recognised, not installed: [windows-support.md](windows-support.md) |
"""


def releases() -> Iterator[WindowsRelease]:
    from ansible_collections.winkube.node.plugins.plugin_utils.facts.windows import WINDOWS_RELEASES

    yield from WINDOWS_RELEASES


def lines() -> list[Line]:
    """Those whose programs are configured, newest first."""
    from ansible_collections.winkube.node.plugins.plugin_utils.facts import flags, kubernetes

    return [row.line for row in reversed(kubernetes.KUBERNETES_LINES) if row.line >= flags.OLDEST]


def host_cell(line: Line, build: int) -> str:
    """Kubernetes on this Windows, by the planning."""
    from ansible_collections.winkube.node.plugins.plugin_utils.components.host import node_fit
    from ansible_collections.winkube.node.plugins.plugin_utils.components.host.options import HostOptions
    from ansible_collections.winkube.node.plugins.plugin_utils.facts import kubernetes, windows

    machine = node_fit.Machine(build, LAST_REVISION)
    fit = node_fit.problems(machine, HostOptions(kubernetes_version=f"{line}.0"))
    if any("cannot be a Kubernetes node" in text for text in fit.refusals):
        return "no node"
    if any("does not support" in text for text in fit.refusals):
        return "unsupported"
    if fit.refusals:
        return "no image"
    tag = kubernetes.pause_image(line, "kubernetes", build).rpartition(":")[2]
    support = [row for row in windows.HOST_SUPPORT if row.first <= line <= row.last and build in row.builds]
    image = next(each for each in kubernetes.PAUSE_IMAGES if each.tag == tag)
    word = "warns, " if any("fully supports only" in text for text in fit.warnings) else ""
    return f"{word}`{tag}`{doubt(all(row.unverified for row in support) or image.unverified)}"


def newest(line: Line) -> Version:
    """A release of a line of containerd that is newer than all that a table names."""
    from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Version

    return Version.parse(f"{line}.99")


def pair_cell(kubernetes_line: Line, containerd_line: Line) -> str:
    from ansible_collections.winkube.node.plugins.plugin_utils.facts import kubernetes

    verdict, _sentence = kubernetes.pair(kubernetes_line, newest(containerd_line))
    row = kubernetes.kubernetes_line(kubernetes_line)
    word = {"fits": "yes", "untested": "warns", "refused": "refused"}[verdict]
    return f"{word}{doubt(verdict == 'fits' and row is not None and not row.containerd)}"


def network_cell(mode: str, build: int) -> str:
    from ansible_collections.winkube.node.plugins.plugin_utils.components.host import node_fit
    from ansible_collections.winkube.node.plugins.plugin_utils.components.host.options import (
        HostOptions,
        NetworkOptions,
    )
    from ansible_collections.winkube.node.plugins.plugin_utils.facts.windows import OLDEST_BUILD, overlay_floor

    if build < OLDEST_BUILD:
        return "no node"
    wanted = HostOptions(network=NetworkOptions(mode=mode))
    first = node_fit.problems(node_fit.Machine(build, 0), wanted).refusals
    last = node_fit.problems(node_fit.Machine(build, LAST_REVISION), wanted).refusals
    floor = overlay_floor(build)
    if last:
        return "refused"
    if first and floor is not None:
        return f"from 10.0.{build}.{floor.revision} ({floor.update}), before that refused"
    return "yes"


def manager_cell(program: str, manager: str) -> str:
    from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import DAEMONS
    from ansible_collections.winkube.node.plugins.plugin_utils.components.service import Running, service_of
    from ansible_collections.winkube.node.plugins.plugin_utils.components.shared_options import ServiceOptions
    from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused

    from tests.unit.components.nodes import LAYOUT

    kind, running = DAEMONS[program].kind, Running(options=ServiceOptions(manager=manager))
    try:
        service_of(program, DAEMONS[program], LAYOUT, running, arguments=(), ready=())
    except Refused:
        return "no"
    return f"yes{', the default' if kind.managers[0] == manager else ''}{doubt(kind.unverified)}"


def page() -> str:
    """The whole page."""
    from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import DAEMONS
    from ansible_collections.winkube.node.plugins.plugin_utils.facts import containerd, windows
    from ansible_collections.winkube.node.plugins.plugin_utils.facts.windows import short_name

    hosts = list(reversed(list(releases())))
    runtimes = [row.line for row in reversed(containerd.RELEASE_LINES)]
    managers = ("nssm", "sc", "registered")
    return "\n".join(
        (
            INTRODUCTION,
            WINDOWS,
            table(
                ("Kubernetes", *(f"{short_name(host.build)} ({host.build})" for host in hosts)),
                ((str(line), *(host_cell(line, host.build) for host in hosts)) for line in lines()),
            ),
            CONTAINERD,
            table(
                ("Kubernetes", *(str(line) for line in runtimes)),
                ((str(line), *(pair_cell(line, runtime) for runtime in runtimes)) for line in lines()),
            ),
            IMAGES,
            table(
                ("node", *(f"image of {short_name(image.build)}" for image in hosts)),
                (
                    (
                        f"{host.name} ({host.build})",
                        *("yes" if windows.runs_image(host.build, image.build) else "-" for image in hosts),
                    )
                    for host in hosts
                ),
            ),
            NETWORK,
            table(
                ("Windows", *MODES),
                (
                    (f"{host.name} ({host.build})", *(network_cell(mode, host.build) for mode in MODES))
                    for host in hosts
                ),
            ),
            MANAGERS,
            table(
                ("program", "nssm", "sc.exe", "by itself"),
                ((f"`{program}`", *(manager_cell(program, each) for each in managers)) for program in DAEMONS),
            ),
            OTHERS,
        )
    )
