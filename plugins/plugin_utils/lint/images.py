# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an image's name says of the system and the Windows build it is made for. No registry is asked."""

from __future__ import annotations

import re
from functools import lru_cache

from .profile import BUILD_NAMES

_WINDOWS_REPOSITORY = re.compile(
    r"^mcr\.microsoft\.com/(windows(/|$)|dotnet/framework/|oss/kubernetes/windows-host-process)"
)
_WINDOWS_TAG = re.compile(r"(windowsservercore|nanoserver|(^|[-_.])windows|ltsc20\d\d)", re.IGNORECASE)
_BUILD_TAG = re.compile(
    r"ltsc(?P<ltsc>20\d\d)|(?:^|[-_.])10\.0\.(?P<number>\d{5})"
    r"|(?:nanoserver|servercore|windows|win)[-_.]?(?:amd64[-_.])?(?P<name>1709|1803|1809|1903|1909|2004|20h2|23h2)"
    r"|(?:^|[-_])(?P<bare>1709|1803|1809|1903|1909|2004|20h2)(?:-amd64)?$",
    re.IGNORECASE,
)
# Images that their publishers make for Linux alone, and endings of tags that name a Linux distribution. Only names that
# have no Windows variant belong here: golang, python or fluent-bit do not.
_LINUX_REPOSITORIES = frozenset(
    [
        "alpine",
        "busybox",
        "centos",
        "debian",
        "fedora",
        "ubuntu",
        "nginx",
        "httpd",
        "redis",
        "postgres",
        "mysql",
        "mariadb",
        "haproxy",
        "rabbitmq",
        "istio/proxyv2",
        "gcr.io/distroless/static",
        "gcr.io/distroless/base",
        "registry.k8s.io/ingress-nginx/controller",
    ]
)
_LINUX_TAG = re.compile(
    r"(^|[-_.])(alpine|bookworm|bullseye|buster|trixie|jammy|noble|focal|slim|ubi[89]|linux)([-_.\d]|$)"
)


def _split(image: str) -> tuple[str, str]:
    name = image.partition("@")[0]
    repository, _colon, tag = name.rpartition(":") if ":" in name.rpartition("/")[2] else (name, "", "")
    for prefix in ("docker.io/library/", "docker.io/", "library/"):
        repository = repository.removeprefix(prefix)
    return repository, tag


@lru_cache(maxsize=4096)
def image_os(image: str) -> str:
    """`windows`, `linux`, or empty if the name does not tell."""
    repository, tag = _split(image)
    if _WINDOWS_REPOSITORY.match(repository) or _WINDOWS_TAG.search(tag):
        return "windows"
    if repository in _LINUX_REPOSITORIES or _LINUX_TAG.search(tag):
        return "linux"
    return ""


def linux_for_sure(image: str) -> bool:
    """Is it a publisher's own image for Linux? A mirror may hold a Windows image under a tag that names a distribution.

    Source: kubernetes-sigs/windows-testing gce/prepull-1.21.yaml pulls such mirrors (httpd:2.4.39-alpine) on Windows.
    """
    repository = _split(image)[0]
    official = "/" not in repository
    return image_os(image) == "linux" and (official or repository in _LINUX_REPOSITORIES)


@lru_cache(maxsize=4096)
def image_build(image: str) -> int | None:
    """The Windows build that the tag names, None if it names none (several systems, a digest, a plain version)."""
    repository, tag = _split(image)
    match = _BUILD_TAG.search(tag)
    if match is None or (match["bare"] and not _WINDOWS_REPOSITORY.match(repository)):
        return None
    if match["number"]:
        return int(match["number"])
    return BUILD_NAMES.get((match["ltsc"] or match["name"] or match["bare"]).lower())
