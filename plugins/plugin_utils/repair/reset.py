# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turn a node into a plain machine again, in two batches.

The first can be rolled back entirely: it removes pods and images while containerd runs, stops and removes services,
renames files aside, and removes networks. The second deletes the renamed files and the folders of our services; it
cannot be rolled back, and after an interruption the next run continues it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..components import networks, registry
from ..components.host import host
from ..components.networks import Adapter
from ..engine import windows_path
from ..engine.batch import Op, flatten
from ..engine.reading import (
    Query,
    Reading,
    file_key,
    file_query,
    merge_queries,
    service_key,
    services_query,
)
from ..engine.resource import Change, Refused, Resource
from ..engine.resources.environment_variable import ENVIRONMENT_KEY as ENVIRONMENT
from ..engine.resources.environment_variable import MachinePath
from ..engine.resources.hns_network import Addresses
from ..engine.resources.service import runs
from ..engine.services.existing import Existing, queries
from ..engine.tools import SYSTEM32, restore_value, run, wait_gone
from ..network.model import Network
from . import hns, owned, rejoin, stopping

NAME = "reset"
HCSDIAG = SYSTEM32 + r"\hcsdiag.exe"
TASK = Query("task:runner", "task", (("path", r"\winkube\runner"),))
SHIM = "containerd-shim-runhcs-v1.exe"
EVENT_SOURCE = r"HKLM\SYSTEM\CurrentControlSet\Services\EventLog\Application\NSSM"


@dataclass(frozen=True, slots=True)
class Down:
    """No pods, no images, none of our services."""

    scope: owned.Scope

    @property
    def label(self) -> str:
        """What it removes."""
        return "services"

    def reads(self) -> tuple[Query, ...]:
        """The services, and the programs that empty containerd."""
        layout = self.scope.layout
        return (
            services_query(self._order),
            *(file_query(path) for path in (*rejoin.crictl_places(layout), HCSDIAG)),
        )

    def reads_for_undo(self, reading: Reading) -> tuple[Query, ...]:
        """What the undo needs to recreate the services."""
        return tuple(query for name in self._order if reading.service(name) is not None for query in queries(name))

    def change(self, reading: Reading) -> Change | None:
        """Stop and remove. Refused if a service with one of our names runs someone else's program."""
        there = [name for name in self._order if reading.service(name) is not None]
        if not there:
            return None
        layout = self.scope.layout
        self._refuse_others(reading)
        *before, flanneld, containerd = self._order
        removed = (Existing.of(reading.service(name) or {}, reading).remove() for name in there)
        program = rejoin.crictl(layout, reading)
        shim = windows_path.join(layout.containerd_bin_dir, SHIM)
        return Change(
            text=self._text(there, program),
            before="".join(f"service {name}: {(reading.service(name) or {}).get('image_path')}\n" for name in there),
            after="no services\n",
            commit=(
                *stopping.stop(before, reading),
                *self._empty_containerd(program),
                *stopping.stop((flanneld, containerd), reading, after=before),
                wait_gone(shim, stopping.TIMEOUT_S),
                *((run(HCSDIAG, "list", ok_exit=(0, 1)),) if owned.is_there(HCSDIAG, reading) else ()),
                *flatten(removed),
            ),
            predicted={service_key(name): None for name in there},
            state=(services_query((*self._order, *(reading.parts.get("services") or ()))),),
        )

    @property
    def _order(self) -> tuple[str, ...]:
        return registry.stop_order(self.scope.layout)

    def _empty_containerd(self, program: str) -> tuple[Op, ...]:
        if not program:
            return ()
        pods = rejoin.remove_pods(self.scope.layout, program)
        if "images" in self.scope.how.keep:
            return (pods,)
        words = [*pods.args["args"][:2], "rmi", "--all"]
        return (pods, run(program, *words, timeout_s=600, encoding="utf-8"))

    def _text(self, there: list[str], program: str) -> str:
        images = "" if "images" in self.scope.how.keep else " and images"
        pods = f"all pods{images}, and " if program else ""
        return f"remove {pods}the services {', '.join(there)}"

    def _refuse_others(self, reading: Reading) -> None:
        layout = self.scope.layout
        wrong = [
            f"The service {name} runs {Existing(found).program}, not {program}: it is somebody else's, or a script "
            "made it (playbooks/site.yml takes that over first). Remove it yourself, or correct winkube_node."
            for daemon in reversed(registry.start_order())
            for name, program in ((daemon.service(layout), daemon.program(layout)),)
            if (found := reading.service(name)) is not None and not runs(name, program, reading)
        ]
        if wrong:
            raise Refused(*wrong)


