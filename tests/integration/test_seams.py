"""The reading travels from task to task as a fact: however a play is written, a converged node is read once, and what
must not be believed is read again. The figures are the lab's own counts of remote calls.

One lab of two converged nodes serves the tests of this file; a test that changes one converges it again.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.lab import Bench, Run
from tests.integration.optional import OPTIONAL
from tests.integration.site import BINARY, CONFIG, SITE, URL, VERSION, variables
from tests.lab.machine.builds import identify, release_archive
from tests.lab.server.source import Answer
from tests.lab.twin.submit import apply, envelope, wait

ALL = ("win1", "win2")
CHANGED, OTHERS = "win1", ALL[1:]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    made = Bench(tmp_path_factory.mktemp("seams"))
    try:
        made.nodes(len(ALL))
        assert play(made, SITE).rc == 0
        yield made
    finally:
        made.close()


@pytest.fixture
def both(shared: Bench) -> Iterator[Bench]:
    """Both nodes, converged and with an empty ledger; afterwards they have to be converged still."""
    if not converged(shared):  # a test before this one has failed
        play(shared, SITE)
    shared.reset_ledger()
    yield shared
    assert converged(shared)


def converged(bench: Bench) -> bool:
    found = {config(bench, name) for name in ALL}
    return len(found) == 1 and None not in found


def config(bench: Bench, name: str) -> bytes | None:
    host = bench.lab.host(name)
    return host.in_turn(lambda: host.node.drive.read(CONFIG) if host.node.drive.is_file(CONFIG) else None)


def lose_config(bench: Bench, name: str = CHANGED) -> None:
    host = bench.lab.host(name)
    host.in_turn(lambda: host.node.drive.delete(CONFIG))


def play(bench: Bench, book: Path | str, *args: object, version: str = VERSION, **more: object) -> Run:
    """Run a playbook, or the text of one, with the variables of a node that runs containerd."""
    path = book if isinstance(book, Path) else bench.play(book)
    extra = bench.file("extra.json", json.dumps(variables(version, **more)))
    return bench.ansible_playbook(path, "-e", f"@{extra}", *args)


def calls(bench: Bench) -> dict[str, int]:
    return {name: bench.calls(name) for name in ALL}


def changed(run: Run) -> dict[str, int]:
    return {name: recap.changed for name, recap in run.recap.items()}


def each(value: int) -> dict[str, int]:
    return dict.fromkeys(ALL, value)


ROLES = """
- hosts: windows
  gather_facts: false
  {more}
  roles:
    - winkube.node.host
    - winkube.node.containerd
"""
TASKS = """
- hosts: windows
  gather_facts: false
  roles: [winkube.node.winkube]
  tasks:
    - name: First
      {first}: {{name: winkube.node.host, rolespec_validate: false}}
    {between}
    - name: Second
      {second}: {{name: winkube.node.containerd, rolespec_validate: false}}
