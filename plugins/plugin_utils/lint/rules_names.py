# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and paths by Windows' rules: no case, no final dots, reserved names, drives, 260 characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..facts.base_images import find_base
from ..foreign.windows import Pattern
from .catalog import ObjectCase, PodCase
from .model import Hit, Path, Severity, as_list, as_map, as_text
from .rule import (
    ALL_CONTAINERS,
    PODS,
    Rule,
    always,
    environment,
    is_pipe,
    list_projected,
    mounts,
    needing,
    short,
    volumes,
    word_lists,
)
from .rules_mounts import MUST_BE_THERE, is_of_linux

_MOUNTS = f"{ALL_CONTAINERS}.volumeMounts[*]"
_NAMING = "learn.microsoft.com, Naming files, paths and namespaces"
_LONGEST = 260
_CONTROL = Pattern(r"[\x00-\x1f]")
_SHOWN = {"\t": "a TAB (\\t)", "\n": "a line feed (\\n)", "\r": "a carriage return (\\r)", "\b": "a backspace (\\b)"}
# A path in double quotes whose backslash was an escape: the character after it is gone.
_SPOILED_PATH = Pattern(r"(?:^|[\s=;\"'])[A-Za-z]:[^\s;\"']*(?P<sign>[\t\n\r\x07\x08\x0b\x0c\x1b])\S")


def _paths(case: PodCase) -> Iterator[tuple[Path, str, str]]:
    """(path, text, container name) of every field that is a Windows path."""
    for path, mount, container in mounts(case):
        for key in ("mountPath", "subPath", "subPathExpr"):
            if isinstance(mount.get(key), str):
                yield (*path, key), mount[key], container
    for each in case.pod.containers:
        if isinstance(each.value.get("workingDir"), str):
            yield (*each.path, "workingDir"), each.value["workingDir"], each.name
    for path, volume in volumes(case):
        source = as_map(volume.get("hostPath")).get("path")
        if isinstance(source, str):
            yield (*path, "hostPath", "path"), source, ""


@needing("volumeMounts", "workingDir", "hostPath")
def _control_characters(case: PodCase) -> Iterator[Hit]:
    for path, text, container in _paths(case):
        if found := _CONTROL.search(text):
            yield Hit(path, _find_spoiled(text, found.group()), container)


@needing("command")
def _find_spoiled_programs(case: PodCase) -> Iterator[Hit]:
    for path, words, container in word_lists(case):
        if path[-1] == "command" and path[-3] != "preStop" and (found := _CONTROL.search(words[0].strip())):
            yield Hit(path, _find_spoiled(words[0], found.group()), container.name)


@needing("env", "command", "args")
def _find_spoiled_words(case: PodCase) -> Iterator[Hit]:
    texts = [(path, value, container) for path, _name, value, container in environment(case)]
    texts += [
        (path, word, container.name)
        for path, words, container in word_lists(case)
        for word in words[path[-1] == "command" and path[-3] != "preStop" :]
    ]
    for path, text, container in texts:
        if found := _SPOILED_PATH.search(text):
            yield Hit(path, _find_spoiled(text, found["sign"]), container)


def _find_spoiled(text: str, sign: str) -> dict[str, str]:
    return {"value": short(repr(text)), "what": _SHOWN.get(sign, f"the character U+{ord(sign):04X}")}


_NO_SIGN = Pattern(r"[<>\"|?*]")
_SHARE = Pattern(r"[\\/]{2}[^\\/.?]")


@needing("volumeMounts", "workingDir", "hostPath")
def _impossible_paths(case: PodCase) -> Iterator[Hit]:
    """Device names, forbidden characters, and shares, over which nothing can be mounted."""
    for path, text, container in _paths(case):
        bare = re.sub(r"^[A-Za-z]:(?=[\\/]|$)", "", _EXPANDED.sub("", text))
        device = next((part for part in re.split(r"[\\/]", bare) if _RESERVED.fullmatch(part)), "")
        sign = _NO_SIGN.search(bare)
        # Pipes and devices; placeholders of templates.
        if text.startswith(("\\\\.\\", "\\\\?\\", "//./")) or ("<" in text and ">" in text):
            continue
        if path[-1] == "mountPath" and _SHARE.match(text):
            yield Hit(path, {"value": text, "what": "is the path of a share, no folder of the container"}, container)
        elif device:
            yield Hit(path, {"value": text, "what": f"holds {device}, the name of a device"}, container)
        elif sign or ":" in bare:
            yield Hit(path, {"value": text, "what": f"holds {sign.group() if sign else ':'}"}, container)


