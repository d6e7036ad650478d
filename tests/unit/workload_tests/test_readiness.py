"""SIG-Windows' operational readiness tests: the Job, what its log tells, and everything that keeps it from telling."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.cluster import run_namespace
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests import interrupted, readiness
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests import readiness_results as found
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.outcome import Context, Outcome

from tests.lab.cluster.cluster import Cluster as Lab
from tests.lab.cluster.jobs import Jobs, Ran
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.readiness_log import PASSING, Spec, lines, log
from tests.lab.cluster.seed import Settings
from tests.unit.workload_tests import told
from tests.unit.workload_tests.smoke.test_transient import every

NOW = datetime(2026, 11, 23, 12, 0, 0, tzinfo=UTC)
HOW = told.readiness(image="reg/op:1", categories=["Core.Network"], timeout=600, start_timeout=120)
WISH = readiness.Wish(HOW, "winkube-readiness-a", run_namespace.until(NOW, 600), "r1")
CASE = "[It] [sig-windows] should be able to up and down services"
FAILING = Spec("Core.Network", "Ability to expose windows pods", ((CASE, "failed"), ("[It] other", "passed")))
REASON = "Unexpected error: context deadline exceeded (test/e2e/network/service.go:1256)"
RENAMED = Spec("Core.Network", "Ability of a test that e2e.test has under another name")
LEFT_OUT = Spec("Core.Network", "Ability that aws has not", provider="aws")


def whole(*specs: Spec, **more: bytes) -> str:
    return log(specs, found.BEGIN, found.END, **more)


# -- what a log tells --------------------------------------------------------------------------------------------------


def test_each_test_of_the_list_has_a_verdict() -> None:
    results = found.results_of(whole(*PASSING, FAILING, RENAMED, LEFT_OUT))
    assert [(test.verdict, test.category) for test in results.tests] == [
        ("ok", "Core.Network"),
        ("ok", "Core.Storage"),
        ("broken", "Core.Network"),
        ("skipped", "Core.Network"),
        ("skipped", "Core.Network"),
    ]
    assert results.problem == ""
    assert results.tests[2].seen == f"{CASE}: failed: {REASON}", "the file has no reason, e2e.test's lines have"
    assert results.tests[3].seen == "e2e.test of this image has no test of that name; nothing ran.", "not passed"
    assert results.tests[4].seen == "It is not for the provider aws."
    assert results.tests[0].cases[0].seconds == 41.2
    assert found.summary(results) == (
        "Operational readiness, 5 tests: 2 ok, 1 BROKEN, 2 not run. Broken: Ability to expose windows pods."
    )


def test_a_file_that_was_not_cleaned_has_no_name_and_thousands_of_skipped_tests() -> None:
    results = found.results_of(whole(replace(FAILING, cleaned=False), PASSING[0]))
    by_name = {test.name: test for test in results.tests}
    assert by_name[FAILING.name].verdict == "broken", "by the log"
    assert "Unexpected error: context deadline exceeded In [It] at: " in by_name["a file without a name"].seen
    assert by_name["a file without a name"].verdict == "broken"
    assert [case.name for case in by_name["a file without a name"].cases] == [CASE, "[It] other"]


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_results_that_are_cut_off_are_told_by_the_lines(share: float) -> None:
    text = whole(*PASSING, FAILING)
    begin = text.index(found.BEGIN) + len(found.BEGIN)
    cut = text[: begin + int((len(text) - begin) * share)]
    results = found.results_of(cut)
    assert "The JUnit files could not be read: they are not whole in the log." in results.problem
    assert [test.verdict for test in results.tests] == ["ok", "ok", "broken"]
    assert results.tests[2].seen == f"e2e.test failed: {REASON}."


def test_a_failure_without_a_word_of_e2e_has_how_it_ended() -> None:
    text = "\n".join(line for line in lines((FAILING,)).splitlines() if "[FAILED]" not in line)
    assert found.results_of(text).tests[0].seen == "e2e.test failed: exit status 1."


def test_results_of_a_program_that_was_killed_are_not_called_whole() -> None:
    text = whole(*PASSING).replace("[OpReadinessTests] Completed running Ops Readiness tests", "Killed")
    results = found.results_of(text, "it ended with exit code 137 (OOMKilled)")
    assert [test.verdict for test in results.tests] == ["ok", "ok"]
    assert results.problem == "op-readiness did not come to its end: it ended with exit code 137 (OOMKilled)."


def test_a_run_that_is_cut_off_names_the_test_under_way() -> None:
    text = lines((*PASSING, FAILING))
    results = found.results_of(text[: text.index("Ran 2 of 7000")], "it ended with exit code 137 (OOMKilled)")
    assert results.problem == "The log of the pod ends before the results: it ended with exit code 137 (OOMKilled)."
    assert [test.verdict for test in results.tests] == ["ok", "ok", "broken"]
    assert results.tests[2].seen == "It was under way when the run ended."
    assert found.results_of("").tests == ()


@pytest.mark.parametrize("junk", [b"<testsuites", b"", b"<html><body/></html>", b"\xff\xfe\x00"])
def test_a_file_that_is_no_junit_is_named(junk: bytes) -> None:
    results = found.results_of(whole(*PASSING, junit_9901=junk))
    assert results.problem.startswith("Not readable as JUnit: junit_9901.xml (")
    assert [test.verdict for test in results.tests] == ["ok", "ok"]


def test_what_lies_between_the_marks_may_be_anything() -> None:
    for junk in ("not base64!", "aGVsbG8=", ""):
        results = found.results_of(f"{lines(PASSING)}{found.BEGIN}\n{junk}\n{found.END}\n")
        assert results.problem.startswith("The JUnit files could not be read: ")
        assert len(results.tests) == 2


def test_the_reports_are_in_the_form_of_the_others(tmp_path: Path) -> None:
    results = found.results_of(whole(*PASSING, FAILING, RENAMED))
    readiness.write(results, tmp_path / "reports")
    assert [path.name for path in sorted((tmp_path / "reports").iterdir())] == [
        *(f"junit_1{n}01.xml" for n in range(1, 5)),
        "operational_readiness.json",
        "operational_readiness.txt",
        "operational_readiness.xml",
    ]
    suite = ElementTree.parse(tmp_path / "reports" / "operational_readiness.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "1", "1")
    assert [case.get("classname") for case in suite][2:] == ["readiness.Core.Network"] * 2
    data = json.loads((tmp_path / "reports" / "operational_readiness.json").read_text())
    assert data["tests"][2]["cases"][0]["status"] == "failed"
    table = (tmp_path / "reports" / "operational_readiness.txt").read_text()
    assert "BROKEN   Core.Network  Ability to expose windows pods" in table


# -- in the lab's cluster ----------------------------------------------------------------------------------------------


class Bench:
    """The lab's cluster with a Linux node, and our side of it; time is the cluster's own."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.passed = 0.0
        self.clock = Clock(now=lambda: self.passed, sleep=self.sleep)
        cluster = Cluster.open({"kubeconfig": str(lab.kubeconfig)})
        assert cluster is not None
        self.cluster = cluster
        cluster.clock = self.clock

    @property
    def jobs(self) -> Jobs:
        return self.lab.controllers.workloads.jobs

    def sleep(self, seconds: float) -> None:
        self.passed += seconds
        self.lab.advance(seconds)

    def prints(self, text: str, seconds: float = 300.0, **more: Any) -> None:
        self.jobs.program = lambda pod: Ran(text, seconds, **more)

    def run(self, tmp_path: Path, **options: Any) -> Outcome:
        context = Context({"kubeconfig": str(self.lab.kubeconfig)}, (), False, tmp_path, self.clock)
        return readiness.run(context, told.readiness(**{"timeout": 600, "start_timeout": 120, **options}))

    def left(self) -> list[str]:
        """What runs of ours have left."""
        self.lab.advance(30)
        names = [str(item["metadata"]["name"]) for item in self.cluster.items("/api/v1/namespaces")]
        names += [str(item["metadata"]["name"]) for item in self.cluster.items(readiness.ACCOUNTS)]
        return [name for name in names if name.startswith("winkube-readiness")]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Lab(tmp_path / "cluster", Settings(version="1.37.1"))
    made.advance(30)
    yield Bench(made)
    made.stop()


