"""A public manifest as facts: which of the fields that the linter asks about it sets, and to what.

A fact is a dotted path and a value: `spec.template.spec.containers[0].image` and the image's name. What no rule asks
about (labels that no Service selects, scripts, texts, comments, data) is left out; of a command or a variable the
words remain that a rule could say something of. From its facts a manifest is made again that the linter says the same
of, which `facts_of` sees to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

Facts = dict[str, Any]

# Whole, with all that is below them.
_WHOLE = frozenset(
    [
        "nodeSelector",
        "affinity",
        "tolerations",
        "os",
        "runtimeClassName",
        "hostNetwork",
        "hostPID",
        "hostIPC",
        "hostUsers",
        "shareProcessNamespace",
        "dnsPolicy",
        "dnsConfig",
        "nodeName",
        "resources",
        "terminationGracePeriodSeconds",
        "terminationMessagePath",
        "hostPath",
        "emptyDir",
        "nfs",
        "persistentVolumeClaim",
        "volumeMode",
        "volumeMounts",
        "volumeDevices",
        "stopSignal",
        "handler",
        "scheduling",
        "provisioner",
        "allowVolumeExpansion",
        "mountOptions",
        "storageClassName",
        "volumeName",
        "accessModes",
        "claimRef",
        "externalTrafficPolicy",
        "internalTrafficPolicy",
        "sessionAffinity",
        "sessionAffinityConfig",
        "ipFamilies",
        "ipFamilyPolicy",
        "clusterIP",
        "type",
        "taints",
        "defaultMode",
        "mode",
        "readOnly",
        "driver",
        "nodePublishSecretRef",
        "replicas",
        "image",
        "apiVersion",
        "kind",
        "namespace",
        "generateName",
        "workingDir",
        "windowsOptions",
        "hostPort",
        "containerPort",
        "protocol",
        "cephfs",
        "cinder",
        "fc",
        "flocker",
        "gitRepo",
        "glusterfs",
        "iscsi",
        "rbd",
        "azureDisk",
        "azureFile",
        "awsElasticBlockStore",
        "gcePersistentDisk",
        "vsphereVolume",
        "scaleTargetRef",
        "maxReplicas",
        "fsType",
        "parameters",
        "resizePolicy",
        "timeoutSeconds",
        "recursiveReadOnly",
        "stdin",
        "tty",
    ]
)
_WALKED = frozenset(
    [
        "metadata",
        "spec",
        "template",
        "jobTemplate",
        "containers",
        "initContainers",
        "ephemeralContainers",
        "volumes",
        "configMap",
        "secret",
        "projected",
        "sources",
        "items",
        "downwardAPI",
        "csi",
        "volumeAttributes",
        "ephemeral",
        "volumeClaimTemplate",
        "volumeClaimTemplates",
        "securityContext",
        "lifecycle",
        "preStop",
        "postStart",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "exec",
        "ports",
        "status",
        "allocatable",
        "replicatedJobs",
        "jobs",
        "tasks",
        "leaderWorkerTemplate",
        "leaderTemplate",
        "workerTemplate",
        "jobTargetRef",
        "jobSpec",
        "templates",
        "container",
        "script",
        "podSpec",
        "objects",
        "manifests",
        "workload",
        "sidecars",
        "pod",
        "workflowSpec",
        "serviceAccountToken",
    ]
)
_TEXT = frozenset(["command", "args", "value", "source"])
_ANNOTATIONS = re.compile(
    r"apparmor|isolation-type|preserve-destination|is-default-class|^lint\.|/(?:agent-)?inject|sidecar-injection|admission\.datadoghq"
)
# What a rule could ask of a command, an argument or a variable.
_WORDS = re.compile(
    r"^[\w./\\-]+\.exe\s+\S+"
    r"|ping(?:\.exe)?\s+(?:[-/]\w+\s+(?:\d+\s+)?)*[\w.:-]+(?:\s*>\s*\$?\w+)?"
    r"|\b(?:nslookup|dig)(?:\.exe)?\b|\bkill\s+-\S+|--kubelet-registration-path\S*"
    r"|(?:[a-z]+://)?(?:[\w-]+\.)+svc\b[\w.:/-]*|(?:^|(?<=[\s\"'=]))/(?:bin|sbin|usr|etc|var|tmp|opt|dev|proc|sys|root|home)/[\w./-]*"
    r"|[A-Za-z]:\\[\w.\\-]+|\b(?:powershell|pwsh|cmd|bash)(?:\.exe)?\b",
)
# Of a ConfigMap: whatever names a host.
_HOSTS = re.compile(r"[a-z]+://[\w.-]+(?::\d+)?|\b(?:[a-z][a-z0-9-]*\.)+[a-z][a-z0-9-]*:\d+\b")
_SHORT = 40
_PODS = re.compile(r"^\s*(?:- )?containers:", re.MULTILINE)


def reduce(value: Any, selected: bool = False) -> Any:
    """The object with nothing but what rules ask about.

    `selected`: a Service of the manifest may select by its labels.
    """
    if not isinstance(value, dict):
        return value
    kept: dict[str, Any] = {}
    for key, inner in value.items():
        if inner is None:
            continue
        if (key == "name" and isinstance(inner, str)) or (key == "labels" and selected and isinstance(inner, dict)):
            kept[key] = inner
        elif key == "labels" and value.get("name") and _labels(inner):
            kept[key] = _labels(inner)
        elif key == "selector" and isinstance(inner, dict) and value.get("ports"):
            kept[key] = inner
        elif key == "annotations" and isinstance(inner, dict):
            found = {name: text for name, text in inner.items() if _ANNOTATIONS.search(str(name))}
            kept |= {key: found} if found else {}
        elif key == "env" and isinstance(inner, list):
            found_list = [each for each in map(_variable, inner) if each]
            kept |= {key: found_list} if found_list else {}
        elif key in _WHOLE or key == "securityContext":
            kept[key] = inner
        elif key == "data" and isinstance(inner, dict) and value.get("kind") == "ConfigMap":
            data = {name: _said(text, selected) for name, text in inner.items() if isinstance(text, str)}
            kept[key] = {name: text for name, text in data.items() if text}
        elif key in _TEXT:
            words = _command(inner)
            kept |= {key: words} if words else {}
        elif key in _WALKED:
            kept[key] = (
                [reduce(each, selected) for each in inner] if isinstance(inner, list) else reduce(inner, selected)
            )
    return kept


def _said(text: str, selected: bool) -> str:
    """What a ConfigMap's text says of hosts; a manifest in it is reduced as others are."""
    if _PODS.search(text) and "apiVersion:" in text and "{{" not in text:
        things = [reduce(each, selected) for each in yaml.safe_load_all(text) if isinstance(each, dict)]
        return str(yaml.safe_dump_all([each for each in things if "spec" in each], sort_keys=False))
    return " ".join(_HOSTS.findall(text))


