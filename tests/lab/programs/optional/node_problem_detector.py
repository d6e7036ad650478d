"""node-problem-detector.exe, judged by kubernetes/node-problem-detector v1.36.0 cmd/options/options.go.

With health-checker.exe: custom plugins alone, and conditions at the API server.

Source: kubernetes/node-problem-detector v1.36.0 cmd/nodeproblemdetector/{node_problem_detector,
node_problem_detector_windows}.go, cmd/options/options.go, pkg/custompluginmonitor, pkg/exporters/k8sexporter,
cmd/healthchecker, pkg/healthchecker. Its metrics and events are not simulated, nor repairs and log patterns.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from tests.lab.cluster.client import NodeClient, RefusedError, UnreachableError, load, windows
from tests.lab.cluster.kubeconfig import BadKubeconfigError
from tests.lab.machine import image
from tests.lab.machine.builds import build, tar_gz
from tests.lab.machine.errors import WinError
from tests.lab.machine.network import NetworkError
from tests.lab.machine.program import Caller, Run, text
from tests.lab.programs.daemon import version_of

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.services import ServiceHost

_FLAGS = {
    *("config.custom-plugin-monitor", "config.system-log-monitor", "config.system-stats-monitor", "hostname-override"),
    *("apiserver-override", "enable-k8s-exporter", "address", "port", "prometheus-address", "prometheus-port"),
    *("apiserver-wait-timeout", "apiserver-wait-interval", "v", "logtostderr", "version"),
}
HEALTH = {"kubelet": "http://localhost:10248/healthz", "kube-proxy": "http://localhost:10256/livez"}
WAIT_S, POLL_S = 300.0, 5.0
"""--apiserver-wait-timeout and --apiserver-wait-interval."""


class EndError(Exception):
    """klog.Fatal ends with 255, a panic and an unknown flag with 2."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


