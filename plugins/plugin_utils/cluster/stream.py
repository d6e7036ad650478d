# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Streams of the Kubernetes API over WebSockets, by the package websocket-client, which the package `kubernetes` needs.

Why not kubernetes.stream: it connects without a time limit and takes no option for one (ws_client.create_websocket;
`_request_timeout` counts from the connection on), and a refusal loses its HTTP status. Source: kubernetes 37.0.2.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from .error import PASSING, ClusterError

_missing: ImportError | None = None
try:
    from websocket import (
        ABNF,
        WebSocket,
        WebSocketBadStatusException,
        WebSocketConnectionClosedException,
        WebSocketException,
        WebSocketTimeoutException,
    )
except ImportError as error:
    _missing = error

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
"""Both have standard output on channel 1, errors on 2 and the exit status on 3. Only v5 can close standard input: API
servers speak it from Kubernetes 1.30 on (gate TranslateStreamCloseWebsocketRequests), whatever the kubelet's release.
Source: kubernetes staging/src/k8s.io/apimachinery/pkg/util/remotecommand/constants.go, pkg/features/kube_features.go.
"""
PROTOCOLS = (V5, V4)


def messages(configuration: Any, tls: ssl.SSLContext, path: str, timeout_s: float) -> Iterator[bytes]:
    """A `client.Listen` with this kubeconfig's certificates, token and proxy."""
    end = time.monotonic() + timeout_s
    where = _where(configuration, path)
    try:
        with connected(configuration, tls, path, timeout_s) as socket:
            while True:
                left = end - time.monotonic()
                if left <= 0:
                    raise WebSocketTimeoutException("no time is left")
                socket.settimeout(left)
                kind, data = socket.recv_data()
                if kind == ABNF.OPCODE_CLOSE:
                    return
                yield data if isinstance(data, bytes) else data.encode()
    except WebSocketConnectionClosedException:
        return
    except (WebSocketTimeoutException, TimeoutError) as error:
        raise ClusterError(f"{where} had not ended after {timeout_s:g} s.") from error
    except (WebSocketException, OSError, ValueError) as error:
        raise ClusterError(f"{where} cannot be followed: {error}.") from error


@contextmanager
def connected(
    configuration: Any, tls: ssl.SSLContext, path: str, timeout_s: float, protocols: Sequence[str] = PROTOCOLS
) -> Iterator[WebSocket]:
    """The WebSocket at `path`, which speaks one of the protocols; closed afterwards.

    ClusterError, with the status of the answer, if the server refuses, or cannot be reached: no program has been
    started then, and the error may be one that passes. Later what websocket-client raises, a time that is up among it.
    """
    if _missing is not None:
        raise ClusterError(
            f"The Python package websocket-client is missing on the controller ({_missing}); it is needed to run "
            "programs in pods: pip install websocket-client."
        ) from _missing
    socket: Any = WebSocket(sslopt=_options(configuration, tls), enable_multithread=True)
    try:
        _connect(socket, configuration, path, timeout_s, protocols)
        yield socket
    finally:
        socket.close()


def _connect(socket: Any, configuration: Any, path: str, timeout_s: float, protocols: Sequence[str]) -> None:
    socket.settimeout(timeout_s)
    try:
        socket.connect(
            f"{_server(configuration).replace('http', 'ws', 1)}{path}",
            header=_headers(configuration),
            subprotocols=list(protocols),
            redirect_limit=0,
            **_proxy(configuration),
        )
    except WebSocketBadStatusException as error:
        status = int(error.status_code)
        raise ClusterError(
            f"{_where(configuration, path)} was answered with {status}: {_reason(error)}.",
            status,
            passing=status in PASSING,
        ) from error
    except (WebSocketTimeoutException, TimeoutError):
        raise
    except (WebSocketException, OSError) as error:
        raise ClusterError(f"{_where(configuration, path)} cannot be reached: {error}.", passing=True) from error


def _server(configuration: Any) -> str:
    return str(configuration.host).rstrip("/")


def _where(configuration: Any, path: str) -> str:
    return f"{_server(configuration)}{path.partition('?')[0]}"


def _reason(error: WebSocketBadStatusException) -> str:
    """The sentence of the Status object that a refusal carries."""
    body = error.resp_body or b""
    text = body.decode(errors="replace") if isinstance(body, bytes) else str(body)
    try:
        said = json.loads(text)
    except ValueError:
        said = {}
    message = said.get("message") if isinstance(said, dict) else ""
    return str(message or text.strip() or "no reason was given").rstrip(".")


def _headers(configuration: Any) -> dict[str, str]:
    return {
        setting["key"]: setting["value"]
        for setting in configuration.auth_settings().values()
        if setting["in"] == "header" and setting["value"]
    }


def _options(configuration: Any, tls: ssl.SSLContext) -> dict[str, Any]:
    options: dict[str, Any] = {"context": tls}
    if getattr(configuration, "tls_server_name", None):
        options["server_hostname"] = configuration.tls_server_name
    return options


def _proxy(configuration: Any) -> dict[str, Any]:
    if not configuration.proxy:
        return {}
    parts = urlsplit(configuration.proxy)
    options: dict[str, Any] = {
        "http_proxy_host": parts.hostname,
        "http_proxy_port": parts.port,
        "proxy_type": parts.scheme or "http",
    }
    if configuration.no_proxy:
        options["http_no_proxy"] = configuration.no_proxy.split(",")
    return options
