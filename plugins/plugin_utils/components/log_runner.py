# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kube-log-runner.exe, which writes the logs of kubelet and kube-proxy if sc.exe made their services.

A component whose service runs under sc includes these resources.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..engine import windows_path
from ..engine.reading import Query, Reading, file_key
from ..engine.resource import Change, Refused, Resource
from ..engine.resources.directory import guard_always
from ..engine.resources.programs import Programs, Source
from ..facts import service_wrappers as facts
from .kubernetes_fit import release
from .layout import Layout
from .shared_options import LogOptions
from .source import ReadUrl, source

NAME = "kube-log-runner"


@dataclass(frozen=True, slots=True)
class LogRunnerThere:
    """kube-log-runner.exe must already be at `path`; nothing changes."""

    path: str

    @property
    def label(self) -> str:
        """The path."""
        return self.path

    def reads(self) -> tuple[Query, ...]:
        """Whether it is there."""
        return (Query(file_key(self.path), "file", (("path", self.path),)),)

    def change(self, reading: Reading) -> Change | None:
        """Never a change. Refused if it is missing."""
        if not reading.file(self.path).get("exists"):
            raise Refused(
                f"{NAME}: there is no {self.path}, and log_runner_source.url is empty. Put {NAME}.exe of Kubernetes "
                f"{facts.LOG_RUNNER_ROTATES} or newer there, or set winkube_log_runner_url to install it."
            )
        return None


def find_source(
    *,
    version: str,
    url: str,
    checksum: str,
    proxy: str | None,
    unverified: Collection[str],
    read_url: ReadUrl,
) -> Source | None:
    """The requested source; None for an empty URL: the program is there already. Refused for an invalid release, and
    for one without rotation."""
    wanted = release(version, "winkube_log_runner_version")
    if wanted.line < facts.LOG_RUNNER_ROTATES:
        raise Refused(
            f"winkube_log_runner_version: {NAME} {wanted} has no limit for its log, which grows until the disk is "
            f"full. Take {facts.LOG_RUNNER_ROTATES} or newer; it runs programs of older releases as well."
        )
    if not url:
        return None
    return source(
        component=NAME,
        version=str(wanted),
        url=url,
        checksum=checksum,
        unverified=unverified,
        read_url=read_url,
        proxy=proxy,
    )


def build_resources(layout: Layout, wanted: Source | None, mark: str) -> tuple[Resource, ...]:
    """kube-log-runner.exe in a folder to which only administrators may write. `mark` is the batch's id."""
    there: Resource = LogRunnerThere(layout.log_runner) if wanted is None else _programs(layout, wanted, mark)
    return (*guard_always(windows_path.parent(layout.log_runner)), there)


def reads(layout: Layout) -> tuple[Query, ...]:
    """What `build_resources` reads for this layout, whatever its other arguments."""
    return tuple(query for resource in build_resources(layout, Source("", None, ""), "") for query in resource.reads())


def wrapper(program: str, log_file: str, rotation: LogOptions) -> tuple[str, ...]:
    """The part of ImagePath before the program and its arguments."""
    return (
        program,
        f"-log-file={log_file}",
        f"-log-file-size={rotation.max_mb}Mi",
        f"-log-file-age={rotation.keep_days * 24}h",
    )


def check_rotation(log: LogOptions) -> LogOptions:
    """The same. Refused for less than one megabyte or day."""
    if log.max_mb < 1 or log.keep_days < 1:
        raise Refused(f"service.log: max_mb is {log.max_mb} and keep_days {log.keep_days}; both have to be 1 or more.")
    return log


def _programs(layout: Layout, wanted: Source, mark: str) -> Programs:
    return Programs(NAME, wanted, (("", layout.log_runner),), layout.state_dir, mark[:8])
