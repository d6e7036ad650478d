# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# What ends by itself: expiry.json of the state folder (docs/protocol.md, section 6).

function Invoke-NodeExpiryList {
    <# .SYNOPSIS Executes one list of ops of expiry.json; throws a sentence. #>
    param([hashtable]$Run, [object]$Document, [string]$Name)

    foreach ($op in (Get-NodeArgumentList -Map $Document -Name $Name)) {
        $null = Invoke-NodeOp -Op $op -Run $Run
    }
}

function Invoke-NodeExpiry {
    <#
    .SYNOPSIS
    Does what expiry.json says, if its time is over. A failure of `first` is thrown: the task tries again. One of `same` is noted.
    #>
    param([string]$StateDir)

    $path = Join-NodePath -Folder $StateDir -Name 'expiry.json'
    $document = Read-NodeDocument -Path $path
    if ($null -eq $document) {
        return
    }
    $culture = [System.Globalization.CultureInfo]::InvariantCulture
    if ([System.DateTimeOffset]::UtcNow -lt [System.DateTimeOffset]::Parse([string]$document['at'], $culture)) {
        return
    }
    $run = New-NodeRun -StateDir $StateDir -Id 'expiry' -Mode 'task' -Batch $document
    # Each op has its own time limit. A deadline for all of them could come before `last`, and the task would stay for ever.
    $run['deadline_s'] = 0
    Invoke-NodeExpiryList -Run $run -Document $document -Name 'first'
    # Before `same`: a program that runs since before this moment has not been restarted.
    $at = Get-NodeTime
    $same = $false
    $problem = ''
    try {
        $file = [string]$document['path']
        if ((Get-NodeFileKind -Path $file) -ceq 'file') {
            $hash = Get-NodeFileHash -Path $file
            $same = [bool]((Get-NodeArgumentList -Map $document -Name 'sha256') -ccontains $hash)
        }
        if ($same) {
            Invoke-NodeExpiryList -Run $run -Document $document -Name 'same'
        }
    }
    catch {
        $problem = Get-NodeErrorText -Record $_
    }
    $outcome = @{ schema = 1; at = $at; same = $same; error = $problem }
    Write-NodeJsonFile -Path (Join-NodePath -Folder $StateDir -Name 'expired.json') -Value $outcome
    Remove-NodeDocument -Path $path
    Invoke-NodeExpiryList -Run $run -Document $document -Name 'last'
}
