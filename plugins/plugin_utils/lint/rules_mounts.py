# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What containers mount, and from which place on the node."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from ..foreign.windows import Pattern
from .catalog import PodCase
from .model import Hit, Severity, as_list, as_map, as_text
from .rule import (
    ALL_CONTAINERS,
    DOC,
    KEP,
    Find,
    Rule,
    always,
    by_steps,
    is_pipe,
    list_projected,
    mounts,
    needing,
    says_yes,
    volumes,
)

_MOUNTS = f"{ALL_CONTAINERS}.volumeMounts[*]"


def _is_file(path: str) -> bool:
    return bool(PurePosixPath(path.replace("\\", "/")).suffix)


def _secret_volumes(case: PodCase) -> set[str]:
    """Names of the volumes that contain Secrets, also with other sources."""
    return {
        as_text(volume.get("name"))
        for _path, volume in volumes(case)
        if "secret" in volume
        or any("secret" in as_map(source) for source in as_list(as_map(volume.get("projected")).get("sources")))
    }


_OF_FILES = ("configMap", "projected", "downwardAPI")


@needing("subPath", "subPathExpr")
def _sub_paths(case: PodCase) -> Iterator[Hit]:
    """subPath: with Docker always a fault, with containerd only for something that looks like a file, since folders
    work.

    Host processes see their volumes, including single files, through the host's own file system.
    """
    if case.pod.host_process:
        return
    secrets = _secret_volumes(case)
    of_files = {as_text(each.get("name")) for _path, each in volumes(case) if any(kind in each for kind in _OF_FILES)}
    for path, mount, container in mounts(case):
        for field in ("subPath", "subPathExpr"):
            name = as_text(mount.get("name"))
            if not mount.get(field) or name in secrets:
                continue
            file = name in of_files or _is_file(as_text(mount.get("mountPath"))) or _is_file(str(mount[field]))
            if file or not says_yes("sub-path-of-folders", case):
                yield Hit((*path, field), {"value": str(mount[field]), "runtime": case.profile.runtime}, container)


@needing("subPath", "subPathExpr")
def _secret_sub_paths(case: PodCase) -> Iterator[Hit]:
    secrets = _secret_volumes(case)
    for path, mount, container in mounts(case):
        for field in ("subPath", "subPathExpr"):
            if mount.get(field) and as_text(mount.get("name")) in secrets:
                yield Hit((*path, field), {"value": str(mount[field])}, container)


@needing("volumeMounts")
def _single_files(case: PodCase) -> Iterator[Hit]:
    files = {
        as_text(volume.get("name"))
        for _path, volume in volumes(case)
        if as_map(volume.get("hostPath")).get("type") == "File"
    }
    for path, mount, container in mounts(case):
        target = as_text(mount.get("mountPath"))
        if as_text(mount.get("name")) in files or (mount.get("subPath") and _is_file(target)):
            yield Hit((*path, "mountPath"), {"value": target}, container)


@needing("hostPath")
def _host_writes(case: PodCase) -> Iterator[Hit]:
    """A writable hostPath. Pipes are not files, and host processes see the host's own files.

    With containerd a mapped folder is the host's own, also for writing (microsoft/hcsshim internal/hcsoci
    createMounts): CSI drivers put their sockets there.
    """
    if case.pod.host_process:
        return
    hosts = {
        as_text(volume.get("name")): as_text(as_map(volume.get("hostPath")).get("path"))
        for _path, volume in volumes(case)
        if isinstance(volume.get("hostPath"), dict)
    }
    for path, mount, container in mounts(case):
        source = hosts.get(as_text(mount.get("name")))
        if source is not None and not is_pipe(source) and mount.get("readOnly") is not True:
            yield Hit((*path, "mountPath"), {"value": source}, container)


# Folders that no Windows node has. /etc, /run and /var exist: kubelet, CNI plugins and flannel make them on C:.
_LINUX_HOST_PATH = Pattern(
    r"/(?:proc|sys|dev|usr|lib|lib64|bin|sbin|boot|home|root)(?:/|$)"
    r"|/etc/(?:localtime|timezone|ssl|pki|machine-id|os-release|passwd|group|shadow|sysctl\.d|systemd)(?:/|$)"
    r"|/var/lib/docker(?:/|$)|(?:/var)?/run/(?:systemd|udev|dbus|xtables\.lock)(?:/|$)|/\S*/(?:docker|containerd|crio|dockershim)\.sock$"
)

MUST_BE_THERE = ("Directory", "File", "Socket")
"""Types of a hostPath without which nothing starts. Source: k8s.io/kubernetes pkg/volume/hostpath checkType."""


def is_of_linux(path: str) -> bool:
    """Whether it is a place on a host that no Windows node has."""
    return bool(_LINUX_HOST_PATH.match(path))


@needing("hostPath")
def _linux_host_paths(case: PodCase) -> Iterator[Hit]:
    """Those of a type that has to be there are errors of host-path-type."""
    for path, volume in volumes(case):
        source = as_text(as_map(volume.get("hostPath")).get("path"))
        if is_of_linux(source) and as_map(volume.get("hostPath")).get("type") not in MUST_BE_THERE:
            yield Hit((*path, "hostPath", "path"), {"value": source})


