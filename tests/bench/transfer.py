"""What it costs to get a rebuilt Go program onto a node: Ansible's copy, and ours, in the same run over the same SSH.

The builds are those of WINKUBE_BENCH_BUILDS (`<old>:<new>`), else Go's own `cmd/go` for Windows, built twice, the
second time with two functions changed; a build takes minutes the first time, on a machine without Go there are none.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.bench.yardsticks import with_debians, yardsticks
from tests.integration.lab import Bench
from tests.integration.warm import COLLECTIONS
from tests.lab.twin.ops import execute_op

sys.path.insert(0, str(COLLECTIONS))

from ansible.playbook.play_context import PlayContext
from ansible.plugins.loader import connection_loader, init_plugin_loader, shell_loader
from ansible_collections.winkube.node.plugins.plugin_utils.transfer.cache import PushCache
from ansible_collections.winkube.node.plugins.plugin_utils.transfer.push import Base, Pushed, prepare, push
from ansible_collections.winkube.node.plugins.plugin_utils.transfer.serve import ports_of, serve_files

VARIABLE = "WINKUBE_BENCH_BUILDS"
STAGING = "C:\\ProgramData\\winkube\\staging"
PLACE = "C:\\k\\program.exe"
CHANGES = {
    "cmd/go/internal/load/pkg.go": (
        "func (p *Package) load(",
        '\tif len(path) > 4096 {\n\t\tprintln("a long path", len(path), path)\n\t}\n',
    ),
    "cmd/go/internal/work/exec.go": (
        "func (b *Builder) Do(",
        '\tfor i := range 2 {\n\t\tif root == nil {\n\t\t\tprintln("nothing to do", i)\n\t\t}\n\t}\n',
    ),
}
"""File -> (the function that grows, what is put at its beginning)."""


@dataclass(frozen=True)
class Cost:
    """bytes: what the node received; calls: remote calls; seconds: of the transfer, the making of a delta included."""

    how: str
    bytes: int
    calls: int
    seconds: float


def builds(folder: Path) -> tuple[Path, Path] | None:
    """(old, new), made in `folder` if they have to be; None without Go."""
    if named := os.environ.get(VARIABLE):
        old, _, new = named.partition(":")
        return Path(old), Path(new)
    go = shutil.which("go")
    if go is None:
        return None
    pair = folder / "old.exe", folder / "new.exe"
    root = Path(subprocess.run([go, "env", "GOROOT"], check=True, text=True, capture_output=True).stdout.strip())
    environment = os.environ | {"GOOS": "windows", "GOARCH": "amd64", "CGO_ENABLED": "0", "GOMAXPROCS": "1"}
    folder.mkdir(parents=True, exist_ok=True)
    for path, overlay in zip(pair, ([], ["-overlay", str(_overlay(root, folder))]), strict=True):
        if not path.exists():
            fresh = path.with_suffix(".tmp")
            command = [go, "build", "-p", "1", "-ldflags", "-s -w", *overlay, "-o", str(fresh), "cmd/go"]
            subprocess.run(["nice", "-n", "19", *command], check=True, env=environment, cwd=folder)
            fresh.rename(path)
    return pair


def _overlay(root: Path, folder: Path) -> Path:
    replaced = {}
    for number, (name, (function, more)) in enumerate(CHANGES.items()):
        text = (root / "src" / name).read_text()
        body = text.index("{\n", text.index(function)) + 2
        changed = folder / f"changed{number}.go"
        changed.write_text(text[:body] + more + text[body:])
        replaced[str(root / "src" / name)] = str(changed)
    path = folder / "overlay.json"
    path.write_text(json.dumps({"Replace": replaced}))
    return path


def _connection(bench: Bench) -> Any:
    """Ansible's own connection plugin to win1, as a task has it."""
    init_plugin_loader([])
    host = bench.lab.host("win1").spec
    connection = connection_loader.get("ssh", PlayContext(), shell=shell_loader.get("powershell"))
    variables = {
        "ansible_host": host.address,
        "ansible_port": host.port,
        "ansible_user": host.username,
        "ansible_ssh_common_args": bench.environment()["ANSIBLE_SSH_COMMON_ARGS"],
        "ansible_control_path_dir": bench.environment()["ANSIBLE_SSH_CONTROL_PATH_DIR"],
        "ansible_shell_type": "powershell",
    }
    connection.set_options(var_options=variables)
    return connection


