"""What the archive does besides the cases: reads the machine as site.yml would, asks HNS, and takes a real containerd
from download to CRI over TCP and away again, all by batches that the collection plans.

The plans are made here from what the machine has to be like; a machine that is not like that answers `stale`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jinja2
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd import containerd, containerd_config
from ansible_collections.winkube.node.plugins.plugin_utils.components.layout import Layout
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import read_plan
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp import node as cri_tcp
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp.edit import Address, Listener
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp.proof import rehearsal as rehearse
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch, Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Query, Reading
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Resource
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.environment_variable import MachinePath
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.programs import Source
from ansible_collections.winkube.node.plugins.plugin_utils.engine.tools import (
    MARKED_FOR_DELETION,
    NOT_INSTALLED,
    NOT_STARTED,
    sc,
    wait_gone,
)
from ansible_collections.winkube.node.plugins.plugin_utils.node.runner_text import add_hns_text

from tests.contract.case import Tree
from tests.contract.implementations import Place
from tests.contract.powershell import ROOT
from tests.contract.steps import Prepare, Run, Step, Steps, Want, without_hns
from tests.unit.components.nodes import LAYOUT, bare, wanted_containerd
from tests.unit.cri_tcp.asked import asked

SERVICE = "winkube-contract-containerd"
HOME = "C:\\winkube-contract-node"
PAUSE = "registry.k8s.io/pause:3.10.1"
MARK = "c0" * 16
PORT = 48888
LISTS = ("services", "processes", "adapters", "on_path")
"""Queries whose answer is a list."""


@dataclass(frozen=True)
class Download:
    """The containerd to install: its version, where its archive is, and the archive's sha256."""

    version: str
    url: str
    sha256: str


@dataclass(frozen=True)
class Journey:
    """Steps that run once, with the first PowerShell at hand. `skip` says why they do not."""

    id: str
    stage: str
    steps: Steps
    skip: str = ""


def journeys(place: Place, runner: Mapping[str, str], download: Download | None) -> list[Journey]:
    """All of them, in the order in which they run."""
    found = [_reading(place), _hns(place)]
    if download is None:
        none = "the archive was made without the checksum of a containerd (--containerd, --checksum)"
        return [*found, Journey("containerd", "containerd", Steps((), ()), none)]
    return [*found, _containerd(place, runner, download)]


def layout(place: Place) -> Layout:
    """Where the containerd of the journey lies: nothing of a node's own is touched."""
    return replace(
        LAYOUT,
        state_dir=place.state,
        root=HOME,
        cni_bin_dir=f"{HOME}\\cni",
        cni_conf_dir=f"{HOME}\\cni\\config",
        containerd_service=SERVICE,
        containerd_binary=f"{HOME}\\bin\\containerd.exe",
        containerd_config=f"{HOME}\\config.toml",
        containerd_log=f"{HOME}\\log\\containerd.log",
        containerd_pipe=SERVICE,
        certs_dir=f"{HOME}\\certs.d",
    )


def _probe(place: Place, what: str, queries: Sequence[dict[str, Any]], parts: dict[str, Any]) -> Run:
    sent = {"schema": 1, "state_dir": place.state, "queries": list(queries)}
    return Run("node_probe", add_hns_text(sent), [Want(what, ("parts",), parts)])


def _reading(place: Place) -> Journey:
    """The one read of a run of site.yml with the collection's defaults; each part has to be without an error, but for
    the health of services: they do not run."""
    queries = [query.wire() for query in read_plan(LAYOUT)]
    asked = [query for query in queries if not query["key"].startswith("http:")]
    parts = {query["key"]: "$list" if query["op"] in LISTS else {"error": "$absent"} for query in asked}
    return Journey("look-reading", "look", Steps((_probe(place, "the reading", queries, parts),), ()))


def _hns(place: Place) -> Journey:
    """What HNS says; on a machine without it, that it is not there."""
    query = {"key": "hns", "op": "hns", "objects": ["networks", "endpoints", "policylists", "namespaces"]}
    step = _probe(place, "HNS", [query], {"hns": {"available": "$bool"}})
    return Journey("look-hns", "look", Steps((step,), ()))


