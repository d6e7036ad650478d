"""`make doors`: honest answers of a node and of an API, each of whose leaves is turned into lies, one at a time.

Every component plans a simulated node in check mode, first from honest answers; then a leaf has another type, is null
or missing, has 10 MB, an escape sequence, a NUL, a great depth, another unit. A lie has to be refused by host and
field, or to change nothing: neither a plan nor what is printed.
"""

from __future__ import annotations

import copy
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.reading import KUBEADM_RIGHTS, read_cluster
from ansible_collections.winkube.node.plugins.plugin_utils.components.asks import Asks
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import COMPONENTS
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch, Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.engine.printable import make_sentence
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Query, system_query
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.node import verdict
from ansible_collections.winkube.node.plugins.plugin_utils.node.link import Link, NodeError, OutcomeUnknown
from ansible_collections.winkube.node.plugins.plugin_utils.task.converge import Converge
from ansible_collections.winkube.node.plugins.plugin_utils.task.task_node import TaskNode

from tests.doors.arguments import API_OBJECTS, DOCUMENTS, KUBE_SYSTEM, OF_READING, arguments, rendered
from tests.unit.cluster.fake import SERVER, Fake
from tests.unit.components.nodes import LAYOUT, Controller
from tests.unit.repair.repair_machine import SUBNET_ENV, Machine, env

HOST = "win1"
BATCH_ID = "ab" * 16
SLOW_S = 10.0
DEEP = 2000
HUGE = "x" * 10_000_000
_RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
Path = tuple[str | int, ...]


