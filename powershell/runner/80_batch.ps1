# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# A batch: its ops, its gate, its undo, and what the journal says of them.

function Write-NodeStep {
    <# .SYNOPSIS One journal entry of the batch that is worked on. #>
    param([hashtable]$Run, [hashtable]$Entry)

    Add-NodeJournalEntry -StateDir $Run['state_dir'] -Id $Run['id'] -Entry $Entry
}

function New-NodeProblem {
    <# .SYNOPSIS An error as the outcome carries it: {n, op, message, data?}. #>
    param([hashtable]$Run, [int]$Number, [string]$Op, [string]$Message)

    $problem = @{ n = $Number; op = $Op; message = (Hide-NodeSecret -Run $Run -Text $Message) }
    if ($null -ne $Run['data']) {
        $problem['data'] = $Run['data']
    }
    return $problem
}

function Write-NodeFailure {
    <# .SYNOPSIS A problem as the journal's entry `failed`. #>
    param([hashtable]$Run, [hashtable]$Problem)

    $entry = @{ e = 'failed' }
    foreach ($field in $Problem.GetEnumerator()) {
        $entry[[string]$field.Key] = $field.Value
    }
    Write-NodeStep -Run $Run -Entry $entry
}

function Invoke-NodeOpList {
    <# .SYNOPSIS Executes all ops; returns the first problem, null if there is none. #>
    param([hashtable]$Run)

    foreach ($op in $Run['ops']) {
        $number = [int]$op['n']
        $name = [string]$op['op']
        try {
            $null = Get-NodeTimeLeft -Run $Run -Wanted 1
            Write-NodeStep -Run $Run -Entry @{ n = $number; e = 'intent'; op = $name }
            $result = Invoke-NodeOp -Op $op -Run $Run
            Write-NodeStep -Run $Run -Entry @{ n = $number; e = 'done'; op = $name; result = $result }
        }
        catch {
            $problem = New-NodeProblem -Run $Run -Number $number -Op $name -Message (Get-NodeErrorText -Record $_)
            Write-NodeFailure -Run $Run -Problem $problem
            return $problem
        }
    }
    return $null
}

function Invoke-NodeGate {
    <# .SYNOPSIS Executes the gate; returns the first problem, null if there is none. #>
    param([hashtable]$Run)

    $number = 0
    foreach ($op in $Run['gate']) {
        try {
            $null = Get-NodeTimeLeft -Run $Run -Wanted 1
            $null = Invoke-NodeOp -Op $op -Run $Run
        }
        catch {
            $problem = New-NodeProblem -Run $Run -Number $number -Op ([string]$op['op']) -Message (Get-NodeErrorText -Record $_)
            if (-not $problem.ContainsKey('data')) {
                $problem['data'] = New-NodeMap
            }
            # The number of a gate is that of an op too: this tells them apart.
            $problem['data']['phase'] = 'gate'
            Write-NodeFailure -Run $Run -Problem $problem
            return $problem
        }
        Write-NodeStep -Run $Run -Entry @{ n = $number; e = 'gate' }
        $number++
    }
    return $null
}

function Remove-NodeLeftover {
    <# .SYNOPSIS Deletes the half-written files that an op leaves beside its own when it is cut. #>
    param([object]$Op)

    $arguments = Get-NodeOpArguments -Op $Op
    $name = [string]$Op['op']
    if (@('write', 'restore', 'record') -ccontains $name) {
        Clear-NodeReplaced -Path ([string]$arguments['path'])
        Remove-NodeFileQuietly -Path ([string]$arguments['path'] + '.winkube-new')
        $backup = [string](Get-NodeArgument -Map $arguments -Name 'backup' -Default '')
        if ($backup -ne '') {
            Remove-NodeFileQuietly -Path ($backup + '.winkube-new')
        }
    }
    elseif ($name -ceq 'move') {
        # A copy that was on its way to another drive. A folder of that name is one that is being renamed, and stays.
        $place = ([string]$arguments['to']).TrimEnd([char[]]@([char]47, [char]92))
        Remove-NodeFileQuietly -Path (Get-NodeLongPath -Path ($place + '.winkube-new'))
    }
    elseif ($name -ceq 'fetch' -or $name -ceq 'assemble') {
        Clear-NodeReplaced -Path ([string]$arguments['path'])
        Remove-NodeFileQuietly -Path ([string]$arguments['path'] + '.part')
    }
    elseif ($name -ceq 'unpack') {
        foreach ($member in (Get-NodeArgumentList -Map $arguments -Name 'members')) {
            $relative = ([string]$member['to']).Replace([char]47, [System.IO.Path]::DirectorySeparatorChar)
            $place = Get-NodeLongPath -Path (Join-NodePath -Folder ([string]$arguments['destination']) -Name $relative)
            Clear-NodeReplaced -Path $place
            Remove-NodeFileQuietly -Path ($place + '.winkube-new')
        }
    }
}

