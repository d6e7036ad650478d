# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that the checks look at, out of a reading: parsed once, None or empty for what was not read."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from typing import Any

from ..cluster.backends import LargeService
from ..cluster.reading import ClusterReading
from ..components import networks
from ..components.cni.conf import FILE, Conf, ConfError, choose_file, decode, load
from ..components.containerd.containerd_toml import Document, NotTomlError
from ..components.flannel import subnet_env
from ..components.flannel.subnet_env import SubnetEnv, SubnetEnvError
from ..components.healthz import find_arguments
from ..components.kube_proxy.kube_proxy_args import NETWORKS, uses_dsr
from ..components.layout import Layout
from ..components.networks import Adapter
from ..components.node import Node
from ..engine import windows_path
from ..engine.batch import as_base64
from ..engine.environment import fingerprint
from ..engine.reading import Query, Reading, file_key, file_query, merge_queries, services_query
from ..engine.resource import Refused
from ..facts.containerd import RELEASE_LINES, Place, Places
from ..facts.flannel import NET_CONF
from ..facts.version import Version, VersionError
from ..network.model import Endpoint, Hns, Network
from ..network.parse import KINDS, parse
from ..network.port_blocks import Ports
from ..network.virtual_machine import VmAdapter, normalise_mac
from .cluster_view import ClusterView, Object
from .tried import Tried

HNS_SERVICE, COMPUTE_SERVICE = "hns", "vmcompute"
"""Services of the feature Containers. Source: docs/protocol.md; Windows' own service names."""

LIMIT = 64 * 1024
"""Bytes: a larger file is not read."""

CONF_FILES = (
    FILE,
    *("0-containerd-nat.conf", "0-containerd-nat.json", "07-flannel.conflist", "10-antrea.conflist"),
    *("10-azure.conflist", "10-calico.conf", "10-calico.conflist", "10-flannel.conf", "10-flannel.conflist"),
    *("azure.conflist", "nat.conf", "vpc-bridge.conf"),
)
"""CNI configurations by the names that one meets, so that the one that containerd takes is read with everything else.
Sources: sig-windows-tools (Install-Containerd.ps1, hostprocess/flannel, hostprocess/calico), rancher/rke2 pkg/windows,
antrea build/yamls/windows, Azure/AgentBaker, awslabs/amazon-eks-ami, containerd script/setup/install-cni-windows."""

