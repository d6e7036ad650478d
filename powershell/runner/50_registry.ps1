# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Registry values and keys below HKLM.

function Set-NodeRegistryValue {
    <# .SYNOPSIS Writes a value with its type; each cast gives .NET the very type that the registry wants. #>
    param([object]$Opened, [string]$Name, [string]$Type, [object]$Value)

    switch -CaseSensitive ($Type) {
        'string' { $Opened.SetValue($Name, [string]$Value, [Microsoft.Win32.RegistryValueKind]::String) }
        'expand_string' { $Opened.SetValue($Name, [string]$Value, [Microsoft.Win32.RegistryValueKind]::ExpandString) }
        'multi_string' {
            $Opened.SetValue($Name, [string[]]@($Value), [Microsoft.Win32.RegistryValueKind]::MultiString)
        }
        'dword' {
            # .NET wants the signed number with the same bits.
            $bits = [System.BitConverter]::ToInt32([System.BitConverter]::GetBytes([uint32]$Value), 0)
            $Opened.SetValue($Name, [int]$bits, [Microsoft.Win32.RegistryValueKind]::DWord)
        }
        'qword' {
            $number = [uint64]::Parse([string]$Value, [System.Globalization.CultureInfo]::InvariantCulture)
            $bits = [System.BitConverter]::ToInt64([System.BitConverter]::GetBytes([uint64]$number), 0)
            $Opened.SetValue($Name, [int64]$bits, [Microsoft.Win32.RegistryValueKind]::QWord)
        }
        'binary' {
            $hex = [string]$Value
            [byte[]]$bytes = New-Object 'byte[]' ([int]($hex.Length / 2))
            for ($index = 0; $index -lt $bytes.Length; $index++) {
                $bytes[$index] = [System.Convert]::ToByte($hex.Substring(2 * $index, 2), 16)
            }
            $Opened.SetValue($Name, [byte[]]$bytes, [Microsoft.Win32.RegistryValueKind]::Binary)
        }
    }
}

function Assert-NodeRegistryValue {
    <# .SYNOPSIS Throws for what cannot become a value of this type: before a key is made for it. #>
    param([string]$Type, [object]$Value, [string]$Place)

    if (@('string', 'expand_string', 'multi_string', 'dword', 'qword', 'binary') -cnotcontains $Type) {
        throw "${Place}: there is no registry type '$Type'; there are string, expand_string, multi_string, dword, qword and binary."
    }
    $fits = $true
    if ($Type -ceq 'dword' -or $Type -ceq 'qword') {
        $limit = [decimal][uint32]::MaxValue
        if ($Type -ceq 'qword') {
            $limit = [decimal][uint64]::MaxValue
        }
        $number = [decimal]0
        $culture = [System.Globalization.CultureInfo]::InvariantCulture
        $style = [System.Globalization.NumberStyles]::None
        $fits = [decimal]::TryParse([string]$Value, $style, $culture, [ref]$number) -and $number -le $limit
    }
    elseif ($Type -ceq 'binary') {
        $fits = [string]$Value -cmatch '^([0-9a-f][0-9a-f])*$'
    }
    if (-not $fits) {
        throw "${Place}: '$Value' is no value of type $Type."
    }
}

function Invoke-NodeOpRegistrySet {
    param([object]$Arguments, [hashtable]$Run)

    $path = [string]$Arguments['path']
    $name = [string]$Arguments['name']
    $type = [string]$Arguments['type']
    $value = Get-NodeArgument -Map $Arguments -Name 'value'
    if ($type -ceq 'multi_string') {
        $value = Get-NodeArgumentList -Map $Arguments -Name 'value'
    }
    elseif ($type -ceq 'binary') {
        $value = ([string]$value).ToLowerInvariant()
    }
    elseif ($type -ceq 'qword') {
        $value = [string]$value
    }
    Assert-NodeRegistryValue -Type $type -Value $value -Place "$path\$name"
    $present = Read-NodeRegistry -Path $path -Single $true -Name $name
    if ($present['exists'] -and $present['type'] -ceq $type -and (Test-NodeEqual -Left $present['value'] -Right $value)) {
        return @{ changed = $false }
    }
    $key = Split-NodeRegistryPath -Path $path
    $base = [Microsoft.Win32.RegistryKey]::OpenBaseKey(
        [Microsoft.Win32.RegistryHive]::LocalMachine, [Microsoft.Win32.RegistryView]::Registry64)
    $opened = $null
    try {
        $opened = $base.CreateSubKey($key)
        Set-NodeRegistryValue -Opened $opened -Name $name -Type $type -Value $value
    }
    catch {
        throw "$path\${name}: $(Get-NodeErrorText -Record $_)"
    }
    finally {
        if ($null -ne $opened) {
            $opened.Dispose()
        }
        $base.Dispose()
    }
    return @{ changed = $true }
}

function Invoke-NodeOpRegistryRemove {
    param([object]$Arguments, [hashtable]$Run)

    $path = [string]$Arguments['path']
    $key = Split-NodeRegistryPath -Path $path
    $name = Get-NodeArgument -Map $Arguments -Name 'name'
    if ($null -ne $name) {
        $opened = Open-NodeRegistryKey -Key $key -Writable $true
        if ($null -eq $opened) {
            return @{ changed = $false }
        }
        try {
            $there = [string[]]$opened.GetValueNames() -contains [string]$name
            $opened.DeleteValue([string]$name, $false)
        }
        finally {
            $opened.Dispose()
        }
        return @{ changed = [bool]$there }
    }
    if (-not (Test-NodeRegistryKey -Key $key)) {
        return @{ changed = $false }
    }
    $cut = $key.LastIndexOf('\')
    if ($cut -le 0) {
        throw "$path is a root of the registry; it is not removed."
    }
    $above = $key.Substring(0, $cut)
    $parent = Open-NodeRegistryKey -Key $above -Writable $true
    try {
        $parent.DeleteSubKeyTree($key.Substring($cut + 1), $false)
    }
    finally {
        $parent.Dispose()
    }
    return @{ changed = $true }
}
