"""Cuts at each op of each batch that a run hands to a node, each in a copy of the node that nobody else sees.

The run itself, the real Ansible against the lab, knows nothing of it: before a batch is taken, the lab's process is
copied once for each cut, the copy takes the same batch, is cut, and its node's time goes on without a new run.
"""

from __future__ import annotations

import contextlib
import copy
import json
import random
import re
import time
import traceback
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar, get_args

from tests.integration.troubles import Trouble, troubles_of
from tests.lab.cluster.cluster import Cluster
from tests.lab.machine.errors import PowerLost, SessionKilled, Unreachable
from tests.lab.machine.faults import CutKind, Fault, Moment, When
from tests.lab.machine.firewall import RULES
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.session import Session
from tests.lab.programs.nssm_service import EVENT_SOURCE
from tests.lab.server.fork import in_copies
from tests.lab.server.host import NodeHost
from tests.lab.twin.apply import read_envelope
from tests.lab.twin.submit import apply
from tests.lab.twin.task import PATH as TASK

STATE = "c:\\programdata\\winkube\\"
STAGING = STATE + "staging\\"
DAEMON_DATA = ("c:\\programdata\\containerd\\",)
DISM, SHUTDOWN = "\\dism.exe", "\\shutdown.exe"
OWN_NETWORK = "External"
"""The HNS network that is made by a batch; the others, endpoints and what depends on them are those of daemons."""
RUNTIME = ("\\subnet.env\\", "\\var\\lib\\cni\\networks\\", "\\var\\lib\\cni\\")
"""What flanneld and host-local write."""
NSSM_OWN = frozenset({"FailureActionsOnNonCrashFailures"})
"""What nssm.exe writes when it starts; and EVENT_SOURCE."""
NOT_DELAYED = ["dword", 0]
"""What nssm writes of a service that starts at once; others write nothing."""
_CERTIFICATE = re.compile(r"\\kubelet-(client|server)-[^\\]+\.pem", re.IGNORECASE)
"""The kubelet's own, named after the second in which it got it."""
OPEN = r"C:\ProgramData\winkube\open.json"
MINUTE = 60.0
DELAYED_SERVICES_S = 130.0
"""After a boot, until the services that start late are there."""
UNDO_S = 45.0
LONGEST_TROUBLE_S = 400.0
"""Somebody else has filled the disk for 200 s, and the journal cannot be written until then."""
QUIET_S = 15.0
"""Until what a batch has started is as it stays."""
LATE_SERVICES = ("WinRM", "sshd", "TrustedInstaller")
"""Windows' own, started two minutes after a boot whatever is done here (sshd: where it is set to start late), or for
dism.exe, and still there for a while when that has ended."""
LATE_PROCESSES = ("\\svchost.exe", "\\sshd.exe")
Document = dict[str, Any]
Picture = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Cut:
    """One kill of one batch. also: a second one, while the first is being rolled back."""

    kind: CutKind
    moment: Moment
    also: Moment | None = None

    def __str__(self) -> str:
        words = [f"{self.kind} {_words(self.moment)}"]
        if self.also:
            words.append(f"and again {_words(self.also)}")
        return ", ".join(words)

    def faults(self) -> list[Fault]:
        moments = [self.moment, *([self.also] if self.also else [])]
        return [Fault(self.kind, one.op, one.when, one.phase, one.label) for one in moments]


def _words(moment: Moment) -> str:
    return f"{moment.when} {moment.phase} {moment.op}" + (f" ({moment.label})" if moment.label else "")


@dataclass(frozen=True)
class End:
    """What became of a node.

    settled_s: until no batch was open. outcome: what the node says of the batch. seen: the picture, compared with old
    and new. again: what the same batch says when it is handed over once more.
    """

    picture: Picture
    trace: tuple[Moment, ...]
    settled_s: float
    outcome: str
    fired: bool
    leftovers: tuple[str, ...]
    error: str = ""
    again: str = ""
    after_again: Picture | None = None


