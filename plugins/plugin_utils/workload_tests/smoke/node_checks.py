# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Substitutes for Linux-only tests, and the nodes' own reservations.

Sources: Kubernetes enhancement 116, Test Plan (substitute test cases); kubernetes pkg/kubelet/cm/
container_manager_windows.go, GetNodeAllocatableReservation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from ...facts.quantity import quantity
from . import commands
from .manifests import REPOSITORY
from .model import Check, Facts, NodeFact, build_pod_check, make_known

RESERVED = ("cpu", "memory")


def node_checks(facts: Facts) -> Iterator[Check]:
    """Images, DNS settings, users, resources."""
    yield from _image(facts)
    yield from _dns(facts)
    yield from _user(facts)
    for node in facts.nodes:
        if node.windows:
            yield from _check_reserved(node)


def _image(facts: Facts) -> Iterator[Check]:
    base = Check("image", "image", "an image of a public registry is pulled", "api")
    base = replace(base, suite="should be able to pull image from docker hub", target=facts.repository)
    if facts.repository != REPOSITORY:
        why = f"winkube_smoke_image_repo is {facts.repository}, which need not be public."
        yield replace(base, where="none", exclusion=why)
        return
    for pod in facts.web:
        problem = "" if pod.image_id else f"{pod.image} was not pulled: {pod.problem or 'the node names no image id'}"
        argv = ("kubectl", "get", "pod", "-n", facts.namespace, pod.name, "-o", "yaml")
        yield replace(
            base, id=f"image/{pod.name}", source=pod.node, target=pod.image, argv=argv, answer=make_known(problem)
        )


def _dns(facts: Facts) -> Iterator[Check]:
    base = Check("dns-config", "dns-config", "the pod has the cluster's DNS server", "none")
    if not facts.dns_address:
        why = "kube-system has no Service kube-dns or coredns, so the address of the cluster's DNS is not known."
        yield replace(base, exclusion=why)
        return
    ready = [pod for pod in facts.web if pod.is_ready]
    if not ready:
        yield replace(base, exclusion="No pod is Ready that could be asked for them.")
    for pod in ready:
        yield replace(
            build_pod_check(pod, "dns-config", "server", base.title),
            target=facts.dns_address,
            argv=commands.dns_servers(),
            expect="dns",
            wanted=facts.dns_address,
        )


def _user(facts: Facts) -> Iterator[Check]:
    peer = facts.peer
    if peer is None or not peer.is_ready:
        base = Check("user", "user", "runAsUserName", "none")
        yield replace(base, exclusion="The pod that runs as ContainerUser is not Ready.")
        return
    yield replace(
        build_pod_check(peer, "user", "whoami", "runAsUserName is the user"),
        argv=commands.whoami(),
        expect="user",
        wanted="containeruser",
    )
    yield replace(
        build_pod_check(peer, "user", "acl", "ACLs keep this user out"),
        argv=commands.write_where_it_is_denied(),
        expect="denied",
    )


def _check_reserved(node: NodeFact) -> Iterator[Check]:
    base = Check(
        f"reserved/{node.name}",
        "reserved",
        "allocatable is capacity less what is kept back",
        "api",
        target=node.name,
        argv=("kubectl", "get", "--raw", f"/api/v1/nodes/{node.name}/proxy/configz"),
    )
    if node.reserved is None:
        yield replace(base, where="none", exclusion=f"Its kubelet could not be asked for it: {node.unasked}")
    else:
        yield replace(base, answer=make_known(find_reserved_problem(node)))


def find_reserved_problem(node: NodeFact) -> str:
    """Where a node's allocatable differs from its capacity less its kubelet's reservations; empty if it does not."""
    problems = []
    for name in RESERVED:
        has, left = quantity(node.capacity.get(name, "")), quantity(node.allocatable.get(name, ""))
        kept = quantity((node.reserved or {}).get(name, "0"))
        if has is None or left is None or kept is None:
            problems.append(f"{name} cannot be read")
        elif left != max(has - kept, Fraction(0)):
            shown = f"{node.allocatable[name]} of {node.capacity[name]} is allocatable"
            problems.append(f"{name}: {shown}, and the kubelet keeps back {(node.reserved or {}).get(name, '0')}")
    return "; ".join(problems)
