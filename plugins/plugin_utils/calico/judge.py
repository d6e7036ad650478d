# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps Calico from working on Windows nodes, from the cluster's objects: one rule for each fault.

The module that writes the objects reports them before it touches a node, and the diagnosis does too.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..facts import calico as facts
from ..facts.version import Line, VersionError
from ..words.cause import ERROR, WARNING, Cause
from ..words.causes import CAUSES
from ..words.finding import Finding, Seen
from ..words.remedies import advice, playbook
from ..words.remedy import Remedy
from .view import (
    View,
    Wanted,
    available,
    conditions,
    container_of,
    folders,
    is_same_folder,
    name_of,
    os_of,
    part,
    pools_of,
)

SITE = "docs.tigera.io/calico/latest/getting-started/kubernetes/windows-calico"
_HOST_LOCAL = re.compile(r'"type"\s*:\s*"host-local"')
_KERNEL = re.compile(r"10\.0\.(\d{5})\.(\d+)")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: a cause, and a look at the cluster's objects. `written`: the module's plan writes the wanted value.
    `before`: it blocks every Windows node, so a run reports it before it touches one."""

    cause: Cause
    look: Callable[[View, Wanted], Iterator[Seen]]
    written: bool = False
    before: bool = True


def problems(view: View, wanted: Wanted) -> tuple[Finding, ...]:
    """All problems, causes first."""
    return tuple(Finding(rule.cause, seen) for rule in RULES for seen in rule.look(view, wanted))


def rule_of(problem: Finding) -> Rule:
    """The rule that found it."""
    return next(rule for rule in RULES if rule.cause.id == problem.id)


# -- what is installed -------------------------------------------------------------------------------------------------


def _find_missing_operator(view: View, _wanted: Wanted) -> Iterator[Seen]:
    if not view.operator and not view.by_manifests:
        yield Seen("the cluster", "it has no Deployment tigera-operator and no DaemonSet calico-node")


def _find_routes(view: View, _wanted: Wanted) -> Iterator[Seen]:
    """kubespray calls it calico_network_backend: bird, vxlan or none."""
    said = part(view.config, "data").get(facts.BACKEND_KEY)
    if view.by_manifests and view.config is not None and said != "vxlan":
        yield Seen(_config(view), f"{facts.BACKEND_KEY} is {said or 'not set'}", "vxlan")


def _find_etcd(view: View, _wanted: Wanted) -> Iterator[Seen]:
    if view.by_manifests and facts.ETCD_KEY in part(view.config, "data"):
        yield Seen(_config(view), f"it has {facts.ETCD_KEY}")


def _find_host_local(view: View, _wanted: Wanted) -> Iterator[Seen]:
    """A template, which is JSON only once its words have been filled in."""
    if view.by_manifests and _HOST_LOCAL.search(str(part(view.config, "data").get(facts.CNI_KEY) or "")):
        yield Seen(_config(view), f"the ipam of {facts.CNI_KEY} is host-local", "calico-ipam")


def _find_ebpf(view: View, _wanted: Wanted) -> Iterator[Seen]:
    if part(view.felix, "spec").get("bpfEnabled") is True:
        yield Seen("FelixConfiguration default", "bpfEnabled is true")


def _find_missing_windows_set(view: View, _wanted: Wanted) -> Iterator[Seen]:
    if view.by_manifests and view.windows_set is None and not view.is_of_k0s:
        yield Seen(f"DaemonSet {view.home}/{facts.DAEMON_SET}", "it is not there")


def _find_other_release(view: View, _wanted: Wanted) -> Iterator[Seen]:
    image = str(container_of(view.windows_set, "felix").get("image") or "")
    if not view.by_manifests or view.is_of_k0s or not image:
        return
    on_windows, on_linux = image.rpartition(":")[2], view.linux_image.rpartition(":")[2]
    if on_windows != on_linux:
        yield Seen(f"DaemonSet {view.home}/{facts.DAEMON_SET}", f"it runs {on_windows}", on_linux)


def _config(view: View) -> str:
    return f"ConfigMap {view.home}/{facts.CONFIG_MAP}"


def _find_missing_installation(view: View, _wanted: Wanted) -> Iterator[Seen]:
    if view.operator and view.installation is None:
        yield Seen("the cluster", "there is no Installation 'default'")


def _find_old_release(view: View, _wanted: Wanted) -> Iterator[Seen]:
    if view.release is not None and view.release < facts.OPERATOR_FROM:
        yield Seen("Calico", f"it is {view.release}", f"{facts.OPERATOR_FROM} or later")


def _find_untested(view: View, _wanted: Wanted) -> Iterator[Seen]:
    row = facts.release(view.release) if view.release else None
    try:
        line = Line.parse(view.kubernetes)
    except VersionError:
        return
    if line < facts.KUBERNETES_FROM:
        yield Seen("Kubernetes", f"it is {line}", f"{facts.KUBERNETES_FROM} or later")
    elif row is not None and row.kubernetes and not row.kubernetes[0] <= line <= row.kubernetes[-1]:
        tested = f"{row.kubernetes[0]} to {row.kubernetes[-1]}"
        yield Seen(f"Calico {row.calico}", f"the cluster is Kubernetes {line}", f"{tested}, which Calico tests")


def _build(view: View, _wanted: Wanted) -> Iterator[Seen]:
    for node in view.windows:
        found = _KERNEL.match(str(part(part(node, "status"), "nodeInfo").get("kernelVersion") or ""))
        least = facts.BUILDS.get(int(found[1])) if found else None
        if found and least is not None and int(found[2]) < least:
            yield Seen(f"Node {name_of(node)}", f"its Windows is {found[0]}", f"10.0.{found[1]}.{least} or later")


def _find_missing_linux(view: View, _wanted: Wanted) -> Iterator[Seen]:
    if view.nodes and not any(os_of(each) == "linux" for each in view.nodes):
        yield Seen("the cluster", "it has no Linux node")


# -- what the Installation says ----------------------------------------------------------------------------------------


def _find_disabled(view: View, _wanted: Wanted) -> Iterator[Seen]:
    if view.installation is None or view.is_enabled:
        return
    aside = " (it stands beside calicoNetwork, where nothing reads it)" if "windowsDataplane" in view.spec else ""
    said = view.network.get("windowsDataplane") or "not set"
    yield Seen("Installation", f"spec.calicoNetwork.windowsDataplane is {said}{aside}", "HNS")


def _find_other_cni(view: View, _wanted: Wanted) -> Iterator[Seen]:
    cni = part(view.spec, "cni")
    kind, ipam = cni.get("type") or "Calico", part(cni, "ipam").get("type") or "Calico"
    if kind != "Calico":
        yield Seen("Installation", f"spec.cni.type is {kind}", "Calico")
    elif ipam != "Calico":
        yield Seen("Installation", f"spec.cni.ipam.type is {ipam}", "Calico")


def _bgp(view: View, _wanted: Wanted) -> Iterator[Seen]:
    """Unset means enabled. Source: operator core_controller.go, fillDefaults; render bgpEnabled."""
    if view.installation is not None and view.network.get("bgp") != "Disabled":
        yield Seen("Installation", f"spec.calicoNetwork.bgp is {view.network.get('bgp') or 'not set'}", "Disabled")


def _encapsulation(view: View, _wanted: Wanted) -> Iterator[Seen]:
    """A pool without one is IPIP under Calico's CNI. Source: operator pkg/controller/ippool/defaults.go."""
    for pool in pools_of(view):
        if pool.get("encapsulation") != "VXLAN":
            said = pool.get("encapsulation") or "not set"
            yield Seen(f"pool {pool.get('cidr')} of the Installation", f"its encapsulation is {said}", "VXLAN")
    if view.installation is not None and view.network.get("ipPools"):
        return
    for each in view.pools:
        spec = part(each, "spec")
        modes = spec.get("ipipMode") or "Never", spec.get("vxlanMode") or "Never"
        if ":" not in str(spec.get("cidr") or "") and modes != ("Never", "Always"):
            yield Seen(f"IPPool {name_of(each)}", f"ipipMode is {modes[0]}, vxlanMode {modes[1]}", "Never and Always")