def _flags(argv: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in argv:
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in _FLAGS:
            raise EndError(2, f"unknown flag: {word.partition('=')[0]}")
        found[name] = value if equals else "true"
    return found


def _monitor(node: SimulatedNode, flags: dict[str, str]) -> dict[str, Any]:
    """The custom plugins. Source: pkg/custompluginmonitor/types/config.go, Validate."""
    path = flags.get("config.custom-plugin-monitor", "")
    if not path:
        raise EndError(2, "panic: No configuration option for any problem daemon is specified.")
    try:
        found = json.loads(node.drive.read(path))
    except WinError as error:
        raise EndError(255, f'Failed to read configuration file "{path}": {error.text}') from error
    except ValueError as error:
        raise EndError(255, f'Failed to unmarshal configuration file "{path}": {error}') from error
    wrong = f"Failed to validate custom plugin config {path}: "
    if found.get("plugin") != "custom":
        raise EndError(255, f'{wrong}NPD does not support "{found.get("plugin")}" plugin for now.')
    known = {each["type"] for each in found.get("conditions") or ()}
    for rule in found.get("rules") or ():
        if not node.drive.is_file(rule["path"]):
            raise EndError(255, f'{wrong}rule path "{rule["path"]}" does not exist.')
        if rule["type"] == "permanent" and rule.get("condition") not in known:
            raise EndError(
                255, f"{wrong}permanent problem {rule.get('condition')} does not have preset default condition"
            )
    return dict(found)


def _client(node: SimulatedNode, flags: dict[str, str]) -> NodeClient:
    """Source: pkg/exporters/k8sexporter/problemclient/configs.go, getKubeClientConfig."""
    options = parse_qs(urlsplit(flags.get("apiserver-override", "")).query)
    if options.get("inClusterConfig", ["true"])[0] != "false":
        raise EndError(2, "panic: unable to load in-cluster configuration")
    try:
        return NodeClient(node, load(node, windows(options.get("auth", [""])[0], "C:\\")))
    except BadKubeconfigError as error:
        raise EndError(2, f"panic: {error}") from error


def healthy(node: SimulatedNode, args: list[str]) -> bool:
    """health-checker.exe; of `cri` whether crictl.exe is there, which it runs."""
    given = dict(each.removeprefix("--").split("=", 1) for each in args)
    if given.get("component") == "cri":
        return node.drive.is_file(given.get("crictl-path", r"C:\etc\kubernetes\node\bin\crictl.exe"))
    try:
        return node.network.get(HEALTH[given.get("component", "kubelet")]).status == 200
    except NetworkError:
        return False


def _conditions(node: SimulatedNode, monitor: dict[str, Any]) -> list[dict[str, str]]:
    stamp = node.clock.utc().strftime("%Y-%m-%dT%H:%M:%SZ")
    times = {"lastHeartbeatTime": stamp, "lastTransitionTime": stamp}
    found = {each["type"]: {**each, "status": "False", **times} for each in monitor["conditions"]}
    for rule in monitor["rules"]:
        if not healthy(node, rule["args"]):
            said = f"{rule['args'][0].partition('=')[2]} was found unhealthy; repair flag : false"
            found[rule["condition"]] |= {"status": "True", "reason": rule["reason"], "message": said}
    return list(found.values())


def _body(node: SimulatedNode, argv: list[str], caller: Caller) -> Run:
    """npdMain: until the process ends."""
    flags = _flags(argv[1:])
    if "version" in flags:
        print_version = version_of(node, argv[0])
        caller.log(f"v{print_version}")
        return text(0, f"v{print_version}\n")
    name = flags.get("hostname-override") or image.computer_name(node.registry).lower()
    monitor, api = _monitor(node, flags), _client(node, flags)
    end = node.clock.now() + WAIT_S
    while node.clock.now() < end:
        try:
            api.get(f"/api/v1/nodes/{name}")
            break
        except (UnreachableError, RefusedError) as error:
            caller.log(f"E problem_client.go:1] Can't get node object: {error}")
            yield POLL_S
    if (port := int(flags.get("port", "20256"))) > 0:
        node.network.listen(port, caller.process.pid, lambda path: (200, b"ok") if path == "/healthz" else (404, b""))
    while True:
        try:
            patch = {"status": {"conditions": _conditions(node, monitor)}}
            api.send("PATCH", f"/api/v1/nodes/{name}/status", patch, "application/strategic-merge-patch+json")
        except (UnreachableError, RefusedError) as error:
            caller.log(f"E manager.go:1] failed to update node conditions: {error}")
        yield float(monitor["pluginConfig"].get("invoke_interval", "30s").removesuffix("s"))


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    """A console program: debug.Run. It goes on when its work is done, since nobody cancels its context."""
    yield 0.1
    try:
        yield from _body(node, argv, caller)
    except EndError as error:
        return text(error.code, "", f"{error}\n")
    while True:
        yield None


def serve(
    node: SimulatedNode, argv: list[str], host: ServiceHost, caller: Caller
) -> Generator[float | None, None, int]:
    """RUNNING at once; a panic ends the process without SERVICE_STOPPED."""
    host.report("running")
    yield 0.2
    try:
        work = _body(node, argv, caller)
        while not host.stop_requested:
            yield next(work)
    except EndError as error:
        return error.code
    node.network.close_of(caller.process.pid)
    yield 0.2
    host.stopped()
    return 0


def health_checker(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    """0 healthy, 1 not."""
    yield 0.1
    return text(0 if healthy(node, argv[1:]) else 1)


PROGRAMS = {"node-problem-detector": (main, serve), "health-checker": (health_checker, None)}


def release(version: str) -> tuple[str, bytes]:
    """The archive of the release. Source: Makefile, $(NPD_NAME_VERSION)-%.tar.gz, which packs bin and config."""
    names = ("node-problem-detector", "health-checker")
    files = {f"bin/{name}.exe": build(name, version) for name in names} | {"config/kernel-monitor.json": b"{}"}
    return f"node-problem-detector-v{version}-windows_amd64.tar.gz", tar_gz(files)
