"""What the first task of a run says of all that later tasks would refuse."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import jinja2
import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.connection import Connection
from ansible_collections.winkube.node.plugins.plugin_utils.components.asks import Asks
from ansible_collections.winkube.node.plugins.plugin_utils.components.join import join
from ansible_collections.winkube.node.plugins.plugin_utils.components.layout import Layout
from ansible_collections.winkube.node.plugins.plugin_utils.components.options import read
from ansible_collections.winkube.node.plugins.plugin_utils.components.shared_options import Access
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Query, Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.task import node_plan, preflight
from ansible_collections.winkube.node.plugins.plugin_utils.task.argument_spec import plain
from ansible_collections.winkube.node.plugins.plugin_utils.task.rendering import Rendering
from ansible_collections.winkube.node.plugins.plugin_utils.task.task_node import TaskNode

from tests.conftest import ROOT
from tests.unit.cluster.fake import as_api
from tests.unit.components.nodes import LAYOUT, file

from .test_rendering import known

ADAPTER = {
    "name": "Ethernet", "description": "", "index": 1, "mac": "00-15-5D-00-00-01", "up": True, "dhcp": False,
    "mtu": 1500, "ipv4": [{"address": "192.168.122.220", "prefix": 24}], "gateways": ["192.168.122.1"], "dns": [],
}  # fmt: skip
PROGRAMS = ("kubelet", "kubeadm", "kube_proxy", "flannel", "flannel_cni", "cni", "containerd", "nssm")
GOOD: dict[str, Any] = {
    "kubernetes_version": "1.37.1",
    "containerd_version": "2.3.7",
    "node_name": "win1",
    "cluster_cidr": "10.244.0.0/16",
    "cluster_domain": "cluster.local",
    "service_cidr": "10.96.0.0/12",
    "dns_service_ip": "10.96.0.10",
    "containerd_url": "https://example.com/containerd-2.3.7-windows-amd64.tar.gz",
    **{f"{name}_url": f"https://example.com/{name}.exe" for name in ("kubelet", "kubeadm", "kube_proxy", "flannel")},
    **{f"{name}_checksum": "sha256:" + "a" * 64 for name in PROGRAMS},
}
JINJA = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
JINJA.filters["to_json"] = JINJA.filters["to_nice_json"] = lambda value, **_: json.dumps(value)


class Host:
    """A host of a run: its variables, as Ansible renders them, and its node, which has nothing that is not in the
    reading. It is what the components see of an action, too."""

    name = "win1"
    calls = 0

    def __init__(self, reading: Reading, layout: Layout = LAYOUT, skipped: tuple[str, ...] = (), **more: Any) -> None:
        self.layout, self.reading, self.skipped = layout, reading, skipped
        self.link = SimpleNamespace(noted=None)
        self.said: list[str] = []
        self.told: list[str] = []
        given = {f"winkube_{name}": value for name, value in (GOOD | more).items()}
        self.variables: dict[str, Any] = known({**given, "inventory_hostname": "win1"})
        self._render = Rendering(self.variables, self._template).render

    def _template(self, value: Any) -> Any:
        return plain(Templar(DataLoader(), self.variables).template(value))

    def render_in_role(self, value: Any, role: str) -> Any:
        return self.render_value(value)

    def render_value(self, value: Any) -> Any:
        return self._render(value)

    def variable(self, name: str) -> Any:
        return self.variables.get(name)

    def value(self, name: str) -> Any:
        return self.render_value(self.variables.get(f"winkube_{name}"))

    def takes_part(self, part: node_plan.Part) -> bool:
        templar = Templar(DataLoader(), self.variables)
        return part.component.role not in self.skipped and all(map(templar.evaluate_conditional, part.conditions))

    # The node.

    def probe(self, queries: Sequence[Query]) -> dict[str, Any]:
        nothing: dict[str, Any] = {"services": [], "registry": {"exists": True, "type": "string", "value": PATH}}
        answers = {query.key: nothing.get(query.op, {"exists": False}) for query in queries}
        return answers | {key: self.reading.parts[key] for key in answers if key in self.reading.parts}

    def complete(self, reading: Reading, queries: Sequence[Query]) -> Reading:
        return reading.complete(queries, self.probe)

    def refuse_restart(self, reading: Reading) -> None:
        """Reached by WinRM, for which an sshd is nothing."""

    # The controller.

    def render(self, template: str, variables: Any, role: str) -> str:
        source = ROOT / "roles" / role.replace("-", "_") / "templates" / template
        return JINJA.from_string(source.read_text(encoding="utf-8")).render(**variables)

    def read_file(self, path: str) -> bytes:
        raise FileNotFoundError(path)

    def read_url(self, address: str) -> str:
        return "b" * 64

    def warn_once(self, sentence: str) -> None:
        self.said.append(sentence)

    def problems(self) -> tuple[str, ...]:
        """What the first task of the run says."""
        asks, node = Asks(self, "win1"), cast(TaskNode, self)
        run = preflight.Run(
            self.value,
            self.reading,
            lambda role: role not in self.skipped,
            self.layout,
            lambda given: asks.cluster(read(Access, given)),
            tell=self.told.append,
            host="win1",
        )
        self.variables["winkube_network"] = dict(run.whole_network())
        arguments = node_plan.RoleArguments(self)
        refusals: tuple[str, ...] = ()
        if run.can_plan:
            refusals = node_plan.plan_node(arguments, node, self.reading, self.takes_part, asks).refusals
        return preflight.find_problems(run, arguments.find_node(self.layout), refusals)


PATH = r"C:\Windows\System32;C:\Windows\System32\WindowsPowerShell\v1.0"
OS = {"build": 20348, "revision": 9999, "installation_type": "Server Core", "architecture": "amd64"}


def said(*skipped: str, build: int = 20348, **more: Any) -> tuple[str, ...]:
    """What is said of a machine that has joined."""
    system = {"machine": "m-1", "boot_id": "b-1", "elevated": True, "os": {**OS, "build": build}}
    parts = {"system": system, "adapters": [ADAPTER], **joined(there=True)}
    return Host(Reading(parts=parts), LAYOUT, skipped, **more).problems()


def joined(*, there: bool) -> dict[str, Any]:
    """What a machine with the programs that has joined has, or has not."""
    kubeconfigs = (LAYOUT.kubelet_kubeconfig, LAYOUT.kube_proxy_kubeconfig, LAYOUT.flanneld_kubeconfig)
    paths = (LAYOUT.containerd_binary, LAYOUT.kubelet_binary, *kubeconfigs, r"C:\etc\kubernetes\pki\ca.crt")
    found = {**file(b"x"), "sddl": "O:BAG:BAD:PAI(A;;FA;;;SY)(A;;FA;;;BA)"} if there else {"exists": False}
    return {file_key(path): found for path in paths} | {join.certificate_key(LAYOUT): {"exists": there}}


TAKEN_AT = datetime(2026, 11, 23, 9, tzinfo=UTC).timestamp()


def bare(clock: str = "2026-11-23T09:00:00Z", free: int = 80 * 1024**3, *, full: bool = False, **more: Any) -> str:
    """What is said of a machine without programs; `full`: with all of them, and joined."""
    system = {"machine": "m-1", "boot_id": "b-1", "os": OS, "clock": clock, "free_bytes": {"C:": free}}
    parts = {"system": system, "adapters": [ADAPTER], **joined(there=full)}
    return " ".join(Host(Reading(parts=parts, taken_at=TAKEN_AT), **more).problems())


@pytest.mark.parametrize(
    "name", sorted(each.name for each in fields(LAYOUT) if each.name.endswith(("_dir", "_binary")))
)
def test_a_path_on_a_drive_that_is_not_there_is_refused(name: str) -> None:
    """Whichever path it is: a later task would end at its first folder there."""
    other: dict[str, Any] = {name: r"D:\elsewhere\x.exe"}
    elsewhere = replace(LAYOUT, **other)
    system = {"os": OS, "free_bytes": {"C:": 80 * 1024**3}}
    found = Host(Reading(parts={"system": system}), elsewhere).problems()
    told = rf"The machine has no fixed drive D: (it has C:), where winkube_{name} (D:\elsewhere\x.exe) would lie."
    assert told in found


@pytest.mark.parametrize(
    ("clock", "wrong"),
    [
        ("2026-11-23T08:56:00Z", False),
        ("2026-11-23T08:54:00Z", True),
        ("2026-11-23T20:00:00Z", False),
        ("2026-11-25T09:00:00Z", True),
    ],
)
def test_a_clock_with_which_no_certificate_is_valid_is_said(
    clock: str, wrong: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = FakeApi()
    dates = ["Mon, 23 Nov 2026 09:00:00 GMT"]
    cluster = Cluster(lambda: Connection("https://api", b"", api.send, dates=dates))
    monkeypatch.setattr(Cluster, "open", lambda _options: cluster)
    monkeypatch.setattr("time.time", lambda: TAKEN_AT)
    sentence = f"The node's clock says {clock}, the API server's 2026-11-23T09:00:00Z"
    assert (sentence in bare(clock)) == wrong
    assert "clock" not in bare(clock, full=True), "it has joined"
    dates[:] = ["noon"]
    assert "clock" not in bare(clock)


def test_room_is_asked_of_a_machine_that_lacks_its_programs() -> None:
    assert "The volume C: has 1.5 GB free" in bare(free=3 * 1024**3 // 2)
    assert "GB free" not in bare(free=preflight.ROOM_BYTES)
    assert bare(free=1, full=True) == ""


class FakeApi:
    """An API server that knows these DaemonSets, no Node, and allows nothing but what it is told."""

    def __init__(self, *allowed: tuple[str, str], sets: tuple[str, ...] = ()) -> None:
        self.allowed, self.sets = allowed, sets
        self.asked: list[tuple[str, str]] = []

    def send(self, method: str, path: str, body: Any, content_type: str) -> tuple[int, bytes]:
        if path == "/version":
            return 200, json.dumps({"gitVersion": "v1.37.1"}).encode()
        if path.startswith("/apis/apps/v1/daemonsets"):
            return 200, as_api(method, path, 200, {"items": [{"metadata": {"name": name}} for name in self.sets]})
        if path.startswith("/api/v1/nodes/") or "kube-flannel" in path:
            return 404, as_api(method, path, 404, {"reason": "NotFound", "message": "not found"})
        if path != "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
            status = {"kind": "Status", "apiVersion": "v1", "code": 403, "reason": "Forbidden", "message": "no"}
            return 403, json.dumps(status).encode()
        assert method == "POST"
        wanted = body["spec"]["resourceAttributes"]
        sub = wanted.get("subresource")
        self.asked.append((wanted["verb"], f"{wanted['resource']}/{sub}" if sub else wanted["resource"]))
        return 201, as_api(method, path, 201, {"status": {"allowed": self.asked[-1] in self.allowed}})


def test_rights_that_the_join_needs_are_asked_before_the_first_change(monkeypatch: pytest.MonkeyPatch) -> None:
    api = FakeApi(("get", "nodes"), ("list", "certificatesigningrequests"), ("create", "secrets"), ("list", "pods"))
    monkeypatch.setattr(Cluster, "open", lambda _options: Cluster(lambda: Connection("https://api", b"", api.send)))
    found = bare(cluster={"kubeconfig": "/srv/config"}, drain="true")
    assert "winkube_cluster.kubeconfig /srv/config: its user may not patch nodes (to set its taints); " in found
    assert "delete secrets in kube-system" in found and "create pods/eviction (to drain)" in found
    assert "create secrets" not in found

    api.asked.clear()
    assert "may not" not in bare(cluster={"kubeconfig": "/srv/config"}, full=True)
    assert api.asked == []
    bare(cluster={"kubeconfig": "/srv/config"}, join="kubeconfig")
    assert not {what for _verb, what in api.asked} & {"secrets", "pods", "pods/eviction"}


@pytest.mark.parametrize(
    ("more", "said"), [({}, True), ({"kube_proxy_dsr": True}, False), ({"kube_proxy_managed_by": "cluster"}, False)]
)
def test_endpoints_are_counted_where_kube_proxy_will_run_without_dsr(
    more: dict[str, Any], said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whom this API lets see nothing is told so once, and only where the number matters."""
    monkeypatch.setattr(Cluster, "open", lambda _given: Cluster(lambda: Connection("https://api", b"", FakeApi().send)))
    system = {"machine": "m-1", "boot_id": "b-1", "os": OS, "free_bytes": {"C:": 80 * 1024**3}}
    host = Host(Reading(parts={"system": system, **joined(there=True)}), cluster={"kubeconfig": "/srv/config"}, **more)
    host.problems()
    assert any("may not list EndpointSlices" in each for each in host.told) == said


