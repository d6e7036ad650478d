"""The commands of `python -m tests.lab`, except `connect` (connect.py), which must start faster than this file does."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.lab.server.client import ControlError, ask, read_lab
from tests.lab.server.nodes import DEFAULT_NODES, Access, NodesError, parse_nodes

ROOT = Path(__file__).resolve().parents[3]
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 60.0


def main(arguments: Sequence[str]) -> int:
    """Run one command. Returns the exit status: 0, 1 (a sentence on stderr), 2 (usage)."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options) or 0)
    except (ControlError, NodesError) as error:
        sys.stderr.write(f"winkube lab (simulated): {error}\n")
        return 1


# -- start and stop ----------------------------------------------------------------------------------------------


def _start(options: argparse.Namespace) -> int:
    directory: Path = options.dir.absolute()
    named = options.nodes or (() if options.fleet else DEFAULT_NODES)
    specs = parse_nodes(named)
    if _runs(directory):
        raise ControlError(
            f"a lab runs in {directory} already; stop it with: python -m tests.lab stop --dir {options.dir}"
        )
    if options.detach:
        return _detach(options, directory)
    # Imported here: the other commands do not wait for asyncssh.
    from tests.lab.server.control import Control
    from tests.lab.server.lab import Lab
    from tests.lab.server.whole import fleet_nodes, start_clusters, start_fleet, wishes

    wanted = wishes(named) if options.cluster else ()
    fleet = parse_nodes(fleet_nodes(options.fleet)) if options.fleet else ()
    specs = (*specs, *fleet)
    bare = {wish.name for wish in wanted} | {spec.name for spec in fleet}
    with Lab(directory) as lab:
        lab.add_nodes({replace(spec, containers=spec.name not in bare): None for spec in specs})
        if wanted:
            start_clusters(lab, wanted)
        if fleet:
            start_fleet(lab, fleet)
        control = Control(lab)
        control.start()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: control.stopped.set())
        print(_status_text(lab.describe(), directory), end="", flush=True)
        control.stopped.wait()
        control.stop()
    (directory / "lab.json").unlink(missing_ok=True)
    return 0


def _detach(options: argparse.Namespace, directory: Path) -> int:
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    command = [sys.executable, "-m", "tests.lab", "start", "--dir", str(directory)]
    if options.nodes:
        command += [
            "--nodes",
            *(str(Path(item).absolute()) if Path(item).is_file() else item for item in options.nodes),
        ]
    if options.cluster:
        command.append("--cluster")
    if options.fleet:
        command += ["--fleet", str(options.fleet)]
    log = directory / "lab.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    deadline = time.monotonic() + START_TIMEOUT_S
    while not _runs(directory):
        if process.poll() is not None or time.monotonic() > deadline:
            process.terminate()
            raise ControlError(f"the lab did not start; its output ({log}) ends:\n{log.read_text()[-2000:]}")
        time.sleep(0.02)
    print(_status_text(ask(directory, {"op": "status"}), directory), end="")
    return 0


def _runs(directory: Path) -> bool:
    try:
        ask(directory, {"op": "status"})
    except ControlError:
        return False
    return True


def _stop(options: argparse.Namespace) -> None:
    directory: Path = options.dir.absolute()
    ask(directory, {"op": "stop"})
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while (directory / "lab.json").exists():
        if time.monotonic() > deadline:
            pid = read_lab(directory)["pid"]
            raise ControlError(f"the lab of {directory} (pid {pid}) did not stop within {STOP_TIMEOUT_S:g} s")
        time.sleep(0.02)
    print(f"The lab of {options.dir} is stopped.")


# -- looking -----------------------------------------------------------------------------------------------------


def _status(options: argparse.Namespace) -> None:
    directory: Path = options.dir.absolute()
    print(_status_text(ask(directory, {"op": "status"}), directory), end="")


