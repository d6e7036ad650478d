# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of where pods' traffic goes: outside, NodePorts, service addresses, names, proxies, registries.

Never by ping: Windows pods have no outbound rules for ICMP. What Windows cannot do, and what no one tried, are notes.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from urllib.parse import urlsplit

from ..cluster.backends import is_ready, slices_of
from ..cluster.objects import full_name
from ..components import networks
from ..components.healthz import find_url
from ..components.kube_proxy import kube_proxy
from ..components.layout import Layout
from ..engine.address import mask
from ..engine.environment import Entry
from ..engine.powershell import literal
from ..engine.reading import VARIABLE, Reading
from ..facts.flags import KUBELET
from ..words.cause import ERROR, NOTE, Area, Cause
from ..words.causes import CAUSES
from ..words.finding import Seen
from ..words.remedies import advice, converge
from ..words.remedy import Ends
from .check import Check, Needs, ranges
from .checks_services import arguments, line_of
from .cluster_view import Object
from .scene import Scene
from .tried import Objects, Tried

OUTSIDE, SERVICE_IP = "outside", "service address"
FQDN, SHORT, BETWEEN = "fully qualified name", "short name", "name in between"
"""The commands that are run in a pod."""

CURL = ("curl.exe", "--silent", "--show-error", "--insecure", "--output", "NUL", "--max-time", "10")
KUBELET_PORT = 10250
_LOCAL_WORDS = "A Windows node does not reach"
NOTE_NEW = "New pods get a changed cni.conf, those that run keep the old one."


def commands(tried: Tried, namespace: str) -> dict[str, tuple[str, ...]]:
    """The commands for a pod of the namespace, by name; the short name is that of a service beside the pod."""
    domain = tried.expected.kubelet.cluster_domain
    found: dict[str, tuple[str, ...]] = {
        FQDN: _resolve(f"kubernetes.default.svc.{domain}"),
        BETWEEN: _resolve("kubernetes.default"),
    }
    if beside := _service_in(tried.objects, namespace):
        found[SHORT] = _resolve(beside)
    if address := _service_address(tried.objects):
        found[SERVICE_IP] = (*CURL, f"https://{address}:443/")
    if tried.how.target:
        found[OUTSIDE] = (*CURL, url(tried.how.target))
    return found


def url(target: str) -> str:
    """The target as curl takes it."""
    return target if "://" in target else f"http://{target}/"


def _of(scene: Scene) -> Tried | None:
    """What was tried on a node of a cluster."""
    return scene.tried if scene.expected.kubernetes else None


def _outside(scene: Scene) -> Iterator[Seen]:
    """Curl out of a pod; the exceptions of OutBoundNAT in the node's CNI configuration."""
    if (tried := _of(scene)) is None:
        return
    target = tried.how.target
    given = scene.cni_conf.exceptions() if scene.cni_conf else ()
    exceptions = [str(one) for each in given for one in ranges(each)]
    for address in _addresses(target):
        if networks.exception_list_covers(exceptions, address):
            yield Seen(
                scene.cni_file,
                f"its exceptions cover {address}: what pods send there keeps the pod's address, and no answer finds "
                "its way back",
                "no exception that covers it",
                converge(
                    "flannel",
                    text=f"Take the network that covers it out of the exceptions of {scene.cni_file}. {NOTE_NEW}",
                    variables=("winkube_exception_list",),
                ),
                evidence=(f"exceptions: {', '.join(exceptions)}",),
            )
    said = tried.in_pod.said.get(OUTSIDE)
    if said is not None and said.failed:
        yield Seen(
            f"pod {tried.in_pod.pod}",
            f"it does not reach {target} (curl ended with {said.exit_code}: {said.first})",
            evidence=(f"exceptions: {', '.join(exceptions) or 'none'}", f"curl {url(target)}: {said.outcome}"),
        )