Probe = Callable[[tuple[Query, ...]], Mapping[str, Any]]
"""Asks the node again."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What was read and what is wanted.

    `adapters` is None where they could not be read. `cni_file` is the CNI configuration that containerd takes,
    `cni_path` its whole path, `cni_text` its text (None: not read, empty: not there), `cni_conf` what it says,
    `cni_problem` why it says nothing. `net_conf` is the parsed file, None where it is absent or no JSON; `conf_files`
    are the names beside `cni_file`, `programs` those in the plugins' folder (None if that was not read). `pod_network`
    is the network that the pods are in, as far as that can be told.

    `first` and `second` are two looks at the machine some seconds apart, the same where there was one. With `whole` the
    programs are looked at, too; else only the network is, and `subnet` and `vni` are compared where hns_check is told
    them. `logs` are the ends of logs by service; `quiet` and `working` as in messages.search. `node` is the Node
    object, `asked` whether the cluster was asked for it; `cluster` also has Services, EndpointSlices and pods,
    `kubelets` what kubeadm makes config.yaml of, `large` the Services of more endpoints than a rule takes without DSR.
    `tried` is what only diagnose asks; None elsewhere.
    """

    expected: Node
    hns: Hns
    first: Reading = field(default_factory=Reading)
    second: Reading = field(default_factory=Reading)
    whole: bool = False
    subnet: str = ""
    vni: int = 0
    logs: Mapping[str, str] = field(default_factory=dict)
    quiet: Mapping[str, timedelta] = field(default_factory=dict)
    working: frozenset[str] = frozenset()
    node: Object | None = None
    asked: bool = False
    adapters: tuple[Adapter, ...] | None = None
    services: Mapping[str, Mapping[str, Any]] | None = None
    cni_file: str = FILE
    cni_path: str = ""
    cni_text: str | None = None
    cni_conf: Conf | None = None
    cni_problem: str = ""
    conf_files: tuple[str, ...] = ()
    programs: tuple[str, ...] | None = None
    net_conf: Mapping[str, Any] | None = None
    lease: SubnetEnv | None = None
    kube_proxy: tuple[str, ...] | None = None
    kube_proxy_env: tuple[str, ...] = ()
    flanneld: tuple[str, ...] | None = None
    started: tuple[tuple[str, str], ...] = ()
    ports: tuple[Ports, ...] = ()
    cluster: ClusterView | None = None
    kubelets: ClusterReading | None = None
    large: tuple[LargeService, ...] = ()
    macs: frozenset[str] = frozenset()
    vm_adapters: tuple[VmAdapter, ...] = ()
    tried: Tried | None = None

    @property
    def layout(self) -> Layout:
        """Where things are."""
        return self.expected.layout

    @property
    def interface_name(self) -> str:
        """The adapter that the node's address is on."""
        return self.expected.interface_name

    @property
    def network_name(self) -> str:
        """The pod network's name that is expected; empty if none is. A whole node's is flannel's own by default."""
        own = NETWORKS.get(self.expected.network_mode, "") if self.whole else ""
        return (self.expected.network_name or own) if self._network else ""

    @property
    def network_mode(self) -> str:
        """The pod network's type that is expected; empty if none is."""
        return self.expected.network_mode if self._network else ""

    @property
    def network_adapter(self) -> str:
        """The adapter that the pod network is expected on; empty if none is."""
        return self.expected.interface_name if self._network else ""

    @property
    def _network(self) -> bool:
        """Of another CNI's network only hns_check expects anything: what it is told."""
        return self.expected.flannel_is_ours or not self.whole

    def content(self, path: str) -> str | None:
        """The text of a file; empty if it is not there, None if it was not read."""
        if not isinstance(self.first.parts.get(file_key(path)), Mapping):
            return None
        return self.first.text(path) or ""

    @property
    def release(self) -> Version | None:
        """Of Kubernetes on the node: what its Node says, else what is wanted; None where neither is known."""
        said = ((self.node or {}).get("status") or {}).get("nodeInfo") or {}
        wanted = self.expected.kubelet.version if self.expected is not None else ""
        try:
            return Version.parse(str(said.get("kubeletVersion") or wanted))
        except VersionError:
            return None

    @property
    def pod_cidr(self) -> str:
        """The Node's, empty where it is not known."""
        return str(((self.node or {}).get("spec") or {}).get("podCIDR") or "")

    @property
    def pod_network(self) -> Network | None:
        """By the name that is expected, else that in cni.conf, else the only one of a pod network's type."""
        for name in (self.network_name, self.cni_conf.name if self.cni_conf else ""):
            if name:
                return self.hns.network(name)
        found = [each for each in self.hns.networks if each.type in {"l2bridge", "overlay"} and each.name != "External"]
        return found[0] if len(found) == 1 else None

    @property
    def uses_dsr(self) -> bool | None:
        """Whether kube-proxy's service was set up for direct server return; None without one of ours."""
        return None if self.kube_proxy is None else uses_dsr(self.kube_proxy)

    @property
    def source_vip(self) -> str:
        """The address in kube-proxy's --source-vip."""
        return argument(self.kube_proxy or (), "source-vip")

    def service(self, name: str) -> Mapping[str, Any] | None:
        """As listed; None if it is not there, or services were not read."""
        return (self.services or {}).get(name.casefold())

    def is_pods(self, endpoint: Endpoint) -> bool:
        """Whether an endpoint should be a pod's: not a remote one, no gateway of the host (`cbr0_ep`, `Calico_ep`,
        `VIPEndpoint`), not the source VIP, and in a network that pods are in."""
        home = self.hns.network_of(endpoint)
        if endpoint.remote or self.is_hosts(endpoint) or self.source_vip in endpoint.addresses:
            return False
        if any(self._vip(address) for address in endpoint.addresses):
            return False
        return home is None or home.type in {"l2bridge", "overlay", "l2tunnel", "transparent"}

    def is_hosts(self, endpoint: Endpoint) -> bool:
        """Whether the host itself is attached by it: by its name, or since the host has an adapter of its name, or
        its address."""
        own = {address for each in self.adapters or () for address, _length in each.addresses}
        virtual = {each.physical.casefold() for each in self.adapters or () if each.is_virtual}
        return (
            host_endpoint(endpoint.name) or endpoint.name.casefold() in virtual or bool(own & set(endpoint.addresses))
        )

    def _vip(self, address: str) -> bool:
        """Whether a rule uses it as its source VIP, which tells where kube-proxy is not a service."""
        return any(balancer.source_vip == address for _list, balancer in self.hns.balancers())

    def env_of_kube_proxy(self, name: str, value: str) -> bool | None:
        """Whether the service's variable has this value; None where it has no such variable. Readings keep fingerprints
        in place of values."""
        own = [each for each in self.kube_proxy_env if each.partition("=")[0].upper() == name]
        return None if not own else any(fingerprint(each) == fingerprint(f"{name}={value}") for each in own)