def _status_text(status: dict[str, Any], directory: Path) -> str:
    lines = [f"Lab of simulated Windows nodes, pid {status['pid']}, directory {directory}"]
    for name, node in status["nodes"].items():
        extra = "" if node["access"] == "open" else f", {node['access']}"
        extra += f", {node['latency_s']:g} s latency" if node["latency_s"] else ""
        lines.append(
            f"  {name}: {node['username']}@{node['address']}:{node['port']} (simulated, {node['listen']}{extra})"
        )
    for name, cluster in status.get("clusters", {}).items():
        lines.append(f"  cluster of {name}: Kubernetes {cluster['version']} at {cluster['server']} (simulated)")
    if status.get("clusters"):
        lines += [
            f"  {directory}/kubeconfig has a context for each cluster, named after its node",
            f"Whole nodes need -e @{directory}/whole.yml: that kubeconfig, and downloads from this lab",
        ]
    lines += [
        f"  http://xyz/ and other sources: {status['sources']}",
        f'Ansible reaches it with ANSIBLE_SSH_COMMON_ARGS="-F {directory}/ssh_config"',
        # Ansible shares connections by host, port and user: another lab's node of that name would answer for this one.
        f"  and ANSIBLE_SSH_CONTROL_PATH_DIR={directory}/cp, so that no other lab answers for it",
        f"over WinRM with -i {status['winrm']['inventory']}, or where an inventory says winrm at 5985 or 5986, with",
        f'  -e ansible_winrm_proxy={status["winrm"]["proxy"]} -e "ansible_winrm_ca_trust_path={status["winrm"]["ca"]}"',
    ]
    return "\n".join(lines) + "\n"


def _ledger(options: argparse.Namespace) -> None:
    accounts = ask(options.dir.absolute(), {"op": "ledger", "reset": options.reset})
    if options.json:
        print(json.dumps(accounts, indent=2))
        return
    for name, account in accounts.items():
        calls = account["remote_calls"]
        winrm = f", {account['winrm_commands']} WinRM" if account["winrm_commands"] else ""
        print(
            f"{name} (simulated): {calls} remote call{'s' if calls != 1 else ''} "
            f"({account['execs']} exec, {account['subsystems']} subsystem{winrm}), "
            f"{account['connections']} connections, "
            f"{account['bytes_in']} bytes in, {account['bytes_out']} bytes out"
        )
        for module in dict.fromkeys(account["modules"]):
            print(f"  {account['modules'].count(module)} x {module}")


def _dump(options: argparse.Namespace) -> None:
    print(json.dumps(ask(options.dir.absolute(), {"op": "dump", "node": options.node}), indent=2, sort_keys=True))


def _show(options: argparse.Namespace) -> None:
    print(ask(options.dir.absolute(), {"op": "show", "node": options.node}), end="")


# -- doing -------------------------------------------------------------------------------------------------------


def _advance(options: argparse.Namespace) -> None:
    now = ask(options.dir.absolute(), {"op": "advance", "node": options.node, "seconds": options.seconds})
    print(f"{options.node} (simulated): its clock is at {now}")


def _power(options: argparse.Namespace) -> None:
    state = ask(options.dir.absolute(), {"op": "power", "node": options.node, "on": options.state == "on"})
    print(f"{options.node} (simulated): the power is {state}")


def _fault(options: argparse.Namespace) -> None:
    request = {key: value for key, value in vars(options).items() if key not in ("dir", "run", "command")}
    print(f"{options.node} (simulated): " + ask(options.dir.absolute(), {"op": "fault", **request}))


def _flow(options: argparse.Namespace) -> None:
    request = {"op": "flow", "cluster": options.cluster, "broken": options.broken}
    print(f"{options.cluster} (simulated): " + ask(options.dir.absolute(), request))


def _hns(options: argparse.Namespace) -> None:
    request = {"node": options.node, "method": options.method, "path": options.path, "request": options.request}
    print(ask(options.dir.absolute(), {"op": "hns", **request}))


def _record(_: argparse.Namespace) -> None:
    from tests.lab.server.recordings import record

    try:
        path = record()
    except ImportError as error:
        raise ControlError(f"this Python ({sys.executable}) has no ansible-core to record: {error}") from error
    print(f"Recorded in {path}; look at the difference before you commit it.")


