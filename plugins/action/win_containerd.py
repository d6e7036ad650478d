# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converges containerd; documented in modules/win_containerd.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError

from ..plugin_utils.components.containerd import (
    containerd,
    containerd_config,
    crictl,
    defender,
    earlier_programs,
    images,
    registries,
    shim,
)
from ..plugin_utils.components.kubernetes_fit import check_pair, kubernetes_line, pause_image, release
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.source import is_archive
from ..plugin_utils.engine.batch import Batch
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.engine.resource import Resource
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.source_action import SourceAction, variables


class ActionModule(SourceAction):
    """win_containerd."""

    module = "win_containerd"
    component = containerd.NAME

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """containerd and, when it works, the images: a pull that fails does not take containerd back."""
        reading = self.reading(options, layout)
        pulls = bool(options["images"] or options["golden_image"])
        if pulls:
            wanted = self._images(options, layout, reading)
            if not is_archive(containerd.NAME, options["source"]["url"]):
                wanted.change(reading)  # refused for want of ctr.exe before anything is changed
        done = [self._converged(options, layout, reading)]
        if pulls:
            self.component, self.deadline_s = images.NAME, wanted.deadline_s
            try:
                done.append(self._converged(options, layout, done[-1].reading))
            except NodeError as error:
                raise NodeError(f"{error} containerd itself stays as this task made it.") from error
        return self._finished(done, options)

    def resources(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[Resource, ...]:
        """Folders, programs, config.toml, Path entry, service; or the images, when it is their turn."""
        if self.component == images.NAME:
            return (self._images(options, layout, reading),)
        args = self._args(options, layout, reading, mark)
        made = containerd.desired(args)
        if path := shim.stranger(layout, reading, leaving=args.earlier, comes=args.archive or bool(args.earlier)):
            self.warn_once(f"{shim.sentence(layout, path)} {shim.REMEDY}")
        return made

    def stage_first(self, resources: tuple[Resource, ...], reading: Reading) -> Batch | None:
        """A containerd of unknown origin is compared with the archive's files before it is called different; where no
        receipt tells of an image, containerd is asked what it has."""
        for resource in resources:
            if isinstance(resource, images.Images):
                return resource.listing(reading)
        return containerd.stage_first(resources, reading)

    def _after(self, reading: Reading, batch: Batch, answer: Mapping[str, Any], layout: Layout) -> Reading:
        """What the listing said is known to this task alone: it is no fact."""
        return super()._after(reading, batch, answer, layout).merged(images.listed(batch, answer))

    def _images(self, options: Mapping[str, Any], layout: Layout, reading: Reading) -> images.Images:
        """The images, the sandbox's first: no pod starts without it."""
        return images.desired(layout, (_sandbox(options, reading), *options["images"]), options["images_timeout"])

    def _args(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> containerd.ContainerdArgs:
        version = release(options["version"], "containerd version")
        check_pair(kubernetes_line(options["kubernetes_version"]), version, self.warn_once)
        settings = containerd.settings(
            layout,
            version=version,
            pause_image=_sandbox(options, reading),
            log_level=options["log_level"],
            registries=bool(options["registries"]),
            tracing_endpoint=options["tracing_endpoint"],
        )
        environment = variables(
            containerd_config.environment(settings) | options["environment"] | options["service"]["environment"]
        )
        # It is stopped in an image that is done, and has to run for what is still to be pulled.
        rests = options["golden_image"] and not self._images(options, layout, reading).unknown(reading)
        template, given = options["config_template"], registries.registries(options["registries"], self._file)
        return containerd.ContainerdArgs(
            layout=layout,
            source=self.source_of(options),
            archive=is_archive(containerd.NAME, options["source"]["url"]),
            config=containerd_config.extended(
                self.render(template, containerd_config.template_variables(settings), role=containerd.NAME),
                options["config_extra"],
            ),
            settings=settings,
            template=f"{template}{' and config_extra' if options['config_extra'] else ''}",
            registries=registries.desired(layout, given, version, reading, mark),
            crictl=self._crictl(options, layout, mark),
            has_ctr=containerd.has_ctr(layout, reading),
            defender=options["defender_exclusions"],
            earlier=earlier_programs.folder(layout, reading),
            mark=mark,
            **(self.service_options(options, layout, mark) | {"environment": environment, "rests": rests}),
        )

    def _finished(self, done: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """Exclusions are read back: tamper protection and a domain's policy take them away without a word."""
        if options["defender_exclusions"] and done[0].answer:
            layout = Layout.of(options["node"])
            if gone := defender.missing(layout, done[-1].reading):
                self.warn_once(defender.taken_back(gone))
        return super()._finished(done, options)

    def _crictl(self, options: Mapping[str, Any], layout: Layout, mark: str) -> tuple[Resource, ...]:
        """crictl.exe and its file, where somebody says where it comes from."""
        wanted = options["crictl_source"]
        if not wanted["url"]:
            return ()
        version = wanted["version"]
        source = self.source_of(options, component=crictl.NAME, version=version, option="crictl_source")
        return crictl.desired(layout, source, archive=is_archive(crictl.NAME, wanted["url"]), mark=mark)

    def _file(self, path: str) -> bytes:
        """A file on the controller, looked for as Ansible looks in `files`; ansible-vault's are decrypted."""
        try:
            return Path(self._loader.get_real_file(self._find_needle("files", path))).read_bytes()
        except AnsibleError as error:
            raise OSError(" ".join(str(error).split()).rstrip(".")) from error


def _sandbox(options: Mapping[str, Any], reading: Reading) -> str:
    line = kubernetes_line(options["kubernetes_version"])
    return pause_image(options["pause_image"], line, options["pause_image_source"], reading.build)
