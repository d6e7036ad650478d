"""The lines of the callback: equal ones once for all nodes, and how each node fared at the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.callback.steps import CallbackModule, name_hosts


@dataclass
class Screen:
    """Stands in for Ansible's display."""

    verbosity: int = 0
    lines: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def display(self, text: str, color: str | None = None, stderr: bool = False) -> None:
        (self.errors if stderr else self.lines).append(text)


@dataclass
class Named:
    """A host or a task."""

    name: str
    action: str = "winkube.node.win_any"

    def get_name(self) -> str:
        return self.name


@dataclass
class Result:
    """A result as ansible-core hands it to callbacks."""

    host: Named
    task: Named
    result: dict[str, Any]


@dataclass
class Run:
    """A run of tasks on hosts, on a clock of its own."""

    screen: Screen = field(default_factory=Screen)
    now: float = 0.0

    def __post_init__(self) -> None:
        self.callback = CallbackModule(display=self.screen, clock=lambda: self.now)

    def task(self, name: str, results: dict[str, dict[str, Any]], *, seconds: float = 1.0) -> None:
        task = Named(name)
        self.callback.v2_playbook_on_task_start(task, False)
        for host in results:
            self.callback.v2_runner_on_start(Named(host), task)
        self.now += seconds
        for host, values in results.items():
            result = Result(Named(host), task, values)
            if values.get("unreachable"):
                self.callback.v2_runner_on_unreachable(result)
            elif values.get("failed"):
                self.callback.v2_runner_on_failed(result)
            else:
                self.callback.v2_runner_on_ok(result)

    def end(self) -> list[str]:
        """What is printed at the end of the run alone."""
        self.callback._flush()
        self.screen.lines.clear()
        self.callback.v2_playbook_on_stats(None)
        return self.screen.lines


def changed(*texts: str, **more: Any) -> dict[str, Any]:
    return {"changed": True, "steps": [{"text": text, "state": "done"} for text in texts], **more}


PLAN = {"plan": {"steps": {"containerd": ["a", "b"], "join": ["c"]}, "converged": False}}


def test_equal_steps_are_printed_once_when_the_task_is_done_on_all_hosts() -> None:
    run = Run()
    hosts = [f"win{number}" for number in range(1, 11)]
    task = Named("role : Install", "winkube.node.win_kubelet")
    run.callback.v2_playbook_on_task_start(task, False)
    results = {host: changed("wrote x", "started y") for host in hosts[:9]} | {hosts[9]: changed("z")}
    waiting = sorted(hosts)  # as Ansible takes them, five at a time
    for host in waiting[:5]:
        run.callback.v2_runner_on_start(Named(host), task)
    for number, host in enumerate(waiting):
        if later := waiting[number + 5 : number + 6]:
            run.callback.v2_runner_on_start(Named(later[0]), task)
        assert run.screen.lines == [], "others may still come"
        run.callback.v2_runner_on_ok(Result(Named(host), task, results[host]))
    assert run.screen.lines == [
        "  kubelet: win1 to win9: wrote x",
        "  kubelet: win1 to win9: started y",
        "  kubelet: win10: z",
    ], "before the next heading"


@pytest.mark.parametrize("last", ["failed", "unreachable", "skipped"])
def test_the_lines_do_not_wait_for_the_next_task_where_the_last_host_has_none(last: str) -> None:
    run = Run()
    task = Named("Uncordon the node", "winkube.node.win_k8s_uncordon")
    for host in ("win1", "win2"):
        run.callback.v2_runner_on_start(Named(host), task)
    run.callback.v2_runner_on_ok(Result(Named("win1"), task, changed("uncordoned it")))
    ended = getattr(run.callback, f"v2_runner_on_{last}")
    ended(Result(Named("win2"), task, {}))
    assert run.screen.lines == ["  uncordon: win1: uncordoned it"]


def test_verbose_prints_each_node_at_once() -> None:
    run = Run(Screen(verbosity=1))
    run.task("role : Install", {"win1": changed("wrote x"), "win2": changed("wrote x")})
    assert run.screen.lines == ["  any: win1: wrote x", "  any: win2: wrote x"]


