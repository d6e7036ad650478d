"""cni.conf: the template's output for each mode, and a sentence for every mistake in a user's own before it is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2
import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.flannel import cni_conf
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.file import is_same_json
from ansible_collections.winkube.node.plugins.plugin_utils.facts import cni as cni_facts
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line, Version

ROOT = Path(__file__).resolve().parents[3]
TEMPLATE = (ROOT / "roles" / "flannel" / "templates" / "cni.conf.j2").read_text(encoding="utf-8")
NEEDED = ["10.244.0.0/16", "10.96.0.0/12", "10.127.130.0/24"]


def settings(**more: Any) -> cni_conf.CniConf:
    options: dict[str, Any] = {
        "plugins": Version.parse("1.9.0"),
        "runtime": "containerd",
        "kubernetes": Line(1, 37),
        "network": "vxlan0" if more.get("mode") == "overlay" else "cbr0",
        "mode": "l2bridge",
        "cni_version": "",
        "cluster_cidr": "10.244.0.0/16",
        "service_cidr": "10.96.0.0/12",
        "subnet": "10.127.130.0/24",
        "management_ip": "10.127.130.14",
        "dns_service_ip": "10.96.0.10",
        "cluster_domain": "cluster.local",
        "extra": (),
    }
    return cni_conf.settings(**(options | more))


def render(wanted: cni_conf.CniConf, template: str = TEMPLATE) -> str:
    return rendered(cni_conf.template_variables(wanted), template)


def rendered(variables: dict[str, Any], template: str = TEMPLATE) -> str:
    """Rendered as by Ansible: blocks leave no lines behind."""
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, autoescape=False)
    environment.filters["to_json"] = json.dumps
    return environment.from_string(template).render(**variables)


def data(**more: Any) -> dict[str, Any]:
    wanted = settings(**more)
    text = render(wanted)
    assert cni_conf.check(text, wanted) == ()
    found: dict[str, Any] = json.loads(text)
    return found


def values(found: dict[str, Any]) -> list[dict[str, Any]]:
    assert {policy["Name"] for policy in found["delegate"]["policies"]} == {"EndpointPolicy"}
    return [policy["Value"] for policy in found["delegate"]["policies"]]


# -- what is written ---------------------------------------------------------------------------------------------------


@pytest.mark.row("NW-07", "NW-13", "NW-26", "NW-27", "NW-31", "NW-32")
def test_l2bridge_with_containerd() -> None:
    found = data()
    assert (found["name"], found["type"], found["cniVersion"]) == ("cbr0", "flannel", "1.0.0")
    assert (found["delegate"]["type"], found["delegate"]["apiVersion"]) == ("win-bridge", 2)
    assert values(found) == [
        {"Type": "OutBoundNAT", "Settings": {"Exceptions": NEEDED}},
        {"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.96.0.0/12", "NeedEncap": True}},
        {"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.127.130.14/32", "NeedEncap": True}},
    ]
    assert "ipam" not in found["delegate"], "flannel's plugin sets host-local"


@pytest.mark.row("NW-08", "NW-13", "NW-26", "NW-32")
def test_overlay_with_containerd() -> None:
    found = data(mode="overlay")
    assert (found["name"], found["delegate"]["type"], found["delegate"]["apiVersion"]) == ("vxlan0", "win-overlay", 2)
    assert values(found) == [
        # Nobody outside the overlay can answer a pod's own address: nodes are reached with the node's address.
        {"Type": "OutBoundNAT", "Settings": {"Exceptions": NEEDED[:2]}},
        {"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.96.0.0/12", "NeedEncap": True}},
        {"Type": "ProviderAddress", "Settings": {"ProviderAddress": "10.127.130.14"}},
    ]


@pytest.mark.row("NW-26", "NW-32")
def test_the_documents_form_is_for_dockershim_alone() -> None:
    found = data(runtime="dockershim", kubernetes=Line(1, 22))
    assert "apiVersion" not in found["delegate"]
    assert values(found) == [
        {"Type": "OutBoundNAT", "ExceptionList": NEEDED},
        {"Type": "ROUTE", "DestinationPrefix": "10.96.0.0/12", "NeedEncap": True},
        {"Type": "ROUTE", "DestinationPrefix": "10.127.130.14/32", "NeedEncap": True},
    ]
    old = data(runtime="dockershim", kubernetes=Line(1, 22), mode="overlay")
    assert values(old)[-1] == {"Type": "PA", "PA": "10.127.130.14"}
    with pytest.raises(Refused, match=r"no dockershim since Kubernetes 1\.24; this is 1\.24"):
        settings(runtime="dockershim", kubernetes=Line(1, 24))


@pytest.mark.row("NW-33", "NW-36")
def test_pods_get_the_clusters_dns_through_cni() -> None:
    found = data(dns_service_ip="10.96.0.77", cluster_domain="corp.example")
    assert found["delegate"]["dns"] == {"Nameservers": ["10.96.0.77"], "Search": ["svc.corp.example"]}
    assert found["capabilities"]["dns"] is True


@pytest.mark.row("NW-26", "NW-28")
def test_more_exceptions_come_after_the_three() -> None:
    found = values(data(extra=["192.168.7.0/24", "10.244.0.0/16", "fd00::/64"]))
    assert found[0]["Settings"]["Exceptions"] == [*NEEDED, "192.168.7.0/24"]
    with pytest.raises(Refused, match="winkube_exception_list: 'web' is not a network"):
        settings(extra=["web"])


def test_with_two_families_windows_plugins_get_the_ipv4_ones() -> None:
    found = values(data(cluster_cidr="10.244.0.0/16,fd00:10:244::/56", service_cidr="10.96.0.0/12,fd00:10:96::/112"))
    assert found[0]["Settings"]["Exceptions"] == NEEDED
    assert found[1]["Settings"]["DestinationPrefix"] == "10.96.0.0/12"


def test_another_place_of_subnet_env_is_told_to_the_plugin() -> None:
    assert data(subnet_file=r"D:\run\subnet.env")["subnetFile"] == r"D:\run\subnet.env"
    assert "subnetFile" not in data()


# -- cniVersion --------------------------------------------------------------------------------------------------------


@pytest.mark.row("NW-14")
@pytest.mark.parametrize(
    ("plugins", "asked", "given"),
    [
        ("0.8.7", "", "0.2.0"),
        ("1.0.0", "", "0.2.0"),
        ("1.0.0", "0.3.0", "0.3.0"),
        ("1.0.1", "", "1.0.0"),
        ("1.0.1", "0.3.1", "0.3.1"),
        ("1.0.1", "0.4.0", "0.4.0"),
        ("1.6.0", "1.1.0", "1.1.0"),
        ("1.9.0", "0.2.0", "0.2.0"),
        ("1.9.0", "1.1.0", "1.1.0"),
        ("1.10.0", "", "1.0.0"),
    ],
)
def test_cni_version_by_release_of_the_plugins(plugins: str, asked: str, given: str) -> None:
    assert data(plugins=Version.parse(plugins), cni_version=asked)["cniVersion"] == given


def test_no_default_lets_a_runtime_collect_the_source_vip() -> None:
    """host-local of 1.10 has GC, which a runtime may call from cniVersion 1.1.0 on: it would free the address that
    kube-proxy has reserved for itself, since no sandbox is behind it."""
    for release in [*(each.since for each in cni_facts.CNI_VERSIONS), Version.parse("1.10.0"), Version.parse("9.9.9")]:
        assert Version.parse(cni_facts.default_cni_version(release)) < Version.parse("1.1.0")


@pytest.mark.row("NW-14")
@pytest.mark.parametrize(
    ("plugins", "asked", "takes"),
    [("1.0.0", "0.3.1", "0.1.0, 0.2.0, 0.3.0"), ("0.9.1", "0.4.0", "0.3.0"), ("1.5.1", "1.1.0", "1.0.0")],
)
def test_a_cni_version_that_the_plugins_do_not_take(plugins: str, asked: str, takes: str) -> None:
    with pytest.raises(Refused) as refused:
        settings(plugins=Version.parse(plugins), cni_version=asked)
    (sentence,) = refused.value.sentences
    assert sentence.startswith(
        f"winkube_cni_version: '{asked}' is not supported by win-bridge of the CNI plugins {plugins}"
    )
    assert sentence.endswith(f"{takes}.")


# -- a user's own template ---------------------------------------------------------------------------------------------


def edited(change: dict[str, Any], **more: Any) -> tuple[str, ...]:
    """The sentences about our own conf with these keys of the delegate changed, or of the file (`/key`)."""
    wanted = settings(**more)
    found = json.loads(render(wanted))
    for key, value in change.items():
        target = found if key.startswith("/") else found["delegate"]
        target[key.lstrip("/")] = value
    try:
        return cni_conf.check(json.dumps(found), wanted)
    except Refused as refused:
        return refused.sentences


def policy(value: dict[str, Any], name: str = "EndpointPolicy") -> dict[str, Any]:
    return {"Name": name, "Value": value}


NAT = policy({"Type": "OutBoundNAT", "Settings": {"Exceptions": NEEDED}})


@pytest.mark.row("NW-27")
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{\n  "name": "cbr0", # the network\n}', "line 2, column 19: Expecting property name"),
        ("[]", "it is not a JSON object"),
        ("", "line 1, column 1"),
        ('{"name": "cbr0", "Name": "cbr1"}', "'Name' stands twice"),
    ],
)
def test_only_strict_json_is_sent(text: str, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence.replace("[", r"\[")):
        cni_conf.check(text, settings())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        pytest.param({"/name": "vxlan0"}, "name: it is 'vxlan0'; wanted cbr0", marks=pytest.mark.row("NW-07", "NW-08")),
        pytest.param(
            {"type": "win-overlay"},
            "an overlay network; wanted win-bridge",
            marks=pytest.mark.row("NW-13"),
        ),
        pytest.param({"/cniVersion": "2.0.0"}, "it is '2.0.0'; wanted 0.1.0, 0.2.0", marks=pytest.mark.row("NW-14")),
        ({"/type": "win-bridge"}, "type: it is 'win-bridge'; wanted flannel"),
        ({"/delegate": "win-bridge"}, "delegate: it is not an object; wanted one with the type win-bridge"),
        ({"/plugins": []}, "it holds 'plugins'; wanted the ending .conflist"),
        pytest.param(
            {"ipam": {"type": "azure-vnet-ipam"}}, "works only with Azure's own plugin", marks=pytest.mark.row("NW-17")
        ),
        pytest.param(
            {"dns": {"Search": ["a", "b"]}}, "delegate.dns.search: it has 2; wanted one", marks=pytest.mark.row("NW-33")
        ),
        pytest.param(
            {"policies": [NAT, policy({"Type": "ROUTE", "DestinationPrefix": "10.96.0.0/12", "NeedEncap": True})]},
            "policies[1]: 'ROUTE' is the form without apiVersion; wanted 'SDNRoute' with 'Settings'",
            marks=pytest.mark.row("NW-32"),
        ),
        pytest.param(
            {"policies": [NAT, policy({"Type": "PA", "PA": "10.127.130.14"})]},
            "wanted 'ProviderAddress' with 'Settings'",
            marks=pytest.mark.row("NW-32"),
        ),
        (
            {"policies": [NAT, policy({"Type": "ACL", "Action": "Block"})]},
            "Action stands beside Type;",
        ),
        ({"policies": [NAT, policy({"type": "ACL"})]}, "the key is 'type'; wanted 'Type'"),
        ({"policies": [NAT, policy({"Type": "ACL", "Settings": {}}, "Policy")]}, "policies[1]: its name is 'Policy'"),
        ({"policies": [NAT, {"Name": "EndpointPolicy", "Value": []}]}, "policies[1]: it has no value"),
    ],
)
def test_a_mistake_in_a_users_conf_is_one_sentence(change: dict[str, Any], sentence: str) -> None:
    found = edited(change)
    assert len(found) == 1, found
    assert sentence in found[0]


@pytest.mark.row("NW-26")
def test_the_old_form_of_the_exceptions_under_the_new_api() -> None:
    found = edited({"policies": [policy({"Type": "OutBoundNAT", "ExceptionList": NEEDED})]})
    assert "'ExceptionList' is the form without apiVersion" in found[0]
    new = edited({"policies": [NAT]}, runtime="dockershim", kubernetes=Line(1, 22))
    assert any("'Settings' is the form of apiVersion 2" in each for each in new)
    assert "delegate.apiVersion: it is 1; wanted 2" in edited({"apiVersion": 1})[0]


@pytest.mark.row("NW-26", "NW-30")
@pytest.mark.parametrize("missing", NEEDED)
def test_each_of_the_three_networks_has_to_be_an_exception(missing: str) -> None:
    rest = [each for each in NEEDED if each != missing]
    (found,) = edited({"policies": [policy({"Type": "OutBoundNAT", "Settings": {"Exceptions": rest}})]})
    assert f"wanted {missing} among them" in found
    # A wider network covers too; the type's case counts.
    assert edited({"policies": [policy({"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.0.0.0/8"]}})]}) == ()
    wrong = edited({"policies": [policy({"Type": "outboundnat", "Settings": {"Exceptions": NEEDED}})]})
    assert "wanted 'OutBoundNAT'" in wrong[0]


@pytest.mark.parametrize("mode", ["l2bridge", "overlay"])
def test_direct_server_return_needs_the_loopback_policy(mode: str) -> None:
    assert data(mode=mode, dsr=True)["delegate"]["loopbackDSR"] is True
    assert "loopbackDSR" not in data(mode=mode)["delegate"]
    with pytest.raises(Refused, match=r"delegate\.loopbackDSR: it is missing; wanted true"):
        cni_conf.check(render(settings(mode=mode)), settings(mode=mode, dsr=True))


@pytest.mark.row("NW-17")
def test_addresses_by_hns_are_a_warning() -> None:
    (found,) = edited({"ipam": {"type": ""}})
    assert "leaves addresses to HNS" in found


@pytest.mark.row("NW-28")
def test_an_exception_for_everything_is_a_warning() -> None:
    wanted = settings(extra=["0.0.0.0/0"])
    (found,) = cni_conf.check(render(wanted), wanted)
    assert "the exception 0.0.0.0/0 is everything" in found


@pytest.mark.row("NW-28")
def test_a_target_outside_that_an_exception_covers_is_a_warning() -> None:
    text = render(settings(extra=["192.168.7.0/24"]))
    (found,) = cni_conf.external_warnings(text, ["8.8.8.8", "192.168.7.9"])
    assert "the exceptions cover 192.168.7.9" in found
    with pytest.raises(Refused, match="winkube_external_targets: 'web' is not an IP address"):
        cni_conf.external_warnings(text, ["web"])


def test_order_and_blanks_are_no_difference() -> None:
    text = render(settings())
    assert is_same_json(text, json.dumps(json.loads(text), sort_keys=True))
    assert not is_same_json(text, text.replace("10.244", "10.245"))
    assert not is_same_json("# by hand", text)
