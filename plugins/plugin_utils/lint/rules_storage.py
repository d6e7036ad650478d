# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Volumes: types that Windows does not support, and ways of mounting that it cannot do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..facts.node_labels import OS_LABEL
from ..foreign.windows import Pattern
from .catalog import ObjectCase, PodCase
from .model import Hit, Severity, as_list, as_map, as_text
from .rule import ALL_CONTAINERS, DOC, KEP, Remove, Rule, always, is_pipe, needing, volumes

# In-tree volume types that are not for Windows. Those that are: awsElasticBlockStore, azureDisk, azureFile,
# gcePersistentDisk, vsphereVolume (kubernetes/website, Windows storage), and those without a storage system
# behind them. Names from k8s.io/api core/v1 VolumeSource and PersistentVolumeSource, v0.22 to v0.37. nfs has
# a rule of its own (linux-only-volume).
_NOT_FOR_WINDOWS = frozenset(
    [
        "cephfs",
        "cinder",
        "fc",
        "flocker",
        "glusterfs",
        "iscsi",
        "photonPersistentDisk",
        "portworxVolume",
        "quobyte",
        "rbd",
        "scaleIO",
        "storageos",
    ]
)
# Drivers by name, and those whose file is a script or program for Windows.
_FLEX_OF_WINDOWS = Pattern(r"smb|cifs|iscsi|\.(?:cmd|exe|ps1|bat)$", re.IGNORECASE)
_UNIX_MOUNT_OPTION = Pattern(r"^(uid|gid|file_mode|dir_mode|forceuid|forcegid|noperm|mfsymlinks|nobrl|cache|actimeo)\b")
_DEFAULT_MODE = 0o644


def _block_devices(case: PodCase) -> Iterator[Hit]:
    for container in case.pod.containers:
        if as_list(container.value.get("volumeDevices")):
            yield Hit((*container.path, "volumeDevices"), {"what": "volumeDevices are set"}, container.name)


def _block_claims(case: PodCase) -> Iterator[Hit]:
    for number, template in enumerate(as_list(case.pod.object.spec.get("volumeClaimTemplates"))):
        if as_map(as_map(template).get("spec")).get("volumeMode") == "Block":
            yield Hit(("spec",), {"what": f"volumeClaimTemplates[{number}] has volumeMode Block"})
    for path, volume in volumes(case):
        if (
            as_map(as_map(as_map(volume.get("ephemeral")).get("volumeClaimTemplate")).get("spec")).get("volumeMode")
            == "Block"
        ):
            yield Hit(
                (*path, "ephemeral", "volumeClaimTemplate", "spec", "volumeMode"), {"what": "volumeMode is Block"}
            )


def _block(case: PodCase) -> Iterator[Hit]:
    yield from _block_devices(case)
    yield from _block_claims(case)


def _find_block(case: ObjectCase) -> Iterator[Hit]:
    if case.pods and case.spec.get("volumeMode") == "Block":
        yield Hit(
            ("spec", "volumeMode"), {"what": f"volumeMode is Block and {case.pods[0].pod.object.label} is for Windows"}
        )


@needing("emptyDir")
def _memory_media(case: PodCase) -> Iterator[Hit]:
    for path, volume in volumes(case):
        if as_map(volume.get("emptyDir")).get("medium") == "Memory":
            yield Hit((*path, "emptyDir", "medium"))


@needing("defaultMode", "mode")
def _modes(case: PodCase) -> Iterator[Hit]:
    """The API server fills in 0644, so that value may not be the author's."""
    for path, volume in volumes(case):
        for kind in ("configMap", "secret", "projected", "downwardAPI"):
            source = as_map(volume.get(kind))
            if source.get("defaultMode") not in (None, _DEFAULT_MODE):
                yield Hit((*path, kind, "defaultMode"), {"value": _octal(source["defaultMode"])})
            nested = [((*path, kind), source)]
            for number, part in enumerate(as_list(source.get("sources"))):
                nested += [
                    ((*path, kind, "sources", number, str(name)), as_map(each)) for name, each in as_map(part).items()
                ]
            for root, holder in nested:
                for number, item in enumerate(as_list(holder.get("items"))):
                    if as_map(item).get("mode") is not None:
                        yield Hit((*root, "items", number, "mode"), {"value": _octal(item["mode"])})


