# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# What a batch asks of HNS, behind call.ps1: networks made, removed, waited for. Which of these were made here is in the state folder's
# networks.json.

function Get-NodeHnsOutput {
    <# .SYNOPSIS What HNS answers to a request, decoded; its own error as a sentence that begins with Failure. #>
    param([string]$Method, [string]$Path, [string]$Failure, [string]$Request = '', [int]$TimeoutMs = 30000)

    $text = Send-NodeHnsRequest -Method $Method -Path $Path -Failure $Failure -Request $Request -TimeoutMs $TimeoutMs
    try {
        $answer = ConvertFrom-NodeJson -Text $text
    }
    catch {
        throw "${Failure}: its answer is no JSON: $(Get-NodeErrorText -Record $_)"
    }
    if (-not [bool](Get-NodeArgument -Map $answer -Name 'Success' -Default $false)) {
        $said = ([string](Get-NodeArgument -Map $answer -Name 'Error' -Default 'no reason given')).Trim()
        $code = [int64](Get-NodeArgument -Map $answer -Name 'ErrorCode' -Default 0) -band [int64]4294967295
        $number = $code.ToString('x8', [System.Globalization.CultureInfo]::InvariantCulture)
        throw "${Failure}: $said (0x$number)"
    }
    return , (Get-NodeArgument -Map $answer -Name 'Output')
}

function Test-NodeHns {
    return [bool]((Get-NodeHnsLibrary) -ne '' -and (Get-NodeServiceState -Name 'hns') -cne 'absent')
}

function Find-NodeHnsNetwork {
    <# .SYNOPSIS The HNS network of a name (case does not matter), null if there is none. #>
    param([string]$Name)

    if (-not (Test-NodeHns)) {
        throw 'There is no Host Network Service; install the Windows feature Containers and restart.'
    }
    foreach ($network in (Get-NodeHnsOutput -Method 'GET' -Path '/networks/' -Failure 'HNS did not list its networks')) {
        if ([string](Get-NodeArgument -Map $network -Name 'Name' -Default '') -eq $Name) {
            return $network
        }
    }
    return $null
}

function Start-NodeHns {
    <# .SYNOPSIS Starts the service hns if it is stopped, as it may be where nothing has used it since the machine started. #>
    $state = Get-NodeServiceState -Name 'hns'
    if (@('running', 'absent') -ccontains $state) {
        return
    }
    $controller = New-Object System.ServiceProcess.ServiceController
    try {
        $controller.ServiceName = 'hns'
        if ($state -ceq 'stopped') {
            $null = $controller.Start()
        }
    }
    catch {
        $failure = $_
        # 1056: somebody else was a moment faster.
        if ((Get-NodeErrorCode -Record $failure) -ne 1056) {
            throw "The service hns could not be started: $(Get-NodeErrorText -Record $failure)"
        }
    }
    finally {
        $controller.Dispose()
    }
    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    while ((Get-NodeServiceState -Name 'hns') -cne 'running') {
        if ($watch.Elapsed.TotalSeconds -ge 30) {
            throw "The service hns did not get to running within 30 s of its start; it is $(Get-NodeServiceState -Name 'hns')."
        }
        [System.Threading.Thread]::Sleep(200)
    }
}

function Read-NodeNetworkTable {
    <# .SYNOPSIS Lower-case name -> id of the networks that were made here; the id is empty while one is being made. #>
    param([hashtable]$Run)

    $table = New-NodeMap
    $document = Read-NodeDocument -Path (Join-NodePath -Folder $Run['state_dir'] -Name 'networks.json')
    $networks = Get-NodeArgument -Map $document -Name 'networks' -Default @{}
    foreach ($entry in $networks.GetEnumerator()) {
        $table[[string]$entry.Key] = [string]$entry.Value
    }
    return $table
}

