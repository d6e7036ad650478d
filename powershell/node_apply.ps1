# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Hands a batch to the node's runner, follows its journal and says what became of it (docs/protocol.md, section 2).

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
# What is matched and sorted depends on no language.
[System.Threading.Thread]::CurrentThread.CurrentCulture = [System.Globalization.CultureInfo]::InvariantCulture

function Read-NodeEnvelope {
    <# .SYNOPSIS base64 of gzip of JSON -> the envelope; throws a sentence. #>
    param([string]$Text)

    # What the protocol allows.
    if ($Text.Length -gt 4194304) {
        throw "The option batch has $($Text.Length) characters; at most 4194304 are taken."
    }
    $envelope = ConvertFrom-NodeJson -Text (ConvertFrom-NodePacked -Text $Text)
    if ([int](Get-NodeArgument -Map $envelope -Name 'schema' -Default 0) -ne 1) {
        throw 'The envelope has not schema 1.'
    }
    foreach ($name in @('kind', 'id', 'state_dir')) {
        if ([string](Get-NodeArgument -Map $envelope -Name $name -Default '') -eq '') {
            throw "The envelope needs $name."
        }
    }
    if ([string]$envelope['id'] -cnotmatch '^[0-9a-f]{32}$') {
        throw "The envelope's id '$($envelope['id'])' is not 32 hexadecimal digits."
    }
    return $envelope
}

function Get-NodeRefusal {
    <# .SYNOPSIS Why nothing at all is done for this envelope, as a sentence; empty if something is. #>
    param([object]$Envelope, [bool]$CheckMode)

    if ($CheckMode) {
        return 'Batches are not applied under check mode.'
    }
    if ([System.Environment]::Is64BitOperatingSystem -and -not [System.Environment]::Is64BitProcess) {
        return 'This is a 32-bit PowerShell on a 64-bit Windows, which sees another System32 and another registry; use the 64-bit one.'
    }
    if (-not (Test-NodeElevated)) {
        return 'The session is not elevated; log in as a member of Administrators with full rights.'
    }
    $stateDir = [string]$Envelope['state_dir']
    $refusal = Get-NodeStateRefusal -StateDir $stateDir
    $kind = [string]$Envelope['kind']
    if ($refusal -ne '' -or $kind -cne 'submit') {
        if ($refusal -eq '' -and @('follow', 'acknowledge') -cnotcontains $kind) {
            return "There is no kind '$kind'; there are submit, follow and acknowledge."
        }
        return $refusal
    }
    $batch = Get-NodeArgument -Map $Envelope -Name 'batch'
    if ($null -eq $batch) {
        return 'A submit needs a batch.'
    }
    foreach ($fault in @((Find-NodeUnknownWord -Batch $batch), (Find-NodeHnsLack -Envelope $Envelope))) {
        if ($fault -ne '') {
            return $fault
        }
    }
    $runner = Get-NodeArgument -Map $Envelope -Name 'runner'
    $wanted = ([string](Get-NodeArgument -Map $runner -Name 'sha256' -Default '')).ToLowerInvariant()
    $text = Get-NodeArgument -Map $runner -Name 'text'
    if ($null -ne $text) {
        $found = Get-NodeTextHash -Text ([string]$text)
        if ($wanted -ne '' -and $found -cne $wanted) {
            return "The runner that was sent has sha256 $found, not $wanted."
        }
        return ''
    }
    $path = Join-NodePath -Folder $stateDir -Name 'runner.ps1'
    if (-not [System.IO.File]::Exists($path) -or (Get-NodeFileHash -Path $path) -cne $wanted) {
        return "The runner with sha256 $wanted is neither sent nor in $stateDir."
    }
    return ''
}

function Invoke-NodeRunnerInline {
    <# .SYNOPSIS Runs the runner in this process. #>
    param([string]$StateDir)

    $text = Read-NodeText -Path (Join-NodePath -Folder $StateDir -Name 'runner.ps1')
    $block = [scriptblock]::Create($text)
    $null = $block.Invoke($StateDir)
}

