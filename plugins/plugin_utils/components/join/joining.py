# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
r"""The join as ops: set the old identity aside, write the credentials, start the kubelet, delete the credentials.

kubeadm refuses to run if kubelet.conf, bootstrap-kubelet.conf or pki\ca.crt exist. Source: kubernetes
cmd/kubeadm/app/preflight/checks.go, RunJoinNodeChecks.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...engine import security, windows_path
from ...engine.batch import Op, as_base64
from ...engine.reading import Query, Reading, file_key, service_key
from ...engine.resource import Change
from ...engine.resources.service import ACTIVE, RUNNING, add_start_undo
from ...engine.secret import NO_TEXT, Secret, encode
from ...engine.services.existing import log_file
from ...engine.tools import (
    CANNOT_ACCEPT,
    NOT_INSTALLED,
    NOT_STARTED,
    move,
    run,
    sc,
    start_ops,
    stop_ops,
    wait_gone,
    wait_service,
)
from ..healthz import KUBELET_PORT, LOOPBACK, url_of, wait_healthy
from ..kubelet.kubelet import is_there
from ..kubelet.places import bootstrap_file, ca_file, cert_dir
from ..layout import Layout
from .join import (
    KUBEADM,
    KUBEADM_RUN,
    Way,
    certificate_files,
    certificate_key,
    list_made,
    reads,
)

KUBEADM_S = 600
"""kubeadm waits 5 min for discovery, 4 for the kubelet's health, 5 for its certificate. Source: kubernetes.io,
kubeadm Configuration (v1beta4), Timeouts."""
LATER = "(known after join)"


def fill_pod_cidr(text: str, pod_cidr: str) -> str:
    """A text of the plan with the Node's podCIDR, or without one if the cluster could not be asked."""
    return text.replace(f", podCIDR {LATER}", f", podCIDR {pod_cidr}" if pod_cidr else "")


def discovery_file(layout: Layout) -> str:
    """The kubeconfig by which kubeadm finds the cluster; gone after the join. On kubeadm's own drive."""
    return windows_path.join(layout.kubernetes_dir, "winkube-discovery.conf")


def patches_dir(layout: Layout) -> str:
    """The folder of what kubeadm is to change of the cluster's KubeletConfiguration; gone after the join."""
    return windows_path.join(layout.kubernetes_dir, "winkube-patches")


def _private(path: str, text: str | Secret[str]) -> Op:
    """A file for administrators alone; its undo removes it."""
    content = as_base64(encode(text)) if isinstance(text, Secret) else as_base64(text.encode())
    args = {"path": path, "content": content, "sddl": security.ADMINS_ONLY_FILE}
    return Op("write", args).with_undo(Op("remove", {"path": path}))


LOG_LINES, LOG_BYTES, LINE_CHARS = 3, 8192, 400


def log_query(layout: Layout, reading: Reading) -> Query | None:
    """The end of the kubelet's log; None if its service has no log file."""
    path = log_file(reading.service(layout.kubelet_service) or {})
    return Query(file_key(path), "file", (("path", path), ("tail", LOG_BYTES))) if path else None


def log_end(query: Query, found: Mapping[str, Any]) -> str:
    """The kubelet's last log lines, `found` by the probe, after a sentence; empty if there are none."""
    tail = (found.get(query.key) or {}).get("tail")
    text = base64.b64decode(tail).decode("utf-8", errors="replace") if tail else ""
    lines = [line.strip()[:LINE_CHARS] for line in text.splitlines() if line.strip()][-LOG_LINES:]
    path = dict(query.args)["path"]
    return f" The kubelet's log {path} ends with: {' | '.join(lines)}" if lines else ""


def _ca_folder(layout: Layout) -> str:
    """The folder of the cluster's CA, made by the join."""
    return windows_path.parent(ca_file(layout))


