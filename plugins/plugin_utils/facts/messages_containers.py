# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What HCS, containerd and kubelet say when an image or a container is wrong (message.py)."""

from __future__ import annotations

from . import windows_codes as win
from .message import Message
from .windows_codes import pattern as written

_MAKES_CONTAINER = (
    r"(?:hcs|hcsshim)::(?:CreateComputeSystem|System::Start|ComputeSystem::Start|System::CreateProcess)\b"
)

MESSAGES: tuple[Message, ...] = (
    Message(
        "image.mismatch",
        written(
            win.HCS_E_IMAGE_MISMATCH,
            text="container (?:operating system|OS version) (?:does not|must) match the host|"
            "operating system of the container does not match",
        ),
        "kubernetes/kubernetes#99157",
    ),
    Message(
        "image.mismatch",
        r"hcsshim::CreateComputeSystem\b.*cannot find the file specified",
        "kubernetes/kubernetes#88942",
    ),
    Message(
        "image.platform",
        "no match for platform in manifest|no matching manifest for windows|image operating "
        r"system \"?linux\"? cannot be used",
        "containerd/containerd core/images/image.go",
    ),
    Message(
        "image.pause",
        "failed to (?:get|pull) (?:sandbox image|and unpack sandbox image)|failed to (?:pull|start) sandbox image",
        "containerd/containerd internal/cri/server/sandbox_run.go",
    ),
    Message(
        "container.exited",
        written(
            win.HCS_E_UNEXPECTED_EXIT,
            win.HCS_E_TERMINATED_DURING_START,
            text="(?:virtual machine or container|compute system) exited unexpectedly",
        ),
        "microsoft/hcsshim#917",
    ),
    Message(
        "container.timeout",
        written(
            win.HCS_E_CONNECTION_TIMEOUT,
            win.HCS_E_OPERATION_TIMEOUT,
            win.HCS_E_CONNECT_FAILED,
            win.HCS_E_CONNECTION_CLOSED,
            text="hcsshim: timeout waiting for notification|lost communication with compute service|operation timeout: "
            r"context deadline exceeded|(?:Stop|Kill|Remove)(?:Container|PodSandbox)\b.{0,300}deadline ?exceeded",
        ),
        "microsoft/hcsshim internal/hcs/errors.go",
    ),
    Message(
        "container.unknown",
        written(
            win.HCS_E_SYSTEM_NOT_FOUND,
            win.HCS_E_SYSTEM_ALREADY_STOPPED,
            win.HCS_E_INVALID_STATE,
            text="during Properties: |container operation is not valid in the current state|"
            "(?:virtual machine or container|Compute System) with the specified identifier (?:does "
            "not exist|is not running)",
        ),
        "kubernetes-sigs/sig-windows-tools#85",
    ),
    Message(
        "container.no-hyper-v",
        r"A hypervisor feature is not available|No hypervisor is present|hypervisor is not running|\b0xc0351000\b",
        "learn.microsoft.com ERROR_HV_FEATURE_UNAVAILABLE (0xc035001e), ERROR_HV_NOT_PRESENT (0xc0351000)",
    ),
    Message(
        "container.no-hyper-v",
        written(
            win.HCS_E_HYPERV_NOT_INSTALLED,
            text="(?:hypervisor|Hyper-V) (?:is not (?:present|installed)|could not be)",
        ),
        "microsoft/hcsshim internal/hcs/errors.go",
    ),
    Message(
        "hns.vmcompute-stopped",
        written(
            win.HCS_E_SERVICE_NOT_AVAILABLE,
            text="Host Compute Service.*not (?:available|running)",
        ),
        "golang.org/x/sys windows/zerrors_windows.go",
    ),
    Message(
        "host.disk-full",
        "failed to garbage collect required amount|node has condition: DiskPressure",
        "kubernetes/kubernetes pkg/kubelet/images/image_gc_manager.go",
    ),
    Message(
        "host.disk-full",
        r"There is not enough space on the disk|no space left on device|\(0x70\)",
        "learn.microsoft.com ERROR_DISK_FULL (112)",
    ),
    Message(
        "image.layer",
        written(
            win.HCS_E_INVALID_LAYER,
        )
        + (
            r"|\b(?:\w*Layer|ExpandSandboxSize)\b.*(?:failed|denied|cannot|could not)|re-exec error.*ociwclayer|"
            r"failed to (?:extract|register) layer|\\(?:windowsfilter|io\.containerd\.snapshotter\.v1\.windows)\\.*"
            r"(?:denied|cannot|being used)"
        ),
        "moby/moby#26873; microsoft/hcsshim internal/wclayer",
    ),
    Message(
        "container.command",
        r"\bCreateProcess\b.*(?:cannot find the (?:file|path) specified|is not a valid "
        r"Win32 application)|exec: \S+: executable file not found in %PATH%",
        "containerd/containerd#6300",
    ),
    Message(
        "container.mount-refused",
        f"{_MAKES_CONTAINER}.*(?:directory name is invalid|directory name, or volume label syntax is incorrect|"
        "cannot find the path specified)",
        "containerd/containerd#10347; microsoft/hcsshim#1386",
    ),
    Message(
        "container.access-denied",
        f"{_MAKES_CONTAINER}.*(?:{written(win.ERROR_ACCESS_DENIED)}|Access is denied)",
        "microsoft/hcsshim#2017",
    ),
    Message(
        "host.no-memory",
        written(
            win.ERROR_NO_SYSTEM_RESOURCES,
            win.ERROR_COMMITMENT_LIMIT,
            text="Insufficient system resources exist|paging file is too small",
        ),
        "microsoft/hcsshim#869",
    ),
    Message(
        "container.command",
        "failed to get application name from commandline|failed to find executable",
        "kubernetes/website#29924; microsoft/hcsshim internal/jobcontainers/path.go",
    ),
    Message(
        "container.user",
        "user ?name or password is incorrect|No mapping between account names and security IDs|"
        "user name could not be found",
        "learn.microsoft.com ERROR_LOGON_FAILURE (1326), ERROR_NONE_MAPPED (1332), NERR_UserNotFound (2221)",
    ),
    Message(
        "container.gmsa",
        "failed to .{0,80}credential spec|credential ?spec.{0,80}(?:not found|failed|denied)|"
        "gmsa.{0,80}(?:denied|not authorized)",
        "kubernetes-sigs/windows-gmsa admission-webhook; microsoft/hcsshim internal/hcsoci/credentials.go",
    ),
    Message(
        "container.dll-missing",
        r"(?<![\w-])(?:3221225781|-1073741515|0xc0000135)\b",
        "learn.microsoft.com STATUS_DLL_NOT_FOUND (0xC0000135)",
    ),
    Message(
        "container.host-process-account",
        "failed to create user process token|failed to logon user",
        "kubernetes.io Create a Windows HostProcess Pod (Troubleshooting HostProcess containers)",
    ),
    Message(
        "container.linux-user",
        r"chown \S+: not supported by windows",
        "hashicorp/consul-k8s#1043",
    ),
    Message(
        "container.runtime-class",
        r"no runtime for \S+ is configured|failed to get sandbox runtime",
        "containerd/containerd internal/cri/server/sandbox_run.go",
    ),
    Message(
        "container.no-shim",
        r"containerd-shim-runhcs-v1(?:\.exe)?\\?\"?: (?:file does not exist|executable file not "
        r"found)|runtime \S*runhcs\S* binary not installed",
        "containerd/containerd core/runtime/v2/shim_manager.go",
    ),
    Message(
        "image.registry-denied",
        r"pull access denied|insufficient_scope|toomanyrequests|unexpected status(?: from \S+ "
        r"request to \S+)?: (?:401|403|404|429)|failed to authorize",
        "containerd/containerd core/remotes/docker/resolver.go",
    ),
    Message(
        "image.registry-unreachable",
        "failed to do request: (?:Head|Get)|proxyconnect tcp|407 Proxy Authentication|failed to resolve reference",
        "containerd/containerd core/remotes/docker/resolver.go",
    ),
    Message(
        "container.slow",
        "(?:RunPodSandbox|create pod sandbox|CreateContainer).*DeadlineExceeded",
        "kubernetes/kubernetes cri-client pkg/remote_runtime.go",
    ),
    Message(
        "container.slow",
        r"failed to reserve (?:sandbox|container) name|Conflict\. The container name \S+ is already in use|"
        "Unable to create pod sandbox due to conflict",
        "containerd/containerd internal/cri/server/sandbox_run.go",
    ),
    Message(
        "container.host-process-mixed",
        "if the pod sandbox is a job container running on host|hostProcess value must be identical",
        "microsoft/hcsshim cmd/containerd-shim-runhcs-v1/pod.go",
    ),
)