"""
PING = "- ansible.windows.win_ping:"


def tasks(first: str = "ansible.builtin.import_role", second: str = "", between: str = "") -> str:
    return TASKS.format(first=first, second=second or first, between=between)


def roles(more: str = "") -> str:
    return ROLES.format(more=more)


# How people write it -> (playbook, arguments, remote calls of a converged node).
WAYS: dict[str, tuple[Path | str, tuple[str, ...], int]] = {
    "site.yml": (SITE, (), 1),
    "--tags containerd": (SITE, ("--tags", "containerd"), 1),
    "--skip-tags host": (SITE, ("--skip-tags", "host"), 1),
    "--start-at-task, past the first reading": (
        SITE,
        ("--start-at-task", "*Install and configure containerd"),
        1,
    ),
    "--forks 1": (SITE, ("--forks", "1"), 1),
    "serial in site.yml": (SITE, ("-e", "winkube_serial=1"), 1),
    "roles": (roles(), (), 1),
    "serial: 1": (roles("serial: 1"), (), 1),
    "serial: 50%": (roles("serial: 50%"), (), 1),
    "strategy: free": (roles("strategy: free"), (), 1),
    "strategy: host_pinned": (roles("strategy: ansible.builtin.host_pinned"), (), 1),
    "import_role": (tasks(), (), 1),
    "include_role": (tasks("ansible.builtin.include_role"), (), 1),
    "one role alone": ("- hosts: windows\n  gather_facts: false\n  roles: [winkube.node.containerd]\n", (), 1),
    "two plays in one playbook": (roles() + roles(), (), 1),
    "a task of one's own in between": (tasks(between=PING), (), 2),
    "facts gathered in between": (tasks(between="- ansible.windows.setup:"), (), 2),
    "facts cleared in between": (tasks(between="- ansible.builtin.meta: clear_facts"), (), 2),
    "site.yml twice: each begins with a reading": (
        f"- import_playbook: {SITE}\n- import_playbook: {SITE}\n",
        (),
        2,
    ),
    "winkube_reading_max_age: 0": (roles(), ("-e", "winkube_reading_max_age=0"), 2),
}


@pytest.mark.exhaustive(
    keep=(
        "--start-at-task, past the first reading",
        "--tags containerd",
        "facts cleared in between",
        "include_role",
        "roles",
        "serial: 1",
        "site.yml",
        "strategy: free",
        "two plays in one playbook",
        "winkube_reading_max_age: 0",
    )
)
@pytest.mark.row("NY-21")
@pytest.mark.parametrize("way", WAYS)
def test_a_converged_node_is_read_once(both: Bench, way: str) -> None:
    book, arguments, wanted = WAYS[way]
    run = play(both, book, *arguments)
    assert run.rc == 0, run
    assert changed(run) == each(0), run
    assert calls(both) == each(wanted), run


# A component that changes costs its node one call more, the others nothing.
@pytest.mark.exhaustive(
    keep=(
        "free",
        "include_role",
        "site.yml",
    )
)
@pytest.mark.parametrize(
    "book",
    [
        pytest.param(SITE, id="site.yml"),
        pytest.param(roles("serial: 1"), id="serial"),
        pytest.param(roles("strategy: free"), id="free"),
        pytest.param(roles("strategy: ansible.builtin.host_pinned"), id="host_pinned"),
        pytest.param(roles() + roles(), id="two plays"),
        pytest.param(tasks("ansible.builtin.include_role"), id="include_role"),
    ],
)
def test_a_change_costs_its_own_node_one_call_more(both: Bench, book: Path | str) -> None:
    lose_config(both)
    run = play(both, book)
    assert run.rc == 0, run
    assert changed(run) == {CHANGED: 1, **dict.fromkeys(OTHERS, 0)}, run
    assert calls(both) == {CHANGED: 2, **dict.fromkeys(OTHERS, 1)}, run


def test_skipping_the_component_leaves_its_difference_alone(both: Bench) -> None:
    lose_config(both)
    run = play(both, SITE, "--skip-tags", "containerd")
    assert changed(run) == each(0), run
    assert calls(both) == each(1)
    assert config(both, CHANGED) is None
    assert play(both, SITE).rc == 0


COMPONENT = """
        version: "{{ winkube_containerd_version }}"
        source: {url: "{{ winkube_containerd_url }}", checksum: "{{ winkube_containerd_checksum }}"}
        node: "{{ winkube_node }}"
