# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# What somebody set on an adapter beside its IPv4 addresses: a new virtual switch carries none of it over.

function Get-NodeCimValue {
    <# .SYNOPSIS A property of a CIM object as CIM has it, without what PowerShell makes of it for display; null if it has none. #>
    param([object]$Item, [string]$Name)

    $property = $Item.CimInstanceProperties[$Name]
    if ($null -eq $property) {
        return $null
    }
    return , $property.Value
}

function Read-NodeIpStore {
    <#
    .SYNOPSIS
    The interfaces, addresses or routes of an interface in ActiveStore (in force) or PersistentStore (after a restart): CIM objects.

    .NOTES
    The store is no property that a CIM query could ask for, but an option of the request, which only these commands set.
    #>
    param([string]$Kind, [uint32]$Index, [string]$Store)

    $call = @{ InterfaceIndex = $Index; PolicyStore = $Store; ErrorAction = 'Stop' }
    $found = @()
    try {
        switch -CaseSensitive ($Kind) {
            'interfaces' { $found = @(Get-NetIPInterface @call) }
            'addresses' { $found = @(Get-NetIPAddress @call) }
            'routes' { $found = @(Get-NetRoute @call) }
        }
    }
    catch {
        $failure = $_
        # That there are none is an error, too.
        if ([string]$failure.CategoryInfo.Category -cne 'ObjectNotFound') {
            throw $failure
        }
    }
    return , [object[]]$found
}

function Read-NodeIpFamily {
    <#
    .SYNOPSIS
    {ipv4, ipv6}, each {dhcp, metric, mtu, mtu_now, dns} or null where it is not bound. metric 0: automatic; mtu 0: not fixed; dns: the
    servers that somebody set, not those of a lease.

    .NOTES
    AddressFamily is 2 for IPv4, 23 for IPv6. A fixed MTU is one that the persistent store has and that is in force; what that store gives
    where none was set is unverified, so 0 and all ones are none.
    #>
    param([uint32]$Index, [string]$Guid)

    $fixed = New-NodeMap
    foreach ($item in (Read-NodeIpStore -Kind 'interfaces' -Index $Index -Store 'PersistentStore')) {
        $mtu = [int64](Get-NodeCimValue -Item $item -Name 'NlMtu')
        if ($mtu -gt 0 -and $mtu -lt 2147483647) {
            $fixed[[int](Get-NodeCimValue -Item $item -Name 'AddressFamily')] = $mtu
        }
    }
    $families = @{ ipv4 = $null; ipv6 = $null }
    foreach ($item in (Read-NodeIpStore -Kind 'interfaces' -Index $Index -Store 'ActiveStore')) {
        $number = [int](Get-NodeCimValue -Item $item -Name 'AddressFamily')
        $name = 'ipv4'
        $service = 'Tcpip'
        if ($number -eq 23) {
            $name = 'ipv6'
            $service = 'Tcpip6'
        }
        $metric = [int64]0
        if ([int](Get-NodeCimValue -Item $item -Name 'AutomaticMetric') -eq 0) {
            $metric = [int64](Get-NodeCimValue -Item $item -Name 'InterfaceMetric')
        }
        $mtu = [int64]0
        $present = [int64](Get-NodeCimValue -Item $item -Name 'NlMtu')
        if ($fixed.ContainsKey($number) -and $fixed[$number] -eq $present) {
            $mtu = $present
        }
        $key = "SYSTEM\CurrentControlSet\Services\$service\Parameters\Interfaces\$Guid"
        $servers = [string](Get-NodeRegistryRaw -Key $key -Name 'NameServer' -Default '')
        $families[$name] = @{
            dhcp = [bool]([int](Get-NodeCimValue -Item $item -Name 'Dhcp') -eq 1)
            metric = $metric
            mtu = $mtu
            mtu_now = $present
            dns = [object[]]@($servers -split '[ ,;]+' | Where-Object { $_ -ne '' })
        }
    }
    return $families
}

function Read-NodeIpAddress {
    <# .SYNOPSIS The addresses that somebody set (their prefix's origin is 1, Manual): a list of {address, prefix}. #>
    param([uint32]$Index)

    $list = New-Object System.Collections.ArrayList
    foreach ($item in (Read-NodeIpStore -Kind 'addresses' -Index $Index -Store 'ActiveStore')) {
        if ([int](Get-NodeCimValue -Item $item -Name 'PrefixOrigin') -eq 1) {
            $address = ([string](Get-NodeCimValue -Item $item -Name 'IPAddress')).Split('%')[0]
            $null = $list.Add(@{ address = $address; prefix = [int](Get-NodeCimValue -Item $item -Name 'PrefixLength') })
        }
    }
    return , $list.ToArray()
}

