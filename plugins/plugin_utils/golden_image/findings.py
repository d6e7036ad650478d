# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What would be the same on every node of an image, and must not be.

One table: CHECKS. The components declare where things are (`Component.bound`, `settings`); whatever stays is searched
for the machine's own values. Nothing is removed here: somebody put it there, and each sentence says how to remove it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..components import networks, registry
from ..components.containerd import registries
from ..components.layout import Layout
from ..cri_tcp.node import certificate_folder
from ..engine import windows_path
from ..engine.reading import CONFIDENTIAL, Query, Reading, file_key, file_query, merge_queries, system_query
from ..engine.resources.environment_variable import ENVIRONMENT_KEY
from ..engine.resources.file import READ_LIMIT
from ..engine.resources.programs import RECEIPT_LIMIT
from ..network.parse import parse
from ..repair import hns

SSH_DIR = r"C:\ProgramData\ssh"
"""Where OpenSSH keeps its host keys. Source: learn.microsoft.com, OpenSSH Server configuration for Windows."""
LISTENERS = r"HKLM\SOFTWARE\Microsoft\Windows\CurrentVersion\WSMAN\Listener"
"""A key for each listener of WinRM, `*+HTTPS` for one with a certificate (field knowledge, unverified)."""

_CREDENTIAL = re.compile(r"^\s*(?:\[(?:.*\.)?header\]|client\s*=)", re.MULTILINE)
"""Headers and client keys in hosts.toml. Source: containerd docs/hosts.md."""
_HOST_KEY = re.compile(r"ssh_host_\w+_key(\.pub)?")
_FLAGS = re.compile(r"--(?:hostname-override|node-ip|iface|source-vip)(?:=|\s+)[^\s\"]+")
"""Arguments of kubelet, kube-proxy and flanneld with one machine's value."""
_OPEN = {
    "open.json": ("a batch is under way on this machine", "Run again when it has ended"),
    "blocked.json": (
        "an undo has failed on this machine and was not acknowledged",
        "Put right what it left, then: playbooks/repair.yml -e winkube_repair=acknowledge -e winkube_batch=<its id>",
    ),
    "expiry.json": (
        "something on this machine is to end by itself, CRI over TCP",
        "Close it: containerd_config_tcp with state: absent",
    ),
}
"""Files in the state folder that mark unfinished work (docs/protocol.md, section 4)."""
_REMEDIES = {
    "containerd": "Remove them: sc.exe start containerd, then crictl.exe rmp --all --force; what ctr.exe has started, "
    "by ctr.exe",
    "kubelet": "A kubelet has run here. Take the node apart first: playbooks/reset.yml",
}
_RESET = "It is one node's. Remove it, or take the node apart first: playbooks/reset.yml"


@dataclass(frozen=True, slots=True)
class Scope:
    """The machine to check, and the option of win_k8s_golden_image: where host-local records addresses."""

    layout: Layout
    cni_data_dir: str


@dataclass(frozen=True, slots=True)
class Bound:
    """Something that belongs to this one machine, and the remedy."""

    what: str
    remedy: str

    @property
    def sentence(self) -> str:
        """A sentence for the maker of the image."""
        return f"{self.what}. {self.remedy}."


Check = Callable[[Scope, Reading], Iterator[Bound]]


def reads(scope: Scope, reading: Reading) -> tuple[Query, ...]:
    """What the checks read. `reading` has the values to search for, and the names of the receipts."""
    layout = scope.layout
    texts = (*_settings(layout), *receipts(layout, reading))
    return merge_queries(
        (
            system_query(),
            networks.adapters_query(),
            *hns.QUERIES,
            *(file_query(path, entries=True) for each in registry.COMPONENTS for path in each.bound(layout)),
            *(file_query(path, content_limit=max(READ_LIMIT, RECEIPT_LIMIT)) for path in texts),
            *(file_query(path, entries=True) for path in _folders(scope)),
            Query("registry:listeners", "registry", (("path", LISTENERS),)),
            _environment(reading),
            _encryption(layout),
        )
    )


def find(scope: Scope, reading: Reading) -> tuple[Bound, ...]:
    """Everything that blocks an image, in the order of CHECKS."""
    return tuple(found for check in CHECKS for found in check(scope, reading))


