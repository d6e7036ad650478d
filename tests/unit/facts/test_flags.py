"""The tables of flags and gates against what real programs said to --help, and against upstream's sources."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts import feature_gates, flags
from ansible_collections.winkube.node.plugins.plugin_utils.facts.flags import (
    KUBE_PROXY,
    KUBELET,
    FlagTable,
    UnknownLineError,
)
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line, Version

from tests.unit.facts.recorded_help import Recording, flag_changes, recordings, system_flags

TABLES: dict[str, FlagTable] = {"kubelet": KUBELET, "kube-proxy": KUBE_PROXY}
HIDDEN = {
    ("kubelet", "experimental-dockershim-root-directory"): (22, 23),
    ("kubelet", "iptables-drop-bit"): (28, 30),
    ("kubelet", "iptables-masquerade-bit"): (28, 30),
    ("kube-proxy", "healthz-port"): (22, 37),
    ("kube-proxy", "metrics-port"): (22, 37),
    ("kube-proxy", "proxy-port-range"): (29, 30),
}
"""Accepted, and not in --help: the first and the last minor of which that holds. MarkHidden and, where the program does
not show them all the same, MarkDeprecated hide. Source: kubernetes v1.22.17 pkg/kubelet/config/flags.go; v1.27.16,
v1.28.15, v1.30.14, v1.31.14 cmd/kubelet/app/options/options.go (AddKubeletConfigFlags); v1.22.17, v1.28.15, v1.29.15
cmd/kube-proxy/app. tests/real/upstream tries them on the programs."""

RECORDINGS = [recording for program in TABLES for recording in recordings(program)]


def _id(recording: Recording) -> str:
    return f"{recording.program}-{recording.version}-{recording.system}"


def test_something_was_recorded() -> None:
    programs = {recording.program for recording in RECORDINGS}
    assert programs == set(TABLES)
    assert recordings("kubeadm")


@pytest.mark.parametrize("recording", [*RECORDINGS, *recordings("kubeadm")], ids=_id)
def test_a_recording_says_what_it_is(recording: Recording) -> None:
    assert recording.header.startswith(f"# {recording.program} {recording.version}, command: {recording.program} ")
    assert "recorded 20" in recording.header
    assert f"{recording.system.capitalize()} build" in recording.header
    assert len(recording.flags) > 15


@pytest.mark.parametrize("recording", RECORDINGS, ids=_id)
def test_the_table_knows_the_flags_of_the_recorded_program_and_no_others(recording: Recording) -> None:
    known = set(TABLES[recording.program].list_known(Line.parse(recording.version), recording.system))
    minor = Line.parse(recording.version).minor
    hidden = {
        flag
        for (program, flag), (first, last) in HIDDEN.items()
        if program == recording.program and first <= minor <= last
    }
    assert known == set(recording.flags) | hidden
    assert not hidden & set(recording.flags)


@pytest.mark.parametrize("recording", RECORDINGS, ids=_id)
def test_the_table_knows_which_flags_take_no_value(recording: Recording) -> None:
    """pflag prints the type of a value behind the name; a boolean has none, unless its description has a word in
    backquotes, and --version takes an optional one."""
    table = TABLES[recording.program]
    booleans = {name for name, said in recording.flags.items() if said.startswith("   ") or not said.strip()}
    known = {flag.name for flag in table.flags.values() if flag.boolean} & set(recording.flags)
    assert known == booleans | (known & {"version", "seccomp-default"})


@pytest.mark.parametrize("recording", RECORDINGS, ids=_id)
def test_what_the_table_calls_deprecated_the_program_does_too(recording: Recording) -> None:
    deprecated = TABLES[recording.program].list_deprecated(Line.parse(recording.version))
    assert [name for name in deprecated & set(recording.flags) if "DEPRECATED" not in recording.flags[name]] == []


@pytest.mark.row("VC-19")
@pytest.mark.parametrize("recording", RECORDINGS, ids=_id)
def test_gates_are_those_that_the_recorded_program_lists(recording: Recording) -> None:
    release = Version.parse(recording.version)
    assert len(recording.gates) > 50
    known = {name: feature_gates.gate(recording.program, name, release) for name in recording.gates}
    found = {name: (state.stage, state.default) for name, state in known.items() if state is not None}
    assert found == recording.gates
    shown = {
        name
        for name in feature_gates.names(recording.program, release)
        if (state := feature_gates.gate(recording.program, name, release)) and state.stage in {"alpha", "beta"}
    }
    assert shown <= set(recording.gates)


@pytest.mark.parametrize("minor", range(23, 38))
@pytest.mark.parametrize("program", TABLES)
def test_between_two_minors_the_table_changes_as_the_sources_do(program: str, minor: int) -> None:
    table = TABLES[program]
    before, after = (
        table.list_known(Line(1, number), "windows") | table.list_known(Line(1, number), "linux")
        for number in (minor - 1, minor)
    )
    assert (after - before, before - after) == flag_changes().get((program, minor), (frozenset(), frozenset()))


def test_a_flag_is_deprecated_from_the_line_that_announced_its_end() -> None:
    lines = [Line(1, minor) for minor in (23, 24, 26, 27)]
    assert ["container-runtime" in KUBELET.list_deprecated(line) for line in lines] == [False, True, True, False]


@pytest.mark.parametrize(("program", "system", "flag"), sorted(system_flags()))
def test_flags_of_one_system_are_those_of_the_sources(program: str, system: str, flag: str) -> None:
    first, last, kind = system_flags()[program, system, flag]
    other = "linux" if system == "windows" else "windows"
    for minor in range(22, 38):
        line = Line(1, minor)
        assert (flag in TABLES[program].list_known(line, system)) is (first <= minor <= last)
        assert flag not in TABLES[program].list_known(line, other)
    assert TABLES[program].flags[flag].boolean is (kind == "bool")


def test_no_flag_of_one_system_is_in_the_table_alone() -> None:
    of_tables = {
        (name, flag.system, flag.name) for name, table in TABLES.items() for flag in table.flags.values() if flag.system
    }
    assert of_tables == set(system_flags())


@pytest.mark.row("VC-19", "KU-22", "KU-23", "KU-26", "KP-11", "KP-15")
@pytest.mark.parametrize(
    ("name", "states"),
    [
        ("IdentifyPodOS", {22: None, 23: "alpha-", 24: "beta+", 25: "ga+!", 26: "ga+!", 27: None}),
        ("WindowsHostNetwork", {25: None, 26: "alpha+", 32: "alpha+", 33: "deprecated-", 37: "deprecated-"}),
        ("WinDSR", {22: "alpha-", 32: "alpha-", 33: "beta+", 34: "ga+!", 37: "ga+!"}),
        ("WinOverlay", {22: "beta+", 33: "beta+", 34: "ga+!", 37: "ga+!"}),
        ("PodAndContainerStatsFromCRI", {22: None, 23: "alpha-", 36: "alpha-", 37: "beta-"}),
    ],
)
def test_the_gates_that_the_documents_name(name: str, states: dict[int, str | None]) -> None:
    for minor, wanted in states.items():
        state = feature_gates.gate("kubelet", name, Line(1, minor))
        shown = state and f"{state.stage}{'+' if state.default else '-'}{'!' if state.locked else ''}"
        assert shown == wanted, f"{name} in 1.{minor}"


def test_a_gate_that_only_one_program_has_is_told_apart() -> None:
    line = Line(1, 25)
    assert feature_gates.gate("kubelet", "ContextualLogging", line) is not None
    assert feature_gates.gate("kube-proxy", "ContextualLogging", line) is None


def test_a_release_is_told_from_later_ones_of_its_line() -> None:
    """Source: kubernetes v1.27.4 and v1.27.16 pkg/features/kube_features.go; the change is pull request 122720."""
    stages = {
        of: feature_gates.gate("kubelet", "EventedPLEG", of)
        for of in (Version.parse("1.27.0"), Version.parse("1.27.4"), Version.parse("1.27.16"), Line(1, 27))
    }
    assert [state and state.stage for state in stages.values()] == ["beta", "beta", "alpha", "alpha"]
    line = Line(1, 27)
    early = feature_gates.problem("kubelet", "WatchFromStorageWithoutResourceVersion", True, Version.parse("1.27.4"))
    assert early is not None
    assert "it came with a later release of Kubernetes 1.27, and kubelet 1.27.4 exits" in early
    late = Version.parse("1.27.16")
    assert feature_gates.problem("kubelet", "WatchFromStorageWithoutResourceVersion", True, late) is None
    assert feature_gates.problem("kubelet", "WatchFromStorageWithoutResourceVersion", True, line) is None
    assert "WatchFromStorageWithoutResourceVersion" in feature_gates.names("kubelet", line)
    assert "WatchFromStorageWithoutResourceVersion" not in feature_gates.names("kubelet", Version.parse("1.27.4"))


def test_lines_beyond_the_tables() -> None:
    assert KUBELET.list_known(Line(1, 40)) == KUBELET.list_known(flags.NEWEST)
    with pytest.raises(UnknownLineError, match=r"1\.21"):
        KUBELET.list_known(Line(1, 21))


def test_a_flag_stands_once() -> None:
    with pytest.raises(ValueError, match="two blocks"):
        flags.parse_flags({"": "a b", "bool": "b"})


@pytest.mark.parametrize("table", TABLES.values(), ids=str)
def test_remedies_are_for_flags_that_went(table: FlagTable) -> None:
    gone = {flag.name for flag in table.flags.values() if flag.removed}
    assert set(table.instead) - gone <= {"allow-privileged"}
    assert not set(table.spellings) & set(table.flags)
    assert set(table.spellings.values()) <= table.list_known(flags.NEWEST)
    assert len(table.source) > 40
