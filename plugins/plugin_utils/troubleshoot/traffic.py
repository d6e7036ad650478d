# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where pods' traffic goes: outside, NodePorts, service addresses, names, proxies, registries.

Never by ping: Windows pods have no outbound rules for ICMP.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from ..components import networks
from ..components.flannel.flannel import conf_path
from ..diagnosis.cluster_view import SERVICE_NAME
from ..engine.environment import fingerprint
from ..engine.reading import VARIABLE, file_key
from ..facts.kubelet_flags import KUBELET
from .evidence import Evidence, Object, Said, named
from .model import Answer, broken, cannot_tell, does_not_apply, known_limitation, ok
from .services import line_of

OUTSIDE, SERVICE_IP = "outside", "service address"
FQDN, SHORT, BETWEEN = "fully qualified name", "short name", "name in between"
"""The commands that are run in a pod."""

CURL = ("curl.exe", "--silent", "--show-error", "--insecure", "--output", "NUL", "--max-time", "10")
KUBELET_PORT = 10250
_LOCAL_WORDS = "A Windows node does not reach"


def in_pod(evidence: Evidence, namespace: str) -> dict[str, tuple[str, ...]]:
    """The commands for a pod of the namespace, by name; the short name is that of a service beside the pod."""
    domain = evidence.wanted.cluster_domain
    commands: dict[str, tuple[str, ...]] = {
        FQDN: _resolve(f"kubernetes.default.svc.{domain}"),
        BETWEEN: _resolve("kubernetes.default"),
    }
    if beside := _service_in(evidence, namespace):
        commands[SHORT] = _resolve(beside)
    if address := _service_address(evidence):
        commands[SERVICE_IP] = (*CURL, f"https://{address}:443/")
    if evidence.wanted.external:
        commands[OUTSIDE] = (*CURL, url(evidence.wanted.external))
    return commands


def url(target: str) -> str:
    """The target as curl takes it."""
    return target if "://" in target else f"http://{target}/"


def outside(evidence: Evidence) -> Answer:
    """Curl out of a pod; the exceptions of OutBoundNAT in cni.conf on the node's disk."""
    if not evidence.expected.kubernetes:
        return does_not_apply("the node runs no Kubernetes.")
    target = evidence.wanted.external
    path = conf_path(evidence.layout)
    seen = []
    wrong = [one.text for one in evidence.of("cni.*")]
    remedies = [one.remedy.text for one in evidence.of("cni.*")]
    if evidence.expected.flannel:
        exceptions = exceptions_on_disk(evidence)
        seen.append(f"{path}: exceptions {', '.join(exceptions) or 'none'}")
        for address in _addresses(target):
            if networks.exception_list_covers(exceptions, address):
                wrong.append(
                    f"The exceptions in {path} cover {address}: what pods send there keeps the pod's address, and "
                    f"no answer "
                    "finds its way back."
                )
                remedies.append("Take the network that covers it out of winkube_exception_list, and run site.yml.")
    said = evidence.in_pod.said.get(OUTSIDE)
    if said is not None:
        seen.append(f"in {evidence.in_pod.pod}: curl {url(target)}: {_outcome(said)}")
    if said is not None and said.exit_code not in (0, None):
        wrong.append(
            f"The pod {evidence.in_pod.pod} does not reach {target} (curl ended with {said.exit_code}: {_first(said)})."
        )
        remedies.append("If the exceptions above are right, look at the route and the firewall of the node.")
    note = "New pods get a changed cni.conf, those that run keep the old one."
    if wrong:
        return broken(" ".join(wrong), " ".join([*dict.fromkeys(remedies), note]), seen)
    hand = f"kubectl exec -n <namespace> <pod of this node> -- {' '.join(CURL)} {url(target or '<address>')}"
    if said is None or said.exit_code is None:
        why = "no target outside was given" if not target else (_first(said) if said else evidence.in_pod.why)
        return cannot_tell(
            f"The exceptions are right, as far as this node can say; no pod tried to get outside: {why}",
            "Set winkube_diagnose_target to an address or URL, and have a pod with curl.exe on the node. Do not ping.",
            hand,
            seen,
        )
    return ok(f"A pod of this node reaches {target}, and the exceptions are right.", seen)


def exceptions_on_disk(evidence: Evidence) -> tuple[str, ...]:
    """The exceptions of every OutBoundNAT policy in the node's cni.conf."""
    path = conf_path(evidence.layout)
    text = evidence.first.text(path) if file_key(path) in evidence.first.parts else None
    try:
        found = tuple(outbound_exceptions(json.loads(text or "{}")))
    except ValueError:
        return ()
    return tuple(one for one in found if _is_network(one))