function Read-NodeIpRoute {
    <#
    .SYNOPSIS
    The static routes, a list of {prefix, next_hop, metric, persistent}: one that is in both stores is there twice.

    .NOTES
    Of those in force the ones whose Protocol is 3 (NetMgmt) without an end. A default route that is not persistent may be that of
    a lease or of a router, which gives it again.
    #>
    param([uint32]$Index, [bool]$Dhcp)

    $list = New-Object System.Collections.ArrayList
    foreach ($store in @('PersistentStore', 'ActiveStore')) {
        $persistent = [bool]($store -ceq 'PersistentStore')
        foreach ($item in (Read-NodeIpStore -Kind 'routes' -Index $Index -Store $store)) {
            $prefix = [string](Get-NodeCimValue -Item $item -Name 'DestinationPrefix')
            $life = Get-NodeCimValue -Item $item -Name 'ValidLifetime'
            $ends = $life -is [System.TimeSpan] -and $life.TotalDays -lt 36500
            $own = -not $ends -and [int](Get-NodeCimValue -Item $item -Name 'Protocol') -eq 3
            $given = $prefix -ceq '::/0' -or ($prefix -ceq '0.0.0.0/0' -and $Dhcp)
            if ($persistent -or ($own -and -not $given)) {
                $hop = [string](Get-NodeCimValue -Item $item -Name 'NextHop')
                $metric = [int](Get-NodeCimValue -Item $item -Name 'RouteMetric')
                $null = $list.Add(@{ prefix = $prefix; next_hop = $hop; metric = $metric; persistent = $persistent })
            }
        }
    }
    return , $list.ToArray()
}

function Read-NodeIp {
    <# .SYNOPSIS What somebody set on the adapter, as docs/protocol.md, ip_note, has it; null where Windows has no such interface yet. #>
    param([hashtable]$Adapter)

    $index = [uint32]$Adapter['index']
    $call = @{ Namespace = 'root/StandardCimv2'; ClassName = 'MSFT_NetAdapter'; OperationTimeoutSec = 60; ErrorAction = 'Stop' }
    $guid = ''
    foreach ($item in @(Get-CimInstance @call -Filter "InterfaceIndex = $index")) {
        $guid = [string](Get-NodeCimValue -Item $item -Name 'InterfaceGuid')
    }
    if ($guid -eq '') {
        return $null
    }
    $families = Read-NodeIpFamily -Index $index -Guid $guid
    if ($null -eq $families['ipv4'] -and $null -eq $families['ipv6']) {
        return $null
    }
    $dhcp = [bool]($null -eq $families['ipv4'] -or $families['ipv4']['dhcp'])
    $ip = @{
        ipv4 = $families['ipv4']
        ipv6 = $families['ipv6']
        addresses = (Read-NodeIpAddress -Index $index)
        routes = (Read-NodeIpRoute -Index $index -Dhcp $dhcp)
        # What Get-DnsClient calls the suffix may be that of the lease.
        suffix = [string](Get-NodeRegistryRaw -Key "SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces\$guid" -Name 'Domain' -Default '')
        register = $true
        register_suffix = $false
    }
    foreach ($item in @(Get-DnsClient -InterfaceIndex $index -ErrorAction Stop)) {
        $ip['register'] = [bool](Get-NodeCimValue -Item $item -Name 'RegisterThisConnectionsAddress')
        $ip['register_suffix'] = [bool](Get-NodeCimValue -Item $item -Name 'UseSuffixWhenRegistering')
    }
    return $ip
}

function Find-NodeIp {
    <# .SYNOPSIS {adapter, ip, trouble}: the first of the adapters that is there and what somebody set on it; null and why not. #>
    param([object[]]$Names)

    $answer = @{ adapter = $null; ip = $null; trouble = 'it is not there' }
    $found = Find-NodeAdapter -Names $Names
    if ($null -eq $found['adapter']) {
        if ($found['trouble'] -ne '') {
            $answer['trouble'] = "the adapters could not be listed: $($found['trouble'])"
        }
        return $answer
    }
    $answer['adapter'] = $found['adapter']
    try {
        $answer['ip'] = Read-NodeIp -Adapter $found['adapter']
        $answer['trouble'] = 'IP is not bound to it'
    }
    catch {
        $answer['trouble'] = Get-NodeErrorText -Record $_
    }
    return $answer
}