function Test-NodeTaskFinishes {
    <# .SYNOPSIS Whether the scheduled task will finish the open batch: it is there, and is enabled and started to be sure. #>
    param([object]$Open, [string]$StateDir)

    if ([string](Get-NodeArgument -Map $Open -Name 'mode' -Default 'task') -ceq 'inline') {
        return $false
    }
    try {
        return [bool](Start-NodeRunnerTask -StateDir $StateDir)
    }
    catch {
        return $false
    }
}

function Get-NodeStale {
    <# .SYNOPSIS Which preconditions no longer hold: a list of {key, expect, found}. #>
    param([object]$Batch, [string]$StateDir, [object]$Hns)

    $list = New-Object System.Collections.ArrayList
    foreach ($item in (Get-NodeArgumentList -Map $Batch -Name 'pre')) {
        $query = New-NodeMap
        foreach ($entry in $item['query'].GetEnumerator()) {
            $query[[string]$entry.Key] = $entry.Value
        }
        $query['key'] = 'it'
        $value = (Read-NodeQueryList -Queries @($query) -StateDir $StateDir -Hns $Hns)['it']
        if ($value -isnot [System.Collections.IDictionary]) {
            $value = @{ value = $value }
        }
        $expect = Get-NodeArgument -Map $item -Name 'expect' -Default @{}
        $found = New-NodeMap
        $same = $true
        foreach ($entry in $expect.GetEnumerator()) {
            $field = [string]$entry.Key
            $found[$field] = Get-NodeArgument -Map $value -Name $field
            $loose = @('sha256', 'content') -cnotcontains $field
            if (-not (Test-NodeEqual -Left $entry.Value -Right $found[$field] -IgnoreCase $loose)) {
                $same = $false
            }
        }
        if (-not $same) {
            if ($value.ContainsKey('error')) {
                $found['error'] = $value['error']
            }
            $null = $list.Add(@{ key = [string]$item['key']; expect = $expect; found = $found })
        }
    }
    return , $list.ToArray()
}

function Add-NodePresentValue {
    <#
    .SYNOPSIS
    Into undo ops that restore a registry value as it is now (`present`): its type and value, or that there is none.
    It may be a secret: it stands in batch.json alone, which goes with the outcome.
    #>
    param([object]$Batch)

    foreach ($op in (Get-NodeArgumentList -Map $Batch -Name 'ops')) {
        foreach ($undo in (Get-NodeArgumentList -Map $op -Name 'undo')) {
            $arguments = Get-NodeArgument -Map $undo -Name 'args'
            if ($null -eq $arguments -or -not [bool](Get-NodeArgument -Map $arguments -Name 'present' -Default $false)) {
                continue
            }
            $null = $arguments.Remove('present')
            $asked = @{ Path = [string]$arguments['path']; Single = $true; Name = [string]$arguments['name'] }
            $now = Read-NodeRegistry @asked
            if ($now['exists']) {
                $arguments['type'] = $now['type']
                $arguments['value'] = $now['value']
            }
            else {
                $undo['op'] = 'registry_remove'
            }
        }
    }
}

