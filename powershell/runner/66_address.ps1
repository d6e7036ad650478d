# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The addresses of an adapter, which a new virtual switch may take away, and the machine's name.

function ConvertTo-NodeMask {
    <# .SYNOPSIS The IPv4 mask of a prefix length. #>
    param([int]$Prefix)

    $bytes = New-Object System.Collections.ArrayList
    foreach ($index in @(0, 1, 2, 3)) {
        $ones = [System.Math]::Max(0, [System.Math]::Min(8, [int]($Prefix - 8 * $index)))
        $null = $bytes.Add([string][int](256 - [System.Math]::Pow(2, 8 - $ones)))
    }
    return [string]($bytes.ToArray() -join '.')
}

function Find-NodeAdapter {
    <#
    .SYNOPSIS
    {adapter, trouble}: the first adapter that is there of these names (case does not matter), null if none is, or if they cannot be
    listed at the moment: then trouble says why.
    #>
    param([object[]]$Names)

    try {
        # Whoever waits for one asks again.
        $adapters = Read-NodeAdapterList -PatienceS 0
    }
    catch {
        return @{ adapter = $null; trouble = (Get-NodeErrorText -Record $_) }
    }
    foreach ($name in $Names) {
        foreach ($adapter in $adapters) {
            if ([string]$adapter['name'] -eq [string]$name) {
                return @{ adapter = $adapter; trouble = '' }
            }
        }
    }
    return @{ adapter = $null; trouble = '' }
}

function Get-NodeAddressList {
    <# .SYNOPSIS A list of {address, prefix} as texts `address/prefix`. #>
    param([object[]]$Addresses)

    $list = New-Object System.Collections.ArrayList
    foreach ($item in $Addresses) {
        $null = $list.Add("$($item['address'])/$($item['prefix'])")
    }
    return , $list.ToArray()
}

function Get-NodeAdapterSight {
    <# .SYNOPSIS What was seen of an adapter that Find-NodeAdapter has looked for, for a sentence. #>
    param([hashtable]$Found)

    $adapter = $Found['adapter']
    if ($Found['trouble'] -ne '') {
        return "the adapters could not be listed: $($Found['trouble'])"
    }
    if ($null -eq $adapter) {
        return 'it is not there'
    }
    $state = 'down'
    if ($adapter['up']) {
        $state = 'up'
    }
    $list = Get-NodeAddressList -Addresses $adapter['ipv4']
    if ($list.Length -eq 0) {
        return "it is $state and has no IPv4 address"
    }
    return "it is $state and has $($list -join ', ')"
}

function Test-NodeAdapter {
    <# .SYNOPSIS {so, seen}: whether an adapter is up with an address: this one, or any that Windows did not give itself. #>
    param([object]$Arguments)

    $found = Find-NodeAdapter -Names @([string]$Arguments['name'])
    $adapter = $found['adapter']
    $so = $false
    if ($null -ne $adapter -and $adapter['up']) {
        $wanted = [string](Get-NodeArgument -Map $Arguments -Name 'address' -Default '')
        foreach ($item in $adapter['ipv4']) {
            $address = [string]$item['address']
            if (($wanted -eq '' -and -not $address.StartsWith('169.254.', [System.StringComparison]::Ordinal)) -or $address -eq $wanted) {
                $so = $true
            }
        }
    }
    return @{ so = $so; seen = (Get-NodeAdapterSight -Found $found) }
}

function Wait-NodeAddress {
    <# .SYNOPSIS Waits until the first of the adapters that is there has all addresses: {so, adapter, trouble} as it was seen last. #>
    param([object[]]$Names, [object[]]$Wanted, [double]$Seconds)

    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        $found = Find-NodeAdapter -Names $Names
        $found['so'] = $false
        if ($null -ne $found['adapter']) {
            $present = Get-NodeAddressList -Addresses $found['adapter']['ipv4']
            $missing = @($Wanted | Where-Object { $present -cnotcontains $_ })
            $found['so'] = [bool]($missing.Length -eq 0)
        }
        if ($found['so'] -or $watch.Elapsed.TotalSeconds -ge $Seconds) {
            return $found
        }
        [System.Threading.Thread]::Sleep(500)
    }
}

function Invoke-NodeNetsh {
    <# .SYNOPSIS Runs netsh.exe once for each list of arguments; returns what it complained of as the end of a sentence, empty if nothing. #>
    param([object[]]$Calls)

    $program = [System.Environment]::GetFolderPath('System') + '\netsh.exe'
    $said = New-Object System.Collections.ArrayList
    foreach ($call in $Calls) {
        $done = Invoke-NodeProgram -Program $program -Arguments $call -TimeoutMs 30000
        if ($done['exit_code'] -ne 0) {
            $text = (ConvertFrom-NodeOutput -Bytes $done['stdout'] -Encoding 'oem') -replace '\s+', ' '
            $null = $said.Add("; netsh.exe $($call -join ' ') ended with exit code $($done['exit_code']): $($text.Trim())")
        }
    }
    return [string]($said.ToArray() -join '')
}

