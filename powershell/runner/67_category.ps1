# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The category of an adapter's network: it decides which rules of the firewall hold, and so whether one may still come in.

function Read-NodeCategory {
    <#
    .SYNOPSIS
    {profile, name, trouble}: the network that the first of the adapters is on, and its category; profile is null while Windows does
    not know it yet, or cannot say so at the moment: then trouble says why.

    .NOTES
    MSFT_NetConnectionProfile is what Get-NetConnectionProfile asks for; NetworkCategory is 0 public, 1 private, 2 domain.
    #>
    param([object[]]$Names)

    $answer = @{ profile = $null; name = ''; trouble = '' }
    $found = Find-NodeAdapter -Names $Names
    if ($null -eq $found['adapter']) {
        $answer['trouble'] = $found['trouble']
        return $answer
    }
    $call = @{ Namespace = 'root/StandardCimv2'; ClassName = 'MSFT_NetConnectionProfile'; OperationTimeoutSec = 60; ErrorAction = 'Stop' }
    try {
        $items = @(Get-CimInstance @call)
    }
    catch {
        $answer['trouble'] = Get-NodeErrorText -Record $_
        return $answer
    }
    $kinds = @('public', 'private', 'domain')
    foreach ($item in $items) {
        if ([string]$item.InterfaceAlias -eq [string]$found['adapter']['name']) {
            $answer['profile'] = $item
            $answer['name'] = [string]$kinds[[int]$item.NetworkCategory]
            break
        }
    }
    return $answer
}

function Invoke-NodeOpCategoryNote {
    param([object]$Arguments, [hashtable]$Run)

    $names = Get-NodeArgumentList -Map $Arguments -Name 'adapters'
    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    $found = Read-NodeCategory -Names $names
    while ($found['trouble'] -ne '' -and $watch.Elapsed.TotalSeconds -lt 10) {
        [System.Threading.Thread]::Sleep(500)
        $found = Read-NodeCategory -Names $names
    }
    if ($found['trouble'] -ne '') {
        throw "The category of the network of the adapter $($names -join ' or ') could not be read: $($found['trouble'])"
    }
    $name = [string]$found['name']
    $path = Join-NodePath -Folder $Run['state_dir'] -Name 'category.json'
    Write-NodeJsonFile -Path $path -Value @{ schema = 1; category = $name }
    return @{ changed = $false; category = $name }
}

function Invoke-NodeOpCategoryRestore {
    <#
    .SYNOPSIS
    Gives an adapter's network the category that was noted.

    .NOTES
    "The NetworkCategory cannot be changed from 'DomainAuthenticated'", nor to it: Set-NetConnectionProfile and its error.
    #>
    param([object]$Arguments, [hashtable]$Run)

    $names = Get-NodeArgumentList -Map $Arguments -Name 'adapters'
    $document = Read-NodeDocument -Path (Join-NodePath -Folder $Run['state_dir'] -Name 'category.json')
    $wanted = [string](Get-NodeArgument -Map $document -Name 'category' -Default '')
    if ($wanted -eq '') {
        return @{ changed = $false; category = '' }
    }
    $patience = [double](Get-NodeTimeLeft -Run $Run -Wanted ([double](Get-NodeArgument -Map $Arguments -Name 'wait_s' -Default 60)))
    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    $changed = $false
    while ($true) {
        $seen = 'it is none'
        $found = Read-NodeCategory -Names $names
        if ($found['trouble'] -ne '') {
            $seen = "it could not be read: $($found['trouble'])"
        }
        if ($null -ne $found['profile']) {
            if ([string]$found['name'] -ceq $wanted) {
                return @{ changed = $changed; category = $wanted }
            }
            if ([string]$found['name'] -ceq 'domain') {
                # Windows has reached a domain controller meanwhile, and lets nobody change that.
                return @{ changed = $changed; category = 'domain' }
            }
            $seen = "it is $($found['name'])"
            # Only Windows itself makes it domain.
            if ($wanted -cne 'domain') {
                $number = [uint32][int]($wanted -ceq 'private')
                $call = @{ InputObject = $found['profile']; Property = @{ NetworkCategory = $number }; OperationTimeoutSec = 60; ErrorAction = 'Stop' }
                try {
                    $null = Set-CimInstance @call
                    $changed = $true
                }
                catch {
                    $seen = "${seen}: $(Get-NodeErrorText -Record $_)"
                }
            }
        }
        if ($watch.Elapsed.TotalSeconds -ge $patience) {
            $what = "The network of the adapter $($names -join ' or ') did not become $wanted again"
            throw "$what within $([System.Math]::Round($patience, 1)) s: $seen. The firewall may keep everybody out."
        }
        [System.Threading.Thread]::Sleep(500)
    }
}