def _cost(bench: Bench, how: str, seconds: float) -> Cost:
    account = bench.account()
    return Cost(how, account.bytes_in, account.remote_calls, round(seconds, 2))


def _copied(bench: Bench, source: Path) -> Cost:
    """ansible.windows.win_copy, Ansible's own start of about a second in its seconds."""
    bench.reset_ledger()
    run = bench.ansible("win1", "-m", "ansible.windows.win_copy", "-a", f"src={source} dest=C:\\copied.exe")
    if run.rc != 0:
        raise RuntimeError(str(run))
    return _cost(bench, "ansible.windows.win_copy", run.seconds)


def _pushed(bench: Bench, connection: Any, source: Path, cache: PushCache, old: Path | None) -> tuple[Cost, Pushed]:
    data, drive = source.read_bytes(), bench.lab.host("win1").node.drive
    base = Base(PLACE, hashlib.sha256(old.read_bytes()).hexdigest()) if old else None
    bench.reset_ledger()
    started = time.monotonic()
    with prepare(source, _sha256(data), len(data), base, STAGING, cache) as ready:
        done = push(connection, ready, lambda now: None)
    cost = _cost(bench, done.how, time.monotonic() - started)
    if done.op is not None:
        answer = execute_op(bench.lab.host("win1").node, done.op["op"], done.op["args"])
        if drive.read(done.staged) != data:
            raise RuntimeError(f"the node has something else than {source}: {answer}")
        drive.rename(done.staged, PLACE, replace=True)
    return cost, done


def _pulled(bench: Bench, source: Path, cache: PushCache, old: Path) -> Cost:
    """The node fetches the difference from the controller: no call of its own, since the batch is sent in any case."""
    data, node = source.read_bytes(), bench.lab.host("win1").node
    base = Base(PLACE, _sha256(old.read_bytes()))
    node.drive.write(PLACE, old.read_bytes())
    node.clock.advance(node.faults.antivirus_s)  # which holds what has just been written
    started = time.monotonic()
    with (
        prepare(source, _sha256(data), len(data), base, STAGING, cache) as ready,
        serve_files({"program": ready}, "controller", ports_of(""), lambda now: None) as offer,
    ):
        node.network.hosts[f"controller:{offer.served.port}"] = f"127.0.0.1:{offer.served.port}"
        for left in ready.remote:  # what was sent before
            if node.drive.is_file(left):
                node.drive.delete(left)
        for op in offer.fetches("program", 60):
            execute_op(node, op.op, dict(op.args))
    seconds = time.monotonic() - started
    done = offer.build_result("program")
    if done.op is not None:
        execute_op(node, done.op["op"], done.op["args"])
    if node.drive.read(done.staged) != data:
        raise RuntimeError(f"the node has something else than {source}")
    return Cost(f"{done.how}, pull", done.bytes_sent, 0, round(seconds, 2))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def transfer(pair: tuple[Path, Path]) -> dict[str, Any]:
    """`{"size": .., "new_build": [{how, bytes, calls, seconds}, ..], "yardsticks": [{how, bytes, seconds}, ..]}`: each
    way to send the second of two builds, and what other programs make of them.

    RuntimeError if what the node has afterwards is not the build.
    """
    old, new = pair
    with tempfile.TemporaryDirectory(prefix="wkt") as name:
        bench = Bench(Path(name), warm=False)
        try:
            bench.node("win1")
            drive = bench.lab.host("win1").node.drive
            drive.mkdir(STAGING)
            drive.mkdir("C:\\k")
            connection, cache = _connection(bench), PushCache(Path(name) / "cache")
            costs = [_copied(bench, new)]
            costs.append(_pushed(bench, connection, new, PushCache(Path(name) / "none"), None)[0])
            _pushed(bench, connection, old, cache, None)
            costs.append(_pushed(bench, connection, new, cache, old)[0])
            costs.append(_pushed(bench, connection, new, cache, new)[0])
            costs.append(_pulled(bench, new, PushCache(Path(name) / "cache"), old))
            connection.close()
        finally:
            bench.close()
        others = yardsticks(old, new, Path(name), with_debians(old.parent))
    return {"size": new.stat().st_size, "new_build": [asdict(cost) for cost in costs], "yardsticks": others}


if __name__ == "__main__":
    found = builds(Path(tempfile.gettempdir()) / "winkube-bench-builds")
    print(json.dumps(transfer(found) if found else None, indent=1))
