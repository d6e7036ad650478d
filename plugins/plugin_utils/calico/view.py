# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Calico's present objects in the cluster, and the wanted state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ..cluster.client import Cluster
from ..cluster.reading import with_scheme
from ..engine import windows_path
from ..facts import calico as facts
from ..facts.kubernetes import K0S_STACK
from ..facts.node_labels import OS_LABEL
from ..facts.version import Line, VersionError

Object = Mapping[str, Any]

INSTALLATIONS = "/apis/operator.tigera.io/v1/installations"
API_SERVERS = "/apis/operator.tigera.io/v1/apiservers"
STATUSES = "/apis/operator.tigera.io/v1/tigerastatuses"
DEPLOYMENTS = "/apis/apps/v1/deployments"
SERVICE = "/apis/apiregistration.k8s.io/v1/apiservices/v3.projectcalico.org"
"""Whether Calico's own API is served, by its API server or, without one, as CRDs."""
GROUP = "/apis/crd.projectcalico.org/v1"
PODS = f"/api/v1/pods?labelSelector=k8s-app%3D{facts.DAEMON_SET}"
OPERATOR = "tigera-operator"


@dataclass(frozen=True, slots=True)
class Api:
    """Where Calico's resources are: in its own group or, if nothing serves that, in the CRDs behind it."""

    group_version: str
    ipam_kind: str
    ipam: str

    def path(self, plural: str) -> str:
        """The path of the collection `plural`."""
        return f"/apis/{self.group_version}/{plural}"


OWN = Api("projectcalico.org/v3", "IPAMConfiguration", "ipamconfigurations")
STORED = Api("crd.projectcalico.org/v1", "IPAMConfig", "ipamconfigs")
"""Sources: calico api/pkg/apis/projectcalico/v3, libcalico-go/lib/apis/crd.projectcalico.org/v1."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the nodes need from Calico. Networks and CNI folders are the nodes'; empty ones are not compared. `dns` is
    the address of the cluster's DNS; `host` and `port` are the API server's for the nodes."""

    pods: str = ""
    services: tuple[str, ...] = ()
    dns: str = ""
    host: str = ""
    port: str = ""
    bin_dir: str = ""
    conf_dir: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """The objects; None or empty if missing. `operator` is the operator's namespace, empty for none; `elsewhere` are
    other namespaces with its ConfigMap. `served` is the APIService of Calico's own API, `api_server` whether the
    operator should run one, `stored` whether the CRDs behind it exist. `config` is the ConfigMap of a Calico that
    manifests have installed, `proxy` that of kube-proxy on Windows. `kubernetes` is the API server's release."""

    operator: str = ""
    installation: Object | None = None
    endpoint: Object | None = None
    elsewhere: tuple[str, ...] = ()
    served: Object | None = None
    api_server: bool = False
    stored: bool = True
    ipam: Object | None = None
    felix: Object | None = None
    config: Object | None = None
    proxy: Object | None = None
    pools: tuple[Object, ...] = ()
    status: Object | None = None
    daemon_sets: tuple[Object, ...] = ()
    pods: tuple[Object, ...] = ()
    nodes: tuple[Object, ...] = ()
    kubernetes: str = ""

    @property
    def spec(self) -> Object:
        """The Installation's spec, as written; the operator's additions are in its status."""
        return part(self.installation, "spec")

    @property
    def network(self) -> Object:
        """spec.calicoNetwork, with the operator's computed values where nothing was written."""
        computed = part(part(part(self.installation, "status"), "computed"), "calicoNetwork")
        return {**computed, **part(self.spec, "calicoNetwork")}

    @property
    def is_enabled(self) -> bool:
        """Whether the operator is told to run Calico on Windows."""
        return self.network.get("windowsDataplane") == "HNS"

    @property
    def release(self) -> Line | None:
        """Calico's release: as the operator reports it, else by the tag of the image on Linux; None if neither says
        it."""
        said = part(self.installation, "status").get("calicoVersion")
        try:
            return Line.parse(str(said or self.linux_image.rpartition(":")[2]))
        except VersionError:
            return None

    @property
    def by_manifests(self) -> bool:
        """Whether Calico was installed without an operator, as kubespray does."""
        return not self.operator and self.linux is not None

    @property
    def linux(self) -> Object | None:
        """Calico's DaemonSet for Linux nodes, where manifests have made it."""
        return self._set(facts.LINUX_SET)

    @property
    def home(self) -> str:
        """The namespace of that DaemonSet; empty without one."""
        return space(self.linux or {})

    @property
    def is_of_k0s(self) -> bool:
        """Whether k0s has made it, which brings what Windows nodes need after the first of them, and takes back what
        others change in its objects."""
        return K0S_STACK in part(part(self.linux, "metadata"), "labels")

    @property
    def linux_image(self) -> str:
        """Its image; empty without one."""
        return str(container_of(self.linux, facts.LINUX_CONTAINER).get("image") or "")

    @property
    def windows_set(self) -> Object | None:
        """Calico's DaemonSet for Windows nodes, beside the one for Linux."""
        return self._set(facts.DAEMON_SET)

    def _set(self, name: str) -> Object | None:
        found = (each for each in self.daemon_sets if name_of(each) == name)
        return next((each for each in found if space(each) != facts.NAMESPACE), None)

    def felix_value(self, field: str, variable: str) -> tuple[str, Any]:
        """A setting of Felix, and where it stands: a variable of the DaemonSet comes before the FelixConfiguration."""
        for each in container_of(self.linux, facts.LINUX_CONTAINER).get("env") or ():
            if each.get("name") == variable and str(each.get("value") or "").isdigit():
                return f"{variable} of the DaemonSet {self.home}/{facts.LINUX_SET}", int(each["value"])
        return f"{field} of the FelixConfiguration default", part(self.felix, "spec").get(field)

    @property
    def api(self) -> Api:
        """The API with Calico's resources."""
        return OWN if available(self.served) else STORED

    @property
    def windows(self) -> tuple[Object, ...]:
        """The Windows nodes."""
        return tuple(each for each in self.nodes if os_of(each) == "windows")