# -- the command line --------------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.lab", description="Simulated Windows nodes that a real Ansible reaches over real SSH."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, run: Any, help: str, node: bool = False) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help, description=help)
        added.add_argument("--dir", type=Path, default=Path(".lab"), help="the lab's directory (default: .lab)")
        if node:
            added.add_argument("node", help="name of the node")
        added.set_defaults(run=run)
        return added

    start = command("start", _start, "start a lab, until it is stopped")
    start.add_argument("--nodes", nargs="+", metavar="FILE|NAME=ADDRESS:PORT", help=f"default: {DEFAULT_NODES[0]}")
    start.add_argument(
        "--cluster",
        action="store_true",
        help="a cluster for each node whose YAML names a release of Kubernetes (each NAME=ADDRESS), which begins bare",
    )
    start.add_argument(
        "--fleet",
        type=int,
        default=0,
        metavar="N",
        help="so many bare nodes more, win1 to winN, beside one cluster as kubespray makes it",
    )
    start.add_argument("--detach", action="store_true", help="leave it running and return when it is ready")
    command("stop", _stop, "stop the lab")
    command("status", _status, "say which nodes there are and how Ansible reaches them")
    connect = commands.add_parser(
        "connect", help="ssh's ProxyCommand: join stdin and stdout to the node that claims HOST:PORT"
    )
    for name in ("HOST", "PORT"):
        connect.add_argument(name)
    ledger = command("ledger", _ledger, "print the remote calls that the lab has counted")
    ledger.add_argument("--reset", action="store_true", help="begin anew after printing")
    ledger.add_argument("--json", action="store_true")
    command("dump", _dump, "print drive, registry, services, tasks and processes of a node as JSON", node=True)
    command("show", _show, "print services and configuration of a node for reading", node=True)
    command("advance", _advance, "move a node's clock forward", node=True).add_argument("seconds", type=float)
    command("power", _power, "switch a node off, as a power loss does, or on", node=True).add_argument(
        "state", choices=["on", "off"]
    )
    _add_faults(command("fault", _fault, "make a node or the way to it misbehave", node=True))
    flow = command("flow", _flow, "break flows of a cluster's network, such as dns; none of them: all work again")
    flow.add_argument("cluster", help="name of the cluster: that of its node")
    flow.add_argument("broken", nargs="*", metavar="FLOW", help="a wrong name is answered with the right ones")
    hns = command("hns", _hns, "call a node's HNS as a program there does, to leave or take away things", node=True)
    hns.add_argument("method", choices=["GET", "POST", "DELETE"])
    hns.add_argument("path", help="/networks/, /endpoints/ID, /policylists/, /namespaces/")
    hns.add_argument("request", nargs="?", default="", metavar="JSON", help="what POST makes")
    command("record-payload", _record, "record the digests of the wrapper scripts of this Python's ansible-core")
    return parser


def _add_faults(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="FAULT")
    access = kinds.add_parser("access", help="the way to the node: open, refused, silent (every packet is lost)")
    access.add_argument("access", choices=Access.__args__)  # type: ignore[attr-defined]
    latency = kinds.add_parser("latency", help="seconds that each remote call takes longer")
    latency.add_argument("seconds", type=float)
    cut = kinds.add_parser("cut", help="cut the session, the runner or the power once, at one moment of a batch")
    cut.add_argument("cut", choices=["session", "runner", "power"])
    cut.add_argument("--op", dest="op_index", type=int, required=True, help="index of the op in its phase")
    cut.add_argument("--when", choices=["before", "in", "after"], default="in")
    cut.add_argument("--phase", choices=["submit", "ops", "gate", "undo"], default="ops")
    cut.add_argument("--boot-after", dest="boot_after_s", type=float, help="seconds until the power is back")
    cut.add_argument(
        "--silent",
        action="store_true",
        help="and from then on every packet is lost, until `access open`, `clear` or the next boot",
    )
    service = kinds.add_parser("service", help="a service that behaves badly")
    service.add_argument("service")
    service.add_argument(
        "service_fault", help="crash_at_start, crash_loop, never_answers, slow_start, slow_stop, no_pipe, none"
    )
    service.add_argument("--seconds", type=float, default=1.0)
    full = kinds.add_parser("disk-full", help="error 112 after so many more bytes")
    full.add_argument("bytes", type=int)
    kinds.add_parser("clear", help="none of the node's faults any more")
    for kind in kinds.choices.values():  # taken here too: what stands before wins only where nothing stands here
        kind.add_argument("--dir", type=Path, default=argparse.SUPPRESS, help=argparse.SUPPRESS)