def test_a_run_waits_reads_and_leaves_nothing(bench: Bench, tmp_path: Path) -> None:
    bench.prints(whole(*PASSING, FAILING))
    outcome = bench.run(tmp_path, report=str(tmp_path / "reports"))
    assert outcome.failed and "Broken: Ability to expose windows pods." in outcome.said
    assert [test["verdict"] for test in outcome.result["tests"]] == ["ok", "ok", "broken"]
    assert bench.passed >= 270, "it waits as long as the pod runs"
    assert bench.left() == []
    bench.prints(whole(*PASSING))
    assert not bench.run(tmp_path).failed
    assert bench.left() == []


def test_the_account_of_the_pod_may_do_what_e2e_does_and_the_pod_is_for_linux(bench: Bench) -> None:
    readiness.make(bench.cluster, WISH)
    bench.sleep(30)
    (pod,) = bench.cluster.items(f"/api/v1/namespaces/{WISH.namespace}/pods")
    assert pod["spec"]["serviceAccountName"] == readiness.NAME
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
    assert pod["status"]["phase"] == "Running"
    command = pod["spec"]["containers"][0]["command"][-1]
    assert (
        "./op-readiness --e2e-binary ./e2e.test --provider local --report-dir /tmp/results --category Core.N" in command
    )
    assert readiness.binding(WISH)["roleRef"]["name"] == "cluster-admin"
    readiness.take_away(bench.cluster, WISH)
    assert bench.left() == []


