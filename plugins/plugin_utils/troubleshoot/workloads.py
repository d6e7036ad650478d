# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods that do not start, images that do not fit the node, port-forward, CPU figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from tomllib import TOMLDecodeError
from typing import Any

from ..components.containerd.containerd_toml import Document
from ..components.host import node_fit
from ..components.kubelet import kubelet_check
from ..cri.figures import MILLICORE
from ..cri.verdict import BUSY_MILLICORES
from ..facts import containerd as containerd_facts
from ..facts.kubernetes import PAUSE_IMAGES, NoPauseImageError, pause_image
from ..facts.version import Line, Version, VersionError
from ..facts.windows import images_of, release_of, runs_image
from ..lint.images import image_build
from .evidence import Evidence, Object, Stats, moment, named, pods_of
from .model import Answer, broken, cannot_tell, does_not_apply, known_limitation, ok

WAITING = frozenset({"ContainerCreating", "PodInitializing"})
"""What a young pod says as well."""
FAILING = frozenset(
    {"CrashLoopBackOff", "CreateContainerError", "CreateContainerConfigError", "RunContainerError"}
    | {"ImagePullBackOff", "ErrImagePull", "InvalidImageName"}
)
RESTARTS = 5
"""From so many restarts on a container that is not ready counts as one that restarts over and over."""

MISMATCH = ("does not match the host operating system", "0xc0370101")
"""HCS_E_IMAGE_MISMATCH. Source: microsoft/hcsshim internal/hcs/errors.go."""

PORT_FORWARD = Line(1, 15)
"""The first line with `kubectl port-forward` on Windows. Source: kubernetes.io, v1.22, Windows."""

NO_WINCAT = "unable to do port forwarding: wincat not found"
ISSUE = "https://github.com/containerd/containerd/issues/9531"


def sandbox_image(evidence: Evidence) -> str:
    """The pause image in containerd's configuration on the node; empty if that cannot be told."""
    return str(setting(evidence, lambda places: places.sandbox_image) or "")


def setting(evidence: Evidence, place: Callable[[containerd_facts.Places], containerd_facts.Place | None]) -> Any:
    """A setting of config.toml on the node, whichever version of it that is; None if it is not there."""
    try:
        text = evidence.first.text(evidence.layout.containerd_config)
        document = Document.parse(text or "")
    except (KeyError, TOMLDecodeError):
        return None
    for row in containerd_facts.RELEASE_LINES:
        for places in row.places.values():
            where = place(places)
            if where is not None and (found := document.get(where)):
                return found
    return None


def stuck(evidence: Evidence) -> Answer:
    """Pods in ContainerCreating or restarting; the pause image and the pods' own against the node's build."""
    build, image = evidence.build, sandbox_image(evidence)
    seen = [f"the node's Windows: {_windows(evidence)}", f"pause image: {image or 'not known'}"]
    wrong, remedies = _pause(evidence, image)
    if evidence.cluster is not None:
        for pod in pods_of(evidence.cluster):
            for text in _troubles(pod, evidence):
                seen.append(f"{named(pod)}: {text}")
                wrong.append(f"Pod {named(pod)}: {text}.")
                remedies += _advice(pod, build)
    if wrong:
        return broken(" ".join(wrong), " ".join(dict.fromkeys(remedies)), seen)
    if evidence.cluster is None:
        return cannot_tell(
            f"The pause image fits this Windows; whether pods are stuck is not known: {evidence.no_cluster}",
            "Name a kubeconfig in winkube_cluster.kubeconfig.",
            f"kubectl get pods -A --field-selector spec.nodeName={evidence.expected.node_name}",
            seen,
        )
    return ok("No pod of the node is stuck, and the pause image fits its Windows.", seen)