def _pool(view: View, wanted: Wanted) -> Iterator[Seen]:
    """No pool lies in the range that nodes and kube-proxy use for pods."""
    cidrs = [str(each.get("cidr")) for each in pools_of(view)] or [
        str(part(each, "spec").get("cidr")) for each in view.pools
    ]
    ranges = [found for each in cidrs if (found := _range(each)) is not None]
    own = _range(wanted.pods)
    if own is not None and ranges and not any(each.subnet_of(own) for each in ranges):
        yield Seen("Installation", f"its IPv4 pools are {', '.join(map(str, ranges))}", f"one within {own}")


def _small_blocks(view: View, _wanted: Wanted) -> Iterator[Seen]:
    for pool in pools_of(view):
        size = pool.get("blockSize")
        if isinstance(size, int) and 2 ** (32 - size) <= facts.RESERVED:
            yield Seen(f"pool {pool.get('cidr')} of the Installation", f"its blockSize is {size}", "26 or less")


def _services(view: View, wanted: Wanted) -> Iterator[Seen]:
    if view.installation is None:
        return
    said = [str(each) for each in view.spec.get("serviceCIDRs") or ()]
    if not said:
        yield Seen("Installation", "spec.serviceCIDRs is empty", ", ".join(wanted.services))
    elif wanted.services and set(said) != set(wanted.services):
        yield Seen("Installation", f"spec.serviceCIDRs is {', '.join(said)}", ", ".join(wanted.services))


