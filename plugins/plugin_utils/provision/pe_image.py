# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a program file says of itself: in its first bytes, by its size, and of its version.

Source: learn.microsoft.com, "PE Format": e_lfanew at 0x3c, the COFF header behind "PE\\0\\0", the magic of the optional
header, the section table behind it.
Formats of versions, each seen in the source: `containerd github.com/containerd/containerd v1.7.11 <commit>` (containerd
cmd/containerd/command/main.go), `Kubernetes v1.29.0` (k8s.io/component-base/version/verflag), flanneld the bare version
(flannel main.go); a PE version resource `1.7.11.0` (learn.microsoft.com, VS_FIXEDFILEINFO).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

HEAD = 4096
"""So many of a file's first bytes are looked at: headers and section table of a program built by Go or a C compiler."""

MACHINES = {0x8664: "amd64", 0xAA64: "arm64", 0x014C: "386", 0x01C4: "arm"}
PE32 = 0x10B
PE32_PLUS = 0x20B

_ELF_MACHINES = {0x3E: "amd64", 0xB7: "arm64", 0x03: "386", 0x28: "arm"}
"""Source: the System V ABI's e_machine."""
_MACH_O = (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_ARCHIVES = {b"\x1f\x8b": "a gzip archive", b"PK\x03\x04": "a zip archive", b"7z\xbc\xaf": "a 7z archive"}


def problem(head: bytes, size: int, architecture: str = "") -> str | None:
    """Why this file is not a program for `architecture` (`amd64`, `arm64`; empty: any that Kubernetes has): the end of
    a sentence that begins with the file's name. None if it is.

    `head` is the file's beginning, HEAD bytes or all of it; `size` the whole file's size in bytes.
    """
    if size == 0:
        return "is empty: the build or the download wrote nothing."
    if head[:2] != b"MZ":
        return _foreign(head, architecture)
    if len(head) < 0x40:
        return f"is cut off after {size} bytes, inside the first header: build or copy it again."
    (at,) = struct.unpack_from("<I", head, 0x3C)
    if at + 24 > size:
        return f"is cut off after {size} bytes, before its PE header: build or copy it again."
    if at + 26 > len(head) or head[at : at + 4] != b"PE\0\0":
        return "is not a Windows program: it begins as one for DOS does (MZ), but has no PE header."
    machine, sections, _time, _symbols, _count, optional, flags = struct.unpack_from("<HHIIIHH", head, at + 4)
    (magic,) = struct.unpack_from("<H", head, at + 24)
    found = MACHINES.get(machine, f"machine 0x{machine:04x}")
    if sentence := _wrong_machine(found, magic, architecture):
        return sentence
    if flags & 0x2000:
        return "is a library (DLL), no program."
    end = max(_ends(head, at + 24 + optional, sections), default=0)
    if end > size:
        return f"is cut off: it has {size} bytes, its headers promise {end}. Build or copy it again."
    return None


_PACKAGE = re.compile(rb"path\t([A-Za-z0-9._~/-]{3,200})\n(?:mod|dep|build)\t")
PACKAGE_REACH = 256
"""The largest size of the package's note in bytes, for callers that read a file in pieces."""
_WELL_KNOWN = frozenset(
    {"kubelet", "kube-proxy", "kubeadm", "kubectl", "kube-log-runner", "containerd", "ctr", "containerd-shim-runhcs-v1"}
    | {"crictl", "flannel", "csi-proxy"}
)
"""Last parts of the packages that the programs of a node are built from."""


def package(data: bytes) -> str:
    """The main package that Go notes in a program, such as `k8s.io/kubernetes/cmd/kubelet`; empty if this part of the
    file has none.

    Source: go src/cmd/link, runtime/debug.BuildInfo; seen in kubelet.exe 1.30.4 to 1.37.1, containerd.exe 1.7.35.
    """
    found = _PACKAGE.search(data)
    return found[1].decode() if found else ""


def another_program(name: str, built_from: str) -> str:
    """Which other program of a node a build for `name` is, by its package; empty if none, or no one knows."""
    found = built_from.rpartition("/")[2]
    return found if found in _WELL_KNOWN - {name.casefold()} and name.casefold() in _WELL_KNOWN else ""


def _wrong_machine(found: str, magic: int, architecture: str) -> str | None:
    wanted = architecture or "amd64"
    if found == "386" or magic == PE32:
        return f"is a 32-bit Windows program ({found}): nodes are {wanted}. Build it with GOOS=windows GOARCH={wanted}."
    if magic != PE32_PLUS:
        return f"has an optional header of the unknown kind 0x{magic:03x}: it is damaged, or no program."
    if architecture and found != architecture:
        return (
            f"is a Windows program for {found}, and the node is {architecture}. "
            f"Build it with GOOS=windows GOARCH={architecture}."
        )
    if found not in {"amd64", "arm64"}:
        return f"is a Windows program for {found}: nodes are {wanted}. Build it with GOOS=windows GOARCH={wanted}."
    return None


def _ends(head: bytes, table: int, sections: int) -> Iterator[int]:
    """Where the raw data of each section ends in the file, as far as the table is in `head`."""
    for n in range(sections):
        row = table + 40 * n
        if row + 24 > len(head):
            return
        size, start = struct.unpack_from("<II", head, row + 16)
        yield start + size


def _foreign(head: bytes, architecture: str) -> str:
    goarch = architecture or "amd64"
    if head[:4] == b"\x7fELF":
        machine = struct.unpack_from("<H", head, 18)[0] if len(head) >= 20 else 0
        kind = _ELF_MACHINES.get(machine, "some other machine")
        return (
            f"is a program for Linux (ELF, {kind}), not for Windows: GOOS=windows was forgotten. "
            f"Build it with GOOS=windows GOARCH={goarch}."
        )
    if head[:4] in _MACH_O:
        return f"is a program for macOS, not for Windows: build it with GOOS=windows GOARCH={goarch}."
    for magic, kind in _ARCHIVES.items():
        if head.startswith(magic):
            return f"is {kind}, no program: unpack it and name the .exe in it."
    text = head[:512].lstrip(b"\xef\xbb\xbf \t\r\n")
    if text[:1] == b"<":
        return (
            "is a web page, no program: the server answered with an error or login page. Look at the address in a "
            "browser, and at the proxy."
        )
    if text.startswith(b"#!"):
        return "is a script, no Windows program."
    if text.startswith(b"version https://git-lfs"):
        return "is a pointer of Git LFS, no program: run git lfs pull."
    return f"is not a Windows program: it begins with {head[:4].hex()}, not with 4d5a (MZ)."


Kind = Literal["same", "other", "unclear"]

_VERSION = re.compile(r"(?<![\w.])v?(\d+\.\d+\.\d+)([-+~][0-9A-Za-z.+~$%:-]*|\.m)?(?![\w])")
_RESOURCE = re.compile(r"v?(\d+)[.,]\s?(\d+)[.,]\s?(\d+)(?:[.,]\s?\d+)?([-+].*)?")
_BETWEEN_RELEASES = re.compile(r"-\d+-g[0-9a-f]{7,}|dirty|\.m\b|\+unknown|\+\$|^-master|alpha\.\d+\.\d+|-g[0-9a-f]{7,}")


@dataclass(frozen=True, slots=True)
class Verdict:
    """`same`: it is the wanted version; `other`: it is not; `unclear`: nothing tells. `text` ends a sentence that
    begins with the program's name; empty for `same`."""

    kind: Kind
    text: str = ""


def read_version(output: str) -> str | None:
    """The version in what a program printed for `--version`, without a leading v: `1.7.11`, `0.0.0-master+4a5f6e7`.
    None if there is none."""
    for line in output.splitlines():
        if found := _VERSION.search(line):
            return found[1] + (found[2] or "")
    return None


def read_resource_version(text: str) -> str | None:
    """The version in a PE version resource, `1.7.11` for `1.7.11.0` and for `1, 7, 11, 0`; None if it says nothing
    (`0.0.0.0`)."""
    found = _RESOURCE.fullmatch(text.strip())
    if not found or found.group(1, 2, 3) == ("0", "0", "0"):
        return None
    return ".".join(found.group(1, 2, 3)) + (found[4] or "")


def is_development(version: str) -> bool:
    """Whether this is a build between releases: commits behind a tag, uncommitted changes, no tag at all (0.0.0)."""
    rest = re.sub(r"^\d+\.\d+\.\d+", "", version)
    return version.startswith("0.0.0") or bool(_BETWEEN_RELEASES.search(rest))


def compare(wanted: str, found: str | None) -> Verdict:
    """Whether `found` (as `read_version` or `read_resource_version` gives it) is the version that was `wanted`."""
    if found is None:
        return Verdict("unclear", f"does not say its version; wanted was {strip_v(wanted)}")
    if strip_v(wanted) == found or strip_v(wanted) == found.partition("+")[0]:
        return Verdict("same")
    if is_development(found):
        return Verdict("unclear", f"says it is {found}, a build between releases; wanted was {strip_v(wanted)}")
    return Verdict("other", f"says it is {found}, and wanted was {strip_v(wanted)}")


def strip_v(version: str) -> str:
    """Without blanks around it and the leading v."""
    return version.strip().removeprefix("v")
