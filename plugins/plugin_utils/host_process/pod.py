# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pod through which a node is reached, and the meaning of its status.

It runs on the host with the host's network, files and rights, and does nothing: exec starts programs in it. HostProcess
containers: Kubernetes 1.22 (alpha), 1.23 (beta, on by default), containerd 1.6. Source: kubernetes website,
content/en/docs/tasks/configure-pod-container/create-hostprocess-pod.md.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ..cluster.answer import Object
from ..cluster.error import FORBIDDEN, ClusterError
from ..cluster.own_pod import OwnPod
from ..cluster.pods import has_ended
from ..engine import tools
from ..engine.clock import as_timestamp

LABEL = "winkube.node/host-process"
"""Its value is the id of the run that made the pod."""
OWNER, UNTIL = "winkube.node/owner", "winkube.node/until"
"""Annotations: who runs Ansible, and when the pod becomes a leftover by the API server's clock, of any run."""
CONTAINER = "host"
POWERSHELL = tools.POWERSHELL + "\\powershell.exe"
"""The host's: C: is the host's drive in a HostProcess container, with bind mounts (containerd 1.7) or without (1.6)."""
PATH = ";".join(tools.WINDOWS_PATH)
"""The base image leaves it empty. Source: microsoft/windows-host-process-containers-base-image, README."""
SYSTEM = "NT AUTHORITY\\SYSTEM"
BASE_IMAGE = "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image:v1.0.0"
"""A few KB, without Windows in it, for every build.
Source: microsoft/windows-host-process-containers-base-image, README."""
_ALIVE = "[IO.Path]::Combine([Environment]::GetEnvironmentVariable('CONTAINER_SANDBOX_MOUNT_POINT'), 'winkube-alive')"
"""A file in the container's own volume, which goes with it. The variable is set in every process of a HostProcess
container; written as `$env:`, hcsshim would put the folder there unquoted.
Source: hcsshim internal/jobcontainers/jobcontainer.go, CreateProcess, replaceWithMountPoint."""
SILENCE_S = 300
"""After how many seconds without a sign of life of its run a pod ends by itself."""
RENEWING = f"[IO.File]::WriteAllText({_ALIVE}, [string][DateTime]::UtcNow.Ticks)"
"""The sign of life."""


def waiting(silence_s: int) -> str:
    """What the pod does: it waits for signs of life, and ends without them. Only a change of the file's time counts: a
    clock that jumps ends nothing. A file that cannot be read counts as unchanged."""
    return (
        f"$file = {_ALIVE}; $seen = [IO.File]::GetLastWriteTimeUtc($file); "
        "$silent = [Diagnostics.Stopwatch]::StartNew(); "
        f"while ($silent.Elapsed.TotalSeconds -lt {silence_s}) {{ Start-Sleep -Seconds 1; "
        "$now = [IO.File]::GetLastWriteTimeUtc($file); "
        "if ($now -ne $seen) { $seen = $now; $silent.Restart() } }"
    )


@dataclass(frozen=True, slots=True)
class Wanted:
    """One pod. `run` identifies the run of Ansible, `owner` is for people, `lives_s` its activeDeadlineSeconds;
    `own_pod` is the pod in which the run itself is."""

    node: str
    namespace: str
    image: str
    run: str
    owner: str
    lives_s: int
    pull_secret: str = ""
    own_pod: OwnPod | None = None

    @property
    def name(self) -> str:
        """The same for all tasks of a run; differs for each node and run."""
        digest = hashlib.sha256(f"{self.run} {self.node}".encode()).hexdigest()[:10]
        readable = re.sub(r"[^a-z0-9-]+", "-", self.node.lower())[:40].strip("-")
        return f"winkube-{readable}-{digest}"

    @property
    def collection(self) -> str:
        """The path of the namespace's pods."""
        return f"/api/v1/namespaces/{self.namespace}/pods"

    @property
    def path(self) -> str:
        """The pod's path."""
        return f"{self.collection}/{self.name}"


def body(wanted: Wanted, now: datetime) -> Object:
    """The pod. It has no secrets, and no token of a service account. `now` is the API server's clock.

    It names its node and tolerates every taint: so it needs no scheduler, and neither a cordon nor a node that is not
    ready keeps it off or evicts it. It ends by itself and does not start again: after a restart of the machine a run
    makes another. The garbage collector deletes it after a pod of its own namespace in which the run was; an owner in
    another namespace counts as missing, so that it would delete the pod in mid-run. Source: kubernetes
    pkg/controller/garbagecollector/garbagecollector.go, isDangling.
    """
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": wanted.name,
            "namespace": wanted.namespace,
            "labels": {LABEL: wanted.run, "app.kubernetes.io/managed-by": "winkube.node"},
            "annotations": {
                OWNER: wanted.owner,
                UNTIL: as_timestamp(now + timedelta(seconds=wanted.lives_s)),
            },
            **_owner(wanted),
        },
        "spec": {
            "nodeName": wanted.node,
            "os": {"name": "windows"},
            "hostNetwork": True,
            "restartPolicy": "Never",
            "activeDeadlineSeconds": wanted.lives_s,
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "tolerations": [{"operator": "Exists"}],
            "securityContext": {"windowsOptions": {"hostProcess": True, "runAsUserName": SYSTEM}},
            **({"imagePullSecrets": [{"name": wanted.pull_secret}]} if wanted.pull_secret else {}),
            "containers": [
                {
                    "name": CONTAINER,
                    "image": wanted.image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": [POWERSHELL, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", waiting(SILENCE_S)],
                    "env": [{"name": "PATH", "value": PATH}],
                    "resources": {"requests": {"cpu": "10m", "memory": "100Mi"}},
                }
            ],
        },
    }


