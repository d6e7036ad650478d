"""From the arguments of win_kube_proxy and a reading to one batch, and to none when nothing differs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.objects import full_name
from ansible_collections.winkube.node.plugins.plugin_utils.components import log_runner, nssm
from ansible_collections.winkube.node.plugins.plugin_utils.components.kube_proxy import component, kube_proxy
from ansible_collections.winkube.node.plugins.plugin_utils.components.kube_proxy.kube_proxy_args import KubeProxy
from ansible_collections.winkube.node.plugins.plugin_utils.components.kube_proxy.options import (
    FirewallOptions,
    KubeProxyOptions,
)
from ansible_collections.winkube.node.plugins.plugin_utils.components.stage import Given
from ansible_collections.winkube.node.plugins.plugin_utils.engine import command_line
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import Plan, make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key, service_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused, Resource
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.programs import Source
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret

from .nodes import LAYOUT, Controller, bare, file, given, lines, running, wanted_kube_proxy

MARK = "0123456789abcdef0123456789abcdef"
EXE = r"C:\k\kube-proxy.exe"
PROGRAM = b"MZ kube-proxy"
NOTHING: Mapping[str, Any] = {}
SOURCE = Source("https://dl.k8s.io/x/kube-proxy.exe", file(PROGRAM)["sha256"], "1.37.1")


def settings(mode: str = "l2bridge", version: str = "1.37.1", **more: Any) -> KubeProxy:
    given: dict[str, Any] = {"node_name": "WIN1"}
    if mode == "overlay":
        given |= {"source_vip": "10.244.3.2", "pod_cidr": "10.244.3.0/24"}
    return wanted_kube_proxy(version, mode, **(given | more))


def arguments(
    mode: str = "l2bridge",
    manager: str = "nssm",
    tools: tuple[Resource, ...] | None = None,
    service: Mapping[str, Any] = NOTHING,
    **more: Any,
) -> kube_proxy.KubeProxyArgs:
    """`service` are options of the service."""
    tool = (nssm if manager == "nssm" else log_runner).build_resources(LAYOUT, None, MARK)
    runs = running(manager, tool if tools is None else tools, **service)
    given: dict[str, Any] = {"wanted": settings(mode), "service": runs, "mark": MARK}
    return kube_proxy.KubeProxyArgs(source=SOURCE, **(given | more))


def plan(reading: Reading, args: kube_proxy.KubeProxyArgs) -> Plan:
    return make_plan(kube_proxy.NAME, kube_proxy.build_resources(args, reading), reading)


def joined(*services: dict[str, Any]) -> Reading:
    there = {
        file_key(LAYOUT.nssm): {"exists": True, "kind": "file", "version": "2.24"},
        file_key(LAYOUT.log_runner): {"exists": True, "kind": "file"},
        file_key(LAYOUT.kube_proxy_kubeconfig): {"exists": True, "kind": "file"},
    }
    return bare(kube_proxy.reads(LAYOUT), *services).merge(there)


def converged(args: kube_proxy.KubeProxyArgs, **service: Any) -> Reading:
    node = plan(joined(), args).predicted.merge({file_key(EXE): file(PROGRAM)}, predicted=False)
    return node.merge({service_key("kube-proxy"): {**(node.service("kube-proxy") or {}), **service}})


def refusal(args: kube_proxy.KubeProxyArgs, reading: Reading | None = None) -> str:
    with pytest.raises(Refused) as refused:
        plan(reading or joined(), args)
    return str(refused.value)


@pytest.mark.row("KP-01", "KP-05", "KP-10", "SV-05", "SV-11")
def test_a_joined_node_gets_program_and_service_and_it_is_started() -> None:
    made = plan(joined(), arguments()).batch
    assert made is not None
    found = lines(made.ops)
    assert rf"run nssm.exe install kube-proxy {EXE}" in found
    assert r"run nssm.exe set kube-proxy AppDirectory C:\k" in found
    assert r"run nssm.exe set kube-proxy AppStdout C:\k\kube-proxy.log" in found
    assert {line.split()[3] for line in found if line.startswith("run nssm.exe set")} == {"kube-proxy"}
    assert found[-4:-2] == ["run sc.exe start kube-proxy", "wait service kube-proxy running"]
    assert [op.args["url"] for op in made.gate] == ["http://127.0.0.1:10256/healthz"]


@pytest.mark.row("SV-12")
@pytest.mark.parametrize("manager", ["nssm", "sc"])
@pytest.mark.parametrize("mode", ["l2bridge", "overlay"])
def test_a_converged_node_gets_nothing(mode: str, manager: str) -> None:
    args = arguments(mode, manager)
    assert plan(converged(args), args).batch is None


@pytest.mark.row("KP-03", "KP-12", "KP-13", "KP-16")
@pytest.mark.parametrize("manager", ["nssm", "sc"])
def test_the_mode_decides_arguments_and_environment(manager: str) -> None:
    def made(mode: str) -> tuple[list[str], list[str]]:
        service = plan(joined(), arguments(mode, manager)).predicted.service("kube-proxy") or {}
        tool = service["nssm"] or {}
        line = tool.get("AppParameters") or service["image_path"]
        variables = tool.get("AppEnvironmentExtra", []) if tool else service["environment"]
        return command_line.split(f"x {line}")[1:], [entry.split("=")[0] for entry in variables]

    l2bridge, overlay = made("l2bridge"), made("overlay")
    assert l2bridge[1] == ["KUBE_NETWORK"] and overlay[1] == []
    assert {"--network-name=vxlan0", "--source-vip=10.244.3.2"} <= set(overlay[0])
    assert not any(word.startswith(("--network-name", "--source-vip")) for word in l2bridge[0])
    assert ("--windows-service" in l2bridge[0]) is (manager == "sc")


@pytest.mark.row("KP-03")
def test_kube_network_is_set_for_the_service() -> None:
    made = plan(joined(), arguments()).batch
    assert made is not None
    (variables,) = (op for op in made.ops if op.op == "registry_set")
    assert (variables.args["name"], variables.args["value"]) == ("AppEnvironmentExtra", [Secret("KUBE_NETWORK=cbr0")])


@pytest.mark.row("KP-16", "KP-03")
@pytest.mark.parametrize(("before", "after"), [("l2bridge", "overlay"), ("overlay", "l2bridge")])
def test_another_mode_changes_the_same_service_and_restarts_it_once(before: str, after: str) -> None:
    """Before, a second `nssm install` would have failed."""
    made = plan(converged(arguments(before)), arguments(after))
    assert made.batch is not None
    found = lines(made.batch.ops)
    assert not [line for line in found if " install " in line or " remove " in line]
    assert found.count("run sc.exe stop kube-proxy") == found.count("run sc.exe start kube-proxy") == 1
    variables = [op.args.get("value") for op in made.batch.ops if op.args.get("name") == "AppEnvironmentExtra"]
    assert variables == [[Secret("KUBE_NETWORK=cbr0")] if after == "l2bridge" else None]
    assert plan(converged(arguments(after)), arguments(after)).batch is None


@pytest.mark.row("SV-09")
def test_it_is_started_again_when_it_fails() -> None:
    made = plan(joined(), arguments(manager="sc")).batch
    assert made is not None
    recovery = "run sc.exe failure kube-proxy reset= 86400 actions= restart/15000/restart/30000/restart/60000"
    assert recovery in lines(made.ops)


@pytest.mark.row("KP-04", "SV-18")
def test_it_depends_on_nothing_unless_asked_and_a_change_restarts_nothing() -> None:
    by_hand = converged(arguments(), depends_on=["kubelet"])
    made = plan(by_hand, arguments()).batch
    assert made is not None
    assert lines(made.ops) == ["run sc.exe config kube-proxy depend= /"]
    kubelet = {service_key("kubelet"): {"name": "kubelet", "state": "running", "depends_on": []}}
    asked = arguments(service={"depends_on": ["kubelet"]})
    assert plan(by_hand.merge(kubelet), asked).batch is None
    added = plan(converged(arguments()).merge(kubelet), asked)
    assert added.batch is not None
    assert lines(added.batch.ops) == ["run sc.exe config kube-proxy depend= kubelet"]


def test_without_a_kubeconfig_it_is_refused_and_the_join_named() -> None:
    node = joined().merge({file_key(LAYOUT.kube_proxy_kubeconfig): {"exists": False}})
    assert r"there is no C:\k\kube-proxy.kubeconfig on the node. The role join writes it" in refusal(arguments(), node)


@pytest.mark.parametrize(
    ("dsr", "revision", "refused"), [(True, 1397, True), (True, 1432, False), (False, 1397, False)]
)
def test_dsr_is_refused_where_windows_has_none(dsr: bool, revision: int, refused: bool) -> None:
    args, system = arguments(wanted=settings(dsr=dsr)), {"os": {"build": 17763, "revision": revision}}
    reading = joined().merge({"system": system})
    if not refused:
        plan(reading, args)
        return
    said = refusal(args, reading)
    assert said.startswith("winkube_kube_proxy_dsr: Windows 10.0.17763.1397: kube-proxy has no direct server return")
    assert said.endswith("or later, or set it to false.")


ASKED = {"version": "1.37.1", "node_name": "WIN1", "dsr": True, "source": {"url": SOURCE.url, "checksum": "x"}}


@pytest.mark.parametrize(
    ("line", "more", "pods", "said"),
    [
        ("--enable-dsr=false", {}, ["web", "api"], "pods run on win1 (default/api, default/web) whose endpoints"),
        ("--v=2", {}, ["web"], "Set winkube_drain: true, so that they are recreated"),
        ("--enable-dsr=false", {}, [f"p{number}" for number in range(8)], "default/p4, 3 more)"),
        ("--enable-dsr=false", {}, [], ""),
        ("--enable-dsr=false", {"drain": {"enabled": True}}, ["web"], ""),
        ("--enable-dsr=false", {"dsr": False}, ["web"], ""),
        ("--enable-dsr", {}, ["web"], ""),
        (None, {}, ["web"], ""),
    ],
)
def test_dsr_begins_only_where_no_pod_has_an_endpoint(
    line: str | None, more: dict[str, Any], pods: list[str], said: str
) -> None:
    """Pods on the host's network, those that are over and mirrors of static pods are none that a drain recreates."""
    listed = [pod(each) for each in pods]
    listed += [
        pod("host") | {"spec": {"hostNetwork": True}},
        pod("over") | {"status": {"phase": "Succeeded"}},
        pod("failed") | {"status": {"phase": "Failed"}},
        pod("mirror", annotations={"kubernetes.io/config.mirror": "hash"}),
        pod("agent", ownerReferences=[{"kind": "DaemonSet", "name": "agent", "uid": "u", "controller": True}]),
    ]
    controller = Controller()
    asked = without_dsr(line, more, listed, controller)
    if said:
        with pytest.raises(Refused, match=re.escape(said)):
            component.build_resources(asked)
        return
    component.refuse_under_pods(asked)
    begins = line is not None and line != "--enable-dsr" and "dsr" not in more
    told = "a drain leaves the pods of DaemonSets (default/agent, default/mirror): they do not reach themselves"
    assert [told in each for each in controller.said] == ([True] if begins else [])