FOLLOW_S = 300.0
"""So long a batch is followed in one call here: what a controller says meanwhile is looked at elsewhere."""


@dataclass
class Cutter:
    """Listens to a node (`node.before_module`) and cuts every batch; `report` holds what was found.

    seed: which moment of an op is cut by which kind of kill. sample: so many cuts and troubles of each batch, None for
    one at each op at least. kinds: what there is beside losses of power costs a fraction, since nobody has to know what
    the machine is like after one.
    """

    host: NodeHost
    cluster: Cluster | None
    seed: int
    everything: bool = False
    sample: int | None = None
    kinds: tuple[CutKind, ...] = get_args(CutKind)
    in_trouble: bool = True
    """Whether each batch is tried with what goes wrong around it (troubles.py), too."""
    cuts: int = 0
    old: int = 0
    new: int = 0
    longest_s: float = 0.0
    seconds: float = 0.0
    components: list[str] = field(default_factory=list)
    late: int = 0
    troubles: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.host.node.before_module.append(self.before_module)

    def stop(self) -> None:
        self.host.node.before_module.remove(self.before_module)

    def before_module(self, session: Session, name: str, arguments: Mapping[str, Any]) -> None:
        if name != "node_apply":
            return
        envelope = read_envelope(str(arguments["batch"]))
        if envelope["kind"] != "submit":
            return
        envelope["follow_s"] = FOLLOW_S
        started = time.monotonic()
        node = self.host.node
        node.before_module.remove(self.before_module)
        try:
            with node.lock:
                if self.cluster is None:
                    self._cut_all(node, session, envelope)
                else:
                    with self.cluster.api.lock:
                        self._cut_all(node, session, envelope)
        except Exception:
            self.wrong.append(traceback.format_exc())
        finally:
            node.before_module.append(self.before_module)
            self.seconds += time.monotonic() - started

    def _cut_all(self, node: SimulatedNode, session: Session, envelope: Document) -> None:
        component = str(envelope["batch"]["component"])
        self.components.append(component)
        batch = envelope["batch"]
        restarts = _runs(batch, SHUTDOWN)
        # A feature of Windows that was turned on stays on.
        feature = tuple(Program(op["args"]) for op in _runs(batch, DISM))
        before: list[History] = [(), *([feature] if feature else [])]
        after: list[History] = [(envelope,)]
        if restarts or "power" in self.kinds:
            before += [(None,), *([(*feature, None), (None, *feature)] if feature else [])]
            after += [(envelope, None), (None, envelope)]
        known = in_copies([lambda events=events: uncut(node, session, *events) for events in before + after])  # type: ignore[misc]
        olds, whole = tuple(known[: len(before)]), known[len(before)]
        if whole.outcome != "done":
            self.wrong.append(f"{component}: without a cut it is {whole.outcome}: {whole.error}")
            return
        news = (olds[before.index((None,))],) if restarts else tuple(known[len(before) :])
        dice = random.Random(f"{self.seed} {component} {node.name}")
        chosen = cuts_of(whole.trace, dice, self.kinds, by_turns=self.is_up and not self.everything)
        chosen = _some(chosen, dice, self.sample)
        ends = in_copies([lambda cut=cut: cut_once(node, session, envelope, cut, restarts) for cut in chosen])  # type: ignore[misc]
        for cut, end in zip(chosen, ends, strict=True):
            self.cuts += 1
            # Within a minute it begins, also what nobody had begun; then it takes its time.
            begun = MINUTE * (2 if cut.also and cut.kind == "runner" else 1)
            limit = begun + (whole.settled_s + 5 if end.outcome == "done" else UNDO_S)
            words = self._judge(end, olds, news, limit, again=not restarts)
            self.wrong += [f"{component}: {cut} ({end.outcome}): {word}" for word in words]
        if self.in_trouble and not restarts:
            self._trouble_all(node, session, envelope, olds, news, dice)

    def _trouble_all(
        self,
        node: SimulatedNode,
        session: Session,
        envelope: Document,
        olds: tuple[End, ...],
        news: tuple[End, ...],
        dice: random.Random,
    ) -> None:
        component = str(envelope["batch"]["component"])
        most = self.sample or (4 if self.is_up and not self.everything else None)
        chosen = _some(troubles_of(envelope["batch"], dice), dice, most)
        ends = in_copies([lambda one=one: troubled(node, session, envelope, one) for one in chosen])  # type: ignore[misc]
        for one, end in zip(chosen, ends, strict=True):
            self.troubles += 1
            self.outcomes[end.outcome] += 1
            words = self._judge(end, olds, news, LONGEST_TROUBLE_S, again=True)
            if end.outcome == "undo_failed" and one.may_block:
                words = [] if end.again == "done" else words
            self.wrong += [f"{component}: {one.name} ({end.outcome}): {word}" for word in words]

    @property
    def is_up(self) -> bool:
        """Whether a kubelet runs: a minute of the node's time then costs a second of ours."""
        return self.host.node.services.state("kubelet") == "running"

    def _judge(
        self, end: End, olds: tuple[End, ...], news: tuple[End, ...], limit_s: float, *, again: bool
    ) -> list[str]:
        """What is not as it should be. olds, news: with and without a loss of power, as the machine may be then."""
        words = []
        if not end.fired:
            words.append("the cut has not happened")
        self.longest_s = max(self.longest_s, end.settled_s)
        self.late += end.settled_s > MINUTE
        if end.settled_s > limit_s:
            words.append(f"it took {end.settled_s:.0f} s until no batch was open")
        if end.leftovers:
            words.append(f"left over: {', '.join(end.leftovers)}")
        done = end.outcome == "done"
        if end.picture in [one.picture for one in (news if done else olds)]:
            self.new += done
            self.old += not done
            if again and not done:
                words += self._after_again(end, news)
        else:
            against = [differing(one.picture, end.picture) for one in (*olds, *news)]
            words.append(f"MIXED: {end.error} " + _nearest(against))
        return words

    @staticmethod
    def _after_again(end: End, news: tuple[End, ...]) -> list[str]:
        if end.again != "done":
            return [f"the next run would end as {end.again}"]
        if end.after_again in [one.picture for one in news]:
            return []
        against = [differing(one.picture, end.after_again or {}) for one in news]
        return ["the next run does not converge: " + _nearest(against)]


