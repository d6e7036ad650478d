# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a program in a container of a pod, as `kubectl exec` does.

The controller's user needs `get` and `create` on `pods/exec`: Kubernetes 1.35 and later require `create`. Source:
kubernetes/kubernetes#134577, gate AuthorizePodWebsocketUpgradeCreatePermission.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from .answer import decode_object, read_first_line
from .client import Cluster
from .error import ClusterError

_STDOUT, _STDERR, _STATUS = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Execution:
    """A program's answer. `exit_code`: -1 if it could not be started (`stderr` says why)."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        """Whether it ended with 0."""
        return self.exit_code == 0


def exec_in_pod(
    cluster: Cluster, namespace: str, pod: str, argv: Sequence[str], timeout: float = 30, container: str = ""
) -> Execution:
    """Run `argv` in a container of a pod (`container`: empty for the only one) and wait for its end.

    ClusterError if the pod does not exist or run, if the API server or the kubelet refuses, and when `timeout` seconds
    are up; the program is then abandoned.
    """
    query: list[tuple[str, str]] = [("command", word) for word in argv]
    query += [("container", container)] if container else []
    query += [("stdin", "false"), ("stdout", "true"), ("stderr", "true"), ("tty", "false")]
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/exec?{urlencode(query)}"

    def listen() -> dict[int, bytes]:
        channels = {_STDOUT: b"", _STDERR: b"", _STATUS: b""}
        for message in cluster.listen(path, timeout):
            if message and message[0] in channels:
                channels[message[0]] += message[1:]
        return channels

    try:
        channels = cluster.insist(listen)
    except ClusterError as error:
        raise ClusterError(f"{argv[0]} in the pod {namespace}/{pod}: {error}", error.status) from error
    said = {channel: data.decode("utf-8", errors="replace") for channel, data in channels.items()}
    code, why = exit_status(said[_STATUS])
    return Execution(code, said[_STDOUT], said[_STDERR] + why)


def exit_status(text: str) -> tuple[int, str]:
    """The exit code, and the error if there is none (-1), from the Status object that ends a stream.

    Source: kubernetes staging/src/k8s.io/kubelet/pkg/cri/streaming/remotecommand/exec.go, ServeExec.
    """
    status = decode_object(text)
    if status is None:
        what = f"with {read_first_line(text.encode())!r}, which is not an" if text else "without the"
        return -1, f"the stream ended {what} exit status of the program"
    if status.get("status") == "Success":
        return 0, ""
    if status.get("reason") == "NonZeroExitCode":
        causes = (status.get("details") or {}).get("causes") or []
        codes = [str(cause.get("message")) for cause in causes if cause.get("reason") == "ExitCode"]
        if codes and codes[0].lstrip("-").isdigit():
            return int(codes[0]), ""
    return -1, str(status.get("message") or "the program could not be started")
