# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# FOR INTERNAL COLLECTION USE ONLY. The state folder of docs/protocol.md section 4: journals, the open batch, the lock, and the
# scheduled task that finishes what was begun. node_apply and the runner share it.

#AnsibleRequires -PowerShell ._Json
#AnsibleRequires -PowerShell ._Files
#AnsibleRequires -PowerShell ._Processes
#AnsibleRequires -PowerShell ._Reading

Set-StrictMode -Version 2.0

function Get-NodeStateSddl {
    <# .SYNOPSIS Owner Administrators; SYSTEM and Administrators may do all, nobody else anything; nothing is inherited. #>
    return 'O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)'
}

function Get-NodeBatchFolder {
    param([string]$StateDir, [string]$Id)

    return [string][System.IO.Path]::Combine($StateDir, 'batches', $Id)
}

function Read-NodeDocument {
    <#
    .SYNOPSIS
    A JSON document of the state folder; null if it is not there or not whole. One that cannot be read is an error: it may not be
    taken for one that is not there.
    #>
    param([string]$Path)

    if (-not [System.IO.File]::Exists($Path)) {
        return $null
    }
    $box = @{ text = '' }
    $block = {
        $box['text'] = Read-NodeText -Path $Path
    }
    try {
        Invoke-NodeRetry -Block $block
    }
    catch {
        $failure = $_
        # 2, 3: it went between the two looks.
        if (@(2, 3) -contains (Get-NodeErrorCode -Record $failure)) {
            return $null
        }
        throw $failure
    }
    try {
        return ConvertFrom-NodeJson -Text $box['text']
    }
    catch {
        return $null
    }
}

function Remove-NodeDocument {
    <# .SYNOPSIS Deletes a file of the state folder; one that is gone already is no error. #>
    param([string]$Path)

    $block = {
        if ([System.IO.File]::Exists($Path)) {
            [System.IO.File]::Delete($Path)
        }
    }
    Invoke-NodeRetry -Block $block
}

function Add-NodeJournalEntry {
    <# .SYNOPSIS One line at the end of a batch's journal, on the disk when this returns. #>
    param([string]$StateDir, [string]$Id, [hashtable]$Entry)

    $line = @{ at = (Get-NodeTime) }
    foreach ($field in $Entry.GetEnumerator()) {
        $line[[string]$field.Key] = $field.Value
    }
    $encoding = New-Object System.Text.UTF8Encoding($false)
    $path = Join-NodePath -Folder (Get-NodeBatchFolder -StateDir $StateDir -Id $Id) -Name 'journal.jsonl'
    $text = (ConvertTo-NodeJson -Value $line) + "`n"
    $block = {
        $stream = New-Object System.IO.FileStream($path, [System.IO.FileMode]::OpenOrCreate, [System.IO.FileAccess]::ReadWrite,
            [System.IO.FileShare]'ReadWrite, Delete')
        try {
            $start = ''
            if ($stream.Length -gt 0) {
                # A line that a loss of power tore is closed, so that it spoils no other.
                $null = $stream.Seek(-1, [System.IO.SeekOrigin]::End)
                if ($stream.ReadByte() -ne 10) {
                    $start = "`n"
                }
            }
            [byte[]]$bytes = $encoding.GetBytes($start + $text)
            $null = $stream.Seek(0, [System.IO.SeekOrigin]::End)
            $stream.Write($bytes, 0, $bytes.Length)
            $stream.Flush($true)
        }
        finally {
            $stream.Dispose()
        }
    }
    Invoke-NodeRetry -Block $block
}

function Read-NodeJournal {
    <# .SYNOPSIS The entries of a batch's journal in order; a line that is not whole is left out. #>
    param([string]$StateDir, [string]$Id)

    $path = Join-NodePath -Folder (Get-NodeBatchFolder -StateDir $StateDir -Id $Id) -Name 'journal.jsonl'
    $entries = New-Object System.Collections.ArrayList
    if (-not [System.IO.File]::Exists($path)) {
        return , $entries.ToArray()
    }
    foreach ($line in (Read-NodeText -Path $path).Split([char]10)) {
        if ($line.Trim() -eq '') {
            continue
        }
        try {
            $entry = ConvertFrom-NodeJson -Text $line
            if ($null -ne (Get-NodeArgument -Map $entry -Name 'e')) {
                $null = $entries.Add($entry)
            }
        }
        catch {
            $null = $_
        }
    }
    return , $entries.ToArray()
}