def _folders(view: View, wanted: Wanted) -> Iterator[Seen]:
    if view.installation is None:
        return
    keys = ("cniBinDir", "cniConfigDir")
    for key, there, own in zip(keys, folders(view), (wanted.bin_dir, wanted.conf_dir), strict=True):
        if own and not is_same_folder(there, own):
            yield Seen("Installation", f"spec.windowsNodes.{key} is {there}", f"{own}, which containerd reads")


# -- what stands beside it ---------------------------------------------------------------------------------------------


def _find_missing_endpoint(view: View, _wanted: Wanted) -> Iterator[Seen]:
    if not view.operator:
        return
    name = f"ConfigMap {view.operator}/{facts.ENDPOINT_MAP}"
    if view.endpoint is None:
        aside = f"; there is one in {', '.join(view.elsewhere)}, which the operator does not read"
        yield Seen(name, f"it is not there{aside if view.elsewhere else ''}")
        return
    data = part(view.endpoint, "data")
    if lacking := [key for key in (facts.HOST_KEY, facts.PORT_KEY) if not data.get(key)]:
        yield Seen(name, f"it has no {' and no '.join(lacking)}")


def _endpoint_in_services(view: View, wanted: Wanted) -> Iterator[Seen]:
    host = str(part(view.endpoint, "data").get(facts.HOST_KEY) or "")
    said = [str(each) for each in view.spec.get("serviceCIDRs") or ()] or list(wanted.services)
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return
    ranges = [found for each in said if (found := _range(each)) is not None]
    if any(address in each for each in ranges) or address.is_loopback:
        yield Seen(f"ConfigMap {facts.ENDPOINT_MAP}", f"{facts.HOST_KEY} is {host}", "an address that nodes reach")


