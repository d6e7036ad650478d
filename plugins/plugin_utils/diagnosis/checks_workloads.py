# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of pods that do not start, images that do not fit the node, port-forward, CPU figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from ..cluster.objects import full_name
from ..components.host import node_fit
from ..components.host.options import HostOptions
from ..components.kubelet import kubelet_check
from ..cri.figures import MILLICORE
from ..cri.verdict import BUSY_MILLICORES
from ..facts import containerd as containerd_facts
from ..facts.kubernetes import PAUSE_IMAGES, NoPauseImageError, pause_image
from ..facts.version import Line, Version, VersionError
from ..facts.windows import describe_images, find_release, runs_image
from ..lint.images import image_build
from ..words.cause import ERROR, NOTE, Area, Cause
from ..words.causes import CAUSES
from ..words.finding import Seen
from ..words.remedies import advice, converge
from .check import Check, Needs
from .cluster_view import Object
from .scene import Scene, containerd_setting
from .tried import Stats, Tried, moment, pods_of

WAITING = frozenset({"ContainerCreating", "PodInitializing"})
"""What a young pod says as well."""
FAILING = frozenset(
    {"CrashLoopBackOff", "CreateContainerError", "CreateContainerConfigError", "RunContainerError"}
    | {"ImagePullBackOff", "ErrImagePull", "InvalidImageName"}
)
RESTARTS = 5
"""From so many restarts on a container that is not ready counts as one that restarts over and over."""

PORT_FORWARD = Line(1, 15)
"""The first line with `kubectl port-forward` on Windows. Source: kubernetes.io, v1.22, Windows."""

NO_WINCAT = "unable to do port forwarding: wincat not found"
ISSUE = "https://github.com/containerd/containerd/issues/9531"


def sandbox_image(scene: Scene) -> str:
    """The pause image in containerd's configuration on the node; empty if that cannot be told."""
    return str(setting(scene, lambda places: places.sandbox_image) or "")


def setting(scene: Scene, place: Callable[[containerd_facts.Places], containerd_facts.Place | None]) -> Any:
    """A setting of config.toml on the node, whichever version of it that is; None if it is not there."""
    return containerd_setting(scene.first, scene.layout, place)


def _pause(scene: Scene) -> Iterator[Seen]:
    """The pause image against the node's build."""
    image, build, tried = sandbox_image(scene), scene.first.build, scene.tried
    if not image or not build or tried is None:
        return
    machine = node_fit.Machine.of(scene.first)
    wrong = list(node_fit.pause_refusals(machine, HostOptions(pause_image=image), []))
    if not wrong:
        return
    needed, version = "", tried.version
    if version is not None:
        try:
            needed = pause_image(version.line, tried.expected.kubelet.pause_image_source, build)
        except NoPauseImageError as error:
            needed = str(error)
    wanted = needed or "an image with a manifest for this build"
    remedy = converge(
        "containerd",
        text=f"Set sandbox_image (pinned_images.sandbox) of config.toml to {wanted}.",
        variables=("winkube_pause_image",),
    )
    yield Seen("pause image", wrong[0].rstrip("."), f"one for {machine.name}", remedy)


def _stuck(scene: Scene) -> Iterator[Seen]:
    """Pods in ContainerCreating or restarting; their images against the node's build."""
    tried = scene.tried
    for pod in pods_of(tried.objects) if tried else ():
        troubles = list(_troubles(pod, tried)) if tried else []
        if troubles:
            remedy = advice(" ".join(dict.fromkeys(_advice(pod, scene.first.build))))
            yield Seen(f"pod {full_name(pod)}", "; ".join(troubles), remedy=remedy)


def _troubles(pod: Object, tried: Tried) -> Iterator[str]:
    """Why a pod counts as stuck, one piece for each of its containers."""
    status = pod.get("status") or {}
    since = moment(status.get("startTime") or (pod.get("metadata") or {}).get("creationTimestamp"))
    old = since is not None and tried.now - since > timedelta(seconds=tried.how.pod_wait)
    containers = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    reason_of_sandbox = _warning(pod, tried)
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


def _warning(pod: Object, tried: Tried) -> str:
    """The last warning about a pod."""
    uid = (pod.get("metadata") or {}).get("uid")
    events = tried.objects.events if tried.objects else ()
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
                f"images of {describe_images(build)}: take such an image, as instructions for one Windows have to be "
                "adjusted to another."
            )
    if not own:
        metadata = pod.get("metadata") or {}
        yield f"kubectl describe pod -n {metadata.get('namespace')} {metadata.get('name')} says more."


def _release(build: int) -> str:
    release = find_release(build)
    return release.name if release else f"Windows of build {build}"


