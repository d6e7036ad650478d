# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes' sample of a workload that a RuntimeClass schedules: IIS in a Deployment, behind a Service.

A file of its own: the filter plugin is Ansible's side of it, and workloads/ does not depend on Ansible.
"""

from __future__ import annotations

from typing import Any

from ..facts.windows import class_name, image_names, short_name

REPOSITORY = "mcr.microsoft.com/windows/servercore/iis"


def iis(build: int) -> list[dict[str, Any]]:
    """Deployment and Service for this build; the guide's own for 17763. ValueError if no image is known.

    The request for memory is less than its limit, as in the guide; workload_lint says so. Source: kubernetes.io, Guide
    for Running Windows Containers in Kubernetes, v1.27, Simplifying with RuntimeClass.
    """
    names = image_names(build)
    if names is None or names.iis is None:
        raise ValueError(f"no image of IIS is known for the build {build} of Windows")
    name = f"iis-{short_name(build)}"
    template = {
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "runtimeClassName": class_name(build),
            "containers": [
                {
                    "name": "iis",
                    "image": f"{REPOSITORY}:{names.iis}",
                    "resources": {
                        "limits": {"cpu": 1, "memory": "800Mi"},
                        "requests": {"cpu": 0.1, "memory": "300Mi"},
                    },
                    "ports": [{"containerPort": 80}],
                }
            ],
        },
    }
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"replicas": 1, "template": template, "selector": {"matchLabels": {"app": name}}},
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "iis"},
        "spec": {"type": "LoadBalancer", "ports": [{"protocol": "TCP", "port": 80}], "selector": {"app": name}},
    }
    return [deployment, service]