def _containerd(place: Place, runner: Mapping[str, str], download: Download) -> Journey:
    """Install, look, rehearse, open, close; then everything is taken away."""
    where = layout(place)
    bare_machine = bare(containerd.reads(where))
    # The machine's Path is not ours to change here, and nobody can know it.
    resources = [each for each in _build_resources(where, download) if not isinstance(each, MachinePath)]
    installed = make_plan(containerd.NAME, resources, bare_machine)
    opening = cri_tcp.CriTcp(asked(expires_after="never"), where, Listener(Address("127.0.0.1", PORT)))
    before = _known(installed.predicted, cri_tcp.reads(opening))
    wanted = cri_tcp.build_resources(opening, before)
    rehearsal = rehearse(opening, wanted, before)
    opened = make_plan(cri_tcp.NAME, wanted, before)
    closing = cri_tcp.CriTcp(asked(), where, None)
    then = _known(opened.predicted, cri_tcp.reads(closing))
    closed = make_plan(cri_tcp.NAME, cri_tcp.build_resources(closing, then), then)
    send = _Send(where.state_dir, runner)
    # Its machine is the one that was planned for; here any will do.
    rehearsed = send.batch("the rehearsal", replace(_there(rehearsal), pre=()))
    dump = Want("config dump of the new file", ("results", 2, "stdout"), f"~127\\.0\\.0\\.1:{PORT}")
    running = {"service": {"exists": True, "state": "running"}, "pipe": {"exists": True}}
    look = [
        {"key": "service", "op": "service", "name": SERVICE},
        {"key": "pipe", "op": "pipe", "name": where.containerd_pipe},
    ]
    main: list[Step] = [
        Prepare(Tree({})),
        send.batch("containerd is installed", _there(installed.batch)),
        _probe(place, "containerd is ready", look, running),
        replace(rehearsed, wants=[*rehearsed.wants, dump]),
        send.batch("CRI is opened over TCP", _there(opened.batch)),
        _probe(place, "containerd is ready with TCP", look, running),
        send.batch("CRI is closed again", _there(closed.batch)),
        _probe(place, "containerd is ready without TCP", look, running),
    ]
    last: list[Step] = [
        send.batch("containerd is taken away", Batch("contract", _away(where))),
        _probe(place, "nothing is left", look, {"service": {"exists": False}, "pipe": {"exists": False}}),
        Prepare(Tree({})),
    ]
    return Journey("containerd", "containerd", Steps(main, last))


def _build_resources(where: Layout, download: Download) -> tuple[Resource, ...]:
    """What win_containerd wants for the defaults of its role."""
    # With the default its data would be those of a containerd of the machine.
    wanted = replace(wanted_containerd(download.version, PAUSE, where), root=f"{HOME}\\root", state=f"{HOME}\\state")
    folder = ROOT / "roles" / "containerd" / "templates"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    config = environment.get_template("config.toml.j2").render(containerd_config.template_variables(wanted))
    source = Source(download.url, download.sha256, download.version)
    arguments = containerd.ContainerdArgs(wanted, source, archive=True, config=config, mark=MARK)
    return containerd.build_resources(arguments)


def _known(reading: Reading, queries: Sequence[Query]) -> Reading:
    """The reading, and of what it does not hold that it is not there."""
    missing = reading.find_missing(queries)
    answers = dict(bare(tuple(missing)).parts)
    # The rules of the firewall, and its switches: no rule of ours, and nothing said about a switch.
    nothing: dict[str, Any] = {"exists": True, "value": None, "values": {}, "keys": []}
    answers |= {query.key: nothing for query in missing if query.op == "registry"}
    return reading.merge(answers, missing)


def _there(batch: Batch | None) -> Batch:
    if batch is None:
        raise ValueError("there is nothing to do: the plan for the bare machine is wrong")
    return batch


def _away(where: Layout) -> tuple[Op, ...]:
    """Ops that take the service and all files away, whatever of them is there."""
    return (
        sc("stop", SERVICE, ok_exit=(0, NOT_INSTALLED, NOT_STARTED)),
        wait_gone(where.containerd_binary, 60),
        sc("delete", SERVICE, ok_exit=(0, NOT_INSTALLED, MARKED_FOR_DELETION)),
        Op("remove", {"path": HOME, "recurse": True}),
    )


@dataclass
class _Send:
    """Batches as the action plugins send them, by the scheduled task, numbered."""

    state_dir: str
    runner: Mapping[str, str]
    sent: int = 0

    def batch(self, what: str, batch: Batch) -> Run:
        """The batch as a step that has to end with `done`."""
        self.sent += 1
        batch_id = f"{self.sent:032x}"
        envelope = {
            "schema": 1,
            "kind": "submit",
            "id": batch_id,
            "state_dir": self.state_dir,
            "controller": "contract",
            "follow_s": 280,
            "runner": {"mode": "task", **without_hns(self.runner)},
            "state": [query.wire() for query in batch.state],
            "batch": batch.wire(batch_id),
        }
        return Run("node_apply", add_hns_text(envelope), (), what, "done")
