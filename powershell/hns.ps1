# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The Host Network Service (HNS) by HNSCall of vmcompute.dll: its lists as they come, networks made, removed, waited for. Which of these
# were made here is in the state folder's networks.json. This text travels only with what needs it (docs/protocol.md, `hns`): no other
# text of the collection calls Windows by P/Invoke. shared/hns_block.ps1 makes a script block of it, in a module or in the runner.

param([string]$What = '', [object]$Arguments = $null, [object]$Run = $null)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

function Get-NodeHnsLibrary {
    <# .SYNOPSIS The path of vmcompute.dll, empty where there is none: the Windows feature Containers brings it. #>
    $path = [System.IO.Path]::Combine([System.Environment]::GetFolderPath('System'), 'vmcompute.dll')
    if ([System.IO.Path]::IsPathRooted($path) -and [System.IO.File]::Exists($path)) {
        return [string]$path
    }
    return ''
}

function Get-NodeHnsType {
    <#
    .SYNOPSIS
    A type whose static method Run(object) hands the four pointers of an IntPtr[] to HNSCall; made once in a process.

    .NOTES
    HRESULT HNSCall(LPCWSTR method, LPCWSTR path, LPCWSTR request, LPWSTR *response). Source: microsoft/hcsshim internal/hns/hns.go.
    Emitted, not compiled by Add-Type: that takes seconds and starts a compiler. All parameters are pointers, so that nothing is left
    to marshalling. Run is no script block, because those do not run on a thread that has no runspace.
    #>
    param([string]$Library)

    $name = 'winkube_hns_1'
    foreach ($loaded in [System.AppDomain]::CurrentDomain.GetAssemblies()) {
        if (([string]$loaded.FullName).StartsWith($name + ',', [System.StringComparison]::Ordinal)) {
            $found = $loaded.GetType('WinkubeHns')
            if ($null -ne $found) {
                return $found
            }
        }
    }
    $title = New-Object System.Reflection.AssemblyName($name)
    $access = [System.Reflection.Emit.AssemblyBuilderAccess]::Run
    if ($PSVersionTable.PSVersion.Major -ge 6) {
        $assembly = [System.Reflection.Emit.AssemblyBuilder]::DefineDynamicAssembly($title, $access)
    }
    else {
        $assembly = [System.AppDomain]::CurrentDomain.DefineDynamicAssembly($title, $access)
    }
    $builder = $assembly.DefineDynamicModule($name).DefineType('WinkubeHns', [System.Reflection.TypeAttributes]::Public)
    $public = [System.Reflection.MethodAttributes]'Public, Static'
    [System.Type[]]$pointers = @([System.IntPtr], [System.IntPtr], [System.IntPtr], [System.IntPtr])
    $native = $builder.DefinePInvokeMethod('HNSCall', $Library, ($public -bor [System.Reflection.MethodAttributes]::PinvokeImpl),
        [System.Reflection.CallingConventions]::Standard, [System.Int32], $pointers,
        [System.Runtime.InteropServices.CallingConvention]::Winapi, [System.Runtime.InteropServices.CharSet]::Unicode)
    # Else the HRESULT would become an exception, and the number that is returned something else.
    $native.SetImplementationFlags([System.Reflection.MethodImplAttributes]::PreserveSig)
    [System.Type[]]$one = @([System.Object])
    $run = $builder.DefineMethod('Run', $public, [System.Int32], $one)
    $code = $run.GetILGenerator()
    foreach ($index in @(0, 1, 2, 3)) {
        $code.Emit([System.Reflection.Emit.OpCodes]::Ldarg_0)
        $code.Emit([System.Reflection.Emit.OpCodes]::Castclass, [System.IntPtr[]])
        $code.Emit([System.Reflection.Emit.OpCodes]::Ldc_I4, [int]$index)
        $code.Emit([System.Reflection.Emit.OpCodes]::Ldelem_I)
    }
    $code.Emit([System.Reflection.Emit.OpCodes]::Call, $native)
    $code.Emit([System.Reflection.Emit.OpCodes]::Ret)
    return $builder.CreateType()
}

