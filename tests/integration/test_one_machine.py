"""Two hosts of an inventory that are one machine: refused before anything is changed, under either name."""

from __future__ import annotations

import pytest

from tests.integration.lab import Bench
from tests.integration.site import differences, site


def hosts(bench: Bench, *names: str) -> str:
    """An inventory in which all of these lead to the one node of the bench."""
    (host,) = bench.lab.hosts.values()
    said = f"ansible_host={host.spec.address} ansible_port={host.spec.port} ansible_user={host.spec.username}"
    lines = ["[windows_nodes]", *(f"{name} {said}" for name in names)]
    lines += ["[windows_nodes:vars]", "ansible_connection=ssh", "ansible_shell_type=powershell"]
    return str(bench.file("hosts.ini", "\n".join(lines) + "\n"))


@pytest.mark.parametrize("forks", [1, 5])
def test_no_name_of_the_machine_is_changed(bench: Bench, forks: int) -> None:
    bench.node()
    before = bench.dump()
    run = site(bench, "-i", hosts(bench, "win1", "win2"), "--forks", str(forks), winkube_hosts="windows_nodes")
    assert run.rc != 0, run
    assert "win1, win2 are one machine" in " ".join(run.output.split()), run
    assert [run.recap[name].failed for name in ("win1", "win2")] == [1, 1], run
    assert differences(before, bench.dump()) == []