class MissingLeaf:
    """Stands for a leaf that is taken away."""


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value in an answer, objects and lists too, with its path."""
    if path:
        yield path, value
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from leaves(each, (*path, key))
    elif isinstance(value, list):
        for n, each in enumerate(value):
            yield from leaves(each, (*path, n))


def lies(value: Any, *, of_list: bool = False) -> Iterator[tuple[str, Any]]:
    """(kind of lie, what stands there instead). A list without one of its entries is another honest answer."""
    deep: Any = "x"
    for _ in range(DEEP):
        deep = [deep]
    other: Any = {"a": 1} if value is None else "yes" if isinstance(value, bool | int) else 5
    yield "other type", other
    yield "null", None if value is not None else "null"
    if not of_list:
        yield "missing", MissingLeaf
    yield "10 MB", HUGE
    text = value if isinstance(value, str) else "x"
    yield "ESC", f"{text}\x1b]0;x\x07"
    yield "NUL", f"{text}\x00"
    yield "depth", deep
    if isinstance(value, int) and not isinstance(value, bool):
        yield "wrong unit", f"{value} MB"
        yield "wrong unit", -(2**70)
    elif isinstance(value, str):
        yield "wrong unit", [value]


def with_lie(answer: Any, path: Path, lie: Any) -> Any:
    """The answer with the lie in it; only what lies on the way is copied."""
    first, *rest = path
    made: Any = list(answer) if isinstance(answer, list) else dict(answer)
    if rest:
        made[first] = with_lie(answer[first], tuple(rest), lie)
    elif lie is MissingLeaf:
        del made[first]
    else:
        made[first] = lie
    return made


@dataclass
class Count:
    """What the last line of `make doors` tells."""

    answers: int = 0
    leaves: int = 0
    lies: int = 0
    named_host_and_field: int = 0
    harmless: int = 0
    accepted: int = 0
    python_errors: int = 0
    raw_control_characters: int = 0
    slower_than_10_s: int = 0
    written_on_a_node: int = 0
    told: list[str] = field(default_factory=list)

    def line(self) -> str:
        shown = {name: value for name, value in vars(self).items() if name != "told"}
        return json.dumps(shown)

    @property
    def clean(self) -> bool:
        bad = (self.accepted, self.python_errors, self.raw_control_characters)
        return not any((*bad, self.slower_than_10_s, self.written_on_a_node))


def say(work: Callable[[], Any]) -> str:
    """What is printed: the result, or the sentence that ends the task. Anything else passes as it is."""
    try:
        return make_sentence(json.dumps(work(), sort_keys=True), 10**9)
    except (NodeError, Refused, ClusterError, OutcomeUnknown) as error:
        return make_sentence(error)


class Bench:
    """The node, its recorded answers, and the cluster."""

    def __init__(self) -> None:
        files = {LAYOUT.kube_proxy_kubeconfig: b"{}", LAYOUT.kubelet_kubeconfig: b"{}", SUBNET_ENV: env()}
        self.machine = Machine(files=files)
        self.honest: dict[str, Any] = {}
        """Query as JSON -> the answer."""
        self.lie: tuple[str, Any] | None = None
        """A recorded query, and the answer in place of the honest one."""
        self.writes = 0
        self.fake = Fake(b"pem")
        passed = [0.0]
        self.fake.cluster.clock = Clock(lambda: passed[0], lambda seconds: passed.__setitem__(0, passed[0] + seconds))
        for path, found in API_OBJECTS.items():
            self.fake.objects[path] = copy.deepcopy(found)

    def execute(self, module: str, args: dict[str, Any]) -> dict[str, Any]:
        """The probe, from the record; a batch would be a write."""
        if module != "node_probe":
            self.writes += 1
            return {"failed": True, "msg": "nothing is written here"}
        parts = {}
        for query in self.asked:
            key = json.dumps(query.wire(), sort_keys=True)
            if key not in self.honest:
                self.honest[key] = self.machine.link.probe([query])[query.key]
            found = self.lie[1] if self.lie is not None and self.lie[0] == key else self.honest[key]
            if found is not MissingLeaf:
                parts[query.key] = found
        return {"changed": False, "schema": 1, "parts": parts}

    def plan_all(self) -> str:
        """What all components say of the node, planned as `site.yml --check` does."""
        link = RecordedLink(self)
        node = TaskNode(link, LAYOUT, HOST, None, self.warn, check=True)
        self.warned: list[str] = []
        reading = None
        said = []
        for component in COMPONENTS:

            def plan(component: Any = component) -> Any:
                nonlocal reading
                reading = reading or node.read()
                options = arguments(component.module)
                asks = Asks(Controller(rendered(component.name)), HOST)
                asks.cluster = lambda *_access, **_how: self.fake.cluster  # type: ignore[method-assign]
                own = component.interface.read(options)
                needed = component.reads(LAYOUT)
                run = Converge(component.name, node, options, asks, check=True, needed=needed, own=own)
                run.run_stages(component.stages, reading, after=component.after)
                return run.result(diff=True)

            said.append(f"{component.name}: {say(plan)}")
            if said[-1].startswith(f"{component.name}: What {HOST} answered cannot be used"):
                break
        return "\n".join((*said, *map(make_sentence, self.warned)))

    def warn(self, sentence: str) -> None:
        self.warned.append(sentence)

    asked: tuple[Query, ...] = ()


class RecordedLink(Link):
    """A link whose answers come from the record."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(
            bench.execute, lambda: None, LAYOUT.state_dir, host=HOST, clock=Clock(lambda: 0.0, lambda _s: None)
        )
        self._bench = bench

    def probe(self, queries: Any, *, again: bool = True) -> dict[str, Any]:
        self._bench.asked = tuple(queries)
        return super().probe(queries, again=again)


_REFUSALS = (", expected ", " is not ", "it is not valid YAML", "is nested deeper", "are nested more than")
"""What a refusal of a field says: the second of a secret, the third of a kubeconfig in a ConfigMap."""
_IDENTITY = ("kind", "name", "gitVersion", "metadata")
"""Fields that tell an API object from something else: "was answered with 200, but not with an object of nodes"."""


