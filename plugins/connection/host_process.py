# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connection plugin: a Windows node through a HostProcess pod."""

from __future__ import annotations

DOCUMENTATION = r"""
name: host_process
short_description: Reach a Windows node through a HostProcess pod
author:
  - The winkube.node authors (@winkube)
version_added: 0.1.0
description:
  - Runs Ansible's modules on a Windows node that has neither SSH nor WinRM, by the exec of the Kubernetes API in a
    HostProcess pod of that node. All it takes is a kubeconfig.
  - A run makes one pod for each node and uses it for all its tasks. One process beside the run gives its pods a sign of
    life each minute, and deletes them when the run is over, after Ctrl-C and a crash too. A pod without a sign of life
    ends by itself after 5 minutes, also where that process was killed; O(pod_lifetime) ends it in any case. A pod that
    has ended is made again when its run needs it. Leftovers of earlier runs in the namespace are deleted when a run
    makes its first pod there.
  - In a container whose first process is C(ansible-playbook), no process outlives the run. A run with a task of this
    collection that works on nodes deletes its pods before it ends, after SIGTERM too. The pods of other runs end by
    themselves.
  - If C(WINKUBE_POD) names the pod in which the run is (C(<namespace>/<name>/<uid>), set by the downward API) and
    O(namespace) is its namespace, it owns the pods, and the garbage collector deletes them after it.
  - Anyone who may do this is an administrator of the node. The pod runs as C(NT AUTHORITY\SYSTEM) on the host.
    C(docs/host_process.md) has the smallest rights, and what PodSecurity asks for.
requirements:
  - the Python packages kubernetes and websocket-client on the controller
  - Kubernetes 1.23 or newer, containerd 1.6 or newer on the node
notes:
  - The API server closes a program's standard input from Kubernetes 1.30 on. With older ones each module costs one
    more start of PowerShell on the node.
  - C(become) is not possible, and nothing is left to become.
options:
  node:
    description: Name of the Node object.
    type: str
    vars:
      - name: inventory_hostname
      - name: winkube_node_name
      - name: winkube_host_process_node
  cluster:
    description:
      - The cluster as the roles of this collection have it, with the keys C(kubeconfig) and C(context). O(kubeconfig)
        and O(context) go before it.
    type: dict
    default: {}
    vars:
      - name: winkube_cluster
  kubeconfig:
    description: Path of a kubeconfig on the controller, or of several, as kubectl takes them from C(KUBECONFIG).
    type: str
    default: ''
    env:
      - name: K8S_AUTH_KUBECONFIG
      - name: KUBECONFIG
    vars:
      - name: winkube_host_process_kubeconfig
  context:
    description: A context of the kubeconfig; empty for its current one.
    type: str
    default: ''
    vars:
      - name: winkube_host_process_context
  namespace:
    description:
      - Where the pods are made. A namespace that is missing is made, with the PodSecurity level C(privileged), and
        deleted after the run, unless another run has a pod in it.
    type: str
    default: winkube-node
    vars:
      - name: winkube_host_process_namespace
  image:
    description:
      - The pod's image. Nothing in it is used, so any image will do that the node has already or can pull.
    type: str
    default: mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image:v1.0.0
    vars:
      - name: winkube_host_process_image
  pull_secret:
    description: Name of a Secret of the namespace for pulling the image.
    type: str
    default: ''
    vars:
      - name: winkube_host_process_pull_secret
  start_timeout:
    description: How many seconds the pod may take to start.
    type: int
    default: 180
    vars:
      - name: winkube_host_process_start_timeout
  pod_lifetime:
    description: After how many seconds Kubernetes ends the pod, whatever has become of the run.
    type: int
    default: 14400
    vars:
      - name: winkube_host_process_pod_lifetime
  pod_in_check_mode:
    description:
      - Whether check mode may make the pod, which it needs to read the node. With V(false), check mode fails on a node
        that has no pod of this run.
    type: bool
    default: true
    vars:
      - name: winkube_host_process_pod_in_check_mode
"""

import base64
import hashlib
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.errors import AnsibleConnectionFailure, AnsibleError, AnsibleFileNotFound
from ansible.plugins.connection import ConnectionBase
from ansible.utils.display import Display

from ..plugin_utils.cluster.client import Cluster
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.cluster.own_pod import find_own_pod
from ..plugin_utils.engine.printable import make_sentence
from ..plugin_utils.engine.run_end import run_folder, run_mark, run_pid
from ..plugin_utils.engine.user import user
from ..plugin_utils.host_process import keeper, pod
from ..plugin_utils.host_process.access import Access, Done

display = Display()

_POWERSHELL = re.compile(
    r"^\s*&?\s*['\"]?(?:\S*\\)?powershell(?:\.exe)?['\"]?\s+(?P<arguments>.*)$", re.IGNORECASE | re.DOTALL
)
_START = "-NoLogo -NoProfile -NonInteractive -ExecutionPolicy Unrestricted -EncodedCommand"


class _Kept:
    """A pod or the namespace of a run, for its keeper."""

    def __init__(self, noted: Mapping[str, Any]) -> None:
        self._noted = noted
        self._opened: Access | None = None

    def _access(self) -> Access:
        """By itself: nothing that is open in a worker may be shared."""
        if self._opened is None:
            cluster = Cluster.open(self._noted["cluster"])
            if cluster is None:
                raise ClusterError("The kubeconfig is gone.")
            self._opened = Access(cluster, pod.Wanted(**self._noted["wanted"]), start_s=0)
        return self._opened

    def renew(self) -> None:
        if self._noted["what"] == "pod":
            self._access().renew()

    def remove(self) -> None:
        if self._noted["what"] == "pod":
            self._access().remove()
        else:
            self._access().remove_namespace()


