"""Hypothesis strategies for manifests: objects as an API server may get them, and ways to write them down."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import yaml
from hypothesis import strategies as st

from .test_rules import BASE, CASES, merged

Values = st.SearchStrategy[Any]


def some(**fields: Values) -> Values:
    """A mapping that has any of the fields."""
    return st.fixed_dictionaries({}, optional=fields)


def pick(*values: Any) -> Values:
    return st.sampled_from(values)


FLAG = st.booleans()
NUMBER = pick(0, 1, 30, 1000, 65536, 2**31)
NAME = pick("a", "web", "data-1", "x.y")
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=12)
PATH = pick("/var/run", "/dev/null", r"C:\data", "C:/data", "D:", r"\\.\pipe\engine", "relative/path", "/etc/hosts", "")
QUANTITY = pick("100m", "1", 2, 0.5, "300Mi", "1Gi", "1e3", "800M")
IMAGE = pick(
    "mcr.microsoft.com/windows/nanoserver:ltsc2022",
    "mcr.microsoft.com/windows/servercore:10.0.17763.1",
    "nginx:1.27",
    "registry.example.com:5000/app/web@sha256:0123",
    "registry.k8s.io/pause:3.10",
    "istio/proxyv2",
    "",
)
COMMAND = st.lists(
    pick("cmd", "/bin/sh", "-c", "powershell.exe", "ping -t x", "cat /etc/passwd", "kill -HUP 1", "") | WORDS,
    max_size=3,
)
WINDOWS_OPTIONS = some(
    hostProcess=FLAG,
    runAsUserName=pick("ContainerUser", "ContainerAdministrator", r"NT AUTHORITY\SYSTEM", "a/b", ""),
    gmsaCredentialSpecName=NAME,
    gmsaCredentialSpec=WORDS,
)
SECURITY = {
    "runAsUser": NUMBER,
    "runAsGroup": NUMBER,
    "runAsNonRoot": FLAG,
    "seLinuxOptions": some(level=WORDS),
    "seccompProfile": some(type=pick("RuntimeDefault", "Localhost"), localhostProfile=WORDS),
    "windowsOptions": WINDOWS_OPTIONS,
}
HANDLER = some(exec=some(command=COMMAND), httpGet=some(path=WORDS, port=NUMBER), tcpSocket=some(port=NUMBER))
CONTAINER = st.fixed_dictionaries(
    {"name": NAME, "image": IMAGE},
    optional={
        "command": COMMAND,
        "args": COMMAND,
        "workingDir": PATH,
        "env": st.lists(some(name=NAME, value=WORDS | PATH | pick("kubernetes.default.svc.cluster.local")), max_size=2),
        "ports": st.lists(some(containerPort=NUMBER, hostPort=NUMBER, protocol=pick("TCP", "UDP", "SCTP")), max_size=2),
        "resources": some(
            limits=some(cpu=QUANTITY, memory=QUANTITY), requests=some(cpu=QUANTITY, memory=QUANTITY, storage=QUANTITY)
        ),
        "securityContext": some(
            **SECURITY,
            privileged=FLAG,
            allowPrivilegeEscalation=FLAG,
            readOnlyRootFilesystem=FLAG,
            procMount=pick("Default", "Unmasked"),
            capabilities=some(add=st.lists(pick("NET_ADMIN"), max_size=1), drop=st.lists(pick("ALL"), max_size=1)),
        ),
        "volumeMounts": st.lists(
            st.fixed_dictionaries(
                {"name": NAME, "mountPath": PATH},
                optional={"subPath": WORDS, "readOnly": FLAG, "mountPropagation": pick("Bidirectional", "None")},
            ),
            max_size=2,
        ),
        "volumeDevices": st.lists(some(name=NAME, devicePath=PATH), max_size=1),
        "livenessProbe": HANDLER,
        "lifecycle": some(preStop=HANDLER, postStart=HANDLER, stopSignal=pick("SIGTERM", "SIGUSR1")),
        "terminationMessagePath": PATH,
    },
)
VOLUME = st.fixed_dictionaries(
    {"name": NAME},
    optional={
        "emptyDir": some(medium=pick("", "Memory", "HugePages"), sizeLimit=QUANTITY),
        "hostPath": some(path=PATH, type=pick("", "Directory", "Socket")),
        "secret": some(secretName=NAME, defaultMode=NUMBER),
        "configMap": some(name=NAME, defaultMode=NUMBER),
        "persistentVolumeClaim": some(claimName=NAME),
        "nfs": some(server=NAME, path=PATH),
        "projected": some(sources=st.lists(some(configMap=some(name=NAME)), max_size=1)),
    },
)
LABELS = st.dictionaries(pick("app", "tier"), pick("web", "db", "1"), max_size=2)
SELECTOR = some(
    **{
        "kubernetes.io/os": pick("windows", "linux"),
        "beta.kubernetes.io/os": pick("windows"),
        "node.kubernetes.io/windows-build": pick("10.0.20348", "10.0.17763"),
        "disk": pick("ssd"),
    }
)
TOLERATION = some(
    key=pick("os", "node.kubernetes.io/os", "gpu"),
    operator=pick("Equal", "Exists"),
    value=pick("windows", "Windows", "linux"),
    effect=pick("NoSchedule", "NoExecute", "PreferNoSchedule"),
)
REQUIREMENT = some(
    key=pick("kubernetes.io/os"), operator=pick("In", "NotIn"), values=st.lists(pick("windows", "linux"), max_size=2)
)
AFFINITY = some(
    nodeAffinity=some(
        requiredDuringSchedulingIgnoredDuringExecution=some(
            nodeSelectorTerms=st.lists(some(matchExpressions=st.lists(REQUIREMENT, max_size=2)), max_size=2)
        )
    )
)
SPEC = st.fixed_dictionaries(
    {"containers": st.lists(CONTAINER, min_size=1, max_size=2)},
    optional={
        "initContainers": st.lists(CONTAINER, max_size=1),
        "ephemeralContainers": st.lists(CONTAINER, max_size=1),
        "os": some(name=pick("windows", "linux")),
        "nodeSelector": SELECTOR,
        "affinity": AFFINITY,
        "tolerations": st.lists(TOLERATION, max_size=2),
        "runtimeClassName": pick("windows-2022", "absent"),
        "hostNetwork": FLAG,
        "hostPID": FLAG,
        "hostIPC": FLAG,
        "hostUsers": FLAG,
        "shareProcessNamespace": FLAG,
        "terminationGracePeriodSeconds": NUMBER,
        "dnsPolicy": pick("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
        "dnsConfig": some(
            searches=st.lists(pick("a.b", "c"), max_size=3), options=st.lists(some(name=NAME), max_size=1)
        ),
        "securityContext": some(
            **SECURITY,
            fsGroup=NUMBER,
            fsGroupChangePolicy=pick("Always"),
            supplementalGroups=st.lists(NUMBER, max_size=2),
            supplementalGroupsPolicy=pick("Merge"),
            sysctls=st.lists(some(name=WORDS, value=WORDS), max_size=1),
        ),
        "volumes": st.lists(VOLUME, max_size=2),
        "resources": some(limits=some(memory=QUANTITY)),
        "restartPolicy": pick("Always", "Never"),
    },
)
METADATA = st.fixed_dictionaries({"name": NAME}, optional={"labels": LABELS, "namespace": pick("default", "shop")})
TEMPLATE = st.fixed_dictionaries({"metadata": METADATA, "spec": SPEC})


def _pod_in(kind: str, template: dict[str, Any]) -> dict[str, Any]:
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": kind, **template}
    named = {"apiVersion": "batch/v1", "kind": kind, "metadata": template["metadata"]}
    spec = {"template": template}
    return {**named, "spec": {"jobTemplate": {"spec": spec}} if kind == "CronJob" else spec}


PODS = st.builds(_pod_in, pick("Pod", "Deployment", "DaemonSet", "StatefulSet", "Job", "CronJob"), TEMPLATE)
OTHERS = st.one_of(
    st.builds(
        lambda metadata, spec: {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec},
        METADATA,
        some(
            type=pick("ClusterIP", "NodePort", "LoadBalancer", "Other"),
            selector=LABELS,
            sessionAffinity=pick("ClientIP"),
            sessionAffinityConfig=some(clientIP=some(timeoutSeconds=NUMBER)),
            externalTrafficPolicy=pick("Local", "Cluster"),
            internalTrafficPolicy=pick("Local"),
            ipFamilies=st.lists(pick("IPv4", "IPv6"), max_size=2),
            ports=st.lists(some(port=NUMBER, protocol=pick("SCTP", "TCP")), max_size=1),
        ),
    ),
    st.builds(
        lambda metadata, spec: {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": spec,
        },
        METADATA,
        some(
            volumeMode=pick("Block", "Filesystem"), storageClassName=NAME, accessModes=st.lists(pick("ReadWriteMany"))
        ),
    ),
    st.builds(
        lambda handler, selector: {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": "windows-2022"},
            "handler": handler,
            "scheduling": {"nodeSelector": selector},
        },
        pick("runhcs-wcow-process", "runhcs-wcow-hypervisor", "runc"),
        SELECTOR,
    ),
)
FLAGGED = [fixture["flagged"] for _, fixture in CASES if isinstance(fixture["flagged"], dict)]


def _with_all_of(patches: list[dict[str, Any]]) -> dict[str, Any]:
    pod: dict[str, Any] = yaml.safe_load(BASE)
    for patch in patches:
        pod = merged(pod, patch)
    return pod


# What several fixtures flag, in one pod: each rule's own case comes up, beside those of others.
MIXED = st.builds(_with_all_of, st.lists(pick(*FLAGGED), min_size=1, max_size=6))


@st.composite
def manifests(draw: st.DrawFn) -> list[Any]:
    """A few objects. A function for the sake of the messages: Hypothesis names it and not all that is in it."""
    return draw(st.lists(PODS | MIXED | OTHERS, min_size=1, max_size=3))


ODD = st.recursive(
    st.none() | FLAG | st.integers(-2, 2**33) | st.floats(allow_nan=False) | WORDS | pick("windows", "a.b", "ü\n"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS | pick("name", "key"), inner, max_size=2),
    max_leaves=4,
)


@st.composite
def damaged(draw: st.DrawFn) -> list[Any]:
    """Manifests with odd values in odd places."""
    chance = draw(st.randoms(use_true_random=False))
    odd = draw(st.lists(ODD, min_size=1, max_size=4))
    return [_damage(each, odd, chance) for each in draw(manifests())]


def _damage(value: Any, odd: list[Any], chance: Random) -> Any:
    if chance.random() < 0.08:
        return chance.choice(odd)
    if isinstance(value, dict):
        return {key: _damage(item, odd, chance) for key, item in value.items()}
    return [_damage(item, odd, chance) for item in value] if isinstance(value, list) else value


@st.composite
def written(draw: st.DrawFn) -> tuple[str, str]:
    """(file name, text): YAML in several layouts, or JSON."""
    values = draw(manifests())
    if draw(st.integers(0, 4)) == 0:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": values}, indent=draw(pick(None, 2, "\t")))
        return "f.json", text
    layout = {
        "default_flow_style": draw(pick(False, True, None)),
        "indent": draw(pick(2, 4)),
        "width": draw(pick(20, 120)),
    }
    text = yaml.safe_dump_all(values, sort_keys=False, allow_unicode=draw(FLAG), explicit_start=True, **layout)
    if draw(FLAG):
        text = "".join(f"# a comment\n{line}\n\n" if line == "---" else f"{line}\n" for line in text.split("\n")[:-1])
    return "f.yml", text.replace("\n", "\r\n") if draw(st.integers(0, 4)) == 0 else text
