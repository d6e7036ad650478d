# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Codes that HNS, HCS and Win32 answer with: what each means, and the forms in which programs print one.

Source: golang.org/x/sys windows/zerrors_windows.go (HCN_E_*, GCN_E_*, HCS_E_*, ERROR_*), which has them from Windows'
winerror.h. Texts are Windows' English ones, as hcsshim prints them before the code.
"""

from __future__ import annotations

import re

HCN_E_NETWORK_NOT_FOUND = 0x803B0001
HCN_E_ENDPOINT_NOT_FOUND = 0x803B0002
HCN_E_SWITCH_NOT_FOUND = 0x803B0004
HCN_E_SUBNET_NOT_FOUND = 0x803B0005
HCN_E_ADAPTER_NOT_FOUND = 0x803B0006
HCN_E_PORT_NOT_FOUND = 0x803B0007
HCN_E_POLICY_NOT_FOUND = 0x803B0008
HCN_E_INVALID_NETWORK = 0x803B000A
HCN_E_INVALID_NETWORK_TYPE = 0x803B000B
HCN_E_INVALID_ENDPOINT = 0x803B000C
HCN_E_INVALID_POLICY = 0x803B000D
HCN_E_INVALID_POLICY_TYPE = 0x803B000E
HCN_E_NETWORK_ALREADY_EXISTS = 0x803B0010
HCN_E_POLICY_ALREADY_EXISTS = 0x803B0012
HCN_E_PORT_ALREADY_EXISTS = 0x803B0013
HCN_E_ENDPOINT_ALREADY_ATTACHED = 0x803B0014
HCN_E_REQUEST_UNSUPPORTED = 0x803B0015
HCN_E_MAPPING_NOT_SUPPORTED = 0x803B0016
HCN_E_DEGRADED_OPERATION = 0x803B0017
HCN_E_SHARED_SWITCH_MODIFICATION = 0x803B0018
HCN_E_REGKEY_FAILURE = 0x803B001A
HCN_E_INVALID_JSON = 0x803B001B
HCN_E_INVALID_JSON_REFERENCE = 0x803B001C
HCN_E_INVALID_IP = 0x803B001E
HCN_E_SWITCH_EXTENSION_NOT_FOUND = 0x803B001F
HCN_E_MANAGER_STOPPED = 0x803B0020
GCN_E_NETADAPTER_TIMEOUT = 0x803B0025
GCN_E_NETADAPTER_NOT_FOUND = 0x803B0026
GCN_E_NETCOMPARTMENT_NOT_FOUND = 0x803B0027
GCN_E_NETINTERFACE_NOT_FOUND = 0x803B0028
HCN_E_ICS_DISABLED = 0x803B002A
HCN_E_ENDPOINT_NAMESPACE_ALREADY_EXISTS = 0x803B002B
HCN_E_ENTITY_HAS_REFERENCES = 0x803B002C
HCN_E_NAMESPACE_ATTACH_FAILED = 0x803B002E
HCN_E_ADDR_INVALID_OR_RESERVED = 0x803B002F

HCS_E_TERMINATED_DURING_START = 0x80370100
HCS_E_IMAGE_MISMATCH = 0x80370101
HCS_E_HYPERV_NOT_INSTALLED = 0x80370102
HCS_E_INVALID_STATE = 0x80370105
HCS_E_UNEXPECTED_EXIT = 0x80370106
HCS_E_CONNECT_FAILED = 0x80370108
HCS_E_CONNECTION_TIMEOUT = 0x80370109
HCS_E_CONNECTION_CLOSED = 0x8037010A
HCS_E_INVALID_JSON = 0x8037010D
HCS_E_SYSTEM_NOT_FOUND = 0x8037010E
HCS_E_SYSTEM_ALREADY_EXISTS = 0x8037010F
HCS_E_SYSTEM_ALREADY_STOPPED = 0x80370110
HCS_E_INVALID_LAYER = 0x80370112
HCS_E_SERVICE_NOT_AVAILABLE = 0x80370114
HCS_E_OPERATION_TIMEOUT = 0x80370118
HCS_E_ACCESS_DENIED = 0x8037011B

ERROR_FILE_NOT_FOUND = 0x2
ERROR_ACCESS_DENIED = 0x5
ERROR_OUTOFMEMORY = 0xE
ERROR_WRONG_DISK = 0x22
ERROR_NOT_SUPPORTED = 0x32
ERROR_INVALID_PARAMETER = 0x57
ERROR_DISK_FULL = 0x70
ERROR_MOD_NOT_FOUND = 0x7E
ERROR_PROC_NOT_FOUND = 0x7F
ERROR_ALREADY_EXISTS = 0xB7
ERROR_SERVICE_NOT_ACTIVE = 0x426
ERROR_NOT_FOUND = 0x490
ERROR_PRIVILEGE_NOT_HELD = 0x522
ERROR_NO_SYSTEM_RESOURCES = 0x5AA
ERROR_COMMITMENT_LIMIT = 0x5AF
ERROR_TIMEOUT = 0x5B4
RPC_S_SERVER_UNAVAILABLE = 0x6BA
EPT_S_NOT_REGISTERED = 0x6D9
ERROR_OBJECT_ALREADY_EXISTS = 0x1392

_WIN32 = 0x80070000
"""The part of an HRESULT that says: a Win32 code. Source: learn.microsoft.com, HRESULT_FROM_WIN32."""

_NT = 0x40000000
"""hcsshim prints HCS' codes with NTSTATUS' bit as well. Source: hcsshim internal/hcs/errors.go (0xc0370106)."""


def written(code: int) -> tuple[str, ...]:
    """The forms in which logs have a code, in lower case: `0x803b0010`, `2151350288`, `-2143617008`; a Win32 code as
    itself in brackets, as hcsshim ends its sentences, and as an HRESULT."""
    if code < 0x10000:
        return (f"(0x{code:x})", *written(code | _WIN32))
    found = [code]
    if code & 0xFFFF0000 == 0x80370000:
        found.append(code | _NT)
    return tuple(text for each in found for text in (f"0x{each:08x}", str(each), str(each - (1 << 32))))


def pattern(*codes: int, text: str = "") -> str:
    """A regular expression for codes in all forms, and for Windows' English text of them."""
    forms = [_apart(form) for code in codes for form in written(code)]
    return "(?:" + "|".join([*forms, *([text] if text else [])]) + ")"


def _apart(form: str) -> str:
    """Not as a part of a longer number."""
    escaped = re.escape(form)
    return escaped if form.endswith(")") else f"(?<![0-9a-zA-Z-]){escaped}(?![0-9a-zA-Z])"