def test_an_image_that_cannot_be_pulled(bench: Bench, tmp_path: Path) -> None:
    for node in bench.cluster.nodes():
        bench.lab.controllers.workloads.unpullable[str(node["metadata"]["name"])] = {"gcr.io"}
    with pytest.raises(
        ClusterError, match=r"did not start within 120 s: its image cannot be pulled: .*readiness_image"
    ):
        bench.run(tmp_path)
    assert bench.left() == []


@pytest.mark.parametrize(
    "said",
    [
        "exceeded quota: pods, requested: pods=1, used: pods=0, limited: pods=0",
        'admission webhook "policy.example.com" denied the request: images come from our registry',
    ],
)
def test_a_pod_that_the_cluster_refuses(bench: Bench, tmp_path: Path, said: str) -> None:
    bench.jobs.refusal = said
    with pytest.raises(ClusterError, match="did not start within 120 s: its pod is refused: Error creating") as error:
        bench.run(tmp_path)
    assert said in str(error.value)
    assert bench.left() == []


def test_no_linux_node_takes_it(bench: Bench, tmp_path: Path) -> None:
    for node in bench.cluster.nodes():
        name = node["metadata"]["name"]
        bench.cluster.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}})
    with pytest.raises(ClusterError, match="no Linux node takes it: 0/1 nodes are available"):
        bench.run(tmp_path)
    assert bench.left() == []


def test_an_evicted_pod_and_one_that_is_gone(bench: Bench, tmp_path: Path) -> None:
    bench.prints(whole(*PASSING), 60, reason="Evicted", message="The node was low on resource: memory.")
    with pytest.raises(ClusterError, match="was evicted: its pod says The node was low on resource: memory"):
        bench.run(tmp_path)
    bench.prints(whole(*PASSING), 300)
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        bench.sleep(seconds)
        if len(slept) == 6:
            for pod in bench.lab.store.list(BY_NAME["Pod"]):
                if "job-name" in pod["metadata"]["labels"]:
                    bench.lab.store.delete(BY_NAME["Pod"], pod["metadata"]["namespace"], pod["metadata"]["name"])

    bench.clock = Clock(now=lambda: bench.passed, sleep=sleep)
    with pytest.raises(ClusterError, match="is gone from winkube-readiness-"):
        bench.run(tmp_path)
    assert bench.left() == []


def test_a_deadline_and_a_time_that_is_up_tell_what_was_done_by_then(bench: Bench, tmp_path: Path) -> None:
    half = lines((*PASSING, FAILING)).split("Ran 2 of 7000")[0]
    bench.prints(
        half, 100, reason="DeadlineExceeded", message="Pod was active on the node longer than specified deadline"
    )
    outcome = bench.run(tmp_path)
    assert outcome.failed and "its pod says Pod was active on the node longer" in outcome.said
    assert [test["verdict"] for test in outcome.result["tests"]] == ["ok", "ok", "broken"]
    bench.prints(whole(*PASSING, FAILING), 10_000)
    outcome = bench.run(tmp_path)
    assert outcome.failed and "it did not end within 600 s" in outcome.said
    assert bench.left() == []


def test_a_log_that_cannot_be_had(bench: Bench) -> None:
    """The node with the log does not answer, however long it is asked."""
    bench.prints(whole(*PASSING))
    bench.lab.https.trouble = lambda request: "503" if "/log" in request.path else ""
    readiness.make(bench.cluster, WISH)
    with pytest.raises(ClusterError, match=r"which cannot be had: .*503.* Of the pod: it ended with exit code 0"):
        readiness.wait(bench.cluster, WISH, bench.clock)
    readiness.take_away(bench.cluster, WISH)
    assert bench.left() == []


def test_an_image_without_a_shell_or_op_readiness(bench: Bench, tmp_path: Path) -> None:
    bench.prints("", 1, code=127)
    outcome = bench.run(tmp_path)
    assert outcome.failed
    assert (
        "0 tests: nothing ran. The log of the pod ends before the results: it ended with exit code 127" in outcome.said
    )