def outbound_exceptions(value: Any, version: Any = None) -> Iterator[str]:
    """The exceptions of every OutBoundNAT policy below `value`, in both forms: `Settings.Exceptions` (apiVersion 2) and
    `ExceptionList`, which the plugins do not read under apiVersion 2."""
    if isinstance(value, Mapping):
        version = next((one for key, one in value.items() if key.casefold() == "apiversion"), version)
        if str(value.get("Type", "")).casefold() == "outboundnat":
            settings = value.get("Settings") or {}
            old = () if version == 2 else value.get("ExceptionList") or ()
            yield from (str(one) for one in (*(settings.get("Exceptions") or ()), *old))
        for one in value.values():
            yield from outbound_exceptions(one, version)
    elif isinstance(value, list):
        for one in value:
            yield from outbound_exceptions(one, version)


def node_ports(evidence: Evidence) -> Answer:
    """A NodePort is tried from elsewhere; that the node itself does not reach it is how Windows is."""
    if not evidence.expected.kubernetes:
        return does_not_apply("the node runs no Kubernetes.")
    view = evidence.cluster
    if view is None:
        return cannot_tell(
            f"Which services have a NodePort is not known: {evidence.no_cluster}",
            f"{_LOCAL_WORDS} its own NodePorts; try one from another host.",
            "curl http://<address of the node>:<NodePort>/ on another host",
        )
    limitation = f"{_LOCAL_WORDS} NodePorts of its own; other nodes and external clients do."
    wanted = node_port_list(evidence)
    if not wanted:
        return ok("No service has a NodePort.")
    host = address_of(view.node)
    seen = []
    silent = []
    for name, port in wanted:
        answered = evidence.ports.get((host, port))
        seen.append(
            f"{name}, {host}:{port}: "
            f"{'not tried' if answered is None else 'answers' if answered else 'does not answer'}"
        )
        if answered is False:
            silent.append(f"{name} ({host}:{port})")
    from_here = evidence.ports.get((host, KUBELET_PORT))
    if silent and from_here:
        return broken(
            f"From the controller, which reaches this node, {', '.join(silent)} do not answer.",
            "Look at kube-proxy, and whether TCP 30000-32767 is open on the node and on the way to it.",
            seen,
        )
    if silent or not any(evidence.ports.get((host, port)) for _name, port in wanted):
        return cannot_tell(
            f"The controller does not reach this node at all, so nobody tried its NodePorts from outside. {limitation}",
            "Try one from another host.",
            f"curl http://{host}:{wanted[0][1]}/ on another host",
            seen,
        )
    return known_limitation(f"The NodePorts answer from outside. {limitation}", "Ask from another host.", seen)


def node_port_list(evidence: Evidence) -> list[tuple[str, int]]:
    """Namespace, name and port of the services with a TCP NodePort and somebody behind it; at most five."""
    view = evidence.cluster
    found = []
    for service in view.services if view else ():
        spec = service.get("spec") or {}
        if spec.get("externalTrafficPolicy") == "Local" or not _backed(evidence, service):
            continue
        for port in spec.get("ports") or ():
            if port.get("nodePort") and port.get("protocol", "TCP") == "TCP":
                found.append((named(service), int(port["nodePort"])))
    return found[:5]


def service_ips(evidence: Evidence) -> Answer:
    """The host does not reach service addresses; its pods have to."""
    if not evidence.expected.kubernetes:
        return does_not_apply("the node runs no Kubernetes.")
    said = evidence.in_pod.said.get(SERVICE_IP)
    limitation = f"{_LOCAL_WORDS} services by their service address: a limitation of Windows' networking. Its pods do."
    if said is None or said.exit_code is None:
        why = _first(said) if said else evidence.in_pod.why
        return known_limitation(
            f"{limitation} No pod was asked: {why or 'there is none'}",
            f"Ask from a pod: kubectl exec <pod of this node> -- curl.exe -k "
            f"https://{_service_address(evidence) or '<service>'}/",
        )
    seen = [f"in {evidence.in_pod.pod}: https://{_service_address(evidence)}/: {_outcome(said)}"]
    if not said.worked:
        return broken(
            f"The pod {evidence.in_pod.pod} does not reach the service kubernetes ({_service_address(evidence)}) "
            f"either.",
            "Look at kube-proxy and at HNS's load balancers (hns_check).",
            seen,
        )
    return known_limitation(limitation, "Ask from a pod.", seen)


