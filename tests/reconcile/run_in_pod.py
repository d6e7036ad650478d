"""What runs in the pod of a Job: it does with one Node what keep.yml does, by the collection's own code, and stays at
work until it is told how to end, in a line of standard input.

python -m tests.reconcile.run_in_pod KUBECONFIG NODE NAMESPACE [stubborn]

    finish   it is done: the Node is uncordoned, its pod deleted
    leave    it ends without deleting its pod, as a run does that has no task of the collection
    fail     the change of the Node failed
    again    it needs its pod again, which somebody has deleted

SIGTERM ends it as keep.yml: nothing was changed yet, so the Node is given back, and the pod deleted. A stubborn one
does not heed it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from ansible_collections.winkube.node.plugins.plugin_utils.budget.claim import Claim, Wish
from ansible_collections.winkube.node.plugins.plugin_utils.budget.count import Budget
from ansible_collections.winkube.node.plugins.plugin_utils.budget.run import Run
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.own_pod import find_own_pod
from ansible_collections.winkube.node.plugins.plugin_utils.host_process.access import Access
from ansible_collections.winkube.node.plugins.plugin_utils.host_process.pod import BASE_IMAGE, Wanted
from ansible_collections.winkube.node.plugins.plugin_utils.task.drain import NodeDrain, Rules

from tests.reconcile.kubelet import run_of

ALL = Wish(Budget("100%"), why="reconcile")
LIVES_S = 14400


class TerminatedError(Exception):
    """SIGTERM."""


def _terminate(number: int, frame: object) -> None:
    raise TerminatedError


def main(arguments: Sequence[str]) -> int:
    """The exit status of the container."""
    kubeconfig, node, namespace, *stubborn = arguments
    cluster, own = Cluster.open({"kubeconfig": kubeconfig}), find_own_pod(os.environ)
    assert cluster is not None and own is not None
    signal.signal(signal.SIGTERM, signal.SIG_IGN if stubborn else _terminate)
    claim = Claim(cluster, Run(own.uid, f"the run in {own.name}", pod=str(own)), ALL)
    wanted = Wanted(node, namespace, BASE_IMAGE, run_of(own.uid), own.name, LIVES_S, own_pod=own)
    access = Access(cluster, wanted, start_s=60)
    try:
        access.ensure()
        NodeDrain(cluster, node, claim, Rules(timeout_s=60, grace_s=0, host_process=namespace)).cordon_and_drain()
        for word in sys.stdin:
            if word.strip() == "again":
                access.ensure()
                continue
            if word.strip() == "finish":
                claim.uncordon(node)
            if word.strip() != "leave":
                access.remove()
            return 1 if word.strip() == "fail" else 0
    except TerminatedError:
        claim.uncordon(node)
        access.remove()
        return 143
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