function Open-NodeBatch {
    <# .SYNOPSIS Writes batch.json and open.json; from then on the node itself finishes or rolls back what is begun. #>
    param([object]$Envelope, [string]$Mode)

    $stateDir = [string]$Envelope['state_dir']
    $id = [string]$Envelope['id']
    $folder = Get-NodeBatchFolder -StateDir $stateDir -Id $id
    New-NodeFolder -Path $folder
    Add-NodePresentValue -Batch $Envelope['batch']
    $batch = New-NodeMap
    foreach ($entry in $Envelope['batch'].GetEnumerator()) {
        $batch[[string]$entry.Key] = $entry.Value
    }
    $batch['id'] = $id
    $batch['state_dir'] = $stateDir
    $hns = [string](Get-NodeArgument -Map $Envelope -Name 'hns' -Default '')
    if ($hns -ne '') {
        # Beside the ops: the runner may need it after a restart.
        $batch['hns'] = $hns
    }
    $opened = @{
        controller = [string](Get-NodeArgument -Map $Envelope -Name 'controller' -Default '')
        since = (Get-NodeTime)
        boot_id = [string](Get-NodeBootId)
        uptime_s = (Get-NodeUptime)
        mode = $Mode
    }
    # Twice: a loss of power may take open.json away.
    $batch['opened'] = $opened
    Write-NodeJsonFile -Path (Join-NodePath -Folder $folder -Name 'batch.json') -Value $batch
    $open = $opened + @{ id = $id; pid = 0; started = '' }
    Clear-NodeRunnerNote -StateDir $stateDir
    if ($Mode -ceq 'task') {
        # Enabled before open.json is there: if this process ends in between, the task finds nothing and disables itself again.
        Set-NodeRunnerTask -Enabled $true
    }
    else {
        $self = Get-NodeSelf
        $open['pid'] = $self['pid']
        $open['started'] = $self['started']
    }
    Write-NodeJsonFile -Path (Join-NodePath -Folder $stateDir -Name 'open.json') -Value $open
}

function Wait-NodeOutcome {
    <# .SYNOPSIS Follows a batch until it has an outcome or the time is up: {outcome, error?}. #>
    param([string]$StateDir, [string]$Id, [double]$Seconds)

    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    $nudged = [System.Diagnostics.Stopwatch]::StartNew()
    $seen = @{ length = [int64]0 }
    $misses = 0
    while ($true) {
        # open.json first: it goes after the outcome is written, so that no end can slip through between the two looks.
        $open = Select-NodeOpen -Found (Read-NodeDocument -Path (Join-NodePath -Folder $StateDir -Name 'open.json'))
        $entry = Find-NodeOutcome -Text (Read-NodeJournalNews -StateDir $StateDir -Id $Id -Seen $seen)
        if ($null -ne $entry) {
            return @{ outcome = [string]$entry['outcome']; error = (Get-NodeArgument -Map $entry -Name 'error') }
        }
        if ([string](Get-NodeArgument -Map $open -Name 'id' -Default '') -cne $Id) {
            # The runner replaces open.json when it starts, and for a moment there may be none.
            $misses++
            if ($misses -le 4) {
                [System.Threading.Thread]::Sleep(250)
                continue
            }
            $open = Read-NodeOpen -StateDir $StateDir
            if ([string](Get-NodeArgument -Map $open -Name 'id' -Default '') -cne $Id) {
                $message = 'The session ended before the batch was opened; nothing was done.'
                return @{ outcome = 'interrupted'; error = @{ message = $message } }
            }
        }
        else {
            $misses = 0
        }
        $alive = Test-NodeWorker -Open $open
        if (-not $alive -and [string](Get-NodeArgument -Map $open -Name 'mode' -Default 'task') -ceq 'inline') {
            $message = 'The process that worked on the batch is gone; the next batch rolls it back first.'
            return @{ outcome = 'interrupted'; error = @{ message = $message } }
        }
        if ($watch.Elapsed.TotalSeconds -ge $Seconds) {
            if ($alive) {
                return @{ outcome = 'running'; error = $null }
            }
            $message = 'Nothing works on the batch at the moment; the scheduled task \winkube\runner takes it up within a minute.'
            return @{ outcome = 'interrupted'; error = @{ message = $message } }
        }
        if (-not $alive -and $nudged.Elapsed.TotalSeconds -ge 10) {
            $nudged.Restart()
            $trouble = Get-NodeRunnerTrouble -StateDir $StateDir -Open $open
            if ($trouble -ne '') {
                return @{ outcome = 'interrupted'; error = @{ message = "$trouble The next batch rolls this one back in its own session." } }
            }
            if (-not (Test-NodeTaskFinishes -Open $open -StateDir $StateDir)) {
                $message = 'Nothing works on the batch, and there is no scheduled task to do so; the next batch rolls it back first.'
                return @{ outcome = 'interrupted'; error = @{ message = $message } }
            }
        }
        [System.Threading.Thread]::Sleep(250)
    }
}

