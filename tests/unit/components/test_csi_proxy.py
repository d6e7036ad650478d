"""csi-proxy from arguments to a batch, and that batch on a simulated node, in-process over the real link."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components import nssm
from ansible_collections.winkube.node.plugins.plugin_utils.components.program_service import Args
from ansible_collections.winkube.node.plugins.plugin_utils.components.programs import csi_proxy
from ansible_collections.winkube.node.plugins.plugin_utils.components.programs.csi_proxy import GROUPS
from ansible_collections.winkube.node.plugins.plugin_utils.engine import command_line
from ansible_collections.winkube.node.plugins.plugin_utils.engine.answer import Answer
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import Plan, make_plan, reads
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key, system_query
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.programs import Source
from ansible_collections.winkube.node.plugins.plugin_utils.node.link import Link

from tests.lab.machine.builds import build, nssm_archive, tar_gz
from tests.lab.machine.faults import ServiceFault
from tests.lab.machine.node import SimulatedNode
from tests.lab.twin.modules import run_module
from tests.lab.twin.node import LabNode

from .nodes import LAYOUT, bare, lines, running

MARK = "0123456789abcdef0123456789abcdef"
ARCHIVE = tar_gz({"bin/csi-proxy.exe": build("csi-proxy", "1.2.1")})
ON_NODE = "C:\\csi-proxy-v1.2.1.tar.gz"
NSSM_ON_NODE = "C:\\nssm-2.24.zip"
PIPES = ["csi-proxy-disk-v1", "csi-proxy-filesystem-v1", "csi-proxy-smb-v1", "csi-proxy-volume-v1"]


def source() -> Source:
    return Source(f"file:///{ON_NODE}".replace("\\", "/"), hashlib.sha256(ARCHIVE).hexdigest(), "1.2.1")


def arguments(manager: str = "sc", groups: tuple[str, ...] = (), mark: str = MARK) -> Args:
    url = f"file:///{NSSM_ON_NODE}".replace("\\", "/")
    zipped = Source(url, hashlib.sha256(nssm_archive()).hexdigest(), "2.24")
    tool = nssm.build_resources(LAYOUT, nssm.NssmSource(zipped, "nssm-2.24/win64/nssm.exe"), mark)
    return Args(
        LAYOUT,
        source(),
        csi_proxy.CsiProxyOptions(groups=groups),
        running(manager, tool if manager == "nssm" else ()),
        archive=True,
        mark=mark,
    )


def plan(reading: Reading, args: Args) -> Plan:
    return make_plan(csi_proxy.DECLARATION.component.name, csi_proxy.DECLARATION.build_resources(args), reading)


# -- the plan ----------------------------------------------------------------------------------------------------------


@pytest.mark.row("HP-09")
def test_program_service_and_the_pipes_as_the_gate() -> None:
    made = plan(bare(csi_proxy.DECLARATION.reads(LAYOUT)), arguments()).batch
    assert made is not None
    found = lines(made.ops)
    assert any(
        line.startswith("run sc.exe create csiproxy binPath= C:\\k\\csi-proxy.exe -windows-serv") for line in found
    )
    assert "run sc.exe start csiproxy" in found
    assert [str(op.args["name"]) for op in made.gate if op.args["for"] == "pipe"] == PIPES
    assert made.gate[-1].args["for"] == "service", "and it stays up"


@pytest.mark.row("HP-09")
def test_the_command_line_by_manager() -> None:
    def words(manager: str) -> list[str]:
        service = (
            plan(bare(csi_proxy.DECLARATION.reads(LAYOUT)), arguments(manager)).predicted.service("csiproxy") or {}
        )
        line = (service["nssm"] or {}).get("AppParameters") or service["image_path"].partition(" ")[2]
        return command_line.split(f"x {line}")[1:]

    kubelet = r"-kubelet-path=C:\var\lib\kubelet"
    assert words("sc") == ["-windows-service", kubelet, r"-log_file=C:\k\csi-proxy.log", "-logtostderr=false"]
    assert words("nssm") == [kubelet], "nssm takes its output, and speaks to the service control manager"


@pytest.mark.row("ST-08", "HP-09")
def test_the_groups_are_pipes() -> None:
    assert list(csi_proxy.pipes(())) == PIPES
    assert csi_proxy.pipes(("iscsi", "system")) == ("csi-proxy-iscsi-v1alpha1", "csi-proxy-system-v1alpha1")
    assert all(group.source for group in GROUPS)
    with pytest.raises(Refused, match="groups: tape: there are only disk, filesystem, smb, volume, iscsi, system"):
        csi_proxy.pipes(("disk", "tape"))


@pytest.mark.row("HP-09")
def test_releases_before_1_0_are_refused() -> None:
    csi_proxy.check("1.0.0", csi_proxy.CsiProxyOptions())
    with pytest.raises(Refused, match=r"csi-proxy 0\.2\.2 is older than 1\.0"):
        csi_proxy.check("0.2.2", csi_proxy.CsiProxyOptions())


# -- on a simulated node -----------------------------------------------------------------------------------------------


def machine() -> tuple[SimulatedNode, Link]:
    node = LabNode("win1")
    session = node.open_session()
    node.drive.write(ON_NODE, ARCHIVE)
    node.drive.write(NSSM_ON_NODE, nssm_archive())

    def execute(module: str, args: dict[str, Any]) -> dict[str, Any]:
        return run_module(node, session, module, args, False)

    return node, Link(execute, lambda: None, LAYOUT.state_dir, runner_mode="inline")


def read(link: Link, args: Args) -> Reading:
    queries = (
        *csi_proxy.DECLARATION.reads(LAYOUT),
        *reads(csi_proxy.DECLARATION.build_resources(args)),
        system_query(),
    )
    return Reading().merge(link.probe(queries), queries)


def converge(link: Link, args: Args) -> Answer | None:
    """The node's answer, None if nothing had to be done."""
    mark = uuid.uuid4().hex
    args = arguments(args.service.options.manager, mark=mark)
    made = plan(read(link, args), args).batch
    return None if made is None else link.apply(made, mark)


@pytest.mark.row("HP-09", "ST-08")
@pytest.mark.parametrize("manager", ["sc", "nssm"])
def test_it_runs_with_its_pipes_and_a_second_run_does_nothing(manager: str) -> None:
    node, link = machine()
    answer = converge(link, arguments(manager))
    assert answer is not None and answer.outcome == "done", answer
    assert node.services.state("csiproxy") == "running"
    assert all(node.pipes.exists(pipe) for pipe in PIPES)
    assert converge(link, arguments(manager)) is None


@pytest.mark.row("ST-08")
def test_without_its_pipes_everything_is_taken_back() -> None:
    node, link = machine()
    node.faults.service("csiproxy", ServiceFault("no_pipe"))
    answer = converge(link, arguments())
    assert answer is not None and answer.outcome == "undone", answer
    assert "csi-proxy-disk-v1" in answer.error.message
    after = read(link, arguments())
    assert after.service("csiproxy") is None
    assert not after.parts[file_key(r"C:\k\csi-proxy.exe")]["exists"]