function Find-NodeJournalEntry {
    <# .SYNOPSIS The first entry of a kind (for one op, if a number is given), null if there is none. #>
    param([object[]]$Entries, [string]$Kind, [int]$Number = -1)

    foreach ($entry in $Entries) {
        if ([string]$entry['e'] -ceq $Kind -and ($Number -lt 0 -or [int](Get-NodeArgument -Map $entry -Name 'n' -Default (-1)) -eq $Number)) {
            return $entry
        }
    }
    return $null
}

function Limit-NodeOutput {
    <#
    .SYNOPSIS
    Keeps what all programs of a batch printed within 512 KB (a result may be 1 MB): of the first ops' outputs only the end is kept.
    #>
    param([object[]]$Items)

    $room = 524288
    for ($index = $Items.Length - 1; $index -ge 0; $index--) {
        foreach ($field in @('stdout', 'stderr')) {
            $text = [string](Get-NodeArgument -Map $Items[$index] -Name $field -Default '')
            if ($text.Length -gt 1000 -and $text.Length -gt $room) {
                $left = $text.Length - 1000
                $text = "... $left characters left out ...`n" + $text.Substring($left)
                $Items[$index][$field] = $text
            }
            $room = [System.Math]::Max(0, $room - $text.Length)
        }
    }
}

function Get-NodeResultList {
    <# .SYNOPSIS What the journal says of each op that ran: {n, op, ok, ..}. #>
    param([string]$StateDir, [string]$Id)

    $list = New-Object System.Collections.ArrayList
    foreach ($entry in (Read-NodeJournal -StateDir $StateDir -Id $Id)) {
        $kind = [string]$entry['e']
        $op = [string](Get-NodeArgument -Map $entry -Name 'op' -Default '')
        if ($kind -ceq 'done') {
            $item = @{ n = [int]$entry['n']; op = $op; ok = $true }
            $more = Get-NodeArgument -Map $entry -Name 'result' -Default @{}
        }
        elseif ($kind -ceq 'failed') {
            $item = @{ n = [int]$entry['n']; op = $op; ok = $false; message = [string]$entry['message'] }
            $more = Get-NodeArgument -Map $entry -Name 'data' -Default @{}
            if ($more.ContainsKey('phase')) {
                # It was the gate that failed: that is in the error, the ops have all run.
                continue
            }
        }
        else {
            continue
        }
        foreach ($field in $more.GetEnumerator()) {
            $item[[string]$field.Key] = $field.Value
        }
        $null = $list.Add($item)
    }
    Limit-NodeOutput -Items ($list.ToArray())
    return , $list.ToArray()
}

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
        if ($seen -eq '' -or $noted -eq '') {
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

function Enter-NodeLock {
    <#
    .SYNOPSIS
    The one lock of the node: an open file, which Windows closes when its process ends. Null if another process has it.
    #>
    param([string]$StateDir, [int]$WaitMs = 0)

    $path = Join-NodePath -Folder $StateDir -Name 'runner.lock'
    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        try {
            return New-Object System.IO.FileStream($path, [System.IO.FileMode]::OpenOrCreate, [System.IO.FileAccess]::ReadWrite,
                [System.IO.FileShare]::None)
        }
        catch {
            $failure = $_
            $exception = Get-NodeException -Record $failure
            if ($exception -isnot [System.IO.IOException] -or $exception -is [System.IO.DirectoryNotFoundException]) {
                throw $failure
            }
        }
        if ($watch.ElapsedMilliseconds -ge $WaitMs) {
            return $null
        }
        [System.Threading.Thread]::Sleep(100)
    }
}

function Get-NodeTaskCommand {
    <# .SYNOPSIS What the scheduled task runs, encoded: it reads the file itself, so that no execution policy can stop it. #>
    param([string]$StateDir)

    $folder = $StateDir.Replace("'", "''")
    $line = "`$ErrorActionPreference = 'Stop'; `$folder = '$folder'; " +
    '$text = [IO.File]::ReadAllText([IO.Path]::Combine($folder, ''runner.ps1'')); ' +
    '& ([ScriptBlock]::Create($text)) -StateDir $folder'
    return [System.Convert]::ToBase64String([System.Text.Encoding]::Unicode.GetBytes($line))
}