def _open_kept(noted: Mapping[str, Any]) -> keeper.Kept:
    return _Kept(noted)


class Connection(ConnectionBase):
    """See DOCUMENTATION. One of these lives as long as a task."""

    transport = "winkube.node.host_process"
    module_implementation_preferences = (".ps1", ".exe", "")
    allow_executable = False
    has_pipelining = True
    always_pipeline_modules = True
    has_native_async = True
    _connected: bool

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        self._shell_type = "powershell"
        self._access: Access | None = None
        super().__init__(*arguments, **keywords)

    def _connect(self) -> Connection:
        if not self._connected:
            try:
                self._access = access = self._open_access()
                self._ensure(access)
            except ClusterError as error:
                raise AnsibleConnectionFailure(make_sentence(error)) from None
            self._connected = True
        return self

    def _open_access(self) -> Access:
        options = dict(self.get_option("cluster") or {})
        for key in ("kubeconfig", "context"):
            options[key] = self.get_option(key) or options.get(key) or ""
        cluster = Cluster.open(options)
        if cluster is None:
            raise ClusterError(
                "The connection host_process needs a kubeconfig: set winkube_cluster.kubeconfig, "
                "winkube_host_process_kubeconfig or the environment variable KUBECONFIG."
            )
        self._reopen = options
        run = run_pid()
        self._folder = run_folder(Path(constants.DEFAULT_LOCAL_TMP), run)
        wanted = pod.Wanted(
            node=str(self.get_option("node")),
            namespace=str(self.get_option("namespace")),
            image=str(self.get_option("image")),
            run=run_mark(run),
            owner=f"{user()}@{socket.gethostname()} (pid {run})",
            lives_s=int(self.get_option("pod_lifetime")),
            pull_secret=str(self.get_option("pull_secret")),
            own_pod=find_own_pod(os.environ),
        )
        return Access(
            cluster,
            wanted,
            start_s=float(self.get_option("start_timeout")),
            say=self._say,
            sweeps=lambda: keeper.is_first(
                self._folder, f"swept-{hashlib.sha256(wanted.collection.encode()).hexdigest()}"
            ),
        )

    def _say(self, sentence: str) -> None:
        display.display(make_sentence(f"{self.get_option('node')}: {sentence}"))

    def _ensure(self, access: Access) -> None:
        may_make = not self._play_context.check_mode or self.get_option("pod_in_check_mode")
        if not may_make and access.cluster.get(access.wanted.path) is None:
            raise ClusterError(
                "Check mode may make no pod (winkube_host_process_pod_in_check_mode), and without one "
                f"{access.wanted.node} cannot be read."
            )
        if access.ensure(lambda what: self._keep(access.wanted, what)):
            said = f"reached through the pod {access.wanted.namespace}/{access.wanted.name}"
            display.v(make_sentence(said), host=access.wanted.node)

    def _keep(self, wanted: pod.Wanted, what: str) -> None:
        """The run's keeper takes care of what is made now."""
        noted = {
            "cluster": self._reopen,
            "wanted": {**asdict(wanted), "own_pod": None},
            "what": what,
        }
        name = f"{keeper.NAMESPACE}{wanted.namespace}" if what == "namespace" else wanted.name
        keeper.note(self._folder, name, noted)
        keeper.start(self._folder, run_pid(), _open_kept)

    # -- what Ansible asks for -----------------------------------------------------------------------------------

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        """Run a command line of Ansible; what is not PowerShell is run by PowerShell."""
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        found = _POWERSHELL.match(cmd) if " -EncodedCommand " in cmd else None
        arguments = found["arguments"] if found else f"{_START} {base64.b64encode(cmd.encode('utf-16-le')).decode()}"
        done: Done = self._do(lambda access: access.run(pod.POWERSHELL, arguments, in_data))
        return done.exit_code, done.stdout, done.stderr

    def put_file(self, in_path: str, out_path: str) -> None:
        """A file of the controller to the node; compared by its sha256."""
        super().put_file(in_path, out_path)
        source = Path(in_path)
        if not source.is_file():
            raise AnsibleFileNotFound(f"There is no file {in_path} on the controller.")
        there = self._do(lambda access: access.put(source, out_path))
        with source.open("rb") as stream:
            here = hashlib.file_digest(stream, "sha256").hexdigest()
        if here != there:
            raise AnsibleError(f"{out_path} on the node is not the file {in_path}: its sha256 is {there}, not {here}.")

    def fetch_file(self, in_path: str, out_path: str) -> None:
        """A file of the node to the controller."""
        super().fetch_file(in_path, out_path)
        Path(out_path).write_bytes(self._do(lambda access: access.fetch(in_path)))

    def _do(self, work: Any) -> Any:
        if self._access is None:
            raise AnsibleConnectionFailure("The connection is closed.")
        try:
            return work(self._access)
        except ClusterError as error:
            self._connected = False  # the next attempt looks for the pod again
            raise AnsibleConnectionFailure(make_sentence(error)) from None

    def reset(self) -> None:
        """Forget the pod: the next call looks whether it is there, and makes another where it is not."""
        self.close()
        self._connect()

    def close(self) -> None:
        """The pod stays for the run's next task."""
        self._access = None
        self._connected = False
