# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# What is not as wanted: of an answer, of a tree, of the state folder. It says in PowerShell what check.py says in Python.

function Expand-NodeWord {
    <# .SYNOPSIS A text with the words that only this machine knows. In JSON a backslash is written twice. #>
    param([string]$Text, [object]$Run, [bool]$Json = $false)

    $powershell = [string]$Run['program']
    if ($Json) {
        $powershell = $powershell.Replace('\', '\\')
    }
    return $Text.Replace('@POWERSHELL@', $powershell).Replace('@WEB_PORT@', [string]$Run['web_port']).Replace('@DRIVE@', [string]$Run['drive'])
}

function Get-NodeShort {
    <# .SYNOPSIS A value as JSON of at most 600 characters, for a sentence. #>
    param([object]$Value)

    $text = ConvertTo-NodeJson -Value @{ it = $Value }
    $text = $text.Substring(6, $text.Length - 7)
    if ($text.Length -gt 600) {
        $text = $text.Substring(0, 600) + ' ...'
    }
    return $text
}

function Test-NodeWanted {
    <# .SYNOPSIS Whether a plain value is as wanted: exactly, or as one of the words of tests/contract/README.md says. #>
    param([object]$Run, [object]$Wanted, [object]$Found)

    if ($Wanted -isnot [string]) {
        return [bool](Test-NodeEqual -Left $Wanted -Right $Found)
    }
    $text = Expand-NodeWord -Text $Wanted -Run $Run
    $isText = $Found -is [string]
    $isNumber = ($Found -is [int]) -or ($Found -is [int64]) -or ($Found -is [uint64])
    if ($Found -is [decimal]) {
        # Whole numbers that are too large for int64.
        $isNumber = [decimal]::Truncate($Found) -eq $Found
    }
    $isList = $Found -is [array]
    if ($text.StartsWith('~', [System.StringComparison]::Ordinal)) {
        $options = [System.Text.RegularExpressions.RegexOptions]'IgnoreCase, Singleline, CultureInvariant'
        return [bool]($isText -and [System.Text.RegularExpressions.Regex]::IsMatch([string]$Found, $text.Substring(1), $options))
    }
    if ($text -ceq '$any') {
        return $true
    }
    if ($text -ceq '$int') {
        return [bool]$isNumber
    }
    if ($text -ceq '$bool') {
        return [bool]($Found -is [bool])
    }
    if ($text -ceq '$string') {
        return [bool]($isText -and ([string]$Found).Length -gt 0)
    }
    if ($text -ceq '$list') {
        return [bool]$isList
    }
    if ($text -ceq '$filled') {
        return [bool]($isList -and @($Found).Length -gt 0)
    }
    if ($text -ceq '$time') {
        $time = '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$'
        return [bool]($isText -and [System.Text.RegularExpressions.Regex]::IsMatch([string]$Found, $time))
    }
    return [bool]($isText -and [string]::Equals($text, [string]$Found, [System.StringComparison]::Ordinal))
}

function Add-NodeDifference {
    <# .SYNOPSIS Adds a sentence for all that is not as wanted: an object in part, a list in whole. #>
    param([object]$Run, [object]$Wanted, [object]$Found, [string]$Where, [System.Collections.ArrayList]$Wrong)

    if ($Wanted -is [System.Collections.IDictionary]) {
        if ($Wanted.ContainsKey('$has') -or $Wanted.ContainsKey('$hasnot')) {
            Add-NodeListDifference -Run $Run -Wanted $Wanted -Found $Found -Where $Where -Wrong $Wrong
            return
        }
        if ($Found -isnot [System.Collections.IDictionary]) {
            $null = $Wrong.Add("${Where}: wanted $(Get-NodeShort -Value $Wanted), found $(Get-NodeShort -Value $Found)")
            return
        }
        foreach ($entry in $Wanted.GetEnumerator()) {
            $key = [string]$entry.Key
            $there = $Found.ContainsKey($key)
            if (($entry.Value -is [string]) -and ($entry.Value -ceq '$absent')) {
                if ($there) {
                    $null = $Wrong.Add("${Where}.${key}: wanted nothing, found $(Get-NodeShort -Value $Found[$key])")
                }
            }
            elseif (-not $there) {
                $null = $Wrong.Add("${Where}.${key}: is missing in $(Get-NodeShort -Value $Found)")
            }
            else {
                Add-NodeDifference -Run $Run -Wanted $entry.Value -Found $Found[$key] -Where "${Where}.${key}" -Wrong $Wrong
            }
        }
        return
    }
    if ($Wanted -is [array]) {
        if ($Found -isnot [array] -or $Found.Length -ne $Wanted.Length) {
            $null = $Wrong.Add("${Where}: wanted $(Get-NodeShort -Value $Wanted), found $(Get-NodeShort -Value $Found)")
            return
        }
        for ($index = 0; $index -lt $Wanted.Length; $index++) {
            Add-NodeDifference -Run $Run -Wanted $Wanted[$index] -Found $Found[$index] -Where "${Where}[$index]" -Wrong $Wrong
        }
        return
    }
    if (-not (Test-NodeWanted -Run $Run -Wanted $Wanted -Found $Found)) {
        $null = $Wrong.Add("${Where}: wanted $(Get-NodeShort -Value $Wanted), found $(Get-NodeShort -Value $Found)")
    }
}

function Add-NodeListDifference {
    <# .SYNOPSIS For {$has: [..]} each of these has to be in the list somewhere, for {$hasnot: [..]} none. #>
    param([object]$Run, [object]$Wanted, [object]$Found, [string]$Where, [System.Collections.ArrayList]$Wrong)

    if ($Found -isnot [array]) {
        $null = $Wrong.Add("${Where}: wanted a list, found $(Get-NodeShort -Value $Found)")
        return
    }
    foreach ($name in @('$has', '$hasnot')) {
        foreach ($item in (Get-NodeArgumentList -Map $Wanted -Name $name)) {
            $fits = $false
            foreach ($one in $Found) {
                $sentences = New-Object System.Collections.ArrayList
                Add-NodeDifference -Run $Run -Wanted $item -Found $one -Where '' -Wrong $sentences
                if ($sentences.Count -eq 0) {
                    $fits = $true
                }
            }
            if ($name -ceq '$has' -and -not $fits) {
                $null = $Wrong.Add("${Where}: has no entry $(Get-NodeShort -Value $item); it has $(Get-NodeShort -Value $Found)")
            }
            if ($name -ceq '$hasnot' -and $fits) {
                $null = $Wrong.Add("${Where}: has an entry $(Get-NodeShort -Value $item), which it should not")
            }
        }
    }
}

function Add-NodeAnswerDifference {
    <# .SYNOPSIS What of a module's answer is not as wanted. #>
    param([object]$Run, [object]$Step, [object]$Answer, [System.Collections.ArrayList]$Wrong)

    $outcome = [string](Get-NodeArgument -Map $Step -Name 'outcome' -Default '')
    if ($outcome -ne '') {
        $said = [string](Get-NodeArgument -Map $Answer -Name 'answer' -Default '')
        $became = [string](Get-NodeArgument -Map $Answer -Name 'outcome' -Default '')
        if ($said -cne 'accepted' -or $became -cne $outcome) {
            $null = $Wrong.Add("$($Step['what']): wanted $outcome, found $(Get-NodeShort -Value $Answer)")
        }
    }
    if ($Step['module'] -ceq 'node_probe' -and [bool](Get-NodeArgument -Map $Answer -Name 'failed' -Default $false)) {
        $null = $Wrong.Add("the probe failed: $(Get-NodeShort -Value $Answer)")
    }
    foreach ($want in (Get-NodeArgumentList -Map $Step -Name 'wants')) {
        $value = $Answer
        foreach ($part in (Get-NodeArgumentList -Map $want -Name 'at')) {
            $next = $null
            if ($part -is [string]) {
                if (($value -is [System.Collections.IDictionary]) -and $value.ContainsKey($part)) {
                    $next = $value[$part]
                }
            }
            elseif (($value -is [array]) -and [int]$part -lt $value.Length) {
                $next = $value[[int]$part]
            }
            $value = $next
        }
        Add-NodeDifference -Run $Run -Wanted $want['value'] -Found $value -Where ([string]$want['what']) -Wrong $Wrong
    }
}

function Get-NodeFoundMap {
    <# .SYNOPSIS What a look has found, name -> {kind, data}; a folder's name ends in a slash. #>
    param([object]$Look)

    $map = New-Object System.Collections.Hashtable ([System.StringComparer]::Ordinal)
    foreach ($file in (Get-NodeArgumentList -Map $Look -Name 'files')) {
        $name = [string]$file['path']
        if ($file['kind'] -ceq 'directory') {
            $name = $name + '/'
        }
        $map[$name] = $file
    }
    return $map
}

function Add-NodeTreeDifference {
    <# .SYNOPSIS What of the tree is not as wanted: all files and folders count, and all of the contract's registry key. #>
    param([object]$Run, [object]$Step, [object]$Look, [System.Collections.ArrayList]$Wrong)

    $what = [string]$Step['what']
    $there = Get-NodeFoundMap -Look $Look
    $wanted = New-Object System.Collections.Hashtable ([System.StringComparer]::Ordinal)
    foreach ($file in (Get-NodeArgumentList -Map $Step -Name 'files')) {
        $name = [string]$file['path']
        $wanted[$name] = $true
        if (-not $there.ContainsKey($name)) {
            $null = $Wrong.Add("${what}: $name is missing")
            continue
        }
        $one = $there[$name]
        if ($file['kind'] -ceq 'json' -and $one['kind'] -ceq 'file') {
            $bytes = [Convert]::FromBase64String([string]$one['data'])
            $shown = ConvertFrom-NodeJson -Text ([System.Text.Encoding]::UTF8.GetString($bytes))
            Add-NodeDifference -Run $Run -Wanted $file['value'] -Found $shown -Where "${what}: $name" -Wrong $Wrong
        }
        elseif ($file['kind'] -cne $one['kind'] -or ($file['kind'] -ceq 'file' -and $file['data'] -cne $one['data'])) {
            $null = $Wrong.Add("${what}: $name is $(Get-NodeShort -Value $one), wanted $(Get-NodeShort -Value $file)")
        }
    }
    foreach ($entry in $there.GetEnumerator()) {
        if (-not $wanted.ContainsKey([string]$entry.Key)) {
            $null = $Wrong.Add("${what}: $($entry.Key) should not be there")
        }
    }
    if (-not (Test-NodeEqual -Left $Step['registry'] -Right $Look['registry'])) {
        $null = $Wrong.Add("${what}: the registry holds $(Get-NodeShort -Value $Look['registry']), wanted $(Get-NodeShort -Value $Step['registry'])")
    }
}

function Add-NodeStateDifference {
    <# .SYNOPSIS What of the state folder is not as wanted, and what of it or of the last answer should be hidden. #>
    param([object]$Run, [object]$Step, [string]$Printed, [object]$Look, [System.Collections.ArrayList]$Wrong)

    $there = Get-NodeFoundMap -Look $Look
    foreach ($secret in (Get-NodeArgumentList -Map $Step -Name 'hidden')) {
        $seen = $Printed.IndexOf([string]$secret, [System.StringComparison]::Ordinal) -ge 0
        foreach ($entry in $there.GetEnumerator()) {
            $text = [System.Text.Encoding]::UTF8.GetString([Convert]::FromBase64String([string]$entry.Value['data']))
            if ($text.IndexOf([string]$secret, [System.StringComparison]::Ordinal) -ge 0) {
                $seen = $true
            }
        }
        if ($seen) {
            $null = $Wrong.Add("'$secret' can be seen in the answer or in the state folder")
        }
    }
    foreach ($entry in $Step['files'].GetEnumerator()) {
        $name = [string]$entry.Key
        $where = "$($Step['what']): $name"
        if (($entry.Value -is [string]) -and ($entry.Value -ceq '$absent')) {
            if ($there.ContainsKey($name)) {
                $null = $Wrong.Add("${where}: is in the state folder")
            }
            continue
        }
        if (-not $there.ContainsKey($name)) {
            $null = $Wrong.Add("${where}: is not in the state folder")
            continue
        }
        $text = [System.Text.Encoding]::UTF8.GetString([Convert]::FromBase64String([string]$there[$name]['data']))
        if ($entry.Value -is [array]) {
            $rows = New-Object System.Collections.ArrayList
            foreach ($row in $text.Split([char]10)) {
                if ($row.Trim() -ne '') {
                    $null = $rows.Add((ConvertFrom-NodeJson -Text $row))
                }
            }
            $shown = $rows.ToArray()
            Add-NodeDifference -Run $Run -Wanted $entry.Value -Found $shown -Where $where -Wrong $Wrong
        }
        else {
            Add-NodeDifference -Run $Run -Wanted $entry.Value -Found (ConvertFrom-NodeJson -Text $text) -Where $where -Wrong $Wrong
        }
    }
}

function Test-NodeSaid {
    <# .SYNOPSIS Whether a pattern is in what a script printed, without colours and blanks: PowerShell wraps lines, within words too. #>
    param([string]$Said, [string]$Pattern)

    $squeezed = [System.Text.RegularExpressions.Regex]::Replace($Said, '\x1b\[[0-9;]*m|\s', '')
    $options = [System.Text.RegularExpressions.RegexOptions]'Singleline, CultureInvariant'
    return [bool][System.Text.RegularExpressions.Regex]::IsMatch($squeezed, $Pattern, $options)
}

function Add-NodePeopleDifference {
    <# .SYNOPSIS What of the two runs of a script for people is not as wanted. #>
    param([object]$Step, [object[]]$Runs, [System.Collections.ArrayList]$Wrong)

    $place = 0
    foreach ($wanted in (Get-NodeArgumentList -Map $Step -Name 'runs')) {
        $run = $Runs[$place]
        $place++
        $what = [string]$wanted['what']
        if ([int]$run['exit_code'] -ne [int]$wanted['exit']) {
            $null = $Wrong.Add("$what ended with $($run['exit_code']), wanted $($wanted['exit']): $($run['said'])")
        }
        if (-not (Test-NodeSaid -Said $run['said'] -Pattern $wanted['says'])) {
            $null = $Wrong.Add("$what does not say $($wanted['says']): $($run['said'])")
        }
        if ($wanted['quiet'] -ne '' -and (Test-NodeSaid -Said $run['said'] -Pattern $wanted['quiet'])) {
            $null = $Wrong.Add("$what says $($wanted['quiet']): $($run['said'])")
        }
    }
    if ($Runs[0]['look'] -cne $Runs[1]['look']) {
        $null = $Wrong.Add('the second run changed the machine')
    }
    $there = New-Object System.Collections.Hashtable ([System.StringComparer]::Ordinal)
    foreach ($line in ([string]$Runs[1]['world']).Split([char]10)) {
        $cut = $line.IndexOf([char]9)
        if ($cut -ge 0) {
            $there[$line.Substring(0, $cut)] = $line.Substring($cut + 1).TrimEnd([char]13)
        }
    }
    foreach ($entry in $Step['after'].GetEnumerator()) {
        $key = [string]$entry.Key
        if (-not (Test-NodeEqual -Left $entry.Value -Right $there[$key])) {
            $null = $Wrong.Add("$key is $($there[$key]), wanted $($entry.Value)")
        }
    }
}
