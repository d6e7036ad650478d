"""Where the number of an error decides, and no machine here could give it to the script."""

from __future__ import annotations

from tests.unit.powershell.source import SHARED, read, text


def test_only_a_sharing_error_means_that_another_process_has_the_lock() -> None:
    """Each IOException did: a full disk (112) was told as `busy`."""
    state = next(read(path) for path in SHARED if path.name == "state.ps1")
    lock = next(text(function.node) for function in state.functions if function.name == "Enter-NodeLock")
    assert "@(32, 33) -contains (Get-NodeErrorCode -Record $failure)" in lock
    assert "-not $held -and ((Test-NodeWindows) -or" in lock
