# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""containerd as a component: its arguments from the options. Programs first; images once containerd runs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ...engine import windows_path
from ...engine.batch import Batch
from ...engine.reading import Reading
from ...engine.resource import Refused
from ...facts import containerd as facts
from ..declaration import Component
from ..kubernetes_fit import check_pair, kubernetes_line, pause_image, release
from ..shared_arguments import running, source_of
from ..source import is_archive
from ..stage import After, First, Given, Resources, Stage
from . import containerd, containerd_config, crictl, defender, earlier_programs, images, registries, shim
from .containerd_config import Containerd
from .options import INTERFACE, ContainerdOptions


def build_resources(given: Given[ContainerdOptions]) -> Resources:
    """Folders, programs, config.toml, the Path entry, the service."""
    args = arguments(given)
    made = containerd.build_resources(args)
    comes = args.archive or bool(args.earlier)
    if path := shim.stranger(given.layout, given.reading, leaving=args.earlier, comes=comes):
        given.asks.warn(f"{shim.sentence(given.layout, path)} {shim.REMEDY}")
    return made


def arguments(given: Given[ContainerdOptions]) -> containerd.ContainerdArgs:
    """The component's arguments from the module's options."""
    options, layout, reading = given.options, given.layout, given.reading
    version = release(options.version, "winkube_containerd_version")
    check_pair(kubernetes_line(options.kubernetes_version), version, given.asks.warn)
    wanted = Containerd(options, layout, _sandbox(options, reading))
    if problems := containerd_config.problems(wanted):
        raise Refused(*problems)
    template = options.config_template
    text = given.asks.render(template, containerd_config.template_variables(wanted), containerd.NAME)
    hosts = registries.registries(options.registries, given.asks.read_file)
    given.warn(registries.warnings(hosts, version))

    own = {**containerd_config.environment(wanted), **options.environment, **options.service.environment}
    # A finished image has containerd stopped, but pulling needs it running.
    rests = given.shared.golden_image and not list_images(given).find_unknown(reading)
    service = running(given, containerd.DAEMON)
    service = replace(service, options=replace(service.options, environment=own), rests=rests)
    return containerd.ContainerdArgs(
        wanted=wanted,
        source=source_of(given, containerd.NAME, options.version),
        archive=is_archive(containerd.NAME, options.source.url),
        config=containerd_config.extend(text, options.config_extra),
        template=f"{template}{' and config_extra' if options.config_extra else ''}",
        registries=registries.build_resources(layout, hosts, version, reading, given.mark),
        crictl=crictl_files(given),
        has_ctr=containerd.has_ctr(layout, reading),
        earlier=earlier_programs.folder(layout, reading),
        mark=given.mark,
        service=service,
    )


def crictl_files(given: Given[ContainerdOptions]) -> Resources:
    """crictl.exe and its file, if a source is given."""
    wanted = given.options.crictl_source
    if not wanted.url:
        return ()
    source = source_of(given, crictl.NAME, wanted.version or given.options.version, wanted)
    return crictl.build_resources(given.layout, source, archive=is_archive(crictl.NAME, wanted.url), mark=given.mark)


def list_images(given: Given[ContainerdOptions]) -> images.Images:
    """The wanted images. The sandbox image comes first: no pod starts without it."""
    options = given.options
    named = (_sandbox(options, given.reading), *options.images)
    return images.build_resources(given.layout, named, options.images_timeout)


def _sandbox(options: ContainerdOptions, reading: Reading) -> str:
    line = kubernetes_line(options.kubernetes_version)
    return pause_image(options.pause_image, line, options.pause_image_source, reading.build)


def pulls(given: Given[ContainerdOptions]) -> bool:
    """Whether this task pulls images, rather than the kubelet."""
    return bool(given.options.images or given.shared.golden_image)


def can_pull(given: Given[ContainerdOptions]) -> None:
    """Refused before anything changes if ctr.exe is missing; warns if the drive has too little room."""
    if pulls(given) and (sentence := list_images(given).describe_shortage(given.reading)):
        given.asks.warn(sentence)
    if pulls(given) and not is_archive(containerd.NAME, given.options.source.url):
        list_images(given).change(given.reading)


def _listing(given: Given[ContainerdOptions], _resources: Resources) -> Batch | None:
    """Ask containerd which images it has, if no receipt knows."""
    return list_images(given).listing(given.reading)


def look_at_exclusions(given: Given[ContainerdOptions], acted: Collection[str], _changed: bool) -> After:
    """Read the exclusions back: tamper protection and a domain's policy remove them silently."""
    looks = given.options.defender_exclusions and PROGRAMS.name in acted
    if looks and (gone := defender.find_missing(given.layout, given.reading)):
        given.asks.warn(defender.explain_dropped(gone))
    return After()


PROGRAMS = Stage(
    "programs",
    build_resources,
    before=can_pull,
    first=(First(lambda given, resources: containerd.stage_first(resources, given.reading)),),
)
IMAGES = Stage(
    "images",
    lambda given: (list_images(given),),
    wanted=pulls,
    first=(First(_listing, learned=lambda _given, batch, answer: images.read_listing(batch, answer)),),
    deadline=lambda given: list_images(given).deadline_s,
    called=images.NAME,
    failed=lambda _given, _probe: "containerd itself stays as this task made it.",
)

COMPONENT = Component(
    name=containerd.NAME,
    role="containerd",
    reads=containerd.reads,
    expected=lambda _expected: True,
    interface=INTERFACE,
    daemon=containerd.DAEMON,
    settings=lambda layout: (layout.containerd_config, *registries.host_files(layout)),
    files=lambda layout: (crictl.config_path(layout),),
    tools=lambda layout: (layout.nssm, crictl.path(layout)),
    folders=lambda layout: (
        layout.containerd_bin_dir,
        layout.certs_dir,
        *(windows_path.join(layout.certs_dir, host) for host in layout.registry_hosts),
    ),
    bound=lambda _layout: (
        *(windows_path.join(facts.DEFAULT_ROOT, name) for name in facts.CONTAINERS),
        *(windows_path.join(facts.DEFAULT_STATE, name) for name in facts.TASKS),
    ),
    stages=(PROGRAMS, IMAGES),
    after=look_at_exclusions,
)