def pod(name: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": "default", "name": name, **metadata}}


def without_dsr(
    line: str | None, more: dict[str, Any], pods: list[dict[str, Any]], controller: Controller
) -> Given[KubeProxyOptions]:
    service = {"name": "kube-proxy", "state": "running", "image_path": f"{EXE} {line}", "nssm": None}
    asked = given("kube-proxy", ASKED | more, joined(*([service] if line is not None else [])), controller)
    asked.asks.once("daemon sets", lambda: None)
    asked.asks.once("pods with a network", lambda: component.sort_pods(pods))
    return asked


def test_without_a_cluster_it_is_said_that_pods_are_not_looked_for() -> None:
    controller = Controller()
    service = {"name": "kube-proxy", "state": "running", "image_path": f"{EXE} --v=2", "nssm": None}
    component.refuse_under_pods(given("kube-proxy", ASKED, joined(service), controller))
    assert "pods are not looked for" in controller.said[0]


def test_a_locked_gate_is_refused_before_the_node_is_touched() -> None:
    args = arguments(wanted=settings(feature_gates={"WinDSR": False}))
    assert "WinDSR=false: locked to true in Kubernetes 1.37" in refusal(args)


@pytest.mark.parametrize("mode", ["nat", "transparent", "l2tunnel"])
def test_other_network_modes_are_refused(mode: str) -> None:
    with pytest.raises(Refused, match=f"the network mode is '{mode}', but this role can do l2bridge and overlay only"):
        kube_proxy.mode(mode)
    assert (kube_proxy.network_name("l2bridge"), kube_proxy.network_name("overlay")) == ("cbr0", "vxlan0")


@pytest.mark.row("KP-01", "KP-05", "KP-16", "SV-05")
@pytest.mark.parametrize("mode", ["l2bridge", "overlay"])
def test_another_nssm_stops_it_first_and_starts_it_again(mode: str) -> None:
    """Windows cannot replace a running program; another mode in the same run does not cause a second restart."""
    other = nssm.nssm_source(
        url="https://xyz/nssm.exe", checksum=f"sha256:{'c' * 64}", proxy=None, unverified=(), read_url=lambda _: ""
    )

    def made(manager: str) -> list[str]:
        wanted = arguments(mode, manager, nssm.build_resources(LAYOUT, other, MARK))
        batch = plan(converged(arguments(manager=manager)), wanted).batch
        return lines(batch.ops) if batch else []

    found = made("nssm")
    replaced = next(number for number, line in enumerate(found) if line.endswith(r"-> C:\k\nssm.exe"))
    assert found.index("run sc.exe stop kube-proxy") < replaced < found.index("run sc.exe start kube-proxy")
    # SV-05: the kubelet uses the same nssm.exe; its own task handles it.
    assert {line.split()[3] for line in found if line.startswith("run sc.exe st")} == {"kube-proxy"}
    assert found.count("run sc.exe start kube-proxy") == 1 and not [line for line in found if " install " in line]
    assert ("run sc.exe start kube-proxy" in made("sc")) is (mode == "overlay")


@pytest.mark.row("KP-05")
def test_an_upgrade_restarts_once() -> None:
    args = arguments()
    made = plan(converged(args), replace(args, source=replace(SOURCE, sha256="b" * 64, version="1.37.2"))).batch
    assert made is not None
    found = lines(made.ops)
    assert found.count("run sc.exe stop kube-proxy") == found.count("run sc.exe start kube-proxy") == 1


# -- kube-proxy of the cluster -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("service", "refused"),
    [
        ({"state": "running", "start": 3}, True),
        ({"state": "paused", "start": 3}, True),
        ({"state": "stopped", "start": 2}, True),
        ({"state": "stopped", "start": 4}, False),
        (None, False),
    ],
)
def test_a_service_beside_the_clusters_own_is_refused(service: dict[str, Any] | None, refused: bool) -> None:
    node = joined(*([{"name": "kube-proxy", **service}] if service else []))
    if not refused:
        assert not make_plan(kube_proxy.NAME, kube_proxy.leave_to_cluster(LAYOUT, node), node).changed
        return
    with pytest.raises(Refused, match="the node has a service kube-proxy as well"):
        kube_proxy.leave_to_cluster(LAYOUT, node)


