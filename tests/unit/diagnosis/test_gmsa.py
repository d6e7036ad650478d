"""gMSA: what is missing in the cluster, in a credential spec, and on the node."""

from __future__ import annotations

import base64
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import checks_gmsa
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.tried import Gmsa, Objects
from ansible_collections.winkube.node.plugins.plugin_utils.lint.credential_spec import faults

from tests.lab.cluster.cluster import Cluster as Lab
from tests.lab.cluster.custom import kind_of
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.pki import Authority, Identity
from tests.lab.cluster.seed import Settings

from .nodes import Node, healthy

GUID = "{CFCA0441-511D-4B2A-862E-20348A78760B}"
"""Of Microsoft's example in ICcgDomainAuthCredentials."""
SPEC: dict[str, Any] = {
    "CmsPlugins": ["ActiveDirectory"],
    "DomainJoinConfig": {
        "Sid": "S-1-5-21-3700119848-2853083131-2094573802",
        "MachineAccountName": "gmsa1",
        "Guid": "630a7dd3-2d3e-4471-ae91-1d9ea2556cd5",
        "DnsTreeName": "contoso.com",
        "DnsName": "contoso.com",
        "NetBiosName": "CONTOSO",
    },
    "ActiveDirectoryConfig": {
        "GroupManagedServiceAccounts": [
            {"Name": "gmsa1", "Scope": "contoso.com"},
            {"Name": "gmsa1", "Scope": "CONTOSO"},
        ]
    },
}
PLUGIN = {"PortableCcgVersion": "1", "PluginGUID": GUID, "PluginInput": "contoso.com:gmsaccg:<secret>"}
WEBHOOK = {
    "name": checks_gmsa.WEBHOOK,
    "failurePolicy": "Fail",
    "clientConfig": {"service": {"namespace": "gmsa", "name": "gmsa"}, "caBundle": "LS0t"},
}


def spec(*, plugin: bool = False, **changes: Any) -> dict[str, Any]:
    found = deepcopy(SPEC)
    if plugin:
        found["ActiveDirectoryConfig"]["HostAccountConfig"] = dict(PLUGIN)
    for path, value in changes.items():
        *parents, last = path.split("__")
        inner = found
        for each in parents:
            inner = inner[each]
        if value is None:
            del inner[last]
        else:
            inner[last] = value
    return found


def named(credspec: dict[str, Any], name: str = "shop") -> dict[str, Any]:
    return {"metadata": {"name": name}, "credspec": credspec}


def webhooks(**changes: Any) -> tuple[dict[str, Any], ...]:
    return tuple({**WEBHOOK, "kind": kind, **changes} for kind in ("mutating", "validating"))


def node(
    gmsa: Gmsa | None, *, domain: str = "contoso.com", plugin: str = "", com: bool = True, ready: bool = True
) -> Node:
    """A healthy node with a pod that names the spec `shop`."""
    found = healthy()
    found.pods[0]["spec"]["securityContext"] = {"windowsOptions": {"gmsaCredentialSpecName": "shop"}}
    found.more["gmsa"] = gmsa
    found.parts["system"] = {**found.parts["system"], "clock": datetime.now(UTC).isoformat()}
    found.parts[checks_gmsa.CCG.key] = {"exists": True, "values": {}, "keys": [plugin] if plugin else []}
    found.parts[checks_gmsa.DOMAIN.key] = {"exists": bool(domain), "type": "string", "value": domain}
    found.parts[f"registry:clsid:{GUID.casefold()}"] = {"exists": com, "values": {}, "keys": []}
    labels = {"kubernetes.io/service-name": "gmsa"}
    end = {"addresses": ["10.244.0.9"], "conditions": {"ready": ready}}
    found.slices.append({"metadata": {"namespace": "gmsa", "name": "gmsa-x", "labels": labels}, "endpoints": [end]})
    return found


def ids(found: Node) -> set[str]:
    return {each for each in found.ids() if each.startswith("gmsa.")}


def trusting(days: float) -> tuple[dict[str, Any], ...]:
    """Webhooks whose authority is valid for so many days from now."""
    pair = Authority("gmsa").issue(Identity("gmsa", ()), days=days, start=-800)
    client = {"service": {"namespace": "gmsa", "name": "gmsa"}, "caBundle": base64.b64encode(pair.certificate).decode()}
    return webhooks(clientConfig=client)


WHOLE = Gmsa(True, (named(SPEC),), webhooks())


@pytest.mark.parametrize(
    ("gmsa", "more", "wanted"),
    [
        (None, {}, set()),
        (WHOLE, {}, set()),
        (Gmsa(True, (named(spec(plugin=True)),), webhooks()), {"plugin": GUID.lower(), "domain": ""}, set()),
        (Gmsa(False), {}, {"gmsa.no-crd"}),
        (Gmsa(True, (named(SPEC),)), {}, {"gmsa.no-webhook"}),
        (Gmsa(True, (named(SPEC),), webhooks()[:1]), {}, {"gmsa.no-webhook"}),
        (WHOLE, {"ready": False}, {"gmsa.webhook-down"}),
        (Gmsa(True, (named(SPEC),), webhooks(failurePolicy="Ignore")), {}, {"gmsa.webhook-ignored"}),
        (
            Gmsa(True, (named(SPEC),), webhooks(clientConfig={"service": {"namespace": "gmsa", "name": "gmsa"}})),
            {},
            {"gmsa.webhook-ca"},
        ),
        (Gmsa(True, (named(SPEC),), trusting(days=-400)), {}, {"gmsa.webhook-ca"}),
        (Gmsa(True, (named(SPEC),), trusting(days=400)), {}, set()),
        (Gmsa(True, (named(SPEC, "web"),), webhooks()), {}, {"gmsa.spec-missing"}),
        (Gmsa(True, (named(spec(CmsPlugins=[])),), webhooks()), {}, {"gmsa.spec-invalid"}),
        (Gmsa(True, (named(SPEC),), webhooks(), (("default/default", "shop"),)), {}, {"gmsa.not-allowed"}),
        (WHOLE, {"domain": ""}, {"gmsa.no-domain"}),
        (Gmsa(True, (named(spec(plugin=True)),), webhooks()), {"domain": ""}, {"gmsa.plugin-missing"}),
        (Gmsa(True, (named(spec(plugin=True)),), webhooks()), {"plugin": GUID, "com": False}, {"gmsa.plugin-missing"}),
    ],
)
def test_what_is_missing_is_named(gmsa: Gmsa | None, more: dict[str, Any], wanted: set[str]) -> None:
    assert ids(node(gmsa, **more)) == wanted