def host_endpoint(name: str) -> bool:
    """Whether an endpoint's name is one that the host itself is attached by, or that kube-proxy's endpoints have, which
    gives none: HNS calls those Ethernet.

    Sources: flannel pkg/backend/hostgw/hostgw_windows.go (`<network>_ep`), Calico node/pkg/startup (`Calico_ep`),
    openshift windows-machine-config-operator (`VIPEndpoint`), microsoft/SDN Kubernetes/windows start-kubelet.ps1
    (`cbr0`), windows-container-networking (`bridge_gw`), moby daemon/network (`ingress-endpoint`), kubernetes
    pkg/proxy/winkernel/hns.go createEndpoint.
    """
    folded = name.casefold()
    return folded.endswith("_ep") or folded in {"", "ethernet", "vipendpoint", "cbr0", "bridge_gw", "ingress-endpoint"}


def argument(argv: Sequence[str], wanted: str) -> str:
    """The value of `--wanted=value` or `--wanted value` among arguments, the last one; empty without."""
    found = ""
    for word, following in pairwise((*argv, "")):
        name, equals, value = word.partition("=")
        if name.startswith("-") and name.lstrip("-") == wanted:
            found = value if equals else following
    return found


def reads(layout: Layout) -> tuple[Query, ...]:
    """What has to be read for a scene."""
    queries = [
        networks.hns_query(*KINDS),
        networks.adapters_query(),
        services_query((HNS_SERVICE, COMPUTE_SERVICE, layout.kube_proxy_service, layout.flanneld_service)),
        Query("processes", "processes", (("names", ("svchost.exe", windows_path.name(layout.kube_proxy_binary))),)),
        subnet_env.query(layout),
        *cni_reads(layout),
        file_query(NET_CONF, content_limit=LIMIT),
        file_query(layout.cni_bin_dir, entries=True),
    ]
    return merge_queries(queries)


def cni_reads(layout: Layout) -> tuple[Query, ...]:
    """containerd's configuration, the layout's folder of CNI configurations, and the files that one meets in it."""
    return (file_query(layout.containerd_config, content_limit=LIMIT), *_folder_reads(layout.cni_conf_dir))


def _folder_reads(folder: str) -> tuple[Query, ...]:
    files = (file_query(windows_path.join(folder, name), content_limit=LIMIT) for name in CONF_FILES)
    return (*files, file_query(folder, entries=True))


def complete_cni(reading: Reading, expected: Node, probe: Probe) -> Reading:
    """With the CNI configuration that the runtime takes, where that was not read yet: it lies in a folder of its own,
    or has a name that is not one of CONF_FILES."""
    for _look in range(2):  # the folder, then a file in it
        more = further(reading, expected)
        reading = reading.merge(probe(more), more) if more else reading
    return reading


def further(reading: Reading, expected: Node) -> tuple[Query, ...]:
    """What has to be read besides, to know the CNI configuration that the runtime takes."""
    if not expected.flannel_is_ours:
        return ()
    folder = cni_folder(reading, expected.layout)
    if folder != expected.layout.cni_conf_dir and file_key(folder) not in reading.parts:
        return _folder_reads(folder)
    name = choose_file(_entries(reading, folder) or ())
    path = windows_path.join(folder, name) if name else ""
    return (file_query(path, content_limit=LIMIT),) if path and file_key(path) not in reading.parts else ()