@pytest.mark.parametrize(
    ("extra", "url"),
    [
        ((), "http://127.0.0.1:10256/healthz"),
        (("--healthz-bind-address=0.0.0.0:10300",), "http://127.0.0.1:10300/healthz"),
        (("--healthz-bind-address=10.7.0.25:10300",), "http://10.7.0.25:10300/healthz"),
        (("--healthz-bind-address=10.7.0.25",), "http://10.7.0.25:10256/healthz"),
        (("--healthz-bind-address=127.0.0.1", "--healthz-port=10301"), "http://127.0.0.1:10301/healthz"),
        (("--healthz-bind-address=[::]:10302",), "http://127.0.0.1:10302/healthz"),
        (("--healthz-bind-address=fd00::7",), "http://[fd00::7]:10256/healthz"),
        # The address has a port by default, so the other flag has no effect.
        (("--healthz-port=10301",), "http://127.0.0.1:10256/healthz"),
        (("--healthz-port=0",), None),
        (("--healthz-bind-address=",), None),
    ],
)
def test_the_gate_asks_where_kube_proxy_says_that_it_is_healthy(extra: tuple[str, ...], url: str | None) -> None:
    made = plan(joined(), arguments(wanted=settings(version="1.27.4", extra_arguments=extra)))
    assert made.batch is not None
    (gate,) = made.batch.gate
    assert gate.args.get("url") == url
    assert url or (gate.args["for"], gate.args["stable_s"]) == ("service", 30)