def receipts(layout: Layout, reading: Reading) -> tuple[str, ...]:
    """The receipts of programs, which stay: they save the nodes the downloads."""
    folder = receipt_folder(layout)
    return tuple(windows_path.join(folder, name) for name in entries(folder, reading) if name.endswith(".json"))


def receipt_folder(layout: Layout) -> str:
    return windows_path.join(layout.state_dir, "receipts")


def entries(folder: str, reading: Reading) -> tuple[str, ...]:
    """A folder's entries; empty if it does not exist or was not read."""
    return tuple(str(each) for each in (reading.parts.get(file_key(folder)) or {}).get("entries") or ())


def list_remaining(layout: Layout, reading: Reading) -> tuple[str, ...]:
    """Sentences about what does not block an image but matters: what to delete right before sysprep, and credentials
    that every node would get."""
    found = [
        f"{path} has credentials of a registry: anyone who gets the image has them. Leave them out of "
        "winkube_registries for the image, or guard the image like them"
        for path in registries.host_files(layout)
        if _CREDENTIAL.search((reading.text(path) if file_key(path) in reading.parts else None) or "")
    ]
    if keys := sorted(name for name in entries(SSH_DIR, reading) if _HOST_KEY.fullmatch(name)):
        found.append(
            f"{SSH_DIR} holds the host keys of this machine ({', '.join(keys)}), which sysprep leaves alone: delete "
            "them in the step that runs sysprep; each node then makes its own keys when sshd starts"
        )
    listeners = (reading.parts.get("registry:listeners") or {}).get("keys") or ()
    if any(str(name).upper().endswith("+HTTPS") for name in listeners):
        found.append(
            "WinRM listens with a certificate of this machine: remove the listener in the step that runs sysprep, and "
            "give each node one at its first boot (playbooks/files/bootstrap-winrm.ps1)"
        )
    return tuple(found)


# -- the checks ----------------------------------------------------------------------------------------------------


def _files(scope: Scope, reading: Reading) -> Iterator[Bound]:
    """Kubeconfigs, keys and certificates; files of kubeadm, flanneld and kube-proxy; pods and containers."""
    for component in registry.COMPONENTS:
        for path in component.bound(scope.layout):
            found = reading.parts.get(file_key(path)) or {}
            inside = entries(path, reading)
            remedy = _REMEDIES.get(component.name, _RESET)
            if found.get("kind") == "directory" and inside:
                yield Bound(f"{path} holds {_join_some(inside)} ({component.name})", remedy)
            elif found.get("exists") and found.get("kind") != "directory":
                yield Bound(f"{path} is there ({component.name})", remedy)


def _addresses(scope: Scope, reading: Reading) -> Iterator[Bound]:
    if taken := entries(scope.cni_data_dir, reading):
        yield Bound(
            f"{scope.cni_data_dir} notes addresses of pods that were on this machine ({_join_some(taken)})",
            "Delete what is in the folder",
        )


def _networks(_scope: Scope, reading: Reading) -> Iterator[Bound]:
    found = parse(reading.parts.get(hns.ALL) or {})
    for kind, problem in found.errors:
        if kind == "networks":
            yield Bound(f"HNS's networks could not be listed: {problem.rstrip('.')}", "Restart the machine")
    for network in found.networks:
        yield Bound(
            f"HNS has the network {network.name} ({network.type}), which is bound to an adapter and an address of this "
            "machine",
            "Remove it: playbooks/reset.yml for one of the collection's, else Get-HnsNetwork and Remove-HnsNetwork; "
            "Docker and nerdctl recreate the network nat",
        )


def _find_unfinished(scope: Scope, reading: Reading) -> Iterator[Bound]:
    """What the collection itself has left open."""
    folder = scope.layout.state_dir
    for name in entries(folder, reading):
        if name in _OPEN:
            what, remedy = _OPEN[name]
            yield Bound(f"{windows_path.join(folder, name)} says that {what}", remedy)


def _cri_tcp(scope: Scope, reading: Reading) -> Iterator[Bound]:
    folder = certificate_folder(scope.layout)
    if entries(folder, reading):
        yield Bound(
            f"CRI is open over TCP, with a certificate of this machine in {folder}",
            "Close it: containerd_config_tcp with state: absent",
        )


