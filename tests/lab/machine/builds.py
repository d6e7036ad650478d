"""Lab builds: small files that look like Windows programs and say in a trailer which program of the lab they are."""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import json
import struct
import tarfile
import zipfile
from dataclasses import dataclass

MACHINES = {"amd64": 0x8664, "arm64": 0xAA64, "386": 0x014C}
_FILLER = 3072
CONTAINERD_RELEASE = ("containerd", "containerd-shim-runhcs-v1", "containerd-stress", "ctr")
"""The programs in bin/ of a Windows release. Source: containerd's release archives for windows-amd64."""

CNI_PLUGINS = ("host-local", "win-bridge", "win-overlay")
"""Source: containernetworking/plugins plugins/windows_only.txt."""


@dataclass(frozen=True)
class LabBuild:
    """resource: the file version of its version resource, None if it has none."""

    name: str
    version: str
    arch: str
    resource: str | None = None


@functools.lru_cache(maxsize=256)
def build(name: str, version: str, arch: str = "amd64", resource: str | None = None) -> bytes:
    """An MZ/PE file (PE32+, for `386` PE32) with the JSON trailer `{"lab": name, "version": version, ...}`."""
    dos = bytearray(64)
    dos[0:2] = b"MZ"
    struct.pack_into("<I", dos, 0x3C, 64)
    wide = arch != "386"
    optional = bytearray(240 if wide else 224)
    struct.pack_into("<H", optional, 0, 0x20B if wide else 0x10B)
    struct.pack_into("<H", optional, 68, 3)
    coff = struct.pack("<HHIIIHH", MACHINES[arch], 1, 0, 0, 0, len(optional), 0x22)
    section = b".text\0\0\0" + struct.pack("<8I", _FILLER, 0x1000, _FILLER, 0x200, 0, 0, 0, 0x60000020)
    filler = b""
    seed = f"{name} {version} {arch}".encode()
    while len(filler) < _FILLER:
        seed = hashlib.sha256(seed).digest()
        filler += seed
    facts: dict[str, str] = {"lab": name, "version": version}
    if resource is not None:
        facts["resource"] = resource
    head = bytes(dos) + b"PE\0\0" + coff + bytes(optional) + section
    notice = b"This is no real program: a simulated build for tests.\0"
    return head.ljust(0x200, b"\0") + notice + filler + b"\n" + json.dumps(facts).encode() + b"\n"


def machine_of(data: bytes) -> str | None:
    """The architecture in a PE header, None when it is none."""
    if len(data) < 0x40 or data[:2] != b"MZ":
        return None
    offset = int(struct.unpack_from("<I", data, 0x3C)[0])
    if data[offset : offset + 4] != b"PE\0\0" or len(data) < offset + 6:
        return None
    number = int(struct.unpack_from("<H", data, offset + 4)[0])
    return next((arch for arch, machine in MACHINES.items() if machine == number), None)


def identify(data: bytes) -> LabBuild | None:
    """Which program of the lab a file is; None for a file that is no lab build, or a damaged one."""
    arch = machine_of(data)
    if arch is None or not data.endswith(b"}\n"):
        return None
    try:
        facts = json.loads(data[data.rindex(b"\n", 0, len(data) - 1) + 1 :])
        return LabBuild(facts["lab"], facts["version"], arch, facts.get("resource"))
    except (ValueError, KeyError, TypeError):
        return None


def resource_version(data: bytes) -> str | None:
    """The file version of a program's version resource, of a lab build or of a real program; None if it has none.

    Source: VS_FIXEDFILEINFO (verrsrc.h): signature 0xFEEF04BD, structure version, then the file version's two halves.
    """
    found = identify(data)
    if found is not None:
        return found.resource
    at = data.find(struct.pack("<I", 0xFEEF04BD)) if machine_of(data) else -1
    if at < 0 or at + 16 > len(data):
        return None
    high, low = struct.unpack_from("<2I", data, at + 8)
    return f"{high >> 16}.{high & 0xFFFF}.{low >> 16}.{low & 0xFFFF}"


def tar_gz(members: dict[str, bytes]) -> bytes:
    """A tar.gz of files, the same bytes each time."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            info.mode = 0o755
            archive.addfile(info, io.BytesIO(data))
    return gzip.compress(packed.getvalue(), mtime=0)


def release_archive(name: str, version: str, arch: str = "amd64") -> bytes:
    """A release's tar.gz with its publisher's layout. ValueError for a name that has none.

    Sources: containerd's release archives; containernetworking/plugins scripts/release.sh (`tar -C bin .`) and
    plugins/windows_only.txt; flannel-io/cni-plugin scripts/package.sh; flannel-io/flannel Makefile (target tar.gz).
    """
    if name == "containerd":
        return tar_gz({f"bin/{program}.exe": build(program, version, arch) for program in CONTAINERD_RELEASE})
    if name == "cni-plugins":
        return tar_gz({f"./{program}.exe": build(program, version, arch) for program in CNI_PLUGINS})
    if name == "cni-plugin-flannel":
        return tar_gz({f"flannel-{arch}.exe": build("flannel", version, arch)})
    if name == "flannel":
        others = {"mk-docker-opts.sh": b"#!/bin/sh\n# simulated\n", "README.md": b"simulated\n"}
        return tar_gz({"flanneld.exe": build("flanneld", version, arch), **others})
    raise ValueError(f"the lab has no release archive of {name}")


def zip_of(members: dict[str, bytes]) -> bytes:
    """A zip of files, the same bytes each time."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2014, 8, 31, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def nssm_archive(version: str = "2.24") -> bytes:
    """nssm's zip: one folder with a program for 32-bit and one for 64-bit Windows.

    Source: the layout of nssm-2.24.zip of nssm.cc. The file version is the number without the build's own suffix.
    """
    resource = version.partition("-")[0]
    folder = f"nssm-{version}"
    return zip_of(
        {
            f"{folder}/README.txt": b"simulated\r\n",
            f"{folder}/win32/nssm.exe": build("nssm", version, "386", resource),
            f"{folder}/win64/nssm.exe": build("nssm", version, "amd64", resource),
        }
    )