"""


def direct(task: str, indent: int = 0) -> str:
    """A task of win_containerd itself, with more keywords."""
    lines = f"    - winkube.node.win_containerd:{COMPONENT}      {task}\n".splitlines()
    return "\n".join(" " * indent + line for line in lines if line.strip()) + "\n"


HEAD = "- hosts: {hosts}\n  gather_facts: false\n  roles: [winkube.node.winkube]\n  tasks:\n"
READ = '    - winkube.node.win_k8s_node_info: {node: "{{ winkube_node }}"}\n'


def test_a_loop_neither_uses_nor_returns_the_reading(both: Bench) -> None:
    book = HEAD.format(hosts="windows") + READ + direct("loop: [1, 2]") + direct("tags: all")
    run = play(both, book)
    assert run.rc == 0, run
    assert changed(run) == each(0), run
    assert calls(both) == each(3), run  # the first reading, one for each turn of the loop; the last task uses the first


def test_what_a_loop_has_changed_is_read_again(both: Bench) -> None:
    lose_config(both)
    book = HEAD.format(hosts="windows") + READ + direct("loop: [1]") + direct("tags: all")
    run = play(both, book)
    assert run.rc == 0, run
    assert changed(run) == {CHANGED: 1, **dict.fromkeys(OTHERS, 0)}, run
    # reading, the loop's own reading and its batch, and the last task's reading: the first is no longer true
    assert calls(both) == {CHANGED: 4, **dict.fromkeys(OTHERS, 2)}, run


def test_a_delegated_task_neither_uses_nor_returns_the_reading(both: Bench) -> None:
    book = HEAD.format(hosts="win2") + READ + direct("delegate_to: win1") + direct("tags: all")
    run = play(both, book)
    assert run.rc == 0, run
    assert changed(run) == {"win2": 0}, run
    assert calls(both) == {"win1": 1, "win2": 1}, run


def test_what_a_delegated_task_has_changed_is_read_again_there(both: Bench) -> None:
    lose_config(both)
    head = HEAD.format(hosts="win1,win2") + READ
    book = head + direct("delegate_to: win1\n      when: inventory_hostname == 'win2'") + direct("tags: all")
    run = play(both, book)
    assert run.rc == 0, run
    assert changed(run) == {"win1": 0, "win2": 1}, run
    # win1: its first reading, the delegated task's reading and batch, its own reading again
    assert calls(both) == {"win1": 4, "win2": 1}, run


def test_a_task_that_runs_once_gives_its_reading_to_nobody_else(both: Bench) -> None:
    """Ansible sets the facts of a `run_once` task for all hosts: the second node is not to be taken for the first."""
    lose_config(both, "win2")
    book = HEAD.format(hosts="windows") + READ.rstrip() + "\n      run_once: true\n" + direct("tags: all")
    run = play(both, book)
    assert run.rc == 0, run
    assert changed(run) == {"win1": 0, "win2": 1}, run
    assert calls(both) == {"win1": 2, "win2": 2}, run


def test_refresh_reads_again(both: Bench) -> None:
    book = HEAD.format(hosts="windows") + READ + READ + READ.replace('}}"', '}}", refresh: true') + direct("tags: all")
    run = play(both, book)
    assert run.rc == 0, run
    assert calls(both) == each(2), run


def test_module_defaults_of_the_group_reach_every_module(both: Bench) -> None:
    node = "{{ winkube_node | combine({'root': 'C:\\\\other'}) }}"
    defaults = f'  module_defaults:\n    group/winkube.node.node: {{node: "{node}", reading_max_age: 0}}\n'
    book = HEAD.format(hosts="windows").replace("  tasks:\n", f"{defaults}  tasks:\n")
    book += "    - winkube.node.win_k8s_node_info:\n    - winkube.node.win_k8s_host:\n"
    run = play(both, book, "--check")
    assert run.rc == 0, run
    assert r"win1, win2: would create the folder C:\other" in run.output, run
    assert calls(both) == each(2), run


def test_a_plan_in_check_mode_is_not_taken_for_the_node(both: Bench) -> None:
    lose_config(both)
    book = HEAD.format(hosts="windows") + READ + direct("check_mode: true") + direct("tags: all")
    run = play(both, book)
    assert run.rc == 0, run
    assert changed(run) == {CHANGED: 2, **dict.fromkeys(OTHERS, 0)}, run
    assert config(both, CHANGED) == config(both, OTHERS[0])
    # The real reading is not taken in check mode either; what check mode predicts is not a reading for the real task.
    assert calls(both) == {CHANGED: 4, **dict.fromkeys(OTHERS, 3)}, run


def test_check_and_then_real_with_one_fact_cache(both: Bench) -> None:
    lose_config(both)
    cache = {"ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(both.directory / "facts")}
    extra = both.file("extra.json", json.dumps(variables()))
    book = both.play(roles())
    planned = both.ansible_playbook(book, "-e", f"@{extra}", "--check", env=cache)
    assert changed(planned) == {CHANGED: 1, **dict.fromkeys(OTHERS, 0)}, planned
    assert calls(both) == each(1)
    cached = [path.read_text() for path in (both.directory / "facts").iterdir()]
    assert len(cached) == len(ALL)
    assert all(re.search(r"predicted\W+true", text) for text in cached)
    both.reset_ledger()
    real = both.ansible_playbook(book, "-e", f"@{extra}", env=cache)
    assert changed(real) == {CHANGED: 1, **dict.fromkeys(OTHERS, 0)}, real
    assert calls(both) == {CHANGED: 2, **dict.fromkeys(OTHERS, 1)}, real


BROKEN = 'winkube_containerd_config_template: "{{ playbook_dir }}/broken.toml.j2"'


@pytest.mark.exhaustive(keep=("rescue",))
@pytest.mark.parametrize("keyword", ["ignore_errors", "rescue"])
def test_after_a_refusal_the_reading_is_still_good(both: Bench, keyword: str) -> None:
    """A refusal touches nothing, so what comes next need not read again."""
    both.file("broken.toml.j2", "version = 9\n")
    refused = f"import_role: {{name: winkube.node.containerd}}\n      vars: {{{BROKEN}}}\n"
    good = "      - import_role: {name: winkube.node.containerd}\n"
    if keyword == "ignore_errors":
        body = f"    - {refused}      ignore_errors: true\n" + good.replace("      -", "    -", 1)
    else:
        body = f"    - block:\n      - {refused.replace('      vars', '        vars')}      rescue:\n{good}"
    run = play(both, HEAD.format(hosts="windows") + READ + body)
    assert run.rc == 0, run
    assert "version = 9" in run.output
    assert calls(both) == each(1), run
    assert changed(run) == each(0)


def test_after_a_failed_batch_the_node_is_read_again(both: Bench) -> None:
    lose_config(both)
    bad = "{{version: 1.7.12, source: {{url: '{url}', checksum: 'sha256:{sum}'}}, node: '{{{{ winkube_node }}}}'}}"
    bad = bad.format(url=URL.replace(VERSION, "1.7.12"), sum="0" * 64)
    body = f"    - block:\n      - winkube.node.win_containerd: {bad}\n"
    body += "      rescue:\n      - import_role: {name: winkube.node.containerd}\n"
    run = play(both, HEAD.format(hosts=CHANGED) + READ + body)
    assert run.rc == 0, run
    assert "Rolled back." in run.output, run
    assert changed(run) == {CHANGED: 1}, run
    assert calls(both)[CHANGED] == 4, run  # reading, failed batch, reading, batch


HANDLERS = """
  handlers:
    - name: Mine
      ansible.builtin.debug: {msg: "my handler on {{ inventory_hostname }}"}
    - name: Another
      ansible.builtin.debug: {msg: "my topic on {{ inventory_hostname }}"}
      listen: winkube