@dataclass(frozen=True, slots=True)
class NoPathEntry:
    """`entry` is not in the machine's Path."""

    entry: str

    @property
    def label(self) -> str:
        return "the machine's Path"

    def reads(self) -> tuple[Query, ...]:
        """The value in the registry."""
        return MachinePath(self.entry).reads()

    def change(self, reading: Reading) -> Change | None:
        """Remove the entry; the rest of the value stays."""
        (query,) = self.reads()
        present = str(reading.parts[query.key].get("value") or "")
        entries = [each for each in present.split(";") if each]
        rest = [each for each in entries if not windows_path.is_same(each.strip('"'), self.entry)]
        if rest == entries:
            return None
        value = {"path": ENVIRONMENT, "name": "Path", "type": "expand_string"}
        changed = Op("registry_set", {**value, "value": ";".join(rest)})
        return Change(
            text=f"remove {self.entry} from the machine's Path",
            before="".join(f"{each}\n" for each in entries),
            after="".join(f"{each}\n" for each in rest),
            commit=(changed.with_undo(Op("registry_set", {**value, "value": present})),),
            predicted={query.key: {"exists": True, "type": "expand_string", "value": ";".join(rest)}},
            state=(query,),
        )


@dataclass(frozen=True, slots=True)
class NoVariable:
    """The machine's variable `name` is not set."""

    name: str

    @property
    def label(self) -> str:
        """The variable by name."""
        return f"the machine's variable {self.name}"

    def reads(self) -> tuple[Query, ...]:
        """Whether it is set: its fingerprint."""
        return (self._query(f"variable:{self.name.casefold()}", fingerprint=True),)

    def change(self, reading: Reading) -> Change | None:
        if not self._is_set(reading):
            return None
        (query,) = self.reads()
        remove = Op("registry_remove", {"path": ENVIRONMENT, "name": self.name})
        return Change(
            text=f"remove the machine's variable {self.name}",
            before=f"{self.name}: set\n",
            after=f"{self.name}: not set\n",
            commit=(remove.with_undo(restore_value(ENVIRONMENT, self.name)),),
            predicted={query.key: {"exists": False}},
            state=(query,),
        )

    def _is_set(self, reading: Reading) -> bool:
        return bool(reading.parts[self.reads()[0].key].get("exists"))

    def _query(self, key: str, *, fingerprint: bool = False) -> Query:
        more = (("fingerprint", True),) if fingerprint else ()
        return Query(key, "registry", (("path", ENVIRONMENT), ("name", self.name), *more))


@dataclass(frozen=True, slots=True)
class NoEventSource:
    r"""The event log has no source whose texts are in our nssm.exe, which registers one when it starts as a service.

    Source: nssm 2.24 registry.cpp, create_messages: EventLog\Application\NSSM; `nssm remove` leaves it.
    """

    nssm: str

    @property
    def label(self) -> str:
        """What is removed."""
        return "the event log's source NSSM"

    def reads(self) -> tuple[Query, ...]:
        """The source's key."""
        return (Query("registry:event_source:nssm", "registry", (("path", EVENT_SOURCE),)),)

    def change(self, reading: Reading) -> Change | None:
        """Remove it, unless it is another nssm.exe's."""
        (query,) = self.reads()
        values = reading.parts[query.key].get("values") or {}
        program = str((values.get("EventMessageFile") or {}).get("value") or "")
        if not program or not windows_path.is_same(program, self.nssm):
            return None
        back = (
            Op("registry_set", {"path": EVENT_SOURCE, "name": name, "type": value["type"], "value": value["value"]})
            for name, value in values.items()
        )
        return Change(
            text=f"remove {self.label}",
            before=f"{program}\n",
            commit=(Op("registry_remove", {"path": EVENT_SOURCE}).with_undo(*back),),
            predicted={query.key: {"exists": False}},
            state=(query,),
        )


