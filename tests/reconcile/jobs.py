"""Runs in Jobs before a real kube-apiserver and kube-controller-manager: what becomes of a run's pods, of its mark, and
of a person's `kubectl drain`, however the Job ends. The audit log is the judge of who deleted what, and when.

Real: the controllers for Jobs, their time to live, garbage collection and pods of lost Nodes, with upstream's own RBAC;
kubectl; the collection's code for pods, marks and drains. Simulated: the kubelets (kubelet.py), and with them the
program in our pods that waits for signs of life.
"""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.budget.claim import Claim
from ansible_collections.winkube.node.plugins.plugin_utils.budget.mark import find_mark
from ansible_collections.winkube.node.plugins.plugin_utils.budget.run import Run
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.records import NODE, NodeObject
from ansible_collections.winkube.node.plugins.plugin_utils.host_process import pod
from ansible_collections.winkube.node.plugins.plugin_utils.host_process.pod import BASE_IMAGE, LABEL, SILENCE_S, Wanted

from tests.conftest import ROOT
from tests.real import api_server, build, controller_manager
from tests.real.api_server import Api, Server
from tests.real.controller_manager import ACCOUNTS, COLLECTOR
from tests.reconcile.apiserver import read_events
from tests.reconcile.kubelet import ARGUMENTS, ENDED, Kubelet, Process, is_running, path_of, run_of
from tests.reconcile.run_in_pod import ALL

CONTROLLERS = (
    "serviceaccount-controller",
    "job-controller",
    "ttl-after-finished-controller",
    "garbage-collector-controller",
    "pod-garbage-collector-controller",
)
EXAMPLES = ROOT / "examples" / "in-cluster"
SHIPPED = ("namespaces.yml", "rights.yml", "policies.yml")
SPACE = "runs"
"""Where the Jobs are whose runs make their pods beside them; those of the example make them in another namespace."""
GRACE_S = 2
PATIENCE_S = 180.0
WRONG = (
    "deleted_in_mid_run",
    "not_collected",
    "drains_blocked",
    "dead_taken_for_alive",
    "alive_taken_for_dead",
    "nodes_left_marked",
)
"""Of what `spend` counts, what has to be 0, beside the pods that run."""
AUDIT = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "resources": [{"resources": ["pods"]}], "verbs": ["delete"]}, {"level": "None"}],
}


def missing() -> str:
    """The command that builds what is not there; empty if all is."""
    return api_server.missing(controller_manager.PROGRAM, "kubectl")


@dataclass
class Case:
    """A Job whose run is at work on a Node of its own."""

    job: str
    space: str
    node: str
    pod: str
    uid: str
    """Name and uid of the run's pod."""
    process: Process
    pods_in: str


@dataclass(frozen=True)
class Maker:
    """The run that made a pod, and the name of its own."""

    process: Process
    pod: str


@dataclass
class Tally:
    """What was seen; lists have names of Jobs, Nodes or pods."""

    jobs: int = 0
    made: dict[str, Maker] = field(default_factory=dict)
    """Our own pods by name."""
    strange: set[str] = field(default_factory=set)
    """Pods whose owner is in another namespace: the collector takes them at once, which shows that it is at work."""
    not_collected: list[str] = field(default_factory=list)
    blocked: list[str] = field(default_factory=list)
    needs_force: list[str] = field(default_factory=list)
    dead_taken_for_alive: list[str] = field(default_factory=list)
    alive_taken_for_dead: list[str] = field(default_factory=list)
    left_marked: list[str] = field(default_factory=list)