_SYSTEM_FOLDERS = Pattern(
    r"(?:c:)?[\\/]+windows(?:[\\/]+(?:system32|syswow64|winsxs|system32[\\/]+(?:config|drivers)))?[\\/]*", re.IGNORECASE
)


@needing("volumeMounts")
def _over_the_system(case: PodCase) -> Iterator[Hit]:
    for path, mount, container in mounts(case) if not case.pod.host_process else ():
        target = as_text(mount.get("mountPath"))
        if _SYSTEM_FOLDERS.fullmatch(target):
            yield Hit((*path, "mountPath"), {"value": target}, container)


_FILLED_FOLDERS = Pattern(r"(?:c:)?[\\/]+(?:users|program files(?: \(x86\))?)[\\/]*", re.IGNORECASE)


@needing("volumeMounts")
def _over_what_the_image_has(case: PodCase) -> Iterator[Hit]:
    for path, mount, container in mounts(case) if not case.pod.host_process else ():
        target = as_text(mount.get("mountPath"))
        if _FILLED_FOLDERS.fullmatch(target) or (_SITE.fullmatch(target) and _hides_the_site(case, mount, container)):
            yield Hit((*path, "mountPath"), {"value": target}, container)


_SITE = Pattern(r"(?:c:)?[\\/]+inetpub(?:[\\/]+wwwroot)?[\\/]*", re.IGNORECASE)
_EMPTY_OR_FLAT = ("emptyDir", "configMap", "secret", "projected", "downwardAPI")


def _hides_the_site(case: PodCase, mount: dict[str, Any], container: str) -> bool:
    """Of an image that is made from one of IIS'; a share or a disk may well have the site itself."""
    empty = {
        as_text(volume.get("name")) for _path, volume in volumes(case) if not volume.keys().isdisjoint(_EMPTY_OR_FLAT)
    }
    own = next((each.image for each in case.pod.containers if each.name == container), "")
    return as_text(mount.get("name")) in empty and find_base(own) is None and not mount.get("subPath")


_OF_IIS = Pattern(r"(?:c:)?[\\/]+windows[\\/]+system32[\\/]+inetsrv(?:[\\/]+config)?[\\/]*", re.IGNORECASE)


@needing("volumeMounts")
def _over_iis(case: PodCase) -> Iterator[Hit]:
    for path, mount, container in mounts(case) if not case.pod.host_process else ():
        target = as_text(mount.get("mountPath"))
        if _OF_IIS.fullmatch(target):
            yield Hit((*path, "mountPath"), {"value": target}, container)


@needing("subPath", "subPathExpr")
def _sub_paths_outside(case: PodCase) -> Iterator[Hit]:
    for path, mount, container in mounts(case):
        for key in ("subPath", "subPathExpr"):
            value = as_text(mount.get(key))
            if re.match(r"[A-Za-z]:", value) or value.startswith("\\"):
                yield Hit((*path, key), {"value": value, "what": "names a drive or its root"}, container)
            elif ".." in re.split(r"[\\/]", value):
                yield Hit((*path, key), {"value": value, "what": "leads out of the volume by .."}, container)


@needing("volumeMounts", "workingDir", "hostPath")
def _long_paths(case: PodCase) -> Iterator[Hit]:
    for path, text, container in _paths(case):
        if len(text) >= _LONGEST:
            yield Hit(path, {"value": short(text), "length": str(len(text))}, container)


@needing("volumeMounts", "workingDir", "hostPath")
def _trailing(case: PodCase) -> Iterator[Hit]:
    for path, text, container in _paths(case):
        parts = [part for part in re.split(r"[\\/]", text) if part not in (".", "..")]
        if any(part != part.rstrip(" .") for part in parts) and not is_pipe(text) and "subPathExpr" not in path:
            yield Hit(path, {"value": repr(text)}, container)


_EXPANDED = re.compile(r"%[A-Za-z_]\w*%|\$env:\w+", re.IGNORECASE)
_SANDBOX = Pattern(r"CONTAINER_SANDBOX_MOUNT_POINT", re.IGNORECASE)


@needing("volumeMounts", "workingDir", "hostPath")
def _not_expanded(case: PodCase) -> Iterator[Hit]:
    """hcsshim expands one variable, for host processes. Source: microsoft/hcsshim internal/jobcontainers."""
    for path, text, container in _paths(case):
        found = _EXPANDED.search(text)
        if found and not (case.pod.host_process and _SANDBOX.search(text)):
            yield Hit(path, {"value": text, "name": found.group()}, container)


