# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a provisioner's items and a reading to what each of them needs, and to the two batches that do it.

Two, because a batch cannot branch on what a program prints: the first puts the new programs beside everything and asks
them for their version while the services run; the second swaps all of them, or none.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..components.layout import Layout
from ..engine import windows_path
from ..engine.address import mask
from ..engine.answer import Answer
from ..engine.batch import Batch, Op
from ..engine.reading import (
    Expectation,
    Query,
    Reading,
    file_key,
    file_query,
    merge_queries,
    services_query,
    system_query,
)
from ..engine.resource import Notice, Refused, Resource
from ..engine.resources import programs as places
from ..engine.resources.directory import Directory, guard
from ..engine.resources.programs import find_push_receipt, previous_path
from ..engine.resources.service import ACTIVE, Service
from ..engine.tools import run
from ..node.link import person
from . import pe_image, provision_service
from .options import Timeouts
from .provision_items import Item
from .provision_service import explain_bad_start, explain_rest, needs, runs_another, service
from .provision_source import Origin
from .provision_swap import Swap, program_queries, receipt_query, staged_query

NAME = "provisioner"

What = Literal["unchanged", "skipped", "compare", "replace", "previous"]
SWAPPED = frozenset({"compare", "replace", "previous"})
HELD_TRIES, HELD_S = 3, 2.0
ASK_S = 30
"""So long a program may take to say its version."""


@dataclass(frozen=True, slots=True)
class Task:
    """One item, what has to be done for it, and what is known: `new` is the sha256 that it will have (empty: known
    after the download), `version` that of the new program, `before` that of the present one (both empty: unknown).

    `service` is the service that runs it as the probe listed it, None if there is none and the program is copied only.
    """

    item: Item
    origin: Origin | None
    what: What
    present: Mapping[str, Any]
    new: str = ""
    version: str = ""
    before: str = ""
    service: Mapping[str, Any] | None = None
    staged: str = ""
    size: int = 0

    @property
    def is_staged(self) -> bool:
        """Whether a new program has to be, or is, put beside the present one."""
        return self.what in {"compare", "replace"}


def receipt(item: Item, layout: Layout) -> str:
    """Where the node keeps where the item's program came from."""
    return find_push_receipt(layout.state_dir, item.name)


def staging(item: Item, layout: Layout) -> str:
    """The folder for new programs, on the destination's drive."""
    return places.staging(layout.state_dir, item.destination, "provision")


def reads(items: Sequence[Item], layout: Layout) -> tuple[Query, ...]:
    """What has to be known of the node, besides what every component reads."""
    return merge_queries(
        (
            *(query for item in items for query in program_queries(item.destination)),
            *(receipt_query(receipt(item, layout)) for item in items),
            *(file_query(staging(item, layout), entries=True) for item in items),
            services_query(tuple(item.service for item in items)),
            *provision_service.reads(layout),
        )
    )


def read_patiently(
    reading: Reading,
    queries: Sequence[Query],
    probe: Callable[[Sequence[Query]], Mapping[str, Any]],
    sleep: Callable[[float], None] = time.sleep,
) -> Reading:
    """The reading, with the files asked for again that something holds: a virus scanner lets go of a program within
    seconds."""
    for _attempt in range(HELD_TRIES):
        errors = reading.errors()
        held = tuple(query for query in queries if query.op == "file" and query.key in errors)
        if not held:
            break
        sleep(HELD_S)
        reading = reading.merge(probe(held), held)
    return reading


def make_tasks(
    items: Sequence[Item],
    origins: Mapping[str, Origin],
    layout: Layout,
    reading: Reading,
    *,
    daemon_sets: Sequence[str] = (),
) -> tuple[Task, ...]:
    """What each item needs. Refused for a missing service, a build for another architecture, no way back.

    `daemon_sets` are those that run kube-proxy from this node's file (KUBEPROXY_PATH).
    """
    problems: list[str] = []
    found: list[Task] = []
    for item in items:
        try:
            found.append(_make_task(item, origins.get(item.name), layout, reading, daemon_sets))
        except Refused as refused:
            problems += refused.sentences
    if problems:
        raise Refused(*problems)
    return tuple(found)


