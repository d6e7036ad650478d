"""subnet.env: parsed, compared with the node, and written again if it does not fit."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.flannel import subnet_env
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key

from .nodes import LAYOUT, bare, file

TEXT = "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.4.1/24\nFLANNEL_MTU=1500\nFLANNEL_IPMASQ=true\n"
PATH = r"C:\run\flannel\subnet.env"
LEASE = subnet_env.Lease(LAYOUT, "flanneld", "10.244.0.0/16", "l2bridge", 1500)
SERVICE = {"name": "flanneld", "state": "running", "image_path": "x"}


def problems(text: str = TEXT, **more: Any) -> tuple[str, ...]:
    wanted: dict[str, Any] = {"cluster": "10.244.0.0/16", "mode": "l2bridge", "mtu": 1500}
    return subnet_env.problems(text, **(wanted | more))


@pytest.mark.row("FL-08", "FL-07")
def test_the_documents_file_is_read() -> None:
    found = subnet_env.parse(TEXT)
    assert (str(found.network), str(found.subnet), found.mtu, found.ip_masq) == (
        "10.244.0.0/16",
        "10.244.4.1/24",
        1500,
        True,
    )
    assert subnet_env.path(LAYOUT) == PATH
    assert problems() == ()
    assert problems(TEXT.replace("\n", "\r\n")) == ()


@pytest.mark.row("FL-08")
@pytest.mark.parametrize(
    ("old", "new", "options", "clause"),
    [
        ("10.244.4.1/24", "10.245.4.1/24", {}, "FLANNEL_SUBNET 10.245.4.1/24 does not lie in"),
        ("", "", {"cluster": "10.0.0.0/8"}, "FLANNEL_NETWORK is 10.244.0.0/16, but winkube_cluster_cidr is 10.0.0.0/8"),
        ("MTU=1500", "MTU=1501", {}, "FLANNEL_MTU is 1501; 576 to 1500"),
        ("MTU=1500", "MTU=575", {}, "FLANNEL_MTU is 575; 576 to 1500"),
        ("MTU=1500", "MTU=9217", {"mtu": 0}, "FLANNEL_MTU is 9217; 576 to 9216"),
        ("", "", {"mode": "overlay"}, "FLANNEL_MTU is 1500; 576 to 1450 fits this adapter and overlay"),
        ("FLANNEL_MTU=1500\n", "", {}, "there is no FLANNEL_MTU"),
        ("MTU=1500", "MTU=much", {}, "FLANNEL_MTU is 'much', which is not a number"),
        ("10.244.4.1/24", "10.244.4.1/240", {}, "FLANNEL_SUBNET is '10.244.4.1/240', which is not an IPv4 network"),
        ("10.244.4.1/24", "10.244.4.1", {}, "FLANNEL_SUBNET is '10.244.4.1', which is not an IPv4 network"),
        ("10.244.0.0/16", "10.244.0.0/255.255.0.0", {}, "FLANNEL_NETWORK is '10.244.0.0/255.255.0.0', which is not"),
        ("10.244.0.0/16", "pods", {}, "FLANNEL_NETWORK is 'pods', which is not an IPv4 network"),
        ("IPMASQ=true", "IPMASQ=1", {}, "FLANNEL_IPMASQ is '1', neither true nor false"),
    ],
)
def test_what_does_not_fit_is_a_clause(old: str, new: str, options: dict[str, Any], clause: str) -> None:
    (found,) = problems(TEXT.replace(old, new), **options)
    assert clause in found


@pytest.mark.row("FL-08")
def test_overlay_has_room_for_the_outer_headers() -> None:
    assert problems(TEXT.replace("1500", "1450"), mode="overlay") == ()


@pytest.mark.row("FL-08")
@pytest.mark.parametrize(("mtu", "adapter"), [(576, 1500), (1500, 1500), (9216, 0)])
def test_the_smallest_and_the_largest_that_fit(mtu: int, adapter: int) -> None:
    """Without an adapter's MTU the limit is the largest that machines' networks have."""
    assert problems(TEXT.replace("1500", str(mtu)), mtu=adapter) == ()


@pytest.mark.row("FL-16")
def test_masquerading_is_what_flanneld_is_told() -> None:
    (found,) = problems(TEXT.replace("true", "false"))
    assert found == "FLANNEL_IPMASQ is false, but flanneld is told --ip-masq=1"
    assert problems(TEXT.replace("true", "false"), ip_masq=False) == ()


def test_a_file_that_fits_is_left_alone() -> None:
    node = bare(LEASE.reads(), SERVICE).merge({file_key(PATH): file(TEXT.encode())})
    assert LEASE.change(node) is None


@pytest.mark.row("FL-08")
def test_a_file_of_an_earlier_life_is_removed_so_that_flanneld_writes_it_anew() -> None:
    old = TEXT.replace("10.244", "10.9").encode()
    node = bare(LEASE.reads(), SERVICE).merge({file_key(PATH): file(old)})
    change = LEASE.change(node)
    assert change is not None
    (remove,) = change.commit
    assert (remove.op, remove.args) == ("remove", {"path": PATH})
    assert [(op.op, op.args) for op in remove.undo] == [
        ("write", {"path": PATH, "content": base64.b64encode(old).decode()})
    ]
    assert change.touches == {file_key(PATH)}


@pytest.mark.row("FL-07")
def test_a_missing_file_restarts_flanneld_that_is_there() -> None:
    change = LEASE.change(bare(LEASE.reads(), SERVICE))
    assert change is not None
    assert change.touches == {file_key(PATH)}
    assert LEASE.change(bare(LEASE.reads())) is None


def test_a_lease_of_another_range_than_the_network_is_written_anew() -> None:
    """Failed before: site.yml reported changed=0 for a node whose subnet.env had been edited within the cluster's
    network."""
    own = {"Name": "cbr0", "Type": "L2Bridge", "Subnets": [{"AddressPrefix": "10.244.4.0/24"}]}
    said = {"available": True, "networks": json.dumps({"Success": True, "Output": [own]})}
    lease = replace(LEASE, network="cbr0")
    edited = TEXT.replace("10.244.4.1", "10.244.9.1")
    parts = {file_key(PATH): file(edited.encode()), "hns": said, "services": ["flanneld"], "service:flanneld": SERVICE}
    change = lease.change(Reading(parts=parts))
    assert change is not None
    assert "the HNS network cbr0 has 10.244.4.0/24" in change.text
    assert lease.change(Reading(parts=parts | {file_key(PATH): file(TEXT.encode())})) is None
