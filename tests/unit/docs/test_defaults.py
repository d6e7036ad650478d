"""docs/defaults.md: what makers set, from where, and what the roles do about it."""

from __future__ import annotations

from ansible_collections.winkube.node.plugins.plugin_utils.facts import os_switches
from ansible_collections.winkube.node.plugins.plugin_utils.facts.rows import read_rows

from tests.quality import maker_defaults


def test_every_value_of_a_maker_has_a_source_at_a_commit_and_every_row_an_answer() -> None:
    for row in maker_defaults.read():
        assert row.here and row.why and row.makers, row.setting
        for made in row.makers:
            assert made["source"].startswith("https://github.com/"), made
            commit = made["source"].split("/")[6]
            assert len(commit) == 40 and int(commit, 16), made


def test_each_switch_is_of_a_maker_who_is_known() -> None:
    assert {row["maker"] for row in read_rows("os_switches.json")} == set(os_switches.MAKERS)


def test_a_default_that_is_named_is_the_roles_own() -> None:
    (row,) = (each for each in maker_defaults.rows() if "systemReserved" in each)
    assert '`winkube_system_reserved: {"memory": "2Gi"}`' in row