function Send-NodeHnsRequest {
    <#
    .SYNOPSIS
    One request to HNS; the text that it answers, which may itself say that it failed. Failure is how a sentence about one begins.
    Throws a sentence, as TimeoutException if there is no answer.
    #>
    param([string]$Method, [string]$Path, [string]$Failure, [string]$Request = '', [int]$TimeoutMs = 10000)

    $library = Get-NodeHnsLibrary
    if ($library -eq '') {
        throw 'There is no Host Network Service; install the Windows feature Containers and restart.'
    }
    $task = $null
    $slot = [System.Runtime.InteropServices.Marshal]::AllocHGlobal([System.IntPtr]::Size)
    [System.Runtime.InteropServices.Marshal]::WriteIntPtr($slot, [System.IntPtr]::Zero)
    # A plain array: what New-Object gives is wrapped by PowerShell, and the cast in Run would fail.
    [System.IntPtr[]]$pointers = @(
        [System.Runtime.InteropServices.Marshal]::StringToHGlobalUni($Method),
        [System.Runtime.InteropServices.Marshal]::StringToHGlobalUni($Path),
        [System.Runtime.InteropServices.Marshal]::StringToHGlobalUni($Request),
        $slot)
    try {
        $type = Get-NodeHnsType -Library $library
        $run = [System.Delegate]::CreateDelegate([System.Func[System.Object, System.Int32]], $type.GetMethod('Run'))
        $task = [System.Threading.Tasks.Task[System.Int32]]::Factory.StartNew($run, $pointers)
        if (-not $task.Wait($TimeoutMs)) {
            throw (New-Object System.TimeoutException("${Failure}: it gave no answer within $TimeoutMs ms"))
        }
        $result = [int]$task.Result
        $text = ''
        $answer = [System.Runtime.InteropServices.Marshal]::ReadIntPtr($slot)
        if ($answer -ne [System.IntPtr]::Zero) {
            $text = [string][System.Runtime.InteropServices.Marshal]::PtrToStringUni($answer)
            [System.Runtime.InteropServices.Marshal]::FreeCoTaskMem($answer)
        }
    }
    finally {
        # A call that still runs uses them: then they are left to it, a few bytes until this process ends.
        if ($null -eq $task -or $task.IsCompleted) {
            foreach ($pointer in $pointers) {
                [System.Runtime.InteropServices.Marshal]::FreeHGlobal($pointer)
            }
        }
    }
    if ($result -lt 0) {
        $reason = New-Object System.ComponentModel.Win32Exception($result)
        $number = $result.ToString('x8', [System.Globalization.CultureInfo]::InvariantCulture)
        throw "${Failure}: $($reason.Message.Trim()) (0x$number)"
    }
    if ($text -eq '') {
        throw "${Failure}: it answered nothing"
    }
    return $text
}

function Read-NodeHns {
    <# .SYNOPSIS The query `hns`. A service that does not run is not started. #>
    param([object[]]$Objects)

    if ((Get-NodeHnsLibrary) -eq '') {
        return @{ available = $false }
    }
    $state = Get-NodeServiceState -Name 'hns'
    if ($state -ceq 'absent') {
        return @{ available = $false }
    }
    $answer = @{ available = $true }
    foreach ($object in $Objects) {
        $name = [string]$object
        try {
            if (@('networks', 'endpoints', 'policylists', 'namespaces') -cnotcontains $name) {
                throw "The Host Network Service is not asked for '$name'; there are networks, endpoints, policylists, namespaces."
            }
            if ($state -cne 'running') {
                throw "The service hns is $state, and a reading does not start it."
            }
            $answer[$name] = Send-NodeHnsRequest -Method 'GET' -Path "/$name/" -Failure "HNS did not list its $name"
        }
        catch {
            $answer[$name] = @{ error = (Get-NodeErrorText -Record $_) }
        }
    }
    return $answer
}

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

    $table = @{}
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
    $there = @{}
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
