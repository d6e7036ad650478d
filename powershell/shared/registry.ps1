# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The 64-bit view of HKEY_LOCAL_MACHINE: values as they are stored, with their types.

function Split-NodeRegistryPath {
    <# .SYNOPSIS The part of a path below HKLM; a sentence as error for any other hive. #>
    param([string]$Path)

    foreach ($prefix in @('HKLM\', 'HKEY_LOCAL_MACHINE\', 'HKLM:\')) {
        if ($Path.StartsWith($prefix, [System.StringComparison]::OrdinalIgnoreCase) -and $Path.Length -gt $prefix.Length) {
            return [string]$Path.Substring($prefix.Length).TrimEnd('\')
        }
    }
    throw "The registry path '$Path' is not below HKLM\; nothing else is read or written."
}

function Open-NodeRegistryKey {
    <# .SYNOPSIS An open key below HKLM (the caller disposes it), or null if it does not exist. #>
    param([string]$Key, [bool]$Writable = $false)

    $base = [Microsoft.Win32.RegistryKey]::OpenBaseKey(
        [Microsoft.Win32.RegistryHive]::LocalMachine, [Microsoft.Win32.RegistryView]::Registry64)
    try {
        return $base.OpenSubKey($Key, $Writable)
    }
    finally {
        $base.Dispose()
    }
}

function Get-NodeRegistryRaw {
    <# .SYNOPSIS One value of a key below HKLM as .NET gives it, not expanded; the default if key or value is missing. #>
    param([string]$Key, [string]$Name, [object]$Default = $null)

    $opened = Open-NodeRegistryKey -Key $Key
    if ($null -eq $opened) {
        return , $Default
    }
    try {
        return , $opened.GetValue($Name, $Default, [Microsoft.Win32.RegistryValueOptions]::DoNotExpandEnvironmentNames)
    }
    finally {
        $opened.Dispose()
    }
}

function Test-NodeRegistryKey {
    param([string]$Key)

    $opened = Open-NodeRegistryKey -Key $Key
    if ($null -eq $opened) {
        return $false
    }
    $opened.Dispose()
    return $true
}

function ConvertTo-NodeUnsigned {
    <# .SYNOPSIS A DWORD as the number it means: .NET gives 0xFFFFFFFF as -1. #>
    param([object]$Value)

    return [int64][System.BitConverter]::ToUInt32([System.BitConverter]::GetBytes([int]$Value), 0)
}

function Read-NodeRegistryValue {
    <# .SYNOPSIS Type and value of an open key's value, as the protocol writes them: {type, value}. #>
    param([object]$Opened, [string]$Name)

    $kind = [string]$Opened.GetValueKind($Name)
    $raw = $Opened.GetValue($Name, $null, [Microsoft.Win32.RegistryValueOptions]::DoNotExpandEnvironmentNames)
    if ($kind -ceq 'String') {
        return @{ type = 'string'; value = [string]$raw }
    }
    if ($kind -ceq 'ExpandString') {
        return @{ type = 'expand_string'; value = [string]$raw }
    }
    if ($kind -ceq 'MultiString') {
        return @{ type = 'multi_string'; value = [object[]]@($raw) }
    }
    # A value whose length does not fit its type comes as bytes.
    if ($kind -ceq 'DWord' -and $raw -is [int]) {
        return @{ type = 'dword'; value = (ConvertTo-NodeUnsigned -Value $raw) }
    }
    if ($kind -ceq 'QWord' -and $raw -is [int64]) {
        $unsigned = [System.BitConverter]::ToUInt64([System.BitConverter]::GetBytes([int64]$raw), 0)
        return @{ type = 'qword'; value = $unsigned.ToString() }
    }
    if ($raw -is [byte[]]) {
        return @{ type = 'binary'; value = [System.BitConverter]::ToString([byte[]]$raw).Replace('-', '').ToLowerInvariant() }
    }
    return @{ type = 'binary'; value = '' }
}

function Test-NodeContaining {
    <# .SYNOPSIS Whether a value has one of the texts in it, whatever the case. #>
    param([object]$Value, [object[]]$Texts)

    foreach ($text in $Texts) {
        if (([string]$Value).IndexOf([string]$text, [System.StringComparison]::OrdinalIgnoreCase) -ge 0) {
            return $true
        }
    }
    return $false
}

function Read-NodeRegistryValueTable {
    <# .SYNOPSIS All values of an open key: name -> {type, value}, with Types {type}; with texts those that have one of them in it. #>
    param([object]$Opened, [object[]]$Containing = @(), [bool]$Types = $false)

    $values = New-NodeMap
    foreach ($name in [string[]]$Opened.GetValueNames()) {
        $value = Read-NodeRegistryValue -Opened $Opened -Name $name
        if ($Containing.Length -eq 0 -or (Test-NodeContaining -Value $value['value'] -Texts $Containing)) {
            if ($Types) {
                $null = $value.Remove('value')
            }
            $values[$name] = $value
        }
    }
    return $values
}

function Add-NodeRegistryTree {
    <# .SYNOPSIS The keys below an open key, into a table: path below it -> values. One that may not be opened is left out. #>
    param([object]$Opened, [string]$Prefix, [hashtable]$Into, [bool]$Types = $false)

    foreach ($name in [string[]]$Opened.GetSubKeyNames()) {
        $child = $null
        try {
            $child = $Opened.OpenSubKey($name)
        }
        catch {
            $failure = $_
            if ((Get-NodeException -Record $failure) -isnot [System.Security.SecurityException]) {
                throw $failure
            }
        }
        if ($null -eq $child) {
            continue
        }
        try {
            $Into[$Prefix + $name] = Read-NodeRegistryValueTable -Opened $child -Types $Types
            Add-NodeRegistryTree -Opened $child -Prefix ($Prefix + $name + '\') -Into $Into -Types $Types
        }
        finally {
            $child.Dispose()
        }
    }
}

function Read-NodeRegistry {
    <# .SYNOPSIS The query `registry`: a whole key, with Tree also those below it, with Types no values; or with a name one value of it. #>
    param(
        [string]$Path,
        [bool]$Single = $false,
        [string]$Name = '',
        [bool]$Tree = $false,
        [object[]]$Containing = @(),
        [bool]$Types = $false
    )

    $opened = Open-NodeRegistryKey -Key (Split-NodeRegistryPath -Path $Path)
    if ($null -eq $opened) {
        if ($Single) {
            return @{ exists = $false }
        }
        return @{ exists = $false; values = (New-NodeMap); keys = [object[]]@() }
    }
    try {
        $names = [string[]]$opened.GetValueNames()
        if ($Single) {
            if ($names -notcontains $Name) {
                return @{ exists = $false }
            }
            $answer = Read-NodeRegistryValue -Opened $opened -Name $Name
            $answer['exists'] = $true
            return $answer
        }
        $keys = [string[]]$opened.GetSubKeyNames()
        [System.Array]::Sort($keys, [System.StringComparer]::OrdinalIgnoreCase)
        $answer = @{ exists = $true; values = (Read-NodeRegistryValueTable -Opened $opened -Containing $Containing -Types $Types); keys = [object[]]@($keys) }
        if ($Tree) {
            $answer['tree'] = New-NodeMap
            Add-NodeRegistryTree -Opened $opened -Prefix '' -Into $answer['tree'] -Types $Types
        }
        return $answer
    }
    finally {
        $opened.Dispose()
    }
}