_DOCKER_PIPE = Pattern(r"[\\/]{2}\.[\\/]pipe[\\/]docker_engine", re.IGNORECASE)


@needing("hostPath")
def _docker_pipes(case: PodCase) -> Iterator[Hit]:
    for path, volume in volumes(case):
        source = as_text(as_map(volume.get("hostPath")).get("path"))
        if _DOCKER_PIPE.match(source):
            yield Hit((*path, "hostPath", "path"), {"value": source})


_SYSTEM_DRIVE = Pattern(r"(?:[cC]:)?[\\/]?")


@needing("volumeMounts")
def _mounts_at_the_root(case: PodCase) -> Iterator[Hit]:
    for path, mount, container in mounts(case) if not case.pod.host_process else ():
        target = as_text(mount.get("mountPath"))
        if target and _SYSTEM_DRIVE.fullmatch(target):
            yield Hit((*path, "mountPath"), {"value": target}, container)


@needing("volumeMounts")
def _mounts_at_one_folder(case: PodCase) -> Iterator[Hit]:
    """The API server compares mount paths exactly; Windows ignores case and the kind of slash."""
    seen: dict[tuple[str, str], str] = {}
    for path, mount, container in mounts(case):
        target = as_text(mount.get("mountPath"))
        folder = re.sub(r"^c:(?=\\|$)", "", target.lower().replace("/", "\\").rstrip("\\"))
        first = seen.setdefault((container, folder), target)
        if first != target:
            yield Hit((*path, "mountPath"), {"value": target, "other": first}, container)


_NO_FILE_NAME = Pattern(
    r'[<>:"|?*]|(?:^|/)(?:con|prn|aux|nul|com\d|lpt\d)(?:\.[^/]*)?(?:/|$)|[. ](?:/|$)', re.IGNORECASE
)


@needing("items")
def _no_file_names(case: PodCase) -> Iterator[Hit]:
    for path, volume in volumes(case):
        for place, name in list_projected(path, volume):
            if _NO_FILE_NAME.search(name):
                yield Hit(place, {"value": name})


@needing("workingDir")
def _find_other_drives(case: PodCase) -> Iterator[Hit]:
    """Working folders on other drives: a container has C:, and each drive that a volume is mounted as."""
    mounted: dict[str, set[str]] = {}
    for _path, mount, name in mounts(case):
        mounted.setdefault(name, set()).add(as_text(mount.get("mountPath"))[:2].upper())
    for container in case.pod.containers if not case.pod.host_process else ():
        folder = as_text(container.value.get("workingDir"))
        drive = folder[:2].upper()
        if re.match(r"[A-Z]:", drive) and drive != "C:" and drive not in mounted.get(container.name, ()):
            yield Hit((*container.path, "workingDir"), {"value": folder, "drive": drive}, container.name)


@needing("recursiveReadOnly")
def _recursive_read_only(case: PodCase) -> Iterator[Hit]:
    for path, mount, container in mounts(case):
        if mount.get("recursiveReadOnly") == "Enabled":
            yield Hit((*path, "recursiveReadOnly"), {}, container)


def _propagation(rejected: bool) -> Find:
    """Bidirectional is only for privileged containers; on Windows containerd ignores the rest."""

    @needing("mountPropagation")
    def find(case: PodCase) -> Iterator[Hit]:
        privileged = {each.path for each in case.pod.containers if each.security.get("privileged") is True}
        for path, mount, container in mounts(case):
            value = mount.get("mountPropagation")
            refused = value == "Bidirectional" and path[:3] not in privileged
            if value not in (None, "None") and refused is rejected:
                yield Hit((*path, "mountPropagation"), {"value": str(value)}, container)

    return find


