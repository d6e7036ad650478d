# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# A service and what depends on it, stopped in whatever state they are.

function Get-NodeActiveService {
    <# .SYNOPSIS Which of a service and all that depends on it still live, in an order to stop in: a list of {name, state}. #>
    param([string]$Name)

    Import-NodeServiceAssembly
    $names = New-Object System.Collections.ArrayList
    $controller = New-Object System.ServiceProcess.ServiceController
    try {
        $controller.ServiceName = $Name
        # As a method, see Get-NodeServiceState. Those that depend on it through others are among them.
        foreach ($dependant in $controller.get_DependentServices()) {
            $null = $names.Add([string]$dependant.ServiceName)
            $dependant.Dispose()
        }
    }
    catch {
        $failure = $_
        # As in Get-NodeServiceState.
        if (@(1060, 123) -notcontains (Get-NodeErrorCode -Record $failure)) {
            throw $failure
        }
    }
    finally {
        $controller.Dispose()
    }
    $null = $names.Add($Name)
    $found = New-Object System.Collections.ArrayList
    foreach ($service in $names.ToArray()) {
        $state = Get-NodeServiceState -Name $service
        if (@('stopped', 'absent') -cnotcontains $state) {
            $null = $found.Add(@{ name = $service; state = $state })
        }
    }
    return , $found.ToArray()
}

function Stop-NodeServiceProcess {
    <# .SYNOPSIS Ends the process of a service; with nssm's also the program that it runs. A program of Windows' own is left alone. #>
    param([string]$Name)

    $service = Read-NodeService -Name $Name
    if (-not $service['exists'] -or (Test-NodeWindowsProgram -ImagePath ([string]$service['image_path']))) {
        return
    }
    $ids = @([int]$service['pid'])
    if ($service['pid'] -le 0) {
        # CIM does not say it on Wine; nssm.exe may be that of other services, too.
        $ids = @()
        if ($null -eq $service['nssm']) {
            $ids = Get-NodeHolder -Path (Get-NodeServiceProgram -ImagePath ([string]$service['image_path']))
        }
    }
    foreach ($id in $ids) {
        try {
            $process = [System.Diagnostics.Process]::GetProcessById($id)
        }
        catch {
            # It has ended meanwhile.
            continue
        }
        if ($null -ne $service['nssm']) {
            Stop-NodeProcessTree -Process $process
        }
        else {
            # Its children stay: pods run in those of containerd.
            try {
                $process.Kill()
                $null = $process.WaitForExit(5000)
            }
            catch {
                # It has ended meanwhile, or Windows refuses: then the service does not stop, which is told.
                $null = $_
            }
        }
        $process.Dispose()
    }
}

function Invoke-NodeOpHalt {
    param([object]$Arguments, [hashtable]$Run)

    $name = [string]$Arguments['name']
    $timeout = [double](Get-NodeTimeLeft -Run $Run -Wanted ([double]$Arguments['timeout_s']))
    # A service that has not come up takes no order; one that is on its way down has all the time there is.
    $patience = [System.Math]::Min($timeout, [double](Get-NodeArgument -Map $Arguments -Name 'end_after_s' -Default 30))
    $program = [System.Environment]::GetFolderPath('System') + '\sc.exe'
    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    $quiet = [System.Diagnostics.Stopwatch]::StartNew()
    $before = ''
    $ended = New-NodeMap
    $changed = $false
    $pause = [double]500
    while ($true) {
        $active = Get-NodeActiveService -Name $name
        if ($active.Length -eq 0) {
            return @{ changed = $changed }
        }
        $changed = $true
        $seconds = $watch.Elapsed.TotalSeconds
        $now = ConvertTo-NodeJson -Value $active
        if ($now -cne $before) {
            $before = $now
            $quiet.Restart()
        }
        foreach ($service in $active) {
            # One that runs may wait for what depends on it: that is on its way down, and comes before it in the list.
            $rises = @('stop_pending', 'running', 'paused') -cnotcontains $service['state']
            $refuses = $service['state'] -cne 'stop_pending' -and $service['name'] -ceq $active[0]['name']
            $late = $service['state'] -ceq 'stop_pending' -and $seconds -ge $timeout
            $late = $late -or ($quiet.Elapsed.TotalSeconds -ge $patience -and ($rises -or $refuses))
            if ($late -and -not $ended.ContainsKey($service['name'])) {
                $ended[$service['name']] = $true
                Stop-NodeServiceProcess -Name $service['name']
                $pause = [double]500
            }
            elseif (@('running', 'paused') -ccontains $service['state']) {
                # Refused while others that depend on it run (1051), or while it takes no orders (1061): it is asked again.
                $null = Invoke-NodeProgram -Program $program -Arguments @('stop', $service['name']) -TimeoutMs 30000
            }
        }
        if ($seconds -ge $timeout + $patience + 30) {
            $first = $active[0]
            $spent = [System.Math]::Round($seconds, 1)
            throw "The service $($first['name']) did not stop within $spent s: it is $($first['state']), although its process was ended."
        }
        [System.Threading.Thread]::Sleep([int]$pause)
        $pause = [System.Math]::Min([double]5000, $pause * 1.5)
    }
}
