# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The open batch of the node: whose it is, how old, who works on it, and what blocks the node.

function Get-NodeSelf {
    <# .SYNOPSIS This process, as open.json names it: {pid, started}. #>
    $process = [System.Diagnostics.Process]::GetCurrentProcess()
    $self = @{ pid = [int]$process.Id; started = (Get-NodeProcessStart -Process $process) }
    $process.Dispose()
    return $self
}

function Test-NodeWorker {
    <# .SYNOPSIS Whether the process that works on the open batch is alive; a process id may have been given to another since. #>
    param([object]$Open)

    $id = [int](Get-NodeArgument -Map $Open -Name 'pid' -Default 0)
    if ($id -le 0) {
        return $false
    }
    $process = $null
    try {
        $process = [System.Diagnostics.Process]::GetProcessById($id)
        $seen = Get-NodeProcessStart -Process $process
        $noted = [string](Get-NodeArgument -Map $Open -Name 'started' -Default '')
        if ($seen -eq '') {
            return $true
        }
        $culture = [System.Globalization.CultureInfo]::InvariantCulture
        $gap = [System.DateTimeOffset]::Parse($seen, $culture) - [System.DateTimeOffset]::Parse($noted, $culture)
        return [bool]([System.Math]::Abs($gap.TotalSeconds) -le 2)
    }
    catch {
        # GetProcessById throws when there is no such process.
        return $false
    }
    finally {
        if ($null -ne $process) {
            $process.Dispose()
        }
    }
}

function Get-NodeUptime {
    <# .SYNOPSIS Seconds on a clock that nobody sets, the same for every process of a boot. #>
    return [double]([double][System.Diagnostics.Stopwatch]::GetTimestamp() / [double][System.Diagnostics.Stopwatch]::Frequency)
}

function Get-NodeOpenAge {
    <#
    .SYNOPSIS
    Seconds since the open batch was submitted: by the clock that nobody sets, or after a restart by the clock on the wall.
    #>
    param([object]$Open)

    $uptime = [double](Get-NodeArgument -Map $Open -Name 'uptime_s' -Default (-1))
    if ($uptime -ge 0 -and [string](Get-NodeArgument -Map $Open -Name 'boot_id' -Default '') -ceq [string](Get-NodeBootId)) {
        return [System.Math]::Max([double]0, [double](Get-NodeUptime) - $uptime)
    }
    $since = [System.DateTimeOffset]::MinValue
    $text = [string](Get-NodeArgument -Map $Open -Name 'since' -Default '')
    $culture = [System.Globalization.CultureInfo]::InvariantCulture
    if (-not [System.DateTimeOffset]::TryParse($text, $culture, [System.Globalization.DateTimeStyles]::AssumeUniversal, [ref]$since)) {
        return [double]0
    }
    # Below 0: the clock has been set back since.
    return [System.Math]::Max([double]0, ([System.DateTimeOffset]::UtcNow - $since).TotalSeconds)
}

function Read-NodeOpen {
    <#
    .SYNOPSIS
    What open.json says, null if no batch is open.

    .NOTES
    A loss of power can leave open.json torn or take it away. Then the journals tell: a batch that has begun and has no outcome is open,
    and batch.json says whose it is.
    #>
    param([string]$StateDir)

    $open = Select-NodeOpen -Found (Read-NodeDocument -Path (Join-NodePath -Folder $StateDir -Name 'open.json'))
    if ($null -ne $open['id']) {
        return $open
    }
    $batches = Join-NodePath -Folder $StateDir -Name 'batches'
    if (-not [System.IO.Directory]::Exists($batches)) {
        return $null
    }
    foreach ($folder in [System.IO.Directory]::GetDirectories($batches)) {
        # It goes with the outcome, so there is at most one.
        $path = Join-NodePath -Folder $folder -Name 'batch.json'
        if (-not [System.IO.File]::Exists($path)) {
            continue
        }
        $id = [string][System.IO.Path]::GetFileName($folder)
        $entries = Read-NodeJournal -StateDir $StateDir -Id $id
        if ($null -eq (Find-NodeJournalEntry -Entries $entries -Kind 'intent') -or
            $null -ne (Find-NodeJournalEntry -Entries $entries -Kind 'outcome')) {
            continue
        }
        $found = Select-NodeOpen -Found (Get-NodeArgument -Map (Read-NodeDocument -Path $path) -Name 'opened')
        $found['id'] = $id
        return $found
    }
    return $null
}

