# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Releases of Windows Server, and which of them each Kubernetes release line supports as a node.

Which images a host runs in process isolation hangs on both builds (`runs_image`), so all tables use builds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .version import Line

DISABLED = 4
"""Start type of a service. Source: learn.microsoft.com, ChangeServiceConfig, dwStartType."""


@dataclass(frozen=True, slots=True)
class WindowsRelease:
    """One release. `build`: the third part of its version 10.0.X; `channel`: `LTSC`, `SAC` (semi-annual) or `AC`."""

    name: str
    build: int
    channel: str
    source: str
    unverified: bool = False


_HCSSHIM = "microsoft/hcsshim v0.15.0-rc.4 osversion/windowsbuilds.go"

WINDOWS_RELEASES: tuple[WindowsRelease, ...] = (
    WindowsRelease("Windows Server 2016", 14393, "LTSC", _HCSSHIM),
    WindowsRelease("Windows Server, version 1709", 16299, "SAC", _HCSSHIM),
    WindowsRelease("Windows Server, version 1803", 17134, "SAC", _HCSSHIM),
    WindowsRelease("Windows Server 2019", 17763, "LTSC", _HCSSHIM),
    WindowsRelease("Windows Server, version 1903", 18362, "SAC", _HCSSHIM),
    WindowsRelease("Windows Server, version 1909", 18363, "SAC", _HCSSHIM),
    WindowsRelease("Windows Server, version 2004", 19041, "SAC", _HCSSHIM),
    WindowsRelease("Windows Server, version 20H2", 19042, "SAC", _HCSSHIM),
    WindowsRelease("Windows Server 2022", 20348, "LTSC", _HCSSHIM),
    WindowsRelease("Windows Server, version 23H2", 25398, "AC", _HCSSHIM),
    WindowsRelease("Windows Server 2025", 26100, "LTSC", _HCSSHIM),
)

STABLE_ABI = (20348, 26100)
"""LTSC releases whose containers later hosts run in process isolation, oldest first: compatLTSCReleases.

Sources: microsoft/hcsshim v0.15.0-rc.4 osversion/platform_compat_windows.go, CheckHostAndContainerCompat;
containerd/platforms v1.0.0-rc.4 (containerd v2.3.4) platform_windows_compat.go, checkWindowsHostAndContainerCompat.
"""

OLDEST_BUILD = 17763
"""Older ones lack what Kubernetes' networking needs. Source: Kubernetes enhancement 116, Windows node support."""


@dataclass(frozen=True, slots=True)
class HostSupport:
    """The builds that the release lines `first` to `last` of Kubernetes support as nodes."""

    first: Line
    last: Line
    builds: tuple[int, ...]
    source: str
    unverified: bool = False


_PAGE = "kubernetes.io, Windows containers in Kubernetes, Windows OS version compatibility"

HOST_SUPPORT: tuple[HostSupport, ...] = (
    HostSupport(Line(1, 20), Line(1, 20), (17763, 18363, 19041), f"{_PAGE}, v1.20 and v1.22"),
    HostSupport(Line(1, 21), Line(1, 22), (17763, 19041, 19042), f"{_PAGE}, v1.22"),
    HostSupport(
        Line(1, 23),
        Line(1, 26),
        (17763, 19042, 20348),
        f"{_PAGE}, kubernetes/website 06fab74e, which does not tell for which of these lines",
        unverified=True,
    ),
    HostSupport(Line(1, 27), Line(1, 27), (17763, 19042, 20348), f"{_PAGE}, v1.27"),
    HostSupport(
        Line(1, 28),
        Line(1, 34),
        (17763, 20348),
        "kubernetes/website#53349, the lines taken out of the page in December 2025; #44401",
    ),
    HostSupport(Line(1, 35), Line(1, 35), (20348, 26100), "kubernetes/website#53724, #55058 (the page of March 2026)"),
    HostSupport(
        Line(1, 35),
        Line(1, 35),
        (17763,),
        "named when 1.35 was released, taken out two days later by kubernetes/website#53724",
        unverified=True,
    ),
    HostSupport(Line(1, 36), Line(1, 36), (20348, 26100), f"{_PAGE}, release-1.36; kubernetes/website#55103"),
    HostSupport(Line(1, 37), Line(1, 37), (20348, 26100), f"{_PAGE}: taken from v1.36", unverified=True),
)

FULLY_SUPPORTED_BUILD = 17763
LAST_WITH_ONE_FULLY_SUPPORTED = Line(1, 22)
"""Up to this line only containers of Windows Server 2019 were fully supported, although others ran.

Source: kubernetes.io, Windows containers in Kubernetes, v1.22, Windows OS version compatibility.
"""


@dataclass(frozen=True, slots=True)
class OverlayFloor:
    """A build of Windows whose overlay networks work from the `revision` (UBR) of `update` on; None: never."""

    build: int
    revision: int | None
    update: str
    why: str
    source: str