@pytest.mark.parametrize(
    ("extra", "ports"),
    [
        ((), "10256,30000-32767"),
        (("--healthz-bind-address=0.0.0.0:10300",), "10300,30000-32767"),
        (("--healthz-bind-address=",), "30000-32767"),
    ],
)
def test_load_balancers_are_let_in_to_ask_after_its_health(extra: tuple[str, ...], ports: str) -> None:
    wanted = settings(version="1.27.4", extra_arguments=extra)
    options = FirewallOptions(health_check_sources=("any",))
    rules = kube_proxy.firewall(options, wanted)
    made = plan(joined(), arguments(wanted=wanted, inbound=rules)).batch
    assert made is not None
    (rule,) = [line for line in lines(made.ops) if "advfirewall firewall add" in line]
    assert f"name=winkube-kube-proxy dir=in action=allow protocol=TCP localport={ports} remoteip=any" in rule
    assert kube_proxy.firewall(replace(options, enabled=False), wanted) == ()


@pytest.mark.parametrize("manager", ["nssm", "sc"])
def test_a_service_of_ours_goes_when_kube_proxy_is_left_to_the_cluster(manager: str) -> None:
    args = arguments(manager=manager)
    node = plan(joined(), args).predicted
    made = make_plan(kube_proxy.NAME, kube_proxy.leave_to_cluster(LAYOUT, node), node)
    assert made.batch is not None
    assert [step.text for step in made.steps] == ["remove the service kube-proxy"]
    said = lines(made.batch.ops)
    assert said[0] == "run sc.exe stop kube-proxy"
    assert said[-2:] == [
        "run nssm.exe remove kube-proxy confirm" if manager == "nssm" else "run sc.exe delete kube-proxy",
        "wait service kube-proxy absent",
    ]
    after = made.predicted
    assert not make_plan(kube_proxy.NAME, kube_proxy.leave_to_cluster(LAYOUT, after), after).changed