def _octal(value: object) -> str:
    return f"{value:#o}" if isinstance(value, int) else str(value)


# CSI drivers and provisioners whose node part runs only on Linux, by the end of their names, and what they serve.
# Sources: the drivers' own pages on supported platforms, and their manifests, whose node DaemonSets select Linux.
_LINUX_DRIVERS = {
    "nfs": "NFS",
    "efs.csi.aws.com": "NFS",
    "filestore.csi.storage.gke.io": "NFS",
    "fsx.csi.aws.com": "Lustre",
    "fsx.openzfs.csi.aws.com": "NFS",
    "rbd.csi.ceph.com": "Ceph RBD",
    "cephfs.csi.ceph.com": "CephFS",
    "kubernetes.io/rbd": "Ceph RBD",
    "kubernetes.io/cephfs": "CephFS",
    "kubernetes.io/glusterfs": "GlusterFS",
    "kubernetes.io/cinder": "OpenStack disks",
    "cinder.csi.openstack.org": "OpenStack disks",
    "driver.longhorn.io": "Longhorn",
    "blob.csi.azure.com": "blobfuse and NFS",
    "gcsfuse.csi.storage.gke.io": "Cloud Storage by FUSE",
    "s3.csi.aws.com": "S3 by FUSE",
    "csi.juicefs.com": "JuiceFS",
    "rancher.io/local-path": "folders of Linux nodes",
    "openebs.io/local": "folders of Linux nodes",
    "local.csi.openebs.io": "LVM volumes",
    "zfs.csi.openebs.io": "ZFS volumes",
    "jiva.csi.openebs.io": "OpenEBS volumes",
    "cstor.csi.openebs.io": "OpenEBS volumes",
    "io.openebs.csi-mayastor": "OpenEBS volumes",
    "topolvm.io": "LVM volumes",
    "linstor.csi.linbit.com": "DRBD volumes",
    "pxd.portworx.com": "Portworx volumes",
    "org.gluster.glusterfs": "GlusterFS",
    "beegfs.csi.netapp.com": "BeeGFS",
    "csi.cert-manager.io": "certificates to Linux nodes",
    "dobs.csi.digitalocean.com": "disks of DigitalOcean",
    "csi.hetzner.cloud": "disks of Hetzner",
    "linodebs.csi.linode.com": "disks of Linode",
}


def _linux_driver(name: str) -> str:
    """What a driver serves that Windows nodes cannot mount; empty if it is not such a driver."""
    if "nfs" in name.lower():
        return "NFS"
    return next((what for ending, what in _LINUX_DRIVERS.items() if name == ending or name.endswith(f".{ending}")), "")


def _asks_for_nfs(parameters: dict[str, Any]) -> bool:
    """Whether it asks for NFS. Drivers for NFS and SMB: file.csi.azure.com has `protocol`, csi.trident.netapp.io
    `nasType`."""
    named = (as_text(value) for key, value in parameters.items() if _PROTOCOL.search(str(key)))
    return any(value.lower().startswith("nfs") for value in named)


_PROTOCOL = Pattern(r"(^|/)(protocol|nasType)$", re.IGNORECASE)


@needing("volumes")
def _nfs_volumes(case: PodCase) -> Iterator[Hit]:
    for path, volume in volumes(case):
        if "nfs" in volume:
            yield Hit((*path, "nfs"), {"what": f"volume {volume.get('name')} is of type nfs", "served": "NFS"})
        driver = as_text(as_map(volume.get("csi")).get("driver"))
        if served := _linux_driver(driver):
            yield Hit((*path, "csi", "driver"), {"what": f"the CSI driver {driver} serves {served}", "served": served})


