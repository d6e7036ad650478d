"""What PowerShell's own list of suspicious words finds in the texts that every call brings to a node."""

from __future__ import annotations

import re

import pytest

from tests.unit.powershell.source import HNS, PROGRAMS, ROOT, read

GENERAL = frozenset(
    (  # noqa: SIM905
        "Add-Type MemoryStream DeflateStream FromBase64String EncodedCommand Bypass ToBase64String ExpandString "
        "Methods Properties CryptoServiceProvider Cryptography"
    ).split()
)
"""What says little: encodings, hashes, names of .NET."""

CALLS = frozenset(
    (  # noqa: SIM905
        "DllImport DefineDynamicAssembly DefineDynamicModule DefineType DefineConstructor CreateType DefineLiteral "
        "DefineEnum DefineField ILGenerator Emit UnverifiableCodeAttribute DefinePInvokeMethod GetTypes GetAssemblies "
        "GetConstructor GetDefaultMembers GetEvent GetField GetInterface GetMember GetMethod GetNestedType "
        "GetProperties GetProperty InvokeMember MakeArrayType MakeByRefType MakeGenericType MakePointerType "
        "DeclaringMethod DeclaringType ReflectedType TypeHandle TypeInitializer UnderlyingSystemType InteropServices "
        "Marshal AllocHGlobal PtrToStructure StructureToPtr FreeHGlobal IntPtr GetPowerShell OpenProcess VirtualAlloc "
        "VirtualFree WriteProcessMemory CreateUserThread CloseHandle GetDelegateForFunctionPointer kernel32 "
        "CreateThread memcpy LoadLibrary GetModuleHandle GetProcAddress VirtualProtect FreeLibrary ReadProcessMemory "
        "CreateRemoteThread AdjustTokenPrivileges WriteByte WriteInt32 OpenThreadToken PtrToString "
        "ZeroFreeGlobalAllocUnicode OpenProcessToken GetTokenInformation SetThreadToken ImpersonateLoggedOnUser "
        "RevertToSelf GetLogonSessionData CreateProcessWithToken DuplicateTokenEx OpenWindowStation OpenDesktop "
        "MiniDumpWriteDump AddSecurityPackage EnumerateSecurityPackages GetProcessHandle DangerousGetHandle "
        "RijndaelManaged SHA1Managed CryptoStream CreateEncryptor CreateDecryptor TransformFinalBlock DeviceIoControl "
        "SetInformationProcess PasswordDeriveBytes GetAsyncKeyState GetKeyboardState GetForegroundWindow BindingFlags "
        "NonPublic ScriptBlockLogging LogPipelineExecutionDetails ProtectedEventLogging"
    ).split()
)
"""Calls into Windows, code that is made while it runs, logging that is turned off.
Source of both: PowerShell/PowerShell, CompiledScriptBlock.cs, SuspiciousContentChecker: found anywhere in a script
block, whatever the case, the block is logged as event 4104 even where logging is off."""


def found(text: str, words: frozenset[str]) -> set[str]:
    return {word for word in words if word.casefold() in text.casefold()}


def always() -> str:
    return "\n".join(read(path).data.decode("ascii") for path in PROGRAMS if not path.name.startswith("hns"))


def test_what_every_call_brings_calls_nothing_of_windows_by_its_address() -> None:
    """DefinePInvokeMethod, Marshal and their like went with every call, for the few that ask HNS."""
    assert found(always(), CALLS) == set()


def test_the_text_for_hns_does() -> None:
    assert found(read(HNS[0]).data.decode("ascii"), CALLS) >= {
        "DefinePInvokeMethod",
        "Marshal",
        "GetAssemblies",
        "IntPtr",
    }


@pytest.mark.parametrize("word", sorted(GENERAL & found(always(), GENERAL)))
def test_the_page_for_operators_names_what_is_left(word: str) -> None:
    page = (ROOT / "docs" / "endpoint-protection.md").read_text(encoding="utf-8")
    assert re.search(rf"`{word}`", page)
