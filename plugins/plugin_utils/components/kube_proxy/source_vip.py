# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source VIP of overlay: one address of the node's own range that no pod gets, from which kube-proxy sends.

host-local hands out the pods' addresses. Asked in the pods' network, it reserves this one for kube-proxy, as long as
its entry lies in host-local's folder. Asked again with the same id it refuses, so the old entry is released first.
Source: containernetworking/plugins plugins/ipam/host-local/backend (allocator.go Get, disk/backend.go Reserve).
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
from collections.abc import Mapping
from typing import Any

from ...engine import command_line, windows_path
from ...engine.answer import Answer
from ...engine.batch import Batch, Op
from ...engine.reading import Expectation, Query, Reading, file_key, file_query, system_query
from ...engine.resource import Refused
from ..flannel import subnet_env
from ..layout import Layout
from . import kube_proxy_args
from .kube_proxy_args import KubeProxy

KEY = "source_vip"
"""The key of a reserved address in a reading."""
UNKNOWN = "(known after the source VIP is reserved)"
"""Stands for the address in check mode."""
CONTAINER_ID, INTERFACE = "kube-proxy", "source-vip"
LIMIT = 4096


def reads(layout: Layout, folder: str) -> tuple[Query, ...]:
    """Everything that finding or reserving an address reads; `folder` has host-local's files of the network."""
    return (
        subnet_env.query(layout),
        file_query(folder, entries=True),
        file_query(host_local(layout), sha256=True),
        file_query(source_vip_json(layout), content_limit=LIMIT),
    )


def folder_of(proxy: KubeProxy) -> str:
    """host-local's folder of the network, which the CNI configuration names: one file per reserved address."""
    return windows_path.join(proxy.options.cni_data_dir, proxy.network_name)


def host_local(layout: Layout) -> str:
    """The program that hands out addresses."""
    return windows_path.join(layout.cni_bin_dir, "host-local.exe")


def source_vip_json(layout: Layout) -> str:
    """Where register-svc.ps1 (microsoft/SDN) keeps the address."""
    return windows_path.join(layout.root, "SourceVip.json")


def request_json(layout: Layout) -> str:
    """The request that this script sends to host-local."""
    return windows_path.join(layout.root, "SourceVipRequest.json")


def pod_range(layout: Layout, reading: Reading) -> str:
    """The node's range, such as 10.244.3.0/24; empty until flanneld has written it. Refused for a subnet.env without
    one."""
    place = subnet_env.path(layout)
    text = _text(place, reading)
    if not text:
        return ""
    try:
        return str(subnet_env.parse(text).subnet.network)
    except subnet_env.SubnetEnvError as error:
        raise Refused(
            f"source VIP: {place} does not tell the node's range: {error}. flanneld writes it again at its next start."
        ) from error


def find_present(proxy: KubeProxy, service: Mapping[str, Any] | None, reading: Reading) -> str:
    """The address in use, or the one reserved before, if it is in the node's range and still reserved for us; else
    empty."""
    known = reading.parts.get(KEY)
    if known:
        return str(known)
    entries = set(reading.parts.get(file_key(folder_of(proxy)), {}).get("entries") or ())
    span = pod_range(proxy.layout, reading)
    candidates = _candidates(proxy.layout, service, reading)
    return next((vip for vip in candidates if vip in entries and _is_inside(vip, span)), "")


def reserve(proxy: KubeProxy, reading: Reading, component: str) -> Batch:
    """Release the entry of an earlier run, then reserve. Refused if flanneld or host-local is not there yet."""
    missing = [
        f"source VIP: overlay needs one out of the node's range, but there is no {path}: {who}."
        for path, who in (
            (subnet_env.path(proxy.layout), "flanneld writes it (role flannel)"),
            (host_local(proxy.layout), "it comes with the CNI plugins (role cni)"),
        )
        if not reading.file(path).get("exists")
    ]
    if missing:
        raise Refused(*missing)
    stdin = json.dumps(_request(proxy, pod_range(proxy.layout, reading)), sort_keys=True)
    subnet = reading.file(subnet_env.path(proxy.layout))
    relied_on = (
        Expectation(system_query(), (("machine", reading.machine),)),
        Expectation(subnet_env.query(proxy.layout), (("exists", True), ("sha256", subnet.get("sha256")))),
    )
    release = _host_local(proxy.layout, "DEL", stdin)
    return Batch(
        component,
        (release, _host_local(proxy.layout, "ADD", stdin).with_undo(release)),
        pre=relied_on,
        state=reads(proxy.layout, folder_of(proxy)),
    )


def read_reserved(answer: Answer, span: str) -> str:
    """The address in the node's answer to `reserve`. Refused if host-local gave none, or one outside the range."""
    outputs = [each.stdout for each in answer.ran]
    try:
        vip = kube_proxy_args.source_vip(outputs[-1] if outputs else "")
    except ValueError as error:
        said = (outputs[-1] if outputs else "").strip()[:200]
        raise Refused(f"source VIP: host-local.exe gave no address. It said: '{said}'.") from error
    if not _is_inside(vip, span):
        raise Refused(f"source VIP: host-local.exe gave {vip}, which is not in the node's range {span}.")
    return vip


def _candidates(layout: Layout, service: Mapping[str, Any] | None, reading: Reading) -> list[str]:
    found = []
    if service is not None:
        line = str((service.get("nssm") or {}).get("AppParameters") or service.get("image_path") or "")
        words = command_line.split(f"x {line}")
        found += [word.partition("=")[2] for word in words if word.startswith("--source-vip=")]
    text = _text(source_vip_json(layout), reading)
    if text:
        with contextlib.suppress(ValueError):  # not ours to repair: a new one is reserved
            found.append(kube_proxy_args.source_vip(text))
    return found


def _text(path: str, reading: Reading) -> str:
    """A small file's text; empty if it does not exist or was not read."""
    return (reading.text(path) or "") if file_key(path) in reading.parts else ""


def _is_inside(vip: str, span: str) -> bool:
    try:
        return ipaddress.ip_address(vip) in ipaddress.ip_network(span)
    except ValueError:
        return False


def _request(proxy: KubeProxy, span: str) -> dict[str, Any]:
    ipam = {"type": "host-local", "dataDir": proxy.options.cni_data_dir, "ranges": [[{"subnet": span}]]}
    return {"cniVersion": "0.2.0", "name": proxy.network_name, "ipam": ipam}


def _host_local(layout: Layout, command: str, stdin: str) -> Op:
    env = {
        "CNI_COMMAND": command,
        "CNI_CONTAINERID": CONTAINER_ID,
        "CNI_IFNAME": INTERFACE,
        "CNI_NETNS": "none",
        "CNI_PATH": layout.cni_bin_dir,
    }
    return Op(
        "run",
        {
            "program": host_local(layout),
            "args": [],
            "stdin": stdin,
            "env": env,
            "ok_exit": [0],
            "timeout_s": 30,
            "encoding": "utf-8",
        },
    )