OVERLAY_FLOORS: tuple[OverlayFloor, ...] = (
    OverlayFloor(
        17134,
        None,
        "",
        "with overlay networks by win-overlay, service addresses do not work on it",
        "Kubernetes enhancement 116, Windows node support, CNI plugins",
    ),
    OverlayFloor(
        17763,
        348,
        "KB4482887",
        "kube-proxy's overlay mode needs that update or a later one",
        "kubernetes.io, Windows containers in Kubernetes, v1.22, network limits; learn.microsoft.com, Windows Server "
        "release information: KB4482887 of 2019-03-01 is 17763.348",
    ),
)


@dataclass(frozen=True, slots=True)
class FeatureFloor:
    """A feature of Kubernetes' network that Windows has from `build` and Kubernetes from `line` on."""

    feature: str
    build: int
    windows: str
    line: Line
    source: str


_LOAD_BALANCING = "kubernetes.io, Windows containers in Kubernetes, v1.22, load balancing and services"

_DUAL_STACK = "hcsshim v0.14.1 hcn/hcnglobals.go, IPv6DualStackVersion (HNS 11.10); the build is unverified"
"""kubernetes.io v1.22 says Windows Server 2019, whose HNS is 9."""

FEATURE_FLOORS: tuple[FeatureFloor, ...] = (
    FeatureFloor(
        "session affinity by client address",
        19551,
        "Windows Server vNext Insider Preview Build 19551",
        Line(1, 20),
        _LOAD_BALANCING,
    ),
    FeatureFloor("direct server return (DSR)", 17763, "Windows Server 2019", Line(1, 20), _LOAD_BALANCING),
    FeatureFloor("preserve-destination", 18362, "Windows Server, version 1903", Line(1, 20), _LOAD_BALANCING),
    FeatureFloor("IPv4 and IPv6 side by side", 19041, "Windows Server, version 2004", Line(1, 19), _DUAL_STACK),
    FeatureFloor("the client's address preserved", 17763, "Windows Server 2019", Line(1, 20), _LOAD_BALANCING),
)


@dataclass(frozen=True, slots=True)
class Maturity:
    """How far a feature was in the release line that the documentation names. `gate`: its gate, None for none."""

    feature: str
    stage: str
    line: Line
    gate: str | None
    source: str


_STATE = "kubernetes.io, Windows containers in Kubernetes, FEATURE STATE"

MATURITY: tuple[Maturity, ...] = (
    Maturity("`spec.os` of a pod", "alpha", Line(1, 23), "IdentifyPodOS", f"{_STATE}, v1.22 page"),
    Maturity("containerd as the runtime", "stable", Line(1, 20), None, f"{_STATE}, v1.22 and v1.27"),
    Maturity("Docker EE by dockershim", "stable", Line(1, 14), None, f"{_STATE}, v1.22 page"),
    Maturity("CSI plugins on Windows", "beta", Line(1, 19), None, f"{_STATE}, v1.22 page"),
    Maturity("`hostNetwork` of a Windows pod", "alpha", Line(1, 26), "WindowsHostNetwork", f"{_STATE}, v1.27"),
)


def overlay_floor(build: int) -> OverlayFloor | None:
    """What overlay networks need on this build, None for nothing in particular."""
    return next((floor for floor in OVERLAY_FLOORS if floor.build == build), None)


def find_release(build: int) -> WindowsRelease | None:
    """The release with this build, None if the table has none."""
    return next((release for release in WINDOWS_RELEASES if release.build == build), None)


def oldest_image(host: int) -> int:
    """The oldest build whose images a host of this build runs: from 20348 on the LTSC release before it (20348 itself
    has none), before that its own. The newest is always its own."""
    if host < STABLE_ABI[0]:
        return host
    return max((build for build in STABLE_ABI if build < host), default=STABLE_ABI[0])


def runs_image(host: int, image: int) -> bool:
    """Whether a host runs an image of this build in process isolation, under a containerd that knows of it
    (containerd.takes_earlier_ltsc)."""
    return oldest_image(host) <= image <= host


def describe_images(host: int) -> str:
    """For people: the builds whose images a host of this build runs."""
    oldest = oldest_image(host)
    return f"build {host}" if oldest == host else f"the builds {oldest} to {host}"


def list_builds(kubernetes: Line) -> tuple[int, ...]:
    """Builds that this Kubernetes supports as nodes, oldest first; empty for a line that no table knows."""
    rows = [row for row in HOST_SUPPORT if row.first <= kubernetes <= row.last]
    return tuple(sorted({build for row in rows for build in row.builds}))


# Which Windows lets containers of containerd reach network shares with a group Managed Service Account (gMSA).


@dataclass(frozen=True, slots=True)
class GmsaFloor:
    """A build of Windows that needs the `revision` (UBR) of `update` or a later one."""

    build: int
    revision: int
    update: str
    source: str


_OF_2004 = (
    "microsoft/Windows-Containers#44: the update 11C of 2020; support.microsoft.com: November 30, 2020, KB4586853 (OS "
    "Builds 19041.662 and 19042.662) Preview"
)

