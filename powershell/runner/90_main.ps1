# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# What is open here, or over? The runner's last piece, and the only one that acts by itself.

function Invoke-NodeRunner {
    <# .SYNOPSIS Works on the open batch, if there is one and no other process does; without one, on what is over. #>
    param([string]$StateDir)

    if ($StateDir -eq '' -or (Get-NodeFileKind -Path $StateDir) -cne 'directory') {
        throw "There is no state folder '$StateDir'."
    }
    $lock = Enter-NodeLock -StateDir $StateDir
    if ($null -eq $lock) {
        return
    }
    try {
        $openPath = Join-NodePath -Folder $StateDir -Name 'open.json'
        $open = Read-NodeOpen -StateDir $StateDir
        if ($null -eq $open) {
            # First: an open port is worse than a large log, or than a task that starts once more for nothing.
            try {
                Invoke-NodeExpiry -StateDir $StateDir
            }
            finally {
                try {
                    Invoke-NodeLogLimit -StateDir $StateDir
                }
                finally {
                    # Throws where the scheduler does not answer.
                    if (Test-NodeWindows) {
                        Set-NodeRunnerTask -Enabled $false
                    }
                }
            }
            return
        }
        # What ops note beside their own files: Remove-NodeLeftover does not know of it, and an undo needs it.
        foreach ($name in @('networks.json', 'category.json', 'ip.json')) {
            Clear-NodeReplaced -Path (Join-NodePath -Folder $StateDir -Name $name)
        }
        $id = [string]$open['id']
        $mode = [string](Get-NodeArgument -Map $open -Name 'mode' -Default 'task')
        $entries = Read-NodeJournal -StateDir $StateDir -Id $id
        if ($null -ne (Find-NodeJournalEntry -Entries $entries -Kind 'outcome')) {
            Close-NodeBatch -StateDir $StateDir -Id $id -Mode $mode
            return
        }
        $folder = Get-NodeBatchFolder -StateDir $StateDir -Id $id
        New-NodeFolder -Path $folder
        $batch = Read-NodeBatch -Folder $folder
        $run = New-NodeRun -StateDir $StateDir -Id $id -Mode $mode -Batch $batch
        # The time counts from the submission, also for a runner that goes on after a restart.
        $run['spent_s'] = [double](Get-NodeOpenAge -Open $open)
        if ($null -eq $batch) {
            $problem = @{ n = 0; op = ''; message = "batches\$id\batch.json is missing or damaged: the batch was interrupted." }
            if ($null -eq (Find-NodeJournalEntry -Entries $entries -Kind 'intent')) {
                Complete-NodeBatch -Run $run -Outcome 'undone' -Problem $problem
            }
            else {
                Complete-NodeBatch -Run $run -Outcome 'undo_failed' -Problem $problem
            }
            return
        }
        $mark = New-NodeMap
        foreach ($field in $open.GetEnumerator()) {
            $mark[[string]$field.Key] = $field.Value
        }
        $self = Get-NodeSelf
        $mark['pid'] = $self['pid']
        $mark['started'] = $self['started']
        Write-NodeJsonFile -Path $openPath -Value $mark
        Resume-NodeBatch -Run $run
    }
    finally {
        $lock.Dispose()
    }
}

Invoke-NodeRunner -StateDir $StateDir