@dataclass
class Trial:
    """The cluster, and what was seen of it."""

    server: Server
    kubelet: Kubelet
    log: Callable[[str], None]
    tally: Tally = field(default_factory=Tally)

    @property
    def admin(self) -> Api:
        return self.server.admin

    # -- a run -------------------------------------------------------------------------------------------------------

    def begin(self, name: str, *words: str, host: str = "linux1", **spec: Any) -> Case:
        """A Job in SPACE that goes by the example's, with these fields of its spec; returns when its run is at work."""
        made = _shipped_job() | {"backoffLimit": 0} | spec
        made["template"]["spec"] |= {"serviceAccountName": "default", "terminationGracePeriodSeconds": GRACE_S}
        return self._begin(name, SPACE, SPACE, self.server.kubeconfig(self.admin), made, words, host)

    def begin_shipped(self, name: str) -> Case:
        """The example's Job as it stands, with the rights and policies of its account."""
        kubeconfig = self.server.kubeconfig(self.server.account("winkube", "keep"))
        return self._begin(name, "winkube", "winkube-node", kubeconfig, _shipped_job(), (), "linux1")

    def _begin(
        self,
        name: str,
        space: str,
        pods_in: str,
        kubeconfig: Path,
        spec: dict[str, Any],
        words: Sequence[str],
        host: str,
    ) -> Case:
        self.log(f"a run in a Job: {name}")
        node = f"win-{name}"
        self.make_node(node, "windows")
        template = spec["template"]
        template["metadata"] = {"annotations": {ARGUMENTS: " ".join((str(kubeconfig), node, pods_in, *words))}}
        template["spec"]["nodeName"] = host
        self.make(
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": space}, "spec": spec}
        )
        self.tally.jobs += 1
        self.until(lambda: bool(self._pods_of(space, name)), f"{name}: no pod of the Job")
        own = self._pods_of(space, name)[0]
        uid, run = own["metadata"]["uid"], own["metadata"]["name"]
        self.until(lambda: uid in self.kubelet.runs, f"{name}: not started")
        case = Case(name, space, node, run, uid, self.kubelet.runs[uid], pods_in)
        self.until(lambda: self._is_at_work(case), f"{name}: not at work")
        self.note_pods(case)
        if self.ended(case) is not False:
            self.tally.alive_taken_for_dead.append(name)
        self.wake_collector(case)
        return case

    def make_node(self, name: str, system: str) -> None:
        self.make(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/os": system}}}
        )
        ready = {
            "type": "Ready",
            "status": "True",
            "reason": "KubeletReady",
            "lastTransitionTime": "2030-01-01T00:00:00Z",
        }
        self.admin.strategic(f"/api/v1/nodes/{name}/status", {"status": {"conditions": [ready]}})

    def make(self, document: dict[str, Any]) -> None:
        said = self.admin.make(document)
        assert said.status == 201, said

    def _pods_of(self, space: str, job: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.admin.get(
            f"/api/v1/namespaces/{space}/pods?labelSelector=job-name%3D{job}"
        ).body["items"]
        return found

    def _is_at_work(self, case: Case) -> bool:
        """Its Node is cordoned and marked, its own pod runs."""
        assert not case.process.has_ended(), f"{case.job}: its run has ended"
        mark = find_mark(self._node(case))
        return mark is not None and mark.cordoned and any(map(is_running, self.own_pods(case)))

    def own_pods(self, case: Case) -> list[dict[str, Any]]:
        return [each for each in self.kubelet.own_pods() if each["metadata"]["labels"][LABEL] == run_of(case.uid)]

    def note_pods(self, case: Case) -> None:
        maker = Maker(case.process, case.pod)
        self.tally.made |= {each["metadata"]["name"]: maker for each in self.own_pods(case)}

    # -- looks -------------------------------------------------------------------------------------------------------

    def until(self, so: Callable[[], bool], why: str) -> None:
        api_server.until(so, f"{why}; {self.kubelet.trouble[-3:]}", PATIENCE_S)

    def conditions(self, case: Case) -> set[str]:
        """Types of the Job's conditions that are True."""
        status = self.admin.get(self._path(case)).body.get("status") or {}
        return {each["type"] for each in status.get("conditions") or () if each["status"] == "True"}

    def _path(self, case: Case) -> str:
        return f"/apis/batch/v1/namespaces/{case.space}/jobs/{case.job}"

    def _node(self, case: Case) -> NodeObject:
        found: NodeObject = NODE(self.admin.get(f"/api/v1/nodes/{case.node}").body, "")
        return found

    def _claim(self) -> Claim:
        """Of a run that comes later."""
        cluster = Cluster.open({"kubeconfig": str(self.server.kubeconfig(self.admin))})
        assert cluster is not None
        return Claim(cluster, Run(uuid.uuid4().hex, "a later run"), ALL)

    def ended(self, case: Case) -> bool | None:
        """What a later run thinks of the one whose mark is on the Node."""
        mark = find_mark(self._node(case))
        return None if mark is None else self._claim().ended(mark)

    def take_over(self, case: Case) -> None:
        """A later run knows that the run is over, and makes its Node right."""
        if self.ended(case) is not True:
            self.tally.dead_taken_for_alive.append(case.job)
            return
        claim = self._claim()
        claim.take([case.node])
        claim.uncordon(case.node)
        self.expect_given_back(case)

    def expect_given_back(self, case: Case) -> None:
        """Neither marked nor cordoned."""
        node = self._node(case)
        if find_mark(node) is not None or node.unschedulable:
            self.tally.left_marked.append(case.node)

    def wake_collector(self, case: Case) -> None:
        """Returns when the collector has taken a pod whose owner, the run's pod, is in another namespace: what it was
        to take before, it has taken."""
        space = case.pods_in if case.pods_in != case.space else "default"
        name, host = f"strange-{uuid.uuid4().hex[:8]}", case.node
        made = pod.body(Wanted(host, space, BASE_IMAGE, name, "reconcile", 600), datetime.now(UTC))
        owner = {"apiVersion": "v1", "kind": "Pod", "name": case.pod, "uid": case.uid, "controller": True}
        made["metadata"] |= {"name": name, "ownerReferences": [owner]}
        self.make(made)
        self.tally.strange.add(name)
        path = f"/api/v1/namespaces/{space}/pods/{name}"
        self.until(lambda: self.admin.get(path).status == 404, f"{case.job}: the collector is not at work")

    # -- what befalls a run ------------------------------------------------------------------------------------------

    def kill(self, case: Case) -> None:
        case.process.running.kill()
        self.until(case.process.has_ended, f"{case.job}: not killed")

    def delete(self, case: Case, how: str = "Background") -> None:
        """As kubectl does, if it is told nothing else."""
        self.admin.ask(
            "DELETE", self._path(case), {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": how}
        )
        self.until(lambda: self.admin.get(self._path(case)).status == 404, f"{case.job}: its Job stays")
        self.until(lambda: not self._pods_of(case.space, case.job), f"{case.job}: its pod stays")

    def patch(self, case: Case, spec: dict[str, Any]) -> None:
        said = self.admin.merge(self._path(case), {"spec": spec})
        assert said.status == 200, said

    def expect_collected(self, case: Case) -> None:
        """By nobody else than the collector, in its own time."""
        try:
            self.until(lambda: not self.own_pods(case), case.job)
        except AssertionError:
            self.tally.not_collected += [each["metadata"]["name"] for each in self.own_pods(case)]

    def expect_left(self, case: Case) -> None:
        """The collector leaves the pod alone while the run's pod is there as an object; the pod ends by itself."""
        self.wake_collector(case)
        assert any(map(is_running, self.own_pods(case))), f"{case.job}: its pod is gone before anything ended it"

    def drain(self, case: Case) -> str:
        """What a person's kubectl says; empty if it drained the Node."""
        words = ("drain", case.node, "--ignore-daemonsets", "--timeout=60s", f"--kubeconfig={self._admins()}")
        program = build.program("kubectl", api_server.VERSION)
        done = subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=120)
        return done.stderr if done.returncode else ""

    def _admins(self) -> Path:
        return self.server.kubeconfig(self.admin)


def _shipped_job() -> dict[str, Any]:
    """The spec of the Jobs that the example's CronJob `keep` makes."""
    documents = yaml.safe_load_all((EXAMPLES / "cron.yml").read_text(encoding="utf-8"))
    keep = next(each for each in documents if each["metadata"]["name"] == "keep")
    found: dict[str, Any] = keep["spec"]["jobTemplate"]["spec"]
    return found


# -- the ends of a run -----------------------------------------------------------------------------------------------


def finished(trial: Trial) -> None:
    """The run deletes its pod, and takes its mark away."""
    case = trial.begin("finished")
    case.process.tell("finish")
    trial.until(lambda: "Complete" in trial.conditions(case), "the Job is not complete")
    trial.expect_given_back(case)


def finished_and_left(trial: Trial) -> None:
    """The run leaves its pod; Job and Pod stay as objects, so the collector is not the means."""
    case = trial.begin("left")
    case.process.tell("leave")
    trial.until(lambda: "Complete" in trial.conditions(case), "the Job is not complete")
    trial.expect_left(case)
    trial.take_over(case)


def finished_for_a_while(trial: Trial) -> None:
    """The same with a Job that is deleted after it has ended."""
    case = trial.begin("ttl", ttlSecondsAfterFinished=1)
    case.process.tell("leave")
    trial.expect_collected(case)
    trial.take_over(case)


def failed(trial: Trial) -> None:
    case = trial.begin("failed")
    case.process.tell("fail")
    trial.until(lambda: "Failed" in trial.conditions(case), "the Job has not failed")
    trial.take_over(case)


def killed(trial: Trial) -> None:
    """Its Pod stays as an object."""
    case = trial.begin("killed")
    trial.kill(case)
    trial.until(lambda: "Failed" in trial.conditions(case), "the Job has not failed")
    trial.expect_left(case)
    trial.take_over(case)


def killed_and_deleted(trial: Trial) -> None:
    case = trial.begin("killed-and-deleted")
    trial.kill(case)
    trial.delete(case)
    trial.expect_collected(case)
    trial.take_over(case)


def deleted(trial: Trial) -> None:
    """A person deletes the Job in mid-run: SIGTERM, and the run ends as after Ctrl-C."""
    case = trial.begin("deleted")
    trial.delete(case)
    trial.expect_given_back(case)


def deleted_and_stubborn(trial: Trial) -> None:
    """The run does not heed SIGTERM: it is killed."""
    case = trial.begin("stubborn", "stubborn")
    trial.delete(case)
    trial.expect_collected(case)
    trial.take_over(case)


def deleted_in_the_foreground(trial: Trial) -> None:
    """The Job does not wait for our pod. The collector takes it with the run's, which may still be ending."""
    case = trial.begin("foreground", "stubborn")
    trial.delete(case, "Foreground")
    trial.expect_collected(case)
    trial.take_over(case)


def out_of_time(trial: Trial) -> None:
    """activeDeadlineSeconds."""
    case = trial.begin("deadline")
    trial.patch(case, {"activeDeadlineSeconds": 1})
    trial.until(lambda: "Failed" in trial.conditions(case), "the Job has not failed")
    trial.until(case.process.has_ended, "the run goes on")
    trial.expect_given_back(case)


def drained(trial: Trial) -> None:
    """A person drains the Node that the run works on: kubectl takes its pod for one that is recreated."""
    case = trial.begin("drained")
    if trial.drain(case) or trial.own_pods(case):
        trial.tally.blocked.append(case.node)
    case.process.tell("again")
    trial.until(lambda: any(map(is_running, trial.own_pods(case))), "the run did not make another pod")
    case.process.tell("finish")
    trial.until(lambda: "Complete" in trial.conditions(case), "the Job is not complete")
    trial.expect_given_back(case)


def as_shipped(trial: Trial) -> None:
    """The example: the run's pods are in another namespace, without an owner, so the collector never is the means."""
    case = trial.begin_shipped("keep")
    if "declare no controller" in trial.drain(case):
        trial.tally.needs_force.append(case.node)
    trial.kill(case)
    trial.expect_left(case)
    trial.delete(case)
    assert any(map(is_running, trial.own_pods(case))), "somebody deleted its pod"
    trial.take_over(case)


@contextmanager
def _lost(trial: Trial) -> Iterator[None]:
    """The Node on which the run is goes away, and comes never back. What the pod controller makes of it takes it a
    minute, in which other things happen."""
    trial.make_node("linux2", "linux")
    case = trial.begin("lost", host="linux2")
    trial.kubelet.dead.add("linux2")
    trial.kill(case)
    if trial.ended(case) is not False:
        trial.tally.alive_taken_for_dead.append(case.job)  # nobody can tell yet
    trial.admin.ask("DELETE", "/api/v1/nodes/linux2")
    yield
    trial.expect_collected(case)
    trial.take_over(case)


CASES = (
    finished, finished_and_left, finished_for_a_while, failed, killed, killed_and_deleted, deleted,
    deleted_and_stubborn, deleted_in_the_foreground, out_of_time, drained, as_shipped,
)  # fmt: skip


# -- the judge -------------------------------------------------------------------------------------------------------


def judge(events: Sequence[dict[str, Any]], tally: Tally) -> dict[str, int]:
    """What the audit log says of controllers that deleted pods of ours: how many pods the collector took, and how many
    were deleted before their run's end, in mid-run or when the run's own pod was deleted already."""
    collected: set[str] = set()
    asked: dict[str, float] = {}
    early = {"deleted_in_mid_run": 0, "deleted_while_ending": 0}
    for event in events:
        who, name = event["user"]["username"], event["objectRef"].get("name", "")
        if event["responseStatus"]["code"] >= 300:
            continue
        at = datetime.fromisoformat(event["requestReceivedTimestamp"]).timestamp()
        asked.setdefault(name, at)
        if who == COLLECTOR:
            collected.add(name)
        if name in tally.made and who.startswith(ACCOUNTS):
            maker = tally.made[name]
            end = maker.process.ended_at
            if end is None or at < end:
                early["deleted_while_ending" if asked.get(maker.pod, at) < at else "deleted_in_mid_run"] += 1
    found = {"collected": len(collected & set(tally.made)), "strange_ones_collected": len(collected & tally.strange)}
    return found | early


def spend(folder: Path, log: Callable[[str], None], cases: Sequence[Callable[[Trial], None]] = CASES) -> dict[str, Any]:
    """All cases, then five minutes."""
    folder.mkdir(parents=True, exist_ok=True)
    program = (sys.executable, "-W", "ignore", "-m", "tests.reconcile.run_in_pod")
    with (
        api_server.running(folder, audit=AUDIT) as server,
        controller_manager.running(server, CONTROLLERS),
        Kubelet(server.admin, program) as kubelet,
    ):
        trial = Trial(server, kubelet, log)
        _prepare(trial)
        with _lost(trial):
            for case in cases:
                case(trial)
        kubelet.advance(SILENCE_S)
        left = _await_end(trial)
        tally = trial.tally
        return {
            "jobs": tally.jobs,
            "pods": len(tally.made),
            **judge(read_events(server.audit), tally),
            "not_collected": len(tally.not_collected),
            "pods_running_after_5_min": left,
            "drains_blocked": len(tally.blocked),
            "drains_that_need_force": len(tally.needs_force),
            "dead_taken_for_alive": len(tally.dead_taken_for_alive),
            "alive_taken_for_dead": len(tally.alive_taken_for_dead),
            "nodes_left_marked": len(tally.left_marked),
        }


def _prepare(trial: Trial) -> None:
    """Namespaces, rights and policies as shipped, and where the Jobs are."""
    labels = {"pod-security.kubernetes.io/enforce": "privileged"}
    documents = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE, "labels": labels}}]
    for name in SHIPPED:
        documents += yaml.safe_load_all((EXAMPLES / name).read_text(encoding="utf-8"))
    for document in documents:
        trial.make(document)
    accounts = [f"/api/v1/namespaces/{space}/serviceaccounts/default" for space in (SPACE, "winkube", "winkube-node")]
    trial.until(lambda: all(trial.admin.get(path).status == 200 for path in accounts), "no accounts in the namespaces")
    trial.make_node("linux1", "linux")


def _await_end(trial: Trial) -> int:
    """How many pods run whose run has ended."""

    def running() -> list[str]:
        return [path_of(each) for each in trial.kubelet.own_pods() if each["status"].get("phase") not in ENDED]

    try:
        api_server.until(lambda: not running(), "some run", 30)
    except AssertionError:
        trial.log(f"still running: {running()}")
    return len(running())
