# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs and files of a node through its HostProcess pod: make the pod, find it again, run programs in it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from ..cluster.client import Cluster
from ..cluster.error import ClusterError
from ..cluster.exec import exit_status
from ..cluster.stream import V4, V5
from ..engine.clock import Clock
from ..engine.waiting import WATCHED_S, Voice, Wait
from . import pod
from .pod import Wanted

_STDOUT, _STDERR, _STATUS = 1, 2, 3
_V5_FROM = (1, 30)
"""The release from which API servers speak v5 by default: see cluster/stream.py."""
PIECE = 256 * 1024
LINE_LIMIT = 8000
"""Characters of a command line: where hcsshim can bind folders, it starts programs by `cmd /c`, which takes 8191.
Source: hcsshim internal/jobcontainers/jobcontainer.go, CreateProcess."""
SCRIPT = Path(__file__).resolve().parents[1] / "node" / "host_process.ps1"
_START = """$ErrorActionPreference = 'Stop'
try {{
 $source = [System.Console]::OpenStandardInput()
 [byte[]]$bytes = New-Object byte[] {count}
 $have = 0
 while ($have -lt $bytes.Length) {{
  $reading = $source.ReadAsync($bytes, $have, $bytes.Length - $have)
  $got = 0
  try {{ if ($reading.Wait(120000)) {{ $got = $reading.Result }} else {{ $got = -1 }} }} catch {{ $null = $_ }}
  if ($got -lt 0) {{ throw 'Standard input stayed open for 120 s and brought nothing.' }}
  if ($got -eq 0) {{ throw 'Standard input ended before the script.' }}
  $have += $got
 }}
 $script = [ScriptBlock]::Create([System.Text.Encoding]::ASCII.GetString($bytes))
}} catch {{
 [System.Console]::Error.WriteLine($_.Exception.Message)
 [System.Environment]::Exit(1)
}}
. $script"""
"""With redirected errors PowerShell's own text of an error is CLIXML; this makes it a sentence."""
LOOK_S = 1.0


@dataclass(frozen=True, slots=True)
class Done:
    """A program's exit code and output."""

    exit_code: int
    stdout: bytes
    stderr: bytes


