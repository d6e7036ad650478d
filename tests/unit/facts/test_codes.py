"""Names and meanings of Windows' codes."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts import codes, windows_codes


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (0x803B0014, "HCN_E_ENDPOINT_ALREADY_ATTACHED"),
        (-2143617008, "HCN_E_NETWORK_ALREADY_EXISTS"),
        (0xC0370106, "HCS_E_UNEXPECTED_EXIT"),
        (1219, "ERROR_SESSION_CREDENTIAL_CONFLICT"),
        (0x80070035, "ERROR_BAD_NETPATH"),
    ],
)
def test_a_code_has_its_name_and_meaning_in_each_form(code: int, name: str) -> None:
    assert name in codes.names(code)
    assert codes.meaning(code) == codes.MEANINGS[name]


def test_an_unknown_code_has_neither() -> None:
    assert (codes.names(0x803BFFFF), codes.meaning(0x803BFFFF)) == ((), "")


def test_each_meaning_is_of_a_code() -> None:
    known = {name for found in codes._names().values() for name in found}
    assert set(codes.MEANINGS) <= known


def test_the_codes_of_messages_are_those_of_windows() -> None:
    for name, number in vars(windows_codes).items():
        if name.isupper() and not name.startswith("_") and isinstance(number, int):
            assert name in codes.names(number), name