function Protect-NodeState {
    <# .SYNOPSIS Makes the state folder, or closes it to others; why it must not be used then, as a sentence, or empty. #>
    param([string]$StateDir)

    $refusal = Get-NodeStateRefusal -StateDir $StateDir
    if ($refusal -eq '') {
        New-NodeFolder -Path $StateDir -Sddl (Get-NodeStateSddl)
        $refusal = Get-NodeStateRefusal -StateDir $StateDir
    }
    return $refusal
}

function Clear-NodeStaging {
    <#
    .SYNOPSIS
    Deletes the folders of `staging` that the batch does not name: no other is open, so a run that broke off has left them.

    .NOTES
    What the batch names, with either slash (JSON has two backslashes for one), was brought for it by the one before. Files there are
    parts that a controller is sending. What is held goes another time. A link below is deleted as a link.
    #>
    param([string]$StateDir, [object]$Batch)

    $told = (ConvertTo-NodeJson -Value $Batch).Replace('\\', '/')
    foreach ($path in [System.IO.Directory]::GetDirectories((Join-NodePath -Folder $StateDir -Name 'staging'))) {
        $named = 'staging/' + [System.IO.Path]::GetFileName($path)
        if ($told.IndexOf($named, [System.StringComparison]::OrdinalIgnoreCase) -ge 0) {
            continue
        }
        try {
            [System.IO.Directory]::Delete($path, $true)
        }
        catch {
            $null = $_
        }
    }
}

