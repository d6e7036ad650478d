# The last step of a golden image, behind playbooks/image.yml: removes what belongs to this machine and is needed as long as
# somebody is connected, then runs sysprep, which switches the machine off. Run it elevated.
#
#   .\generalise.ps1 -Unattend C:\Windows\Temp\unattend.xml
#
# The answer file is what the nodes get at their first boot; without one Windows asks there for a password. Cloudbase-Init brings one.
#Requires -Version 5.1
#Requires -RunAsAdministrator
[CmdletBinding()]
param(
    [string]$Unattend = ''
)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

if ($Unattend -ne '' -and -not (Test-Path -LiteralPath $Unattend -PathType Leaf)) {
    throw "There is no answer file $Unattend."
}
if ($Unattend -ne '') {
    $Unattend = (Get-Item -LiteralPath $Unattend -Force).FullName
}
$system = Join-Path -Path $env:SystemRoot -ChildPath 'System32'
$sysprep = Join-Path -Path $system -ChildPath 'Sysprep'
if (-not (Test-Path -LiteralPath (Join-Path -Path $sysprep -ChildPath 'sysprep.exe'))) {
    # A 32-bit PowerShell sees another System32. Before anything is removed.
    throw "There is no sysprep.exe in $sysprep; run this with the 64-bit PowerShell."
}

# Of an earlier installation; sysprep would take it where none is named. Source: kubernetes-sigs/image-builder.
$old = Join-Path -Path $sysprep -ChildPath 'unattend.xml'
if ($old -ne $Unattend -and (Test-Path -LiteralPath $old)) {
    Remove-Item -LiteralPath $old -Force
}

# A listener with this machine's certificate. WSMan: is there only while WinRM runs.
if ((Get-Service -Name 'WinRM').Status -eq 'Running') {
    foreach ($listener in @(Get-ChildItem -Path 'WSMan:\localhost\Listener')) {
        if (@($listener.Keys) -contains 'Transport=HTTPS') {
            Remove-Item -LiteralPath "WSMan:\localhost\Listener\$($listener.Name)" -Recurse -Force
        }
    }
}

# sshd makes new ones at its next start. The session that is open goes on without them.
$folder = Join-Path -Path $env:ProgramData -ChildPath 'ssh'
if (Test-Path -LiteralPath $folder) {
    foreach ($key in @(Get-ChildItem -LiteralPath $folder -Filter 'ssh_host_*_key*')) {
        Remove-Item -LiteralPath $key.FullName -Force
    }
}

$arguments = @('/generalize', '/oobe', '/shutdown', '/mode:vm', '/quiet')
if ($Unattend -ne '') {
    $arguments += "/unattend:`"$Unattend`""
}
$process = Start-Process -FilePath (Join-Path -Path $sysprep -ChildPath 'sysprep.exe') -ArgumentList $arguments -Wait -PassThru
if ($process.ExitCode -ne 0) {
    $log = Join-Path -Path $sysprep -ChildPath 'Panther\setuperr.log'
    $said = @()
    if (Test-Path -LiteralPath $log) {
        $said = @(Get-Content -LiteralPath $log -Tail 5)
    }
    throw "sysprep ended with $($process.ExitCode): $($said -join ' | '). The host keys of sshd are gone; Restart-Service sshd makes new ones."
}