_OF_WINDOWS = Pattern(
    r"%(?:PATH|SYSTEMROOT|SYSTEMDRIVE|WINDIR|TEMP|TMP|USERPROFILE|PROGRAMDATA|PROGRAMFILES|APPDATA|LOCALAPPDATA"
    r"|COMPUTERNAME|USERNAME|HOMEDRIVE|HOMEPATH|PUBLIC|ALLUSERSPROFILE)%",
    re.IGNORECASE,
)


@needing("env")
def _percent_in_variables(case: PodCase) -> Iterator[Hit]:
    for path, name, value, container in environment(case):
        if found := _OF_WINDOWS.search(value):
            yield Hit(path, {"name": name, "value": found.group()}, container)


@needing("env")
def _variables_by_case(case: PodCase) -> Iterator[Hit]:
    for container in case.pod.containers:
        seen: dict[str, str] = {}
        for number, entry in enumerate(as_list(container.value.get("env"))):
            name = as_text(as_map(entry).get("name"))
            first = seen.setdefault(name.lower(), name)
            if first != name:
                values = {"value": name, "other": first}
                yield Hit((*container.path, "env", number, "name"), values, container.name)


_RESERVED = Pattern(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)


def _keys(case: ObjectCase) -> Iterator[tuple[Path, str]]:
    """Keys that become files in Windows pods; a volume with items takes only those."""
    if any(_whole(pod, case.object.kind, case.object.name) for pod in case.pods):
        for holder in ("data", "binaryData", "stringData"):
            for key in as_map(case.object.value.get(holder)):
                yield (holder, str(key)), str(key)


def _whole(case: PodCase, kind: str, name: str) -> bool:
    key, named = ("secret", "secretName") if kind == "Secret" else ("configMap", "name")
    for _path, volume in volumes(case):
        source = as_map(volume.get(key))
        if source.get(named) == name and not source.get("items"):
            return True
        for each in map(as_map, as_list(as_map(volume.get("projected")).get("sources"))):
            projected = as_map(each.get(key))
            if projected.get("name") == name and not projected.get("items"):
                return True
    return False


def _find_reserved_keys(case: ObjectCase) -> Iterator[Hit]:
    for path, key in _keys(case):
        if _RESERVED.fullmatch(key):
            yield Hit(path, {"value": key, "what": f"{key.partition('.')[0]} is the name of a device"})
        elif key.endswith("."):
            yield Hit(path, {"value": key, "what": "Windows removes the final dot"})


def _keys_by_case(case: ObjectCase) -> Iterator[Hit]:
    seen: dict[str, str] = {}
    for path, key in _keys(case):
        first = seen.setdefault(key.lower(), key)
        if first != key:
            yield Hit(path, {"value": key, "other": first})


@needing("items")
def _files_by_case(case: PodCase) -> Iterator[Hit]:
    """Paths of items in one volume, over all its sources."""
    for path, volume in volumes(case):
        seen: dict[str, str] = {}
        for place, name in list_projected(path, volume):
            first = seen.setdefault(name.lower(), name)
            if first != name:
                yield Hit(place, {"value": name, "other": first})


_NEEDS = ("Directory", "File", "Socket", "CharDevice", "BlockDevice")
# What kubelet, containerd and CNI plugins make on a node. Source: kubernetes-sigs/sig-windows-tools.
_THERE = Pattern(
    r"/(?:var/(?:log/(?:pods|containers)|lib/kubelet)|etc/(?:cni|kubernetes)|run/flannel|opt/cni|k)(?:/|$)"
)


@needing("hostPath")
def _types_of_linux(case: PodCase) -> Iterator[Hit]:
    for path, volume in volumes(case):
        source = as_map(volume.get("hostPath"))
        kind, place = source.get("type"), as_text(source.get("path"))
        if kind in ("CharDevice", "BlockDevice"):
            yield Hit((*path, "hostPath", "type"), {"value": place, "what": f"{kind}: Windows has no such files"})
        elif kind == "Socket" and is_pipe(place):
            yield Hit((*path, "hostPath", "type"), {"value": place, "what": "Socket, and it is a named pipe"})
        elif kind in MUST_BE_THERE and is_of_linux(place):
            yield Hit((*path, "hostPath", "type"), {"value": place, "what": f"{kind}, and no Windows node has it"})


