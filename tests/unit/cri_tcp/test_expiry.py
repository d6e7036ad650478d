"""CRI over TCP for a limited time: the plan, and what a simulated node does when nobody comes back."""

from __future__ import annotations

import base64
import json
import tomllib
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components import runner_task
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp import expiry, node
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp.edit import Address, Listener
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.scene import scene_of
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import diagnose
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import Plan, make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_query, system_query
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.firewall_rule import sources
from ansible_collections.winkube.node.plugins.plugin_utils.node.link import Link
from ansible_collections.winkube.node.plugins.plugin_utils.words.finding import Finding

from tests.lab.machine.firewall import RULES
from tests.lab.machine.node import SimulatedNode
from tests.lab.twin.modules import run_module
from tests.unit.components.nodes import LAYOUT, wanted_node
from tests.unit.cri_tcp.asked import asked
from tests.unit.lab.test_programs_containerd import CONFIG, SC, machine, register

CRI = "io.containerd.grpc.v1.cri"
TEXT = f'version = 2\n# mine\n[grpc]\n  tcp_address = ""\n[plugins."{CRI}"]\n  disable_tcp_service = true\n'
LISTENER = Listener(Address.parse("10.7.0.25:8888"))
HOUR = 3600
STATE = LAYOUT.state_dir
NETWORKS = sources(["192.168.122.1"], "allowed_sources")


def port(after: str = "1h", *, restart: bool = False) -> node.CriTcp:
    """The port, open for a time."""
    return node.CriTcp(
        asked(expires_after=after, expires_restart=restart),
        LAYOUT,
        LISTENER,
        NETWORKS,
    )


ARGS = port()
SHUT = node.CriTcp(asked(), LAYOUT, None)


class Machine:
    """A simulated node with a containerd that runs, and the link to it."""

    def __init__(self, version: str = "1.7.35") -> None:
        self.node: SimulatedNode = machine(version, TEXT)
        assert register(self.node, "--config", CONFIG) == 0
        assert self.node.run(SC, ["start", "containerd"]).exit_code == 0
        self.node.clock.advance(60)
        session = self.node.open_session()
        self._link = link = Link(
            execute=lambda name, args: run_module(self.node, session, name, args),
            reset=lambda: None,
            state_dir=STATE,
        )
        self.probe = link.probe

    def plan(self, args: node.CriTcp) -> Plan:
        """Read and plan."""
        queries = (system_query(), file_query(LAYOUT.runner, sha256=True), *node.reads(args))
        reading = Reading().merge(self._link.probe(queries), queries)
        return make_plan(node.NAME, node.build_resources(replace(args, mark=uuid.uuid4().hex), reading), reading)

    def run(self, args: node.CriTcp) -> Plan:
        """The same, and do it."""
        plan = self.plan(args)
        if plan.batch is not None:
            answer = self._link.apply(plan.batch, uuid.uuid4().hex)
            assert answer.is_done, answer.error
        return plan

    def finding(self) -> str:
        """What win_k8s_diagnose would say."""
        queries = expiry.outcome_reads(LAYOUT)
        return expiry.finding(LAYOUT, Reading().merge(self._link.probe(queries), queries))

    def config(self) -> str:
        return self.node.drive.read(CONFIG).decode()

    def listens(self) -> bool:
        return 8888 in self.node.network.listeners

    def lets_in(self) -> bool:
        rules = [str(value.data) for value in self.node.registry.values(RULES)]
        return any("Name=winkube-cri-tcp|" in rule and "Active=TRUE" in rule for rule in rules)

    def kept(self) -> list[str]:
        return [name for name in self.node.drive.listdir(STATE) if name.startswith("expir")]


def switches(text: str) -> tuple[object, object]:
    document = tomllib.loads(text)
    return document["grpc"]["tcp_address"], document["plugins"][CRI]["disable_tcp_service"]


OPEN, CLOSED = ("10.7.0.25:8888", False), ("", True)


@pytest.mark.parametrize("version", ["1.7.35", "2.0.14"])
def test_closed_although_nobody_came_back(version: str) -> None:
    there = Machine(version)
    plan = there.run(port(restart=True))
    assert plan.steps[0].text.startswith("schedule the end of CRI over TCP for 2026-11-21T09:")
    assert switches(there.config()) == OPEN and there.listens() and there.lets_in()
    task = there.node.tasks.get(expiry.TASK)
    assert task is not None and task.enabled and task.repeat_s == 300.0
    assert there.node.drive.sddl(STATE) == "O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"

    assert there.run(port(restart=True)).batch is None
    there.node.clock.advance(HOUR - 300)
    assert there.run(port(restart=True)).batch is None  # it is not put off
    assert there.listens() and there.lets_in() and there.finding() == ""

    there.node.clock.advance(900)
    assert switches(there.config()) == CLOSED and "# mine" in there.config()
    assert not there.listens() and not there.lets_in()
    assert there.node.tasks.get(expiry.TASK) is None
    assert there.kept() == ["expired.json"]
    assert there.finding() == ""
    assert there.node.services.state("containerd") == "running"

    there.run(SHUT)
    assert there.kept() == []
    assert there.plan(SHUT).batch is None


