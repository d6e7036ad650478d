"""The API's objects for the smoke test's tests."""

from __future__ import annotations

from typing import Any


def windows_node(name: str, index: int, build: int = 20348, **status: Any) -> dict[str, Any]:
    """A Node object that no machine stands behind."""
    capacity = {"cpu": "4", "memory": "16776192Ki", "pods": "110"}
    return {
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/os": "windows",
                "kubernetes.io/hostname": name,
                "node.kubernetes.io/windows-build": f"10.0.{build}",
            },
        },
        "spec": {
            "podCIDR": f"10.244.{index}.0/24",
            "taints": [{"key": "os", "value": "windows", "effect": "NoSchedule"}],
        },
        "status": {
            "addresses": [{"type": "InternalIP", "address": f"192.168.122.{200 + index}"}],
            "conditions": [{"type": "Ready", "status": "True"}],
            "capacity": capacity,
            "allocatable": capacity,
            **status,
        },
    }
