# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""flanneld as a service of a Windows node: program, net-conf.json, service, and cni.conf once its network exists.

The order matters. The virtual switch is made before flanneld starts (virtual_switch.py). cni.conf is written only once
subnet.env exists and the HNS network has its management address: cni.conf makes the kubelet report Ready, and pods that
start earlier fail with "network not found".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ...engine import windows_path
from ...engine.batch import Op
from ...engine.environment import Entry
from ...engine.reading import Query, Reading, file_query, merge_queries, services_query
from ...engine.resource import Refused, Resource
from ...engine.resources.directory import guard, guard_always
from ...engine.resources.file import File, LateFile, is_same_json
from ...engine.resources.hns_network import HnsNetwork, NoHnsNetwork
from ...engine.resources.programs import Programs, Source
from ...engine.resources.service import Service
from ...engine.tools import wait_service
from ...facts import flannel as facts
from ...facts.version import Version
from .. import inbound, networks, nssm
from ..cni import cni
from ..cni.conf import FILE
from ..declaration import Daemon, NoHealth, ServiceKind
from ..kubernetes_fit import check_node_name, kubernetes_line
from ..layout import Layout
from ..networks import Management
from ..service import Running, service_of
from . import cni_conf, flannel_conf, subnet_env, virtual_switch
from .options import FlannelOptions

NAME = "flannel"
PROGRAM = "flanneld"
SERVICE = ServiceKind(
    managers=("nssm",),
    native_flag=None,
    why="flanneld does not speak to the service control manager: under sc.exe it would be killed after 30 seconds "
    "(Windows error 1053).",
    source="kubernetes.io v1.22 registers it with nssm only; flannel v0.28.4 main.go waits for signals alone, and a "
    "build of it for Windows has no svc.Run (tests/windows/test_services.py)",
)

NOTICE = "for new pods; existing pods keep the old policy"


@dataclass(frozen=True, slots=True)
class Flanneld:
    """A flanneld as it is wanted on one node: its options, and what was found out and made for it.

    `management` is the node's address, `conf` the rendered cni.conf, `switch` the resources of the external vSwitch,
    `notices` are further messages. `mark` is the batch's id.
    """

    options: FlannelOptions
    layout: Layout
    source: Source
    management: Management
    conf: str
    switch: tuple[HnsNetwork | NoHnsNetwork, ...]
    service: Running = field(default_factory=Running)
    notices: tuple[Resource, ...] = ()
    mark: str = ""

    @property
    def network(self) -> str:
        """The HNS network that it makes."""
        return flannel_conf.network_name(self.options.network_mode, self.options.network_name)


def arguments(args: Flanneld) -> tuple[str, ...]:
    """flanneld's command line: the four arguments of kubernetes.io, v1.22, in their order, then those that differ
    from their default."""
    layout = args.layout
    found = [
        f"--kubeconfig-file={layout.flanneld_kubeconfig}",
        f"--iface={args.management.address}",
        "--ip-masq=1",
        "--kube-subnet-mgr=1",
    ]
    if not windows_path.is_same(args.options.net_conf, facts.NET_CONF):
        found.append(f"--net-config-path={args.options.net_conf}")
    if not subnet_env.is_default(layout):
        found.append(f"--subnet-file={subnet_env.path(layout)}")
    return tuple(found)


def check(*, release: Version, node_name: str, warn: Callable[[str], None]) -> None:
    """Checks that do not need the node. Refused for an invalid node name: flanneld looks for the Node of this name,
    which is the kubelet's --hostname-override."""
    if release < facts.LOCAL_PODS_FROM:
        warn(f"flannel {release}: with vxlan a node cannot reach its own pods; {facts.LOCAL_PODS_FROM} and later can.")
    check_node_name(node_name)


def build_resources(args: Flanneld) -> tuple[Resource, ...]:
    """Folders, virtual switch, flanneld.exe, net-conf.json, subnet.env, the service, then cni.conf."""
    layout = args.layout
    return (
        *_folders(layout, args.options.net_conf),
        *args.switch,
        *args.service.tools,
        _programs(layout, args.source, args.mark),
        File(
            args.options.net_conf,
            flannel_conf.net_conf(args.options.network_mode, args.options.cluster_cidr, args.network).encode(),
            backup=args.layout.backup(args.mark),
            equal=is_same_json,
        ),
        lease(args),
        _service(args),
        LateFile(
            File(conf_path(layout), args.conf.encode(), backup=args.layout.backup(args.mark), equal=is_same_json),
            after=build_gate(args),
            notice=NOTICE,
        ),
        *args.notices,
    )


def runs_here(options: FlannelOptions, *, golden_image: bool) -> bool:
    """Whether this machine runs flanneld as a service."""
    return options.managed_by == "service" and not golden_image


def program(layout: Layout, source: Source, tools: tuple[Resource, ...], mark: str) -> tuple[Resource, ...]:
    """Only folders, flanneld.exe and its service's tools, for an image: service, cni.conf and network contain the
    machine's address."""
    return (*_folders(layout, facts.NET_CONF), *tools, _programs(layout, source, mark))


def lease(args: Flanneld) -> subnet_env.Lease:
    """The wanted subnet.env."""
    return subnet_env.Lease(
        args.layout,
        args.layout.flanneld_service,
        str(networks.list_pod_ranges(args.options.cluster_cidr)[0]),
        args.options.network_mode,
        args.management.adapter.mtu,
        args.network,
    )


def conf_path(layout: Layout) -> str:
    """The path of cni.conf on the node."""
    return windows_path.join(layout.cni_conf_dir, FILE)


