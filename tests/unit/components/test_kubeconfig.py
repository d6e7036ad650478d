"""Which kubeconfigs of the user's may go to a node."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.documents import Kubeconfig
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.identities import kubeconfig_problems

FINE = Kubeconfig("https://k", names=("default-auth", "system:node:win1"), organizations=("system:nodes",))


@pytest.mark.row("JR-02")
def test_a_nodes_own_kubeconfig_is_fine() -> None:
    assert kubeconfig_problems(FINE, "x", allow_admin=False) == []


@pytest.mark.row("JR-02")
@pytest.mark.parametrize(
    ("names", "groups", "who"),
    [
        (("me",), ("system:masters",), "the group system:masters"),
        (("me",), ("kubeadm:cluster-admins",), "the group kubeadm:cluster-admins"),
        (("kubernetes-admin",), (), "the user kubernetes-admin"),
        (("kubernetes-super-admin",), (), "the user kubernetes-super-admin"),
        (("me", "Cluster-Admin"), (), "the user cluster-admin"),
    ],
)
def test_an_administrators_is_refused(names: tuple[str, ...], groups: tuple[str, ...], who: str) -> None:
    found = kubeconfig_problems(replace(FINE, names=names, organizations=groups), "admin.conf", allow_admin=False)
    assert len(found) == 1
    assert found[0].startswith(f"admin.conf is a cluster administrator's ({who})")
    assert kubeconfig_problems(replace(FINE, names=names, organizations=groups), "admin.conf", allow_admin=True) == []


def test_files_beside_it_have_to_be_on_the_node() -> None:
    files = {"client-key": "/opt/me/key.pem", "certificate-authority": r"C:\etc\kubernetes\pki\ca.crt"}
    found = kubeconfig_problems(replace(FINE, files=files), "conf", allow_admin=False)
    assert len(found) == 1
    assert "/opt/me/key.pem (client-key), which is not on the node" in found[0]