def containerd_setting(reading: Reading, layout: Layout, place: Callable[[Places], Place | None]) -> Any:
    """A setting of config.toml on the node, whichever version of it that is; None if it is not there."""
    if file_key(layout.containerd_config) not in reading.parts:
        return None
    try:
        document = Document.parse(reading.text(layout.containerd_config) or "")
    except NotTomlError:
        return None
    wanted = (place(places) for row in RELEASE_LINES for places in row.places.values())
    return next((found for where in wanted if where is not None and (found := document.get(where))), None)


def cni_folder(reading: Reading, layout: Layout) -> str:
    """Where containerd looks for CNI configurations: its own conf_dir, and the layout's where it has none, or that was
    not read."""
    given = str(containerd_setting(reading, layout, lambda places: places.cni_conf_dir) or "").replace("/", "\\")
    if not given or windows_path.problem(given) or windows_path.is_same(given, layout.cni_conf_dir):
        return layout.cni_conf_dir
    return windows_path.join(given)


def scene_of(
    reading: Reading,
    expected: Node,
    cluster: ClusterView | None = None,
    vm_adapters: tuple[VmAdapter, ...] = (),
    ports: tuple[Ports, ...] = (),
    *,
    whole: bool = False,
    subnet: str = "",
    vni: int = 0,
    second: Reading | None = None,
    logs: Mapping[str, str] | None = None,
    quiet: Mapping[str, timedelta] | None = None,
    working: Iterable[str] = (),
    node: Object | None = None,
    asked: bool = False,
    kubelets: ClusterReading | None = None,
    large: tuple[LargeService, ...] = (),
    tried: Tried | None = None,
) -> Scene:
    """Out of a reading that has the answers to `reads`; what is missing in it is not checked. `vm_adapters` are what a
    Hyper-V host says of its machines, `ports` what netsh says on the node; the rest as in Scene."""
    layout, flannel = expected.layout, expected.flannel_is_ours
    folder = cni_folder(reading, layout)
    names = (_entries(reading, folder) or ()) if flannel else ()
    file = choose_file(names) or FILE
    cni_path = windows_path.join(folder, file)
    cni_text, cni_conf, cni_problem = _cni(reading, cni_path) if flannel else (None, None, "")
    services = _services(reading)
    proxy, daemon = _service(services, layout.kube_proxy_service), _service(services, layout.flanneld_service)
    return Scene(
        expected=expected,
        whole=whole,
        subnet=subnet,
        vni=vni,
        hns=parse(reading.parts.get(networks.HNS)),
        first=reading,
        second=second or reading,
        logs=logs or {},
        quiet=quiet or {},
        working=frozenset(working),
        node=node if node is not None or cluster is None else cluster.node,
        asked=asked or cluster is not None,
        adapters=_adapters(reading),
        services=services,
        cni_file=file,
        cni_path=cni_path,
        cni_text=cni_text,
        cni_conf=cni_conf,
        cni_problem=cni_problem,
        conf_files=names,
        programs=_entries(reading, layout.cni_bin_dir) if flannel else None,
        net_conf=_json(_text(reading, _net_conf_path(daemon, layout))) if flannel else None,
        lease=_lease(_text(reading, subnet_env.path(layout))) if flannel else None,
        kube_proxy=find_arguments(proxy, layout.kube_proxy_binary) if proxy and expected.kube_proxy_is_ours else None,
        kube_proxy_env=_environment(proxy) if proxy and expected.kube_proxy_is_ours else (),
        flanneld=find_arguments(daemon, layout.flanneld_binary) if daemon and flannel else None,
        started=tuple(_find_starts(reading, services, layout)),
        cluster=cluster,
        kubelets=kubelets,
        large=large if cluster is None else cluster.large,
        macs=frozenset(normalise_mac(str(each.get("mac") or "")) for each in list_adapters(reading)),
        vm_adapters=vm_adapters,
        ports=ports,
        tried=tried,
    )


def list_adapters(reading: Reading) -> tuple[Mapping[str, Any], ...]:
    """The adapters as the probe lists them; none where they could not be read."""
    found = reading.parts.get(networks.ADAPTERS)
    return tuple(each for each in found if isinstance(each, Mapping)) if isinstance(found, list) else ()


def _services(reading: Reading) -> Mapping[str, Mapping[str, Any]] | None:
    if not isinstance(reading.parts.get("services"), list):
        return None
    return {str(each["name"]).casefold(): each for each in reading.services()}


