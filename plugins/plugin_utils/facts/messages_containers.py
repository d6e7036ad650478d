# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What HCS, containerd and kubelet say when an image or a container is wrong (message.py)."""

from __future__ import annotations

from . import windows_codes as win
from .message import Message, Rule
from .message_places import (
    ANY_CONTAINER,
    ATTACH,
    CONTAINER,
    ENDPOINT,
    HCS,
    LAYER,
    PROCESS,
    REMOVE_LAYER,
    SHARE,
    STAGE,
    UNMOUNT,
    VOLUME,
)

MESSAGES: tuple[Message | Rule, ...] = (
    Rule("image.mismatch", (win.HCS_E_IMAGE_MISMATCH,), "kubernetes/kubernetes#99157"),
    Message(
        "image.mismatch",
        r"based image is incompatible with a \S+ host",
        "moby/moby distribution/pull_v2_windows.go",
    ),
    Rule("container.utility-vm", (win.HCS_E_CONNECT_FAILED,), "golang.org/x/sys windows/zerrors_windows.go"),
    Rule("container.exited", (win.HCS_E_UNEXPECTED_EXIT, win.HCS_E_TERMINATED_DURING_START), "microsoft/hcsshim#917"),
    Rule(
        "container.exited",
        (rf"during \S*Start\b.{{0,200}}(?:{win.pattern(win.HCS_E_CONNECTION_CLOSED)})",),
        "microsoft/hcsshim internal/hcs/errors.go: what was to start closed the connection",
    ),
    Rule(
        "container.timeout",
        (
            *(win.HCS_E_CONNECTION_TIMEOUT, win.HCS_E_OPERATION_TIMEOUT),
            win.HCS_E_CONNECTION_CLOSED,
            "timeout waiting for notification|lost communication with compute service|operation timeout: "
            r"context deadline exceeded|(?:Stop|Kill|Remove)(?:Container|PodSandbox)\b.{0,300}deadline ?exceeded",
        ),
        "microsoft/hcsshim internal/hcs/errors.go",
    ),
    Rule(
        "container.unknown",
        (
            *(win.HCS_E_SYSTEM_NOT_FOUND, win.HCS_E_SYSTEM_ALREADY_STOPPED, win.HCS_E_INVALID_STATE),
            "during Properties: |container operation is not valid in the current state|"
            "(?:virtual machine or container|Compute System) with the specified identifier is not running",
        ),
        "kubernetes-sigs/sig-windows-tools#85",
        never=(ENDPOINT,),
        over=("container.timeout",),
    ),
    Rule(
        "container.timeout",
        ("context deadline exceeded|DeadlineExceeded",),
        "microsoft/hcsshim internal/hcs/system.go",
        doing=(CONTAINER, HCS),
    ),
    Message(
        "container.no-hyper-v",
        r"one of the Hyper-V components is not running|[Vv]irtualization (?:support )?(?:is |"
        r"must be )?(?:disabled|not enabled|enabled in)|"
        r"A hypervisor feature is not available|No hypervisor is present|hypervisor is not running|\b0xc0351000\b",
        "learn.microsoft.com ERROR_HV_FEATURE_UNAVAILABLE (0xc035001e), ERROR_HV_NOT_PRESENT (0xc0351000)",
    ),
    Rule("container.no-hyper-v", (win.HCS_E_HYPERV_NOT_INSTALLED,), "microsoft/hcsshim internal/hcs/errors.go"),
    Rule("hns.vmcompute-stopped", (win.HCS_E_SERVICE_NOT_AVAILABLE,), "golang.org/x/sys windows/zerrors_windows.go"),
    Rule(
        "host.disk-full",
        (win.ERROR_DISK_FULL, "no space left on device"),
        "learn.microsoft.com ERROR_DISK_FULL (112)",
        never=(SHARE,),
    ),
    Message(
        "host.disk-full",
        "failed to garbage collect required amount",
        "kubernetes/kubernetes pkg/kubelet/images/image_gc_manager.go",
    ),
    Message(
        "container.access-denied",
        rf"graphdriver\b.{{0,200}}{win.pattern(win.ERROR_ACCESS_DENIED)}",
        "moby/moby daemon/graphdriver/windows/windows.go: of its whole folder, and not of a layer",
    ),
    Rule("image.layer", (win.HCS_E_INVALID_LAYER,), "moby/moby#26873"),
    Rule(
        "container.in-use",
        (
            rf"(?:Activate|Prepare|Unprepare|Deactivate|Destroy|CreateSandbox|"
            rf"Grant\w*)\w*Layer\w*\b.{{0,300}}{win.pattern(win.ERROR_SHARING_VIOLATION)}",
        ),
        "microsoft/hcsshim internal/wclayer: the layers of a container that starts or ends",
    ),
    Rule(
        "image.layer",
        (
            *(win.ERROR_ACCESS_DENIED, win.ERROR_SHARING_VIOLATION, win.ERROR_FILE_NOT_FOUND, win.ERROR_PATH_NOT_FOUND),
            *(win.ERROR_PRIVILEGE_NOT_HELD, win.ERROR_VIRUS_INFECTED, win.ERROR_INVALID_FUNCTION),
            *(win.ERROR_NOT_READY, win.ERROR_INVALID_PARAMETER),
        ),
        "microsoft/hcsshim internal/wclayer; microsoft/hcsshim#919",
        doing=(LAYER,),
        never=(CONTAINER, PROCESS, REMOVE_LAYER),
    ),
    Rule("container.timeout", (win.ERROR_TIMEOUT,), "microsoft/hcsshim internal/wclayer", doing=(LAYER,)),
    Rule(
        "container.in-use",
        (win.ERROR_SHARING_VIOLATION,),
        "microsoft/Windows-Containers#207: what denies access to a layer that is removed is not told",
        doing=(REMOVE_LAYER,),
    ),
    Rule(
        "container.command",
        (
            r"\bCreateProcess\b.*(?:cannot find the (?:file|path) specified|is not a valid Win32 application)|"
            r"(?:unable to start|starting) container process.{0,200}no such file or directory",
        ),
        "containerd/containerd#6300",
        never=(SHARE, STAGE, VOLUME, ATTACH, UNMOUNT),
    ),
    Rule(
        "container.command",
        (r"exec: .{0,160}executable file not found in ",),
        "Go os/exec lp_windows.go, as a runtime says it",
        doing=(ANY_CONTAINER, PROCESS),
        never=(SHARE, STAGE, VOLUME, ATTACH, UNMOUNT),
    ),
    Message(
        "container.command",
        r"container.{0,200}exec: .{0,160}executable file not found in ",
        "opencontainers/runc libcontainer/init_linux.go",
    ),
    Message(
        "start.kubelet-config",
        r"open /etc/resolv\.conf: The system cannot find",
        "kubernetes-sigs/sig-windows-tools#1: resolvConf of the kubelet has to be empty on Windows",
    ),
    Rule(
        "container.mount-refused",
        (
            *(win.ERROR_DIRECTORY, win.ERROR_INVALID_NAME, win.ERROR_PATH_NOT_FOUND),
            "directory name, or volume label syntax is incorrect",
        ),
        "containerd/containerd#10347; microsoft/hcsshim#1386",
        doing=(CONTAINER,),
    ),
    Rule("container.access-denied", (win.ERROR_ACCESS_DENIED,), "microsoft/hcsshim#2017", doing=(CONTAINER, PROCESS)),
    Message(
        "hns.compartments",
        r"(?:Create|Initialize)\w*Compartment\w* .{0,40}(?:failed|1450)",
        "microsoft/hcsshim#437",
    ),
    Rule(
        "host.no-memory",
        (win.ERROR_NOT_ENOUGH_MEMORY, win.ERROR_OUTOFMEMORY),
        "learn.microsoft.com ERROR_NOT_ENOUGH_MEMORY (8), E_OUTOFMEMORY of HCS",
        doing=(CONTAINER, PROCESS),
    ),
    Rule(
        "host.no-memory",
        (win.ERROR_NO_SYSTEM_RESOURCES, win.ERROR_COMMITMENT_LIMIT, r"errno=1455\b"),
        "microsoft/hcsshim#869",
    ),
    Message(
        "container.command",
        r"failed to get application name from commandline|(?:container|hcs|shim).{0,200}failed to find executable|"
        r"'--?[\w.-]+' is not recognized as an internal",
        "kubernetes/website#29924; microsoft/hcsshim internal/jobcontainers/path.go",
        over=("start.program-missing",),
    ),
    Message(
        "container.dll-missing",
        r"(?:LoadLibrary|error (?:opening|loading)|failed to load|unable to load) .{0,120}"
        "(?:specified module could not be found|specified procedure could not be found)",
        "learn.microsoft.com ERROR_MOD_NOT_FOUND (126); aws/aws-for-fluent-bit#129",
    ),
    Message(
        "container.dll-missing",
        r"(?<![\w-])(?:3221225781|-1073741515|0xc0000135)\b",
        "learn.microsoft.com STATUS_DLL_NOT_FOUND (0xC0000135)",
    ),
    Message(
        "container.host-process-account",
        rf"failed to (?:create user process token|logon user)\b.{{0,200}}{win.pattern(win.ERROR_ACCESS_DENIED)}",
        "kubernetes.io Create a Windows HostProcess Pod (Troubleshooting HostProcess containers)",
    ),
    Message(
        "container.linux-user",
        r"chown \S*(?:token|kubernetes\.io~projected|kubernetes\.io~secret)\S*: not supported by windows",
        "hashicorp/consul-k8s#1043",
    ),
    Message(
        "container.runtime-class",
        r"no runtime for \S+ is configured|failed to get sandbox runtime",
        "containerd/containerd internal/cri/server/sandbox_run.go",
    ),
    Message(
        "container.slow",
        "(?:RunPodSandbox|create pod sandbox|CreateContainer).*DeadlineExceeded",
        "kubernetes/kubernetes cri-client pkg/remote_runtime.go",
        over=("container.timeout",),
    ),
    Message(
        "container.slow",
        r"failed to reserve (?:sandbox|container) name|Conflict\. The container name \S+ is already in use|"
        "Unable to create pod sandbox due to conflict",
        "containerd/containerd internal/cri/server/sandbox_run.go",
    ),
)
