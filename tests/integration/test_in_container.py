"""A run as it is in a pod of its own: the first process, a user without an entry in passwd, a read-only root, 512 MiB.

Simulated: the nodes, the cluster and their pods. Real: Ansible, its processes, the namespaces and the limit of memory.
Files belong to the run's user here, unlike in an image, and the network is the machine's.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lab import SCRIPTS, Bench
from tests.integration.test_host_process import CONNECTION, Managed, running_pods
from tests.integration.whole import OVERLAY, SITE
from tests.lab.cluster import tenants

NODES, AT_ONCE = 50, 10
UID = 64321
"""Of nobody."""
LIMIT = 512 * 2**20
MEMORY = Path("/sys/fs/cgroup/memory")
FIRST = (
    "unshare",
    "--user",
    f"--map-user={UID}",
    f"--map-group={UID}",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
)
CONTAINED = (
    os.access(MEMORY / "cgroup.procs", os.W_OK)
    and subprocess.run(
        ["unshare", "--mount", "sh", "-c", f"mount -o remount,bind,ro / && {shlex.join(FIRST)} true"],
        capture_output=True,
        check=False,
    ).returncode
    == 0
)


class Fleet(Managed):
    """As many nodes of the same kind."""

    def names(self) -> list[str]:
        return [f"win{number}" for number in range(1, NODES + 1)]

    def inventory(self) -> Path:
        lines = ["[windows]", *self.names(), "[windows:vars]", *(f"{key}={value}" for key, value in CONNECTION.items())]
        return self.bench.file("cluster.ini", "\n".join(lines) + "\n")


@contextmanager
def limited() -> Iterator[Path]:
    """A group of processes that together have no more memory; SIGKILL ends what wants more."""
    group = MEMORY / f"winkube-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(LIMIT), encoding="ascii")
        yield group
    finally:
        group.rmdir()


def contained(group: Path, writable: Path, words: list[str]) -> list[str]:
    """The command line that runs `words` so; `writable` alone is no part of the read-only root, beside /dev/shm."""
    place = shlex.quote(str(writable))
    inner = f"mount --bind {place} {place} && mount -o remount,bind,ro / && exec {shlex.join([*FIRST, *words])}"
    enter = f"echo $$ > {shlex.quote(str(group / 'cgroup.procs'))}"
    return ["sh", "-c", f"{enter} && exec unshare --mount sh -c {shlex.quote(inner)}"]


ASK = """
import os, pwd, sys
try:
    pwd.getpwuid(os.getuid())
    sys.exit("there is an entry in passwd")
except KeyError:
    pass
try:
    open("/winkube-writable", "w")
    sys.exit("the root is writable")
except OSError:
    pass
print(os.getpid(), os.getuid())
"""


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.skipif(not CONTAINED, reason="no right to mount, no user namespaces, or no memory cgroup of version 1")
def test_a_change_of_fifty_nodes_with_a_drain_ends_well_and_leaves_no_pod(bench: Bench) -> None:
    fleet = Fleet(bench, OVERLAY, containers=True)
    for number, name in enumerate(fleet.names()[1:], 2):
        bench.node(name, address=f"192.168.123.{number}", containers=True)
    bench.patience_s = 3600
    joined = fleet.site("--forks", "10", playbook=SITE)
    assert joined.rc == 0, joined
    for name in fleet.names():
        bench.lab.host(name).set(access="refused")
    tenants.move_in(fleet.cluster, "win1")

    more: dict[str, Any] = {
        "winkube_drain": True,
        "winkube_drain_options": tenants.OPTIONS,
        "winkube_serial": AT_ONCE,
        "winkube_max_unavailable": AT_ONCE,
        "winkube_containerd_log_level": "debug",
        "winkube_cluster": {"kubeconfig": str(fleet.cluster.account("keep"))},
    }
    work = bench.directory / "work"
    work.mkdir()
    extra = bench.file("contained.json", json.dumps(fleet.variables(**more)))
    words = [
        str(SCRIPTS / "ansible-playbook"),
        "-i",
        str(fleet.inventory()),
        str(SITE),
        "-e",
        f"@{extra}",
        "--forks",
        "10",
    ]
    home = {"HOME": str(work), "ANSIBLE_HOME": str(work / ".ansible"), "ANSIBLE_LOCAL_TEMP": str(work / "tmp")}
    with limited() as group:
        line = contained(group, work, [str(SCRIPTS / "python"), "-c", ASK])
        asked = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)
        assert asked.stdout.split() == ["1", str(UID)], asked
        done = subprocess.run(
            contained(group, work, words),
            cwd=work,
            env=bench.environment() | home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=3600,
        )
        peak = int((group / "memory.max_usage_in_bytes").read_text(encoding="ascii"))
        kills = (group / "memory.oom_control").read_text(encoding="ascii").split("oom_kill ")[-1].strip()
    print(f"{NODES} nodes: {peak / 2**20:.0f} MiB at most, files that were read included")
    wrong = [line for line in done.stdout.splitlines() if "ERROR" in line or line.startswith("fatal")]
    assert done.returncode == 0, "\n".join([*wrong, done.stdout[-3000:], done.stderr[-2000:]])
    assert kills == "0"
    assert running_pods(fleet) == []
    nodes = fleet.cluster.request("GET", "/api/v1/nodes")["items"]
    assert [each["metadata"]["name"] for each in nodes if each["spec"].get("unschedulable")] == []
    again = fleet.play(SITE, "--forks", "10", **more)
    assert again.rc == 0 and all(each.changed == 0 for each in again.recap.values()), again
