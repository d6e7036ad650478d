# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Processes: by name, by the file they run, and when they started.

function Get-NodeProcessPath {
    <#
    .SYNOPSIS
    The main module of a process under the name that it was started by, null if it cannot be seen (gone, or protected).

    .NOTES
    .NET asks GetModuleFileNameEx, which reads the process's own list of modules: that keeps the old name when the file is renamed.
    QueryFullProcessImageName would follow the file, but .NET does not offer it, and compiling C# for it costs seconds.
    Source: dotnet/runtime ProcessManager.Win32.cs, NtProcessManager.GetModules; .NET Framework does the same.
    #>
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

function Test-NodeNoProgram {
    <#
    .SYNOPSIS
    Whether surely no process runs this very file: Windows lets nobody open the file of a running program for writing. Nothing is written.
    #>
    param([string]$Path)

    try {
        $stream = New-Object System.IO.FileStream($Path, [System.IO.FileMode]::Open, [System.IO.FileAccess]::Write,
            [System.IO.FileShare]'ReadWrite, Delete')
        $stream.Dispose()
        return $true
    }
    catch {
        # 2, 3: there is no such file. Else it is held, or may not be written to.
        return [bool](@(2, 3) -contains (Get-NodeErrorCode -Record $_))
    }
}

function Get-NodeHolder {
    <#
    .SYNOPSIS
    Process ids whose main module is this file, in order. One whose file was renamed since is listed neither under its old name, if
    nothing runs from what has that name now, nor under its new one.
    #>
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
    if ($ids.Count -gt 0 -and (Test-NodeNoProgram -Path $wanted)) {
        return , [object[]]@()
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
    <# .SYNOPSIS The query `processes`, in the order of the process ids. #>
    param([object[]]$Names)

    $list = New-Object System.Collections.ArrayList
    foreach ($process in @([System.Diagnostics.Process]::GetProcesses() | Sort-Object -Property Id)) {
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
