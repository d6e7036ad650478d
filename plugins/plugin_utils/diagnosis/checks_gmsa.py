# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of gMSA: the CRD, the webhook, credential specs, who may use them, and what the node itself needs for one.

Whether Active Directory lets the host read the account's password only the host can try (Test-ADServiceAccount).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from ..cluster.backends import is_ready, slices_of
from ..cluster.client import Cluster
from ..cluster.error import ClusterError
from ..cluster.objects import full_name
from ..engine.reading import Query
from ..lint.credential_spec import faults
from ..words.cause import ERROR, WARNING, Area, Cause
from ..words.causes import CAUSES
from ..words.causes_node import GMSA_FOLLOWS
from ..words.finding import Seen
from ..words.remedies import advice
from .check import Check, Needs
from .cluster_view import Object
from .scene import Scene
from .tried import Gmsa, Objects

try:
    from cryptography import x509
except ImportError:  # ansible-core depends on it, but a mere import of the file must not need it
    x509 = None  # type: ignore[assignment]

GROUP = "/apis/windows.k8s.io/v1"
SPECS = f"{GROUP}/gmsacredentialspecs"
WEBHOOK = "admission-webhook.windows-gmsa.sigs.k8s.io"
"""Source: kubernetes-sigs/windows-gmsa 993de21c admission-webhook/deploy/gmsa-webhook.yml.tpl, charts/gmsa."""
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"

CCG = Query("registry:ccg", "registry", (("path", r"HKLM\SYSTEM\CurrentControlSet\Control\CCG\COMClasses"),))
"""A key for each plugin of the Container Credential Guard. Source: learn.microsoft.com, ICcgDomainAuthCredentials
(corrected by MicrosoftDocs/sdk-api#1006)."""
DOMAIN = Query(
    "registry:domain",
    "registry",
    (("path", r"HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"), ("name", "Domain")),
)
"""The DNS domain of the machine, which is that of its Active Directory once it has joined one."""


def find_used(pods: Iterable[Object]) -> dict[str, list[tuple[str, str]]]:
    """Credential specs by name -> (namespace, account) of the pods that name them."""
    found: dict[str, list[tuple[str, str]]] = {}
    for pod in pods:
        spec, space = pod.get("spec") or {}, str((pod.get("metadata") or {}).get("namespace") or "")
        for each in (spec, *(spec.get("containers") or ())):
            options = (each.get("securityContext") or {}).get("windowsOptions") or {}
            if name := str(options.get("gmsaCredentialSpecName") or ""):
                found.setdefault(name, []).append((space, str(spec.get("serviceAccountName") or "default")))
    return found


def ask_gmsa(cluster: Cluster | None, objects: Objects | None) -> Gmsa | None:
    """None for a cluster without gMSA, and for who may not read its objects (examples/rbac/diagnose.yml)."""
    if cluster is None or objects is None:
        return None
    names = find_used(objects.pods)
    try:
        served = cluster.get(GROUP) is not None
        if not served and not names:
            return None
        return Gmsa(
            served,
            tuple(cluster.items(SPECS)) if served else (),
            tuple(_webhooks(cluster)),
            tuple(_find_denied(cluster, names)) if served else (),
        )
    except ClusterError:
        return None


def _webhooks(cluster: Cluster) -> Iterator[Object]:
    for kind in ("mutating", "validating"):
        for configuration in cluster.items(f"{_ADMISSION}/{kind}webhookconfigurations"):
            for each in configuration.get("webhooks") or ():
                if each.get("name") == WEBHOOK:
                    yield {**each, "kind": kind}


def _find_denied(cluster: Cluster, names: Mapping[str, list[tuple[str, str]]]) -> Iterator[tuple[str, str]]:
    """As the webhook asks. Source: windows-gmsa admission-webhook/kube_client.go, isAuthorizedToUseCredSpec."""
    for name, pods in names.items():
        for space, account in dict.fromkeys(pods):
            attributes = {
                "namespace": space, "verb": "use", "group": "windows.k8s.io", "resource": "gmsacredentialspecs",
                "name": name,
            }  # fmt: skip
            body = {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "LocalSubjectAccessReview",
                "metadata": {"namespace": space},
                "spec": {"user": f"system:serviceaccount:{space}:{account}", "resourceAttributes": attributes},
            }
            path = f"/apis/authorization.k8s.io/v1/namespaces/{space}/localsubjectaccessreviews"
            try:
                answer = cluster.create(path, body)
            except ClusterError:  # who may not ask learns nothing
                return
            if not (answer.get("status") or {}).get("allowed"):
                yield f"{space}/{account}", name


