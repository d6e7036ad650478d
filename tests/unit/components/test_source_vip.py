"""The source VIP: kept while it is in use and ours, otherwise reserved by the node's host-local."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.kube_proxy import kube_proxy, source_vip
from ansible_collections.winkube.node.plugins.plugin_utils.engine.answer import Answer
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused

from tests.unit.answers import answered

from .nodes import LAYOUT, bare, file, wanted_kube_proxy

WANTED = wanted_kube_proxy(mode="overlay")
SUBNET_ENV = r"C:\run\flannel\subnet.env"
HOST_LOCAL = r"C:\k\cni\host-local.exe"
FOLDER = r"C:\var\lib\cni\networks\vxlan0"


def text(subnet: str = "10.244.3.1/24") -> bytes:
    rows = ("FLANNEL_NETWORK=10.244.0.0/16", f"FLANNEL_SUBNET={subnet}", "FLANNEL_MTU=1450", "FLANNEL_IPMASQ=true")
    return "\n".join(rows).encode()


def node(*entries: str, content: bytes | None = None, kept: bytes = b"") -> Reading:
    """A node with flannel and CNI; `entries` are taken addresses, `kept` is SourceVip.json."""
    parts: dict[str, Any] = {
        file_key(SUBNET_ENV): file(text() if content is None else content),
        file_key(HOST_LOCAL): {"exists": True, "kind": "file", "sha256": "a" * 64},
        file_key(FOLDER): {"exists": True, "kind": "directory", "entries": list(entries)},
    }
    if kept:
        parts[file_key(r"C:\k\SourceVip.json")] = file(kept)
    return bare(kube_proxy.reads(LAYOUT)).merge(parts)


def service(vip: str, manager: str = "nssm") -> dict[str, Any]:
    line = f"--v=4 --source-vip={vip} --enable-dsr=false"
    if manager == "nssm":
        return {"name": "kube-proxy", "image_path": r"C:\k\nssm.exe", "nssm": {"AppParameters": line}}
    return {"name": "kube-proxy", "image_path": rf"C:\k\kube-proxy.exe --windows-service {line}", "nssm": None}


@pytest.mark.row("KP-13")
@pytest.mark.parametrize("manager", ["nssm", "sc"])
@pytest.mark.parametrize(
    ("vip", "entries", "kept"),
    [
        ("10.244.3.2", ("10.244.3.2", "10.244.3.3", "lock"), "10.244.3.2"),
        ("10.244.3.2", ("10.244.3.3",), ""),  # host-local has no entry for it: a pod could get it
        ("10.244.9.2", ("10.244.9.2",), ""),  # from an earlier range of this node
        ("nonsense", ("nonsense",), ""),
    ],
)
def test_the_address_in_use_is_kept_if_it_is_still_ours(
    manager: str, vip: str, entries: tuple[str, ...], kept: str
) -> None:
    assert source_vip.find_present(WANTED, service(vip, manager), node(*entries)) == kept


@pytest.mark.row("KP-13")
def test_the_documents_file_is_believed_as_far_as_host_local_confirms_it() -> None:
    kept = json.dumps({"ip4": {"ip": "10.244.3.7/24"}}).encode()
    assert source_vip.find_present(WANTED, None, node("10.244.3.7", kept=kept)) == "10.244.3.7"
    assert source_vip.find_present(WANTED, None, node(kept=kept)) == ""
    assert source_vip.find_present(WANTED, None, node("10.244.3.7", kept=b"{")) == ""


@pytest.mark.row("KP-13")
def test_it_is_reserved_in_the_pods_network_and_what_was_left_is_released_first() -> None:
    batch = source_vip.reserve(WANTED, node(), "kube-proxy")
    release, add = batch.ops
    assert [op.args["env"]["CNI_COMMAND"] for op in batch.ops] == ["DEL", "ADD"]
    assert add.undo == (release,)
    assert add.args["program"] == HOST_LOCAL
    assert add.args["env"] == {
        "CNI_COMMAND": "ADD",
        "CNI_CONTAINERID": "kube-proxy",
        "CNI_IFNAME": "source-vip",
        "CNI_NETNS": "none",
        "CNI_PATH": r"C:\k\cni",
    }
    assert json.loads(add.args["stdin"]) == {
        "cniVersion": "0.2.0",
        "name": "vxlan0",
        "ipam": {
            "type": "host-local",
            "dataDir": r"C:\var\lib\cni\networks",
            "ranges": [[{"subnet": "10.244.3.0/24"}]],
        },
    }
    relied_on = {expectation.query.key: dict(expectation.expect) for expectation in batch.pre}
    assert relied_on[file_key(SUBNET_ENV)] == {"exists": True, "sha256": file(text())["sha256"]}


def answer(*outputs: str) -> Answer:
    return answered({"results": [{"stdout": out} for out in outputs]})


@pytest.mark.row("KP-13")
@pytest.mark.parametrize(
    "output",
    ['{"cniVersion":"0.2.0","ip4":{"ip":"10.244.3.2/24"}}', '{"ips":[{"address":"10.244.3.2/24"}]}'],
)
def test_the_address_is_what_the_node_answered(output: str) -> None:
    assert source_vip.read_reserved(answer("", output), "10.244.3.0/24") == "10.244.3.2"
    known = node().merge({source_vip.KEY: "10.244.3.2"})
    assert source_vip.find_present(WANTED, None, known) == "10.244.3.2"


@pytest.mark.row("KP-13")
@pytest.mark.parametrize(
    ("outputs", "sentence"),
    [
        (("", "no such network"), "host-local.exe gave no address. It said: 'no such network'."),
        ((), "host-local.exe gave no address. It said: ''."),
        (("", '{"ip4":{"ip":"10.244.9.2/24"}}'), "host-local.exe gave 10.244.9.2, which is not in the node's range"),
    ],
)
def test_an_answer_without_an_address_is_refused(outputs: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        source_vip.read_reserved(answer(*outputs), "10.244.3.0/24")


@pytest.mark.row("KP-13")
def test_what_has_to_be_there_first_is_named() -> None:
    empty = bare(kube_proxy.reads(LAYOUT))
    assert source_vip.pod_range(LAYOUT, empty) == ""
    with pytest.raises(Refused) as refused:
        source_vip.reserve(WANTED, empty, "kube-proxy")
    assert len(refused.value.sentences) == 2
    assert rf"there is no {SUBNET_ENV}: flanneld writes it (role flannel)" in refused.value.sentences[0]
    assert rf"there is no {HOST_LOCAL}: it comes with the CNI plugins (role cni)" in refused.value.sentences[1]


@pytest.mark.parametrize("content", [b"FLANNEL_MTU=1450\n", text("nonsense")])
def test_a_subnet_env_that_tells_no_range_is_refused(content: bytes) -> None:
    with pytest.raises(Refused, match="does not tell the node's range"):
        source_vip.pod_range(LAYOUT, node(content=content))


def test_a_network_that_was_not_read_yet_is_no_error() -> None:
    other = wanted_kube_proxy(mode="overlay", network_name="flannel.4096")
    assert source_vip.find_present(other, None, node("10.244.3.2")) == ""
    assert {query.key for query in node().find_missing(source_vip.reads(LAYOUT, source_vip.folder_of(other)))} == {
        file_key(r"C:\var\lib\cni\networks\flannel.4096")
    }
