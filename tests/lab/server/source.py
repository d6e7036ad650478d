"""The hosts that documents and playbooks download from, played by one HTTP server on 127.0.0.1.

A node's `hosts` maps their names to this server, so `http://xyz/containerd.exe` of the documents' own sample gets a
simulated binary over a real socket. What is served (for every name, and for the server's own address):

    /containerd.exe                                  the default version
    /2.3.2/containerd.exe                            a version
    /containerd-2.3.2-windows-amd64.tar.gz           a release archive, at any depth (as under github.com)
    /nssm-2.24.zip                                   nssm's zip, at any depth (as under nssm.cc)
    /release/v1.30.4/bin/windows/amd64/kubelet.exe   kubeadm.exe, kube-log-runner.exe ... too (as under dl.k8s.io)
    /cni-plugins-windows-amd64-v1.5.1.tgz            at any depth, as under github.com/containernetworking/plugins
    /cni-plugin-flannel-windows-amd64-v1.2.0-flannel1.tgz   at any depth, as under github.com/flannel-io/cni-plugin
    .../v1.2.0-flannel1/flannel-amd64.exe            the same plugin alone
    .../v0.26.1/flanneld.exe, flannel-v0.26.1-windows-amd64.tar.gz   as under github.com/flannel-io/flannel
    /chocolatey/install.ps1, /chocolatey/package/vim/9.1.1591   a Chocolatey feed (twin/choco_feed.py), at any depth
    <any of these>.sha256sum, .sha256                "<hex>  <file name>", and the bare hex
    /bad/<fault>/<any of these>                      a source that misbehaves: see FAULTS

Tests publish their own with `publish`.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import tarfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.lab.machine.builds import build, nssm_archive, release_archive
from tests.lab.twin import choco_feed

# The names that the documents' own samples and the publishers' release pages use.
NAMES = ("xyz", "github.com", "dl.k8s.io", "nssm.cc")
# The versions of the documents' own sample for the names without one.
DEFAULT_VERSIONS = {"containerd": "1.7.11", "kubelet": "1.29.0", "kube-proxy": "1.29.0", "kubeadm": "1.29.0"}
_BINARY = re.compile(
    r"/(?:v?(?P<version>\d+\.\d+\.\d+(?:-[0-9a-z.]+)?)/(?:[^?]*/)?)?(?P<name>[a-z][a-z-]*?)(?:-amd64)?\.exe$"
)
_ARCHIVE = re.compile(r"/(?P<name>[a-z][a-z-]*?)-v?(?P<version>\d+\.\d+\.\d+)-windows-amd64\.tar\.gz$")
_PLUGINS = re.compile(r"/(?P<name>[a-z][a-z-]*?)-windows-amd64-v(?P<version>\d+\.\d+\.\d+(?:-[0-9a-z.]+)?)\.tgz$")
_NSSM = re.compile(r"/nssm-(?P<version>\d+\.\d+(?:-[0-9a-z-]+)?)\.zip$")
_SUM = re.compile(r"\.sha256(sum)?$")
_SLICE = 16384


@dataclass(frozen=True)
class Answer:
    """One HTTP answer. announced: Content-Length if it is not the body's; pause_s: seconds before each 16 KB."""

    body: bytes
    status: int = 200
    kind: str = "application/octet-stream"
    announced: int | None = None
    pause_s: float = 0.0


@dataclass(frozen=True)
class Visit:
    """One request that arrived: the name it was meant for, path and status."""

    host: str
    path: str
    status: int


def _html(_: bytes) -> Answer:
    page = b"<!DOCTYPE html>\n<html><body><h1>Sign in</h1><p>Your session has ended.</p></body></html>\n"
    return Answer(page, kind="text/html")


def _escaping(body: bytes) -> Answer:
    """The same archive with one member more, which leads out of the destination."""
    members: list[tuple[tarfile.TarInfo, bytes]] = []
    with tarfile.open(fileobj=io.BytesIO(body)) as old:
        for info in old:
            content = old.extractfile(info)
            members.append((info, content.read() if content else b""))
    evil = tarfile.TarInfo("../../Windows/System32/evil.exe")
    evil.size = 4
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as new:
        for info, data in [*members, (evil, b"evil")]:
            new.addfile(info, io.BytesIO(data))
    return Answer(gzip.compress(raw.getvalue(), mtime=0))


