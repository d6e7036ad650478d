# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How each program says that something failed, whatever the reason: what no other table knows still has its place.

A file of its own: these stand last (diagnosis/messages.py), as they fit where nothing more particular does. The
reason is then what the line itself says, mostly at its end.
"""

from __future__ import annotations

from .message import Message

MESSAGES: tuple[Message, ...] = (
    Message(
        "join.preflight",
        r"\[ERROR \w+\]: |error execution phase \S+:|see the stack trace of this error execute with --v=5|"
        r"\bnodeRegistration\.\w+: (?:Invalid|Required|Unsupported) value",
        "kubernetes/kubernetes cmd/kubeadm/app/preflight/checks.go; kubernetes/kubernetes#80400",
    ),
    Message(
        "container.volume",
        r"(?:MountVolume|MapVolume|UnmountVolume)\.\w+ failed for volume|Unable to attach or mount volumes|"
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
        "start.panic",
        r"^panic: |\bObserved a panic: |\bruntime\.(?:gopanic|fatalpanic)\b|"
        r"^fatal error: (?:all goroutines|thread exhaustion|out of memory|"
        r"concurrent map|stack overflow|runtime|unexpected signal|fault|checkmark|schedule)",
        "Go runtime/panic.go",
    ),
    Message(
        "start.failed",
        r'"command failed" err=|^error: \w+Configuration\.\S+: (?:Invalid|Required|Unsupported) value|'
        "[Ff]ailed to (?:run|start) [Kk]ubelet|Error running ProxyServer|"
        r"^containerd: |Error running agent: |level=(?:fatal|panic) |\[FATAL\]",
        "kubernetes/kubernetes component-base/cli/run.go, cmd/kubelet/app/server.go; containerd cmd/containerd/main.go",
    ),
    Message("start.failed", r"^F\d{4} \d\d:\d\d:\d\d", "k8s.io/klog/v2 klog.go, Fatal"),
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
)
