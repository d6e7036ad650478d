# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SIG-Windows' operational readiness tests as a Job in the cluster: make it, wait, read its log, delete it.

e2e.test makes and deletes namespaces, roles, webhooks and nodes' labels, so its account is cluster-admin for that time,
as Sonobuoy's is. Without a kubeconfig it uses its pod's account. Sources: kubernetes-sigs/windows-operational-readiness
17e9dbf Dockerfile, sonobuoy-plugin.yaml, cmd/root.go; kubernetes v1.31 test/e2e/framework/test_context.go
(InClusterConfig).
"""

from __future__ import annotations

import shlex
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..cluster import run_namespace
from ..cluster.answer import Object
from ..cluster.client import Cluster, wait_for
from ..cluster.error import ClusterError
from ..cluster.pods import has_ended
from ..engine.clock import Clock
from ..engine.local_path import expand_home
from ..engine.waiting import Wait
from ..facts.node_labels import OS_LABEL
from . import interrupted
from . import readiness_results as found
from .outcome import Context, Outcome

LABEL = "winkube.node/readiness"
NAME = "op-readiness"
ACCOUNTS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
_PULLING = {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}
_FOLDER = "/tmp/results"
_LINES = 200_000
"""Lines from the end of the log, which has the results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessOptions:
    """The suite's options, which k8s_windows_conformance documents. No `categories` are all of the list's; times are
    seconds."""

    image: str
    categories: tuple[str, ...]
    provider: str
    timeout: float
    start_timeout: float
    report: str
    keep: bool


@dataclass(frozen=True, slots=True)
class Wish:
    """One run. `until`: when its namespace becomes a leftover."""

    how: ReadinessOptions
    namespace: str
    until: str
    run: str


def run(context: Context, how: ReadinessOptions) -> Outcome:
    """Run the suite; broken tests fail it. Refused, ClusterError, OSError if the report cannot be written."""
    cluster = context.cluster()
    now = cluster.now()
    wish = Wish(
        how,
        f"winkube-readiness-{uuid.uuid4().hex[:8]}",
        run_namespace.until(now, how.timeout + how.start_timeout),
        run_namespace.make_run_mark(),
    )
    what = f"run SIG-Windows' operational readiness tests ({', '.join(how.categories) or 'all'}), image {how.image}"
    if context.check_mode:
        return Outcome(True, (what,))
    swept = (*context.sweep(cluster, LABEL, now), *sweep_bindings(cluster))
    warning = warn_of_linux_nodes(cluster)
    if not how.keep:
        noted = {"test": "operational_readiness", "label": LABEL, "name": wish.namespace, "run": wish.run}
        interrupted.note(context.folder, noted, context.access, (f"{ACCOUNTS}/{wish.namespace}",))
    try:
        make(cluster, wish)
        results = found.results_of(*wait(cluster, wish, context.clock))
    finally:
        if not how.keep:
            take_away(cluster, wish)
            interrupted.forget(context.folder, wish.namespace)
    if how.report:
        write(results, expand_home(how.report))
    said = " ".join(part for part in (found.summary(results), warning) if part)
    wrong = bool(results.failures or results.problem or not results.tests)
    result = {**found.as_dict(results), "table": found.table(results), "warning": warning}
    return Outcome(True, (*swept, what), result, said if wrong or warning else "", wrong)


def make(cluster: Cluster, wish: Wish) -> None:
    """Make its namespace, its account with the rights that e2e.test needs, and the Job. ClusterError."""
    run_namespace.create(cluster, run_namespace.body(LABEL, wish.namespace, wish.until, wish.run))
    home = f"{run_namespace.PATH}/{wish.namespace}"
    cluster.create(f"{home}/serviceaccounts", {"metadata": {"name": NAME, "annotations": _mark(wish)}})
    cluster.create(ACCOUNTS, binding(wish))
    cluster.create(f"/apis/batch/v1/namespaces/{wish.namespace}/jobs", job(wish))


def take_away(cluster: Cluster, wish: Wish) -> None:
    """Delete everything, the binding first: without it the account has no rights. ClusterError."""
    cluster.delete(f"{ACCOUNTS}/{wish.namespace}")
    run_namespace.delete_own(cluster, LABEL, wish.namespace, wish.run)