def _make_task(item: Item, origin: Origin | None, layout: Layout, reading: Reading, daemon_sets: Sequence[str]) -> Task:
    listed = reading.service(item.service)
    if listed is None and not item.copy_only and not (item.name.casefold() == "kube-proxy" and daemon_sets):
        raise Refused(
            f"{item.name}: there is no service {item.service} on the node, and a provisioner replaces the program of a "
            "service that is there. Make it first (the roles do), name another (service_name), or say "
            "service_missing: copy_only."
        )
    if listed is not None and listed.get("deleting"):
        raise Refused(
            f"The service {item.service} is marked for deletion (Windows error 1072): something still holds it open. "
            "Close services.msc and event viewers on the node, or reboot it, and run again."
        )
    present = reading.file(item.destination)
    before = version_on_node(item, present, layout, reading)
    made = Task(item, origin, "unchanged", present, before=before, service=listed)
    if origin is None:
        return _swap_back(made, layout, reading)
    if origin.build is not None:
        build = origin.build
        architecture = str((reading.parts.get("system", {}).get("os") or {}).get("architecture") or "")
        if problem := pe_image.problem(build.head, build.size, architecture):
            raise Refused(f"{item.name}: {build.path} {problem}")
        made = replace(made, size=build.size)
    made = replace(made, new=origin.sha256 or "", version=pe_image.strip_v(item.version))
    if _is_present(made, layout, reading):
        return replace(made, new=str(present.get("sha256")), version=before)
    if present.get("exists") and not item.overwrite:
        return replace(made, what="skipped")
    if made.new and reading.file(previous_path(item.destination)).get("sha256") == made.new:
        return _swap_back(made, layout, reading)
    name = f"{made.new or 'download'}-{windows_path.name(item.destination)}"
    staged = windows_path.join(staging(item, layout), name)
    return replace(made, what="replace" if made.new else "compare", staged=staged)


def _swap_back(task: Task, layout: Layout, reading: Reading) -> Task:
    """For `state: previous`, and for a build that is the previous one: the two change places, nothing is transferred.
    Nothing if what is wanted is there already."""
    item, kept = task.item, reading.file(previous_path(task.item.destination))
    wanted = task.new or item.checksum.removeprefix("sha256:")
    if wanted and task.present.get("sha256") == wanted:
        return task
    if not kept.get("exists"):
        raise Refused(
            f"{item.name}: there is no program to go back to: {previous_path(item.destination)} is not on the node. A "
            "provisioner keeps the one that it replaced last."
        )
    if wanted and kept.get("sha256") != wanted:
        raise Refused(
            f"{item.name}: {previous_path(item.destination)} has the sha256 {kept.get('sha256')}, and the checksum "
            f"says {wanted}: it is another build."
        )
    noted = _read_receipt(receipt(item, layout), item, task.present, reading).get("previous") or {}
    version = str(noted.get("version") or "") if noted.get("sha256") == kept.get("sha256") else ""
    return replace(
        task,
        what="previous",
        new=str(kept.get("sha256")),
        size=int(kept.get("size") or 0),
        version=version or pe_image.read_resource_version(str(kept.get("version") or "")) or task.version,
    )


def _is_present(task: Task, layout: Layout, reading: Reading) -> bool:
    """By its sha256. Where no one knows that: the same address and version were put there, and nothing has changed it
    since."""
    if task.new:
        return task.present.get("sha256") == task.new
    if task.origin is None or not task.item.version:
        return False
    known = _read_receipt(receipt(task.item, layout), task.item, task.present, reading)
    return known.get("url") == mask(task.origin.url) and known.get("version") == pe_image.strip_v(task.item.version)


def version_on_node(item: Item, present: Mapping[str, Any], layout: Layout, reading: Reading) -> str:
    """The version of the program that is there, from what was noted when it was put there or from its version
    resource; empty if neither tells."""
    for path in (
        receipt(item, layout),
        windows_path.join(layout.state_dir, "receipts", f"{item.name.casefold()}.json"),
    ):
        if version := str(_read_receipt(path, item, present, reading).get("version") or ""):
            return pe_image.strip_v(version)
    return pe_image.read_resource_version(str(present.get("version") or "")) or ""