def test_a_node_that_was_off_closes_it_when_it_is_back() -> None:
    there = Machine()
    there.run(ARGS)
    there.node.power_off(boot_after_s=3 * HOUR)
    there.node.clock.advance(3 * HOUR + 600)
    assert switches(there.config()) == CLOSED and not there.lets_in()
    assert there.node.tasks.get(expiry.TASK) is None


def test_a_file_that_somebody_has_changed_is_left_alone() -> None:
    there = Machine()
    there.run(port(restart=True))
    theirs = there.config() + "\n# somebody else's\n"
    there.node.drive.write(CONFIG, theirs.encode())
    running = there.node.services.runtime("containerd").pid
    there.node.clock.advance(2 * HOUR)
    assert there.config() == theirs and there.node.services.runtime("containerd").pid == running
    assert not there.lets_in(), "the rule is our own"
    assert there.node.tasks.get(expiry.TASK) is None
    said = there.finding()
    assert f"{LAYOUT.containerd_config} had been changed by somebody since the port was opened" in said
    assert said.endswith("Run containerd_config_tcp with state: absent.")
    there.run(SHUT)
    assert there.finding() == "" and not there.listens()
    assert "# somebody else's" in there.config()


def test_a_file_with_a_byte_order_mark_that_was_open_before_is_closed() -> None:
    there = Machine()
    there.run(port("never"))
    there.node.drive.write(CONFIG, b"\xef\xbb\xbf" + there.config().encode())
    there.run(ARGS)
    assert there.node.drive.read(CONFIG).startswith(b"\xef\xbb\xbf"), "it is not written again"
    there.node.clock.advance(2 * HOUR)
    assert switches(there.config()) == CLOSED


def test_without_leave_to_restart_a_finding_stays_until_somebody_does() -> None:
    there = Machine()
    there.run(ARGS)
    there.node.clock.advance(2 * HOUR)
    assert switches(there.config()) == CLOSED and not there.lets_in()
    assert there.listens() and "containerd has not been restarted since and still listens" in there.finding()
    plan = there.run(SHUT)
    assert "restart containerd" in " ".join(step.text for step in plan.steps)
    assert not there.listens() and there.finding() == ""
    assert there.plan(SHUT).batch is None


def test_a_restart_by_somebody_else_settles_it() -> None:
    there = Machine()
    there.run(ARGS)
    there.node.clock.advance(2 * HOUR)
    assert there.finding()
    assert there.node.run(SC, ["stop", "containerd"]).exit_code == 0
    there.node.clock.advance(60)
    assert there.node.run(SC, ["start", "containerd"]).exit_code == 0
    there.node.clock.advance(60)
    assert there.finding() == "" and not there.listens()


def test_closed_by_hand_nothing_is_left_to_happen() -> None:
    there = Machine()
    there.run(ARGS)
    plan = there.run(SHUT)
    assert plan.steps[0].text == "cancel the planned end of CRI over TCP"
    assert there.node.tasks.get(expiry.TASK) is None and there.kept() == []
    before = there.node.dump()["registry"]
    there.node.clock.advance(2 * HOUR)
    assert there.node.dump()["registry"] == before


def test_another_time_is_counted_anew_and_none_takes_the_end_away() -> None:
    there = Machine()
    there.run(ARGS)
    there.node.clock.advance(HOUR / 2)
    assert there.run(port("2h")).batch is not None
    there.node.clock.advance(HOUR)
    assert there.lets_in(), "the first time would be over"
    assert there.run(port("never")).batch is not None
    there.node.clock.advance(5 * HOUR)
    assert there.lets_in() and there.listens() and there.finding() == ""


def test_a_step_that_fails_is_said() -> None:
    there = Machine()
    there.run(port(restart=True))
    path = f"{STATE}\\expiry.json"
    document = json.loads(there.node.drive.read(path))
    document["same"][1]["args"]["args"][1] = "nobody"
    there.node.drive.write(path, json.dumps(document).encode())
    there.node.clock.advance(2 * HOUR)
    assert not there.lets_in() and switches(there.config()) == CLOSED
    assert "but then something failed: " in there.finding()


