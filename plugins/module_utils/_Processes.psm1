# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# FOR INTERNAL COLLECTION USE ONLY. Processes: by name, by the file they run, and when they started.

#AnsibleRequires -PowerShell ._Json
#AnsibleRequires -PowerShell ._Files

Set-StrictMode -Version 2.0

function Get-NodeProcessPath {
    <# .SYNOPSIS The main module of a process, null if it cannot be seen (gone, or protected). #>
    param([System.Diagnostics.Process]$Process)

    try {
        $module = $Process.MainModule
        if ($null -ne $module) {
            return [string]$module.FileName
        }
    }
    catch {
        $null = $_
    }
    return $null
}

function Get-NodeHolder {
    <# .SYNOPSIS Process ids whose main module is this file, in order. #>
    param([string]$Path)

    $wanted = [System.IO.Path]::GetFullPath($Path)
    $ids = New-Object System.Collections.ArrayList
    foreach ($process in [System.Diagnostics.Process]::GetProcesses()) {
        $found = Get-NodeProcessPath -Process $process
        if ($null -ne $found -and [string]::Equals($found, $wanted, [System.StringComparison]::OrdinalIgnoreCase)) {
            $null = $ids.Add([int]$process.Id)
        }
        $process.Dispose()
    }
    $ids.Sort()
    return , $ids.ToArray()
}

function Get-NodeProcessStart {
    <# .SYNOPSIS When a process started, as text; empty if that cannot be seen. #>
    param([System.Diagnostics.Process]$Process)

    try {
        $started = $Process.StartTime
        if ($null -ne $started) {
            return Get-NodeTime -Moment $started
        }
    }
    catch {
        $null = $_
    }
    return ''
}

function Read-NodeProcessList {
    <# .SYNOPSIS The query `processes`. #>
    param([object[]]$Names)

    $list = New-Object System.Collections.ArrayList
    foreach ($process in [System.Diagnostics.Process]::GetProcesses()) {
        $name = [string]$process.ProcessName
        if (Test-NodeWindows) {
            $name = $name + '.exe'
        }
        if ($Names -contains $name) {
            $null = $list.Add(@{
                    pid = [int]$process.Id
                    name = $name
                    path = Get-NodeProcessPath -Process $process
                    started = Get-NodeProcessStart -Process $process
                })
        }
        $process.Dispose()
    }
    return , $list.ToArray()
}

Export-ModuleMember -Function @('Get-NodeHolder', 'Get-NodeProcessStart', 'Read-NodeProcessList')