function Invoke-NodeOpIpNote {
    param([object]$Arguments, [hashtable]$Run)

    $names = Get-NodeArgumentList -Map $Arguments -Name 'adapters'
    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    $found = Find-NodeIp -Names $names
    while ($null -eq $found['ip'] -and $watch.Elapsed.TotalSeconds -lt 10) {
        [System.Threading.Thread]::Sleep(1000)
        $found = Find-NodeIp -Names $names
    }
    if ($null -eq $found['ip']) {
        throw "The IP settings of the adapter $($names -join ' or ') could not be read: $($found['trouble'])."
    }
    foreach ($family in @('ipv4', 'ipv6')) {
        if ($null -ne $found['ip'][$family]) {
            $null = $found['ip'][$family].Remove('mtu_now')
        }
    }
    $path = Join-NodePath -Folder $Run['state_dir'] -Name 'ip.json'
    Write-NodeJsonFile -Path $path -Value @{ schema = 1; ip = $found['ip'] }
    return @{ changed = $false; adapter = [string]$found['adapter']['name'] }
}

function Find-NodeIpMissing {
    <#
    .SYNOPSIS
    What of the wanted settings is not so now, a list of {what, kind, family, item}, in the order in which it is set.

    .NOTES
    Whether IPv6 asks a DHCP server is in the end the routers' to say: that is set once (Tried) and then left.
    #>
    param([object]$Wanted, [hashtable]$Now, [hashtable]$Tried)

    $list = New-Object System.Collections.ArrayList
    foreach ($family in @('ipv4', 'ipv6')) {
        $before = Get-NodeArgument -Map $Wanted -Name $family
        $after = $Now[$family]
        if ($null -eq $before) {
            continue
        }
        if ($null -eq $after) {
            $null = $list.Add(@{ what = $family; kind = 'bound'; family = $family; item = $null })
            continue
        }
        $differs = @{
            dhcp = [bool]$before['dhcp'] -ne $after['dhcp'] -and -not ($family -ceq 'ipv6' -and $Tried.ContainsKey('ipv6 dhcp'))
            metric = [int64]$before['metric'] -ne $after['metric']
            mtu = [int64]$before['mtu'] -ne 0 -and [int64]$before['mtu'] -ne $after['mtu_now']
            dns = ((Get-NodeArgumentList -Map $before -Name 'dns') -join ' ') -ne ($after['dns'] -join ' ')
        }
        foreach ($kind in @('dhcp', 'metric', 'mtu', 'dns')) {
            if ($differs[$kind]) {
                $null = $list.Add(@{ what = "$family $kind"; kind = $kind; family = $family; item = $before })
            }
        }
    }
    $there = Get-NodeAddressList -Addresses $Now['addresses']
    foreach ($item in (Get-NodeArgumentList -Map $Wanted -Name 'addresses')) {
        $text = "$($item['address'])/$($item['prefix'])"
        if ($there -notcontains $text) {
            $null = $list.Add(@{ what = "address $text"; kind = 'address'; family = ''; item = $item })
        }
    }
    $there = New-NodeMap
    foreach ($item in $Now['routes']) {
        $there[(Get-NodeRouteText -Route $item)] = $true
    }
    foreach ($item in (Get-NodeArgumentList -Map $Wanted -Name 'routes')) {
        $text = Get-NodeRouteText -Route $item
        if (-not $there.ContainsKey($text)) {
            $null = $list.Add(@{ what = "route $text"; kind = 'route'; family = ''; item = $item })
        }
    }
    $same = [string]$Wanted['suffix'] -eq $Now['suffix'] -and [bool]$Wanted['register'] -eq $Now['register']
    if (-not $same -or [bool]$Wanted['register_suffix'] -ne $Now['register_suffix']) {
        $null = $list.Add(@{ what = 'DNS registration'; kind = 'registration'; family = ''; item = $Wanted })
    }
    return , $list.ToArray()
}

function Get-NodeMissingText {
    param([object[]]$Missing)

    $words = New-Object System.Collections.ArrayList
    foreach ($item in $Missing) {
        $null = $words.Add($item['what'])
    }
    return [string]($words.ToArray() -join ', ')
}