def _nfs_object(case: ObjectCase) -> Iterator[Hit]:
    if not case.pods:
        return
    user = case.pods[0].pod.object.label
    if "nfs" in case.spec:
        what = f"the PersistentVolume is of type nfs and used by {user}"
        yield Hit(("spec", "nfs"), {"what": what, "served": "NFS"})
    provisioner = as_text(case.object.value.get("provisioner")) or as_text(as_map(case.spec.get("csi")).get("driver"))
    served = _linux_driver(provisioner)
    if _asks_for_nfs(as_map(case.object.value.get("parameters"))):
        served = "NFS"
    if served:
        path = ("provisioner",) if "provisioner" in case.object.value else ("spec", "csi", "driver")
        yield Hit(path, {"what": f"{provisioner} serves {served} and is used by {user}", "served": served})


@needing("volumes")
def _foreign_types(case: PodCase) -> Iterator[Hit]:
    for path, volume in volumes(case):
        for kind in sorted(_NOT_FOR_WINDOWS & volume.keys()):
            yield Hit((*path, kind), {"what": f"volume {volume.get('name')}", "kind": kind})


@needing("volumes")
def _doubtful_types(case: PodCase) -> Iterator[Hit]:
    for path, volume in volumes(case):
        if "image" in volume:
            what = f"volume {volume.get('name')} is an image: containerd's code for it is written for Linux"
            yield Hit((*path, "image"), {"what": what})
        if "gitRepo" in volume:
            what = f"volume {volume.get('name')} is a gitRepo: the kubelet runs git, which Windows nodes do not have"
            yield Hit((*path, "gitRepo"), {"what": what})
        driver = as_text(as_map(volume.get("flexVolume")).get("driver"))
        if driver and not _FLEX_OF_WINDOWS.search(driver):
            yield Hit(
                (*path, "flexVolume", "driver"),
                {"what": f"FlexVolume {driver}: only SMB and iSCSI have drivers for Windows"},
            )


def _foreign_types_of_volume(case: ObjectCase) -> Iterator[Hit]:
    if case.pods:
        for kind in sorted((_NOT_FOR_WINDOWS | {"local"}) & case.spec.keys()):
            if kind != "local" or case.spec.get("volumeMode") == "Block":
                yield Hit(("spec", kind), {"what": "the PersistentVolume", "kind": kind})


def _unix_mount_options(case: ObjectCase) -> Iterator[Hit]:
    if not case.pods:
        return
    path = ("spec", "mountOptions") if case.object.kind == "PersistentVolume" else ("mountOptions",)
    options = case.spec.get("mountOptions") if len(path) == 2 else case.object.value.get("mountOptions")
    for number, option in enumerate(as_list(options)):
        if isinstance(option, str) and _UNIX_MOUNT_OPTION.match(option):
            yield Hit((*path, number), {"value": option})


@needing("volumes")
def _inline_mount_options(case: PodCase) -> Iterator[Hit]:
    for path, volume in volumes(case):
        given = as_text(as_map(as_map(volume.get("csi")).get("volumeAttributes")).get("mountOptions"))
        for option in filter(_UNIX_MOUNT_OPTION.match, map(str.strip, given.split(","))):
            yield Hit((*path, "csi", "volumeAttributes", "mountOptions"), {"value": option})


_LINUX_FILE_SYSTEM = Pattern(r"(?:ext[234]|xfs|btrfs|zfs)", re.IGNORECASE)
_FILE_SYSTEM_KEY = Pattern(r"(?:csi\.storage\.k8s\.io/)?fstype", re.IGNORECASE)


@needing("volumes")
def _linux_file_systems(case: PodCase) -> Iterator[Hit]:
    for path, volume in volumes(case):
        for kind, source in volume.items():
            value = as_text(as_map(source).get("fsType"))
            if _LINUX_FILE_SYSTEM.fullmatch(value):
                yield Hit((*path, str(kind), "fsType"), {"value": value})


