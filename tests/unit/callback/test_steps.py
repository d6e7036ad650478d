"""The lines of the callback: equal ones once for all nodes, and how each node fared at the end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.callback.steps import CallbackModule, fold
from ansible_collections.winkube.node.plugins.plugin_utils.record.hosts import name_hosts
from ansible_collections.winkube.node.plugins.plugin_utils.record.node_record import (
    Added,
    Failure,
    Plan,
    Seen,
    Step,
    Versions,
)
from ansible_collections.winkube.node.plugins.plugin_utils.record.store import Store


@dataclass
class Screen:
    """Stands in for Ansible's display."""

    verbosity: int = 0
    lines: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def display(self, text: str, color: str | None = None, stderr: bool = False) -> None:
        (self.errors if stderr else self.lines).append(text)

    def warning(self, text: str) -> None:
        self.errors.append(text)


@dataclass
class Named:
    """A host or a task."""

    name: str
    action: str = "winkube.node.win_any"
    delegate_to: str | None = None

    def get_name(self) -> str:
        return self.name


@dataclass
class Result:
    """A result as ansible-core hands it to callbacks."""

    host: Named
    task: Named
    result: dict[str, Any] = field(default_factory=dict)


@dataclass
class Stats:
    """How Ansible counts hosts."""

    failed: tuple[str, ...] = ()
    unreachable: tuple[str, ...] = ()

    @property
    def processed(self) -> dict[str, int]:
        return dict.fromkeys((*self.failed, *self.unreachable), 1)

    def summarize(self, host: str) -> dict[str, int]:
        return {"failures": int(host in self.failed), "unreachable": int(host in self.unreachable)}


Values = dict[str, Any]
"""What a task adds to a host's record."""


@dataclass
class Run:
    """A run of tasks on hosts, on a clock of its own, and their records."""

    folder: Path
    screen: Screen = field(default_factory=Screen)
    now: float = 1_000_000.0

    def __post_init__(self) -> None:
        self.store = Store(self.folder)
        self.callback = CallbackModule(display=self.screen, store=self.store)

    def add(self, host: str, task: Named, values: Values, *, seconds: float = 1.0) -> None:
        """What the task's own process does."""
        began, ended = self.now, self.now + seconds
        self.store.add(Added(run="r", host=host, task=task.name, name=task.name, began=began, ended=ended, **values))

    def task(self, name: str, results: dict[str, Values], *, seconds: float = 1.0) -> None:
        task = Named(name)
        self.callback.v2_playbook_on_task_start(task, False)
        for host in results:
            self.callback.v2_runner_on_start(Named(host), task)
        for host, values in results.items():
            self.add(host, task, values, seconds=seconds)
        self.now += seconds
        for host, values in results.items():
            failure: Failure | None = values.get("failure")
            ended = "ok" if failure is None else failure.state
            getattr(self.callback, f"v2_runner_on_{ended}")(Result(Named(host), task))

    def end(self, stats: Stats | None = None) -> list[str]:
        """What is printed at the end of the run alone."""
        self.callback._flush()
        self.screen.lines.clear()
        self.callback.v2_playbook_on_stats(stats or Stats())
        return self.screen.lines


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


@pytest.fixture
def verbose(tmp_path: Path) -> Run:
    return Run(tmp_path, Screen(verbosity=1))


def done(about: str, *texts: str, **more: Any) -> Values:
    return {"about": about, "done": texts, "ends": True, **more}


def plan(unpinned: tuple[str, ...] = (), **steps: tuple[str, ...]) -> Values:
    planned = {about: tuple(Step(text=text) for text in texts) for about, texts in steps.items()}
    return {"plan": Plan(whole=True, unpinned=unpinned), "planned": planned}


def failed(reason: str, task: str, state: str = "failed") -> Values:
    return {"failure": Failure(state=state, task=task, reason=reason)}


PLAN = plan(containerd=("a", "b"), join=("c",))
READY = Seen(
    node="win1", ready="True", pod_cidr="10.1.2.0/24", versions=Versions(kubernetes="1.37.1", containerd="2.3.7")
)