def test_a_plan_is_one_line_for_all_with_its_steps_when_verbose() -> None:
    run = Run()
    run.task("Read the node", {"win1": PLAN, "win2": PLAN})
    run.task("Next", {})
    assert run.screen.lines == ["  plan: win1, win2: 3 steps: containerd 2, join 1"]
    run = Run(Screen(verbosity=1))
    run.task("Read the node", {"win1": PLAN})
    assert run.screen.lines == [
        "  plan: win1: 3 steps: containerd 2, join 1",
        "  plan: win1: containerd: a",
        "  plan: win1: containerd: b",
        "  plan: win1: join: c",
    ]


def test_what_is_not_pinned_is_one_line_in_a_run() -> None:
    run = Run()
    planned = [
        {"plan": PLAN["plan"] | {"unpinned": unpinned}} for unpinned in (["a 1", "b 2"], ["b 2"], ["c 3"], ["a 1"])
    ]
    run.task("Read the node", {"win1": planned[0], "win2": planned[1]})
    run.task("Next", {})
    told = "  plan: not pinned: a 1, b 2: only the server of the file vouches for it"
    assert run.screen.lines == ["  plan: win1, win2: 3 steps: containerd 2, join 1", told]
    run.task("Read the node", {"win3": planned[2], "win4": planned[3]})
    run.task("Next", {})
    assert [line for line in run.screen.lines if "not pinned" in line] == [told, told.replace("a 1, b 2", "c 3")]


def test_the_end_has_one_line_for_nodes_that_fared_alike() -> None:
    run = Run()
    run.task("Read the node", dict.fromkeys(("win1", "win2", "win3"), PLAN))
    install = {"win1": changed("a", "b", rebooted=True), "win2": changed("a", "b", rebooted=True), "win3": PLAN}
    run.task("winkube.node.containerd : Install", install, seconds=65)
    run.task(
        "winkube.node.join : Join",
        {"win1": changed("c", winkube={"drained": True}), "win2": changed("c", winkube={"drained": True})},
    )
    assert run.end() == ["win1, win2: 3 steps (containerd, join), drained, restarted; 1 min 7 s"]


def test_a_failure_says_where_and_what_is_left() -> None:
    run = Run()
    run.task("Read the node", {"win1": PLAN, "win2": PLAN})
    run.task("winkube.node.containerd : Install", {"win1": changed("a", "b"), "win2": {"unreachable": True}})
    run.task("winkube.node.join : Join", {"win1": {"failed": True}})
    assert run.end() == [
        "win1: 2 steps (containerd), failed in 'winkube.node.join : Join', left: join; 3 s",
        "win2: not reached in 'winkube.node.containerd : Install', left: containerd, join; 2 s",
    ]


def test_a_converged_node_and_foreign_tasks_add_nothing_to_the_end() -> None:
    run = Run()
    run.task("Read the node", {"win1": {"plan": {"steps": {}, "converged": True}}})
    run.task("Copy", {"win1": {"changed": True}})
    assert run.end() == []


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
def test_a_play_without_hosts_is_named_unless_it_is_left_out(hosts: str | list[str], named: str) -> None:
    run = Run()
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
def test_tags_that_leave_no_task_are_told(play: Play, matched: bool, tasks: list[Named], said: bool) -> None:
    run = Run()
    run.callback.v2_playbook_on_play_start(play)
    if not matched:
        run.callback.v2_playbook_on_no_hosts_matched()
    for task in tasks:
        run.callback.v2_playbook_on_task_start(task, False)
    run.screen.lines.clear()
    run.callback.v2_playbook_on_stats(None)
    assert run.screen.lines == ["  The run's tags leave no task in it: nothing was looked at."] * said


@pytest.mark.parametrize("name", ["json", "ansible.posix.json", "ansible.posix.jsonl"])
def test_json_on_stdout_stays_json(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSIBLE_STDOUT_CALLBACK", name)
    run = Run()
    run.task("role : Install", {"win1": changed("wrote x")})
    assert run.end() == []
    assert run.screen.errors == ["  any: win1: wrote x", "win1: 1 step (role); 1 s"]