def names(evidence: Evidence) -> Answer:
    """DNS in pods: server, one suffix, and three kinds of names."""
    if not evidence.expected.kubernetes:
        return does_not_apply("the node runs no Kubernetes.")
    seen: list[str] = []
    wrong = list(_dns_settings(evidence, seen))
    for name, command in in_pod(evidence, evidence.in_pod.pod.partition("/")[0]).items():
        said = evidence.in_pod.said.get(name)
        if name in (FQDN, SHORT, BETWEEN) and said is not None:
            seen.append(f"in {evidence.in_pod.pod}: {name} ({command[-1]}): {_outcome(said)}")
            if name != BETWEEN and said.exit_code not in (0, None):
                wrong.append(f"The {name} {command[-1].split()[1]} does not resolve in the pod {evidence.in_pod.pod}.")
    if wrong:
        return broken(
            " ".join(wrong),
            "Set winkube_dns_service_ip to the address of the cluster's DNS service and run site.yml; look that "
            "its pods are "
            "Ready. Pods that run keep what they have.",
            seen,
        )
    asked = evidence.in_pod.said.get(FQDN)
    if asked is None or asked.exit_code is None:
        why = _first(asked) if asked else evidence.in_pod.why
        return cannot_tell(
            f"The settings are right, as far as they are seen; no pod was asked for names: {why}",
            "Have a pod with PowerShell on the node (image servercore).",
            f"kubectl exec <pod of this node> -- {' '.join(in_pod(evidence, '')[FQDN])}",
            seen,
        )
    between = evidence.in_pod.said.get(BETWEEN)
    if between is not None and between.exit_code not in (0, None):
        return known_limitation(
            "Fully qualified and short names resolve; those in between (kubernetes.default) do not: Windows has "
            "one DNS "
            "suffix for a pod, and takes a name with a dot for a whole one.",
            f"Write names whole: <service>.<namespace>.svc.{evidence.wanted.cluster_domain}.",
            seen,
        )
    return ok("Names resolve in a pod of this node.", seen)


def proxy(evidence: Evidence) -> Answer:
    """The machine's proxy variables, and whether registries are reached, through the proxy if there is one."""
    wanted = {
        name: value
        for name, value in (("HTTP_PROXY", evidence.wanted.http_proxy), ("HTTPS_PROXY", evidence.wanted.https_proxy))
        if value
    }
    seen, wrong, remedies = [], [], []
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"):
        found = evidence.first.parts.get(f"{VARIABLE}{name.casefold()}")
        if found is None:
            continue
        seen.append(f"{name}: {'set' if found.get('exists') else 'not set'} for the machine")
        if name in wanted and not found.get("exists"):
            wrong.append(
                f"The machine's variable {name} is not set, though this node is behind {plain_url(wanted[name])}."
            )
        elif name in wanted and found.get("fingerprint") != fingerprint(f"{name}={wanted[name]}"):
            wrong.append(f"The machine's variable {name} is not {plain_url(wanted[name])}.")
    if wrong:
        remedies.append("Run site.yml with the tag host, and restart the machine: services see it only then.")
    if wanted:
        unset = list(_services_without_proxy(evidence))
        seen += [f"{name}: no proxy of its own, it sees the machine's after a restart" for name in unset]
    for address, said in evidence.reached.items():
        seen.append(f"{plain_url(address)}: {_outcome(said)}")
        if said.exit_code not in (0, None):
            through = (
                f" through {plain_url(evidence.wanted.https_proxy or evidence.wanted.http_proxy)}" if wanted else ""
            )
            wrong.append(f"The node does not reach {plain_url(address)}{through} ({_first(said)}).")
            remedies.append(
                "Look at the proxy, the firewall and DNS."
                if wanted
                else "If there is a proxy on the way, set winkube_node_http_proxy and winkube_node_https_proxy, and "
                "run site.yml."
            )
    if wrong:
        return broken(" ".join(wrong), " ".join(dict.fromkeys(remedies)), seen)
    tried = [said for said in evidence.reached.values() if said.exit_code is not None]
    if not tried:
        return cannot_tell(
            "No registry was asked from the node.",
            "Set winkube_diagnose_registries, or run the command on the node.",
            f"curl.exe -v {f'-x {plain_url(next(iter(wanted.values())))} ' if wanted else ''}https://registry.k8s.io/v2/",
            seen,
        )
    return ok("The node reaches what it pulls images from.", seen)


