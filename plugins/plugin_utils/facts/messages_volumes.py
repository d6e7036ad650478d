# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kubelet, CSI drivers, csi-proxy and HCS say when a volume cannot be used (message.py).

What Windows answers to New-SmbGlobalMapping means the share, the server or the account, never the node's own users.
"""

from __future__ import annotations

from . import windows_codes as win
from .message import Message, Rule
from .message_places import (
    ANY_CONTAINER,
    ANY_VOLUME,
    ATTACH,
    CONTAINER,
    OWN_PIPE,
    REMOVE_LAYER,
    SHARE,
    STAGE,
    STOPPING,
    SUBPATH,
    UNMOUNT,
    VOLUME,
)

_SMB = "kubernetes-csi/csi-proxy pkg/os/smb/api.go; learn.microsoft.com System Error Codes"

MESSAGES: tuple[Message | Rule, ...] = (
    Rule("volume.share-users", (win.ERROR_SESSION_CREDENTIAL_CONFLICT,), f"kubernetes-csi/csi-driver-smb#219; {_SMB}"),
    Rule(
        "volume.share-password",
        (
            *(win.ERROR_INVALID_PASSWORD, win.ERROR_LOGON_FAILURE, win.ERROR_ACCOUNT_RESTRICTION),
            *(win.ERROR_PASSWORD_EXPIRED, win.ERROR_ACCOUNT_DISABLED, win.ERROR_ACCOUNT_LOCKED_OUT),
            *(win.ERROR_INVALID_LOGON_HOURS, win.ERROR_PASSWORD_MUST_CHANGE),
        ),
        _SMB,
        doing=(SHARE,),
    ),
    Rule(
        "volume.share-domain",
        (win.ERROR_NO_LOGON_SERVERS, win.ERROR_NO_SUCH_DOMAIN, win.ERROR_WRONG_TARGET_NAME),
        _SMB,
        doing=(SHARE,),
    ),
    Rule(
        "volume.server-unreachable",
        (
            *(win.ERROR_BAD_NETPATH, win.ERROR_NO_NET_OR_BAD_PATH, win.ERROR_NETWORK_UNREACHABLE),
            *(51, 54, 59, 121, 10060),
        ),
        f"kubernetes-csi/csi-driver-smb#294; {_SMB}",
        doing=(SHARE,),
    ),
    Rule("volume.server-unreachable", (win.ERROR_BAD_NETPATH,), _SMB, doing=(VOLUME, STAGE, CONTAINER)),
    Rule("volume.share-name", (win.ERROR_BAD_NET_NAME,), _SMB, doing=(SHARE, STAGE, VOLUME)),
    Rule(
        "volume.share-lost",
        (win.ERROR_NETNAME_DELETED, win.ERROR_DEV_NOT_EXIST),
        _SMB,
        doing=(SHARE, STAGE, VOLUME, CONTAINER),
    ),
    Rule(
        "volume.share-denied",
        (win.ERROR_ACCESS_DENIED, win.ERROR_NETWORK_ACCESS_DENIED, win.ERROR_LOGON_TYPE_NOT_GRANTED),
        _SMB,
        doing=(SHARE,),
    ),
    Rule("volume.share-full", (win.ERROR_REQ_NOT_ACCEP,), _SMB, doing=(SHARE, STAGE, VOLUME)),
    Rule("volume.share-letter", (win.ERROR_ALREADY_ASSIGNED,), _SMB, doing=(SHARE,)),
    Rule(
        "volume.share-parameter",
        (win.ERROR_INVALID_PARAMETER, win.ERROR_INVALID_NAME),
        f"kubernetes-csi/csi-driver-smb#453; {_SMB}",
        doing=(SHARE,),
    ),
    Message(
        "volume.share-parameter",
        "empty user ?name or password is not allowed|(?:user ?name|password|source) is empty.{0,60}(?:SMB|smb|mount)",
        "NetApp/trident utils/mount_windows.go; kubernetes-csi/csi-driver-smb pkg/smb/nodeserver.go",
    ),
    Rule(
        "volume.no-process",
        (win.STATUS_DLL_INIT_FAILED, "0xc0000142|3221225794"),
        "kubernetes-sigs/azuredisk-csi-driver#2082",
        doing=(SHARE, STAGE, VOLUME),
    ),
    Message(
        "volume.busy",
        r"An operation with the given [Vv]olume(?: ID)?(?:=| )?\S* already exists|"
        r"operation (?:is )?(?:in progress|pending) (?:for|on) volume|There is already an operation for volume",
        "kubernetes-csi/csi-driver-smb pkg/smb/nodeserver.go; kubernetes-csi/csi-driver-smb#444",
    ),
    Message(
        "volume.attached-elsewhere",
        "Multi-Attach error|[Vv]olume is already (?:exclusively )?(?:attached|used)|AttachDiskWhileBeingDetached|"
        "disk is currently being detached",
        "kubernetes/kubernetes pkg/controller/volume/attachdetach/reconciler/reconciler.go",
    ),
    Message(
        "container.pipe-mount",
        r"mount config for type \"?npipe|npipe.{0,80}must not be",
        "moby/moby volume/mounts/windows_parser.go",
    ),
    Rule(
        "container.pipe-mount",
        (r"failed to (?:generate spec|resolve symlink).*pipe\\.*(?:pipe instances are busy|cannot find the file)",),
        "kubernetes-csi/csi-proxy#55",
    ),
    Message(
        "container.csi-proxy",
        r"pipe\\+csi-proxy\S*: .*(?:cannot find the file|Access is denied|refused)|failed to connect to csi-proxy|"
        r"csi-proxy\S* .{0,80}(?:Unavailable|Unimplemented|DeadlineExceeded)",
        "kubernetes-csi/csi-driver-smb#233",
    ),
    Rule(
        "container.wins",
        (r"pipe\\+rancher_wins\S*: .*(?:cannot find the file|Access is denied)",),
        "kubernetes-sigs/sig-windows-tools kubeadm/flannel/flannel-overlay.yml; rancher/wins",
        never=(OWN_PIPE,),
    ),
    Message(
        "volume.of-image",
        "rootpath on mountPath ",
        "containerd/containerd internal/cri/opts/container.go, WithVolumes: its folder is not in the image",
        over=("volume.path-missing",),
    ),
    Message(
        "volume.path-missing",
        rf"error while creating mount source path .{{0,700}}{win.pattern(win.ERROR_ALREADY_EXISTS)}",
        "moby/moby daemon/volume/mounts/mounts.go, Setup: it is not found, and there when made: a link to nothing",
    ),
    Message(
        "container.csi-driver",
        r"not found in the list of registered CSI drivers|csi\.sock: connect: |"
        r"CSINode (?:\S+ )?does not contain driver|secrets-store-csi-providers\S*: ",
        "kubernetes-csi/csi-driver-smb#427, #148; kubernetes-sigs/secrets-store-csi-driver pkg/secrets-store; "
        "kubernetes/kubernetes pkg/volume/csi/csi_attacher.go",
        over=("volume.driver-backend", "volume.path-missing", "volume.claim"),
    ),
    Rule(
        "volume.disk-not-found",
        (
            r"findDiskByLun\S* failed|(?:could not|failed to|cannot) find disk|disk \S* ?(?:is )?not found|"
            r"unable to find device path|could not (?:get|find) (?:the )?disk number|can't find disk",
        ),
        "kubernetes-sigs/azuredisk-csi-driver pkg/azuredisk/azure_common_windows.go; "
        "kubernetes-sigs/azuredisk-csi-driver#2365",
        doing=(ANY_VOLUME,),
    ),
    Message(
        "volume.format",
        "volume does not contain a recognized file system|media is write protected|unrecognized file ?system|"
        r"parameter '?FileSystem\b.{0,60}\b(?:ext[234]|xfs|btrfs)\b",
        "kubernetes-csi/csi-proxy pkg/os/volume/api.go, pkg/os/disk/api.go",
    ),
    Message(
        "volume.of-image",
        r"failed to stat \S*[\\/]containers[\\/]\w+[\\/]volumes[\\/]|rootpath on mountPath \S+, volume ",
        "containerd/containerd#7307; containerd/containerd internal/cri/opts/container.go, WithVolumes",
    ),
    Rule(
        "volume.share-denied",
        (rf"kubernetes\.io~csi.{{0,200}}{win.pattern(win.ERROR_ACCESS_DENIED)}",),
        "kubernetes-csi/csi-driver-smb#762: the root of what is mounted",
    ),
    Message(
        "volume.host-path",
        r"hostPath type check failed: \S+ is not|bind source path does not exist|invalid HostPath `",
        "kubernetes/kubernetes pkg/volume/hostpath/host_path.go; containerd/containerd "
        "internal/cri/opts/spec_windows.go",
    ),
    Rule(
        "volume.host-path",
        (r"failed to stat \"?[A-Za-z]:\\",),
        "containerd/containerd internal/cri/opts/spec_windows.go",
        doing=(ANY_CONTAINER,),
    ),
    Message(
        "volume.subpath",
        r"subpath \S+ is an unexpected|SubPath \S+ not within volume path|only directory subpath is supported",
        "kubernetes/kubernetes pkg/kubelet/kubelet_pods.go, pkg/volume/util/subpath/subpath_windows.go",
    ),
    Message(
        "volume.single-file",
        "single-file mappings are not supported|file mappings? (?:is|are) not supported|"
        r"(?:mount|mapping)\w* .{0,120}is a file, not a (?:folder|directory)|source path must be a directory|"
        "Only directories can be mapped",
        "microsoft/hcsshim internal/uvm/plan9.go; moby/moby volume/mounts/windows_parser.go",
    ),
    Rule(
        "volume.filled-folder",
        (win.ERROR_DIR_NOT_EMPTY, r"(?:directory|folder|mount ?point|target)\b.{0,80}is not empty"),
        "microsoft/hcsshim internal/hcsoci/resources_wcow.go; learn.microsoft.com ERROR_DIR_NOT_EMPTY (145)",
        doing=(ANY_CONTAINER, VOLUME, STAGE, SHARE),
        never=(REMOVE_LAYER, STOPPING, UNMOUNT),
    ),
    Rule(
        "volume.attach",
        ("code = ResourceExhausted",),
        "the CSI specification, ControllerPublishVolume: RESOURCE_EXHAUSTED, max volumes attached",
        doing=(ATTACH,),
    ),
    Rule(
        "volume.attach",
        (r"timed out waiting for external-attacher|attachment timeout for volume|volume attachment is being deleted",),
        "kubernetes/kubernetes pkg/volume/csi/csi_attacher.go",
        doing=(ATTACH, VOLUME),
    ),
    Message(
        "volume.claim",
        r"waiting for a volume to be created|"
        r"persistentvolumeclaim \S+ not found|unbound (?:immediate )?PersistentVolumeClaims|"
        r"storageclass\S* \S+ not found|"
        "volume node affinity conflict|no persistent volumes available",
        "kubernetes/kubernetes pkg/scheduler/framework/plugins/volumebinding",
        over=("pod.no-node",),
    ),
    Message(
        "volume.object-missing",
        r"(?:failed for volume|volumes? for pod|kubelet|SyncLoop|syncing pod|pod_workers|Failed +\S.{0,40}Error: |"
        r"^Error: ).{0,400}"
        r"(?<!UPGRADE FAILED: )(?:configmaps?|secrets?) \\*\"(?!azure-cloud-provider\b)[\w.-]+\\*\" not found|"
        r"object \"[\w.-]+\"/\"[\w.-]+\" not registered|"
        r"references non-existent (?:config|secret) key|couldn't find key \S+ in (?:ConfigMap|Secret)",
        "kubernetes/kubernetes pkg/volume/configmap/configmap.go, pkg/kubelet/util/manager; "
        "kubernetes-sigs/azurefile-csi-driver#1050: its own Secret may be absent",
        early=True,
    ),
    Rule(
        "volume.subpath",
        (win.ERROR_FILE_NOT_FOUND, win.ERROR_PATH_NOT_FOUND, "no such file or directory|not a directory"),
        "kubernetes/kubernetes pkg/volume/util/subpath/subpath_windows.go",
        doing=(SUBPATH,),
    ),
)
