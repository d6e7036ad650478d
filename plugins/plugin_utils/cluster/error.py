# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one error of this package: client and stream both raise it."""

from __future__ import annotations

import re

FORBIDDEN = 403
PASSING = frozenset({410, 429, 500, 502, 503, 504})
"""410: the resourceVersion is too old; ours name none, so the next list starts over (but see `passes`). 429: priority
and fairness, or a limit of a proxy. 500 includes etcd without a leader and webhooks that do not answer. Source:
kubernetes staging/src/k8s.io/apimachinery/pkg/api/errors/errors.go; client-go's rest/with_retry.go repeats 429 and 5xx
that name a Retry-After."""


BUDGET = "DisruptionBudget"
"""Source: k8s.io/api v0.37.1 policy/v1/types.go, DisruptionBudgetCause; kubernetes
pkg/registry/core/pod/storage/eviction.go has it in each 429."""
_AT_KUBELET = re.compile(r"/api/v1/(?:nodes/[^/]+/proxy/|namespaces/[^/]+/pods/[^/]+/(?:exec|log)(?:\?|$))")
_ETCD = "etcdserver: "
GONE = 410
CONTINUED = "&continue="
"""In the path of the second and each further piece of a list."""


def passes(path: str, status: int, said: str) -> bool:
    """Whether the same request may succeed in a moment.

    A 410 for a piece of a list means that this list can be continued no more (k8s.io/apiserver v0.37.2
    pkg/storage/etcd3/errors.go).
    A 500 from a failed call to a kubelet ("error dialing backend") comes only after half a minute and is not temporary,
    unless etcd says that it has no leader.
    """
    if status == GONE and CONTINUED in path:
        return False
    return status in PASSING and (status != 500 or _AT_KUBELET.match(path) is None or said.startswith(_ETCD))


class ClusterError(Exception):
    """The cluster cannot be reached, or refuses a request. The text is a sentence for people.

    `status` is the answer's HTTP status, 0 without one. `passing`: the same request may well succeed in a moment;
    `after_s`: in how many seconds the server wants to be asked again; `causes`: those in its Status.
    """

    def __init__(
        self,
        sentence: str,
        status: int = 0,
        *,
        passing: bool = False,
        after_s: float = 0,
        causes: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.passing = passing
        self.after_s = after_s
        self.causes = causes

    @property
    def is_budget(self) -> bool:
        """Whether a PodDisruptionBudget forbids the eviction; a 429 of a proxy or of the flow control is something
        else."""
        return self.status == 429 and BUDGET in self.causes