def test_a_port_that_another_file_keeps_open_is_said() -> None:
    """Failed before: config.toml was closed and containerd restarted, and nothing said that it listened again."""
    there = Machine()
    imports = TEXT.replace(
        "version = 2\n", "version = 2\nimports = ['C:\\\\Program Files\\\\containerd\\\\conf.d\\\\*.toml']\n"
    )
    there.node.drive.write(CONFIG, imports.encode())
    there.node.drive.mkdir(node.drop_ins(LAYOUT))
    more = f'version = 2\n[grpc]\n  tcp_address = "10.7.0.25:8888"\n[plugins."{CRI}"]\n  disable_tcp_service = false\n'
    there.node.drive.write(f"{node.drop_ins(LAYOUT)}\\more.toml", more.encode())
    there.run(port(restart=True))
    there.node.clock.advance(2 * HOUR)
    assert switches(there.config()) == CLOSED and there.listens()
    said = (
        "10.7.0.25 did not stop taking connections on TCP port 8888 within 5 s: it takes connections. Run containerd_"
    )
    assert said in there.finding()


@pytest.mark.parametrize(
    ("text", "wanted"), [("never", 0), ("60", 60), ("90s", 90), ("45m", 2700), ("8h", 28800), ("30d", 2592000)]
)
def test_times(text: str, wanted: int) -> None:
    assert expiry.seconds(text) == wanted


@pytest.mark.parametrize("text", ["0", "59s", "31d", "1w", "-1h", "1.5h", "tomorrow", "1h30m"])
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(Refused, match="is not a time from 1m to 30d; write it as 45m, 8h or 2d"):
        expiry.seconds(text)


@pytest.mark.parametrize("text", ["", " "])
def test_a_time_has_to_be_given(text: str) -> None:
    """Failed before: without it the port stayed open until somebody thought of it."""
    with pytest.raises(Refused, match=r"expires_after is missing: give the time .* such as 8h, or 'never'"):
        expiry.seconds(text)


def test_the_task_is_systems_and_survives_a_missed_start() -> None:
    xml = runner_task.xml(r"C:\it's", expiry.ABOUT, since="2026-11-21T09:00:00Z", every="PT5M").decode("utf-16")
    root = ElementTree.fromstring(xml.encode("utf-16"))
    space = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"

    def text(name: str) -> str:
        return root.findtext(f".//{space}{name}") or ""

    assert (text("UserId"), text("StartBoundary"), text("StartWhenAvailable")) == (
        "S-1-5-18",
        "2026-11-21T09:00:00Z",
        "true",
    )
    assert (text("Interval"), text("Duration"), text("EndBoundary")) == ("PT5M", "", "")
    assert text("Command").startswith("C:\\Windows\\System32\\")
    words: Sequence[str] = text("Arguments").split()
    script = base64.b64decode(words[-1]).decode("utf-16-le")
    assert script.endswith("[IO.File]::ReadAllText('C:\\it''s\\runner.ps1'))) -StateDir 'C:\\it''s'")


def test_expiry_json_is_for_administrators_and_in_no_fact() -> None:
    there = Machine()
    plan = there.plan(ARGS)
    assert plan.batch is not None
    writes: list[dict[str, Any]] = [op.wire(0) for op in plan.batch.ops if op.op == "write"]
    mine = {one["args"]["path"].rpartition("\\")[2]: one for one in writes if one["args"]["path"].startswith(STATE)}
    assert {name: one["secrets"] for name, one in mine.items()} == {
        "cri-tcp-before.json": ["content"],
        "expiry.json": ["content"],
        "expiry.xml": [],
    }, "the file for the task holds no text of config.toml"
    assert not [key for key in plan.predicted.to_fact()["parts"] if "expiry.json" in key]


def test_the_check_of_a_node_says_what_is_left_to_be_done() -> None:
    there = Machine()
    there.run(ARGS)
    queries = expiry.outcome_reads(LAYOUT)

    def findings() -> tuple[Finding, ...]:
        reading = Reading().merge(there.probe(queries), queries)
        scene = scene_of(reading, wanted_node(""), whole=True)
        return tuple(one for one in diagnose(scene).findings if one.id == "cri-tcp.left-open")

    assert findings() == ()
    there.node.clock.advance(2 * HOUR)
    (found,) = findings()
    assert (found.severity, found.remedy.plain) == ("warning", "Run containerd_config_tcp with state: absent.")
    assert found.seen.endswith("containerd has not been restarted since and still listens on the node's own addresses")
