"""The folders of a node: made, nobody but administrators writing there, rolled back from users, never through a link.

Who may write is judged by the lab's own access lists, for a user who has nothing but what every user has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.integration.lab import Bench, Run
from tests.integration.site import CONFIG, converge, differences, site
from tests.lab.machine.security import ALIASES, Security
from tests.lab.server.host import NodeHost

FOLDERS = (r"C:\k", r"C:\k\cni", r"C:\k\cni\config", r"C:\flannel", r"C:\run", r"C:\run\flannel")
ANN = "S-1-5-21-1-2-3-1001"
EVERY_USER = {ALIASES[alias] for alias in ("WD", "AU", "BU")} | {ANN}
# Source: learn.microsoft.com, "File Access Rights Constants": what changes a folder, what is in it, or who may.
WRITES = {
    "FILE_ADD_FILE": 0x2,
    "FILE_ADD_SUBDIRECTORY": 0x4,
    "FILE_DELETE_CHILD": 0x40,
    "DELETE": 0x10000,
    "WRITE_DAC": 0x40000,
    "WRITE_OWNER": 0x80000,
}
NAMES: dict[str, int] = {"FA": 0x1F01FF, "FR": 0x120089, "FW": 0x120116, "FX": 0x1200A0}
NAMES |= {"CC": 0x1, "DC": 0x2, "LC": 0x4, "SW": 0x8, "RP": 0x10, "WP": 0x20, "DT": 0x40, "LO": 0x80, "CR": 0x100}
NAMES |= {"SD": 0x10000, "RC": 0x20000, "WD": 0x40000, "WO": 0x80000}


def mask(rights: str) -> int:
    """The access mask of SDDL's rights: hexadecimal, or names of two letters."""
    if rights.lower().startswith("0x"):
        return int(rights, 16)
    return sum(NAMES[rights[index : index + 2]] for index in range(0, len(rights), 2))


def granted(security: Security, sids: Iterable[str] = EVERY_USER) -> int:
    """What a token with these SIDs may do: entries in their order, the first one that speaks of a right decides."""
    token = set(sids)
    allowed = denied = 0
    for ace in security.aces:
        if ace.sid in token and "IO" not in ace.flags:
            if ace.kind == "D":
                denied |= mask(ace.rights) & ~allowed
            else:
                allowed |= mask(ace.rights) & ~denied
    return allowed | (NAMES["FA"] & WRITES["WRITE_DAC"] if security.owner in token else 0)


def security_of(host: NodeHost, path: str) -> Security:
    return host.in_turn(lambda: host.node.drive.security(path))


def writes(host: NodeHost, path: str) -> list[str]:
    """The names of the rights with which a plain user could change the folder."""
    found = granted(security_of(host, path))
    return [name for name, bit in WRITES.items() if found & bit]


def folders(bench: Bench, *args: object, **more: Any) -> Run:
    return site(bench, "--tags", "host", *args, **more)


@pytest.mark.exhaustive
@pytest.mark.row("HP-04")
def test_the_folders_are_made_and_only_administrators_write_there(bench: Bench) -> None:
    host = bench.node()
    host.in_turn(lambda: host.node.drive.mkdir(r"C:\plain"))
    assert "FILE_ADD_SUBDIRECTORY" in writes(host, r"C:\plain"), "what a folder in C:\\ inherits is dangerous"

    first = folders(bench)
    assert first.rc == 0, first
    assert bench.calls() == 2
    for path in FOLDERS:
        security = security_of(host, path)
        assert security.protected, path
        assert security.owner in {ALIASES["SY"], ALIASES["BA"]}, path
        assert writes(host, path) == [], path
        assert granted(security) & NAMES["FR"] == NAMES["FR"], f"{path}: users may read"
        for alias in ("SY", "BA"):
            assert granted(security, {ALIASES[alias]}) == NAMES["FA"], path

    # A file that is made there later is as safe.
    host.in_turn(lambda: host.node.drive.write(r"C:\k\cni\later.exe", b"MZ"))
    assert writes(host, r"C:\k\cni\later.exe") == []

    bench.reset_ledger()
    assert folders(bench).recap["win1"].changed == 0
    assert bench.calls() == 1


