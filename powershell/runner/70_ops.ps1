# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# One op by its name, and what must not be seen of it.

function Get-NodeOpArguments {
    <#
    .SYNOPSIS
    The arguments of an op, the paths of files among them as Windows takes them whatever their length. `from` and `to` are compared
    first, by the op itself.
    #>
    param([object]$Op)

    $arguments = Get-NodeArgument -Map $Op -Name 'args'
    if ($null -eq $arguments) {
        return $null
    }
    $map = New-NodeMap
    foreach ($entry in $arguments.GetEnumerator()) {
        $map[[string]$entry.Key] = $entry.Value
    }
    foreach ($name in @('path', 'backup', 'base', 'archive', 'destination', 'log')) {
        if ($map.ContainsKey($name) -and $map[$name] -is [string]) {
            $map[$name] = Get-NodeLongPath -Path $map[$name]
        }
    }
    if ($map.ContainsKey('delta')) {
        $parts = New-Object System.Collections.ArrayList
        foreach ($part in (Get-NodeArgumentList -Map $map -Name 'delta')) {
            $null = $parts.Add((Get-NodeLongPath -Path ([string]$part)))
        }
        $map['delta'] = $parts.ToArray()
    }
    return $map
}

function Get-NodeSecretValue {
    <# .SYNOPSIS The values of the arguments of one op that are secret: a list of texts. #>
    param([object]$Op, [object[]]$Names)

    $found = New-Object System.Collections.ArrayList
    $arguments = Get-NodeArgument -Map $Op -Name 'args'
    foreach ($name in $Names) {
        $value = Get-NodeArgument -Map $arguments -Name ([string]$name)
        if ($value -is [System.Collections.IDictionary]) {
            foreach ($entry in $value.GetEnumerator()) {
                $null = $found.Add([string]$entry.Value)
            }
        }
        elseif ($null -ne $value -and $value -isnot [string] -and $value -is [System.Collections.IEnumerable]) {
            foreach ($item in $value) {
                $null = $found.Add([string]$item)
            }
        }
        else {
            $null = $found.Add([string]$value)
        }
    }
    return , $found.ToArray()
}

function Get-NodeSecretList {
    <# .SYNOPSIS The secret values of a batch and its undo ops, longest first: of base64 also what it encodes. #>
    param([object[]]$Ops)

    $found = New-Object System.Collections.ArrayList
    foreach ($op in $Ops) {
        $names = Get-NodeArgumentList -Map $op -Name 'secrets'
        $found.AddRange((Get-NodeSecretValue -Op $op -Names $names))
        foreach ($undo in (Get-NodeArgumentList -Map $op -Name 'undo')) {
            # What is secret of an op is secret of its undo; an undo op may name more.
            $more = [object[]]($names + (Get-NodeArgumentList -Map $undo -Name 'secrets'))
            $found.AddRange((Get-NodeSecretValue -Op $undo -Names $more))
        }
    }
    foreach ($text in $found.ToArray()) {
        try {
            $strict = New-Object System.Text.UTF8Encoding($false, $true)
            $plain = $strict.GetString([System.Convert]::FromBase64String($text))
            # Many a short word is base64 of a letter or two, which is not to be blotted out everywhere.
            if ($plain.Length -ge 4) {
                $null = $found.Add($plain)
            }
        }
        catch {
            # It is no base64, or no text in base64.
            $null = $_
        }
    }
    # By methods: what a cmdlet is handed stands in the log of who logs modules.
    $known = New-Object System.Collections.ArrayList
    foreach ($text in $found.ToArray()) {
        $place = 0
        while ($place -lt $known.Count -and ([string]$known[$place]).Length -ge ([string]$text).Length) {
            $place++
        }
        if ([string]$text -cne '') {
            $known.Insert($place, [string]$text)
        }
    }
    return , [object[]]$known.ToArray()
}

function Hide-NodeSecret {
    <# .SYNOPSIS A text with every secret of the batch replaced. #>
    param([hashtable]$Run, [string]$Text)

    return Hide-NodeText -Text $Text -Secrets $Run['secrets']
}

function Hide-NodeSecretEnd {
    <# .SYNOPSIS A text that was cut off at its beginning, with the end of a secret there replaced. #>
    param([hashtable]$Run, [string]$Text)

    foreach ($secret in $Run['secrets']) {
        $value = [string]$secret
        # Three characters tell nobody anything, and many a text begins with them.
        for ($count = [System.Math]::Min($value.Length - 1, $Text.Length); $count -ge 4; $count--) {
            if ($Text.StartsWith($value.Substring($value.Length - $count), [System.StringComparison]::Ordinal)) {
                return '********' + $Text.Substring($count)
            }
        }
    }
    return $Text
}

function Invoke-NodeOp {
    <# .SYNOPSIS Executes one op (or undo op) and returns its result; throws a sentence. #>
    param([object]$Op, [hashtable]$Run)

    $Run['data'] = $null
    $arguments = Get-NodeOpArguments -Op $Op
    $name = [string](Get-NodeArgument -Map $Op -Name 'op' -Default '')
    switch -CaseSensitive ($name) {
        'mkdir' { return Invoke-NodeOpMkdir -Arguments $arguments -Run $Run }
        'write' { return Invoke-NodeOpWrite -Arguments $arguments -Run $Run }
        'restore' { return Invoke-NodeOpRestore -Arguments $arguments -Run $Run }
        'fetch' { return Invoke-NodeOpFetch -Arguments $arguments -Run $Run }
        'assemble' { return Invoke-NodeOpAssemble -Arguments $arguments -Run $Run }
        'unpack' { return Invoke-NodeOpUnpack -Arguments $arguments -Run $Run }
        'move' { return Invoke-NodeOpMove -Arguments $arguments -Run $Run }
        'remove' { return Invoke-NodeOpRemove -Arguments $arguments -Run $Run }
        'registry_set' { return Invoke-NodeOpRegistrySet -Arguments $arguments -Run $Run }
        'registry_remove' { return Invoke-NodeOpRegistryRemove -Arguments $arguments -Run $Run }
        'run' { return Invoke-NodeOpRun -Arguments $arguments -Run $Run }
        'hns_network' { return Invoke-NodeHns -Block $Run['hns'] -What $name -Arguments $arguments -Run $Run }
        'hns_network_remove' { return Invoke-NodeHns -Block $Run['hns'] -What $name -Arguments $arguments -Run $Run }
        'hns_remove' { return Invoke-NodeHns -Block $Run['hns'] -What $name -Arguments $arguments -Run $Run }
        'addresses' { return Invoke-NodeOpAddresses -Arguments $arguments -Run $Run }
        'category_note' { return Invoke-NodeOpCategoryNote -Arguments $arguments -Run $Run }
        'category_restore' { return Invoke-NodeOpCategoryRestore -Arguments $arguments -Run $Run }
        'ip_note' { return Invoke-NodeOpIpNote -Arguments $arguments -Run $Run }
        'ip_restore' { return Invoke-NodeOpIpRestore -Arguments $arguments -Run $Run }
        'computer_name' { return Invoke-NodeOpComputerName -Arguments $arguments -Run $Run }
        'halt' { return Invoke-NodeOpHalt -Arguments $arguments -Run $Run }
        'wait' { return Invoke-NodeOpWait -Arguments $arguments -Run $Run }
        'record' { return Invoke-NodeOpRecord -Arguments $arguments -Run $Run }
        default { throw "There is no op '$name'." }
    }
}