function Set-NodeNetworkEntry {
    <# .SYNOPSIS Notes the id of a network that was made here; without Id the network is struck out. #>
    param([hashtable]$Run, [string]$Name, [object]$Id = $null)

    $key = $Name.ToLowerInvariant()
    $table = Read-NodeNetworkTable -Run $Run
    if ($null -ne $Id) {
        if ($table.ContainsKey($key) -and $table[$key] -ceq [string]$Id) {
            return
        }
        $table[$key] = [string]$Id
    }
    else {
        if (-not $table.ContainsKey($key)) {
            return
        }
        $null = $table.Remove($key)
    }
    Write-NodeJsonFile -Path (Join-NodePath -Folder $Run['state_dir'] -Name 'networks.json') -Value @{ schema = 1; networks = $table }
}

function Invoke-NodeOpHnsNetwork {
    param([object]$Arguments, [hashtable]$Run)

    $name = [string]$Arguments['name']
    $key = $name.ToLowerInvariant()
    Start-NodeHns
    $network = Find-NodeHnsNetwork -Name $name
    if ($null -ne $network) {
        $id = [string](Get-NodeArgument -Map $network -Name 'ID' -Default '')
        $table = Read-NodeNetworkTable -Run $Run
        if ($table.ContainsKey($key) -and $table[$key] -eq '') {
            # It was made here, and the power went before its id was noted.
            Set-NodeNetworkEntry -Run $Run -Name $name -Id $id
        }
        return @{ changed = $false; id = $id; existed = $true }
    }
    # Noted before it is made: so that one whose id could not be noted any more can be rolled back all the same.
    Set-NodeNetworkEntry -Run $Run -Name $name -Id ''
    $request = [string](Get-NodeArgument -Map $Arguments -Name 'request' -Default '')
    if ($request -eq '') {
        # A service that this batch starts makes it.
        return @{ changed = $false; id = ''; existed = $false }
    }
    try {
        # Not cut by the deadline: HNS would go on making it while it is rolled back.
        $call = @{ Method = 'POST'; Path = '/networks/'; Request = $request; TimeoutMs = 120000 }
        $made = Get-NodeHnsOutput @call -Failure "HNS did not make the network $name"
    }
    catch {
        $failure = $_
        if ((Get-NodeException -Record $failure) -isnot [System.TimeoutException]) {
            try {
                Set-NodeNetworkEntry -Run $Run -Name $name
            }
            catch {
                # A full disk, say. What HNS said is the one to be told; the undo strikes it out again.
                $null = $_
            }
        }
        throw $failure
    }
    if ($made -isnot [System.Collections.IDictionary]) {
        $made = Find-NodeHnsNetwork -Name $name
    }
    $id = [string](Get-NodeArgument -Map $made -Name 'ID' -Default '')
    if ($id -eq '') {
        throw "HNS says that it made the network $name, but has none of that name."
    }
    Set-NodeNetworkEntry -Run $Run -Name $name -Id $id
    return @{ changed = $true; id = $id; existed = $false }
}

function Assert-NodeNetworkRemovable {
    <# .SYNOPSIS Throws for a network that is not ours to remove, or that something uses. #>
    param([object]$Network, [string]$Name, [string]$Given, [hashtable]$Run)

    $id = [string](Get-NodeArgument -Map $Network -Name 'ID' -Default '')
    if ([string](Get-NodeArgument -Map $Network -Name 'Type' -Default '') -eq 'nat') {
        throw "The HNS network $Name is of type nat; such a network is not removed."
    }
    $table = Read-NodeNetworkTable -Run $Run
    $key = $Name.ToLowerInvariant()
    $ours = ($Given -ne '' -and $Given -eq $id) -or ($table.ContainsKey($key) -and @('', $id) -contains $table[$key])
    if (-not $ours) {
        throw "The HNS network $Name ($id) was not made here, nor was its id given; it is left."
    }
    $users = New-Object System.Collections.ArrayList
    foreach ($endpoint in (Get-NodeHnsOutput -Method 'GET' -Path '/endpoints/' -Failure 'HNS did not list its endpoints')) {
        $title = [string](Get-NodeArgument -Map $endpoint -Name 'Name' -Default '')
        if ([string](Get-NodeArgument -Map $endpoint -Name 'VirtualNetwork' -Default '') -eq $id -and $title -ne ($Name + '_ep')) {
            $null = $users.Add($title)
        }
    }
    if ($users.Count -gt 0) {
        $list = @($users.ToArray() | Select-Object -First 5) -join ', '
        throw "The HNS network $Name carries $($users.Count) endpoints ($list); it is not removed."
    }
}