function Get-NodeTaskXml {
    <# .SYNOPSIS The definition of \winkube\runner, disabled: it is enabled while a batch is open. #>
    param([string]$Command)

    $system = [System.Environment]::GetFolderPath('System')
    $program = [System.Security.SecurityElement]::Escape($system + '\WindowsPowerShell\v1.0\powershell.exe')
    return @"
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Finishes or takes back a change that winkube.node has begun on this machine.</Description>
  </RegistrationInfo>
  <Triggers>
    <BootTrigger>
      <Enabled>true</Enabled>
    </BootTrigger>
    <TimeTrigger>
      <Repetition>
        <Interval>PT1M</Interval>
        <StopAtDurationEnd>false</StopAtDurationEnd>
      </Repetition>
      <StartBoundary>2020-01-01T00:00:00</StartBoundary>
      <Enabled>true</Enabled>
    </TimeTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>S-1-5-18</UserId>
      <RunLevel>HighestAvailable</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <AllowHardTerminate>true</AllowHardTerminate>
    <StartWhenAvailable>true</StartWhenAvailable>
    <RunOnlyIfNetworkAvailable>false</RunOnlyIfNetworkAvailable>
    <AllowStartOnDemand>true</AllowStartOnDemand>
    <Enabled>false</Enabled>
    <Hidden>false</Hidden>
    <RunOnlyIfIdle>false</RunOnlyIfIdle>
    <WakeToRun>false</WakeToRun>
    <ExecutionTimeLimit>PT3H</ExecutionTimeLimit>
    <Priority>4</Priority>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>$program</Command>
      <Arguments>-NoProfile -NonInteractive -EncodedCommand $Command</Arguments>
    </Exec>
  </Actions>
</Task>
"@
}

function Test-NodeRunnerTask {
    <# .SYNOPSIS Whether a task, if there is one, runs the runner of this state folder, and as SYSTEM. #>
    param([object]$Task, [string]$StateDir)

    if ($null -eq $Task) {
        return $false
    }
    $xml = [string]$Task.Xml
    return [bool]($xml.Contains((Get-NodeTaskCommand -StateDir $StateDir)) -and $xml.Contains('<UserId>S-1-5-18</UserId>'))
}