def _outside_untried(scene: Scene) -> Iterator[Seen]:
    if (tried := _of(scene)) is None:
        return
    target, said = tried.how.target, tried.in_pod.said.get(OUTSIDE)
    if said is None or said.exit_code is None:
        why = "no target outside was given" if not target else (said.first if said else _why(tried))
        hand = f"kubectl exec -n NAMESPACE POD -- {' '.join(CURL)} {url(target or 'ADDRESS')}"
        yield Seen(
            "outside of the cluster",
            f"no pod tried to get there: {why}",
            remedy=advice(
                f"From a pod of the node that has curl.exe: {hand}. Do not ping.",
                variables=("winkube_diagnose_target",),
            ),
        )


def _why(tried: Tried) -> str:
    return tried.in_pod.why.rstrip(".") or tried.no_cluster.rstrip(".") or "there is none that was asked"


def node_port_list(objects: Objects | None) -> list[tuple[str, int]]:
    """Namespace, name and port of the services with a TCP NodePort and someone behind it; at most five."""
    found = []
    for service in objects.services if objects else ():
        spec = service.get("spec") or {}
        if spec.get("externalTrafficPolicy") == "Local" or not _has_backend(objects, service):
            continue
        for port in spec.get("ports") or ():
            if port.get("nodePort") and port.get("protocol", "TCP") == "TCP":
                found.append((full_name(service), int(port["nodePort"])))
    return found[:5]


def health_port_list(objects: Objects | None, url: str) -> list[tuple[str, int]]:
    """What load balancers ask of a node, with the port: kube-proxy, which answers on the node itself at `url` (empty:
    nowhere), and the healthCheckNodePorts of five services at most."""
    port = urlsplit(url).port if url else None
    found = [("kube-proxy", port)] if port else []
    for service in objects.services if objects else ():
        if asked := (service.get("spec") or {}).get("healthCheckNodePort"):
            found.append((f"service {full_name(service)}", int(asked)))
    return found[:6]


def _health_checks(scene: Scene) -> Iterator[Seen]:
    """Ports at which kube-proxy answers the node itself, but not the controller, which reaches the kubelet."""
    tried = _of(scene)
    if tried is None or not tried.ports.get((address_of(tried.node), KUBELET_PORT)):
        return
    host, url = address_of(tried.node), kube_proxy_url(scene.layout, scene.first)
    if (scene.second.parts.get(f"http:{url}") or {}).get("status") not in (200, 503):
        return
    for name, port in health_port_list(tried.objects, url):
        if tried.ports.get((host, port)) is False:
            seen = f"{host}:{port} does not answer the controller, though kube-proxy runs: load balancers pass it over"
            yield Seen(name, seen, "an answer", evidence=(f"{url} answers on the node itself",))


def kube_proxy_url(layout: Layout, reading: Reading) -> str:
    """Where kube-proxy answers on the node itself; its usual place where the service is the cluster's."""
    return find_url(kube_proxy.DAEMON, reading.service(layout.kube_proxy_service) or {}, layout, reading)


def _node_ports(scene: Scene) -> Iterator[Seen]:
    """NodePorts that do not answer the controller, which reaches the node's kubelet."""
    tried = _of(scene)
    if tried is None or not tried.ports.get((address_of(tried.node), KUBELET_PORT)):
        return
    host = address_of(tried.node)
    for name, port in node_port_list(tried.objects):
        if tried.ports.get((host, port)) is False:
            yield Seen(f"service {name}", f"{host}:{port} does not answer the controller, which reaches this node")


def _node_ports_local(scene: Scene) -> Iterator[Seen]:
    if (tried := _of(scene)) is None:
        return
    host, limitation = address_of(tried.node), f"{_LOCAL_WORDS} NodePorts of its own; other nodes and clients do"
    wanted = node_port_list(tried.objects)
    if tried.objects is None:
        why = tried.no_cluster.rstrip(".")
        yield Seen("NodePorts", f"which services have one is not known: {why}. {limitation}")
    elif wanted and not any(tried.ports.get((host, port)) for _name, port in wanted):
        if not tried.ports.get((host, KUBELET_PORT)):
            yield Seen(
                "NodePorts",
                f"the controller does not reach this node at all, so its NodePorts were not tried. {limitation}",
                remedy=advice(f"curl http://{host}:{wanted[0][1]}/ on another host"),
            )
    elif wanted:
        yield Seen("NodePorts", f"they answer from outside. {limitation}", remedy=advice("Ask from another host."))


