# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet as a component: its arguments from the options, and its one stage."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from ...cluster.client import Cluster
from ...cluster.endpoint import api_ca
from ...cluster.reading import have_common_certificate, read_client_ca, read_kubelets
from ...engine import windows_path
from ...engine.reading import http_query
from ...engine.resource import Refused, ReliesOn
from ...engine.resources.file import File
from ...facts.windows import KUBELET_RULE
from ...foreign.files import ForeignError
from ...foreign.values import load_yaml
from .. import networks
from ..declaration import Component
from ..healthz import find_url
from ..kubernetes_fit import check_node_name, pause_image, release
from ..shared_arguments import (
    check_skew,
    feature_gates,
    inbound_networks,
    kubernetes_version,
    management,
    running,
    service_manager,
    source_of,
)
from ..stage import Given, Resources, Stage
from . import cluster_config, credentials, drop_ins, kubelet, own_config
from .cluster_config import ClusterConfig, ConfigFile
from .effective import Effective, Fault, find_overriding
from .kubelet_args import PAUSE_IS_AN_ARGUMENT, Kubelet, list_taken_out, resolve_reserved
from .options import INTERFACE, KubeletOptions
from .places import config_file, drop_in_dir, env_file


def build_resources(given: Given[KubeletOptions]) -> Resources:
    """Folders, program, drop-in, service. In an image the command line names no machine; the join adds that."""
    layout, reading = given.layout, given.reading
    configured = kubelet.is_configured(layout, reading)
    if given.shared.golden_image and configured:
        raise kubelet.refuse_image(layout)
    if not given.shared.golden_image:
        check_node_name(given.options.node_name)
    wanted = Kubelet(resolve(given), layout, _wants_serving_certificate(given))
    providers = _providers(given)
    credentials.check(providers, wanted.version, wanted.options.feature_gates)
    follows = _follow_cluster(given, wanted) if configured else None
    args = kubelet.KubeletArgs(
        wanted=wanted,
        source=source_of(given, kubelet.NAME, given.options.version),
        providers=providers,
        ca_pem=_ca(given) if kubelet.lacks_ca(wanted, reading) else "",
        sources=inbound_networks(given, given.options.address, given.options.cluster_cidr),
        configured=configured,
        kubeadm_flags=drop_ins.text_of(env_file(layout), reading) or "",
        config=_parse(follows.text if follows else drop_ins.text_of(config_file(layout), reading) or ""),
        foreign=drop_ins.rely_on_foreign(drop_in_dir(layout), reading) if wanted.uses_drop_in else (),
        notices=check_skew(given, wanted.version),
        mark=given.mark,
        service=running(given, kubelet.DAEMON),
    )
    found = _compute(given, args, follows.text if follows else None)
    args = replace(args, values=found.values)
    if follows is not None:
        args = replace(args, follows=_write(given, follows, found), rereads=_reads_anew(given, args, found))
    made = kubelet.build_resources(args)
    given.warn(kubelet.warnings(args))
    _check_effective(given, args, found)
    return (*made, *_ask_health(given))


def _ask_health(given: Given[KubeletOptions]) -> Resources:
    """Whether the running kubelet is healthy, where its configuration has another address than the one that is asked
    with everything else: after a roll back it has to be so again."""
    service = given.reading.service(given.layout.kubelet_service)
    url = find_url(kubelet.DAEMON, service, given.layout, given.reading) if service else ""
    return (ReliesOn(url, (http_query(url, given.layout.kubelet_service),)),) if url else ()


def _follow_cluster(given: Given[KubeletOptions], wanted: Kubelet) -> ClusterConfig | None:
    """config.yaml of a kubeadm node, where the cluster's ConfigMap has it otherwise by now. What may not be read is
    said by the run's first task."""
    if not wanted.has_configuration:
        return None
    found = given.ask_for_all("kubelets' configuration", read_kubelets)
    if found is None:
        return None
    return cluster_config.of_cluster(found, given.layout, given.reading, wanted.version)


def _write(given: Given[KubeletOptions], config: ClusterConfig, found: Effective) -> ConfigFile:
    path = config_file(given.layout)
    file = File(path, config.text.encode(), backup=given.layout.backup(given.mark), equal=None)
    return ConfigFile(file, config, config.list_overridden(found, path))


def _reads_anew(given: Given[KubeletOptions], args: kubelet.KubeletArgs, found: Effective) -> bool:
    """Whether the kubelet would run with other values than with the present file."""
    return _compute(given, args, None).values != found.values


def _compute(given: Given[KubeletOptions], args: kubelet.KubeletArgs, config: str | None) -> Effective:
    """What this kubelet runs with; `config`: what config.yaml will have, None for what it has."""
    wanted, layout = args.wanted, given.layout
    path = config_file(layout)
    return drop_ins.compute(
        kubelet.command_arguments(args),
        wanted.version,
        given.reading,
        base=drop_ins.config_part(path, given.reading, config) if wanted.has_configuration else None,
        folder=drop_in_dir(layout) if wanted.uses_drop_in else "",
        ours=kubelet.drop_in_text(wanted) if wanted.uses_drop_in else None,
    )