def _linux_file_systems_of_object(case: ObjectCase) -> Iterator[Hit]:
    if not case.pods:
        return
    for key, value in as_map(case.object.value.get("parameters")).items():
        if _FILE_SYSTEM_KEY.fullmatch(str(key)) and _LINUX_FILE_SYSTEM.fullmatch(str(value)):
            yield Hit(("parameters", str(key)), {"value": str(value)})
    for kind, source in case.spec.items():
        value = as_text(as_map(source).get("fsType"))
        if _LINUX_FILE_SYSTEM.fullmatch(value):
            yield Hit(("spec", str(kind), "fsType"), {"value": value})


# CSI drivers that can grow volumes of Windows pods. Source: the drivers' own documentation and node services for
# Windows.
_GROW_ON_WINDOWS = frozenset(
    ["disk.csi.azure.com", "file.csi.azure.com", "ebs.csi.aws.com", "pd.csi.storage.gke.io", "csi.vsphere.vmware.com"]
)


def _growing_class(case: ObjectCase) -> Iterator[Hit]:
    grows = as_text(case.object.value.get("provisioner")) in _GROW_ON_WINDOWS
    if case.pods and not grows and case.object.value.get("allowVolumeExpansion") is True:
        yield Hit(("allowVolumeExpansion",), {"user": case.pods[0].pod.object.label})


# Drivers that write files into a folder of the pod: they neither format nor attach, and need no csi-proxy. Sources:
# kubernetes-sigs/secrets-store-csi-driver deploy/secrets-store-csi-driver-windows.yaml; the drivers' manifests.
_MOUNTS_NO_DISK = Pattern(r"secrets-store|csi\.spiffe\.io|csi\.cert-manager\.io|image\.csi")


def _words_of(case: PodCase) -> Iterator[str]:
    for container in case.pod.containers:
        yield container.image
        yield " ".join(map(str, as_list(container.value.get("args")) + as_list(container.value.get("command"))))


def _csi_without_proxy(case: PodCase) -> Iterator[Hit]:
    """A node plugin, which a registrar beside it gives away. It needs HostProcess or csi-proxy's pipes."""
    if case.pod.host_process:
        return
    if any(
        is_pipe(p) and "csi-proxy" in p
        for _path, v in volumes(case)
        for p in [as_text(as_map(v.get("hostPath")).get("path"))]
    ):
        return
    if any(_MOUNTS_NO_DISK.search(each) for each in _words_of(case)):
        return
    for container in case.pod.containers:
        words = " ".join(map(str, as_list(container.value.get("args")) + as_list(container.value.get("command"))))
        if "csi-node-driver-registrar" in container.image or "--kubelet-registration-path" in words:
            yield Hit((*container.path, "image"), {"what": container.name}, container.name)


def _volumes_of_linux_nodes(case: ObjectCase) -> Iterator[Hit]:
    """A volume that only Linux nodes can reach, or whose folder is on one of them."""
    if not case.pods:
        return
    user = case.pods[0].pod.object.label
    required = as_map(as_map(case.spec.get("nodeAffinity")).get("required"))
    terms = [as_list(as_map(term).get("matchExpressions")) for term in as_list(required.get("nodeSelectorTerms"))]
    if terms and all(any(map(_selects_linux, map(as_map, term))) for term in terms):
        what = "its nodeAffinity requires Linux nodes"
        yield Hit(("spec", "nodeAffinity"), {"user": user, "what": what})
    folder = as_text(as_map(case.spec.get("local")).get("path"))
    if folder.startswith("/mnt/"):
        yield Hit(("spec", "local", "path"), {"user": user, "what": f"{folder} is a mount of Linux"})


def _selects_linux(expression: dict[str, Any]) -> bool:
    values = as_list(expression.get("values"))
    of_system = str(expression.get("key")).endswith(OS_LABEL)
    return of_system and expression.get("operator") == "In" and "windows" not in values