def _labels(labels: Any) -> dict[str, Any]:
    """Those of a Node or a Namespace."""
    names = (
        *("kubernetes.io/os", "kubernetes.io/arch", "node.kubernetes.io/windows-build"),
        *("pod-security.kubernetes.io/enforce", "istio-injection"),
    )
    return {name: labels[name] for name in names if name in labels} if isinstance(labels, dict) else {}


def _words(text: str) -> str:
    return (
        text if len(text) <= _SHORT and "\n" not in text else " ".join(found.group() for found in _WORDS.finditer(text))
    )


def _command(value: Any) -> Any:
    if isinstance(value, str):
        return _words(value)
    return [_words(each) if isinstance(each, str) else each for each in value] if isinstance(value, list) else None


def _variable(entry: Any) -> dict[str, Any] | None:
    value = entry.get("value") if isinstance(entry, dict) else None
    if not isinstance(value, str) or not re.search(r"[a-z]\.[a-z]|/etc/|hosts|^/|^[A-Z][a-z]+/[A-Z]", value):
        return None
    return {"name": entry.get("name"), "value": value if len(value) <= 80 and "\n" not in value else _words(value)}


def flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, scalar or empty collection) of all that is in a value; keys with dots or brackets as `["a.b"]`."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            name = str(key)
            plain = re.fullmatch(r"[A-Za-z0-9_-]+", name)
            yield from flat(inner, f"{path}.{name}" if plain and path else name if plain else f'{path}["{name}"]')
    elif isinstance(value, list) and value:
        for number, inner in enumerate(value):
            yield from flat(inner, f"{path}[{number}]")
    else:
        yield path, value


_PART = re.compile(r'\["([^"]*)"\]|\[(\d+)\]|([A-Za-z0-9_-]+)')


def object_of(facts: Facts) -> dict[str, Any]:
    """The object that the facts are of."""
    root: dict[str, Any] = {}
    for path, value in facts.items():
        parts = [
            found[1] if found[1] is not None else int(found[2]) if found[2] else found[3]
            for found in _PART.finditer(path)
        ]
        holder: Any = root
        for part, after in zip(parts, [*parts[1:], None], strict=True):
            fresh: Any = value if after is None else [] if isinstance(after, int) else {}
            if isinstance(part, int):
                while len(holder) <= part:
                    holder.append(None)
                holder[part] = fresh if holder[part] is None else holder[part]
            else:
                holder.setdefault(part, fresh)
            holder = holder[part]
    return root


def _slim(value: Any) -> Any:
    """A container of a pod for another system."""
    if not isinstance(value, dict):
        return value
    options = (value.get("securityContext") or {}).get("windowsOptions")
    kept = {key: value[key] for key in ("name", "image") if key in value}
    return {**kept, "securityContext": {"windowsOptions": options}} if options else kept


def without_details(value: Any) -> Any:
    """A reduced object whose pods are not for Windows, without what their containers do."""
    if isinstance(value, list):
        return [without_details(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, inner in value.items():
        if key in ("containers", "initContainers") and isinstance(inner, list):
            kept[key] = [_slim(each) for each in inner]
        elif key not in ("volumes", "resources", "volumeClaimTemplates"):
            kept[key] = without_details(inner)
    return kept


def facts_of(thing: dict[str, Any], selected: bool, windows: bool) -> Facts:
    """The facts of one object; they make the reduced object again."""
    reduced = reduce(thing, selected)
    if not windows:
        reduced = without_details(reduced)
    facts = dict(flat(reduced))
    assert object_of(facts) == reduced, facts
    return facts
