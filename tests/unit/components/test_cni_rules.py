"""The rules of cni.conf: each fault in a text that has it and not in its twin, and what mending makes of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import jinja2
import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.cni.judge import judge
from ansible_collections.winkube.node.plugins.plugin_utils.components.cni.mend import mend
from ansible_collections.winkube.node.plugins.plugin_utils.components.cni.rules import Subject
from ansible_collections.winkube.node.plugins.plugin_utils.components.flannel import cni_conf
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import kubelet_args
from ansible_collections.winkube.node.plugins.plugin_utils.words.causes_cni import RULES

from tests.unit.network.random_nodes import CNI_CONF, healthy

from .nodes import wanted_kubelet

Object = dict[str, Any]
TEMPLATE = Path(__file__).resolve().parents[3] / "roles" / "flannel" / "templates" / "cni.conf.j2"
SUBJECT = Subject(
    "cni.conf",
    network_name="cbr0",
    plugins_version="1.4.0",
    cluster_cidr="10.244.0.0/16",
    service_cidr="10.96.0.0/12",
    subnets=("10.127.130.0/24",),
    management_ip="10.127.130.35",
    programs=("flannel.exe", "host-local.exe", "win-bridge.exe", "win-overlay.exe", "sdnbridge.exe", "sdnoverlay.exe"),
)
EXCEPTIONS = ["10.244.0.0/16", "10.96.0.0/12", "10.127.130.0/24"]


def conf() -> Object:
    """A correct configuration."""
    values = [
        {"Type": "OutBoundNAT", "Settings": {"Exceptions": list(EXCEPTIONS)}},
        {"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.96.0.0/12", "NeedEncap": True}},
    ]
    return {
        "name": "cbr0",
        "cniVersion": "1.0.0",
        "type": "flannel",
        "capabilities": {"portMappings": True, "dns": True},
        "delegate": {
            "type": "win-bridge",
            "apiVersion": 2,
            "dns": {"Nameservers": ["10.96.0.10"], "Search": ["svc.cluster.local"]},
            "policies": [{"Name": "EndpointPolicy", "Value": value} for value in values],
        },
    }


def value(data: Object, number: int = 0) -> Object:
    found: Object = data["delegate"]["policies"][number]["Value"]
    return found


def ids(text: str | Object, subject: Subject = SUBJECT) -> list[str]:
    shown = text if isinstance(text, str) else json.dumps(text, indent=2)
    return [each.id for each in judge(shown, subject)]


def old_exceptions(data: Object) -> None:
    own = value(data)
    own["ExceptionList"] = own.pop("Settings")["Exceptions"]


def wmco(data: Object) -> None:
    """Source: openshift windows-machine-config-operator pkg/.../payload.go: the old key below Settings."""
    own = value(data)["Settings"]
    own["exceptionList"] = own.pop("Exceptions")


def old_route(data: Object) -> None:
    data["delegate"]["policies"][1]["Value"] = {
        "Type": "ROUTE",
        "DestinationPrefix": "10.96.0.0/12",
        "NeedEncap": True,
    }


def lower_type(data: Object) -> None:
    own = value(data)
    own["type"] = own.pop("Type")


def under_additional_args(data: Object) -> None:
    data["delegate"]["AdditionalArgs"] = data["delegate"].pop("policies")


def sdnbridge_with_policies(data: Object) -> None:
    data["delegate"]["type"] = "sdnbridge"
    del data["delegate"]["apiVersion"]


def sdnoverlay(data: Object) -> None:
    under_additional_args(data)
    data["delegate"]["type"] = "sdnoverlay"


# the change to a correct configuration, the faults, the faults left after mending
def block_rule(data: Object) -> None:
    """Under apiVersion 2 hcsshim reads it as an ACL without settings: traffic that should be blocked passes."""
    rule = {"Type": "ACL", "Action": "Block", "Direction": "Out", "RemotePort": 80, "Protocol": 6, "Priority": 200}
    data["delegate"]["policies"].append({"Name": "EndpointPolicy", "Value": rule})


def rule_with_a_name(data: Object) -> None:
    """ServiceName has no place under apiVersion 2: the rule would change, so a person must decide."""
    rule = {"Type": "ACL", "Action": "Block", "Direction": "Out", "ServiceName": "dns"}
    data["delegate"]["policies"].append({"Name": "EndpointPolicy", "Value": rule})


def port_mapping(data: Object) -> None:
    rule = {"Type": "NAT", "Protocol": "tcp", "InternalPort": 80, "ExternalPort": 8080}
    data["delegate"]["policies"].append({"Name": "EndpointPolicy", "Value": rule})


CASES: list[tuple[Callable[[Object], object], list[str], list[str]]] = [
    (old_exceptions, ["cni.old-form", "cni.exceptions"], []),
    (wmco, ["cni.old-form", "cni.exceptions"], []),
    (old_route, ["cni.old-form"], []),
    (lower_type, ["cni.policy-case", "cni.exceptions"], []),
    (lambda data: value(data).update(Type="outboundnat"), ["cni.policy-case", "cni.exceptions"], []),
    (lambda data: value(data, 1).update(Type="SDNROUTE"), [], []),
    (lambda data: value(data, 1).update(Type="SDNRoutes"), ["cni.policy-unknown"], ["cni.policy-unknown"]),
    (lambda data: value(data, 1).update(Type="TierAcl"), [], []),
    (lambda data: value(data, 1).update(Type="iov"), [], []),
    (lambda data: value(data, 1).update(Type="NetworkACL"), ["cni.policy-level"], ["cni.policy-level"]),
    (lambda data: value(data, 1).update(Type="VSID"), ["cni.policy-level"], ["cni.policy-level"]),
    (lambda data: value(data, 1).update(Type="NAT"), ["cni.policy-unknown"], ["cni.policy-unknown"]),
    (lambda data: value(data).pop("Type"), ["cni.policy-skipped", "cni.exceptions"], ["cni.policy-skipped"]),
    (
        lambda data: data["delegate"]["policies"][0].update(Name="Policy"),
        ["cni.policy-skipped", "cni.exceptions"],
        ["cni.policy-skipped", "cni.exceptions"],
    ),
    (
        lambda data: data["delegate"]["policies"][1].pop("Value"),
        ["cni.policy-skipped"],
        ["cni.policy-skipped"],
    ),
    (under_additional_args, ["cni.policies-key", "cni.policies-key"], []),
    (sdnbridge_with_policies, ["cni.policies-key", "cni.policies-key"], []),
    (sdnoverlay, ["cni.no-provider-address"], []),
    (
        lambda data: data["delegate"].pop("apiVersion"),
        ["cni.dockershim-form", "cni.new-form", "cni.new-form", "cni.policy-unknown", "cni.exceptions"],
        [],
    ),
    (lambda data: value(data)["Settings"]["Exceptions"].pop(), ["cni.exceptions"], []),
    (lambda data: data["delegate"]["policies"].clear(), ["cni.exceptions"], []),
    (
        lambda data: value(data)["Settings"]["Exceptions"].append("pods"),
        ["cni.exception-wrong"],
        ["cni.exception-wrong"],
    ),
    (
        lambda data: value(data)["Settings"]["Exceptions"].append("0.0.0.0/0"),
        ["cni.exception-all"],
        ["cni.exception-all"],
    ),
    (lambda data: data.update(cniVersion="2.0.0"), ["cni.version"], []),
    (lambda data: data.pop("cniVersion"), [], []),
    (lambda data: data.update(name="flannel.4096"), ["cni.network-name"], []),
    (block_rule, ["cni.policy-without-settings"], []),
    (rule_with_a_name, ["cni.policy-without-settings"], ["cni.policy-without-settings"]),
    (port_mapping, ["cni.policy-unknown", "cni.policy-without-settings"], []),
    (
        lambda data: value(data, 1)["Settings"].update(DestinationPrefix="<your service cidr>"),
        ["cni.value-unfilled"],
        ["cni.value-unfilled"],
    ),
    (
        lambda data: value(data, 1)["Settings"].update(NeedEncap="true"),
        ["cni.value-type"],
        ["cni.value-type"],
    ),
    (lambda data: data.pop("name"), ["cni.network-name"], []),
    (lambda data: data["delegate"].update(type="l2bridge"), ["cni.plugin-missing"], ["cni.plugin-missing"]),
    (lambda data: data.update(type="calico"), ["cni.plugin-missing"], ["cni.plugin-missing"]),
    (lambda data: data.pop("type"), ["cni.plugin-missing"], ["cni.plugin-missing"]),
    (lambda data: data["delegate"].update(dnsCapabilities={"dns": True}), ["cni.ignored-key"], []),
    (
        lambda data: data["delegate"]["dns"].update(Search=["svc.cluster.local", "cluster.local"]),
        ["cni.dns-search"],
        ["cni.dns-search"],
    ),
    (lambda data: data["delegate"].update(ipam={}), ["cni.ipam-by-hns"], ["cni.ipam-by-hns"]),
    (lambda data: data.pop("delegate"), ["cni.flannel-plugin"], ["cni.flannel-plugin"]),
    (
        lambda data: data["delegate"].update(ipam={"type": "azure-vnet-ipam"}),
        ["cni.ipam", "cni.plugin-missing"],
        ["cni.ipam", "cni.plugin-missing"],
    ),
]


@pytest.mark.parametrize(("change", "found", "left"), CASES)
def test_each_mistake_and_what_mending_leaves(
    change: Callable[[Object], object], found: list[str], left: list[str]
) -> None:
    data = conf()
    assert ids(data) == []
    change(data)
    assert sorted(ids(data)) == sorted(found)
    mended = mend(json.dumps(data, indent=2), SUBJECT)
    assert sorted(ids(mended)) == sorted(left)
    assert mend(mended, SUBJECT) == mended, "mending twice changes nothing"


def test_every_finding_is_shown_by_a_case() -> None:
    shown = {identity for _, found, _ in CASES for identity in found}
    assert set(RULES) - shown == {
        "cni.unreadable",
        "cni.key-twice",
        "cni.ending",
        "cni.plugin-rare",
        "cni.loopback-dsr",
        "cni.plugin-type",
        "cni.provider-address",
    }


@pytest.mark.parametrize(
    ("seen", "found"),
    [
        ({"networks": ("External", "cbr0")}, []),
        ({"networks": ("External", "vxlan0")}, ["cni.network-name"]),
        ({"mode": "l2bridge"}, []),
        ({"mode": "overlay"}, ["cni.plugin-type"]),
        ({"flannel": True}, []),
    ],
)
def test_what_was_seen_of_the_node_counts(seen: dict[str, Any], found: list[str]) -> None:
    assert ids(conf(), replace(SUBJECT, **seen)) == found


def test_the_address_in_an_overlays_policy_is_the_hosts() -> None:
    data = conf()
    data["delegate"]["type"] = "win-overlay"
    value(data, 1).update(Type="ProviderAddress", Settings={"ProviderAddress": "10.127.130.35"})
    assert ids(data, replace(SUBJECT, addresses=("10.127.130.35",))) == []
    assert ids(data, replace(SUBJECT, addresses=("10.127.130.36",))) == ["cni.provider-address"]


def test_the_files_of_the_role_are_flannels() -> None:
    alone = conf()["delegate"] | {"name": "cbr0", "cniVersion": "1.0.0"}
    assert ids(alone) == []
    assert ids(alone, replace(SUBJECT, flannel=True)) == ["cni.flannel-plugin"]


def test_direct_server_return_and_the_loopback_policy_are_a_pair() -> None:
    using = replace(SUBJECT, dsr=True)
    data = conf()
    assert ids(data) == []
    assert ids(data, using) == ["cni.loopback-dsr"]
    data["delegate"]["loopbackDSR"] = True
    assert ids(data, using) == []


def test_a_right_one_is_left_as_it_is() -> None:
    text = json.dumps(conf(), indent=4)
    assert mend(text, SUBJECT) == text


def test_mending_keeps_order_and_indentation() -> None:
    data = conf()
    old_exceptions(data)
    mended = mend(json.dumps(data, indent=4), SUBJECT)
    assert mended == json.dumps(conf(), indent=4)


def test_comments_and_broken_json_are_named_by_line() -> None:
    """The listing in the documentation has comments."""
    text = '{\n  "name": "cbr0",\n  "ExceptionList": [\n    "10.244.0.0/16",  # Must match the subnet\n  ]\n}\n'
    (found,) = judge(text, SUBJECT)
    assert (found.id, found.seen[:7]) == ("cni.unreadable", "line 4,")
    assert mend(text, SUBJECT) == text
    assert ids("[]") == ["cni.unreadable"]


def test_a_key_twice_in_two_cases() -> None:
    text = json.dumps(conf()).replace('"apiVersion": 2', '"apiVersion": 2, "ApiVersion": 1')
    assert "cni.key-twice" in ids(text)


def test_the_ending_tells_one_from_many() -> None:
    listed = {"name": "cbr0", "cniVersion": "1.0.0", "plugins": [conf()]}
    assert ids(listed) == ["cni.ending"]
    many = Subject("05-flannel.conflist", network_name="cbr0", cluster_cidr="10.244.0.0/16")
    assert ids(listed, many) == []
    assert ids(conf(), many) == ["cni.ending"]


def test_without_the_folder_a_plugin_is_known_or_a_warning() -> None:
    data = conf()
    data["type"] = "mycni"
    alone = Subject("cni.conf")
    assert ids(data, alone) == ["cni.plugin-rare"]
    assert ids(conf(), alone) == []


@pytest.mark.parametrize(("version", "right"), [("0.8.0", False), ("1.0.1", True), ("1.6.0", True)])
def test_the_cni_version_is_the_plugins(version: str, right: bool) -> None:
    subject = Subject("cni.conf", plugins_version=version)
    assert (ids(conf(), subject) == []) is right
    assert ids(mend(json.dumps(conf()), subject), subject) == []


@pytest.mark.row("NW-06")
@pytest.mark.parametrize("mode", ["l2bridge", "overlay"])
def test_what_the_role_writes_has_no_finding_and_brings_dns_by_hns(mode: str) -> None:
    wanted = cni_conf.CniConf(
        subject=SUBJECT,
        network="cbr0",
        mode=mode,
        cni_version="1.0.0",
        api_version=2,
        exceptions=tuple(EXCEPTIONS),
        service_cidr="10.96.0.0/12",
        management_ip="10.127.130.35",
        dns_service_ip="10.96.0.10",
        search=("svc.cluster.local",),
    )
    environment = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True, autoescape=False)
    environment.filters["to_json"] = json.dumps
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    text = template.render(**cni_conf.template_variables(wanted))
    assert ids(text) == []
    assert json.loads(text)["delegate"]["dns"] == {"Nameservers": ["10.96.0.10"], "Search": ["svc.cluster.local"]}


@pytest.mark.row("NW-06")
@pytest.mark.parametrize("version", ["1.24.17", "1.32.0", "1.37.1"])
def test_the_kubelet_gets_an_empty_resolv_conf(version: str) -> None:
    settings = wanted_kubelet(version, pause_image="registry.k8s.io/pause:3.10")
    assert "--resolv-conf=" in kubelet_args.arguments(settings)


def test_dockershim_wants_the_old_form() -> None:
    data = conf()
    old = Subject("cni.conf", runtime="dockershim", cluster_cidr="10.244.0.0/16")
    assert sorted(ids(data, old)) == ["cni.dockershim-form"]
    del data["delegate"]["apiVersion"]
    old_exceptions(data)
    old_route(data)
    assert ids(data, old) == []


def test_a_hundred_random_ones_are_right() -> None:
    for seed in range(100):
        node = healthy(Random(seed))
        data = copy.deepcopy(node.files[CNI_CONF])
        subject = Subject("cni.conf", node.network, cluster_cidr=node.expect["cluster_cidr"])
        assert ids(data, subject) == [], seed


@pytest.mark.row("NW-26", "NW-30")
@pytest.mark.parametrize(
    ("plugin", "given", "mended"),
    [
        ("win-bridge", EXCEPTIONS[:2], EXCEPTIONS),
        ("win-overlay", EXCEPTIONS[:2], EXCEPTIONS[:2]),
        ("win-overlay", EXCEPTIONS[:1], EXCEPTIONS[:2]),
        # The user's own list stays.
        ("win-overlay", EXCEPTIONS, EXCEPTIONS),
    ],
)
def test_the_hosts_network_is_an_exception_in_l2bridge_alone(plugin: str, given: list[str], mended: list[str]) -> None:
    data = conf()
    data["delegate"]["type"] = plugin
    value(data)["Settings"]["Exceptions"] = list(given)
    found = json.loads(mend(json.dumps(data), SUBJECT))
    assert value(found)["Settings"]["Exceptions"] == mended