function Submit-NodeBatch {
    <#
    .SYNOPSIS
    Steps 2 to 7 of the protocol, but for following: {answer, ..}, `follow` if the batch is open now; $Result gets `recovered`.
    #>
    param([object]$Envelope, [hashtable]$Result)

    $stateDir = [string]$Envelope['state_dir']
    $id = [string]$Envelope['id']
    if ([System.IO.Directory]::Exists($stateDir)) {
        # Closed to others before anything in it is believed, and then looked at once more.
        $refusal = Protect-NodeState -StateDir $stateDir
        if ($refusal -ne '') {
            return @{ answer = 'refused'; reason = $refusal }
        }
    }
    if ([System.IO.Directory]::Exists((Get-NodeBatchFolder -StateDir $stateDir -Id $id))) {
        return @{ answer = 'follow' }
    }
    $runner = Get-NodeArgument -Map $Envelope -Name 'runner'
    $mode = [string](Get-NodeArgument -Map $runner -Name 'mode' -Default 'task')
    $text = Get-NodeArgument -Map $runner -Name 'text'
    $open = Read-NodeOpen -StateDir $stateDir
    if ($null -ne $open) {
        if (Test-NodeWorker -Open $open) {
            return New-NodeBusy -Open $open
        }
        $trouble = Get-NodeRunnerTrouble -StateDir $stateDir -Open $open
        if ($trouble -eq '' -and (Test-NodeTaskFinishes -Open $open -StateDir $stateDir)) {
            return New-NodeBusy -Open $open -Problem (Read-NodeRunnerError -StateDir $stateDir)
        }
        # Nobody works on it and nobody will: it is rolled back, or finished, here before anything new is begun.
        Save-NodeRunner -StateDir $stateDir -Text $text
        try {
            Invoke-NodeRunnerInline -StateDir $stateDir
        }
        catch {
            $failure = $_
            $cause = Get-NodeErrorText -Record $failure
            # 112: there is no room for the journal. It can be rolled back when there is.
            if ((Get-NodeErrorCode -Record $failure) -eq 112) {
                return @{ answer = 'refused'; reason = "An earlier batch has to be rolled back first, and that failed: $cause" }
            }
            if ($null -ne (Read-NodeOpen -StateDir $stateDir)) {
                $message = "$trouble In this session the runner could not do it either: $cause"
                Block-NodeBatch -StateDir $stateDir -Open $open -Message ($message.Trim())
            }
        }
        $earlier = [string](Get-NodeArgument -Map $open -Name 'id' -Default '')
        $ended = Find-NodeJournalEntry -Entries (Read-NodeJournal -StateDir $stateDir -Id $earlier) -Kind 'outcome'
        if ($null -ne $ended) {
            $Result['recovered'] = @{ id = $earlier; outcome = [string]$ended['outcome'] }
        }
    }
    $blocked = Get-NodeBlocked -StateDir $stateDir
    if ($null -ne $blocked) {
        return $blocked
    }
    # Batch and journal must fit on the disk: what is begun without a journal cannot be rolled back.
    $needed = (ConvertTo-NodeJson -Value $Envelope['batch']).Length + 1048576
    $free = Get-NodeFreeSpace -Path $stateDir
    if ($free -ge 0 -and $free -lt $needed) {
        $reason = "The volume of $stateDir has only $free bytes free; $needed are needed for the batch and its journal. Make room there."
        return @{ answer = 'refused'; reason = $reason }
    }
    $refusal = Protect-NodeState -StateDir $stateDir
    if ($refusal -ne '') {
        return @{ answer = 'refused'; reason = $refusal }
    }
    foreach ($name in @('batches', 'receipts', 'staging')) {
        New-NodeFolder -Path (Join-NodePath -Folder $stateDir -Name $name)
    }
    $lock = Enter-NodeLock -StateDir $stateDir -WaitMs 10000
    $open = Read-NodeOpen -StateDir $stateDir
    # This batch itself may have arrived twice, where a call was taken for lost and made again.
    $known = [System.IO.Directory]::Exists((Get-NodeBatchFolder -StateDir $stateDir -Id $id))
    if ($known -or $null -eq $lock -or $null -ne $open) {
        # Another session was a moment faster.
        if ($null -ne $lock) {
            $lock.Dispose()
        }
        if ($known) {
            return @{ answer = 'follow' }
        }
        return New-NodeBusy -Open $open
    }
    try {
        # Under the lock: what somebody else has put in before the folder was closed to him is his for ever.
        $refusal = Get-NodeStateRefusal -StateDir $stateDir
        if ($refusal -ne '') {
            return @{ answer = 'refused'; reason = $refusal }
        }
        $blocked = Get-NodeBlocked -StateDir $stateDir
        if ($null -ne $blocked) {
            return $blocked
        }
        Clear-NodeStaging -StateDir $stateDir -Batch $Envelope['batch']
        Save-NodeRunner -StateDir $stateDir -Text $text
        $stale = Get-NodeStale -Batch $Envelope['batch'] -StateDir $stateDir -Hns (New-NodeHns -Sent $Envelope)
        if ($stale.Length -gt 0) {
            return @{ answer = 'stale'; stale = $stale }
        }
        if ($mode -ceq 'task') {
            try {
                Register-NodeRunnerTask -StateDir $stateDir
            }
            catch {
                $cause = Get-NodeErrorText -Record $_
                return @{ answer = 'refused'; reason = "The scheduled task \winkube\runner could not be made: $cause Allow it, or use the runner mode inline." }
            }
        }
        Open-NodeBatch -Envelope $Envelope -Mode $mode
    }
    catch {
        $failure = $_
        # It was not opened, so nobody will work on it; what may hold secrets does not stay.
        Remove-NodeFileQuietly -Path (Join-NodePath -Folder (Get-NodeBatchFolder -StateDir $stateDir -Id $id) -Name 'batch.json')
        throw $failure
    }
    finally {
        $lock.Dispose()
    }
    if ($mode -ceq 'task') {
        try {
            $null = Start-NodeRunnerTask -StateDir $stateDir -WaitMs 5000
        }
        catch {
            # The batch is open and the task enabled: it starts within a minute by itself.
            $null = $_
        }
    }
    else {
        Invoke-NodeRunnerInline -StateDir $stateDir
    }
    return @{ answer = 'follow' }
}