def _read_receipt(path: str, item: Item, present: Mapping[str, Any], reading: Reading) -> Mapping[str, Any]:
    """The source in a receipt that is about the very bytes that are there; empty if there is none."""
    try:
        known = json.loads(reading.text(path) or "null")
        files = {windows_path.key(file["path"]): file["sha256"] for file in known["files"]}
        source = known["source"]
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return {}
    same = bool(present.get("sha256")) and files.get(item.place) == present.get("sha256")
    return source if same and isinstance(source, Mapping) else {}


# -- the first batch ------------------------------------------------------------------------------------------------


def make_folders(tasks: Iterable[Task], layout: Layout, reading: Reading) -> Batch | None:
    """The folder that a transfer from the controller needs before the first batch; None if it is there."""
    folders = dict.fromkeys(
        staging(task.item, layout) for task in tasks if task.is_staged and task.origin and task.origin.build
    )
    missing = [folder for folder in folders if not reading.file(folder).get("exists")]
    if not missing:
        return None
    ops = tuple(replace(op, undo=()) for folder in missing for op in places.make_staging(folder))
    return Batch(NAME, ops, pre=(_machine(reading),), state=tuple(file_query(path, entries=True) for path in missing))


def stage(
    tasks: Sequence[Task],
    pushed: Mapping[str, tuple[Op, ...]],
    layout: Layout,
    reading: Reading,
    *,
    proxy: str,
    timeout_s: int,
) -> Batch:
    """Bring the new programs in beside the present ones and ask them for their version. `pushed` has the ops that
    make a program out of what was transferred, by the item's name."""
    staged = [task for task in tasks if task.is_staged]
    kept = {windows_path.key(task.staged) for task in staged} | _list_transferred(pushed)
    ops: list[Op] = []
    for folder in dict.fromkeys(staging(task.item, layout) for task in staged):
        ops += (replace(op, undo=()) for op in places.make_staging(folder))
        for entry in reading.file(folder).get("entries") or ():
            stale = windows_path.join(folder, entry)
            if windows_path.key(stale) not in kept:
                ops.append(Op("remove", {"path": stale, "in_use_ok": True, "recurse": True}))
    for task in staged:  # no undo: what cannot even be started has to be looked at (`discard` takes it away)
        ops += pushed.get(task.item.name) or (_fetch(task, proxy, timeout_s),)
        ops += ask(task.item, task.staged)
    return Batch(
        NAME,
        tuple(ops),
        pre=(_machine(reading),),
        state=tuple(staged_query(task.staged) for task in staged),
        deadline_s=max(900, timeout_s * len(staged) + 300),
    )


def predict_staging(tasks: Iterable[Task], reading: Reading) -> Reading:
    """For check mode: the new programs lie there, with what is known of them."""
    parts = {
        file_key(task.staged): {"exists": True, "kind": "file", "sha256": task.new or None, "size": task.size}
        for task in tasks
        if task.is_staged
    }
    return reading.merge(parts)


def _list_transferred(pushed: Mapping[str, tuple[Op, ...]]) -> set[str]:
    """The parts that a transfer has put there: those that its ops remove in the end."""
    return {windows_path.key(str(op.args["path"])) for ops in pushed.values() for op in ops if op.op == "remove"}


def assemble(op: Mapping[str, Any], parts: Iterable[str], fetches: Iterable[Op] = ()) -> tuple[Op, ...]:
    """The op that makes a program of what was transferred (transfer/push.py), and the parts taken away; before it the
    ops by which the node fetches them, where it does."""
    undo = (Op(each["op"], each["args"]) for each in op.get("undo") or ())
    made = Op(str(op["op"]), op["args"]).with_undo(*undo)
    return (*fetches, made, *(Op("remove", {"path": part, "in_use_ok": True}) for part in parts))


def list_bases(task: Task, reading: Reading) -> list[tuple[str, str]]:
    """Programs on the node (path, sha256) of which the new one may be mostly made."""
    paths = (task.item.destination, previous_path(task.item.destination))
    return [(path, str(reading.file(path)["sha256"])) for path in paths if reading.file(path).get("sha256")]