function Invoke-NodeUndoOp {
    <# .SYNOPSIS Executes one undo op, unless the very same has waited in vain before: $Vain holds these, with what they said. #>
    param([object]$Op, [hashtable]$Run, [hashtable]$Vain)

    $name = [string]$Op['op']
    if (@('halt', 'wait') -cnotcontains $name) {
        $null = Invoke-NodeOp -Op $Op -Run $Run
        return
    }
    $same = ConvertTo-NodeJson -Value $Op
    if ($Vain.ContainsKey($same)) {
        if ($name -ceq 'halt') {
            throw $Vain[$same]
        }
        $once = New-NodeMap
        foreach ($entry in (Get-NodeArgument -Map $Op -Name 'args').GetEnumerator()) {
            $once[[string]$entry.Key] = $entry.Value
        }
        $once['timeout_s'] = 0
        $Op = @{ op = $name; args = $once }
    }
    try {
        $null = Invoke-NodeOp -Op $Op -Run $Run
    }
    catch {
        $failure = $_
        if (-not $Vain.ContainsKey($same)) {
            $Vain[$same] = Get-NodeErrorText -Record $failure
        }
        throw $failure
    }
}

function Invoke-NodeUndo {
    <#
    .SYNOPSIS
    Runs the undo lists of all ops with an intent, last op first, each list in its order. Returns the problems, an empty list if none.

    .NOTES
    A list ends at its first failure; the lists of the other ops run all the same. What took its whole time in vain is not tried
    again in another list: a halt fails at once, a wait looks once.
    #>
    param([hashtable]$Run)

    $Run['deadline_s'] = 0
    $entries = Read-NodeJournal -StateDir $Run['state_dir'] -Id $Run['id']
    $problems = New-Object System.Collections.ArrayList
    $vain = New-NodeMap
    for ($index = $Run['ops'].Length - 1; $index -ge 0; $index--) {
        $op = $Run['ops'][$index]
        $number = [int]$op['n']
        if ($null -eq (Find-NodeJournalEntry -Entries $entries -Kind 'intent' -Number $number) -or
            $null -ne (Find-NodeJournalEntry -Entries $entries -Kind 'undone' -Number $number)) {
            continue
        }
        $name = [string]$op['op']
        Write-NodeStep -Run $Run -Entry @{ n = $number; e = 'undo_intent' }
        try {
            Remove-NodeLeftover -Op $op
            foreach ($undo in (Get-NodeArgumentList -Map $op -Name 'undo')) {
                $name = [string]$undo['op']
                Invoke-NodeUndoOp -Op $undo -Run $Run -Vain $vain
            }
            Write-NodeStep -Run $Run -Entry @{ n = $number; e = 'undone' }
        }
        catch {
            $problem = New-NodeProblem -Run $Run -Number $number -Op $name -Message (Get-NodeErrorText -Record $_)
            Write-NodeStep -Run $Run -Entry @{ n = $number; e = 'undo_failed'; message = $problem['message'] }
            $null = $problems.Add($problem)
        }
    }
    return , $problems.ToArray()
}

function Write-NodeChange {
    <#
    .SYNOPSIS
    Notes in changes.json whose batch changed this component last, and when, so that the next run of somebody else can tell.

    .NOTES
    What cannot be noted spoils no batch: everything that was wanted is done by then.
    #>
    param([hashtable]$Run)

    $path = Join-NodePath -Folder $Run['state_dir'] -Name 'changes.json'
    $components = New-NodeMap
    try {
        Clear-NodeReplaced -Path $path
        $before = Read-NodeDocument -Path $path
        if ($before -is [System.Collections.IDictionary]) {
            $noted = Get-NodeArgument -Map $before -Name 'components'
            if ($noted -is [System.Collections.IDictionary]) {
                foreach ($entry in $noted.GetEnumerator()) {
                    $components[[string]$entry.Key] = $entry.Value
                }
            }
        }
        $components[$Run['component']] = @{ at = (Get-NodeTime); by = $Run['by']; id = $Run['id']; was = $Run['was'] }
        Write-NodeJsonFile -Path $path -Value @{ schema = 1; components = $components }
    }
    catch {
        $null = $_
    }
}

function Complete-NodeBatch {
    <# .SYNOPSIS Writes the outcome, then closes the batch. A failed undo blocks the node first. #>
    param([hashtable]$Run, [string]$Outcome, [object]$Problem)

    if ($Outcome -ceq 'done' -and $Run['component'] -cne '' -and $Run['by'] -cne '') {
        Write-NodeChange -Run $Run
    }
    if ($Outcome -ceq 'undo_failed') {
        $document = @{ id = $Run['id']; component = $Run['component']; error = $Problem; at = (Get-NodeTime) }
        Write-NodeJsonFile -Path (Join-NodePath -Folder $Run['state_dir'] -Name 'blocked.json') -Value $document
    }
    Write-NodeStep -Run $Run -Entry @{ e = 'outcome'; outcome = $Outcome; error = $Problem }
    Close-NodeBatch -StateDir $Run['state_dir'] -Id $Run['id'] -Mode $Run['mode']
}

