"""Texts of any length: what people paste, and what hurts patterns."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any


def pods(size: int) -> str:
    """One line of `kubectl get pods -o json` with volumes of CSI drivers and managedFields."""
    items: list[dict[str, Any]] = []
    length = 0
    while length < size:
        items.append(_pod(len(items)))
        length += len(json.dumps(items[-1])) + 2
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def _pod(number: int) -> dict[str, Any]:
    fields: dict[str, Any] = {f'k:{{"name":"c{at}"}}': {".": {}, "f:image": {}, "f:name": {}} for at in range(3)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"web-{number:05}-x7k2p",
            "namespace": "shop",
            "managedFields": [{"manager": "kube-controller-manager", "fieldsV1": {"f:spec": {"f:containers": fields}}}],
        },
        "spec": {
            "containers": [
                {
                    "name": "web",
                    "image": "mcr.microsoft.com/dotnet/aspnet:8.0-nanoserver-ltsc2022",
                    "command": ["cmd", "/c", "ping -n 60 127.0.0.1 > NUL & type C:\\\\data\\\\a.txt"],
                    "volumeMounts": [{"name": "data", "mountPath": "C:\\\\data"}],
                }
            ],
            "volumes": [
                {"name": "data", "csi": {"driver": "smb.csi.k8s.io", "volumeAttributes": {"source": "//files/share"}}},
                {"name": "sock", "hostPath": {"path": "\\\\\\\\.\\\\pipe\\\\csi-proxy.sock"}},
            ],
        },
        "status": {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False", "message": "x.csi.k8s.io"}]},
    }


def log(size: int) -> str:
    """Lines of a kubelet that cannot mount."""
    line = (
        'E0512 12:00:01.123456    4242 nestedpendingoperations.go:335] Operation for "{volumeName:kubernetes.io/csi/'
        'smb.csi.k8s.io^a podName: nodeName:}" failed. No retries permitted until 2026-05-12 12:00:02 '
        '(durationBeforeRetry 500ms). Error: MountVolume.SetUp failed for volume "data": rpc error: code = Internal '
        "desc = hcs 0x803b000d dial unix /var/lib/kubelet/plugins/csi.sock: connect: no such file\n"
    )
    return (line * (size // len(line) + 1))[:size]


def one_line(size: int) -> str:
    """The same without line breaks, as a terminal's copy."""
    return log(size).replace("\n", " ")


def stack(size: int) -> str:
    """A head, and lines that continue it."""
    line = "    at System.Net.Sockets.Socket.Connect(EndPoint remote) in C:\\src\\a.cs:line 12\n"
    return ("panic: it failed\n" + line * (size // len(line) + 1))[:size]


def command(size: int) -> str:
    """A script in one argument of a container."""
    line = (
        "$a = 'http://web.shop:8080/a'; if (Test-Path C:\\data\\b.txt) { curl.exe -s $a -o C:\\data\\c } "
        "&& ping -n 5 db.shop > NUL | Out-Null; "
    )
    return (line * (size // len(line) + 1))[:size]


def _of(piece: str) -> Callable[[int], str]:
    return lambda size: (piece * (size // len(piece) + 1))[:size]


REAL: Mapping[str, Callable[[int], str]] = {
    "pods in one line": pods,
    "a log": log,
    "a log in one line": one_line,
    "a stack": stack,
    "a command": command,
}
ADVERSARIAL: Mapping[str, Callable[[int], str]] = {
    name: _of(name)
    for name in (
        *(
            "a",
            "a ",
            "a.",
            "a-",
            "/a",
            "a/",
            "\\a",
            '"',
            '\\"',
            "a=",
            "a:",
            "a: ",
            "(",
            "[",
            "{",
            '{"a":',
            "[{",
            "<a ",
            "1.",
            "0x",
        ),
        *(
            "x.csi.",
            "a.sock",
            ".csi.k8s.io ",
            "://a@",
            "://a:",
            "pod_",
            "key=",
            "token ",
            "password: ",
            "a,b;",
            "' ",
            "`",
            "--a ",
            "a.b-c  ",
            "a[0].",
            "lookup a",
            "a.exe",
            "a(",
            "@'\n",
        ),
        *("Error: ", "failed to ", "rpc error: code = ", "-----BEGIN ", "ey", "eyJ.", "A_B=", "\t", "\u2028", "é"),
    )
}
