"""Ten nodes at Ansible's own defaults: what a team sees of a join, a second run, and two dead nodes.

No page has it all. Each run is judged as its reader takes it (tests/integration/shown.py): once with Ansible's five
forks for all nodes at once, once one node after the other.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.integration.lab import ROOT, Bench, parse_recap
from tests.integration.shown import Shown, measure
from tests.lab.cluster.cluster import Cluster
from tests.walk import KIND, Place, Walk

NAME = "ten-nodes"
"""What chooses it, among the names of pages."""
HOSTS = tuple(f"win{number}" for number in range(1, 11))
DEAD = ("win4", "win8")
MOST_BEHIND_S = 30.0
SITE = "ansible-playbook -i inventory winkube.node.site"
RUNS = (SITE, f"{SITE} -e winkube_serial=1")
LOOKS = ("ansible-playbook -i inventory winkube.node.diagnose", "ansible-playbook -i inventory winkube.node.drift")


def walk_fleet(place: Place) -> Shown:
    """Both ways, each on ten bare machines of its own."""
    shown = Shown()
    for number, command in enumerate(RUNS):
        folder = place.root / f"{NAME}-{number}"
        folder.mkdir()
        with tempfile.TemporaryDirectory() as directory:
            bench = Bench(Path(directory), warm=False)
            try:
                shown += _join_and_lose(Walk(place, ROOT / NAME, folder, bench), command)
            finally:
                bench.close()
    for wrong in shown.wrong:
        print(f"FAILED {NAME}: {wrong}")
    return shown


def _join_and_lose(walk: Walk, command: str) -> Shown:
    """Bare machines join, nothing differs then, two of them lose their power."""
    archive = (str(walk.place.scripts / "ansible-galaxy"), "collection", "install", "--force", "--no-deps")
    walk.place.must(*archive, str(walk.place.archive), "-p", str(walk.folder / "collections"))
    lines = ["[windows_nodes]"]
    for number, name in enumerate(HOSTS, 1):
        spec = walk.bench.node(name, f"192.168.122.{230 + number}", containers=False).spec
        lines.append(f"{name} ansible_host={spec.address} ansible_user={spec.username}")
    lines += ["[windows_nodes:vars]", "ansible_connection=ssh", "ansible_shell_type=powershell"]
    walk.write("inventory", "\n".join([*lines, ""]))
    cluster = walk.whole()
    walk.extra |= KIND.variables(winkube_cluster={"kubeconfig": str(cluster.kubeconfig)})
    with _one_time(walk.bench, cluster):
        shown = measure(walk.execute(command, 0), HOSTS)
        cluster.advance(60)
        again = walk.execute(command, 0)
    shown += measure(again, HOSTS)
    if any(each.changed for each in parse_recap(again).values()):
        walk.place.failed.append(f"{NAME}: {command}: the second run changes something")
    for name in DEAD:
        host = walk.bench.lab.host(name)
        host.in_turn(host.node.power_off)
    for look in LOOKS:
        shown += measure(walk.execute(look, 2), HOSTS, DEAD)
    return shown


@contextmanager
def _one_time(bench: Bench, cluster: Cluster) -> Iterator[None]:
    """On the lab time passes where something happens: a machine that waits for its turn would be minutes behind."""
    over = threading.Event()

    def follow() -> None:
        while not over.wait(1):
            for host in bench.lab.hosts.values():
                behind = cluster.clock.now() - host.node.clock.now()
                if behind > MOST_BEHIND_S:
                    host.in_turn(partial(host.node.clock.advance, behind))

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
