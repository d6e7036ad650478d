# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# What PowerShell's own parser sees in scripts, as JSON: their statements, and small changes that a test should notice. statements.py puts
# `$paths` in front. What stands before a file's first function is left out.

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$turned = @{
    '-eq' = '-ne'; '-ceq' = '-cne'; '-lt' = '-ge'; '-gt' = '-le'; '-and' = '-or'; '-is' = '-isnot'
    '-contains' = '-notcontains'; '-ccontains' = '-cnotcontains'; '-match' = '-notmatch'; '-cmatch' = '-cnotmatch'
}
foreach ($sign in @($turned.Keys)) {
    $turned[$turned[$sign]] = $sign
}
$bounds = @{ '-lt' = '-le'; '-le' = '-lt'; '-gt' = '-ge'; '-ge' = '-gt' }
$counted = @('BinaryExpressionAst', 'AssignmentStatementAst', 'CommandExpressionAst', 'InvokeMemberExpressionAst')
$definition = [System.Management.Automation.Language.FunctionDefinitionAst]

function Get-Function($Node) {
    while ($null -ne $Node -and $Node -isnot $definition) {
        $Node = $Node.Parent
    }
    if ($null -eq $Node) { '' } else { $Node.Name }
}

function New-Entry([string]$What, $Node, $Extent, [string]$New) {
    @{
        path = $path; what = $What; kind = $Node.GetType().Name; function = (Get-Function $Node)
        start = $Extent.StartOffset; end = $Extent.EndOffset; new = $New
    }
}

function Test-Statement($Node) {
    if ($Node -isnot [System.Management.Automation.Language.StatementAst] -or $Node -is $definition) { return $false }
    if (@('StatementBlockAst', 'NamedBlockAst') -notcontains $Node.Parent.GetType().Name) { return $false }
    # What stands in @( ) and $( ) is a part of an expression.
    @('ArrayExpressionAst', 'SubExpressionAst') -notcontains $Node.Parent.Parent.GetType().Name
}

$entries = @(
    foreach ($path in $paths) {
        $tokens = $null
        $errors = $null
        $ast = [System.Management.Automation.Language.Parser]::ParseFile($path, [ref]$tokens, [ref]$errors)
        if (@($errors).Count -gt 0) {
            throw "$path does not parse: $($errors[0])"
        }
        $first = $ast.Extent.EndOffset
        foreach ($node in $ast.FindAll({ $args[0] -is $definition }, $false)) {
            $first = [System.Math]::Min($first, $node.Extent.StartOffset)
        }
        foreach ($node in $ast.FindAll({ $args[0].Extent.StartOffset -ge $first }, $true)) {
            $kind = $node.GetType().Name
            if (Test-Statement $node) {
                New-Entry 'statement' $node $node.Extent ''
            }
            elseif ($kind -eq 'BinaryExpressionAst') {
                $sign = $node.ErrorPosition.Text
                if ($turned.ContainsKey($sign)) { New-Entry 'turned' $node $node.ErrorPosition $turned[$sign] }
                if ($bounds.ContainsKey($sign)) { New-Entry 'bound' $node $node.ErrorPosition $bounds[$sign] }
            }
            elseif ($kind -eq 'ConstantExpressionAst' -and $node.Value -is [int] -and $node.Extent.Text -match '^[0-9]+$' -and
                $counted -contains $node.Parent.GetType().Name) {
                New-Entry 'bound' $node $node.Extent ([string]($node.Value + 1))
            }
            elseif ($kind -eq 'CatchClauseAst') {
                New-Entry 'swallowed' $node $node.Body.Extent '{ $null = $_ }'
            }
        }
    }
)
ConvertTo-Json -InputObject $entries -Depth 4 -Compress
