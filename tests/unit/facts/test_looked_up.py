"""Every place where a program of a node starts another is explained, and what it needs lies in the Path it is given."""

from __future__ import annotations

from fnmatch import fnmatch

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.declaration import LOCAL_SYSTEM, Daemon, Started
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.joining import Joining
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import COMPONENTS, DAEMONS
from ansible_collections.winkube.node.plugins.plugin_utils.components.service import service_of
from ansible_collections.winkube.node.plugins.plugin_utils.engine import tools, windows_path
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret
from ansible_collections.winkube.node.plugins.plugin_utils.facts import looked_up
from ansible_collections.winkube.node.plugins.plugin_utils.facts.looked_up import CMDLETS, NEEDS, SPARED, Need, Spared

from tests.lab.twin.node import LabNode
from tests.lookups.__main__ import PROGRAMS, TABLE, Row, read
from tests.unit.components.nodes import LAYOUT, bare, running

ROWS = read(TABLE.read_text(encoding="utf-8"))
PLACES = {looked_up.KUBELET: windows_path.parent(LAYOUT.kubelet_binary)}
TOLD: tuple[Need | Spared, ...] = (*NEEDS, *SPARED)
LOOKED_UP = [need for need in NEEDS if need.folder != looked_up.GIVEN]


def of_module(row: Row, module: str) -> bool:
    """containerd 2 has another module's name than 1."""
    path = row.module.partition("@")[0]
    return path == module or fnmatch(path, f"{module}/v[0-9]*")


def explains(told: Need | Spared, row: Row) -> bool:
    if row.how == "cmdlet" or not of_module(row, told.module):
        return False
    if isinstance(told, Need):
        return told.program == row.program and row.name in told.keys
    return not told.names or row.name in told.names


def test_each_place_is_a_need_or_spared() -> None:
    unexplained = [str(row) for row in ROWS if row.how != "cmdlet" and not any(explains(told, row) for told in TOLD)]
    assert unexplained == []


@pytest.mark.parametrize("told", TOLD, ids=lambda told: f"{told.module} {getattr(told, 'name', told)}")
def test_nothing_is_explained_that_is_not_there(told: Need | Spared) -> None:
    assert any(explains(told, row) for row in ROWS)


def test_each_cmdlet_is_of_a_module_of_windows() -> None:
    named = {row.name for row in ROWS if row.how == "cmdlet"}
    assert {name for name in named if looked_up.cmdlet_module(name) is None} == set()
    assert {name for name in named if looked_up.cmdlet_module(name)} and len(CMDLETS) > 3


def test_the_table_has_each_program() -> None:
    without = {"kube-log-runner", "host-local"} - {row.program for row in ROWS}
    assert {(version, program) for _, version, program in PROGRAMS if program not in without} == {
        (row.version, row.program) for row in ROWS
    }


STARTED = {windows_path.name(run.program(LAYOUT)): run for each in COMPONENTS for run in each.runs}
DECLARED: dict[str, Daemon | Started] = {
    **DAEMONS,
    **{name.removesuffix(".exe"): run for name, run in STARTED.items()},
}
"""What is started on a node, by the names of the table."""


@pytest.mark.parametrize("need", LOOKED_UP, ids=lambda need: f"{need.program} {need.name}")
def test_what_is_looked_up_lies_in_the_path_of_the_declaration(need: Need) -> None:
    declared = DECLARED[need.program]
    assert need not in looked_up.unmet(need.program, declared.path(LAYOUT), PLACES[looked_up.KUBELET])
    assert need in looked_up.unmet(need.program, (), PLACES[looked_up.KUBELET])
    assert declared.account == LOCAL_SYSTEM, "it starts PowerShell, sets volumes up: an administrator's rights"


def test_kubeadm_is_started_as_its_declaration_says() -> None:
    run = STARTED["kubeadm.exe"]
    joined = Joining(LAYOUT, "kubeadm", "win1", "a" * 32, configuration="x", token=Secret("abcdef.0123456789abcdef"))
    (op,) = (op for op in joined.change(bare(joined.reads())).define if op.args.get("program") == run.program(LAYOUT))
    assert op.args["env"] == {"Path": ";".join(run.path(LAYOUT))}


@pytest.mark.parametrize(
    ("name", "manager"), [(name, manager) for name in sorted(DAEMONS) for manager in DAEMONS[name].kind.managers]
)
def test_no_service_is_given_a_path_or_an_account_of_its_own(name: str, manager: str) -> None:
    """So it has the machine's Path, of which its declaration names Windows' folders, and runs as LocalSystem."""
    daemon = DAEMONS[name]
    service = service_of(name, daemon, LAYOUT, running(manager), arguments=(), ready=())
    made = service.definition
    assert not [one for one in made.environment if one.lower().startswith(("path=", "psmodulepath="))]  # type: ignore[attr-defined]
    words = [str(word).casefold() for op in made.create() for word in op.args.get("args", ())]
    assert "obj=" not in words and "objectname" not in words
    assert daemon.account == LOCAL_SYSTEM


WHOLE = ";".join(("C:\\tools", *tools.WINDOWS_PATH))


@pytest.mark.parametrize(
    ("name", "manager", "path", "said"),
    [
        ("kubelet", "nssm", "Path=C:\\tools;%Path%", ""),
        ("kubelet", "nssm", "PATH=%SystemRoot%\\System32\\WindowsPowerShell\\v1.0\\", ""),
        ("kubelet", "sc", f"Path={WHOLE}", ""),
        ("kube-proxy", "sc", "Path=C:\\tools", ""),
        ("containerd", "registered", "Path=C:\\tools", ""),
        (
            "kubelet",
            "nssm",
            "Path=C:\\tools",
            "kubelet: it has no .*v1.0, where kubelet looks powershell up",
        ),
        ("kubelet", "sc", "Path=C:\\tools;%Path%", "written in full: %..% is not replaced there"),
        ("flanneld", "nssm", "path=C:\\Windows\\System32", "where flanneld looks powershell up .host-gw: forwarding"),
        ("csi-proxy", "sc", f"Path={looked_up.POWERSHELL}", "it has no .*Wbem, where csi-proxy looks wmic up"),
    ],
)
def test_a_path_of_the_users_own_has_what_the_program_looks_up(name: str, manager: str, path: str, said: str) -> None:
    """Failed before: with a Path of its own a kubelet found no powershell, and said so of each volume."""

    def made() -> None:
        service_of(
            name,
            DAEMONS[name],
            LAYOUT,
            running(manager, environment=dict([path.split("=", 1)])),
            arguments=(),
            ready=(),
        )

    if not said:
        made()
        return
    with pytest.raises(Refused, match=said):
        made()


@pytest.mark.parametrize("folder", [looked_up.POWERSHELL, looked_up.WBEM, looked_up.SYSTEM32])
def test_the_labs_machine_has_in_its_own_path_what_windows_has(folder: str) -> None:
    node = LabNode("win1")
    path = node.environment["Path"].lower().split(";")
    assert folder.lower() in [one.rstrip("\\") for one in path]