def test_equal_steps_are_printed_once_when_the_task_is_done_on_all_hosts(run: Run) -> None:
    hosts = [f"win{number}" for number in range(1, 11)]
    task = Named("role : Install")
    run.callback.v2_playbook_on_task_start(task, False)
    for host in hosts[:9]:
        run.add(host, task, done("kubelet", "wrote x", "started y"))
    run.add(hosts[9], task, done("kubelet", "z"))
    waiting = sorted(hosts)  # as Ansible takes them, five at a time
    for host in waiting[:5]:
        run.callback.v2_runner_on_start(Named(host), task)
    for number, host in enumerate(waiting):
        if later := waiting[number + 5 : number + 6]:
            run.callback.v2_runner_on_start(Named(later[0]), task)
        assert run.screen.lines == [], "others may still come"
        run.callback.v2_runner_on_ok(Result(Named(host), task))
    assert run.screen.lines == [
        "  kubelet: win1 to win9: wrote x",
        "  kubelet: win1 to win9: started y",
        "  kubelet: win10: z",
    ], "before the next heading"


@pytest.mark.parametrize("last", ["failed", "unreachable", "skipped"])
def test_the_lines_do_not_wait_for_the_next_task_where_the_last_host_has_none(run: Run, last: str) -> None:
    task = Named("Uncordon the node")
    for host in ("win1", "win2"):
        run.callback.v2_runner_on_start(Named(host), task)
    run.add("win1", task, done("uncordon", "uncordoned it"))
    run.callback.v2_runner_on_ok(Result(Named("win1"), task))
    getattr(run.callback, f"v2_runner_on_{last}")(Result(Named("win2"), task))
    assert run.screen.lines == ["  uncordon: win1: uncordoned it"]


def test_verbose_prints_each_node_at_once(verbose: Run) -> None:
    verbose.task("role : Install", {"win1": done("any", "wrote x"), "win2": done("any", "wrote x")})
    assert verbose.screen.lines == ["  any: win1: wrote x", "  any: win2: wrote x"]


def test_what_a_component_would_do_is_said_so(run: Run) -> None:
    run.task("role : Install", {"win1": {"about": "kubelet", "planned": {"kubelet": (Step(text="write x"),)}}})
    assert run.screen.lines == ["  kubelet: win1: would write x"]


def test_a_plan_is_one_line_for_all_with_its_steps_when_verbose(run: Run) -> None:
    run.task("Read the node", {"win1": PLAN, "win2": PLAN})
    assert run.screen.lines == ["  plan: win1, win2: 3 steps: containerd 2, join 1"]


def test_a_plan_has_its_steps_when_verbose(verbose: Run) -> None:
    verbose.task("Read the node", {"win1": PLAN})
    assert verbose.screen.lines == [
        "  plan: win1: 3 steps: containerd 2, join 1",
        "  plan: win1: containerd: would a",
        "  plan: win1: containerd: would b",
        "  plan: win1: join: would c",
    ]


def test_what_is_not_pinned_is_one_line_in_a_run(run: Run) -> None:
    def planned(*unpinned: str) -> Values:
        return plan(unpinned, containerd=("a",))

    run.task("Read the node", {"win1": planned("a 1", "b 2"), "win2": planned("b 2")})
    told = "  plan: not pinned: a 1, b 2: only the server of the file vouches for it"
    assert run.screen.lines[-1] == told
    run.task("Read the node", {"win3": planned("c 3"), "win4": planned("a 1")})
    assert [line for line in run.screen.lines if "not pinned" in line] == [told, told.replace("a 1, b 2", "c 3")]