def _service_ips(scene: Scene) -> Iterator[Seen]:
    """Pods have to reach service addresses."""
    tried = _of(scene)
    said = tried.in_pod.said.get(SERVICE_IP) if tried else None
    if tried is not None and said is not None and said.failed:
        address = _service_address(tried.objects)
        seen = f"it does not reach the service kubernetes ({address}): {said.outcome}"
        yield Seen(f"pod {tried.in_pod.pod}", seen, evidence=(f"https://{address}/: {said.outcome}",))


def _service_ips_host(scene: Scene) -> Iterator[Seen]:
    tried = _of(scene)
    if tried is None or any(_service_ips(scene)):
        return
    said = tried.in_pod.said.get(SERVICE_IP)
    text = f"{_LOCAL_WORDS} services by their service address: a limitation of Windows' networking. Its pods do"
    if said is None or said.exit_code is None:
        why = said.first if said else _why(tried)
        address = _service_address(tried.objects) or "ADDRESS"
        yield Seen(
            "service addresses",
            f"{text}. No pod was asked: {why}",
            remedy=advice(f"Ask from a pod of the node: kubectl exec POD -- curl.exe -k https://{address}/"),
        )
    else:
        yield Seen("service addresses", text)


def _names(scene: Scene) -> Iterator[Seen]:
    """DNS in pods: server, one suffix, and three kinds of names."""
    if (tried := _of(scene)) is None:
        return
    yield from _dns_settings(scene, tried)
    for name, command in commands(tried, tried.in_pod.pod.partition("/")[0]).items():
        said = tried.in_pod.said.get(name)
        if name in (FQDN, SHORT) and said is not None and said.failed:
            what = command[-1].split()[1].strip("'")
            yield Seen(
                f"pod {tried.in_pod.pod}",
                f"the {name} {what} does not resolve in it",
                evidence=(f"{name} ({command[-1]}): {said.outcome}",),
            )


def _names_limits(scene: Scene) -> Iterator[Seen]:
    if (tried := _of(scene)) is None or any(_names(scene)):
        return
    asked, between = tried.in_pod.said.get(FQDN), tried.in_pod.said.get(BETWEEN)
    if asked is None or asked.exit_code is None:
        hand = " ".join(commands(tried, "")[FQDN])
        yield Seen(
            "names",
            f"no pod was asked for names: {asked.first if asked else _why(tried)}",
            remedy=advice(f"From a pod of the node that has PowerShell (image servercore): kubectl exec POD -- {hand}"),
        )
    elif between is not None and between.failed:
        yield Seen(
            "names",
            "fully qualified and short names resolve; those in between (kubernetes.default) do not: Windows has one "
            "DNS suffix for a pod, and takes a name with a dot for a whole one",
            remedy=advice(f"Write names whole: SERVICE.NAMESPACE.svc.{tried.expected.kubelet.cluster_domain}."),
        )


def _dns_settings(scene: Scene, tried: Tried) -> Iterator[Seen]:
    layout, wanted = scene.layout, next(iter(tried.expected.kubelet.cluster_dns), "")
    argv = arguments(scene, layout.kubelet_service, layout.kubelet_binary)
    given = line_of(argv, KUBELET, scene).find_last("cluster-dns") if argv is not None else None
    if given is not None and wanted and given.value.split(",")[0] != wanted:
        yield Seen("kubelet", f"it gives pods the DNS server {given.value}", wanted, evidence=(given.text,))
    if tried.objects is not None and wanted:
        services = tried.objects.services
        dns = next((one for one in services if (one.get("spec") or {}).get("clusterIP") == wanted), None)
        if dns is None and services:
            yield Seen("cluster", f"no service has the address {wanted} that pods ask for names")
        elif dns is not None and _has_backend(tried.objects, dns) is False:
            yield Seen(f"service {full_name(dns)}", "it has no endpoints: the DNS pods are not Ready")
    for endpoint in scene.hns.endpoints:
        if endpoint.remote or not endpoint.addresses or not endpoint.dns_servers or not wanted:
            continue
        if wanted not in endpoint.dns_servers:
            suffixes = ",".join(endpoint.dns_suffixes) or "none"
            yield Seen(
                f"endpoint {endpoint.addresses[0]}",
                f"it asks {','.join(endpoint.dns_servers)} for names",
                wanted,
                evidence=(f"suffixes: {suffixes}",),
            )