function Invoke-NodeOpHnsNetworkRemove {
    param([object]$Arguments, [hashtable]$Run)

    $name = [string]$Arguments['name']
    $network = $null
    if (Test-NodeHns) {
        Start-NodeHns
        $network = Find-NodeHnsNetwork -Name $name
    }
    if ($null -eq $network) {
        Set-NodeNetworkEntry -Run $Run -Name $name
        return @{ changed = $false }
    }
    $given = [string](Get-NodeArgument -Map $Arguments -Name 'id' -Default '')
    Assert-NodeNetworkRemovable -Network $network -Name $name -Given $given -Run $Run
    $call = @{ Method = 'DELETE'; Path = "/networks/$(Get-NodeArgument -Map $network -Name 'ID')"; TimeoutMs = 120000 }
    $null = Get-NodeHnsOutput @call -Failure "HNS did not remove the network $name"
    Set-NodeNetworkEntry -Run $Run -Name $name
    return @{ changed = $true }
}

function Invoke-NodeOpHnsRemove {
    <# .SYNOPSIS Endpoints or policy lists by their ids; one that is not there any more is done. #>
    param([object]$Arguments, [hashtable]$Run)

    $objects = [string]$Arguments['objects']
    if (@('endpoints', 'policylists') -cnotcontains $objects) {
        throw "Of HNS's objects endpoints and policylists are removed, not '$objects'."
    }
    if (-not (Test-NodeHns)) {
        return @{ changed = $false }
    }
    Start-NodeHns
    $there = New-NodeMap
    foreach ($item in (Get-NodeHnsOutput -Method 'GET' -Path "/$objects/" -Failure "HNS did not list its $objects")) {
        $there[([string](Get-NodeArgument -Map $item -Name 'ID' -Default '')).ToLowerInvariant()] = $true
    }
    $changed = $false
    foreach ($id in (Get-NodeArgumentList -Map $Arguments -Name 'ids')) {
        if ($there.ContainsKey(([string]$id).ToLowerInvariant())) {
            $null = Get-NodeHnsOutput -Method 'DELETE' -Path "/$objects/$id" -Failure "HNS did not remove $id of its $objects"
            $changed = $true
        }
    }
    return @{ changed = $changed }
}

function Test-NodeHnsNetwork {
    <# .SYNOPSIS {so, seen}: whether a network is there, and has its management address if that is wanted. #>
    param([object]$Arguments)

    if (-not (Test-NodeHns)) {
        return @{ so = $false; seen = 'it is not there, nor is the Host Network Service' }
    }
    try {
        $network = Find-NodeHnsNetwork -Name ([string]$Arguments['name'])
    }
    catch {
        return @{ so = $false; seen = (Get-NodeErrorText -Record $_) }
    }
    if ($null -eq $network) {
        return @{ so = $false; seen = 'it is not there' }
    }
    $address = [string](Get-NodeArgument -Map $network -Name 'ManagementIP' -Default '')
    if ([bool](Get-NodeArgument -Map $Arguments -Name 'management_ip' -Default $false) -and $address -eq '') {
        return @{ so = $false; seen = 'it is there without one' }
    }
    return @{ so = $true; seen = 'it is there' }
}

switch -CaseSensitive ($What) {
    'hns' { return Read-NodeHns -Objects (Get-NodeArgumentList -Map $Arguments -Name 'objects') }
    'hns_network' { return Invoke-NodeOpHnsNetwork -Arguments $Arguments -Run $Run }
    'hns_network_remove' { return Invoke-NodeOpHnsNetworkRemove -Arguments $Arguments -Run $Run }
    'hns_remove' { return Invoke-NodeOpHnsRemove -Arguments $Arguments -Run $Run }
    'wait' { return Test-NodeHnsNetwork -Arguments $Arguments }
    default { throw "There is nothing called '$What' to be done with HNS." }
}