@pytest.mark.exhaustive
@pytest.mark.row("HP-04")
def test_everything_follows_the_root(bench: Bench) -> None:
    host = bench.node()
    more: dict[str, Any] = {
        "winkube_root": r"C:\kube\node",
        "winkube_flannel_dir": r"{{ winkube_root }}\flannel",
        "winkube_flannel_run_dir": r"{{ winkube_root }}\run",
    }
    converge(bench, **more)
    paths = {path for path, _ in host.in_turn(lambda: list(host.node.drive.walk()))}
    assert {rf"C:\kube\node{rest}" for rest in ("", r"\cni", r"\cni\config", r"\flannel", r"\run")} <= paths
    assert not [path for path in paths if path.lower().startswith(("c:\\k\\", "c:\\flannel", "c:\\run"))]
    config = host.in_turn(lambda: host.node.drive.read(CONFIG)).decode()
    assert r"bin_dir = 'C:\kube\node\cni'" in config
    assert r"conf_dir = 'C:\kube\node\cni\config'" in config
    assert writes(host, r"C:\kube") == []

    bench.reset_ledger()
    assert converge(bench, **more).recap["win1"].changed == 0
    assert bench.calls() == 1


@pytest.mark.exhaustive
@pytest.mark.row("HP-04")
def test_containerds_own_folder_outside_program_files_is_guarded_too(bench: Bench) -> None:
    host = bench.node()
    converge(
        bench,
        "--tags",
        "containerd",
        winkube_containerd_binary=r"C:\ctrd\bin\containerd.exe",
        winkube_containerd_config=r"C:\ctrd\config.toml",
    )
    assert [writes(host, path) for path in (r"C:\ctrd", r"C:\ctrd\bin", r"C:\ctrd\bin\containerd.exe")] == [[], [], []]


def made_by_ann(host: NodeHost, path: str) -> None:
    host.node.drive.mkdir(path, owner=ANN)
    host.node.drive.write(rf"{path}\mine.txt", b"mine", owner=ANN)


@pytest.mark.exhaustive
@pytest.mark.row("HP-04")
@pytest.mark.parametrize("path", [r"C:\k", r"C:\run", r"C:\k\cni"])
def test_a_folder_that_a_user_made_first_is_taken_back(bench: Bench, path: str) -> None:
    host = bench.node()
    host.in_turn(lambda: made_by_ann(host, path))
    assert "WRITE_DAC" in writes(host, path)
    run = folders(bench)
    assert run.rc == 0, run
    assert rf"secured the folder {path} (it is owned by {ANN}, not by SYSTEM or Administrators)" in run.output, run
    assert writes(host, path) == []
    assert host.in_turn(lambda: host.node.drive.read(rf"{path}\mine.txt")) == b"mine", "nothing in it is lost"
    assert folders(bench).recap["win1"].changed == 0


