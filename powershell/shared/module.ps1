# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# A module's side of Ansible: its option, check mode, the answer. Ansible.Basic does the same, but PowerShell compiles it in each call,
# which takes a node longer than all of a reading, and it is two fifths of what Ansible sends for one.

function Get-NodeOption {
    <# .SYNOPSIS A module's only option, a text. Throws where it is not given, or something else is. #>
    param([object]$Sent, [string]$Name)

    $value = $null
    foreach ($entry in $Sent.GetEnumerator()) {
        $key = [string]$entry.Key
        if ($key -ceq $Name) {
            $value = $entry.Value
        }
        elseif (-not $key.StartsWith('_ansible_', [System.StringComparison]::Ordinal)) {
            throw "Unsupported parameter ${key}: the module has the option $Name alone."
        }
    }
    if ($null -eq $value) {
        throw "The option $Name is missing."
    }
    return [string]$value
}

function Test-NodeCheckMode {
    <# .SYNOPSIS Whether the task runs in check mode. #>
    param([object]$Sent)

    return [bool](Get-NodeArgument -Map $Sent -Name '_ansible_check_mode' -Default $false)
}

function Test-NodeVerbose {
    <# .SYNOPSIS Whether ansible-playbook runs with -vvv or more: then answers say where a script failed, and with which option. #>
    param([object]$Sent)

    return [bool]([int](Get-NodeArgument -Map $Sent -Name '_ansible_verbosity' -Default 0) -gt 2)
}

function New-NodeFailure {
    <# .SYNOPSIS The answer of a module that failed. #>
    param([object]$Sent, [object]$Record, [string]$What = '')

    $answer = @{ changed = $false; failed = $true; msg = "$What$(Get-NodeErrorText -Record $Record)" }
    if (Test-NodeVerbose -Sent $Sent) {
        $answer['exception'] = "$([string]$Record)`n$([string]$Record.ScriptStackTrace)"
    }
    return $answer
}

function ConvertTo-NodeAnswer {
    <# .SYNOPSIS What a module prints, one line of JSON. Shown is the option as an invocation may show it. #>
    param([object]$Sent, [object]$Answer, [string]$Name, [object]$Shown)

    if ([bool](Get-NodeArgument -Map $Sent -Name '_ansible_inject_invocation' -Default (Test-NodeVerbose -Sent $Sent))) {
        $Answer['invocation'] = @{ module_args = @{ $Name = $Shown } }
    }
    return ConvertTo-NodeJson -Value $Answer
}