def _port_forward(scene: Scene) -> Iterator[Seen]:
    """Kubernetes from 1.15 on, and a pause image with wincat."""
    version, image = (scene.tried.version if scene.tried else None), sandbox_image(scene)
    if version is not None and version.line < PORT_FORWARD:
        yield Seen(
            "kubectl port-forward",
            f"Kubernetes {version.line} cannot forward ports to Windows pods",
            f"{PORT_FORWARD} or later",
            advice(f"Upgrade to {PORT_FORWARD} or later."),
        )
    elif image and (sentence := kubelet_check.pause_image_warning(image)):
        yield Seen("pause image", f"{sentence.rstrip('.')}. kubectl then says '{NO_WINCAT}'", "one with wincat.exe")


def _wincat_unknown(scene: Scene) -> Iterator[Seen]:
    image = sandbox_image(scene)
    tag = image.rpartition("/")[2].partition(":")[2]
    if not scene.expected.kubernetes or any(_port_forward(scene)):
        return
    if not image:
        yield Seen(
            "pause image",
            f"{scene.layout.containerd_config} names none",
            remedy=advice(f"findstr sandbox {scene.layout.containerd_config}"),
        )
    elif not any(tag == known or tag.startswith(f"{known}-") for known in _list_tags()):
        yield Seen("pause image", f"{image} is not a published one; whether it has wincat.exe is unknown")


def _list_tags() -> Iterator[str]:
    yield "1.4.1"
    yield from (image.tag for image in PAUSE_IMAGES)


def _cpu_zero(scene: Scene) -> Iterator[Seen]:
    """UsageNanoCores of 0 for something busy."""
    stats = scene.tried.stats if scene.tried else Stats()
    wrong = [one for one in stats.verdicts if one.get("faulty")]
    if wrong:
        issues = {str((one.get("defect") or {}).get("issue") or "") for one in wrong} - {""} or {ISSUE}
        yield Seen(
            "kubelet's summary",
            " ".join(str(one.get("text")) for one in wrong).rstrip("."),
            "figures of busy containers",
            advice(
                f"See {' and '.join(sorted(issues))}; docs/cpu-stats.md says which containerd has which defect. "
                f"{_ask_stats(scene)} tells who is at fault."
            ),
            evidence=(
                f"containerd: {stats.containerd or 'not known'}",
                *(str(one.get("text")) for one in stats.verdicts),
            ),
        )


def _ask_stats(scene: Scene) -> str:
    name = scene.expected.node_name
    return (
        "ansible localhost -m winkube.node.k8s_windows_cri_info -a "
        f"""'{{"gather": ["stats"], "node_name": "{name}", "stats": {{"samples": 10}}}}' """
        "(with cluster and, if you can, address)"
    )


def _cpu_limits(scene: Scene) -> Iterator[Seen]:
    """What may be wrong with the figures, and was not seen."""
    if scene.tried is None or not scene.expected.kubernetes or any(_cpu_zero(scene)):
        return
    stats = scene.tried.stats
    if _is_17(stats.containerd):
        yield Seen(
            f"containerd {stats.containerd}",
            "on Windows it may report a CPU usage of 0 for a busy container whenever two callers ask it; none was seen "
            f"here. {ISSUE}",
            remedy=advice("Take containerd 2.3 or later, where the value is left out instead. docs/cpu-stats.md."),
        )
    elif not stats.verdicts:
        why = (stats.why or "nobody was asked").rstrip(".")
        yield Seen("CPU figures", f"none were read: {why}", remedy=advice(_ask_stats(scene)))


def read_stats(report: Mapping[str, Any]) -> Stats:
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


CHECKS = (
    Check(
        Cause(
            "image.pause-build",
            ERROR,
            "The pause image has no variant for this Windows",
            "Each pod needs it, and an image runs on Windows of its own build alone.",
            converge(
                "containerd",
                text="Set sandbox_image (pinned_images.sandbox) of config.toml to one with a manifest for this build.",
                variables=("winkube_pause_image",),
            ),
            explains=("image.pause", "image.mismatch", "pod.stuck", "node.not-ready"),
            area=Area.WORKLOADS,
        ),
        _pause,
        needs=Needs.TRIED,
    ),
    Check(
        CAUSES["pod.stuck"],
        _stuck,
        needs=Needs.TRIED,
    ),
    Check(
        CAUSES["pod.port-forward"],
        _port_forward,
        needs=Needs.TRIED,
    ),
    Check(
        Cause(
            "pod.port-forward-unknown",
            NOTE,
            "Whether kubectl port-forward works is not known",
            "",
            advice("Put wincat.exe into the pause image, or take the published one."),
            area=Area.WORKLOADS,
        ),
        _wincat_unknown,
        needs=Needs.TRIED,
    ),
    Check(
        CAUSES["pod.cpu-zero"],
        _cpu_zero,
        needs=Needs.TRIED,
    ),
    Check(
        Cause(
            "pod.cpu-unknown",
            NOTE,
            "CPU figures may be wrong",
            "",
            advice(
                "Compare kubectl get --raw /api/v1/nodes/NAME/proxy/stats/summary with the container's own counters."
            ),
            "containerd/containerd#9531",
            area=Area.WORKLOADS,
        ),
        _cpu_limits,
        needs=Needs.TRIED,
    ),
)