def sweep_bindings(cluster: Cluster) -> tuple[str, ...]:
    """Delete bindings whose namespace is gone: a killed run leaves rights, though no account."""
    swept = []
    for item in cluster.items(f"{ACCOUNTS}?labelSelector={LABEL.replace('/', '%2F')}%3Dtrue"):
        name = str(item["metadata"]["name"])
        if cluster.get(f"{run_namespace.PATH}/{name}") is None:
            cluster.delete(f"{ACCOUNTS}/{name}", str(item["metadata"].get("uid") or ""))
            swept.append(f"delete the ClusterRoleBinding {name}, which an earlier run left")
    return tuple(swept)


def binding(wish: Wish) -> Object:
    """The binding that makes the run's account cluster-admin."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": wish.namespace, "labels": {LABEL: "true"}, "annotations": _mark(wish)},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": wish.namespace}],
    }


def job(wish: Wish) -> Object:
    """One pod, run once on a Linux node: e2e.test is a Linux program. The deadline is the pod's own, since a Job's
    would delete the pod with its log."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": NAME, "namespace": wish.namespace, "annotations": _mark(wish)},
        "spec": {
            "backoffLimit": 0,
            "template": {
                "metadata": {"labels": {LABEL: "true"}},
                "spec": {
                    "restartPolicy": "Never",
                    "activeDeadlineSeconds": int(wish.how.timeout + wish.how.start_timeout),
                    "serviceAccountName": NAME,
                    "nodeSelector": {OS_LABEL: "linux"},
                    "tolerations": [
                        {"key": f"node-role.kubernetes.io/{role}", "operator": "Exists", "effect": "NoSchedule"}
                        for role in ("control-plane", "master")
                    ],
                    "containers": [
                        {
                            "name": NAME,
                            "image": wish.how.image,
                            "command": ["/bin/sh", "-c", script(wish)],
                            "workingDir": "/app",
                        }
                    ],
                },
            },
        },
    }


def script(wish: Wish) -> str:
    """op-readiness, then its JUnit files as an archive at the end of the log, so that no exec is needed."""
    words = ["./op-readiness", "--e2e-binary", "./e2e.test", "--provider", wish.how.provider, "--report-dir", _FOLDER]
    for category in wish.how.categories:
        words += ["--category", category]
    return "\n".join(
        (
            f"mkdir -p {_FOLDER}",
            f"{shlex.join(words)} 2>&1",
            "code=$?",
            f"echo; echo '{found.BEGIN}'",
            f"tar -C {_FOLDER} -czf - . | base64",
            f"echo '{found.END}'",
            "exit $code",
        )
    )


def _mark(wish: Wish) -> dict[str, str]:
    """The labels of its run: a request whose answer was lost recognises its own object by them."""
    return {run_namespace.RUN: wish.run}


# -- waiting -----------------------------------------------------------------------------------------------------------


def wait(cluster: Cluster, wish: Wish, clock: Clock) -> tuple[str, str]:
    """The pod's log once it has ended or its time is up, and how it ended. ClusterError if it does not start, is
    evicted, or is deleted."""
    pods = f"{run_namespace.PATH}/{wish.namespace}/pods"
    last: dict[str, Any] = {"why": "the Job has made no pod", "pod": {}}
    started = False

    def state() -> Object | None:
        nonlocal started
        found_pods = cluster.items(f"{pods}?labelSelector=job-name%3D{NAME}")
        if not found_pods:
            if started:
                raise ClusterError(f"The pod of the operational readiness tests is gone from {wish.namespace}.", 410)
            last["why"] = _explain_missing_pod(cluster, wish) or last["why"]
            return None
        pod = found_pods[0]
        last.update(why=waits_for(pod), pod=pod)
        ended = has_ended(pod)
        started = started or ended or (pod.get("status") or {}).get("phase") == "Running"
        return pod if ended else None

    def has_begun() -> bool | None:
        return True if state() is not None or started else None

    try:
        wait = Wait("waiting for the operational readiness tests to start", clock)
        wait_for(wait, wish.how.start_timeout, has_begun, interval_s=5.0)
    except ClusterError as error:
        if error.status:
            raise
        raise ClusterError(
            f"The operational readiness tests did not start within {wish.how.start_timeout:g} s: {last['why']}."
        ) from error
    try:
        wait = Wait("waiting for the operational readiness tests to end", clock)
        pod = wait_for(wait, wish.how.timeout, state, interval_s=10.0)
    except ClusterError as error:
        if error.status:
            raise
        pod, ended = last["pod"], f"it did not end within {wish.how.timeout:g} s"
    else:
        ended = _describe_end(pod)
    if pod["status"].get("reason") == "Evicted":
        raise ClusterError(f"The pod of the operational readiness tests was evicted: {ended}.")
    try:
        return cluster.text(f"{pods}/{pod['metadata']['name']}/log?container={NAME}&tailLines={_LINES}"), ended
    except ClusterError as error:
        raise ClusterError(
            f"The results of the operational readiness tests are in the log of their pod, which cannot be had: {error} "
            f"Of the pod: {ended}. With keep (winkube_readiness_keep) it stays to be looked at.",
            error.status,
        ) from error