def _fetch(task: Task, proxy: str, timeout_s: int) -> Op:
    """Whatever it is that comes: what it is if it is not a program says more than that it is none."""
    if task.origin is None:
        raise Refused(f"{task.item.name}: there is no source to fetch.")
    args: dict[str, Any] = {"url": task.origin.url, "path": task.staged, "sha256": task.origin.sha256}
    return Op("fetch", {**args, "timeout_s": timeout_s, **({"proxy": proxy} if proxy else {})})


def ask(item: Item, program: str) -> tuple[Op, ...]:
    """Let the program say its version, whatever it then ends with; nothing for one of which it is not known how."""
    if not item.asks:
        return ()
    return (run(program, *item.asks, ok_exit=ANY_EXIT, timeout_s=ASK_S, encoding="utf-8"),)


ANY_EXIT = (0, 1, 2, 3)
"""What Go programs end with: flag errors 2 or 1, a panic 2."""


def discard(tasks: Iterable[Task], reading: Reading) -> Batch:
    """Take staged programs away that will not be swapped in."""
    ops = tuple(Op("remove", {"path": task.staged, "in_use_ok": True}) for task in tasks if task.is_staged)
    return Batch(NAME, ops, pre=(_machine(reading),))


def judge(tasks: Sequence[Task], batch: Batch, answer: Answer, reading: Reading) -> tuple[Task, ...]:
    """The tasks with what the node says of the staged programs: hash, size, version. Refused with a sentence for each
    that is not a program for this node."""
    architecture = str((reading.parts.get("system", {}).get("os") or {}).get("architecture") or "")
    said = _read_outputs(batch, answer)
    problems: list[str] = []
    found: list[Task] = []
    for task in tasks:
        if not task.is_staged:
            found.append(task)
            continue
        file = reading.file(task.staged)
        if not file.get("exists"):
            why = file.get("error") or "something on the node has taken it away, such as an antivirus program"
            problems.append(f"{task.item.name}: the new program {task.staged} cannot be looked at: {why}.")
            continue
        head = base64.b64decode(file.get("head") or "")
        size = int(file.get("size") or 0)
        where = mask(task.origin.url) if task.origin else task.staged
        if problem := pe_image.problem(head, size, architecture):
            problems.append(f"{task.item.name}: {where} {problem}")
            continue
        words = said.get(windows_path.key(task.staged))
        version = task.version
        if words is not None:
            code, output = words
            reported = pe_image.read_version(output)
            if reported is None and code != 0:
                problems.append(
                    f"{task.item.name}: {where} does not even say its version on this node: it ended with exit code "
                    f"{code}: {' '.join(output.split())[-500:] or 'it printed nothing'}."
                )
                continue
            version = reported or version
        elif of_file := pe_image.read_resource_version(str(file.get("version") or "")):
            version = of_file
        new = str(file.get("sha256"))
        what: What = "unchanged" if new == task.present.get("sha256") else "replace"
        found.append(replace(task, what=what, new=new, size=size, version=version))
    if problems:
        raise Refused(*problems)
    return tuple(found)


def _read_outputs(batch: Batch, answer: Answer) -> dict[str, tuple[int, str]]:
    """Exit code and output of each program that was asked, by its path: results carry only the number of the op."""
    return {
        windows_path.key(str(batch.ops[each.n].args["program"])): (each.exit_code or 0, f"{each.stdout}\n{each.stderr}")
        for each in answer.ran
        if each.ok and each.n < len(batch.ops)
    }


# -- the second batch -----------------------------------------------------------------------------------------------


def check(tasks: Iterable[Task], env_file: str) -> tuple[list[str], list[str]]:
    """Reasons not to swap, and warnings: versions that are not the wanted ones, arguments that the new programs do not
    take, services that run something else."""
    problems: list[str] = []
    warnings: list[str] = []
    for task in tasks:
        item = task.item
        if item.verify != "false" and item.version and task.what == "replace":
            verdict = pe_image.compare(item.version, task.version or None)
            if verdict.kind == "other" and item.verify == "true":
                problems.append(
                    f"{item.name}: {_describe_source(task)} {verdict.text}. Correct version, or say "
                    "verify_version: warn."
                )
            elif verdict.kind != "same":
                warnings.append(f"{item.name}: {_describe_source(task)} {verdict.text}.")
        if task.service is not None and task.what in {"replace", "previous"}:
            refused, unchecked = explain_bad_start(item, task.service, task.version, task.before, env_file)
            problems += refused
            warnings += unchecked
            if sentence := runs_another(item, task.service):
                warnings.append(sentence)
    return problems, warnings


