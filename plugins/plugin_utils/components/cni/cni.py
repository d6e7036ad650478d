# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CNI plugins that connect pods on a flannel node, and CNI's folders.

With `managed_by: cluster` the cluster's DaemonSet fills the folders. Then nothing is written into them, and nothing in
them is checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...engine import windows_path
from ...engine.batch import Batch, flatten
from ...engine.reading import Expectation, Query, Reading, file_query, system_query
from ...engine.resource import Refused, Resource
from ...engine.resources.directory import guard_always
from ...engine.resources.programs import Programs, Source
from ...facts import cni as facts
from ...facts.version import Version
from ..kubernetes_fit import release
from ..layout import Layout
from ..stage import First
from .conf import FILE

NAME = "cni"
PLUGINS, FLANNEL = "cni-plugins", "flannel-cni"
"""Names of the two sources in messages, in receipts and in winkube_allow_unverified."""

CONFIGURATIONS = (".conf", ".conflist", ".json")
"""Endings that containerd reads as configurations. Source: containerd go-cni opts.go, loadFromConfDir."""


@dataclass(frozen=True, slots=True)
class CniArgs:
    """Checked arguments of win_cni. `flannel_archive`: flannel's plugin comes in an archive, not as a program.
    Without sources (`managed_by: cluster`) only the folders are made. `mark` is the batch's id."""

    layout: Layout
    plugins: Source | None = None
    flannel: Source | None = None
    flannel_archive: bool = True
    mark: str = ""


def plugins_version(text: str) -> Version:
    """The release of the plugins. Refused if it is not a version, or older than every release known here."""
    version = release(text, "winkube_cni_plugins_version")
    if not facts.cni_versions(version):
        oldest = facts.CNI_VERSIONS[0].since
        raise Refused(f"winkube_cni_plugins_version: {version} is older than {oldest}, the oldest known here.")
    return version


def build_resources(args: CniArgs) -> tuple[Resource, ...]:
    """The two folders, and the plugins unless the cluster brings them."""
    layout = args.layout
    programs: list[Resource] = []
    if args.plugins is not None:
        programs.append(_plugins(layout, args.plugins, args.mark))
    if args.flannel is not None:
        programs.append(_flannel(layout, args.flannel, args.mark, archive=args.flannel_archive))
    return (*guard_always(layout.cni_bin_dir, layout.cni_conf_dir), *programs)


def stage_first(component: str, resources: Iterable[Resource], reading: Reading) -> Batch | None:
    """A batch of downloads only, if the origin of the present programs is unknown: their hashes then tell whether to
    replace them."""
    unproven = [
        each
        for each in resources
        if isinstance(each, Programs) and each.is_unproven(reading) and not each.is_staged(reading)
    ]
    if not unproven:
        return None
    return Batch(
        component,
        flatten(programs.stage() for programs in unproven),
        pre=(Expectation(system_query(), (("machine", reading.machine),)),),
        state=tuple(query for programs in unproven for query in programs.list_staged_queries()),
    )


COMPARED = First(lambda given, resources: stage_first(given.name, resources, given.reading))
"""Programs of unknown origin are downloaded and compared before they are replaced."""


def strangers(layout: Layout, reading: Reading) -> tuple[str, ...]:
    """Configurations beside cni.conf, one sentence each: containerd uses only the first by name."""
    entries = reading.file(layout.cni_conf_dir).get("entries") or ()
    found = sorted(
        str(name) for name in entries if str(name).casefold() != FILE and str(name).casefold().endswith(CONFIGURATIONS)
    )
    sentences = []
    for name in found:
        # Go sorts by bytes: upper case before lower case.
        wins = "which is used" if name < FILE else f"which is used as soon as {FILE} is gone"
        sentences.append(
            f"{windows_path.join(layout.cni_conf_dir, name)} is another network configuration, {wins}: containerd uses "
            "the first by name. Remove the unwanted one."
        )
    return tuple(sentences)


def reads(layout: Layout) -> tuple[Query, ...]:
    """Everything that `build_resources` and `strangers` read, whatever the other arguments."""
    source = Source("", None, "")
    resources = build_resources(CniArgs(layout, source, source))
    return (
        *(query for resource in resources for query in resource.reads()),
        file_query(layout.cni_conf_dir, entries=True),
    )


def _plugins(layout: Layout, source: Source, mark: str) -> Programs:
    files = tuple((name, windows_path.join(layout.cni_bin_dir, name)) for name in facts.MEMBERS)
    return Programs(PLUGINS, source, files, layout.state_dir, mark[:8])


def _flannel(layout: Layout, source: Source, mark: str, *, archive: bool) -> Programs:
    member = facts.FLANNEL_MEMBER if archive else ""
    files = ((member, windows_path.join(layout.cni_bin_dir, facts.FLANNEL_PLUGIN)),)
    return Programs(FLANNEL, source, files, layout.state_dir, mark[:8])