function Undo-NodeBatch {
    <# .SYNOPSIS Takes the batch back and completes it; the problem is why. #>
    param([hashtable]$Run, [hashtable]$Problem)

    $failures = Invoke-NodeUndo -Run $Run
    if ($failures.Length -eq 0) {
        # A loss of power may have come between blocked.json and the outcome of an earlier try.
        $blockedPath = Join-NodePath -Folder $Run['state_dir'] -Name 'blocked.json'
        $blocked = Read-NodeDocument -Path $blockedPath
        if ([string](Get-NodeArgument -Map $blocked -Name 'id' -Default '') -ceq $Run['id']) {
            Remove-NodeDocument -Path $blockedPath
        }
        Complete-NodeBatch -Run $Run -Outcome 'undone' -Problem $Problem
        return
    }
    $list = New-Object System.Collections.ArrayList
    foreach ($failure in $failures) {
        $null = $list.Add(@{ n = $failure['n']; op = $failure['op']; message = $failure['message'] })
    }
    $Problem['undo'] = $list.ToArray()
    Complete-NodeBatch -Run $Run -Outcome 'undo_failed' -Problem $Problem
}

function Get-NodeInterruption {
    <# .SYNOPSIS Why an interrupted batch is rolled back: the failure it had met, else the op that has an intent and no end. #>
    param([hashtable]$Run, [object[]]$Entries)

    $failed = Find-NodeJournalEntry -Entries $Entries -Kind 'failed'
    if ($null -ne $failed) {
        $problem = @{ n = [int]$failed['n']; op = [string](Get-NodeArgument -Map $failed -Name 'op' -Default '') }
        $problem['message'] = "The batch was interrupted while it was rolled back: $($failed['message'])"
        $data = Get-NodeArgument -Map $failed -Name 'data'
        if ($null -ne $data) {
            $problem['data'] = $data
        }
        return $problem
    }
    $last = @{ n = 0; op = ''; message = 'The batch was interrupted and rolled back.' }
    foreach ($op in $Run['ops']) {
        $number = [int]$op['n']
        if ($null -ne (Find-NodeJournalEntry -Entries $Entries -Kind 'intent' -Number $number)) {
            $last = @{ n = $number; op = [string]$op['op']; message = "The batch was interrupted at op $number ($($op['op'])) and rolled back." }
        }
    }
    return $last
}

function Test-NodeAllDone {
    <# .SYNOPSIS Whether every op is done, nothing has failed and no undo has begun. #>
    param([hashtable]$Run, [object[]]$Entries)

    foreach ($kind in @('failed', 'undo_intent', 'undone', 'undo_failed')) {
        if ($null -ne (Find-NodeJournalEntry -Entries $Entries -Kind $kind)) {
            return $false
        }
    }
    foreach ($op in $Run['ops']) {
        if ($null -eq (Find-NodeJournalEntry -Entries $Entries -Kind 'done' -Number ([int]$op['n']))) {
            return $false
        }
    }
    return $true
}

function Resume-NodeBatch {
    <# .SYNOPSIS Starts, finishes or rolls back the open batch, as its journal says. #>
    param([hashtable]$Run)

    $entries = Read-NodeJournal -StateDir $Run['state_dir'] -Id $Run['id']
    $begun = $null -ne (Find-NodeJournalEntry -Entries $entries -Kind 'intent')
    $problem = $null
    if (-not $begun) {
        $problem = Invoke-NodeOpList -Run $Run
    }
    elseif (-not (Test-NodeAllDone -Run $Run -Entries $entries)) {
        $problem = Get-NodeInterruption -Run $Run -Entries $entries
    }
    if ($null -eq $problem) {
        $problem = Invoke-NodeGate -Run $Run
    }
    if ($null -eq $problem) {
        Complete-NodeBatch -Run $Run -Outcome 'done' -Problem $null
    }
    else {
        Undo-NodeBatch -Run $Run -Problem $problem
    }
}

function New-NodeRun {
    <# .SYNOPSIS What the functions of the runner hand to each other: the batch, its deadline and its secrets. #>
    param([string]$StateDir, [string]$Id, [string]$Mode, [object]$Batch)

    $run = @{
        state_dir = $StateDir
        id = $Id
        mode = $Mode
        component = [string](Get-NodeArgument -Map $Batch -Name 'component' -Default '')
        by = [string](Get-NodeArgument -Map (Get-NodeArgument -Map $Batch -Name 'opened') -Name 'controller' -Default '')
        was = [string](Get-NodeArgument -Map $Batch -Name 'was' -Default '')
        ops = (Get-NodeArgumentList -Map $Batch -Name 'ops')
        gate = (Get-NodeArgumentList -Map $Batch -Name 'gate')
        deadline_s = [double](Get-NodeArgument -Map $Batch -Name 'deadline_s' -Default 900)
        spent_s = [double]0
        watch = [System.Diagnostics.Stopwatch]::StartNew()
        data = $null
        secrets = [object[]]@()
        hns = (New-NodeHns -Sent $Batch)
    }
    $run['secrets'] = Get-NodeSecretList -Ops ([object[]]($run['ops'] + $run['gate']))
    return $run
}
