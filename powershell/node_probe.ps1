# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Answers queries about the node and changes nothing (docs/protocol.md, section 1).

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
# What is matched and sorted depends on no language.
[System.Threading.Thread]::CurrentThread.CurrentCulture = [System.Globalization.CultureInfo]::InvariantCulture

function Read-NodeRequest {
    <# .SYNOPSIS The option request, decoded: JSON, or that packed as a batch is; throws a sentence. #>
    param([string]$Text)

    if ([System.Environment]::Is64BitOperatingSystem -and -not [System.Environment]::Is64BitProcess) {
        throw 'This is a 32-bit PowerShell on a 64-bit Windows, which sees another System32 and another registry; use the 64-bit one.'
    }
    try {
        $json = $Text
        if ($json -cnotlike '{*') {
            $json = ConvertFrom-NodePacked -Text $json
        }
        $request = ConvertFrom-NodeJson -Text $json
        $schema = [int](Get-NodeArgument -Map $request -Name 'schema' -Default 0)
    }
    catch {
        throw "The option request cannot be read: $(Get-NodeErrorText -Record $_)"
    }
    if ($schema -ne 1) {
        throw 'The option request has not schema 1.'
    }
    return $request
}

$answer = $null
$text = $null
try {
    $text = Get-NodeOption -Sent $complex_args -Name 'request'
    $request = Read-NodeRequest -Text $text
    $queries = Get-NodeArgumentList -Map $request -Name 'queries'
    $stateDir = [string](Get-NodeArgument -Map $request -Name 'state_dir' -Default '')
    $hns = New-NodeHns -Sent $request
    $keep = -not (Test-NodeCheckMode -Sent $complex_args)
    $answer = @{ changed = $false; schema = 1 }
    $answer['parts'] = Read-NodeQueryList -Queries $queries -StateDir $stateDir -Hns $hns -KeepHashes $keep
}
catch {
    $answer = New-NodeFailure -Sent $complex_args -Record $_
}
[System.Console]::Out.WriteLine((ConvertTo-NodeAnswer -Sent $complex_args -Answer $answer -Name 'request' -Shown $text))
