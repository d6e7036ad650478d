# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What logs alone tell of images and containers."""

from __future__ import annotations

from .check import Check
from .checks_logs import said
from .finding import WARNING

CHECKS: tuple[Check, ...] = (
    said(
        "image.mismatch",
        "An image is for another Windows",
        "A process isolated container needs an image of the host's build; often it is the pause image.",
        "Set winkube_pause_image to one for this build (pause images from 3.6 on have all); choose "
        "another tag of the workload's image.",
    ),
    said(
        "image.platform",
        "An image has no variant for this Windows",
        "Its manifest has no entry for windows/amd64 of this build: it is a Linux image, or of another "
        "release of Windows.",
        "Give Linux pods kubernetes.io/os: linux as nodeSelector; choose a tag of the image for this build.",
    ),
    said(
        "image.pause",
        "The sandbox image cannot be had",
        "containerd has another name or registry in sandbox_image (pinned_images) than this node can reach.",
        "Look whether the node reaches the registry, also through its proxy; set winkube_pause_image to your mirror.",
    ),
    said(
        "container.exited",
        "A container ended while it started",
        "Its image or Windows is damaged, an antivirus holds its files, memory is short, or the host's "
        "update needs a restart.",
        "Restart a machine that waits for it; exclude containerd's root from scans; try another image to "
        "tell which it is.",
    ),
    said(
        "container.timeout",
        "HCS did not finish in time",
        "The machine is short of CPU, memory or disk, or the service vmcompute hangs.",
        "Look at load and disk; restart vmcompute with the node drained, or the machine.",
    ),
    said(
        "container.unknown",
        "HCS does not know the container",
        "It ended, or is just starting, while a program asks about it; harmless when it comes once, a hanging "
        "vmcompute when it goes on.",
        "If it goes on: drain the node and restart the machine.",
        severity=WARNING,
    ),
    said(
        "container.no-hyper-v",
        "Hyper-V isolation is asked for and not there",
        "The feature Hyper-V is not installed, or the virtual machine may not nest.",
        "Use a process isolated RuntimeClass, or install Hyper-V and expose virtualization extensions to the machine.",
    ),
    said(
        "image.layer",
        "A layer of an image cannot be used",
        "Its unpacking was interrupted, an antivirus holds or removed files, or containerd lacks a privilege.",
        "Remove the image (crictl rmi) and pull it again; exclude containerd's root from scans; run "
        "containerd as LocalSystem.",
    ),
    said(
        "container.command",
        "A container's command is not in its image",
        "The path or the name of the program is wrong for this image, or its folder is not in PATH.",
        "Correct command and args of the workload; nanoserver has no PowerShell.",
        severity=WARNING,
    ),
    said(
        "container.runtime-class",
        "containerd has no runtime of that name",
        "A RuntimeClass names a handler that config.toml does not have.",
        "Correct the RuntimeClass, or give config.toml the handler (winkube_containerd_config_template).",
    ),
    said(
        "container.no-shim",
        "containerd's shim is not there",
        "containerd-shim-runhcs-v1.exe is not beside containerd.exe nor in PATH.",
        "Run site.yml with the tag containerd.",
    ),
    said(
        "image.registry-unreachable",
        "A registry cannot be reached",
        "DNS, firewall, proxy or its certificate.",
        "Try it on the node (curl.exe -v https://<registry>/v2/); set winkube_http_proxy or a mirror.",
    ),
    said(
        "image.registry-denied",
        "A registry refuses the pull",
        "No or wrong credentials, a name that does not exist, or a rate limit.",
        "Check imagePullSecrets and the image's name.",
        severity=WARNING,
    ),
    said(
        "container.slow",
        "A sandbox is still being made when kubelet asks again",
        "Making it takes longer than kubelet waits: slow disk, antivirus, a hanging CNI plugin or HCS.",
        "Exclude containerd's root and the plugins from scans; look at what the first attempt waits for.",
        severity=WARNING,
    ),
    said(
        "container.host-process-mixed",
        "A pod mixes host process and ordinary containers",
        "All containers of a pod have to be of one kind.",
        "Set hostProcess for the whole pod, or for none of it.",
        severity=WARNING,
    ),
    said(
        "container.linux-pod",
        "A Linux pod came to this node",
        "A DaemonSet without a nodeSelector for its system runs everywhere. Under Docker a pod for Windows with "
        "hostNetwork fails in the same way while there is no network host.",
        "Give it kubernetes.io/os: linux; playbooks/scheduling.yml finds and mends them. A pod for Windows under "
        "Docker: docker network create -d nat host.",
        severity=WARNING,
    ),
    said(
        "container.linux-user",
        "A pod asks for a Linux user",
        "runAsUser or fsGroup make kubelet change the owner of the token's file, which Windows cannot: the pod was "
        "written for Linux.",
        "Give the workload kubernetes.io/os: linux, or take runAsUser and fsGroup away and set "
        "windowsOptions.runAsUserName.",
        severity=WARNING,
    ),
    said(
        "container.host-process-account",
        "A host process container cannot log its user on",
        "containerd runs under a user's account, which may not log on service accounts.",
        "Run containerd as LocalSystem (site.yml with the tag containerd).",
    ),
    said(
        "container.mount-refused",
        "HCS refuses a folder of the container",
        "A mount's source is a file or not there, its target cannot be a folder on Windows, or Windows lacks the "
        "updates for mounts (Server 2019 before September 2020).",
        "Compare the pod's volumeMounts and workingDir with what is there; install the newest cumulative update.",
    ),
    said(
        "container.access-denied",
        "HCS is denied a container's files",
        "An antivirus or a backup holds the layers, the ACL of containerd's root was changed, or a mount leads to a "
        "folder that SYSTEM may not read.",
        "Exclude containerd's root from scans (docs/endpoint-protection.md); compare its ACL with a healthy node's.",
    ),
    said(
        "container.user",
        "A container's user is not known",
        "runAsUserName names a user that the image, or for a host process container the host, does not have.",
        "Use ContainerUser or ContainerAdministrator; for host process NT AUTHORITY\\SYSTEM, or make the group first.",
        severity=WARNING,
    ),
    said(
        "container.gmsa",
        "A container gets no gMSA",
        "The credential spec is missing, or the host (or its plugin) may not read the account's password.",
        "docs/gmsa.md has the steps; Test-ADServiceAccount on the node says whether the host may.",
        severity=WARNING,
    ),
    said(
        "container.dll-missing",
        "A program in an image lacks a DLL",
        "Exit status 0xC0000135: it needs a library that its base image does not have (Visual C++, or all that "
        "nanoserver leaves out).",
        "Take servercore as base, or add the library to the image.",
        severity=WARNING,
    ),
    said(
        "container.pipe-mount",
        "containerd cannot mount a named pipe",
        "It was given a pipe as hostPath; releases before 1.4.1 open it like a file.",
        "Install a newer containerd; look whether who serves the pipe runs.",
    ),
    said(
        "container.csi-proxy",
        "A CSI driver does not reach csi-proxy",
        "csi-proxy does not run on the node, or is of another release than the version in the pipe's name.",
        "Look at the service csi-proxy (site.yml with the tag csi_proxy); take a driver for its API's version, or one "
        "of host process containers, which needs none.",
    ),
    said(
        "container.csi-driver",
        "A CSI driver is not on this node",
        "Its DaemonSet for Windows was not deployed, or its pod or registrar does not run here.",
        "kubectl get pods -A -o wide for this node; deploy the driver's node plugin for Windows.",
        severity=WARNING,
    ),
    said(
        "container.wins",
        "A pod does not reach wins on the host",
        "The manifest is of the time before host process containers: it starts programs by rancher-wins' pipe, which "
        "is not served.",
        "Use the manifests for host process containers, or this collection's services, in place of wins.",
        severity=WARNING,
    ),
    said(
        "image.pull",
        "An image cannot be pulled",
        "The registry's or the unpacking's own reason stands at the end of the line.",
        "Pull it on the node to see the whole answer: crictl pull <image>.",
        severity=WARNING,
    ),
    said(
        "container.volume",
        "A volume cannot be mounted",
        "The driver's own reason stands at the end of the line.",
        "Look whether csi-proxy runs and at the driver's pod on this node; for a ConfigMap or a Secret, whether it is "
        "there.",
        severity=WARNING,
    ),
    said(
        "container.refused",
        "HCS refuses a container",
        "Windows' own reason stands at the end of the line.",
        "Look at the event log Microsoft-Windows-Hyper-V-Compute-Admin at that time; try the image with another "
        "command to tell the image from the host.",
        severity=WARNING,
    ),
)