def build_wanted(
    server: str,
    *,
    cluster_cidr: str,
    service_cidr: str,
    cni_bin_dir: str,
    cni_conf_dir: str,
    api_server: str = "",
    dns_service_ip: str = "",
) -> Wanted:
    """From the options of these names. `server` is the API server's address in the kubeconfig, used if no other is
    given."""
    split = urlsplit(with_scheme(api_server) if api_server else server)
    return Wanted(
        pods=cluster_cidr,
        services=tuple(each.strip() for each in service_cidr.split(",") if each.strip()),
        dns=dns_service_ip,
        host=split.hostname or "",
        port=str(split.port or 443),
        bin_dir=cni_bin_dir,
        conf_dir=cni_conf_dir,
    )


def part(found: Object | None, name: str) -> Object:
    """A mapping inside an object; empty if it is missing or something else."""
    inner = (found or {}).get(name)
    return inner if isinstance(inner, Mapping) else {}


def container_of(daemon_set: Object | None, name: str) -> Object:
    """A container of a DaemonSet by its name; empty for another name."""
    pod = part(part(part(daemon_set, "spec"), "template"), "spec")
    listed = (*(pod.get("initContainers") or ()), *(pod.get("containers") or ()))
    return next((each for each in listed if each.get("name") == name), {})


def name_of(found: Object) -> str:
    """The name of an object."""
    return str(part(found, "metadata").get("name") or "")


def space(found: Object) -> str:
    """The namespace of an object."""
    return str(part(found, "metadata").get("namespace") or "")


def os_of(node: Object) -> str:
    """windows or linux."""
    return str(part(part(node, "metadata"), "labels").get(OS_LABEL) or "")


def available(service: Object | None) -> bool:
    """Whether an APIService answers. One for CRDs has no condition that says otherwise."""
    found = conditions(service)
    return service is not None and found.get("Available", {}).get("status") != "False"


def conditions(found: Object | None) -> dict[str, Object]:
    """The conditions of an object's status, by type."""
    listed = part(found, "status").get("conditions")
    return {str(each.get("type")): each for each in listed or () if isinstance(each, Mapping)}


def pools_of(view: View) -> list[Object]:
    """The Installation's IPv4 pools."""
    listed = view.network.get("ipPools")
    return [each for each in listed or () if isinstance(each, dict) and ":" not in str(each.get("cidr") or "")]


def folders(view: View) -> tuple[str, str]:
    """Where the DaemonSet writes CNI's programs and configuration on Windows nodes."""
    provider = str(view.spec.get("kubernetesProvider") or "")
    bin_dir, conf_dir = facts.PROVIDER_DIRS.get(provider, (facts.CNI_BIN_DIR, facts.CNI_CONF_DIR))
    said = part(view.spec, "windowsNodes")
    return str(said.get("cniBinDir") or bin_dir), str(said.get("cniConfigDir") or conf_dir)


def is_same_folder(one: str, other: str) -> bool:
    """Whether two paths name the same folder; one without a drive is on C:, as in a pod's hostPath."""

    def whole(path: str) -> str:
        text = path.replace("/", "\\")
        return text if text[1:2] == ":" else f"C:{text}"

    return windows_path.is_same(whole(one), whole(other))


def look(cluster: Cluster) -> View:
    """Read everything with about sixteen requests. ClusterError if one fails; an unknown resource counts as
    missing."""
    operator = next((space(each) for each in cluster.items(DEPLOYMENTS) if name_of(each) == OPERATOR), "")
    sets = View(operator=operator, daemon_sets=tuple(cluster.daemon_sets()))
    home = sets.home if sets.by_manifests else ""
    maps = [each for each in _config_maps(cluster) if name_of(each) == facts.ENDPOINT_MAP]
    served = cluster.get(SERVICE)
    api = OWN if available(served) else STORED
    return View(
        operator=operator,
        installation=cluster.get(f"{INSTALLATIONS}/default"),
        endpoint=next((each for each in maps if space(each) == operator), None),
        elsewhere=tuple(space(each) for each in maps if space(each) != operator),
        served=served,
        api_server=cluster.get(f"{API_SERVERS}/default") is not None,
        stored=cluster.get(GROUP) is not None,
        ipam=cluster.get(f"{api.path(api.ipam)}/default"),
        felix=cluster.get(f"{api.path('felixconfigurations')}/default"),
        pools=tuple(cluster.items(api.path("ippools"))),
        status=cluster.get(f"{STATUSES}/{facts.STATUS}"),
        config=cluster.get(f"/api/v1/namespaces/{home}/configmaps/{facts.CONFIG_MAP}") if home else None,
        proxy=cluster.get(f"/api/v1/namespaces/kube-system/configmaps/{facts.PROXY}"),
        daemon_sets=sets.daemon_sets,
        pods=tuple(cluster.items(PODS)),
        nodes=tuple(cluster.nodes()),
        kubernetes=cluster.version(),
    )


def _config_maps(cluster: Cluster) -> Iterable[Object]:
    return cluster.items(f"/api/v1/configmaps?fieldSelector=metadata.name%3D{facts.ENDPOINT_MAP}")
