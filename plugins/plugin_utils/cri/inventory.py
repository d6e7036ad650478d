# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a runtime serves and runs, asked by calls that only read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .client import APIS, CriClient, CriError, Object

CALLS = (
    "Status",
    "ListPodSandbox",
    "ListContainers",
    "ListContainerStats",
    "ListPodSandboxStats",
    "ListImages",
    "ImageFsInfo",
)
"""What is tried, beside Version. Both services of CRI are among them."""

OK = "ok"


def look(client: CriClient) -> Object:
    """What k8s_windows_cri_info returns of `containers`. CriError if no version of CRI is served."""
    version = client.version()
    answers: dict[str, Object] = {}
    calls = {"Version": OK}
    errors: list[str] = []
    for name in CALLS:
        try:
            answers[name] = client.call(name)
            calls[name] = OK
        except CriError as error:
            calls[name] = error.code
            errors.append(str(error))
    return {
        "version": version,
        "apis": _apis(client),
        "calls": calls,
        "errors": errors,
        "conditions": [_condition(one) for one in _list(answers, "Status", "status", "conditions")],
        "pods": [_pod(one) for one in _list(answers, "ListPodSandbox", "items")],
        "containers": [_container(one) for one in _list(answers, "ListContainers", "containers")],
        "images": sorted(
            str(tag) for one in _list(answers, "ListImages", "images") for tag in one.get("repoTags") or ()
        ),
    }


def _apis(client: CriClient) -> list[str]:
    found: list[str] = []
    for api in APIS:
        try:
            client.call("Version", api=api)
        except CriError as error:
            if error.code != "UNIMPLEMENTED":
                raise
        else:
            found.append(api)
    return found


def _list(answers: Mapping[str, Any], *path: str) -> list[Mapping[str, Any]]:
    found: Any = answers
    for key in path:
        found = (found or {}).get(key)
    return list(found or ())


def _condition(one: Mapping[str, Any]) -> Object:
    """Protobuf's JSON leaves out what is false or empty."""
    return {
        "type": one.get("type", ""),
        "status": one.get("status", False),
        "reason": one.get("reason", ""),
        "message": one.get("message", ""),
    }


def _pod(one: Mapping[str, Any]) -> Object:
    metadata = one.get("metadata") or {}
    return {
        "id": one.get("id", ""),
        "name": metadata.get("name", ""),
        "namespace": metadata.get("namespace", ""),
        "state": one.get("state", "SANDBOX_READY"),
    }


def _container(one: Mapping[str, Any]) -> Object:
    labels = one.get("labels") or {}
    return {
        "id": one.get("id", ""),
        "name": (one.get("metadata") or {}).get("name", ""),
        "pod": labels.get("io.kubernetes.pod.name", ""),
        "namespace": labels.get("io.kubernetes.pod.namespace", ""),
        "image": (one.get("image") or {}).get("image", ""),
        "state": one.get("state", "CONTAINER_CREATED"),
    }
