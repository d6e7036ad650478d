"""A service of its own and one under nssm: how it is made, its differences, and the ops that correct and undo them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.environment import Entry, fingerprints
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.service import (
    Service,
    dependants_of,
    runs,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.services.definition import Recovery
from ansible_collections.winkube.node.plugins.plugin_utils.engine.services.native import Native, recovery_of, start_word
from ansible_collections.winkube.node.plugins.plugin_utils.engine.services.nssm import Nssm

from tests.unit.engine.nodes import node, said, undone

PROGRAM = r"C:\k\x.exe"
OWN = Native("x", PROGRAM, ("--log", r"C:\var log"), "X", Recovery(60, (("restart", 5000), ("none", 0))))
NSSM = Nssm("x", r"C:\k\nssm.exe", PROGRAM, ("--log", r"C:\var log"), r"C:\k", "X", log_file=r"C:\var\x.log")
KEY = r"HKLM\SYSTEM\CurrentControlSet\Services\x"
REMOVE = ["halt x", rf"wait process_gone {PROGRAM}", "delete x", "wait service absent"]

VARIABLES = (Entry.plain("A", "1"),)
MADE = {
    "by sc.exe": (
        OWN,
        [
            r'create x binPath= C:\k\x.exe --log "C:\var log" start= auto DisplayName= X',
            "failure x reset= 60 actions= restart/5000//0",
            "failureflag x 1",
        ],
    ),
    "by the program itself, with variables": (
        replace(
            OWN,
            registration=("--register-service",),
            environment=VARIABLES,
            recovery=Recovery(0, (), False),
        ),
        ["--register-service", "failure x reset= 0 actions= ", "failureflag x 0", f"registry_set {KEY}"],
    ),
    "behind a wrapper": (
        replace(OWN, wrapper=(r"C:\k\log-runner.exe", "--x")),
        [
            r'create x binPath= C:\k\log-runner.exe --x C:\k\x.exe --log "C:\var log" start= auto DisplayName= X',
            "failure x reset= 60 actions= restart/5000//0",
            "failureflag x 1",
        ],
    ),
    "under nssm": (
        replace(NSSM, environment=VARIABLES),
        [
            rf"install x {PROGRAM}",
            r'set x AppParameters --log "C:\var log"',
            r"set x AppDirectory C:\k",
            "set x DisplayName X",
            "set x Start SERVICE_AUTO_START",
            "set x AppExit Default Restart",
            "set x AppThrottle 1500",
            "set x AppRestartDelay 5000",
            r"set x AppStdout C:\var\x.log",
            r"set x AppStderr C:\var\x.log",
            "set x AppStdoutCreationDisposition 4",
            "set x AppStderrCreationDisposition 4",
            "set x AppRotateFiles 1",
            "set x AppRotateOnline 1",
            "set x AppRotateBytes 10485760",
            rf"registry_set {KEY}\Parameters",
        ],
    ),
}


@pytest.mark.parametrize(("definition", "ops"), MADE.values(), ids=MADE)
def test_it_is_made_and_the_first_undo_takes_it_away(definition: Native | Nssm, ops: list[str]) -> None:
    made = definition.create()
    assert said(made) == ops
    assert undone(made[0]) == REMOVE
    assert all(op.secrets == ("value",) for op in made if op.op == "registry_set")
    assert definition.owns(definition.predict())
    assert definition.differences(definition.predict()) == (), "what is made is what is wanted"


Rows = dict[str, tuple[Native | Nssm, dict[str, Any], str, list[str], list[str], bool]]
DIFFERENCES: Rows = {
    "command line": (
        OWN,
        {"image_path": r"C:\k\x.exe --v=4"},
        "command line",
        [r'config x binPath= C:\k\x.exe --log "C:\var log"'],
        [r"config x binPath= C:\k\x.exe --v=4"],
        False,
    ),
    "delayed start": (
        OWN,
        {"delayed": True},
        "start type",
        ["config x start= auto"],
        ["config x start= delayed-auto"],
        True,
    ),
    "no recovery": (
        OWN,
        {"failure": None},
        "recovery",
        ["failure x reset= 60 actions= restart/5000//0", "failureflag x 1"],
        ["failure x reset= 0 actions= ", "failureflag x 0"],
        True,
    ),
    "a variable too many": (
        OWN,
        {"environment": fingerprints(["A=1"])},
        "environment",
        [f"registry_remove {KEY}"],
        [f"registry_set {KEY}"],
        False,
    ),
    "another nssm.exe": (
        NSSM,
        {"image_path": r'"C:\other folder\nssm.exe"'},
        "nssm.exe",
        [r"config x binPath= C:\k\nssm.exe"],
        [r'config x binPath= "C:\other folder\nssm.exe"'],
        False,
    ),
    "the display name": (
        NSSM,
        {"display_name": "Y"},
        "DisplayName",
        ["set x DisplayName X"],
        ["set x DisplayName Y"],
        True,
    ),
    "nssm's start on demand": (
        NSSM,
        {"start": 3},
        "Start",
        ["set x Start SERVICE_AUTO_START"],
        ["set x Start SERVICE_DEMAND_START"],
        True,
    ),
}
PARAMETERS = {
    "a setting that is not there": (
        {"AppDirectory": None},
        ["AppDirectory"],
        [r"set x AppDirectory C:\k"],
        ["reset x AppDirectory"],
    ),
    "what follows an exit": (
        {"AppExit": "Exit"},
        ["AppExit Default"],
        ["set x AppExit Default Restart"],
        ["set x AppExit Default Exit"],
    ),
    "the same in other words": (
        {"AppParameters": r'"--log" "C:\var log"', "Application": "c:/K/x.exe"},
        [],
        [],
        [],
    ),
    "a default that nssm does not write": ({"AppThrottle": None}, [], [], []),
    "variables": (
        {"AppEnvironmentExtra": fingerprints(["A=1"])},
        ["environment"],
        [rf"registry_remove {KEY}\Parameters"],
        [rf"registry_set {KEY}\Parameters"],
    ),
}


@pytest.mark.parametrize(
    ("definition", "there", "setting", "ops", "back", "at_once"), DIFFERENCES.values(), ids=DIFFERENCES
)
def test_what_differs_is_set_and_can_be_put_back(
    definition: Native | Nssm, there: dict[str, Any], setting: str, ops: list[str], back: list[str], at_once: bool
) -> None:
    (found,) = definition.differences({**definition.predict(), **there})
    assert (found.setting, found.at_once) == (setting, at_once)
    assert said(found.ops) == ops
    assert [word for op in found.ops for word in undone(op)] == back


@pytest.mark.parametrize(("there", "settings", "ops", "back"), PARAMETERS.values(), ids=PARAMETERS)
def test_parameters_of_nssm(there: dict[str, Any], settings: list[str], ops: list[str], back: list[str]) -> None:
    wanted = NSSM.predict()
    parameters = {name: value for name, value in {**wanted["nssm"], **there}.items() if value is not None}
    found = NSSM.differences({**wanted, "nssm": parameters})
    assert [difference.setting for difference in found] == settings
    assert [word for difference in found for word in said(difference.ops)] == ops
    assert [word for difference in found for op in difference.ops for word in undone(op)] == back


def test_a_log_that_is_not_wanted_any_more_is_taken_out() -> None:
    found = replace(NSSM, log_file=None).differences(NSSM.predict())
    assert [difference.setting for difference in found] == ["AppStdout", "AppStderr"]
    assert said(found[0].ops) == ["reset x AppStdout"]
    assert undone(found[0].ops[0]) == [r"set x AppStdout C:\var\x.log"]


WORDS = {(0, False): "boot", (1, False): "system", (2, False): "auto", (3, False): "demand", (4, False): "disabled"}
WORDS |= {(2, True): "delayed-auto", (9, False): "demand"}


@pytest.mark.parametrize(("start", "word"), WORDS.items(), ids=WORDS.values())
def test_the_start_type_as_sc_takes_it(start: tuple[int, bool], word: str) -> None:
    assert start_word({"start": start[0], "delayed": start[1]}) == word


def test_recovery_is_read_as_it_is_written() -> None:
    assert recovery_of(OWN.recovery.wire()) == OWN.recovery
    assert recovery_of(None) == Recovery(0, (), False)


SERVICE = Service("x", OWN, frozenset())


def test_from_nssm_to_a_service_of_its_own_and_back_if_it_fails() -> None:
    there = {**NSSM.predict(), "state": "stopped"}
    assert len(SERVICE.reads_for_undo(node(there))) == 2
    change = SERVICE.change(node(there))
    assert change is not None
    assert change.text == "convert the service x from nssm to a service of its own"
    first, *_ = said(change.define)
    assert first == "remove x confirm"
    assert said(OWN.create())[0] in said(change.define)
    create, *_ = change.define[0].undo
    assert create.args["args"][:4] == ["create", "x", "binPath=", r"C:\k\nssm.exe"]


FOR_UNDO = {
    "not there": (node(), []),
    "its variables are as wanted": (node({**OWN.predict(), "state": "running"}), []),
    "its variables differ": (node({**OWN.predict(), "state": "running", "environment": ["A=1"]}), []),
    "it is another manager's": (
        node({**NSSM.predict(), "state": "stopped"}),
        ["confidential:registry:x", "confidential:security:x"],
    ),
}


@pytest.mark.parametrize(("reading", "keys"), FOR_UNDO.values(), ids=FOR_UNDO)
def test_its_key_is_read_only_where_the_undo_makes_it_again(reading: Any, keys: list[str]) -> None:
    assert [query.key for query in SERVICE.reads_for_undo(reading)] == keys


def test_one_that_windows_has_not_let_go_of_is_refused() -> None:
    with pytest.raises(Refused, match=r"marked for deletion .*1072"):
        SERVICE.change(node({**OWN.predict(), "state": "stopped", "deleting": True}))


def test_dependants_are_stopped_before_what_they_depend_on() -> None:
    listed = (
        {"name": "x", "state": "running"},
        {"name": "second", "state": "running", "depends_on": ["First"]},
        {"name": "first", "state": "running", "depends_on": ["X"]},
        {"name": "stopped", "state": "stopped", "depends_on": ["x"]},
        {"name": "other", "state": "running", "depends_on": []},
    )
    assert SERVICE.dependants(node(*listed)) == ("second", "first")
    assert dependants_of("x", node(*listed)) == ("second", "first", "stopped")


RUNS = {
    "the program itself": ({**OWN.predict()}, True),
    "under nssm": ({**NSSM.predict()}, True),
    "another": ({**OWN.predict(), "image_path": r"C:\other\x.exe"}, False),
}


@pytest.mark.parametrize(("found", "does"), RUNS.values(), ids=RUNS)
def test_which_program_a_service_runs(found: dict[str, Any], does: bool) -> None:
    assert runs("x", PROGRAM, node(found)) is does
    assert not runs("y", PROGRAM, node(found))
