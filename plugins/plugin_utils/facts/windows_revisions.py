# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Revisions of Windows that are known to break nodes, and the updates that bring them.

A revision is the fourth part of 10.0.20348.2582, the registry's UBR. windows_updates.txt has the updates: build,
revision, KB number (`-` for the first release), date.

    known_bad(20348, 2582)                 # the entries
    next_good(20348, 2582).name            # 10.0.20348.2762 (KB5044281)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("windows_updates.txt")


@dataclass(frozen=True, slots=True)
class Update:
    """A cumulative update; `kb` is empty for a first release, `date` is ISO 8601."""

    build: int
    revision: int
    kb: str
    date: str

    @property
    def name(self) -> str:
        """For people: `10.0.20348.2762 (KB5044281)`."""
        return f"10.0.{self.build}.{self.revision}" + (f" ({self.kb})" if self.kb else "")


@cache
def updates() -> tuple[Update, ...]:
    """All known ones, by build and revision."""
    rows = (line.split() for line in _FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return tuple(Update(int(build), int(revision), kb.strip("-"), date) for build, revision, kb, date in rows)


@dataclass(frozen=True, slots=True)
class BadRevision:
    """What is wrong from the revision `since` (0: from the first release) up to `mended`, which has it no more (0: no
    update is known to mend it).

    `breaks` is a sentence. `concerns` names whom it concerns where that is not every node: a network mode, or words
    such as `Remote Desktop`. `source` is a public address. `unverified`: users report it, or the update is concluded
    from what was announced.
    """

    build: int
    since: int
    mended: int
    breaks: str
    source: str
    concerns: str = ""
    unverified: bool = False

    @property
    def summary(self) -> str:
        """A line for people."""
        whom = f" Concerns {self.concerns}." if self.concerns else ""
        doubt = " Unverified." if self.unverified else ""
        return f"{self.breaks}{whom}{doubt} {self.source}".rstrip()

    def has(self, build: int, revision: int) -> bool:
        """Whether this revision is one of them."""
        return build == self.build and self.since <= revision and not 0 < self.mended <= revision


_GITHUB = "https://github.com"
_LOCKED = f"{_GITHUB}/moby/moby/issues/38498"
_HNS_CRASH = f"{_GITHUB}/Azure/AKS/blob/master/CHANGELOG.md"
_NEW_IMAGES = f"{_GITHUB}/microsoft/Windows-Containers/issues/591"
_JANUARY_2022 = (
    "https://getskout.com/cybersecurity-threat-advisory-0005-22-microsoft-releases-emergency-updates-to-address-issues-"
    "with-january-2022-windows-server-patches/"
)
_TLS = "https://ilsoftware.it/errore-sec-e-illegal-message-e-problemi-di-rete-con-windows-come-risolvere_25133"
_REMOTE_DESKTOP = (
    "https://www.ctrlaltnod.com/news/microsoft-releases-fix-for-remote-desktop-issues-in-january-2026-updates"
)

_VMS = "Virtual machines of Hyper-V do not start, and volumes of ReFS are lost."
_HANDSHAKE = "Connections by Windows' own TLS fail in the handshake (SEC_E_ILLEGAL_MESSAGE)."
_PROMPT = "Signing in by Remote Desktop fails at the credential prompt."

BAD_REVISIONS: tuple[BadRevision, ...] = (
    BadRevision(
        17763,
        0,
        379,
        "The network of flannel's vxlan cannot be made.",
        f"{_GITHUB}/microsoft/SDN/issues/273",
        concerns="overlay",
    ),
    BadRevision(17763, 0, 379, "Files in containers stay locked until the machine restarts.", _LOCKED, unverified=True),
    BadRevision(
        17763,
        0,
        379,
        "In a cluster of Linux and Windows, traffic through Docker Swarm's routing mesh to services on Linux is lost.",
        f"{_GITHUB}/moby/moby/issues/38484",
        concerns="Docker Swarm",
        unverified=True,
    ),
    BadRevision(
        17763,
        0,
        379,
        "Containers of images of March 2019 and later cannot mount SMB shares (System error 5).",
        f"{_GITHUB}/docker/for-win/issues/3763",
        unverified=True,
    ),
    BadRevision(
        17763, 0, 529, "Pods fail to resolve names now and then.", f"{_GITHUB}/kubernetes-sigs/windows-testing/pull/68"
    ),
    BadRevision(
        17763,
        652,
        678,
        "A member of a domain with MIT Kerberos realms does not start.",
        f"{_GITHUB}/MicrosoftDocs/windows-itpro-docs/blob/0135c3da372237abce6466df4fd99bf7e7b6aab4/windows/"
        "release-information/status-windows-10-1809-and-windows-server-2019.yml",
        concerns="MIT Kerberos realms",
    ),
    BadRevision(
        17763,
        0,
        1039,
        "32-bit programs in images of February 2020 and later hang or end without a word.",
        f"{_GITHUB}/Azure/aks-engine/issues/2736",
    ),
    BadRevision(
        17763,
        1192,
        1554,
        "Published ports of Docker Swarm's ingress network answer no more: the pool of ports went wrong.",
        f"{_GITHUB}/moby/moby/issues/40998",
        concerns="Docker Swarm",
        unverified=True,
    ),
    BadRevision(17763, 0, 1432, "A node cannot reach NodePorts of its own.", f"{_GITHUB}/rancher/rancher/issues/29411"),
    BadRevision(
        17763,
        0,
        1432,
        "kube-proxy has no direct server return (DSR).",
        f"{_GITHUB}/kubernetes/kubernetes/issues/62046",
        concerns="DSR",
    ),
    BadRevision(
        17763,
        1432,
        1554,
        "Pods lose the way to services when HNS restarts: a layer of its rules (DECAP_IN) is dropped.",
        f"{_GITHUB}/microsoft/Windows-Containers/issues/61",
    ),
    BadRevision(
        17763,
        0,
        1490,
        "Pods have no hosts file of their own: single files cannot be mapped into containers.",
        f"{_GITHUB}/microsoft/Windows-Containers/issues/31",
    ),
    BadRevision(
        17763,
        0,
        1518,
        "Antrea cannot start: HNS says that a parameter is incorrect.",
        f"{_GITHUB}/antrea-io/antrea/issues/1429",
        concerns="Antrea",
        unverified=True,
    ),
    BadRevision(
        17763,
        0,
        1790,
        "HNS hangs once an endpoint is in two load balancers.",
        f"{_GITHUB}/kubernetes-sigs/image-builder/pull/566",
    ),
    BadRevision(
        17763,
        0,
        2213,
        "The node restarts with a bug check (139) in afunix.sys.",
        f"{_GITHUB}/microsoft/Windows-Containers/issues/129",
        unverified=True,
    ),
    BadRevision(17763, 2452, 2458, _VMS, _JANUARY_2022, concerns="Hyper-V and ReFS"),
    BadRevision(17763, 3532, 3534, _HANDSHAKE, _TLS),
    BadRevision(17763, 0, 3650, "HNS crashes, and traffic stops until kube-proxy restarts.", _HNS_CRASH),
    BadRevision(
        17763,
        0,
        4131,
        "Containers of Server Core have no event log of gMSA's credential guard (Containers-CCG).",
        f"{_GITHUB}/microsoft/Windows-Containers/issues/221",
        concerns="gMSA",
    ),
    BadRevision(
        17763,
        0,
        7314,
        "Containers of images of late April 2025 and later do not start (0xc0370106).",
        _NEW_IMAGES,
        unverified=True,
    ),
    BadRevision(
        17763,
        7558,
        7678,
        "The Cluster service stops again and again, and virtual machines restart.",
        "https://windowsforum.com/threads/kb5063877-fixes-windows-server-2019-cluster-service-issue-with-bitlocker-csv.377965/",
        concerns="failover clusters",
    ),
    BadRevision(17763, 8276, 8280, _PROMPT, _REMOTE_DESKTOP, concerns="Remote Desktop"),
    BadRevision(
        18363,
        0,
        1440,
        "Containers leak memory of the paged and non-paged pools.",
        f"{_GITHUB}/moby/moby/issues/39476",
        unverified=True,
    ),
    BadRevision(19041, 0, 508, "HNS crashes again and again.", f"{_GITHUB}/microsoft/Windows-Containers/issues/18"),
    BadRevision(
        19041,
        0,
        610,
        "Pods cannot have IPv4 and IPv6 side by side.",
        f"{_GITHUB}/Azure/aks-engine/pull/4176",
        concerns="IPv6",
    ),
    BadRevision(
        20348,
        0,
        681,
        "NodePorts on overlay networks time out.",
        f"{_GITHUB}/openshift/windows-machine-config-operator/pull/1035",
        concerns="overlay",
    ),
    BadRevision(
        20348,
        261,
        681,
        "With direct server return (DSR) pods cannot reach each other.",
        f"{_GITHUB}/kubernetes/website/pull/31759",
        concerns="l2bridge",
        unverified=True,
    ),
    BadRevision(20348, 469, 473, _VMS, _JANUARY_2022, concerns="Hyper-V and ReFS"),
    BadRevision(20348, 1129, 1131, _HANDSHAKE, _TLS),
    BadRevision(20348, 0, 1194, "HNS stops working, and traffic with it.", f"{_GITHUB}/Azure/aks-engine/issues/5094"),
    BadRevision(20348, 0, 1249, "HNS crashes, and traffic stops until kube-proxy restarts.", _HNS_CRASH),
    BadRevision(
        20348,
        0,
        1668,
        "What pods send to pods on the host's network gets the node's address as its source.",
        "https://docs.azure.cn/zh-cn/aks/upgrade-aks-ipam-and-dataplane",
        concerns="Azure CNI overlay",
    ),
    BadRevision(
        20348,
        2322,
        2762,
        "Pods reach nothing: Calico's network loses its connections.",
        f"{_GITHUB}/projectcalico/calico/issues/8529",
        concerns="Calico",
        unverified=True,
    ),
    BadRevision(
        20348,
        2402,
        2762,
        "With an l2bridge network the host's own connections come and go.",
        f"{_GITHUB}/microsoft/Windows-Containers/issues/439",
        concerns="l2bridge",
        unverified=True,
    ),
    BadRevision(
        20348,
        2582,
        2762,
        "Pods reach neither each other nor the outside, and services do not reach them.",
        f"{_GITHUB}/microsoft/Windows-Containers/issues/516",
    ),
    BadRevision(
        20348,
        3091,
        3095,
        "A machine with two or more NUMA nodes does not start.",
        "https://www.windowsnews.ai/article/windows-server-2022-numa-bug-fixed-with-updates-kb5052819-kb5050117.350144",
        concerns="NUMA",
        unverified=True,
    ),
    BadRevision(
        20348,
        3692,
        3695,
        "Confidential virtual machines of Hyper-V stop or restart.",
        "https://windowsforum.com/threads/microsoft-releases-critical-out-of-band-kb5061906-update-for-windows-server-"
        "2022-confidential-vms.367699/",
        concerns="confidential virtual machines",
    ),
    BadRevision(20348, 4648, 4650, _PROMPT, _REMOTE_DESKTOP, concerns="Remote Desktop"),
    BadRevision(
        26100,
        0,
        3194,
        "Containers of images of February 2025 and later do not start.",
        f"{_GITHUB}/actions/runner-images/issues/11582",
    ),
    BadRevision(
        26100,
        0,
        4061,
        "Containers of images of May 2025 and later do not start (0xc0370106).",
        _NEW_IMAGES,
    ),
    BadRevision(
        26100,
        0,
        6899,
        "Pods on overlay networks do not reach each other.",
        f"{_GITHUB}/rancher/rancher/issues/50915",
        concerns="overlay",
        unverified=True,
    ),
    BadRevision(
        26100,
        3194,
        3775,
        "Sessions of Remote Desktop take no more keys and clicks.",
        "https://windowsnews.ai/article/windows-server-2025-update-troubles-rdp-freeze-crisis-and-lessons-for-it.362932",
        concerns="Remote Desktop",
    ),
    BadRevision(
        26100,
        4652,
        4656,
        "Virtual machines of Azure with VBS and without Trusted Launch do not start.",
        "https://www.webpronews.com/microsoft-azure-july-2025-security-patch-triggers-vm-boot-failures",
        concerns="Azure",
    ),
    BadRevision(
        26100,
        6899,
        6901,
        "Keyboards and mice on USB do not work in the recovery environment (WinRE).",
        "https://windowsforum.com/threads/winre-usb-input-restored-after-october-2025-update-kb5070773.386250/",
        concerns="WinRE",
    ),
    BadRevision(26100, 32230, 32234, _PROMPT, _REMOTE_DESKTOP, concerns="Remote Desktop"),
    BadRevision(
        26100,
        32690,
        32698,
        "The update itself may not install (0x800F0983), and leaves the machine without the month's fixes.",
        "https://intel.truststrikelabs.com/article/20260420-003",
    ),
)


class BadEntryError(ValueError):
    """An entry of a user's that cannot be read; the text is for people."""


def parse_entries(entries: Any) -> tuple[BadRevision, ...]:
    """A user's own entries, of the shape of BadRevision, as winkube_windows_revisions has them. BadEntryError says
    which entry is wrong and why."""
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise BadEntryError(f"winkube_windows_revisions: it is {entries!r}, wanted a list of entries.")
    return tuple(_entry(number, each) for number, each in enumerate(entries, 1))


def _entry(number: int, each: Any) -> BadRevision:
    where = f"winkube_windows_revisions, entry {number}"
    if not isinstance(each, Mapping):
        raise BadEntryError(f"{where}: it is {each!r}, wanted keys such as build, since, mended and breaks.")
    names = {one.name: one for one in fields(BadRevision)}
    if strange := sorted(str(key) for key in each if key not in names):
        raise BadEntryError(f"{where}: {', '.join(strange)} is not a key; there are {', '.join(names)}.")
    values = {"since": 0, "mended": 0, "source": "", **each}
    for name, one in names.items():
        if name not in values and one.default is MISSING:
            raise BadEntryError(f"{where}: {name} is missing.")
    try:
        numbers = {name: int(values[name]) for name in ("build", "since", "mended")}
    except (TypeError, ValueError) as error:
        raise BadEntryError(f"{where}: build, since and mended are numbers such as 20348 and 2582: {error}.") from error
    source = str(values["source"])
    return BadRevision(
        build=numbers["build"],
        since=numbers["since"],
        mended=numbers["mended"],
        breaks=str(values["breaks"]),
        source=source,
        concerns=str(values.get("concerns", "")),
        unverified=bool(values.get("unverified", False)) or not source,
    )


def find_bad(build: int, revision: int, own: Iterable[BadRevision] = (), mode: str = "") -> tuple[BadRevision, ...]:
    """The entries of this revision, those of the table and one's `own`; with the node's network `mode` without those
    of another mode."""
    return tuple(each for each in (*BAD_REVISIONS, *own) if each.has(build, revision) and _meets(each, mode))


MODES = ("l2bridge", "overlay")


def _meets(entry: BadRevision, mode: str) -> bool:
    return not mode or entry.concerns not in MODES or entry.concerns == mode


def next_good(build: int, revision: int, own: Iterable[BadRevision] = (), mode: str = "") -> Update | None:
    """The first known update after this revision with which nothing is known to be wrong; None if there is none."""
    extra = tuple(own)
    later = (each for each in updates() if each.build == build and each.revision > revision)
    return next((each for each in later if not find_bad(build, each.revision, extra, mode)), None)


def find_update(build: int, revision: int) -> Update:
    """The update that brings a revision; without its number where no table has it."""
    found = next((each for each in updates() if (each.build, each.revision) == (build, revision)), None)
    return found or Update(build, revision, "", "")


@dataclass(frozen=True, slots=True)
class Refused:
    """An update that would break the node: its number for a reject list, and why, for people."""

    kb: str
    why: str


def find_refused(
    found: Iterable[tuple[str, Sequence[str]]],
    build: int,
    revision: int,
    own: Iterable[BadRevision] = (),
    mode: str = "",
) -> Iterator[Refused]:
    """The updates that would bring a node of this build and revision a known fault that it does not have yet.

    `found` are the updates of Windows Update, as title and KB numbers. A fault counts if it is verified, concerns every
    node or the network `mode`, and is fixed by a later update. A fault that an update merely leaves does not count.
    """
    extra = tuple(own)
    for title, numbers in found:
        for number in numbers:
            kb = f"KB{number.upper().removeprefix('KB')}"
            brought = _revision(title, kb, build)
            entries = find_bad(build, brought, extra, mode) if brought else ()
            new = [each for each in entries if each.since > revision and each.mended and _stops(each, mode)]
            if new:
                after = next_good(build, brought, extra, mode)
                good = after.name if after else f"10.0.{build}.{max(each.mended for each in new)}"
                said = " ".join(f"{each.breaks} ({each.source})" for each in new)
                yield Refused(
                    kb, f"{kb} (10.0.{build}.{brought}) is not installed: {said} The next good one is {good}."
                )


def _stops(entry: BadRevision, mode: str) -> bool:
    return not entry.unverified and (not entry.concerns or entry.concerns == mode)


_IN_TITLE = re.compile(r"\((\d{5})\.(\d+)\)")


def _revision(title: str, kb: str, build: int) -> int:
    """The revision that an update brings, by the table, else by its title (`.. (KB5058411) (26100.4061)`); else 0."""
    row = next((each for each in updates() if each.build == build and each.kb == kb), None)
    if row is not None:
        return row.revision
    named = _IN_TITLE.search(title)
    return int(named[2]) if named and int(named[1]) == build else 0
