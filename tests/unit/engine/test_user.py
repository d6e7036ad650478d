"""The name of who runs a process, where it has one."""

from __future__ import annotations

import getpass

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.user import user


@pytest.mark.parametrize("error", [KeyError("getpwuid(): uid not found: 1000680000"), OSError("No username set")])
def test_a_uid_without_an_entry_in_passwd_is_named_by_its_number(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As OpenShift and runAsUser run containers; KeyError is Python before 3.13."""

    def fail() -> str:
        raise error

    monkeypatch.setattr(getpass, "getuser", fail)
    monkeypatch.setattr("os.getuid", lambda: 1000680000)
    assert user() == "1000680000"


def test_a_user_with_a_name_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ann")
    assert user() == "ann"