def gmsa_reads(gmsa: Gmsa | None) -> tuple[Query, ...]:
    """What the node has to say; nothing where the cluster has no gMSA."""
    if gmsa is None:
        return ()
    return (CCG, DOMAIN, *(_class(guid) for guid in dict.fromkeys(filter(None, map(_plugin, gmsa.specs)))))


def _class(guid: str) -> Query:
    path = rf"HKLM\SOFTWARE\Classes\CLSID\{guid}"
    return Query(f"registry:clsid:{guid.casefold()}", "registry", (("path", path),))


def _plugin(spec: Object) -> str:
    host = ((spec.get("credspec") or {}).get("ActiveDirectoryConfig") or {}).get("HostAccountConfig") or {}
    return str(host.get("PluginGUID") or "")


def _asked(scene: Scene) -> bool:
    """Whether the cluster told of gMSA."""
    return scene.tried is not None and scene.tried.gmsa is not None


def _of(scene: Scene) -> Gmsa:
    """What it told; nothing where it was not asked."""
    return (scene.tried.gmsa if scene.tried is not None else None) or Gmsa()


def _pods(scene: Scene) -> dict[str, list[tuple[str, str]]]:
    objects = scene.tried.objects if scene.tried is not None else None
    return find_used(objects.pods) if objects is not None else {}


def _no_crd(scene: Scene) -> Iterator[Seen]:
    if _asked(scene) and not _of(scene).served:
        yield Seen(f"pods with {', '.join(sorted(_pods(scene)))}", "the cluster has no GMSACredentialSpecs")


def _no_webhook(scene: Scene) -> Iterator[Seen]:
    gmsa = _of(scene)
    if not gmsa.served:
        return
    there = {str(each["kind"]) for each in gmsa.webhooks}
    for kind in ("mutating", "validating"):
        if kind not in there:
            yield Seen("the cluster", f"it has no {kind} webhook {WEBHOOK}")


def _webhook_down(scene: Scene) -> Iterator[Seen]:
    gmsa, objects = _of(scene), scene.tried.objects if scene.tried is not None else None
    if objects is None:
        return
    services = {_service(each) for each in gmsa.webhooks}
    for space, name in sorted(services - {("", "")}):
        own = slices_of(objects.slices, space, name)
        if not any(is_ready(end) for each in own for end in each.get("endpoints") or ()):
            policy = {str(each.get("failurePolicy") or "Fail") for each in gmsa.webhooks}
            then = "new pods are refused" if "Fail" in policy else "new pods start without their gMSA"
            yield Seen(f"Service {space}/{name}", f"no pod behind it is ready, so {then}")


def _service(webhook: Object) -> tuple[str, str]:
    service = (webhook.get("clientConfig") or {}).get("service") or {}
    return str(service.get("namespace") or ""), str(service.get("name") or "")


def _webhook_ca(scene: Scene) -> Iterator[Seen]:
    clock = (scene.first.parts.get("system") or {}).get("clock")
    for each in _of(scene).webhooks:
        client = each.get("clientConfig") or {}
        where = f"{each['kind']} webhook {WEBHOOK}"
        if client.get("service") and not client.get("caBundle"):
            yield Seen(where, "it has no caBundle, so the API server does not trust it")
            continue
        ends = _last_end(str(client.get("caBundle") or ""))
        if clock and ends and ends < datetime.fromisoformat(str(clock).replace("Z", "+00:00")):
            yield Seen(where, f"the certificates of its caBundle have expired, the last on {ends:%Y-%m-%d}")


def _last_end(bundle: str) -> datetime | None:
    """When the last certificate of a caBundle (base64 of PEM) ends; None for what cannot be read."""
    if x509 is None:
        return None
    try:
        found = x509.load_pem_x509_certificates(base64.b64decode(bundle, validate=True))
    except (binascii.Error, ValueError):
        return None
    return max((each.not_valid_after_utc for each in found), default=None)


def _find_ignored(scene: Scene) -> Iterator[Seen]:
    for each in _of(scene).webhooks:
        if each.get("failurePolicy") == "Ignore":
            yield Seen(f"{each['kind']} webhook {WEBHOOK}", "its failurePolicy is Ignore", "Fail")


def _bad_spec(scene: Scene) -> Iterator[Seen]:
    for each in _of(scene).specs:
        for fault in faults(each.get("credspec") or {}):
            yield Seen(f"GMSACredentialSpec {full_name(each)}", f"it {fault}")