def _pause(evidence: Evidence, image: str) -> tuple[list[str], list[str]]:
    build, version = evidence.build, evidence.wanted.version
    if not image or not build:
        return [], []
    machine = node_fit.Machine.of(evidence.first.parts.get("system") or {})
    fit = node_fit.problems(machine, node_fit.Wanted(pause_image=image))
    wrong = [sentence for sentence in fit.refusals if sentence.startswith("The pause image")]
    if not wrong:
        return [], []
    needed = ""
    if version is not None:
        try:
            needed = pause_image(version.line, evidence.wanted.pause_image_source, build)
        except NoPauseImageError as error:
            needed = str(error)
    advice = f"Needed is {needed}: leave winkube_pause_image empty, or set it to that, and run site.yml."
    return wrong, [advice if needed else "Set winkube_pause_image to one with a manifest for this build."]


def _troubles(pod: Object, evidence: Evidence) -> Iterator[str]:
    """Why a pod counts as stuck, one piece for each of its containers."""
    status = pod.get("status") or {}
    since = moment(status.get("startTime") or (pod.get("metadata") or {}).get("creationTimestamp"))
    old = since is not None and evidence.now - since > timedelta(seconds=evidence.wanted.pod_wait_s)
    containers = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    reason_of_sandbox = _warning(pod, evidence)
    for container in containers:
        waiting = (container.get("state") or {}).get("waiting") or {}
        reason = str(waiting.get("reason") or "")
        restarts = int(container.get("restartCount") or 0)
        if reason in FAILING or (reason in WAITING and old):
            said = str(waiting.get("message") or reason_of_sandbox or "").strip().rstrip(".")
            yield f"container {container.get('name')} is in {reason}{f' ({said})' if said else ''}"
        elif restarts >= RESTARTS and not container.get("ready"):
            yield f"container {container.get('name')} was restarted {restarts} times and is not ready"
    if not containers and status.get("phase") == "Pending" and old:
        said = f" ({reason_of_sandbox})" if reason_of_sandbox else ""
        yield f"Pending since {status.get('startTime') or 'it was made'}{said}"


def _warning(pod: Object, evidence: Evidence) -> str:
    """The last warning about a pod."""
    uid = (pod.get("metadata") or {}).get("uid")
    events = evidence.cluster.events if evidence.cluster else ()
    about = [one for one in events if (one.get("involvedObject") or {}).get("uid") == uid]
    return str(about[-1].get("message") or "").strip().rstrip(".") if about else ""


def _advice(pod: Object, build: int | None) -> Iterator[str]:
    """Images for another Windows than the node's have to be adjusted."""
    spec = pod.get("spec") or {}
    own = False
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        image = str(container.get("image") or "")
        made_for = image_build(image)
        if made_for and build and not runs_image(build, made_for):
            own = True
            yield (
                f"{image} is made for {_release(made_for)} (build {made_for}), the node is {_release(build)} and runs "
                f"images of {images_of(build)}: take such an image, as instructions for one Windows have to be "
                "adjusted to another."
            )
    if not own:
        metadata = pod.get("metadata") or {}
        yield f"kubectl describe pod -n {metadata.get('namespace')} {metadata.get('name')} says more."


def port_forward(evidence: Evidence) -> Answer:
    """Kubernetes from 1.15 on, and a pause image with wincat."""
    if not evidence.expected.kubernetes:
        return does_not_apply("the node runs no Kubernetes.")
    version, image = evidence.wanted.version, sandbox_image(evidence)
    seen = [f"Kubernetes: {version or 'not known'}", f"pause image: {image or 'not known'}"]
    if version is not None and version.line < PORT_FORWARD:
        return broken(
            f"Kubernetes {version.line} cannot forward ports to Windows pods.",
            f"Upgrade to {PORT_FORWARD} or later.",
            seen,
        )
    if not image:
        return cannot_tell(
            f"{evidence.layout.containerd_config} names no pause image.",
            "A pause image of your own has to have wincat.exe in it.",
            f"findstr sandbox {evidence.layout.containerd_config}",
            seen,
        )
    if sentence := kubelet_check.pause_image_warning(image):
        return broken(
            f"{sentence[0].upper()}{sentence[1:]} kubectl then says '{NO_WINCAT}'.",
            "Leave winkube_pause_image empty, or take a newer one, and run site.yml. An image of your own has to have "
            "wincat.exe in it.",
            seen,
        )
    tag = image.rpartition("/")[2].partition(":")[2]
    if not any(tag == known or tag.startswith(f"{known}-") for known in _known_tags()):
        return cannot_tell(
            f"The pause image {image} is none of the published ones; whether it has wincat.exe is not known.",
            "Put wincat.exe into it, or take the published image.",
            "crictl.exe exec <a pod's sandbox> wincat.exe",
            seen,
        )
    return ok("This Kubernetes and this pause image can forward ports.", seen)