def test_the_end_has_one_line_for_nodes_that_fared_alike(run: Run) -> None:
    run.task("Read the node", dict.fromkeys(("win1", "win2", "win3"), PLAN))
    install = done("containerd", "a", "b", restarted=True)
    run.task("winkube.node.containerd : Install", {"win1": install, "win2": install}, seconds=65)
    join = done("join", "c", drained=True)
    run.task("winkube.node.join : Join", {"win1": join, "win2": join})
    assert run.end() == [
        "win1, win2: 3 steps (containerd, join), drained, restarted; 1 min",
        "win3: planned, nothing changed; 1 s",
    ]


def test_the_end_says_how_the_node_is_where_the_run_has_seen_it(run: Run) -> None:
    hosts = [f"win{number}" for number in range(1, 11)]
    run.task("winkube.node.join : Join", {host: done("join", "c") for host in hosts}, seconds=235)
    run.task("Look", {host: {"seen": replace(READY, node=host)} for host in hosts})
    assert run.end() == ["win1 to win10: Ready, 1.37.1, containerd 2.3.7; 4 min"]


def test_a_failure_says_where_why_and_what_is_left(run: Run) -> None:
    run.task("Read the node", {"win1": PLAN, "win2": PLAN})
    name = "winkube.node.containerd : Install"
    lost = failed("ssh was cut.", name, "unreachable")
    run.task(name, {"win1": done("containerd", "a", "b"), "win2": lost})
    run.task("Join", {"win1": failed("No token.\nTry again.", "Join")})
    assert run.end(Stats(failed=("win1",), unreachable=("win2",))) == [
        "win1: 2 steps (containerd), failed in 'Join': No token. Try again; left: join; 3 s",
        f"win2: not reached in '{name}': ssh was cut; left: containerd, join; 2 s",
    ]
    assert run.store.record("win1").failed == Failure(state="failed", task="Join", reason="No token.\nTry again.")


def test_equal_reasons_are_folded_on_the_screen_and_whole_in_each_record(run: Run) -> None:
    hosts = ("win1", "win2", "win3")
    run.task("Read", {host: failed(f"The Node {host} is paused.", "Read") for host in hosts})
    assert run.end(Stats(failed=hosts)) == [
        "win1 to win3: failed in 'Read': The Node win1 is paused (win1; the same of the others); 1 s"
    ]
    reasons = [record.failed.reason for record in run.store.records() if record.failed]
    assert reasons == [f"The Node {host} is paused." for host in hosts]


def test_what_another_collections_task_failed_at_completes_the_record(run: Run) -> None:
    run.task("Read the node", {"win1": PLAN, "win2": PLAN})
    task = Named("Copy")
    run.callback.v2_runner_on_failed(Result(Named("win1"), task, {"msg": "no room"}))
    run.callback.v2_runner_on_failed(Result(Named("win2"), task, {"msg": "secret", "_ansible_no_log": True}))
    run.callback.v2_runner_on_unreachable(Result(Named("win3"), task, {"msg": "no route"}))
    run.end(Stats(failed=("win1", "win2"), unreachable=("win3",)))
    found = {record.host: record.failed for record in run.store.records()}
    assert found["win1"] == Failure(state="failed", task="Copy", reason="no room")
    assert "secret" not in str(found["win2"])
    assert found["win3"] == Failure(state="unreachable", task="Copy", reason="no route")


def test_a_failure_that_was_ignored_or_rescued_is_none_at_the_end(run: Run) -> None:
    ignored = {**failed("a", "Try"), "went_on": True}
    run.task("Try", {"win1": ignored, "win2": failed("b", "Try"), "win3": failed("c", "Try")})
    run.task("Rescue", {"win2": done("any", "x")})
    assert run.end(Stats(failed=("win3",)))[-1].startswith("win3: failed in 'Try': c")
    found = {record.host: record for record in run.store.records()}
    assert [found[host].state for host in ("win1", "win2", "win3")] == ["ok", "ok", "failed"]
    assert [each.reason for each in (*found["win1"].went_on, *found["win2"].went_on)] == ["a", "b"]


