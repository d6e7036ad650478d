"""What befalls a fleet in a long time, from one seed: joins, upgrades, settings, pushes and resets of its nodes, each
while something goes wrong. Afterwards a node is as before or as wanted, and the next run brings it home.

    run     one action on one node by the real Ansible, while something goes wrong; where it fails, once more after
            that has been mended. A round is one play over several nodes, one after the other
    fault   a kill (session, runner, power) at a random moment of a batch, what goes wrong around one (troubles.py), or
            an API server in trouble (tests/lab/cluster/trouble.py); now and then none
    mixed   a node that is, a minute after a failed run and without another, neither as before its last batch nor as
            that batch makes it (both known from copies of the node, with and without a loss of power); half of a file
            then, or anything in `staging` after the second run. Where a service cannot start at all, so that the
            roll-back fails as well and the node blocks: all but what runs has to be as before
    stuck   a node on which the second run fails, or after which a batch is open, a service is down, the Node is not
            Ready or still cordoned; or which another run would change
    leak    a secret in anything that the runs have left behind (tests/integration/records.py)

A node whose roll-back has failed blocks until a person has looked: that person is here, too, and is counted.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.integration.cutting import (
    DELAYED_SERVICES_S,
    FOLLOW_S,
    MINUTE,
    OPEN,
    STAGING,
    STATE,
    Document,
    Picture,
    cuts_of,
    differing,
    leftovers,
    picture,
    uncut,
)
from tests.integration.lab import ROOT, Bench, Run, overstepped
from tests.integration.records import leaks
from tests.integration.troubles import troubles_of
from tests.integration.whole import BRIDGE, OVERLAY, Kind, Whole
from tests.lab.cluster import tenants
from tests.lab.cluster.trouble import MODES, Trouble
from tests.lab.machine.builds import build
from tests.lab.machine.faults import CutKind, Fault
from tests.lab.machine.session import Session
from tests.lab.server.fork import in_copies
from tests.lab.twin.apply import read_envelope

PLAYBOOKS = ROOT / "playbooks"
SERVICES = ("containerd", "kubelet", "flanneld", "kube-proxy")
FLEET = (
    (BRIDGE, replace(BRIDGE, kubernetes="1.27.16", containerd="1.7.29")),
    (OVERLAY, replace(OVERLAY, kubernetes="1.37.0", containerd="2.3.6")),
    (replace(BRIDGE, manager="sc", maker="kubespray"), replace(BRIDGE, kubernetes="1.27.16", containerd="1.7.29")),
    (replace(OVERLAY, manager="nssm"), replace(OVERLAY, kubernetes="1.37.0", containerd="2.3.6")),
)
"""Each node's kind, and the other releases that it may have."""
SLOW_MODES = frozenset({"hang", "trickle", "dropped"})
"""Those that take the half minute of a real clock that a request has (tests/unit/cluster/test_trouble.py has them)."""
SETTLES_S = 1200.0
THIRD = 0.35
"""How often it is looked whether another run changes nothing."""
BLOCKED = STATE + "blocked.json"
_AGING = (".winkube-old", ".winkube-previous")
"""Programs of before, which are swept when nothing holds them, and the one that `state: previous` goes back to."""
Variables = dict[str, Any]


@dataclass
class Member:
    """A node of the fleet, and what is wanted of it now."""

    whole: Whole
    other: Kind
    joined: bool = False
    kubernetes: str = ""
    containerd: str = ""
    settings: int = 1

    def __post_init__(self) -> None:
        self.kubernetes, self.containerd = self.whole.kind.kubernetes, self.whole.kind.containerd

    @property
    def name(self) -> str:
        return self.whole.name

    def host(self) -> Variables:
        """Its line of the inventory."""
        spec = self.whole.host.spec
        return {
            "ansible_host": spec.address,
            "ansible_port": spec.port,
            "ansible_user": spec.username,
            **self.whole.variables(),
            "winkube_kubernetes_version": self.kubernetes,
            "winkube_containerd_version": self.containerd,
            "winkube_kubelet_environment": {"SOAK": str(self.settings)},
            "winkube_drain_options": tenants.OPTIONS,
        }


