# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The way to HNS: the script text for it (hns/) comes only with what needs it.

function New-NodeHns {
    <# .SYNOPSIS The text that calls HNS as a script block: the field hns of a request, envelope or batch. Null where there is none. #>
    param([object]$Sent)

    $text = [string](Get-NodeArgument -Map $Sent -Name 'hns' -Default '')
    if ($text -eq '') {
        return $null
    }
    # Plain: what is unpacked and made a script block is what AMSI and the attack-surface rule on obfuscated scripts look for.
    return [scriptblock]::Create($text)
}

function Invoke-NodeHns {
    <# .SYNOPSIS A query (`hns`), an op or a `wait` that needs HNS: what it gives, a hashtable. Throws a sentence. #>
    param([object]$Block, [string]$What, [object]$Arguments, [object]$Run = $null)

    if ($null -eq $Block) {
        throw "The text that calls HNS was not sent along (the field hns), and '$What' needs it."
    }
    $found = $Block.Invoke($What, $Arguments, $Run)
    return $found[0]
}
