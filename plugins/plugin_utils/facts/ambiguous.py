# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Codes of Windows that have more than one cause in one and the same operation: a short list, likeliest first, and the
look that tells them apart.

    row = find_row("hcn", "0x803b0013", {RULE, HNS})
    row.causes[0].id, row.look

A code with one known cause in an operation has no row, however many it has in others: messages_*.py name that one. Each
cause has the thread, page or source that shows it; `shows` says what the look finds where it is
this one. Which of two is the likelier one is judged by the number of public threads known here.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from . import windows_codes as win
from .message_places import CONTAINER, ENDPOINT, HCS, POD_NETWORK, PROCESS, RULE

MOST = 3
"""So many causes a list has at most: a longer one is none."""
_PORTS = "MicrosoftDocs/Virtualization-Documentation virtualization/windowscontainers/kubernetes/common-problems.md"


@dataclass(frozen=True, slots=True)
class Likely:
    """One cause of several: its id, what the look shows where it is this one, and where that is seen."""

    id: str
    shows: str
    source: str


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """Codes in operations of message_places that have these causes; `never` those operations that have another. `look`
    is one command, or one thing to compare, that tells each from each."""

    codes: tuple[int, ...]
    doing: tuple[str, ...]
    causes: tuple[Likely, ...]
    look: str
    never: tuple[str, ...] = ()

    def fits(self, code: int, operations: Collection[str]) -> bool:
        """Whether it is about a code that came from these operations."""
        done = set(operations)
        return code in self.codes and not done.isdisjoint(self.doing) and done.isdisjoint(self.never)


AMBIGUOUS: tuple[Ambiguous, ...] = (
    Ambiguous(
        (win.HCN_E_PORT_ALREADY_EXISTS,),
        (RULE,),
        (
            Likely(
                "kube-proxy.rule-port-taken",
                "the range has free blocks, and netstat -ano names a process at the port",
                "kubernetes/community#8883; microsoft/hcsshim#1043",
            ),
            Likely("hns.ports-exhausted", "reserved blocks of 64 ports fill the range", _PORTS),
        ),
        "netsh int ipv4 show dynamicportrange tcp, beside netsh int ipv4 show excludedportrange tcp",
    ),
    Ambiguous(
        (win.HCN_E_INVALID_IP, win.HCN_E_ADDR_INVALID_OR_RESERVED),
        (RULE,),
        (
            Likely(
                "kube-proxy.source-vip",
                "the --source-vip of kube-proxy is not in the network's range, or is its gateway",
                "kubernetes/kubernetes#100962; kubernetes-sigs/sig-windows-tools#71",
            ),
            Likely(
                "hns.address-refused",
                "the source VIP is in the range: the line's own address is not",
                "aws/amazon-vpc-cni-k8s#1103",
            ),
        ),
        "hnsdiag list networks -df, beside kube-proxy's command line",
    ),
    Ambiguous(
        (win.HCN_E_INVALID_IP, win.HCN_E_ADDR_INVALID_OR_RESERVED),
        (ENDPOINT, POD_NETWORK),
        (
            Likely(
                "hns.address-refused",
                "no endpoint has the address: it is outside of the network's range, or one that HNS keeps for itself",
                "aws/amazon-vpc-cni-k8s#1103; eksctl-io/eksctl#5118",
            ),
            Likely("hns.endpoint-duplicate-address", "another endpoint has the address", "Azure/AKS#5653"),
        ),
        "hnsdiag list endpoints -df, for the address that the plugin asked for",
        never=(RULE,),
    ),
    Ambiguous(
        (win.HCS_E_INVALID_LAYER,),
        (HCS, CONTAINER),
        (
            Likely(
                "image.mismatch",
                "the builds differ: the host was upgraded, or the image is of another Windows",
                "microsoft/hcsshim#2566; microsoft/navcontainerhelper#3554",
            ),
            Likely(
                "image.layer",
                "the builds are the same: the layers were written by another release of the runtime, or are damaged",
                "docker/for-win#14984; moby/moby#26873",
            ),
        ),
        "crictl inspecti IMAGE (os.version), beside the host's build (cmd /c ver)",
    ),
    Ambiguous(
        (win.ERROR_INVALID_PARAMETER,),
        (CONTAINER,),
        (
            Likely(
                "container.parameter",
                "it fails without mounts as well: the description is for another system, or of a newer image",
                "microsoft/Windows-Containers#210; moby/moby#42159",
            ),
            Likely(
                "container.mount-refused",
                "it starts without mounts: this build of Windows does not take one of them",
                "kubernetes/kubernetes#95547",
            ),
        ),
        "start the same image without volumeMounts (kubectl run)",
        never=(PROCESS,),
    ),
)
"""Absent are 2 and 3 where a container is made or its process is started, 5 where a container is made, and 32 and 87
where an endpoint is made: no thread known here shows a second cause of theirs. Of 32 six show a port that a process or
another container has, and none a Service's."""


_KINDS = frozenset(("windows", "hcn", "hcs"))


def find_row(kind: str, code: str, operations: Collection[str]) -> Ambiguous | None:
    """The row of a code of Windows as a line has it (a number, or its HRESULT; an exit status is none, nor HTTP's),
    where these things were being done."""
    if kind not in _KINDS:
        return None
    number = int(code, 0)
    return next((each for each in AMBIGUOUS if each.fits(number, operations)), None)
