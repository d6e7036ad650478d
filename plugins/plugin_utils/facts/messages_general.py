# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How each program says that something failed, whatever the reason, and words for a state: consequences, not causes.

A file of its own: what only these fit is told as a place ("Not known: ..."), never as a definite cause, since the
reason is what the line wraps, or stands elsewhere. They come last (words/precedence.py). A test gives each literal of
upstream that wraps another error a reason without a pattern: what is known without it belongs here.
"""

from __future__ import annotations

from . import windows_codes as win
from .message import Message, Rule
from .message_places import ANY_STREAM, ANY_VOLUME, CODES, DISK, GMSA

_CODED = "|".join([*(each.pattern for each, kind in CODES if kind in {"net", "errno", "x509"}), *win.TEXTS.values()])
PANIC = Message(
    "start.panic",
    rf"^panic: (?!(?:(?!goroutine).){{0,600}}?(?:{_CODED}))|\bObserved a panic: |\bruntime\.(?:gopanic|fatalpanic)\b|"
    r"^fatal error: (?:all goroutines|thread exhaustion|out of memory|"
    r"concurrent map|stack overflow|runtime|unexpected signal|fault|checkmark|schedule)",
    "Go runtime/panic.go",
)
"""The one cause here: it stands behind every reason that the same line may name. A panic whose value is an error
with a code is not a mistake of the program: it is a place, below."""

MESSAGES: tuple[Message | Rule, ...] = (
    # Of one step of a pod
    Message(
        "volume.of-image",
        r"failed to (?:copy|set ?up|get) (?:image )?volumes?:? |failed to mount image volume|stat volume in rootfs|"
        r"copy(?:ing)? (?:up )?(?:existing )?(?:volume )content",
        "containerd/containerd internal/cri/opts/container.go, WithVolumes",
    ),
    Message(
        "volume.subpath",
        r"failed to (?:prepare|create) subPath|unable to provision SubPath",
        "kubernetes/kubernetes pkg/kubelet/kubelet_pods.go",
    ),
    Rule(
        "volume.expand",
        (r"PartitionSupportedSize : |(?:resize|expand)\w*.{0,200}(?:fail|error|not supported|deadline)",),
        "container-storage-interface/spec spec.md, NodeExpandVolume",
        doing=(ANY_VOLUME,),
        over=("volume.format",),
    ),
    Message(
        "volume.format",
        r"could not format \S|error formatting volume|Format-Volume\b.{0,200}(?:fail|error|denied)|"
        r"Initialize-Disk\b.{0,200}(?:fail|error)|(?:error|failed) (?:initializing|partitioning) disk",
        "kubernetes-csi/csi-proxy pkg/os/volume/api.go, pkg/os/disk/api.go",
    ),
    Rule("volume.format", ("failed|error",), "kubernetes-csi/csi-proxy pkg/os", doing=(DISK,)),
    Rule(
        "volume.claim",
        ("ProvisioningFailed|failed to provision volume",),
        "kubernetes-sigs/sig-storage-lib-external-provisioner controller/controller.go",
        doing=(ANY_VOLUME,),
    ),
    Rule(
        "volume.attach",
        ("Attach failed for volume|AttachVolume.Attach failed|FailedAttachVolume",),
        "kubernetes/kubernetes pkg/volume/util/operationexecutor/operation_generator.go",
        doing=(ANY_VOLUME,),
    ),
    Message(
        "image.layer",
        r"\b(?:\w*Layer|ExpandSandboxSize)\b(?!.*already exists).*(?:failed|denied|cannot|could not)|re-exec "
        r"error.*ociwclayer|failed to (?:extract|register) layer",
        "moby/moby#26873; microsoft/hcsshim internal/wclayer",
        over=("container.refused",),
    ),
    Rule(
        "container.gmsa",
        (
            win.RPC_S_SERVER_UNAVAILABLE,
            win.ERROR_ACCESS_DENIED,
            win.ERROR_NOT_FOUND,
            r"identity is incorrect|0xc0020017|3489792023|failed to (?:instantiate|setup|set up)|"
            r"RPC_S_SERVER_UNAVAILABLE|ERROR_NO_TRUST_SAM_ACCOUNT|0x6fb\b|"
            r"CredentialSpec|not authorized|does not exist|ERROR_TRUSTED|0x6ba\b",
        ),
        "learn.microsoft.com Troubleshoot gMSAs for Windows containers",
        doing=(GMSA,),
        over=("container.refused",),
    ),
    Message(
        "pod.hook", r"FailedPostStartHook|FailedPreStopHook|PostStartHook failed", "kubernetes pkg/kubelet/lifecycle"
    ),
    Message(
        "pod.probe",
        r"(?:Liveness|Readiness|Startup) probe (?:failed|errored)|ProbeError",
        "kubernetes/kubernetes pkg/kubelet/prober",
    ),
    Rule(
        "pod.stream",
        (r"websocket: |stream error|unable to upgrade|error stream|SPDY|error copying from",),
        "kubernetes/client-go tools/remotecommand, tools/portforward",
        doing=(ANY_STREAM,),
    ),
    Message(
        "container.shim",
        r"failed to (?:start|connect to|shutdown|delete) shim\b",
        "containerd/containerd core/runtime/v2",
    ),
    Message("flannel.etcd", "Couldn't fetch network config", "flannel-io/flannel pkg/subnet/etcd"),
    Message("flannel.net-conf-backend", "Error fetching backend", "flannel-io/flannel main.go"),
    Message("flannel.node-name", "error retrieving pod spec for", "flannel-io/flannel pkg/subnet/kube/kube.go"),
    Message(
        "flannel.forwarding",
        "failed to enable forwarding on|failed to find interface for IP Address",
        "flannel-io/flannel#1858",
    ),
    Message(
        "flannel.bridge-endpoint",
        "failed to hot attach bridge HNSEndpoint",
        "flannel-io/flannel#1112",
        over=("hns.refused",),
    ),
    Message(
        "kube-proxy.hostname-override",
        "Failed to retrieve node IPs?",
        "kubernetes/kubernetes cmd/kube-proxy/app/server.go",
    ),
    Message(
        "kube-proxy.source-vip",
        "Source Vip endpoint creation failed",
        "kubernetes/kubernetes pkg/proxy/winkernel/proxier.go",
    ),
    Message("cni.calico-api", "error creating calico client", "projectcalico/calico cni-plugin/pkg/plugin/plugin.go"),
    Message(
        "cni.calico-addresses",
        r"Failed to (?:request|auto-?assign) .{0,20}IPv[46]",
        "projectcalico/calico libcalico-go/lib/ipam",
    ),
    Message(
        "cni.antrea-uplink",
        "Failed to set the uplink port|failed to add uplink port",
        "antrea-io/antrea#1458",
    ),
    Message(
        "cni.antrea-ovs",
        r"ovs-vsctl.{0,200}(?:fail|connection|error)|OVS (?:bridge|datapath)\b.{0,60}(?:fail|not)",
        "antrea-io/antrea pkg/ovs",
    ),
    Message("hns.namespace-refused", "failed to setup networking for pod", "microsoft/hcsshim cmd/containerd-shim"),
    Message(
        "start.no-login",
        "failed while requesting a signed certificate|cannot create certificate signing request|"
        "failed to run Kubelet: .*bootstrap",
        "kubernetes/client-go util/certificate/certificate_manager.go",
    ),
    Message(
        "start.instance",
        r"Unable to construct \S*Node object",
        "kubernetes/kubernetes pkg/kubelet/kubelet_node_status.go",
    ),
    Message(
        "start.runtime-pipe",
        "container runtime is (?:down|not running)",
        "kubernetes/kubernetes pkg/kubelet/kubelet.go",
    ),
    # Of a whole program, volume, network, pod
    Message(
        "join.preflight",
        r"\[ERROR \w+\]: |error execution phase \S+:|"
        r"\bnodeRegistration\.\w+: (?:Invalid|Required|Unsupported) value",
        "kubernetes/kubernetes cmd/kubeadm/app/preflight/checks.go; kubernetes/kubernetes#80400",
    ),
    Message(
        "container.volume",
        r"(?:MountVolume|MapVolume|UnmountVolume)\.\w+ failed for volume|Unable to (?:attach or )?mount volumes|"
        r"attacher\.\w+ failed|Could not mount (?:target )?\S|(?:New|Remove)-?SmbGlobalMapping\b.{0,40}failed|"
        r"GRPC error:.{0,400}\bmount\b.{0,300}failed",
        "kubernetes/kubernetes pkg/volume/util/operationexecutor/operation_generator.go",
        early=True,
    ),
    Message(
        "flannel.not-registered",
        "Error registering network: |failed to (?:acquire|retrieve) (?:network )?lease",
        "flannel-io/flannel main.go",
    ),
    Message(
        "cni.plugin-failed",
        r'netplugin failed|required env variables \[CNI_|plugin type="?[^" ]+"?(?: name="?[^" ]+"?)? failed|'
        "failed to set ?up (?:network for sandbox|pod .{1,200} network)|Error adding (?:pod .{0,60}to )?network",
        "containerd/go-cni cni.go; containernetworking/cni libcni/api.go, pkg/invoke/raw_exec.go",
    ),
    Message(
        "kube-proxy.rule-refused",
        "[Pp]olicy creation failed|endpoint creation failed|hcn(?:Create|Modify|Delete)LoadBalancer failed",
        "kubernetes/kubernetes pkg/proxy/winkernel/proxier.go",
        over=("hns.refused",),
    ),
    Message(
        "hns.refused",
        r"hnsCall\w* failed|\bhcn\w+ failed in Win32|HNS failed with error|Invoke-Hns\w+ : @\{|"
        r"\b0x803b00[0-9a-f]{2}\b|\b21513502\d\d\b|\b21513503[0-3]\d\b",
        "microsoft/hcsshim internal/hns/hns.go, internal/hcserror/hcserror.go",
    ),
    Message(
        "image.pull",
        r"failed to pull (?:and unpack )?image|Failed to pull image|PullImage \S+ failed|failed pulling image",
        "containerd/containerd internal/cri/server/images/image_pull.go",
    ),
    Message(
        "container.refused",
        r"\b(?:hcs|hcsshim)::[\w:]+.{0,400}?: [A-Z]|failed to (?:create|start) containerd task|failed to create shim|"
        r"failure in a Windows system call|winapi error #\d+|\b0x[8c]0370[0-9a-f]{3}\b",
        "microsoft/hcsshim internal/hcs/errors.go; containerd/containerd internal/cri/server/container_start.go",
    ),
    Message(
        "start.failed",
        r'"command failed" err=|^error: \w+Configuration\.\S+: (?:Invalid|Required|Unsupported) value|'
        "[Ff]ailed to (?:run|start) [Kk]ubelet|Error running ProxyServer|"
        r"^containerd: |Error running agent: |level=(?:fatal|panic) |\[FATAL\]",
        "kubernetes/kubernetes component-base/cli/run.go, cmd/kubelet/app/server.go; containerd cmd/containerd/main.go",
    ),
    Message("start.panic", "^panic: ", "Go runtime/panic.go"),
    Message("start.failed", r"^F\d{4} \d\d:\d\d:\d\d", "k8s.io/klog/v2 klog.go, Fatal"),
    Message(
        "kubelet.unhealthy",
        r"localhost:10248/healthz|127\.0\.0\.1:10248/healthz|The kubelet is not (?:healthy|"
        "running)|It seems like the kubelet isn't running",
        "kubernetes-sigs/sig-windows-tools#229",
        over=("host.no-listener",),
    ),
    Message(
        "host.no-listener",
        r"dial tcp (?:127\.\d+\.\d+\.\d+|\[::1\]|localhost):\d+: conn\w+: .*refused",
        "Go net/dial.go",
        early=True,
    ),
    Message(
        "cluster.unreachable",
        r"(?:[Ff]ailed to (?:list|watch)|[Uu]nable to (?:update|register) node|"
        r"[Ff]ailed to ensure lease).{1,300}\b(?:Get|Post|Put|Patch) \"?https?://",
        "kubernetes/client-go tools/cache/reflector.go",
        early=True,
    ),
    Rule(
        "start.ended",
        (
            win.ERROR_PROCESS_ABORTED,
            r"process terminated unexpectedly|service terminated (?:unexpectedly|with the following)",
        ),
        "learn.microsoft.com ERROR_PROCESS_ABORTED (1067), events 7023, 7031 and 7034 of the Service Control Manager",
    ),
    Message(
        "start.ends-at-once",
        "Unexpected status SERVICE_PAUSED|throttl(?:ed|ing) .*restart",
        "nssm service.cpp (SERVICE_PAUSED)",
    ),
)