"""


def test_a_handler_of_ones_own_runs_on_change_and_only_then(both: Bench) -> None:
    lose_config(both)
    first = play(both, roles() + HANDLERS, winkube_notify=["Mine", "winkube"])
    said = re.findall(r"my (?:handler|topic) on \w+", first.output)
    assert said == [f"my handler on {CHANGED}", f"my topic on {CHANGED}"], first
    second = play(both, roles() + HANDLERS, winkube_notify=["Mine", "winkube"])
    assert second.rc == 0 and "my " not in second.output, second


def test_without_a_handler_a_change_notifies_nobody(both: Bench) -> None:
    """Failed while roles notified a topic that a handler of theirs, which did nothing, had to listen to."""
    lose_config(both)
    run = play(both, roles())
    assert run.rc == 0 and changed(run)[CHANGED] == 1, run
    assert "HANDLER" not in run.output, run


ORDER = ("host", "cni", "containerd", "kubelet", "join", "flannel", "kube_proxy", *OPTIONAL)


@pytest.mark.row("HP-02")
def test_the_components_come_in_the_order_of_a_first_join(both: Bench) -> None:
    """The order of site.yml, as Ansible itself lists it: the folder that containerd watches is there before it, and a
    runtime before anything that needs one."""
    listed = both.ansible_playbook(SITE, "-e", "winkube_hosts=windows", "--list-tasks")
    assert listed.rc == 0, listed
    names = [
        line.strip().partition("\t")[0]
        for line in listed.stdout.splitlines()
        if "TAGS:" in line and "play #" not in line
    ]
    roles = dict.fromkeys(name.partition(" : ")[0] for name in names if name.startswith("winkube.node."))
    assert list(roles) == [f"winkube.node.{name}" for name in ORDER], listed
    assert names[0] == "Read the node"


@pytest.mark.parametrize("book", ["site.yml", "repair.yml"])
def test_the_playbooks_are_sound(both: Bench, book: str) -> None:
    checked = both.ansible_playbook(SITE.with_name(book), "--syntax-check", "-e", "winkube_repair=network")
    assert checked.rc == 0, checked


def test_the_tags_are_those_of_the_components(both: Bench) -> None:
    listed = both.ansible_playbook(SITE, "-e", "winkube_hosts=windows", "--list-tags")
    assert listed.rc == 0, listed
    tags = ", ".join(sorted(("always", "never", *ORDER)))
    assert f"TASK TAGS: [{tags}]" in listed.output, listed


# -- interrupted, and two at once --------------------------------------------------------------------------------------

SLOW_S = 1.0


def slow_source(bench: Bench, version: str) -> dict[str, str]:
    """A source that takes its time, so that something can happen while a batch is at work; as variables."""
    path = URL.replace(VERSION, version).removeprefix("http://xyz")
    bench.lab.sources.publish(path, Answer(release_archive("containerd", version), pause_s=SLOW_S))
    return {"winkube_containerd_url": f"http://xyz{path}"}


def start(bench: Bench, version: str, name: str, **more: str) -> subprocess.Popen[str]:
    """ansible-playbook as a terminal starts it: the leader of a process group of its own."""
    extra = bench.file(f"{name}.json", json.dumps(variables(version, **more)))
    return bench.start(SITE, "-e", f"@{extra}", own_group=True)


def wait_for_download(bench: Bench, version: str) -> None:
    """Until a node has asked for the archive: its batch is then under way."""
    deadline = time.monotonic() + 240
    while not any(version in visit.path for visit in bench.lab.sources.visits):
        assert time.monotonic() < deadline, "no node has begun its download"
        time.sleep(0.02)


def programs(bench: Bench, name: str = "win1") -> str:
    """Which release the node's programs are of; all names if they are of several."""
    host = bench.lab.host(name)

    def look() -> set[str]:
        folder = BINARY.rpartition("\\")[0]
        names = [item for item in host.node.drive.listdir(folder) if item.endswith(".exe")]
        found = (identify(host.node.drive.read(rf"{folder}\{item}")) for item in names)
        return {build.version if build else "?" for build in found}

    return " ".join(sorted(host.in_turn(look)))


