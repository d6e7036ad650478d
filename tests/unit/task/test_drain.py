"""A node is emptied before a batch that interrupts pods, by the rules of `kubectl drain`, and filled again by whoever
emptied it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.budget.mark import ANNOTATION, find_mark
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import BUDGET, ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.records import NODE
from ansible_collections.winkube.node.plugins.plugin_utils.components.asks import Asks
from ansible_collections.winkube.node.plugins.plugin_utils.components.kube_proxy.component import sort_pods
from ansible_collections.winkube.node.plugins.plugin_utils.components.shared_options import DrainOptions
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch, Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.tools import run, sc
from ansible_collections.winkube.node.plugins.plugin_utils.task.drain import (
    NodeDrain,
    Rules,
    empty_before,
    interrupts,
)

from tests.unit.budget.nodes import Api as Nodes
from tests.unit.budget.nodes import Time, claim_of, node
from tests.unit.components.nodes import Controller

Object = dict[str, Any]


class Api(Nodes):
    """A cluster of one node. An evicted pod is gone when it was listed `lingers` times; `budget` is how often an
    eviction is refused first; `late`: pods that the scheduler binds while the cordon is on its way; `stale`: which
    lists, counted from 1, say that there is nothing; `expires`: after which request the credentials are over."""

    def __init__(
        self,
        *pods: Object,
        unschedulable: bool = False,
        lingers: int = 0,
        budget: int = 0,
        late: tuple[Object, ...] = (),
        stale: tuple[int, ...] = (),
        expires: int = 10**6,
    ) -> None:
        super().__init__(node("win1", cordoned=unschedulable, a="b"))
        self.known = self.nodes["win1"]
        self.on_node = {pod["metadata"]["name"]: pod for pod in pods}
        self.lingers, self.budget, self.late, self.stale, self.expires = lingers, budget, late, stale, expires
        self.evictions: list[Object] = []
        self._going: dict[str, int] = {}
        self._lists = 0
        self.before = self._check

    def _check(self, number: int) -> None:
        if number > self.expires:
            raise ClusterError("PATCH was answered with 401: Unauthorized.", 401)

    def items(self, path: str) -> list[Object]:
        self.ask(f"LIST {path}")
        assert path == "/api/v1/pods?fieldSelector=spec.nodeName%3Dwin1"
        self._lists += 1
        if self._lists in self.stale:
            return []
        for name in list(self._going):
            self._going[name] -= 1
            if self._going[name] < 0:
                self.on_node.pop(name, None)
                del self._going[name]
        return list(self.on_node.values())

    def create(self, path: str, body: Mapping[str, Any]) -> Object:
        self.ask(f"POST {path}")
        name = body["metadata"]["name"]
        assert path == f"/api/v1/namespaces/apps/pods/{name}/eviction"
        if self.budget:
            self.budget -= 1
            raise ClusterError(
                "Cannot evict pod as it would violate the pod's disruption budget.", 429, causes=frozenset({BUDGET})
            )
        self.evictions.append(dict(body))
        self._going[name] = self.lingers
        return {}

    def patch(self, path: str, body: Mapping[str, Any], kind: str = "merge") -> Object:
        found = super().patch(path, body, kind)
        if "spec" in body:
            self.on_node |= {pod["metadata"]["name"]: pod for pod in self.late}
            self.late = ()
        return found


def pod(name: str, owner: str = "ReplicaSet", **more: Any) -> Object:
    owners = [{"kind": owner, "name": "x"}] if owner else []
    metadata = {"name": name, "namespace": "apps", "uid": f"uid-{name}", "ownerReferences": owners}
    return {"metadata": metadata | more.pop("metadata", {}), "spec": more, "status": {"phase": "Running"}}


def drain(api: Api, **rules: Any) -> NodeDrain:
    time = Time()
    clock = Clock(time.now, time.sleep)
    return NodeDrain(api, "win1", claim_of(api, "run-1"), Rules(**rules), clock)


def test_cordoned_drained_and_let_back() -> None:
    mirror = pod("mirror", owner="Node", metadata={"annotations": {"kubernetes.io/config.mirror": "1"}})
    api = Api(pod("web"), pod("agent", owner="DaemonSet"), mirror, lingers=3)
    assert drain(api).cordon_and_drain() == ("cordon win1", "drain win1 (1 pods)")
    assert [body["metadata"] for body in api.evictions] == [{"name": "web", "namespace": "apps"}]
    assert set(api.on_node) == {"agent", "mirror"}
    assert api.known["spec"] == {"unschedulable": True}
    mark = find_mark(NODE(api.known, ""))
    assert mark is not None and (mark.run.id, mark.cordoned) == ("run-1", True)

    assert drain(api).uncordon() == ("uncordon win1",)
    assert api.known["spec"] == {}
    assert api.known["metadata"]["annotations"] == {"a": "b"}
    assert drain(api).uncordon() == ()


def test_the_pods_for_which_kube_proxy_is_refused_are_those_that_a_drain_evicts() -> None:
    mirror = pod("mirror", owner="Node", metadata={"annotations": {"kubernetes.io/config.mirror": "1"}})
    api = Api(pod("web"), pod("agent", owner="DaemonSet"), mirror, pod("bare", owner=""))
    asked = sort_pods(list(api.on_node.values()))
    drain(api, force=True).cordon_and_drain()
    evicted = {f"apps/{body['metadata']['name']}" for body in api.evictions}
    assert set(asked.going) == evicted == {"apps/web", "apps/bare"}
    assert asked.staying == ("apps/agent", "apps/mirror")


def test_pods_of_the_connection_stay_and_those_of_others_that_look_alike_do_not() -> None:
    through = {"securityContext": {"windowsOptions": {"hostProcess": True}}}
    labels = {"labels": {"winkube.node/host-process": "another run"}}
    ours = pod("ours", owner="", metadata={**labels, "namespace": "winkube-node"}, **through)
    elsewhere = pod("elsewhere", owner="", metadata=labels, **through)
    assert drain(Api(ours), host_process="winkube-node").cordon_and_drain() == ("cordon win1",)
    with pytest.raises(ClusterError, match="apps/elsewhere has no controller that recreates it"):
        drain(Api(elsewhere), host_process="winkube-node").cordon_and_drain()


def test_a_node_that_somebody_else_cordoned_stays_so() -> None:
    api = Api(pod("web"), unschedulable=True)
    assert drain(api).cordon_and_drain() == ("drain win1 (1 pods)",)
    assert drain(api).uncordon() == ()
    assert api.known["spec"] == {"unschedulable": True}


def test_a_node_that_this_run_has_emptied_is_let_back_once() -> None:
    api = Api(pod("web"))
    drain(api).cordon_and_drain()
    assert drain(api).cordon_and_drain() == ()
    assert drain(api).uncordon() == ("uncordon win1",)


def test_a_node_that_a_dead_run_left_cordoned_is_let_back_by_one_that_knows() -> None:
    api = Api(pod("web"))
    drain(api).cordon_and_drain()
    other = claim_of(api, "run-2")
    assert NodeDrain(api, "win1", other).uncordon() == (), "whether that run goes on is not known"
    told = replace(other, wish=replace(other.wish, take_over="run-1"))
    assert NodeDrain(api, "win1", told).uncordon() == ("uncordon win1",)
    assert api.known["spec"] == {} and find_mark(NODE(api.known, "")) is None


def test_a_node_that_a_person_uncordoned_loses_the_mark_and_it_is_said() -> None:
    api = Api(pod("web"))
    drain(api).cordon_and_drain()
    api.known["spec"] = {}
    assert drain(api).uncordon() == ("remove the mark from win1, which somebody else has uncordoned",)
    assert find_mark(NODE(api.known, "")) is None


def test_a_cordon_that_a_person_made_under_our_mark_stays() -> None:
    api = Api(pod("web"))
    drain(api).claim.take(["win1"])
    api.known["spec"] = {"unschedulable": True}
    assert drain(api).cordon_and_drain() == ("drain win1 (1 pods)",)
    assert drain(api).uncordon() == ()
    assert api.known["spec"] == {"unschedulable": True} and find_mark(NODE(api.known, "")) is None


def test_a_mark_that_was_taken_away_stops_the_cordon() -> None:
    """Another run believed this one dead: nothing is evicted."""
    api = Api(pod("web"))

    def take_away(number: int) -> None:
        if number == 6:
            api.known["metadata"]["annotations"].pop(ANNOTATION)

    api.before = take_away
    with pytest.raises(ClusterError, match="The mark of this run on the Node win1 is gone"):
        drain(api).cordon_and_drain()
    assert api.evictions == [] and api.known["spec"] == {}


def test_a_node_that_has_not_joined_is_not_drained() -> None:
    api = Api()
    assert NodeDrain(api, "win2", claim_of(api, "run-1")).cordon_and_drain() == ()
    assert NodeDrain(api, "win2", claim_of(api, "run-1")).uncordon() == ()


def test_a_disruption_budget_is_waited_for() -> None:
    api = Api(pod("web"), budget=3)
    assert drain(api).cordon_and_drain() == ("cordon win1", "drain win1 (1 pods)")
    assert len(api.evictions) == 1


@pytest.mark.parametrize(
    ("api", "sentence"),
    [
        (Api(pod("web"), budget=10**6), r"not empty after 600 s: apps/web. A PodDisruptionBudget keeps apps/web."),
        (Api(pod("web"), lingers=10**6), r"not empty after 600 s: apps/web."),
        (Api(pod("alone", owner="")), r"apps/alone has no controller that recreates it"),
        (Api(pod("data", volumes=[{"name": "d", "emptyDir": {}}])), r"apps/data keeps data in an emptyDir"),
    ],
)
def test_what_cannot_be_drained_leaves_the_node_schedulable(api: Api, sentence: str) -> None:
    with pytest.raises(ClusterError) as refused:
        drain(api).cordon_and_drain()
    assert sentence in str(refused.value)
    assert api.known["spec"] == {}
    assert ANNOTATION not in api.known["metadata"]["annotations"]


def test_a_pod_that_was_bound_in_between_goes_too() -> None:
    api = Api(pod("web"), late=(pod("bound"),))
    assert drain(api).cordon_and_drain() == ("cordon win1", "drain win1 (2 pods)")
    assert api.on_node == {}
    alone = Api(late=(pod("bound"),))
    assert drain(alone).cordon_and_drain() == ("cordon win1", "drain win1 (1 pods)")
    assert alone.on_node == {}


def test_a_pod_that_was_bound_in_between_and_may_not_go_gives_the_node_back() -> None:
    api = Api(pod("web"), late=(pod("alone", owner=""),))
    with pytest.raises(ClusterError, match="apps/alone has no controller that recreates it"):
        drain(api).cordon_and_drain()
    assert api.evictions == [] and api.known["spec"] == {}


@pytest.mark.parametrize("stale", [(2,), (3,), (2, 4)])
def test_one_list_without_pods_is_not_believed(stale: tuple[int, ...]) -> None:
    api = Api(pod("web"), lingers=2, stale=stale)
    assert drain(api).cordon_and_drain() == ("cordon win1", "drain win1 (1 pods)")
    assert api.on_node == {}


@pytest.mark.parametrize("expires", [7, 8, 9])
def test_credentials_that_end_after_the_cordon_say_that_it_stays_and_how_to_undo_it(expires: int) -> None:
    api = Api(pod("web"), lingers=1, expires=expires)
    with pytest.raises(ClusterError) as refused:
        drain(api).cordon_and_drain()
    assert refused.value.status == 401
    assert "401: Unauthorized. The Node win1 is still cordoned" in str(refused.value)
    assert f"kubectl uncordon win1; kubectl annotate node win1 {ANNOTATION}-" in str(refused.value)
    api.expires = 10**6
    assert drain(api).uncordon() == ("uncordon win1",), "the next run that works lets it back by itself"


def test_a_cordon_that_was_refused_changed_nothing() -> None:
    api = Api(pod("web"), expires=6)
    with pytest.raises(ClusterError) as refused:
        drain(api).cordon_and_drain()
    assert "may be cordoned" in str(refused.value)
    api = Api(pod("web"))

    def forbid(path: str, body: Mapping[str, Any], kind: str = "merge") -> Object:
        raise ClusterError("PATCH was answered with 403: forbidden.", 403)

    api.patch = forbid  # type: ignore[method-assign]
    with pytest.raises(ClusterError, match=r"403: forbidden\.$"):
        drain(api).cordon_and_drain()


def test_what_the_rules_allow_goes() -> None:
    api = Api(pod("alone", owner=""), pod("data", volumes=[{"name": "d", "emptyDir": {}}]))
    drain(api, force=True, delete_emptydir_data=True, grace_s=5).cordon_and_drain()
    assert [body["deleteOptions"] for body in api.evictions] == [{"gracePeriodSeconds": 5}] * 2


def test_pods_that_are_over_need_no_permission() -> None:
    over = pod("job", owner="", volumes=[{"emptyDir": {}}]) | {"status": {"phase": "Succeeded"}}
    assert drain(Api(over)).cordon_and_drain() == ("cordon win1", "drain win1 (1 pods)")


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (sc("stop", "containerd"), True),
        (run(r"C:\k\nssm.exe", "restart", "kubelet"), True),
        (run(r"C:\Windows\System32\shutdown.exe", "/r"), True),
        (Op("hns_network", {"name": "External"}), True),
        (sc("start", "containerd"), False),
        (sc("failure", "containerd", "reset=", "1"), False),
        (Op("write", {"path": r"C:\a"}), False),
        (run(r"C:\k\ctr.exe", "stop"), False),
    ],
)
def test_only_what_pods_notice_interrupts(op: Op, expected: bool) -> None:
    assert interrupts(Batch("x", (Op("mkdir", {"path": r"C:\a"}), op))) is expected


def test_nothing_is_asked_of_the_cluster_unless_something_is_interrupted() -> None:
    harmless, harmful = (Batch("x", (op,)) for op in (Op("write", {"path": "x"}), sc("stop", "containerd")))
    asks = Asks(Controller(), "win1")
    missing = DrainOptions(enabled=True, node_name="win1")
    assert empty_before(harmless, missing, asks) == ()
    assert empty_before(harmful, DrainOptions(enabled=False), asks) == ()
    with pytest.raises(Refused, match="winkube_drain is on, but the controller has no way to the cluster"):
        empty_before(harmful, missing, asks)


def on_node(name: str, *images: str, **spec: Any) -> Object:
    containers = [{"name": str(number), "image": image} for number, image in enumerate(images)]
    return pod(name) | {"spec": {"containers": containers, **spec}}


def test_what_was_on_the_node_is_told_and_planned_without_a_change() -> None:
    daemon = on_node("agent", "agent:1")
    daemon["metadata"]["ownerReferences"] = [{"kind": "DaemonSet"}]
    api = Api(on_node("web", "a:1", "b:1", nodeSelector={"node.kubernetes.io/windows-build": "10.0.20348"}), daemon)
    emptied = NodeDrain(api, "win1", claim_of(api, "run"))
    assert emptied.list_evictable() == [
        {"namespace": "apps", "name": "web", "images": ["a:1", "b:1"], "build": "10.0.20348"}
    ]
    assert emptied.plan_steps() == ("cordon win1", "drain win1 (1 pods)")
    assert api.evictions == []
    assert "unschedulable" not in api.known["spec"]
    assert NodeDrain(api, "win9", claim_of(api, "run")).list_evictable() == []