function Get-NodeRouteText {
    param([object]$Route)

    $store = 'active'
    if ([bool]$Route['persistent']) {
        $store = 'persistent'
    }
    return [string](@($Route['prefix'], 'by', $Route['next_hop'], 'metric', $Route['metric'], $store) -join ' ')
}

function Get-NodeNetshFamily {
    <# .SYNOPSIS What netsh calls the family of an address or a prefix. #>
    param([string]$Text)

    if ($Text.Contains(':')) {
        return 'ipv6'
    }
    return 'ipv4'
}

function Get-NodeIpCall {
    <#
    .SYNOPSIS
    netsh's arguments for servers, an address or a route that is missing: a list of lists.

    .NOTES
    An address that is set by hand turns DHCP off, unless the interface lets both be: dhcpstaticipcoexistence, from Windows 10 1703 on.
    #>
    param([hashtable]$Missing, [hashtable]$Adapter, [object]$Wanted, [hashtable]$Now)

    $calls = New-Object System.Collections.ArrayList
    $item = $Missing['item']
    $index = [string]$Adapter['index']
    if ($Missing['kind'] -ceq 'dns') {
        $servers = Get-NodeArgumentList -Map $item -Name 'dns'
        $head = @('interface', $Missing['family'])
        if ($servers.Length -eq 0) {
            $null = $calls.Add([object[]]($head + @('set', 'dnsservers', "name=$index", 'source=dhcp')))
        }
        $verb = @('set', 'dnsservers', "name=$index", 'source=static')
        foreach ($server in $servers) {
            $null = $calls.Add([object[]]($head + $verb + @("address=$server", 'validate=no')))
            $verb = @('add', 'dnsservers', "name=$index")
        }
    }
    if ($Missing['kind'] -ceq 'address') {
        $address = [string]$item['address']
        $family = Get-NodeNetshFamily -Text $address
        if ($family -ceq 'ipv6') {
            $line = @('interface', 'ipv6', 'add', 'address', "interface=$index", "address=$address/$($item['prefix'])")
        }
        else {
            $ipv4 = Get-NodeArgument -Map $Wanted -Name 'ipv4'
            if ($null -ne $ipv4 -and [bool]$ipv4['dhcp']) {
                $null = $calls.Add([object[]]@('interface', 'ipv4', 'set', 'interface', "interface=$index", 'dhcpstaticipcoexistence=enabled'))
            }
            $mask = ConvertTo-NodeMask -Prefix ([int]$item['prefix'])
            $line = @('interface', 'ipv4', 'add', 'address', "name=$index", "address=$address", "mask=$mask")
        }
        $null = $calls.Add([object[]]$line)
    }
    if ($Missing['kind'] -ceq 'route') {
        $prefix = [string]$item['prefix']
        $hop = [string]$item['next_hop']
        $verb = 'add'
        foreach ($route in $Now['routes']) {
            if ($route['prefix'] -eq $prefix -and $route['next_hop'] -eq $hop -and $route['persistent'] -eq [bool]$item['persistent']) {
                # With another metric.
                $verb = 'set'
            }
        }
        $store = 'active'
        if ([bool]$item['persistent']) {
            $store = 'persistent'
        }
        $line = @('interface', (Get-NodeNetshFamily -Text $prefix), $verb, 'route', "prefix=$prefix", "interface=$index")
        if (@('0.0.0.0', '::') -cnotcontains $hop) {
            $line = $line + @("nexthop=$hop")
        }
        $null = $calls.Add([object[]]($line + @("metric=$($item['metric'])", "store=$store")))
    }
    return , $calls.ToArray()
}