RULES: tuple[Rule, ...] = (
    Rule(
        id="docker-pipe",
        title="Docker's pipe on nodes without Docker",
        level=by_steps("docker-pipe"),
        find=_docker_pipes,
        message="{value} is mounted, the pipe of Docker's engine, and the nodes run containerd: there is none.",
        remedy="Build images without Docker's engine, or on a node of its own that has one.",
        source=DOC + "; Kubernetes documentation, Migrating from dockershim",
        paths=("spec.volumes[*].hostPath.path",),
    ),
    Rule(
        id="mount-at-root",
        title="Mount at the root of the system drive",
        level=always(Severity.ERROR),
        find=_mounts_at_the_root,
        message="mountPath is {value}, the root of the container's system drive: the container does not start with it.",
        remedy="Mount into a folder.",
        source="moby/moby volume/mounts windows_parser.go; microsoft/hcsshim internal/hcsoci",
        paths=(f"{_MOUNTS}.mountPath",),
    ),
    Rule(
        id="mount-clash",
        title="Two mounts at one folder",
        level=always(Severity.WARNING),
        find=_mounts_at_one_folder,
        message="mountPath {value} is the same folder as mountPath {other}: Windows ignores case, and C: is the drive.",
        remedy="Mount into two folders.",
        source="learn.microsoft.com, Naming files; k8s.io/kubernetes pkg/volume/util MakeAbsolutePath",
        paths=(f"{_MOUNTS}.mountPath",),
    ),
    Rule(
        id="invalid-file-name",
        title="Names that no Windows file can have",
        level=always(Severity.ERROR),
        find=_no_file_names,
        message="the projected file {value} has a name that Windows does not allow (a device, a colon and"
        " the like, a dot or blank"
        " at the end): the kubelet cannot write it, and the pod does not start.",
        remedy="Use another path for the key.",
        source="learn.microsoft.com, Naming files, paths and namespaces",
        paths=("spec.volumes[*].*.items[*].path",),
    ),
    Rule(
        id="absent-drive",
        title="workingDir on a drive that the container does not have",
        level=always(Severity.ERROR),
        find=_find_other_drives,
        message="workingDir is {value}: the container has no drive {drive}, and does not start.",
        remedy="Name a folder of C:, or mount a volume as this drive (mountPath: '{drive}').",
        source="rancher/rke2#2203; microsoft/hcsshim internal/hcs CreateProcess",
        paths=(f"{ALL_CONTAINERS}.workingDir",),
    ),
    Rule(
        id="recursive-read-only",
        title="recursiveReadOnly",
        level=by_steps("recursive-read-only"),
        find=_recursive_read_only,
        message="recursiveReadOnly is Enabled: Windows runtimes cannot do it, and the kubelet does not start the pod.",
        remedy="Remove the field, or write IfPossible.",
        source="kubernetes/enhancements KEP-3857; k8s.io/kubernetes pkg/kubelet resolveRecursiveReadOnly",
        paths=(f"{_MOUNTS}.recursiveReadOnly",),
    ),
    Rule(
        id="mount-propagation",
        title="mountPropagation",
        level=always(Severity.WARNING),
        find=_propagation(rejected=False),
        message="mountPropagation is {value}; Windows does not propagate mounts, it has no effect.",
        remedy="Remove the field.",
        source=DOC + "; containerd internal/cri/opts spec_windows_opts.go",
        paths=(f"{_MOUNTS}.mountPropagation",),
    ),
    Rule(
        id="mount-propagation",
        title="mountPropagation of a container that is not privileged",
        level=always(Severity.ERROR),
        find=_propagation(rejected=True),
        message="mountPropagation is {value}, which is for privileged containers, and Windows has none: the API server"
        " rejects the pod.",
        remedy="Remove the field.",
        source="k8s.io/kubernetes pkg/apis/core/validation validateMountPropagation",
        paths=(f"{_MOUNTS}.mountPropagation",),
    ),
    Rule(
        id="sub-path",
        title="subPath mounts",
        level=by_steps("sub-path"),
        find=_sub_paths,
        message="subPath {value}: the documentation says that only whole volumes can be mounted; it fails with"
        " Docker, and works with"
        " containerd for folders (this profile: {runtime}).",
        remedy="Mount the whole volume, or try it on the containerd of your nodes and silence this.",
        source=DOC + "; " + KEP,
        paths=(f"{_MOUNTS}.subPath", f"{_MOUNTS}.subPathExpr"),
    ),
    Rule(
        id="secret-sub-path",
        title="subPath of a Secret",
        level=always(Severity.WARNING),
        find=_secret_sub_paths,
        message="subPath {value} of a Secret: not supported on Windows.",
        remedy="Mount the whole Secret into a folder of its own.",
        source=DOC,
        paths=(f"{_MOUNTS}.subPath",),
    ),
    Rule(
        id="single-file-mount",
        title="Single files with Docker",
        level=by_steps("single-file-mount"),
        find=_single_files,
        message="{value} is mounted as a single file; Docker on Windows mounts folders only.",
        remedy="Mount the folder, or use containerd.",
        source=DOC,
        paths=(f"{_MOUNTS}.mountPath",),
    ),
    Rule(
        id="linux-host-path",
        title="Folder of a Linux host",
        level=always(Severity.WARNING),
        find=_linux_host_paths,
        message="hostPath {value} is a Linux path, which Windows does not have.",
        remedy=r"Name a folder of the Windows node (C:\...), or a pipe such as \\.\pipe\containerd-containerd.",
        source=DOC + "; kubernetes-sigs/sig-windows-tools, paths that nodes have",
        paths=("spec.volumes[*].hostPath.path",),
    ),
    Rule(
        id="writable-host-path",
        title="Writing to the host through hostPath with Docker",
        level=by_steps("writable-host-path"),
        find=_host_writes,
        message="hostPath {value} is mounted writable; mounts cannot be relied on to bring files back to the"
        " host's file system.",
        remedy="Mount it with readOnly: true, or write to a persistent volume.",
        source=DOC + "; " + KEP,
        paths=(f"{_MOUNTS}.mountPath",),
    ),
)
