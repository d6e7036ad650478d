"""Manifests of more than one object, made from the base pod."""

from __future__ import annotations

from typing import Any

import yaml

from .test_rules import BASE, merged


def of(*objects: dict[str, Any], pod: dict[str, Any] | None = None) -> str:
    """The base pod with a patch laid over it, and the objects beside it, as one file."""
    return yaml.safe_dump_all([merged(yaml.safe_load(BASE), pod or {}), *objects], sort_keys=False)


def service(annotations: dict[str, str] | None = None, /, **spec: Any) -> dict[str, Any]:
    """A Service in front of the base pod."""
    metadata = {"name": "web", "annotations": annotations or {}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"selector": {"app": "web"}, **spec}}


def claimed(*objects: dict[str, Any], **claim: Any) -> str:
    """The base pod with a claim `d` of storage class `fast` and volume `v`, the claim, and the objects."""
    spec = {"storageClassName": "fast", "volumeName": "v", **claim}
    made = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "d"}, "spec": spec}
    return of(made, *objects, pod={"spec": {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}]}})


def volume(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": spec}


def storage_class(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}, **fields}


def runtime_class(handler: str = "runhcs-wcow-process", **scheduling: Any) -> dict[str, Any]:
    return {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "mine"},
        "handler": handler,
        "scheduling": scheduling,
    }


def node(name: str = "win1", memory: str = "8Gi", taints: Any = (), **labels: Any) -> dict[str, Any]:
    """A Windows node of build 20348; labels by their names with `__` for `/` and `_` for `-`, null takes away."""
    own = {
        "kubernetes.io/os": "windows",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/windows-build": "10.0.20348",
        **{key.replace("__", "/").replace("kubernetes_io", "kubernetes.io"): value for key, value in labels.items()},
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {key: value for key, value in own.items() if value is not None}},
        "spec": {"taints": list(taints)},
        "status": {"allocatable": {"memory": memory}},
    }
