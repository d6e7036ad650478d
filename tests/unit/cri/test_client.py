"""The CRI client against a server made of bytes: names, numbers, versions, TLS, and what it says when it fails."""

from __future__ import annotations

import sys
from pathlib import Path

import grpc
import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cri.client import CriClient, CriError, Tls, pool
from ansible_collections.winkube.node.plugins.plugin_utils.cri.inventory import look
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.unit.cluster.fake import certificate
from tests.unit.cri import wire
from tests.unit.cri.wire import runtime

MINIMAL: dict[str, wire.Answer] = {runtime("Version"): wire.version()}


@pytest.mark.row("CT-13", "CT-14")
def test_the_version_and_the_stats_of_all_containers() -> None:
    usage = wire.cpu(1705956821372245000, 84401234375000, 407471100)
    idle = wire.cpu(7, 9, 0)
    old = wire.cpu(7, 9, None)
    stats = [wire.container_stats("load", "burner", name, one) for name, one in (("a", usage), ("b", idle), ("c", old))]
    answers: dict[str, wire.Answer] = {**MINIMAL, runtime("ListContainerStats"): wire.many(1, stats)}
    with wire.serving(answers) as server, CriClient(server.address) as client:
        assert client.version() == {
            "version": "0.1.0",
            "runtimeName": "containerd",
            "runtimeVersion": "1.7.12",
            "runtimeApiVersion": "v1",
        }
        assert client.api == "v1"
        first, second, third = client.call("ListContainerStats")["stats"]
    assert first == {
        "attributes": {
            "id": "id-of-a",
            "metadata": {"name": "a"},
            "labels": {
                "io.kubernetes.pod.name": "burner",
                "io.kubernetes.pod.namespace": "load",
                "io.kubernetes.container.name": "a",
            },
        },
        "cpu": {
            "timestamp": "1705956821372245000",
            "usageCoreNanoSeconds": {"value": "84401234375000"},
            "usageNanoCores": {"value": "407471100"},
        },
    }
    assert second["cpu"]["usageNanoCores"] == {}
    assert "usageNanoCores" not in third["cpu"]


@pytest.mark.row("CT-14", "CT-17")
def test_of_two_versions_the_newer_is_spoken() -> None:
    """containerd 1.6 and 1.7, on Linux as on Windows, serve both."""
    both: dict[str, wire.Answer] = {**MINIMAL, runtime("Version", "v1alpha2"): wire.version("1.7.12", "v1alpha2")}
    with wire.serving(both) as server, CriClient(server.address) as client:
        assert client.version()["runtimeApiVersion"] == "v1"
        assert (client.api, server.asked) == ("v1", [runtime("Version")])


@pytest.mark.row("CT-18", "OB-05")
def test_the_stats_of_pods() -> None:
    usage = wire.cpu(5, 7, 2**64 - 1)
    pod = wire.pod_stats("load", "burner", usage, [wire.container_stats("load", "burner", "burn", usage)])
    answers: dict[str, wire.Answer] = {**MINIMAL, runtime("ListPodSandboxStats"): wire.many(1, [pod])}
    with wire.serving(answers) as server, CriClient(server.address) as client:
        (found,) = client.call("ListPodSandboxStats")["stats"]
    assert found["attributes"]["metadata"] == {"name": "burner", "namespace": "load"}
    assert found["windows"]["cpu"]["usageNanoCores"] == {"value": "18446744073709551615"}
    assert found["windows"]["containers"][0]["attributes"]["metadata"] == {"name": "burn"}


def test_a_runtime_that_knows_only_v1alpha2() -> None:
    answers: dict[str, wire.Answer] = {
        runtime("Version", "v1alpha2"): wire.version("1.5.8", "v1alpha2"),
        runtime("ListContainerStats", "v1alpha2"): b"",
    }
    with wire.serving(answers) as server, CriClient(server.address) as client:
        assert client.version()["runtimeVersion"] == "1.5.8"
        assert client.api == "v1alpha2"
        assert client.call("ListContainerStats") == {}


@pytest.mark.row("CT-06")
def test_a_port_that_speaks_grpc_without_cri_is_no_cri() -> None:
    with wire.serving({}) as server, CriClient(server.address) as client, pytest.raises(CriError) as caught:
        client.version()
    assert str(caught.value).startswith(f"{server.address} speaks gRPC but serves no CRI.")
    assert "disable_tcp_service = false" in str(caught.value)


def test_nobody_listens() -> None:
    with wire.serving({}) as server:
        address = server.address
    with CriClient(address, timeout_s=3) as client, pytest.raises(CriError, match="cannot be asked") as caught:
        client.version()
    assert caught.value.code == "UNAVAILABLE"


def test_an_error_of_the_runtime_keeps_its_words() -> None:
    answers: dict[str, wire.Answer] = {**MINIMAL, runtime("ListPodSandboxStats"): grpc.StatusCode.UNKNOWN}
    with wire.serving(answers) as server, CriClient(server.address) as client, pytest.raises(CriError) as caught:
        client.call("ListPodSandboxStats")
    assert str(caught.value) == (
        f"{server.address} answered /runtime.v1.RuntimeService/ListPodSandboxStats with UNKNOWN: as the test wants."
    )


def test_a_proxy_of_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    with wire.serving(MINIMAL) as server, CriClient(server.address, timeout_s=3) as client:
        assert client.version()["runtimeName"] == "containerd"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("npipe:////./pipe/containerd-containerd", "is a named pipe"),
        ("node", "neither host:port nor unix"),
        ("node:99999", "neither host:port nor unix"),
        (":8888", "neither host:port nor unix"),
        ("https://node:8888", "neither host:port nor unix"),
        ("", "neither host:port nor unix"),
    ],
)
def test_addresses_that_are_refused(address: str, said: str) -> None:
    with pytest.raises(CriError, match=said):
        CriClient(address)