@pytest.mark.exhaustive
@pytest.mark.row("HP-04")
def test_what_a_user_has_put_in_a_folder_of_programs_or_of_containerds_data_is_refused(bench: Bench) -> None:
    host = bench.node()

    def plant() -> None:
        drive = host.node.drive
        drive.mkdir(r"C:\k\cni\config", owner=ANN)
        drive.write(r"C:\k\version.dll", b"MZ", owner=ANN)
        drive.write(r"C:\k\cni\config\00-first.conf", b"{}")
        drive.set_sddl(r"C:\k\cni\config\00-first.conf", "O:BAD:(A;;FA;;;BU)")
        drive.write(r"C:\Users\Public\kubelet.exe", b"MZ", owner=ANN)
        drive.mkdir(r"C:\flannel")
        drive.link(r"C:\flannel\flanneld.exe", r"C:\Users\Public\kubelet.exe", owner=ANN)

    host.in_turn(plant)
    before = bench.dump()
    for path, what in (
        (r"C:\flannel\flanneld.exe", "is a link, and others may change its target"),
        (r"C:\k\version.dll", f"is owned by {ANN}, not by SYSTEM or Administrators"),
        (r"C:\k\cni\config\00-first.conf", "can be changed by BU"),
    ):
        run = folders(bench)
        assert run.rc != 0
        assert f"{path} {what}: SYSTEM services run or read the files there." in run.output, run
        assert differences(before, bench.dump()) == []
        host.in_turn(lambda path=path: host.node.drive.delete(path))  # type: ignore[misc]
        before = bench.dump()
    assert folders(bench).rc == 0

    root = r"C:\ProgramData\containerd"
    host.in_turn(lambda: host.node.drive.mkdir(root, owner=ANN))
    run = site(bench, "--tags", "containerd")
    assert run.rc != 0
    assert f"{root} is owned by {ANN}, not by SYSTEM or Administrators: a SYSTEM service trusts" in run.output, run
    assert not host.in_turn(lambda: host.node.drive.exists(r"C:\Program Files\containerd"))


@pytest.mark.exhaustive
@pytest.mark.row("HP-04")
def test_a_folder_that_users_may_write_to_is_taken_back(bench: Bench) -> None:
    host = bench.node()
    host.in_turn(lambda: host.node.drive.mkdir(r"C:\k"))
    modify = "O:BAG:BAD:AI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1301bf;;;AU)"
    host.in_turn(lambda: host.node.drive.set_sddl(r"C:\k", modify))
    assert "FILE_ADD_FILE" in writes(host, r"C:\k")
    run = folders(bench, "--check", "--diff")
    assert r"would secure the folder C:\k (it can be changed by AU, BU)" in run.output, run
    assert "FILE_ADD_FILE" in writes(host, r"C:\k")
    assert folders(bench).rc == 0
    assert writes(host, r"C:\k") == []
    assert folders(bench).recap["win1"].changed == 0


@pytest.mark.exhaustive
@pytest.mark.row("HP-04")
def test_a_folder_with_an_access_list_of_ones_own_is_left_alone(bench: Bench) -> None:
    """Only who may write is our business: more readers, or a service account of one's own, are the owner's."""
    host = bench.node()
    own = "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;WD)"
    host.in_turn(lambda: host.node.drive.mkdir(r"C:\k"))
    host.in_turn(lambda: host.node.drive.set_sddl(r"C:\k", own))
    before = host.in_turn(lambda: host.node.drive.sddl(r"C:\k"))
    assert folders(bench).rc == 0
    assert host.in_turn(lambda: host.node.drive.sddl(r"C:\k")) == before


@pytest.mark.exhaustive("C:\\\\run-a link or junction")
@pytest.mark.row("HP-04")
@pytest.mark.parametrize(
    ("path", "what"), [(r"C:\k", "a link or junction"), (r"C:\run", "a link or junction"), (r"C:\flannel", "a file")]
)
def test_what_is_no_folder_is_refused_and_nothing_is_touched(bench: Bench, path: str, what: str) -> None:
    host = bench.node()

    def in_the_way() -> None:
        if what == "a file":
            host.node.drive.write(path, b"not a folder")
        else:
            host.node.drive.mkdir(r"C:\Users\Public\elsewhere", owner=ANN)
            host.node.drive.link(path, r"C:\Users\Public\elsewhere", owner=ANN)

    host.in_turn(in_the_way)
    before = bench.dump()
    run = folders(bench)
    assert run.rc != 0
    assert f"{path} should be a folder, but is {what}: it is not followed or replaced" in run.output, run
    assert "Traceback" not in run.output
    assert differences(before, bench.dump()) == []
    assert bench.calls() == 1
    assert host.node.counters.write_ops == 0