def told(release: str, **more: Any) -> str:
    """What a run tells about this release."""
    system = {"machine": "m-1", "boot_id": "b-1", "elevated": True, "os": OS}
    host = Host(Reading(parts={"system": system, "adapters": [ADAPTER]}), kubernetes_version=release, **more)
    host.problems()
    return " ".join(each for each in host.told if each.startswith("Kubernetes"))


@pytest.mark.parametrize(
    ("release", "more", "nearest"),
    [
        ("1.34.3", {"network_mode": "l2bridge"}, "1.34.8"),
        ("1.34.3", {"network_mode": "overlay"}, "1.34.4"),
        ("1.34.9", {"network_mode": "l2bridge"}, ""),
        ("1.34.3", {"network_mode": "l2bridge", "kube_proxy_managed_by": "cluster"}, ""),
        ("1.36.4", {"network_mode": "l2bridge"}, "1.36.5"),
        ("1.37.2", {"network_mode": "l2bridge"}, ""),
    ],
)
def test_what_the_release_lacks_and_the_nearest_that_has_it_is_told(
    release: str, more: dict[str, Any], nearest: str
) -> None:
    said = told(release, **more)
    assert (
        said.startswith(f"Kubernetes {release} lacks what {nearest} has mended for Windows: ") if nearest else not said
    )
    assert ("138601" in said) == (nearest == "1.34.8")
    assert "136374" not in said, "it has one family"


