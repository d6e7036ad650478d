"""The script by which the tests make and look at a tree where there is a real PowerShell."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from typing import Any

LONG = 4096

# Windows PowerShell 5.1 and 7. The request travels in base64, so that nothing in it needs quoting, and packed: as an
# argument of the `ansible` command it may not be longer than 128 KB, and a runner is.
_UNPACK = r"""
$packed = New-Object IO.MemoryStream(, [Convert]::FromBase64String('@REQUEST@'))
$unpacked = New-Object IO.Compression.GZipStream($packed, [IO.Compression.CompressionMode]::Decompress)
$text = (New-Object IO.StreamReader($unpacked, [Text.Encoding]::UTF8)).ReadToEnd()
"""

# What `$text`, a request as JSON, asks for.
_BODY = r"""
$ErrorActionPreference = 'Stop'
$request = ConvertFrom-Json -InputObject $text
$slash = [string][IO.Path]::DirectorySeparatorChar

# Windows PowerShell needs the mark for what is longer than 260 characters.
function Get-Long([string]$Path) {
    if ($slash -ne '\' -or $Path.Length -lt 240 -or $Path.StartsWith('\\')) { return $Path }
    return '\\?\' + $Path
}

function Remove-All([string]$Path) {
    foreach ($item in @([IO.Directory]::GetFileSystemEntries((Get-Long $Path)))) {
        [string]$item = Get-Long $item
        $attributes = [IO.File]::GetAttributes($item)
        $isLink = ($attributes -band [IO.FileAttributes]::ReparsePoint) -ne 0
        $isFolder = ($attributes -band [IO.FileAttributes]::Directory) -ne 0
        if ($isFolder) {
            if (-not $isLink) { Remove-All $item }
            [IO.Directory]::Delete($item, $false)
        } else {
            if (-not $isLink) { [IO.File]::SetAttributes($item, [IO.FileAttributes]'Normal') }
            [IO.File]::Delete($item)
        }
    }
}

# Windows PowerShell makes no link to what is not there (PowerShell/PowerShell#801), no PowerShell such a junction.
function Add-Link([string]$Path, [string]$Kind, [string]$Target) {
    $lacks = $slash -eq '\' -and -not [IO.File]::Exists($Target) -and -not [IO.Directory]::Exists($Target)
    if ($lacks -and $Kind -eq 'Junction') { $null = [IO.Directory]::CreateDirectory($Target) }
    elseif ($lacks) { [IO.File]::WriteAllText($Target, '') }
    $null = New-Item -ItemType $Kind -Path $Path -Target $Target
    if ($lacks -and $Kind -eq 'Junction') { [IO.Directory]::Delete($Target) }
    elseif ($lacks) { [IO.File]::Delete($Target) }
}

function Add-Files([string]$Folder, [psobject]$Files) {
    foreach ($file in @($Files)) {
        $path = Get-Long ([IO.Path]::Combine($Folder, $file.path.Replace('/', $slash)))
        $null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($path))
        if ($file.kind -eq 'directory') { $null = [IO.Directory]::CreateDirectory($path) }
        elseif ($file.kind -eq 'link') { Add-Link $path 'SymbolicLink' $file.data }
        elseif ($file.kind -eq 'junction') { Add-Link $path 'Junction' $file.data }
        elseif ($null -ne $file.PSObject.Properties['text']) {
            [IO.File]::WriteAllText([string]$path, [string]$file.text, [Text.Encoding]::ASCII)
        } else { [IO.File]::WriteAllBytes($path, [Convert]::FromBase64String($file.data)) }
        $readOnly = $null -ne $file.PSObject.Properties['read_only']
        if ($readOnly) { [IO.File]::SetAttributes([string]$path, [IO.FileAttributes]'ReadOnly') }
    }
}

function Get-Files([string]$Folder, [string]$Prefix) {
    if (-not [IO.Directory]::Exists($Folder)) { return }
    foreach ($item in [IO.Directory]::GetFileSystemEntries((Get-Long $Folder))) {
        $item = Get-Long $item
        $name = $Prefix + [IO.Path]::GetFileName($item)
        $attributes = [IO.File]::GetAttributes($item)
        if (($attributes -band [IO.FileAttributes]::ReparsePoint) -ne 0) {
            @{ path = $name; kind = 'link'; data = '' }
        } elseif (($attributes -band [IO.FileAttributes]::Directory) -ne 0) {
            @{ path = $name; kind = 'directory'; data = '' }
            Get-Files $item ($name + '/')
        } else {
            @{ path = $name; kind = 'file'; data = [Convert]::ToBase64String([IO.File]::ReadAllBytes($item)) }
        }
    }
}

$key = 'SOFTWARE\winkube-contract'
$kinds = @{
    string = 'String'; expand_string = 'ExpandString'; multi_string = 'MultiString'
    dword = 'DWord'; qword = 'QWord'; binary = 'Binary'
}