def _check_effective(given: Given[KubeletOptions], args: kubelet.KubeletArgs, found: Effective) -> None:
    """Refused if the kubelet would end on its configuration at its next start; warns of what it ignores there, what we
    take out, and what overrides ours."""
    wanted = args.wanted
    ours = wanted.drop_in if wanted.uses_drop_in else ""
    config = config_file(given.layout) if wanted.has_configuration else ""
    if found.faults:
        of_user = {(ours, path) for path in own_config.list_paths(wanted.options.config, wanted.version.line)}
        places = {config: args.follows.config.source} if args.follows else {}
        raise Refused(
            *(replace(each, place=_name_place(each, of_user, places)).sentence for each in found.faults),
        )
    given.warn(each.sentence for each in find_overriding(found, ours))
    given.warn(found.ignored)
    given.warn(
        f"{config}: {name}: taken out by {ours}: a kubelet {wanted.version} ends on it on Windows."
        for name in list_taken_out(wanted.version.line)
        if ours and name not in wanted.options.config and args.config.get(name) is not None
    )


def _name_place(fault: Fault, of_user: Collection[tuple[str, str]], places: Mapping[str, str]) -> str:
    """Where it is mended: in a variable for a (drop-in, field) of the user, else by `places`, else where it stands."""
    return own_config.VARIABLE if (fault.place, fault.key) in of_user else places.get(fault.place, fault.place)


def resolve(given: Given[KubeletOptions]) -> KubeletOptions:
    """The options with what depends on this node (`Kubelet`). Refused if the node cannot have it so."""
    options, reading = given.options, given.reading
    version = kubernetes_version(options.version)
    if options.containerd_version:
        release(options.containerd_version, "containerd_version")
    image = ""
    if version.line < PAUSE_IS_AN_ARGUMENT:
        image = pause_image(options.pause_image, version.line, options.pause_image_source, reading.build)
    return replace(
        options,
        node_name="" if given.shared.golden_image else options.node_name,
        node_ip="" if given.shared.golden_image else _node_ip(given),
        pause_image=image,
        system_reserved=resolve_reserved("system_reserved", options.system_reserved, reading),
        kube_reserved=resolve_reserved("kube_reserved", options.kube_reserved, reading),
        eviction_hard=_texts(options.eviction_hard),
        eviction_soft=_texts(options.eviction_soft),
        eviction_soft_grace_period=_texts(options.eviction_soft_grace_period),
        labels=_texts(options.labels),
        feature_gates=feature_gates(options.feature_gates),
        service=replace(options.service, manager=service_manager(given, kubelet.DAEMON)),
    )


def _providers(given: Given[KubeletOptions]) -> tuple[credentials.Provider, ...]:
    return tuple(
        credentials.Provider(one, source_of(given, one.name, one.source.version, one.source))
        for one in given.options.credential_providers
    )


def _node_ip(given: Given[KubeletOptions]) -> str:
    """The value of --node-ip, with an address of each family that the pods have."""
    options = given.options
    if options.node_ip and not networks.has_two_families(options.cluster_cidr):
        return options.node_ip
    return ",".join(
        networks.node_addresses(management(given.reading, options.address), options.cluster_cidr, options.node_ip)
    )


def _ca(given: Given[KubeletOptions]) -> str:
    """The cluster's CA, for a kubelet that lacks it. Refused if it cannot be found."""
    found = given.ask_for_all("CA", lambda cluster: read_client_ca(cluster, api_ca(cluster)))
    if not found:
        raise kubelet.refuse_without_ca(given.layout)
    return found.decode()


def _wants_serving_certificate(given: Given[KubeletOptions]) -> bool:
    """Whether API servers verify kubelets' certificates, as far as the cluster shows it: by its KubeletConfiguration.
    Where it has none, kubeadm has not made it, and they do: k3s, rke2 (pkg/daemons/control/server.go), k0s
    (pkg/component/controller/apiserver.go)."""
    if given.options.join != "bootstrap_kubeconfig":
        return False

    def ask(cluster: Cluster) -> bool:
        found = read_kubelets(cluster)
        if found.kubelet_config is not None:
            return found.kubelet_config.get("serverTLSBootstrap") is True
        if found.saw(found.kubelet_config_source):
            return True
        own = api_ca(cluster)
        callers = read_client_ca(cluster, own)
        return bool(own and callers) and not have_common_certificate(own, callers)

    return bool(given.ask_for_all("serving certificates", ask))


def _parse(config: str) -> Mapping[str, Any]:
    """A KubeletConfiguration; empty if there is none or it cannot be parsed."""
    try:
        found = load_yaml(config)
    except ForeignError:
        return {}
    return found if isinstance(found, dict) else {}


def _texts(given: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in given.items()}


COMPONENT = Component(
    name=kubelet.NAME,
    role="kubelet",
    reads=kubelet.reads,
    expected=lambda expected: expected.kubernetes,
    interface=INTERFACE,
    daemon=kubelet.DAEMON,
    settings=lambda layout: (
        config_file(layout),
        env_file(layout),
        *((credentials.config_file(layout),) if layout.credential_providers else ()),
    ),
    tools=lambda layout: (
        layout.nssm,
        layout.log_runner,
        *(credentials.program(layout, name) for name in layout.credential_providers),
    ),
    folders=lambda layout: (
        layout.kubernetes_dir,
        windows_path.join(layout.kubernetes_dir, "manifests"),
        credentials.folder(layout),
    ),
    rules=(KUBELET_RULE,),
    bound=lambda layout: tuple(windows_path.join(layout.kubelet_dir, name) for name in kubelet.STATE),
    stages=(Stage("kubelet", build_resources),),
)