function Register-NodeRunnerTask {
    <# .SYNOPSIS Makes \winkube\runner for this state folder; one that runs the same command already is left as it is. #>
    param([string]$StateDir)

    if (Test-NodeRunnerTask -Task (Get-NodeTask -Path '\winkube\runner') -StateDir $StateDir) {
        return
    }
    $scheduler = New-Object -ComObject Schedule.Service
    $scheduler.Connect()
    try {
        $folder = $scheduler.GetFolder('\winkube')
    }
    catch {
        $folder = $scheduler.GetFolder('\').CreateFolder('winkube')
    }
    $sid = New-Object System.Security.Principal.SecurityIdentifier('S-1-5-18')
    $account = $sid.Translate([System.Security.Principal.NTAccount]).Value
    # 6: create or update. 5: service account, without a password.
    $xml = [string](Get-NodeTaskXml -Command (Get-NodeTaskCommand -StateDir $StateDir))
    $null = $folder.RegisterTask('runner', $xml, 6, [string]$account, $null, 5)
}

function Set-NodeRunnerTask {
    <# .SYNOPSIS Enables or disables \winkube\runner; does nothing if there is no such task. #>
    param([bool]$Enabled)

    $task = Get-NodeTask -Path '\winkube\runner'
    if ($null -ne $task -and [bool]$task.Enabled -ne $Enabled) {
        $task.Enabled = $Enabled
    }
}

function Start-NodeRunnerTask {
    <#
    .SYNOPSIS
    Enables and starts \winkube\runner; false if there is no such task for this state folder. A second instance is never started.

    .NOTES
    Windows ignores a start while an instance runs, and one that has just closed the batch before may still be ending: WaitMs is how
    long it may take for that. Source: TASK_STATE of the Task Scheduler API, 4 is running, also of a disabled task.
    #>
    param([string]$StateDir, [int]$WaitMs = 0)

    $task = Get-NodeTask -Path '\winkube\runner'
    if (-not (Test-NodeRunnerTask -Task $task -StateDir $StateDir)) {
        return $false
    }
    if (-not [bool]$task.Enabled) {
        $task.Enabled = $true
    }
    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    while ([int]$task.State -eq 4 -and $watch.ElapsedMilliseconds -lt $WaitMs) {
        [System.Threading.Thread]::Sleep(100)
    }
    if ([int]$task.State -ne 4) {
        $null = $task.Run($null)
    }
    return $true
}

function Find-NodeUnknownWord {
    <#
    .SYNOPSIS
    The first op or wait kind of a batch (its undo lists and its gate too) that the runner does not know, as a sentence; else empty.
    #>
    param([object]$Batch)

    $known = @(
        'mkdir', 'write', 'restore', 'fetch', 'assemble', 'unpack', 'move', 'remove', 'registry_set', 'registry_remove', 'run',
        'hns_network', 'hns_network_remove', 'hns_remove', 'addresses', 'computer_name', 'wait', 'record'
    )
    $kinds = @('service', 'pipe', 'http', 'run', 'file_free', 'process_gone', 'file', 'tcp', 'adapter', 'hns_network')
    $all = New-Object System.Collections.ArrayList
    foreach ($part in @('ops', 'gate')) {
        foreach ($op in (Get-NodeArgumentList -Map $Batch -Name $part)) {
            $null = $all.Add($op)
            foreach ($undo in (Get-NodeArgumentList -Map $op -Name 'undo')) {
                $null = $all.Add($undo)
            }
        }
    }
    foreach ($op in $all.ToArray()) {
        $name = [string](Get-NodeArgument -Map $op -Name 'op' -Default '')
        if ($known -cnotcontains $name) {
            return "There is no op '$name'."
        }
        if ($name -ceq 'wait') {
            $kind = [string](Get-NodeArgument -Map (Get-NodeArgument -Map $op -Name 'args') -Name 'for' -Default '')
            if ($kinds -cnotcontains $kind) {
                return "There is nothing called '$kind' to wait for; there are $($kinds -join ', ')."
            }
        }
    }
    return ''
}

function Close-NodeBatch {
    <#
    .SYNOPSIS
    After the outcome is in the journal: batch.json (it may hold secrets) and open.json go, the task is disabled, old folders go.
    #>
    param([string]$StateDir, [string]$Id, [string]$Mode)

    Remove-NodeDocument -Path (Join-NodePath -Folder (Get-NodeBatchFolder -StateDir $StateDir -Id $Id) -Name 'batch.json')
    Remove-NodeDocument -Path (Join-NodePath -Folder $StateDir -Name 'open.json')
    if ($Mode -ceq 'task') {
        try {
            Set-NodeRunnerTask -Enabled $false
        }
        catch {
            # The task finds nothing open the next time and tries again.
            $null = $_
        }
    }
    $folders = New-Object System.Collections.ArrayList
    foreach ($path in [System.IO.Directory]::GetDirectories((Join-NodePath -Folder $StateDir -Name 'batches'))) {
        $null = $folders.Add([System.IO.DirectoryInfo]$path)
    }
    $old = @($folders.ToArray() | Sort-Object -Property CreationTimeUtc -Descending | Select-Object -Skip 20)
    foreach ($folder in $old) {
        try {
            [System.IO.Directory]::Delete($folder.FullName, $true)
        }
        catch {
            $null = $_
        }
    }
}

Export-ModuleMember -Function @(
    'Get-NodeStateSddl', 'Get-NodeBatchFolder', 'Read-NodeDocument', 'Remove-NodeDocument', 'Add-NodeJournalEntry', 'Read-NodeJournal',
    'Find-NodeJournalEntry', 'Get-NodeResultList', 'Get-NodeSelf', 'Test-NodeWorker', 'Enter-NodeLock', 'Register-NodeRunnerTask', 'Set-NodeRunnerTask',
    'Start-NodeRunnerTask', 'Find-NodeUnknownWord', 'Close-NodeBatch'
)