def judge(count: Count, name: str, said: Callable[[], str], honest: str, host: str, part: str) -> None:
    """Count one lie."""
    count.lies += 1
    began = time.monotonic()
    try:
        text = said()
    except Exception as error:  # whatever comes here would be a traceback
        count.python_errors += 1
        count.told.append(f"{name}: {type(error).__name__}: {str(error)[:200]}")
        return
    if time.monotonic() - began > SLOW_S:
        count.slower_than_10_s += 1
        count.told.append(f"{name}: slow")
    if _RAW.search(text):
        count.raw_control_characters += 1
        count.told.append(f"{name}: a raw control character")
    if text == honest:
        count.harmless += 1
    elif (host in text and part in text and any(each in text for each in _REFUSALS)) or (
        host in text and part in _IDENTITY and "but not with" in text
    ):
        count.named_host_and_field += 1
    else:
        count.accepted += 1
        count.told.append(f"{name}: accepted: {_difference(text, honest)}")


def _difference(text: str, honest: str) -> str:
    lines = [line for line in text.splitlines() if line not in honest.splitlines()]
    return " | ".join(line[:300] for line in lines[:2])


def attack_readings(bench: Bench, count: Count, every: int) -> None:
    """Each leaf of each part of a reading; with `every` > 1 only each so-manieth lie."""
    honest = bench.plan_all()
    number = 0
    for key, answer in list(bench.honest.items()):
        query = json.loads(key)
        count.answers += 1
        for path, value in leaves({"part": answer}):
            count.leaves += 1
            for kind, lie in lies(value, of_list=isinstance(path[-1], int)):
                number += 1
                if number % every:
                    continue
                changed = with_lie({"part": answer}, path, lie).get("part", MissingLeaf)
                bench.lie = (key, changed)
                name = f"{query['key']} {'.'.join(map(str, path[1:]))} ({kind})"
                judge(count, name, bench.plan_all, honest, HOST, str(query["key"])[:60])
    bench.lie = None
    count.written_on_a_node += bench.writes


DONE = {
    "changed": True,
    "schema": 1,
    "answer": "accepted",
    "outcome": "done",
    "batch": BATCH_ID,
    "error": None,
    "results": [{"n": 0, "op": "run", "ok": True, "exit_code": 0, "stdout": "ok", "stderr": ""}],
    "state": {"system": {"machine": "m", "boot_id": "b", "clock": "2026-11-29T12:00:00Z", "os": {"build": 20348}}},
}
ANSWERS: dict[str, dict[str, Any]] = {
    "done": DONE,
    "undone": {
        **DONE,
        "outcome": "undone",
        "error": {"n": 0, "op": "run", "message": "exit code 1", "undo": [{"message": "x"}]},
        "recovered": {"id": "cd" * 16, "outcome": "undone"},
    },
    "stale": {"answer": "stale", "batch": BATCH_ID, "stale": [{"key": "system", "expect": "a", "found": "b"}]},
    "busy": {
        "answer": "busy",
        "batch": BATCH_ID,
        "busy": {"id": "x", "controller": "ann@ci", "since": "t", "error": ""},
    },
    "blocked": {"answer": "blocked", "batch": BATCH_ID, "blocked": {"id": "cd" * 16, "error": {"message": "x"}}},
    "refused": {"answer": "refused", "batch": BATCH_ID, "reason": "not elevated"},
}
FREE = ("message", "stdout", "stderr", "reason", "expect", "found", "undo", "error", "exit_code")
"""What people read: it is never refused, so that it is printed with the lie in it, escaped and cut."""


