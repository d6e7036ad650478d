"""Which CNI configuration the lab's containerd takes, and what it refuses, as Go does."""

from __future__ import annotations

import json

import pytest

from tests.lab.programs.cri import Runtime, network_problem
from tests.lab.twin.node import LabNode
from tests.unit.lab.kube_machine import CNI_BIN, CNI_CONF

ONE = {"name": "cbr0", "cniVersion": "1.0.0", "type": "win-bridge"}
MANY = {"name": "cbr0", "cniVersion": "1.0.0", "plugins": [{"type": "win-bridge"}]}
TEXT = json.dumps(ONE)


def problem(files: dict[str, bytes]) -> str:
    node = LabNode("win1")
    for folder in (CNI_BIN, CNI_CONF):
        parts = folder.split("\\")
        for depth in range(2, len(parts) + 1):
            if not node.drive.is_dir("\\".join(parts[:depth])):
                node.drive.mkdir("\\".join(parts[:depth]))
    node.drive.write(f"{CNI_BIN}\\win-bridge.exe", b"MZ")
    for name, content in files.items():
        node.drive.write(f"{CNI_CONF}\\{name}", content)
    return network_problem(node, Runtime("2.3.2", CNI_CONF, (CNI_BIN,)))


def test_a_right_one_is_taken() -> None:
    assert problem({"cni.conf": TEXT.encode()}) == ""
    assert problem({"10-flannel.conflist": json.dumps(MANY).encode()}) == ""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cni.conf", b"\xef\xbb\xbf" + TEXT.encode()),
        ("cni.conf", TEXT.encode("utf-16")),
        ("cni.conf", TEXT.replace(" ", "\u00a0").encode()),
        ("cni.conf", json.dumps(MANY).encode()),
        ("cni.conflist", TEXT.encode()),
        ("CNI.CONF", TEXT.encode()),
    ],
    ids=["mark", "utf-16", "blank", "list in a conf", "one in a conflist", "ending in capitals"],
)
def test_what_go_refuses_or_passes_over_leaves_no_network(name: str, content: bytes) -> None:
    """A mark and UTF-16 were taken before: Python's json finds the encoding by itself."""
    assert "cni plugin not initialized" in problem({name: content})


def test_the_first_by_bytes_counts_even_if_it_is_broken() -> None:
    assert problem({"0-broken.json": b"{", "cni.conf": TEXT.encode()})
    assert problem({"Z.conf": b"{", "cni.conf": TEXT.encode()})
    assert problem({"cni.conf": TEXT.encode(), "z.conf": b"{"}) == ""