def _service(services: Mapping[str, Mapping[str, Any]] | None, name: str) -> Mapping[str, Any] | None:
    return (services or {}).get(name.casefold())


def _environment(service: Mapping[str, Any]) -> tuple[str, ...]:
    nssm = service.get("nssm") or {}
    own = (*(service.get("environment") or ()), *(nssm.get("AppEnvironmentExtra") or ()))
    return tuple(str(each) for each in own)


def _adapters(reading: Reading) -> tuple[Adapter, ...] | None:
    try:
        return networks.adapters(reading)
    except Refused:
        return None


def _text(reading: Reading, path: str) -> str | None:
    return reading.text(path) if isinstance(reading.parts.get(file_key(path)), Mapping) else None


def _entries(reading: Reading, path: str) -> tuple[str, ...] | None:
    found = reading.parts.get(file_key(path))
    names = found.get("entries") if isinstance(found, Mapping) else None
    return tuple(str(each) for each in names) if isinstance(names, list) else None


def _net_conf_path(daemon: Mapping[str, Any] | None, layout: Layout) -> str:
    given = argument(find_arguments(daemon, layout.flanneld_binary) or (), "net-config-path") if daemon else ""
    return given if given and not windows_path.problem(given) else NET_CONF


def _cni(reading: Reading, path: str) -> tuple[str | None, Conf | None, str]:
    """The text of a CNI configuration, what it says, and why it says nothing."""
    if not isinstance(reading.parts.get(file_key(path)), Mapping):
        return None, None, ""
    found = reading.file(path)
    if not found.get("exists"):
        return "", None, ""
    content = found.get("content")
    if content is None:
        return None, None, ""
    try:
        text = decode(base64.b64decode(content))
    except ConfError as error:
        return None, None, str(error)
    try:
        return text, load(windows_path.name(path), text), ""
    except ConfError as error:
        return text, None, str(error)


def _json(text: str | None) -> Mapping[str, Any] | None:
    try:
        found = json.loads(text) if text else None
    except ValueError:
        return None
    return found if isinstance(found, Mapping) else None


def _lease(text: str | None) -> SubnetEnv | None:
    try:
        return subnet_env.parse(text) if text else None
    except SubnetEnvError:
        return None


def _find_starts(
    reading: Reading, services: Mapping[str, Mapping[str, Any]] | None, layout: Layout
) -> list[tuple[str, str]]:
    """When HNS and kube-proxy were started, by service: the first by its service's process, the second by its name,
    since nssm's process is not its own."""
    listed = reading.parts.get("processes")
    processes: list[Mapping[str, Any]] = listed if isinstance(listed, list) else []
    pid = (_service(services, HNS_SERVICE) or {}).get("pid")
    name = windows_path.name(layout.kube_proxy_binary).casefold()
    found = [(HNS_SERVICE, str(each.get("started") or "")) for each in processes if pid and each.get("pid") == pid]
    found += [
        (layout.kube_proxy_service, str(each.get("started") or ""))
        for each in processes
        if str(each.get("name") or "").casefold() == name
    ]
    return found


@dataclass(frozen=True, slots=True)
class Dump:
    """What someone recorded in place of what the node says, by HNS's kinds and the file: an option of hns_check."""

    networks: str = ""
    endpoints: str = ""
    namespaces: str = ""
    policylists: str = ""
    cni_conf: str = ""
    cni_conf_name: str = FILE

    @property
    def recorded(self) -> dict[str, str]:
        """What HNS said, by kind."""
        said = {kind: str(getattr(self, kind)) for kind in KINDS}
        return {kind: text for kind, text in said.items() if text}


def read_dump(dump: Dump, layout: Layout) -> Reading:
    """As if the node had said it; a kind that is not in it was listed as empty."""
    answers = dump.recorded
    parts: dict[str, Any] = {networks.HNS: {"available": True, **answers}} if answers else {}
    if dump.cni_conf:
        name = dump.cni_conf_name
        content = as_base64(dump.cni_conf.encode())
        parts[file_key(layout.cni_conf_dir)] = {"exists": True, "kind": "directory", "entries": [name]}
        parts[file_key(windows_path.join(layout.cni_conf_dir, name))] = {
            "exists": True,
            "kind": "file",
            "content": content,
        }
    return Reading(parts=parts)