_NOT_MOUNTED = "{what} is of type {kind}: the kubelet on Windows cannot mount it, and the pod does not start."
_PLUGINS = "k8s.io/kubernetes cmd/kubelet/app ProbeVolumePlugins, pkg/volume/fc, pkg/volume/iscsi"


RULES: tuple[Rule, ...] = (
    Rule(
        id="volume-of-linux-nodes",
        title="PersistentVolumes of Linux nodes",
        level=always(Severity.ERROR),
        find=_volumes_of_linux_nodes,
        message="{user} is for Windows and uses this volume, and {what}: the pod is not scheduled, or does not start.",
        remedy="Use a volume that Windows nodes reach.",
        source="k8s.io/kubernetes pkg/scheduler/framework/plugins/volumebinding; pkg/volume/local",
        kinds=("PersistentVolume",),
        paths=("spec.nodeAffinity", "spec.local.path"),
    ),
    Rule(
        id="raw-block-volume",
        title="Raw block devices",
        level=always(Severity.ERROR),
        find=_block,
        message="{what}; Windows cannot attach raw block devices to pods.",
        remedy="Use a volume with a file system (volumeMode: Filesystem).",
        source=DOC,
        paths=(f"{ALL_CONTAINERS}.volumeDevices", "spec.volumeClaimTemplates[*].spec.volumeMode"),
    ),
    Rule(
        id="raw-block-volume",
        title="Raw block claims",
        level=always(Severity.ERROR),
        find=_find_block,
        message="{what}; Windows cannot attach raw block devices to pods.",
        remedy="Use volumeMode: Filesystem.",
        source=DOC,
        kinds=("PersistentVolumeClaim", "PersistentVolume"),
        paths=("spec.volumeMode",),
    ),
    Rule(
        id="memory-volume",
        title="emptyDir in memory",
        level=always(Severity.WARNING),
        find=_memory_media,
        message="emptyDir.medium is Memory; Windows has no memory file system for pods, it is a plain folder"
        " on the disk.",
        remedy="Remove medium; the volume is then on the node's disk.",
        source=DOC + "; k8s.io/kubernetes pkg/volume/emptydir empty_dir_unsupported.go",
        paths=("spec.volumes[*].emptyDir.medium",),
    ),
    Rule(
        id="unix-mount-option",
        title="Mount options of Linux",
        level=always(Severity.WARNING),
        find=_unix_mount_options,
        message="mount option {value} is of Linux: on Windows it has no effect, rights are ACLs.",
        remedy="Use a StorageClass or PersistentVolume of its own for Windows pods, without these options.",
        source=DOC,
        kinds=("PersistentVolume", "StorageClass"),
        paths=("mountOptions", "spec.mountOptions"),
    ),
    Rule(
        id="unix-mount-option",
        title="Mount options of Linux of an inline volume",
        level=always(Severity.WARNING),
        find=_inline_mount_options,
        message="mount option {value} is of Linux: on Windows it has no effect, rights are ACLs.",
        remedy="Remove the option.",
        source=DOC,
        paths=("spec.volumes[*].csi.volumeAttributes.mountOptions",),
    ),
    Rule(
        id="linux-file-system",
        title="File systems of Linux",
        level=always(Severity.WARNING),
        find=_linux_file_systems,
        message="the volume's file system is {value}; Windows nodes format and mount only NTFS.",
        remedy="Write ntfs, or leave it to the driver.",
        source="kubernetes-csi/csi-proxy docs; the drivers' parameters: csi.vsphere.vmware.com and disk.csi.azure.com",
        paths=("spec.volumes[*].*.fsType",),
    ),
    Rule(
        id="linux-file-system",
        title="File systems of Linux behind a claim",
        level=always(Severity.WARNING),
        find=_linux_file_systems_of_object,
        message="the volume's file system is {value}; Windows nodes format and mount only NTFS.",
        remedy="Use a StorageClass or PersistentVolume of its own for Windows pods, with ntfs.",
        source="kubernetes-csi/csi-proxy docs; the drivers' parameters: csi.vsphere.vmware.com and disk.csi.azure.com",
        kinds=("PersistentVolume", "StorageClass"),
        paths=("parameters", "spec.*.fsType"),
    ),
    Rule(
        id="file-mode",
        title="File modes of projected files",
        level=always(Severity.WARNING),
        find=_modes,
        message="{field} is {value}; Windows has no file modes, the files get the rights of the folder.",
        remedy="Remove the field.",
        source=DOC + "; " + KEP,
        paths=tuple(
            f"spec.volumes[*].{kind}.defaultMode" for kind in ("configMap", "secret", "projected", "downwardAPI")
        ),
        fix=Remove(),
    ),
    Rule(
        id="linux-only-volume",
        title="NFS and other volumes that only Linux nodes can mount",
        level=always(Severity.ERROR),
        find=_nfs_volumes,
        message="{what}; Windows nodes cannot mount {served}.",
        remedy="Use SMB (for example the CSI driver smb.csi.k8s.io) or a disk.",
        source=DOC,
        paths=("spec.volumes[*].nfs", "spec.volumes[*].csi.driver"),
    ),
    Rule(
        id="linux-only-volume",
        title="NFS and the like behind a claim",
        level=always(Severity.ERROR),
        find=_nfs_object,
        message="{what}; Windows nodes cannot mount {served}.",
        remedy="Use SMB (for example the CSI driver smb.csi.k8s.io) or a disk.",
        source=DOC,
        kinds=("PersistentVolume", "StorageClass"),
        paths=("spec.nfs", "provisioner"),
    ),
    Rule(
        id="volume-expansion",
        title="Volumes that grow",
        level=always(Severity.WARNING),
        find=_growing_class,
        message="allowVolumeExpansion is true and {user} is for Windows: growing a mounted volume is not"
        " supported in-tree; some CSI drivers can.",
        remedy="Check that the CSI driver says so for Windows, else make a new volume and copy.",
        source=DOC,
        kinds=("StorageClass",),
        paths=("allowVolumeExpansion",),
    ),
    Rule(
        id="csi-without-proxy",
        title="CSI node plugin without csi-proxy",
        level=always(Severity.WARNING),
        find=_csi_without_proxy,
        message="{what} registers a CSI node plugin that is neither a HostProcess pod nor mounts a csi-proxy"
        " pipe: it cannot format or mount disks.",
        remedy=r"Run it as a HostProcess pod, or mount the pipes \\.\pipe\csi-proxy-... and install csi-proxy on"
        r" the nodes.",
        source=DOC + "; " + KEP,
        paths=(f"{ALL_CONTAINERS}.image",),
    ),
    Rule(
        id="unsupported-volume-type",
        title="Volume types without Windows support",
        level=always(Severity.ERROR),
        find=_foreign_types,
        message=_NOT_MOUNTED,
        remedy="Use azureFile, azureDisk, awsElasticBlockStore, gcePersistentDisk, vsphereVolume, or a CSI driver"
        " for Windows.",
        source=f"{DOC}; {_PLUGINS}",
        paths=("spec.volumes[*]",),
    ),
    Rule(
        id="unsupported-volume-type",
        title="Volume types that Windows nodes may not mount",
        level=always(Severity.WARNING),
        find=_doubtful_types,
        message="{what}.",
        remedy="Use a CSI driver for Windows, or put the files into the container's image.",
        source=f"{DOC}; containerd internal/cri/server container_image_mount_other.go",
        paths=("spec.volumes[*].image", "spec.volumes[*].flexVolume.driver"),
    ),
    Rule(
        id="unsupported-volume-type",
        title="PersistentVolume types without Windows support",
        level=always(Severity.ERROR),
        find=_foreign_types_of_volume,
        message=_NOT_MOUNTED,
        remedy="Use a CSI driver for Windows.",
        source=f"{DOC}; {_PLUGINS}",
        kinds=("PersistentVolume",),
        paths=("spec",),
    ),
)
