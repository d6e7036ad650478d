"""What a run over several nodes shows at Ansible's own defaults, judged line by line.

A reader takes a line for what stands above it: its heading is the last `TASK [` before it. So a line of the callback
has to stand below a task that is about its component, and each node has to be as red in the recap as it is dead. Which
task is about what is read of the playbooks; what a line says is not judged.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import yaml

from tests.integration.lab import ROOT, parse_recap

_HEADING = re.compile(r"(?:TASK|RUNNING HANDLER) \[(.*)\] \**$")
_ANSIBLES = re.compile(
    r"(?:PLAY \[|(?:ok|changed|skipping|included|fatal|failed|rescued): |\.\.\.ignoring|\[(?:WARNING|ERROR)\]: )"
)
"""What Ansible begins a line with. An [ERROR] goes on, with the place in the playbook, until its `fatal:`."""
_ANSWER = re.compile(r"(?:ok|changed|fatal|failed): .* => \{$")
_DIFF = re.compile(r"--- before")
_SUBJECT = re.compile(r"  ([a-z]\w*): (?=\S)")
_NAMES = re.compile(r"((?:[\w.-]+(?: to |, ))*[\w.-]+): (.*)")
_RUN = re.compile(r"(.*?)(\d+) to \1(\d+)")
_RED = re.compile(r"\b(?:failed|not reached)\b")
_PREFIX = re.compile(r"^(?:win_k8s_|win_|k8s_windows_)")
PLAN = "plan"
"""What lines about the plan of a whole node begin with; the task that reads the node makes it."""


@dataclass(frozen=True)
class Line:
    """A line of the collection's own. `component` is empty where it names none."""

    heading: str
    component: str
    text: str


@dataclass(frozen=True)
class Shown:
    """What is wrong on a screen, each with what shows it."""

    lines: tuple[Line, ...] = ()
    under_a_wrong_heading: tuple[Line, ...] = ()
    without_a_component: tuple[Line, ...] = ()
    healthy_red: tuple[str, ...] = ()
    dead_green: tuple[str, ...] = ()

    def __add__(self, other: Shown) -> Shown:
        return Shown(
            self.lines + other.lines,
            self.under_a_wrong_heading + other.under_a_wrong_heading,
            self.without_a_component + other.without_a_component,
            self.healthy_red + other.healthy_red,
            self.dead_green + other.dead_green,
        )

    @property
    def wrong(self) -> tuple[Line | str, ...]:
        return (*self.under_a_wrong_heading, *self.without_a_component, *self.healthy_red, *self.dead_green)

    def counts(self) -> dict[str, int]:
        return {
            "lines": len(self.lines),
            "lines_under_a_wrong_heading": len(self.under_a_wrong_heading),
            "lines_without_a_component": len(self.without_a_component),
            "healthy_nodes_red": len(self.healthy_red),
            "dead_nodes_green": len(self.dead_green),
        }


def measure(stdout: str, hosts: Collection[str], dead: Collection[str] = ()) -> Shown:
    """Judge a whole run's standard output.

    Args:
        stdout: What `ansible-playbook` printed, with the callback and the stdout callback `default`.
        hosts: The nodes of the run.
        dead: Those that do not work.
    """
    lines = tuple(own_lines(stdout, hosts))
    tasks = subjects_of_tasks()
    known = set().union(*tasks.values())
    named = tuple(line for line in lines if line.component in known)
    red = {host: _colours(stdout, host) for host in hosts}
    return Shown(
        lines,
        tuple(line for line in named if line.component not in tasks.get(line.heading, ())),
        tuple(line for line in lines if line.component not in known),
        tuple(host for host in hosts if host not in dead and True in red[host]),
        tuple(host for host in hosts if host in dead and False in red[host]),
    )


def own_lines(stdout: str, hosts: Collection[str]) -> Iterator[Line]:
    """The collection's own lines below the tasks, but for a node's progress (`  win1: kubelet: is waiting ..`)."""
    heading, last_of_block, in_error = "", None, False
    for line in stdout.partition("\nPLAY RECAP")[0].splitlines():
        if last_of_block is not None:
            last_of_block = None if line == last_of_block else last_of_block
        elif not line:
            continue
        elif match := _HEADING.match(line):
            heading, in_error = match[1], False
        elif _ANSWER.match(line):
            last_of_block, in_error = "}", False
        elif _DIFF.match(line):
            last_of_block = ""
        elif _ANSIBLES.match(line):
            in_error = line.startswith("[ERROR]")
        elif not in_error:
            subject = _SUBJECT.match(line)
            if subject is None or subject[1] not in hosts or not _SUBJECT.match(f"  {line[subject.end() :]}"):
                yield Line(heading, subject[1] if subject else "", line)


def subjects_of_tasks() -> Mapping[str, set[str]]:
    """What the tasks with a heading are about, as their modules and roles are called; read of the playbooks."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "playbooks").rglob("*.yml")):
        for task in _tasks(yaml.safe_load(path.read_text(encoding="utf-8"))):
            for key in task:
                if str(key).startswith("winkube.node."):
                    about = _PREFIX.sub("", str(key).rpartition(".")[2])
                    found.setdefault(str(task.get("name")), set()).update(
                        {about, PLAN} if about == "node_info" else {about}
                    )
    for path in sorted((ROOT / "roles").glob("*/tasks/main.yml")):
        role = path.parts[-3]
        for task in _tasks(yaml.safe_load(path.read_text(encoding="utf-8"))):
            found.setdefault(f"winkube.node.{role} : {task.get('name')}", set()).add(role)
    return found


def _tasks(items: object) -> Iterator[Mapping[str, object]]:
    """All tasks in what a YAML file has, those of blocks too."""
    for item in items if isinstance(items, list) else ():
        if isinstance(item, Mapping):
            yield item
            for key in ("tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always"):
                yield from _tasks(item.get(key))


def _colours(stdout: str, host: str) -> set[bool]:
    """Whether a host is red: in Ansible's recap, and in the last line about it, where there is one."""
    recap = parse_recap(stdout).get(host)
    found = set() if recap is None else {bool(recap.failed or recap.unreachable)}
    last = stdout.rpartition("\nPLAY RECAP")[2]
    for line in last.splitlines():
        match = _NAMES.match(line)
        if match and host in set(expand(match[1])):
            found.add(bool(_RED.search(match[2])))
    return found


def expand(names: str) -> Iterable[str]:
    """`win1 to win3, win7` as names."""
    for part in names.split(", "):
        run = _RUN.fullmatch(part)
        yield from [f"{run[1]}{n}" for n in range(int(run[2]), int(run[3]) + 1)] if run else [part]
