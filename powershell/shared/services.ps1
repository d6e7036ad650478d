# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Services: configuration from the registry (never localised), state from the service control
# manager, process ids from CIM (not on Wine).

function Import-NodeServiceAssembly {
    <# .SYNOPSIS Loads the assembly of ServiceController, which has another name in each of the two PowerShells. #>
    if ($PSVersionTable.PSVersion.Major -lt 6) {
        Add-Type -AssemblyName System.ServiceProcess
    }
    else {
        Add-Type -AssemblyName System.ServiceProcess.ServiceController
    }
}

function ConvertTo-NodeServiceState {
    param([object]$Status)

    $states = @{
        Stopped = 'stopped'; StartPending = 'start_pending'; StopPending = 'stop_pending'; Running = 'running'
        ContinuePending = 'continue_pending'; PausePending = 'pause_pending'; Paused = 'paused'
    }
    return [string]$states[[string]$Status]
}

function Get-NodeServiceState {
    <# .SYNOPSIS The state of one service, 'absent' if there is none of that name. #>
    param([string]$Name)

    Import-NodeServiceAssembly
    $controller = New-Object System.ServiceProcess.ServiceController
    try {
        # Set, not given to the constructor, which would first look for a service of that display name.
        $controller.ServiceName = $Name
        $controller.Refresh()
        # The getter as a method: PowerShell turns the exception of a property into null, and the reason would be lost.
        $status = $controller.get_Status()
        return ConvertTo-NodeServiceState -Status $status
    }
    catch {
        $failure = $_
        # 1060: does not exist. 123: the name cannot be one of a service.
        if (@(1060, 123) -contains (Get-NodeErrorCode -Record $failure)) {
            return 'absent'
        }
        throw $failure
    }
    finally {
        $controller.Dispose()
    }
}

function Get-NodeServiceStateTable {
    <# .SYNOPSIS Name -> state of all Win32 services. #>
    Import-NodeServiceAssembly
    $table = New-NodeMap
    foreach ($controller in [System.ServiceProcess.ServiceController]::GetServices()) {
        $table[[string]$controller.ServiceName] = ConvertTo-NodeServiceState -Status $controller.Status
        $controller.Dispose()
    }
    return $table
}