def _describe_end(pod: Mapping[str, Any]) -> str:
    """How a pod ended, as a clause."""
    status = pod["status"]
    for one in status.get("containerStatuses") or ():
        terminated = (one.get("state") or {}).get("terminated") or {}
        if terminated:
            said = str(terminated.get("message") or terminated.get("reason") or "").rstrip(".")
            return f"it ended with exit code {terminated.get('exitCode')}{f' ({said})' if said else ''}"
    said = str(status.get("message") or status.get("reason") or status.get("phase")).rstrip(".")
    return f"its pod says {said}"


def waits_for(pod: Mapping[str, Any]) -> str:
    """Why a pod does not run yet."""
    status = pod.get("status") or {}
    for one in status.get("containerStatuses") or ():
        waiting = (one.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in _PULLING:
            said = str(waiting.get("message") or waiting["reason"]).rstrip(".")
            return (
                f"its image cannot be pulled: {said}; name one of your own registry with "
                "winkube_readiness_image (docs/smoke.md tells how it is built)"
            )
        if waiting.get("message"):
            return str(waiting["message"]).rstrip(".")
    for condition in status.get("conditions") or ():
        if condition.get("reason") == "Unschedulable":
            return f"no Linux node takes it: {str(condition.get('message') or '').rstrip('.')}"
    return f"its pod is {status.get('phase') or 'not there yet'}"


def _explain_missing_pod(cluster: Cluster, wish: Wish) -> str:
    """What keeps the Job from making its pod: a quota or an admission rule, according to its events."""
    path = f"{run_namespace.PATH}/{wish.namespace}/events?fieldSelector=involvedObject.kind%3DJob"
    said = [str(item.get("message") or "") for item in cluster.items(path) if item.get("reason") == "FailedCreate"]
    return f"its pod is refused: {said[-1].rstrip('.')}" if said else ""


def warn_of_linux_nodes(cluster: Cluster) -> str:
    """A sentence if tests may have run on Linux nodes: pods that select no operating system run wherever the
    scheduler puts them, and upstream requires a webhook that puts them on Windows nodes."""
    webhooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    try:
        if cluster.items(webhooks):
            return ""
    except ClusterError as error:
        if error.status != 403:
            raise
        return ""
    linux = [node for node in cluster.nodes() if _takes_any_pod(node)]
    if not linux:
        return ""
    return (
        f"{len(linux)} Linux nodes take pods that select no operating system, and no webhook puts those of the tests "
        "on Windows nodes: tests that do not ask for Windows themselves may have run on Linux."
    )


def _takes_any_pod(node: Mapping[str, Any]) -> bool:
    labels = (node.get("metadata") or {}).get("labels") or {}
    spec = node.get("spec") or {}
    hard = [taint for taint in spec.get("taints") or () if taint.get("effect") in {"NoSchedule", "NoExecute"}]
    return labels.get(OS_LABEL) == "linux" and not hard and not spec.get("unschedulable")


def write(results: found.Results, folder: Path) -> Sequence[Path]:
    """Write the reports, and the suite's own JUnit files beside them. OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "operational_readiness.txt": found.table(results).encode(),
        "operational_readiness.json": found.as_json(results).encode(),
        "operational_readiness.xml": found.as_junit(results).encode(),
    }
    paths = []
    for name, data in {**texts, **(results.files or {})}.items():
        paths.append(folder / name)
        paths[-1].write_bytes(data)
    return paths