# What a misbehaving source makes of the right content.
FAULTS: dict[str, Callable[[bytes], Answer]] = {
    "404": lambda _: Answer(b"not found\n", status=404, kind="text/plain"),
    "500": lambda _: Answer(b"internal error\n", status=500, kind="text/plain"),
    "html": _html,
    "escape": _escaping,
    "truncated": lambda body: Answer(body[: len(body) // 2], announced=len(body)),
    "empty": lambda _: Answer(b""),
    "changed": lambda body: Answer(body[:-1] + bytes([body[-1] ^ 1])),
    "slow": lambda body: Answer(body, pause_s=0.5),
}


@dataclass
class SourceServer:
    """The server, and what tests have published on it."""

    versions: dict[str, str] = field(default_factory=lambda: dict(DEFAULT_VERSIONS))
    visits: list[Visit] = field(default_factory=list)
    address: str = ""
    _published: dict[str, Answer] = field(default_factory=dict)
    _server: ThreadingHTTPServer | None = None

    def start(self) -> None:
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self) -> None:
        if self._server:
            self._server.shutdown()
            self._server.server_close()

    @property
    def hosts(self) -> dict[str, str]:
        """For a node's `hosts`: each name and where it is really served."""
        return dict.fromkeys(NAMES, self.address)

    def publish(self, path: str, answer: Answer | bytes) -> str:
        """Serve `path` (with its leading slash) under every name; returns the URL at the server's own address."""
        self._published[path] = answer if isinstance(answer, Answer) else Answer(answer)
        return f"http://{self.address}{path}"

    def forget(self) -> None:
        """Drop what was published and the list of visits."""
        self._published.clear()
        self.visits.clear()

    def answer(self, path: str) -> Answer:
        """The answer to a GET of this path."""
        path = path.partition("?")[0]
        if path in self._published:
            return self._published[path]
        fault, rest = _fault_of(path)
        checksum = _SUM.search(rest)
        content = self._content(rest[: checksum.start()] if checksum else rest)
        if content is None:
            return FAULTS["404"](b"")
        if checksum:
            # The sum beside a bad source is that of the right file: so it does not hide the fault.
            name = rest[: checksum.start()].rpartition("/")[2]
            digest = hashlib.sha256(content).hexdigest()
            # Beside the CNI projects' archives even .sha256 is what sha256sum prints; dl.k8s.io has the bare digest.
            listed = bool(checksum[1]) or name.endswith(".tgz")
            return Answer(f"{digest}  {name}\n".encode() if listed else digest.encode(), kind="text/plain")
        return FAULTS[fault](content) if fault else Answer(content)

    def _content(self, path: str) -> bytes | None:
        published = self._published.get(path)
        if published:
            return published.body
        archive = _ARCHIVE.search(path) or _PLUGINS.search(path)
        binary, nssm = _BINARY.search(path), _NSSM.search(path)
        try:
            if nssm:
                return nssm_archive(nssm["version"])
            if archive:
                return release_archive(archive["name"], archive["version"])
            if binary:
                version = binary["version"] or self.versions.get(binary["name"])
                return build(binary["name"], version) if version else None
        except (KeyError, ValueError):
            return None  # no such simulated program
        return choco_feed.content(path)


def _fault_of(path: str) -> tuple[str | None, str]:
    match = re.match(r"/bad/([^/]+)(/.*)$", path)
    if not match:
        return None, path
    # A misspelled fault must not serve the right content.
    return (match[1] if match[1] in FAULTS else "404"), match[2]


class _Server(ThreadingHTTPServer):
    # socketserver's default of 5 refuses connections when many nodes fetch at once.
    request_queue_size = 128


def _handler(source: SourceServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        server_version = "winkube-lab-simulated"
        sys_version = ""

        def do_GET(self) -> None:
            self._serve(with_body=True)

        def do_HEAD(self) -> None:
            self._serve(with_body=False)

        def _serve(self, with_body: bool) -> None:
            answer = source.answer(self.path)
            host = (self.headers.get("Host") or "").partition(":")[0]
            source.visits.append(Visit(host, self.path, answer.status))
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(answer.body) if answer.announced is None else answer.announced))
            self.end_headers()
            if not with_body:
                return
            try:
                for start in range(0, len(answer.body), _SLICE):
                    time.sleep(answer.pause_s)
                    self.wfile.write(answer.body[start : start + _SLICE])
            except OSError:
                self.close_connection = True  # the client gave up

        def log_message(self, format: str, *arguments: object) -> None:
            """`visits` is the log."""

    return Handler