def _known_tags() -> Iterator[str]:
    yield "1.4.1"
    yield from (image.tag for image in PAUSE_IMAGES)


def cpu_zero(evidence: Evidence) -> Answer:
    """UsageNanoCores of 0 for something busy."""
    if not evidence.expected.kubernetes:
        return does_not_apply("the node runs no Kubernetes.")
    stats = evidence.stats
    seen = [f"containerd: {stats.containerd or 'not known'}", *(str(one.get("text")) for one in stats.verdicts)]
    command = (
        "ansible localhost -m winkube.node.k8s_windows_cri_info -a "
        f"""'{{"gather": ["stats"], "node_name": "{evidence.expected.node_name}", "stats": {{"samples": 10}}}}' """
        "(with cluster and, if you can, address)"
    )
    wrong = [one for one in stats.verdicts if one.get("faulty")]
    if wrong:
        issues = {str((one.get("defect") or {}).get("issue") or "") for one in wrong} - {""} or {ISSUE}
        return broken(
            " ".join(str(one.get("text")) for one in wrong),
            f"See {' and '.join(sorted(issues))}; docs/cpu-stats.md says which containerd has which defect. "
            f"{command} tells "
            "who is at fault.",
            seen,
        )
    if _is_17(stats.containerd):
        return known_limitation(
            f"containerd {stats.containerd} on Windows may report a CPU usage of 0 for a busy container whenever two "
            f"callers ask it; none was seen here. {ISSUE}",
            "Take containerd 2.3 or later, where the value is left out instead. docs/cpu-stats.md.",
            seen,
        )
    if not stats.verdicts:
        return cannot_tell(
            f"No CPU figures were read: {stats.why or 'nobody was asked'}", "See docs/cpu-stats.md.", command, seen
        )
    return ok("No busy container reports a CPU usage of 0.", seen)


def judged(report: Mapping[str, Any]) -> Stats:
    """From a report of plugin_utils/cri: each verdict, and whether it is about a wrong value. `cannot_tell` alone may
    mean a zero of something idle."""
    wrong = {_subject(row) for row in report["series"] if row["underflows"] or (row["zeros"] and _was_busy(row))}
    verdicts = tuple({**one, "faulty": _subject(one) in wrong} for one in report["verdicts"])
    return Stats(str(report["containerd_version"]), verdicts, "" if verdicts else "no pod of the node reports any.")


def _was_busy(row: Mapping[str, Any]) -> bool:
    known = row["own_nano_cores"] if row["own_nano_cores"] is not None else row["alternating"] and row["maximum"]
    return bool(known and known >= BUSY_MILLICORES * MILLICORE)


def _subject(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(row["namespace"]), str(row["pod"]), str(row["container"])


def _is_17(containerd: str) -> bool:
    try:
        return Version.parse(containerd).line == Line(1, 7)
    except VersionError:
        return False


def _windows(evidence: Evidence) -> str:
    return node_fit.Machine.of(evidence.first.parts.get("system") or {}).name


def _release(build: int) -> str:
    release = release_of(build)
    return release.name if release else f"Windows of build {build}"