@dataclass(frozen=True)
class Action:
    """What is done to nodes. weight: how often. most: nodes in one round. wants: changes what is wanted of a node."""

    name: str
    weight: int
    most: int
    wants: Callable[[Member], None]
    playbook: str = "site.yml"
    arguments: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)


def _join(member: Member) -> None:
    member.joined = True


def _reset(member: Member) -> None:
    member.joined = False


def _upgrade(member: Member) -> None:
    """The whole node goes to the other release of Kubernetes, drained before."""
    one, other = member.whole.kind.kubernetes, member.other.kubernetes
    member.kubernetes = other if member.kubernetes == one else one
    if not tenants.pods(member.whole.cluster, member.name):
        tenants.move_in(member.whole.cluster, member.name)


def _containerd(member: Member) -> None:
    one, other = member.whole.kind.containerd, member.other.containerd
    member.containerd = other if member.containerd == one else one


def _settings(member: Member) -> None:
    member.settings += 1


JOIN = Action("join", 0, 8, _join)
PUSH = Action("push", 4, 4, lambda member: None, "push.yml")
ACTIONS = (
    PUSH,
    Action("containerd", 3, 8, _containerd, arguments=("--tags", "containerd")),
    Action("settings", 3, 8, _settings, arguments=("--tags", "kubelet")),
    Action("upgrade", 2, 4, _upgrade, more={"winkube_drain": True}),
    Action("reset", 2, 1, _reset, "reset.yml", more={"winkube_reset": True}),
)
"""What happens to nodes that have joined; to others: JOIN. reset.yml takes one after the other, and ends with the first
that fails."""
FAULTS: Mapping[str, int] = {"cut": 5, "trouble": 3, "cluster": 3, "none": 1}


