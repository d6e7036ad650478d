"""Where new files wait until they are renamed in."""

from __future__ import annotations

from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.programs import (
    Programs,
    Source,
    drop_staging,
    make_staging,
    staging,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.security import ADMINS_ONLY

STATE = r"C:\ProgramData\winkube"


def test_on_the_drive_of_the_state_folder_they_wait_there() -> None:
    folder = staging(STATE, r"c:\k\kubelet.exe", "x")
    assert folder == rf"{STATE}\staging\x"
    assert [(op.op, op.args["path"]) for op in make_staging(folder)] == [("mkdir", folder)]
    assert [(op.op, op.args["path"]) for op in drop_staging(folder)] == [("remove", folder)]


def test_on_another_drive_they_wait_beside_their_place_closed_to_others() -> None:
    """A rename cannot cross drives: from the state folder's staging it would become a copy under the real name."""
    folder = staging(STATE, r"D:\k\kubelet.exe", "x")
    assert folder == r"D:\k\.winkube-staging\x"
    closed, made = make_staging(folder)
    assert closed.args == {"path": r"D:\k\.winkube-staging", "sddl": ADMINS_ONLY}
    assert [(op.op, op.args) for op in closed.undo] == [
        ("remove", {"path": r"D:\k\.winkube-staging", "only_if_empty": True})
    ]
    assert made.args == {"path": folder}
    assert [op.args["path"] for op in drop_staging(folder)] == [folder, r"D:\k\.winkube-staging"]


def test_every_file_of_programs_is_renamed_on_its_own_drive() -> None:
    """Failed before: everything was on the state folder's drive, and was moved across drives."""
    source = Source("http://xyz/containerd.tar.gz", "0" * 64, "2.3.2")
    programs = Programs("containerd", source, (("bin/containerd.exe", r"D:\c\containerd.exe"),), STATE, "m1")
    assert programs.locate_staged(r"D:\c\containerd.exe") == r"D:\c\.winkube-staging\containerd-m1\containerd.exe"
    places = [str(op.args.get("path") or op.args.get("archive")) for op in programs.stage()]
    assert places and all(place.startswith("D:") for place in places)