def _nearest(against: list[list[str]]) -> str:
    return "; ".join(min(against, key=len)[:6])


@dataclass(frozen=True)
class Program:
    """One program that is run, outside of any batch."""

    args: Document


History = tuple[Document | Program | None, ...]
"""What befalls a node, in order: batches, programs, losses of power (None)."""


def _some(chosen: list[T], dice: random.Random, most: int | None) -> list[T]:
    return chosen if most is None else dice.sample(chosen, min(len(chosen), most))


def _runs(batch: Document, program: str) -> list[Document]:
    return [op for op in batch["ops"] if str(op["args"].get("program", "")).lower().endswith(program)]


def cuts_of(trace: tuple[Moment, ...], dice: random.Random, kinds: tuple[CutKind, ...], *, by_turns: bool) -> list[Cut]:
    """Each kind of kill (with `by_turns` one of them) at each step of the batch (handing over, ops, gate), at one of
    its moments; two more while the first is being rolled back."""
    steps: dict[tuple[str, int], list[Moment]] = {}
    for moment in dict.fromkeys(trace):
        steps.setdefault((moment.phase, moment.op), []).append(moment)
    first = dice.randrange(len(kinds))
    cuts = [
        Cut(kind, dice.choice(moments))
        for number, ((phase, _), moments) in enumerate(steps.items())
        for kind in (kinds if not by_turns else (kinds[(first + number) % len(kinds)],))
        if phase != "submit" or kind != "runner"  # nobody works on it yet
    ]
    ops = [moments for (phase, _), moments in steps.items() if phase == "ops"]
    whens: tuple[When, ...] = ("before", "after")
    for kind in (one for one in kinds if one != "session"):
        last = [one for one in ops[-1] if one.when == "after"]
        if last:
            cuts.append(Cut(kind, last[0], Moment("undo", dice.randrange(len(ops)), dice.choice(whens), None)))
    return cuts