def _values(scope: Scope, reading: Reading) -> Iterator[Bound]:
    """The machine's own name, addresses and id, in anything that is cloned."""
    wanted = list_own_values(reading)
    for service in registry.DAEMONS.values():
        name = service.service(scope.layout)
        if own := _find_own_arguments(reading.service(name) or {}, wanted):
            yield Bound(
                f"The service {name} is one machine's: its command line has {', '.join(own)}",
                f"Remove it: sc.exe stop {name}, then sc.exe delete {name}; the join makes it",
            )
    for path in (*_settings(scope.layout), *receipts(scope.layout, reading)):
        text = reading.text(path) if file_key(path) in reading.parts else None
        for value, what in _find_values(text or "", wanted):
            yield Bound(f"{path} holds {what} {value}", "Take it out where it comes from, and run again")
    variables = (reading.parts.get(_environment(reading).key) or {}).get("values") or {}
    for variable, entry in sorted(variables.items()):
        for value, what in _find_values(str(entry.get("value") or ""), wanted):
            yield Bound(f"The machine's variable {variable} holds {what} {value}", "Remove it or that part of it")


def _state(scope: Scope, reading: Reading) -> Iterator[Bound]:
    """What makes sysprep fail, or its image wrong."""
    if (reading.parts.get("system") or {}).get("reboot_pending"):
        yield Bound("Windows waits for a restart, before which sysprep does not run", "Restart the machine")
    if (reading.parts.get(_encryption(scope.layout).key) or {}).get("state") == "on":
        volume = dict(_encryption(scope.layout).args)["volume"]
        yield Bound(
            f"BitLocker protects {volume}, which sysprep refuses and whose key would be every node's",
            f"Turn it off and wait until it is: manage-bde.exe -off {volume}; the nodes turn it on",
        )


CHECKS: tuple[Check, ...] = (_files, _addresses, _networks, _find_unfinished, _cri_tcp, _values, _state)


def list_own_values(reading: Reading) -> Mapping[str, str]:
    """This machine's own values, each with its description."""
    system = reading.parts.get("system") or {}
    found = {str(system.get("computer_name") or ""): "the machine's name", reading.machine: "the machine's id"}
    for adapter in networks.adapters(reading):
        for address, _prefix in adapter.addresses:
            if not ipaddress.ip_address(address).is_link_local:
                found[address] = "the address"
    return {value: what for value, what in found.items() if value}


def _find_own_arguments(service: Mapping[str, Any], wanted: Mapping[str, str]) -> tuple[str, ...]:
    """What in a service's command line belongs to one machine: certain arguments, whatever their value, since it may
    be a former address; and the machine's own values."""
    nssm = service.get("nssm") or {}
    line = " ".join(str(text) for text in (service.get("image_path") or "", *nssm.values()))
    flags = [found[0] for found in _FLAGS.finditer(line)]
    rest = _FLAGS.sub("", line)
    return (*flags, *(f"{what} {value}" for value, what in _find_values(rest, wanted)))


def _find_values(text: str, wanted: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The values that a text has as a whole word or as an address's host. Parts of a path or of a longer name do not
    count."""
    for value, what in wanted.items():
        if re.search(rf"(?<![\w.\\-])(?<!(?<!/)/){re.escape(value)}(?![\w\\-]|\.\w)", text, re.IGNORECASE):
            yield value, what


def _settings(layout: Layout) -> tuple[str, ...]:
    """The configuration files that stay in an image."""
    return tuple(
        path
        for each in registry.COMPONENTS
        for path in (*each.settings(layout), *each.files(layout))
        if path not in each.bound(layout)
    )


def _folders(scope: Scope) -> tuple[str, ...]:
    """Folders to list."""
    return (scope.cni_data_dir, certificate_folder(scope.layout), scope.layout.state_dir, SSH_DIR)


def _environment(reading: Reading) -> Query:
    """The machine's variables with one of its own values. They may also hold a secret."""
    wanted = tuple(sorted(list_own_values(reading)))
    args = (("path", ENVIRONMENT_KEY), ("containing", wanted))
    return Query(f"{CONFIDENTIAL}environment", "registry", args)


def _encryption(layout: Layout) -> Query:
    volume = layout.kubelet_dir[:2].upper()
    return Query(f"encryption:{volume.casefold()}", "encryption", (("volume", volume),))


def _join_some(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:3])}{' and more' if len(names) > 3 else ''}"