def test_nothing_is_said_of_a_node_that_can_be_made() -> None:
    assert said() == ()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"dns_service_ip": "10.97.300.1"}, "winkube_dns_service_ip: '10.97.300.1' is not an IP address."),
        ({"dns_service_ip": "10.200.0.10"}, "winkube_dns_service_ip: 10.200.0.10 does not lie in winkube_service_cidr"),
        ({"cluster_cidr": "10.96.0.0/16"}, "winkube_cluster_cidr 10.96.0.0/16 and winkube_service_cidr 10.96.0.0/12"),
        ({"cluster_cidr": "192.168.0.0/16"}, "the subnet of the node's own address"),
        ({"interface_name": "LAN"}, "winkube_interface_name: there is no network adapter 'LAN'"),
        ({"containerd_version": "1.6.27"}, "1.6"),
        ({"cluster": {"kubeconfig": "/nowhere/config"}}, "there is no file /nowhere/config on the controller"),
        (
            {"cluster": {"kubeconfig": "~no-such-user/config"}},
            "there is no file ~no-such-user/config on the controller",
        ),
        ({"node_name": "Win_1"}, "winkube_node_name: 'Win_1' cannot be the name of a Node"),
        ({"http_proxy": "proxy:3128"}, "winkube_http_proxy: 'proxy:3128' is not a proxy; give http://"),
        ({"node_https_proxy": "socks5://me:pw@proxy"}, "winkube_node_https_proxy: 'socks5://***@proxy' is not a proxy"),
        ({"flannel_checksum": ""}, "flanneld: the source https://example.com/flannel.exe has no checksum."),
        ({"kubelet_url": "ftp://example.com/kubelet.exe"}, "kubelet: the source 'ftp://example.com/kubelet.exe' has"),
    ],
)
def test_what_a_later_task_would_refuse_is_said_first(wrong: dict[str, Any], sentence: str) -> None:
    """Failed before: a wrong DNS address reached the kubelet's configuration before flannel's task refused it."""
    (problem,) = said(**wrong)
    assert sentence in problem