def build_gate(args: Flanneld) -> tuple[Op, ...]:
    """Waits that pass once flanneld works: it has a lease, its network has the node's address, and it stays up."""
    timeout = args.service.options.start_timeout
    return (
        Op("wait", {"for": "file", "path": subnet_env.path(args.layout), "timeout_s": timeout}),
        virtual_switch.wait_network(args.network, timeout),
        wait_service(args.layout.flanneld_service, "running", timeout, stable_s=3),
    )


def prerequisites(layout: Layout, reading: Reading) -> None:
    """Refused if files of other roles are missing: the CNI plugins, flanneld's kubeconfig. In check mode they may
    still be planned."""
    if reading.predicted:
        return
    missing = [
        f"{path} is missing on the node: {who}."
        for path, who in _list_needed(layout)
        if not reading.file(path).get("exists")
    ]
    if missing:
        raise Refused(*missing)


def state(layout: Layout) -> tuple[Query, ...]:
    """What changes when flanneld starts, whatever the plan touched."""
    return (*virtual_switch.QUERIES, subnet_env.query(layout), services_query((layout.flanneld_service,)))


def reads(layout: Layout) -> tuple[Query, ...]:
    """Everything that `build_resources` reads for this layout, whatever its other arguments."""
    resources: tuple[Resource, ...] = (
        *_folders(layout, facts.NET_CONF),
        _programs(layout, Source("", None, ""), ""),
        File(facts.NET_CONF, b"", backup=""),
        File(conf_path(layout), b"", backup=""),
        inbound.vxlan(),
    )
    return merge_queries(
        (
            *(query for resource in resources for query in resource.reads()),
            *nssm.reads(layout),
            *state(layout),
            *(file_query(path) for path, _why in _list_needed(layout)),
        )
    )


# -- the parts ---------------------------------------------------------------------------------------------------------


def _list_needed(layout: Layout) -> tuple[tuple[str, str], ...]:
    plugins = "the role cni brings it"
    return (
        *(
            (windows_path.join(layout.cni_bin_dir, name), plugins)
            for name in ("flannel.exe", "host-local.exe", "win-bridge.exe", "win-overlay.exe")
        ),
        (
            layout.flanneld_kubeconfig,
            "the role join writes it (or give winkube_flanneld_kubeconfig_source there)",
        ),
    )


def _folders(layout: Layout, net_conf: str) -> tuple[Resource, ...]:
    return (
        *guard_always(layout.flannel_dir, layout.flannel_run_dir, layout.cni_conf_dir),
        *guard(windows_path.parent(net_conf), layout.log_dir),
    )


def _programs(layout: Layout, source: Source, mark: str) -> Programs:
    return Programs(PROGRAM, source, (("", layout.flanneld_binary),), layout.state_dir, mark[:8])


def _service(args: Flanneld) -> Service:
    layout = args.layout
    made = service_of(
        PROGRAM,
        DAEMON,
        layout,
        args.service,
        arguments=arguments(args),
        ready=build_gate(args),
        environment=(Entry.plain("NODE_NAME", args.options.node_name),),
        uses=(args.options.net_conf, subnet_env.path(layout)),
        directory=layout.flannel_dir,
    )
    return replace(made, retries=True)  # it ends as long as its Node has no podCIDR


DAEMON = Daemon(
    service=lambda layout: layout.flanneld_service,
    program=lambda layout: layout.flanneld_binary,
    kind=SERVICE,
    health=NoHealth(
        "It answers `/healthz` only with `--healthz-port`, which its service does not set; it works once it has "
        "written `subnet.env`."
    ),
    rank=1,
    of_cluster=True,
)


def api_server_of(options: FlannelOptions, found: str) -> virtual_switch.ApiServer | None:
    """The API server: the one in the options, else `found`."""
    return virtual_switch.ApiServer.of(options.api_server or found)


def conf_settings(options: FlannelOptions, layout: Layout, management: Management) -> cni_conf.CniConf:
    """The content of cni.conf."""
    return cni_conf.settings(
        plugins=cni.plugins_version(options.plugins_version),
        runtime=options.runtime,
        kubernetes=kubernetes_line(options.kubernetes_version),
        network=flannel_conf.network_name(options.network_mode, options.network_name),
        mode=options.network_mode,
        cni_version=options.cni_version,
        cluster_cidr=options.cluster_cidr,
        service_cidr=options.service_cidr,
        subnet=management.subnet,
        management_ip=management.address,
        dns_service_ip=options.dns_service_ip,
        cluster_domain=options.cluster_domain,
        extra=options.exception_list,
        dsr=options.dsr,
        subnet_file="" if subnet_env.is_default(layout) else subnet_env.path(layout),
    )


def range_problems(options: FlannelOptions, management: Management) -> tuple[str, ...]:
    """Conflicts between the cluster's networks, or between them and the node's."""
    return networks.range_problems(
        options.cluster_cidr,
        options.service_cidr,
        options.dns_service_ip,
        options.network_mode,
        management.subnet,
    )


def lease_problem(options: FlannelOptions, layout: Layout, reading: Reading, mtu: int) -> str | None:
    """A sentence if the subnet.env written by flanneld does not fit the node."""
    path = subnet_env.path(layout)
    text = reading.text(path)
    if text is None:
        return f"flanneld runs, but there is no {path} that can be read."
    wrong = subnet_env.problems(
        text,
        cluster=str(networks.list_pod_ranges(options.cluster_cidr)[0]),
        mode=options.network_mode,
        mtu=mtu,
    )
    return f"{path} does not fit this node: {'; '.join(wrong)}." if wrong else None