def _no_spec(scene: Scene) -> Iterator[Seen]:
    gmsa = _of(scene)
    if not gmsa.served:
        return
    there = {full_name(each) for each in gmsa.specs}
    for name in sorted(set(_pods(scene)) - there):
        yield Seen(
            f"pods with {name}", f"there is no such GMSACredentialSpec; there are: {', '.join(sorted(there)) or 'none'}"
        )


def _not_allowed(scene: Scene) -> Iterator[Seen]:
    for account, name in _of(scene).denied:
        yield Seen(f"service account {account}", f"it may not use the GMSACredentialSpec {name}")


def _no_plugin(scene: Scene) -> Iterator[Seen]:
    """Both keys: CCG takes only classes that it has on its list, and COM has to know where one's DLL is."""
    gmsa, parts = _of(scene), scene.second.parts
    listed = {str(each).casefold() for each in (parts.get(CCG.key) or {}).get("keys") or ()}
    for each in gmsa.specs if CCG.key in parts else ():
        guid = _plugin(each)
        known = (parts.get(_class(guid).key) or {}).get("exists") if guid else True
        if guid and guid.casefold() not in listed:
            yield Seen(f"plugin {guid} of {full_name(each)}", "the node does not list it in Control\\CCG\\COMClasses")
        elif guid and known is False:
            yield Seen(f"plugin {guid} of {full_name(each)}", "COM does not know it on the node (Classes\\CLSID)")


def _no_domain(scene: Scene) -> Iterator[Seen]:
    """A spec without a plugin needs a machine of the domain."""
    gmsa, found = _of(scene), scene.second.parts.get(DOMAIN.key)
    if not isinstance(found, Mapping):
        return
    own, wanted = str(found.get("value") or ""), _pods(scene)
    for each in gmsa.specs:
        name = full_name(each)
        domain = ((each.get("credspec") or {}).get("DomainJoinConfig") or {}).get("DnsName")
        if name in wanted and not _plugin(each) and not own:
            yield Seen(
                "the node", f"it is in no domain, and {name} has no plugin for hosts outside one", str(domain or "")
            )


def _check(
    identity: str,
    severity: str,
    title: str,
    why: str,
    plain: str,
    look: Callable[[Scene], Iterator[Seen]],
    issue: str = "",
) -> Check:
    cause = Cause(f"gmsa.{identity}", severity, title, why, advice(plain), issue, GMSA_FOLLOWS, Area.WORKLOADS)
    return Check(cause, look, Needs.TRIED)


CHECKS = (
    Check(CAUSES["gmsa.no-crd"], _no_crd, Needs.TRIED),
    _check(
        "no-webhook",
        ERROR,
        "A webhook of gMSA is missing",
        "The mutating one puts the credential spec into a pod, the validating one asks whether its account may use it.",
        "Install the chart of kubernetes-sigs/windows-gmsa again.",
        _no_webhook,
        "kubernetes-sigs/windows-gmsa#30",
    ),
    _check(
        "webhook-down",
        ERROR,
        "The webhook of gMSA does not answer",
        "No pod behind its Service is ready.",
        "Look at its Deployment: kubectl -n NAMESPACE get pods, describe, logs.",
        _webhook_down,
    ),
    _check(
        "webhook-ca",
        ERROR,
        "The webhook of gMSA is not trusted",
        "Its configuration has no certificate authority, or one that has expired; cert-manager, or the chart's own "
        "certificate, puts it there.",
        "Look at the chart's values certificates.*, and at cert-manager's cainjector.",
        _webhook_ca,
    ),
    _check(
        "webhook-ignored",
        WARNING,
        "Pods may start without their gMSA",
        "While the webhook does not answer, the API server takes pods as they are.",
        "Set failurePolicy to Fail.",
        _find_ignored,
    ),
    Check(CAUSES["gmsa.spec-missing"], _no_spec, Needs.TRIED),
    Check(CAUSES["gmsa.spec-invalid"], _bad_spec, Needs.TRIED),
    Check(CAUSES["gmsa.not-allowed"], _not_allowed, Needs.TRIED),
    Check(CAUSES["gmsa.plugin-missing"], _no_plugin, Needs.TRIED),
    _check(
        "no-domain",
        ERROR,
        "The node is in no domain",
        "Without a plugin Windows reads the account's password with the machine's own account.",
        "Let the machine join the domain with your own role, or give the credential spec a HostAccountConfig.",
        _no_domain,
    ),
)
