# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate for API objects: what of them is used has the type, size and form that the API gives it, or the answer is
refused with the object's name and the field's path. Every answer passes here (`answer.check_answer`).

To use one more field of a kind, name it in the kind's shape. To add a kind, write its shape and put it into KINDS by
its plural; a kind without one has only its metadata checked. To work with a frozen dataclass, write a `gate.Record`
beside the code that uses it and call it with the object: it checks what it takes.

Sources: k8s.io/api v0.37.1 core/v1/types.go, apps/v1, discovery/v1, certificates/v1, policy/v1, node/v1; apimachinery
v0.37.1 pkg/api/validation/path/name.go (what a name may hold), pkg/apis/meta/v1/types.go, pkg/api/resource/quantity.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..engine.gate import Base64, Either, Fields, Flag, Free, Listing, Number, Shape, Table, Text

MEGA = 1024 * 1024
WORD = Text(what="a text of one line", pattern=re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]*"))
NAME = Text(253, re.compile(r"(?!\.{1,2}$)[^/%\s\x00-\x1f\x7f-\x9f]+"), "a name")
"""Of any object: it may stand in a path."""
DNS_NAME = Text(253, re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?"), "a name of lower-case letters, digits, '-' and '.'")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
TIME = Text(40, _TIME, "a time as 2026-11-29T12:00:00Z")
QUANTITY = Either(
    (
        Text(64, re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+|[numkMGTPE]|[KMGTPE]i)?"), "a quantity"),
        Number(-(2**63)),
    ),
    "a quantity as 500m or 4Gi",
)
PORT = Either((Number(0, 65535), WORD), "a port from 0 to 65535 or its name")
LABELS = Table(WORD, key=WORD)
ANNOTATIONS = Table(Text(MEGA), key=WORD)
STRINGS = Listing(Text(MEGA))
WORDS = Listing(WORD)

METADATA = Fields(
    name=NAME,
    namespace=DNS_NAME,
    uid=WORD,
    resourceVersion=WORD,
    generateName=WORD,
    generation=Number(),
    creationTimestamp=TIME,
    deletionTimestamp=TIME,
    labels=LABELS,
    annotations=ANNOTATIONS,
    finalizers=WORDS,
    ownerReferences=Listing(Fields(kind=WORD, name=NAME, uid=WORD, apiVersion=WORD, controller=Flag())),
)
OF_DNS = Fields({"metadata": Fields({"name": DNS_NAME}, **METADATA.shapes)})
OBJECT = Fields(metadata=METADATA, spec=Fields(), status=Fields())
"""Of an object of a kind that is not in KINDS; a review has no name."""
CONDITIONS = Listing(Fields({"type": WORD, "status": WORD}, reason=Free(), message=Free(), lastTransitionTime=TIME))


def _kind(name: Shape, **parts: Shape) -> Fields:
    return Fields({"metadata": Fields({"name": name}, **METADATA.shapes)}, **parts)


TAINT = Fields({"key": WORD, "effect": WORD}, value=WORD, timeAdded=TIME)
TOLERATION = Fields(key=WORD, operator=WORD, value=WORD, effect=WORD)
NODE = _kind(
    DNS_NAME,
    spec=Fields(podCIDR=WORD, podCIDRs=WORDS, providerID=WORD, unschedulable=Flag(), taints=Listing(TAINT)),
    status=Fields(
        capacity=Table(QUANTITY),
        allocatable=Table(QUANTITY),
        conditions=CONDITIONS,
        addresses=Listing(Fields({"type": WORD, "address": WORD})),
        daemonEndpoints=Fields(kubeletEndpoint=Fields(Port=Number(0, 65535))),
        nodeInfo=Table(Either((WORD, Fields()), "a text of one line")),
        images=Listing(Fields(names=WORDS, sizeBytes=Number())),
    ),
)
_STATE = Fields(
    waiting=Fields(reason=Free(), message=Free()),
    running=Fields(startedAt=TIME),
    terminated=Fields(
        reason=Free(), message=Free(), exitCode=Number(-(2**31)), startedAt=TIME, finishedAt=TIME, signal=Number()
    ),
)
_RESOURCES = Fields(requests=Table(QUANTITY), limits=Table(QUANTITY))
CONTAINER = Fields(
    {"name": WORD},
    image=WORD,
    command=STRINGS,
    args=STRINGS,
    env=Listing(Fields({"name": WORD}, value=Text(MEGA), valueFrom=Fields())),
    ports=Listing(Fields(containerPort=Number(0, 65535), hostPort=Number(0, 65535), name=WORD, protocol=WORD)),
    resources=_RESOURCES,
    securityContext=Fields(privileged=Flag(), windowsOptions=Fields()),
    volumeMounts=Listing(Fields({"name": WORD}, mountPath=WORD, subPath=WORD, readOnly=Flag())),
)
POD_SPEC = Fields(
    nodeName=DNS_NAME,
    hostNetwork=Flag(),
    serviceAccountName=WORD,
    nodeSelector=LABELS,
    tolerations=Listing(TOLERATION),
    containers=Listing(CONTAINER),
    initContainers=Listing(CONTAINER),
    ephemeralContainers=Listing(CONTAINER),
    volumes=Listing(Fields({"name": WORD})),
    securityContext=Fields(windowsOptions=Fields()),
    runtimeClassName=WORD,
    restartPolicy=WORD,
    priorityClassName=WORD,
    affinity=Fields(),
    os=Fields(name=WORD),
    terminationGracePeriodSeconds=Number(),
)
_CONTAINER_STATUS = Listing(
    Fields(
        {"name": WORD},
        ready=Flag(),
        restartCount=Number(),
        state=_STATE,
        lastState=_STATE,
        image=WORD,
        imageID=WORD,
        containerID=WORD,
    )
)
POD = _kind(
    DNS_NAME,
    spec=POD_SPEC,
    status=Fields(
        phase=WORD,
        podIP=WORD,
        hostIP=WORD,
        podIPs=Listing(Fields(ip=WORD)),
        reason=Free(),
        message=Free(),
        startTime=TIME,
        conditions=CONDITIONS,
        containerStatuses=_CONTAINER_STATUS,
        initContainerStatuses=_CONTAINER_STATUS,
    ),
)
TEMPLATE = Fields(metadata=METADATA, spec=POD_SPEC)
WORKLOAD = _kind(
    DNS_NAME,
    spec=Fields(template=TEMPLATE, replicas=Number(), selector=Fields(matchLabels=LABELS), updateStrategy=Fields()),
    status=Fields(
        conditions=CONDITIONS,
        replicas=Number(),
        readyReplicas=Number(),
        availableReplicas=Number(),
        desiredNumberScheduled=Number(),
        currentNumberScheduled=Number(),
        numberReady=Number(),
        numberAvailable=Number(),
        updatedNumberScheduled=Number(),
        observedGeneration=Number(),
    ),
)
SERVICE = _kind(
    DNS_NAME,
    spec=Fields(
        clusterIP=WORD,
        clusterIPs=WORDS,
        type=WORD,
        selector=LABELS,
        externalName=WORD,
        externalIPs=WORDS,
        loadBalancerIP=WORD,
        externalTrafficPolicy=WORD,
        internalTrafficPolicy=WORD,
        sessionAffinity=WORD,
        ports=Listing(Fields({"port": Number(0, 65535)}, name=WORD, protocol=WORD, targetPort=PORT, nodePort=Number())),
    ),
    status=Fields(loadBalancer=Fields(ingress=Listing(Fields(ip=WORD, hostname=WORD)))),
)
ENDPOINT_SLICE = _kind(
    DNS_NAME,
    addressType=WORD,
    endpoints=Listing(
        Fields(
            addresses=WORDS,
            conditions=Fields(ready=Flag(), serving=Flag(), terminating=Flag()),
            nodeName=WORD,
            hostname=WORD,
            targetRef=Fields(kind=WORD, name=NAME, namespace=DNS_NAME),
        )
    ),
    ports=Listing(Fields(name=WORD, port=Number(0, 65535), protocol=WORD)),
)
CONFIG_MAP = _kind(DNS_NAME, data=Table(Text(2 * MEGA)), binaryData=Table(Base64(3 * MEGA)))
SECRET = _kind(DNS_NAME, type=WORD, data=Table(Base64(3 * MEGA)))
REQUEST = _kind(
    NAME,
    spec=Fields(request=Base64(MEGA), signerName=WORD, username=WORD, groups=WORDS, usages=WORDS),
    status=Fields(conditions=CONDITIONS, certificate=Base64(MEGA)),
)
BUDGET = _kind(
    DNS_NAME,
    spec=Fields(selector=Fields(matchLabels=LABELS)),
    status=Fields(disruptionsAllowed=Number(), currentHealthy=Number(), desiredHealthy=Number()),
)
EVENT = _kind(
    NAME,
    reason=Free(),
    message=Free(),
    type=WORD,
    count=Number(),
    involvedObject=Fields(kind=WORD, name=WORD, namespace=WORD),
    firstTimestamp=TIME,
    lastTimestamp=TIME,
)
RUNTIME_CLASS = _kind(DNS_NAME, handler=WORD, scheduling=Fields(nodeSelector=LABELS, tolerations=Listing(TOLERATION)))

KINDS: dict[str, Shape] = {
    "/version": Fields({"gitVersion": WORD}),
    "certificatesigningrequests": REQUEST,
    "configmaps": CONFIG_MAP,
    "daemonsets": WORKLOAD,
    "deployments": WORKLOAD,
    "endpointslices": ENDPOINT_SLICE,
    "events": EVENT,
    "namespaces": OF_DNS,
    "nodes": NODE,
    "poddisruptionbudgets": BUDGET,
    "pods": POD,
    "replicasets": WORKLOAD,
    "runtimeclasses": RUNTIME_CLASS,
    "secrets": SECRET,
    "serviceaccounts": OF_DNS,
    "services": SERVICE,
    "statefulsets": WORKLOAD,
}


def check(plural: str, said: dict[str, Any]) -> dict[str, Any]:
    """An object of the kind, or a list of them, with its checked fields. Unexpected."""
    shape = KINDS.get(plural, OBJECT)
    if "items" not in said or "List" not in str(said.get("kind")):
        return dict(shape(said, ""))
    items = said["items"] or ()
    return {**said, "items": [shape(each, _name(each, n)) for n, each in enumerate(items)]}


def _name(item: Any, number: int) -> str:
    """The path of an item in a list: by its name, if that is one."""
    metadata = item.get("metadata") if isinstance(item, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    named = isinstance(name, str) and NAME.pattern is not None and NAME.pattern.fullmatch(name) and len(name) <= 253
    return f"items[{number}] ({name})" if named else f"items[{number}]"


def full_name(thing: Mapping[str, Any]) -> str:
    """`namespace/name` of an object; its name alone where it has no namespace."""
    metadata = thing.get("metadata") or {}
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}".lstrip("/")