function Set-NodeAddress {
    <#
    .SYNOPSIS
    Gives an adapter its addresses by netsh.exe; returns what it complained of as the end of a sentence, empty if nothing.

    .NOTES
    Its exit code decides nothing: it fails with "The object already exists" for a route that is there. What the adapter has then does.
    #>
    param([string]$Name, [object[]]$Addresses, [string]$Gateway, [object[]]$Dns)

    $calls = New-Object System.Collections.ArrayList
    $head = @('interface', 'ipv4')
    $verb = @('set', 'address', "name=$Name", 'source=static')
    $next = "gateway=$Gateway"
    if ($Gateway -eq '') {
        $next = 'gateway=none'
    }
    foreach ($item in $Addresses) {
        $mask = ConvertTo-NodeMask -Prefix ([int]$item['prefix'])
        $line = $head + $verb + @("address=$($item['address'])", "mask=$mask")
        if ($next -ne '') {
            $line = $line + @($next)
        }
        $null = $calls.Add([object[]]$line)
        $verb = @('add', 'address', "name=$Name")
        $next = ''
    }
    $verb = @('set', 'dnsservers', "name=$Name", 'source=static')
    foreach ($server in $Dns) {
        # Without validate=no it asks each server first, which takes long while the network is down.
        $null = $calls.Add([object[]]($head + $verb + @("address=$server", 'validate=no')))
        $verb = @('add', 'dnsservers', "name=$Name")
    }
    return Invoke-NodeNetsh -Calls ($calls.ToArray())
}

function Invoke-NodeOpAddresses {
    param([object]$Arguments, [hashtable]$Run)

    $names = Get-NodeArgumentList -Map $Arguments -Name 'adapters'
    $addresses = Get-NodeArgumentList -Map $Arguments -Name 'ipv4'
    $wanted = Get-NodeAddressList -Addresses $addresses
    $patience = [double](Get-NodeTimeLeft -Run $Run -Wanted ([double](Get-NodeArgument -Map $Arguments -Name 'wait_s' -Default 60)))
    $found = Wait-NodeAddress -Names $names -Wanted $wanted -Seconds $patience
    if ($found['so']) {
        return @{ changed = $false; adapter = $found['adapter']['name'] }
    }
    $said = ''
    if ($null -ne $found['adapter'] -and -not [bool](Get-NodeArgument -Map $Arguments -Name 'dhcp' -Default $false)) {
        $call = @{
            Name = [string]$found['adapter']['name']
            Addresses = $addresses
            Gateway = [string](Get-NodeArgument -Map $Arguments -Name 'gateway' -Default '')
            Dns = (Get-NodeArgumentList -Map $Arguments -Name 'dns')
        }
        $said = Set-NodeAddress @call
        # Not cut by the deadline: a machine whose adapter lacks its addresses is one that nobody reaches.
        $found = Wait-NodeAddress -Names $names -Wanted $wanted -Seconds 15
        if ($found['so']) {
            return @{ changed = $true; adapter = $found['adapter']['name'] }
        }
        $patience = $patience + 15
    }
    $seen = Get-NodeAdapterSight -Found $found
    throw "The adapter $($names -join ' or ') did not get $($wanted -join ', ') within $([System.Math]::Round($patience, 1)) s: $seen$said."
}

function Test-NodeComputerName {
    <#
    .SYNOPSIS
    Whether the machine has this name, or will have it after a restart.

    .NOTES
    The NetBIOS name has 15 characters; a longer name is whole only as that of TCP/IP.
    #>
    param([string]$Name)

    $short = $Name
    if ($Name.Length -gt 15) {
        $tcp = 'SYSTEM\CurrentControlSet\Services\Tcpip\Parameters'
        if ([string](Get-NodeRegistryRaw -Key $tcp -Name 'NV Hostname' -Default '') -ne $Name) {
            return $false
        }
        $short = $Name.Substring(0, 15)
    }
    $control = 'SYSTEM\CurrentControlSet\Control\ComputerName\ComputerName'
    return [bool]([string](Get-NodeRegistryRaw -Key $control -Name 'ComputerName' -Default '') -eq $short)
}

function Invoke-NodeOpComputerName {
    param([object]$Arguments, [hashtable]$Run)

    $name = [string]$Arguments['name']
    if (Test-NodeComputerName -Name $name) {
        return @{ changed = $false }
    }
    # Rename-Computer does the same, but refuses a name that is still in force: the way back would be barred.
    $machine = Get-CimInstance -ClassName Win32_ComputerSystem -OperationTimeoutSec 60 -ErrorAction Stop
    $call = @{ InputObject = $machine; MethodName = 'Rename'; Arguments = @{ Name = $name }; OperationTimeoutSec = 60; ErrorAction = 'Stop' }
    $code = [int64](Invoke-CimMethod @call).ReturnValue
    if ($code -ne 0) {
        # As bits: an HRESULT is above what an Int32 holds.
        $number = [System.BitConverter]::ToInt32([System.BitConverter]::GetBytes($code), 0)
        $reason = New-Object System.ComponentModel.Win32Exception($number)
        throw "The machine could not be renamed to ${name}: error $code, $($reason.Message)"
    }
    if (-not (Test-NodeComputerName -Name $name)) {
        throw "The machine was renamed to $name without an error, but the registry does not have that name."
    }
    return @{ changed = $true }
}
