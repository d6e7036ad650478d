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
        "It ended before the program that asks about it knew; harmless when it comes once, a hanging "
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
        "A DaemonSet without a nodeSelector for its system runs everywhere.",
        "Give it kubernetes.io/os: linux; playbooks/scheduling.yml finds and mends them.",
        severity=WARNING,
    ),
)