def test_each_component_says_what_it_refuses_and_none_what_only_follows() -> None:
    """A kubelet without a source makes no service and no join: neither is told of the roles behind it."""
    flannel, proxy = said(network_mode="vxlan")
    assert "winkube_network_mode: 'vxlan' is not one of" in flannel and "the network mode is 'vxlan'" in proxy
    (kubelet,) = said("join", kubelet_checksum="")
    assert kubelet.startswith("kubelet: the source")
    machine = bare(join="kubeconfig", kubelet_extra_arguments=["--nonsense"])
    assert "--nonsense: kubelet has no such flag" in machine
    assert "There is no service kubelet" not in machine and "kube-proxy.kubeconfig" not in machine


TWO = {"cluster_cidr": "10.244.0.0/16,fd00:10:244::/56", "service_cidr": "10.96.0.0/12,fd00:10:96::/112"}


@pytest.mark.parametrize(
    ("managed_by", "mode", "sets", "build", "why"),
    [
        ("service", "l2bridge", (), 20348, "which flannel does not support on Windows"),
        ("service", "overlay", (), 20348, "which overlay networks on Windows do not support"),
        ("cluster", "overlay", (), 20348, "which overlay networks on Windows do not support"),
        ("cluster", "l2bridge", ("calico-node-windows",), 20348, "which Calico does not support on Windows"),
        ("cluster", "l2bridge", ("kube-flannel-ds-windows",), 20348, "which flannel does not support on Windows"),
        ("cluster", "l2bridge", ("antrea-agent-windows",), 17763, "which Windows of build 17763 does not support"),
        ("cluster", "l2bridge", ("antrea-agent-windows",), 20348, ""),
    ],
)
def test_ipv4_and_ipv6_side_by_side_are_refused_first_where_they_cannot_be(
    managed_by: str, mode: str, sets: tuple[str, ...], build: int, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = FakeApi(sets=sets)
    monkeypatch.setattr(Cluster, "open", lambda _options: Cluster(lambda: Connection("https://api", b"", api.send)))
    given = TWO | {"cni_managed_by": managed_by, "network_mode": mode, "kubelet_node_ip": "192.168.122.220,fd00::5"}
    found = [each for each in said("join", build=build, **given) if "has two families" in each]
    wanted = [f"winkube_{name}: {text} has two families, {why}" for name, text in TWO.items()] if why else []
    assert [sentence[: len(start)] for sentence, start in zip(found, wanted, strict=True)] == wanted


def test_all_of_it_is_said_at_once() -> None:
    found = said(dns_service_ip="1.2.3.4", kubelet_checksum="", kube_proxy_checksum="", containerd_version="1.6.27")
    assert len(found) == 4


def test_what_takes_no_part_in_the_run_is_not_judged(tmp_path: Path) -> None:
    wrong: dict[str, Any] = {
        "dns_service_ip": "1.2.3.4",
        "flannel_checksum": "",
        "cluster": {"kubeconfig": str(tmp_path / "none")},
    }
    assert said(*preflight.KNOWING, **wrong) == ()
    assert said(**wrong | {"cluster": {}}, cni_managed_by="cluster") == ()
    assert said(**wrong, kubernetes_version="") == ()
    assert said(flannel_checksum="", allow_unverified=["flanneld"]) == ()