@pytest.mark.parametrize(
    ("credspec", "said"),
    [
        (spec(CmsPlugins=[]), "does not name ActiveDirectory in CmsPlugins"),
        (spec(ActiveDirectoryConfig__GroupManagedServiceAccounts=[]), "names no account"),
        (spec(DomainJoinConfig__Guid=None), "has no Guid in DomainJoinConfig"),
        (spec(DomainJoinConfig=None), "has no Sid, MachineAccountName, Guid, DnsTreeName, DnsName, NetBiosName"),
        (spec(DomainJoinConfig__Sid="S-1-5-21-1-2-3-1104"), "which is not a domain's"),
        (spec(DomainJoinConfig__Guid="630a7dd3"), "has the Guid 630a7dd3"),
        (spec(DomainJoinConfig__MachineAccountName="gmsa1$"), "it is written without the $"),
        (spec(DomainJoinConfig__MachineAccountName="web"), "which GroupManagedServiceAccounts does not name"),
        # The placeholder of Microsoft's page, which has letters that no GUID has.
        (
            spec(
                plugin=True,
                ActiveDirectoryConfig__HostAccountConfig__PluginGUID="{GDMA0342-266A-4D1P-831J-20990E82944F}",
            ),
            "which is not a GUID in braces",
        ),
        (
            spec(plugin=True, ActiveDirectoryConfig__HostAccountConfig__PortableCcgVersion=None),
            "no PortableCcgVersion '1'",
        ),
        (spec(plugin=True, ActiveDirectoryConfig__HostAccountConfig__PluginInput=""), "has no PluginInput"),
    ],
)
def test_a_credential_spec_is_judged_field_by_field(credspec: dict[str, Any], said: str) -> None:
    (fault,) = faults(credspec)
    assert said in fault


def test_credential_specs_that_are_right() -> None:
    assert not list(faults(SPEC)) and not list(faults(spec(plugin=True)))


def test_the_cluster_is_asked_with_the_rights_of_the_file(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "cluster", Settings(version="1.36.1"))
    pods = [
        {
            "metadata": {"namespace": "default", "name": "a"},
            "spec": {"serviceAccountName": "shop", "containers": [
                {"securityContext": {"windowsOptions": {"gmsaCredentialSpecName": "shop"}}}]},
        }
    ]  # fmt: skip
    try:
        found = Cluster.open({"kubeconfig": str(lab.shipped("diagnose", "diagnose-gmsa"))})
        assert found is not None
        assert checks_gmsa.ask_gmsa(found, Objects()) is None, "a cluster without gMSA"
        assert checks_gmsa.ask_gmsa(found, Objects(pods=tuple(pods))) == Gmsa(), "pods name what no one knows"
        lab.api.served.add("windows.k8s.io")
        lab.store.create(kind_of("windows.k8s.io", "GMSACredentialSpec"), "", named(SPEC))
        for kind in ("Mutating", "Validating"):
            body = {"metadata": {"name": "gmsa"}, "webhooks": [WEBHOOK, {"name": "other"}]}
            lab.store.create(BY_NAME[f"{kind}WebhookConfiguration"], "", body)
        asked = checks_gmsa.ask_gmsa(found, Objects(pods=tuple(pods)))
        assert asked is not None and [each["kind"] for each in asked.webhooks] == ["mutating", "validating"]
        assert [each["metadata"]["name"] for each in asked.specs] == ["shop"]
        assert asked.denied == (("default/shop", "shop"),)
        rule = {"apiGroups": ["windows.k8s.io"], "resources": ["gmsacredentialspecs"], "verbs": ["use"]}
        lab.store.create(BY_NAME["ClusterRole"], "", {"metadata": {"name": "shop"}, "rules": [rule]})
        bound = {
            "metadata": {"name": "shop"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "shop"},
            "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "shop"}],
        }
        lab.store.create(BY_NAME["RoleBinding"], "default", bound)
        again = checks_gmsa.ask_gmsa(found, Objects(pods=tuple(pods)))
        assert again is not None and again.denied == ()
        assert lab.refusals == []
        plain = Cluster.open({"kubeconfig": str(lab.shipped("diagnose"))})
        assert checks_gmsa.ask_gmsa(plain, Objects(pods=tuple(pods))) is None, "who may not look is told nothing"
    finally:
        lab.stop()


def test_the_node_is_read_only_where_there_is_gmsa() -> None:
    assert checks_gmsa.gmsa_reads(None) == ()
    asked = checks_gmsa.gmsa_reads(Gmsa(True, (named(spec(plugin=True)), named(SPEC, "b"))))
    assert [query.key for query in asked] == [
        checks_gmsa.CCG.key,
        checks_gmsa.DOMAIN.key,
        f"registry:clsid:{GUID.casefold()}",
    ]
