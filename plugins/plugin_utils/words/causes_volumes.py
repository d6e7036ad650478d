# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What logs alone tell of volumes."""

from __future__ import annotations

from .cause import WARNING, Cause
from .logged import logged
from .remedies import advice
from .remedy import Ends

_TRY_SHARE = "Try it on the node: New-SmbGlobalMapping -RemotePath \\\\SERVER\\SHARE -Credential (Get-Credential)"

CAUSES: tuple[Cause, ...] = (
    logged(
        "volume.share-users",
        "The server is mapped already with another user (1219)",
        "Windows connects to one server with one user at a time: another volume, or a mapping that was left, uses "
        "other "
        "credentials for the same server name.",
        advice(
            (
                "Get-SmbGlobalMapping on the node shows the other mapping. Use one account for all shares of "
                "the server, or another name of it (its address, an alias) for the other account; "
                "Remove-SmbGlobalMapping takes away what no pod uses."
            ),
            Ends.CONNECTIONS,
        ),
    ),
    logged(
        "volume.share-password",
        "The server refuses the account of a share (86, 1326)",
        "User name or password in the volume's Secret is wrong, expired or locked, or the name lacks its domain; 1328 "
        "means the hours in which the account may log on, 1907 a password that has to be changed first.",
        "Compare the Secret with the account (Azure Files: user AZURE\\ACCOUNT, password the storage key; after the "
        "key "
        f"was rotated the Secret has the old one). {_TRY_SHARE}.",
    ),
    logged(
        "volume.share-domain",
        "The account of a share cannot be checked by its domain (1311, 1355, 1396)",
        "No domain controller of the account's domain answers the node or the server, or the server was asked by a "
        "name that is not registered for its account (an alias, an address).",
        "nltest /dsgetdc:DOMAIN on the node and on the server; the node needs the domain's DNS servers. After 1396, "
        "setspn -Q cifs/SERVER shows whose the name is: use the server's own name in the volume's source. An account "
        "of the server itself (SERVER\\USER) needs no domain.",
    ),
    logged(
        "volume.server-unreachable",
        "The server of a share is not reached (53)",
        "Its name is not known to the node, or port 445 is closed on the way. A Service's name of the cluster is "
        "resolved in pods, not on the node that mounts.",
        "Resolve-DnsName SERVER and Test-NetConnection SERVER -Port 445 on the node; use a name or an address that the "
        "node knows; let port 445 out.",
    ),
    logged(
        "volume.share-name",
        "The server has no share of that name (67)",
        "The path after the server's name is wrong, the share is gone, or the storage account is another one.",
        f"Compare the volume's source (//SERVER/SHARE) with the server's shares. {_TRY_SHARE}.",
    ),
    logged(
        "volume.share-lost",
        "The connection to a share was lost (64, 55)",
        "The server closed it: it was restarted, wants another dialect or encryption, or a firewall cut it; a "
        "mapping that "
        "was left stays broken until it is removed.",
        advice(
            (
                "Get-SmbGlobalMapping shows its state: remove a broken one that no pod uses "
                "(Remove-SmbGlobalMapping), then delete the pod. Look at the server's SMB version and "
                "encryption."
            ),
            Ends.CONNECTIONS,
        ),
    ),
    logged(
        "volume.share-denied",
        "The account may not use the share (5, 65, 1385)",
        "The account is known, but neither the share's permissions nor its folder's let it in, it may not log on to "
        "the server from the network (1385), or the server refuses this network (Azure Files' firewall).",
        f"Look at the share's permissions and the server's firewall. {_TRY_SHARE}.",
    ),
    logged(
        "volume.share-full",
        "The server takes no more connections (71)",
        "The share has a limit of users, or a client version of Windows serves it (20 at most).",
        "Raise the share's limit, or close connections that are left (Get-SmbSession on the server).",
    ),
    logged(
        "volume.share-letter",
        "The drive letter of a share is taken (85)",
        "Another mapping or a disk has the letter.",
        "Get-SmbGlobalMapping and Get-Volume on the node; map without a letter, or take another one.",
        severity=WARNING,
    ),
    logged(
        "volume.share-parameter",
        "Windows refuses the mapping's parameters (87)",
        "The path or the user name is not of a form that New-SmbGlobalMapping takes: a slash at the end of the "
        "source, a "
        "user without a domain (DOMAIN\\USER), an empty password.",
        "Take the slash at the end of the volume's source away and write the user as DOMAIN\\USER or SERVER\\USER into "
        f"the Secret. {_TRY_SHARE}.",
    ),
    logged(
        "volume.no-process",
        "The driver cannot start PowerShell (0xc0000142)",
        "Windows could not initialize a new process: the desktop heap of services is used up, with many processes of "
        "one "
        "session, or memory is short.",
        "Count the processes of session 0 (Get-Process | Group-Object SessionId); a restart of the driver's pod or of "
        "csi-proxy ends those that were left; then enlarge the third value of SharedSection.",
    ),
    logged(
        "volume.busy",
        "An earlier call for the same volume has not ended",
        "The driver takes one call at a time for a volume: the first one hangs, mostly in an SMB server that does not "
        "answer, or in PowerShell. The message is a consequence.",
        "Look for the first error of this volume in the driver's log; see whether the node reaches the server (port "
        "445); "
        "then delete the driver's pod on this node.",
    ),
    logged(
        "volume.attached-elsewhere",
        "The disk is still attached to another node",
        "Its last pod ended with its node, or is not gone yet: a disk belongs to one machine at a time.",
        advice(
            (
                "kubectl get volumeattachment names the node. If that node is off for good, delete its pods and "
                "the attachment; else wait for the pod's end."
            ),
            Ends.PODS,
        ),
    ),
    logged(
        "volume.attach",
        "The disk is not attached to the node",
        "The driver's controller does not answer, or the cloud refuses: the number of disks for this size of machine, "
        "another zone, missing rights.",
        "Read the log of the driver's csi-attacher and controller; kubectl describe volumeattachment has its error.",
    ),
    logged(
        "volume.disk-not-found",
        "The attached disk is not found in Windows",
        "Windows has not seen the disk yet, it is offline, or the driver looks for it on another bus (SCSI's LUN where "
        "the machine has NVMe).",
        "Get-Disk | Select Number,Location,OperationalStatus on the node; Update-HostStorageCache; a newer driver for "
        "machines with NVMe.",
    ),
    logged(
        "volume.format",
        "A disk cannot be initialized or formatted",
        "The disk is offline or read-only, has a file system that Windows does not know (ext4: a Linux pod had it "
        "first), or csi-proxy may not.",
        "Get-Disk and Get-Partition on the node show what is there; use a StorageClass with fsType ntfs for Windows.",
    ),
    logged(
        "volume.host-path",
        "A hostPath is not what its type says",
        "On this node the path is missing, is a file where a folder is wanted, or is a path of Linux.",
        "Create it on the node, or set type DirectoryOrCreate; write the path with its drive (C:\\...).",
        severity=WARNING,
    ),
    logged(
        "volume.subpath",
        "A subPath cannot be mounted",
        "It does not exist in the volume, leads out of it, is a link, or is a single file, which Windows cannot mount "
        "from every kind of volume.",
        "Mount the whole volume, or a folder of it; create the folder first, without links.",
        severity=WARNING,
    ),
    logged(
        "volume.single-file",
        "Windows cannot mount a single file",
        "Process isolated containers mount folders; a single file as mount needs a build that knows it.",
        "Mount the folder that has the file, and let the program look for it there.",
        severity=WARNING,
    ),
    logged(
        "volume.filled-folder",
        "A volume would be mounted over a folder that has files",
        "Windows does not hide what is there: the target has to be empty, or not there.",
        "Take another mountPath, or an image without files in that folder; on the node look what a former mount left "
        "in the target.",
    ),
    logged(
        "volume.of-image",
        "A VOLUME of the image cannot be set up",
        "containerd copies what the image has in the folder of its VOLUME into a new one; the folder is missing, too "
        "large, or of a form that Windows does not take as a path.",
        "Mount an emptyDir at that path, or build the image without VOLUME.",
    ),
    logged(
        "volume.driver-slow",
        "A driver does not answer about a volume in time",
        "The CSI driver waits for its server, its cloud, PowerShell or a lock, or its pod hangs: the deadline passes, "
        "and kubelet asks again.",
        "Read the log of the driver's pod on this node for the first error of this volume; try the server or the cloud"
        " from the node; delete the driver's pod.",
    ),
    logged(
        "volume.driver-cannot",
        "A driver does not know what kubelet asks of it",
        "The driver and the cluster speak different releases of CSI, or the driver cannot do it on Windows (block "
        "volumes, snapshots, Ephemeral without a CSIDriver object).",
        "Compare the driver's release with the cluster's in its table of releases; look at the CSIDriver object "
        "(kubectl get csidriver) and at the volume's mode.",
    ),
    logged(
        "volume.driver-backend",
        "A driver does not reach its server, its cloud or its vault",
        "The request goes out from the node or the driver's pod: a name that does not resolve, a closed port, a proxy,"
        " an identity service that does not run on Windows.",
        "Try the address of the line from the node (Test-NetConnection HOST -Port PORT) and from the driver's pod; "
        "look at DNS, firewall and NO_PROXY.",
    ),
    logged(
        "volume.driver-denied",
        "A driver may not do it at its server, its cloud or its vault",
        "The identity of the driver, or the account of the volume's Secret, is missing, has run out or lacks a role "
        "there.",
        "The line names who was refused: compare nodePublishSecretRef, the storage key or the identity with what the "
        "server knows; give it the role that is missing.",
    ),
    logged(
        "volume.driver-absent",
        "What a volume names is not there",
        "The share, the disk, the folder or the vault's object that the PersistentVolume or the class names does not "
        "exist where the driver looks.",
        "Compare the volume's attributes (kubectl get pv -o yaml) with the server or the cloud: name, resource group, "
        "region, path.",
    ),
    logged(
        "volume.leftover",
        "Something of an earlier mount is in the way",
        "A mount that was not undone, after a crash or a restart of the machine or of the driver, left a link, a file "
        "or a folder at the volume's mount path.",
        "With no pod of this volume on the node: remove what the line names below C:\\var\\lib\\kubelet, then delete "
        "the pod. If it comes again, take a newer driver.",
    ),
    logged(
        "volume.in-use",
        "A file of a volume is held by a process",
        "Windows removes no file that is open: a process of the pod's container that has not ended, a log collector, "
        "an antivirus or a backup.",
        advice(
            (
                "handle.exe or Resource Monitor name the process; end it, or exclude kubelet's folder from "
                "scans; kubelet then goes on by itself."
            ),
            Ends.PODS,
        ),
    ),
    logged(
        "volume.folder-denied",
        "kubelet or a driver may not use a volume's folder",
        "The folder below C:\\var\\lib\\kubelet, or the volume's root, does not let the account in that the program "
        "runs as.",
        "Compare its ACL with a healthy node's (icacls); run kubelet as LocalSystem and the driver as a HostProcess "
        "container of NT AUTHORITY\\SYSTEM.",
    ),
    logged(
        "volume.path-missing",
        "A folder that a mount needs is not there",
        "kubelet's root is another one than the driver was given, the staging was lost with a restart, or a link leads"
        " nowhere.",
        "Compare kubelet's --root-dir with the hostPaths of the driver's DaemonSet (C:\\var\\lib\\kubelet); delete the"
        " pod, so that the volume is staged again.",
    ),
    logged(
        "volume.expand",
        "A volume cannot be grown",
        "Windows or the driver does not finish it: the class does not allow it, the disk has not grown yet, or a "
        "partition stands behind it.",
        "kubectl describe pvc has the reason; Get-PartitionSupportedSize on the node shows how far it can grow.",
    ),
    logged(
        "volume.not-on-windows",
        "This kind of volume does not exist on Windows",
        "kubelet has no support for it there (a FlexVolume whose plugin is not installed, NFS without a driver, iSCSI "
        "without csi-proxy, block mode, hugepages, memory as medium).",
        "Take a CSI driver that has a node plugin for Windows: SMB, Azure Files, Azure Disk, EBS, vSphere.",
    ),
    logged(
        "volume.claim",
        "The pod's claim has no volume",
        "The PersistentVolumeClaim or its StorageClass is missing, waits for a volume, or its volume lies in another "
        "zone.",
        "kubectl describe pvc says what it waits for.",
        severity=WARNING,
    ),
    logged(
        "volume.object-missing",
        "A ConfigMap or a Secret of the pod is missing",
        "It is not there, lacks the key, or kubelet has not read it yet.",
        "kubectl get configmap,secret in the pod's namespace; it goes on by itself when the object is there.",
        severity=WARNING,
    ),
)