@needing("hostPath")
def _folders_that_must_be_there(case: PodCase) -> Iterator[Hit]:
    for path, volume in volumes(case):
        source = as_map(volume.get("hostPath"))
        place = as_text(source.get("path"))
        made = is_of_linux(place) or _THERE.match(place)
        if source.get("type") in MUST_BE_THERE and place.startswith("/") and not made:
            values = {"value": place, "kind": str(source["type"]), "real": "C:" + place.replace("/", "\\")}
            yield Hit((*path, "hostPath", "path"), values)


def _rule(
    rule_id: str,
    title: str,
    severity: Severity,
    find: Any,
    message: str,
    remedy: str,
    source: str,
    *paths: str,
    kinds: tuple[str, ...] = PODS,
) -> Rule:
    return Rule(rule_id, title, always(severity), find, message, remedy, source, kinds, paths)


_WRITTEN_BY = "k8s.io/kubernetes pkg/volume/util AtomicWriter; " + _NAMING
RULES: tuple[Rule, ...] = (
    _rule(
        "control-character",
        "Control characters in paths",
        Severity.ERROR,
        _control_characters,
        "{value} holds {what}, which no path of Windows can: in double quotes YAML made it of a backslash."
        " The container"
        " does not start.",
        "Write the path in single quotes, or each backslash twice.",
        _NAMING + "; YAML 1.2, Escaped characters",
        f"{_MOUNTS}.mountPath",
        f"{_MOUNTS}.subPath",
        f"{ALL_CONTAINERS}.workingDir",
        "spec.volumes[*].hostPath.path",
    ),
    _rule(
        "control-character",
        "Control characters in the name of a program",
        Severity.ERROR,
        _find_spoiled_programs,
        "{value} holds {what}, which no program's name can: in double quotes YAML made it of a backslash. The command"
        " fails.",
        "Write the path in single quotes, or each backslash twice.",
        _NAMING + "; YAML 1.2, Escaped characters",
        f"{ALL_CONTAINERS}.command",
        f"{ALL_CONTAINERS}.*Probe.exec",
        f"{ALL_CONTAINERS}.lifecycle",
    ),
    _rule(
        "control-character",
        "Control characters in paths of commands and variables",
        Severity.WARNING,
        _find_spoiled_words,
        "{value} holds {what}: in double quotes YAML made it of a backslash.",
        "Write the path in single quotes, or each backslash twice.",
        _NAMING + "; YAML 1.2, Escaped characters",
        f"{ALL_CONTAINERS}.env[*].value",
        f"{ALL_CONTAINERS}.command",
        f"{ALL_CONTAINERS}.args",
    ),
    _rule(
        "invalid-file-name",
        "Paths that Windows cannot have",
        Severity.ERROR,
        _impossible_paths,
        "{value} {what}: Windows has no such path, and the container does not start.",
        "Use another name.",
        _NAMING + "; containerd internal/cri/opts parseMount",
        f"{_MOUNTS}.mountPath",
        f"{_MOUNTS}.subPath",
        f"{ALL_CONTAINERS}.workingDir",
        "spec.volumes[*].hostPath.path",
    ),
    _rule(
        "mount-over-system",
        "Mounts over folders that the image fills",
        Severity.WARNING,
        _over_what_the_image_has,
        "mountPath {value} hides what the image has there (profiles, programs, their data); programs may not find it.",
        r"Mount into a folder of its own, for example C:\data.",
        "microsoft/hcsshim internal/hcsoci; learn.microsoft.com, Persistent storage in containers",
        f"{_MOUNTS}.mountPath",
    ),
    _rule(
        "mount-over-system",
        "Mounts over folders of the system",
        Severity.ERROR,
        _over_the_system,
        "mountPath {value} hides the system's own files: no program starts in the container.",
        r"Mount into a folder of its own, for example C:\data.",
        "microsoft/hcsshim internal/hcsoci",
        f"{_MOUNTS}.mountPath",
    ),
    _rule(
        "mount-over-system",
        "Mounts over IIS",
        Severity.ERROR,
        _over_iis,
        "mountPath {value} hides the programs or the configuration of IIS, which does not start without them.",
        "Change applicationHost.config in the image, or copy the files there when the container starts.",
        "microsoft/hcsshim internal/hcsoci; learn.microsoft.com, IIS, ApplicationHost.config",
        f"{_MOUNTS}.mountPath",
    ),
    _rule(
        "sub-path-outside",
        "subPath that leaves the volume",
        Severity.ERROR,
        _sub_paths_outside,
        "subPath {value} {what}: the kubelet refuses it, and the container does not start.",
        "Write a path below the volume.",
        "k8s.io/kubernetes pkg/volume/util/subpath subpath_windows.go, validateLocalDescendingPath",
        f"{_MOUNTS}.subPath",
        f"{_MOUNTS}.subPathExpr",
    ),
    _rule(
        "long-path",
        "Paths of 260 characters and more",
        Severity.WARNING,
        _long_paths,
        "{value} has {length} characters: 260 are too many for most programs of Windows.",
        "Use a shorter path.",
        "learn.microsoft.com, Maximum path length limitation",
        f"{_MOUNTS}.mountPath",
    ),
    _rule(
        "trailing-dot",
        "Dots and blanks at the end of names",
        Severity.WARNING,
        _trailing,
        "{value}: Windows removes dots and blanks at the end of a name, so the folder gets another name.",
        "Leave the dot or blank out.",
        _NAMING,
        f"{_MOUNTS}.mountPath",
        f"{ALL_CONTAINERS}.workingDir",
    ),
    _rule(
        "unexpanded-path",
        "Variables in paths",
        Severity.ERROR,
        _not_expanded,
        "{value}: nothing fills in {name} there; there is no such folder, and the container does not start.",
        "Write the path out.",
        "containerd internal/cri/opts spec_windows_opts.go; microsoft/hcsshim internal/jobcontainers",
        f"{ALL_CONTAINERS}.workingDir",
        f"{_MOUNTS}.mountPath",
    ),
    _rule(
        "unexpanded-variable",
        "Variables of Windows in variables",
        Severity.WARNING,
        _percent_in_variables,
        "{name} holds {value}: neither the kubelet nor the runtime fills in percent signs, programs get them"
        " as they are.",
        "Write the value out, or set it in the image or in the command (cmd.exe /c set).",
        "k8s.io/kubernetes third_party/forked/golang/expansion; containerd internal/cri/opts",
        f"{ALL_CONTAINERS}.env[*].value",
    ),
    _rule(
        "case-clash",
        "Variables that differ only in case",
        Severity.WARNING,
        _variables_by_case,
        "variables {other} and {value} are one on Windows: one of the values is lost.",
        "Keep one of them.",
        "learn.microsoft.com, Environment variables; microsoft/hcsshim internal/cmd",
        f"{ALL_CONTAINERS}.env[*].name",
    ),
    _rule(
        "case-clash",
        "Files of a volume that differ only in case",
        Severity.WARNING,
        _files_by_case,
        "{value} and {other} are one file to Windows: one of them overwrites the other.",
        "Use names that differ in more than case.",
        _WRITTEN_BY,
        "spec.volumes[*].*.items[*].path",
    ),
    _rule(
        "case-clash",
        "Keys that differ only in case",
        Severity.WARNING,
        _keys_by_case,
        "keys {other} and {value} are one file on Windows: a Windows pod that mounts them sees one of both.",
        "Give one of them another name, or mount the keys by items.",
        _WRITTEN_BY,
        "data",
        kinds=("ConfigMap", "Secret"),
    ),
    _rule(
        "invalid-file-name",
        "Keys that cannot be Windows file names",
        Severity.ERROR,
        _find_reserved_keys,
        "key {value} becomes a file of a Windows pod, and {what}: the kubelet cannot write it, and the pod"
        " does not start.",
        "Give the key another name, or a path by items.",
        _WRITTEN_BY,
        "data",
        kinds=("ConfigMap", "Secret"),
    ),
    _rule(
        "host-path-type",
        "hostPath types that Windows does not have",
        Severity.ERROR,
        _types_of_linux,
        "hostPath {value} has type {what}: the kubelet does not find it, and the pod does not start.",
        "Leave type out for a pipe; give the device to a HostProcess pod.",
        "k8s.io/kubernetes pkg/volume/util/hostutil hostutil_windows.go, pkg/volume/hostpath",
        "spec.volumes[*].hostPath.type",
    ),
    _rule(
        "host-path-type",
        "Folders that have to be there",
        Severity.WARNING,
        _folders_that_must_be_there,
        "hostPath {value} has type {kind}: the kubelet looks for {real}, and starts nothing where a node"
        " does not have it.",
        "Name the node's own folder, or use DirectoryOrCreate.",
        "k8s.io/kubernetes pkg/volume/hostpath checkType, pkg/volume/util MakeAbsolutePath",
        "spec.volumes[*].hostPath.path",
    ),
)
