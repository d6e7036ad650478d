"""sanity.yml decides about every test that the installed ansible-test has, and none that it has not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.quality import sanity


def test_every_sanity_test_is_run_or_left_out_with_a_reason(tmp_path: Path) -> None:
    checkout = tmp_path / "ansible_collections" / "winkube" / "node"
    sanity.copy_project(checkout)
    program = str(Path(sys.prefix) / "bin" / "ansible-test")
    listed = subprocess.run(
        [program, "sanity", "--list-tests"],
        cwd=checkout,
        env=sanity.environment(),
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    table = sanity.load_table()
    assert sorted([*table.run, *table.left_out]) == sorted(listed)
    assert set(table.only) <= set(table.run)
    assert all(len(why.split()) > 5 for why in table.left_out.values())
