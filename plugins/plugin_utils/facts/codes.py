# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of Windows' codes, and what those mean that its container, network and SMB functions answer with.

    names(0x803B0014)      # ("HCN_E_ENDPOINT_ALREADY_ATTACHED",)
    meaning(1219)          # "several connections to one server with different users"

codes.txt.gz has names and numbers of golang.org/x/sys windows/zerrors_windows.go, but for fields that no node comes to.
It is read at the first question. The meanings are written by hand; unverified.
"""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("codes.txt.gz")
_WIN32 = 0x80070000
_NT = 0x40000000

MEANINGS: dict[str, str] = {
    "ERROR_INVALID_FUNCTION": "incorrect function",
    "ERROR_INVALID_HANDLE": "the handle is invalid",
    "ERROR_NOT_ENOUGH_MEMORY": "not enough memory",
    "ERROR_OUTOFMEMORY": "not enough memory",
    "ERROR_WRONG_DISK": "the wrong disk is in the drive",
    "ERROR_DEV_NOT_EXIST": "the network resource is no longer available",
    "ERROR_FILE_EXISTS": "the file exists",
    "ERROR_ALREADY_ASSIGNED": "the local device name is in use already",
    "ERROR_INVALID_NAME": "the name of the file, folder or volume is not correct",
    "ERROR_MOD_NOT_FOUND": "the module is not found",
    "ERROR_PROC_NOT_FOUND": "the procedure is not found",
    "ERROR_DIR_NOT_EMPTY": "the folder is not empty",
    "ERROR_BAD_EXE_FORMAT": "not a valid Win32 program",
    "ERROR_PIPE_BUSY": "all instances of the pipe are busy",
    "ERROR_DIRECTORY": "the name of the folder is invalid",
    "ERROR_SERVICE_REQUEST_TIMEOUT": "the service did not answer in time",
    "ERROR_SERVICE_ALREADY_RUNNING": "the service runs already",
    "ERROR_INVALID_SERVICE_ACCOUNT": "the account is invalid",
    "ERROR_SERVICE_MARKED_FOR_DELETE": "the service is marked for deletion",
    "ERROR_NO_NET_OR_BAD_PATH": "no network or provider took the path",
    "ERROR_NETWORK_UNREACHABLE": "the network location cannot be reached",
    "ERROR_PRIVILEGE_NOT_HELD": "the client does not hold a privilege",
    "ERROR_ACCOUNT_RESTRICTION": "the account has a restriction",
    "ERROR_NONE_MAPPED": "no security ID for the account's name",
    "ERROR_NO_SUCH_DOMAIN": "the domain does not exist or cannot be reached",
    "ERROR_NO_SYSTEM_RESOURCES": "not enough system resources",
    "ERROR_COMMITMENT_LIMIT": "the page file is too small",
    "ERROR_OBJECT_ALREADY_EXISTS": "the object already exists",
    "WSAEACCES": "access to the socket is forbidden",
    "WSAEADDRINUSE": "the address and port are in use",
    "WSAEADDRNOTAVAIL": "the address is not one of this machine",
    "WSAECONNABORTED": "this machine ended the connection",
    "WSAECONNRESET": "the other side ended the connection",
    "WSAETIMEDOUT": "the other side did not answer in time",
    "WSAECONNREFUSED": "the other side refused the connection",
    "WSAHOST_NOT_FOUND": "no such host is known",
    "STATUS_ACCESS_VIOLATION": "access violation",
    "STATUS_DLL_NOT_FOUND": "a DLL is not found",
    "STATUS_DLL_INIT_FAILED": "a DLL could not be initialized",
    "STATUS_CONTROL_C_EXIT": "ended by Ctrl+C",
    "STATUS_STACK_BUFFER_OVERRUN": "stack buffer overrun, or the program ended itself",
    "ERROR_FILE_NOT_FOUND": "the file is not there",
    "ERROR_PATH_NOT_FOUND": "the folder is not there",
    "ERROR_ACCESS_DENIED": "access is denied",
    "ERROR_SHARING_VIOLATION": "another process has the file open",
    "ERROR_NOT_SUPPORTED": "the request is not supported",
    "ERROR_NOT_READY": "the device is not ready",
    "ERROR_BROKEN_PIPE": "the other side ended the pipe",
    "ERROR_NO_DATA": "the pipe is being closed",
    "ERROR_BAD_NETPATH": "the server is not found: name, route or port 445",
    "ERROR_NETNAME_DELETED": "the server closed the connection, or the share is gone",
    "ERROR_NETWORK_ACCESS_DENIED": "access to the share is denied",
    "ERROR_BAD_NET_NAME": "the server has no share of this name",
    "ERROR_REQ_NOT_ACCEP": "the server takes no more connections",
    "ERROR_INVALID_PASSWORD": "the password is wrong",
    "ERROR_INVALID_PARAMETER": "a parameter is not valid",
    "ERROR_DISK_FULL": "the disk is full",
    "ERROR_ALREADY_EXISTS": "it is there already",
    "ERROR_NOT_FOUND": "the element is not there",
    "ERROR_LOGON_FAILURE": "the user name or the password is wrong",
    "ERROR_SESSION_CREDENTIAL_CONFLICT": "several connections to one server with different users",
    "ERROR_TIMEOUT": "no answer in time",
    "ERROR_SERVICE_NOT_ACTIVE": "the service does not run",
    "RPC_S_SERVER_UNAVAILABLE": "the service that is asked does not run",
    "EPT_S_NOT_REGISTERED": "the service that is asked has not registered yet",
    "HCN_E_NETWORK_NOT_FOUND": "HNS has no such network",
    "HCN_E_ENDPOINT_NOT_FOUND": "HNS has no such endpoint",
    "HCN_E_ADAPTER_NOT_FOUND": "no free network adapter for the network",
    "HCN_E_POLICY_NOT_FOUND": "HNS has no such policy",
    "HCN_E_INVALID_NETWORK": "the network's configuration is not valid",
    "HCN_E_INVALID_ENDPOINT": "the endpoint is not in a state for this",
    "HCN_E_NETWORK_ALREADY_EXISTS": "HNS has a network of this name",
    "HCN_E_PORT_ALREADY_EXISTS": "another rule has this port",
    "HCN_E_ENDPOINT_ALREADY_ATTACHED": "the endpoint is attached already",
    "HCN_E_ADDR_INVALID_OR_RESERVED": "the address is not valid or is reserved",
    "HCS_E_TERMINATED_DURING_START": "the container ended while it started",
    "HCS_E_IMAGE_MISMATCH": "the image is for another build of Windows",
    "HCS_E_HYPERV_NOT_INSTALLED": "Hyper-V is not installed",
    "HCS_E_UNEXPECTED_EXIT": "the container ended unexpectedly",
    "HCS_E_CONNECTION_TIMEOUT": "the container did not answer in time",
    "HCS_E_SYSTEM_NOT_FOUND": "HCS has no such container",
    "HCS_E_SYSTEM_ALREADY_EXISTS": "HCS has a container of this id",
    "HCS_E_SERVICE_NOT_AVAILABLE": "the service vmcompute does not run",
    "HCS_E_OPERATION_TIMEOUT": "HCS did not finish in time",
}


def names(code: int) -> tuple[str, ...]:
    """A number may have several names; an HRESULT of a Win32 code has those of the code, HCS' codes of NTSTATUS' form
    those of the HRESULT. None for a number that is not known."""
    number = of_hcs(code & 0xFFFFFFFF)
    if number & 0xFFFF0000 == _WIN32 and number not in _names():
        number &= 0xFFFF
    return _names().get(number, ())


def of_hcs(code: int) -> int:
    """HCS' code of NTSTATUS' form (0xc0370106), which hcsshim prints too, as the HRESULT; any other as it is."""
    return code & ~_NT if code & 0xFFFF0000 == 0x80370000 | _NT else code


def meaning(code: int) -> str:
    """Empty where it is not described."""
    return next((MEANINGS[name] for name in names(code) if name in MEANINGS), "")


@cache
def _names() -> dict[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {}
    for line in gzip.decompress(_FILE.read_bytes()).decode("ascii").splitlines():
        number, _blank, name = line.partition(" ")
        found[int(number, 16)] = (*found.get(int(number, 16), ()), name)
    return found
