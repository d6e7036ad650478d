"""What a plan does and in which order, by what there is on the node; what it undoes, relies on, foretells and says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.answer import Answer
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import make_plan, reads, task_result
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Change, Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.file import File
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.service import Service
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret
from ansible_collections.winkube.node.plugins.plugin_utils.engine.services.definition import Recovery
from ansible_collections.winkube.node.plugins.plugin_utils.engine.services.native import Native
from ansible_collections.winkube.node.plugins.plugin_utils.engine.tools import wait_pipe

from tests.unit.engine.nodes import file, node, said, undone

CONF = r"C:\k\kubelet.conf"
RECOVERY = Recovery(3600, (("restart", 5000),))
KUBELET = Native("kubelet", r"C:\k\kubelet.exe", ("--v=2",), "kubelet", RECOVERY)
SERVICE = Service("kubelet", KUBELET, frozenset({file_key(CONF)}))
FILE = File(CONF, b"new\n", r"C:\state\backup")
READY = replace(SERVICE, ready=(wait_pipe("kubelet", 9),))

SAME = file(CONF, "new\n")
OTHER = file(CONF, "old\n")
STOP = ["stop kubelet", "wait service stopped", r"wait process_gone C:\k\kubelet.exe"]
START = ["start kubelet", "wait service running"]
WRITE = [r"mkdir C:\state\backup", rf"write {CONF}"]
PROXY = {"name": "kube-proxy", "state": "running", "depends_on": ["Kubelet"]}


def kubelet(state: str, **more: Any) -> dict[str, Any]:
    return {**KUBELET.predict(), "state": state, **more}


@dataclass(frozen=True)
class Case:
    """The present and wanted state, the ops up to the end of starting, and the sentences."""

    reading: Reading
    ops: list[str]
    steps: list[str]
    service: Service = SERVICE


MADE = [
    rf"create kubelet binPath= {KUBELET.command} start= auto DisplayName= kubelet",
    "failure kubelet reset= 3600 actions= restart/5000",
    "failureflag kubelet 1",
]
CASES = {
    "nothing differs": Case(node(kubelet("running"), **SAME), [], []),
    "a file it uses differs": Case(
        node(kubelet("running"), **OTHER), [*STOP, *WRITE, *START], [f"rewrite {CONF}", "restart kubelet"]
    ),
    "it is not there": Case(
        node(**SAME), [*MADE, *START], ["register the service kubelet with sc.exe", "start kubelet"]
    ),
    "it is stopped": Case(node(kubelet("stopped"), **SAME), START, ["start kubelet"]),
    "it is stopped and rests": Case(node(kubelet("stopped"), **SAME), [], [], replace(SERVICE, rests=True)),
    "it rests and a file differs": Case(
        node(kubelet("stopped"), **OTHER),
        [*WRITE, *START],
        [f"rewrite {CONF}", "start kubelet"],
        replace(SERVICE, rests=True),
    ),
    "it crashes again and again": Case(
        node(kubelet("paused"), **OTHER), [*STOP, *WRITE, *START], [f"rewrite {CONF}", "restart kubelet"]
    ),
    "it is on its way up and nothing differs": Case(node(kubelet("start_pending"), **SAME), START, ["start kubelet"]),
    "somebody else starts it": Case(
        node(kubelet("stopped"), **OTHER), WRITE, [f"rewrite {CONF}"], replace(SERVICE, run=False)
    ),
    "somebody else starts it, and it runs": Case(
        node(kubelet("running"), **OTHER),
        [*STOP, *WRITE],
        [f"rewrite {CONF}", "stop kubelet"],
        replace(SERVICE, run=False),
    ),
    "somebody else starts it, and something depends on it": Case(
        node(kubelet("running"), PROXY, **OTHER),
        ["stop kube-proxy", "wait service stopped", *STOP, *WRITE],
        [f"rewrite {CONF}", "stop kubelet and its dependants: kube-proxy"],
        replace(SERVICE, run=False),
    ),
    "something depends on it": Case(
        node(kubelet("running"), PROXY, **OTHER, **{"pipe:kubelet": {"exists": True}}),
        [
            *("stop kube-proxy", "wait service stopped", *STOP, *WRITE, *START, "wait pipe kubelet"),
            *("start kube-proxy", "wait service running"),
        ],
        [f"rewrite {CONF}", "restart kubelet", "restart its dependants: kube-proxy"],
        READY,
    ),
    "it runs and is not ready": Case(
        node(kubelet("running"), **SAME, **{"pipe:kubelet": {"exists": False}}),
        ["wait pipe kubelet"],
        ["wait until kubelet is ready (its pipe kubelet is not there), and restart it if it stays so"],
        READY,
    ),
    "its start type differs": Case(
        node(kubelet("running", start=3), **SAME),
        ["config kubelet start= auto"],
        ["change start type of the service kubelet"],
    ),
    "its command line differs": Case(
        node(kubelet("running", image_path=r"C:\k\kubelet.exe --v=4"), **SAME),
        [*STOP, f"config kubelet binPath= {KUBELET.command}", *START],
        ["change command line of the service kubelet", "restart kubelet"],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_done_and_said(case: Case) -> None:
    plan = make_plan("kubelet", (FILE, case.service), case.reading)
    assert said(plan.batch.ops if plan.batch else ()) == case.ops
    assert [step.text for step in plan.steps] == case.steps
    assert plan.changed == bool(case.ops)


def test_one_that_is_not_ready_is_restarted_where_waiting_was_in_vain() -> None:
    reading = node(kubelet("running"), **SAME, **{"pipe:kubelet": {"exists": False}})
    assert make_plan("kubelet", (READY,), reading).waits
    plan = make_plan("kubelet", (READY,), reading, restart_unready=True)
    assert plan.batch is not None
    assert said(plan.batch.ops) == [*STOP, *START]
    assert not plan.waits
    assert [step.text for step in plan.steps] == ["restart kubelet, which was not ready: its pipe kubelet is not there"]


def test_several_services_are_stopped_together_and_started_each_when_the_one_before_is_ready() -> None:
    proxy = Native("kube-proxy", r"C:\k\kube-proxy.exe", (), "kube-proxy", RECOVERY)
    reading = node(kubelet("running"), {**proxy.predict(), "state": "running"}, **OTHER)
    second = Service("kube-proxy", proxy, SERVICE.uses)
    plan = make_plan("both", (FILE, READY, second), reading)
    assert plan.batch is not None
    assert said(plan.batch.ops) == [
        *STOP,
        *("stop kube-proxy", "wait service stopped", r"wait process_gone C:\k\kube-proxy.exe"),
        *WRITE,
        *(*START, "wait pipe kubelet"),
        *("start kube-proxy", "wait service running"),
    ]
    assert said(plan.batch.gate) == ["wait pipe kubelet"]


def test_what_was_changed_is_put_back_while_the_services_are_stopped() -> None:
    plan = make_plan("kubelet", (FILE, SERVICE), node(kubelet("running"), **OTHER))
    assert plan.batch is not None
    by_name = dict(zip(said(plan.batch.ops), plan.batch.ops, strict=True))
    halt = ["halt kubelet", r"wait process_gone C:\k\kubelet.exe"]
    assert undone(by_name[f"write {CONF}"]) == [*halt, f"restore {CONF}"]
    assert undone(by_name["start kubelet"]) == halt
    assert undone(by_name["stop kubelet"]) == ["halt kubelet", *START]


def test_one_that_did_not_run_is_not_waited_for_when_the_stop_is_undone() -> None:
    plan = make_plan("kubelet", (FILE, SERVICE), node(kubelet("paused"), **OTHER))
    assert plan.batch is not None
    assert undone(plan.batch.ops[0]) == ["halt kubelet", "start kubelet"]


def test_a_wait_ends_with_the_service_and_says_where_its_log_is() -> None:
    plan = make_plan("kubelet", (READY,), node(kubelet("stopped"), **{"pipe:kubelet": {"exists": False}}))
    assert plan.batch is not None
    (wait,) = (op for op in plan.batch.gate if op.args["for"] == "pipe")
    assert wait.args["ends_with"] == "kubelet"
    retries = make_plan("kubelet", (replace(READY, retries=True),), node(kubelet("stopped")))
    assert retries.batch is not None
    assert "ends_with" not in retries.batch.gate[0].args


def test_the_batch_is_right_only_for_the_node_that_was_read() -> None:
    plan = make_plan("kubelet", (FILE, SERVICE), node(kubelet("running"), **file(CONF, "old\n", sha256="ab")))
    assert plan.batch is not None
    found = {expectation.query.key: dict(expectation.expect) for expectation in plan.batch.pre}
    assert found[file_key(CONF)] == {"exists": True, "kind": "file", "sha256": "ab"}
    assert found["expect:kubelet"] == {"exists": True, "image_path": KUBELET.command}
    absent = make_plan("kubelet", (SERVICE,), node())
    assert absent.batch is not None
    assert [dict(expectation.expect) for expectation in absent.batch.pre] == [{"exists": False}]


def test_what_is_foretold_makes_the_next_plan_do_nothing() -> None:
    reading = node(kubelet("running", start=3), **OTHER, **{"pipe:kubelet": {"exists": True}})
    plan = make_plan("kubelet", (FILE, READY), reading)
    assert plan.predicted.predicted
    assert make_plan("kubelet", (FILE, READY), plan.predicted).batch is None
    down = node(kubelet("stopped"), **SAME, **{"pipe:kubelet": {"exists": False}})
    up = make_plan("kubelet", (FILE, READY), down).predicted
    assert up.parts["pipe:kubelet"] == {"exists": True}
    assert (up.service("kubelet") or {})["state"] == "running"
    stopped = make_plan("kubelet", (FILE, replace(SERVICE, run=False)), node(kubelet("running"), **OTHER)).predicted
    assert (stopped.service("kubelet") or {})["state"] == "stopped"


def test_what_could_not_be_read_is_no_absent_file() -> None:
    reading = node(kubelet("running"), **{file_key(CONF): {"error": "the file is locked"}})
    with pytest.raises(Refused, match=r"C:\\k\\kubelet.conf could not be read on the node: the file is locked"):
        make_plan("kubelet", (FILE, SERVICE), reading)


@dataclass(frozen=True)
class Waiting:
    """Something that only waits for a restart of the machine."""

    label: str = "it"

    def reads(self) -> tuple[()]:
        return ()

    def change(self, reading: Reading) -> Change | None:
        return Change(text="", reboot="the feature comes into force")


def test_a_restart_of_the_machine_is_asked_for_once_and_is_no_change() -> None:
    plan = make_plan("containers", (Waiting(), Waiting("other")), node())
    assert plan.reboot == ("the feature comes into force",)
    assert not plan.changed
    assert plan.steps == ()


def test_each_thing_is_read_once() -> None:
    twice = reads((FILE, replace(FILE, content=b"x"), SERVICE, READY))
    assert sorted(query.key for query in twice) == [file_key(CONF), "services"]


RESULTS = {
    "planned": (True, None, True, "planned"),
    "done": (False, Answer("accepted", "b1", "done"), True, "done"),
    "taken back": (False, Answer("accepted", "b1", "undone"), False, "done"),
}


@pytest.mark.parametrize(("check", "answer", "changed", "state"), RESULTS.values(), ids=RESULTS)
def test_the_result_of_a_task(check: bool, answer: Answer | None, changed: bool, state: str) -> None:
    plan = make_plan("kubelet", (FILE, SERVICE), node(kubelet("running"), **OTHER))
    found = task_result(plan, check=check, diff=True, calls=2, answer=answer)
    assert found["changed"] is changed
    assert {step["state"] for step in found["steps"]} == {state}
    assert found["winkube"]["calls"] == 2
    assert found["winkube"]["batch"] == (answer.batch if answer else None)
    (diff,) = found["diff"]
    assert (diff["before_header"], diff["before"], diff["after"]) == (CONF, "old\n", "new\n")


def test_a_plan_without_a_diff_shows_its_steps_where_one_is_wanted() -> None:
    plan = make_plan("kubelet", (SERVICE,), node(kubelet("stopped")))
    assert task_result(plan, check=True, diff=True, calls=1)["diff"] == [{"prepared": "start kubelet\n"}]
    assert "diff" not in task_result(plan, check=True, diff=False, calls=1)
    nothing = make_plan("kubelet", (SERVICE,), node(kubelet("running")))
    assert task_result(nothing, check=True, diff=True, calls=1)["diff"] == []


def test_an_op_keeps_its_arguments_when_it_gets_an_undo() -> None:
    op = Op("write", {"path": CONF, "content": Secret("eA==")})
    assert op.with_undo(Op("remove", {"path": CONF})).secrets == ("content",)
