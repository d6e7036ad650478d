# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Codes that HNS, HCS and Win32 answer with, the forms in which programs print one, and Windows' words for it.

Source: golang.org/x/sys windows/zerrors_windows.go (HCN_E_*, GCN_E_*, HCS_E_*, ERROR_*), which has them from Windows'
winerror.h. Texts are Windows' English ones, as hcsshim prints them before the code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

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
HCN_E_INVALID_JSON = 0x803B001B
HCN_E_INVALID_JSON_REFERENCE = 0x803B001C
HCN_E_INVALID_IP = 0x803B001E
HCN_E_SWITCH_EXTENSION_NOT_FOUND = 0x803B001F
HCN_E_MANAGER_STOPPED = 0x803B0020
GCN_E_NETADAPTER_TIMEOUT = 0x803B0025
GCN_E_NETADAPTER_NOT_FOUND = 0x803B0026
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

ERROR_INVALID_FUNCTION = 0x1
ERROR_FILE_NOT_FOUND = 0x2
ERROR_PATH_NOT_FOUND = 0x3
ERROR_ACCESS_DENIED = 0x5
ERROR_NOT_ENOUGH_MEMORY = 0x8
ERROR_OUTOFMEMORY = 0xE
ERROR_NOT_READY = 0x15
ERROR_SHARING_VIOLATION = 0x20
ERROR_WRONG_DISK = 0x22
ERROR_NOT_SUPPORTED = 0x32
ERROR_BAD_NETPATH = 0x35
ERROR_DEV_NOT_EXIST = 0x37
ERROR_NETNAME_DELETED = 0x40
ERROR_NETWORK_ACCESS_DENIED = 0x41
ERROR_BAD_NET_NAME = 0x43
ERROR_REQ_NOT_ACCEP = 0x47
ERROR_FILE_EXISTS = 0x50
ERROR_ALREADY_ASSIGNED = 0x55
ERROR_INVALID_PASSWORD = 0x56
ERROR_INVALID_PARAMETER = 0x57
ERROR_DISK_FULL = 0x70
ERROR_INVALID_NAME = 0x7B
ERROR_MOD_NOT_FOUND = 0x7E
ERROR_PROC_NOT_FOUND = 0x7F
ERROR_DIR_NOT_EMPTY = 0x91
ERROR_BUSY = 0xAA
ERROR_ALREADY_EXISTS = 0xB7
ERROR_VIRUS_INFECTED = 0xE1
ERROR_PIPE_BUSY = 0xE7
ERROR_DIRECTORY = 0x10B
ERROR_SERVICE_REQUEST_TIMEOUT = 0x41D
ERROR_INVALID_SERVICE_ACCOUNT = 0x421
ERROR_SERVICE_NOT_ACTIVE = 0x426
ERROR_PROCESS_ABORTED = 0x42B
ERROR_SERVICE_DEPENDENCY_FAIL = 0x42C
ERROR_SERVICE_LOGON_FAILED = 0x42D
ERROR_SERVICE_MARKED_FOR_DELETE = 0x430
ERROR_SERVICE_DEPENDENCY_DELETED = 0x433
ERROR_NOT_FOUND = 0x490
ERROR_NO_NET_OR_BAD_PATH = 0x4B3
ERROR_SESSION_CREDENTIAL_CONFLICT = 0x4C3
ERROR_NETWORK_UNREACHABLE = 0x4CF
ERROR_NO_LOGON_SERVERS = 0x51F
ERROR_PRIVILEGE_NOT_HELD = 0x522
ERROR_LOGON_FAILURE = 0x52E
ERROR_ACCOUNT_RESTRICTION = 0x52F
ERROR_INVALID_LOGON_HOURS = 0x530
ERROR_PASSWORD_EXPIRED = 0x532
ERROR_ACCOUNT_DISABLED = 0x533
ERROR_NONE_MAPPED = 0x534
ERROR_NO_SUCH_DOMAIN = 0x54B
ERROR_LOGON_TYPE_NOT_GRANTED = 0x569
ERROR_WRONG_TARGET_NAME = 0x574
ERROR_NO_SYSTEM_RESOURCES = 0x5AA
ERROR_COMMITMENT_LIMIT = 0x5AF
ERROR_TIMEOUT = 0x5B4
RPC_S_SERVER_UNAVAILABLE = 0x6BA
EPT_S_NOT_REGISTERED = 0x6D9
ERROR_TRUSTED_RELATIONSHIP_FAILURE = 0x6FD
ERROR_PASSWORD_MUST_CHANGE = 0x773
ERROR_ACCOUNT_LOCKED_OUT = 0x775
ERROR_CANT_ACCESS_FILE = 0x780
ERROR_OBJECT_ALREADY_EXISTS = 0x1392
WSAEACCES = 0x271D
WSAEADDRINUSE = 0x2740
WSAECONNABORTED = 0x2745
STATUS_DLL_NOT_FOUND = 0xC0000135
STATUS_DLL_INIT_FAILED = 0xC0000142