def plain_url(text: str) -> str:
    """A URL without user and password."""
    parts = urlsplit(text)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if "@" in parts.netloc else text


def address_of(node: Object | None) -> str:
    """The Node's internal address."""
    addresses = ((node or {}).get("status") or {}).get("addresses") or ()
    return next((str(one.get("address")) for one in addresses if one.get("type") == "InternalIP"), "")


def _dns_settings(evidence: Evidence, seen: list[str]) -> Iterator[str]:
    layout, wanted = evidence.layout, evidence.wanted
    argv = evidence.arguments(layout.kubelet_service, layout.kubelet_binary)
    given = line_of(argv, KUBELET, evidence).last("cluster-dns") if argv is not None else None
    if given is not None:
        seen.append(f"kubelet: {given.text}")
        if wanted.dns_service_ip and given.value.split(",")[0] != wanted.dns_service_ip:
            yield f"The kubelet gives pods the DNS server {given.value}, the cluster's is {wanted.dns_service_ip}."
    view = evidence.cluster
    if view is not None and wanted.dns_service_ip:
        dns = next(
            (one for one in view.services if (one.get("spec") or {}).get("clusterIP") == wanted.dns_service_ip), None
        )
        seen.append(f"service at {wanted.dns_service_ip}: {named(dns) if dns else 'none'}")
        if dns is None and view.services:
            yield f"No service has the address {wanted.dns_service_ip} that pods ask for names."
        elif dns is not None and _backed(evidence, dns) is False:
            yield f"Nobody is behind the DNS service {named(dns)}: its pods are not Ready."
    for endpoint in evidence.hns.endpoints:
        if endpoint.remote or not endpoint.addresses or not endpoint.dns_servers:
            continue
        servers, address = ",".join(endpoint.dns_servers), endpoint.addresses[0]
        seen.append(f"endpoint {address}: DNS {servers}, suffixes {','.join(endpoint.dns_suffixes) or 'none'}")
        if wanted.dns_service_ip and wanted.dns_service_ip not in endpoint.dns_servers:
            yield f"The endpoint {address} asks {servers} for names, not {wanted.dns_service_ip}."


def _service_in(evidence: Evidence, namespace: str) -> str:
    view = evidence.cluster
    for service in view.services if view else ():
        metadata, spec = service.get("metadata") or {}, service.get("spec") or {}
        if metadata.get("namespace") == namespace and spec.get("clusterIP") not in (None, "", "None"):
            return str(metadata.get("name"))
    return ""


def _service_address(evidence: Evidence) -> str:
    view = evidence.cluster
    for service in view.services if view else ():
        if named(service) == "default/kubernetes":
            return str((service.get("spec") or {}).get("clusterIP") or "")
    return ""


def _backed(evidence: Evidence, service: Object) -> bool | None:
    """Whether an EndpointSlice has somebody ready for the service; None where there is no slice for it: a cluster makes
    one for each service with a selector, even an empty one."""
    view = evidence.cluster
    metadata = service.get("metadata") or {}
    own = [
        one
        for one in (view.slices if view else ())
        if ((one.get("metadata") or {}).get("labels") or {}).get(SERVICE_NAME) == metadata.get("name")
        and (one.get("metadata") or {}).get("namespace") == metadata.get("namespace")
    ]
    ends = [end for one in own for end in one.get("endpoints") or ()]
    return any((end.get("conditions") or {}).get("ready") is not False for end in ends) if own else None


def _services_without_proxy(evidence: Evidence) -> Iterator[str]:
    found = evidence.service(evidence.layout.containerd_service)
    if found is None:
        return
    entries = [*(found.get("environment") or ()), *((found.get("nssm") or {}).get("AppEnvironmentExtra") or ())]
    if not any(str(entry).upper().startswith("HTTPS_PROXY=") for entry in entries):
        yield evidence.layout.containerd_service


def _resolve(name: str) -> tuple[str, ...]:
    return ("powershell.exe", "-NoProfile", "-Command", f"Resolve-DnsName {name} -ErrorAction Stop")


def _addresses(target: str) -> Iterator[str]:
    host = urlsplit(url(target)).hostname if target else None
    try:
        yield str(ipaddress.ip_address(host or ""))
    except ValueError:
        return


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True


def _outcome(said: Said) -> str:
    if said.exit_code is None:
        return f"could not be run ({_first(said)})"
    return "works" if said.worked else f"ended with {said.exit_code} ({_first(said)})"


def _first(said: Said | None) -> str:
    lines: list[str] = [line.strip() for line in (said.output if said else "").splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else "it said nothing"