def _owner(wanted: Wanted) -> Object:
    """`controller`: a drain by kubectl takes the pod for one that is recreated, and is not stopped by it."""
    own = wanted.own_pod
    if own is None or own.namespace != wanted.namespace:
        return {}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": own.name, "uid": own.uid, "controller": True}
    return {"ownerReferences": [owner]}


def is_ours(pod: Mapping[str, Any], namespace: str) -> bool:
    """Whether a run of this collection made the pod, this run or another: our label, the connection's namespace, and
    HostProcess."""
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    options = (spec.get("securityContext") or {}).get("windowsOptions") or {}
    is_labelled = bool((metadata.get("labels") or {}).get(LABEL))
    return is_labelled and metadata.get("namespace") == namespace and options.get("hostProcess") is True


def is_over(pod: Mapping[str, Any], now: datetime) -> bool:
    """Whether our pod is a leftover: its time is up by `now`, the API server's clock, or it has ended and will not
    start again."""
    metadata = pod.get("metadata") or {}
    until = str((metadata.get("annotations") or {}).get(UNTIL) or "")
    return not metadata.get("deletionTimestamp") and (has_ended(pod) or until <= as_timestamp(now))


@dataclass(frozen=True, slots=True)
class State:
    """A pod's state. `ready`: it can run programs. `over`: it never will (again). `waits`: what it waits for, as a
    clause."""

    ready: bool = False
    over: bool = False
    waits: str = ""


def state(pod: Mapping[str, Any]) -> State:
    """The meaning of the pod's status.

    Sources: kubernetes pkg/kubelet/images/types.go and pkg/kubelet/kuberuntime (reasons of waiting),
    pkg/kubelet/lifecycle/predicate.go (a kubelet that does not admit a pod).
    """
    status = pod.get("status") or {}
    said = str(status.get("message") or "").strip().rstrip(".")
    reason = str(status.get("reason") or "")
    if (pod.get("metadata") or {}).get("deletionTimestamp"):
        return State(over=True, waits="it is being deleted")
    if has_ended(pod):
        why = ": ".join(part for part in (reason or str(status["phase"]), said) if part)
        return State(over=True, waits=f"the kubelet ended it ({why})")
    container: Mapping[str, Any] = next(iter(status.get("containerStatuses") or ()), {})
    if (container.get("state") or {}).get("running"):
        return State(ready=True)
    for past in ("waiting", "terminated"):
        found = (container.get("state") or {}).get(past) or {}
        if found:
            return State(waits=_container(str(found.get("reason") or past), str(found.get("message") or "")))
    unfit = [item for item in status.get("conditions") or () if item.get("status") == "False" and item.get("message")]
    if unfit:
        return State(waits=f"{unfit[0].get('reason') or unfit[0]['type']}: {str(unfit[0]['message']).rstrip('.')}")
    return State(waits="its kubelet has not taken it up")


def _container(reason: str, message: str) -> str:
    said = f"{reason}: {message.strip().rstrip('.')}" if message.strip() else reason
    if reason in {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"}:
        return f"{said}. The option image (winkube_host_process_image) takes any image that the node has or can pull"
    if reason in {"CreateContainerError", "CreateContainerConfigError", "RunContainerError", "CrashLoopBackOff"}:
        return f"{said}. HostProcess containers need containerd 1.6 or newer"
    return said


def refusal(error: ClusterError, wanted: Wanted) -> str:
    """Why the cluster refused the pod, with the remedy if one is known."""
    text = str(error)
    if "PodSecurity" in text or "hostProcess" in text:
        return (
            f"{text} A HostProcess pod needs the level privileged: kubectl label namespace {wanted.namespace} "
            "pod-security.kubernetes.io/enforce=privileged, or name another namespace "
            "(winkube_host_process_namespace)."
        )
    if "exceeded quota" in text:
        return f"{text} It asks for 10m of CPU and 100Mi; name another namespace (winkube_host_process_namespace)."
    if error.status == FORBIDDEN:
        return f"{text} docs/host_process.md has the rights that it needs."
    return text
