"""A node that was off for longer than its kubelet's certificate is valid: named by verify, back by one command."""

from __future__ import annotations

from tests.integration.lab import ROOT, Bench
from tests.integration.whole import BRIDGE, Whole
from tests.lab.cluster.pki import Identity

REPAIR = ROOT / "playbooks" / "repair.yml"
CLIENT = r"C:\var\lib\kubelet\pki\kubelet-client-current.pem"


def sleep_too_long(whole: Whole) -> None:
    """The kubelet starts with a certificate that ended two months ago."""
    pair = whole.cluster.ca.issue(Identity("system:node:win1", ("system:nodes",)), days=-60, start=-425)

    def start() -> None:
        node = whole.host.node
        node.drive.write(CLIENT, pair.certificate + pair.key)
        node.restart()
        node.clock.advance(60)

    whole.host.in_turn(start)
    whole.cluster.advance(120)


def test_a_node_that_slept_past_its_certificate_rejoins_by_the_command_that_verify_names(bench: Bench) -> None:
    whole = Whole(bench, BRIDGE, containers=True)
    whole.converge()
    sleep_too_long(whole)
    assert not whole.cluster.is_ready("win1")

    found = whole.site(playbook=whole.VERIFY, winkube_verify_watch=1)
    assert found.rc == 2, found
    assert "The kubelet's client certificate has expired" in found.output, found
    assert "winkube_repair=rejoin" in found.output, found

    repaired = whole.converge(playbook=REPAIR, winkube_repair="rejoin")
    assert repaired.recap["win1"].changed, repaired
    assert whole.site(playbook=whole.VERIFY, winkube_verify_watch=1).rc == 0
    whole.cluster.advance(60)
    assert whole.cluster.is_ready("win1")