def _proxy(scene: Scene) -> Iterator[Seen]:
    """The machine's proxy variables, and whether registries are reached, through the proxy if there is one."""
    if (tried := scene.tried) is None:
        return
    given = {"HTTP_PROXY": tried.how.http_proxy, "HTTPS_PROXY": tried.how.https_proxy}
    wanted = {name: value for name, value in given.items() if value}
    machine = converge(
        "host",
        text="Set it for the machine ([Environment]::SetEnvironmentVariable(NAME, VALUE, 'Machine')) and restart the "
        "machine: services see it only then.",
        ends=(Ends.MACHINE,),
    )
    for name, value in wanted.items():
        found = scene.first.parts.get(f"{VARIABLE}{name.casefold()}")
        if found is None:
            continue
        if not found.get("exists"):
            seen = f"it is not set, though this node is behind {mask(value)}"
            yield Seen(f"the machine's variable {name}", seen, mask(value), machine)
        elif found.get("fingerprint") != Entry(name, value).fingerprint:
            yield Seen(f"the machine's variable {name}", "it has another value", mask(value), machine)
    through = f" through {mask(wanted.get('HTTPS_PROXY') or wanted['HTTP_PROXY'])}" if wanted else ""
    for address, said in tried.reached.items():
        if said.failed:
            yield Seen(
                "registry",
                f"the node does not reach {mask(address)}{through} ({said.first})",
                remedy=advice("Look at the proxy, the firewall and DNS.")
                if wanted
                else converge(
                    "host",
                    text="If there is a proxy on the way, set HTTP_PROXY and HTTPS_PROXY for the machine.",
                    variables=("winkube_node_http_proxy", "winkube_node_https_proxy"),
                ),
                evidence=tuple(_without_proxy(scene)) if wanted else (),
            )


def _proxy_untried(scene: Scene) -> Iterator[Seen]:
    tried = scene.tried
    if tried is None or any(said.exit_code is not None for said in tried.reached.values()):
        return
    proxy = mask(tried.how.https_proxy or tried.how.http_proxy)
    hand = f"curl.exe -v {f'-x {proxy} ' if proxy else ''}https://registry.k8s.io/v2/"
    why = next((f": {said.first}" for said in tried.reached.values()), "")
    yield Seen(
        "registries",
        f"none was asked from the node{why}",
        remedy=advice(f"Run on the node: {hand}", variables=("winkube_diagnose_registries",)),
    )


def address_of(node: Object | None) -> str:
    """The Node's internal address."""
    addresses = ((node or {}).get("status") or {}).get("addresses") or ()
    return next((str(one.get("address")) for one in addresses if one.get("type") == "InternalIP"), "")


def _service_in(objects: Objects | None, namespace: str) -> str:
    for service in objects.services if objects else ():
        metadata, spec = service.get("metadata") or {}, service.get("spec") or {}
        if metadata.get("namespace") == namespace and spec.get("clusterIP") not in (None, "", "None"):
            return str(metadata.get("name"))
    return ""


def _service_address(objects: Objects | None) -> str:
    for service in objects.services if objects else ():
        if full_name(service) == "default/kubernetes":
            return str((service.get("spec") or {}).get("clusterIP") or "")
    return ""


def _has_backend(objects: Objects | None, service: Object) -> bool | None:
    """Whether an EndpointSlice has someone ready for the service; None where there is no slice for it: a cluster makes
    one for each service with a selector, even an empty one."""
    metadata = service.get("metadata") or {}
    own = slices_of(objects.slices if objects else (), metadata.get("namespace"), metadata.get("name"))
    return any(is_ready(end) for one in own for end in one.get("endpoints") or ()) if own else None


def _without_proxy(scene: Scene) -> Iterator[str]:
    name = scene.layout.containerd_service
    found = scene.second.service(name)
    if found is None:
        return
    entries = [*(found.get("environment") or ()), *((found.get("nssm") or {}).get("AppEnvironmentExtra") or ())]
    if not any(str(entry).upper().startswith("HTTPS_PROXY=") for entry in entries):
        yield f"{name}: no proxy of its own, it sees the machine's after a restart"