def daemon_set(name: str = "kube-proxy-windows", image: str = "x/kube-proxy:v1.37.1", **spec: Any) -> dict[str, Any]:
    pods = {"containers": [{"name": "main", "image": image}], **spec}
    return {"metadata": {"namespace": "kube-system", "name": name}, "spec": {"template": {"spec": pods}}}


def affinity(operator: str, *values: str) -> dict[str, Any]:
    expression = {"key": "kubernetes.io/os", "operator": operator, "values": list(values)}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


@pytest.mark.parametrize(
    ("found", "runs"),
    [
        (daemon_set(nodeSelector={"kubernetes.io/os": "windows"}), True),
        (daemon_set("proxy", "registry.k8s.io/kube-proxy:v1.37.1"), True),
        (daemon_set(affinity=affinity("In", "windows")), True),
        (daemon_set(affinity=affinity("NotIn", "linux")), True),
        (daemon_set(affinity=affinity("Exists")), True),
        (daemon_set(nodeSelector={"kubernetes.io/os": "linux"}), False),
        (daemon_set(affinity=affinity("In", "linux")), False),
        (daemon_set(affinity=affinity("DoesNotExist")), False),
        (daemon_set(nodeSelector={"pool": "other"}), False),
        (daemon_set("calico-node-windows", "calico/node-windows"), False),
    ],
)
def test_which_daemon_sets_run_it_on_this_node(found: dict[str, Any], runs: bool) -> None:
    node = {"metadata": {"labels": {"kubernetes.io/os": "windows", "pool": "mine"}}}
    for each in (node, None):
        there = kube_proxy.find_daemon_sets([found], each, "win1")
        assert there == ((full_name(found),) if runs else ())


def test_a_daemon_set_beside_our_service_is_refused() -> None:
    with pytest.raises(Refused, match="the DaemonSet kube-system/kube-proxy-windows runs it on win1 already"):
        kube_proxy.refuse_beside("kube-system/kube-proxy-windows", "win1")