@dataclass
class Soak:
    """Counts, and sentences about what should not be."""

    bench: Bench
    seed: int
    nodes: int = 8
    runs: int = 0
    plays: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    actions: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    slowest_s: float = 0.0
    mixed: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.bench.patience_s = 3600.0
        self.fleet = [self._member(n, *FLEET[(n - 1) % len(FLEET)]) for n in range(1, self.nodes + 1)]

    def _member(self, number: int, kind: Kind, other: Kind) -> Member:
        server = max(kind.kubernetes, other.kubernetes, key=lambda release: [int(part) for part in release.split(".")])
        spec: Variables = {"name": f"win{number}", "address": f"10.77.0.{number}", "containers": True}
        return Member(Whole(self.bench, kind, other, server=server, **spec), other)

    def go_on(self, runs: int, say: Callable[[str], None] = lambda line: None) -> None:
        """So many runs more, at least."""
        end = self.runs + runs
        while self.runs < end:
            self._round(end - self.runs, say)
            self._look_for_leaks()

    def line(self) -> dict[str, Any]:
        """What `make soak` ends with. plays: of Ansible. acknowledged: roll-backs that failed, and blocked as they
        should. slowest_s: the longest time, by a node's clock, until no batch was open."""
        return {
            "seed": self.seed,
            "runs": self.runs,
            "faults": self.faults.total(),
            "mixed": len(self.mixed),
            "stuck": len(self.stuck),
            "leaks": len(self.leaked),
            "slowest_s": round(self.slowest_s, 1),
            "plays": self.plays,
            "acknowledged": self.acknowledged,
            "actions": dict(sorted(self.actions.items())),
            "kinds": dict(sorted(self.faults.items())),
        }

    def _round(self, most: int, say: Callable[[str], None]) -> None:
        action, members = self._drawn(most)
        for member in members:
            action.wants(member)
        more = {**action.more, **(self._built(members[0]) if action is PUSH else {})}
        turns = [Turn(member, self._kind(), random.Random(self.dice.random())) for member in members]
        failed = self._play(action, turns, more, disturbed=True)
        for turn in turns:
            turn.settle(turn in failed)
            self.runs += 1
            self.actions[action.name] += 1
            self.faults[turn.kind] += turn.fired
            self.slowest_s = max(self.slowest_s, turn.settled_s)
            turn.label = f"run {self.runs}, {action.name} on {turn.member.name}, {turn.what or 'nothing goes wrong'}"
            say(f"{turn.label}: {'failed' if turn in failed else 'done'}")
        if failed:
            still = self._play(action, failed, more)
            blocked = [turn for turn in still if self._blocks(turn)]
            for turn in blocked:
                self._acknowledge(turn)
            for turn in self._play(action, still, more) if blocked else still:
                turn.stuck.append(self.bench.runs[-1].output[-3000:])
            for turn in failed:
                turn.expect_clean()
        if action.name != "reset":
            for turn in turns:
                turn.expect_up()
        if action.name not in {"reset", "push"} and self.dice.random() < THIRD:
            self._play(action, turns, more, unchanged=True)
        for turn in turns:
            self.mixed += [f"{turn.label}: {word}" for word in turn.mixed]
            self.stuck += [f"{turn.label}: {word}" for word in turn.stuck]

    def _drawn(self, most: int) -> tuple[Action, list[Member]]:
        bare = [member for member in self.fleet if not member.joined]
        action = self.dice.choices(ACTIONS, [one.weight for one in ACTIONS])[0]
        fitting = [member for member in self.fleet if member.joined]
        if len(bare) > len(fitting) or (bare and self.dice.random() < 0.5):
            action, fitting = JOIN, bare
        if action is PUSH:  # one build for all of them
            releases = self.dice.choice(fitting).whole.kind.kubernetes
            fitting = [member for member in fitting if member.whole.kind.kubernetes == releases]
        return action, self.dice.sample(fitting, min(len(fitting), most, action.most))

    def _kind(self) -> str:
        return self.dice.choices(list(FAULTS), list(FAULTS.values()))[0]

    def _built(self, member: Member) -> Variables:
        """A developer's build of kubelet or kube-proxy."""
        name = self.dice.choice(("kubelet", "kube-proxy"))
        folder = self.bench.directory / "built"
        folder.mkdir(exist_ok=True)
        minor = member.whole.kind.kubernetes.rpartition(".")[0]
        (folder / f"{name}.exe").write_bytes(build(name, f"{minor}.{100 + self.runs}"))
        return {
            "winkube_build_name": name,
            "winkube_build_dir": str(folder),
            "winkube_build_command": ["true"],
            "winkube_build_result": ".",
        }

    def _play(
        self,
        action: Action,
        turns: Sequence[Turn],
        more: Variables,
        *,
        disturbed: bool = False,
        unchanged: bool = False,
    ) -> list[Turn]:
        """Those on which it failed. One fork: while a node is copied, nothing else goes on in this process."""
        self.plays += 1
        names = ",".join(turn.member.name for turn in turns)
        arguments = ("-f", "1", "-l", names, *action.arguments, *self._given(more))
        with ExitStack() as stack:
            for turn in turns if disturbed else ():
                stack.enter_context(turn.disturbed())
            run = self.bench.ansible_playbook(PLAYBOOKS / action.playbook, *arguments)
        if "Traceback" in run.output:
            turns[0].stuck.append(f"a traceback: {run.output[-3000:]}")
        if unchanged:
            for turn in turns:
                if not (ended := run.recap.get(turn.member.name)) or ended.failed or ended.changed:
                    turn.stuck.append(f"another run changes something or fails: {run.output[-3000:]}")
        return [turn for turn in turns if _has_failed(run, turn.member.name)]

    def _given(self, more: Variables) -> tuple[str, ...]:
        hosts = {member.name: member.host() for member in self.fleet}
        common = {"ansible_connection": "ssh", "ansible_shell_type": "powershell"}
        inventory = {"windows": {"hosts": hosts, "vars": common}}
        fleet = self.bench.file("fleet.json", json.dumps(inventory))
        given = self.bench.file("more.json", json.dumps({"winkube_hosts": "windows", **more}))
        return "-i", str(fleet), "-e", f"@{given}"

    def _blocks(self, turn: Turn) -> bool:
        said = self.bench.runs[-1].output
        return any(f"winkube_batch={one}" in said for one in turn.batches)

    def _acknowledge(self, turn: Turn) -> None:
        self.acknowledged += 1
        more = {"winkube_repair": "acknowledge", "winkube_batch": turn.batches[-1]}
        if self._play(Action("acknowledge", 0, 1, _join, "repair.yml"), [turn], more):
            turn.stuck.append(f"acknowledge: {self.bench.runs[-1].output[-3000:]}")

    def _look_for_leaks(self) -> None:
        self.leaked += [*leaks(self.bench), *(f"overstepped: {one}" for one in overstepped(self.bench))]
        self.bench.runs.clear()
        for member in self.fleet:
            member.whole.cluster.calls.clear()