def _resolve(name: str) -> tuple[str, ...]:
    return ("powershell.exe", "-NoProfile", "-Command", f"Resolve-DnsName {literal(name)} -ErrorAction Stop")


def _addresses(target: str) -> Iterator[str]:
    host = urlsplit(url(target)).hostname if target else None
    try:
        yield str(ipaddress.ip_address(host or ""))
    except ValueError:
        return


CHECKS = (
    Check(
        Cause(
            "traffic.outside",
            ERROR,
            "Pods do not reach what is outside the cluster",
            "OutBoundNAT in the CNI configuration, the node's routes and its firewall decide about it.",
            advice(
                f"If the exceptions in cni.conf are right, look at the route and the firewall of the node. {NOTE_NEW}"
            ),
            area=Area.WORKLOADS,
        ),
        _outside,
        needs=Needs.TRIED,
    ),
    Check(
        Cause(
            "traffic.outside-not-tried",
            NOTE,
            "Whether pods reach what is outside the cluster is not known",
            "",
            advice(
                "curl.exe of an address outside of the cluster, from a pod (kubectl exec). Do not ping.",
                variables=("winkube_diagnose_target",),
            ),
            area=Area.WORKLOADS,
        ),
        _outside_untried,
        needs=Needs.TRIED,
    ),
    Check(
        Cause(
            "traffic.node-port",
            ERROR,
            "NodePorts do not answer",
            "kube-proxy has no rule for it, or something on the way keeps it back.",
            advice("Look at kube-proxy, and whether TCP 30000-32767 is open on the node and on the way to it."),
            area=Area.WORKLOADS,
        ),
        _node_ports,
        needs=Needs.TRIED,
    ),
    Check(
        Cause(
            "traffic.health-check",
            ERROR,
            "Load balancers count the node as dead",
            "Windows' firewall or the cloud's keeps their health checks from kube-proxy.",
            converge(
                "kube_proxy",
                text="Open TCP 10256 and the node ports to the load balancer in the host's firewall.",
                variables=("winkube_health_check_sources",),
            ),
            area=Area.WORKLOADS,
        ),
        _health_checks,
        needs=Needs.TRIED,
    ),
    Check(
        Cause(
            "traffic.node-port-local",
            NOTE,
            "A Windows node does not reach its own NodePorts",
            "",
            advice("curl http://ADDRESS:NODEPORT/ on another host"),
            area=Area.WORKLOADS,
        ),
        _node_ports_local,
        needs=Needs.TRIED,
    ),
    Check(
        Cause(
            "traffic.service-ip",
            ERROR,
            "Pods do not reach Services",
            "HNS has no rule for it, or its rules lead nowhere.",
            advice("Look at kube-proxy and at HNS's load balancers (hnsdiag list loadbalancers)."),
            explains=("traffic.names",),
            area=Area.WORKLOADS,
        ),
        _service_ips,
        needs=Needs.TRIED,
    ),
    Check(
        Cause(
            "traffic.service-ip-host",
            NOTE,
            "A Windows node does not reach service addresses",
            "",
            advice("Ask from a pod."),
            area=Area.WORKLOADS,
        ),
        _service_ips_host,
        needs=Needs.TRIED,
    ),
    Check(
        CAUSES["traffic.names"],
        _names,
        needs=Needs.TRIED,
    ),
    Check(
        CAUSES["traffic.names-limits"],
        _names_limits,
        needs=Needs.TRIED,
    ),
    Check(
        CAUSES["host.proxy"],
        _proxy,
        needs=Needs.TRIED,
    ),
    Check(
        Cause(
            "host.registries-not-asked",
            NOTE,
            "Whether the node reaches registries is not known",
            "",
            advice("curl.exe -v https://REGISTRY/v2/ on the node.", variables=("winkube_diagnose_registries",)),
            area=Area.WORKLOADS,
        ),
        _proxy_untried,
        needs=Needs.TRIED,
    ),
)