function Get-NodeBlocked {
    <# .SYNOPSIS The answer `blocked` if an undo has failed and nobody has acknowledged it, else null. #>
    param([string]$StateDir)

    $blocked = Read-NodeBlock -StateDir $StateDir
    if ($null -eq $blocked) {
        return $null
    }
    return @{ answer = 'blocked'; blocked = $blocked }
}

function New-NodeBusy {
    <# .SYNOPSIS The answer `busy`: who works on what, since when, and what ended the runner's last start, if anything did. #>
    param([object]$Open, [string]$Problem = '')

    $busy = New-NodeMap
    foreach ($field in @('id', 'controller', 'since')) {
        $busy[$field] = Get-NodeArgument -Map $Open -Name $field -Default ''
    }
    if ($Problem -ne '') {
        $busy['error'] = $Problem
    }
    return @{ answer = 'busy'; busy = $busy }
}

function Invoke-NodeEnvelope {
    <# .SYNOPSIS What an envelope asks for, as the module's result. #>
    param([object]$Envelope, [bool]$CheckMode)

    $stateDir = [string]$Envelope['state_dir']
    $id = [string]$Envelope['id']
    $kind = [string]$Envelope['kind']
    $result = @{ changed = $false; schema = 1; batch = $id; results = [object[]]@(); state = (New-NodeMap) }
    $refusal = Get-NodeRefusal -Envelope $Envelope -CheckMode $CheckMode
    if ($refusal -ne '') {
        $result['answer'] = 'refused'
        $result['reason'] = $refusal
        return $result
    }
    $end = @{ outcome = 'unknown'; error = $null }
    if ($kind -ceq 'acknowledge') {
        $end['outcome'] = Confirm-NodeBlock -StateDir $stateDir -Id $id
        $result['changed'] = $end['outcome'] -ceq 'done'
    }
    else {
        if ($kind -ceq 'submit') {
            $submitted = Submit-NodeBatch -Envelope $Envelope -Result $result
            if ($submitted['answer'] -cne 'follow') {
                foreach ($field in $submitted.GetEnumerator()) {
                    $result[[string]$field.Key] = $field.Value
                }
                return $result
            }
        }
        if ([System.IO.Directory]::Exists((Get-NodeBatchFolder -StateDir $stateDir -Id $id))) {
            $seconds = [double](Get-NodeArgument -Map $Envelope -Name 'follow_s' -Default 900)
            $end = Wait-NodeOutcome -StateDir $stateDir -Id $id -Seconds $seconds
            $result['results'] = Get-NodeResultList -StateDir $stateDir -Id $id
            $result['changed'] = [bool]($end['outcome'] -ceq 'done' -and $result['results'].Length -gt 0)
        }
    }
    $result['answer'] = 'accepted'
    $result['outcome'] = $end['outcome']
    if ($null -ne $end['error']) {
        $result['error'] = $end['error']
    }
    $queries = Get-NodeArgumentList -Map $Envelope -Name 'state'
    $result['state'] = Read-NodeQueryList -Queries $queries -StateDir $stateDir -Hns (New-NodeHns -Sent $Envelope)
    return $result
}

$answer = $null
try {
    $envelope = Read-NodeEnvelope -Text (Get-NodeOption -Sent $complex_args -Name 'batch')
    $answer = Invoke-NodeEnvelope -Envelope $envelope -CheckMode (Test-NodeCheckMode -Sent $complex_args)
}
catch {
    $answer = New-NodeFailure -Sent $complex_args -Record $_ -What 'The batch could not be handled: '
}
# A batch may hold secrets: as for every option that is no_log.
$hidden = 'VALUE_SPECIFIED_IN_NO_LOG_PARAMETER'
[System.Console]::Out.WriteLine((ConvertTo-NodeAnswer -Sent $complex_args -Answer $answer -Name 'batch' -Shown $hidden))