function Add-Keys([psobject]$Registry) {
    $base = [Microsoft.Win32.RegistryKey]::OpenBaseKey('LocalMachine', 'Registry64')
    if ($null -ne $base.OpenSubKey($key)) { $base.DeleteSubKeyTree($key) }
    foreach ($entry in $Registry.PSObject.Properties) {
        $opened = $base.CreateSubKey($key + '\' + $entry.Name)
        foreach ($value in $entry.Value.PSObject.Properties) {
            $data = $value.Value.value
            if ($value.Value.type -eq 'binary') {
                $hex = [string]$data
                $data = New-Object byte[] ($hex.Length / 2)
                for ($i = 0; $i -lt $data.Length; $i++) { $data[$i] = [Convert]::ToByte($hex.Substring(2 * $i, 2), 16) }
                $data = [byte[]]$data
            } elseif ($value.Value.type -eq 'multi_string') { $data = [string[]]@($data) }
            elseif ($value.Value.type -eq 'dword') {
                $data = [BitConverter]::ToInt32([BitConverter]::GetBytes([uint32]$data), 0)
            }
            elseif ($value.Value.type -eq 'qword') { $data = [int64]$data }
            $opened.SetValue($value.Name, $data, $kinds[$value.Value.type])
        }
    }
}

function Get-Keys([string]$Path, [string]$Name, $Into) {
    $base = [Microsoft.Win32.RegistryKey]::OpenBaseKey('LocalMachine', 'Registry64')
    $opened = $base.OpenSubKey($Path)
    if ($null -eq $opened) { return }
    if ($Name -ne '') {
        $values = @{}
        foreach ($valueName in $opened.GetValueNames()) {
            $kind = [string]$opened.GetValueKind($valueName)
            $data = $opened.GetValue($valueName, $null, 'DoNotExpandEnvironmentNames')
            $type = @($kinds.GetEnumerator() | Where-Object { $_.Value -eq $kind })[0].Key
            if ($kind -eq 'Binary') { $data = [BitConverter]::ToString($data).Replace('-', '').ToLowerInvariant() }
            if ($kind -eq 'DWord') { $data = [BitConverter]::ToUInt32([BitConverter]::GetBytes([int]$data), 0) }
            if ($kind -eq 'QWord') { $data = [string]$data }
            if ($kind -eq 'MultiString') { $data = @($data) }
            $values[$valueName] = @{ type = $type; value = $data }
        }
        $Into[$Name] = $values
    }
    foreach ($child in $opened.GetSubKeyNames()) {
        $childName = $child
        if ($Name -ne '') { $childName = $Name + '\' + $child }
        Get-Keys ($Path + '\' + $child) $childName $Into
    }
}

$answer = @{ files = @(); registry = @{} }
if ($request.verb -eq 'prepare') {
    foreach ($folder in @($request.root, $request.state)) {
        if ([IO.Directory]::Exists($folder)) { Remove-All $folder; [IO.Directory]::Delete($folder) }
    }
    $null = [IO.Directory]::CreateDirectory($request.root)
    Add-Files $request.root $request.files
    if (@REGISTRY@) { Add-Keys $request.registry }
} elseif ($request.verb -eq 'remove') {
    $folder = [IO.Path]::GetDirectoryName([string]$request.root)
    if ([IO.Directory]::Exists($folder)) { Remove-All $folder; [IO.Directory]::Delete($folder) }
} elseif ($request.verb -eq 'put') {
    $null = [IO.Directory]::CreateDirectory($request.state)
    if ($slash -eq '\') {
        $acl = New-Object System.Security.AccessControl.DirectorySecurity
        # Without the sections it would want to write the list of audits too.
        $sections = [System.Security.AccessControl.AccessControlSections]'Owner, Group, Access'
        $acl.SetSecurityDescriptorSddlForm('O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)', $sections)
        Set-Acl -LiteralPath $request.state -AclObject $acl
    }
    Add-Files $request.state $request.files
} elseif ($request.verb -eq 'start') {
    # As its task starts it. What it throws is seen by what it has left undone.
    $runner = [IO.File]::ReadAllText([IO.Path]::Combine($request.state, 'runner.ps1'))
    try { $null = & ([ScriptBlock]::Create($runner)) -StateDir $request.state } catch { $answer['failed'] = [string]$_ }
} elseif ($request.verb -eq 'state') {
    $answer['files'] = @(Get-Files $request.state '')
} else {
    $answer['files'] = @(Get-Files $request.root '')
    if (@REGISTRY@) { Get-Keys $key '' $answer['registry'] }
}
ConvertTo-Json -InputObject $answer -Depth 20 -Compress
"""


def _plain(file: Mapping[str, Any]) -> Mapping[str, Any]:
    """A long ASCII file with its `text` instead of `data`, which packs three times as well as base64.

    Not a short one: PowerShell 7 takes a text that looks like a date for one.
    """
    data = base64.b64decode(file["data"]) if file["kind"] == "file" else b""
    if len(data) < LONG or not data.isascii():
        return file
    return {**{key: value for key, value in file.items() if key != "data"}, "text": data.decode("ascii")}


def script(request: Mapping[str, Any], *, registry: bool) -> str:
    """The script for `{verb: prepare|put|start|observe|state|remove, root, state, files?, registry?}`.

    It prints JSON.
    """
    sent = {**request, "files": [_plain(file) for file in request["files"]]} if "files" in request else request
    encoded = base64.b64encode(gzip.compress(json.dumps(sent).encode(), mtime=0)).decode()
    return (_UNPACK + _BODY).replace("@REQUEST@", encoded).replace("@REGISTRY@", "$true" if registry else "$false")


def script_block() -> str:
    """The same as a script with one argument, the request as JSON, for a machine with a registry."""
    return "param([string]$text)\nSet-StrictMode -Off\n" + _BODY.replace("@REGISTRY@", "$true")