def _endpoint_name(view: View, _wanted: Wanted) -> Iterator[Seen]:
    host = str(part(view.endpoint, "data").get(facts.HOST_KEY) or "")
    if host.endswith((".svc", ".cluster.local")) or host == "kubernetes.default":
        yield Seen(f"ConfigMap {facts.ENDPOINT_MAP}", f"{facts.HOST_KEY} is {host}", "a name that nodes resolve")


def _affinity(view: View, _wanted: Wanted) -> Iterator[Seen]:
    there = view.installation is not None or view.by_manifests
    if there and part(view.ipam, "spec").get("strictAffinity") is not True:
        said = "there is none" if view.ipam is None else "strictAffinity is false"
        yield Seen(f"{view.api.ipam_kind} default", said, "strictAffinity: true")


def _find_missing_api(view: View, _wanted: Wanted) -> Iterator[Seen]:
    if view.installation is None or available(view.served):
        return
    said = conditions(view.served).get("Available", {})
    why = f"it does not answer: {said.get('message') or said.get('reason')}" if said else "nothing serves it"
    yield Seen("the API projectcalico.org/v3", str(why).rstrip("."))


def _vni(view: View, _wanted: Wanted) -> Iterator[Seen]:
    where, vni = view.felix_value("vxlanVNI", "FELIX_VXLANVNI")
    if isinstance(vni, int) and vni < facts.LEAST_VNI:
        yield Seen(where, f"it is {vni}", f"{facts.LEAST_VNI} or more")


def _port(view: View, _wanted: Wanted) -> Iterator[Seen]:
    where, port = view.felix_value("vxlanPort", "FELIX_VXLANPORT")
    if isinstance(port, int) and port != facts.PORT:
        yield Seen(where, f"it is {port}", str(facts.PORT))


# -- what came of it ---------------------------------------------------------------------------------------------------


def _find_degraded(view: View, _wanted: Wanted) -> Iterator[Seen]:
    said = conditions(view.status).get("Degraded", {})
    if view.is_enabled and said.get("status") == "True":
        text = " ".join(str(said.get(key) or "") for key in ("reason", "message")).strip() or "without a reason"
        yield Seen(f"TigeraStatus {facts.STATUS}", f"it is Degraded: {text.rstrip('.')}")


def _find_missing_daemon_set(view: View, _wanted: Wanted) -> Iterator[Seen]:
    there = any(name_of(each) == facts.DAEMON_SET for each in view.daemon_sets)
    if view.is_enabled and view.release is not None and not there:
        yield Seen(f"DaemonSet {facts.NAMESPACE}/{facts.DAEMON_SET}", "it is not there")


def _waiting(view: View, _wanted: Wanted) -> Iterator[Seen]:
    for pod in view.pods:
        status = part(pod, "status")
        for each in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
            waiting = part(part(each, "state"), "waiting")
            reason = str(waiting.get("reason") or "")
            if reason in WAITING:
                node = part(pod, "spec").get("nodeName")
                text = str(waiting.get("message") or "").strip().rstrip(".")
                yield Seen(
                    f"pod {name_of(pod)} on {node}", f"{each.get('name')} waits: {reason}{': ' * bool(text)}{text}"
                )


WAITING = frozenset(
    {
        *("ImagePullBackOff", "ErrImagePull", "InvalidImageName"),
        *("CrashLoopBackOff", "CreateContainerError", "RunContainerError"),
    }
)
"""Reasons that are not temporary. Source: kubernetes pkg/kubelet/images/types.go, container/sync_result.go."""


def _range(text: str) -> ipaddress.IPv4Network | None:
    try:
        return ipaddress.IPv4Network(text.split(",")[0].strip(), strict=False)
    except ValueError:
        return None


_FOLLOWS = ("cni.absent", "node.not-ready", "node.taint", "pod.*")


def _cause(identity: str, severity: str, title: str, why: str, remedy: str | Remedy, issue: str = "") -> Cause:
    mends = advice(remedy) if isinstance(remedy, str) else remedy
    return Cause(identity, severity, title, why, mends, issue, _FOLLOWS)


