"""Certificates, requests and kubeconfigs taken apart."""

from __future__ import annotations

import base64
import ipaddress
import json

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.documents import (
    Request,
    kubeconfig,
    request,
)
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.endpoint import endpoint
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from cryptography import x509

from tests.unit.cluster.fake import Fake, certificate, certificate_request, subject


def test_a_request_is_taken_apart() -> None:
    pem = certificate_request(
        subject("system:node:win1", "system:nodes"),
        x509.DNSName("win1"),
        x509.IPAddress(ipaddress.ip_address("10.0.0.21")),
        x509.RFC822Name("root@example.com"),
    )
    assert request(pem) == Request(
        "system:node:win1", ("system:nodes",), ("win1",), ("10.0.0.21",), ("RFC822Name root@example.com",)
    )


def test_what_is_no_request_is_said() -> None:
    with pytest.raises(ClusterError, match="the certificate signing request cannot be read"):
        request(b"-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n")


def admin_conf(server: str = "https://10.0.0.10:6443", **user: str) -> str:
    """A kubeconfig with the current context `c`."""
    return json.dumps(
        {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "me"}}],
            "clusters": [
                {"name": "other", "cluster": {"server": "https://192.0.2.1"}},
                {"name": "k", "cluster": {"server": server, "certificate-authority-data": "cGVt"}},
            ],
            "users": [{"name": "me", "user": user}],
        }
    )


def test_a_kubeconfig_says_who_and_where_by_its_current_context() -> None:
    pem, _ = certificate("kubernetes-admin", "system:masters")
    found = kubeconfig(admin_conf(**{"client-certificate-data": base64.b64encode(pem).decode()}), "here")
    assert (found.server, found.ca_pem) == ("https://10.0.0.10:6443", b"pem")
    assert found.names == ("me", "kubernetes-admin")
    assert found.organizations == ("system:masters",)
    assert found.files == {}


def test_files_that_a_kubeconfig_needs_are_named() -> None:
    assert kubeconfig(admin_conf(**{"client-key": "/opt/me/key.pem"}), "here").files == {
        "client-key": "/opt/me/key.pem"
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not valid YAML"),
        ("kind: Config", "no clusters"),
        ('{"clusters": [{"name": "a"}]}', "no cluster with a server"),
    ],
)
def test_what_is_no_kubeconfig_is_said_without_its_content(text: str, said: str) -> None:
    with pytest.raises(ClusterError, match=f"^here: no kubeconfig: .*{said}"):
        kubeconfig(text, "here")


def cluster_info(fake: Fake, server: str) -> None:
    fake.objects["/api/v1/namespaces/kube-public/configmaps/cluster-info"] = {
        "data": {"kubeconfig": admin_conf(server)}
    }


def test_nodes_are_told_what_cluster_info_says() -> None:
    fake = Fake(b"controllers")
    assert endpoint(fake.cluster).server == "https://10.0.0.10:6443"
    assert endpoint(fake.cluster).ca_pem == b"controllers"
    cluster_info(fake, "https://api.example.com:443")
    found = endpoint(fake.cluster)
    assert (found.server, found.ca_pem) == ("https://api.example.com:443", b"pem")
    assert endpoint(fake.cluster, "https://vip:6443/").server == "https://vip:6443"


def test_an_api_server_is_given_with_its_scheme_or_without() -> None:
    """Failed before: host:port, as it is documented, was refused."""
    assert endpoint(Fake().cluster, "10.0.0.10:6443").server == "https://10.0.0.10:6443"


@pytest.mark.parametrize("given", ["127.0.0.1:6443", "https://[::1]:6443", "localhost:6443", "169.254.1.1:6443"])
def test_an_address_that_is_each_machines_own_is_never_given_to_nodes(given: str) -> None:
    with pytest.raises(ClusterError, match=r"winkube_api_server: .* is the node's own address there"):
        endpoint(Fake().cluster, given)
    fake = Fake()
    cluster_info(fake, given if "//" in given else f"https://{given}")
    assert endpoint(fake.cluster).server == "https://10.0.0.10:6443", "the kubeconfig's"


def test_the_sentence_of_an_api_server_shows_no_password() -> None:
    with pytest.raises(ClusterError, match=r"api_server: 'ftp://\*\*\*@vip:6443/\?token=\*\*\*' is not an address"):
        endpoint(Fake().cluster, "ftp://ann:planted@vip:6443/?token=planted")