@dataclass(frozen=True, slots=True)
class Aside:
    """Our files are renamed aside, until the second batch deletes them."""

    scope: owned.Scope

    @property
    def label(self) -> str:
        """What is renamed."""
        return "files"

    def reads(self) -> tuple[Query, ...]:
        """Nothing beyond the scope's own queries."""
        return ()

    def change(self, reading: Reading) -> Change | None:
        """Rename each. A file that an earlier reset left under that name is deleted first."""
        there = owned.files(self.scope, reading)
        if not there:
            return None
        old = set(owned.list_put_aside(self.scope, reading))
        ops: list[Op] = []
        for path in there:
            aside = path + owned.ASIDE
            if aside in old:
                ops.append(Op("remove", {"path": aside, "recurse": True}))
            back = Op("move", {"from": aside, "to": path})
            ops.append(Op("move", {"from": path, "to": aside}).with_undo(back))
        return Change(
            text=f"move {len(there)} files aside: {', '.join(there)}",
            before="".join(f"{path}\n" for path in there),
            commit=tuple(ops),
            predicted={
                key: value
                for path in there
                for key, value in (
                    (file_key(path), {"exists": False}),
                    (file_key(path + owned.ASIDE), {"exists": True, "kind": "file"}),
                )
            },
            state=tuple(file_query(each) for path in there for each in (path, path + owned.ASIDE)),
        )


@dataclass(frozen=True, slots=True)
class NoNetworks:
    """No HNS network of ours exists. Removing the last one also removes the virtual switch, and the adapter gets its
    addresses back."""

    scope: owned.Scope

    @property
    def label(self) -> str:
        """What is removed."""
        return "HNS networks"

    def reads(self) -> tuple[Query, ...]:
        """HNS, the adapters, and which networks were made here."""
        return (*hns.QUERIES, hns.record_query(self.scope.layout))

    def change(self, reading: Reading) -> Change | None:
        """Remove them; the undo makes the placeholder again, and flanneld its own. Refused while one is in use."""
        found = hns.hns(reading)
        going = sorted((each for each in found.networks if self.scope.ours.owns(each)), key=self._is_recorded)
        if not going or "networks" in self.scope.how.keep:
            return None
        pods = rejoin.crictl(self.scope.layout, reading)
        using = [(network, each) for network in going for each in hns.guests(found, network)]
        if using and not pods:
            raise Refused(
                *(
                    f"The HNS network {network.name} must be removed, but {each.label} on it is in use. Empty the node "
                    f"(kubectl drain), or lay crictl.exe into {self.scope.layout.containerd_bin_dir}, and run again."
                    for network, each in using
                )
            )
        adapters = networks.adapters(reading)
        names = ", ".join(each.name for each in going)
        return Change(
            text=f"remove the HNS networks {names}",
            before="".join(f"{each.name} ({each.type})\n" for each in going),
            commit=tuple(self._undone(op, going, adapters) for op in hns.remove(found, going, adapters)),
            predicted={hns.ALL: {"available": True, **dict.fromkeys(("networks", "endpoints"), "[]")}},
            state=self.reads(),
        )

    def _is_recorded(self, network: Network) -> bool:
        return network.id in self.scope.ours.recorded

    def _undone(self, op: Op, going: list[Network], adapters: tuple[Adapter, ...]) -> Op:
        """Add an undo that makes a network of ours again and waits for the addresses."""
        network = next((each for each in going if op.op == "hns_network_remove" and op.args["id"] == each.id), None)
        if network is None or not self._is_recorded(network):
            return op
        again = hns.request(network)
        held = next((each for each in adapters if each.physical == network.adapter and each.addresses), None)
        switch = f"vEthernet ({network.adapter})"
        settle = (
            Addresses(held.addresses, held.gateways, held.dns, held.dhcp).restore(switch, wait_s=hns.WAIT_S)
            if held
            else ()
        )
        return op.with_undo(Op("hns_network", {"name": network.name, "request": again}), *settle)


@dataclass(frozen=True, slots=True)
class Swept:
    """Delete the renamed files and the folders of our services, then every folder of ours that is empty."""

    scope: owned.Scope

    @property
    def label(self) -> str:
        """What is deleted."""
        return "folders"

    def reads(self) -> tuple[Query, ...]:
        """Nothing beyond the scope's own queries."""
        return ()

    def change(self, reading: Reading) -> Change | None:
        """Delete. No undo."""
        scope = self.scope
        aside = owned.list_put_aside(scope, reading)
        data = self.data(reading)
        empty = list_emptied(scope, reading, owned.everything(scope, reading))
        if not aside and not data and not empty:
            return None
        named = (*data, *(folder for folder in empty if not any(is_inside(folder, each) for each in data)))
        return Change(
            text=f"delete {len(aside)} files that were moved aside, and {', '.join(named)}",
            before="".join(f"{path}\n" for path in (*data, *empty)),
            commit=(
                *(Op("remove", {"path": path, "recurse": True, "in_use_ok": True}) for path in aside),
                *(Op("remove", {"path": path, "recurse": True}) for path in data),
                *(Op("remove", {"path": path, "only_if_empty": True}) for path in empty),
            ),
            predicted={file_key(path): {"exists": False} for path in (*aside, *data, *empty)},
            state=merge_queries(file_query(path, entries=True) for path in (*aside, *data, *empty)),
        )

    def data(self, reading: Reading) -> tuple[str, ...]:
        """The folders that are deleted entirely: not containerd's root while it has layers."""
        root = self.scope.how.containerd_root if owned.layers(self.scope, reading) else ""
        return tuple(path for path in owned.data(self.scope) if path != root and owned.is_there(path, reading))