@dataclass(frozen=True, slots=True)
class Joining:
    """This machine joins as `node_name`.

    For `kubeadm`, `configuration` is kubeadm's JoinConfiguration, `discovery` the kubeconfig by which it finds the
    cluster, `token` the secret in that, `patch` what it is to change of the KubeletConfiguration. For the other two,
    `kubeconfig` starts the kubelet, and `ca_pem` is the cluster's CA, by which that kubelet authenticates its callers.
    With `again` the machine's present identity is set aside first. `mark` is the batch's id.
    """

    layout: Layout
    way: Way
    node_name: str
    mark: str
    configuration: str = ""
    discovery: Secret[str] = NO_TEXT
    patch: str = ""
    token: Secret[str] = NO_TEXT
    kubeconfig: Secret[str] = NO_TEXT
    ca_pem: bytes = b""
    again: bool = False
    start_timeout_s: int = 240
    stop_timeout_s: int = 120

    @property
    def label(self) -> str:
        return f"Node {self.node_name}"

    def reads(self) -> tuple[Query, ...]:
        """Everything that a join may find or make."""
        return reads(self.layout)

    def change(self, reading: Reading) -> Change:
        """Join in any case: `join.has_joined` decides beforehand whether to."""
        layout = self.layout
        aside = self._aside(reading)
        service = dict(reading.service(layout.kubelet_service) or {})
        steps = {
            "kubeadm": self._kubeadm,
            "bootstrap_kubeconfig": self._bootstrap,
            "kubeconfig": self._kubeconfig,
        }[self.way]
        there = {"exists": True, "kind": "file", "sha256": LATER, "sddl": security.ADMINS_ONLY_FILE}
        certificate = {} if self.way == "kubeconfig" else {certificate_key(layout): {"exists": True}}
        return Change(
            text=f"join the cluster {'again ' if self.again else ''}as {self.node_name} by {self.way}, podCIDR {LATER}",
            before="not joined\n" if not self.again else "joined before\n",
            after=f"joined as {self.node_name}, podCIDR {LATER}\n",
            define=(
                *self._stop(reading),
                *aside.ops,
                *steps(reading),
                *aside.swept,
            ),
            predicted={
                file_key(layout.kubelet_kubeconfig): there,
                service_key(layout.kubelet_service): {**service, "state": RUNNING},
                **certificate,
            },
            state=self.reads(),
        )

    def _aside(self, reading: Reading) -> _Aside:
        """What blocks a join: files of an earlier one, among them the old keys."""
        found = [path for path in self._list_made_files() if is_there(path, reading)]
        if self.way == "kubeconfig":  # its certificates, if it needs any, are the user's business
            return _Aside.of(found, (), "", self.mark)
        return _Aside.of(found, certificate_files(self.layout, reading), cert_dir(self.layout), self.mark)

    def _list_made_files(self) -> tuple[str, ...]:
        if self.way == "kubeconfig":
            return (self.layout.kubelet_kubeconfig, *((ca_file(self.layout),) if self.ca_pem else ()))
        return list_made(self.layout)

    def _stop(self, reading: Reading) -> tuple[Op, ...]:
        found = reading.service(self.layout.kubelet_service) or {}
        if found.get("state") not in ACTIVE:
            return ()
        ops = stop_ops(self.layout.kubelet_service, self.layout.kubelet_binary, self.stop_timeout_s)
        ran = found.get("state") == RUNNING
        return add_start_undo(self.layout.kubelet_service, ops, self.start_timeout_s, ran=ran)

    def _undo(self, reading: Reading) -> tuple[Op, ...]:
        """Stop the kubelet and delete everything the join has made. The undo of each move brings back what was there
        before. The folder of certificates is made again, since the names in it are unknown."""
        layout = self.layout
        folder = cert_dir(layout)
        found = reading.file(folder)
        again = {"path": folder} | ({"sddl": found["sddl"]} if found.get("sddl") else {})
        kept = self.way == "kubeconfig"
        return (
            sc("stop", layout.kubelet_service, ok_exit=(0, NOT_STARTED, CANNOT_ACCEPT, NOT_INSTALLED)),
            wait_gone(layout.kubelet_binary, self.stop_timeout_s),
            *(Op("remove", {"path": path}) for path in self._list_made_files()),
            *((Op("remove", {"path": _ca_folder(layout), "only_if_empty": True}),) if self.way == KUBEADM else ()),
            *(() if kept else (Op("remove", {"path": folder, "recurse": True}),)),
            *((Op("mkdir", again),) if found.get("exists") and not kept else ()),
        )

    def _kubeadm(self, reading: Reading) -> tuple[Op, ...]:
        layout = self.layout
        path = windows_path.join(layout.state_dir, f"join-{self.mark[:8]}.yaml")
        found = discovery_file(layout)
        program = run(layout.kubeadm_binary, "join", "--config", path, timeout_s=KUBEADM_S, encoding="utf-8")
        # kubeadm reads no stdin: the token is named here only so that it is masked in kubeadm's output.
        args = {**program.args, "stdin": self.token, "cwd": "C:\\", "env": {"Path": ";".join(KUBEADM_RUN.path(layout))}}
        masked = Op("run", args)
        written = (
            _private(path, self.configuration),
            _private(found, self.discovery),
            *self._patches(),
        )
        return (
            *written,
            masked.with_undo(*self._undo(reading)),
            *(undo for op in reversed(written) for undo in op.undo),
            _wait_file(layout.kubelet_kubeconfig, 30),
            wait_service(layout.kubelet_service, RUNNING, self.start_timeout_s, stable_s=3),
        )

    def _patches(self) -> tuple[Op, ...]:
        if not self.patch:
            return ()
        folder = patches_dir(self.layout)
        made = Op("mkdir", {"path": folder, "sddl": security.ADMINS_ONLY})
        return (
            made.with_undo(Op("remove", {"path": folder, "only_if_empty": True})),
            _private(windows_path.join(folder, "kubeletconfiguration0+merge.json"), self.patch),
        )

    def _bootstrap(self, reading: Reading) -> tuple[Op, ...]:
        layout = self.layout
        path = bootstrap_file(layout)
        return (
            *self._ca(),
            _private(path, self.kubeconfig),
            *self._start(reading),
            _wait_file(layout.kubelet_kubeconfig, self.start_timeout_s),
            wait_healthy(url_of((LOOPBACK, str(KUBELET_PORT))), self.start_timeout_s),
            Op("remove", {"path": path}),
        )

    def _kubeconfig(self, reading: Reading) -> tuple[Op, ...]:
        return (
            *self._ca(),
            _private(self.layout.kubelet_kubeconfig, self.kubeconfig),
            *self._start(reading),
            wait_healthy(url_of((LOOPBACK, str(KUBELET_PORT))), self.start_timeout_s),
        )

    def _ca(self) -> tuple[Op, ...]:
        if not self.ca_pem:
            return ()
        path, folder = ca_file(self.layout), _ca_folder(self.layout)
        write = Op("write", {"path": path, "content": as_base64(self.ca_pem)})
        return (
            Op("mkdir", {"path": folder}).with_undo(Op("remove", {"path": folder, "only_if_empty": True})),
            write.with_undo(Op("remove", {"path": path})),
        )

    def _start(self, reading: Reading) -> tuple[Op, ...]:
        start, *waits = start_ops(self.layout.kubelet_service, self.start_timeout_s)
        return (start.with_undo(*self._undo(reading)), *waits)


@dataclass(frozen=True, slots=True)
class _Aside:
    """The ops that set old files aside, and those that delete them once nothing can fail any more."""

    ops: tuple[Op, ...]
    swept: tuple[Op, ...]

    @classmethod
    def of(cls, files: Sequence[str], keys: Sequence[str], folder: str, mark: str) -> _Aside:
        """Set `files` aside beside themselves, and `keys`, which lie in `folder`, in a folder beside it, since it is
        made again."""
        ending = f".{mark[:8]}.winkube-old"
        moves = [move(path, f"{path}{ending}") for path in files]
        swept = [Op("remove", {"path": f"{path}{ending}"}) for path in files]
        if keys:
            beside = f"{folder}{ending}"
            made = Op("mkdir", {"path": beside, "sddl": security.ADMINS_ONLY})
            moves.append(made.with_undo(Op("remove", {"path": beside, "only_if_empty": True})))
            moves += [move(path, windows_path.join(beside, windows_path.name(path))) for path in keys]
            swept.append(Op("remove", {"path": beside, "recurse": True}))
        return cls(tuple(moves), tuple(swept))


def _wait_file(path: str, timeout_s: int) -> Op:
    return Op("wait", {"for": "file", "path": path, "timeout_s": timeout_s})
