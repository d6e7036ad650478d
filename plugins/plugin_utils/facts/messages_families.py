# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Causes by the two ends of a line: what was being done (a group of message_places) and the class of the reason.

A file of its own: what no particular message knows is still known by where it failed and why: a mount with a deadline
waits for its driver, whichever program prints it in whichever words. A class is what several libraries say of one and
the same thing. The first row that fits counts; these stand after all particular messages (words/messages.py).
"""

from __future__ import annotations

from . import windows_codes as win
from .message import Message, Reasons, Rule
from .message_places import (
    ANY_API,
    ANY_CERTIFICATE,
    ANY_CONFIG,
    ANY_CONTAINER,
    ANY_IMAGE,
    ANY_LAYER,
    ANY_NETWORK,
    ANY_STREAM,
    ANY_UNMOUNT,
    ANY_VOLUME,
    CLUSTER,
    CONTAINER,
    CREDENTIALS,
    DEVICES,
    DNS,
    ENDPOINT,
    ETCD,
    HCS,
    HNS,
    KUBELET,
    LAYER,
    METADATA,
    NETWORK,
    OWN_PORT,
    PROBE,
    PULL,
    REMOVE_LAYER,
    SHARE,
    SOCKET,
    WEBHOOK,
)

_GO = "Go net, net/http, crypto/x509, os; "
_CSI = "container-storage-interface/spec spec.md, Error Scheme"
_CRI = "containerd/containerd internal/cri/server"
_HCS = "microsoft/hcsshim internal/hcs/errors.go"

_REFUSED = r"connection refused|actively refused|connectex: |connect: .{0,40}refused|No connection could be made"
_SILENT = (
    r"i/o timeout|no route to host|TLS handshake timeout|connection timed out|Client\.Timeout|"
    r"unreachable (?:network|host)|"
    r"failed to respond|network is unreachable|request timed out"
)
_CUT = (
    r"reset by peer|forcibly closed|broken pipe|unexpected EOF|: EOF\b|server closed|client connection lost|"
    r"use of closed"
)
_NO_NAME = (
    r"no such host|Name or service not known|name resolution|server misbehaving|remote name could not be resolved"
)
_NO_WAY: Reasons = (_REFUSED, _SILENT, _CUT, _NO_NAME)
_DEADLINE: Reasons = (r"context deadline exceeded|DeadlineExceeded|deadline exceeded|stream timeout",)
_DENIED_BY_PEER: Reasons = (
    r"(?:status(?: ?code)?|code|HTTP|response)[^\w\n]{0,4}(?:401|403)\b|\b40[13] (?:Forbidden|Unauthorized)|"
    r"AuthorizationFail(?:ed|ure)|AuthorizationPermissionMismatch|UnauthorizedOperation|AccessDenied(?:Exception)?|"
    r"PermissionDenied|Unauthenticated|not authorized to|invalid_client|InvalidAuthenticationToken|"
    r"(?:failed to|could not) (?:get|acquire|obtain|retrieve).{0,60}(?:token|credential|storage key)|"
    r"AADSTS\d+|NoCredentialProviders|"
    r"ExpiredToken|"
    r"(?:secret|credential)s? (?:is|are|was) not (?:set|provided|found)|permission denied\b.{0,40}\bvault|"
    r"does not have (?:authorization|(?:secrets \w+ )?permission)",
)
_ABSENT_AT_PEER: Reasons = (
    r"ResourceNotFound|ShareNotFound|SecretNotFound|InvalidVolume\.NotFound|ResourceGroupNotFound|"
    r"(?:status(?: ?code)?|HTTP)[^\w\n]{0,4}404\b|was not found in this key vault",
)
_CANNOT: Reasons = (r"code = Unimplemented|unknown service \S+|unknown method|volume mode \S+ not supported by driver",)
_FOLDER_DENIED: Reasons = (win.ERROR_ACCESS_DENIED, r"permission denied|EACCES|operation not permitted")
_MISSING: Reasons = (
    *(win.ERROR_FILE_NOT_FOUND, win.ERROR_PATH_NOT_FOUND),
    r"no such file or directory|ENOENT|(?<!skipped because )path does not exist|"
    r"Could not find (?:a part of the path|file)",
)
_EXISTS: Reasons = (
    *(win.ERROR_FILE_EXISTS, win.ERROR_ALREADY_EXISTS),
    r"file exists\b|EEXIST|exists but is not a (?:directory|symlink)|(?:mount ?point|target|"
    r"path) \S* ?already (?:exists|mounted)",
)
_IN_USE: Reasons = (
    *(win.ERROR_SHARING_VIOLATION, win.ERROR_BUSY),
    r"device or resource busy|EBUSY|requested resource is in use|being used by another process",
)
_NO_FORM: Reasons = (
    r"invalid character '|cannot unmarshal|unexpected end of JSON|error (?:un)?marshal|yaml: (?:line|unmarshal|did not|"
    r"mapping|control|found|invalid)|error converting YAML|toml: |strict decoding error|unknown field \"|"
    r"did not find expected|mapping values are not allowed|no kind \"\S+\" is registered|failed to (?:parse|"
    r"decode|unmarshal)",
)
_BAD_KEYS: Reasons = (
    r"private key does not match public key|failed to find any PEM data|private key type does not match|asn1: |"
    r"failed to parse (?:private key|certificate|any PEM)|(?:could not|unable to|failed to|error) (?:load|read|"
    r"reading|loading)"
    r".{0,40}(?:key pair|keypair|certificate|cert file|private key|key file|\.crt|\.pem)|"
    r"data does not contain any valid|"
    r"error decrypting|malformed certificate|specifying a root certificates file",
)
_OVERLOADED: Reasons = (
    r"the server is currently unable to "
    r"handle the request|Too ?Many ?Requests|apiserver not ready|"
    r"the server was unable to return a response in the time|"
    r"an error on the server \(|"
    r"the server has received too many requests|client rate limiter Wait",
)
_NO_API: Reasons = (
    r"the server could not find the requested resource(?! \( ?pods/)|no matches for kind|no kind match|"
    r"resource type \S+ not found|"
    r"the server doesn't have a resource type|no endpoints? registered for|failed to get API group resources",
)
_NO_TLS: Reasons = (
    r"server gave HTTP response to HTTPS client|first record does not look like a TLS handshake|"
    r"Client sent an HTTP request to an HTTPS server",
)
_SHORT: Reasons = (
    r"unexpected commit (?:digest|size)|failed size validation|digest (?:mismatch|verification failed)|short read|"
    r"unexpected EOF|content digest \S+: not found|mismatched? (?:rootfs|image rootfs)|wrong diff id|"
    r"filesystem layer verification failed|archive/tar: |gzip: invalid|invalid tar header|invalid checksum|"
    r"blob not found",
)
_AT_REGISTRY: Reasons = (
    r"(?:status(?: ?code)?\S*|HTTP)[^\n]{0,160}?\b50[0-4]\b|unknown blob|blob unknown|"
    r"received unexpected HTTP status: 5|"
    r"\b50[0-4] (?:Internal Server Error|Bad Gateway|Service Unavailable|Gateway)",
)
_CRASHED: Reasons = (
    r"(?<![\w-])(?<!Exception code: )(?:0xc0000139|3221225785|-1073741511|"
    r"0xc0000005|3221225477|-1073741819|0xc0000409|3221226505|"
    r"-1073740791|0xc00000fd|3221225725|"
    r"-1073741571|"
    r"0xc0000374|3221226356|-1073740940|0xc000001d|3221225501|-1073741795|0xe0434352|3762504530|-532462766)(?!\w)",
)
_SHIM: Reasons = (r"ttrpc: closed|shim (?:died|exited|not running)|shim task .{0,40}(?:closed|gone)",)
"""That a shim disconnected is said of each container that ends (containerd/containerd#11815)."""

FAMILIES: tuple[Message | Rule, ...] = (
    # What etcd says is the reason, whatever wraps it
    Rule(
        "cluster.overloaded",
        ("etcdserver: (?:request timed out|leader changed|too many requests|no leader|mvcc: database space exceeded)",),
        "etcd-io/etcd api/v3rpc/rpctypes",
        early=True,
    ),
    # Volumes
    Rule("volume.in-use", _IN_USE, "kubernetes/kubernetes pkg/volume/util/operationexecutor", doing=(ANY_UNMOUNT,)),
    Rule("volume.in-use", (win.ERROR_SHARING_VIOLATION,), "kubernetes/kubernetes pkg/volume", doing=(ANY_VOLUME,)),
    Rule("container.csi-driver", (r"csi\.sock|connection error: desc|no CSIDriver object",), _CSI, doing=(ANY_VOLUME,)),
    Rule("volume.driver-cannot", _CANNOT, _CSI, doing=(ANY_VOLUME,), never=(DEVICES,)),
    Rule("volume.driver-backend", _NO_WAY, _CSI, doing=(ANY_VOLUME,), never=(SHARE, WEBHOOK)),
    Rule("volume.driver-denied", _DENIED_BY_PEER, _CSI, doing=(ANY_VOLUME,), never=(SHARE,)),
    Rule("volume.driver-absent", _ABSENT_AT_PEER, _CSI, doing=(ANY_VOLUME,)),
    Rule("volume.leftover", _EXISTS, _CSI, doing=(ANY_VOLUME,), never=(HNS,)),
    Rule("volume.folder-denied", _FOLDER_DENIED, _CSI, doing=(ANY_VOLUME,), never=(SHARE,)),
    Rule("volume.path-missing", _MISSING, _CSI, doing=(ANY_VOLUME,), never=(SHARE,)),
    Rule("volume.driver-slow", _DEADLINE, _CSI, doing=(ANY_VOLUME,), early=True),
    # Images and layers
    Rule(
        "image.name",
        (r"InvalidImageName|invalid reference format|couldn't parse image (?:name|reference)|repository name must be",),
        "kubernetes/kubernetes pkg/util/parsers; distribution/reference",
    ),
    Rule(
        "image.credentials",
        (r"(?:exec|running|executing) credential provider|credential provider plugin",),
        "kubernetes/kubernetes pkg/credentialprovider/plugin",
        doing=(CREDENTIALS,),
    ),
    Rule(
        "image.form",
        (
            r"schema 1|unsupported (?:media|manifest)|unexpected media type|encountered unknown type|"
            r"mediaType .{0,80}not supported",
        ),
        "containerd/containerd core/images",
        doing=(ANY_IMAGE,),
    ),
    Rule(
        "image.registry-unreachable",
        (r"(?:Get|Head|request:) [^\n]{0,400}: (?:unexpected )?EOF",),
        "Go net/http transport.go",
        doing=(PULL,),
    ),
    Rule("image.damaged", _SHORT, "containerd/containerd core/content, core/remotes", doing=(ANY_IMAGE, ANY_LAYER)),
    Rule("image.registry-error", _AT_REGISTRY, "containerd/containerd core/remotes/docker", doing=(ANY_IMAGE,)),
    Rule("image.registry-unreachable", _NO_WAY, _GO + _CRI, doing=(PULL,)),
    Rule(
        "container.scratch",
        (
            r"(?:ExpandSandboxSize|ExpandScratch|CreateScratch|CreateSandboxLayer|sandbox\.vhdx).{0,300}(?:failed|"
            r"denied|cannot|error|not enough)",
        ),
        "microsoft/hcsshim internal/wclayer",
        doing=(ANY_LAYER, HCS),
    ),
    Rule(
        "image.layer",
        (*_IN_USE, *_FOLDER_DENIED, *_MISSING, *_EXISTS),
        "microsoft/hcsshim internal/wclayer",
        doing=(LAYER,),
        never=(CONTAINER, REMOVE_LAYER),
    ),
    # Networks of pods
    Rule(
        "cni.calico-not-ready",
        (r"calico\S*[\\/]+nodename\b|stat \S*nodename: |calico/node is not ready|check that the calico/node",),
        "projectcalico/calico cni-plugin/pkg/k8s, internal/pkg/utils",
        over=("cni.file-missing",),
    ),
    Rule(
        "cni.antrea-controller",
        (*_NO_WAY, r"x509: "),
        "antrea-io/antrea pkg/agent/client",
        doing=("connecting to antrea-controller",),
    ),
    Rule(
        "cni.plugin-crashed",
        (
            r"netplugin failed with no error|netplugin failed but error parsing its diagnostic message \"(?:\"|\{)|"
            r"unexpected end of JSON|exit status 3221\d{6}\b|^(?!.*\b(?:Get|Post|Put|Patch) \"?https?:).*: EOF\b",
        ),
        "containernetworking/cni pkg/invoke/exec.go",
        doing=(ANY_NETWORK,),
    ),
    Rule(
        "hns.broken-state",
        (
            r"[Uu]nspecified [Ee]rror|Catastrophic failure|0x8000ffff|0x80004005|-2147467259|2147500037|"
            r"HNS failed with error ?: \S*(?:\u5220\u9664|failed to create endpoint)",
        ),
        "docker/for-win#2102; MicrosoftDocs/Virtualization-Documentation#273",
        doing=(ENDPOINT, NETWORK, HNS),
    ),
    Rule(
        "cni.file-missing",
        _MISSING,
        "containernetworking/cni; projectcalico/calico cni-plugin",
        doing=(ANY_NETWORK,),
        never=(HNS, SOCKET),
    ),
    # Containers
    Rule(
        "pod.not-running",
        (
            r"container (?:not found|\S+ (?:is )?not (?:found|running|created))|cannot exec in a (?:stopped|deleted)|"
            r"container not running|previous terminated container \S+ .{0,60}not found|pod \S+ does not exist",
        ),
        "kubernetes/kubernetes pkg/kubelet/kubelet_pods.go",
        doing=(ANY_STREAM, KUBELET),
    ),
    Rule(
        "kubelet.request-denied",
        (r"\b(?:Forbidden|Unauthorized)\b",),
        "kubernetes/kubernetes pkg/kubelet/server/auth.go",
        doing=(KUBELET,),
        never=(WEBHOOK, PULL),
    ),
    Rule(
        "pod.probe",
        (
            r"probe failed with status ?code: \d+|"
            r"(?:(?:Liveness|Readiness|Startup)(?: |-)?probe|prober?\.go|ProbeError|probeType)\b.{0,400}"
            r"(?:refused|deadline exceeded|timed? ?out|Client\.Timeout|status ?code: \d+)|"
            r"ExecSync\b.{0,300}(?:deadline|timed out)",
        ),
        "kubernetes/kubernetes pkg/kubelet/prober",
    ),
    Message(
        "pod.stream",
        "missing upgrade headers in request|[Uu]pgrade request required|you must specify at least 1 of stdin",
        "kubernetes/kubectl#1332: what stands between took the headers away",
    ),
    Rule(
        "pod.stream",
        (
            *_NO_WAY,
            *_DEADLINE,
            "bad handshake|lost connection to pod",
        ),
        "kubernetes/client-go tools/remotecommand, tools/portforward",
        doing=(ANY_STREAM,),
        never=(WEBHOOK, PULL, SOCKET),
    ),
    Rule(
        "container.crashed",
        _CRASHED,
        "learn.microsoft.com NTSTATUS Values (MS-ERREF)",
        doing=(ANY_CONTAINER,),
        never=(ANY_NETWORK, ANY_VOLUME),
    ),
    Message("container.memory", r"\bReason:\W*OOMKilled", "kubernetes/kubectl pkg/describe/describe.go"),
    Rule(
        "container.memory",
        (r"OOMKilled(?!\W{1,4}false)|out of memory|OutOfMemoryException",),
        _CRI,
        doing=(ANY_CONTAINER,),
    ),
    Rule(
        "start.port-in-use",
        (win.ERROR_SHARING_VIOLATION,),
        "docker/for-win: WinNAT does not get the port that is published",
        doing=(ENDPOINT,),
    ),
    Rule("container.id-exists", (win.HCS_E_SYSTEM_ALREADY_EXISTS,), _HCS),
    Rule("container.in-use", _IN_USE, _HCS, doing=(ANY_CONTAINER,), never=(ANY_VOLUME, ANY_NETWORK, ANY_LAYER)),
    Rule("container.parameter", (win.HCS_E_INVALID_JSON,), _HCS),
    Rule("container.parameter", (win.ERROR_INVALID_PARAMETER,), _HCS, doing=(CONTAINER,), never=(HNS,)),
    Rule(
        "container.shim",
        (*_SHIM, "transport is closing"),
        "containerd/ttrpc client.go; containerd/containerd core/runtime/v2",
        doing=(ANY_CONTAINER,),
        never=(ANY_VOLUME, ANY_IMAGE),
    ),
    Rule(
        "container.timeout",
        (*_DEADLINE, win.ERROR_TIMEOUT),
        _HCS,
        doing=(ANY_CONTAINER,),
        never=(ANY_VOLUME, ANY_IMAGE, ANY_API, PROBE, ANY_STREAM, ETCD, METADATA),
    ),
    # Devices, probes, the scheduler, figures
    Rule(
        "node.device",
        (
            *_NO_WAY,
            *_DEADLINE,
            *_CANNOT,
            *_MISSING,
            *_FOLDER_DENIED,
            "not registered|no healthy devices|devices unavailable for|no longer healthy",
        ),
        "kubernetes/kubernetes pkg/kubelet/cm/devicemanager",
        doing=(DEVICES,),
    ),
    Rule(
        "pod.no-node",
        (
            r"[Cc]ould not schedule pod|\d+/\d+ nodes are available|"
            r"[Nn]o nodes (?:are )?available|failed to fit in any node|"
            r"PodToleratesNodeTaints|(?:\d|\)) Insufficient (?:cpu|memory|pods|ephemeral|vpc)|"
            r"node\(s\) didn't match|MatchNodeSelector|"
            r"had (?:untolerated )?taints?",
        ),
        "kubernetes/kubernetes pkg/scheduler/framework/types.go",
    ),
    Rule(
        "pod.invalid",
        (
            r"cannot be handled as an? \w+: (?:strict decoding error|json: )|"
            r"The \w+ \"[^\"]*\" is invalid: \W*(?:[a-z]\w*[.\[]|\w+: (?:Invalid|Required|Forbidden|Unsupported|"
            r"Duplicate) ?\w*: )|"
            r"\bis invalid: (?:spec|metadata)\.|error validating (?:\"|data)|"
            r"unable to recognize \"",
        ),
        "kubernetes/apimachinery pkg/api/errors/errors.go",
        never=(WEBHOOK,),
    ),
    Rule(
        "node.pressure",
        (r"The node was low on resource|Evicted\b.{0,60}(?:memory|ephemeral|disk)|eviction manager: must evict",),
        "kubernetes/kubernetes pkg/kubelet/eviction",
    ),
    # Programs and their files
    Rule(
        "join.version",
        (
            r"this version of kubeadm only supports|kubelet version .{0,40}is (?:higher|lower|newer)|"
            r"ERROR KubeletVersion|unsupported (?:kubelet|control plane|kubernetes) version",
        ),
        "kubernetes/kubernetes cmd/kubeadm/app/preflight/checks.go",
    ),
    Rule(
        "start.instance",
        (
            r"(?:cloud ?provider|provider ?ID|kubelet\w*\.go|node ).{0,200}instance not found|"
            r"failed to get instance (?:metadata|ID)|"
            r"failed to get (?:node )?provider ?ID|cloud provider .{0,40}(?:not|no) (?:such )?instance",
        ),
        "kubernetes/kubernetes pkg/kubelet/nodestatus",
        never=(ANY_VOLUME,),
    ),
    Rule(
        "start.state-file",
        (
            r"(?:cpu|memory)_manager_state|checkpoint is corrupted|could not restore state from checkpoint|"
            r"corrupt checkpoint|failed to get endpoints from store|CPUs in state \S+|remove policy state file",
        ),
        "kubernetes/kubernetes pkg/kubelet/cm/cpumanager/state, checkpointmanager/errors",
    ),
    Rule(
        "start.database",
        (r"invalid database|(?:bolt|meta\.db).{0,80}(?:corrupt|invalid|checksum)|invalid freelist page",),
        "etcd-io/bbolt errors",
        doing=(ANY_CONTAINER,),
    ),
    Rule(
        "host.counters",
        (
            r"perf(?:ormance)? ?counters?.{0,120}(?:fail|error|unable|not found|invalid)|PdhAddEnglishCounter|"
            r"0x800007d|(?:0x|\b)c0000bb[0-9a-f]\b|collector \w+ failed after \S+: counter not found|"
            r"unable to collect data from counter",
        ),
        "kubernetes/kubernetes pkg/kubelet/winstats",
        early=True,
    ),
    Message(
        "host.time",
        "token used before issued|token is not valid yet|token is issued in the future",
        "go-jose/go-jose jwt/validation.go; kubernetes/kubernetes pkg/serviceaccount/claims.go",
    ),
    Rule("host.time", ("issued in the future|clock skew|not valid before",), "Go crypto/x509 verify.go", doing=CLUSTER),
    Message("start.key-pair", "Could not load X509 key pair", "moby/moby docker/go-connections tlsconfig"),
    Message("start.config", "unable to configure the Docker daemon with file", "moby/moby cmd/dockerd/daemon.go"),
    Rule("start.key-pair", _BAD_KEYS, _GO + "k8s.io/client-go util/cert", doing=CLUSTER, never=(WEBHOOK, PULL)),
    Rule(
        "start.config",
        _NO_FORM,
        "sigs.k8s.io/yaml; go-toml; encoding/json",
        doing=(ANY_CONFIG,),
        never=(ANY_NETWORK, PULL, WEBHOOK),
    ),
    Rule(
        "start.config",
        (*_MISSING, *_FOLDER_DENIED),
        "Go os",
        doing=(ANY_CONFIG,),
        never=(ANY_NETWORK, PULL, WEBHOOK, ANY_VOLUME, ANY_CERTIFICATE),
    ),
    Rule(
        "host.cloud-denied",
        (
            r"UnauthorizedOperation|is not authorized to perform|AuthorizationFailed|AccessDenied(?:Exception)?\b|"
            r"AADSTS\d+",
        ),
        "learn.microsoft.com Microsoft Entra error codes; docs.aws.amazon.com Common Errors",
        doing=CLUSTER,
        never=(ANY_VOLUME, ANY_IMAGE),
    ),
    Rule(
        "traffic.names",
        (win.ERROR_TIMEOUT, "ERROR_TIMEOUT|DNS request timed out|OperationTimeout"),
        "learn.microsoft.com Resolve-DnsName",
        doing=(DNS,),
    ),
    # The cluster
    Rule("cluster.not-https", _NO_TLS, "Go net/http transport.go", doing=CLUSTER, never=(ANY_IMAGE,)),
    Rule(
        "cluster.api-missing",
        _NO_API,
        "kubernetes/apimachinery pkg/api/errors, pkg/api/meta",
        doing=CLUSTER,
        never=(WEBHOOK,),
    ),
    Rule(
        "cluster.overloaded",
        _OVERLOADED,
        "etcd-io/etcd api/v3rpc/rpctypes; kubernetes/apimachinery pkg/api/errors",
        doing=CLUSTER,
        never=(WEBHOOK, PULL),
        early=True,
    ),
    Rule(
        "cluster.unreachable",
        (*_NO_WAY, *_DEADLINE),
        _GO + "kubernetes/client-go",
        doing=(ANY_API,),
        never=(ANY_VOLUME, ANY_IMAGE, WEBHOOK, KUBELET, OWN_PORT, SOCKET, METADATA, ETCD, PROBE, DEVICES, ANY_STREAM),
        early=True,
    ),
)