function Set-NodeIpFamily {
    <# .SYNOPSIS DHCP, metric or MTU of a family; returns what netsh complained of. #>
    param([hashtable]$Missing, [hashtable]$Adapter, [object]$Wanted)

    $item = $Missing['item']
    $all = Get-NodeArgumentList -Map $Wanted -Name 'addresses'
    $addresses = @($all | Where-Object { -not ([string]$_['address']).Contains(':') })
    if ($Missing['kind'] -ceq 'dhcp' -and $Missing['family'] -ceq 'ipv4' -and -not [bool]$item['dhcp'] -and $addresses.Length -gt 0) {
        # In one step with the addresses: without a lease the adapter would have none.
        $gateway = ''
        foreach ($route in (Get-NodeArgumentList -Map $Wanted -Name 'routes')) {
            if ([string]$route['prefix'] -ceq '0.0.0.0/0') {
                $gateway = [string]$route['next_hop']
            }
        }
        return Set-NodeAddress -Name ([string]$Adapter['name']) -Addresses $addresses -Gateway $gateway -Dns @()
    }
    $call = @{ InterfaceIndex = [uint32]$Adapter['index']; AddressFamily = 'IPv4'; ErrorAction = 'Stop' }
    if ($Missing['family'] -ceq 'ipv6') {
        $call['AddressFamily'] = 'IPv6'
    }
    $words = @('Disabled', 'Enabled')
    switch -CaseSensitive ($Missing['kind']) {
        'dhcp' { $call['Dhcp'] = $words[[int][bool]$item['dhcp']] }
        'mtu' { $call['NlMtuBytes'] = [uint32]$item['mtu'] }
        'metric' {
            $call['AutomaticMetric'] = $words[[int]([int64]$item['metric'] -eq 0)]
            if ([int64]$item['metric'] -ne 0) {
                $call['InterfaceMetric'] = [uint32]$item['metric']
            }
        }
    }
    $null = Set-NetIPInterface @call
    return ''
}

function Set-NodeIp {
    <# .SYNOPSIS Sets one thing that is missing; returns what Windows complained of as the end of a sentence, empty if nothing. #>
    param([hashtable]$Missing, [hashtable]$Adapter, [object]$Wanted, [hashtable]$Now)

    try {
        if (@('dhcp', 'metric', 'mtu') -ccontains $Missing['kind']) {
            return Set-NodeIpFamily -Missing $Missing -Adapter $Adapter -Wanted $Wanted
        }
        if ($Missing['kind'] -ceq 'registration') {
            $call = @{
                InterfaceIndex = [uint32]$Adapter['index']
                ConnectionSpecificSuffix = [string]$Wanted['suffix']
                RegisterThisConnectionsAddress = [bool]$Wanted['register']
                UseSuffixWhenRegistering = [bool]$Wanted['register_suffix']
                ErrorAction = 'Stop'
            }
            $null = Set-DnsClient @call
            return ''
        }
        return Invoke-NodeNetsh -Calls (Get-NodeIpCall -Missing $Missing -Adapter $Adapter -Wanted $Wanted -Now $Now)
    }
    catch {
        return "; $($Missing['what']): $(Get-NodeErrorText -Record $_)"
    }
}

function Invoke-NodeOpIpRestore {
    param([object]$Arguments, [hashtable]$Run)

    $names = Get-NodeArgumentList -Map $Arguments -Name 'adapters'
    $document = Read-NodeDocument -Path (Join-NodePath -Folder $Run['state_dir'] -Name 'ip.json')
    $wanted = Get-NodeArgument -Map $document -Name 'ip'
    if ($null -eq $wanted) {
        return @{ changed = $false; restored = [object[]]@() }
    }
    $patience = [double](Get-NodeTimeLeft -Run $Run -Wanted ([double](Get-NodeArgument -Map $Arguments -Name 'wait_s' -Default 60)))
    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    $restored = New-Object System.Collections.ArrayList
    $tried = New-NodeMap
    $asked = $false
    $said = ''
    while ($true) {
        $late = $watch.Elapsed.TotalSeconds -ge $patience
        $found = Find-NodeIp -Names $names
        $seen = $found['trouble']
        if ($null -ne $found['ip']) {
            $missing = Find-NodeIpMissing -Wanted $wanted -Now $found['ip'] -Tried $tried
            if ($missing.Length -eq 0) {
                return @{ changed = [bool]($restored.Count -gt 0); restored = $restored.ToArray() }
            }
            $seen = "it has not: $(Get-NodeMissingText -Missing $missing)$said"
            # However late: once.
            if (-not $late -or -not $asked) {
                $asked = $true
                $said = ''
                foreach ($item in $missing) {
                    $said = $said + (Set-NodeIp -Missing $item -Adapter $found['adapter'] -Wanted $wanted -Now $found['ip'])
                    if ($item['kind'] -cne 'bound' -and -not $tried.ContainsKey($item['what'])) {
                        $tried[$item['what']] = $true
                        $null = $restored.Add($item['what'])
                    }
                }
                $late = $false
            }
        }
        if ($late) {
            $what = "The adapter $($names -join ' or ') did not get back the IP settings that it had before"
            throw "$what within $([System.Math]::Round($patience, 1)) s: $seen."
        }
        [System.Threading.Thread]::Sleep(1000)
    }
}