def test_a_converged_node_and_foreign_tasks_add_nothing_to_the_end(run: Run) -> None:
    run.task("Read the node", {"win1": plan()})
    run.callback.v2_runner_on_ok(Result(Named("win1"), Named("Copy"), {"changed": True}))
    assert run.screen.lines == ["  plan: win1: nothing differs"]
    assert run.end() == []


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ({"win1": "abc", "win2": "abc"}, "a12 b12 c12"),
        ({"win1": "axc", "win2": "ayc", "win3": "azc"}, "a123 x1 y2 z3 c123"),
        ({"win1": "ab", "win2": "ba"}, "b2 a12 b1"),
        ({"win1": "aa", "win2": "a"}, "a1 a12"),
        ({"win1": "a", "win2": "", "win3": "b"}, "a1 b3"),
    ],
)
def test_each_line_is_folded_for_itself_and_those_of_a_host_stay_in_their_order(
    said: dict[str, str], shown: str
) -> None:
    waiting: list[tuple[tuple[str, str, str], list[str]]] = []
    for host, texts in said.items():
        fold(waiting, host, [("join", text, "") for text in texts])
    assert " ".join(text + "".join(host[-1] for host in hosts) for (_, text, _), hosts in waiting) == shown


@pytest.mark.parametrize(
    ("hosts", "text"),
    [
        (["win1"], "win1"),
        (["win1", "win2"], "win1, win2"),
        (["win9", "win10", "win11"], "win9 to win11"),
        (["a1", "a2", "a3", "b1", "a5"], "a1 to a3, b1, a5"),
        (["web", "db"], "web, db"),
        (["win3", "win2", "win1"], "win3, win2, win1"),
    ],
)
def test_hosts_are_named_as_a_person_names_them(hosts: list[str], text: str) -> None:
    assert name_hosts(hosts) == text


@dataclass
class Play:
    """A play as Ansible hands it to callbacks."""

    hosts: str | list[str]
    only_tags: frozenset[str] = frozenset({"all"})
    skip_tags: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("hosts", "named"), [("windows_nodes", "windows_nodes"), (["win1", "win2"], "win1,win2"), ("all:!all", "")]
)
def test_a_play_without_hosts_is_named_unless_it_is_left_out(run: Run, hosts: str | list[str], named: str) -> None:
    run.callback.v2_playbook_on_play_start(Play(hosts))
    run.callback.v2_playbook_on_no_hosts_matched()
    assert [f"matches '{named}': nothing was looked at." in line for line in run.screen.lines] == [True] * bool(named)


SLIP = Play("windows_nodes", frozenset({"containered"}))
SKIPPED = Play("windows_nodes", skip_tags=frozenset({"tagged"}))
ARGUMENTS = Named("Validating arguments", "ansible.builtin.validate_argument_spec")


@pytest.mark.parametrize(
    ("play", "matched", "tasks", "said"),
    [
        (SLIP, True, [], True),
        (SLIP, True, [ARGUMENTS], True),
        (SKIPPED, True, [], True),
        (SLIP, True, [ARGUMENTS, Named("Install")], False),
        (SLIP, False, [], False),
        (Play("windows_nodes"), True, [], False),
    ],
)
def test_tags_that_leave_no_task_are_told(run: Run, play: Play, matched: bool, tasks: list[Named], said: bool) -> None:
    run.callback.v2_playbook_on_play_start(play)
    if not matched:
        run.callback.v2_playbook_on_no_hosts_matched()
    for task in tasks:
        run.callback.v2_playbook_on_task_start(task, False)
    run.screen.lines.clear()
    run.callback.v2_playbook_on_stats(Stats())
    assert run.screen.lines == ["  The run's tags leave no task in it: nothing was looked at."] * said


@pytest.mark.parametrize("name", ["json", "ansible.posix.json", "ansible.posix.jsonl"])
def test_json_on_stdout_stays_json(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSIBLE_STDOUT_CALLBACK", name)
    run = Run(tmp_path)
    run.task("role : Install", {"win1": done("any", "wrote x")})
    assert run.end() == []
    assert run.screen.errors == ["  any: win1: wrote x", "win1: 1 step (any); 1 s"]