function Get-NodeRunnerTrouble {
    <#
    .SYNOPSIS
    Why the scheduled task will not bring the open batch to an end, as a sentence; empty while it may.

    .NOTES
    Antivirus, AppLocker or a damaged runner.ps1 end the runner before it can say anything in the journal: the starts are counted by
    the task's own command. Five starts without an end, or none within a minute, are not going to be followed by a better one.
    #>
    param([string]$StateDir, [object]$Open)

    if ([string](Get-NodeArgument -Map $Open -Name 'mode' -Default 'task') -cne 'task') {
        return ''
    }
    $starts = 0
    $path = Join-NodePath -Folder $StateDir -Name 'runner-starts.log'
    if ([System.IO.File]::Exists($path)) {
        $starts = [int](Read-NodeText -Path $path).Split([char[]]@([char]10), [System.StringSplitOptions]::RemoveEmptyEntries).Length
    }
    if ($starts -lt 5 -and ($starts -gt 0 -or (Get-NodeOpenAge -Open $Open) -lt 60)) {
        return ''
    }
    $cause = Read-NodeRunnerError -StateDir $StateDir
    if ($cause -eq '') {
        $cause = 'It left no word; look for what stops PowerShell scripts that run as SYSTEM (antivirus, AppLocker, WDAC).'
    }
    return "The scheduled task \winkube\runner has started the runner $starts times without bringing the batch to an end. $cause"
}

function Read-NodeBlock {
    <#
    .SYNOPSIS
    What blocked.json says: {id, error}; null if it is not there.

    .NOTES
    A file that a loss of power tore blocks as a whole one does. Its batch is then that of the journal with a failed undo, or thirty-two
    zeros: something has to be named to acknowledge it.
    #>
    param([string]$StateDir)

    $path = Join-NodePath -Folder $StateDir -Name 'blocked.json'
    if (-not [System.IO.File]::Exists($path)) {
        return $null
    }
    $blocked = Select-NodeField -Map (Read-NodeDocument -Path $path) -Texts @('id') -Maps @('error')
    $id = [string]$blocked['id']
    if ($id -cmatch '^[0-9a-f]{32}$') {
        return @{ id = $id; error = (Get-NodeArgument -Map $blocked -Name 'error') }
    }
    $id = '0' * 32
    $batches = Join-NodePath -Folder $StateDir -Name 'batches'
    if ([System.IO.Directory]::Exists($batches)) {
        foreach ($folder in [System.IO.Directory]::GetDirectories($batches)) {
            $name = [string][System.IO.Path]::GetFileName($folder)
            $entry = Find-NodeJournalEntry -Entries (Read-NodeJournal -StateDir $StateDir -Id $name) -Kind 'outcome'
            if ([string](Get-NodeArgument -Map $entry -Name 'outcome' -Default '') -ceq 'undo_failed') {
                $id = $name
            }
        }
    }
    return @{ id = $id; error = @{ message = "$path is damaged, so what could not be rolled back is no longer known." } }
}

function Block-NodeBatch {
    <# .SYNOPSIS Blocks the node for an open batch that nothing here can roll back. #>
    param([string]$StateDir, [object]$Open, [string]$Message)

    $id = [string](Get-NodeArgument -Map $Open -Name 'id' -Default '')
    $batch = Read-NodeDocument -Path (Join-NodePath -Folder (Get-NodeBatchFolder -StateDir $StateDir -Id $id) -Name 'batch.json')
    $document = @{
        id = $id
        component = [string](Get-NodeArgument -Map $batch -Name 'component' -Default '')
        error = @{ message = $Message }
        at = (Get-NodeTime)
    }
    Write-NodeJsonFile -Path (Join-NodePath -Folder $StateDir -Name 'blocked.json') -Value $document
}

function Confirm-NodeBlock {
    <# .SYNOPSIS `acknowledge`: removes blocked.json if it names this id, and closes the batch if it is still open; the outcome. #>
    param([string]$StateDir, [string]$Id)

    $blocked = Read-NodeBlock -StateDir $StateDir
    if ([string](Get-NodeArgument -Map $blocked -Name 'id' -Default '') -cne $Id) {
        return 'unknown'
    }
    $open = Read-NodeOpen -StateDir $StateDir
    if ([string](Get-NodeArgument -Map $open -Name 'id' -Default '') -ceq $Id) {
        $lock = Enter-NodeLock -StateDir $StateDir -WaitMs 10000
        if ($null -eq $lock) {
            throw "The runner is working on batch $Id again. Run once more when it is done."
        }
        try {
            # It may be gone, with all that was known of the batch.
            New-NodeFolder -Path (Get-NodeBatchFolder -StateDir $StateDir -Id $Id)
            $entry = @{ e = 'outcome'; outcome = 'undo_failed'; error = $blocked['error'] }
            Add-NodeJournalEntry -StateDir $StateDir -Id $Id -Entry $entry
            Close-NodeBatch -StateDir $StateDir -Id $Id -Mode ([string](Get-NodeArgument -Map $open -Name 'mode' -Default 'task'))
        }
        finally {
            $lock.Dispose()
        }
    }
    Remove-NodeDocument -Path (Join-NodePath -Folder $StateDir -Name 'blocked.json')
    return 'done'
}