def _describe_source(task: Task) -> str:
    return mask(task.origin.url) if task.origin else previous_path(task.item.destination)


def build_resources(
    tasks: Sequence[Task], layout: Layout, reading: Reading, timeouts: Timeouts, mark: str, notices: Sequence[str] = ()
) -> tuple[Resource, ...]:
    """The swaps, in the order of the list, and their services, those first that others need."""
    swaps = [task for task in tasks if task.what in SWAPPED]
    groups = _by_service(swaps)
    services: list[Service] = [
        service([task.item for task in group], group[0].service or {}, layout, reading, timeouts) for group in groups
    ]
    stay = [f"leave the service {name} stopped, as it was" for name in find_resting(tasks, layout, reading)]
    said = (*stay, *notices) if swaps else ()
    return (
        *_folders(swaps),
        *(_swap(task, layout, reading, mark) for task in swaps),
        *services,
        *(Notice(NAME, text) for text in said),
    )


def _by_service(swaps: Iterable[Task]) -> list[list[Task]]:
    """Those with a service, a list per service; services that others need come first."""
    found: dict[str, list[Task]] = {}
    for task in swaps:
        if task.service is not None:
            found.setdefault(str(task.service["name"]).casefold(), []).append(task)
    return sorted(found.values(), key=lambda group: min(task.item.rank for task in group))


def list_service_queries(tasks: Iterable[Task]) -> tuple[Query, ...]:
    """What `build_resources` reads in addition to `reads`: normally nothing."""
    return merge_queries(needs((task.item, task.service) for task in tasks if task.what in SWAPPED))


def find_resting(tasks: Iterable[Task], layout: Layout, reading: Reading) -> dict[str, str]:
    """Services with a new program that are not started, and why: no one knows then whether it works."""
    found = {}
    for group in _by_service(task for task in tasks if task.what in SWAPPED):
        if why := explain_rest([task.item for task in group], group[0].service or {}, layout, reading):
            found[str((group[0].service or {})["name"])] = why
    return found


def warn_untried(tasks: Iterable[Task], layout: Layout, reading: Reading) -> list[str]:
    """A warning for each service that no one has tried: new programs that are not started, and programs that are the
    same as before behind a service that has ended."""
    found = [
        f"The service {name} has a new program, and was stopped before: it is left so, since {why}. It is unknown "
        f"whether it works; start it with: sc.exe start {name}"
        for name, why in find_resting(tasks, layout, reading).items()
    ]
    for task in tasks:
        state = (task.service or {}).get("state")
        if task.what == "unchanged" and task.service is not None and state not in ACTIVE:
            code = task.service.get("service_exit_code") or task.service.get("exit_code")
            found.append(
                f"{task.item.name}: this very program is there already, and its service {task.item.service} is "
                f"{state}{f' with exit code {code}' if code else ''}: nothing was started."
            )
    return found


def _folders(swaps: Iterable[Task]) -> tuple[Directory, ...]:
    """The folders of programs that are not there yet."""
    missing = [windows_path.parent(task.item.destination) for task in swaps if not task.present.get("exists")]
    return guard(*dict.fromkeys(missing)) if missing else ()


def _swap(task: Task, layout: Layout, reading: Reading, mark: str) -> Swap:
    item = task.item
    return Swap(
        name=item.name,
        destination=item.destination,
        fresh=task.staged or previous_path(item.destination),
        sha256=task.new or "(known after download)",
        receipt=receipt(item, layout),
        origin={
            "by": person(),
            "at": str(reading.parts.get("system", {}).get("clock") or ""),
            "url": _describe_source(task),
            "sha256": task.new or None,
            "version": task.version,
            "previous": {"sha256": task.present.get("sha256"), "version": task.before},
        },
        certain=task.what != "compare",
        mark=mark,
        size=task.size,
        before=task.before,
    )


def _machine(reading: Reading) -> Expectation:
    return Expectation(system_query(), (("machine", reading.machine),))
