# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# What is in a document of the state folder, by its types: a field of another one is as none, whoever has written it.

function Select-NodeField {
    <# .SYNOPSIS The named fields of a decoded object that have the type that is wanted of them: texts, whole numbers, numbers, objects. #>
    param([object]$Map, [string[]]$Texts = @(), [string[]]$Wholes = @(), [string[]]$Numbers = @(), [string[]]$Maps = @())

    $kept = New-NodeMap
    if ($Map -isnot [System.Collections.IDictionary]) {
        return $kept
    }
    foreach ($name in ($Texts + $Wholes + $Numbers + $Maps)) {
        $value = Get-NodeArgument -Map $Map -Name $name
        $isWhole = $value -is [int] -or $value -is [int64]
        if (($Texts -ccontains $name -and $value -is [string]) -or
            ($Maps -ccontains $name -and $value -is [System.Collections.IDictionary]) -or
            ($Wholes -ccontains $name -and $isWhole -and $value -ge 0 -and $value -le [int]::MaxValue) -or
            ($Numbers -ccontains $name -and ($isWhole -or $value -is [decimal] -or $value -is [double]))) {
            $kept[$name] = $value
        }
    }
    return $kept
}

function Select-NodeEntry {
    <#
    .SYNOPSIS
    A journal's entry; null where it says nothing: no kind, an outcome without one, the end of an op without its number.
    #>
    param([object]$Entry)

    $kept = Select-NodeField -Map $Entry -Texts @('at', 'e', 'op', 'message', 'outcome') -Wholes @('n') -Maps @('result', 'data', 'error')
    $kind = [string]$kept['e']
    if ($kind -eq '' -or
        ($kind -ceq 'outcome' -and -not $kept.ContainsKey('outcome')) -or
        (@('done', 'undone') -ccontains $kind -and -not $kept.ContainsKey('n'))) {
        return $null
    }
    return $kept
}

function Select-NodeOpen {
    <# .SYNOPSIS What open.json, or the field `opened` of batch.json, says; without an id that is one it has none. #>
    param([object]$Found)

    $texts = @('id', 'controller', 'since', 'boot_id', 'mode', 'started')
    $open = Select-NodeField -Map $Found -Texts $texts -Wholes @('pid') -Numbers @('uptime_s')
    if ([string]$open['id'] -cnotmatch '^[0-9a-f]{32}$') {
        $open['id'] = $null
    }
    return $open
}

function Test-NodeOpList {
    <# .SYNOPSIS Whether a decoded value is a list of {op, args?, undo?}, with an index if they are a batch's own; null is an empty one. #>
    param([object]$List, [bool]$Numbered = $false)

    if ($null -eq $List) {
        return $true
    }
    if ($List -isnot [array]) {
        return $false
    }
    foreach ($op in $List) {
        $kept = Select-NodeField -Map $op -Texts @('op') -Wholes @('n')
        if (-not $kept.ContainsKey('op') -or ($Numbered -and -not $kept.ContainsKey('n'))) {
            return $false
        }
        $arguments = Get-NodeArgument -Map $op -Name 'args'
        $secrets = Get-NodeArgument -Map $op -Name 'secrets'
        if (($null -ne $arguments -and $arguments -isnot [System.Collections.IDictionary]) -or
            ($null -ne $secrets -and $secrets -isnot [array]) -or
            -not (Test-NodeOpList -List (Get-NodeArgument -Map $op -Name 'undo'))) {
            return $false
        }
    }
    return $true
}

function Read-NodeBatch {
    <# .SYNOPSIS batch.json of the open batch; null if it is missing or damaged, or is no batch by its types. #>
    param([string]$Folder)

    $batch = Read-NodeDocument -Path (Join-NodePath -Folder $Folder -Name 'batch.json')
    if ($null -eq $batch -or
        -not (Test-NodeOpList -List (Get-NodeArgument -Map $batch -Name 'ops') -Numbered $true) -or
        -not (Test-NodeOpList -List (Get-NodeArgument -Map $batch -Name 'gate'))) {
        return $null
    }
    $kept = Select-NodeField -Map $batch -Texts @('component', 'was', 'hns') -Numbers @('deadline_s') -Maps @('opened')
    foreach ($name in @('component', 'was', 'hns', 'deadline_s', 'opened')) {
        $batch[$name] = $kept[$name]
    }
    return $batch
}
