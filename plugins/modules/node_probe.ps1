#!powershell

# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Answers queries about the node and changes nothing (docs/protocol.md, section 1).

#AnsibleRequires -CSharpUtil Ansible.Basic
#AnsibleRequires -PowerShell ..module_utils._Json
#AnsibleRequires -PowerShell ..module_utils._Hns
#AnsibleRequires -PowerShell ..module_utils._Reading

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

$spec = @{
    options = @{
        request = @{ type = 'str'; required = $true }
    }
    supports_check_mode = $true
}
$module = [Ansible.Basic.AnsibleModule]::Create($args, $spec)
$module.Result.changed = $false
$module.Result.schema = 1
$module.Result.parts = @{}

$problem = ''
$queries = [object[]]@()
$stateDir = ''
$hns = $null
try {
    $request = ConvertFrom-NodeJson -Text ([string]$module.Params.request)
    $queries = Get-NodeArgumentList -Map $request -Name 'queries'
    $stateDir = [string](Get-NodeArgument -Map $request -Name 'state_dir' -Default '')
    $hns = New-NodeHns -Sent $request
    if ([int](Get-NodeArgument -Map $request -Name 'schema' -Default 0) -ne 1) {
        $problem = 'The option request has not schema 1.'
    }
}
catch {
    $problem = "The option request cannot be read: $(Get-NodeErrorText -Record $_)"
}
if ([System.Environment]::Is64BitOperatingSystem -and -not [System.Environment]::Is64BitProcess) {
    $problem = 'This is a 32-bit PowerShell on a 64-bit Windows, which sees another System32 and another registry; use the 64-bit one.'
}
if ($problem -ne '') {
    $module.FailJson($problem)
}

$module.Result.parts = Read-NodeQueryList -Queries $queries -StateDir $stateDir -Hns $hns -KeepHashes (-not $module.CheckMode)
$module.ExitJson()
