# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The state folder of docs/protocol.md section 4: documents, journals, the lock. node_apply and the
# runner share it.

function Get-NodeStateSddl {
    <# .SYNOPSIS Owner Administrators; SYSTEM and Administrators may do all, nobody else anything; nothing is inherited. #>
    return 'O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)'
}

function Get-NodeBatchFolder {
    param([string]$StateDir, [string]$Id)

    return [string][System.IO.Path]::Combine($StateDir, 'batches', $Id)
}

function Find-NodeForeignEntry {
    <#
    .SYNOPSIS
    The first file or folder below a folder, down to so many levels, that is not of these owners, or is a link: a sentence; else empty.

    .NOTES
    A runner may be at work there: what has gone since it was listed is nobody's.
    #>
    param([string]$Folder, [string[]]$Trusted, [int]$Levels)

    try {
        [string[]]$entries = [System.IO.Directory]::GetFileSystemEntries($Folder)
    }
    catch {
        $failure = $_
        if ((Get-NodeFileKind -Path $Folder) -ceq 'absent') {
            return ''
        }
        throw $failure
    }
    foreach ($entry in $entries) {
        $kind = Get-NodeFileKind -Path $entry
        if ($kind -ceq 'link') {
            return "$entry is a link or another reparse point, not a file of ours. Look into it and remove it."
        }
        try {
            $owner = Get-NodeOwner -Path $entry
        }
        catch {
            $failure = $_
            if ((Get-NodeFileKind -Path $entry) -ceq 'absent') {
                continue
            }
            throw $failure
        }
        if ($Trusted -notcontains $owner) {
            return "$entry is owned by $owner, not by SYSTEM or Administrators; somebody else put it there. Look into it and remove it."
        }
        if ($kind -ceq 'directory' -and $Levels -gt 1) {
            $found = Find-NodeForeignEntry -Folder $entry -Trusted $Trusted -Levels ($Levels - 1)
            if ($found -ne '') {
                return $found
            }
        }
    }
    return ''
}

function Get-NodeStateRefusal {
    <# .SYNOPSIS Why the state folder must not be used, as a sentence; empty if it may, or is not there yet. #>
    param([string]$StateDir)

    $kind = Get-NodeFileKind -Path $StateDir
    if ($kind -ceq 'absent') {
        return ''
    }
    if ($kind -cne 'directory') {
        $words = @{ link = 'a reparse point'; file = 'a file' }
        return "The state folder $StateDir is $($words[$kind]), not a folder; remove it, or set another state_dir."
    }
    foreach ($name in @('batches', 'receipts', 'staging', 'open.json', 'blocked.json', 'runner.ps1', 'runner.lock')) {
        $path = Join-NodePath -Folder $StateDir -Name $name
        $kind = Get-NodeFileKind -Path $path
        if ($kind -ceq 'link') {
            return "$path is a link or another reparse point, not a file of ours. Look into it and remove it."
        }
        $wanted = 'directory'
        if ($name.Contains('.')) {
            $wanted = 'file'
        }
        if ($kind -cne 'absent' -and $kind -cne $wanted) {
            return "$path is a $kind, a $wanted is wanted there. Look into it and remove it."
        }
    }
    if (-not (Test-NodeWindows)) {
        return ''
    }
    $trusted = @('S-1-5-18', 'S-1-5-32-544')
    $owner = Get-NodeOwner -Path $StateDir
    if ($trusted -notcontains $owner) {
        return "The state folder $StateDir is owned by $owner, not by SYSTEM or Administrators; somebody else made it. Look into it and remove it."
    }
    # While the folder was open to others, they may have put in a runner or a batch of theirs, which would run as SYSTEM, and who owns a
    # folder may open it to himself again. Three levels are what the node itself makes: batches, a batch, its backup; what is in a backup
    # was moved there with its owner.
    $levels = 3
    if (-not (Test-NodeSddl -Path $StateDir -Sddl (Get-NodeStateSddl))) {
        $levels = 1000
    }
    $identity = [System.Security.Principal.WindowsIdentity]::GetCurrent()
    $trusted = $trusted + @([string]$identity.User.Value)
    $identity.Dispose()
    return Find-NodeForeignEntry -Folder $StateDir -Trusted $trusted -Levels $levels
}