def test_without_grpcio_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(CriError, match="pip install grpcio protobuf"):
        CriClient("node:8888")


# -- TLS ---------------------------------------------------------------------------------------------------------


class Party:
    """A certificate that is its own authority, in files."""

    def __init__(self, folder: Path, name: str) -> None:
        self.pem, key = certificate(name)
        self.key_pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self.cert, self.key = folder / f"{name}.crt", folder / f"{name}.key"
        self.cert.write_bytes(self.pem)
        self.key.write_bytes(self.key_pem)


def test_mutual_tls_and_a_wrong_client(tmp_path: Path) -> None:
    node, controller, stranger = (Party(tmp_path, name) for name in ("node", "controller", "stranger"))
    credentials = grpc.ssl_server_credentials([(node.key_pem, node.pem)], controller.pem, require_client_auth=True)

    def tls(party: Party) -> Tls:
        return Tls(str(node.cert), str(party.cert), str(party.key), "node")

    with wire.serving(MINIMAL, credentials) as server:
        with CriClient(server.address, tls(controller), 5) as client:
            assert client.version()["runtimeVersion"] == "1.7.12"
        for wrong in (tls(stranger), Tls(str(node.cert), server_name="node"), None):
            with CriClient(server.address, wrong, 3) as client, pytest.raises(CriError, match="cannot be asked"):
                client.version()
        assert server.asked == [runtime("Version")]


def test_files_of_tls(tmp_path: Path) -> None:
    with pytest.raises(CriError, match=r"tls\.ca: .*none\.pem cannot be read: No such file or directory"):
        CriClient("node:8888", Tls(ca=str(tmp_path / "none.pem")))
    with pytest.raises(CriError, match="cert and key belong together"):
        CriClient("node:8888", Tls(cert="x"))


# -- what the runtime serves and runs ----------------------------------------------------------------------------


@pytest.mark.row("CT-16", "CT-17", "CT-18")
def test_what_it_serves_and_runs_and_that_this_only_reads() -> None:
    container = (
        wire.block(1, "c" * 64)
        + wire.block(2, "s" * 64)
        + wire.block(3, wire.block(1, "burn"))
        + wire.block(4, wire.block(1, "mcr.microsoft.com/windows/nanoserver:ltsc2022"))
        + wire.number(6, 1)
        + wire.labels(8, {"io.kubernetes.pod.name": "burner", "io.kubernetes.pod.namespace": "load"})
    )
    pod = wire.block(1, "s" * 64) + wire.block(2, wire.block(1, "burner") + wire.block(3, "load")) + wire.number(3, 1)
    ready = wire.block(1, "RuntimeReady") + wire.number(2, 1)
    not_ready = wire.block(1, "NetworkReady") + wire.block(3, "NetworkPluginNotReady") + wire.block(4, "no CNI")
    answers: dict[str, wire.Answer] = {
        runtime("Version"): wire.version("1.6.36"),
        runtime("Version", "v1alpha2"): wire.version("1.6.36", "v1alpha2"),
        runtime("Status"): wire.block(1, wire.many(1, [ready, not_ready])),
        runtime("ListPodSandbox"): wire.many(1, [pod]),
        runtime("ListContainers"): wire.many(1, [container]),
        runtime("ListContainerStats"): b"",
        runtime("ListPodSandboxStats"): grpc.StatusCode.UNKNOWN,
        "/runtime.v1.ImageService/ListImages": wire.many(
            1, [wire.block(1, "i") + wire.block(2, "b:2") + wire.block(2, "a:1")]
        ),
    }
    with wire.serving(answers) as server, CriClient(server.address) as client:
        found = look(client)
    assert found["apis"] == ["v1", "v1alpha2"]
    assert found["calls"] == {
        "Version": "ok",
        "Status": "ok",
        "ListPodSandbox": "ok",
        "ListContainers": "ok",
        "ListContainerStats": "ok",
        "ListPodSandboxStats": "UNKNOWN",
        "ListImages": "ok",
        "ImageFsInfo": "UNIMPLEMENTED",
    }
    assert len(found["errors"]) == 2
    assert found["conditions"] == [
        {"type": "RuntimeReady", "status": True, "reason": "", "message": ""},
        {"type": "NetworkReady", "status": False, "reason": "NetworkPluginNotReady", "message": "no CNI"},
    ]
    assert found["pods"] == [{"id": "s" * 64, "name": "burner", "namespace": "load", "state": "SANDBOX_NOTREADY"}]
    assert found["containers"] == [
        {
            "id": "c" * 64,
            "name": "burn",
            "pod": "burner",
            "namespace": "load",
            "image": "mcr.microsoft.com/windows/nanoserver:ltsc2022",
            "state": "CONTAINER_RUNNING",
        }
    ]
    assert found["images"] == ["a:1", "b:2"]


@pytest.mark.row("CT-17")
def test_no_call_changes_anything() -> None:
    services = [
        one for api in ("v1", "v1alpha2") for one in pool().FindFileByName(f"{api}.proto").services_by_name.values()
    ]
    assert {name for service in services for name in service.methods_by_name} == {
        "Version",
        "Status",
        "ListPodSandbox",
        "ListContainers",
        "ContainerStats",
        "ListContainerStats",
        "ListPodSandboxStats",
        "ListImages",
        "ImageFsInfo",
    }, "none of them changes anything"
