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
  - A run makes one pod for each node and uses it for all its tasks. A small process on the controller deletes the pod
    when the run is over, after Ctrl-C and a crash too; O(pod_lifetime) ends it in any case. Leftovers of earlier runs
    in the namespace are deleted when a pod is made.
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
import getpass
import hashlib
import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleConnectionFailure, AnsibleError, AnsibleFileNotFound
from ansible.plugins.connection import ConnectionBase
from ansible.utils.display import Display

from ..plugin_utils.cluster.client import Cluster
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.engine.printable import make_sentence
from ..plugin_utils.host_process import pod
from ..plugin_utils.host_process.access import Access, Done
from ..plugin_utils.host_process.keeper import identity, run_when_over

display = Display()

_POWERSHELL = re.compile(
    r"^\s*&?\s*['\"]?(?:\S*\\)?powershell(?:\.exe)?['\"]?\s+(?P<arguments>.*)$", re.IGNORECASE | re.DOTALL
)
_START = "-NoLogo -NoProfile -NonInteractive -ExecutionPolicy Unrestricted -EncodedCommand"


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
        run = os.getppid()
        where = f"{socket.gethostname()} {run} {identity(run)}"
        wanted = pod.Wanted(
            node=str(self.get_option("node")),
            namespace=str(self.get_option("namespace")),
            image=str(self.get_option("image")),
            run=hashlib.sha256(where.encode()).hexdigest()[:16],
            owner=f"{getpass.getuser()}@{socket.gethostname()} (pid {run})",
            lives_s=int(self.get_option("pod_lifetime")),
            pull_secret=str(self.get_option("pull_secret")),
        )
        return Access(cluster, wanted, start_s=float(self.get_option("start_timeout")), say=self._say)

    def _say(self, sentence: str) -> None:
        display.display(make_sentence(f"{self.get_option('node')}: {sentence}"))

    def _ensure(self, access: Access) -> None:
        may_make = not self._play_context.check_mode or self.get_option("pod_in_check_mode")
        if not may_make and access.cluster.get(access.wanted.path) is None:
            raise ClusterError(
                "Check mode may make no pod (winkube_host_process_pod_in_check_mode), and without one "
                f"{access.wanted.node} cannot be read."
            )
        if access.ensure(lambda removal: self._keep(access.wanted, removal)):
            said = f"reached through the pod {access.wanted.namespace}/{access.wanted.name}"
            display.v(make_sentence(said), host=access.wanted.node)

    def _keep(self, wanted: pod.Wanted, removal: Callable[[Access], object]) -> None:
        """A process takes away what is made now, when the run is over."""
        options = self._reopen

        def remove() -> None:
            cluster = Cluster.open(options)  # by itself: nothing that is open here may be shared
            if cluster is not None:
                removal(Access(cluster, wanted, start_s=0))

        run_when_over(os.getppid(), remove)

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