# -- in the copy ---------------------------------------------------------------------------------------------------


def uncut(node: SimulatedNode, session: Session, *events: Document | Program | None) -> End:
    """What the node is like after these, without a cut."""
    node.faults.clear()
    outcome, took, error = "none", 0.0, ""
    for event in events:
        if event is None:
            node.power_off()
            node.boot()
            node.clock.advance(MINUTE)
        elif isinstance(event, Program):
            node.run(str(event.args["program"]), [str(one) for one in event.args["args"]])
        else:
            started = node.clock.now()
            answer = _handed_over(node, _session(node, session), event)
            outcome, error = str(answer.get("outcome")), str(answer.get("error"))
            took = node.clock.now() - started
    trace = tuple(node.faults.trace)
    node.clock.advance(MINUTE + (DELAYED_SERVICES_S if None in events else 0.0))
    return End(picture(node), trace, took, outcome, True, (), error=error)


def cut_once(node: SimulatedNode, session: Session, envelope: Document, cut: Cut, restarts: list[Document]) -> End:
    """The batch with the cut; afterwards a minute without anybody; then the same once more, as the next run would."""
    node.faults.clear()
    node.faults.arm(*cut.faults())
    with contextlib.suppress(SessionKilled, PowerLost, Unreachable):
        apply(node, session, envelope)
    node.boot()
    started = node.clock.now()
    while node.drive.exists(OPEN) and node.clock.now() - started < 600:
        node.clock.advance(0.5)
        node.boot()  # after the second cut
    settled = node.clock.now() - started
    node.clock.advance(max(0.0, MINUTE - settled))
    left = tuple(leftovers(node))
    fired = all(fault.fired for fault in node.faults.armed)
    if cut.kind == "power" or restarts:
        node.clock.advance(DELAYED_SERVICES_S)
    seen = picture(node)
    node.faults.clear()
    answer = apply(node, _session(node), {**envelope, "kind": "follow"})
    asked, error = str(answer.get("outcome")), str(answer.get("error") or "")
    again, after_again = "", None
    if asked != "done":
        answer = _handed_over(node, _session(node), as_new_batch(envelope))
        again = str(answer.get("outcome") or answer)
        node.clock.advance(QUIET_S)
        after_again = picture(node)
    return End(seen, (), settled, asked, fired, left, error, again, after_again)


def troubled(node: SimulatedNode, session: Session, envelope: Document, trouble: Trouble) -> End:
    """The batch with something going wrong around it; then that is mended, and the same once more."""
    node.faults.clear()
    trouble.arm(node)
    answer = _handed_over(node, session, envelope)
    started = node.clock.now()
    while node.drive.exists(OPEN) and node.clock.now() - started < 1200:
        node.clock.advance(1.0)
    settled = node.clock.now() - started
    node.clock.advance(MINUTE)
    trouble.mend(node)
    answer = apply(node, _session(node), {**envelope, "kind": "follow"})
    seen, left = picture(node), tuple(leftovers(node))
    outcome, error = str(answer.get("outcome")), str(answer.get("error") or "")
    again, after_again = "", None
    if outcome != "done":
        if outcome == "undo_failed":
            apply(node, _session(node), {**envelope, "kind": "acknowledge"})
        answer = _handed_over(node, _session(node), as_new_batch(envelope))
        again = str(answer.get("outcome") or answer)
        node.clock.advance(QUIET_S)
        after_again = picture(node)
    return End(seen, (), settled, outcome, True, left, error, again, after_again)