function Get-NodeServiceProcessTable {
    <#
    .SYNOPSIS
    Name -> {pid, exit_code, service_exit_code} of the named services; empty where CIM does not answer (Wine).
    #>
    param([object[]]$Names)

    $table = New-NodeMap
    if ($Names.Length -eq 0) {
        return $table
    }
    $query = 'SELECT Name, ProcessId, ExitCode, ServiceSpecificExitCode FROM Win32_Service'
    # WMI refuses a query with too many ORs (WBEM_E_QUOTA_VIOLATION): then all services are asked for.
    if ($Names.Length -le 16) {
        $clauses = New-Object System.Collections.ArrayList
        foreach ($name in $Names) {
            # WQL: backslash and quote are escaped by a backslash.
            $escaped = ([string]$name).Replace('\', '\\').Replace("'", "\'")
            $null = $clauses.Add("Name='$escaped'")
        }
        $query = $query + ' WHERE ' + ($clauses.ToArray() -join ' OR ')
    }
    try {
        foreach ($row in @(Get-CimInstance -Query $query -OperationTimeoutSec 10 -ErrorAction Stop)) {
            $table[[string]$row.Name] = @{
                pid = [int]$row.ProcessId
                exit_code = [int64]$row.ExitCode
                service_exit_code = [int64]$row.ServiceSpecificExitCode
            }
        }
    }
    catch {
        $null = $_
    }
    return $table
}

function ConvertFrom-NodeFailureAction {
    <#
    .SYNOPSIS
    The registry's FailureActions: five 32-bit numbers (reset period, two unused, count, offset), then pairs of type and delay.

    .NOTES
    Source: SERVICE_FAILURE_ACTIONS as the service control manager stores it: exported keys of Windows XP to 11 have 32-bit numbers
    and the offset 20 on all architectures (unverified on Windows Server 2025).
    #>
    param([byte[]]$Bytes, [bool]$NonCrash)

    if ($null -eq $Bytes -or $Bytes.Length -lt 20) {
        return $null
    }
    $kinds = @('none', 'restart', 'reboot', 'run')
    $count = [int64][System.BitConverter]::ToUInt32($Bytes, 12)
    $actions = New-Object System.Collections.ArrayList
    for ($index = 0; $index -lt $count -and (28 + 8 * $index) -le $Bytes.Length; $index++) {
        $kind = [int64][System.BitConverter]::ToUInt32($Bytes, 20 + 8 * $index)
        $delay = [int64][System.BitConverter]::ToUInt32($Bytes, 24 + 8 * $index)
        $word = 'none'
        if ($kind -lt 4) {
            $word = $kinds[$kind]
        }
        $null = $actions.Add([object[]]@($word, $delay))
    }
    return @{
        reset_s = [int64][System.BitConverter]::ToUInt32($Bytes, 0)
        actions = $actions.ToArray()
        non_crash = $NonCrash
    }
}

function Get-NodeServiceProgram {
    <# .SYNOPSIS The program of an ImagePath: environment variables expanded, arguments and quotes taken off. #>
    param([string]$ImagePath)

    $text = [System.Environment]::ExpandEnvironmentVariables($ImagePath.Trim())
    $windows = [System.Environment]::GetFolderPath('Windows')
    if ($text.StartsWith('"', [System.StringComparison]::Ordinal)) {
        $end = $text.IndexOf('"', 1)
        if ($end -gt 0) {
            $text = $text.Substring(1, $end - 1)
        }
    }
    else {
        $found = [regex]::Match($text, '^.*?\.exe(?=\s|$)', [System.Text.RegularExpressions.RegexOptions]::IgnoreCase)
        if ($found.Success) {
            $text = $found.Value
        }
        else {
            $text = ($text -split '\s', 2)[0]
        }
    }
    if ($text.StartsWith('\??\', [System.StringComparison]::Ordinal)) {
        $text = $text.Substring(4)
    }
    if ($text.StartsWith('\SystemRoot\', [System.StringComparison]::OrdinalIgnoreCase)) {
        $text = $windows + $text.Substring(11)
    }
    elseif ($text.StartsWith('System32\', [System.StringComparison]::OrdinalIgnoreCase)) {
        $text = $windows + '\' + $text
    }
    return [string]$text
}

function Test-NodeWindowsProgram {
    <# .SYNOPSIS Whether a service's program lies in the Windows folder (or there is none: a driver's stub). #>
    param([string]$ImagePath)

    if ($ImagePath -eq '') {
        return $true
    }
    $windows = [System.Environment]::GetFolderPath('Windows') + '\'
    $program = Get-NodeServiceProgram -ImagePath $ImagePath
    return [bool]$program.StartsWith($windows, [System.StringComparison]::OrdinalIgnoreCase)
}

function Get-NodeNssm {
    <# .SYNOPSIS What nssm keeps under a service's Parameters; null for a service that nssm does not run. #>
    param([string]$Key)

    $opened = Open-NodeRegistryKey -Key ($Key + '\Parameters')
    if ($null -eq $opened) {
        return $null
    }
    try {
        $names = [string[]]$opened.GetValueNames()
        if ($names -notcontains 'Application') {
            return $null
        }
        $values = New-NodeMap
        foreach ($name in $names) {
            $entry = Read-NodeRegistryValue -Opened $opened -Name $name
            $values[$name] = $entry['value']
        }
    }
    finally {
        $opened.Dispose()
    }
    $onExit = Get-NodeRegistryRaw -Key ($Key + '\Parameters\AppExit') -Name ''
    if ($null -ne $onExit) {
        $values['AppExit'] = [string]$onExit
    }
    return $values
}

function Read-NodeServiceKey {
    <# .SYNOPSIS A service's configuration out of its registry key; null if there is no such service. #>
    param([string]$Name)

    $key = 'SYSTEM\CurrentControlSet\Services\' + $Name
    $opened = Open-NodeRegistryKey -Key $key
    if ($null -eq $opened) {
        return $null
    }
    try {
        $raw = [Microsoft.Win32.RegistryValueOptions]::DoNotExpandEnvironmentNames
        $kind = [int]$opened.GetValue('Type', 0)
        if (($kind -band 0x30) -eq 0) {
            return $null
        }
        $failureBytes = $opened.GetValue('FailureActions', $null)
        $failure = $null
        if ($failureBytes -is [byte[]]) {
            $nonCrash = [int]$opened.GetValue('FailureActionsOnNonCrashFailures', 0) -ne 0
            $failure = ConvertFrom-NodeFailureAction -Bytes $failureBytes -NonCrash $nonCrash
        }
        return @{
            name = $Name
            display_name = [string]$opened.GetValue('DisplayName', $Name, $raw)
            image_path = [string]$opened.GetValue('ImagePath', '', $raw)
            start = [int]$opened.GetValue('Start', 3)
            delayed = [bool]([int]$opened.GetValue('DelayedAutostart', 0) -ne 0)
            type = $kind
            account = [string]$opened.GetValue('ObjectName', 'LocalSystem')
            depends_on = [object[]]@($opened.GetValue('DependOnService', [string[]]@()))
            environment = [object[]]@($opened.GetValue('Environment', [string[]]@(), $raw))
            deleting = [bool]([int]$opened.GetValue('DeleteFlag', 0) -ne 0)
            failure = $failure
            nssm = (Get-NodeNssm -Key $key)
        }
    }
    finally {
        $opened.Dispose()
    }
}

function Add-NodeServiceStatus {
    <# .SYNOPSIS Puts state, pid and exit codes into a service's configuration. #>
    param([hashtable]$Service, [string]$State, [object]$Process)

    $Service['state'] = $State
    $Service['pid'] = 0
    $Service['exit_code'] = 0
    $Service['service_exit_code'] = 0
    if ($null -ne $Process) {
        foreach ($field in @('pid', 'exit_code', 'service_exit_code')) {
            $Service[$field] = $Process[$field]
        }
    }
}

function Read-NodeService {
    <# .SYNOPSIS The query `service`. #>
    param([string]$Name)

    $service = Read-NodeServiceKey -Name $Name
    if ($null -eq $service) {
        return @{ exists = $false }
    }
    $state = Get-NodeServiceState -Name $Name
    if ($state -ceq 'absent') {
        # A key that the service control manager does not know (yet, or any more): nothing runs under it.
        $state = 'stopped'
    }
    $processes = Get-NodeServiceProcessTable -Names @($Name)
    Add-NodeServiceStatus -Service $service -State $state -Process $processes[$Name]
    $service['exists'] = $true
    return $service
}

function Find-NodeServiceName {
    <# .SYNOPSIS The names that the query `services` returns, in the order of the registry. #>
    param([object[]]$Names)

    $all = New-Object System.Collections.ArrayList
    $chosen = New-NodeMap
    $root = Open-NodeRegistryKey -Key 'SYSTEM\CurrentControlSet\Services'
    try {
        foreach ($name in $root.GetSubKeyNames()) {
            $opened = $null
            try {
                $opened = $root.OpenSubKey($name)
                if ($null -eq $opened -or ([int]$opened.GetValue('Type', 0) -band 0x30) -eq 0) {
                    continue
                }
                $image = [string]$opened.GetValue('ImagePath', '', [Microsoft.Win32.RegistryValueOptions]::DoNotExpandEnvironmentNames)
                $needs = [object[]]@($opened.GetValue('DependOnService', [string[]]@()))
                $null = $all.Add(@{ name = $name; needs = $needs })
                if ($Names -contains $name -or -not (Test-NodeWindowsProgram -ImagePath $image)) {
                    $chosen[$name] = $true
                }
            }
            catch {
                # A service that hides its key even from administrators, or goes away just now, is none of ours.
                $null = $_
            }
            finally {
                if ($null -ne $opened) {
                    $opened.Dispose()
                }
            }
        }
    }
    finally {
        $root.Dispose()
    }
    $grown = $true
    while ($grown) {
        $grown = $false
        foreach ($service in $all.ToArray()) {
            if ($chosen.ContainsKey($service['name'])) {
                continue
            }
            foreach ($need in $service['needs']) {
                if ($chosen.ContainsKey([string]$need)) {
                    $chosen[$service['name']] = $true
                    $grown = $true
                }
            }
        }
    }
    $found = New-Object System.Collections.ArrayList
    foreach ($service in $all.ToArray()) {
        if ($chosen.ContainsKey($service['name'])) {
            $null = $found.Add($service['name'])
        }
    }
    return , $found.ToArray()
}

function Read-NodeServiceList {
    <# .SYNOPSIS The query `services`. #>
    param([object[]]$Names)

    $wanted = Find-NodeServiceName -Names $Names
    $states = Get-NodeServiceStateTable
    $processes = Get-NodeServiceProcessTable -Names $wanted
    $list = New-Object System.Collections.ArrayList
    foreach ($name in $wanted) {
        try {
            $service = Read-NodeServiceKey -Name $name
        }
        catch {
            $failure = $_
            if ($Names -contains $name) {
                throw $failure
            }
            # One that hides a part of its key even from administrators is none of ours; it must not hide the others.
            continue
        }
        if ($null -eq $service) {
            continue
        }
        $state = 'stopped'
        if ($states.ContainsKey($name)) {
            $state = $states[$name]
        }
        Add-NodeServiceStatus -Service $service -State $state -Process $processes[$name]
        $null = $list.Add($service)
    }
    return , $list.ToArray()
}

function Get-NodeFingerprint {
    <# .SYNOPSIS NAME=value with the beginning of the value's sha256 in its place: equal values have equal fingerprints. #>
    param([string]$Entry)

    $name = $Entry
    $value = ''
    $index = $Entry.IndexOf([char]'=')
    if ($index -ge 0) {
        $name = $Entry.Substring(0, $index + 1)
        $value = $Entry.Substring($index + 1)
    }
    return [string]($name + 'sha256:' + (Get-NodeTextHash -Text $value).Substring(0, 16))
}

function Get-NodeFingerprintList {
    <# .SYNOPSIS The fingerprint of each entry. #>
    param([object[]]$Entries)

    $list = New-Object System.Collections.ArrayList
    foreach ($entry in $Entries) {
        $null = $list.Add((Get-NodeFingerprint -Entry ([string]$entry)))
    }
    return , $list.ToArray()
}

function Hide-NodeServiceValue {
    <#
    .SYNOPSIS
    Fingerprints in place of the values of a service's variables, which may be secrets: a reading is kept as a fact, and printed at -vvv.
    #>
    param([hashtable]$Service)

    $Service['environment'] = Get-NodeFingerprintList -Entries $Service['environment']
    if ($null -eq $Service['nssm']) {
        return
    }
    foreach ($name in @('AppEnvironment', 'AppEnvironmentExtra')) {
        if ($Service['nssm'][$name] -is [array]) {
            $Service['nssm'][$name] = Get-NodeFingerprintList -Entries $Service['nssm'][$name]
        }
    }
}
