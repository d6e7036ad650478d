"""Connections that cannot reach a Windows node: one sentence each, and none about those that can."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.task.connection_fit import Loaded, find_misfit


@pytest.mark.parametrize(
    ("loaded", "remedy"),
    [
        (Loaded("ssh", "sh", 22, False), "ansible_shell_type is not set"),
        (Loaded("local", "sh", None, False), "ansible_connection is local"),
        (Loaded("winrm", "powershell", 22, False), "port 22 is SSH's"),
        (Loaded("psrp", "powershell", 22, False), "port 22 is SSH's"),
        (Loaded("ssh", "powershell", 5986, False), "port 5986 is WinRM's"),
        (Loaded("ssh", "powershell", 22, True), "strategy: linear"),
    ],
)
def test_what_cannot_reach_windows_is_a_sentence_with_the_remedy(loaded: Loaded, remedy: str) -> None:
    assert remedy in find_misfit(loaded)


@pytest.mark.parametrize(
    "loaded",
    [
        Loaded("ssh", "powershell", 22, False),
        Loaded("ssh", "cmd", 2222, False),
        Loaded("winrm", "powershell", 5985, False),
        Loaded("psrp", "powershell", 5986, False),
        Loaded("host_process", "powershell", None, False),
    ],
)
def test_what_can_is_left_alone(loaded: Loaded) -> None:
    assert find_misfit(loaded) == ""