def list_emptied(scope: owned.Scope, reading: Reading, going: tuple[str, ...]) -> tuple[str, ...]:
    """Folders that will be empty without `going`, deepest first."""
    stay = {windows_path.key(each) for each in owned.strangers(scope, reading, going)}
    held = {key for each in stay for key in _list_parents(each)}
    gone = {windows_path.key(path) for path in going}
    return tuple(
        folder
        for folder in owned.folders(scope, reading)
        if windows_path.key(folder) not in stay | held
        and not any(is_inside(folder, each) for each in going)
        and windows_path.key(folder) not in gone
    )


def is_inside(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or inside it."""
    return f"{windows_path.key(path)}\\".startswith(f"{windows_path.key(folder)}\\")


def _list_parents(key: str) -> set[str]:
    found = set()
    while len(key) > len("c:\\"):
        found.add(key)
        key = windows_path.parent(key)
    return found


def list_left(scope: owned.Scope, reading: Reading) -> tuple[str, ...]:
    """What a reset leaves, a sentence each, from a reading after it (in check mode: of its plan)."""
    going = owned.everything(scope, reading) if reading.predicted else ()
    found = [
        f"{folder} stays: it holds {', '.join(names[:5])}{' and more' if len(names) > 5 else ''}"
        for folder, names in owned.strangers(scope, reading, going).items()
    ]
    if layers := owned.layers(scope, reading):
        found.append(
            f"{scope.how.containerd_root} stays: containerd has {len(layers)} layers in it. crictl.exe rmi --all while "
            "containerd runs removes them; deleting the folder can go through a mounted one"
        )
    state = hns.hns(reading)
    found += [f"the HNS network {each.name} ({each.type}) stays: it is not ours" for each in state.networks
              if not scope.ours.owns(each)]  # fmt: skip
    if "networks" in scope.how.keep and (names := [each.name for each in state.networks if scope.ours.owns(each)]):
        found.append(f"the HNS networks {', '.join(names)} stay, as winkube_reset_keep says")
    task = bool(reading.parts.get(TASK.key, {}).get("exists"))
    if owned.is_there(scope.layout.state_dir, reading):
        end = "Unregister-ScheduledTask and a deleted folder end it" if task else "A deleted folder ends it"
        more = r" and the task \winkube\runner stay" if task else " stays"
        copies = "the journal of what was done, with copies of the files that it replaced"
        found.append(f"{scope.layout.state_dir}{more}: {copies}. {end}")
    if all(reading.service(name) is not None for name in host.containers(scope.layout).services):
        found.append("the Windows feature Containers stays: turning it off takes a restart, and others may use it")
    if names := [name for name in host.PROXY_VARIABLES if reading.parts[NoVariable(name).reads()[0].key].get("exists")]:
        found.append(
            f"the machine's variables {', '.join(names)} stay, since other programs may use them: "
            "winkube_reset_variables names those that shall go"
        )
    return tuple(found)


def list_undone(resources: Iterable[Resource], reading: Reading) -> tuple[str, ...]:
    """What should be gone but exists again or still, a sentence each, from a reading after the reset. Empty in check
    mode, where the reading is the plan's."""
    if reading.predicted:
        return ()
    found = ((each.label, each.change(reading)) for each in resources)
    return tuple(
        f"{label}: not all of it is gone, or something made it again; another run would {change.text}"
        for label, change in found
        if change is not None
    )


def list_left_queries(scope: owned.Scope) -> tuple[Query, ...]:
    """What `list_left` reads besides our own things: the feature's services, the runner's task, the state folder."""
    variables = (query for name in host.PROXY_VARIABLES for query in NoVariable(name).reads())
    return (*host.containers(scope.layout).reads(), TASK, file_query(scope.layout.state_dir), *variables)