_WIN32 = 0x80070000
"""The part of an HRESULT that says: a Win32 code. Source: learn.microsoft.com, HRESULT_FROM_WIN32."""

_NT = 0x40000000
"""hcsshim prints HCS' codes with NTSTATUS' bit as well. Source: hcsshim internal/hcs/errors.go (0xc0370106)."""


TEXTS: Mapping[int, str] = {
    2: (
        "cannot find the file specified|angegebene Datei nicht finden|"
        "fichier sp\xe9cifi\xe9 est introuvable|no puede encontrar el archivo especificado|"
        "Impossibile trovare il file specificato|"
        "\u7cfb\u7edf\u627e\u4e0d\u5230\u6307\u5b9a\u7684\u6587\u4ef6|"
        "\u6307\u5b9a\u3055\u308c\u305f\u30d5\u30a1\u30a4\u30eb\u304c\u898b\u3064\u304b\u308a\u307e\u305b\u3093"
    ),
    3: (
        "cannot find the path specified|angegebenen Pfad nicht finden|chemin d'acc\xe8s sp\xe9cifi\xe9|"
        "\u7cfb\u7edf\u627e\u4e0d\u5230\u6307\u5b9a\u7684\u8def\u5f84"
    ),
    5: (
        "access (?:to the path .{1,200} )?is denied|Zugriff verweigert|Acc\xe8s refus\xe9|"
        "Acceso denegado|Accesso negato|Acesso negado|\u62d2\u7edd\u8bbf\u95ee|"
        "\u30a2\u30af\u30bb\u30b9\u304c\u62d2\u5426|\uc561\uc138\uc2a4\uac00 \uac70\ubd80"
    ),
    8: "Not enough (?:memory resources are|storage is) available to process this command",
    14: "Not enough (?:memory resources are|storage is) available to complete this operation",
    32: (
        "being used by another p|von einem anderen Prozess verwendet|"
        "utilis\xe9 par un autre processus|est\xe1 siendo utilizado por otro proceso"
    ),
    50: "request is not supported",
    53: ("network path was not found|Netzwerkpfad wurde nicht gefunden|chemin r\xe9seau n'a pas \xe9t\xe9 trouv\xe9"),
    55: "network resource or device is no longer available",
    64: "specified network name is no longer available",
    65: "network access is denied",
    67: "network name cannot be found",
    71: "No more connections can be made",
    85: "local device name is already in use",
    86: "specified network password is not correct",
    87: (
        "parameter is incorrect|Falscher Parameter|param\xe8tre est incorrect|"
        "par\xe1metro no es correcto|\u53c2\u6570\u9519\u8bef"
    ),
    109: "pipe has been ended",
    112: "not enough space on the disk|nicht gen\xfcgend Speicherplatz|Espace insuffisant",
    126: "specified module could not be found",
    127: "specified procedure could not be found",
    170: "requested resource is in use",
    183: "when that file already exists",
    232: "pipe is being closed",
    267: "directory name is invalid",
    1062: "service has not been started",
    1168: "Element not found|Element nicht gefunden|\xc9l\xe9ment introuvable",
    1219: "Multiple connections to a serve",
    1231: "network location cannot be reached",
    1314: "required privilege is not held",
    1326: (
        "user ?name or password is incorrect|Benutzername oder das Kennwort ist falsch|"
        "nom d'utilisateur ou mot de passe"
    ),
    1332: "No mapping between account names and security IDs",
    1355: "specified domain either does not exist or could not be contacted",
    1450: "Insufficient system resources exist",
    1455: "paging file is too small",
    1722: "RPC server is unavailable|RPC-Server ist nicht verf\xfcgbar|serveur RPC n'est pas disponible",
    1753: "no more endpoints available from the endpoint",
    5010: "The object already exists",
    10013: "forbidden by its access permissions",
    10048: "Only one usage of each socket address",
    0x80370101: (
        "container (?:operating system|OS version) (?:does not|must) match the host|"
        "operating system of the container does not match"
    ),
    0x80370102: (
        "(?:hypervisor|Hyper-V) (?:is not (?:present|installed)|could not be)|because a required feature is not in"
    ),
    0x80370106: "(?:virtual machine or container|compute system) exited unexpectedly(?! while starting)",
    0x8037010D: "(?:virtual machine or container|Compute System) JSON document is invalid",
    0x8037010E: "(?:virtual machine or container|Compute System) with the specified identifier does not exist",
    0x80370114: "Host Compute Service.*not (?:available|running)",
    0x803B0001: "The network was not found",
    0x803B0002: "The endpoint was not found",
    0x803B0006: "An adapter was not found",
    0x803B0007: "The switch-port was not found",
    0x803B0008: "An expected policy was not found",
    0x803B000A: "provided network configuration is invalid or missing parameters",
    0x803B000B: "invalid network type",
    0x803B000D: "provided policy configuration is invalid or missing parameters",
    0x803B0010: "A network with this name already exists",
    0x803B0013: "The specified port already exists",
    0x803B0014: "endpoint (?:has|is) already (?:been )?attached",
    0x803B0017: "action in a degraded object|Endpoint is in invalid state",
    0x803B001C: "reference is invalid in the JSON document",
    0x803B001E: "IP address is either invalid or not part of any configured subnet",
    0x803B002A: "Internet Connection Sharing.{0,20}(?:disabled|not)",
    0x803B002F: "An address provided is invalid or reserved",
    19: "media is write protected",
    21: "device is not ready",
    33: "another process has locked a portion of the file",
    51: "Windows cannot find the network path",
    54: "network is busy",
    59: "unexpected network error occurred",
    80: "The file exists",
    121: "semaphore timeout period has expired",
    123: "filename, directory name, or volume label syntax is incorrect",
    145: "directory is not empty",
    225: "contains a virus or potentially unwanted software",
    1005: "volume does not contain a recognized file system",
    1053: "did not respond to the start or control request",
    1056: "instance of the service is already running",
    1058: "service cannot be started, either because it is disabled",
    1060: "does not exist as an installed service",
    1067: "process terminated unexpectedly",
    1069: "service did not start due to a logon failure",
    1072: "service has been marked for deletion",
    1117: "I/O device error",
    1311: "no logon servers available",
    1327: "Account restrictions are preventing",
    1328: "time restrictions that prevent you from logging on|account has time restrictions",
    1330: "password for this account has expired",
    1331: "account is currently disabled",
    1385: "has not been granted the requested logon type",
    1392: "file or directory is corrupted and unreadable",
    1396: "target account name is incorrect",
    1460: "operation returned because the timeout period expired",
    1789: "trust relationship between",
    1907: "password must be changed before (?:signing|logging) (?:in|on)",
    1909: "account is currently locked out",
    0x80370100: "virtual machine or container exited unexpectedly while starting",
    0x80370105: "container operation is not valid in the current state",
    0x80370107: "virtual machine or container was forcefully exited",
    0x80370108: (
        "connection could not be established with the (?:container or virtual machine|"
        "virtual machine hosting the container)"
    ),
    0x80370109: "response was not received from the virtual machine or container",
    0x8037010A: "connection with the virtual machine or container was closed",
    0x8037010C: "does not support an available version of the communication protocol",
    0x8037010F: "(?:virtual machine or container|Compute System) with the specified identifier already exists",
    0x80370110: "(?:virtual machine or container|Compute System) with the specified identifier is not running",
    0x80370112: "container image contains a layer with an unrecognized format",
    0x803B0004: "virtual switch was not found",
    0x803B0005: "network does not have a subnet for this endpoint",
    0x803B000C: "provided endpoint configuration is invalid or missing parameters",
    0x803B000E: "Invalid policy type",
    0x803B0012: "Policy information already exists on this object",
    0x803B0015: "specified request is unsupported",
    0x803B0016: "Port mapping is not supported on the given network",
    0x803B0018: "Cannot modify a switch shared by multiple networks",
    0x803B001B: "Invalid JSON document string",
    0x803B001F: "switch extension does not exist on this switch",
    0x803B0020: "cannot be performed while (?:the )?service is stopping",
    0x803B002B: "endpoint is already part of a network namespace",
    0x803B002C: "cannot be removed while it still has references",
    0x803B002E: "requested operation for attach namespace failed",
}
"""Windows' own words for its codes, in several languages, where a line has no number. Source: Windows' message tables,
as FormatMessage prints them (learn.microsoft.com, System Error Codes)."""