GMSA_FLOORS: tuple[GmsaFloor, ...] = (
    GmsaFloor(
        17763,
        1817,
        "KB5000822",
        "kubernetes.io, Configure GMSA for Windows Pods and containers, Containerd (kubernetes/website#27131, #31412)",
    ),
    GmsaFloor(19041, 662, "KB4586853", _OF_2004),
    GmsaFloor(19042, 662, "KB4586853", _OF_2004),
)

GMSA_ENOUGH_FROM = 20348
"""Newer Windows has the change from its first release. Concluded: it is named only for older ones, and none of the
sources names an update for Windows Server 2022. unverified"""


def gmsa_floor(build: int) -> GmsaFloor | None:
    """What this build needs; None for nothing in particular, or for a build that no source names."""
    return next((floor for floor in GMSA_FLOORS if floor.build == build), None)


# The names that images for a build of Windows go by, and the name of its RuntimeClass.
#
# Every name here is a build: which builds a node runs is said in windows.py (`runs_image`).


@dataclass(frozen=True, slots=True)
class ImageNames:
    """Tags: `servercore` of mcr.microsoft.com/windows/servercore, `iis` of mcr.microsoft.com/windows/servercore/iis,
    None where none was seen."""

    build: int
    servercore: str
    iis: str | None
    source: str


_GUIDE = "kubernetes.io, Guide for Running Windows Containers in Kubernetes, v1.27"
_DOCKER = "microsoft/iis-docker README.md, supported tags; servercore: learn.microsoft.com, container base images"

IMAGE_NAMES: tuple[ImageNames, ...] = (
    ImageNames(17763, "ltsc2019", "windowsservercore-ltsc2019", f"{_GUIDE}: win-webserver and iis-2019"),
    ImageNames(19041, "2004", None, "microsoft/hcsshim test/cri-containerd: the image of build V20H1"),
    ImageNames(19042, "20H2", None, "FROM lines of public Dockerfiles, such as cosmo0920's of win32-api"),
    ImageNames(20348, "ltsc2022", "windowsservercore-ltsc2022", _DOCKER),
    ImageNames(26100, "ltsc2025", "windowsservercore-ltsc2025", _DOCKER),
)

RUNTIME_CLASS_API = "node.k8s.io/v1"
RUNTIME_CLASS_SINCE = Line(1, 20)
"""Source: kubernetes v1.20 CHANGELOG, RuntimeClass promoted to node.k8s.io/v1."""


def image_names(build: int) -> ImageNames | None:
    """The row of the newest images that a host of this build runs: its own, or those of the LTSC release before it."""
    return next((row for row in reversed(IMAGE_NAMES) if runs_image(build, row.build)), None)


def short_name(build: int) -> str:
    """`2019`, `20h2`; the number of a build that has no name here."""
    release = find_release(build)
    return release.name.rpartition(" ")[2].lower() if release else str(build)


def class_name(build: int) -> str:
    """The RuntimeClass of a build, such as `windows-2019`. Source: the same guide, runtimeClasses.yml."""
    return f"windows-{short_name(build)}"


_POLICY = r"HKLM\SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy"

PROFILES: Mapping[str, str] = {
    name: rf"{_POLICY}\{key}"
    for name, key in (("domain", "DomainProfile"), ("private", "StandardProfile"), ("public", "PublicProfile"))
}
"""The keys of the three profiles; `EnableFirewall` (dword) 0 means that the profile lets everything in. Source:
[MS-GPFAS] 2.2.3.2."""

_GROUP_POLICY = r"HKLM\SOFTWARE\Policies\Microsoft\WindowsFirewall"

POLICIES: Mapping[str, str] = {
    name: rf"{_GROUP_POLICY}\{key}"
    for name, key in (("domain", "DomainProfile"), ("private", "StandardProfile"), ("public", "PublicProfile"))
}
"""The same of a group policy: where its `EnableFirewall` is there, it counts and not the machine's own. Source:
[MS-GPFAS] 2.2.3.2; Policy CSP, ADMX_WindowsFirewall (StandardProfile is the private one)."""

KUBELET_RULE = "winkube-kubelet"
KUBELET_PORT = 10250
"""Logs, exec and metrics. Source: rancher/rke2#1762; kubernetes-sigs/sig-windows-tools PrepareNode.ps1 and
image-builder's kubelet tasks open it."""

KUBE_PROXY_RULE = "winkube-kube-proxy"
"""kube-proxy's 10256 and the healthCheckNodePorts, which load balancers ask from outside. Source: kubernetes v1.37.1
pkg/proxy/healthcheck (proxy_health.go, service_health.go); kubernetes.io, Create an External Load Balancer."""
NODE_PORTS = "30000-32767"
"""Where the API server takes node ports from. Source: kubernetes v1.37.1 pkg/controlplane/apiserver/options,
--service-node-port-range."""

VXLAN_RULE = "winkube-vxlan"
"""flannel's UDP port in overlay. Source: microsoft/SDN Kubernetes/windows/helper.psm1 and start.ps1
(`OverlayTraffic4789UDP`); rancher/rke2 pkg/windows."""
