"""Listings of HNS as people paste them; before, each failed because only one JSON value was read."""

from __future__ import annotations

import json

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.network import parse, pasted
from ansible_collections.winkube.node.plugins.plugin_utils.network.model import Hns

NETWORKS_LIST = """
PS C:\\Windows\\system32> Get-HNSNetwork


ActivityId             : 2D5B4A5C-40C8-4707-9DD9-62AA866A3B7C
AdditionalParams       :
Extensions             : {@{Id=E7C3B2F0; IsEnabled=False; Name=Microsoft Windows Filtering
                         Platform}, @{Id=EA24CD6C; IsEnabled=True; Name=Microsoft NDIS Capture}}
Flags                  : 8
ID                     : 85D61148-49EF-40BB-A450-3BEBE951D838
ManagementIP           : 192.168.79.40
Name                   : flannel.4096
NetworkAdapterName     : Ethernet
Policies               : {@{Type=HostRoute}}
Subnets                : {@{AdditionalParams=; AddressPrefix=10.244.3.0/24; Flags=0; GatewayAddress=10.244.3.1;
                         Policies=System.Object[]; State=0}}
Type                   : Overlay

ActivityId             : 11903C90-501F-478F-A5C9-3B2A70BF51C2
ID                     : 777F0851-EF37-4D73-BAE3-8F3464294CCB
Name                   : nat
Type                   : nat
"""

HNSDIAG = """PS C:\\> hnsdiag.exe list all
Networks:
Name             ID
vpcbr06684cbed472 B5A22566-BEBC-400C-ABEF-B6717DE7AF59
nat              F413E630-CC75-4B89-9ED4-FCD57324153B

Endpoints:
Name             ID                                   Virtual Network Name
Ethernet         865986bc-8a40-4ebc-9916-c2c54e31e011 vpcbr06684cbed472
cid-69c0f0e2     391799da-1903-461b-9fb7-8562ab235445 vpcbr06684cbed472

Namespaces:
ID                                   | Endpoint IDs

LoadBalancers:
"""

TABLE = """
Id                                   Name     IPAddress    IsRemoteEndpoint
--                                   ----     ---------    ----------------
b10f186a-ee1d-40a1-bb8a-f532cab4d131 Ethernet 192.168.7.1              True
ba5b0702-d05a-4fec-869f-4352d33f1891 1_Calico 192.168.7.84
"""


def hns(**texts: str) -> Hns:
    return parse.parse({"available": True, **dict.fromkeys(parse.KINDS, "[]"), **texts})


def test_a_list_of_get_hnsnetwork() -> None:
    flannel, nat = hns(networks=NETWORKS_LIST).networks
    assert (flannel.name, flannel.type, flannel.adapter) == ("flannel.4096", "overlay", "Ethernet")
    assert [each.prefix for each in flannel.subnets] == ["10.244.3.0/24"]
    assert (nat.name, nat.subnets) == ("nat", ())


def test_what_a_screen_cut_is_said() -> None:
    assert hns(networks=NETWORKS_LIST).cut == (("networks", ("Policies",)),)


def test_a_line_cut_at_the_screens_width_is_joined_without_a_blank() -> None:
    text = "Name   : {@{Id=E7C3B2F0; I\n         d2=1}}\nOther  : 1\n"
    assert pasted.read(text).objects == ({"Name": [{"Id": "E7C3B2F0", "Id2": 1}], "Other": 1},)


def test_the_listing_of_hnsdiag() -> None:
    found = hns(networks=HNSDIAG, endpoints=HNSDIAG, namespaces=HNSDIAG, policylists=HNSDIAG)
    assert [each.name for each in found.networks] == ["vpcbr06684cbed472", "nat"]
    assert {each.network for each in found.endpoints} == {"b5a22566-bebc-400c-abef-b6717de7af59"}
    assert (found.namespaces, found.policy_lists, found.errors) == ((), (), ())


def test_a_table_of_get_hnsendpoint() -> None:
    remote, own = hns(endpoints=TABLE).endpoints
    assert (remote.addresses, remote.remote) == (("192.168.7.1",), True)
    assert (own.name, own.remote) == ("1_Calico", False)


@pytest.mark.parametrize("between", ["", "\n", "\r\n\r\n", ",\n"])
def test_several_objects_in_a_row(between: str) -> None:
    text = between.join(json.dumps({"ID": str(number), "Name": f"n{number}"}) for number in range(1, 4))
    assert [each.name for each in hns(networks=text).networks] == ["n1", "n2", "n3"]


def test_json_without_depth_is_read_as_far_as_it_goes_and_said() -> None:
    """Windows PowerShell 5.1 writes deeply nested values as ToString does."""
    text = json.dumps(
        {"ID": "1", "Name": "cbr0", "Subnets": "@{AddressPrefix=10.244.1.0/24; Policies=System.Object[]}"}
    )
    found = hns(networks=text)
    assert [each.prefix for each in found.networks[0].subnets] == ["10.244.1.0/24"]
    assert found.cut == (("networks", ("Subnets", "Policies")),)
    assert not found.knows("networks")
    assert found.knows("endpoints")


def test_a_namespace_with_hns_own_resources_and_a_list_of_what_it_holds() -> None:
    """Failed before: `Resources` is the allocator but was taken for the list, and no pod had an endpoint in a
    namespace."""
    found = parse.namespace(
        {
            "ID": "37B9E55C",
            "Resources": {"AllocationOrder": 1, "Allocators": [{"Tag": "Namespace"}], "State": 1},
            "ResourceList": [{"Type": "Endpoint", "Data": {"Id": "AA-1"}}, {"Type": "Container", "Data": {"Id": "c"}}],
        }
    )
    assert (found.endpoints, found.containers) == (("aa-1",), ("c",))


def test_an_id_of_zeros_is_none() -> None:
    """As in Azure/AKS#1367: remote endpoints with a namespace of zeros, which no namespace has."""
    zeros = "00000000-0000-0000-0000-000000000000"
    assert parse.endpoint({"ID": "1", "Namespace": {"ID": zeros}}).namespace == ""


def test_another_text_is_an_error() -> None:
    assert not hns(networks="Get-HnsNetwork is not recognized as the name of a cmdlet").knows("networks")
