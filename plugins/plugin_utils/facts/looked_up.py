# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which programs the programs of a node start or look up by name, and what becomes of it if they do not find them.

looked_up.txt has the places in upstream's sources, as `make lookups` finds them: who, module and version, file and
line, how, which name. Here stands by hand what a place means: a `Need`, or, as `Spared`, why no node comes there. A
test holds both against each other, and the needs against the Path in each component's declaration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SYSTEM32 = r"C:\Windows\System32"
POWERSHELL = SYSTEM32 + r"\WindowsPowerShell\v1.0"
WBEM = SYSTEM32 + r"\Wbem"
KUBELET = "the folder of kubelet.exe"
GIVEN = ""
"""No Path is asked: by its full path, which comes from a file or flag of ours, or beside the program itself."""


@dataclass(frozen=True, slots=True)
class Need:
    """`program` starts `name`, as it stands in the table's rows of `module`; it lies in `folder`.

    `fatal`: `program` itself gives up without it; else what `when` says fails. `names`: the table's, where code
    computes them.
    """

    program: str
    module: str
    name: str
    folder: str
    when: str
    fatal: bool
    names: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        return self.names or (self.name,)


@dataclass(frozen=True, slots=True)
class Spared:
    """Rows of `module` with one of `names` (all, if none is said) that no node comes to, and why."""

    module: str
    why: str
    names: tuple[str, ...] = ()


VALIDATORS, KUBERNETES, UTILS = "k8s.io/system-validators", "k8s.io/kubernetes", "k8s.io/utils"
FLANNEL, CSI_PROXY = "github.com/flannel-io/flannel", "github.com/kubernetes-csi/csi-proxy"
CONTAINERDS = "github.com/containerd/containerd"

NEEDS: tuple[Need, ...] = (
    Need("kubeadm", KUBERNETES, "kubelet", KUBELET, "preflight of each join: kubelet --version", True),
    Need("kubeadm", VALIDATORS, "powershell", POWERSHELL, "preflight of each join: SystemVerification", True),
    Need(
        "kubeadm",
        KUBERNETES,
        "xcopy",
        SYSTEM32,
        "looked up in the preflight of each join from 1.33 on; started for etcd alone",
        True,
        ("xcopy", "<ipc.executable>"),
    ),
    Need("kubelet", "k8s.io/mount-utils", "powershell", POWERSHELL, "volumes of SMB, disks that it formats", False),
    Need("kubelet", KUBERNETES, "powershell", POWERSHELL, "a volume with subPath", False),
    Need(
        "kubelet",
        KUBERNETES,
        "PowerShell",
        POWERSHELL,
        "logs of services (kubectl get --raw .../proxy/logs?query=)",
        False,
        ("PowerShell.exe", "<cmdStr>"),
    ),
    Need(
        "kubelet",
        KUBERNETES,
        "a credential provider",
        GIVEN,
        "in --image-credential-provider-bin-dir",
        False,
        ("<filepath.Join(pluginBinDir, provider.Name)>", "<filepath.Join(e.pluginBinDir, e.name)>"),
    ),
    Need("kubelet", KUBERNETES, "a flexvolume driver", GIVEN, "in --volume-plugin-dir", False, ("<execPath>",)),
    Need("flanneld", FLANNEL, "powershell", POWERSHELL, "host-gw: forwarding and routes", True, ("powershell.exe",)),
    Need("csi-proxy", CSI_PROXY, "powershell", POWERSHELL, "each call of a CSI driver but a few", False),
    Need(
        "csi-proxy",
        CSI_PROXY,
        "wmic",
        WBEM,
        "the serial number of the BIOS (v1alpha1); not installed by default from Server 2025 on (unverified)",
        False,
    ),
    Need(
        "containerd",
        CONTAINERDS,
        "containerd-shim-runhcs-v1",
        GIVEN,
        "each pod; beside containerd.exe where Path has none",
        False,
        ("<name>", "<runtimePath>", "<config.Runtime>", "<config.RuntimePath>", "<ctx>"),
    ),
    Need("containerd", CONTAINERDS, "containerd", GIVEN, "--register-service: itself", True, ("<os.Args[0]>",)),
    Need(
        "containerd",
        "github.com/containernetworking/cni",
        "a CNI plugin",
        GIVEN,
        "in bin_dir",
        False,
        ("<pluginPath>",),
    ),
    Need(
        "win-bridge",
        "github.com/containernetworking/cni",
        "host-local",
        GIVEN,
        "in CNI_PATH: each pod",
        True,
        ("<pluginPath>",),
    ),
    Need(
        "win-overlay",
        "github.com/containernetworking/cni",
        "host-local",
        GIVEN,
        "in CNI_PATH: each pod",
        True,
        ("<pluginPath>",),
    ),
    Need(
        "flannel",
        "github.com/containernetworking/cni",
        "its delegate",
        GIVEN,
        "in CNI_PATH: each pod",
        True,
        ("<pluginPath>",),
    ),
    Need(
        "kube-log-runner",
        "k8s.io/component-base",
        "the program behind it",
        GIVEN,
        "on its command line",
        True,
        ("<exe>",),
    ),
    Need(
        "containerd-shim-runhcs-v1",
        "github.com/Microsoft/hcsshim",
        "a container's command",
        GIVEN,
        "HostProcess containers: in the container's own Path",
        False,
        ("<e.token>", "<argv0p>"),
    ),
    Need(
        "containerd-shim-runhcs-v1",
        CONTAINERDS,
        "containerd",
        GIVEN,
        "its own publish command, by the path that containerd hands on",
        False,
        ("<config.Runtime>",),
    ),
)
"""nssm, which is not a Go program, starts the program of its Application value by full path, and hooks of AppEvents, of
which we set none. It replaces %..% in AppEnvironmentExtra, so that a Path there may begin or end with %Path%. Source:
nssm 2.24-101-g897c7ad service.cpp:1902 (start_service), hook.cpp:358, env.cpp:85 (set_environment_block); 2.23
service.cpp:1625, env.cpp:66.
"""