class Access:
    """The way to one node. `say` gets sentences about what is waited for.

    Everything may raise ClusterError: there is no cluster, no pod, or no connection to it.
    """

    def __init__(
        self,
        cluster: Cluster,
        wanted: Wanted,
        *,
        start_s: float,
        say: Callable[[str], None] = lambda sentence: None,
        clock: Clock | None = None,
        sweeps: Callable[[], bool] = lambda: True,
    ) -> None:
        """`sweeps`: whether it is this worker that deletes the remains of earlier runs."""
        self.cluster, self.wanted, self.start_s = cluster, wanted, start_s
        self.say, self.clock, self._sweeps = say, clock or Clock(), sweeps
        self._is_v5: bool | None = None

    # -- the pod -------------------------------------------------------------------------------------------------

    def ensure(self, keep: Callable[[str], object] = lambda what: None) -> bool:
        """Make sure that the pod runs; True if it had to be made. Before the pod is made, `keep` gets "pod"; and
        "namespace" once that is made."""
        found = self.cluster.get(self.wanted.path)
        if found is not None and pod.state(found).ready:
            return False
        made = False
        if found is not None and pod.state(found).over:
            self.remove()
            self._wait_until_gone()
            found = None
        if found is None:
            if self._sweeps():
                self._sweep()
            keep("pod")
            self._make(keep)
            made = True
        self._wait()
        return made

    def _begin(self, what: str) -> Wait:
        """A wait that is told as the connection tells, whatever task it is used by."""
        return Wait(what, self.clock, Voice(self.say, WATCHED_S))

    def _wait_until_gone(self) -> None:
        """The next pod has the same name."""
        end = self.clock.now() + self.start_s
        wait = self._begin(f"waiting for the last pod on {self.wanted.node} to be gone")
        while self.cluster.get(self.wanted.path) is not None:
            if self.clock.now() >= end:
                raise ClusterError(
                    f"The pod {self._name} has ended and was still there {self.start_s:g} s after it was deleted "
                    f"(start_timeout); see kubectl describe pod -n {self.wanted.namespace} {self.wanted.name}."
                )
            wait.sleep(LOOK_S)

    def _make(self, keep: Callable[[str], object]) -> None:
        body = pod.body(self.wanted, self.cluster.now())
        try:
            try:
                self.cluster.create(self.wanted.collection, body)
            except ClusterError as error:
                if error.status != 404:
                    raise
                self._make_namespace(keep)
                self.cluster.create(self.wanted.collection, body)
        except ClusterError as error:
            if error.status == 409:  # another task of this run was quicker
                return
            raise ClusterError(pod.refusal(error, self.wanted), error.status) from error

    def _make_namespace(self, keep: Callable[[str], object]) -> None:
        self.say(f"making the namespace {self.wanted.namespace}, which lets HostProcess pods run")
        labels = {"app.kubernetes.io/managed-by": "winkube.node", "pod-security.kubernetes.io/enforce": "privileged"}
        body = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": self.wanted.namespace, "labels": labels},
        }
        try:
            self.cluster.create("/api/v1/namespaces", body)
        except ClusterError as error:
            if error.status != 409:
                raise ClusterError(
                    f"The namespace {self.wanted.namespace} is missing and cannot be made. {error}", error.status
                ) from error
        else:
            keep("namespace")

    def _wait(self) -> None:
        end = self.clock.now() + self.start_s
        wait = self._begin(f"waiting for the pod {self._name} on {self.wanted.node}")
        while True:
            found = self.cluster.get(self.wanted.path)
            if found is None:
                raise ClusterError(f"The pod {self._name} was deleted while it was waited for.")
            state = pod.state(found)
            if state.ready:
                return
            if state.over or self.clock.now() >= end:
                waited = "" if state.over else f" within {self.start_s:g} s (start_timeout)"
                raise ClusterError(
                    f"The pod {self._name} on {self.wanted.node} did not start{waited}: {state.waits}."
                    f"{self._node_sentence()}"
                )
            wait.sleep(LOOK_S, state.waits)

    def _node_sentence(self) -> str:
        """What the Node says about itself if that is the reason."""
        node = self.cluster.node(self.wanted.node)
        if node is None:
            return f" There is no Node {self.wanted.node} in {self.cluster.server}."
        conditions = (node.get("status") or {}).get("conditions") or ()
        ready: Mapping[str, Any] = next((item for item in conditions if item.get("type") == "Ready"), {})
        if ready.get("status") == "True":
            return ""
        return f" The Node is not Ready: {str(ready.get('message') or 'it says nothing').rstrip('.')}."

    @property
    def _name(self) -> str:
        return f"{self.wanted.namespace}/{self.wanted.name}"

    def _sweep(self) -> None:
        """Delete the remains of earlier runs in the namespace."""
        now = self.cluster.now()
        for found in self.cluster.items(f"{self.wanted.collection}?{urlencode({'labelSelector': pod.LABEL})}"):
            if pod.is_over(found, now):
                self._delete(str(found["metadata"]["name"]))

    def remove(self) -> bool:
        """Delete this run's pod; False if there is none."""
        return self._delete(self.wanted.name)

    def remove_namespace(self) -> None:
        """Delete the namespace that this run made. ClusterError while it has a pod."""
        found = self.cluster.items(self.wanted.collection)
        if any("deletionTimestamp" not in each["metadata"] for each in found):
            raise ClusterError(f"The namespace {self.wanted.namespace} is in use.")
        self.cluster.delete(f"/api/v1/namespaces/{self.wanted.namespace}")

    def _delete(self, name: str) -> bool:
        return self.cluster.delete(f"{self.wanted.collection}/{name}?gracePeriodSeconds=0")

    # -- what is run in it ---------------------------------------------------------------------------------------

    def run(self, program: str, arguments: str, stdin: bytes | None) -> Done:
        """Run a program of the host; it gets `stdin` and its end, or no input. No argument may contain blanks."""
        argv = _argv(program, arguments)
        fits = len(" ".join(argv)) <= LINE_LIMIT
        if fits and stdin is None:
            return self._exec(argv, (), V4)
        if fits and stdin is not None and self.is_v5:
            try:
                return self._exec(argv, [stdin], V5)
            except ClusterError as error:
                if error.status not in {400, 403}:
                    raise
                self._is_v5 = False  # the gate is off; if the cause is another one, v4 fails for it too
        return self._order("run", len(stdin or b""), program, arguments, [stdin] if stdin else ())

    def renew(self) -> None:
        """The run's sign of life: without one the pod ends by itself. ClusterError if it does not arrive."""
        encoded = base64.b64encode(pod.RENEWING.encode("utf-16-le")).decode()
        words = ("-NoLogo", "-NoProfile", "-NonInteractive", "-EncodedCommand", encoded)
        done = self._exec([pod.POWERSHELL, *words], (), V4)
        if done.exit_code:
            raise ClusterError(f"The pod {self._name} took no sign of life: {_text(done.stderr)}")

    def put(self, source: Path, path: str) -> str:
        """Copy a file of the controller to `path`; returns the sha256 of the result. ClusterError with the node's
        message if it cannot be written."""
        done = self._order("put", source.stat().st_size, path, "", _pieces(source))
        if done.exit_code:
            raise ClusterError(f"{path} could not be written: {_text(done.stderr)}")
        return _text(done.stdout)

    def fetch(self, path: str) -> bytes:
        """A file's bytes. ClusterError with the node's message if it cannot be read."""
        done = self._order("fetch", 0, path, "", ())
        if done.exit_code:
            raise ClusterError(f"{path} could not be read: {_text(done.stderr)}")
        return done.stdout

    @property
    def is_v5(self) -> bool:
        """Whether the API server can close a program's standard input."""
        if self._is_v5 is None:
            major, minor, _patch = self.cluster.version().split(".")
            self._is_v5 = (int(major), int(minor)) >= _V5_FROM
        return self._is_v5

    def _order(self, verb: str, count: int, first: str, second: str, data: Iterable[bytes]) -> Done:
        """Run one command of the script; see powershell/host_process.ps1."""
        line = "\t".join((verb, str(count), first, second)) + "\n"

        text = script()

        def stdin() -> Iterator[bytes]:
            yield text + line.encode()
            yield from data

        return self._exec(script_argv(len(text)), stdin(), V4)

    def _exec(self, argv: list[str], stdin: Iterable[bytes], protocol: str) -> Done:
        query = [("command", word) for word in argv]
        query += [("container", pod.CONTAINER), ("stdin", "true" if stdin else "false")]
        query += [("stdout", "true"), ("stderr", "true"), ("tty", "false")]
        channels = {_STDOUT: bytearray(), _STDERR: bytearray(), _STATUS: bytearray()}
        for channel, data in self.cluster.converse(f"{self.wanted.path}/exec?{urlencode(query)}", stdin, (protocol,)):
            if channel in channels:
                channels[channel] += data
        code, why = exit_status(channels[_STATUS].decode(errors="replace"))
        if code < 0:
            raise ClusterError(f"{argv[0]} in the pod {self._name}: {why}.")
        return Done(code, bytes(channels[_STDOUT]), bytes(channels[_STDERR]))


def script() -> bytes:
    """The script. Standard input begins with it, since it is longer than LINE_LIMIT."""
    lines = SCRIPT.read_text(encoding="ascii").splitlines()
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("#")).encode("ascii")


def script_argv(count: int) -> list[str]:
    """The command line that runs the script of `count` bytes. -InputFormat None: standard input is the script's own."""
    encoded = base64.b64encode(_START.format(count=count).encode("utf-16-le")).decode()
    return [
        pod.POWERSHELL, "-NoLogo", "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Unrestricted",
        "-InputFormat", "None", "-EncodedCommand", encoded,
    ]  # fmt: skip


def _argv(program: str, arguments: str) -> list[str]:
    return [program, *(word.strip("'\"") for word in arguments.split())]


def _pieces(source: Path) -> Iterator[bytes]:
    with source.open("rb") as stream:
        while piece := stream.read(PIECE):
            yield piece


def _text(data: bytes) -> str:
    return data.decode(errors="replace").strip()