function Read-NodeDocument {
    <#
    .SYNOPSIS
    A JSON document of the state folder; null if it is not there, not whole, or no object. One that cannot be read is an error: it may
    not be taken for one that is not there.
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
        $found = ConvertFrom-NodeJson -Text $box['text']
    }
    catch {
        return $null
    }
    if ($found -is [System.Collections.IDictionary]) {
        return $found
    }
    return $null
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
    <# .SYNOPSIS The entries of a batch's journal in order; a line that is not whole, or says nothing, is left out. #>
    param([string]$StateDir, [string]$Id)

    $path = Join-NodePath -Folder (Get-NodeBatchFolder -StateDir $StateDir -Id $Id) -Name 'journal.jsonl'
    $entries = New-Object System.Collections.ArrayList
    if (-not [System.IO.File]::Exists($path)) {
        return , $entries.ToArray()
    }
    $box = @{ text = '' }
    $block = {
        $box['text'] = Read-NodeText -Path $path
    }
    Invoke-NodeRetry -Block $block
    foreach ($line in $box['text'].Split([char]10)) {
        if ($line.Trim() -eq '') {
            continue
        }
        try {
            $entry = Select-NodeEntry -Entry (ConvertFrom-NodeJson -Text $line)
            if ($null -ne $entry) {
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
    <#
    .SYNOPSIS
    The first entry of a kind (for one op, if a number is given), null if there is none. An intent that has lost its number is one of
    each op: what may have begun is undone.
    #>
    param([object[]]$Entries, [string]$Kind, [int]$Number = -1)

    foreach ($entry in $Entries) {
        if ([string]$entry['e'] -cne $Kind) {
            continue
        }
        $of = [int](Get-NodeArgument -Map $entry -Name 'n' -Default (-1))
        if ($Number -lt 0 -or $of -eq $Number -or ($of -lt 0 -and $Kind -ceq 'intent')) {
            return $entry
        }
    }
    return $null
}

function Read-NodeJournalNews {
    <#
    .SYNOPSIS
    The lines that have been added to a journal since the last look, as text. `Seen` is {length}: how many bytes of whole lines were looked
    at.

    .NOTES
    Who follows a batch looks four times a second: the journal, which holds what programs printed, is not read whole each time.
    A line without an end comes with each look until it has one: as in Read-NodeJournal, what is JSON without its end counts.
    #>
    param([string]$StateDir, [string]$Id, [hashtable]$Seen)

    $path = Join-NodePath -Folder (Get-NodeBatchFolder -StateDir $StateDir -Id $Id) -Name 'journal.jsonl'
    $item = New-Object System.IO.FileInfo($path)
    if (-not $item.Exists -or $item.Length -le $Seen['length']) {
        return ''
    }
    $memory = New-Object System.IO.MemoryStream
    $block = {
        $null = $memory.SetLength(0)
        $stream = Open-NodeFile -Path $path
        try {
            $null = $stream.Seek([int64]$Seen['length'], [System.IO.SeekOrigin]::Begin)
            $stream.CopyTo($memory)
        }
        finally {
            $stream.Dispose()
        }
    }
    Invoke-NodeRetry -Block $block
    [byte[]]$bytes = $memory.ToArray()
    # 10: the end of a line.
    $whole = [System.Array]::LastIndexOf($bytes, [byte]10) + 1
    $Seen['length'] = [int64]$Seen['length'] + $whole
    return [string][System.Text.Encoding]::UTF8.GetString($bytes)
}

function Find-NodeOutcome {
    <# .SYNOPSIS The entry `outcome` among the lines of a journal; null if there is none. #>
    param([string]$Text)

    foreach ($line in $Text.Split([char]10)) {
        # What a program printed may hold the word, too: the entry decides.
        if (-not $line.Contains('outcome')) {
            continue
        }
        try {
            $entry = Select-NodeEntry -Entry (ConvertFrom-NodeJson -Text $line)
            if ([string](Get-NodeArgument -Map $entry -Name 'e' -Default '') -ceq 'outcome') {
                return $entry
            }
        }
        catch {
            # A line that a loss of power tore.
            $null = $_
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
            $room = [System.Math]::Max(0, [int]($room - $text.Length))
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
            # 32, 33: somebody has it open. Anything else, such as a full disk (112), is no other process. Linux has other numbers.
            $held = @(32, 33) -contains (Get-NodeErrorCode -Record $failure)
            if (-not $held -and ((Test-NodeWindows) -or (Get-NodeException -Record $failure) -isnot [System.IO.IOException])) {
                throw $failure
            }
        }
        if ($watch.ElapsedMilliseconds -ge $WaitMs) {
            return $null
        }
        [System.Threading.Thread]::Sleep(100)
    }
}

function Get-NodeBatchStep {
    <# .SYNOPSIS The ops of a batch, of its undo lists and of its gate: a list. #>
    param([object]$Batch)

    $all = New-Object System.Collections.ArrayList
    foreach ($part in @('ops', 'gate')) {
        foreach ($op in (Get-NodeArgumentList -Map $Batch -Name $part)) {
            $null = $all.Add($op)
            foreach ($undo in (Get-NodeArgumentList -Map $op -Name 'undo')) {
                $null = $all.Add($undo)
            }
        }
    }
    return , $all.ToArray()
}

function Find-NodeHnsLack {
    <#
    .SYNOPSIS
    That an op, wait kind or precondition of a batch needs HNS (their names begin so), and the text for it is missing: a sentence, or empty.
    #>
    param([object]$Envelope)

    if ([string](Get-NodeArgument -Map $Envelope -Name 'hns' -Default '') -ne '') {
        return ''
    }
    $batch = Get-NodeArgument -Map $Envelope -Name 'batch'
    $words = New-Object System.Collections.ArrayList
    foreach ($op in (Get-NodeBatchStep -Batch $batch)) {
        $null = $words.Add([string](Get-NodeArgument -Map $op -Name 'op' -Default ''))
        $null = $words.Add([string](Get-NodeArgument -Map (Get-NodeArgument -Map $op -Name 'args') -Name 'for' -Default ''))
    }
    foreach ($item in (Get-NodeArgumentList -Map $batch -Name 'pre')) {
        $null = $words.Add([string](Get-NodeArgument -Map (Get-NodeArgument -Map $item -Name 'query') -Name 'op' -Default ''))
    }
    foreach ($word in $words.ToArray()) {
        if ($word.StartsWith('hns', [System.StringComparison]::Ordinal)) {
            return "The batch needs HNS ('$word'), and the text that calls it was not sent along (the field hns)."
        }
    }
    return ''
}

function Find-NodeUnknownWord {
    <#
    .SYNOPSIS
    The first op or wait kind of a batch (its undo lists and its gate too) that the runner does not know, as a sentence; else empty.
    #>
    param([object]$Batch)

    $known = @(
        'mkdir', 'write', 'restore', 'fetch', 'assemble', 'unpack', 'move', 'remove', 'registry_set', 'registry_remove', 'run',
        'hns_network', 'hns_network_remove', 'hns_remove', 'addresses', 'category_note', 'category_restore', 'ip_note', 'ip_restore',
        'computer_name', 'halt', 'wait', 'record'
    )
    $kinds = @('service', 'pipe', 'http', 'run', 'file_free', 'process_gone', 'file', 'tcp', 'tcp_closed', 'adapter', 'hns_network')
    foreach ($op in (Get-NodeBatchStep -Batch $Batch)) {
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
    After the outcome is in the journal: batch.json (it may hold secrets) and open.json go, the task is disabled, old folders go, but
    never that of this batch: the clock may have been ahead when the others were made. No other batch is open, so what a loss of power
    has left of one that was never opened goes too.
    #>
    param([string]$StateDir, [string]$Id, [string]$Mode)

    Remove-NodeDocument -Path (Join-NodePath -Folder (Get-NodeBatchFolder -StateDir $StateDir -Id $Id) -Name 'batch.json')
    Remove-NodeDocument -Path (Join-NodePath -Folder $StateDir -Name 'open.json')
    Clear-NodeRunnerNote -StateDir $StateDir
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
        Remove-NodeFileQuietly -Path (Join-NodePath -Folder $path -Name 'batch.json')
        if ([System.IO.Path]::GetFileName($path) -ne $Id) {
            $null = $folders.Add([System.IO.DirectoryInfo]$path)
        }
    }
    $old = @($folders.ToArray() | Sort-Object -Property CreationTimeUtc -Descending | Select-Object -Skip 19)
    foreach ($folder in $old) {
        try {
            [System.IO.Directory]::Delete($folder.FullName, $true)
        }
        catch {
            $null = $_
        }
    }
}
