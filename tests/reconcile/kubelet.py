"""A stand-in for the kubelets of all Nodes before a real API server: it starts the runs' pods as processes of this
machine, and sets statuses as a kubelet does. No container runs.

    a run's pod     a process, with the variables of its container; SIGTERM when the pod is deleted, SIGKILL after its
                    time of grace; Succeeded or Failed by its exit status
    any other pod   Running as soon as it is bound; gone when it is deleted
    our own pods    of these, the program that waits for signs of life is simulated: a run that lives gives them, and
                    after as much silence as stands in the pod's command the pod ends. The time may be put forward.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.host_process.pod import LABEL

from tests.lab.machine.pods import silence_s
from tests.real.api_server import Api

LOOK_S = 0.1
ENDED = frozenset({"Succeeded", "Failed"})
ARGUMENTS = "reconcile/arguments"
"""An annotation of a run's pod: what its process is started with, in words."""

Object = dict[str, Any]


def run_of(uid: str) -> str:
    """The id of the run in the pod of this uid: so its own pods, whose label it is, are known by it."""
    return uid.replace("-", "")[:16]


def path_of(pod: Object) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def is_running(pod: Object) -> bool:
    """As far as its status says."""
    return (pod.get("status") or {}).get("phase") == "Running"


@dataclass
class Process:
    """A run, which is told what to do in lines of its standard input."""

    running: subprocess.Popen[str]
    asked_at: float | None = None
    """When it was asked to end."""
    ended_at: float | None = None
    """The time of day."""

    def tell(self, word: str) -> None:
        assert self.running.stdin is not None
        self.running.stdin.write(f"{word}\n")
        self.running.stdin.flush()

    def has_ended(self) -> bool:
        if self.running.poll() is None:
            return False
        if self.ended_at is None:
            self.ended_at = time.time()
        return True


@dataclass
class Kubelet:
    """Of all Nodes. `program` is what a run's pod starts."""

    api: Api
    program: tuple[str, ...]
    runs: dict[str, Process] = field(default_factory=dict)
    """By the uid of the pod."""
    dead: set[str] = field(default_factory=set)
    """Nodes whose kubelet does nothing more."""
    trouble: list[str] = field(default_factory=list)
    _heard: dict[str, float] = field(default_factory=dict)
    """When each of our own pods got its last sign of life, by its uid."""
    _ahead_s: float = 0
    _end: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Kubelet:
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._end.set()
        if self._thread is not None:
            self._thread.join()
        for run in self.runs.values():
            run.running.kill()
            run.running.communicate()

    def advance(self, seconds: float) -> None:
        """What waits in pods waits so much less."""
        self._ahead_s += seconds

    def run_in(self, pod: Object) -> Process:
        return self.runs[pod["metadata"]["uid"]]

    def pods(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.api.get("/api/v1/pods").body["items"]
        return found

    def own_pods(self) -> list[dict[str, Any]]:
        """Those through which runs reach nodes."""
        return [pod for pod in self.pods() if LABEL in (pod["metadata"].get("labels") or {})]

    def _work(self) -> None:
        while not self._end.wait(LOOK_S):
            try:
                for pod in self.pods():
                    if pod["spec"].get("nodeName") and pod["spec"]["nodeName"] not in self.dead:
                        self._sync(pod)
            except OSError as error:
                self.trouble.append(str(error))

    def _now(self) -> float:
        return time.monotonic() + self._ahead_s

    def _sync(self, pod: Object) -> None:
        """One look at a pod."""
        metadata, phase = pod["metadata"], pod["status"].get("phase")
        is_run = ARGUMENTS in (metadata.get("annotations") or {})
        if is_run and metadata["uid"] not in self.runs and phase not in ENDED:
            self.runs[metadata["uid"]] = self._start(pod)
        if is_run and phase not in ENDED and self.run_in(pod).has_ended():
            code = self.run_in(pod).running.returncode
            self._write(
                pod, "Failed" if code else "Succeeded", {"terminated": {"exitCode": code if code >= 0 else 137}}
            )
        elif metadata.get("deletionTimestamp"):
            if not is_run or self._has_ended_as_asked(pod):
                self._remove(pod)
        elif phase == "Pending":
            self._write(pod, "Running", {"running": {"startedAt": metadata["creationTimestamp"]}})
        elif phase == "Running" and LABEL in (metadata.get("labels") or {}) and self._is_silent(pod):
            self._write(pod, "Succeeded", {"terminated": {"exitCode": 0, "reason": "Completed"}})

    def _start(self, pod: Object) -> Process:
        words = (*self.program, *pod["metadata"]["annotations"][ARGUMENTS].split())
        collections = os.environ.get("ANSIBLE_COLLECTIONS_PATH", "")  # of pytest, where nobody gives PYTHONPATH
        given = {"PYTHONPATH": collections, **os.environ, **variables(pod)}
        return Process(subprocess.Popen(words, stdin=subprocess.PIPE, env=given, text=True, start_new_session=True))

    def _has_ended_as_asked(self, pod: Object) -> bool:
        run = self.run_in(pod)
        if run.asked_at is None:
            run.asked_at = time.monotonic()
            run.running.terminate()
        if time.monotonic() - run.asked_at >= pod["metadata"]["deletionGracePeriodSeconds"]:
            run.running.kill()
        return run.has_ended()

    def _is_silent(self, pod: Object) -> bool:
        """Whether the program in the pod has waited long enough for a sign of life."""
        uid, run = pod["metadata"]["uid"], pod["metadata"]["labels"][LABEL]
        lives = any(run_of(owner) == run and not process.has_ended() for owner, process in self.runs.items())
        if lives or uid not in self._heard:
            self._heard[uid] = self._now()
        limit = silence_s(pod)
        return limit is not None and self._now() - self._heard[uid] >= limit

    def _write(self, pod: Object, phase: str, state: Object) -> None:
        containers = [
            {"name": each["name"], "image": each["image"], "imageID": "", "restartCount": 0, "state": state}
            | {"ready": phase == "Running"}
            for each in pod["spec"]["containers"]
        ]
        ready = {"type": "Ready", "status": "True" if phase == "Running" else "False"}
        status = {"phase": phase, "conditions": [ready], "containerStatuses": containers}
        said = self.api.strategic(
            f"{path_of(pod)}/status", {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
        )
        if said.status not in {200, 404, 409}:
            self.trouble.append(f"{path_of(pod)}: {said}")

    def _remove(self, pod: Object) -> None:
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
        with suppress(KeyError):
            options["preconditions"] = {"uid": pod["metadata"]["uid"]}
        self.api.ask("DELETE", path_of(pod), options)


def variables(pod: Object) -> dict[str, str]:
    """Of its first container, as far as they are values, fields of its metadata, or $(NAME) of the ones before."""
    found: dict[str, str] = {}
    for each in pod["spec"]["containers"][0].get("env") or ():
        if "valueFrom" in each:
            field_path = each["valueFrom"]["fieldRef"]["fieldPath"]
            found[each["name"]] = pod["metadata"][field_path.removeprefix("metadata.")]
        else:
            value = each["value"]
            for name, known in found.items():
                value = value.replace(f"$({name})", known)
            found[each["name"]] = value
    return found
