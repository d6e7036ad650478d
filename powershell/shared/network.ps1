# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Network adapters and their addresses, without WMI.

function Get-NodePrefixLength {
    <# .SYNOPSIS The number of ones in an IPv4 mask. #>
    param([System.Net.IPAddress]$Mask)

    $ones = 0
    foreach ($byte in $Mask.GetAddressBytes()) {
        $ones += [System.Convert]::ToString([byte]$byte, 2).Replace('0', '').Length
    }
    return [int]$ones
}

function Get-NodeAddressText {
    <# .SYNOPSIS The IPv4 addresses of a list, as texts; 0.0.0.0 is none. #>
    param([object[]]$Addresses)

    $list = New-Object System.Collections.ArrayList
    foreach ($address in $Addresses) {
        if ([string]$address.AddressFamily -ceq 'InterNetwork' -and [string]$address -cne '0.0.0.0') {
            $null = $list.Add([string]$address)
        }
    }
    return , $list.ToArray()
}

function Read-NodeAdapter {
    <# .SYNOPSIS One adapter as the query `adapters` describes it. #>
    param([System.Net.NetworkInformation.NetworkInterface]$Interface)

    $properties = $Interface.GetIPProperties()
    [byte[]]$mac = $Interface.GetPhysicalAddress().GetAddressBytes()
    $adapter = @{
        name = [string]$Interface.Name
        description = [string]$Interface.Description
        index = 0
        mac = [System.BitConverter]::ToString($mac)
        up = [bool]([string]$Interface.OperationalStatus -ceq 'Up')
        dhcp = $null
        mtu = 0
    }
    # Where a protocol is not bound to the adapter, its properties throw.
    if ($Interface.Supports([System.Net.NetworkInformation.NetworkInterfaceComponent]::IPv4)) {
        $own = $properties.GetIPv4Properties()
        $adapter['index'] = [int]$own.Index
        $adapter['mtu'] = [int]$own.Mtu
        $adapter['dhcp'] = [bool]$own.IsDhcpEnabled
    }
    elseif ($Interface.Supports([System.Net.NetworkInformation.NetworkInterfaceComponent]::IPv6)) {
        $own = $properties.GetIPv6Properties()
        $adapter['index'] = [int]$own.Index
        $adapter['mtu'] = [int]$own.Mtu
    }
    $addresses = New-Object System.Collections.ArrayList
    $six = New-Object System.Collections.ArrayList
    foreach ($unicast in $properties.UnicastAddresses) {
        if ([string]$unicast.Address.AddressFamily -ceq 'InterNetwork') {
            $prefix = Get-NodePrefixLength -Mask $unicast.IPv4Mask
            $null = $addresses.Add(@{ address = [string]$unicast.Address; prefix = $prefix })
        }
        elseif ([string]$unicast.Address.AddressFamily -ceq 'InterNetworkV6' -and -not $unicast.Address.IsIPv6LinkLocal) {
            $null = $six.Add(@{ address = [string]$unicast.Address; prefix = [int]$unicast.PrefixLength })
        }
    }
    $adapter['ipv4'] = $addresses.ToArray()
    $adapter['ipv6'] = $six.ToArray()
    $gateways = New-Object System.Collections.ArrayList
    foreach ($gateway in $properties.GatewayAddresses) {
        $null = $gateways.Add($gateway.Address)
    }
    $adapter['gateways'] = Get-NodeAddressText -Addresses ($gateways.ToArray())
    $adapter['dns'] = Get-NodeAddressText -Addresses @($properties.DnsAddresses)
    return $adapter
}

function Get-NodeInterface {
    <#
    .SYNOPSIS
    The network interfaces as .NET lists them; throws if that fails for PatienceS seconds.

    .NOTES
    .NET asks Windows about each one of the list again, and throws for the whole list if one has gone or is half made: as it may be
    while a virtual switch is made. Source: referencesource, SystemNetworkInterface.cs; SystemIPv4InterfaceProperties.cs,
    GetPerAdapterInfo.
    #>
    param([double]$PatienceS)

    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        try {
            return , [System.Net.NetworkInformation.NetworkInterface]::GetAllNetworkInterfaces()
        }
        catch {
            $failure = $_
            if ($watch.Elapsed.TotalSeconds -ge $PatienceS) {
                throw $failure
            }
        }
        [System.Threading.Thread]::Sleep(100)
    }
}

function Read-NodeAdapterList {
    <#
    .SYNOPSIS
    The query `adapters`: the IP interfaces but loopback, by index. One that is half made, or has just gone, is not there.

    .NOTES
    From .NET 9 (PowerShell 7.5) on also those without IP are listed: filter drivers and adapters that are disabled.
    #>
    param([double]$PatienceS = 10)

    $list = New-Object System.Collections.ArrayList
    foreach ($interface in (Get-NodeInterface -PatienceS $PatienceS)) {
        $ip = $interface.Supports([System.Net.NetworkInformation.NetworkInterfaceComponent]::IPv4) -or
            $interface.Supports([System.Net.NetworkInformation.NetworkInterfaceComponent]::IPv6)
        if ($ip -and [string]$interface.NetworkInterfaceType -cne 'Loopback') {
            try {
                $adapter = Read-NodeAdapter -Interface $interface
            }
            catch {
                $failure = $_
                if ((Get-NodeException -Record $failure) -isnot [System.Net.NetworkInformation.NetworkInformationException]) {
                    throw $failure
                }
                continue
            }
            $place = 0
            while ($place -lt $list.Count -and $list[$place]['index'] -le $adapter['index']) {
                $place++
            }
            $list.Insert($place, $adapter)
        }
    }
    return , $list.ToArray()
}