def _handed_over(node: SimulatedNode, session: Session, envelope: Document) -> Document:
    """The answer to a batch; if the connection breaks (a virtual switch, a restart), the node is asked for it."""
    asked = envelope
    for _ in range(5):
        with contextlib.suppress(SessionKilled, PowerLost, Unreachable):
            return apply(node, session, asked)
        node.clock.advance(MINUTE)
        node.boot()
        session, asked = _session(node), {**envelope, "kind": "follow"}
    raise AssertionError(f"{node.name} gives no answer")


def _session(node: SimulatedNode, session: Session | None = None) -> Session:
    """This one if it lives, else a new one as soon as the machine can be reached."""
    if session is not None and not session.killed:
        return session
    node.clock.advance_until(lambda: node.online, 180.0)
    return node.open_session()


def as_new_batch(envelope: Document) -> Document:
    """The same batch under another id, as a new plan makes it: it relies on nothing but what is there now."""
    identity = uuid.uuid4().hex
    return {**envelope, "id": identity, "batch": {**envelope["batch"], "id": identity, "pre": []}}


def picture(node: SimulatedNode) -> Picture:
    """The machine without what the collection keeps of its own work (receipts apart), and without what services write
    while they run."""
    found = copy.deepcopy(node.dump())
    found["drive"] = {path: value for path, value in found["drive"].items() if _counts(f"{path.lower()}\\")}
    if any(_CERTIFICATE.search(path) for path, _ in node.drive.walk()):
        found["certificate"] = True
    found["registry"] = {
        key: {
            name: value
            for name, value in values.items()
            if name not in NSSM_OWN and (name != "DelayedAutostart" or list(value) != NOT_DELAYED)
        }
        for key, values in found["registry"].items()
        if values
    }
    # Windows names a rule again each time it is made.
    rules = found["registry"].pop(RULES, {})
    found["firewall"] = dict(enumerate(sorted(json.dumps(rule) for rule in rules.values())))
    found["tasks"].pop(TASK, None)
    found["hns"] = [one for one in found["hns"] if one[:2] == ["network", OWN_NETWORK]]
    found["registry"].pop(EVENT_SOURCE, None)
    held = node.adapters.holder(node.nic.address)
    # On whichever adapter: what somebody set on it goes with the address.
    found["adapters"] = [node.online, asdict(held.settings.by_hand) if held and held.settings else None]
    for name in LATE_SERVICES:
        found["services"].get(name, {}).pop("state", None)
    found["processes"] = [one for one in found["processes"] if not one[1].lower().endswith(LATE_PROCESSES)]
    return found


def _counts(path: str) -> bool:
    if any(part in path for part in RUNTIME):
        return False
    if path.startswith(STATE):
        return path.startswith(STATE + "receipts\\") and path != STATE + "receipts\\"
    return not (path.startswith(DAEMON_DATA) or path.endswith(".log\\") or _CERTIFICATE.search(path))


def leftovers(node: SimulatedNode) -> list[str]:
    """Half-written and staged files."""
    ends = (".winkube-new", ".part")
    return [
        path
        for path, entry in node.drive.walk()
        if entry.kind == "file" and (path.endswith(ends) or path.lower().startswith(STAGING))
    ]


def differing(one: Mapping[str, Any], other: Mapping[str, Any], where: str = "") -> list[str]:
    """The places where two pictures differ, with both values."""
    words = []
    for key in sorted({*one, *other}, key=str):
        left, right = one.get(key), other.get(key)
        if isinstance(left, dict) and isinstance(right, dict):
            words += differing(left, right, f"{where}/{key}")
        elif left != right:
            words.append(f"{where}/{key}: {json.dumps(left)[:160]} -> {json.dumps(right)[:160]}")
    return words