def test_an_api_server_that_stumbles_voids_no_run(bench: Bench, tmp_path: Path) -> None:
    bench.prints(whole(*PASSING))
    bench.lab.https.trouble = every(4, "reset", "503", "lost", "429")
    readiness.make(bench.cluster, WISH)
    results = found.results_of(*readiness.wait(bench.cluster, WISH, bench.clock))
    readiness.take_away(bench.cluster, WISH)
    bench.lab.https.trouble = lambda request: ""
    assert [test.verdict for test in results.tests] == ["ok", "ok"]
    assert bench.left() == []


def test_keep_leaves_it_and_a_later_run_takes_what_is_left(bench: Bench, tmp_path: Path) -> None:
    bench.prints(whole(*PASSING, FAILING))
    assert bench.run(tmp_path, keep=True).failed
    kept = bench.left()
    assert len(kept) == 2, "the namespace and the rights of its account"
    for item in bench.lab.store.list(BY_NAME["Namespace"]):
        if item["metadata"]["name"] == kept[0]:
            past = "2026-01-01T00:00:00Z"  # by the API server's clock, whichever that is
            item["metadata"]["annotations"][f"{readiness.LABEL}-until"] = past
            bench.lab.store.replace(BY_NAME["Namespace"], "", kept[0], item)
    swept = bench.run(tmp_path).steps
    assert f"delete the namespace {kept[0]}, which an earlier run left" in swept
    bench.run(tmp_path)
    assert bench.left() == []


def test_ctrl_c_leaves_nothing(bench: Bench, tmp_path: Path) -> None:
    bench.prints(whole(*PASSING))

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    bench.clock = Clock(sleep=interrupted)
    with pytest.raises(KeyboardInterrupt):
        bench.run(tmp_path)
    assert bench.left() == []


def test_a_worker_that_is_killed_leaves_what_the_end_of_ansible_takes_away(bench: Bench, tmp_path: Path) -> None:
    """Ansible ends its workers silently: nothing runs in them."""
    noted = {"test": "operational_readiness", "label": readiness.LABEL, "name": WISH.namespace, "run": WISH.run}
    access = {"kubeconfig": str(bench.lab.kubeconfig), "context": ""}
    interrupted.note(tmp_path, noted, access, (f"{readiness.ACCOUNTS}/{WISH.namespace}",))
    readiness.make(bench.cluster, WISH)
    assert len(bench.left()) == 2
    said: list[str] = []
    interrupted.delete_noted(tmp_path, said.append)
    assert said == [f"The test operational_readiness was interrupted; its namespace {WISH.namespace} is being deleted."]
    assert bench.left() == []


def test_tests_that_may_have_run_on_linux_are_told(bench: Bench, tmp_path: Path) -> None:
    bench.prints(whole(*PASSING))
    (node,) = bench.cluster.nodes()
    bench.cluster.patch(f"/api/v1/nodes/{node['metadata']['name']}", {"spec": {"taints": []}})
    assert "1 Linux nodes take pods that select no operating system" in bench.run(tmp_path).said
    hook = {"metadata": {"name": "windows"}, "webhooks": []}
    bench.cluster.create("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", hook)
    assert bench.run(tmp_path).said == ""


def test_check_mode_makes_nothing(bench: Bench, tmp_path: Path) -> None:
    context = Context({"kubeconfig": str(bench.lab.kubeconfig)}, (), True, tmp_path, bench.clock)
    outcome = readiness.run(context, told.readiness(image="a", categories=[]))
    assert outcome.steps == ("run SIG-Windows' operational readiness tests (all), image a",)
    assert bench.left() == []


def test_the_job_is_the_golden_one() -> None:
    made = readiness.job(WISH)
    made["spec"]["template"]["spec"]["containers"][0]["command"] = []
    assert yaml.safe_dump(made["spec"], sort_keys=True) == (
        "backoffLimit: 0\n"
        "template:\n"
        "  metadata:\n"
        "    labels:\n"
        "      winkube.node/readiness: 'true'\n"
        "  spec:\n"
        "    activeDeadlineSeconds: 720\n"
        "    containers:\n"
        "    - command: []\n"
        "      image: reg/op:1\n"
        "      name: op-readiness\n"
        "      workingDir: /app\n"
        "    nodeSelector:\n"
        "      kubernetes.io/os: linux\n"
        "    restartPolicy: Never\n"
        "    serviceAccountName: op-readiness\n"
        "    tolerations:\n"
        "    - effect: NoSchedule\n"
        "      key: node-role.kubernetes.io/control-plane\n"
        "      operator: Exists\n"
        "    - effect: NoSchedule\n"
        "      key: node-role.kubernetes.io/master\n"
        "      operator: Exists\n"
    )