def attack_answers(count: Count) -> None:
    """Each leaf of each kind of answer to a batch."""
    batch = Batch("host", (Op("run", {"program": "C:\\x.exe"}),), state=(system_query(),))
    for title, answer in ANSWERS.items():
        count.answers += 1

        def said(found: Any) -> str:
            notices: list[str] = []

            def send() -> Any:
                clock = Clock(lambda: 0.0, lambda _s: None)
                link = Link(
                    lambda _m, _a: found,
                    lambda: None,
                    "C:\\s",
                    host=HOST,
                    clock=clock,
                    reconnect_s=0,
                    notice=notices.append,
                )
                done = link.apply(batch, BATCH_ID)
                verdict.check_done(done, "host")
                return [sorted(done.state), [(each.n, each.ok) for each in done.results]]

            return "\n".join((say(send), *map(make_sentence, notices)))

        honest = said(answer)
        for path, value in leaves(answer):
            count.leaves += 1
            for kind, lie in lies(value, of_list=isinstance(path[-1], int)):
                if path == ("recovered",) and kind in ("null", "missing"):
                    continue  # that is another honest answer
                name = f"{title} {'.'.join(map(str, path))} ({kind})"
                changed = with_lie(answer, path, lie)
                again = partial(said, changed)
                if any(part in FREE for part in path) or path[0] in ("schema", "changed"):
                    _count_free(count, name, again)
                else:
                    field = "recovered" if path[0] == "recovered" else _field(path)
                    judge(count, name, again, honest, HOST, field)


def _field(path: Path) -> str:
    return str(next(part for part in reversed(path) if isinstance(part, str)))


def _count_free(count: Count, name: str, said: Callable[[], str]) -> None:
    """Free text: whatever it says, it ends, and no control character of it is printed."""
    text = ""

    def keep() -> str:
        nonlocal text
        text = said()
        return text if len(text) > 100_000 else ""

    judge(count, name, keep, "", HOST, "")


def attack_objects(bench: Bench, count: Count) -> None:
    """Each leaf of each API object that the components ask for."""
    honest = bench.plan_all()
    host = SERVER.partition("://")[2]
    for where, found in API_OBJECTS.items():
        count.answers += 1
        for path, value in leaves(found):
            count.leaves += 1
            for kind, lie in lies(value, of_list=isinstance(path[-1], int)):
                if kind in ("null", "missing") and path[0] not in ("kind", "metadata"):
                    continue  # another honest answer: nothing in spec, status or data has to be there
                bench.fake.objects[where] = with_lie(found, path, lie)
                name = f"{where} {'.'.join(map(str, path))} ({kind})"
                who = host if path[0] != "data" else "cluster-info"
                judge(count, name, bench.plan_all, honest, who, _field(path))
        bench.fake.objects[where] = copy.deepcopy(found)
    count.written_on_a_node += len(bench.fake.writes)


def attack_cluster_reading(count: Count) -> None:
    """Each leaf of each object, and of each document in a ConfigMap, that the reading of a cluster is made of."""
    fake = Fake(b"pem")
    passed = [0.0]
    fake.cluster.clock = Clock(lambda: passed[0], lambda seconds: passed.__setitem__(0, passed[0] + seconds))
    fake.objects |= OF_READING
    for (name, key), document in DOCUMENTS.items():
        fake.objects[f"{KUBE_SYSTEM}/configmaps/{name}"] = {"data": {key: json.dumps(document)}}

    def read() -> str:
        return say(lambda: repr(read_cluster(fake.cluster, rights=KUBEADM_RIGHTS)))

    honest, host = read(), SERVER.partition("://")[2]
    told = [(where, "", found) for where, found in OF_READING.items()]
    told += [(f"{KUBE_SYSTEM}/configmaps/{name}", key, document) for (name, key), document in DOCUMENTS.items()]
    for where, key, whole in told:
        count.answers += 1
        kept = fake.objects[where]
        for path, value in leaves(whole):
            count.leaves += 1
            for kind, lie in lies(value, of_list=isinstance(path[-1], int)):
                if kind in ("null", "missing") and path != ("kind",):
                    continue  # another honest answer: nothing but this has to be there
                changed = with_lie(whole, path, lie)
                try:
                    text = json.dumps(changed)
                except RecursionError:
                    continue  # Python 3.11 does not write it
                fake.objects[where] = {"data": {key: text}} if key else changed
                # Of a text that is too long or nested too deeply to be read no field is known.
                field = key if key and kind in ("10 MB", "depth") else _field(path)
                who = where.rpartition("/")[2] if key else host
                judge(count, f"{where} {key} {'.'.join(map(str, path))} ({kind})", read, honest, who, field)
        fake.objects[where] = kept
    count.written_on_a_node += len(fake.writes)
