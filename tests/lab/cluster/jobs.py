"""Jobs: a pod for each, its end, and what its program has printed.

A Job of one pod that is not tried again, which is what the lab has use for. A quota or an admission rule that refuses
the pod is an event of the Job. A pod that is deleted takes its log with it.
Source: kubernetes pkg/controller/job/job_controller.go (FailedCreate, BackoffLimitExceeded; the label `job-name`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.store import Object, Store
from tests.lab.machine.clock import Clock

JOB, POD, EVENT = BY_NAME["Job"], BY_NAME["Pod"], BY_NAME["Event"]


@dataclass(frozen=True)
class Ran:
    """What a pod's program does: it prints `log` as it goes and ends after `seconds`. `reason`, `message`: of a pod
    that somebody else ends (Evicted, DeadlineExceeded)."""

    log: str
    seconds: float = 60.0
    code: int = 0
    reason: str = ""
    message: str = ""


class Jobs:
    """program: what the pod of a Job runs. refusal: why its pod may not be made, as the API server says it."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock = store, clock
        self.program: Callable[[Object], Ran] = lambda pod: Ran("simulated\n")
        self.refusal = ""
        self._started: dict[str, float] = {}

    def work(self) -> None:
        """What differs from what is wanted."""
        for job in self.store.list(JOB):
            namespace, name = str(job["metadata"]["namespace"]), str(job["metadata"]["name"])
            if job["metadata"].get("deletionTimestamp") or (job.get("status") or {}).get("conditions"):
                continue
            pods = [pod for pod in self.store.list(POD, namespace) if _of(pod) == job["metadata"]["uid"]]
            if not pods and not (job.get("status") or {}).get("active"):
                self._make(job, namespace, name)
            for pod in pods:
                self._follow(job, pod)

    def log(self, pod: Object) -> bytes:
        """What the program has printed so far: in equal parts of its time."""
        ran = self.program(pod)
        started = self._started.get(str(pod["metadata"]["uid"]))
        if started is None:
            return b""
        share = min((self.clock.now() - started) / ran.seconds, 1.0) if ran.seconds else 1.0
        return ran.log[: int(len(ran.log) * share)].encode()

    def _make(self, job: Object, namespace: str, name: str) -> None:
        if self.refusal:
            self._refused(job, namespace, name)
            return
        labels = {"job-name": name, "batch.kubernetes.io/job-name": name}
        template = job["spec"]["template"]
        owner = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": name,
            "uid": job["metadata"]["uid"],
            "controller": True,
        }
        body: Object = {
            "metadata": {
                "generateName": f"{name}-",
                "labels": {**((template.get("metadata") or {}).get("labels") or {}), **labels},
                "ownerReferences": [owner],
            },
            "spec": template["spec"],
            "status": {"phase": "Pending"},
        }
        self.store.create(POD, namespace, body)
        self._status(job, {"active": 1})

    def _refused(self, job: Object, namespace: str, name: str) -> None:
        said = f'Error creating: pods "{name}-" is forbidden: {self.refusal}'
        if not any(item.get("message") == said for item in self.store.list(EVENT, namespace)):
            about = {"kind": "Job", "namespace": namespace, "name": name, "uid": job["metadata"]["uid"]}
            event = {"reason": "FailedCreate", "type": "Warning", "message": said, "involvedObject": about}
            self.store.create(EVENT, namespace, {"metadata": {"generateName": f"{name}."}, **event})

    def _follow(self, job: Object, pod: Object) -> None:
        status, uid = pod.get("status") or {}, str(pod["metadata"]["uid"])
        if status.get("phase") == "Running" and uid not in self._started:
            self._started[uid] = self.clock.now()
            names = str(pod["metadata"]["namespace"]), str(pod["metadata"]["name"])
            self.clock.call_later(self.program(pod).seconds, lambda: self._end(*names))
        if status.get("phase") in {"Succeeded", "Failed"}:
            kind = "Complete" if status["phase"] == "Succeeded" else "Failed"
            self._status(job, {"conditions": [{"type": kind, "status": "True"}]})

    def _end(self, namespace: str, name: str) -> None:
        pod = self.store.find(POD, namespace, name)
        if pod is None or pod["metadata"].get("deletionTimestamp"):
            return
        ran = self.program(pod)
        terminated = {"exitCode": ran.code, "reason": "Error" if ran.code else "Completed"}
        containers = [
            {"name": item["name"], "ready": False, "restartCount": 0, "state": {"terminated": terminated}}
            for item in pod["spec"]["containers"]
        ]
        status: Object = {"phase": "Failed" if ran.code or ran.reason else "Succeeded", "containerStatuses": containers}
        if ran.reason:
            status = {"phase": "Failed", "reason": ran.reason, "message": ran.message}
        self.store.replace(POD, namespace, name, {**pod, "status": status})

    def _status(self, job: Object, status: Object) -> None:
        names = str(job["metadata"]["namespace"]), str(job["metadata"]["name"])
        self.store.replace(JOB, *names, {**job, "status": {**(job.get("status") or {}), **status}})


def _of(pod: Object) -> str:
    """The uid of the Job that made it; empty for other pods."""
    owners = pod["metadata"].get("ownerReferences") or []
    return next((str(item["uid"]) for item in owners if item.get("kind") == "Job"), "")