RULES: tuple[Rule, ...] = (
    Rule(
        _cause(
            "calico.no-operator",
            ERROR,
            "Calico is not installed",
            "Windows nodes get it after Linux nodes: by its operator, or beside the manifests that kubespray has.",
            playbook("Install it as docs.tigera.io/calico says (tigera-operator.yaml or the Helm chart).", "calico"),
            "projectcalico/calico#10536",
        ),
        _find_missing_operator,
    ),
    Rule(
        _cause(
            "calico.routes",
            ERROR,
            "Calico's Linux nodes are not set up for VXLAN",
            "Windows nodes reach their pods by VXLAN only.",
            "Change it to vxlan (kubespray: calico_network_backend), with a pool whose vxlanMode is Always; pods on "
            "Linux nodes lose their network meanwhile.",
        ),
        _find_routes,
    ),
    Rule(
        _cause(
            "calico.etcd",
            ERROR,
            "Calico keeps its data in etcd",
            "A Windows node would need etcd's certificates, and its pods do not get them here.",
            "Move Calico to the Kubernetes datastore (kubespray: calico_datastore: kdd).",
        ),
        _find_etcd,
    ),
    Rule(
        _cause(
            "calico.host-local",
            ERROR,
            "Calico gives pods addresses by host-local",
            "Calico's VXLAN on Windows needs calico-ipam.",
            "Use calico-ipam (kubespray: calico_ipam_host_local: false).",
        ),
        _find_host_local,
    ),
    Rule(
        _cause(
            "calico.ebpf",
            ERROR,
            "Calico runs in eBPF mode",
            "Calico does not support Windows nodes beside it.",
            "Set bpfEnabled to false (kubespray: calico_bpf_enabled) and let kube-proxy run on Linux nodes again.",
        ),
        _find_ebpf,
    ),
    Rule(
        _cause(
            "calico.no-windows",
            ERROR,
            "Nothing brings Calico to Windows nodes",
            "The manifests that installed Calico have no Windows part.",
            playbook(
                (
                    "Set windowsDataplane: HNS of the Installation; beside manifests apply calico-windows.yaml, "
                    "which has the DaemonSet calico-node-windows."
                ),
                "calico",
            ),
        ),
        _find_missing_windows_set,
        written=True,
    ),
    Rule(
        _cause(
            "calico.other-release",
            WARNING,
            "Windows nodes run another Calico than Linux nodes",
            "Calico tests one release on all nodes.",
            playbook("Set the images of calico-node-windows to the Linux nodes' release.", "calico"),
        ),
        _find_other_release,
        written=True,
        before=False,
    ),
    Rule(
        _cause(
            "calico.old",
            ERROR,
            "Calico is too old for HostProcess pods",
            "There are no images of it for HostProcess pods.",
            "Update Calico.",
            "kubernetes-sigs/sig-windows-tools#371",
        ),
        _find_old_release,
    ),
    Rule(
        _cause(
            "calico.kubernetes",
            WARNING,
            "Calico is not tested with this Kubernetes",
            "It may work; Calico's own tests do not say so.",
            "Use a Calico release whose page lists this Kubernetes.",
            "projectcalico/calico#7594",
        ),
        _find_untested,
    ),
    Rule(
        _cause(
            "calico.windows-revision",
            ERROR,
            "Windows is too old for Calico",
            "Source NAT of Services and VXLAN are not right in it.",
            "Update Windows.",
            "projectcalico/calico#7594",
        ),
        _build,
        before=False,
    ),
    Rule(
        _cause(
            "calico.no-linux",
            ERROR,
            "No Linux node runs Calico's own pods",
            "Typha and the controllers run only on Linux.",
            "Add a Linux node.",
        ),
        _find_missing_linux,
    ),
    Rule(
        _cause(
            "calico.no-installation",
            ERROR,
            "Calico's operator has no Installation",
            "Without an Installation the operator makes nothing.",
            playbook(
                "kubectl create an Installation named default (operator.tigera.io/v1) with windowsDataplane: HNS.",
                "calico",
            ),
            "tigera/operator#3113",
        ),
        _find_missing_installation,
        written=True,
    ),
    Rule(
        _cause(
            "calico.other-cni",
            ERROR,
            "Calico does not bring the pods' network",
            "With another CNI or IPAM Calico makes no VXLAN network on Windows.",
            advice(
                "Set spec.cni of the Installation to Calico with Calico's IPAM, or leave the network to that CNI.",
                variables=("winkube_network_mode",),
            ),
            "projectcalico/calico#11109",
        ),
        _find_other_cni,
    ),
    Rule(
        _cause(
            "calico.disabled",
            ERROR,
            "Calico is off on Windows",
            "The operator makes no DaemonSet for Windows.",
            playbook("Set windowsDataplane: HNS in the Installation.", "calico"),
            "projectcalico/calico#11401",
        ),
        _find_disabled,
        written=True,
    ),
    Rule(
        _cause(
            "calico.bgp",
            ERROR,
            "Calico speaks BGP",
            "With BGP Calico makes no VXLAN network on Windows.",
            playbook(
                (
                    "Set bgp: Disabled in calicoNetwork of the Installation, with pools of VXLAN; Linux pods that "
                    "are routed by BGP now lose their network meanwhile."
                ),
                "calico",
                variables=("winkube_calico_adopt",),
            ),
            "projectcalico/calico#5534",
        ),
        _bgp,
        written=True,
    ),
    Rule(
        CAUSES["calico.encapsulation"],
        _encapsulation,
        written=True,
    ),
    Rule(
        _cause(
            "calico.pool",
            ERROR,
            "The pods' addresses lie elsewhere",
            "Nodes would translate the pods' traffic.",
            playbook(
                (
                    "Bring the pool's range and the cluster's pod range (kubeadm's podSubnet, "
                    "kube-controller-manager's --cluster-cidr) together."
                ),
                "calico",
                variables=("winkube_cluster_cidr",),
            ),
        ),
        _pool,
    ),
    Rule(
        _cause(
            "calico.block-size",
            ERROR,
            "A node's block has no address for pods",
            f"A Windows node has one block and keeps {facts.RESERVED} addresses of it.",
            "Make a pool with a larger block before pods get addresses.",
        ),
        _small_blocks,
    ),
    Rule(
        _cause(
            "calico.service-cidrs",
            ERROR,
            "The operator does not know the Services' range",
            "The operator refuses the Installation, or pods on Windows do not reach Services.",
            playbook("Set serviceCIDRs of the Installation to the Services' range.", "calico"),
            "projectcalico/calico#13702",
        ),
        _services,
        written=True,
    ),
    Rule(
        _cause(
            "calico.cni-folder",
            ERROR,
            "Calico writes CNI files where containerd does not look",
            "The node stays NotReady: cni plugin not initialized.",
            playbook(
                (
                    "Set windowsNodes.cniBinDir and cniConfigDir of the Installation to containerd's bin_dir and "
                    "conf_dir."
                ),
                "calico",
                variables=(
                    "winkube_cni_bin_dir",
                    "winkube_cni_conf_dir",
                ),
            ),
            "projectcalico/calico#6122",
        ),
        _folders,
        written=True,
    ),
    Rule(
        _cause(
            "calico.no-endpoint",
            ERROR,
            "The operator does not know where the API server is",
            "Before kube-proxy runs, no Service leads there from a Windows node.",
            playbook(
                (
                    "Write KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT into ConfigMap "
                    "tigera-operator/kubernetes-services-endpoint."
                ),
                "calico",
            ),
            "projectcalico/calico#7164",
        ),
        _find_missing_endpoint,
        written=True,
    ),
    Rule(
        _cause(
            "calico.endpoint-address",
            ERROR,
            "The API server is named by a Service's address",
            "Before kube-proxy runs, no Service leads there from a Windows node.",
            playbook(
                (
                    "Write the API server's own address or its load balancer's into ConfigMap "
                    "kubernetes-services-endpoint."
                ),
                "calico",
                variables=("winkube_api_server",),
            ),
        ),
        _endpoint_in_services,
        written=True,
    ),
    Rule(
        _cause(
            "calico.endpoint-name",
            ERROR,
            "The API server is named by the cluster's DNS",
            "Pods of the host's network ask the machine's DNS, which does not know the cluster's names.",
            playbook(
                (
                    "Write the API server's own address or its load balancer's into ConfigMap "
                    "kubernetes-services-endpoint."
                ),
                "calico",
                variables=("winkube_api_server",),
            ),
        ),
        _endpoint_name,
        written=True,
    ),
    Rule(
        _cause(
            "calico.affinity",
            ERROR,
            "Linux nodes may borrow addresses of Windows nodes",
            "Calico's IPAM refuses Windows pods: global strict affinity should not be false for Windows node.",
            playbook(
                (
                    "calicoctl ipam configure --strictaffinity=true; kubespray sets it back at its next run unless "
                    "calico_ipam_strictaffinity: true."
                ),
                "calico",
            ),
            "Azure/AKS-Edge#43",
        ),
        _affinity,
        written=True,
    ),
    Rule(
        _cause(
            "calico.no-api",
            ERROR,
            "Calico's own API is not served",
            "The operator waits for the IPAMConfiguration watch and makes nothing for Windows.",
            playbook(
                (
                    "kubectl create an APIServer named default (operator.tigera.io/v1); if there is one, look at "
                    "its pods (kubectl -n calico-apiserver get pods)."
                ),
                "calico",
            ),
            "tigera/operator#3276",
        ),
        _find_missing_api,
        written=True,
    ),
    Rule(
        _cause(
            "calico.vni",
            ERROR,
            "The VNI is too small for Windows",
            "Calico's CNI plugin ends with 'Windows does not support VXLANVNI < 4096'.",
            "Set it to 4096 (kubespray: calico_vxlan_vni); Linux nodes change it, too.",
            "projectcalico/felix#1992",
        ),
        _vni,
    ),
    Rule(
        _cause(
            "calico.vxlan-port",
            ERROR,
            "VXLAN uses a port that Windows does not have",
            "Windows uses port 4789 for VXLAN, and no other.",
            "Set it to 4789 (kubespray: calico_vxlan_port); Linux nodes change it, too.",
            "projectcalico/calico#10692",
        ),
        _port,
    ),
    Rule(
        _cause(
            "calico.degraded",
            ERROR,
            "The operator cannot set up Calico on Windows",
            "The operator says why.",
            "Fix what it names; kubectl describe tigerastatus calico-windows shows it again.",
            "projectcalico/calico#8669",
        ),
        _find_degraded,
        before=False,
    ),
    Rule(
        _cause(
            "calico.no-daemonset",
            ERROR,
            "The operator has made no DaemonSet for Windows",
            "Windows nodes get no network without it.",
            "kubectl get tigerastatus and the operator's log say why.",
            "projectcalico/calico#8669",
        ),
        _find_missing_daemon_set,
        before=False,
    ),
    Rule(
        _cause(
            "calico.waiting",
            ERROR,
            "Calico's pod does not run on a Windows node",
            "The node has no network for pods until it does.",
            (
                "For an image: let the node reach the registry, or name yours in spec.registry. For one that "
                "crashes: kubectl -n calico-system logs POD -c CONTAINER."
            ),
            "kubernetes-sigs/sig-windows-tools#310",
        ),
        _waiting,
        before=False,
    ),
)
"""Rules in the order of their dependencies."""
