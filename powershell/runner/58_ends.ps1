# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# How a service and its program have ended, for the waits that end with them.

function Get-NodeRestartDelay {
    <#
    .SYNOPSIS
    Seconds within which the service control manager starts a service again that has ended; -1 if it does not.

    .NOTES
    It acts when the process ended without a word (the exit code is 1067 then), with the flag also after another exit code than 0. Which of
    the actions comes next it does not tell: the longest delay counts. Source: Microsoft, SERVICE_FAILURE_ACTIONS, _ACTIONS_FLAG.
    #>
    param([object]$Failure, [object]$Row)

    if ($null -eq $Failure -or $null -eq $Row) {
        return [double]-1
    }
    $code = [int64]$Row['exit_code']
    if ($code -ne 1067 -and ($code -eq 0 -or -not $Failure['non_crash'])) {
        return [double]-1
    }
    $delay = [double]-1
    foreach ($action in $Failure['actions']) {
        if ([string]$action[0] -ceq 'restart') {
            $delay = [System.Math]::Max($delay, [double]$action[1] / 1000)
        }
    }
    return $delay
}

function Find-NodeProgram {
    <# .SYNOPSIS Notes the processes of a program in $Seen, with an open handle each: only that tells, later, with which code they ended. #>
    param([string]$Path, [hashtable]$Seen)

    foreach ($id in (Get-NodeHolder -Path $Path)) {
        $process = $null
        try {
            $process = [System.Diagnostics.Process]::GetProcessById([int]$id)
            # The getter as a method: PowerShell turns the exception of a property into null.
            $null = $process.get_Handle()
            $null = $Seen['processes'].Add($process)
        }
        catch {
            # It has ended meanwhile, or nobody may open it.
            if ($null -ne $process) {
                $process.Dispose()
            }
        }
    }
}

function Get-NodeProgramEnd {
    <# .SYNOPSIS How the processes of $Seen have ended, as the end of a sentence; empty while one of them lives, and for none. #>
    param([string]$Path, [hashtable]$Seen)

    $code = $null
    foreach ($process in $Seen['processes']) {
        if (-not $process.get_HasExited()) {
            return ''
        }
        $code = [int]$process.get_ExitCode()
    }
    if ($null -eq $code) {
        return ''
    }
    $text = "; $([System.IO.Path]::GetFileName($Path)) has ended, its exit code $code"
    return $text
}

function Get-NodeServiceEnd {
    <#
    .SYNOPSIS
    {over, text}: how a service has ended, as the end of a sentence (what it waited for is known: $Told), and whether for good: not if it
    is started again in a moment, which is granted it once. Null for one that has not ended. $Seen keeps what was seen of it before.
    With a $Program the first end counts, also where nssm, whose service then is paused or goes on running, starts it again.
    #>
    param([string]$Name, [bool]$Told, [hashtable]$Seen, [string]$Program)

    $state = Get-NodeServiceState -Name $Name
    $program_end = ''
    if ($Program -ne '') {
        if ($Seen['processes'].Count -eq 0) {
            Find-NodeProgram -Path $Program -Seen $Seen
        }
        $program_end = Get-NodeProgramEnd -Path $Program -Seen $Seen
        if ($program_end -ne '' -or $state -ceq 'paused') {
            if (-not $Told) {
                $program_end = "; the service $Name is $state$program_end"
            }
            return @{ over = $true; text = $program_end }
        }
    }
    if (@('stopped', 'absent') -cnotcontains $state) {
        $Seen['since'] = $null
        return $null
    }
    if ($null -eq $Seen['since']) {
        $Seen['since'] = [System.Diagnostics.Stopwatch]::StartNew()
        $Seen['times'] = [int]$Seen['times'] + 1
    }
    $text = ''
    if (-not $Told) {
        $text = "; the service $Name is $state"
    }
    $row = (Get-NodeServiceProcessTable -Names @($Name))[$Name]
    if ($null -ne $row) {
        $code = $row['exit_code']
        # 1066: the program gave a code of its own.
        if ($code -eq 1066) {
            $code = $row['service_exit_code']
        }
        $text += ", its exit code $code"
    }
    $delay = [double]-1
    $key = Read-NodeServiceKey -Name $Name
    if ($state -ceq 'stopped' -and $Seen['times'] -eq 1 -and $null -ne $key) {
        $delay = Get-NodeRestartDelay -Failure $key['failure'] -Row $row
    }
    $over = $Program -ne '' -or $delay -lt 0 -or $Seen['since'].Elapsed.TotalSeconds -ge $delay + 5
    return @{ over = [bool]$over; text = $text }
}

function Get-NodeLogEnd {
    <# .SYNOPSIS The last lines of a log, without the secrets, as a sentence of their own; empty if there are none. #>
    param([string]$Path, [hashtable]$Run)

    if ($Path -eq '' -or -not [System.IO.File]::Exists($Path)) {
        return ''
    }
    try {
        [byte[]]$bytes = Read-NodePart -Path $Path -Count 4096 -FromEnd $true
    }
    catch {
        return ''
    }
    if ($bytes.Length -eq 0) {
        return ''
    }
    if ($bytes.Length -eq 4096 -and -not (Test-NodeWideText -Bytes $bytes)) {
        $from = 0
        # Without what is left of a character of UTF-8 that was cut (bytes 10xxxxxx): else the rest would not be taken for UTF-8.
        while ($from -lt 3 -and ($bytes[$from] -band 192) -eq 128) {
            $from++
        }
        $bytes = [byte[]]@($bytes[$from..($bytes.Length - 1)])
    }
    $decoder = Get-NodeDecoder -Bytes $bytes -Encoding 'utf-16'
    # Nor the mark of an encoding.
    $text = $decoder.GetString($bytes).TrimStart([char[]]@([char]0xFEFF, [char]0xFFFD))
    # As a whole, before it falls into lines: a secret may have several, and its beginning may lie before these bytes.
    $text = Hide-NodeSecret -Run $Run -Text (Hide-NodeSecretEnd -Run $Run -Text $text)
    $lines = New-Object System.Collections.ArrayList
    foreach ($line in $text.Split([char]10)) {
        if ($line.Trim() -ne '') {
            $null = $lines.Add($line.Trim())
        }
    }
    if ($lines.Count -eq 0) {
        return ''
    }
    $first = [System.Math]::Max(0, $lines.Count - 5)
    return " The last lines of ${Path}: $($lines.GetRange($first, $lines.Count - $first).ToArray() -join ' | ')"
}
