"""What is gathered besides the readings: the cluster, a pod, kubelet's figures, ports, registries."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.connection import Connection
from ansible_collections.winkube.node.plugins.plugin_utils.components.node import Node
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import checks_workloads, gather
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.checks_traffic import commands
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import diagnose
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.tried import Looking, Objects, Said
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Query, Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret

from tests.unit.answers import answered
from tests.unit.cluster.fake import as_api, without_limit
from tests.unit.components.nodes import LAYOUT, wanted_node

from .nodes import ADDRESS, healthy, log, pod, service

Answers = Mapping[str, tuple[int, Mapping[str, Any]]]


def api(answers: Answers, execs: Mapping[str, tuple[int, str]] | None = None) -> Cluster:
    """A cluster that answers these paths, and these programs in pods with (exit code, output)."""

    def send(method: str, path: str, body: Mapping[str, Any] | None, content_type: str) -> tuple[int, bytes]:
        status, answer = answers.get(without_limit(path), (404, {}))
        return status, as_api(method, path, status, answer)

    def listen(path: str, timeout_s: float) -> Iterator[bytes]:
        code, output = next(said for word, said in (execs or {}).items() if word in path)
        yield b"\x01" + output.encode()
        status: dict[str, Any] = {"status": "Success"}
        if code:
            causes = [{"reason": "ExitCode", "message": str(code)}]
            status = {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}
        yield b"\x03" + json.dumps(status).encode()

    return Cluster(lambda: Connection("https://api", b"", send, listen))


def test_the_cluster_is_asked_for_what_concerns_the_node() -> None:
    cluster = api(
        {
            "/api/v1/nodes/win1": (200, {"metadata": {"name": "win1"}}),
            "/api/v1/pods?fieldSelector=spec.nodeName%3Dwin1": (200, {"items": [pod("web")]}),
            "/api/v1/events?fieldSelector=type%3DWarning": (403, {"message": "forbidden"}),
            "/api/v1/nodes": (200, {"items": [{}, {}]}),
            "/api/v1/services": (200, {"items": [{}]}),
        }
    )
    view = gather.objects_of(cluster, "win1")
    assert (len(view.pods), len(view.nodes), len(view.services)) == (1, 2, 1)
    assert view.events == (), "a role may be forbidden to read events"


@pytest.mark.row("TS-08", "TS-16")
def test_commands_run_in_a_pod_with_powershell_and_never_on_the_host() -> None:
    nano, core = pod("a-nano", "10.244.3.6", "mcr.microsoft.com/windows/nanoserver:ltsc2022"), pod("web")
    host = pod("0-agent")
    host["spec"]["hostNetwork"] = True
    wanted = commands(healthy().tried(), "default")
    assert not any("ping" in word for argv in wanted.values() for word in argv)
    cluster = api({}, {"Resolve-DnsName": (1, "DNS name does not exist"), "curl.exe": (0, "")})
    found = gather.ask_pod(cluster, Objects(pods=(host, nano, core)), lambda namespace: wanted)
    assert found.pod == "default/web"
    assert found.said["outside"] == Said(0, "")
    assert found.said["name in between"] == Said(1, "DNS name does not exist")
    assert gather.ask_pod(cluster, Objects(pods=(host,)), lambda namespace: wanted).why.startswith("no pod with")


@pytest.mark.row("TS-14", "TS-16")
def test_three_names_are_asked_for() -> None:
    wanted = commands(healthy().tried(), "default")
    names = {what: argv[-1].split()[1].strip("'") for what, argv in wanted.items() if "Resolve" in argv[-1]}
    assert names == {
        "fully qualified name": "kubernetes.default.svc.cluster.local",
        "short name": "kubernetes",
        "name in between": "kubernetes.default",
    }
    assert "https://10.96.0.1:443/" in wanted["service address"]
    node = healthy()
    node.services.insert(0, service("headless", "default", "None"))
    assert "Resolve-DnsName 'kubernetes' " in commands(node.tried(), "default")["short name"][-1]


def summaries(*values: int) -> Iterator[dict[str, Any]]:
    for number, value in enumerate(values):
        cpu = {
            "time": f"2026-11-21T09:00:{number * 10:02}Z",
            "usageCoreNanoSeconds": number * 5_000_000_000,
            "usageNanoCores": value,
        }
        yield {
            "pods": [{"podRef": {"name": "burn", "namespace": "default"}, "containers": [{"name": "burn", "cpu": cpu}]}]
        }


class Kubelet(Cluster):
    """A cluster whose kubelet has a series of summaries."""

    def __init__(self, version: str, *values: int) -> None:
        self._summaries = summaries(*values)
        self._version = version
        super().__init__(lambda: Connection("https://api", b"", self._answer))

    def _answer(self, method: str, path: str, body: object, content_type: str) -> tuple[int, bytes]:
        if path.endswith("/stats/summary"):
            return 200, json.dumps({"node": {}, **next(self._summaries)}).encode()
        if path == "/api/v1/nodes/win1":
            runtime = {"status": {"nodeInfo": {"containerRuntimeVersion": f"containerd://{self._version}"}}}
            return 200, as_api(method, path, 200, runtime)
        return 404, as_api(method, path, 404, {})


@pytest.mark.row("TS-21")
def test_zeros_of_something_busy_are_told_from_those_of_something_idle() -> None:
    # The series of the document's 1.7, S1 L346-353, and that of its 1.6, S1 L365-370.
    found = gather.stats(Kubelet("1.7.11", 439449510, 503096265, 0, 0, 506845973), "win1", 5, 0)
    assert [one["faulty"] for one in found.verdicts] == [True]
    assert found.containerd == "1.7.11"
    found = gather.stats(Kubelet("1.6.36", 500618452, 478772447, 500618452), "win1", 3, 0)
    assert [one["faulty"] for one in found.verdicts] == [False]
    assert gather.stats(api({}), "win1", 3, 0).why.startswith("node_name: the cluster https://api has no Node win1")


@pytest.mark.row("TS-21")
@pytest.mark.parametrize(
    ("more", "faulty"),
    [
        ({"zeros": 2, "own_nano_cores": 100_000_000}, True),
        ({"zeros": 2, "own_nano_cores": 99_999_999}, False),
        ({"zeros": 2, "own_nano_cores": None, "alternating": True, "maximum": 100_000_000}, True),
        ({"zeros": 2, "own_nano_cores": None, "alternating": False, "maximum": 100_000_000}, False),
        ({"zeros": 0, "own_nano_cores": 500_000_000}, False),
        ({"zeros": 0, "own_nano_cores": 0, "underflows": 1}, True),
    ],
)
def test_a_zero_is_wrong_of_what_uses_a_tenth_of_a_core(more: dict[str, Any], faulty: bool) -> None:
    subject = {"namespace": "default", "pod": "burn", "container": "burn"}
    series = {**subject, "underflows": 0, "alternating": False, "maximum": 0, **more}
    report = {"series": [series], "verdicts": [{**subject, "text": "x"}], "containerd_version": "1.7.11"}
    (verdict,) = checks_workloads.read_stats(report).verdicts
    assert verdict["faulty"] is faulty


@pytest.mark.row("TS-09")
def test_a_host_out_of_reach_is_asked_once() -> None:
    asked = []

    def connect(host: str, port: int, timeout_s: float) -> bool:
        asked.append((host, port))
        return host == ADDRESS and port != 30081

    wanted = [("10.0.0.9", 10250), ("10.0.0.9", 30080), (ADDRESS, 10250), (ADDRESS, 30080), (ADDRESS, 30081)]
    found = gather.try_ports(wanted, connect)
    assert ("10.0.0.9", 30080) not in asked
    assert found == {
        ("10.0.0.9", 10250): False,
        (ADDRESS, 10250): True,
        (ADDRESS, 30080): True,
        (ADDRESS, 30081): False,
    }


@pytest.mark.row("TS-18")
def test_curl_gets_the_proxy_where_nobody_sees_its_password() -> None:
    proxy = Secret("http://user:secret@proxy.example.com:80/")
    batch = gather.through_proxy(["https://registry.k8s.io/v2/"], proxy, Reading(parts={"system": {"machine": "m-1"}}))
    (op,) = batch.ops
    assert op.secrets == ("env",)
    assert op.args["env"] == {"HTTPS_PROXY": proxy, "http_proxy": proxy}, "curl takes HTTP_PROXY in small letters only"
    assert op.args["args"][-1] == "https://registry.k8s.io/v2/"
    assert "secret" not in str(op.args["args"])
    failed = {"exit_code": 56, "stderr": "curl: (56) CONNECT tunnel failed, response 407"}
    answer = answered({"results": [failed]})
    said = gather.of_batch(["https://registry.k8s.io/v2/"], answer)
    assert said["https://registry.k8s.io/v2/"] == Said(56, "curl: (56) CONNECT tunnel failed, response 407")


@pytest.mark.row("TS-18")
def test_any_answer_of_a_registry_is_one() -> None:
    urls = [gather.registry_url("registry.k8s.io"), gather.registry_url("http://mirror:5000/v2/")]
    assert urls == ["https://registry.k8s.io/v2/", "http://mirror:5000/v2/"]
    answers = {f"http:{urls[0]}": {"status": 401, "body": ""}, f"http:{urls[1]}": {"status": 0, "error": "refused"}}
    found = gather.of_probe(urls, Reading(parts=answers))
    assert found[urls[0]].worked
    assert not found[urls[1]].worked


@pytest.mark.row("TS-12")
def test_the_ends_of_logs_are_asked_for_and_read() -> None:
    node = healthy()
    expected: Node = node.expected
    first = Reading(parts=node.parts)
    queries = {query.key: dict(query.args) for query in gather.tails(LAYOUT, expected, first)}
    assert queries[file_key(r"C:\k\flanneld.log")]["tail"] == gather.TAIL_BYTES
    node.parts[file_key(r"C:\k\flanneld.log")] = log("cut \xff in the middle\nWaiting for the Network to be created\n")
    texts = gather.log_texts(LAYOUT, expected, first, Reading(parts=node.parts))
    assert "Waiting for the Network" in texts["flanneld"]


def test_how_long_a_log_is_quiet_is_told_by_the_nodes_clock_and_of_programs_that_run() -> None:
    node, expected = healthy(), wanted_node()
    for name in ("flanneld", "kube-proxy"):
        node.parts[file_key(rf"C:\k\{name}.log")]["written"] = "2026-11-21T08:00:00.000Z"
    node.service("kube-proxy")["state"] = "stopped"
    reading = Reading(parts=node.parts)
    now = datetime(2026, 11, 21, 11, 30, tzinfo=UTC)
    quiet = gather.quiet_for(LAYOUT, expected, reading, reading, now)
    assert quiet["flanneld"] == timedelta(hours=3, minutes=30)
    assert "kube-proxy" not in quiet, "the last words of a program that ended say why, however long ago"
    assert gather.quiet_for(LAYOUT, expected, reading, reading, now - timedelta(days=1))["flanneld"] == timedelta()


class Machine:
    """A node that answers with what it has."""

    def __init__(self, parts: dict[str, Any]) -> None:
        self.parts = parts

    def read_queries(self, queries: tuple[Query, ...]) -> Reading:
        services = {key: value for key, value in self.parts.items() if key.startswith("service")}
        return Reading(parts={**services, **self.probe(queries)})

    def probe(self, queries: tuple[Query, ...]) -> Mapping[str, Any]:
        known = (each.key for each in queries if each.key != "services")
        return {key: self.parts[key] for key in known if key in self.parts}

    def carry_out(self, batch: Batch, reading: Reading) -> Mapping[str, Any]:
        raise gather.NotRunError("nothing is run here")


@pytest.mark.parametrize("name", ["cni.conf", "z.conf"])
def test_containerds_own_folder_wins_over_the_layouts(name: str) -> None:
    node = healthy()
    folder = r"D:\cni\conf"
    config = node.parts[file_key(LAYOUT.containerd_config)]
    toml = base64.b64decode(config["content"]).decode()
    assert LAYOUT.cni_conf_dir in toml
    elsewhere = toml.replace(LAYOUT.cni_conf_dir, "D:/cni/conf")
    config["content"] = base64.b64encode(elsewhere.encode()).decode()
    conf = node.parts[file_key(rf"{LAYOUT.cni_conf_dir}\cni.conf")]
    question = gather.Question("win1", node.expected, how=Looking(watch=0))
    node.parts |= {file_key(folder): {"exists": True, "kind": "directory", "entries": [name]}}
    node.parts |= {file_key(rf"{folder}\{name}"): conf}
    scene = gather.quick(Machine(node.parts), question, None)
    assert scene.cni_path == rf"{folder}\{name}"
    assert scene.cni_conf is not None and scene.cni_conf.name == "cbr0"
    node.parts |= {file_key(folder): {"exists": False}, file_key(rf"{folder}\cni.conf"): {"exists": False}}
    missing = gather.quick(Machine(node.parts), question, None)
    (absent,) = (one for one in diagnose(missing).findings if one.id == "cni.absent")
    assert absent.seen == r"there is no D:\cni\conf\cni.conf: no pod can start"
    assert absent.remedy.command("win1") == "" and "winkube_cni_conf_dir" in absent.remedy.ours("win1")


@pytest.mark.parametrize("names", [["cni.conf"], ["0-own.conf", "cni.conf"], ["z.conf"]])
def test_a_configuration_of_an_unusual_name_is_read_where_the_runtime_takes_it(names: list[str]) -> None:
    node = healthy()
    folder = LAYOUT.cni_conf_dir
    conf = node.parts[file_key(rf"{folder}\cni.conf")]
    node.parts[file_key(folder)] = {"exists": True, "kind": "directory", "entries": names}
    node.parts |= {file_key(rf"{folder}\{name}"): conf for name in names}
    machine = Machine(node.parts)
    scene = gather.quick(machine, gather.Question("win1", node.expected, how=Looking(watch=0)), None)
    assert scene.cni_file == names[0]
    assert scene.cni_conf is not None
    assert scene.cni_conf.name == "cbr0"