CMDLETS: dict[str, tuple[str, ...]] = {
    "Storage": (
        *("Add-PartitionAccessPath", "Clear-Disk", "Format-Volume", "Get-Disk", "Get-Partition", "Get-Volume"),
        *("Get-PartitionSupportedSize", "Initialize-Disk", "New-Partition", "Remove-PartitionAccessPath"),
        *("Resize-Partition", "Set-Disk", "Set-Partition", "Update-HostStorageCache", "Write-Volumecache"),
    ),
    "iSCSI": (
        *("Connect-IscsiTarget", "Disconnect-IscsiTarget", "Get-IscsiConnection", "Get-IscsiTarget"),
        *("Get-IscsiTargetPortal", "New-IscsiTargetPortal", "Remove-IscsiTargetPortal", "Set-IscsiChapSecret"),
    ),
    "SmbShare": ("Get-SmbGlobalMapping", "New-SmbGlobalMapping", "Remove-SmbGlobalMapping"),
    "NetTCPIP": ("Get-NetIPInterface", "Get-NetRoute", "New-NetRoute", "Remove-NetRoute", "Set-NetIPInterface"),
    "CimCmdlets": ("Get-CimInstance",),
    "Microsoft.PowerShell.Diagnostics": ("Get-WinEvent",),
    "Microsoft.PowerShell.Management": (
        *("Get-Content", "Get-Item", "Get-ItemProperty", "Get-Service", "New-Item", "Remove-Item", "Start-Service"),
        *("Stop-Service", "Test-Path"),
    ),
    "Microsoft.PowerShell.Security": ("ConvertTo-SecureString", "Get-Acl", "Set-Acl"),
    "Microsoft.PowerShell.Utility": (
        *("ConvertFrom-Json", "ConvertTo-Json", "Format-Table", "New-Object", "Write-Host", "Write-Output"),
    ),
}
"""Modules of Windows PowerShell 5.1, all of Windows Server itself, Server Core too. They lie below POWERSHELL,
which the machine's PSModulePath names; none of our programs is given another. Source: learn.microsoft.com, the modules'
pages; unverified: that Server Core has each of them."""

_LINUX = "a program of Linux"
_LIBRARY = "what its caller names"
SPARED: tuple[Spared, ...] = (
    Spared(VALIDATORS, _LINUX, ("docker", "modprobe", "uname")),
    Spared(KUBERNETES, _LINUX, ("getsubids", "blockdev", "multipath", "iscsiadm", "<cmd>")),
    Spared(
        KUBERNETES,
        "up to 1.30: a kubeadm without crictl in its Path warns, and does not ask the runtime in its preflight",
        ("crictl", "<runtime.crictlPath>"),
    ),
    Spared(KUBERNETES, "gitRepo volumes, which 1.37 refuses", ("<command>",)),
    Spared(UTILS, _LIBRARY),
    Spared("k8s.io/client-go", "a kubeconfig with a plugin for credentials; ours have certificates or tokens"),
    Spared("github.com/google/gnostic-models", "a compiler's extensions"),
    Spared("github.com/joho/godotenv", "its own command line"),
    Spared("sigs.k8s.io/kustomize/api", "kubeadm's patches start nothing"),
    Spared("sigs.k8s.io/kustomize/kyaml", "kubeadm's patches start nothing"),
    Spared(FLANNEL, "the backend extension, which the roles do not offer", ("<name>",)),
    Spared(
        CONTAINERDS,
        "igzip and unpigz unpack layers faster where somebody has put them into Path; containerd does without",
        ("<gzipPath>", "<path>", "<unpigzPath>", "unpigz", "igzip"),
    ),
    Spared(CONTAINERDS, "image verifiers, which lie in a folder that the roles do not fill", ("<binPath>",)),
    Spared(CONTAINERDS, "block devices of Linux", ("mkfs.xfs",)),
    Spared(
        "github.com/Microsoft/hcsshim",
        "runhcs.exe of the old shim, which nothing calls",
        ("runhcs.exe", "<getCommandPath()>"),
    ),
    Spared(
        "github.com/Microsoft/hcsshim",
        "a debugger's call, a log program that a pod cannot name",
        ("<req.Args[0]>", "<execPath>"),
    ),
    Spared("github.com/containerd/go-runc", _LINUX),
    Spared("github.com/containerd/nri", "NRI plugins, which no role installs"),
    Spared("github.com/containers/ocicrypt", "encrypted images, which the roles do not set up"),
    Spared("github.com/google/certtostore", "icacls by its full path, for a store that is not used"),
)


def unmet(program: str, path: Sequence[str], kubelet_folder: str) -> Iterator[Need]:
    """What `program` would not find in the folders of `path`; `kubelet_folder` is where kubelet.exe lies."""
    there = {folder.rstrip("\\").casefold() for folder in path}
    for need in NEEDS:
        folder = kubelet_folder if need.folder == KUBELET else need.folder
        if need.program == program and folder != GIVEN and folder.rstrip("\\").casefold() not in there:
            yield need


def cmdlet_module(name: str) -> str | None:
    """The module that a cmdlet is of; None if no row says it."""
    return next((module for module, names in CMDLETS.items() if name.lower() in {one.lower() for one in names}), None)