def list_forms(code: int) -> tuple[str, ...]:
    """The forms in which logs have a code, in lower case: `0x803b0010`, `2151350288`, `-2143617008`; a Win32 code as
    itself in brackets, as hcsshim ends its sentences, and as an HRESULT."""
    if code < 0x10000:
        return (f"(0x{code:x})", *list_forms(code | _WIN32))
    found = [code]
    if code & 0xFFFF0000 == 0x80370000:
        found.append(code | _NT)
    return tuple(text for each in found for text in (f"0x{each:08x}", str(each), str(each - (1 << 32))))


@cache
def pattern(*codes: int) -> str:
    """A regular expression for codes in all forms, and for Windows' texts of them."""
    long = "|".join(re.escape(form) for code in codes for form in list_forms(code) if not form.endswith(")"))
    short = (each for code in codes for each in _find_announced(code))
    texts = (TEXTS[code] for code in codes if code in TEXTS)
    return "(?:" + "|".join([f"(?<![0-9a-zA-Z-])(?:{long})(?![0-9a-zA-Z])", *short, *texts]) + ")"


def show(code: int) -> str:
    """For a person's eyes."""
    return f"0x{code:08x}" if code > 0xFFFF else f"Windows {code}"


def _find_announced(code: int) -> tuple[str, ...]:
    """A Win32 code as itself, in brackets or where words before it say that it is one: PowerShell's, sc.exe's, Go's."""
    if code > 0xFFFF:
        return ()
    return (rf"\(0x{code:x}\)", *(rf"{word}{code}\b" for word in (r"\berror ", "FAILED ", "%%", "winapi error #")))