def test_ctrl_c_in_the_middle_of_a_batch_leaves_the_node_to_itself(bench: Bench) -> None:
    host = bench.node()
    assert play(bench, SITE).rc == 0
    running = start(bench, "1.7.12", "interrupted", **slow_source(bench, "1.7.12"))
    wait_for_download(bench, "1.7.12")
    os.killpg(running.pid, signal.SIGINT)
    output, _ = running.communicate(timeout=300)
    assert running.returncode != 0, output
    assert "Traceback" not in output, output
    host.in_turn(lambda: host.node.clock.advance(60))
    assert programs(bench) in {VERSION, "1.7.12"}
    assert host.in_turn(lambda: host.node.services.state("containerd")) == "running"
    assert host.in_turn(lambda: host.node.drive.exists(r"C:\ProgramData\winkube\open.json")) is False

    again = play(bench, SITE, version="1.7.12")
    assert again.rc == 0, again
    assert programs(bench) == "1.7.12"
    assert changed(play(bench, SITE, version="1.7.12")) == {"win1": 0}


def test_two_controllers_at_once_never_mix(bench: Bench) -> None:
    """The second is told who is at work, or finds the node changed and plans again; in the end one of both is there."""
    host = bench.node()
    assert play(bench, SITE).rc == 0
    first = start(bench, "1.7.12", "first", **slow_source(bench, "1.7.12"))
    wait_for_download(bench, "1.7.12")
    second = play(bench, SITE, version="1.7.13")
    output, _ = first.communicate(timeout=300)
    assert first.returncode == 0, output
    print("the second controller", "was told to wait" if second.rc else "waited for its turn")
    if second.rc:
        assert "has been working on this node since" in second.output, second
        assert f"(pid {first.pid})" in second.output, second
        assert programs(bench) == "1.7.12"
    else:
        assert programs(bench) == "1.7.13"
    assert host.in_turn(lambda: host.node.services.state("containerd")) == "running"
    last = play(bench, SITE, version="1.7.13")
    assert last.rc == 0, last
    assert programs(bench) == "1.7.13"


def test_a_node_that_works_for_somebody_else_says_for_whom(bench: Bench) -> None:
    host = bench.node()
    assert play(bench, SITE).rc == 0
    theirs = envelope([wait("pipe", 600, name="never")], follow_s=1, controller="deploy@ci-7 (pid 4711)")
    with host.node.lock:
        accepted = apply(host.node, host.node.open_session(), theirs)
    assert accepted["outcome"] == "running", accepted
    lose_config(bench)
    busy = play(bench, SITE)
    assert busy.rc != 0
    assert "containerd: deploy@ci-7 (pid 4711) has been working on this node since 20" in busy.output, busy
    assert f"(batch {theirs['id']}). Nothing was done; run again later." in busy.output, busy
    assert config(bench, "win1") is None
    host.in_turn(lambda: host.node.clock.advance(900))
    assert changed(play(bench, SITE)) == {"win1": 1}