def _has_failed(run: Run, name: str) -> bool:
    ended = run.recap.get(name)
    return ended is None or bool(ended.failed or ended.unreachable)


@dataclass(eq=False)
class Turn:
    """One action on one node with one fault, and what became of it."""

    member: Member
    kind: str
    dice: random.Random
    what: str = ""
    label: str = ""
    fired: int = 0
    settled_s: float = 0.0
    batches: list[str] = field(default_factory=list)
    """Ids, in their order."""
    may: list[Picture] = field(default_factory=list)
    """What the node may be like without its last batch and with it."""
    mixed: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.host = self.member.whole.host
        self.node = self.host.node
        self.cluster = self.member.whole.cluster
        self.befalls = self.dice.choice((0, 0, 0, 1, 2, 3))
        """Which of the run's batches, the last one where there are fewer."""
        self.cut: Fault | None = None
        self.lasts = False
        self.mend: Callable[[], None] = lambda: None

    @contextmanager
    def disturbed(self) -> Iterator[None]:
        """What goes wrong, does."""
        self.may = [self._picture()]
        trouble = None
        if self.kind == "cluster":
            mode = self.dice.choice(sorted(MODES.keys() - SLOW_MODES))
            trouble = Trouble(mode, every=self.dice.randint(2, 4), times=self.dice.randint(1, 6))
            self.what = f"the API server: {mode}"
            self.cluster.https.trouble = trouble
        elif self.kind == "none":
            self.befalls = 10**9
        self.node.before_module.append(self._before_module)
        try:
            yield
        finally:
            self.node.before_module.remove(self._before_module)
            self.cluster.https.trouble = lambda request: ""
            self.fired += bool(trouble and trouble.befallen) + bool(self.cut and self.cut.fired)

    def settle(self, failed: bool) -> None:
        """A minute without anybody; what the node is like then; then what is wrong is mended."""
        self.host.in_turn(self._until_nothing_is_open)
        if failed:
            found, may = self._picture(), self.may
            if self.lasts and self.node.drive.exists(BLOCKED):
                found, may = _at_rest(found), [_at_rest(one) for one in may]
            if found not in may:
                nearest = min((differing(one, found) for one in may), key=len)
                self.mixed.append("; ".join(nearest[:6]))
        # What is in `staging` after a failed run, the next one takes or clears away.
        self.expect_clean(STAGING if failed else None)
        self.host.in_turn(self._mend)

    def expect_clean(self, but: str | None = None) -> None:
        """No half-written or staged file, except in a folder."""
        left = self.host.in_turn(lambda: leftovers(self.node))
        if left := [path for path in left if not (but and path.lower().startswith(but))]:
            self.mixed.append(f"left over: {', '.join(left)}")

    def _until_nothing_is_open(self) -> None:
        self.node.boot()
        started = self.node.clock.now()
        while self.node.drive.exists(OPEN) and self.node.clock.now() - started < SETTLES_S:
            self.node.clock.advance(1.0)
            self.node.boot()
        self.settled_s = self.node.clock.now() - started
        if self.settled_s >= SETTLES_S:
            self.stuck.append(f"a batch is open after {self.settled_s:.0f} s")
        power = bool(self.cut and self.cut.kind == "power")
        self.node.clock.advance(max(0.0, MINUTE - self.settled_s) + (DELAYED_SERVICES_S if power else 0.0))

    def _mend(self) -> None:
        self.mend()
        self.node.faults.clear()
        self.node.faults.trace.clear()

    def expect_up(self) -> None:
        for _ in range(3):
            self.cluster.advance(10)
        name = self.member.name
        down = [service for service in SERVICES if self.member.whole.state(service) != "running"]
        if down:
            self.stuck.append(f"not running: {', '.join(down)}")
        elif not self.cluster.is_ready(name):
            self.stuck.append("the Node is not Ready")
        elif self.cluster.nodes[name]["spec"].get("unschedulable"):
            self.stuck.append("the Node is still cordoned")

    def _picture(self) -> Picture:
        return self.host.in_turn(lambda: _of(picture(self.node)))

    # -- on the node, before it takes a batch ------------------------------------------------------------------------

    def _before_module(self, session: Session, name: str, arguments: Mapping[str, Any]) -> None:
        if name != "node_apply":
            return
        envelope = read_envelope(str(arguments["batch"]))
        if envelope["kind"] != "submit":
            return
        self.node.before_module.remove(self._before_module)
        try:
            with self.node.lock, self.cluster.api.lock:
                self._befall(session, {**envelope, "follow_s": FOLLOW_S})
        finally:
            self.node.before_module.append(self._before_module)

    def _befall(self, session: Session, envelope: Document) -> None:
        batch = envelope["batch"]
        self.batches.append(str(batch["id"]))
        due = not self.what and len(self.batches) > self.befalls
        if not (due or self.what):  # nothing has gone wrong yet
            return
        power = due and self.kind == "cut" and self.dice.random() < 0.3
        events: list[tuple[Document | None, ...]] = [(envelope,), ()]
        if power:
            events += [(None,), (envelope, None), (None, envelope)]
        ends = in_copies([lambda one=one: uncut(self.node, session, *one) for one in events])  # type: ignore[misc]
        self.may = [_of(end.picture) for end in ends]
        if not due:
            return
        if self.kind == "cut":
            kinds: tuple[CutKind, ...] = ("power",) if power else ("session", "runner")
            cuts = [cut for cut in cuts_of(ends[0].trace, self.dice, kinds, by_turns=False) if not cut.also]
            chosen = self.dice.choice(cuts)
            (self.cut,) = chosen.faults()
            self.cut.boot_after_s = 20.0 if power else None
            self.node.faults.trace.clear()
            self.node.faults.arm(self.cut)
            self.what = f"{batch['component']}: {chosen}"
        elif self.kind == "trouble":
            one = self.dice.choice(troubles_of(batch, self.dice))
            one.arm(self.node)
            self.lasts = one.may_block
            self.mend = lambda: one.mend(self.node)
            self.what = f"{batch['component']}: {one.name}"
            self.fired += 1


def _of(found: Picture) -> Picture:
    """Without programs of before."""
    drive = {path: value for path, value in found["drive"].items() if not path.endswith(_AGING)}
    return {**found, "drive": drive}


def _at_rest(found: Picture) -> Picture:
    """Without what runs."""
    services = {name: {**one, "state": ""} for name, one in found["services"].items()}
    return {**found, "services": services, "processes": [], "pipes": []}


def soak(folder: Path, seed: int, runs: int, say: Callable[[str], None]) -> Soak:
    """The whole of it on a new bench; what there is until Ctrl-C."""
    bench = Bench(folder)
    try:
        made = Soak(bench, seed)
        try:
            made.go_on(runs, say)
        except KeyboardInterrupt:
            say("ended by hand")
        return made
    finally:
        bench.close()


def told(made: Soak) -> bool:
    """Prints what should not be, and the line; whether all is well."""
    for kind, words in (("mixed", made.mixed), ("stuck", made.stuck), ("leak", made.leaked)):
        for word in words:
            print(f"{kind}: {word}", file=sys.stderr)
    print(json.dumps(made.line()))
    return not (made.mixed or made.stuck or made.leaked)
